//! The Schatzman–Paoli scheme.
//!
//! ```text
//! M (q_{k+1} − 2 q_k + q_{k−1}) = h² f(t_{k+θ}, q_{k+θ}, v_{k+θ}) + h Gᵀ P + h W(y) R
//! y = (q_{k+1} + e q_{k−1}) / (1 + e) ,   0 ≤ g(y) ⟂ R ≥ 0 ,   g_bilateral(q_{k+1}) = 0
//! v_{k+1} = (q_{k+1} − q_{k−1}) / 2h
//! ```
//!
//! Solved for the mean velocity `w` of the step, `q_{k+1} = q_k ⊕ h w`, with `q_{k−1} = q_k ⊕ (−h w_k)` from the step before:
//! `M (w − w_k) = h f + Gᵀ P + W R`, `y = q_k ⊕ h (w − e w_k)/(1+e)`. A gap that depends on the time is the mean of those at `t_{k+1}` and
//! `t_{k−1}` with the weights of `y`.
//!
//! Order 1. Contact is a law on positions: no penetration for `e = 0`, penetration of about `e h |u|` in an impact for `e > 0`, which
//! the next step removes. Bilateral constraints hold at positions, without drift. The velocity lags half a step behind and means
//! nothing in the two steps that straddle an impact. Without friction: the literature has no law on positions for it. Use it to
//! compare a position-level scheme with the others.
//!
//! References: Paoli, Schatzman (2002); Acary, *Numerical methods for nonsmooth mechanical systems*, eqs. 42, 43.

mod obstacles;

use crate::certificate::{Entry, Guarantees};
use crate::integrator::refuse_laws_of_joints;
use crate::integrator::{Integrator, StepError, StepReport};
use crate::kit::{
    Active, Duration, EvaluationPoint, KitScheme, LaggedEvents, LaggedStep, MomentumScale, Row,
    Step, StepProblem, integrator, refuse_friction,
};
use crate::round_off;
use crate::scheme::{OptionsError, check_tolerance};
use obstacles::average_obstacles;
use saltus_linear::{SquareMatrix, is_zero, max_abs};
use saltus_system::{ContactSet, Point, State, System};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const NAME: &str = "schatzman-paoli";

/// Where the position before the first one comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SchatzmanPaoliStart {
    /// `q_{−1} = q_0 − h v_0 + h² a_0 / 2`.
    #[default]
    SecondOrder,
    /// `q_{−1} = q_0 − h v_0`.
    FirstOrder,
}

/// Parameters of the Schatzman–Paoli scheme.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SchatzmanPaoliOptions {
    /// Weight of the end of the step in the forces, in [0, 1].
    #[schemars(range(min = 0.0, max = 1.0))]
    pub theta: f64,
    /// Where the position before the first one comes from.
    pub start: SchatzmanPaoliStart,
    /// Tolerance of Newton's method, relative to the momentum scale of the motion, in (0, 0.05].
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 5e-2))]
    pub tolerance: f64,
    /// Most corrections in a step, ≥ 1.
    #[schemars(range(min = 1))]
    pub max_iterations: u32,
}

impl Default for SchatzmanPaoliOptions {
    fn default() -> Self {
        Self {
            theta: 0.5,
            start: SchatzmanPaoliStart::default(),
            tolerance: 1e-10,
            max_iterations: 50,
        }
    }
}

impl SchatzmanPaoliOptions {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one out of range.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if !(0.0..=1.0).contains(&self.theta) {
            return Err(OptionsError::new("theta", self.theta, "a number in [0, 1]"));
        }
        if self.max_iterations == 0 {
            return Err(OptionsError::new("max_iterations", 0, "a whole number ≥ 1"));
        }
        check_tolerance(self.tolerance)
    }
}

/// The scheme with its buffers.
#[derive(Debug)]
struct SchatzmanPaoli {
    step: Step,
    events: LaggedEvents,
    problem: StepProblem,
    active: Active,
    scale: MomentumScale,
    /// Largest velocity so far: the laws hold to a share of it [m/s].
    speed: f64,
    /// Mean velocity of the last step, and its length \[s\].
    w_k: Vec<f64>,
    h_k: f64,
    w: Vec<f64>,        // mean velocity of the step (nv)
    w_free: Vec<f64>,   // the same without impulses (nv)
    residual: Vec<f64>, // M (w − w_k) − h f, without and with impulses (nv)
    work: Vec<f64>,     // (nv)
    floor: Vec<f64>,    // round-off of h f (nv)
    /// Residual of the balance of momentum [N·s].
    left: f64,
    /// The θ-point, where the forces are.
    theta_point: EvaluationPoint,
    /// Bilateral rows at `q_{k+1}`, contacts at their `y`.
    law: EvaluationPoint,
    /// Contacts at the `y` of one coefficient of restitution.
    part: ContactSet,
    /// The same with obstacles where they are at the end of the step and at the start of the last one.
    moved: ContactSet,
    /// Mean rates of the rows of the set over the step before and over this one (rows).
    rates: (Vec<f64>, Vec<f64>),
    y: Vec<f64>,   // (nq)
    gap: Vec<f64>, // g of the bilateral constraints at q_{k+1} (ng)
    stiffness: SquareMatrix,
    damping: SquareMatrix,
    iteration: SquareMatrix,
    /// Step length that the factored iteration matrix of a time-invariant system belongs to.
    factored_for: f64,
}

