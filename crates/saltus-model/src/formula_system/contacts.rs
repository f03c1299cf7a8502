//! Contacts of unilateral constraints: contact `i` is the `i`-th of the definition, always in the set.

use super::build::Unilateral;
use super::matrix::{Matrix, Vector, copy};
use super::rows::Rows;
use super::{FormulaSystem, at, at_rest};
use crate::expression::{Gradients, Graph, Inputs};
use saltus_linear::MatrixSink;
use saltus_system::{ContactId, ContactLaw, ContactSet, Contacts, Point, Reach};
use std::cell::Cell;
use std::ops::Range;

thread_local! {
    /// Weights in the order of our rows, for sets that do not hold all contacts.
    static WEIGHTS: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// Laws and tapes of the contacts.
#[derive(Debug, Clone)]
pub(super) struct ContactTapes {
    pub laws: Vec<ContactLaw>,
    /// Coefficients of slip and stick of each contact in turn, where any depends on the motion.
    coefficients: Option<Vector>,
    /// First row of each contact, and the number of rows.
    first_row: Vec<usize>,
    /// Columns of the directions, row after row.
    cols: Vec<usize>,
    /// `cols[start[k]..start[k + 1]]` are those of row `k`.
    start: Vec<usize>,
    /// Gaps, entries of all directions, rates.
    evaluation: Vector,
    pub rows: Rows,
    /// Whether all gaps are affine and all rows constant.
    is_affine: bool,
}

/// The outputs of the evaluation.
struct Evaluation<'a> {
    gaps: &'a [f64],
    directions: &'a [f64],
    rates: &'a [f64],
}

impl ContactTapes {
    /// Compiles contacts with the rows `rows`, normal before tangents.
    pub(super) fn compile(
        graph: &mut Graph,
        gradients: &mut Gradients,
        contacts: &Unilateral,
        n: usize,
    ) -> Self {
        let Unilateral {
            gaps,
            laws,
            coefficients,
            rows,
        } = contacts;
        let coefficients: Vec<_> = coefficients.iter().flatten().copied().collect();
        let vary = coefficients.iter().any(|id| graph.value(*id).is_none());
        let coefficients = vary.then(|| Vector::compile(graph, &coefficients));
        let mut first_row = vec![0];
        first_row.extend(laws.iter().scan(0, |next, law| {
            *next += 1 + usize::from(law.tangents);
            Some(*next)
        }));
        let cols: Vec<usize> = rows
            .iter()
            .flat_map(|row| row.direction.iter().map(|d| d.0))
            .collect();
        let mut start = vec![0];
        start.extend(rows.iter().scan(0, |next, row| {
            *next += row.direction.len();
            Some(*next)
        }));
        let mut outputs = gaps.to_vec();
        outputs.extend(
            rows.iter()
                .flat_map(|row| row.direction.iter().map(|d| d.1)),
        );
        outputs.extend(rows.iter().map(|row| row.rate));
        let evaluation = Vector::compile(graph, &outputs);
        // What has a constant gradient and no jumps is affine.
        let is_affine = rows.iter().all(|row| row.is_constant(graph))
            && gaps.iter().all(|&gap| graph.is_rational(gap));
        Self {
            is_affine,
            laws: laws.clone(),
            coefficients,
            first_row,
            cols,
            start,
            evaluation,
            rows: Rows::compile(graph, gradients, rows, n),
        }
    }

    fn evaluate<R>(&self, t: f64, q: &[f64], read: impl FnOnce(Evaluation<'_>) -> R) -> R {
        self.evaluation.read(at_rest(t, q), |values| {
            let (gaps, rest) = values.split_at(self.laws.len());
            let (directions, rates) = rest.split_at(self.cols.len());
            read(Evaluation {
                gaps,
                directions,
                rates,
            })
        })
    }

    /// Whether the set holds all contacts, and so in the order of the definition.
    fn is_whole(&self, set: &ContactSet) -> bool {
        set.len() == self.laws.len()
    }

    /// For each contact of `set` that is one of ours: its place in the set and its number.
    fn members<'a>(&'a self, set: &'a ContactSet) -> impl Iterator<Item = (usize, usize)> + 'a {
        let numbers = set
            .id
            .iter()
            .map(|id| usize::try_from(id.0).unwrap_or(usize::MAX));
        numbers
            .enumerate()
            .filter(|&(_, number)| number < self.laws.len())
    }

    fn own_rows(&self, number: usize) -> Range<usize> {
        self.first_row[number]..self.first_row[number + 1]
    }

    /// Our rows in the set and their place there.
    fn row_pairs<'a>(&'a self, set: &'a ContactSet) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.members(set)
            .flat_map(|(i, number)| self.own_rows(number).zip(set.first_row[i]..))
    }

