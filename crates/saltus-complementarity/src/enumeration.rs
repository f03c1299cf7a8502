//! All solutions of a small problem by trying every active set: slow, simple, the referee of the others.
//!
//! A set names the rows with `w = 0`; in the others `z = 0`. Where its block is regular, it has one point, which is a solution
//! or is not. Where the block is singular, or the point misses by too little to be sure, phase one of the simplex method
//! decides whether any point of the set has the right signs, with a proof if not. A set that is refuted has no solution, so
//! that all of them together prove what a ray of Lemke's method does not: that nothing else solves the problem.

use crate::equilibrium::{Equilibrated, Units};
use crate::lcp::{Inequalities, PhaseOne};
use crate::mlcp::Mlcp;
use crate::outcome::Tolerance;
use crate::verdict::VerdictWorkspace;
use saltus_linear::{Dense, Lu, MinimumNorm, RANK_TOLERANCE, dot, max_abs};

/// Up to this many complementary pairs all active sets are tried.
pub const ENUMERATION_LIMIT: usize = 12;
/// Most floating-point operations of an enumeration: with many equalities every set is expensive.
const MOST_WORK: f64 = 2e10;
/// Blocks with a smaller ratio of pivots are too ill-conditioned to read signs from their points.
const WELL_CONDITIONED: f64 = 1e-6;
/// Blocks with a larger ratio of pivots, per row, are regular beyond rounding.
pub(crate) const NOT_SINGULAR: f64 = 16.0 * f64::EPSILON;
/// A sign that is wrong by more than this, relative to the largest terms, is wrong.
const CLEAR: f64 = 1e-8;
/// Two solutions closer than this, relative to their size, are one.
const SAME: f64 = 1e-9;

/// What trying all active sets found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Enumeration {
    /// All isolated solutions, and of every face of solutions a point: the one of least norm where that is admissible.
    pub solutions: Vec<Vec<f64>>,
    /// Active sets that were tried; 0 where the problem is too large ([`enumeration_refusal`]). Not all where a limit stopped it.
    pub sets: u32,
    /// Whether every set without a solution was refuted beyond round-off: then there are no others.
    pub complete: bool,
}

impl Enumeration {
    /// Whether it is proven that nothing solves the problem.
    #[must_use]
    pub fn refutes(&self) -> bool {
        self.complete && self.solutions.is_empty()
    }
}

/// Why the active sets of a problem with so many rows and leading equalities are not tried; `None` where they are.
#[must_use]
pub fn enumeration_refusal(rows: usize, equalities: usize) -> Option<String> {
    let pairs = rows - equalities.min(rows);
    let cure = "use auto, or lemke where M is positive semidefinite";
    if pairs > ENUMERATION_LIMIT {
        return Some(format!(
            "the problem has {pairs} complementary pairs, and enumeration is for at most {ENUMERATION_LIMIT}; {cure}"
        ));
    }
    let work = 2.0_f64.powi(pairs as i32) * (rows as f64).powi(3);
    (work > MOST_WORK).then(|| {
        format!(
            "the 2^{pairs} active sets of {rows} rows take {work:.0e} operations, and enumeration is for at most {MOST_WORK:.0e}; {cure}"
        )
    })
}

/// Tries all active sets of `problem`, unless there are too many ([`enumeration_refusal`]): then nothing is tried.
///
/// A point is a solution if its relative residual ([`Mlcp::relative_residual`]) is at most `tolerance`.
#[must_use]
pub fn enumerate(problem: &Mlcp<'_>, tolerance: f64) -> Enumeration {
    let tolerance = Tolerance {
        residual: tolerance,
        max_iterations: u32::MAX,
        ..Tolerance::default()
    };
    search(problem, &tolerance, false)
}