/// The integrator with the given parameters.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(options: &SchatzmanPaoliOptions) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    Ok(integrator::<SchatzmanPaoli>(options))
}

impl KitScheme for SchatzmanPaoli {
    const NAME: &'static str = NAME;
    type Options = SchatzmanPaoliOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance)
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let mut step = Step::new(NAME, system, state, None, h)?;
        refuse_friction(NAME, system, &step)?;
        refuse_laws_of_joints(system, NAME)?;
        let report = step.initial_report(system, h);
        let mut events = LaggedEvents::default();
        events.begin(&step.start.contacts, state);
        let nv = step.dims.nv;
        let zeros = || vec![0.0; nv];
        let matrix = || SquareMatrix::new(nv);
        let mut scheme = Self {
            events,
            problem: StepProblem::default(),
            active: Vec::with_capacity(step.start.contacts.len()),
            scale: MomentumScale::new(&step.start.mass),
            speed: 0.0,
            w_k: zeros(),
            h_k: h,
            w: zeros(),
            w_free: zeros(),
            residual: zeros(),
            work: zeros(),
            floor: zeros(),
            left: 0.0,
            theta_point: EvaluationPoint::new(system),
            law: EvaluationPoint::new(system),
            part: ContactSet::default(),
            moved: ContactSet::default(),
            rates: Default::default(),
            y: vec![0.0; step.dims.nq],
            gap: vec![0.0; step.dims.ng],
            stiffness: matrix(),
            damping: matrix(),
            iteration: matrix(),
            factored_for: f64::NAN,
            step,
        };
        scheme.restart(options.start, h);
        Ok((scheme, report))
    }

    fn take_step(
        &mut self,
        options: &Self::Options,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let start = &self.step.start;
        let goes_on = start.t == state.t && start.q == state.q && start.v == state.v;
        self.step.begin(system, state, h)?;
        if !goes_on {
            self.restart(options.start, h);
        }
        self.advance(system, state, options, h, end)
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn velocity_lags() -> bool {
        true
    }

    fn save(&self, memory: &mut Vec<f64>) {
        self.events.save(memory);
        memory.extend([self.scale.get(), self.speed, self.h_k]);
        memory.extend_from_slice(&self.w_k);
    }

    fn load(&mut self, memory: &[f64]) {
        let memory = self.events.load(memory);
        if let [scale, speed, h_k, w_k @ ..] = memory
            && w_k.len() == self.w_k.len()
        {
            self.scale.set(*scale);
            self.speed = *speed;
            self.h_k = *h_k;
            self.w_k.copy_from_slice(w_k);
        }
    }
}

impl SchatzmanPaoli {
    /// Mean velocity of the step before the first, from the state at the start of the step.
    fn restart(&mut self, start: SchatzmanPaoliStart, h: f64) {
        let at = &self.step.start;
        self.h_k = h;
        self.w_k.copy_from_slice(&at.v);
        if start == SchatzmanPaoliStart::SecondOrder {
            self.work.copy_from_slice(&at.force);
            at.mass.solve_scaled(-0.5 * h, &mut self.work);
            saltus_linear::axpy(1.0, &self.work, &mut self.w_k);
        }
    }

    fn advance(
        &mut self,
        system: &dyn System,
        state: &mut State,
        options: &SchatzmanPaoliOptions,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.problem.begin_step();
        self.active.clear();
        self.w.copy_from_slice(&self.w_k);
        self.step.start.mass.apply(&self.w_k, &mut self.work);
        self.scale.include(&self.work, &self.step.start.force, h);
        self.step.start.include_rates(&mut self.scale, h);
        self.speed = self.speed.max(max_abs(&self.w_k));
        let mut iterations = 0;
        loop {
            self.momentum(system, options.theta, h)?;
            self.evaluate_laws(system, h, end);
            if iterations > 0 && self.is_solved(options.tolerance, h) {
                break;
            }
            if iterations == options.max_iterations {
                let tolerance = options.tolerance;
                return Err(self
                    .scale
                    .not_converged(system, &self.work, tolerance, iterations));
            }
            self.correct(system, options.theta, h)?;
            iterations += 1;
        }
        self.finish(system, state, iterations, h, end)
    }

