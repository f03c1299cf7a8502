//! Consistent initial states.
//!
//! A state is consistent when `g(t, q) = 0`, `G v + ∂g/∂t = 0` and no gap is negative. [`examine`]
//! measures how far a state is from that; [`project`] moves it to the nearest consistent one in the
//! metric of the mass matrix, by the sequential quadratic programme
//!
//! ```text
//! min ½ ‖ξ‖²_M   such that   g = 0 ,  gap ≥ 0   at   q ⊕ ξ
//! ```
//!
//! whose steps are linearised at the last iterate but always measured from the given state, so that the
//! limit satisfies the optimality conditions.

use crate::one_step::OneStep;
use saltus_linear::{RowCollector, RowScaled, SparseRows, SquareMatrix, max_abs};
use saltus_system::{ConstraintKind, ContactSet, Reach, State, System};

/// How far a state is from being consistent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Consistency {
    /// `g` of every bilateral constraint (ng) \[m\].
    pub position: Vec<f64>,
    /// `G v + ∂g/∂t` of every bilateral constraint (ng) [m/s].
    pub velocity: Vec<f64>,
    /// Gap of every contact of fixed identity, and of every other that is near \[m\].
    pub gap: Vec<f64>,
}

/// Measures how far `state` is from being consistent.
#[must_use]
pub fn examine(system: &dyn System, state: &State) -> Consistency {
    let ng = system.dims().ng;
    let mut found = Consistency {
        position: vec![0.0; ng],
        velocity: vec![0.0; ng],
        gap: Vec::new(),
    };
    system.g(state.t, &state.q, &mut found.position);
    if ng > 0 {
        let mut rows = RowCollector::default();
        system.g_jacobian(state.t, &state.q, &mut rows);
        system.g_rate(state.t, &state.q, &mut found.velocity);
        let rows = rows.finish(ng);
        for (i, u) in found.velocity.iter_mut().enumerate() {
            *u += rows.dot(i, &state.v);
        }
    }
    let mut set = ContactSet::default();
    system.detect(state.t, &state.q, Reach::All, &mut set);
    found.gap = set.gap;
    found
}

/// What [`project`] changed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Projection {
    /// Linearisations used for the positions.
    pub iterations: u32,
    /// Largest change of a position.
    pub moved: f64,
    /// Largest change of a velocity.
    pub velocity_change: f64,
}

/// Why a state could not be made consistent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// The iteration did not arrive.
    #[error(
        "no consistent state found near the given one: after {iterations} linearisations the largest violation is {residual:.3e} m"
    )]
    NotConverged {
        /// Linearisations used.
        iterations: u32,
        /// Remaining violation \[m\].
        residual: f64,
    },
    /// The linearised constraints contradict each other.
    #[error("the constraints contradict each other near the given state")]
    Contradiction,
    /// The mass matrix is singular on directions that no constraint holds.
    #[error("the mass matrix is singular, so that `nearest` has no meaning: {0}")]
    SingularMass(saltus_linear::LinearError),
}

/// Most linearisations.
const LIMIT: u32 = 50;

/// A displacement that changes by less than this fraction of itself is settled.
const SETTLED: f64 = 1e-11;

/// Moves `state` to the nearest consistent one: bilateral constraints at position and velocity level,
/// and gaps `≥ 0` where `contacts` is set. Violations below `tolerance` \[m\] count as none.
///
/// # Errors
/// [`ProjectionError`]; `state` is then unchanged.
pub fn project(
    system: &dyn System,
    state: &mut State,
    contacts: bool,
    tolerance: f64,
) -> Result<Projection, ProjectionError> {
    let mut work = Work::new(system, state, contacts)?;
    let mut done = state.clone();
    let iterations = work.positions(system, state, &mut done, tolerance)?;
    work.velocities(system, &mut done)?;
    let change = |a: &[f64], b: &[f64]| {
        a.iter()
            .zip(b)
            .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()))
    };
    let report = Projection {
        iterations,
        moved: change(&done.q, &state.q),
        velocity_change: change(&done.v, &state.v),
    };
    *state = done;
    Ok(report)
}

struct Work {
    mass: SquareMatrix,
    rows: RowCollector,
    set: ContactSet,
    contacts: bool,
    one_step: OneStep,
    ng: usize,
    nv: usize,
}

