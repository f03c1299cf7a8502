//! Whether, and since when, nothing moves.
//!
//! A state is at rest if each of its velocities counts as zero, or if all of them together are round-off.
//!
//! A velocity counts as zero where it is at most 10⁻⁶ of the largest absolute value it has had in the
//! run so far, or 10⁻¹² of the largest that any velocity has had: the first because an impact law with
//! restitution brings a time-stepping scheme to rest geometrically, not at once; the second because a
//! coordinate that only ever carries round-off never moves.
//!
//! Where nothing has ever moved, the largest velocity is round-off itself, and only what holds the system
//! can tell: the velocities `v` with kinetic energy `T` are round-off if their momentum `2 T / |v|` is below
//! 10⁻⁹ of the impulses of the step, whose balance with the forces leaves it over, or if `T` is below
//! 10⁻²⁸ of the potential energy. Schemes solve the balance to a relative 10⁻¹⁰ or better; a body that weighs
//! `m g` and truly moves at more than `10⁻⁹ g h` does move. A coordinate without mass has no momentum, so in
//! neither case may the step move anything by more than 10⁻⁹ of the largest coordinate, or of one. A
//! system without impulses and potential has nothing to compare with: whatever moves in it moves.
//!
//! The system is at rest during a step if it is at rest at both of its ends.

use saltus_integrators::{Energy, Frame, Reactions};

/// A velocity this much smaller than its largest value is zero.
const RELATIVE: f64 = 1e-6;
/// A velocity this much smaller than the largest of all is zero.
const ROUND_OFF: f64 = 1e-12;
/// A momentum this much smaller than the impulses of the step is what their balance leaves over.
const OF_IMPULSE: f64 = 1e-9;
/// A kinetic energy this much smaller than the potential one is round-off: the square of 10⁻¹⁴.
const OF_POTENTIAL: f64 = 1e-28;
/// Round-off moves no coordinate by more than this part of the largest one in a step.
const DISPLACEMENT: f64 = 1e-9;

/// When the system was at rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rest {
    /// Total time of the steps at both ends of which nothing moved \[s\]; never less than the time from
    /// `since` to the end.
    pub total: f64,
    /// Start of the first of the steps at rest that lasted until the end of the run \[s\]; `None` if its last
    /// step was not at rest.
    pub since: Option<f64>,
}

/// Follows the velocities of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RestWatch {
    /// Largest absolute value of each velocity so far (nv).
    largest: Vec<f64>,
    /// Time at rest before the present rest \[s\].
    earlier: f64,
    /// Time of the last frame \[s\].
    t: f64,
    /// Whether it was still.
    still: bool,
    rest: Rest,
}

impl RestWatch {
    pub(crate) fn begin(&mut self, frame: &Frame<'_>) {
        self.largest.clear();
        self.largest.resize(frame.state.v.len(), 0.0);
        self.earlier = 0.0;
        self.rest = Rest::default();
        self.t = frame.state.t;
        self.still = self.still(frame);
    }

    #[inline]
    pub(crate) fn update(&mut self, frame: &Frame<'_>) {
        let t = frame.state.t;
        let still = self.still(frame);
        if still && self.still {
            let since = *self.rest.since.get_or_insert(self.t);
            self.rest.total = self.earlier + (t - since);
        } else if self.rest.since.take().is_some() {
            self.earlier = self.rest.total;
        }
        self.t = t;
        self.still = still;
    }

    pub(crate) fn rest(&self) -> Rest {
        self.rest
    }

    #[inline]
    fn still(&mut self, frame: &Frame<'_>) -> bool {
        let v = &frame.state.v;
        let mut all: f64 = 0.0;
        for (largest, v) in self.largest.iter_mut().zip(v) {
            *largest = largest.max(v.abs());
            all = all.max(*largest);
        }
        let floor = ROUND_OFF * all;
        let zero = |(largest, v): (&f64, &f64)| v.abs() <= floor.max(RELATIVE * largest);
        self.largest.iter().zip(v).all(zero) || is_round_off(frame)
    }
}

/// Whether all velocities together are what the balance of impulses and forces leaves over.
fn is_round_off(frame: &Frame<'_>) -> bool {
    let largest = |x: &[f64]| x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let Energy { kinetic, potential } = frame.report.energy;
    let v = largest(&frame.state.v);
    let displacement = frame.report.h * v;
    displacement <= DISPLACEMENT * largest(&frame.state.q).max(1.0)
        && (2.0 * kinetic < OF_IMPULSE * v * impulses(&frame.reactions)
            || kinetic < OF_POTENTIAL * potential.abs())
}

/// Sum of the absolute impulses of the step, those of contacts as they act on the velocities.
fn impulses(reactions: &Reactions<'_>) -> f64 {
    let contacts = reactions.contacts;
    let of_contacts: f64 = contacts
        .first_row
        .iter()
        .zip(reactions.impulse)
        .map(|(&row, impulse)| {
            let direction = contacts.directions.values(row);
            direction.iter().fold(0.0, |m: f64, w| m.max(w.abs())) * impulse.abs()
        })
        .sum();
    let of_bilateral: f64 = reactions.bilateral_impulse.iter().map(|p| p.abs()).sum();
    of_contacts + of_bilateral
}
