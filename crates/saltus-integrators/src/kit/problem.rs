//! The contact problem of a step: impulses on the rows of constraints, joints and contacts with which velocities satisfy their laws.

use super::reactions::StepReactions;
use super::{Convergence, EvaluationPoint, Location, Row};
use crate::integrator::StepError;
use crate::one_step::OneStep;
use crate::round_off::ROUND_OFF;
use saltus_complementarity::{Block, BlockState, ContactOutcome, Status};
use saltus_linear::{SparseRows, SquareMatrix};
use saltus_system::{FrictionBound, JointFriction, System};

/// How long a bounded friction force acts in a contact problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Duration {
    /// An impact: a bounded force has no impulse.
    Instant,
    /// Impulses over a time \[s\].
    Time(f64),
    /// The problem is posed in forces and accelerations.
    Force,
}

impl Duration {
    /// Factor of a force.
    fn weight(self) -> f64 {
        match self {
            Self::Instant => 0.0,
            Self::Time(h) => h,
            Self::Force => 1.0,
        }
    }
}

/// The contacts that take part, by their index in the set, increasing.
pub(crate) type Active = Vec<usize>;

/// Poses and solves, keeping its buffers.
///
/// The rows `w = A v + c` hold at the velocity (or acceleration) `v = v_free + J⁻¹ B z`: `J` the mass matrix of an explicit scheme or
/// the iteration matrix of an implicit one, `B` the directions of the forces at one point, `A` those of the velocities at
/// another, which may be the same.
#[derive(Debug, Default)]
pub(crate) struct StepProblem {
    one_step: OneStep,
    rows: Vec<Row>,
    blocks: Vec<(u64, Block)>,
    /// What each block did in the solution.
    states: Vec<BlockState>,
    /// First row of each block.
    first: Vec<usize>,
    /// `c` of each row.
    offset: Vec<f64>,
    /// Impulses of each row (forces at acceleration level).
    z: Vec<f64>,
    w: Vec<f64>,
    /// Bilateral rows, and blocks before the first contact.
    bilateral: usize,
    before_contacts: usize,
    /// Whether the next solve starts from the impulses of the last one, by contact.
    is_warm: bool,
    pub(crate) redundant: u32,
}

/// Identities of the blocks of bilateral constraints and of friction in joints, beside the ids of contacts.
const BILATERAL_ID: u64 = 1 << 62;
const FRICTION_ID: u64 = 1 << 61;

impl StepProblem {
    /// The next problem belongs to a new step: it takes no guess from an older one, so that a restarted run is the same.
    pub(crate) fn begin_step(&mut self) {
        self.is_warm = false;
    }

    /// The next problem belongs to a new step and takes its guess from the last one, by contact; such a scheme
    /// [saves](Self::save_guess) it.
    pub(crate) fn begin_step_from_last(&mut self) {
        self.is_warm = true;
    }

    /// Appends the impulses that the next problem takes its guess from.
    pub(crate) fn save_guess(&self, memory: &mut Vec<f64>) {
        self.one_step.save_guess(memory);
    }

    /// Takes up what [`save_guess`](Self::save_guess) appended.
    pub(crate) fn load_guess(&mut self, memory: &[f64]) {
        self.one_step.load_guess(memory);
    }

    /// Poses the problem of the contacts `active` with all bilateral constraints and friction in joints.
    ///
    /// `J` is the factored mass of `forces`; see [`pose_with`](Self::pose_with).
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn pose(
        &mut self,
        system: &dyn System,
        reactions: &StepReactions,
        (forces, rows): (&EvaluationPoint, &EvaluationPoint),
        active: &[usize],
        duration: Duration,
        v_free: &[f64],
        offset: impl Fn(Row) -> f64,
    ) {
        let points = (&forces.mass, forces, rows);
        self.pose_with(system, reactions, points, active, duration, v_free, offset);
    }

