//! When a point counts as solved: the one place that every solver of linear complementarity asks.
//!
//! A row is held to its own data. With `w_i = q_i + Σ M_ij z_j`, two sizes bound what it may miss. `s_i = |q_i| + Σ |M_ij z_j|`
//! are the terms whose cancellation is `w_i`; no rounding can do better than a small multiple of the unit round-off of it.
//! `D_i = |q_i| + Σ |M_ij| ζ_j` is what the data alone put into the row, `ζ_j = |q_j|/M_jj` being what row `j` would ask for by
//! itself: it does not grow where the unknowns run away and leave a constant defect behind (contacts that squeeze something
//! rigid). The miss of a row is `(|w_i| − e_i)⁺ / min(s_i, D_i)` where `w_i` should vanish or has the wrong sign, with `1e-14 s_i` for the
//! rounding `e_i`, at most a millionth of the data. Where both `w_i` and the distance `x` of `z_i` from its bound are positive, the smaller of two misses counts: that of `w_i`, and that of
//! moving `z_i` onto the bound, `max_k (|M_ki| x − e_k)⁺ / min(s_k, D_k)`.
//!
//! All are ratios: neither a row times a positive number nor an unknown in another unit changes the verdict, and one large row
//! excuses no other. With `s_i` alone it is the componentwise backward error (Oettli & Prager, *Numer. Math.* 6 (1964) 405–409).
//! A caller who knows `q` only up to round-off says so by [`Tolerance::floor`], in the unit of `w`.

use crate::mlcp::{Mlcp, natural};
use crate::outcome::Tolerance;
use saltus_linear::{Dense, dot};

/// A term below this share of the terms of its row is lost in it.
const NOISE: f64 = 4.0 * f64::EPSILON;
/// What a row misses by no more than this, relative to its terms, is rounding.
const ROUND_OFF: f64 = 1e-14;
/// Round-off above this share of the data of a row hides them.
const HIDDEN: f64 = 1e-6;

/// Buffers of a verdict, kept from one to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct VerdictWorkspace {
    /// `w`.
    pub w: Vec<f64>,
    /// `s_i`, the terms of each row.
    pub sizes: Vec<f64>,
    /// What the data put into each row by itself: `|q_i|`, and terms of unknowns at a bound that is not zero.
    pub data: Vec<f64>,
    /// `min(s_i, D_i)`.
    pub scales: Vec<f64>,
    /// `ζ_j`, and those found last.
    reach: Vec<f64>,
    found: Vec<f64>,
    front: Vec<usize>,
    /// A second point.
    other: Vec<f64>,
}

/// What is found of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// Residual of the natural map, in the unit of `w`.
    pub residual: f64,
    /// The largest miss of a row, relative; at least the true one where that is below tolerance.
    pub relative: f64,
}

impl Verdict {
    pub fn holds(&self, tolerance: &Tolerance) -> bool {
        self.relative <= tolerance.residual
    }
}

/// The larger of two misses; NaN if either is.
#[inline]
pub(crate) fn max_or_nan(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}

/// What is left of `value ≥ 0` beyond `excused`, relative to `scale`; NaN where the terms are not finite.
#[inline]
pub(crate) fn relative_excess(value: f64, excused: f64, scale: f64) -> f64 {
    let left = value - excused;
    if !left.is_finite() || scale.is_nan() {
        f64::NAN
    } else if left <= 0.0 {
        0.0
    } else {
        left / scale
    }
}

/// Less than the round-off of a row that is excused, from two of its terms.
#[inline]
pub(crate) fn excused_at_least(q: f64, term: f64) -> f64 {
    (ROUND_OFF * (q.abs() + term.abs())).min(HIDDEN * q.abs())
}

/// `|q_i| + Σ |M_ij z_j|`.
#[inline]
pub(crate) fn size_of_row(row: &[f64], q: f64, z: &[f64]) -> f64 {
    q.abs() + row.iter().zip(z).map(|(m, z)| (m * z).abs()).sum::<f64>()
}

/// The entries of a column of a dense matrix that are not zero.
pub(crate) fn column_of(matrix: &Dense, j: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    (0..matrix.rows())
        .map(move |i| (i, matrix[(i, j)]))
        .filter(|e| e.1 != 0.0)
}

