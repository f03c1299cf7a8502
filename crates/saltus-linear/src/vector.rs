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
    if x.len() < LANES {
        let larger = |m: f64, x: &f64| {
            let a = x.abs();
            if a > m || a.is_nan() { a } else { m }
        };
        return x.iter().fold(0.0, larger);
    }
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut largest = [0.0; LANES];
    let mut unordered = false;
    let mut take = |largest: &mut f64, x: f64| {
        let a = x.abs();
        unordered |= a.is_nan();
        if a > *largest {
            *largest = a;
        }
    };
    for block in blocks {
        for k in 0..LANES {
            take(&mut largest[k], block[k]);
        }
    }
    for (largest, x) in largest.iter_mut().zip(rest) {
        take(largest, *x);
    }
    if unordered {
        f64::NAN
    } else {
        largest.iter().fold(0.0, |m, x| if *x > m { *x } else { m })
    }
}

/// Whether every entry is zero.
#[inline]
#[must_use]
pub fn is_zero(x: &[f64]) -> bool {
    let (blocks, rest) = x.as_chunks::<LANES>();
    blocks
        .iter()
        .all(|b| b.iter().fold(true, |zero, x| zero & (*x == 0.0)))
        && rest.iter().all(|x| *x == 0.0)
}
