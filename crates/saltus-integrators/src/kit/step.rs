//! Workspace of every scheme built on the kit: start and end of the step, impulses and velocities of every row, energy, events,
//! and how a step begins and ends.

use super::certify::{certify_bilateral, certify_coordinates, certify_gaps, certify_impact_law};
use super::energy::check_kinetic;
use super::events::{ContactHistory, StepEnds, initial_states};
use super::failure::{first_not_finite, velocity_name};
use super::reactions::StepReactions;
use super::start::length_scale;
use super::{EvaluationPoint, Row, check_gaps};
use crate::certificate::{Certificate, Entry};
use crate::integrator::{ContactState, Energy, Event, Reactions, StepError, StepReport};
use saltus_linear::{dot, max_abs};
use saltus_system::{ContactId, Dims, FrictionBound, Reach, State, System};

/// The workspace of a step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) scheme: &'static str,
    pub(crate) dims: Dims,
    pub(crate) is_flat: bool,
    pub(crate) contacts_are_fixed: bool,
    /// Start of the step, evaluated by [`begin`](Self::begin).
    pub(crate) start: Box<EvaluationPoint>,
    /// End of the step: the scheme sets its time and position, and its velocity, which is that of an older step until then.
    pub(crate) end: Box<EvaluationPoint>,
    /// Gap below which a contact counts as closed \[m\].
    pub(crate) epsilon: f64,
    pub(crate) reactions: StepReactions,
    /// Tangent of the step: `q_{k+1} = q_k ⊕ ξ` (nv).
    pub(crate) xi: Vec<f64>,
    /// Part of `v_{k+1} − v_k` that an impact made, which interpolation leaves to the end; 0 unless the scheme writes it (nv).
    pub(crate) jump: Vec<f64>,
    /// Velocity with which the impulses of the step do their work (nv).
    pub(crate) mean: Vec<f64>,
    /// Velocity with which the step arrives at an impact at its end, where its law takes that instead of the one at the start (nv).
    arrival: Vec<f64>,
    has_arrival: bool,
    work: Vec<f64>,               // (nv)
    bilateral_gap: Vec<f64>,      // g (ng)
    bilateral_velocity: Vec<f64>, // G v + ∂g/∂t (ng)
    friction_slip: Vec<f64>,      // slip of the friction in joints (rows)
    gap_velocity: Vec<f64>,       // u (contacts)
    row_velocity: Vec<f64>,       // u (rows of the set)
    pub(crate) energy: Energy,
    /// Work of the forces without a potential \[J\], where the scheme computes it more accurately than by the mean of both ends.
    pub(crate) work_external: Option<f64>,
    /// Work of the reactions, and of prescribed motions, where the scheme computes them at the points where they act \[J\].
    pub(crate) work_contact: Option<f64>,
    pub(crate) work_moving: Option<f64>,
    /// The rest of the work of reactions, where the scheme integrates them where they act \[J\].
    pub(crate) work_dissipated: Option<f64>,
    /// Energy \[J\] that the discretisation adds, where a formula is known.
    pub(crate) algorithmic: f64,
    history: ContactHistory,
    pub(crate) events: Vec<Event>,
}

impl Step {
    /// A workspace of a scheme for `system`; evaluates the initial state.
    pub(crate) fn new(
        scheme: &'static str,
        system: &dyn System,
        state: &State,
        activation_tolerance: Option<f64>,
        h: f64,
    ) -> Result<Self, StepError> {
        let mut step = Self::sized(scheme, system)?;
        system.detect(state.t, &state.q, Reach::All, &mut step.start.contacts);
        step.begin(system, state, h)?;
        step.epsilon = activation_tolerance.unwrap_or_else(|| 1e-12 * step.length_scale(state, h));
        step.watch_contacts(state);
        Ok(step)
    }

    /// The contacts found at the initial state are those that events tell of.
    pub(crate) fn watch_contacts(&mut self, state: &State) {
        self.events.reserve(4 * self.start.contacts.len());
        self.history.begin(&self.start.contacts, state);
    }

