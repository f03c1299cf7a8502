//! Eigenvalues and eigenvectors of a small matrix.

use crate::dense::Dense;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, evd_real, evd_scratch};
use faer::{MatMut, MatRef, Par, Spec};

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

/// Eigenvalues of the square matrix `a`, each as real and imaginary part, and the eigenvectors as the rows of a matrix; `None` where the
/// iteration does not arrive. Of a conjugate pair the first has the positive imaginary part, the row of the first is the real part of
/// its vector and the row of the second the imaginary part.
///
/// QR iterations on the Hessenberg form by `faer`.
#[must_use]
pub fn general_eigen(a: &Dense) -> Option<(Vec<[f64; 2]>, Dense)> {
    let n = a.rows();
    let mut vectors = Dense::zeros(n, n);
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    if n == 0 || !a.as_slice().iter().all(|x| x.is_finite()) {
        return (n == 0).then_some((Vec::new(), vectors));
    }
    let (left, right) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
    let need = evd_scratch::<f64>(n, left, right, Par::Seq, Spec::default());
    evd_real(
        MatRef::from_row_major_slice(a.as_slice(), n, n),
        DiagMut::from_slice_mut(&mut re),
        DiagMut::from_slice_mut(&mut im),
        None,
        // The columns of the vectors are the rows here.
        Some(MatMut::from_column_major_slice_mut(
            vectors.as_mut_slice(),
            n,
            n,
        )),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(need)),
        Spec::default(),
    )
    .ok()?;
    let mut k = 0;
    while k + 1 < n {
        if im[k] == 0.0 {
            k += 1;
            continue;
        }
        if im[k] < 0.0 {
            (im[k], im[k + 1]) = (im[k + 1], im[k]);
            vectors.row_mut(k + 1).iter_mut().for_each(|x| *x = -*x);
        }
        k += 2;
    }
    Some((
        re.into_iter().zip(im).map(|(a, b)| [a, b]).collect(),
        vectors,
    ))
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
