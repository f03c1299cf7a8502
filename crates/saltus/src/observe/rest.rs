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
//! The system is at rest during a step if it is at rest at both of its ends and nothing hits in between.

use saltus_integrators::{Energy, EventKind, Frame, Reactions};
use serde::{Deserialize, Serialize};

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

/// Velocities looked at together.
const LANES: usize = 8;

/// When the system was at rest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Rest {
    /// Total time of the steps at both ends of which nothing moved and in which nothing hit \[s\]; never less than the time from
    /// `since` to the end.
    pub total: f64,
    /// Start of the first of the steps at rest that lasted until the end of the run \[s\]; `None` if its last
    /// step was not at rest.
    pub since: Option<f64>,
}

/// Follows the velocities of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
        let hits = || frame.events.iter().any(|e| e.kind == EventKind::Impact);
        if still && self.still && !hits() {
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
        let (fastest, ever) = self.take(v);
        let floor = ROUND_OFF * ever;
        let zero = |(largest, v): (&f64, &f64)| v.abs() <= floor.max(RELATIVE * largest);
        self.largest.iter().zip(v).all(zero) || is_round_off(frame, fastest)
    }

    /// Takes note of the velocities; the largest of them, and the largest of all so far.
    fn take(&mut self, v: &[f64]) -> (f64, f64) {
        let (mut now, mut ever) = ([0.0; LANES], [0.0; LANES]);
        let (blocks, rest) = v.as_chunks::<LANES>();
        let (largest, largest_rest) = self.largest.as_chunks_mut::<LANES>();
        for (largest, v) in largest.iter_mut().zip(blocks) {
            let mut grown = *largest;
            for i in 0..LANES {
                let x = v[i].abs();
                now[i] = larger(x, now[i]);
                grown[i] = larger(x, grown[i]);
                ever[i] = larger(grown[i], ever[i]);
            }
            // Memory that did not change need not be written.
            if grown != *largest {
                *largest = grown;
            }
        }
        for ((largest, v), i) in largest_rest.iter_mut().zip(rest).zip(0..) {
            let x = v.abs();
            now[i] = larger(x, now[i]);
            *largest = larger(x, *largest);
            ever[i] = larger(*largest, ever[i]);
        }
        let most = |lanes: [f64; LANES]| lanes.into_iter().fold(0.0, f64::max);
        (most(now), most(ever))
    }
}

/// `a` where it is larger: not where it is no number.
#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Whether all velocities together, the largest of which is `v`, are what the balance of impulses and forces leaves
/// over.
fn is_round_off(frame: &Frame<'_>, v: f64) -> bool {
    let reach = |q: &[f64]| q.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    if frame.report.h * v > DISPLACEMENT * reach(&frame.state.q) {
        return false;
    }
    let Energy { kinetic, potential } = frame.report.energy;
    2.0 * kinetic < OF_IMPULSE * v * impulses(&frame.reactions)
        || kinetic < OF_POTENTIAL * potential.abs()
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