/// As [`enumerate`], from the first solution on only if it is not the `first` that is asked for.
pub(crate) fn search(problem: &Mlcp<'_>, tolerance: &Tolerance, first: bool) -> Enumeration {
    let mut found = Enumeration::default();
    if !affordable(problem) {
        return found;
    }
    let e = problem.equalities;
    let n = problem.q.len();
    let mut sets = Sets::new(problem);
    let mut doubts: Vec<Vec<f64>> = Vec::new();
    let mut unknown = false;
    for mask in 0..1_u32 << (n - e) {
        if found.sets >= tolerance.max_iterations {
            return found;
        }
        found.sets += 1;
        sets.choose(mask);
        match sets.try_set(problem, tolerance) {
            Trial::Refuted => {}
            Trial::Unknown => unknown = true,
            Trial::Doubtful(z) => doubts.push(z),
            Trial::Solution(z) => {
                if !found.solutions.iter().any(|k| close(k, &z, SAME)) {
                    found.solutions.push(z);
                }
                if first {
                    return found;
                }
            }
        }
    }
    // What nearly solves the problem beside a solution is that solution, seen from another set.
    let explained = |z: &Vec<f64>| found.solutions.iter().any(|k| close(k, z, CLEAR));
    found.complete = !unknown && doubts.iter().all(explained);
    found
}

/// Whether the sets of `problem` can be tried in bounded work.
fn affordable(problem: &Mlcp<'_>) -> bool {
    let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
    enumeration_refusal(problem.q.len(), problem.equalities).is_none()
        && finite(problem.matrix.as_slice())
        && finite(problem.q)
}

fn close(a: &[f64], b: &[f64], share: f64) -> bool {
    let size = max_abs(a).max(max_abs(b));
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= share * size)
}

/// What is known of one active set.
enum Trial {
    Solution(Vec<f64>),
    Refuted,
    /// A point that neither solves nor clearly fails.
    Doubtful(Vec<f64>),
    Unknown,
}

/// The sets of a problem whose rows and columns are scaled by powers of two to entries of at most the order of 1, so that
/// what a pivot is worth does not depend on units.
struct Sets {
    m: Dense,
    q: Vec<f64>,
    /// Of the unknowns `y`.
    units: Units,
    e: usize,
    /// Rows with `w = 0`, ascending, equalities among them; and the others.
    set: Vec<usize>,
    rest: Vec<usize>,
    block: Dense,
    lu: Lu,
    rank: MinimumNorm,
    x: Vec<f64>,
    rhs: Vec<f64>,
    workspace: VerdictWorkspace,
}

impl Sets {
    fn new(problem: &Mlcp<'_>) -> Self {
        let Equilibrated {
            matrix, q, units, ..
        } = Equilibrated::new(problem);
        Self {
            m: matrix,
            q,
            units,
            e: problem.equalities,
            set: Vec::new(),
            rest: Vec::new(),
            block: Dense::default(),
            lu: Lu::default(),
            rank: MinimumNorm::default(),
            x: Vec::new(),
            rhs: Vec::new(),
            workspace: VerdictWorkspace::default(),
        }
    }

    fn choose(&mut self, mask: u32) {
        let member = |i: &usize| *i < self.e || mask >> (i - self.e) & 1 == 1;
        let n = self.q.len();
        self.set.clear();
        self.set.extend((0..n).filter(member));
        self.rest.clear();
        self.rest.extend((0..n).filter(|i| !member(i)));
    }

    fn try_set(&mut self, problem: &Mlcp<'_>, tolerance: &Tolerance) -> Trial {
        let (regular, pivots) = self.solve();
        let y = self.point();
        if let Some(z) = self.solution(problem, tolerance, &y) {
            return Trial::Solution(z);
        }
        if !regular && pivots > NOT_SINGULAR * self.set.len() as f64 {
            self.solve_with_factors();
            let y = self.point();
            if let Some(z) = self.solution(problem, tolerance, &y) {
                return Trial::Solution(z);
            }
        }
        if regular && pivots > WELL_CONDITIONED && self.clearly_wrong(&y) {
            return Trial::Refuted;
        }
        match self.phase_one() {
            PhaseOne::Infeasible(_) => Trial::Refuted,
            PhaseOne::Point(x) => {
                let mut y = vec![0.0; self.q.len()];
                for (&i, x) in self.set.iter().zip(&x) {
                    y[i] = *x;
                }
                match self.solution(problem, tolerance, &y) {
                    Some(z) => Trial::Solution(z),
                    None => Trial::Doubtful(self.unscaled(&y)),
                }
            }
            PhaseOne::Unknown => Trial::Unknown,
        }
    }

