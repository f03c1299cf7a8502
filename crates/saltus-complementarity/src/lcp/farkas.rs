//! Whether linear inequalities can be satisfied at all: phase one of the simplex method, with Bland's rule at the end, whose optimal
//! multipliers are the proof if they cannot (Farkas' lemma).

use super::ScaledLcp;
use saltus_linear::{Dense, MinimumNorm, dot, is_zero, max_abs};

/// `A x + b ≥ 0` in the rows that are no equations, `= 0` in those that are; `x ≥ 0` but for the free unknowns.
pub(crate) struct Inequalities<'a> {
    /// `A` (m × n), entries of the order of 1.
    pub matrix: &'a Dense,
    /// `b` (m).
    pub constant: &'a [f64],
    /// Which rows are equations.
    pub equation: &'a dyn Fn(usize) -> bool,
    /// Which unknowns are free.
    pub free: &'a dyn Fn(usize) -> bool,
}

/// What phase one says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PhaseOne {
    /// A point that satisfies the inequalities, as far as the pivots were accurate.
    Point(Vec<f64>),
    /// `y ≥ 0` (free in the equations) with `Aᵀ y ≤ 0` (`= 0` in the columns of free unknowns), `b·y < 0`, `max |y| = 1`:
    /// no point satisfies them.
    Infeasible(Vec<f64>),
    /// Neither could be established.
    Unknown,
}

/// Coefficients of the tableau below this do not count.
const PIVOT: f64 = 1e-10;
/// Ratios that differ by less than this multiple tie.
const TIE: f64 = 1e-13;
/// What a column of `Aᵀ y` leaves over, relative to its terms, may be made up for only by unknowns this many times as large as
/// the data ask for.
const BEYOND: f64 = 1e9;
/// Columns of `Aᵀ y` that are smaller than this share of their terms, and changes of multipliers that are, may be due to the pivots.
const NEARLY: f64 = 1e-8;
/// What a column of `Aᵀ y` may leave over, relative to its terms, for each row: the rounding of data and products. More is a
/// fact of the data, such as a heavy body on a light one, and large unknowns may satisfy the inequalities.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// How much of its terms, and of the largest constant, `b·y` has to keep, so that it is negative beyond round-off.
const CLEAR: f64 = 1e-9;

