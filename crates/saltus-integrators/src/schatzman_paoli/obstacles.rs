//! Obstacles whose motion is prescribed.

use super::SchatzmanPaoli;
use crate::kit::{EvaluationPoint, Row};
use saltus_linear::is_zero;
use saltus_system::{ContactSet, System};

impl SchatzmanPaoli {
    /// Means of the rates `∂g/∂t` over the step before and over this one, and the work of the impulses at them, which act between the
    /// two steps.
    pub(super) fn mean_rates(&mut self, system: &dyn System) {
        let Self {
            step,
            law,
            work,
            rates: (before, after),
            h_k,
            ..
        } = self;
        let (start, end) = (&step.start, &step.end);
        let moves = |stage: &EvaluationPoint| {
            !is_zero(&stage.contacts.rate)
                || (0..step.dims.ng).any(|i| stage.rate(Row::Bilateral(i)) != 0.0)
        };
        before.clone_from(&start.contacts.rate);
        after.clone_from(&end.contacts.rate);
        if !moves(start) && !moves(end) {
            return;
        }
        work.fill(0.0);
        law.take_contacts(start);
        law.retract(system, start, work, start.t - *h_k);
        law.evaluate_rows(system);
        let means = |row: Row| {
            let now = start.rate(row);
            [0.5 * (law.rate(row) + now), 0.5 * (now + end.rate(row))]
        };
        let mut moving = 0.0;
        for (i, p) in step.reactions.bilateral.iter().enumerate() {
            let [a, b] = means(Row::Bilateral(i));
            moving -= 0.5 * p * (a + b);
        }
        for row in 0..before.len() {
            [before[row], after[row]] = means(Row::Tangent(0, row));
            moving -= 0.5 * step.reactions.row[row] * (before[row] + after[row]);
        }
        step.work_moving = Some(moving);
    }
}

/// Takes the mean of the gaps of `part` at `y` with obstacles where they are at the two times, weighted as the positions in `y` are: what
/// stays closed on an obstacle that accelerates then rests on it. `moved` are the same contacts.
pub(super) fn average_obstacles(
    system: &dyn System,
    (part, moved): (&mut ContactSet, &mut ContactSet),
    y: &[f64],
    e: f64,
    (before, after): (f64, f64),
) {
    moved.clone_from(part);
    part.gap.fill(0.0);
    for (t, weight) in [(before, e), (after, 1.0)] {
        if weight == 0.0 {
            continue;
        }
        system.evaluate_contacts(t, y, moved);
        for (sum, gap) in part.gap.iter_mut().zip(&moved.gap) {
            *sum += weight * gap / (1.0 + e);
        }
    }
}
