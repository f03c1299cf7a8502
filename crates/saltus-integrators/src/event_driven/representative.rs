//! Forces of contacts that are not unique: of all with the same accelerations, those that are farthest from their limits.
//!
//! With the null space `N` of the linear system, the margins are `c_j + A_j y`; the largest smallest one is a linear program, solved
//! in its dual `min c·π`, `Aᵀ π = 0`, `Σ π = 1`, `π ≥ 0` by the revised simplex method.

use saltus_linear::{Dense, Lu, MinimumNorm, axpy, dot};

/// Shares of the null space below this do not count.
const SMALL: f64 = 1e-7;
/// A margin is not improved by less than this share of the largest.
const ENOUGH: f64 = 1e-12;
/// Most pivots; the problems are of a few rows.
const PIVOTS: usize = 500;

/// Workspace of the linear program.
#[derive(Debug, Default)]
pub(super) struct Representative {
    unknowns: usize,
    scale: Vec<f64>,
    /// Orthonormal basis of the null space, one row each, in scaled unknowns (dimensions × unknowns).
    null: Vec<f64>,
    candidates: Dense,
    image: Vec<f64>,
    /// Limits `margin = form · x` (limits × unknowns).
    forms: Vec<f64>,
    /// `Aᵀ` with a last column of ones (limits × dimensions + 1), and `c`.
    columns: Vec<f64>,
    costs: Vec<f64>,
    simplex: Simplex,
}

/// The basis of the revised simplex method.
#[derive(Debug, Default)]
struct Simplex {
    /// Column of each basic variable; `None` is an artificial one at zero.
    basis: Vec<Option<usize>>,
    level: Vec<f64>,
    matrix: Dense,
    transposed: Dense,
    /// Multipliers, and the direction of the entering column.
    u: Vec<f64>,
    direction: Vec<f64>,
    lu: Lu,
}

impl Representative {
    /// Finds the null space of `matrix`, which `least_squares` has factorised; unknowns are `scale` times the scaled ones.
    pub(super) fn begin(&mut self, matrix: &Dense, scale: &[f64], least_squares: &mut MinimumNorm) {
        let m = scale.len();
        self.unknowns = m;
        self.scale.clear();
        self.scale.extend_from_slice(scale);
        self.forms.clear();
        self.null.clear();
        self.candidates.reset(m, m);
        // What the projection onto the row space leaves of every unit vector.
        for i in 0..m {
            self.image.clear();
            self.image.extend((0..m).map(|r| matrix[(r, i)]));
            let x = self.candidates.row_mut(i);
            least_squares.solve(&mut self.image, x);
            for (k, x) in x.iter_mut().enumerate() {
                *x = f64::from(u8::from(k == i)) - *x;
            }
        }
        for _ in least_squares.rank().min(m)..m {
            let length = |i: &usize| dot(self.candidates.row(*i), self.candidates.row(*i));
            let longest = (0..m).max_by(|a, b| length(a).total_cmp(&length(b)));
            let Some(i) = longest else { break };
            let size = length(&i).sqrt();
            if size.is_nan() || size < SMALL {
                break;
            }
            let first = self.null.len();
            let direction = self.candidates.row(i).iter().map(|x| x / size);
            self.null.extend(direction);
            let direction = &self.null[first..];
            for k in 0..m {
                let share = dot(self.candidates.row(k), direction);
                axpy(-share, direction, self.candidates.row_mut(k));
            }
        }
    }

    /// Adds the limit `Σ coefficient · unknown ≥ 0`.
    pub(super) fn limit(&mut self, terms: &[(usize, f64)]) {
        let first = self.forms.len();
        self.forms.resize(first + self.unknowns, 0.0);
        for (i, c) in terms {
            self.forms[first + i] += c;
        }
    }

    /// The smallest margin at `x`.
    pub(super) fn margin(&self, x: &[f64]) -> f64 {
        let forms = self.forms.chunks_exact(self.unknowns.max(1));
        forms.map(|form| dot(form, x)).fold(f64::INFINITY, f64::min)
    }

    /// Moves `x` along the null space to the largest smallest margin.
    pub(super) fn maximise_margin(&mut self, x: &mut [f64]) {
        let m = self.unknowns;
        if self.null.is_empty() || self.forms.is_empty() {
            return;
        }
        let r = self.null.len() / m;
        self.costs.clear();
        self.columns.clear();
        for form in self.forms.chunks_exact(m) {
            self.costs.push(dot(form, x));
            for n in self.null.chunks_exact(m) {
                let terms = form.iter().zip(n.iter().zip(&self.scale));
                self.columns.push(terms.map(|(f, (n, s))| f * n * s).sum());
            }
            self.columns.push(1.0);
        }
        let size = self.costs.iter().fold(0.0_f64, |m, c| m.max(c.abs()));
        // No margin needs to be larger than the forces are.
        self.costs.push(2.0 * size);
        self.columns.resize(self.columns.len() + r, 0.0);
        self.columns.push(1.0);
        if !self.simplex.maximise(r, &self.columns, &self.costs, size) {
            return;
        }
        for (n, u) in self.null.chunks_exact(m).zip(&self.simplex.u) {
            for (x, (n, s)) in x.iter_mut().zip(n.iter().zip(&self.scale)) {
                *x -= u * n * s;
            }
        }
    }
}

