//! Mixed linear complementarity: equalities first, then complementarity.
//!
//! The solver tries, in this order and until the certificate holds: closed forms for one and two
//! unknowns, an active-set Newton method that remembers the sets it has tried, the same method on a
//! slightly regularised problem, Lemke's method with several covering vectors, and enumeration.
//! Inside, all work is done in scaled unknowns `y = S⁻¹ z`, `S M S y + S q`, `s_i = M_ii^(−1/2)`, in
//! which both sides of the complementarity condition have the same unit.

use crate::active_set::{ActiveSet, NewtonEnd};
use crate::enumeration;
use crate::lemke::{Lemke, LemkeEnd};
use crate::outcome::{Outcome, Status, Tolerance};
use crate::small;
use crate::verdict::{Verdict, VerdictWorkspace, size_of_row};
use saltus_linear::{Dense, MinimumNorm, dot, max_abs};

/// Find `z` with `w = M z + q`, `w_i = 0` and `z_i` free in the first `equalities` rows,
/// `0 ≤ z_i ⟂ w_i ≥ 0` in the others.
#[derive(Debug, Clone, Copy)]
pub struct Mlcp<'a> {
    /// Number of leading equality rows.
    pub equalities: usize,
    /// `M` (n × n), any square matrix.
    pub matrix: &'a Dense,
    /// `q` (n).
    pub q: &'a [f64],
}

impl Mlcp<'_> {
    /// Residual of the natural map at `z`: the largest of `|w_i|` over the equalities and
    /// `|min(d_i z_i, w_i)|` over the others, with `w = M z + q` evaluated here.
    ///
    /// `d_i = M_ii` where that is positive and 1 elsewhere, so that both arguments of the minimum
    /// have the unit of `w` and the residual does not change its meaning with the unit of `z`.
    /// NaN where `z` or `w` is.
    #[must_use]
    pub fn residual(&self, z: &[f64]) -> f64 {
        let mut largest = 0.0_f64;
        for (i, &q) in self.q.iter().enumerate() {
            let row = self.matrix.row(i);
            let w = dot(row, z) + q;
            let r = if i < self.equalities {
                w.abs()
            } else {
                let d = if row[i] > 0.0 { row[i] } else { 1.0 };
                natural(d * z[i], w)
            };
            if !(r.is_finite() && w.is_finite()) {
                return f64::NAN;
            }
            largest = largest.max(r);
        }
        largest
    }

    /// The proof that no point satisfies the (in)equalities, if there is one: `y ≥ 0` (free in the equality rows) with
    /// `Mᵀ y ≤ 0` (`= 0` in the columns of free unknowns) and `q·y < 0` (Farkas' lemma).
    #[must_use]
    pub fn infeasibility(&self) -> Option<Vec<f64>> {
        crate::lcp::farkas_certificate(self.matrix, self.q, self.equalities)
    }
}

/// `|min(a, b)|`, NaN if either is.
#[inline]
pub(crate) fn natural(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b).abs()
    }
}

/// Solves [`Mlcp`]s, keeping its buffers from one to the next: nothing is allocated for a problem
/// no larger than the largest seen, except by the last fallback (enumeration).
///
/// Where several multipliers do the same (redundant rows), the answer is the one that minimises
/// `Σ M_ii z_i²` (weight 1 where `M_ii ≤ 0`): a condition listed twice is shared half and half, and
/// the answer depends neither on the order of the rows nor on how each is scaled.
#[derive(Debug, Clone, Default)]
pub struct MlcpSolver {
    /// Scaled matrix `S M S`.
    m: Dense,
    /// Scaled right-hand side `S q`.
    q: Vec<f64>,
    /// Diagonal of `S`.
    s: Vec<f64>,
    /// Scaled unknowns, `S⁻¹ z`.
    y: Vec<f64>,
    /// A second set of scaled unknowns.
    trial: Vec<f64>,
    /// `S M S y + S q`.
    w: Vec<f64>,
    /// Rows that may take part in a search.
    rows: Vec<usize>,
    newton: ActiveSet,
    lemke: Lemke,
    wide: Dense,
    rank: MinimumNorm,
    workspace: VerdictWorkspace,
}

