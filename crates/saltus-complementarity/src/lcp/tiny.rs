//! Problems of a few unknowns without equalities, solved on the stack.
//!
//! Newton's method on the active set, as in the general solver, from the set that one sweep of Gauss–Seidel leaves: of a
//! triangular matrix that is the answer. Where sets come back, four unknowns or fewer have few enough sets to try them all.
//! Only an answer whose multipliers are unique is given; all else is left to the general solver.

use crate::elimination::eliminate;
use crate::mlcp::Mlcp;
use crate::outcome::{Outcome, Status, Tolerance};
use crate::verdict::{Room, size_of_row};
use saltus_linear::{RANK_TOLERANCE, max_abs};

/// Most unknowns.
const MOST: usize = 32;
/// Violations below this multiple of the size of their row are round-off.
const ROUND_OFF: f64 = 1e-14;
/// Rows outside the set whose `w` is below this multiple of the size of the row may carry multipliers as well.
const WEAKLY_ACTIVE: f64 = 1e-11;
/// Up to this many unknowns all sets are tried.
const FEW: usize = 4;

/// The solution from the guess `z` (finite) into `z`; `None` where there is none, or not only one (one of them is in `z` then), or
/// it is not found. Second: the sets that were tried.
pub(super) fn solve(
    problem: &Mlcp<'_>,
    tolerance: Tolerance,
    z: &mut [f64],
) -> (Option<Outcome>, u32) {
    if problem.equalities > 0 {
        return (None, 0);
    }
    match problem.q.len() {
        0 => (None, 0),
        1..=4 => Tiny::<4>::new(problem, z).search(problem, tolerance, z),
        5..=10 => Tiny::<10>::new(problem, z).search(problem, tolerance, z),
        11..=MOST => Tiny::<MOST>::new(problem, z).search(problem, tolerance, z),
        _ => (None, 0),
    }
}

/// `S M S`, `S q`, `s_i = M_ii^(−1/2)`, and a point.
struct Tiny<const N: usize> {
    n: usize,
    m: [[f64; N]; N],
    q: [f64; N],
    s: [f64; N],
    y: [f64; N],
    w: [f64; N],
}

impl<const N: usize> Tiny<N> {
    fn new(problem: &Mlcp<'_>, z: &[f64]) -> Self {
        let n = problem.q.len();
        let zero = [0.0; N];
        let mut t = Self {
            n,
            m: [zero; N],
            q: zero,
            s: zero,
            y: zero,
            w: zero,
        };
        let matrix = problem.matrix;
        for i in 0..n {
            let d = matrix[(i, i)];
            let size = if d > 0.0 { d } else { max_abs(matrix.row(i)) };
            let s = 1.0 / size.sqrt();
            t.s[i] = if s.is_finite() && s > 0.0 { s } else { 1.0 };
            t.q[i] = t.s[i] * problem.q[i];
            t.y[i] = z[i] / t.s[i];
        }
        for i in 0..n {
            let s = t.s[i];
            for ((to, from), sj) in t.m[i].iter_mut().zip(matrix.row(i)).zip(&t.s) {
                *to = s * from * sj;
            }
        }
        t
    }

    fn search(
        mut self,
        problem: &Mlcp<'_>,
        tolerance: Tolerance,
        z: &mut [f64],
    ) -> (Option<Outcome>, u32) {
        let mut iterations = 0;
        let found = self.set(tolerance.max_iterations, &mut iterations);
        let outcome = found.and_then(|set| self.answer(problem, tolerance, set, iterations, z));
        (outcome, iterations)
    }

    /// The active set of a solution, with its point in `y` and `w`.
    fn set(&mut self, limit: u32, iterations: &mut u32) -> Option<u32> {
        let (first, triangular) = self.first();
        // The sweep was a forward substitution already.
        if triangular && limit > 0 {
            *iterations += 1;
            self.velocities(first);
            if self.next(first).1 {
                return Some(first);
            }
            *iterations -= 1;
        }
        let mut found = self.newton(first, limit, iterations);
        if found.is_none() && self.n <= FEW {
            for set in 0..1_u32 << self.n {
                if *iterations >= limit {
                    break;
                }
                *iterations += 1;
                if self.point(set).is_some() && self.next(set).1 {
                    found = Some(set);
                    break;
                }
            }
        }
        found
    }

