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

use crate::kit::{
    EvaluationPoint, Gap, MomentumScale, Projection as Positions, Row, Unprojected, augment_matrix,
};
use crate::one_step::OneStep;
use saltus_linear::{RowCollector, SquareMatrix};
use saltus_system::{ContactSet, Reach, State, System};

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
    let mut point = EvaluationPoint::new(system);
    point.t = state.t;
    point.q.copy_from_slice(&state.q);
    system.detect(state.t, &state.q, Reach::All, &mut point.contacts);
    point.evaluate_rows(system);
    let mass = metric(system, &point)?;
    let law = |_| if contacts { Gap::Apart } else { Gap::Free };
    let iterations = Positions::new(system)
        .project(
            system,
            &mass,
            &state.q,
            &mut point,
            law,
            (tolerance, tolerance),
        )
        .map_err(|why| match why {
            Unprojected::Contradiction => ProjectionError::Contradiction,
            Unprojected::NotConverged(iterations, residual) => ProjectionError::NotConverged {
                iterations,
                residual,
            },
        })?;
    let mut done = State::new(state.t, point.q.clone(), state.v.clone());
    velocities(system, &mass, &point, &mut done.v)?;
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

/// The factored mass matrix at `point`.
fn metric(system: &dyn System, point: &EvaluationPoint) -> Result<SquareMatrix, ProjectionError> {
    let dims = system.dims();
    let mut mass = SquareMatrix::new(dims.nv);
    system.mass(&point.q, &mut mass);
    if let Err(error) = mass.factorise() {
        // Massless directions that constraints hold: any metric there gives the same projection.
        let weights = MomentumScale::new(&mass).weights;
        let (rows, _) = point.row(Row::Bilateral(0));
        augment_matrix(&mut mass, rows, dims.ng, &weights);
        mass.factorise()
            .map_err(|_| ProjectionError::SingularMass(error))?;
    }
    Ok(mass)
}

/// Moves velocities to the nearest that bilateral constraints allow at `point`.
fn velocities(
    system: &dyn System,
    mass: &SquareMatrix,
    point: &EvaluationPoint,
    v: &mut [f64],
) -> Result<(), ProjectionError> {
    let ng = system.dims().ng;
    if ng == 0 {
        return Ok(());
    }
    let mut one_step = OneStep::default();
    let row = |i: usize| point.row(Row::Bilateral(i));
    one_step.condense(ng, v.len(), mass, &row, &row);
    for (i, q) in one_step.q_mut().iter_mut().enumerate() {
        *q = point.velocity(Row::Bilateral(i), v);
    }
    let mut z = vec![0.0; ng];
    if !one_step.solve(ng, &mut z).is_solved() {
        return Err(ProjectionError::Contradiction);
    }
    one_step.add_response(0..ng, &z, v);
    Ok(())
}