    /// The same with any factored `J`. `A` and the laws are those of `rows`, `B` those of `forces`; `offset` gives `c` of each row.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn pose_with(
        &mut self,
        system: &dyn System,
        reactions: &StepReactions,
        (matrix, forces, rows): (&SquareMatrix, &EvaluationPoint, &EvaluationPoint),
        active: &[usize],
        duration: Duration,
        v_free: &[f64],
        offset: impl Fn(Row) -> f64,
    ) {
        let turned = |row: Row| rows.row(row);
        let points = (matrix, forces, rows);
        self.pose_turned(
            system, reactions, points, active, duration, v_free, &turned, offset,
        );
    }

    /// The same with the rows of `A` that `turned` gives: linearised directions that depend on the velocity.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn pose_turned<'a>(
        &mut self,
        system: &dyn System,
        reactions: &StepReactions,
        (matrix, forces, rows): (&SquareMatrix, &EvaluationPoint, &EvaluationPoint),
        active: &[usize],
        duration: Duration,
        v_free: &[f64],
        turned: &dyn Fn(Row) -> (&'a SparseRows, usize),
        offset: impl Fn(Row) -> f64,
    ) {
        self.list(system, reactions, rows, active, duration);
        let m = self.rows.len();
        self.z.clear();
        self.z.resize(m, 0.0);
        self.w.resize(m, 0.0);
        self.offset.clear();
        if m == 0 {
            return;
        }
        let list = &self.rows;
        self.one_step
            .condense(m, v_free.len(), matrix, &|i| forces.row(list[i]), &|i| {
                turned(list[i])
            });
        self.offset.extend(list.iter().map(|row| offset(*row)));
        for (i, q) in self.one_step.q_mut().iter_mut().enumerate() {
            let (directions, row) = turned(list[i]);
            *q = directions.dot(row, v_free) + self.offset[i];
            // A contact that approaches by the round-off of its velocity carries nothing.
            let size = || directions.magnitude(row, v_free) + self.offset[i].abs();
            if *q < 0.0 && matches!(list[i], Row::Normal(..)) && -*q <= ROUND_OFF * size() {
                *q = 0.0;
            }
        }
        self.one_step.pose(self.blocks.iter().copied());
    }

    /// Replaces `c` of each row: of the laws themselves, where the problem posed was a linearised one.
    pub(crate) fn set_offset(&mut self, offset: impl Fn(Row) -> f64) {
        for (c, row) in self.offset.iter_mut().zip(&self.rows) {
            *c = offset(*row);
        }
    }

    /// Residual of the laws of the problem at velocities `v` over the velocity that counts as zero along each row.
    pub(crate) fn law_residual(
        &mut self,
        rows: &EvaluationPoint,
        v: &[f64],
        nothing: impl Fn(&SparseRows, usize) -> f64,
    ) -> Convergence {
        let mut worst = Convergence::NONE;
        for k in 0..self.blocks.len() {
            let own = self.first[k]..self.first[k] + self.blocks[k].1.rows();
            let mut bound = 0.0_f64;
            for i in own.clone() {
                let (matrix, row) = rows.row(self.rows[i]);
                self.w[i] = matrix.dot(row, v) + self.offset[i];
                bound = bound.max(nothing(matrix, row));
            }
            let residual = self.one_step.block_residual_at(k, &self.w[own]);
            worst.include(worse(0.0, residual), bound, self.location(k));
        }
        worst
    }

    /// What block `k` is the law of.
    pub(super) fn location(&self, k: usize) -> Location {
        match self.rows[self.first[k]] {
            Row::Bilateral(i) => Location::Bilateral(i),
            Row::JointFriction(_) => Location::Joint(k - self.bilateral),
            Row::Normal(i, _) | Row::Tangent(i, _) => Location::Contact(i),
        }
    }

    /// Lists rows and laws.
    fn list(
        &mut self,
        system: &dyn System,
        reactions: &StepReactions,
        rows: &EvaluationPoint,
        active: &[usize],
        duration: Duration,
    ) {
        self.rows.clear();
        self.blocks.clear();
        self.first.clear();
        self.bilateral = reactions.ng;
        for i in 0..reactions.ng {
            self.push(
                BILATERAL_ID | i as u64,
                Block::Equality,
                [Row::Bilateral(i)],
            );
        }
        let mut row = 0;
        for (k, element) in system.joint_friction().iter().enumerate() {
            let count = usize::from(element.tangents);
            let slip = (row..row + count).map(Row::JointFriction);
            let block = joint_block(*element, rows.joint_coefficient(k), duration);
            self.push(FRICTION_ID | k as u64, block, slip);
            row += count;
        }
        self.before_contacts = self.blocks.len();
        for &i in active {
            let contacts = &rows.contacts;
            let first = contacts.first_row[i];
            let id = contacts.id[i].0;
            self.blocks.push((id, reactions.block(&rows.contacts, i)));
            self.first.push(self.rows.len());
            self.rows.push(Row::Normal(i, first));
            let tangents = first + 1..first + reactions.rows_of(&rows.contacts, i);
            self.rows.extend(tangents.map(|row| Row::Tangent(i, row)));
        }
    }

    /// Takes up the numbers of the laws of `rows`, where they depend on the motion, without changing what contacts do; whether any are new.
    pub(crate) fn refresh_laws(
        &mut self,
        system: &dyn System,
        reactions: &StepReactions,
        rows: &EvaluationPoint,
        duration: Duration,
    ) -> bool {
        let mut is_new = false;
        if !reactions.has_friction {
            return is_new;
        }
        for (k, element) in system.joint_friction().iter().enumerate() {
            let block = joint_block(*element, rows.joint_coefficient(k), duration);
            is_new |= self.set_block(self.bilateral + k, block);
        }
        for k in self.before_contacts..self.blocks.len() {
            let block = reactions.block(&rows.contacts, self.contact(k));
            is_new |= self.set_block(k, block);
        }
        is_new
    }

    fn set_block(&mut self, k: usize, block: Block) -> bool {
        let is_new = self.blocks[k].1 != block;
        if is_new {
            self.blocks[k].1 = block;
            self.one_step.set_block(k, block);
        }
        is_new
    }

    fn push(&mut self, id: u64, block: Block, rows: impl IntoIterator<Item = Row>) {
        self.first.push(self.rows.len());
        self.blocks.push((id, block));
        self.rows.extend(rows);
    }

    /// Solves the problem posed at the time `t` \[s\]. A contact that begins to slip is solved again with its dynamic coefficient;
    /// the state of each contact is left in `reactions`.
    pub(crate) fn solve(
        &mut self,
        system: &dyn System,
        reactions: &mut StepReactions,
        rows: &EvaluationPoint,
        t: f64,
    ) -> Result<(), StepError> {
        self.solve_to(system, reactions, rows, t, &|_, _| 0.0)
    }

    /// The same; a point at which the iterations end is accepted if no block misses its law by more than the velocity
    /// that counts as zero along its rows.
    pub(crate) fn solve_to(
        &mut self,
        system: &dyn System,
        reactions: &mut StepReactions,
        rows: &EvaluationPoint,
        t: f64,
        nothing: &dyn Fn(&SparseRows, usize) -> f64,
    ) -> Result<(), StepError> {
        self.redundant = 0;
        if self.rows.is_empty() {
            return Ok(());
        }
        self.check_coefficients(system, rows, t)?;
        let outcome = loop {
            if self.is_warm {
                self.z.fill(0.0);
            }
            let outcome = self.one_step.solve_posed_from(&mut self.z, self.is_warm);
            if !outcome.is_solved() || !self.let_go(reactions, rows) {
                break outcome;
            }
        };
        let ends = outcome.is_solved()
            || outcome.status != Status::Infeasible && self.is_accepted(rows, nothing);
        if !ends || outcome.multiple {
            return Err(self.failure(system, rows, outcome));
        }
        self.is_warm = true;
        self.redundant = outcome.redundant;
        let state = |k: usize| self.one_step.block_state(k);
        self.states.clear();
        self.states.extend((0..self.blocks.len()).map(state));
        for k in self.before_contacts..self.blocks.len() {
            reactions.state[self.contact(k)] = self.states[k].into();
        }
        for k in self.bilateral..self.before_contacts {
            reactions.friction_state[k - self.bilateral] = self.states[k].into();
        }
        Ok(())
    }

    /// Whether every block obeys its law at the present impulses but for the velocity that counts as zero.
    fn is_accepted(
        &self,
        rows: &EvaluationPoint,
        nothing: &dyn Fn(&SparseRows, usize) -> f64,
    ) -> bool {
        (0..self.blocks.len()).all(|k| {
            let own = self.first[k]..self.first[k] + self.blocks[k].1.rows();
            let bound = own.map(|i| {
                let (matrix, row) = rows.row(self.rows[i]);
                nothing(matrix, row)
            });
            self.one_step.block_residual(k) <= bound.fold(0.0, f64::max)
        })
    }

    /// Gives contacts that have begun to slip their dynamic coefficient; whether there were any.
    fn let_go(&mut self, reactions: &mut StepReactions, rows: &EvaluationPoint) -> bool {
        let mut any = false;
        for k in self.before_contacts..self.blocks.len() {
            let i = self.contact(k);
            let law = rows.contacts.law[i];
            if reactions.sticking[i]
                && law.mu_static > law.mu
                && self.one_step.block_state(k) == BlockState::Slip
            {
                reactions.sticking[i] = false;
                self.set_block(k, reactions.block(&rows.contacts, i));
                any = true;
            }
        }
        any
    }

    /// The contact of block `k`.
    fn contact(&self, k: usize) -> usize {
        match self.rows[self.first[k]] {
            Row::Normal(contact, _) | Row::Tangent(contact, _) => contact,
            Row::Bilateral(_) | Row::JointFriction(_) => 0,
        }
    }

    fn check_coefficients(
        &self,
        system: &dyn System,
        rows: &EvaluationPoint,
        t: f64,
    ) -> Result<(), StepError> {
        for k in self.before_contacts..self.blocks.len() {
            if let Block::Coulomb { mu, .. } = self.blocks[k].1
                && !(mu >= 0.0 && mu.is_finite())
            {
                let contact = system.names().contact(rows.contacts.id[self.contact(k)]);
                return Err(StepError::Friction { contact, mu, t });
            }
        }
        for element in 0..self.before_contacts - self.bilateral {
            let value = rows.joint_coefficient(element);
            if !(value >= 0.0 && value.is_finite()) {
                let joint = system.names().friction_element(element);
                return Err(StepError::JointFriction { joint, value, t });
            }
        }
        Ok(())
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Row and impulse (or force) of everything in the problem.
    pub(crate) fn impulses(&self) -> impl Iterator<Item = (Row, f64)> + '_ {
        self.rows.iter().copied().zip(self.z.iter().copied())
    }

    /// `v ← v + J⁻¹ B z`.
    pub(crate) fn respond(&self, v: &mut [f64]) {
        self.one_step.add_response(0..self.rows.len(), &self.z, v);
    }

    /// The response to everything but bilateral constraints.
    pub(crate) fn respond_without_constraints(&self, v: &mut [f64]) {
        let all = self.bilateral..self.rows.len();
        self.one_step.add_response(all, &self.z, v);
    }

    /// The response to the impulses of contacts alone.
    pub(crate) fn respond_by_contacts(&self, v: &mut [f64]) {
        let before = self.first.get(self.before_contacts).copied();
        let contacts = before.unwrap_or(self.rows.len())..self.rows.len();
        self.one_step.add_response(contacts, &self.z, v);
    }

    /// Residuals of the laws of the problem at velocities `v`, recomputed from `v` and the impulses.
    pub(crate) fn law_residuals(&mut self, rows: &EvaluationPoint, v: &[f64]) -> LawResiduals {
        let mut residuals = LawResiduals::default();
        for (i, w) in self.w[..self.rows.len()].iter_mut().enumerate() {
            let (matrix, row) = rows.row(self.rows[i]);
            *w = matrix.dot(row, v) + self.offset[i];
        }
        for k in 0..self.blocks.len() {
            let (_, block) = self.blocks[k];
            let own = self.first[k]..self.first[k] + block.rows();
            let law = self.one_step.block_residual_at(k, &self.w[own.clone()]);
            residuals.law = worse(residuals.law, law);
            let (radius, from) = match block {
                Block::Coulomb { mu, .. } => (mu * self.z[own.start], own.start + 1),
                Block::JointCoulomb {
                    mu,
                    first_normal,
                    normals,
                    ..
                } => {
                    let carried = &self.z[first_normal..first_normal + normals];
                    let size = carried.iter().map(|z| z * z).sum::<f64>().sqrt();
                    (mu * size, own.start)
                }
                Block::Box { hi, .. } => (hi, own.start),
                _ => continue,
            };
            let (mut force, mut slip, mut power) = (0.0_f64, 0.0_f64, 0.0);
            for i in from..own.end {
                force = force.hypot(self.z[i]);
                slip = slip.hypot(self.w[i]);
                power += self.w[i] * self.z[i];
            }
            residuals.cone = worse(residuals.cone, force - radius);
            residuals.work = worse(residuals.work, power);
            if self.states.get(k) == Some(&BlockState::Stick) {
                residuals.stick = worse(residuals.stick, slip);
            }
        }
        residuals
    }

    /// Largest component of `M (v − v_free) − B z`; `work` is overwritten.
    pub(crate) fn momentum_residual(
        &self,
        forces: &EvaluationPoint,
        (v_free, v): (&[f64], &[f64]),
        work: &mut [f64],
        momentum: &mut [f64],
    ) -> f64 {
        for (x, (a, b)) in work.iter_mut().zip(v.iter().zip(v_free)) {
            *x = a - b;
        }
        forces.mass.apply(work, momentum);
        for (row, z) in self.impulses() {
            let (matrix, i) = forces.row(row);
            matrix.axpy(i, -z, momentum);
        }
        saltus_linear::max_abs(momentum)
    }

    /// Whether the only block is a contact that carries an impulse, and friction couples into its normal velocity so strongly that
    /// several impulses, or none, may obey its law (Painlevé).
    pub(crate) fn is_ambiguous(&self) -> bool {
        let [(_, Block::Coulomb { mu, .. })] = self.blocks[..] else {
            return false;
        };
        let row = self.one_step.delassus().row(0);
        let coupling = row[1..].iter().map(|w| w * w).sum::<f64>().sqrt();
        self.z[0] > 0.0 && mu * coupling > row[0]
    }

    /// That the problem posed has other solutions than the one found.
    pub(crate) fn several_solutions(
        &self,
        system: &dyn System,
        rows: &EvaluationPoint,
    ) -> StepError {
        let outcome = ContactOutcome {
            status: Status::Solved,
            iterations: 0,
            residual: 0.0,
            redundant: 0,
            multiple: true,
        };
        self.failure(system, rows, outcome)
    }

    /// Data for the error of an unsolved problem.
    pub(super) fn parts(&self) -> (&OneStep, usize, usize, usize) {
        (
            &self.one_step,
            self.bilateral,
            self.before_contacts,
            self.blocks.len(),
        )
    }

    /// Whether a push on any contact pulls it in, so that no push keeps it out.
    pub(super) fn pulls(&self) -> bool {
        self.one_step.worst(self.bilateral, &self.z).1
    }
}

