//! Checks of a mass matrix: sizes are right by now, values may not be.

use super::matrix::Symbolic;
use crate::expression::{Graph, Inputs, Tape};

/// Relative size of an entry or pivot that counts as round-off.
const ROUND_OFF: f64 = 1e-12;

/// What is wrong with an entry, at a row and column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MassError {
    pub row: usize,
    pub col: usize,
    pub message: String,
}

/// What is wrong with the mass matrix of coordinates called `names`.
///
/// Diagonal entries are judged where they are constant, definiteness where all entries are, and
/// symmetry always: where entries differ in form, at a few points.
pub(super) fn mass_errors(graph: &Graph, mass: &Symbolic, names: &[String]) -> Vec<MassError> {
    let n = names.len();
    let mut mass_errors = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let value = mass.get(i, i).map_or(Some(0.0), |id| graph.value(id));
        if let Some(value) = value.filter(|&m| m <= 0.0) {
            let message =
                format!("the mass of `{name}` (entry {i}, {i} of the mass matrix) is {value}");
            mass_errors.push(MassError {
                row: i,
                col: i,
                message,
            });
        }
    }
    mass_errors.extend(asymmetries(graph, mass, n));
    if mass_errors.is_empty() && mass.is_constant(graph) {
        mass_errors.extend(indefinite(graph, mass, names));
    }
    mass_errors
}

fn asymmetries(graph: &Graph, mass: &Symbolic, n: usize) -> Vec<MassError> {
    let mut pairs = Vec::new();
    let mut outputs = Vec::new();
    for &(i, j, a) in mass.entries() {
        match mass.get(j, i) {
            Some(b) if a == b => {}
            Some(b) if i < j => {
                pairs.push((i, j));
                outputs.extend([a, b]);
            }
            Some(_) => {}
            None => {
                return vec![MassError {
                    row: i,
                    col: j,
                    message: asymmetry(i, j, graph.value(a), Some(0.0)),
                }];
            }
        }
    }
    let tape = Tape::compile(graph, &outputs);
    let mut mass_errors: Vec<MassError> = Vec::new();
    for probe in 0..5 {
        let q: Vec<f64> = (0..n)
            .map(|i| (1.7 * i as f64 + 2.3 * f64::from(probe) + 0.4).sin())
            .collect();
        tape.run(
            Inputs {
                t: 0.0,
                q: &q,
                v: &[],
                weights: &[],
            },
            |values| {
                for (k, &(row, col)) in pairs.iter().enumerate() {
                    let (a, b) = (values[2 * k], values[2 * k + 1]);
                    // Where one is not finite, nothing can be said.
                    if (a - b).abs() > 1e-9 * a.abs().max(b.abs())
                        && !mass_errors.iter().any(|d| d.row == row && d.col == col)
                    {
                        let constant = |id| graph.value(id);
                        let message = asymmetry(
                            row,
                            col,
                            constant(outputs[2 * k]),
                            constant(outputs[2 * k + 1]),
                        );
                        mass_errors.push(MassError { row, col, message });
                    }
                }
            },
        );
    }
    mass_errors
}

fn asymmetry(i: usize, j: usize, a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) => {
            format!(
                "the mass matrix is not symmetric: entry {i}, {j} is {a}, entry {j}, {i} is {b}"
            )
        }
        _ => format!("the mass matrix is not symmetric: entries {i}, {j} and {j}, {i} differ"),
    }
}

/// `L D Lᵀ` within the profile of a constant symmetric matrix, to see the signs of `D`.
fn indefinite(graph: &Graph, mass: &Symbolic, names: &[String]) -> Option<MassError> {
    let n = names.len();
    // Row i holds the columns first[i]..=i.
    let first: Vec<usize> = (0..n)
        .map(|i| mass.row(i).first().map_or(i, |e| e.1.min(i)))
        .collect();
    let mut lower: Vec<Vec<f64>> = (0..n).map(|i| vec![0.0; i - first[i] + 1]).collect();
    for &(i, j, id) in mass.entries().iter().filter(|e| e.1 <= e.0) {
        lower[i][j - first[i]] = graph.value(id).unwrap_or(f64::NAN);
    }
    let diagonal: Vec<f64> = (0..n).map(|i| lower[i][i - first[i]]).collect();
    let error_at = |row: usize, pivot: f64| MassError {
        row,
        col: row,
        message: format!(
            "the mass matrix is not positive semidefinite: eliminating the coordinates before `{}` leaves it the mass {pivot}",
            names[row]
        ),
    };
    for i in 0..n {
        for j in first[i]..=i {
            let (before, rest) = lower.split_at_mut(i);
            let row = &mut rest[0];
            let from = first[i].max(first[j]);
            let mut sum = row[j - first[i]];
            for k in from..j {
                let other = if j < i {
                    before[j][k - first[j]]
                } else {
                    row[k - first[i]]
                };
                let pivot = before[k][k - first[k]];
                sum -= row[k - first[i]] * pivot * other;
            }
            let tolerance = ROUND_OFF * (diagonal[i] * diagonal[j]).sqrt();
            if j == i {
                if sum < -tolerance {
                    return Some(error_at(i, sum));
                }
                row[j - first[i]] = if sum <= tolerance { 0.0 } else { sum };
            } else {
                let pivot = before[j][j - first[j]];
                if pivot == 0.0 && sum.abs() > tolerance {
                    return Some(MassError {
                        row: i,
                        col: j,
                        message: format!(
                            "the mass matrix is not positive semidefinite: `{}` has no mass of its own left but is coupled to `{}`",
                            names[j], names[i]
                        ),
                    });
                }
                row[j - first[i]] = if pivot == 0.0 { 0.0 } else { sum / pivot };
            }
        }
    }
    None
}
