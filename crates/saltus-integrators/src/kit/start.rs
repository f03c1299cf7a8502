//! Helpers for the start of a run: the length scale of gaps, and a mass matrix that constraints make regular.

use saltus_linear::{SparseRows, SquareMatrix};
use saltus_system::ContactSet;

/// Length scale of gaps \[m\]: their own size, the positions they are made of, and how far velocities and forces move
/// them in a step of length `h` \[s\].
///
/// `q` are the positions where coordinates are flat, `moved(i)` is how far velocities move contact `i` \[m\], `change(j)` by how much
/// forces change velocity `j` in the step.
pub(crate) fn length_scale(
    set: &ContactSet,
    q: Option<&[f64]>,
    h: f64,
    moved: impl Fn(usize) -> f64,
    change: impl Fn(usize) -> f64,
) -> f64 {
    let mut length = 0.0_f64;
    for i in 0..set.len() {
        let row = set.first_row[i];
        let reach = q.map_or(0.0, |q| set.directions.magnitude(row, q));
        let terms = set.directions.cols(row).iter();
        let terms = terms.zip(set.directions.values(row));
        let fall: f64 = terms.map(|(&j, w)| (w * h * change(j)).abs()).sum();
        let own = set.gap[i].abs().max(reach);
        length = length.max(own).max(moved(i)).max(fall);
    }
    length
}

/// Gap below which a contact counts as closed in steps of fixed length that locate no impacts \[m\]: a small part of the [`length_scale`], in which the way that forces make in a step counts
/// 10⁴ times. Some of that way is crossed in the step anyway, and where nothing else has a length (bodies at rest at the origin) the
/// round-off of velocities adds up to more than that of one step.
pub(crate) fn closed_gap(
    set: &ContactSet,
    q: Option<&[f64]>,
    h: f64,
    moved: impl Fn(usize) -> f64,
    change: impl Fn(usize) -> f64,
) -> f64 {
    1e-12 * length_scale(set, q, h, moved, |j| 1e4 * change(j))
}

/// Adds `α GᵀG` of the first `count` rows `G` to a mass or iteration matrix that is singular although the constrained system is
/// not; `weights` are `1/√Mᵢᵢ`. Where `G x = c` is given, the right-hand side of `x` gains `α Gᵀ c`
/// ([`augment_force`]), and nothing changes on the constraint manifold.
pub(crate) fn augment_matrix(
    matrix: &mut SquareMatrix,
    rows: &SparseRows,
    count: usize,
    weights: &[f64],
) {
    for i in 0..count {
        let alpha = augmentation(weights, rows.values(i));
        for (&j, g) in rows.cols(i).iter().zip(rows.values(i)) {
            rows.send(i, j, alpha * g, matrix);
        }
    }
}

/// Adds `−α Gᵀ c` of the rows of [`augment_matrix`] to `force`: the right-hand side for `G x = −c`.
pub(crate) fn augment_force(rows: &SparseRows, c: &[f64], weights: &[f64], force: &mut [f64]) {
    for (i, c) in c.iter().enumerate() {
        rows.axpy(i, -augmentation(weights, rows.values(i)) * c, force);
    }
}

/// `α` of a row with these entries.
fn augmentation(weights: &[f64], row: &[f64]) -> f64 {
    let smallest = weights.iter().fold(f64::INFINITY, |m, w| m.min(*w));
    let square: f64 = row.iter().map(|v| v * v).sum();
    if square > 0.0 {
        smallest.powi(-2) / square
    } else {
        0.0
    }
}