    fn send(
        &self,
        matrix: &Matrix,
        inputs: Inputs<'_>,
        set: &ContactSet,
        sink: &mut dyn MatrixSink,
    ) {
        if self.is_whole(set) {
            matrix.send(inputs, sink);
        } else {
            matrix.send_rows(inputs, self.row_pairs(set), sink);
        }
    }
}

impl Contacts for FormulaSystem {
    fn contact_count(&self) -> usize {
        self.contacts.laws.len()
    }

    fn gaps_are_affine(&self) -> bool {
        self.contacts.is_affine
    }

    fn laws_vary(&self) -> bool {
        self.contacts.coefficients.is_some()
    }

    fn contact_laws(&self, point: Point<'_>, set: &mut ContactSet) {
        let Some(coefficients) = &self.contacts.coefficients else {
            return;
        };
        coefficients.read(at(point), |values| {
            for (id, law) in set.id.iter().zip(&mut set.law) {
                let number = usize::try_from(id.0).unwrap_or(usize::MAX);
                if let Some([mu, mu_static]) = values
                    .get(number.saturating_mul(2)..)
                    .and_then(<[f64]>::first_chunk)
                {
                    law.mu = *mu;
                    law.mu_static = *mu_static;
                }
            }
        });
    }

    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        let _ = reach;
        let contacts = &self.contacts;
        set.clear();
        contacts.evaluate(t, q, |values| {
            for ((number, law), &gap) in (0..).zip(&contacts.laws).zip(values.gaps) {
                set.push(ContactId(number), *law, gap);
                for _ in 0..=law.tangents {
                    let range = contacts.start[set.directions.len()]
                        ..contacts.start[set.directions.len() + 1];
                    set.directions
                        .push(&contacts.cols[range.clone()], &values.directions[range]);
                }
            }
            set.rate.extend_from_slice(values.rates);
        });
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let contacts = &self.contacts;
        contacts.evaluate(t, q, |values| {
            if contacts.is_whole(set) {
                copy(values.gaps, &mut set.gap);
                copy(values.directions, set.directions.all_values_mut());
                copy(values.rates, &mut set.rate);
                return;
            }
            for i in 0..set.len() {
                let Some(number) = usize::try_from(set.id[i].0)
                    .ok()
                    .filter(|&k| k < contacts.laws.len())
                else {
                    continue;
                };
                set.gap[i] = values.gaps[number];
                for (own, row) in contacts.own_rows(number).zip(set.first_row[i]..) {
                    let range = contacts.start[own]..contacts.start[own + 1];
                    copy(&values.directions[range], set.directions.values_mut(row));
                    set.rate[row] = values.rates[own];
                }
            }
        });
    }

    fn contact_bias(&self, point: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        let contacts = &self.contacts;
        if contacts.is_whole(set) {
            return contacts.rows.bias.write(at(point), bias);
        }
        contacts.rows.bias.read(at(point), |values| {
            bias.fill(0.0);
            for (own, row) in contacts.row_pairs(set) {
                bias[row] = values[own];
            }
        });
    }

    fn contact_curvature(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let contacts = &self.contacts;
        if contacts.is_whole(set) {
            return contacts.rows.curvature.send(
                Inputs {
                    weights: r,
                    ..at_rest(t, q)
                },
                curvature,
            );
        }
        let mut weights = WEIGHTS.take();
        weights.clear();
        weights.resize(contacts.start.len() - 1, 0.0);
        for (own, row) in contacts.row_pairs(set) {
            weights[own] = r[row];
        }
        contacts.rows.curvature.send(
            Inputs {
                weights: &weights,
                ..at_rest(t, q)
            },
            curvature,
        );
        WEIGHTS.set(weights);
    }

    fn contact_direction_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let inputs = Inputs {
            weights: x,
            ..at_rest(t, q)
        };
        self.contacts.send(
            &self.contacts.rows.direction_gradient,
            inputs,
            set,
            gradient,
        );
    }

    fn contact_rate_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        self.contacts.send(
            &self.contacts.rows.rate_gradient,
            at_rest(t, q),
            set,
            gradient,
        );
    }

    fn contact_bias_gradient(
        &self,
        point: Point<'_>,
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        self.contacts
            .send(&self.contacts.rows.bias_gradient, at(point), set, gradient);
    }

    fn contact_bias_damping(
        &self,
        point: Point<'_>,
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        self.contacts
            .send(&self.contacts.rows.bias_damping, at(point), set, gradient);
    }
}
