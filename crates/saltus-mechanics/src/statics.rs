//! Static equilibrium: `f(t, q, 0) + Gᵀ λ + W r = 0` with `g = 0` and `0 ≤ gap ⟂ r ≥ 0`.
//!
//! Newton's method on all unknowns at once; contacts by the primal-dual active set (Alart and Curnier
//! 1991): a contact belongs to the set where `r − k gap > 0` with the stiffness `k` met by its node. Increments of rotations are capped,
//! because a slender beam overshoots in its first step and recovers; the residual is not monotone on
//! the way and no line search is made on it.

use saltus_linear::{MatrixSink, RowCollector, Shifted, SquareMatrix, max_abs};
use saltus_system::{ContactSet, Point, Reach, State, System};

/// How equilibrium is sought.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Residual that counts as zero, relative to the largest unbalanced force at the start.
    pub tolerance: f64,
    /// Most Newton iterations.
    pub iterations: u32,
    /// Velocity coordinates that are rotations.
    pub rotations: Vec<usize>,
    /// Largest increment of a rotation in one iteration \[rad\].
    pub largest_rotation: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: 1e-10,
            iterations: 200,
            rotations: Vec::new(),
            largest_rotation: 1.0,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Equilibrium {
    /// Newton iterations.
    pub iterations: u32,
    /// Largest unbalanced force, relative to that at the start or to the largest reaction.
    pub residual: f64,
    /// Multipliers of the bilateral constraints (ng) \[N\].
    pub lambda: Vec<f64>,
    /// Normal forces of the contacts \[N\], in the order of the contact set.
    pub normal_forces: Vec<f64>,
}

/// Why no equilibrium was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StaticsError {
    /// Something can move without resistance.
    #[error(
        "no equilibrium: in iteration {iteration} a motion of {coordinate} meets no resistance ({source}); hold the body, or add a spring"
    )]
    Loose {
        /// Iteration.
        iteration: u32,
        /// The coordinate that moves, or the constraint that says nothing new.
        coordinate: String,
        /// What the factorisation said.
        source: saltus_linear::LinearError,
    },
    /// The iteration did not arrive.
    #[error(
        "no equilibrium after {iterations} iterations: the force on {coordinate} is out of balance by {residual:.3e} of the largest force; \
         apply the load in steps, or start closer"
    )]
    NotConverged {
        /// Iterations made.
        iterations: u32,
        /// Worst coordinate.
        coordinate: String,
        /// Its residual, relative.
        residual: f64,
    },
}

/// Moves `state` to a static equilibrium near it, at its time and with zero velocity.
///
/// # Errors
/// [`StaticsError`]; the positions of `state` are then unchanged.
pub fn equilibrium(
    system: &dyn System,
    state: &mut State,
    options: &Options,
) -> Result<Equilibrium, StaticsError> {
    let mut newton = Newton::new(system, state);
    let mut previous = f64::INFINITY;
    for iteration in 0..options.iterations {
        newton.evaluate(system);
        let settled = newton.activate() && newton.balanced(options.tolerance);
        // Once balanced, steps go on as long as they halve: what is left is round-off.
        if settled && (newton.increment >= 0.5 * previous || newton.increment == 0.0) {
            return Ok(newton.finish(state, iteration));
        }
        previous = if settled {
            newton.increment
        } else {
            f64::INFINITY
        };
        newton.step(options).map_err(|source| StaticsError::Loose {
            iteration,
            coordinate: coordinate(system, &source),
            source,
        })?;
        newton.retract(system);
    }
    newton.evaluate(system);
    let (worst, residual) = newton.worst();
    if newton.activate() && newton.balanced(options.tolerance) {
        return Ok(newton.finish(state, options.iterations));
    }
    Err(StaticsError::NotConverged {
        iterations: options.iterations,
        coordinate: system
            .names()
            .velocities
            .get(worst)
            .cloned()
            .unwrap_or_default(),
        residual,
    })
}

/// The name of what a singular matrix is about.
fn coordinate(system: &dyn System, error: &saltus_linear::LinearError) -> String {
    let saltus_linear::LinearError::Singular { pivot, .. } = *error else {
        return "the model".to_owned();
    };
    let names = system.names();
    let coordinates = names.velocities.into_iter().chain(names.bilateral);
    let found = coordinates.chain(names.contacts).nth(pivot);
    found.unwrap_or_else(|| "the model".to_owned())
}