    /// A workspace of a scheme for `system`, with nothing evaluated yet.
    pub(crate) fn sized(scheme: &'static str, system: &dyn System) -> Result<Self, StepError> {
        let dims = system.dims();
        let zeros = |n: usize| vec![0.0; n];
        let elements = system.joint_friction();
        for (i, element) in elements.iter().enumerate() {
            if element.bound == FrictionBound::Force && element.tangents > 1 {
                return Err(StepError::JointFrictionUnsupported {
                    joint: system.names().friction_element(i),
                    scheme,
                    cure: "give a friction torque about one axis, or a coefficient instead of a force",
                });
            }
        }
        let slips = elements.iter().map(|f| usize::from(f.tangents)).sum();
        Ok(Self {
            scheme,
            dims,
            is_flat: system.is_flat(),
            contacts_are_fixed: system.contacts_are_fixed(),
            start: Box::new(EvaluationPoint::new(system)),
            end: Box::new(EvaluationPoint::new(system)),
            epsilon: 0.0,
            reactions: StepReactions::new(system),
            xi: zeros(dims.nv),
            jump: zeros(dims.nv),
            mean: zeros(dims.nv),
            arrival: zeros(dims.nv),
            has_arrival: false,
            work: zeros(dims.nv),
            bilateral_gap: zeros(dims.ng),
            bilateral_velocity: zeros(dims.ng),
            friction_slip: zeros(slips),
            gap_velocity: Vec::new(),
            row_velocity: Vec::new(),
            energy: Energy::default(),
            work_external: None,
            work_contact: None,
            algorithmic: 0.0,
            work_moving: None,
            work_dissipated: None,
            history: ContactHistory::default(),
            events: Vec::new(),
        })
    }

