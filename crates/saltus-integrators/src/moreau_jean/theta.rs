//! The implicit θ-scheme on any system: Newton's method on `v_{k+1}`, the contact problem of each correction with the exact tangent.

use super::forecast::ActiveContacts;
use super::options::{Bilateral, Evaluation, Forecast, MoreauJeanOptions, Variant};
use super::{NAME, singular};
use crate::certificate::{Entry, Guarantees};
use crate::integrator::{StepError, StepReport};
use crate::kit::{
    EvaluationPoint, KitScheme, LawResiduals, MomentumScale, Row, Step, StepProblem, ThetaDynamics,
    ThetaRule, TurnedRows, augment_force, augment_matrix,
};
use crate::one_step::OneStep;
use saltus_linear::{LinearError, SparseRows, SquareMatrix, max_abs};
use saltus_system::{ContactSet, Reach, State, Structure, System};

/// The scheme with its buffers.
#[derive(Debug)]
pub(super) struct ThetaScheme {
    pub(super) step: Step,
    pub(super) problem: StepProblem,
    pub(super) dynamics: ThetaDynamics,
    pub(super) structure: Structure,
    pub(super) scale: MomentumScale,
    /// The contribution of forces to that size in a step, `max h |f|ᵢ / √Mᵢᵢ` \[√J\].
    pub(super) impulse_scale: f64,
    pub(super) active: ActiveContacts,
    /// Where the laws of the step are: constraints at its end or middle, joints and contacts where the dynamics is evaluated.
    pub(super) law: EvaluationPoint,
    pub(super) turned: TurnedRows,
    /// Whether bilateral constraints hold on the mean velocity of the step, and whether they may in the next one.
    pub(super) on_mean: bool,
    may_be_on_mean: bool,
    /// Whether corrections keep the directions of contacts as they are at the last iterate.
    pub(super) keeps_directions: bool,
    /// Whether the contact problem of the step was posed.
    pub(super) is_posed: bool,
    /// Residual of the laws of a step that needed no problem [m/s].
    pub(super) prediction_residual: f64,
    pub(super) v: Vec<f64>,          // v_{k+1} (nv)
    pub(super) delta: Vec<f64>,      // its correction (nv)
    pub(super) balance: Vec<f64>,    // M x − h f − Gᵀ P − W R (nv)
    pub(super) constraint: Vec<f64>, // rate of each bilateral constraint at v, where J is singular (ng)
    pub(super) work: Vec<f64>,       // (nv)
    pub(super) q_end: Vec<f64>,      // q_{k+1} (nq)
    pub(super) q_middle: Vec<f64>,   // half-way through the step (nq)
    /// Increment of v over the last step without the impulses of contacts (nv), which predicts the next one, and the one before.
    increment: Vec<f64>,
    earlier_increment: Vec<f64>,
    /// Impulses of the bilateral constraints of the last step (ng): they predict the next ones.
    guess: Vec<f64>,
    /// Length of the step that these belong to \[s\].
    length: f64,
    /// Multipliers that are not unique in the last problem.
    pub(super) redundant: u32,
}