struct Newton {
    nv: usize,
    ng: usize,
    t: f64,
    q: Vec<f64>,
    rest: Vec<f64>,
    lambda: Vec<f64>,
    /// Normal force of each contact.
    force: Vec<f64>,
    active: Vec<bool>,
    set: ContactSet,
    matrix: SquareMatrix,
    stiffness: RowCollector,
    jacobian: RowCollector,
    diagonal: Vec<f64>,
    /// Unbalanced forces (nv), then `g` (ng), then gaps or forces of the contacts.
    residual: Vec<f64>,
    /// Largest unbalanced force at the start.
    loads: Option<f64>,
    step: Vec<f64>,
    increment: f64,
}

impl Newton {
    fn new(system: &dyn System, state: &State) -> Self {
        let dims = system.dims();
        let mut set = ContactSet::default();
        system.detect(state.t, &state.q, Reach::All, &mut set);
        let size = dims.nv + dims.ng + set.len();
        Self {
            nv: dims.nv,
            ng: dims.ng,
            t: state.t,
            q: state.q.clone(),
            rest: vec![0.0; dims.nv],
            lambda: vec![0.0; dims.ng],
            force: vec![0.0; set.len()],
            active: set.gap.iter().map(|gap| *gap <= 0.0).collect(),
            set,
            matrix: SquareMatrix::new(size),
            stiffness: RowCollector::default(),
            jacobian: RowCollector::default(),
            diagonal: vec![0.0; dims.nv],
            residual: vec![0.0; size],
            loads: None,
            step: vec![0.0; size],
            increment: f64::INFINITY,
        }
    }

    /// Residuals and derivatives at the present positions.
    fn evaluate(&mut self, system: &dyn System) {
        let at = Point {
            t: self.t,
            q: &self.q,
            v: &self.rest,
        };
        let (nv, ng) = (self.nv, self.ng);
        system.force(at, &mut self.residual[..nv]);
        self.loads.get_or_insert(max_abs(&self.residual[..nv]));
        system.g(self.t, &self.q, &mut self.residual[nv..nv + ng]);
        system.evaluate_contacts(self.t, &self.q, &mut self.set);

        self.stiffness.clear();
        system.stiffness(at, &mut self.stiffness);
        let mut opposing = Shifted {
            sink: &mut self.stiffness,
            factor: -1.0,
            row: 0,
            col: 0,
        };
        system.g_curvature(self.t, &self.q, &self.lambda, &mut opposing);
        let mut r = vec![0.0; self.set.directions.len()];
        for (force, &row) in self.force.iter().zip(&self.set.first_row) {
            r[row] = *force;
        }
        system.contact_curvature(self.t, &self.q, &self.set, &r, &mut opposing);
        self.jacobian.clear();
        system.g_jacobian(self.t, &self.q, &mut self.jacobian);

        self.diagonal.fill(0.0);
        let stiffness = self.stiffness.finish(nv);
        for i in 0..nv {
            for (&j, k) in stiffness.cols(i).iter().zip(stiffness.values(i)) {
                if i == j {
                    self.diagonal[i] += k;
                }
            }
        }
        let jacobian = self.jacobian.finish(ng);
        for (row, lambda) in self.lambda.iter().enumerate() {
            for (&j, g) in jacobian.cols(row).iter().zip(jacobian.values(row)) {
                self.residual[j] += g * lambda;
            }
        }
        for (force, &row) in self.force.iter().zip(&self.set.first_row) {
            let directions = &self.set.directions;
            for (&j, w) in directions.cols(row).iter().zip(directions.values(row)) {
                self.residual[j] += w * force;
            }
        }
    }