    /// Starts a step: contacts within reach, the start evaluated with its force, no impulses.
    pub(crate) fn begin(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<(), StepError> {
        let is_new = self.take_start(state);
        let start = &mut self.start;
        if is_new {
            start.factor_mass(system, self.scheme)?;
            self.energy = energy_at(system, start);
        }
        start.evaluate_force(system)?;
        if !self.contacts_are_fixed || is_new {
            // Bound on the change of velocities by forces.
            self.work.copy_from_slice(&start.force);
            start.mass.solve_scaled(h, &mut self.work);
        }
        self.find_contacts(system, state, h, is_new);
        Ok(())
    }

    /// The same for a scheme that needs neither forces nor the inverse of the mass at the start, and knows by how much forces `change`
    /// velocities in the step (nv).
    pub(crate) fn begin_without_forces(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
        change: &[f64],
    ) {
        let is_new = self.take_start(state);
        if is_new {
            self.start.evaluate_mass(system);
            self.energy = energy_at(system, &self.start);
        }
        if !self.contacts_are_fixed {
            self.work.copy_from_slice(change);
        }
        self.find_contacts(system, state, h, is_new);
    }

    /// Takes up the state at the start; whether it is another than the end of the last step.
    fn take_start(&mut self, state: &State) -> bool {
        let start = &mut self.start;
        let is_new = start.t != state.t || start.q != state.q || start.v != state.v;
        if is_new {
            start.t = state.t;
            start.q.copy_from_slice(&state.q);
            start.v.copy_from_slice(&state.v);
        }
        is_new
    }

    /// Contacts within reach, rows and laws at the start; no impulses.
    fn find_contacts(&mut self, system: &dyn System, state: &State, h: f64, is_new: bool) {
        let start = &mut self.start;
        if !self.contacts_are_fixed {
            let reach = Reach::Swept {
                h,
                v: &state.v,
                dv: &self.work,
            };
            system.detect(state.t, &state.q, reach, &mut start.contacts);
        }
        if is_new || !self.contacts_are_fixed {
            start.evaluate_rows(system);
        }
        start.evaluate_laws(system);
        self.end.take_contacts(&self.start);
        self.reactions.begin(&self.start);
        let set = &self.start.contacts;
        self.gap_velocity.resize(set.len(), 0.0);
        self.row_velocity.resize(set.rate.len(), 0.0);
        self.events.clear();
        self.jump.fill(0.0);
        self.has_arrival = false;
        (self.work_external, self.work_contact) = (None, None);
        (self.work_moving, self.work_dissipated) = (None, None);
        self.algorithmic = 0.0;
    }

    /// Number of slip rows of the friction in joints.
    pub(crate) fn joint_friction_rows(&self) -> usize {
        self.friction_slip.len()
    }

    /// Whether a joint has friction.
    pub(crate) fn has_joint_friction(&self) -> bool {
        !self.friction_slip.is_empty()
    }

    /// Whether constraints or joints with friction act in every step.
    pub(crate) fn has_joints(&self) -> bool {
        self.dims.ng > 0 || self.has_joint_friction()
    }

    /// The impact at the end of the step takes `v` for the velocity before it.
    pub(crate) fn arrive(&mut self, v: &[f64]) {
        self.arrival.copy_from_slice(v);
        self.has_arrival = true;
    }

    /// Ends the step at [`end`](Self::end), whose time and position are set: evaluates constraints, contacts and energy there, notes events
    /// and makes the end the start of the next step. The state is advanced.
    ///
    /// `is_impact` says whether contacts that approach have just hit.
    pub(crate) fn finish(
        &mut self,
        system: &dyn System,
        state: &mut State,
        is_impact: bool,
        iterations: u32,
        redundant: u32,
    ) -> Result<StepReport, StepError> {
        let before = if self.has_arrival {
            &self.arrival
        } else {
            &self.start.v
        };
        for (mean, (a, b)) in self.mean.iter_mut().zip(before.iter().zip(&self.end.v)) {
            *mean = 0.5 * (a + b);
        }
        self.finish_with_mean(system, state, Some(is_impact), iterations, redundant)
    }

    /// The same, where impulses do their work with [`mean`](Self::mean), which the scheme has filled; events are noted unless the
    /// scheme does that itself.
    pub(crate) fn finish_with_mean(
        &mut self,
        system: &dyn System,
        state: &mut State,
        is_impact: Option<bool>,
        iterations: u32,
        redundant: u32,
    ) -> Result<StepReport, StepError> {
        let h = self.end.t - state.t;
        let energy = self.energy_at_end(system)?;
        let external = self.work_external.unwrap_or_else(|| {
            if system.is_conservative() {
                return 0.0;
            }
            self.start.evaluate_power(system);
            self.end.evaluate_power(system);
            0.5 * h * (dot(&self.start.power, &self.start.v) + dot(&self.end.power, &self.end.v))
        });
        let contact = self.work_contact;
        let works = (
            external,
            contact.unwrap_or_else(|| self.work_of_reactions()),
        );
        let mut certificate = Certificate::EMPTY;
        self.end.evaluate_laws(system);
        self.certify(system, &mut certificate);
        if let Some(is_impact) = is_impact {
            self.note_events(is_impact);
        }
        Ok(self.conclude(state, energy, works, (iterations, redundant), certificate))
    }

    /// The same of a step of several parts, whose works \[J\] the scheme knows, and whose events it noted itself.
    pub(crate) fn finish_with(
        &mut self,
        system: &dyn System,
        state: &mut State,
        works: (f64, f64),
        iterations: u32,
        redundant: u32,
    ) -> Result<StepReport, StepError> {
        let energy = self.energy_at_end(system)?;
        let mut certificate = Certificate::EMPTY;
        self.end.evaluate_laws(system);
        self.certify(system, &mut certificate);
        Ok(self.conclude(state, energy, works, (iterations, redundant), certificate))
    }

    /// Energy at the end of the step, refused where the kinetic energy is not finite or negative.
    fn energy_at_end(&self, system: &dyn System) -> Result<Energy, StepError> {
        let end = &self.end;
        if !max_abs(&end.v).is_finite() {
            return Err(not_finite(system, end));
        }
        check_gaps(system, &end.contacts, end.t)?;
        let energy = energy_at(system, end);
        check_kinetic(system, energy.kinetic, (end.t, &end.v), &end.mass)?;
        Ok(energy)
    }

    /// Balances the energy and makes the end the start of the next step.
    fn conclude(
        &mut self,
        state: &mut State,
        energy: Energy,
        (external, contact): (f64, f64),
        (iterations, redundant): (u32, u32),
        mut certificate: Certificate,
    ) -> StepReport {
        let h = self.end.t - state.t;
        let before = self.energy.total();
        self.energy = energy;
        let balance = self.energy.total() - before - external - contact - self.algorithmic;
        certificate.set(Entry::Dynamics, self.reactions.dynamics);
        certificate.set(Entry::EnergyBalance, balance);
        std::mem::swap(&mut self.start, &mut self.end);
        state.t = self.start.t;
        state.q.copy_from_slice(&self.start.q);
        state.v.copy_from_slice(&self.start.v);
        self.report(h, iterations, redundant, (external, contact), certificate)
    }

    /// The report of the initial state.
    pub(crate) fn initial_report(&mut self, system: &dyn System, h: f64) -> StepReport {
        let mut certificate = Certificate::EMPTY;
        std::mem::swap(&mut self.start, &mut self.end);
        self.start.contacts.clone_from(&self.end.contacts);
        self.start.v.copy_from_slice(&self.end.v);
        self.certify(system, &mut certificate);
        self.energy = energy_at(system, &self.end);
        std::mem::swap(&mut self.start, &mut self.end);
        self.mark_initial_states();
        self.report(h, 0, 0, (0.0, 0.0), certificate)
    }

    /// Says of the contacts at the start what they do before the first step.
    pub(crate) fn mark_initial_states(&mut self) {
        let (start, states) = (&self.start, &mut self.reactions.state);
        initial_states(&start.contacts, &start.q, &start.v, states);
    }

    fn report(
        &self,
        h: f64,
        iterations: u32,
        redundant: u32,
        (work_external, work_contact): (f64, f64),
        certificate: Certificate,
    ) -> StepReport {
        let active = self.reactions.normal.iter().filter(|p| **p > 0.0).count();
        StepReport {
            iterations,
            active: u32::try_from(active).unwrap_or(u32::MAX),
            redundant,
            work_external,
            work_contact,
            ..StepReport::at_rest(h, self.energy, certificate)
        }
    }

    /// Constraints and contacts at the end of the step.
    fn certify(&mut self, system: &dyn System, certificate: &mut Certificate) {
        let end = &mut self.end;
        if self.dims.ng > 0 {
            system.g(end.t, &end.q, &mut self.bilateral_gap);
            for i in 0..self.dims.ng {
                self.bilateral_velocity[i] = end.velocity(Row::Bilateral(i), &end.v);
            }
        }
        certify_bilateral(&self.bilateral_gap, &self.bilateral_velocity, certificate);
        certify_coordinates(system, &end.q, certificate);
        for i in 0..self.friction_slip.len() {
            self.friction_slip[i] = end.velocity(Row::JointFriction(i), &end.v);
        }
        let (set, earlier, v) = (&end.contacts, &self.start.contacts, &self.start.v);
        let arrival = if self.has_arrival { &self.arrival } else { v };
        let has_friction = self.reactions.has_friction;
        if has_friction {
            for (row, u) in self.row_velocity.iter_mut().enumerate() {
                *u = set.directions.dot(row, &end.v) + set.rate[row];
            }
        }
        for (i, u) in self.gap_velocity.iter_mut().enumerate() {
            *u = if has_friction {
                self.row_velocity[set.first_row[i]]
            } else {
                set.normal_velocity(i, &end.v)
            };
            if self.reactions.normal[i] <= 0.0 {
                self.reactions.state[i] = ContactState::Open;
            }
        }
        let normal = &self.reactions.normal;
        certify_gaps(&set.gap, normal, certificate);
        let takes_start = !self.has_arrival && earlier.id == set.id;
        let before = |i: usize| {
            let row = set.first_row[i];
            // A wall moves at its own speed at the time of the velocity.
            if takes_start {
                set.directions.dot(row, v) + earlier.rate[earlier.first_row[i]]
            } else {
                set.normal_velocity(i, arrival)
            }
        };
        certify_impact_law(set, normal, &self.gap_velocity, before, certificate);
        let residuals = &self.reactions.law_residuals;
        if !set.is_empty() || !self.friction_slip.is_empty() {
            certificate.set(Entry::ComplementarityVelocity, residuals.law);
        }
        if self.reactions.has_friction {
            certificate.set(Entry::Cone, residuals.cone);
            certificate.set(Entry::StickVelocity, residuals.stick);
            certificate.set(Entry::FrictionWork, residuals.work);
        }
    }

    /// Work of all impulses of the step at its mean velocity.
    fn work_of_reactions(&self) -> f64 {
        let work = |row: Row, p: f64| {
            let (matrix, i) = self.end.row(row);
            p * matrix.dot(i, &self.mean)
        };
        let mut sum = 0.0;
        for (i, p) in self.reactions.bilateral.iter().enumerate() {
            sum += work(Row::Bilateral(i), *p);
        }
        for (i, p) in self.reactions.friction.iter().enumerate() {
            sum += work(Row::JointFriction(i), *p);
        }
        for (row, p) in self.reactions.row.iter().enumerate() {
            if *p != 0.0 {
                sum += work(Row::Tangent(0, row), *p);
            }
        }
        sum
    }

    /// Impacts, and changes between open, stick and slip since the last step.
    fn note_events(&mut self, is_impact: bool) {
        let (start, end, reactions) = (&self.start, &self.end, &self.reactions);
        let velocity = |stage: &EvaluationPoint, row: usize, v: &[f64]| {
            stage.contacts.directions.dot(row, v) + stage.contacts.rate[row]
        };
        let at_start = |row: usize| velocity(start, row, &start.v);
        // An impact at the end meets a wall as it moves there.
        let at_arrival = |row: usize| velocity(end, row, &self.arrival);
        let ends = StepEnds {
            t: end.t,
            contacts: &end.contacts,
            velocities: (&start.v, &end.v),
            start: &at_start,
            before: if self.has_arrival {
                &at_arrival
            } else {
                &at_start
            },
            impulse: &reactions.normal,
            row_impulse: &reactions.row,
            state: &reactions.state,
            is_impact,
            from_start: !self.has_arrival,
        };
        self.history.note(&ends, &mut self.events);
    }

    /// Length scale of gaps: their own size, the positions they are made of, and how far velocities and forces move
    /// them in a step.
    pub(crate) fn length_scale(&self, state: &State, h: f64) -> f64 {
        let set = &self.start.contacts;
        let moved = |i: usize| {
            let row = set.first_row[i];
            let terms = set.directions.cols(row).iter();
            let terms = terms.zip(set.directions.values(row));
            terms.map(|(&j, w)| (w * h * state.v[j]).abs()).sum()
        };
        let q = self.is_flat.then_some(state.q.as_slice());
        length_scale(set, q, h, moved, |j| self.work[j])
    }

    /// Reactions at the end of the last step, for [`Integrator::reactions`](crate::Integrator::reactions).
    pub(crate) fn reactions(&self) -> Reactions<'_> {
        let set = &self.start.contacts;
        let has_friction = self.reactions.has_friction;
        fn some<T>(condition: bool, list: &[T]) -> &[T] {
            if condition { list } else { &[] }
        }
        Reactions {
            bilateral_gap: &self.bilateral_gap,
            bilateral_velocity: &self.bilateral_velocity,
            bilateral_rate: &self.start.rate,
            bilateral_impulse: &self.reactions.bilateral,
            gap_velocity: &self.gap_velocity,
            impulse: &self.reactions.normal,
            row_velocity: some(has_friction, &self.row_velocity),
            row_impulse: some(has_friction, &self.reactions.row),
            state: some(has_friction, &self.reactions.state),
            friction_slip: &self.friction_slip,
            friction_impulse: &self.reactions.friction,
            friction_state: &self.reactions.friction_state,
            work_moving: self.work_moving,
            work_dissipated: self.work_dissipated,
            ..Reactions::of(set)
        }
    }

