//! A number per row of the contacts, kept from one step to the next and found by contact.

use saltus_system::{ContactId, ContactSet};

/// The contacts, the first row of each, and a number per row.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContactRows {
    ids: Vec<ContactId>,
    first_row: Vec<usize>,
    values: Vec<f64>, // (rows of the set); empty where there are none
}

impl ContactRows {
    /// Keeps a number per row of `set`, or none.
    #[inline]
    pub(crate) fn keep(&mut self, set: &ContactSet, values: &[f64]) {
        if self.ids != set.id {
            self.ids.clone_from(&set.id);
            self.first_row.clone_from(&set.first_row);
        }
        copy(&mut self.values, values);
    }

    /// The place of a contact where it was kept.
    pub(crate) fn place(&self, id: ContactId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The number of row `k` of a contact where it was kept.
    pub(crate) fn value(&self, id: ContactId, k: usize) -> Option<f64> {
        let i = self.place(id)?;
        self.values.get(self.first_row[i] + k).copied()
    }
}

/// Makes `to` a copy of `from`, by a loop where the length stays: they are short.
#[inline]
pub(crate) fn copy(to: &mut Vec<f64>, from: &[f64]) {
    if to.len() == from.len() {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    } else {
        to.clear();
        to.extend_from_slice(from);
    }
}
