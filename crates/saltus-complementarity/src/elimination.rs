//! Gaussian elimination on the stack, for the few unknowns of a contact or of a tiny problem.

/// `x ← A⁻¹ x` of the first `n` rows, with row pivoting; `a` is used up. Returns the smallest pivot over the largest, 1
/// without rows; `None` where a pivot vanishes.
#[inline]
pub(crate) fn eliminate<const N: usize>(
    a: &mut [[f64; N]; N],
    x: &mut [f64; N],
    n: usize,
) -> Option<f64> {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for p in 0..n {
        let mut best = p;
        for i in p + 1..n {
            if a[i][p].abs() > a[best][p].abs() {
                best = i;
            }
        }
        if best != p {
            a.swap(p, best);
            x.swap(p, best);
        }
        let pivot = a[p][p];
        if pivot == 0.0 || !pivot.is_finite() {
            return None;
        }
        least = least.min(pivot.abs());
        most = most.max(pivot.abs());
        let inverse = 1.0 / pivot;
        let (done, rest) = a.split_at_mut(p + 1);
        let lead = &done[p];
        for (line, i) in rest[..n - p - 1].iter_mut().zip(p + 1..) {
            if line[p] == 0.0 {
                continue;
            }
            let factor = line[p] * inverse;
            for (to, from) in line[p + 1..n].iter_mut().zip(&lead[p + 1..n]) {
                *to -= factor * from;
            }
            x[i] -= factor * x[p];
        }
        a[p][p] = inverse;
    }
    for p in (0..n).rev() {
        let mut sum = x[p];
        for j in p + 1..n {
            sum -= a[p][j] * x[j];
        }
        x[p] = sum * a[p][p];
    }
    Some(if n == 0 { 1.0 } else { least / most })
}