    /// The point of `set` in the units of the problem, if it is the only one and solves it.
    fn answer(
        &self,
        problem: &Mlcp<'_>,
        tolerance: Tolerance,
        set: u32,
        iterations: u32,
        z: &mut [f64],
    ) -> Option<Outcome> {
        for (i, z) in z.iter_mut().enumerate() {
            *z = self.s[i] * self.y[i].max(0.0);
        }
        if !self.unique(set) {
            return None;
        }
        let verdict = problem.settle(z, &tolerance, &mut Room::default());
        verdict.holds(&tolerance).then_some(Outcome {
            status: Status::Solved,
            iterations,
            residual: verdict.residual,
            redundant: 0,
        })
    }

    /// The set that reproduces itself, with its point in `y` and `w`.
    fn newton(&mut self, mut set: u32, limit: u32, iterations: &mut u32) -> Option<u32> {
        let mut tried = [0_u32; 2 * MOST];
        let most = (self.n + 25).min(limit as usize).min(tried.len());
        for k in 0..most {
            if tried[..k].contains(&set) {
                return None;
            }
            tried[k] = set;
            *iterations += 1;
            self.point(set)?;
            let (next, stationary) = self.next(set);
            if stationary {
                return Some(set);
            }
            set = next;
        }
        None
    }

    /// The set of the guess; without one, that of a sweep of Gauss–Seidel, whose point is in `y` then. Second: whether the
    /// block of that set is triangular, so that its point is that of the sweep.
    fn first(&mut self) -> (u32, bool) {
        let n = self.n;
        let mut set = 0_u32;
        let cold = self.y[..n].iter().all(|v| *v == 0.0);
        if cold && (0..n).all(|i| self.m[i][i] > 0.0) {
            let mut triangular = true;
            self.w = self.q;
            for i in 0..n {
                // The diagonal is 1, and `y_i` is still zero.
                let y = -self.w[i];
                if y > 0.0 {
                    self.y[i] = y;
                    for k in 0..i {
                        triangular &= set >> k & 1 == 0 || self.m[k][i] == 0.0;
                    }
                    for k in i + 1..n {
                        self.w[k] += self.m[k][i] * y;
                    }
                    set |= 1 << i;
                }
            }
            return (set, triangular);
        }
        for i in 0..n {
            set |= u32::from(self.y[i] > self.velocity(i)) << i;
        }
        (set, false)
    }

    /// `w` of the present point, zero in the rows of `set`.
    fn velocities(&mut self, set: u32) {
        for i in 0..self.n {
            self.w[i] = if set >> i & 1 == 1 {
                0.0
            } else {
                self.velocity(i)
            };
        }
    }

    /// `w_i` of the present point.
    #[inline]
    fn velocity(&self, i: usize) -> f64 {
        let mut w = self.q[i];
        for (m, y) in self.m[i][..self.n].iter().zip(&self.y) {
            w += m * y;
        }
        w
    }

    /// The point with `w = 0` in the rows of `set` and `y = 0` elsewhere; `None` where the block is singular.
    fn point(&mut self, set: u32) -> Option<()> {
        let x = self.eliminated(set)?;
        let mut k = 0;
        for i in 0..self.n {
            self.y[i] = if set >> i & 1 == 1 {
                k += 1;
                x[k - 1]
            } else {
                0.0
            };
        }
        self.velocities(set);
        Some(())
    }

    /// Newton's next set, and whether the present point is a solution.
    fn next(&self, set: u32) -> (u32, bool) {
        let mut next = 0;
        let mut solved = true;
        for i in 0..self.n {
            let (y, w) = (self.y[i], self.w[i]);
            let violation = -y.min(w);
            solved = solved && (violation <= 0.0 || violation <= ROUND_OFF * self.size(i));
            next |= u32::from(y > w) << i;
        }
        (next, next == set || solved)
    }

    /// The terms whose cancellation is `w_i`.
    fn size(&self, i: usize) -> f64 {
        size_of_row(&self.m[i][..self.n], self.q[i], &self.y)
    }

    /// Whether no other multipliers do the same: the block of the set, which is regular, and of all rows that could join it is
    /// regular.
    fn unique(&self, set: u32) -> bool {
        let mut wide = set;
        for i in 0..self.n {
            if set >> i & 1 == 0 && self.w[i] <= WEAKLY_ACTIVE * self.size(i) {
                wide |= 1 << i;
            }
        }
        wide == set || self.eliminated(wide).is_some()
    }

