//! The few vector operations that loops are written with.

/// Scalar product `aᵀ b` of two vectors of equal length.
#[inline]
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `y ← y + alpha x`.
#[inline]
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}

/// Largest absolute value, 0 of an empty vector; a NaN anywhere gives NaN.
#[inline]
#[must_use]
pub fn max_abs(x: &[f64]) -> f64 {
    let mut largest = 0.0;
    for v in x {
        let a = v.abs();
        if a > largest || a.is_nan() {
            largest = a;
        }
        if largest.is_nan() {
            break;
        }
    }
    largest
}
