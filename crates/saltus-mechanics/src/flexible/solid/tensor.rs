//! Second-order tensors in two and three dimensions, and fourth-order ones by components.

use crate::rotation::Scalar;

/// A second-order tensor, row by row.
pub(super) type Tensor<T, const D: usize> = [[T; D]; D];
/// `A_iJkL`.
pub(super) type Tensor4<const D: usize> = [[[[f64; D]; D]; D]; D];

/// The tensor with entries `f(i, j)`.
#[inline(always)]
pub(super) fn tensor<T, const D: usize>(mut f: impl FnMut(usize, usize) -> T) -> Tensor<T, D> {
    std::array::from_fn(|i| std::array::from_fn(|j| f(i, j)))
}

/// The identity.
#[inline(always)]
pub(super) fn identity<const D: usize>() -> Tensor<f64, D> {
    tensor(delta)
}

/// Kronecker's δ.
#[inline(always)]
pub(super) fn delta(i: usize, j: usize) -> f64 {
    if i == j { 1.0 } else { 0.0 }
}

/// `A : B`.
#[inline(always)]
pub(super) fn contract<T: Scalar, const D: usize>(a: &Tensor<T, D>, b: &Tensor<T, D>) -> T {
    let mut sum = T::from(0.0);
    for i in 0..D {
        for j in 0..D {
            sum += a[i][j] * b[i][j];
        }
    }
    sum
}

/// `Aᵀ B`.
#[inline(always)]
pub(super) fn transposed_product<T: Scalar, const D: usize>(
    a: &Tensor<T, D>,
    b: &Tensor<T, D>,
) -> Tensor<T, D> {
    tensor(|i, j| {
        let mut sum = T::from(0.0);
        for k in 0..D {
            sum += a[k][i] * b[k][j];
        }
        sum
    })
}

/// `A Bᵀ`.
#[inline(always)]
pub(super) fn product_transposed<const D: usize>(
    a: &Tensor<f64, D>,
    b: &Tensor<f64, D>,
) -> Tensor<f64, D> {
    tensor(|i, j| (0..D).map(|k| a[i][k] * b[j][k]).sum())
}

/// `A B`.
#[inline(always)]
pub(super) fn product<const D: usize>(a: &Tensor<f64, D>, b: &Tensor<f64, D>) -> Tensor<f64, D> {
    tensor(|i, j| (0..D).map(|k| a[i][k] * b[k][j]).sum())
}

/// `½ (A + Aᵀ)`.
#[inline(always)]
pub(super) fn symmetric<T: Scalar, const D: usize>(a: &Tensor<T, D>) -> Tensor<T, D> {
    tensor(|i, j| (a[i][j] + a[j][i]) * 0.5)
}

/// `tr A`.
#[inline(always)]
pub(super) fn trace<T: Scalar, const D: usize>(a: &Tensor<T, D>) -> T {
    let mut sum = T::from(0.0);
    for i in 0..D {
        sum += a[i][i];
    }
    sum
}

/// `det(A) A⁻ᵀ`, in two and three dimensions.
#[inline(always)]
pub(super) fn cofactor<T: Scalar, const D: usize>(a: &Tensor<T, D>) -> Tensor<T, D> {
    if D == 2 {
        return tensor(|i, j| {
            let minor = a[1 - i][1 - j];
            if i == j { minor } else { -minor }
        });
    }
    tensor(|i, j| {
        let (p, q, r, s) = ((i + 1) % D, (i + 2) % D, (j + 1) % D, (j + 2) % D);
        a[p][r] * a[q][s] - a[p][s] * a[q][r]
    })
}

/// `det A` from the first row of its cofactor.
#[inline(always)]
pub(super) fn determinant<T: Scalar, const D: usize>(
    a: &Tensor<T, D>,
    cofactor: &Tensor<T, D>,
) -> T {
    let mut sum = T::from(0.0);
    for j in 0..D {
        sum += a[0][j] * cofactor[0][j];
    }
    sum
}

/// The fourth-order tensor with entries `f(i, J, k, L)`.
#[inline(always)]
pub(super) fn tensor4<const D: usize>(
    mut f: impl FnMut(usize, usize, usize, usize) -> f64,
) -> Tensor4<D> {
    std::array::from_fn(|i| std::array::from_fn(|j| tensor(|k, l| f(i, j, k, l))))
}