    /// `−M_SS⁻¹ q_S` by elimination with row pivoting.
    fn eliminated(&self, set: u32) -> Option<[f64; N]> {
        let mut rows = [0; N];
        let mut k = 0;
        for i in (0..self.n).filter(|i| set >> i & 1 == 1) {
            rows[k] = i;
            k += 1;
        }
        let mut a = [[0.0; N]; N];
        let mut x = [0.0; N];
        for p in 0..k {
            let from = &self.m[rows[p]];
            for (to, &j) in a[p].iter_mut().zip(&rows[..k]) {
                *to = from[j];
            }
            x[p] = -self.q[rows[p]];
        }
        let pivots = eliminate(&mut a, &mut x, k)?;
        (pivots > RANK_TOLERANCE).then_some(x)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use saltus_linear::Dense;

    fn run(rows: &[&[f64]], q: &[f64], z: &mut [f64]) -> Option<Outcome> {
        let mut matrix = Dense::zeros(q.len(), q.len());
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).copy_from_slice(row);
        }
        let problem = Mlcp {
            equalities: 0,
            matrix: &matrix,
            q,
        };
        solve(&problem, Tolerance::default(), z).0
    }

    /// A triangular problem is answered by the first sweep: z₀ = 2, w₁ = 1 − 2 < 0 so that z₁ = 1, w₂ > 0.
    #[test]
    fn a_triangular_problem_takes_one_set() {
        let rows: [&[f64]; 3] = [&[1.0, 0.0, 0.0], &[-1.0, 1.0, 0.0], &[1.0, 1.0, 1.0]];
        let mut z = [0.0; 3];
        let end = run(&rows, &[-2.0, 1.0, 0.0], &mut z).unwrap();
        assert_eq!((z, end.iterations), ([2.0, 1.0, 0.0], 1));
    }

    /// On these Newton's sets come back after three; four unknowns or fewer try them all.
    #[test]
    fn a_cycle_is_left_by_trying_all_sets() {
        let rows: [&[f64]; 3] = [&[1.0, 0.0, 2.0], &[2.0, 1.0, 0.0], &[0.0, 2.0, 1.0]];
        let mut z = [100.0, 0.0, 0.0];
        assert!(run(&rows, &[1.0; 3], &mut z).is_some());
        assert_eq!(z, [0.0; 3]);
        let mut z = [0.0; 3];
        assert!(run(&rows, &[-1.0; 3], &mut z).is_some());
        assert!(z.iter().all(|z| (z - 1.0 / 3.0).abs() < 1e-15), "{z:?}");
    }

    /// z₃ and w₃ vanish together; the block with that row is regular, so that the answer is the only one, whatever rounding
    /// makes of z₃.
    #[test]
    fn a_row_at_its_corner_does_not_cost_the_answer() {
        let rows: [&[f64]; 4] = [
            &[3.0, -1.0, 0.0, 0.0],
            &[1.0, 2.0, 1.0, 0.0],
            &[0.0, 1.0, 3.0, 1.0],
            &[-1.0, 1.0, -1.0, 2.0],
        ];
        let mut z = [0.0; 4];
        let end = run(&rows, &[-2.0, 1.0, -1.0, 1.0], &mut z).unwrap();
        assert_eq!(end.iterations, 1);
        for (z, exact) in z.iter().zip([2.0 / 3.0, 0.0, 1.0 / 3.0, 0.0]) {
            assert!((z - exact).abs() < 1e-15, "{z}");
        }
    }

    /// Multipliers that are not unique, contradictions and empty rows are left to the general solver.
    #[test]
    fn what_is_not_unique_is_not_answered() {
        let twice: [&[f64]; 3] = [&[2.0, 2.0, 0.0], &[2.0, 2.0, 0.0], &[0.0, 0.0, 1.0]];
        assert!(run(&twice, &[-1.0, -1.0, 1.0], &mut [0.0; 3]).is_none());
        let squeezed: [&[f64]; 3] = [&[1.0, -1.0, 0.0], &[-1.0, 1.0, 0.0], &[0.0, 0.0, 1.0]];
        assert!(run(&squeezed, &[-1.0, -1.0, 1.0], &mut [0.0; 3]).is_none());
        let empty: [&[f64]; 3] = [&[0.0; 3], &[0.0; 3], &[0.0; 3]];
        assert!(run(&empty, &[-1.0, 1.0, 1.0], &mut [0.0; 3]).is_none());
    }
}
