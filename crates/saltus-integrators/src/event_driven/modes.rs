//! What a contact does along a smooth arc, kept by its identity.

use crate::integrator::ContactState;
use saltus_system::{ContactId, ContactSet};

/// The mode of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Mode {
    /// It carries nothing.
    #[default]
    Open,
    /// It stays closed, without friction.
    Closed,
    /// It stays closed and does not slip.
    Stick,
    /// It stays closed and slips in this direction, ±1.
    Slip(f64),
}

impl Mode {
    pub(super) fn is_closed(self) -> bool {
        self != Self::Open
    }

    pub(super) fn state(self) -> ContactState {
        match self {
            Self::Open => ContactState::Open,
            Self::Closed => ContactState::Closed,
            Self::Stick => ContactState::Stick,
            Self::Slip(_) => ContactState::Slip,
        }
    }

    /// A number for the memory of the scheme.
    pub(super) fn code(self) -> f64 {
        match self {
            Self::Open => 0.0,
            Self::Closed => 1.0,
            Self::Stick => 2.0,
            Self::Slip(sign) => 3.0 * sign,
        }
    }

    pub(super) fn from_code(code: f64) -> Self {
        match code {
            1.0 => Self::Closed,
            2.0 => Self::Stick,
            3.0 => Self::Slip(1.0),
            -3.0 => Self::Slip(-1.0),
            _ => Self::Open,
        }
    }
}

/// The contacts that are not open, by identity, increasing.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<(ContactId, Mode)>);

impl Memory {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The modes of the contacts of `set`.
    pub(super) fn recall(&self, set: &ContactSet, modes: &mut Vec<Mode>) {
        modes.clear();
        modes.extend(set.id.iter().map(|id| {
            let found = self.0.binary_search_by_key(id, |(id, _)| *id);
            found.map_or(Mode::Open, |k| self.0[k].1)
        }));
    }

    /// Keeps the modes of the contacts of `set`.
    pub(super) fn keep(&mut self, set: &ContactSet, modes: &[Mode]) {
        self.0.clear();
        let closed = set.id.iter().zip(modes).filter(|(_, m)| m.is_closed());
        self.0.extend(closed.map(|(id, mode)| (*id, *mode)));
    }

    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        memory.push(self.0.len() as f64);
        for (id, mode) in &self.0 {
            // Two halves of the number, each exact.
            memory.extend([
                (id.0 >> 32) as f64,
                (id.0 & 0xffff_ffff) as f64,
                mode.code(),
            ]);
        }
    }

    /// Takes up what [`save`](Self::save) gave; what follows it is returned.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.0.clear();
        let [count, rest @ ..] = memory else {
            return &[];
        };
        let numbers = 3 * (*count as usize);
        if rest.len() < numbers {
            return &[];
        }
        for entry in rest[..numbers].chunks_exact(3) {
            let id = (entry[0] as u64) << 32 | entry[1] as u64;
            self.0.push((ContactId(id), Mode::from_code(entry[2])));
        }
        &rest[numbers..]
    }
}