    /// `M (w − w_k) − h f` at the present `w`, with the derivatives of `f`.
    fn momentum(&mut self, system: &dyn System, theta: f64, h: f64) -> Result<(), StepError> {
        let (at, start) = (&mut self.theta_point, &self.step.start);
        for (x, w) in self.work.iter_mut().zip(&self.w) {
            *x = theta * h * w;
        }
        at.retract(system, start, &self.work, start.t + theta * h);
        for i in 0..self.w.len() {
            at.v[i] = (1.0 - theta) * self.w_k[i] + theta * self.w[i];
            self.work[i] = self.w[i] - self.w_k[i];
        }
        at.evaluate_force(system)?;
        start.mass.apply(&self.work, &mut self.residual);
        // Two steps of different length meet half-way.
        let time = 0.5 * (h + self.h_k);
        saltus_linear::axpy(-time, &at.force, &mut self.residual);
        Ok(())
    }

    /// Bilateral rows at `q_{k+1}`, contacts at `y`.
    fn evaluate_laws(&mut self, system: &dyn System, h: f64, end: f64) {
        let (law, start) = (&mut self.law, &self.step.start);
        for (x, w) in self.work.iter_mut().zip(&self.w) {
            *x = h * w;
        }
        law.take_contacts(start);
        law.retract(system, start, &self.work, end);
        law.evaluate_rows(system);
        system.g(end, &law.q, &mut self.gap);
        let contacts = &mut law.contacts;
        self.part.clone_from(contacts);
        contacts.clear();
        let (mut evaluated_for, count) = (f64::NAN, self.part.len());
        for i in 0..count {
            let e = self.part.law[i].e_n;
            if e != evaluated_for {
                self.y.copy_from_slice(&start.q);
                for j in 0..self.w.len() {
                    self.work[j] = h * (self.w[j] - e * self.w_k[j]) / (1.0 + e);
                }
                system.retract(&mut self.y, &self.work);
                let t = start.t + h * (1.0 - e) / (1.0 + e);
                system.evaluate_contacts(t, &self.y, &mut self.part);
                if !is_zero(&self.part.rate) {
                    let (part, moved) = (&mut self.part, &mut self.moved);
                    average_obstacles(system, (part, moved), &self.y, e, (start.t - h, end));
                }
                evaluated_for = e;
            }
            let part = &self.part;
            contacts.push(part.id[i], part.law[i], part.gap[i]);
            let next = part.first_row.get(i + 1).copied();
            for row in part.first_row[i]..next.unwrap_or(part.rate.len()) {
                let directions = &part.directions;
                contacts
                    .directions
                    .push(directions.cols(row), directions.values(row));
                contacts.rate.push(part.rate[row]);
            }
        }
    }

    /// Whether momentum, constraints and contacts hold at the present `w`.
    fn is_solved(&mut self, tolerance: f64, h: f64) -> bool {
        self.work.copy_from_slice(&self.residual);
        for (row, p) in self.problem.impulses() {
            let (matrix, i) = self.law.row(row);
            matrix.axpy(i, -p, &mut self.work);
        }
        self.left = max_abs(&self.work);
        let speed = self.speed.max(max_abs(&self.w));
        let bound = (tolerance * speed).max(64.0 * f64::EPSILON * max_abs(&self.law.q) / h);
        let gap = &self.law.contacts.gap;
        let closed = self.problem.impulses().all(|(row, p)| match row {
            Row::Normal(i, _) => p <= 0.0 || gap[i] <= bound * h,
            _ => true,
        });
        closed
            && gap.iter().all(|gap| *gap >= -bound * h)
            && max_abs(&self.gap) <= bound * h
            && self.balances(tolerance, h)
    }

    /// Whether the balance of momentum, in `work`, holds to tolerance, or to the round-off of its forces.
    fn balances(&mut self, tolerance: f64, h: f64) -> bool {
        if self.scale.ratio(&self.work, tolerance).0 <= 1.0 {
            return true;
        }
        let (q, flat) = (&self.theta_point.q, self.step.is_flat);
        round_off::of_force(&self.stiffness, h, q, flat, &mut self.floor);
        for (r, floor) in self.work.iter_mut().zip(&self.floor) {
            *r = round_off::above(*r, *floor);
        }
        self.scale.ratio(&self.work, tolerance).0 <= 1.0
    }