/// Weight of the identity that is added to the scaled matrix to choose among non-unique multipliers.
const RIDGE: f64 = 1e-8;
/// A relative residual below this, of a point that is a solution by construction, is a matter of rounding.
const NEARLY: f64 = 1e-6;
/// Scaled `w` below this multiple of the size of its row counts as zero when redundant rows are looked for.
const WEAKLY_ACTIVE: f64 = 1e-11;

impl MlcpSolver {
    /// Solves `problem` from the first guess in `z` (n) and leaves the answer there.
    ///
    /// The guess only says which rows to try first (those with `M_ii z_i > w_i`); an entry of it that is not finite
    /// counts as zero. Where no solution is found, `z` holds the point of smallest residual met at the end.
    #[inline]
    pub fn solve(&mut self, problem: &Mlcp<'_>, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let n = problem.q.len();
        let shape = problem.matrix.rows() == n && problem.matrix.cols() == n && z.len() == n;
        if !shape || problem.equalities > n {
            return failed(Status::Inconsistent, 0, f64::INFINITY);
        }
        if n == 0 {
            return Outcome {
                status: Status::Solved,
                iterations: 0,
                residual: 0.0,
                redundant: 0,
            };
        }
        if problem.equalities == 0
            && n <= 2
            && let Some(outcome) = small::solve(problem, z, tolerance)
        {
            return outcome;
        }
        self.general(problem, z, tolerance)
    }