    /// The state inside the last step: positions by the parabola through both ends that starts with the velocity there.
    pub(crate) fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        let (start, end) = (&self.end, &self.start);
        let h = end.t - start.t;
        out.v.clear();
        let f = fraction;
        if f >= 1.0 {
            out.q.clone_from(&end.q);
            out.v.extend_from_slice(&end.v);
            return;
        }
        let along: Vec<f64> = (0..start.v.len())
            .map(|i| f * h * start.v[i] + f * f * (self.xi[i] - h * start.v[i]))
            .collect();
        out.q.clone_from(&start.q);
        system.retract(&mut out.q, &along);
        out.v.extend(
            (0..start.v.len()).map(|i| start.v[i] + f * (end.v[i] - self.jump[i] - start.v[i])),
        );
    }

    /// The hidden variables of the kit.
    pub(crate) fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        memory.push(self.epsilon);
        self.history.save(memory);
    }

    /// Takes up what [`save`](Self::save) gave; what follows it is returned.
    pub(crate) fn load<'a>(&mut self, memory: &'a [f64]) -> &'a [f64] {
        let [epsilon, rest @ ..] = memory else {
            return &[];
        };
        self.epsilon = *epsilon;
        self.history.load(rest)
    }
}

/// Energy of the state of a stage, whose mass is known.
pub(crate) fn energy_at(system: &dyn System, at: &EvaluationPoint) -> Energy {
    Energy {
        kinetic: 0.5 * at.mass.form(&at.v, &at.v),
        potential: system.potential_energy(at.t, &at.q),
    }
}

/// The first velocity of a stage that is not finite.
pub(crate) fn not_finite(system: &dyn System, at: &EvaluationPoint) -> StepError {
    StepError::NotFinite {
        quantity: "the velocity",
        place: velocity_name(&system.names(), first_not_finite(&at.v).unwrap_or(0)),
        t: at.t,
    }
}

/// A contact by two numbers, each exact.
pub(crate) fn id_as_numbers(id: ContactId) -> [f64; 2] {
    [(id.0 >> 32) as f64, (id.0 & 0xffff_ffff) as f64]
}

/// The contact that [`id_as_numbers`] wrote.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn id_from_numbers([high, low]: [f64; 2]) -> ContactId {
    ContactId((high as u64) << 32 | low as u64)
}
