//! A mass over a floor at height zero, under a constant force or on a spring.

use super::Impact;
use crate::analysis::FilledGraph;
use std::f64::consts::PI;

/// What moves the mass between impacts.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    /// `q̈ = a`.
    Constant(f64),
    /// `q̈ = −ω² (q − c)`.
    Spring { omega: f64, centre: f64 },
}

impl Law {
    /// Position and velocity a time `s` \[s\] after `(q, v)`.
    fn flow(self, q: f64, v: f64, s: f64) -> (f64, f64) {
        match self {
            Self::Constant(a) => (q + s * (v + 0.5 * a * s), v + a * s),
            Self::Spring { omega, centre } => {
                let (sin, cos) = (omega * s).sin_cos();
                let r = q - centre;
                (
                    centre + r * cos + v / omega * sin,
                    v * cos - omega * r * sin,
                )
            }
        }
    }

    /// Time from `(q ≥ 0, v)` to the floor \[s\], infinite if it is never reached.
    fn time_to_floor(self, q: f64, v: f64) -> f64 {
        match self {
            Self::Constant(a) if a < 0.0 => (v + (v * v - 2.0 * a * q).sqrt()) / -a,
            Self::Constant(_) if v < 0.0 => -q / v,
            Self::Constant(_) => f64::INFINITY,
            Self::Spring { omega, centre } => {
                let r = q - centre;
                let amplitude = r.hypot(v / omega);
                if amplitude < centre {
                    return f64::INFINITY;
                }
                // q − c = A cos φ with φ growing; the floor is met downwards at cos φ = −c/A.
                let phase = (-v / omega).atan2(r);
                let floor = (-centre / amplitude).clamp(-1.0, 1.0).acos();
                (floor - phase).rem_euclid(2.0 * PI) / omega
            }
        }
    }

    /// Time of flight from the floor back to it after leaving it with `v` > 0 \[s\].
    fn flight(self, v: f64) -> f64 {
        match self {
            Self::Constant(a) if a < 0.0 => 2.0 * v / -a,
            Self::Constant(_) => f64::INFINITY,
            Self::Spring { omega, centre } => {
                2.0 / omega
                    * if centre == 0.0 {
                        0.5 * PI
                    } else if centre < 0.0 {
                        (v / (omega * -centre)).atan()
                    } else {
                        PI - (v / (omega * centre)).atan()
                    }
            }
        }
    }

    /// Acceleration at rest on the floor \[m/s²\].
    fn pull(self) -> f64 {
        match self {
            Self::Constant(a) => a,
            Self::Spring { omega, centre } => omega * omega * centre,
        }
    }
}

/// The exact motion of a mass over a floor at height 0 with Newton's impact law.
///
/// Under a constant force the impacts are those of the bouncing ball (Acary's lecture; Brüls, Acary,
/// Cardona 2014, §10.1). On a spring with its centre at `c` the position stays in `[c − A, c + A]` and the
/// flights take `π/ω` (`c = 0`), `(2/ω) atan(v/(ω|c|))` (`c < 0`, accumulating) or `(2/ω)(π − atan(v/(ωc)))`.
#[derive(Debug, Clone)]
pub struct ImpactingMass {
    law: Law,
    /// Start of each arc: time, position, velocity.
    arcs: Vec<(f64, f64, f64)>,
    impacts: Vec<Impact>,
    /// When it comes to rest, if it does before `until`.
    rest: Option<f64>,
}

impl ImpactingMass {
    /// Under the constant acceleration `a` \[m/s²\], from `(q0 ≥ 0, v0)` at time 0, known up to `until` \[s\].
    #[must_use]
    pub fn under_force(a: f64, restitution: f64, q0: f64, v0: f64, until: f64) -> Self {
        Self::new(Law::Constant(a), restitution, q0, v0, until)
    }

    /// On a spring: `q̈ = −ω² (q − centre)` with `omega` \[rad/s\], from `(q0 ≥ 0, v0)` at time 0, known up to
    /// `until` \[s\].
    #[must_use]
    pub fn on_spring(
        omega: f64,
        centre: f64,
        restitution: f64,
        q0: f64,
        v0: f64,
        until: f64,
    ) -> Self {
        Self::new(Law::Spring { omega, centre }, restitution, q0, v0, until)
    }

    fn new(law: Law, restitution: f64, q0: f64, v0: f64, until: f64) -> Self {
        let mut motion = Self {
            law,
            arcs: vec![(0.0, q0, v0)],
            impacts: Vec::new(),
            rest: None,
        };
        let mut t = law.time_to_floor(q0, v0);
        if t > until {
            return motion;
        }
        let mut speed = -law.flow(q0, v0, t).1;
        let first = speed;
        loop {
            let after = restitution * speed;
            motion.impacts.push(Impact {
                t,
                before: -speed,
                after,
            });
            if after <= 1e-17 * first && law.pull() <= 0.0 {
                motion.rest = Some(t);
                motion.arcs.push((t, 0.0, 0.0));
                return motion;
            }
            motion.arcs.push((t, 0.0, after));
            t += law.flight(after);
            speed = after;
            if t > until {
                return motion;
            }
        }
    }

