//! Lemke's complementary pivoting with a lexicographic ratio test, which makes it finite.
//!
//! Equalities with a free unknown are written as two inequalities, `y = y⁺ − y⁻`, `w ≥ 0`, `−w ≥ 0`:
//! a linear complementarity problem that is positive semidefinite whenever the mixed one is.
//! Reference: Cottle, Pang, Stone, *The Linear Complementarity Problem* (1992), §4.4 and §4.9.

use crate::cycle::CycleDetector;
use crate::mlcp::Mlcp;
use saltus_linear::{Dense, max_abs};

/// How the pivoting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LemkeEnd {
    /// The artificial unknown left the basis.
    Solved,
    /// The entering column has no positive entry, and the ray that follows is one of the problem.
    Ray,
    /// The entering column seems to have no positive entry, but its ray does not satisfy the equations, or a basis came back, which
    /// the ratio test excludes: rounding led there.
    Rounding,
    /// The limit was reached.
    Limit,
}

/// The tableau: rows are basic unknowns, columns `w` (n), `z` (n), the artificial unknown, the right-hand side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lemke {
    table: Dense,
    /// Column of the unknown that is basic in each row.
    basis: Vec<usize>,
    pivot_row: Vec<f64>,
    cycle: CycleDetector<usize>,
    /// Covering vector `d`.
    cover: Vec<f64>,
}

/// Entries of the entering column below this multiple of its largest one do not block.
const PIVOT: f64 = 1e-11;
/// Pivots after which a basis is kept for the first time.
const FIRST_RENEWAL: u64 = 64;
/// What a ray leaves over of its equations, relative to their terms.
const CLOSED: f64 = 1e-7;

/// Where the second zero block of a bimatrix game begins: `q < 0`, `M = [0 A; B 0]` with positive `A` and `B`. `None` of any other
/// problem.
pub(crate) fn bimatrix_split(problem: &Mlcp<'_>) -> Option<usize> {
    let (m, q) = (problem.matrix, problem.q);
    if problem.equalities > 0 || q.iter().any(|q| *q >= 0.0) {
        return None;
    }
    let n = q.len();
    let split = (0..n).find(|&j| m[(0, j)] != 0.0)?;
    let fits = |i: usize, j: usize| {
        if (i < split) == (j < split) {
            m[(i, j)] == 0.0
        } else {
            m[(i, j)] > 0.0
        }
    };
    let all = (0..n).all(|i| (0..n).all(|j| fits(i, j)));
    (split > 0 && all).then_some(split)
}

impl Lemke {
    /// Solves `0 ≤ y ⟂ M y + q ≥ 0` (the first `e` rows equalities with free `y`). `cover` chooses
    /// the covering vector: 0 all ones, 1 the negative part of `q` plus a little, 2 and 3 pseudo-random, 4 the sizes of `q` times
    /// pseudo-random numbers, so that rows with a small `q` keep its digits.
    pub(crate) fn solve(
        &mut self,
        m: &Dense,
        q: &[f64],
        e: usize,
        cover: u32,
        limit: u32,
        y: &mut [f64],
    ) -> (LemkeEnd, u32) {
        let n = q.len() + e;
        self.fill(m, q, e, cover);
        let artificial = 2 * n;
        let rhs = 2 * n + 1;
        let mut row = 0;
        for i in 1..n {
            let ratio = |k: usize| self.table[(k, rhs)] / -self.table[(k, artificial)];
            if ratio(i) < ratio(row) {
                row = i;
            }
        }
        if n == 0 || self.table[(row, rhs)] >= 0.0 {
            self.read(e, y);
            return (LemkeEnd::Solved, 0);
        }
        let mut entering = artificial;
        self.cycle.begin(&[], FIRST_RENEWAL);
        for pivots in 0..limit {
            let leaving = self.basis[row];
            self.pivot(row, entering);
            if self.cycle.seen(&self.basis) {
                self.read(e, y);
                return (LemkeEnd::Rounding, pivots + 1);
            }
            if leaving == artificial {
                self.read(e, y);
                return (LemkeEnd::Solved, pivots + 1);
            }
            entering = if leaving < n {
                leaving + n
            } else {
                leaving - n
            };
            match self.blocking(entering) {
                Some(next) => row = next,
                None => {
                    self.read(e, y);
                    let end = if self.is_ray(m, e, entering) {
                        LemkeEnd::Ray
                    } else {
                        LemkeEnd::Rounding
                    };
                    return (end, pivots + 1);
                }
            }
        }
        self.read(e, y);
        (LemkeEnd::Limit, limit)
    }

