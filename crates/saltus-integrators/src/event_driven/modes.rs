//! What a contact does along a smooth arc, kept by its identity.

use crate::integrator::ContactState;
use crate::kit::{EvaluationPoint, Row, id_as_numbers, id_from_numbers};
use saltus_system::{ContactId, ContactSet};

/// A direction in the tangent plane of a contact, or a vector along it; with one tangent the second component is 0.
pub(super) type Tangential = [f64; 2];

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
    /// It stays closed and slips in this direction, a unit vector; along an arc, the direction at its start.
    Slip(Tangential),
}

/// The modes of the contacts of a set, with what their friction depends on.
#[derive(Debug, Clone, Default)]
pub(super) struct ContactModes {
    pub(super) list: Vec<Mode>,
    /// Tangents with friction of each contact: 0, 1 or 2.
    pub(super) tangents: Vec<usize>,
    /// Slip [m/s] below which its direction is undefined, and the last one kept.
    pub(super) slowest: f64,
}

impl ContactModes {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn slips_in_space(&self, i: usize) -> bool {
        self.tangents[i] == 2 && matches!(self.list[i], Mode::Slip(_))
    }

    /// The mode of contact `i` at `point`: with two tangents the direction of slip is that of the velocity there.
    pub(super) fn at(&self, point: &EvaluationPoint, i: usize) -> Mode {
        match self.list[i] {
            Mode::Slip(last) if self.tangents[i] == 2 => {
                Mode::Slip(direction(slip(point, i, 2), last, self.slowest))
            }
            mode => mode,
        }
    }
}

impl std::ops::Index<usize> for ContactModes {
    type Output = Mode;
    fn index(&self, i: usize) -> &Mode {
        &self.list[i]
    }
}

impl std::ops::IndexMut<usize> for ContactModes {
    fn index_mut(&mut self, i: usize) -> &mut Mode {
        &mut self.list[i]
    }
}

/// Slip of contact `i` along its first `tangents` tangents [m/s].
pub(super) fn slip(point: &EvaluationPoint, i: usize, tangents: usize) -> Tangential {
    let first = point.contacts.first_row[i];
    let along = |k: usize| {
        if k <= tangents {
            point.velocity(Row::Tangent(i, first + k), &point.v)
        } else {
            0.0
        }
    };
    [along(1), along(2)]
}

pub(super) fn size(x: Tangential) -> f64 {
    x[0].hypot(x[1])
}

pub(super) fn inner(x: Tangential, y: Tangential) -> f64 {
    x[0] * y[0] + x[1] * y[1]
}

/// The direction of the slip `u` that goes on from `last`: `±u/|u|`, and `last` where the slip is no larger than `slowest`.
///
/// With the sign the motion is smooth through zero slip, where an arc ends.
pub(super) fn direction(u: Tangential, last: Tangential, slowest: f64) -> Tangential {
    let size = size(u);
    if size <= slowest {
        return last;
    }
    let signed = if inner(u, last) < 0.0 { -size } else { size };
    [u[0] / signed, u[1] / signed]
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

    /// Numbers for the memory of the scheme.
    fn save(self) -> [f64; 3] {
        match self {
            Self::Open => [0.0; 3],
            Self::Closed => [1.0, 0.0, 0.0],
            Self::Stick => [2.0, 0.0, 0.0],
            Self::Slip([a, b]) => [3.0, a, b],
        }
    }

    fn load([code, a, b]: [f64; 3]) -> Self {
        match code {
            1.0 => Self::Closed,
            2.0 => Self::Stick,
            3.0 => Self::Slip([a, b]),
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
            memory.extend(id_as_numbers(*id));
            memory.extend(mode.save());
        }
    }

    /// Takes up what [`save`](Self::save) gave; what follows it is returned.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        self.0.clear();
        let [count, rest @ ..] = memory else {
            return &[];
        };
        let numbers = 5 * (*count as usize);
        if rest.len() < numbers {
            return &[];
        }
        for entry in rest[..numbers].chunks_exact(5) {
            let id = id_from_numbers([entry[0], entry[1]]);
            let mode = Mode::load([entry[2], entry[3], entry[4]]);
            self.0.push((id, mode));
        }
        &rest[numbers..]
    }
}
