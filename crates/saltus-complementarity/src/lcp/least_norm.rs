//! The solution of least norm of a monotone problem.
//!
//! The solutions of a monotone problem form a convex set (Cottle, Pang & Stone 1992, §3.1): with one of them, `z*`, they are the
//! points with `z ≥ 0`, `w ≥ 0`, `(M + Mᵀ)(z − z*) = 0` and `q·(z − z*) = 0`; what is positive in one is complementary in all. Its
//! point of least norm is the solution of a strictly convex quadratic program, whose conditions of optimality are a mixed
//! complementarity problem again.

use super::{LcpSolver, ScaledLcp, solve};
use crate::definite::{is_semidefinite, is_symmetric};
use crate::equilibrium::near_one;
use crate::mlcp::Mlcp;
use crate::outcome::Tolerance;
use crate::verdict::size_of_row;
use saltus_linear::{Dense, axpy, dot, max_abs};

/// What is larger than this share of its terms is positive.
const CLEAR: f64 = 1e-9;
/// Rows of equations that are shorter than this, once the others are taken out, follow from those.
const DEPENDENT: f64 = 1e-10;
/// Residuals below this are rounding.
const ROUND_OFF: f64 = 1e-14;
/// A square of the norm that is smaller by less than this share is not worth digits of the residual.
const GAIN: f64 = 1e-9;

/// Whether `M` is positive semidefinite, of numbers within 10^±60: the solutions form a convex set then.
#[must_use]
pub fn is_monotone(problem: &Mlcp<'_>) -> bool {
    near_one(problem.matrix.as_slice()) && is_semidefinite(problem.matrix)
}

/// Replaces `z`, a solution of `problem`, by the solution of least `Σ M_ii z_i²` (weight 1 where `M_ii ≤ 0`), which is unique if
/// `M` is positive semidefinite, whatever the order of the rows. Returns whether `z` is that solution now.
///
/// False, and `z` as it was, where `M` is not positive semidefinite (the solutions need not be a convex set then), where `z` misses
/// `tolerance`, or where the point of least norm is not found to `tolerance`. A point that is that solution already keeps its
/// digits: the residual never becomes ten times worse unless the norm falls.
pub fn canonical_solution(problem: &Mlcp<'_>, tolerance: f64, z: &mut [f64]) -> bool {
    let n = problem.q.len();
    let m = problem.matrix;
    let fits = m.rows() == n && m.cols() == n && z.len() == n && problem.equalities <= n;
    if !fits || !near_one(problem.q) || !near_one(z) {
        return false;
    }
    let before = problem.relative_residual(z);
    // NaN is not a solution.
    let solves = before <= tolerance;
    if !solves || !is_monotone(problem) {
        return false;
    }
    let Some(shorter) = least(problem, z) else {
        return false;
    };
    let after = problem.relative_residual(&shorter);
    let weight = |i: usize| if m[(i, i)] > 0.0 { m[(i, i)] } else { 1.0 };
    let square = |z: &[f64]| -> f64 { (0..n).map(|i| weight(i) * z[i] * z[i]).sum() };
    let (given, found) = (square(z), square(&shorter));
    let gains = given - found > GAIN * given;
    if after <= (10.0 * before).max(ROUND_OFF) || after <= tolerance && gains {
        z.copy_from_slice(&shorter);
        return true;
    }
    // The given point is as short.
    !gains && found <= given * (1.0 + GAIN)
}

/// The optimum of the quadratic program.
fn least(problem: &Mlcp<'_>, z: &[f64]) -> Option<Vec<f64>> {
    let p = ScaledLcp::with_weights(problem);
    let (n, e) = (z.len(), p.e);
    let y = p.scale(z);
    let mut w = vec![0.0; n];
    p.w(&y, &mut w);
    let largest = max_abs(&y);
    let carries = |i: usize| i < e || y[i] > CLEAR * largest;
    let open =
        |i: usize| i >= e && w[i] > CLEAR * size_of_row(p.m.row(i), p.q[i], &y) && !carries(i);
    // Unknowns that may differ from zero, free ones first.
    let kept: Vec<usize> = (0..n).filter(|&i| !open(i)).collect();
    let restricted =
        |row: &dyn Fn(usize) -> f64| -> Vec<f64> { kept.iter().map(|&j| row(j)).collect() };
    let symmetric = is_symmetric(&p.m);
    let mut rows = Vec::new();
    let mut bounds = Vec::new();
    for i in 0..n {
        let row = restricted(&|j| p.m[(i, j)]);
        if symmetric || carries(i) {
            rows.push(row);
        } else {
            bounds.push((row, p.q[i]));
        }
        if !symmetric {
            rows.push(restricted(&|j| p.m[(i, j)] + p.m[(j, i)]));
        }
    }
    let size = max_abs(&p.q);
    if size > 0.0 {
        rows.push(restricted(&|j| p.q[j] / size));
    }
    let basis = row_basis(rows);
    let start = restricted(&|j| y[j]);
    // B y = B y*;  y − Bᵀλ − Gᵀσ ⟂ y;  G y + g ⟂ σ: equations first, then the free unknowns.
    let (b, k, g) = (basis.len(), kept.len(), bounds.len());
    let total = b + k + g;
    let mut matrix = Dense::zeros(total, total);
    let mut q = vec![0.0; total];
    for (i, row) in basis.iter().enumerate() {
        q[i] = -dot(row, &start);
        for (j, v) in row.iter().enumerate() {
            matrix[(i, b + j)] = *v;
            matrix[(b + j, i)] = -v;
        }
    }
    for j in 0..k {
        matrix[(b + j, b + j)] = 1.0;
    }
    for (i, (row, constant)) in bounds.iter().enumerate() {
        q[b + k + i] = *constant;
        for (j, v) in row.iter().enumerate() {
            matrix[(b + k + i, b + j)] = *v;
            matrix[(b + j, b + k + i)] = -v;
        }
    }
    let mut x = vec![0.0; total];
    x[b..b + k].copy_from_slice(&start);
    let program = Mlcp {
        equalities: b + e,
        matrix: &matrix,
        q: &q,
    };
    let end = solve(&program, LcpSolver::Auto, Tolerance::default(), &mut x);
    if !end.outcome.is_solved() {
        return None;
    }
    let mut inside = vec![0.0; n];
    for (&j, x) in kept.iter().zip(&x[b..]) {
        inside[j] = *x;
    }
    let mut shorter = vec![0.0; n];
    p.unscale(&inside, &mut shorter);
    Some(shorter)
}

/// An orthonormal basis of the span of `rows`: Gram–Schmidt with the longest first, every vector orthogonalised twice.
pub(crate) fn row_basis(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut longest = 0.0_f64;
    while let Some((place, square)) = rows
        .iter()
        .map(|row| dot(row, row))
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
    {
        longest = longest.max(square);
        if square <= DEPENDENT * DEPENDENT * longest || square.is_nan() {
            break;
        }
        let mut next = rows.swap_remove(place);
        for known in &basis {
            let along = dot(known, &next);
            axpy(-along, known, &mut next);
        }
        let length = dot(&next, &next).sqrt();
        // A remainder that was rounding only.
        if length <= 0.5 * square.sqrt() {
            continue;
        }
        next.iter_mut().for_each(|v| *v /= length);
        for row in &mut rows {
            let along = dot(&next, row);
            axpy(-along, &next, row);
        }
        basis.push(next);
    }
    basis
}