    /// Lemke & Howson's path (Cottle, Pang & Stone 1992, §4.4) of a bimatrix game, a problem `q < 0` with positive blocks beside zero
    /// ones that begin at `split`: complementary in all pairs but that of row `first`.
    pub(crate) fn solve_game(
        &mut self,
        m: &Dense,
        q: &[f64],
        (split, first): (usize, usize),
        limit: u32,
        y: &mut [f64],
    ) -> (LemkeEnd, u32) {
        let n = q.len();
        // The artificial unknown never enters.
        self.fill(m, q, 0, 0);
        let rhs = 2 * n + 1;
        let (own, other) = if first < split {
            (0..split, split..n)
        } else {
            (split..n, 0..split)
        };
        // The unknown of `first`, large enough for all rows that feel it; the one of the row that then holds with equality, large
        // enough for the others.
        let mut entering = n + first;
        let mut leaving = n;
        for rows in [other, own] {
            let need = |i: &usize| self.table[(*i, rhs)] / self.table[(*i, entering)];
            let Some(row) = rows.max_by(|a, b| need(a).total_cmp(&need(b))) else {
                return (LemkeEnd::Rounding, 0);
            };
            leaving = self.basis[row];
            self.pivot(row, entering);
            entering = leaving + n;
        }
        self.cycle.begin(&[], FIRST_RENEWAL);
        for pivots in 2..limit.max(2) {
            if leaving == first || leaving == n + first {
                self.read(0, y);
                return (LemkeEnd::Solved, pivots);
            }
            entering = if leaving < n {
                leaving + n
            } else {
                leaving - n
            };
            let Some(row) = self.blocking(entering) else {
                return (LemkeEnd::Rounding, pivots);
            };
            leaving = self.basis[row];
            self.pivot(row, entering);
            if self.cycle.seen(&self.basis) {
                return (LemkeEnd::Rounding, pivots);
            }
        }
        (LemkeEnd::Limit, limit)
    }

