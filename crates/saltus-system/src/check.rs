//! The audit of a system: every derivative it offers against finite differences.
//!
//! A derivative that is wrong makes Newton's method slow or a scheme inexact without any other sign.
//! [`check`] compares each one with central differences of fourth order along `retract`, at the
//! given state and at a few states near it, and names quantity, entry and both values where they
//! differ. It is meant for tests of hand-written systems and for `saltus check`.

mod quantities;

use crate::System;
use crate::state::{Point, State};
use saltus_linear::Dense;

/// A derivative passes if it agrees to this fraction of its own largest entry.
const TOLERANCE: f64 = 1e-6;

/// Trial lengths of the differences, times `max(1, |x|)`; the best agreement counts, because no
/// single one suits every scale.
const LENGTHS: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// One quantity that was examined.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the method in the contract, e.g. `stiffness`.
    pub quantity: &'static str,
    /// What it should be, e.g. `K = −D(f)`.
    pub meaning: &'static str,
    /// Row of the worst entry, from 0.
    pub row: usize,
    /// Column of the worst entry, from 0.
    pub col: usize,
    /// What the system says.
    pub given: f64,
    /// What finite differences give.
    pub expected: f64,
    /// Largest error relative to the largest entry.
    pub error: f64,
    /// Whether it is within tolerance.
    pub passed: bool,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            quantity,
            meaning,
            row,
            col,
            given,
            expected,
            error,
            ..
        } = self;
        if self.passed {
            write!(f, "`{quantity}` ({meaning}) agrees to {error:.1e}")
        } else {
            write!(
                f,
                "`{quantity}` ({meaning}): entry ({row}, {col}) is {given:.9e}, finite differences give {expected:.9e} (relative error {error:.1e})"
            )
        }
    }
}

/// The outcome of an audit: the worst finding of each quantity that the system has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Audit {
    /// One finding per quantity.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// The findings out of tolerance.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| !f.passed)
    }

    /// Whether everything agrees.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.failures().next().is_none()
    }

    fn record(&mut self, finding: Finding) {
        match self
            .findings
            .iter_mut()
            .find(|f| f.quantity == finding.quantity)
        {
            Some(known) if known.error >= finding.error => {}
            Some(known) => *known = finding,
            None => self.findings.push(finding),
        }
    }
}

/// Audits `system` at `state` and at three states near it.
///
/// Costs `O(nv)` evaluations of every quantity per state.
#[must_use]
pub fn check(system: &dyn System, state: &State) -> Audit {
    let mut audit = Audit::default();
    for sample in 0..4 {
        let near = neighbour(system, state, sample);
        let mut examiner = Examiner {
            system,
            at: near,
            audit: &mut audit,
        };
        examiner.examine_all();
    }
    audit
}

/// The state itself (sample 0), or one near it with every velocity awake.
fn neighbour(system: &dyn System, state: &State, sample: u32) -> State {
    let mut near = state.clone();
    if sample == 0 {
        return near;
    }
    let nv = system.dims().nv;
    // Reproducible numbers in (−1, 1) without a generator: fractional parts of multiples of √2.
    let number = |i: usize| {
        2.0 * ((f64::from(sample) * 131.0 + i as f64 + 1.0) * std::f64::consts::SQRT_2).fract()
            - 1.0
    };
    let size = 0.05 * state.q.iter().fold(1.0_f64, |m, q| m.max(q.abs()));
    let xi: Vec<f64> = (0..nv).map(|i| size * number(i)).collect();
    system.retract(&mut near.q, &xi);
    let speed = state.v.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    for (i, v) in near.v.iter_mut().enumerate() {
        *v += 0.3 * speed * number(nv + i);
    }
    near
}

/// The variable of a difference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variable {
    Position,
    Velocity,
}

/// Examines one state.
struct Examiner<'a> {
    system: &'a dyn System,
    at: State,
    audit: &'a mut Audit,
}

