//! The half-explicit schemes.
//!
//! Explicit in the smooth dynamics, implicit in constraints, contacts and friction, which hold at the velocity of the next stage.
//! The trapezoidal rule at velocity level (`a_k = M_k⁻¹ f_k`, `W̃` at `q̃ = q_k ⊕ h v_k`, `V = W_k`):
//!
//! ```text
//! ṽ = v_k + h a_k + M_k⁻¹ V p ,           laws on W̃ᵀ ṽ ,      contacts closed at q_k
//! q_{k+1} = q_k ⊕ h (v_k + ṽ)/2 ,         a' = M_{k+1}⁻¹ f(t_{k+1}, q_{k+1}, ṽ)
//! v_{k+1} = v_k + h (a_k + a')/2 + M_k⁻¹ V p/2 + M_{k+1}⁻¹ W p' ,   laws on Wᵀ v_{k+1} ,   closed at q_{k+1}
//! ```
//!
//! Where a contact closed in the step, the last line is an impact instead: `p` and `p'` are dropped, and all closed contacts obey
//! `0 ≤ u⁺ + e u⁻ ⟂ Λ ≥ 0` with Coulomb's law, `u⁻` from `v⁻ = v_k + h (a_k + a')/2`.
//!
//! Order 2 on smooth motion and in persistent contact, order 1 across impacts and reversals of slip; Runge–Kutta methods of order 3
//! and 4 by their tableaux. Explicit: a stiff model needs a step below the limit that [`Integrator::stable_step`] tells (order 2:
//! `h ω ≤ 2` without damping). Velocities obey constraints and laws exactly; positions drift at the order of the method, and a contact
//! that closes may penetrate by `h |u|`, which is never repaired. Use it for rigid bodies and small models with long smooth phases.
//!
//! Reference: Schindler, Rezaei, Kursawe, Acary (2015), eqs. 29–77; Brasey, Hairer (1993).

mod acceleration;
mod options;
mod runge_kutta;
mod tableaux;
mod trapezoidal;

pub use options::{ButcherTableau, HalfExplicitOptions, Method};

use crate::certificate::{Entry, Guarantees};
use crate::integrator::{Integrator, StepError, StepReport};
use crate::kit::{
    Active, Duration, EvaluationPoint, KitScheme, Row, Step, StepProblem, integrator,
    refuse_friction, restitution, velocity_name,
};
use crate::scheme::OptionsError;
use runge_kutta::RungeKutta;
use saltus_linear::max_abs;
use saltus_system::{State, System};

const NAME: &str = "half-explicit";

/// The schemes with their buffers.
#[derive(Debug)]
struct HalfExplicit {
    step: Step,
    problem: StepProblem,
    /// Where the directions are predicted.
    predicted: EvaluationPoint,
    active: Active,
    a0: Vec<f64>,       // M⁻¹ f at the start (nv)
    a1: Vec<f64>,       // at the end (nv)
    v_free: Vec<f64>,   // velocity without the impulses of the problem (nv)
    v1: Vec<f64>,       // velocity of the first stage (nv)
    response: Vec<f64>, // M⁻¹ V p of the first stage (nv)
    runge_kutta: Option<RungeKutta>,
    /// Largest step \[s\] that is stable at the start, where it is known.
    stable_step: Option<f64>,
    /// Step \[s\] of the plan.
    nominal: f64,
    /// Whether the next step is the first one of the motion.
    is_first: bool,
}

/// The integrator with the given parameters.
///
/// # Errors
/// The first parameter out of range.
pub(crate) fn build(options: &HalfExplicitOptions) -> Result<Box<dyn Integrator>, OptionsError> {
    options.validate()?;
    Ok(integrator::<HalfExplicit>(options))
}

impl KitScheme for HalfExplicit {
    const NAME: &'static str = NAME;
    type Options = HalfExplicitOptions;

    fn guarantees(options: &Self::Options) -> Guarantees {
        let tolerance = options.tolerance;
        let g = Guarantees::default()
            .with(Entry::Dynamics, tolerance)
            .with(Entry::QuaternionNorm, tolerance);
        if options.method == Method::Acceleration {
            return g;
        }
        g.with(Entry::ComplementarityVelocity, tolerance)
            .with(Entry::BilateralVelocity, tolerance)
            .with(Entry::Cone, tolerance)
            .with(Entry::StickVelocity, tolerance)
    }

