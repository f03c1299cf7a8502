//! Active sets of sparse problems: the block of each is factorised sparsely, which costs little more than its entries.

use crate::active_set::Tried;
use crate::mlcp::Mlcp;
use crate::outcome::Status;
use crate::sparse::SparseMatrix;
use saltus_linear::{Dense, MatrixSink, SparseRows, SquareMatrix};

/// Rows from which on it pays.
const LEAST_ROWS: usize = 100;
/// Most entries per row, as a share of the row.
const DENSITY: f64 = 0.05;

/// Whether a matrix is large and has few entries.
fn is_sparse(matrix: &Dense) -> bool {
    let n = matrix.rows();
    let count = || matrix.as_slice().iter().filter(|v| **v != 0.0).count();
    n >= LEAST_ROWS && count() as f64 <= DENSITY * (n * n) as f64
}

/// The rows of a matrix that is large and has few entries.
pub(super) fn rows_of(matrix: &Dense) -> Option<SparseRows> {
    if !is_sparse(matrix) {
        return None;
    }
    let mut rows = SparseRows::default();
    let (mut cols, mut values) = (Vec::new(), Vec::new());
    for i in 0..matrix.rows() {
        cols.clear();
        values.clear();
        let entries = matrix.row(i).iter().enumerate();
        for (j, v) in entries.filter(|(_, v)| **v != 0.0) {
            cols.push(j);
            values.push(*v);
        }
        rows.push(&cols, &values);
    }
    Some(rows)
}

/// The matrix of `problem` where it is large and has few entries.
pub(super) fn matrix_of(problem: &Mlcp<'_>) -> Option<SparseMatrix> {
    let n = problem.q.len();
    if !is_sparse(problem.matrix) {
        return None;
    }
    let all = problem.matrix.as_slice().iter().enumerate();
    let entries = all.filter(|(_, v)| **v != 0.0);
    let entries: Vec<_> = entries.map(|(k, v)| (k / n, k % n, *v)).collect();
    Some(SparseMatrix::from_triplets(n, n, &entries))
}

/// Primal–dual active sets (Bergounioux, Ito & Kunisch, *SIAM J. Control Optim.* 37 (1999)) from the guess `z`; an active set that
/// comes back ends it.
pub(super) fn newton_min(
    problem: &Mlcp<'_>,
    m: &SparseMatrix,
    limit: u32,
    z: &mut [f64],
) -> (Status, u32) {
    let n = z.len();
    let q = problem.q;
    let scale = |i: usize| {
        let d = problem.matrix[(i, i)];
        if d > 0.0 { d } else { 1.0 }
    };
    let (mut w, mut place) = (vec![0.0; n], vec![usize::MAX; n]);
    let mut tried = Tried::default();
    let mut before: Vec<usize> = Vec::new();
    for step in 0..limit {
        w.copy_from_slice(q);
        m.apply_add(1.0, z, &mut w);
        let active: Vec<usize> = (0..n)
            .filter(|&i| i < problem.equalities || scale(i) * z[i] > w[i])
            .collect();
        if step > 0 && active == before {
            return (Status::Solved, step);
        }
        if !tried.insert(&active) {
            return (Status::Cycle, step);
        }
        place.fill(usize::MAX);
        for (k, &i) in active.iter().enumerate() {
            place[i] = k;
        }
        let Some(x) = on_block(m, q, &active, &place) else {
            z.fill(0.0);
            return (Status::Stalled, step);
        };
        z.fill(0.0);
        for (&i, x) in active.iter().zip(&x) {
            z[i] = *x;
        }
        before = active;
    }
    (Status::IterationLimit, limit)
}

/// `−M_AA⁻¹ q_A`, refined once: rows with small terms hold by these, too. `place` is that of a row in `active`.
fn on_block(m: &SparseMatrix, q: &[f64], active: &[usize], place: &[usize]) -> Option<Vec<f64>> {
    let inside = |j: usize| m.column(j).filter(|e| place[e.0] != usize::MAX);
    let mut x: Vec<f64> = active.iter().map(|&i| -q[i]).collect();
    if active.is_empty() {
        return Some(x);
    }
    let mut block = SquareMatrix::new(active.len());
    for &j in active {
        for (i, v) in inside(j) {
            block.entry(place[i], place[j], v);
        }
    }
    block.factorise().ok()?;
    let mut defect = x.clone();
    block.solve(&mut x);
    for (&j, x) in active.iter().zip(&x) {
        for (i, v) in inside(j) {
            defect[place[i]] -= v * x;
        }
    }
    block.solve(&mut defect);
    x.iter_mut().zip(&defect).for_each(|(x, d)| *x += d);
    x.iter().all(|v| v.is_finite()).then_some(x)
}