impl Inequalities<'_> {
    pub fn phase_one(&self) -> PhaseOne {
        let (m, n) = (self.matrix.rows(), self.matrix.cols());
        // Columns: x (n), the negative parts of free unknowns (n), slacks (m), artificials (m), right-hand side.
        let (slack, artificial, rhs) = (2 * n, 2 * n + m, 2 * n + 2 * m);
        let mut t = Dense::zeros(m + 1, rhs + 1);
        let mut basis = vec![0; m];
        let mut sign = vec![1.0; m];
        let unit = max_abs(self.constant);
        let unit = if unit > 0.0 { unit } else { 1.0 };
        for i in 0..m {
            sign[i] = if self.constant[i] > 0.0 { -1.0 } else { 1.0 };
            for j in 0..n {
                t[(i, j)] = sign[i] * self.matrix[(i, j)];
                if (self.free)(j) {
                    t[(i, n + j)] = -sign[i] * self.matrix[(i, j)];
                }
            }
            let inequality = !(self.equation)(i);
            if inequality {
                t[(i, slack + i)] = -sign[i];
            }
            t[(i, artificial + i)] = 1.0;
            t[(i, rhs)] = -sign[i] * self.constant[i] / unit;
            basis[i] = if inequality && sign[i] < 0.0 {
                slack + i
            } else {
                artificial + i
            };
        }
        // Reduced costs of the sum of the artificials.
        for i in 0..m {
            t[(m, artificial + i)] = 1.0;
        }
        for i in 0..m {
            if basis[i] >= artificial {
                for j in 0..=rhs {
                    let v = t[(i, j)];
                    t[(m, j)] -= v;
                }
            }
        }
        let mut line = Vec::new();
        let mut ended = false;
        for step in 0..200 * (m + 1) {
            let reduced = &t.row(m)[..rhs];
            // The steepest column while that goes on; where it might go in circles, the first.
            let col = if step < 10 * (m + 1) {
                let least = (0..rhs).min_by(|&a, &b| reduced[a].total_cmp(&reduced[b]));
                least.filter(|&j| reduced[j] < -PIVOT)
            } else {
                (0..rhs).find(|&j| reduced[j] < -PIVOT)
            };
            let Some(col) = col else {
                ended = true;
                break;
            };
            let Some(row) = leaving(&t, &basis, col) else {
                return PhaseOne::Unknown;
            };
            pivot(&mut t, row, col, &mut line);
            basis[row] = col;
        }
        let multipliers = (0..m).map(|i| {
            // From the reduced cost of the slack of row i, or of its artificial.
            if (self.equation)(i) {
                sign[i] * (1.0 - t[(m, artificial + i)])
            } else {
                t[(m, slack + i)].max(0.0)
            }
        });
        if let Some(y) = self.proof(multipliers.collect()) {
            return PhaseOne::Infeasible(y);
        }
        if !ended {
            return PhaseOne::Unknown;
        }
        let mut x = vec![0.0; n];
        for (row, &col) in basis.iter().enumerate() {
            let value = unit * t[(row, rhs)];
            if col < n {
                x[col] += value;
            } else if col < slack {
                x[col - n] -= value;
            }
        }
        PhaseOne::Point(x)
    }

    /// `y` scaled to `max |y| = 1`, if it proves anything beyond round-off.
    fn proof(&self, mut y: Vec<f64>) -> Option<Vec<f64>> {
        // The multiplier of a row that says nothing says nothing.
        for (i, v) in y.iter_mut().enumerate() {
            if self.constant[i] == 0.0 && is_zero(self.matrix.row(i)) {
                *v = 0.0;
            }
        }
        let size = max_abs(&y);
        if size.is_nan() || size <= 0.0 {
            return None;
        }
        for v in &mut y {
            *v = if v.abs() > TIE * size { *v / size } else { 0.0 };
        }
        if !self.is_clear_by_itself(&y) {
            self.correct(&mut y)?;
        }
        self.is_clear_by_itself(&y).then_some(y)
    }

    /// `Aᵀ y`, and the sizes of its terms.
    fn image(&self, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.matrix.cols();
        let (mut image, mut size) = (vec![0.0; n], vec![0.0; n]);
        for (i, y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
            for (j, a) in self.matrix.row(i).iter().enumerate() {
                image[j] += a * y;
                size[j] += (a * y).abs();
            }
        }
        (image, size)
    }

    /// Whether `y` proves that there is no point in spite of rounding, with the sizes of the terms whose sums the entries are.
    /// Column by column against its own terms: units of the unknowns must not make a proof.
    pub fn is_clear(
        &self,
        y: &[f64],
        size_of_entry: impl Fn(usize, usize) -> f64,
        size_of_constant: impl Fn(usize) -> f64,
    ) -> bool {
        let weighted = |size: &dyn Fn(usize) -> f64| -> f64 {
            let each = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
            each.map(|(i, y)| y.abs() * size(i)).sum()
        };
        let excess = self.image(y).0.into_iter().enumerate().map(|(j, v)| {
            let excess = if (self.free)(j) { v.abs() } else { v.max(0.0) };
            if excess > 0.0 {
                excess / weighted(&|i| size_of_entry(i, j))
            } else {
                0.0
            }
        });
        let excess = excess.fold(0.0, f64::max);
        let amount = -dot(y, self.constant);
        let used = (0..y.len()).filter(|&i| y[i] != 0.0);
        let largest = used.map(&size_of_constant).fold(0.0, f64::max);
        // A multiplier near rounding would otherwise prove something by its own constant alone.
        let least = amount / weighted(&size_of_constant).max(largest * max_abs(y));
        let rounding = ROUNDING * (y.len() + 2) as f64;
        excess <= rounding && least > CLEAR && least >= BEYOND * excess
    }

    /// The same where the entries are no sums.
    fn is_clear_by_itself(&self, y: &[f64]) -> bool {
        self.is_clear(
            y,
            |i, j| self.matrix[(i, j)].abs(),
            |i| self.constant[i].abs(),
        )
    }

    /// Changes `y` by little, relative to each multiplier, so that the columns of `Aᵀ y` that nearly vanish do vanish: the pivots
    /// leave more than rounding does. `None` where little does not do.
    fn correct(&self, y: &mut [f64]) -> Option<()> {
        let (image, size) = self.image(y);
        let zero = |j: &usize| size[*j] > 0.0 && image[*j].abs() <= NEARLY * size[*j];
        let columns: Vec<usize> = (0..image.len()).filter(zero).collect();
        let rows: Vec<usize> = (0..y.len()).filter(|&i| y[i] != 0.0).collect();
        if columns.is_empty() {
            return None;
        }
        let mut a = Dense::zeros(columns.len(), rows.len());
        for (k, &j) in columns.iter().enumerate() {
            for (to, &i) in a.row_mut(k).iter_mut().zip(&rows) {
                *to = self.matrix[(i, j)] * y[i].abs() / size[j];
            }
        }
        let mut missed: Vec<f64> = columns.iter().map(|&j| -image[j] / size[j]).collect();
        let mut change = vec![0.0; rows.len()];
        let mut least = MinimumNorm::default();
        least.factorise(&a);
        least.solve(&mut missed, &mut change);
        if change.iter().any(|c| c.is_nan() || c.abs() > NEARLY) {
            return None;
        }
        for (&i, change) in rows.iter().zip(change) {
            y[i] += y[i].abs() * change;
        }
        Some(())
    }
}

