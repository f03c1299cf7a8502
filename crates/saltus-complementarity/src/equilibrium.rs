//! Units in which the numbers of a problem are near 1: powers of two for its rows and unknowns.
//!
//! Neither a row times a positive number nor an unknown in another unit changes what solves a complementarity problem, and
//! powers of two cost no digit. Solvers that compare numbers of different rows work on [`Equilibrated`] problems.

use crate::mlcp::Mlcp;
use saltus_linear::{Dense, max_abs};

/// Whether all numbers are zero or so near 1 that squares, and products of them, can be written.
#[inline]
pub(crate) fn is_representable(numbers: &[f64]) -> bool {
    let near = |a: f64| a == 0.0 || (NEAREST..FARTHEST).contains(&a);
    numbers.iter().all(|v| near(v.abs()))
}

/// Whether the largest numbers of a problem can be worked with.
pub(crate) fn is_within_range(problem: &Mlcp<'_>) -> bool {
    let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
    let (m, q) = (problem.matrix.as_slice(), problem.q);
    finite(m) && finite(q) && is_representable(&[max_abs(m), max_abs(q)])
}

/// 2⁻²⁰⁰ and 2²⁰¹, some 10^±60.
const NEAREST: f64 = f64::from_bits((1023 - 200) << 52);
const FARTHEST: f64 = f64::from_bits((1023 + 201) << 52);

/// Powers of two for rows and columns after which the entries are as near 1 as they can be, by least squares of their
/// logarithms (Curtis & Reid, *J. Inst. Maths Applics* 10 (1972) 118–124): the result does not depend on the units.
fn equilibrium(matrix: &Dense) -> (Vec<f64>, Vec<f64>) {
    let (m, n) = (matrix.rows(), matrix.cols());
    let entries = matrix.as_slice().iter().enumerate();
    let sizes = entries.map(|(k, v)| (k / n, k % n, v.abs().log2()));
    let entries: Vec<_> = sizes.filter(|e| e.2.is_finite()).collect();
    let (mut row, mut column) = (vec![0.0; m], vec![0.0; n]);
    let (mut next, mut count) = (Vec::new(), Vec::new());
    // Minus the mean of what `of` says of the entries of each of `length` rows or columns.
    let mut means = |length: usize, of: &dyn Fn(usize) -> (usize, f64)| {
        next.clear();
        next.resize(length, 0.0);
        count.clear();
        count.resize(length, 0.0);
        for k in 0..entries.len() {
            let (index, v) = of(k);
            next[index] += v;
            count[index] += 1.0;
        }
        for (sum, count) in next.iter_mut().zip(&count) {
            *sum = if *count > 0.0 { -*sum / count } else { 0.0 };
        }
        std::mem::take(&mut next)
    };
    for _ in 0..100 {
        let better = means(m, &|k| {
            let (i, j, size) = entries[k];
            (i, size + column[j])
        });
        let each = better.iter().zip(&row);
        let moved = each.map(|(a, b): (&f64, &f64)| (a - b).abs());
        let moved = moved.fold(0.0, f64::max);
        row = better;
        column = means(n, &|k| {
            let (i, j, size) = entries[k];
            (j, size + row[i])
        });
        if moved < 0.1 {
            break;
        }
    }
    let whole = |x: Vec<f64>| x.into_iter().map(|v| v.round().exp2()).collect();
    (whole(row), whole(column))
}

/// Units for rows and unknowns: `M'_ij = a_i b_j M_ij`, `q'_i = a_i q_i / u`, `z_j = b_j u z'_j`.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    /// `b_j`, `u`.
    column: Vec<f64>,
    unit: f64,
}

impl Units {
    /// `z` of `z'`.
    pub fn unscale(&self, inside: &[f64], z: &mut [f64]) {
        for ((z, y), b) in z.iter_mut().zip(inside).zip(&self.column) {
            *z = y * b * self.unit;
        }
    }
}

/// A problem in units in which its numbers are near 1.
#[derive(Debug, Clone)]
pub(crate) struct Equilibrated {
    /// `M'`.
    pub matrix: Dense,
    /// `q'`.
    pub q: Vec<f64>,
    /// Number of equalities.
    pub equalities: usize,
    /// Which units these are.
    pub units: Units,
}

impl Equilibrated {
    /// By the entries of the matrix alone; the largest `q'` is of the order of 1.
    pub fn new(problem: &Mlcp<'_>) -> Self {
        let (row, column) = equilibrium(problem.matrix);
        let mut matrix = problem.matrix.clone();
        for (i, a) in row.iter().enumerate() {
            for (v, b) in matrix.row_mut(i).iter_mut().zip(&column) {
                *v *= a * b;
            }
        }
        let mut q: Vec<f64> = problem.q.iter().zip(&row).map(|(q, a)| q * a).collect();
        let largest = max_abs(&q);
        let unit = if largest > 0.0 {
            largest.log2().floor().exp2()
        } else {
            1.0
        };
        q.iter_mut().for_each(|q| *q /= unit);
        Self {
            matrix,
            q,
            equalities: problem.equalities,
            units: Units { column, unit },
        }
    }

    pub fn problem(&self) -> Mlcp<'_> {
        Mlcp {
            equalities: self.equalities,
            matrix: &self.matrix,
            q: &self.q,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_one() {
        assert!(is_representable(&[0.0, -0.0, 1.0, -1e59, 1e-59]));
        for v in [1e70, -1e-70, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(!is_representable(&[1.0, v]), "{v:e}");
        }
    }

    /// Rows and columns in other units are scaled to the same entries, whose logarithms have the mean zero in each.
    #[test]
    fn the_scaled_entries_do_not_depend_on_units() {
        let entries = [3.0, 0.0, 1e-9, 1e12, 0.7, 0.0, 0.0, 1e-20, 5.0];
        let units = [1e8, 1e-5, 3.0];
        for turned in [false, true] {
            let mut m = Dense::zeros(3, 3);
            m.as_mut_slice().copy_from_slice(&entries);
            if turned {
                for i in 0..3 {
                    for (j, v) in m.row_mut(i).iter_mut().enumerate() {
                        *v *= units[i] * units[2 - j];
                    }
                }
            }
            let (row, column) = equilibrium(&m);
            for k in 0..3 {
                let mean = |each: &dyn Fn(usize) -> f64| {
                    let logs = (0..3).map(each).filter(|v| *v > 0.0).map(f64::log2);
                    let logs: Vec<f64> = logs.collect();
                    logs.iter().sum::<f64>() / logs.len() as f64
                };
                assert!(mean(&|j| row[k] * m[(k, j)] * column[j]).abs() < 1.5);
                assert!(mean(&|i| row[i] * m[(i, k)] * column[k]).abs() < 1.5);
            }
        }
    }
}