impl KitScheme for ThetaScheme {
    const NAME: &'static str = NAME;
    type Options = MoreauJeanOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        let g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::QuaternionNorm, tolerance);
        match options.bilateral {
            Bilateral::End => g.with(Entry::BilateralVelocity, tolerance),
            Bilateral::Mean => g,
        }
    }

    fn guarantees_here(&self, options: &Self::Options, general: Guarantees) -> Guarantees {
        if self.dynamics.is_linear {
            general.with(Entry::EnergyBalance, options.tolerance)
        } else {
            general
        }
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let step = Step::sized(NAME, system)?;
        let (dims, zeros) = (step.dims, |n: usize| vec![0.0; n]);
        let mut scheme = Self {
            problem: StepProblem::default(),
            dynamics: ThetaDynamics::new(system),
            structure: system.structure(),
            scale: MomentumScale::default(),
            impulse_scale: 0.0,
            active: ActiveContacts::default(),
            law: EvaluationPoint::new(system),
            turned: TurnedRows::default(),
            on_mean: false,
            may_be_on_mean: false,
            keeps_directions: false,
            is_posed: false,
            prediction_residual: 0.0,
            v: zeros(dims.nv),
            delta: zeros(dims.nv),
            balance: zeros(dims.nv),
            constraint: zeros(dims.ng),
            work: zeros(dims.nv),
            q_end: zeros(dims.nq),
            q_middle: zeros(dims.nq),
            increment: zeros(dims.nv),
            earlier_increment: zeros(dims.nv),
            guess: zeros(dims.ng),
            length: h,
            redundant: 0,
            step,
        };
        let report = scheme.begin_run(options, system, state, h)?;
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
        let rule = ThetaRule {
            theta: options.theta(),
            phi: options.phi(),
            evaluation: options.evaluation,
            start: state.t,
            h,
            end,
        };
        self.begin(options, system, state, &rule)?;
        self.choose_contacts(options, system, h);
        self.choose_bilateral(options);
        self.predict(&rule);
        let mut iterations = self.newton(options, system, &rule)?;
        if options.forecast == Forecast::Smooth {
            self.q_end.copy_from_slice(&self.step.start.q);
            system.retract(&mut self.q_end, &self.dynamics.xi);
            let (at, epsilon) = ((end, &self.q_end[..]), self.step.epsilon);
            if self.active.choose_closed(system, at, epsilon) {
                iterations += self.newton(options, system, &rule)?;
            }
        }
        self.finish(options, system, state, &rule, iterations)
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn save(&self, memory: &mut Vec<f64>) {
        let on_mean = f64::from(u8::from(self.may_be_on_mean));
        memory.extend([self.scale.get(), self.impulse_scale, on_mean, self.length]);
        memory.extend_from_slice(&self.earlier_increment);
        memory.extend_from_slice(&self.increment);
        memory.extend_from_slice(&self.guess);
        if self.step.reactions.has_friction {
            self.problem.save_guess(memory);
        }
    }

    fn load(&mut self, memory: &[f64]) {
        let [scale, impulse_scale, on_mean, length, rest @ ..] = memory else {
            return;
        };
        self.scale.set(*scale);
        self.impulse_scale = *impulse_scale;
        self.may_be_on_mean = *on_mean != 0.0;
        self.length = *length;
        let mut rest = rest;
        for own in [
            &mut self.earlier_increment,
            &mut self.increment,
            &mut self.guess,
        ] {
            let Some((value, left)) = rest.split_at_checked(own.len()) else {
                return;
            };
            own.copy_from_slice(value);
            rest = left;
        }
        self.problem.load_guess(rest);
    }
}

impl ThetaScheme {
    /// Evaluates the initial state, the first prediction and the scales of the motion.
    fn begin_run(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let step = &mut self.step;
        system.detect(state.t, &state.q, Reach::All, &mut step.start.contacts);
        step.begin_without_forces(system, state, h, &self.increment);
        self.scale = MomentumScale::new(&step.start.mass);
        step.start.evaluate_force(system)?;
        if options.evaluation == Evaluation::WeightedAccelerations {
            step.start.factor_mass(system, NAME)?;
        }
        self.predict_first(system, h)?;
        let start = &self.step.start;
        let set = &start.contacts;
        let closed_gap = crate::kit::closed_gap(
            set,
            self.step.is_flat.then_some(&state.q),
            h,
            |i| h * set.normal_velocity(i, &state.v).abs(),
            |j| self.increment[j],
        );
        self.step.epsilon = options.activation_tolerance.unwrap_or(closed_gap);
        self.step.watch_contacts(state);
        let start = &self.step.start;
        self.active.list.reserve(start.contacts.len());

        start.mass.apply(&start.v, &mut self.work);
        start.mass.apply(&self.increment, &mut self.balance);
        for (sum, p) in self.balance.iter_mut().zip(&self.work) {
            *sum = sum.abs() + p.abs();
        }
        self.scale.include(&self.balance, &start.force, h);
        self.impulse_scale = h * self.scale.largest(&start.force);
        self.may_be_on_mean = (0..self.step.dims.ng).all(|i| {
            let row = Row::Bilateral(i);
            let nothing = self.scale.velocity(start.row(row), options.tolerance);
            start.velocity(row, &start.v).abs() <= nothing
        });
        let report = self.step.initial_report(system, h);
        Ok(StepReport {
            redundant: self.redundant,
            ..report
        })
    }