impl VerdictWorkspace {
    /// `min(s_i, D_i)` from `s_i` and the data of each row. A row that is not `live` (at its bound with the right sign) asks for
    /// nothing. Where a live row has no data of its own, `ζ` comes from its neighbours, and so on; where the diagonal is not
    /// positive, it is the smallest that some live row asks of the unknown.
    pub fn scale<I: Iterator<Item = (usize, f64)>>(
        &mut self,
        column: impl Fn(usize) -> I,
        live: impl Fn(usize) -> bool,
    ) {
        let n = self.sizes.len();
        let data = &self.data;
        let diagonal = |j: usize| column(j).find(|e| e.0 == j).map_or(0.0, |e| e.1);
        self.reach.clear();
        self.front.clear();
        self.front.reserve(n);
        for j in 0..n {
            let d = diagonal(j);
            let asked = if !live(j) {
                0.0
            } else if d > 0.0 {
                data[j] / d
            } else {
                let each = column(j).filter(|e| live(e.0) && data[e.0] > 0.0);
                let least = each
                    .map(|(k, m)| data[k] / m.abs())
                    .fold(f64::INFINITY, f64::min);
                if least.is_finite() { least } else { 0.0 }
            };
            self.reach.push(asked);
            if asked > 0.0 {
                self.front.push(j);
            }
        }
        while !self.front.is_empty() {
            self.found.clear();
            self.found.resize(n, 0.0);
            for &k in &self.front {
                for (j, m) in column(k) {
                    if self.reach[j] == 0.0 && live(j) {
                        let asked = m.abs() * self.reach[k];
                        self.found[j] = self.found[j].max(asked);
                    }
                }
            }
            self.front.clear();
            for j in 0..n {
                let d = if self.found[j] > 0.0 {
                    diagonal(j)
                } else {
                    0.0
                };
                if d > 0.0 {
                    self.reach[j] = self.found[j] / d;
                    self.front.push(j);
                }
            }
        }
        self.scales.clear();
        self.scales.extend_from_slice(data);
        for j in (0..n).filter(|&j| self.reach[j] > 0.0) {
            for (i, m) in column(j) {
                self.scales[i] += m.abs() * self.reach[j];
            }
        }
        self.cap();
    }

    /// `min(s_i, D_i)` where `scales` holds `D_i`.
    fn cap(&mut self) {
        for (scale, size) in self.scales.iter_mut().zip(&self.sizes) {
            *scale = scale.min(*size);
        }
    }

    /// The round-off of row `i`; but where that hides the data of the row, the unknowns have run away.
    fn excused(&self, i: usize) -> f64 {
        let (terms, data) = (ROUND_OFF * self.sizes[i], HIDDEN * self.scales[i]);
        if data > 0.0 { terms.min(data) } else { terms }
    }

    /// How much row `i` misses: `w` should be ≥ 0 with `z` at its lower bound, ≤ 0 at its upper one, 0 between. `below` and
    /// `above` weigh the distances from the two (infinite without the bound) and are asked only if `w` alone is not `enough`.
    pub fn miss(
        &self,
        i: usize,
        tolerance: &Tolerance,
        below: impl FnOnce() -> f64,
        above: impl FnOnce() -> f64,
    ) -> f64 {
        let w = self.w[i];
        let part = relative_excess(w.abs(), self.excused(i) + tolerance.floor, self.scales[i]);
        if part.is_nan() || part <= tolerance.residual {
            return part;
        }
        part.min(if w > 0.0 { below() } else { above() })
    }

    /// What a change `x ≥ 0` of an unknown does to the rows of its column, relative to their scales; infinite where no row feels
    /// it.
    pub fn weight(&self, column: impl Iterator<Item = (usize, f64)>, x: f64) -> f64 {
        if x == 0.0 || x.is_infinite() {
            return x;
        }
        let (mut most, mut felt) = (0.0, false);
        for (k, m) in column {
            let change = (m * x).abs();
            felt |= change > 0.0;
            let part = relative_excess(change, self.excused(k), self.scales[k]);
            most = max_or_nan(most, part);
        }
        if felt { most } else { f64::INFINITY }
    }
}

