//! Whether the inequalities of a problem can be satisfied at all: phase one of the simplex method
//! with Bland's rule, whose optimal multipliers are the proof if they cannot (Farkas' lemma).

use super::ScaledLcp;
use saltus_linear::{Dense, dot, max_abs};

/// `y ≥ 0` (free in the equality rows), `Mᵀ y ≤ 0` (`= 0` in the free columns), `q·y < 0`, scaled to `max |y| = 1`,
/// if it exists.
pub(super) fn certificate(p: &ScaledLcp) -> Option<Vec<f64>> {
    let n = p.q.len();
    // Columns: z (n), the negative parts of free unknowns (e), slacks (n), artificials (n), right-hand side.
    let (slack, artificial, rhs) = (n + p.e, 2 * n + p.e, 3 * n + p.e);
    let mut t = Dense::zeros(n + 1, rhs + 1);
    let mut basis = vec![0; n];
    let mut sign = vec![1.0; n];
    for i in 0..n {
        sign[i] = if p.q[i] > 0.0 { -1.0 } else { 1.0 };
        for j in 0..n {
            t[(i, j)] = sign[i] * p.m[(i, j)];
            if j < p.e {
                t[(i, n + j)] = -sign[i] * p.m[(i, j)];
            }
        }
        if i >= p.e {
            t[(i, slack + i)] = -sign[i];
        }
        t[(i, artificial + i)] = 1.0;
        t[(i, rhs)] = -sign[i] * p.q[i];
        basis[i] = if i >= p.e && sign[i] < 0.0 {
            slack + i
        } else {
            artificial + i
        };
    }
    // Reduced costs of the sum of the artificials.
    for i in 0..n {
        t[(n, artificial + i)] = 1.0;
    }
    for i in 0..n {
        if basis[i] >= artificial {
            for j in 0..=rhs {
                let v = t[(i, j)];
                t[(n, j)] -= v;
            }
        }
    }
    for _ in 0..200 * (n + 1) {
        let Some(col) = (0..rhs).find(|&j| t[(n, j)] < -1e-10) else {
            break;
        };
        let mut row: Option<usize> = None;
        for i in 0..n {
            if t[(i, col)] > 1e-10 {
                let ratio = t[(i, rhs)] / t[(i, col)];
                let better = row.is_none_or(|r| {
                    let other = t[(r, rhs)] / t[(r, col)];
                    ratio < other - 1e-13 || (ratio <= other + 1e-13 && basis[i] < basis[r])
                });
                if better {
                    row = Some(i);
                }
            }
        }
        let row = row?;
        pivot(&mut t, row, col);
        basis[row] = col;
    }
    // The multiplier of row i: from the reduced cost of its slack, or of its artificial.
    let mut y: Vec<f64> = (0..n)
        .map(|i| {
            if i < p.e {
                sign[i] * (1.0 - t[(n, artificial + i)])
            } else {
                t[(n, slack + i)].max(0.0)
            }
        })
        .collect();
    let size = max_abs(&y);
    if size.is_nan() || size <= 0.0 {
        return None;
    }
    for v in &mut y {
        *v /= size;
    }
    let mut image = vec![0.0; n];
    p.m.apply_transposed_add(1.0, &y, &mut image);
    let scale = max_abs(p.m.as_slice()).max(1.0) * n as f64;
    let admissible = image.iter().enumerate().all(|(j, v)| {
        let excess = if j < p.e { v.abs() } else { v.max(0.0) };
        excess <= 1e-12 * scale
    });
    (admissible && dot(&p.q, &y) < -1e-9 * max_abs(&p.q)).then_some(y)
}

fn pivot(t: &mut Dense, row: usize, col: usize) {
    let inverse = 1.0 / t[(row, col)];
    for v in t.row_mut(row) {
        *v *= inverse;
    }
    let line = t.row(row).to_vec();
    for i in (0..t.rows()).filter(|&i| i != row) {
        let factor = t[(i, col)];
        if factor != 0.0 {
            for (v, l) in t.row_mut(i).iter_mut().zip(&line) {
                *v -= factor * l;
            }
        }
    }
}
