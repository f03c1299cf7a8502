//! Rows of constraints, joints and contacts with their derivative by the unknown velocity: where directions are taken at a position that
//! this velocity moves, `D(A(q) v + rate(q))` belongs to the rows of a linearised step.

use super::{EvaluationPoint, Row};
use saltus_linear::{RowCollector, RowScaled, Shifted, SparseRows};
use saltus_system::{ContactSet, System};

/// The rows, as far as they turn.
#[derive(Debug, Default)]
pub(crate) struct TurnedRows {
    bilateral: RowCollector,
    joints: RowCollector,
    contacts: RowCollector,
    /// `e` of each row of the contacts, times the derivative of the position (rows of the set).
    restitution: Vec<f64>,
    /// Which of them turn.
    pub(crate) turns: Turns,
}

/// Which rows turn with the unknown velocity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Turns {
    pub(crate) bilateral: bool,
    pub(crate) joints: bool,
    pub(crate) contacts: bool,
}

impl Turns {
    pub(crate) fn any(self) -> bool {
        self.bilateral || self.joints || self.contacts
    }
}

impl TurnedRows {
    /// A row: that of `law` where it does not turn.
    #[inline]
    pub(crate) fn row<'a>(&'a self, law: &'a EvaluationPoint, row: Row) -> (&'a SparseRows, usize) {
        match row {
            Row::Bilateral(i) if self.turns.bilateral => (self.bilateral.rows(), i),
            Row::JointFriction(i) if self.turns.joints => (self.joints.rows(), i),
            Row::Normal(_, i) | Row::Tangent(_, i) if self.turns.contacts => {
                (self.contacts.rows(), i)
            }
            _ => law.row(row),
        }
    }

    /// `G + factor (D(G v) + weight D(∂g/∂t))` of the `ng` bilateral constraints at `(t, q)`.
    pub(crate) fn turn_bilateral(
        &mut self,
        system: &dyn System,
        (t, q): (f64, &[f64]),
        v: &[f64],
        (factor, weight): (f64, f64),
        ng: usize,
    ) {
        let rows = &mut self.bilateral;
        rows.clear();
        system.g_jacobian(t, q, rows);
        let mut sink = shifted(rows, factor);
        system.g_jacobian_gradient(t, q, v, &mut sink);
        sink.factor *= weight;
        system.g_rate_gradient(t, q, &mut sink);
        rows.finish(ng);
    }

    /// `T + factor D(T v + rate)` of the friction in joints at `(t, q)`.
    pub(crate) fn turn_joints(
        &mut self,
        system: &dyn System,
        (t, q): (f64, &[f64]),
        v: &[f64],
        factor: f64,
        count: usize,
    ) {
        let rows = &mut self.joints;
        rows.clear();
        system.friction_jacobian(t, q, rows);
        system.friction_jacobian_gradient(t, q, v, &mut shifted(rows, factor));
        rows.finish(count);
    }

    /// `Wᵀ + factor D(Wᵀ v + rate)` of the contacts of `set`, which were evaluated at `(t, q)`. Where the velocity before the impact is
    /// taken along the same directions it is given, and `factor e D(Wᵀ v_k)` is added.
    pub(crate) fn turn_contacts(
        &mut self,
        system: &dyn System,
        (t, q, set): (f64, &[f64], &ContactSet),
        v: &[f64],
        factor: f64,
        before: Option<&[f64]>,
    ) {
        let rows = &mut self.contacts;
        rows.clear();
        for i in 0..set.directions.len() {
            set.directions.send(i, i, 1.0, rows);
        }
        let mut sink = shifted(rows, factor);
        system.contact_direction_gradient(t, q, set, v, &mut sink);
        system.contact_rate_gradient(t, q, set, &mut sink);
        if let Some(before) = before {
            self.restitution.clear();
            self.restitution.resize(set.rate.len(), 0.0);
            for i in 0..set.len() {
                let next = set.first_row.get(i + 1).copied();
                let (first, law) = (set.first_row[i], set.law[i]);
                for row in first..next.unwrap_or(set.rate.len()) {
                    let e = if row == first { law.e_n } else { law.e_t };
                    self.restitution[row] = factor * e;
                }
            }
            let mut sink = RowScaled {
                sink: rows,
                factors: &self.restitution,
            };
            system.contact_direction_gradient(t, q, set, before, &mut sink);
        }
        rows.finish(set.directions.len());
    }
}

fn shifted(rows: &mut RowCollector, factor: f64) -> Shifted<'_> {
    Shifted {
        sink: rows,
        factor,
        row: 0,
        col: 0,
    }
}