/// `y ≥ 0` (free in the equality rows), `Mᵀ y ≤ 0` (`= 0` in the free columns), `q·y < 0`, scaled to `max |y| = 1`,
/// if it exists.
pub(super) fn certificate(p: &ScaledLcp) -> Option<Vec<f64>> {
    let inequalities = Inequalities {
        matrix: &p.m,
        constant: &p.q,
        equation: &|i| i < p.e,
        free: &|j| j < p.e,
    };
    match inequalities.phase_one() {
        PhaseOne::Infeasible(y) => Some(y),
        _ => None,
    }
}

/// The row of the smallest ratio, of several the one whose unknown comes first (Bland's rule).
fn leaving(t: &Dense, basis: &[usize], col: usize) -> Option<usize> {
    let rhs = t.cols() - 1;
    let mut row: Option<(usize, f64)> = None;
    for i in 0..basis.len() {
        if t[(i, col)] <= PIVOT {
            continue;
        }
        let ratio = t[(i, rhs)] / t[(i, col)];
        let better = row.is_none_or(|(r, other)| {
            let tie = TIE * ratio.abs().max(other.abs());
            ratio < other - tie || (ratio <= other + tie && basis[i] < basis[r])
        });
        if better {
            row = Some((i, ratio));
        }
    }
    row.map(|(i, _)| i)
}

fn pivot(t: &mut Dense, row: usize, col: usize, line: &mut Vec<f64>) {
    let inverse = 1.0 / t[(row, col)];
    for v in t.row_mut(row) {
        *v *= inverse;
    }
    line.clear();
    line.extend_from_slice(t.row(row));
    for i in (0..t.rows()).filter(|&i| i != row) {
        let factor = t[(i, col)];
        if factor != 0.0 {
            for (v, l) in t.row_mut(i).iter_mut().zip(line.iter()) {
                *v -= factor * l;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x₀ ≥ 0`, `−x₀ + a x₁ ≥ 0`, `−x₁ ≥ 1`: without a point where `a > 0`, which for a small `a` only rounding says. It is that of a
    /// plate on a pin between its feet, and of a body that is not coupled to it.
    #[test]
    fn multipliers_of_the_size_of_rounding_prove_nothing() {
        for (a, clear) in [(1.0, true), (1e-3, true), (1e-10, false), (1e-13, false)] {
            let mut matrix = Dense::zeros(3, 2);
            (matrix[(0, 0)], matrix[(1, 0)]) = (1.0, -1.0);
            (matrix[(1, 1)], matrix[(2, 1)]) = (a, -1.0);
            let inequalities = Inequalities {
                matrix: &matrix,
                constant: &[0.0, 0.0, -1.0],
                equation: &|_| false,
                free: &|_| true,
            };
            assert_eq!(inequalities.is_clear_by_itself(&[1.0, 1.0, a]), clear);
        }
    }
}