    /// First prediction of the increment of the velocity, `h v̇` with the bilateral constraints.
    fn predict_first(&mut self, system: &dyn System, h: f64) -> Result<(), StepError> {
        let (ng, nv) = (self.step.dims.ng, self.step.dims.nv);
        let Self {
            step,
            dynamics,
            scale,
            increment,
            guess,
            ..
        } = self;
        let start = &mut step.start;
        start.evaluate_bias(system);
        increment.copy_from_slice(&start.force);
        let matrix = &mut dynamics.iteration;
        matrix.clear();
        matrix.add_scaled(1.0, &start.mass);
        if let Err(source) = matrix.factorise() {
            regularise(matrix, start, ng, &scale.weights, source)
                .map_err(|source| singular(source, &mut start.mass))?;
            let bias: Vec<f64> = (0..ng).map(|i| start.bias(Row::Bilateral(i))).collect();
            let rows = start.row(Row::Bilateral(0)).0;
            augment_force(rows, &bias, &scale.weights, increment);
        }
        matrix.solve(increment);
        if ng > 0 {
            let row = |i: usize| start.row(Row::Bilateral(i));
            let mut problem = OneStep::default();
            problem.condense(ng, nv, matrix, &row, &row);
            for (i, q) in problem.q_mut().iter_mut().enumerate() {
                let (rows, k) = row(i);
                *q = rows.dot(k, increment) + start.bias(Row::Bilateral(i));
            }
            self.redundant = problem.solve(ng, guess).redundant;
            problem.add_response(0..ng, guess, increment);
        }
        for x in increment.iter_mut().chain(guess) {
            *x *= h;
        }
        self.earlier_increment.copy_from_slice(increment);
        if max_abs(increment).is_finite() {
            return Ok(());
        }
        self.balance.copy_from_slice(increment);
        Err(self.not_finite(system, self.step.start.t))
    }

    /// Starts a step.
    fn begin(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        state: &State,
        rule: &ThetaRule,
    ) -> Result<(), StepError> {
        self.rescale(rule.h);
        let step = &mut self.step;
        step.begin_without_forces(system, state, rule.h, &self.increment);
        self.dynamics.begin(system, rule, &mut step.start, NAME)?;
        self.find_sticking(options);
        if self.step.reactions.has_friction {
            self.problem.begin_step_from_last();
        } else {
            self.problem.begin_step();
        }
        let step = &mut self.step;
        self.law.take_contacts(&step.start);
        step.start.give_contacts(&mut self.active.probe);
        self.is_posed = false;
        Ok(())
    }

    /// Goes back to the prediction of the step.
    pub(super) fn begin_again(&mut self, options: &MoreauJeanOptions, rule: &ThetaRule) {
        self.step.reactions.clear();
        self.find_sticking(options);
        self.is_posed = false;
        self.predict(rule);
    }

    /// Finds the contacts that stick when the step begins.
    fn find_sticking(&mut self, options: &MoreauJeanOptions) {
        let Step {
            start, reactions, ..
        } = &mut self.step;
        if reactions.has_friction {
            let scale = &self.scale;
            let nothing =
                |rows: &SparseRows, i: usize| scale.velocity((rows, i), options.tolerance);
            reactions.find_sticking(start, nothing);
        }
    }

    /// Rescales the increments of the last steps to steps of length `h`.
    fn rescale(&mut self, h: f64) {
        if self.length == h {
            return;
        }
        let factor = h / self.length;
        let increments = (self.increment.iter_mut()).chain(&mut self.earlier_increment);
        for x in increments.chain(&mut self.guess) {
            *x *= factor;
        }
        self.length = h;
    }

    /// Chooses the contacts of the step by the forecast.
    fn choose_contacts(&mut self, options: &MoreauJeanOptions, system: &dyn System, h: f64) {
        let (start, q, work) = (&self.step.start, &mut self.q_end, &mut self.work);
        let probe_at = |ahead: f64, set: &mut ContactSet| {
            q.copy_from_slice(&start.q);
            for (x, v) in work.iter_mut().zip(&start.v) {
                *x = ahead * v;
            }
            system.retract(q, work);
            system.evaluate_contacts(start.t + ahead, q, set);
        };
        let at_start = (&start.contacts, &start.v[..]);
        let reach = (self.step.epsilon, h);
        self.active.choose(options, at_start, reach, probe_at);
        if options.forecast == Forecast::Predicted {
            std::mem::swap(&mut self.active.probe, &mut self.law.contacts);
        }
    }

    /// Chooses whether the bilateral constraints hold on the mean velocity of the step or at its end: at the end in steps with an
    /// impact, and in the first step of a run whose velocities violate them.
    fn choose_bilateral(&mut self, options: &MoreauJeanOptions) {
        let start = &self.step.start;
        let hits = |&i: &usize| {
            let row = Row::Normal(i, start.contacts.first_row[i]);
            let nothing = self.scale.velocity(start.row(row), options.tolerance);
            start.velocity(row, &start.v) < -nothing
        };
        self.on_mean = options.bilateral == Bilateral::Mean
            && self.may_be_on_mean
            && !self.active.list.iter().any(hits);
    }