    /// Position \[m\] and velocity \[m/s\] at time `t` ≥ 0.
    #[must_use]
    pub fn at(&self, t: f64) -> (f64, f64) {
        if self.rest.is_some_and(|rest| t >= rest) {
            return (0.0, 0.0);
        }
        let i = self.arcs.partition_point(|arc| arc.0 <= t).max(1) - 1;
        let (start, q, v) = self.arcs[i];
        self.law.flow(q, v, t - start)
    }

    /// The impacts in order; those of an accumulation down to the round-off of the first speed.
    #[must_use]
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }

    /// When the impacts accumulate and the mass comes to rest \[s\], if that is before the end.
    #[must_use]
    pub fn accumulation(&self) -> Option<f64> {
        self.rest
    }

    /// The filled graph of the velocity on `[0, until]`, with points at most `spacing` \[s\] apart.
    #[must_use]
    pub fn velocity_graph(&self, until: f64, spacing: f64) -> FilledGraph {
        self.graph(until, spacing, |state| state.1)
    }

    /// The graph of the position on `[0, until]`, with points at most `spacing` \[s\] apart.
    #[must_use]
    pub fn position_graph(&self, until: f64, spacing: f64) -> FilledGraph {
        self.graph(until, spacing, |state| state.0)
    }

    fn graph(&self, until: f64, spacing: f64, part: fn((f64, f64)) -> f64) -> FilledGraph {
        let mut graph = FilledGraph::default();
        for (i, &(start, q, v)) in self.arcs.iter().enumerate() {
            let resting = self.rest.is_some_and(|rest| start >= rest);
            let end = self.arcs.get(i + 1).map_or(until, |next| next.0).min(until);
            if start > until {
                break;
            }
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let pieces = ((end - start) / spacing).ceil().max(1.0) as u32;
            for k in 0..=pieces {
                let s = (end - start) * f64::from(k) / f64::from(pieces);
                let state = if resting {
                    (0.0, 0.0)
                } else {
                    self.law.flow(q, v, s)
                };
                graph.push(start + s, part(state));
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ball_accumulates_where_the_geometric_series_does() {
        let ball = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 5.0);
        assert!((ball.accumulation().unwrap() - 3.0).abs() < 1e-14);
        assert!((ball.impacts()[0].t - 1.0).abs() < 1e-15);
        assert!((ball.impacts()[0].before + 2.0).abs() < 1e-15);
        assert_eq!(ball.at(4.0), (0.0, 0.0));
        // Second arc: v = 1 at t = 1.
        let (q, v) = ball.at(1.5);
        assert!((q - 0.25).abs() < 1e-15 && v.abs() < 1e-15);
    }

    #[test]
    fn velocity_at_an_impact_is_the_one_after_it() {
        let ball = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 5.0);
        assert!((ball.at(1.0).1 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn spring_meets_the_floor_with_its_flight_time() {
        for centre in [-0.2, 0.0, 0.3] {
            let motion = ImpactingMass::on_spring(1.5, centre, 0.8, 1.0, 0.4, 40.0);
            let impacts = motion.impacts();
            assert!(impacts.len() > 5);
            for pair in impacts.windows(2).take(6) {
                let (q, v) = motion.law.flow(0.0, pair[0].after, pair[1].t - pair[0].t);
                assert!(q.abs() < 1e-13, "{centre} {q}");
                assert!((v - pair[1].before).abs() < 1e-13 && v < 0.0);
                assert!((pair[1].after + 0.8 * pair[1].before).abs() < 1e-15);
            }
            let (q, v) = motion.at(0.5 * (impacts[2].t + impacts[3].t));
            assert!(q > 0.0 && v.abs() < 1e-12);
        }
    }

    #[test]
    fn without_a_floor_in_reach_there_is_no_impact() {
        let motion = ImpactingMass::on_spring(1.0, 1.0, 0.8, 1.2, 0.0, 100.0);
        assert!(motion.impacts().is_empty() && motion.accumulation().is_none());
        let rising = ImpactingMass::under_force(1.0, 0.8, 1.0, 0.0, 100.0);
        assert!(rising.impacts().is_empty());
    }

    #[test]
    fn plastic_impact_ends_in_rest() {
        let ball = ImpactingMass::under_force(-2.0, 0.0, 1.0, 0.0, 5.0);
        assert_eq!(ball.accumulation(), Some(1.0));
        assert_eq!(ball.at(1.0), (0.0, 0.0));
    }

    #[test]
    fn graphs_have_a_vertical_segment_at_each_impact() {
        let ball = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 1.9);
        let graph = ball.velocity_graph(1.9, 0.1);
        let with_jump = FilledGraph::polyline([(0.0, 0.0), (1.0, -2.0), (1.0, 1.0), (1.9, -0.8)]);
        assert!(graph.hausdorff(&with_jump, 1e-9) < 1e-8);
        let position = ball.position_graph(1.9, 0.01);
        assert!((position.len() as f64) > 190.0);
    }
}
