//! Work of contacts and constraints with a prescribed motion.

use crate::observe::contact_rows::ContactRows;
use saltus_integrators::Reactions;

/// The rates of a step, to be averaged with those of the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct MovingRates {
    contacts: ContactRows,
    bilateral: Vec<f64>, // (ng)
    /// Whether any rate is not zero.
    moves: bool,
}

impl MovingRates {
    /// Keeps the rates at the end of a step.
    pub(crate) fn keep(&mut self, reactions: &Reactions<'_>) {
        let set = reactions.contacts;
        let moves = |rates: &[f64]| rates.iter().any(|rate| *rate != 0.0);
        let before = std::mem::replace(
            &mut self.moves,
            moves(&set.rate) || moves(reactions.bilateral_rate),
        );
        if self.moves || before {
            self.contacts.keep(set, &set.rate);
            self.bilateral.clear();
            self.bilateral.extend_from_slice(reactions.bilateral_rate);
        }
    }

    /// Work of prescribed motions over the step after the one kept \[J\]: as the scheme knows it, else impulses times the mean of
    /// the rates at both ends.
    pub(crate) fn work(&self, reactions: &Reactions<'_>) -> f64 {
        if let Some(work) = reactions.work_moving {
            return work;
        }
        let set = reactions.contacts;
        let mut work = 0.0;
        if self.moves || set.rate.iter().any(|rate| *rate != 0.0) {
            for (i, &first) in set.first_row.iter().enumerate() {
                let mean = |k: usize| {
                    let now = set.rate[first + k];
                    0.5 * (now + self.contacts.value(set.id[i], k).unwrap_or(now))
                };
                work -= reactions.impulse[i] * mean(0);
                for k in 1..=usize::from(set.law[i].tangents) {
                    let impulse = reactions.row_impulse.get(first + k);
                    work -= impulse.unwrap_or(&0.0) * mean(k);
                }
            }
        }
        let now = reactions.bilateral_rate;
        let impulses = reactions.bilateral_impulse.iter().zip(now).enumerate();
        let known = self.bilateral.len() == now.len();
        work - impulses
            .map(|(i, (p, now))| {
                let before = if known { self.bilateral[i] } else { *now };
                0.5 * p * (before + now)
            })
            .sum::<f64>()
    }
}
