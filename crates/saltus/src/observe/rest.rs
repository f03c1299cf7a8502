//! Whether, and since when, nothing moves.
//!
//! A velocity counts as zero where it is at most 10⁻⁶ of the largest absolute value it has had in the
//! run so far, or 10⁻¹² of the largest that any velocity has had: the first because an impact law with
//! restitution brings a time-stepping scheme to rest geometrically, not at once; the second because a
//! coordinate that only ever carries round-off never moves. The system is at rest during a step if
//! all velocities are zero in this sense at both of its ends.

use saltus_integrators::Frame;

/// A velocity this much smaller than its largest value is zero.
const RELATIVE: f64 = 1e-6;
/// A velocity this much smaller than the largest of all is zero.
const ROUND_OFF: f64 = 1e-12;

/// When the system was at rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rest {
    /// Total time of the steps at both ends of which nothing moved \[s\].
    pub total: f64,
    /// Time since which nothing has moved until the end of the run \[s\]; `None` if it ended in motion.
    pub since: Option<f64>,
}

/// Follows the velocities of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestWatch {
    /// Largest absolute value of each velocity so far (nv).
    largest: Vec<f64>,
    rest: Rest,
}

impl RestWatch {
    pub(crate) fn begin(&mut self, frame: &Frame<'_>) {
        self.largest.clear();
        self.largest.resize(frame.state.v.len(), 0.0);
        self.rest = Rest::default();
        if self.still(&frame.state.v) {
            self.rest.since = Some(frame.state.t);
        }
    }

    #[inline]
    pub(crate) fn update(&mut self, frame: &Frame<'_>) {
        if !self.still(&frame.state.v) {
            self.rest.since = None;
        } else if self.rest.since.is_none() {
            self.rest.since = Some(frame.state.t);
        } else {
            self.rest.total += frame.report.h;
        }
    }

    pub(crate) fn rest(&self) -> Rest {
        self.rest
    }

    #[inline]
    fn still(&mut self, v: &[f64]) -> bool {
        let mut all: f64 = 0.0;
        for (largest, v) in self.largest.iter_mut().zip(v) {
            *largest = largest.max(v.abs());
            all = all.max(*largest);
        }
        let floor = ROUND_OFF * all;
        self.largest
            .iter()
            .zip(v)
            .all(|(largest, v)| v.abs() <= floor.max(RELATIVE * largest))
    }
}