    fn prepare(
        options: &Self::Options,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(Self, StepReport), StepError> {
        let mut step = Step::new(NAME, system, state, options.activation_tolerance, h)?;
        if !options.solves_friction() {
            refuse_friction(NAME, system, &step)?;
        }
        let zeros = || vec![0.0; step.dims.nv];
        let (a0, a1, v_free, v1, response) = (zeros(), zeros(), zeros(), zeros(), zeros());
        let tableau = options.tableau();
        let stable_step = options.largest_step(system, state, &step);
        let report = step.initial_report(system, h);
        let active = Vec::with_capacity(step.start.contacts.len());
        let scheme = Self {
            predicted: EvaluationPoint::new(system),
            problem: StepProblem::default(),
            active,
            a0,
            a1,
            v_free,
            v1,
            response,
            runge_kutta: tableau.map(|t| RungeKutta::new(system, t)),
            stable_step,
            nominal: h,
            is_first: true,
            step,
        };
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
        self.step.begin(system, state, h)?;
        self.problem.begin_step();
        self.a0.copy_from_slice(&self.step.start.force);
        self.step.start.mass.solve(&mut self.a0);
        let report = match options.method {
            Method::Trapezoidal => self.trapezoidal(system, state, h, end),
            Method::Acceleration => self.acceleration(system, state, h, end),
            Method::Reduced => self.reduced(system, state, h, options),
            Method::Hetr | Method::Hem3 | Method::Hem4 | Method::Tableau => {
                self.runge_kutta(system, state, h, end)
            }
        }?;
        self.is_first = false;
        Ok(report)
    }

    fn step(&self) -> &Step {
        &self.step
    }

    fn step_mut(&mut self) -> &mut Step {
        &mut self.step
    }

    fn chooses_step(options: &Self::Options) -> bool {
        options.method == Method::Reduced
    }

    fn stable_step(&self) -> Option<f64> {
        self.stable_step
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.push(f64::from(u8::from(self.is_first)));
    }

    fn load(&mut self, memory: &[f64]) {
        self.is_first = memory.first() == Some(&1.0);
    }
}

/// Evaluations of laws that depend on the velocity at the end of a step.
const LAW_EVALUATIONS: u32 = 300;
/// Change of the velocity, relative to the largest one, with which they stay the same.
const SETTLED: f64 = 1e-13;

impl HalfExplicit {
    /// The contacts of the step that are closed at `stage`.
    fn activate_closed(active: &mut Active, stage: &EvaluationPoint, epsilon: f64) {
        let gaps = stage.contacts.gap.iter().enumerate();
        active.clear();
        active.extend(gaps.filter(|(_, gap)| **gap <= epsilon).map(|(i, _)| i));
    }

    /// Whether a contact hits in the step: it is open at the start and closed at `stage`, or the motion begins with it closed and
    /// approaching.
    fn closes(&self, stage: &EvaluationPoint) -> bool {
        let (start, epsilon) = (&self.step.start, self.step.epsilon);
        let set = &start.contacts;
        let fastest = max_abs(&start.v);
        (0..set.len()).any(|i| {
            if set.gap[i] > epsilon {
                return stage.contacts.gap[i] <= epsilon;
            }
            self.is_first && set.normal_velocity(i, &start.v) < -1e-9 * fastest
        })
    }

    /// Impact of all contacts that are closed at the end of the step, which arrives there with `v_free` (eqs. 68, A.11–A.13).
    fn impact(&mut self, system: &dyn System, state: &mut State) -> Result<StepReport, StepError> {
        self.step.reactions.clear();
        let (step, v_free) = (&self.step, &self.v_free);
        let end = &step.end;
        let rebound = |row: Row| {
            let u = end.velocity(row, v_free);
            end.rate(row) + restitution(&end.contacts, row) * u
        };
        Self::activate_closed(&mut self.active, end, step.epsilon);
        self.problem.pose(
            system,
            &step.reactions,
            (end, end),
            &self.active,
            Duration::Instant,
            v_free,
            rebound,
        );
        self.solve_at_end(system, Duration::Instant)?;
        self.problem.respond(&mut self.step.jump);
        self.step.arrive(&self.v_free);
        let end = &self.step.end;
        let rates = self.problem.impulses().map(|(row, p)| p * end.rate(row));
        self.step.work_moving = Some(-rates.sum::<f64>());
        self.step
            .finish(system, state, true, 0, self.problem.redundant)
    }

    /// Ends a step without an impact: laws at its end on top of the velocity `v_free`, by impulses at the end that act for `time` \[s\].
    fn close(
        &mut self,
        system: &dyn System,
        state: &mut State,
        time: f64,
    ) -> Result<StepReport, StepError> {
        let end = &self.step.end;
        Self::activate_closed(&mut self.active, end, self.step.epsilon);
        self.problem.pose(
            system,
            &self.step.reactions,
            (end, end),
            &self.active,
            Duration::Time(time),
            &self.v_free,
            rate(end),
        );
        self.solve_at_end(system, Duration::Time(time))?;
        self.step
            .finish(system, state, false, 0, self.problem.redundant)
    }

    /// Solves the problem posed at the end of the step; its velocity is then known. Laws that depend on it are evaluated until the velocity
    /// stays the same, first at that of the end so far: what rests there stays at rest where it can.
    fn solve_at_end(&mut self, system: &dyn System, duration: Duration) -> Result<(), StepError> {
        let Self {
            step,
            problem,
            v_free,
            response,
            ..
        } = self;
        let (reactions, end) = (&mut step.reactions, &mut step.end);
        problem.solve(system, reactions, end, end.t)?;
        let mut evaluations = 0;
        loop {
            response.copy_from_slice(v_free);
            problem.respond(response);
            if !(system.laws_vary() && reactions.has_friction) {
                break;
            }
            for (before, now) in end.v.iter_mut().zip(&*response) {
                *before = now - *before;
            }
            let change = max_abs(&end.v);
            if change <= SETTLED * max_abs(response) {
                break;
            }
            if evaluations == LAW_EVALUATIONS {
                let place = end.v.iter().position(|v| v.abs() == change);
                return Err(StepError::LawsNotSettled {
                    coordinate: velocity_name(&system.names(), place.unwrap_or(0)),
                    evaluations,
                    change,
                });
            }
            end.v.copy_from_slice(response);
            end.evaluate_laws(system);
            if !problem.refresh_laws(system, reactions, end, duration) {
                break;
            }
            problem.solve(system, reactions, end, end.t)?;
            evaluations += 1;
        }
        step.end.v.copy_from_slice(response);
        let (end, v) = (&step.end, &step.end.v);
        step.reactions.take(problem, (end, end), (v_free, v), 1.0);
        Ok(())
    }
}

/// The offset of the rows of a problem at velocity level: their own rate.
fn rate(stage: &EvaluationPoint) -> impl Fn(Row) -> f64 + '_ {
    |row| stage.rate(row)
}
