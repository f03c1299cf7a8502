//! Kept columns `J⁻¹ W` of contacts, in the rows of a piece.

use saltus_linear::Schur;
use std::ops::Range;

/// Rows of the columns of contacts that meet some rows.
#[inline]
fn part<'a>(schur: &'a Schur, i: usize, rows: &Range<usize>) -> Option<(usize, &'a [f64])> {
    let (first, column) = schur.column(i)?;
    let (begin, end) = (rows.start.max(first), rows.end.min(first + column.len()));
    (begin < end).then(|| (begin, &column[begin - first..end - first]))
}

/// `sums[k] ← sums[k] + c_kᵀ x` over some rows, `c_k` the column of the row `list[k]` of `schur`; `x` begins with the
/// first of these rows.
#[inline]
pub(crate) fn dot_columns(
    schur: &Schur,
    list: &[usize],
    rows: &Range<usize>,
    x: &[f64],
    sums: &mut [f64],
) {
    for (&i, sum) in list.iter().zip(sums) {
        if let Some((begin, column)) = part(schur, i, rows) {
            *sum += saltus_linear::dot(column, &x[begin - rows.start..][..column.len()]);
        }
    }
}

/// `x ← x + Σ z_k c_k` over some rows, likewise.
#[inline]
pub(crate) fn add_columns(
    schur: &Schur,
    list: &[usize],
    rows: &Range<usize>,
    z: &[f64],
    x: &mut [f64],
) {
    for (&i, &z) in list.iter().zip(z) {
        if z != 0.0
            && let Some((begin, column)) = part(schur, i, rows)
        {
            saltus_linear::axpy(z, column, &mut x[begin - rows.start..][..column.len()]);
        }
    }
}
