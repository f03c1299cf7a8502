//! Functions of time: prescribed motions, moving obstacles, loads.

use std::fmt::Debug;

/// A function of time with two derivatives.
pub trait Signal: Send + Sync + Debug {
    /// Its value at time `t` \[s\].
    fn value(&self, t: f64) -> f64;
    /// Its first derivative.
    fn rate(&self, t: f64) -> f64;
    /// Its second derivative.
    fn acceleration(&self, t: f64) -> f64;
    /// Whether it is the same at all times.
    fn is_constant(&self) -> bool {
        false
    }
}

/// The same value at all times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constant(pub f64);

impl Signal for Constant {
    fn value(&self, _: f64) -> f64 {
        self.0
    }
    fn rate(&self, _: f64) -> f64 {
        0.0
    }
    fn acceleration(&self, _: f64) -> f64 {
        0.0
    }
    fn is_constant(&self) -> bool {
        true
    }
}

/// `offset + amplitude sin(omega t + phase)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Harmonic {
    /// Mean value.
    pub offset: f64,
    /// Amplitude.
    pub amplitude: f64,
    /// Angular frequency \[rad/s\].
    pub omega: f64,
    /// Phase \[rad\].
    pub phase: f64,
}

impl Signal for Harmonic {
    fn value(&self, t: f64) -> f64 {
        self.offset + self.amplitude * (self.omega * t + self.phase).sin()
    }
    fn rate(&self, t: f64) -> f64 {
        self.amplitude * self.omega * (self.omega * t + self.phase).cos()
    }
    fn acceleration(&self, t: f64) -> f64 {
        -self.amplitude * self.omega * self.omega * (self.omega * t + self.phase).sin()
    }
}

/// Straight lines between points `(t, value)` of increasing `t`, constant outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Polyline(pub Vec<(f64, f64)>);

impl Polyline {
    /// The points around `t`, if it is inside.
    fn around(&self, t: f64) -> Option<[(f64, f64); 2]> {
        let after = self.0.partition_point(|p| p.0 <= t);
        (after > 0 && after < self.0.len()).then(|| [self.0[after - 1], self.0[after]])
    }
}

impl Signal for Polyline {
    fn value(&self, t: f64) -> f64 {
        match self.around(t) {
            Some([a, b]) => a.1 + (b.1 - a.1) * (t - a.0) / (b.0 - a.0),
            None => match (self.0.first(), self.0.last()) {
                (Some(first), _) if t < first.0 => first.1,
                (_, Some(last)) => last.1,
                _ => 0.0,
            },
        }
    }
    fn rate(&self, t: f64) -> f64 {
        self.around(t)
            .map_or(0.0, |[a, b]| (b.1 - a.1) / (b.0 - a.0))
    }
    fn acceleration(&self, _: f64) -> f64 {
        0.0
    }
}