impl Simplex {
    /// Leaves in the first `r` of `u` minus the point of the null space with the largest smallest margin; whether there is one.
    fn maximise(&mut self, r: usize, columns: &[f64], costs: &[f64], size: f64) -> bool {
        // Artificial columns, at zero, for the first rows; the bound for the last.
        let n = r + 1;
        self.basis.clear();
        self.basis.resize(r, None);
        self.basis.push(Some(costs.len() - 1));
        self.level.clear();
        self.level.resize(r, 0.0);
        self.level.push(1.0);
        let column = |j: usize| &columns[j * n..(j + 1) * n];
        for pivot in 0..PIVOTS {
            self.assemble_basis(n, &column);
            self.u.clear();
            let basic = self.basis.iter().map(|b| b.map_or(0.0, |j| costs[j]));
            self.u.extend(basic);
            if self.lu.factorise(&self.transposed).is_err() {
                return false;
            }
            self.lu.solve(&mut self.u);
            let reduced = |j: &usize| costs[*j] - dot(column(*j), &self.u);
            let candidates = (0..costs.len()).filter(|j| !self.basis.contains(&Some(*j)));
            let mut wrong = candidates.filter(|j| reduced(j) < -ENOUGH * size);
            let entering = if pivot < PIVOTS / 2 {
                wrong.min_by(|a, b| reduced(a).total_cmp(&reduced(b)))
            } else {
                // Bland's rule, which does not cycle.
                wrong.next()
            };
            let Some(entering) = entering else {
                return true;
            };
            self.direction.clear();
            self.direction.extend_from_slice(column(entering));
            if self.lu.factorise(&self.matrix).is_err() {
                return false;
            }
            self.lu.solve(&mut self.direction);
            if !self.exchange(entering) {
                return false;
            }
        }
        false
    }

    fn assemble_basis<'a>(&mut self, n: usize, column: &impl Fn(usize) -> &'a [f64]) {
        self.matrix.reset(n, n);
        self.transposed.reset(n, n);
        for (k, member) in self.basis.iter().enumerate() {
            for i in 0..n {
                let entry = match member {
                    None => f64::from(u8::from(i == k)),
                    Some(j) => column(*j)[i],
                };
                self.matrix[(i, k)] = entry;
                self.transposed[(k, i)] = entry;
            }
        }
    }

    /// Takes a column into the basis for the one that its direction drives to zero first; whether there is one.
    fn exchange(&mut self, entering: usize) -> bool {
        let mut leaving: Option<(usize, f64)> = None;
        for (i, d) in self.direction.iter().enumerate() {
            let ratio = match self.basis[i] {
                None if d.abs() > SMALL => 0.0,
                Some(_) if *d > ENOUGH => self.level[i] / d,
                _ => continue,
            };
            if leaving.is_none_or(|(_, least)| ratio < least) {
                leaving = Some((i, ratio));
            }
        }
        let Some((out, ratio)) = leaving else {
            return false;
        };
        for (level, d) in self.level.iter_mut().zip(&self.direction) {
            *level = (*level - ratio * d).max(0.0);
        }
        self.level[out] = ratio;
        self.basis[out] = Some(entering);
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Two feet share a tangential force of 1 with normal forces 2 and 1 and a coefficient of 0.5: shared 2 to 1, the margins are equal.
    #[test]
    fn two_feet_share_a_force_by_what_they_can_bear() {
        let mut matrix = Dense::zeros(2, 2);
        for i in 0..2 {
            for j in 0..2 {
                matrix[(i, j)] = 1.0;
            }
        }
        let mut least_squares = MinimumNorm::default();
        assert_eq!(least_squares.factorise(&matrix), 1);
        let mut x = [0.0; 2];
        least_squares.solve(&mut [1.0, 1.0], &mut x);
        assert!((x[0] - 0.5).abs() < 1e-12);
        let mut rep = Representative::default();
        // Unknowns with a constant are the same with one more unknown that is not free.
        let mut wide = Dense::zeros(3, 3);
        wide[(0, 0)] = 1.0;
        wide[(0, 1)] = 1.0;
        wide[(1, 0)] = 1.0;
        wide[(1, 1)] = 1.0;
        wide[(2, 2)] = 1.0;
        assert_eq!(least_squares.factorise(&wide), 2);
        rep.begin(&wide, &[1.0; 3], &mut least_squares);
        for (foot, bears) in [(0, 1.0), (1, 0.5)] {
            rep.limit(&[(2, bears), (foot, -1.0)]);
            rep.limit(&[(2, bears), (foot, 1.0)]);
        }
        let mut x = [0.5, 0.5, 1.0];
        rep.maximise_margin(&mut x);
        // Margins: 1 − x0 = 0.5 − x1 with x0 + x1 = 1.
        assert!((x[0] - 0.75).abs() < 1e-12, "{x:?}");
        assert!((x[1] - 0.25).abs() < 1e-12);
        assert_eq!(x[2], 1.0);
    }
}
