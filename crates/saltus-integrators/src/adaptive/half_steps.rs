//! Two half steps told as one: impulses and works add up, the worst certificate counts.

use crate::certificate::{Certificate, Entry};
use crate::integrator::{Reactions, StepReport};
use saltus_system::ContactSet;

/// Impulses of both halves of a step.
#[derive(Debug, Default)]
pub(super) struct HalfSteps {
    bilateral_impulse: Vec<f64>,
    friction_impulse: Vec<f64>,
    impulse: Vec<f64>,
    row_impulse: Vec<f64>,
    first: FirstHalf,
}

/// What the first half left.
#[derive(Debug, Default)]
struct FirstHalf {
    set: ContactSet,
    bilateral_impulse: Vec<f64>,
    friction_impulse: Vec<f64>,
    impulse: Vec<f64>,
    row_impulse: Vec<f64>,
}

fn copy<T: Copy>(from: &[T], to: &mut Vec<T>) {
    to.clear();
    to.extend_from_slice(from);
}

impl HalfSteps {
    /// Takes over the first half.
    pub(super) fn begin(&mut self, reactions: &Reactions<'_>) {
        let first = &mut self.first;
        first.set.clone_from(reactions.contacts);
        copy(reactions.bilateral_impulse, &mut first.bilateral_impulse);
        copy(reactions.friction_impulse, &mut first.friction_impulse);
        copy(reactions.impulse, &mut first.impulse);
        copy(reactions.row_impulse, &mut first.row_impulse);
    }

    /// Whether a contact carried an impulse in the first half.
    pub(super) fn first_has_impulse(&self) -> bool {
        self.first.impulse.iter().any(|p| *p != 0.0)
    }

    /// There is one state, and no step yet.
    pub(super) fn start(&mut self, reactions: &Reactions<'_>) {
        self.begin(reactions);
        self.copy_second(reactions);
    }

    fn copy_second(&mut self, reactions: &Reactions<'_>) {
        copy(reactions.bilateral_impulse, &mut self.bilateral_impulse);
        copy(reactions.friction_impulse, &mut self.friction_impulse);
        copy(reactions.impulse, &mut self.impulse);
        copy(reactions.row_impulse, &mut self.row_impulse);
    }

    /// Adds the second half.
    pub(super) fn finish(&mut self, reactions: &Reactions<'_>) {
        self.copy_second(reactions);
        add(&self.first.bilateral_impulse, &mut self.bilateral_impulse);
        add(&self.first.friction_impulse, &mut self.friction_impulse);
        let set = reactions.contacts;
        if set.id == self.first.set.id {
            add(&self.first.impulse, &mut self.impulse);
            add(&self.first.row_impulse, &mut self.row_impulse);
            return;
        }
        // Other contacts are in reach; one that carried an impulse has moved less than that away.
        for i in 0..self.first.set.len() {
            if let Ok(k) = set.id.binary_search(&self.first.set.id[i]) {
                self.add_contact(set, i, k);
            }
        }
    }

    fn add_contact(&mut self, set: &ContactSet, i: usize, k: usize) {
        self.impulse[k] += self.first.impulse[i];
        let (from, to) = (rows_of(&self.first.set, i), rows_of(set, k));
        for (a, b) in from.zip(to) {
            if let (Some(first), Some(p)) =
                (self.first.row_impulse.get(a), self.row_impulse.get_mut(b))
            {
                *p += first;
            }
        }
    }

    /// The reactions of the whole step; what holds at its end is in `second`.
    pub(super) fn reactions<'a>(&'a self, second: Reactions<'a>) -> Reactions<'a> {
        Reactions {
            bilateral_impulse: &self.bilateral_impulse,
            friction_impulse: &self.friction_impulse,
            impulse: &self.impulse,
            row_impulse: &self.row_impulse,
            ..second
        }
    }

    /// Contacts that carried an impulse in the step.
    fn active(&self) -> u32 {
        let count = self.impulse.iter().filter(|p| **p > 0.0).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The report of both halves.
    pub(super) fn report(&self, first: &StepReport, second: &StepReport, h: f64) -> StepReport {
        StepReport {
            h,
            iterations: first.iterations + second.iterations,
            active: self.active(),
            redundant: first.redundant.max(second.redundant),
            remedies: first.remedies + second.remedies,
            rejected: 0,
            energy: second.energy,
            energy_lag: second.energy_lag,
            work_external: first.work_external + second.work_external,
            work_contact: first.work_contact + second.work_contact,
            certificate: worst(&first.certificate, &second.certificate),
        }
    }
}

/// The worse of two certificates; the balance of energy adds up.
fn worst(first: &Certificate, second: &Certificate) -> Certificate {
    let mut certificate = *second;
    for (entry, a) in first.iter() {
        let b = second.get(entry);
        let value = if entry == Entry::EnergyBalance {
            a + b
        } else {
            b.max(a)
        };
        certificate.set(entry, value);
    }
    certificate
}

fn add(from: &[f64], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// The rows of contact `i`.
fn rows_of(set: &ContactSet, i: usize) -> std::ops::Range<usize> {
    let next = set.first_row.get(i + 1).copied();
    set.first_row[i]..next.unwrap_or(set.rate.len())
}
