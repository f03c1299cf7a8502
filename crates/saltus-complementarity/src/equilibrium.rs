//! Units in which the numbers of a problem are near 1: powers of two for its rows and unknowns.
//!
//! Neither a row times a positive number nor an unknown in another unit changes what solves a complementarity problem, and
//! powers of two cost no digit. Solvers that compare numbers of different rows work on [`Balanced`] problems.

use crate::mlcp::Mlcp;
use saltus_linear::{Dense, max_abs};

/// Whether all numbers are zero or so near 1 that squares, and products of them, can be written.
#[inline]
pub(crate) fn near_one(numbers: &[f64]) -> bool {
    // Without branches, so that several are looked at together.
    numbers.iter().fold(true, |near, v| {
        let a = v.abs();
        near & (a < FARTHEST) & ((a >= NEAREST) | (a == 0.0))
    })
}

/// Whether the numbers of a problem can be worked with as they are: what is next to nothing beside others of its row and
/// column (far contacts of a body that hardly know of each other) does not matter.
pub(crate) fn is_within_range(problem: &Mlcp<'_>) -> bool {
    let (m, q) = (problem.matrix, problem.q);
    if near_one(m.as_slice()) && near_one(q) {
        return true;
    }
    let size = |v: f64| v.to_bits() << 1;
    let fits = |largest: Option<u64>| near_one(&[f64::from_bits(largest.unwrap_or(0) >> 1)]);
    fits(q.iter().map(|v| size(*v)).max())
        && (0..m.rows()).all(|i| fits(m.row(i).iter().map(|v| size(*v)).max()))
        && (0..m.cols()).all(|j| fits((0..m.rows()).map(|i| size(m[(i, j)])).max()))
}

/// Binary digits by which an entry is nothing beside the diagonal.
const NOTHING: f64 = 120.0;

/// 2⁻²⁰⁰ and 2²⁰¹, some 10^±60.
const NEAREST: f64 = f64::from_bits((1023 - 200) << 52);
const FARTHEST: f64 = f64::from_bits((1023 + 201) << 52);

/// Powers of two for rows and columns after which the entries are as near 1 as they can be, by least squares of their
/// logarithms (Curtis & Reid, *J. Inst. Maths Applics* 10 (1972) 118–124): the result does not depend on the units. An
/// entry that is nothing beside the diagonal has no say.
fn equilibrium(matrix: &Dense) -> (Vec<f64>, Vec<f64>) {
    let (m, n) = (matrix.rows(), matrix.cols());
    let entries = matrix.as_slice().iter().enumerate();
    let sizes = entries.map(|(k, v)| (k / n, k % n, v.abs().log2()));
    let mut entries: Vec<_> = sizes.filter(|e| e.2.is_finite()).collect();
    let mut diagonal = vec![f64::NEG_INFINITY; m.max(n)];
    for (i, _, size) in entries.iter().filter(|e| e.0 == e.1) {
        diagonal[*i] = *size;
    }
    entries.retain(|&(i, j, size)| size >= 0.5 * (diagonal[i] + diagonal[j]) - NOTHING);
    let (mut row, mut column) = (vec![0.0; m], vec![0.0; n]);
    let (mut next, mut count) = (Vec::new(), Vec::new());
    // Minus the mean of what `of` says of the entries of each of `length` rows or columns.
    let mut means = |length: usize, of: &dyn Fn(usize) -> (usize, f64)| {
        next.clear();
        next.resize(length, 0.0);
        count.clear();
        count.resize(length, 0.0);
        for k in 0..entries.len() {
            let (place, v) = of(k);
            next[place] += v;
            count[place] += 1.0;
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
    pub fn leave(&self, inside: &[f64], z: &mut [f64]) {
        for ((z, y), b) in z.iter_mut().zip(inside).zip(&self.column) {
            *z = y * b * self.unit;
        }
    }
}

/// A problem in units in which its numbers are near 1.
#[derive(Debug, Clone)]
pub(crate) struct Balanced {
    /// `M'`.
    pub matrix: Dense,
    /// `q'`.
    pub q: Vec<f64>,
    /// Number of equalities.
    pub equalities: usize,
    /// Which units these are.
    pub units: Units,
}

impl Balanced {
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
        assert!(near_one(&[0.0, -0.0, 1.0, -1e59, 1e-59]));
        for v in [1e70, -1e-70, f64::NAN, f64::INFINITY, 1e-310] {
            assert!(!near_one(&[1.0, v]), "{v:e}");
        }
    }

    #[test]
    fn far_neighbours_change_nothing() {
        let q = [-0.6, -1e-90, 0.0];
        let mut m = Dense::zeros(3, 3);
        for (i, v) in [1.0, 0.0, 0.0, 1e-136, 0.7, 0.0, 1e-232, 1e-103, 0.5]
            .iter()
            .enumerate()
        {
            m.as_mut_slice()[i] = *v;
        }
        let within = |matrix: &Dense, q: &[f64]| {
            is_within_range(&Mlcp {
                equalities: 0,
                matrix,
                q,
            })
        };
        assert!(within(&m, &q));
        let (row, column) = equilibrium(&m);
        assert!(
            row.iter()
                .zip(&column)
                .all(|(a, b)| (0.25..=4.0).contains(&(a * b)))
        );
        // A row, a column or a right-hand side of nothing but such numbers is another matter.
        m[(1, 1)] = 1e-90;
        assert!(!within(&m, &q));
        m[(0, 1)] = 1.0;
        assert!(!within(&m, &q));
        m[(1, 0)] = 1.0;
        assert!(within(&m, &q));
        assert!(!within(&m, &[0.0, 1e-90, 0.0]));
        assert!(!within(&m, &[0.0, 1.0, f64::NAN]));
        m[(2, 0)] = 1e70;
        assert!(!within(&m, &q));
    }
}
