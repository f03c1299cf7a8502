//! When a method that could go on for ever has come to a standstill.

/// Steps in which a method has to come nearer.
const PATIENCE: u32 = 100;
/// By how much: less than this share of the distance must be left.
const LEFT: f64 = 0.99;

/// How near a method has come, and since when.
#[derive(Debug)]
pub(super) struct Progress {
    nearest: f64,
    since: u32,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            nearest: f64::INFINITY,
            since: 0,
        }
    }
}

impl Progress {
    /// Whether the last [`PATIENCE`] steps have not lowered `distance` (≥ 0, zero at a solution) by a hundredth of it. Asked once
    /// in every step.
    pub fn stalled(&mut self, step: u32, distance: f64) -> bool {
        // NaN is not nearer.
        if distance < LEFT * self.nearest {
            self.nearest = distance;
            self.since = step;
        }
        step - self.since >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_for_ever_but_not_below_a_bound_stalls() {
        let end = |distance: &dyn Fn(f64) -> f64| {
            let mut progress = Progress::default();
            (0..100_000).find(|&k| progress.stalled(k, distance(f64::from(k))))
        };
        assert_eq!(end(&|_| 1.0), Some(PATIENCE));
        assert_eq!(end(&|_| f64::NAN), Some(PATIENCE));
        let slow = end(&|k| 1.0 + 1.0 / (1.0 + k));
        assert!(slow.is_some_and(|k| k < 300), "{slow:?}");
        // Steps that each gain little go on to the smallest numbers.
        let steady = end(&|k| 0.999_f64.powf(k));
        assert_eq!(steady, None);
    }
}