    /// Chooses the active contacts; whether the choice is the one of before.
    fn activate(&mut self) -> bool {
        let mut same = true;
        // A gap of round-off is none: what rests on an obstacle from the start is held by it.
        let closed = 1e-12 * max_abs(&self.q);
        for i in 0..self.set.len() {
            let row = self.set.first_row[i];
            let directions = &self.set.directions;
            let stiffness = directions
                .cols(row)
                .iter()
                .zip(directions.values(row))
                .map(|(&j, w)| w * w * self.diagonal[j].abs())
                .sum::<f64>();
            let active = self.force[i] - stiffness * (self.set.gap[i] - closed) > 0.0;
            same &= active == self.active[i];
            self.active[i] = active;
            let at = self.nv + self.ng + i;
            self.residual[at] = if active {
                self.set.gap[i]
            } else {
                self.force[i]
            };
        }
        same
    }

    /// What unbalanced forces are measured by.
    fn scale(&self) -> f64 {
        self.loads
            .unwrap_or(0.0)
            .max(max_abs(&self.lambda))
            .max(max_abs(&self.force))
    }

    /// What round-off of total positions leaves of the force at coordinate `i`.
    fn floor(&self, i: usize) -> f64 {
        64.0 * f64::EPSILON * self.diagonal[i].abs() * max_abs(&self.q).max(1e-300)
    }

    fn balanced(&self, tolerance: f64) -> bool {
        let loads = tolerance * self.scale();
        let forces = (0..self.nv).all(|i| self.residual[i].abs() <= loads + self.floor(i));
        let length = max_abs(&self.q);
        forces && max_abs(&self.residual[self.nv..self.nv + self.ng]) <= tolerance * length
    }

    fn worst(&self) -> (usize, f64) {
        let scale = self.scale().max(f64::MIN_POSITIVE);
        (0..self.nv)
            .map(|i| (i, self.residual[i].abs() / scale))
            .fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a })
    }

    /// One Newton step with capped rotations.
    fn step(&mut self, options: &Options) -> Result<(), saltus_linear::LinearError> {
        let (nv, ng) = (self.nv, self.ng);
        self.matrix.clear();
        let stiffness = self.stiffness.rows();
        for i in 0..nv {
            for (&j, k) in stiffness.cols(i).iter().zip(stiffness.values(i)) {
                self.matrix.entry(i, j, *k);
            }
        }
        let jacobian = self.jacobian.rows();
        for row in 0..ng {
            for (&j, g) in jacobian.cols(row).iter().zip(jacobian.values(row)) {
                self.matrix.entry(j, nv + row, -g);
                self.matrix.entry(nv + row, j, *g);
            }
        }
        for i in 0..self.set.len() {
            let (row, at) = (self.set.first_row[i], nv + ng + i);
            let directions = &self.set.directions;
            for (&j, w) in directions.cols(row).iter().zip(directions.values(row)) {
                // Also where a contact opens: the force it gives up is missed in the balance.
                self.matrix.entry(j, at, -w);
                if self.active[i] {
                    self.matrix.entry(at, j, *w);
                }
            }
            if !self.active[i] {
                self.matrix.entry(at, at, 1.0);
            }
        }
        self.matrix.factorise()?;
        self.step.copy_from_slice(&self.residual);
        for x in &mut self.step[nv..] {
            *x = -*x;
        }
        self.matrix.solve(&mut self.step);
        let turn = options
            .rotations
            .iter()
            .fold(0.0_f64, |m, &i| m.max(self.step[i].abs()));
        if turn > options.largest_rotation {
            let factor = options.largest_rotation / turn;
            for x in &mut self.step[..nv] {
                *x *= factor;
            }
        }
        Ok(())
    }

    fn retract(&mut self, system: &dyn System) {
        let (nv, ng) = (self.nv, self.ng);
        self.increment = max_abs(&self.step[..nv]);
        system.retract(&mut self.q, &self.step[..nv]);
        for (lambda, d) in self.lambda.iter_mut().zip(&self.step[nv..]) {
            *lambda += d;
        }
        for (i, (force, d)) in self.force.iter_mut().zip(&self.step[nv + ng..]).enumerate() {
            *force = if self.active[i] { *force + d } else { 0.0 };
        }
    }

    fn finish(self, state: &mut State, iterations: u32) -> Equilibrium {
        let residual = self.worst().1;
        state.q = self.q;
        state.v.fill(0.0);
        Equilibrium {
            iterations,
            residual,
            lambda: self.lambda,
            normal_forces: self.force,
        }
    }
}
