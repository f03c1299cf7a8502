//! Static equilibrium: `f(t, q, 0) + Gᵀ λ + W r = 0` with `g = 0` and `0 ≤ gap ⟂ r ≥ 0`.
//!
//! Newton's method on all unknowns at once; contacts by the primal-dual active set (Alart and Curnier
//! 1991): a contact belongs to the set where `r − k gap > 0` with the stiffness `k` met by its node. Increments of rotations are capped,
//! because a slender beam overshoots in its first step and recovers; the residual is not monotone on
//! the way and no line search is made on it. Where the iteration does not arrive, the load is applied in steps: a path of equilibria
//! under growing parts of what is out of balance at the start.

use saltus_linear::{MatrixSink, RowCollector, Shifted, SquareMatrix, max_abs};
use saltus_system::{ContactSet, Point, Reach, State, System};

/// How equilibrium is sought.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Residual that counts as zero, relative to the largest unbalanced force at the start.
    pub tolerance: f64,
    /// Most Newton iterations under all of the load; ten times as many in steps of it.
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
    /// Newton iterations, over all steps of the load.
    pub iterations: u32,
    /// Steps in which the load was applied: 1 where all of it at once led to equilibrium.
    pub load_steps: u32,
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
         steps of the load led up to {:.3} of it: is there an equilibrium beyond, or must the start be closer?",
        reached
    )]
    NotConverged {
        /// Iterations made with all of the load.
        iterations: u32,
        /// Part of the load up to which equilibria were found.
        reached: f64,
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
    let failure = match newton.solve(system, options, options.iterations, options.tolerance) {
        Ok(iterations) => return Ok(newton.finish(state, iterations, 1)),
        // What meets no resistance at the start, meets none under a part of the load.
        Err(error @ StaticsError::Loose { iteration: 0, .. }) => return Err(error),
        Err(error) => error,
    };
    let mut newton = Newton::new(system, state);
    match newton.apply_in_steps(system, options) {
        Ok((iterations, steps)) => Ok(newton.finish(state, iterations, steps)),
        Err(part) => Err(match failure {
            StaticsError::NotConverged {
                iterations,
                coordinate,
                residual,
                ..
            } => StaticsError::NotConverged {
                iterations,
                reached: part,
                coordinate,
                residual,
            },
            other => other,
        }),
    }
}

/// The first part of the load that is tried, and the smallest by which the part is raised.
const FIRST_PART: f64 = 0.125;
const SMALLEST_PART: f64 = 1e-4;
/// Iterations in a step of the load; fewer than the second allow a longer one.
const STEP_ITERATIONS: u32 = 40;
const EASY: u32 = 12;
/// Iterations of all steps of the load, over those that all of it at once may take.
const ALL_STEPS: u32 = 10;
/// Tolerance of a step that others follow.
const STEP_TOLERANCE: f64 = 1e-6;

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
    /// Unbalanced forces at the start (nv), of which `rest_of_load` is held.
    held: Vec<f64>,
    rest_of_load: f64,
    step: Vec<f64>,
    increment: f64,
}

impl Newton {
    /// Iterates to equilibrium and returns the number of iterations.
    fn solve(
        &mut self,
        system: &dyn System,
        options: &Options,
        most: u32,
        tolerance: f64,
    ) -> Result<u32, StaticsError> {
        let mut previous = f64::INFINITY;
        self.increment = f64::INFINITY;
        for iteration in 0..most {
            self.evaluate(system);
            let settled = self.activate() && self.balanced(tolerance);
            // Once balanced, steps go on as long as they halve: what is left is round-off.
            if settled && (self.increment >= 0.5 * previous || self.increment == 0.0) {
                return Ok(iteration);
            }
            previous = if settled {
                self.increment
            } else {
                f64::INFINITY
            };
            self.step(options).map_err(|source| StaticsError::Loose {
                iteration,
                coordinate: coordinate(system, &source),
                source,
            })?;
            self.retract(system);
        }
        self.evaluate(system);
        let (worst, residual) = self.worst();
        if self.activate() && self.balanced(tolerance) {
            return Ok(most);
        }
        let mut names = system.names().velocities.into_iter();
        Err(StaticsError::NotConverged {
            iterations: most,
            reached: 0.0,
            coordinate: names.nth(worst).unwrap_or_default(),
            residual,
        })
    }

    /// Follows the equilibria under growing parts of the load: of what is out of balance at the start the rest is held. Returns the
    /// numbers of iterations and steps, or the part up to which there were equilibria.
    fn apply_in_steps(
        &mut self,
        system: &dyn System,
        options: &Options,
    ) -> Result<(u32, u32), f64> {
        self.evaluate(system);
        self.held.copy_from_slice(&self.residual[..self.nv]);
        let (mut part, mut more) = (0.0_f64, FIRST_PART);
        let (mut iterations, mut steps) = (0, 0);
        while part < 1.0 {
            let next = (part + more).min(1.0);
            self.rest_of_load = 1.0 - next;
            let before = (
                self.q.clone(),
                self.lambda.clone(),
                self.force.clone(),
                self.active.clone(),
            );
            let last = next >= 1.0;
            let tolerance = if last {
                options.tolerance
            } else {
                STEP_TOLERANCE.max(options.tolerance)
            };
            let left = (ALL_STEPS.saturating_mul(options.iterations)).saturating_sub(iterations);
            let most = STEP_ITERATIONS.min(options.iterations).min(left);
            if most == 0 {
                return Err(part);
            }
            match self.solve(system, options, most, tolerance) {
                Ok(spent) => {
                    iterations += spent;
                    steps += 1;
                    part = next;
                    if spent <= EASY {
                        more *= 2.0;
                    }
                }
                Err(_) => {
                    iterations += most;
                    (self.q, self.lambda, self.force, self.active) = before;
                    more = 0.5 * (next - part);
                    if more < SMALLEST_PART {
                        return Err(part);
                    }
                }
            }
        }
        Ok((iterations, steps))
    }

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
            held: vec![0.0; dims.nv],
            rest_of_load: 0.0,
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
        if self.rest_of_load > 0.0 {
            for (force, held) in self.residual[..nv].iter_mut().zip(&self.held) {
                *force -= self.rest_of_load * held;
            }
        }
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

    /// What round-off of total positions, the largest of which is `length`, leaves of the force at coordinate `i`.
    fn floor(&self, i: usize, length: f64) -> f64 {
        64.0 * f64::EPSILON * self.diagonal[i].abs() * length.max(1e-300)
    }

    fn balanced(&self, tolerance: f64) -> bool {
        let (loads, length) = (tolerance * self.scale(), max_abs(&self.q));
        let balanced = |i: usize| self.residual[i].abs() <= loads + self.floor(i, length);
        let forces = (0..self.nv).all(balanced);
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

    fn finish(self, state: &mut State, iterations: u32, load_steps: u32) -> Equilibrium {
        let residual = self.worst().1;
        state.q = self.q;
        state.v.fill(0.0);
        Equilibrium {
            iterations,
            load_steps,
            residual,
            lambda: self.lambda,
            normal_forces: self.force,
        }
    }
}