    /// Row `i` of the problem is row `i` of the tableau; the second half of an equality is row `q.len() + i`.
    fn fill(&mut self, m: &Dense, q: &[f64], e: usize, cover: u32) {
        let n0 = q.len();
        let n = n0 + e;
        self.table.reset(n, 2 * n + 2);
        self.basis.clear();
        self.basis.extend(0..n);
        let scale = max_abs(q).max(f64::MIN_POSITIVE);
        let sizes = q.iter().map(|q| q.abs()).filter(|q| *q > 0.0);
        let least = sizes.fold(scale, f64::min);
        self.cover.clear();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(cover) + 1);
        for k in 0..n {
            let (i, sign) = if k < n0 { (k, 1.0) } else { (k - n0, -1.0) };
            let row = self.table.row_mut(k);
            row[k] = 1.0;
            for (j, &v) in m.row(i).iter().enumerate() {
                row[n + j] = -sign * v;
                if j < e {
                    row[n + n0 + j] = sign * v;
                }
            }
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let random = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let cover = match cover {
                0 => 1.0,
                1 => (-sign * q[i] / scale).max(0.0) + 0.01,
                2 | 3 => 0.1 + random,
                _ => (0.5 + random) * if q[i] == 0.0 { least } else { q[i].abs() },
            };
            self.cover.push(cover);
            row[2 * n] = -cover;
            row[2 * n + 1] = sign * q[i];
        }
    }

    fn pivot(&mut self, row: usize, col: usize) {
        let inverse = 1.0 / self.table[(row, col)];
        for v in self.table.row_mut(row) {
            *v *= inverse;
        }
        self.pivot_row.clear();
        self.pivot_row.extend_from_slice(self.table.row(row));
        for i in (0..self.table.rows()).filter(|&i| i != row) {
            let target = self.table.row_mut(i);
            let factor = target[col];
            if factor != 0.0 {
                for (t, p) in target.iter_mut().zip(&self.pivot_row) {
                    *t -= factor * p;
                }
                target[col] = 0.0;
            }
        }
        self.basis[row] = col;
    }

    /// The lexicographic ratio test on `[rhs | B⁻¹]`; the artificial unknown leaves as soon as it may.
    fn blocking(&self, col: usize) -> Option<usize> {
        let n = self.table.rows();
        let (artificial, rhs) = (2 * n, 2 * n + 1);
        let largest = (0..n).fold(0.0_f64, |a, i| a.max(self.table[(i, col)]));
        if largest.is_nan() || largest <= PIVOT {
            return None;
        }
        let mut best: Option<usize> = None;
        for i in 0..n {
            let a = self.table[(i, col)];
            if a <= PIVOT * largest {
                continue;
            }
            let Some(b) = best else {
                best = Some(i);
                continue;
            };
            let c = self.table[(b, col)];
            let (x, y) = (self.table[(i, rhs)] / a, self.table[(b, rhs)] / c);
            let tie = (x - y).abs() <= 1e-13 * x.abs().max(y.abs());
            if tie && self.basis[b] == artificial {
                continue;
            }
            let better = if tie && self.basis[i] == artificial {
                true
            } else if tie {
                let (ri, rb) = (self.table.row(i), self.table.row(b));
                (0..n)
                    .map(|k| ri[k] / a - rb[k] / c)
                    .find(|d| d.abs() > 1e-13)
                    .is_some_and(|d| d < 0.0)
            } else {
                x < y
            };
            if better {
                best = Some(i);
            }
        }
        best
    }

    /// Whether the unknowns that go with the entering one, `v = M u + d t`, satisfy this row by row, with the right signs.
    fn is_ray(&self, m: &Dense, e: usize, entering: usize) -> bool {
        let n = self.table.rows();
        let mut direction = vec![0.0; 2 * n + 1];
        let largest = (0..n).fold(1.0_f64, |a, i| a.max(self.table[(i, entering)].abs()));
        for (row, &col) in self.basis.iter().enumerate() {
            let value = -self.table[(row, entering)];
            // What is positive by no more than a pivot may be counts as zero.
            direction[col] = if value.abs() <= PIVOT * largest {
                0.0
            } else {
                value
            };
        }
        direction[entering] = 1.0;
        let (u, t) = (&direction[n..2 * n], direction[2 * n]);
        let n0 = n - e;
        direction.iter().all(|v| *v >= 0.0)
            && (0..n).all(|k| {
                let (i, sign) = if k < n0 { (k, 1.0) } else { (k - n0, -1.0) };
                let mut size = direction[k].abs();
                let mut sum = -direction[k];
                for (j, v) in m.row(i).iter().enumerate() {
                    let free = if j < e { u[n0 + j] } else { 0.0 };
                    sum += sign * v * (u[j] - free);
                    size += (v * u[j]).abs() + (v * free).abs();
                }
                let lift = self.cover[k] * t;
                (sum + lift).abs() <= CLOSED * (size + lift)
            })
    }

    fn read(&self, e: usize, y: &mut [f64]) {
        let n = self.table.rows();
        let n0 = n - e;
        y.fill(0.0);
        for (row, &col) in self.basis.iter().enumerate() {
            let value = self.table[(row, 2 * n + 1)];
            if (n..n + n0).contains(&col) {
                y[col - n] += value;
            } else if (n + n0..2 * n).contains(&col) {
                y[col - n - n0] -= value;
            }
        }
    }
}