impl Examiner<'_> {
    /// Compares the matrix `given` (rows × nv) with differences of `value` in every direction.
    fn compare(
        &mut self,
        quantity: &'static str,
        meaning: &'static str,
        variable: Variable,
        given: &Dense,
        value: &dyn Fn(Point<'_>, &mut [f64]),
    ) {
        let mut finding = perfect(quantity, meaning);
        let scale = saltus_linear::max_abs(given.as_slice());
        for j in 0..given.cols() {
            let Some((differences, error)) = self.best_difference(variable, j, given, value, scale)
            else {
                continue;
            };
            if error.1 > finding.error {
                let row = error.0;
                finding.row = row;
                finding.col = j;
                finding.given = given[(row, j)];
                finding.expected = differences[row];
                finding.error = error.1;
            }
        }
        finding.passed = finding.error <= TOLERANCE;
        self.audit.record(finding);
    }

    /// The column of differences that agrees best with column `j` of `given`, with row and size of its
    /// largest error; `None` where the quantity is not finite nearby.
    fn best_difference(
        &self,
        variable: Variable,
        j: usize,
        given: &Dense,
        value: &dyn Fn(Point<'_>, &mut [f64]),
        scale: f64,
    ) -> Option<(Vec<f64>, (usize, f64))> {
        let rows = given.rows();
        let mut best: Option<(Vec<f64>, (usize, f64))> = None;
        for length in LENGTHS {
            let column = self.difference(variable, j, length, rows, value);
            let size = column
                .iter()
                .fold(scale, |m, x| m.max(x.abs()))
                .max(f64::MIN_POSITIVE);
            let mut worst = (0, 0.0);
            for i in 0..rows {
                let error = (column[i] - given[(i, j)]).abs() / size;
                if error > worst.1 || error.is_nan() {
                    worst = (i, error);
                }
            }
            if column.iter().all(|x| x.is_finite()) && best.as_ref().is_none_or(|b| worst.1 < b.1.1)
            {
                best = Some((column, worst));
            }
        }
        best
    }

    /// Central difference of fourth order of `value` in direction `j`.
    fn difference(
        &self,
        variable: Variable,
        j: usize,
        length: f64,
        rows: usize,
        value: &dyn Fn(Point<'_>, &mut [f64]),
    ) -> Vec<f64> {
        let reference = match variable {
            Variable::Position => self.at.q.iter().fold(1.0_f64, |m, q| m.max(q.abs())),
            Variable::Velocity => self.at.v.iter().fold(1.0_f64, |m, v| m.max(v.abs())),
        };
        let h = length * reference;
        let mut sum = vec![0.0; rows];
        let mut sample = vec![0.0; rows];
        for (steps, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
            let mut shifted = self.at.clone();
            match variable {
                Variable::Position => {
                    let mut xi = vec![0.0; self.system.dims().nv];
                    xi[j] = steps * h;
                    self.system.retract(&mut shifted.q, &xi);
                }
                Variable::Velocity => shifted.v[j] += steps * h,
            }
            sample.fill(0.0);
            value(shifted.point(), &mut sample);
            saltus_linear::axpy(weight / (12.0 * h), &sample, &mut sum);
        }
        sum
    }

    /// Derivative of `value` along the motion `q̇ = Y v`, `v̇ = 0`, and in time: for biases and rates.
    fn along_motion(
        &self,
        in_time: bool,
        in_space: bool,
        rows: usize,
        value: &dyn Fn(Point<'_>, &mut [f64]),
    ) -> Vec<Vec<f64>> {
        let speed = self.at.v.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
        let mut sample = vec![0.0; rows];
        LENGTHS
            .iter()
            .map(|length| {
                let h = length / speed;
                let mut sum = vec![0.0; rows];
                for (steps, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
                    let mut shifted = self.at.clone();
                    if in_time {
                        shifted.t += steps * h;
                    }
                    if in_space {
                        let xi: Vec<f64> = self.at.v.iter().map(|v| steps * h * v).collect();
                        self.system.retract(&mut shifted.q, &xi);
                    }
                    sample.fill(0.0);
                    value(shifted.point(), &mut sample);
                    saltus_linear::axpy(weight / (12.0 * h), &sample, &mut sum);
                }
                sum
            })
            .collect()
    }

    /// Compares the vector `given` with the candidate that agrees best. What is small against `floor`
    /// is round-off of the differences.
    fn compare_vector(
        &mut self,
        quantity: &'static str,
        meaning: &'static str,
        given: &[f64],
        candidates: &[Vec<f64>],
        floor: f64,
    ) {
        let mut best: Option<Finding> = None;
        for candidate in candidates
            .iter()
            .filter(|c| c.iter().all(|x| x.is_finite()))
        {
            let size = given
                .iter()
                .chain(candidate)
                .fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
            let size = size.max(floor);
            let mut finding = perfect(quantity, meaning);
            for (i, (g, c)) in given.iter().zip(candidate).enumerate() {
                let error = (g - c).abs() / size;
                if error > finding.error {
                    finding = Finding {
                        row: i,
                        given: *g,
                        expected: *c,
                        error,
                        ..finding
                    };
                }
            }
            if best.as_ref().is_none_or(|b| finding.error < b.error) {
                best = Some(finding);
            }
        }
        if let Some(mut finding) = best {
            finding.passed = finding.error <= TOLERANCE;
            self.audit.record(finding);
        }
    }
}

fn perfect(quantity: &'static str, meaning: &'static str) -> Finding {
    Finding {
        quantity,
        meaning,
        row: 0,
        col: 0,
        given: 0.0,
        expected: 0.0,
        error: 0.0,
        passed: true,
    }
}