    fn general(&mut self, problem: &Mlcp<'_>, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        if !finite(problem.matrix.as_slice()) || !finite(problem.q) {
            z.fill(0.0);
            return failed(Status::NotFinite, 0, f64::NAN);
        }
        self.load(problem, z, true);
        self.search(problem, z, tolerance)
    }

    /// The general methods on data whose rows and unknowns are scaled already.
    pub(crate) fn solve_scaled(&mut self, p: &Mlcp<'_>, z: &mut [f64], t: Tolerance) -> Outcome {
        self.load(p, z, false);
        self.search(p, z, t)
    }

    /// Scales the problem and the guess, by the diagonal if asked to.
    fn load(&mut self, problem: &Mlcp<'_>, z: &[f64], by_diagonal: bool) {
        let n = problem.q.len();
        let matrix = problem.matrix;
        for buffer in [&mut self.s, &mut self.q, &mut self.y] {
            buffer.clear();
            buffer.reserve(n);
        }
        for i in 0..n {
            let d = matrix[(i, i)];
            let size = match d {
                _ if !by_diagonal => 1.0,
                d if d > 0.0 => d,
                _ => max_abs(matrix.row(i)),
            };
            let s = 1.0 / size.sqrt();
            self.s.push(if s.is_finite() && s > 0.0 { s } else { 1.0 });
        }
        self.m.reset(n, n);
        for (i, (&s, &z)) in self.s.iter().zip(z).enumerate() {
            for ((to, from), sj) in self.m.row_mut(i).iter_mut().zip(matrix.row(i)).zip(&self.s) {
                *to = s * from * sj;
            }
            self.q.push(s * problem.q[i]);
            self.y.push(if z.is_finite() { z / s } else { 0.0 });
        }
        self.w.clear();
        self.w.resize(n, 0.0);
        self.rows.clear();
        self.rows.extend(0..n);
    }

    /// Tries one method after the other until the certificate holds.
    fn search(&mut self, problem: &Mlcp<'_>, z: &mut [f64], tolerance: Tolerance) -> Outcome {
        let e = problem.equalities;
        let budget = tolerance.max_iterations;
        let mut iterations = 0;
        let mut status = Status::IterationLimit;
        for attempt in Attempt::ALL {
            if attempt == Attempt::Lemke && self.contradictory(e) {
                let residual = self.store(problem, z, &tolerance).residual;
                return failed(Status::Inconsistent, iterations, residual);
            }
            let limit = budget.saturating_sub(iterations);
            if limit == 0 {
                if status != Status::Infeasible {
                    status = Status::IterationLimit;
                }
                break;
            }
            let (spent, word) = self.attempt(attempt, e, limit, tolerance);
            iterations += spent;
            let Some(word) = word else { continue };
            if word == Status::Solved {
                self.canonical(problem, &tolerance);
            }
            // Whatever the method says of itself, the residual decides.
            let verdict = self.store(problem, &mut *z, &tolerance);
            if verdict.holds(&tolerance) {
                let redundant = self.newton.redundancy(&self.m, e, &self.y);
                return Outcome {
                    status: Status::Solved,
                    iterations,
                    residual: verdict.residual,
                    redundant,
                };
            }
            status = match (word, status) {
                (Status::Infeasible, _) => Status::Infeasible,
                (Status::Solved, _) if verdict.relative <= NEARLY => Status::Inaccurate,
                (Status::Inaccurate, _) | (_, Status::Inaccurate) => Status::Inaccurate,
                (Status::Solved, word) | (_, word @ Status::Ray) | (word, _) => word,
            };
        }
        let residual = self.store(problem, z, &tolerance).residual;
        if residual.is_nan() {
            z.fill(0.0);
            return failed(Status::NotFinite, iterations, residual);
        }
        failed(status, iterations, residual)
    }

    /// Runs one method. `None` where it does not apply.
    fn attempt(
        &mut self,
        attempt: Attempt,
        e: usize,
        limit: u32,
        tolerance: Tolerance,
    ) -> (u32, Option<Status>) {
        self.newton.set_sharp(attempt == Attempt::IllConditioned);
        match attempt {
            Attempt::Newton | Attempt::IllConditioned => {
                if attempt == Attempt::IllConditioned {
                    self.y.fill(0.0);
                }
                let limit = limit.min(ActiveSet::usual(self.rows.len()));
                let (end, spent) =
                    self.newton
                        .solve(&self.m, &self.q, e, &self.rows, 0.0, limit, &mut self.y);
                (spent, Some(end.status()))
            }
            Attempt::Regularised => {
                self.y.fill(0.0);
                let limit = limit.min(ActiveSet::usual(self.rows.len()));
                let (end, spent) =
                    self.newton
                        .solve(&self.m, &self.q, e, &self.rows, RIDGE, limit, &mut self.y);
                if end == NewtonEnd::Stationary {
                    self.newton.polish(&self.m, &self.q, e, &mut self.y);
                }
                (spent, Some(end.status()))
            }
            Attempt::Lemke | Attempt::LemkeAgain => {
                let covers = if attempt == Attempt::Lemke {
                    0..1
                } else {
                    1..5
                };
                let mut spent = 0;
                let mut word = Status::Inaccurate;
                for cover in covers {
                    // Rounding can make the pivoting go round and round.
                    let usual = 200 + 10 * self.q.len() as u32;
                    let left = limit.saturating_sub(spent).min(usual);
                    let (end, pivots) =
                        self.lemke
                            .solve(&self.m, &self.q, e, cover, left, &mut self.y);
                    spent += pivots;
                    match end {
                        LemkeEnd::Solved => {
                            self.newton.polish(&self.m, &self.q, e, &mut self.y);
                            return (spent, Some(Status::Solved));
                        }
                        LemkeEnd::Ray if word == Status::Inaccurate => word = Status::Ray,
                        LemkeEnd::Ray | LemkeEnd::Rounding => {}
                        LemkeEnd::Limit => word = Status::IterationLimit,
                    }
                }
                (spent, Some(word))
            }
            Attempt::Enumeration => {
                let problem = Mlcp {
                    equalities: e,
                    matrix: &self.m,
                    q: &self.q,
                };
                let strict = Tolerance {
                    floor: 0.0,
                    max_iterations: limit,
                    ..tolerance
                };
                let found = enumeration::search(&problem, &strict, true);
                if let Some(y) = found.solutions.first() {
                    self.y.copy_from_slice(y);
                    return (found.sets, Some(Status::Solved));
                }
                let word = if found.complete {
                    Status::Infeasible
                } else if found.sets >= limit {
                    Status::IterationLimit
                } else {
                    Status::Inaccurate
                };
                (found.sets, (found.sets > 0).then_some(word))
            }
            Attempt::Zero => {
                self.y.fill(0.0);
                (0, Some(Status::Stalled))
            }
        }
    }

    /// Whether no point satisfies the equalities, whatever the signs of the others.
    fn contradictory(&mut self, e: usize) -> bool {
        let n = self.q.len();
        if e == 0 {
            return false;
        }
        self.wide.reset(e, n);
        for i in 0..e {
            self.wide.row_mut(i).copy_from_slice(self.m.row(i));
        }
        if self.rank.factorise(&self.wide) == e {
            return false;
        }
        self.trial.clear();
        self.trial.resize(n, 0.0);
        self.w[..e].copy_from_slice(&self.q[..e]);
        self.rank.solve(&mut self.w[..e], &mut self.trial);
        (0..e).any(|i| {
            let row = self.wide.row(i);
            let defect = self.q[i] - dot(row, &self.trial);
            let size = row.iter().map(|m| m.abs()).sum::<f64>() * max_abs(&self.trial);
            defect.abs() > 1e-9 * (self.q[i].abs() + size)
        })
    }

    /// Replaces the multipliers by the canonical ones where they are not unique.
    fn canonical(&mut self, problem: &Mlcp<'_>, tolerance: &Tolerance) {
        let e = problem.equalities;
        let n = self.q.len();
        self.rows.clear();
        let mut weak = false;
        for i in 0..n {
            self.w[i] = self.q[i] + dot(self.m.row(i), &self.y);
            if i < e || self.y[i] > 0.0 {
                self.rows.push(i);
            } else if self.w[i] <= WEAKLY_ACTIVE * size_of_row(self.m.row(i), self.q[i], &self.y) {
                self.rows.push(i);
                weak = true;
            }
        }
        let unique =
            (!weak && self.newton.regular()) || self.newton.is_regular(&self.m, &self.rows);
        if !unique {
            self.trial.clone_from(&self.y);
            self.newton
                .least_norm(&self.m, &self.q, &self.rows, 0.0, &mut self.trial);
            if !self.adopt(problem, tolerance) {
                self.trial.fill(0.0);
                let limit = ActiveSet::usual(self.rows.len()).min(2 * n as u32 + 20);
                let end = self
                    .newton
                    .solve(
                        &self.m,
                        &self.q,
                        e,
                        &self.rows,
                        RIDGE,
                        limit,
                        &mut self.trial,
                    )
                    .0;
                if end == NewtonEnd::Stationary {
                    self.newton.polish(&self.m, &self.q, e, &mut self.trial);
                    self.adopt(problem, tolerance);
                }
            }
        }
        self.rows.clear();
        self.rows.extend(0..n);
    }

    /// Takes `trial` over if it is as good a solution.
    fn adopt(&mut self, problem: &Mlcp<'_>, tolerance: &Tolerance) -> bool {
        let size = max_abs(&self.trial);
        for (i, y) in self.trial.iter_mut().enumerate().skip(problem.equalities) {
            if *y < 0.0 {
                if *y < -1e-13 * size {
                    return false;
                }
                *y = 0.0;
            }
            self.w[i] = self.s[i] * *y;
        }
        for i in 0..problem.equalities {
            self.w[i] = self.s[i] * self.trial[i];
        }
        let verdict = problem.judge(&self.w, tolerance, &mut self.workspace);
        let good = verdict.holds(tolerance);
        if good {
            self.y.clone_from(&self.trial);
        }
        good
    }

    /// Writes the unscaled unknowns to `z` and judges them.
    fn store(&mut self, problem: &Mlcp<'_>, z: &mut [f64], tolerance: &Tolerance) -> Verdict {
        for (i, z) in z.iter_mut().enumerate() {
            let y = self.y[i];
            *z = self.s[i]
                * if i >= problem.equalities && y < 0.0 {
                    0.0
                } else {
                    y
                };
        }
        problem.judge_cleaned(z, tolerance, &mut self.workspace)
    }
}

/// The methods in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Newton,
    Regularised,
    Lemke,
    /// Newton's method on blocks that are regular beyond rounding only.
    IllConditioned,
    LemkeAgain,
    /// Zero, which solves a problem whose `q` is negative by no more than the floor of the caller.
    Zero,
    Enumeration,
}

impl Attempt {
    const ALL: [Self; 7] = [
        Self::Newton,
        Self::Regularised,
        Self::Lemke,
        Self::IllConditioned,
        Self::LemkeAgain,
        Self::Zero,
        Self::Enumeration,
    ];
}

fn failed(status: Status, iterations: u32, residual: f64) -> Outcome {
    Outcome {
        status,
        iterations,
        residual,
        redundant: 0,
    }
}
