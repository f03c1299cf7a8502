//! Eigenvalues and eigenvectors of a small symmetric matrix.

use crate::dense::Dense;

/// Rotations of a matrix stop after this many sweeps; six or so suffice.
const SWEEPS: usize = 60;

/// Eigenvalues, in ascending order, and the eigenvectors as the rows of a matrix, orthonormal, of the symmetric matrix `a`;
/// of `a` the lower half is read.
///
/// Jacobi's rotations, row by row (Golub & Van Loan, *Matrix Computations*, 4th ed. 2013, §8.5.3).
#[must_use]
pub fn symmetric_eigen(a: &Dense) -> (Vec<f64>, Dense) {
    let n = a.rows();
    let mut a = a.clone();
    let mut vectors = Dense::zeros(n, n);
    for i in 0..n {
        vectors[(i, i)] = 1.0;
        for j in 0..i {
            a[(j, i)] = a[(i, j)];
        }
    }
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate(&mut a, &mut vectors, p, q);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
    let mut sorted = Dense::zeros(n, n);
    for (k, &i) in order.iter().enumerate() {
        sorted.row_mut(k).copy_from_slice(vectors.row(i));
    }
    (order.iter().map(|&i| a[(i, i)]).collect(), sorted)
}

/// Makes the entry `(p, q)` zero; `false` where it is round-off already.
fn rotate(a: &mut Dense, vectors: &mut Dense, p: usize, q: usize) -> bool {
    let (off, one, other) = (a[(p, q)], a[(p, p)], a[(q, q)]);
    if off.abs() <= f64::EPSILON * (one.abs() * other.abs()).sqrt() || off == 0.0 {
        return false;
    }
    let ratio = (other - one) / (2.0 * off);
    let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let n = a.rows();
    for k in 0..n {
        let (x, y) = (a[(k, p)], a[(k, q)]);
        a[(k, p)] = cosine * x - sine * y;
        a[(k, q)] = sine * x + cosine * y;
    }
    for k in 0..n {
        let (x, y) = (a[(p, k)], a[(q, k)]);
        a[(p, k)] = cosine * x - sine * y;
        a[(q, k)] = sine * x + cosine * y;
        let (x, y) = (vectors[(p, k)], vectors[(q, k)]);
        vectors[(p, k)] = cosine * x - sine * y;
        vectors[(q, k)] = sine * x + cosine * y;
    }
    (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
    true
}