impl Work {
    fn new(system: &dyn System, state: &State, contacts: bool) -> Result<Self, ProjectionError> {
        let dims = system.dims();
        let mut mass = SquareMatrix::new(dims.nv);
        system.mass(&state.q, &mut mass);
        let mut rows = RowCollector::default();
        system.g_jacobian(state.t, &state.q, &mut rows);
        let rows_here = rows.finish(dims.ng);
        if let Err(error) = mass.factorise() {
            // Massless directions that constraints hold: any metric there gives the same projection.
            for i in 0..dims.ng {
                for (&j, v) in rows_here.cols(i).iter().zip(rows_here.values(i)) {
                    rows_here.send(i, j, *v, &mut mass);
                }
            }
            mass.factorise()
                .map_err(|_| ProjectionError::SingularMass(error))?;
        }
        let mut set = ContactSet::default();
        system.detect(state.t, &state.q, Reach::All, &mut set);
        Ok(Self {
            mass,
            rows,
            set,
            contacts,
            one_step: OneStep::default(),
            ng: dims.ng,
            nv: dims.nv,
        })
    }

    /// Collects `G` at `(t, q)`, its rows multiplied by `factors`.
    fn gradients(&mut self, system: &dyn System, t: f64, q: &[f64], factors: &[f64]) {
        self.rows.clear();
        let mut sink = RowScaled {
            sink: &mut self.rows,
            factors,
        };
        system.g_jacobian(t, q, &mut sink);
        self.rows.finish(self.ng);
    }

    fn positions(
        &mut self,
        system: &dyn System,
        given: &State,
        done: &mut State,
        tolerance: f64,
    ) -> Result<u32, ProjectionError> {
        let (ng, nv) = (self.ng, self.nv);
        let m = ng + if self.contacts { self.set.len() } else { 0 };
        let mut xi = vec![0.0; nv];
        let mut previous = vec![0.0; nv];
        let mut z = vec![0.0; m];
        let mut g = vec![0.0; ng];
        let mut residual = f64::INFINITY;
        let mut change = 0.0;
        let kept = |i: usize| {
            f64::from(u8::from(
                system.constraint_kind(i) == ConstraintKind::Position,
            ))
        };
        let kept: Vec<f64> = (0..ng).map(kept).collect();
        for iteration in 0..=LIMIT {
            system.g(given.t, &done.q, &mut g);
            system.evaluate_contacts(given.t, &done.q, &mut self.set);
            let violation = self.violation(&g, &z);
            // Feasibility comes before optimality: go on until the displacement is settled too.
            if violation <= tolerance && change <= SETTLED * max_abs(&xi) {
                return Ok(iteration);
            }
            if iteration == LIMIT {
                break;
            }
            residual = violation;
            self.gradients(system, given.t, &done.q, &kept);
            let (rows, set) = (self.rows.rows(), &self.set);
            let row = |i: usize| -> (&SparseRows, usize) {
                if i < ng {
                    (rows, i)
                } else {
                    (&set.directions, set.first_row[i - ng])
                }
            };
            self.one_step.condense(m, nv, &self.mass, &row, &row);
            for i in 0..m {
                let value = if i < ng { g[i] } else { set.gap[i - ng] };
                let (matrix, r) = row(i);
                self.one_step.q_mut()[i] = value - matrix.dot(r, &xi);
            }
            if !self.one_step.solve(ng, &mut z).is_solved() {
                return Err(ProjectionError::Contradiction);
            }
            previous.copy_from_slice(&xi);
            xi.fill(0.0);
            self.one_step.add_response(0..m, &z, &mut xi);
            change = xi
                .iter()
                .zip(&previous)
                .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
            done.q.copy_from_slice(&given.q);
            system.retract(&mut done.q, &xi);
        }
        Err(ProjectionError::NotConverged {
            iterations: LIMIT,
            residual,
        })
    }

    /// Largest `|g|` and `−gap`; contacts that were moved onto their obstacle must touch it.
    fn violation(&self, g: &[f64], z: &[f64]) -> f64 {
        let mut worst = max_abs(g);
        if self.contacts {
            for (i, gap) in self.set.gap.iter().enumerate() {
                worst = worst.max(if z[self.ng + i] > 0.0 {
                    gap.abs()
                } else {
                    -gap
                });
            }
        }
        worst
    }

    fn velocities(&mut self, system: &dyn System, done: &mut State) -> Result<(), ProjectionError> {
        if self.ng == 0 {
            return Ok(());
        }
        let mut rate = vec![0.0; self.ng];
        self.gradients(system, done.t, &done.q, &vec![1.0; self.ng]);
        system.g_rate(done.t, &done.q, &mut rate);
        let rows = self.rows.rows();
        let row = |i: usize| (rows, i);
        self.one_step
            .condense(self.ng, self.nv, &self.mass, &row, &row);
        for (i, q) in self.one_step.q_mut().iter_mut().enumerate() {
            *q = rows.dot(i, &done.v) + rate[i];
        }
        let mut z = vec![0.0; self.ng];
        if !self.one_step.solve(self.ng, &mut z).is_solved() {
            return Err(ProjectionError::Contradiction);
        }
        self.one_step.add_response(0..self.ng, &z, &mut done.v);
        Ok(())
    }
}
