//! The few vector operations that loops are written with.

/// From this length on a scalar product is summed in [`LANES`] parts.
const LONG: usize = 32;

/// Partial sums that a processor keeps going at the same time.
const LANES: usize = 8;

/// Scalar product `aᵀ b` of two vectors of equal length; the order of summation depends on the length alone.
#[inline]
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < LONG {
        return a.iter().zip(b).map(|(x, y)| x * y).sum();
    }
    let ((a, end_a), (b, end_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, y) in a.iter().zip(b) {
        for k in 0..LANES {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = end_a.iter().zip(end_b).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
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