    /// One correction of Newton's method: the linearised step with its contacts.
    fn correct(&mut self, system: &dyn System, theta: f64, h: f64) -> Result<(), StepError> {
        self.factorise(system, theta, h)?;
        self.w_free.copy_from_slice(&self.residual);
        self.iteration.solve_scaled(-1.0, &mut self.w_free);
        saltus_linear::axpy(1.0, &self.w, &mut self.w_free);
        self.work.copy_from_slice(&self.w_free);
        loop {
            self.activate(h);
            let law = &self.law;
            let offset = linearised(law, &self.gap, &self.w, h);
            let stages = (&self.iteration, law, law);
            let reactions = &mut self.step.reactions;
            self.problem.pose_with(
                system,
                reactions,
                stages,
                &self.active,
                Duration::Time(h),
                &self.w_free,
                offset,
            );
            self.problem.solve(system, reactions, law, law.t)?;
            self.work.copy_from_slice(&self.w_free);
            self.problem.respond(&mut self.work);
            let before = self.active.len();
            self.activate(h);
            if self.active.len() == before {
                break;
            }
        }
        std::mem::swap(&mut self.w, &mut self.work);
        Ok(())
    }

    /// Adds the contacts whose linearised gap at the velocity `work` is not positive.
    fn activate(&mut self, h: f64) {
        let set = &self.law.contacts;
        let was = self.active.len();
        for i in 0..set.len() {
            let row = set.first_row[i];
            let moved = set.directions.dot(row, &self.work) - set.directions.dot(row, &self.w);
            let value = (1.0 + set.law[i].e_n) * set.gap[i] / h + moved;
            if value <= 0.0 && self.active[..was].binary_search(&i).is_err() {
                self.active.push(i);
            }
        }
        self.active.sort_unstable();
    }

    /// `J = M + h (θ C + h θ K)`, factored; once for a time-invariant system.
    fn factorise(&mut self, system: &dyn System, theta: f64, h: f64) -> Result<(), StepError> {
        let constant = self.step.is_flat && system.structure().is_time_invariant();
        if constant && self.factored_for == h {
            return Ok(());
        }
        let at = &mut self.theta_point;
        let point = Point {
            t: at.t,
            q: &at.q,
            v: &at.v,
        };
        self.stiffness.clear();
        self.damping.clear();
        self.iteration.clear();
        system.stiffness(point, &mut self.stiffness);
        system.damping(point, &mut self.damping);
        let time = 0.5 * (h + self.h_k);
        self.iteration.add_scaled(1.0, &self.step.start.mass);
        self.iteration.add_scaled(time * theta, &self.damping);
        self.iteration.add_scaled(time * theta * h, &self.stiffness);
        self.iteration
            .factorise()
            .map_err(|source| StepError::Singular {
                source,
                scheme: NAME,
                mass_is_regular: true,
            })?;
        self.factored_for = if time == h { h } else { f64::NAN };
        Ok(())
    }

    /// Takes the solved step over.
    fn finish(
        &mut self,
        system: &dyn System,
        state: &mut State,
        iterations: u32,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        let step = &mut self.step;
        step.reactions.add(&self.problem, 1.0);
        let own = linearised(&self.law, &self.gap, &self.w, h);
        self.problem.set_offset(own);
        step.reactions
            .include_law_residuals(&mut self.problem, &self.law, &self.w);
        step.reactions.include_momentum_residual(self.left);
        for i in 0..self.w.len() {
            step.xi[i] = h * self.w[i];
            step.end.v[i] = 0.5 * (self.w[i] + self.w_k[i]);
        }
        step.end.retract(system, &step.start, &step.xi, end);
        step.end.evaluate(system, NAME)?;
        // Its velocity is that of the time of the impulses.
        step.mean.copy_from_slice(&step.end.v);
        self.mean_rates(system);
        let step = &mut self.step;
        let redundant = self.problem.redundant;
        // The velocity belongs to the start of the step.
        let kinetic = 0.5 * step.start.mass.form(&step.end.v, &step.end.v);
        let at_velocity = kinetic + step.energy.potential;
        let mut report = step.finish_with_mean(system, state, None, iterations, redundant)?;
        report.energy_lag = report.energy.total() - at_velocity;
        // The end of the step is the start of the next one by now.
        let lagged = LaggedStep {
            t: end,
            contacts: &step.start.contacts,
            velocities: (&self.w_k, &self.w),
            rates: (&self.rates.0, &self.rates.1),
            impulse: &step.reactions.normal,
        };
        self.events.note(&lagged, &mut step.events);
        std::mem::swap(&mut self.w, &mut self.w_k);
        self.h_k = h;
        Ok(report)
    }
}

/// What each row has beside `A w`: its law at `w`, linearised there. `gap` are the bilateral constraints at the end of the step.
fn linearised<'a>(
    law: &'a EvaluationPoint,
    gap: &'a [f64],
    w: &'a [f64],
    h: f64,
) -> impl Fn(Row) -> f64 + 'a {
    move |row| {
        let (matrix, i) = law.row(row);
        let value = match row {
            Row::Bilateral(i) => gap[i] / h,
            Row::Normal(i, _) => (1.0 + law.contacts.law[i].e_n) * law.contacts.gap[i] / h,
            Row::Tangent(..) | Row::JointFriction(_) => 0.0,
        };
        value - matrix.dot(i, w)
    }
}