    /// First guess of `v_{k+1}` and of the impulses of the bilateral constraints.
    fn predict(&mut self, rule: &ThetaRule) {
        let v = &mut self.v;
        v.copy_from_slice(&self.step.start.v);
        if self.dynamics.extrapolate(rule, v) {
            return;
        }
        // In nonlinear systems the change of the increment is extrapolated.
        let again = if self.dynamics.is_linear { 0.0 } else { 1.0 };
        for (i, v) in v.iter_mut().enumerate() {
            let change = self.increment[i] - self.earlier_increment[i];
            *v += self.increment[i] + again * change;
        }
        let reactions = &mut self.step.reactions;
        reactions.bilateral.copy_from_slice(&self.guess);
    }

    /// Takes the solved step over.
    fn finish(
        &mut self,
        options: &MoreauJeanOptions,
        system: &dyn System,
        state: &mut State,
        rule: &ThetaRule,
        iterations: u32,
    ) -> Result<StepReport, StepError> {
        let Self {
            step,
            problem,
            dynamics,
            law,
            ..
        } = self;
        step.reactions
            .include_momentum_residual(max_abs(&self.balance));
        if self.is_posed {
            step.reactions.include_law_residuals(problem, law, &self.v);
            problem.respond_by_contacts(&mut step.jump);
        } else {
            step.reactions.include(LawResiduals {
                law: self.prediction_residual,
                ..LawResiduals::default()
            });
        }
        step.work_external = Some(dynamics.work(system, rule, &mut step.start));
        let active = &self.active.list;
        step.work_contact = Some(step.reactions.work(law, active, &dynamics.mean));
        step.xi.copy_from_slice(&dynamics.xi);

        step.end.retract(system, &step.start, &step.xi, rule.end);
        step.end.v.copy_from_slice(&self.v);
        step.end.evaluate_mass(system);
        let constraints = if self.on_mean { None } else { Some(law) };
        step.end.evaluate_rows_with(system, constraints);
        step.end.mass.apply(&self.v, &mut self.work);
        self.scale.include(&self.work, &dynamics.force, rule.h);
        let impulse = rule.h * self.scale.largest(&dynamics.force);
        self.impulse_scale = self.impulse_scale.max(impulse);

        std::mem::swap(&mut self.increment, &mut self.earlier_increment);
        for (i, x) in self.increment.iter_mut().enumerate() {
            *x = self.v[i] - step.start.v[i] - step.jump[i];
        }
        self.guess.copy_from_slice(&step.reactions.bilateral);
        self.may_be_on_mean = true;
        let constrained = step.dims.ng > 0 || step.has_joint_friction() || !active.is_empty();
        let redundant = if constrained { self.redundant } else { 0 };
        self.step.algorithmic = self.algorithmic_energy(options, system);
        self.step
            .finish_with_mean(system, state, Some(true), iterations, redundant)
    }

    /// Energy change due to the discretisation in a linear system: `(½−θ)(‖Δv‖²_M + ‖Δq‖²_K)` (eq. 84),
    /// without the first term in the dissipative variant (eq. 88). Zero where no formula is known.
    fn algorithmic_energy(&mut self, options: &MoreauJeanOptions, system: &dyn System) -> f64 {
        let theta = options.theta();
        if theta == 0.5 || !self.dynamics.is_linear {
            return 0.0;
        }
        let (start, end) = (&self.step.start, &self.step.end);
        let mut norms = 0.0;
        if options.variant == Variant::Standard {
            for (x, (a, b)) in self.work.iter_mut().zip(start.v.iter().zip(&end.v)) {
                *x = b - a;
            }
            norms += start.mass.form(&self.work, &self.work);
        }
        // The potential is quadratic: its second difference is ‖Δq‖²_K / 4.
        let middle = &mut self.q_middle;
        for (m, (a, b)) in middle.iter_mut().zip(start.q.iter().zip(&end.q)) {
            *m = 0.5 * (a + b);
        }
        let potential = |q: &[f64]| system.potential_energy(end.t, q);
        norms += 4.0 * (potential(&end.q) - 2.0 * potential(middle) + potential(&start.q));
        (0.5 - theta) * norms
    }
}

/// Makes a mass or iteration matrix that is singular although the constrained system is not regular: `α GᵀG` is added, which changes
/// nothing on the constraint manifold.
pub(super) fn regularise(
    matrix: &mut SquareMatrix,
    rows: &EvaluationPoint,
    ng: usize,
    weights: &[f64],
    source: LinearError,
) -> Result<(), LinearError> {
    if ng == 0 || matches!(source, LinearError::NotFinite { .. }) {
        return Err(source);
    }
    let rows = rows.row(Row::Bilateral(0)).0;
    augment_matrix(matrix, rows, ng, weights);
    matrix.factorise()
}