/// The law of an element of friction in a joint, whose force or coefficient is `size`.
fn joint_block(element: JointFriction, size: f64, duration: Duration) -> Block {
    match element.bound {
        FrictionBound::Reaction { first, count } => Block::JointCoulomb {
            mu: size,
            tangents: element.tangents,
            first_normal: first,
            normals: count,
        },
        FrictionBound::Force => {
            let most = size * duration.weight();
            Block::Box {
                lo: -most,
                hi: most,
            }
        }
    }
}

/// Residuals of the laws of a problem, in velocities and impulses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LawResiduals {
    /// Natural map of all laws [m/s].
    pub(crate) law: f64,
    /// Distance of reactions from their cones [N·s].
    pub(crate) cone: f64,
    /// Slip of sticking contacts and joints [m/s].
    pub(crate) stick: f64,
    /// Work of friction, where positive \[J\].
    pub(crate) work: f64,
}

impl LawResiduals {
    /// Takes the larger of both in every entry.
    pub(crate) fn include(&mut self, other: Self) {
        self.law = worse(self.law, other.law);
        self.cone = worse(self.cone, other.cone);
        self.stick = worse(self.stick, other.stick);
        self.work = worse(self.work, other.work);
    }

    /// The residuals of a problem in forces and accelerations, over a time `h` \[s\].
    pub(crate) fn over(self, h: f64) -> Self {
        Self {
            law: h * self.law,
            cone: h * self.cone,
            stick: h * self.stick,
            work: h * h * self.work,
        }
    }
}

/// The larger; NaN stays.
pub(crate) fn worse(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}