    /// `x = −M_SS⁻¹ q_S`, of least norm where the block is singular. Returns whether it is not, and the ratio of its pivots.
    fn solve(&mut self) -> (bool, f64) {
        self.block.reset(self.set.len(), self.set.len());
        for (k, &i) in self.set.iter().enumerate() {
            for (to, &j) in self.block.row_mut(k).iter_mut().zip(&self.set) {
                *to = self.m[(i, j)];
            }
        }
        let factored = self.lu.factorise(&self.block).is_ok();
        let pivots = if factored { self.lu.pivot_ratio() } else { 0.0 };
        if pivots <= RANK_TOLERANCE && !self.set.is_empty() {
            self.rank.factorise(&self.block);
            self.rhs.clear();
            self.rhs.extend(self.set.iter().map(|&i| -self.q[i]));
            self.x.clear();
            self.x.resize(self.set.len(), 0.0);
            self.rank.solve(&mut self.rhs, &mut self.x);
            return (false, pivots);
        }
        self.solve_with_factors();
        (true, pivots)
    }

    /// `x = −M_SS⁻¹ q_S` with the factors of the block.
    fn solve_with_factors(&mut self) {
        self.x.clear();
        self.x.extend(self.set.iter().map(|&i| -self.q[i]));
        self.lu.solve(&mut self.x);
        // Two steps of iterative refinement: every row shall hold by its own terms.
        for _ in 0..2 {
            self.rhs.clear();
            for (k, &i) in self.set.iter().enumerate() {
                self.rhs.push(-self.q[i] - dot(self.block.row(k), &self.x));
            }
            self.lu.solve(&mut self.rhs);
            for (x, d) in self.x.iter_mut().zip(&self.rhs) {
                *x += d;
            }
        }
    }

    fn point(&self) -> Vec<f64> {
        let mut y = vec![0.0; self.q.len()];
        for (&i, x) in self.set.iter().zip(&self.x) {
            y[i] = *x;
        }
        y
    }

    fn unscaled(&self, y: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; y.len()];
        self.units.unscale(y, &mut z);
        z
    }

    /// The point in the units of the problem, if it solves it.
    fn solution(&mut self, p: &Mlcp<'_>, tolerance: &Tolerance, y: &[f64]) -> Option<Vec<f64>> {
        let mut z = self.unscaled(y);
        for z in &mut z[self.e..] {
            // Not −0 either.
            *z = if *z > 0.0 { *z } else { 0.0 };
        }
        let verdict = p.judge_cleaned(&mut z, tolerance, &mut self.workspace);
        verdict.holds(tolerance).then_some(z)
    }

    /// Whether some sign is wrong by more than the error of the point can be.
    fn clearly_wrong(&self, y: &[f64]) -> bool {
        let largest = max_abs(y);
        let negative = |&i: &usize| i >= self.e && y[i] < -CLEAR * largest;
        self.set.iter().any(negative)
            || self.rest.iter().any(|&i| {
                let row = self.m.row(i);
                let size =
                    self.q[i].abs() + self.set.iter().map(|&j| row[j].abs()).sum::<f64>() * largest;
                self.q[i] + dot(row, y) < -CLEAR * size
            })
    }

    /// Is there any `x` with `M_SS x + q_S = 0`, `M_JS x + q_J ≥ 0`, `x ≥ 0` (free in the equalities)?
    fn phase_one(&self) -> PhaseOne {
        let (m, n) = (self.q.len(), self.set.len());
        let rows = || self.set.iter().chain(&self.rest);
        let mut matrix = Dense::zeros(m, n);
        for (k, &i) in rows().enumerate() {
            for (to, &j) in matrix.row_mut(k).iter_mut().zip(&self.set) {
                *to = self.m[(i, j)];
            }
        }
        let constant: Vec<f64> = rows().map(|&i| self.q[i]).collect();
        Inequalities {
            matrix: &matrix,
            constant: &constant,
            equation: &|k| k < n,
            free: &|k| self.set[k] < self.e,
        }
        .phase_one()
    }
}