impl Mlcp<'_> {
    /// Judges `z`. Most rows pass already by what is at hand; only where one does not are all sizes computed.
    pub(crate) fn judge(
        &self,
        z: &[f64],
        tolerance: &Tolerance,
        workspace: &mut VerdictWorkspace,
    ) -> Verdict {
        let (mut residual, mut relative, mut doubtful) = (0.0, 0.0, false);
        for (i, (&q, &z_i)) in self.q.iter().zip(z).enumerate() {
            let row = self.matrix.row(i);
            let own = row[i] * z_i;
            let w = dot(row, z) + q;
            let part = if i < self.equalities {
                residual = max_or_nan(residual, w.abs());
                w.abs()
            } else {
                let d = if row[i] > 0.0 { own } else { z_i };
                residual = max_or_nan(residual, natural(d, w));
                doubtful |= z_i < 0.0;
                let open = z_i == 0.0 && w > 0.0 && w < f64::INFINITY;
                if open { 0.0 } else { w.abs() }
            };
            // `s_i` and `D_i` are at least `|q_i|`.
            let part = relative_excess(part, excused_at_least(q, own) + tolerance.floor, q.abs());
            doubtful |= part.is_nan() || part > tolerance.residual;
            relative = max_or_nan(relative, part);
        }
        if !doubtful {
            return Verdict { residual, relative };
        }
        if !self.sizes(z, workspace) {
            return Verdict {
                residual: f64::NAN,
                relative: f64::NAN,
            };
        }
        relative = self.relative(z, tolerance, workspace);
        Verdict { residual, relative }
    }

    /// The terms of all rows; false where some are no numbers.
    fn sizes(&self, z: &[f64], workspace: &mut VerdictWorkspace) -> bool {
        workspace.sizes.clear();
        let sizes = self.q.iter().enumerate();
        let sizes = sizes.map(|(i, q)| size_of_row(self.matrix.row(i), *q, z));
        workspace.sizes.extend(sizes);
        workspace.sizes.iter().all(|s| s.is_finite())
    }

    /// Judges `z`; where it fails, once more without what is round-off in it: an unknown whose terms are lost among those of
    /// some row is noise, and rows that consist of noise alone (`x₀ + x₁ = 0` beside large numbers) hold only without it.
    /// `z` keeps what was judged better.
    pub(crate) fn judge_cleaned(
        &self,
        z: &mut [f64],
        tolerance: &Tolerance,
        workspace: &mut VerdictWorkspace,
    ) -> Verdict {
        let verdict = self.judge(z, tolerance, workspace);
        if verdict.holds(tolerance) || verdict.relative.is_nan() || !self.sizes(z, workspace) {
            return verdict;
        }
        let mut kept = std::mem::take(&mut workspace.other);
        kept.clear();
        kept.extend(z.iter().enumerate().map(|(j, &x)| {
            let lost = |(k, m): (usize, f64)| (m * x).abs() <= NOISE * workspace.sizes[k];
            let noise = x != 0.0 && column_of(self.matrix, j).any(lost);
            if noise { 0.0 } else { x }
        }));
        let mut better = verdict;
        if kept != z {
            let again = self.judge(&kept, tolerance, workspace);
            if again.holds(tolerance) {
                z.copy_from_slice(&kept);
                better = again;
            }
        }
        workspace.other = kept;
        better
    }

    /// The largest miss of a row, given the sizes; what is within `tolerance` need not be exact.
    fn relative(&self, z: &[f64], tolerance: &Tolerance, workspace: &mut VerdictWorkspace) -> f64 {
        workspace.w.clear();
        workspace.data.clear();
        for (i, &q) in self.q.iter().enumerate() {
            workspace.w.push(dot(self.matrix.row(i), z) + q);
            workspace.data.push(q.abs());
        }
        let w = std::mem::take(&mut workspace.w);
        let column = |j: usize| column_of(self.matrix, j);
        workspace.scale(column, |i| {
            i < self.equalities || z[i] != 0.0 || w[i] <= 0.0
        });
        workspace.w = w;
        let mut largest = 0.0;
        for (i, &z) in z.iter().enumerate() {
            let none = || f64::INFINITY;
            let part = if i < self.equalities {
                workspace.miss(i, tolerance, none, none)
            } else {
                let below = || workspace.weight(column(i), z.max(0.0));
                let outside = workspace.weight(column(i), (-z).max(0.0));
                max_or_nan(workspace.miss(i, tolerance, below, none), outside)
            };
            largest = max_or_nan(largest, part);
        }
        largest
    }

    /// How far `z` is from a solution, without a unit: the largest miss of a row relative to its own data.
    ///
    /// Row `i` has the terms `s_i = |q_i| + Σ_j |M_ij z_j|` and the data `D_i = |q_i| + Σ_j |M_ij| ζ_j`, `ζ_j = |q_j|/M_jj` of the
    /// rows that are not open. It misses by `(|w_i| − e_i)⁺ / min(s_i, D_i)` where `w_i` should vanish or is negative, `e_i = 1e-14 s_i`
    /// being round-off (at most a millionth of the data); where `z_i` and `w_i` are both positive, by the smaller of that and
    /// `max_k (|M_ki| z_i − e_k)⁺ / min(s_k, D_k)`. A point is
    /// *solved* if this is at most [`Tolerance::residual`]; [`Tolerance::floor`] excuses as much of every `|w_i|`. Neither rows
    /// nor unknowns in other units change it. NaN where `z` or `w` is.
    #[must_use]
    pub fn relative_residual(&self, z: &[f64]) -> f64 {
        let exact = Tolerance {
            residual: 0.0,
            ..Tolerance::default()
        };
        let mut workspace = VerdictWorkspace::default();
        if self.sizes(z, &mut workspace) {
            self.relative(z, &exact, &mut workspace)
        } else {
            f64::NAN
        }
    }
}
