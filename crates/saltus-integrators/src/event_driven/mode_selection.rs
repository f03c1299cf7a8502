//! The modes after an event: Coulomb's and Signorini's laws at acceleration level on the contacts without velocity.

use super::accelerations::{ContactForce, tangents};
use super::modes::{Mode, Tangential, direction, inner, size, slip};
use super::roots::Kind;
use super::{Prepared, no_forces};
use crate::integrator::StepError;
use crate::kit::Row;
use crate::one_step::OneStep;
use saltus_complementarity::{Block, BlockState, ContactOutcome};
use saltus_linear::dot;
use saltus_system::System;

/// Combinations of modes that are tried one by one; beyond, one solution is computed.
const MOST_COMBINATIONS: usize = 4096;
/// Contacts up to which other solutions of one contact problem are looked for.
const FEW: usize = 6;
/// Accelerations that differ by less than this share of the scale belong to one motion.
const SAME: f64 = 1e-6;
/// The probe of an undetermined contact is this share of the time scale of the motion ahead.
const AHEAD: f64 = 1e-6;

/// The law of a contact at acceleration level in a contact problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NormalLaw {
    /// `0 ≤ Γ_N ⟂ λ_N ≥ 0`.
    Signorini,
    /// `Γ_N = 0`, the sign of `λ_N` tested afterwards; contacts without slip keep Coulomb's law.
    AssumedClosed,
}

/// Buffers of the selection.
#[derive(Debug, Default)]
pub(super) struct Selection {
    one_step: OneStep,
    /// Modes each persistent contact may have, and their number.
    options: Vec<([Mode; 4], usize)>,
    chosen: Vec<Mode>,
    sticking: Vec<Mode>,
    found: Vec<f64>,
    z: Vec<f64>,
    /// Row of `D` of every row of the problem, and what it exerts along the tangents that follow; its blocks, and the first row of
    /// each contact.
    rows: Vec<(usize, Tangential)>,
    blocks: Vec<(u64, Block)>,
    place: Vec<usize>,
    /// Number among the persistent contacts of each contact of the problem.
    posed: Vec<usize>,
    /// Forces of all rows that are condensed.
    forces: Vec<f64>,
}

impl Prepared {
    /// Chooses the modes of the persistent contacts; all others are open.
    pub(super) fn select_modes(&mut self, system: &dyn System) -> Result<(), StepError> {
        let (end, arc) = (&self.step.end, &mut self.arc);
        arc.modes.list.fill(Mode::Open);
        self.at_rest_in_space.clear();
        if self.persistent.is_empty() {
            return Ok(());
        }
        let persistent = self.persistent.iter().copied();
        let tangents = &arc.modes.tangents;
        let ng = self.step.dims.ng;
        arc.accelerations
            .condense(end, ng, persistent, |i| 1 + tangents[i]);
        arc.accelerations.evaluate_free_accelerations(end);
        let mut selection = std::mem::take(&mut self.impact.selection);
        self.list_options(&mut selection);
        let combinations = selection
            .options
            .iter()
            .try_fold(1_usize, |n, (_, count)| n.checked_mul(*count));
        let any_friction = self
            .persistent
            .iter()
            .any(|&i| self.arc.modes.tangents[i] > 0);
        let is_finite = any_friction && self.at_rest_in_space.is_empty();
        let result = match combinations {
            Some(n) if is_finite && n <= MOST_COMBINATIONS => {
                self.enumerate(system, &mut selection, n)
            }
            _ => self.solve_laws(system, &mut selection),
        };
        if result.is_ok() {
            for (&i, mode) in self.persistent.iter().zip(&selection.chosen) {
                self.arc.modes[i] = *mode;
            }
        }
        self.impact.selection = selection;
        result?;
        self.probe_undetermined(system)
    }

    /// The modes that each persistent contact may take; a contact without slip in space may slip in any direction.
    fn list_options(&mut self, selection: &mut Selection) {
        let end = &self.step.end;
        selection.options.clear();
        for &i in &self.persistent {
            let (open, closed) = (Mode::Open, Mode::Closed);
            let tangents = self.arc.modes.tangents[i];
            if tangents == 0 {
                selection.options.push(([closed, open, open, open], 2));
                continue;
            }
            let slip = slip(end, i, tangents);
            let speed = size(slip);
            let stopped = |f: &super::Detected| f.contact == i && f.kind == Kind::SlipStop;
            let is_slow = speed <= self.scales.zero_velocity();
            // In the plane what passes through zero has stopped; in space it may pass beside zero.
            selection.options.push(
                if is_slow || (tangents == 1 && self.detected.iter().any(stopped)) {
                    if tangents == 2 {
                        self.at_rest_in_space.push(i);
                    }
                    let (forward, back) = (Mode::Slip([1.0, 0.0]), Mode::Slip([-1.0, 0.0]));
                    ([Mode::Stick, forward, back, open], 4)
                } else {
                    let along = [slip[0] / speed, slip[1] / speed];
                    ([Mode::Slip(along), open, open, open], 2)
                },
            );
        }
    }

    /// Smallest slack in the inequalities of a mode, as an acceleration; negative where the mode is violated.
    fn margin(&self, i: usize, carried: &ContactForce, mode: Mode, rests: bool) -> f64 {
        let pressed = carried.normal * carried.compliance[0];
        match mode {
            Mode::Open => carried.normal_acceleration,
            Mode::Closed => pressed,
            Mode::Stick => {
                let mu = self.step.end.contacts.law[i].mu_static;
                let inside = mu * carried.normal - size(carried.tangent);
                pressed.min(inside * carried.compliance[1])
            }
            Mode::Slip(direction) if rests => {
                pressed.min(inner(direction, carried.tangential_acceleration))
            }
            Mode::Slip(_) => pressed,
        }
    }

    /// Tries all modes: exactly one motion must be consistent; of its representatives the one with the largest margin is taken.
    fn enumerate(
        &mut self,
        system: &dyn System,
        selection: &mut Selection,
        combinations: usize,
    ) -> Result<(), StepError> {
        let allowed = -0.5 * self.scales.zero_acceleration();
        let mut best = f64::NEG_INFINITY;
        let mut motions = 0;
        selection.found.clear();
        let nv = self.work.len();
        for number in 0..combinations {
            self.arc.modes.list.fill(Mode::Open);
            let mut left = number;
            for (&i, (modes, count)) in self.persistent.iter().zip(&selection.options) {
                self.arc.modes[i] = modes[left % count];
                left /= count;
            }
            let arc = &mut self.arc;
            let end = &self.step.end;
            let (modes, persistent) = (&arc.modes, &self.persistent);
            // Without slip the static coefficient holds, also where slip begins.
            let coefficient = |i: usize| {
                let law = end.contacts.law[i];
                let k = persistent.iter().position(|r| *r == i);
                let rests = k.is_some_and(|k| selection.options[k].1 == 4);
                if rests { law.mu_static } else { law.mu }
            };
            let mode = |i: usize| (modes[i], coefficient(i));
            if !arc.accelerations.solve(end, mode) {
                continue;
            }
            let mut margin = f64::INFINITY;
            for (k, &i) in self.persistent.iter().enumerate() {
                let carried = self.arc.accelerations.contact_force(k);
                let rests = selection.options[k].1 == 4;
                margin = margin.min(self.margin(i, &carried, self.arc.modes[i], rests));
            }
            if margin.is_nan() || margin < allowed {
                continue;
            }
            self.arc.accelerations.accelerate(&mut self.work);
            let same = SAME
                * self
                    .scales
                    .acceleration
                    .max(saltus_linear::max_abs(&self.work));
            let known = selection.found.chunks_exact(nv.max(1)).any(|a| {
                let differ = a.iter().zip(&self.work).map(|(a, b)| (a - b).abs());
                differ.fold(0.0, f64::max) <= same
            });
            if !known {
                motions += 1;
                selection.found.extend_from_slice(&self.work);
            }
            if margin > best {
                best = margin;
                let chosen = self.persistent.iter().map(|&i| self.arc.modes[i]);
                selection.chosen.clear();
                selection.chosen.extend(chosen);
            }
        }
        if motions == 1 {
            return Ok(());
        }
        Err(StepError::ContactMode {
            contact: self.contact_to_blame(system),
            modes: motions,
            t: self.step.end.t,
        })
    }

    /// The contact with friction that slips, or the first.
    fn contact_to_blame(&self, system: &dyn System) -> String {
        let end = &self.step.end;
        let speed = |i: usize| match self.arc.modes.tangents[i] {
            0 => 0.0,
            tangents => 1.0 + size(slip(end, i, tangents)),
        };
        let worst = self
            .persistent
            .iter()
            .copied()
            .max_by(|a, b| speed(*a).total_cmp(&speed(*b)));
        worst.map_or_else(String::new, |i| system.names().contact(end.contacts.id[i]))
    }

    /// Solves the laws as one contact problem in forces and accelerations; slipping contacts push along their cone.
    fn solve_laws(
        &mut self,
        system: &dyn System,
        selection: &mut Selection,
    ) -> Result<(), StepError> {
        let ng = self.step.dims.ng;
        let outcome = self.solve_posed(selection, |_| Some(NormalLaw::Signorini));
        if !outcome.is_solved() || outcome.multiple {
            return Err(StepError::ContactMode {
                contact: self.contact_to_blame(system),
                modes: if outcome.multiple { 2 } else { 0 },
                t: self.step.end.t,
            });
        }
        let Selection {
            one_step,
            options,
            chosen,
            z,
            place,
            ..
        } = &mut *selection;
        chosen.clear();
        for (k, (&row, &i)) in place.iter().zip(&self.persistent).enumerate() {
            let pushes = z[row] > 0.0;
            chosen.push(match options[k].0[0] {
                _ if !pushes => Mode::Open,
                Mode::Stick if one_step.block_state(ng + k) == BlockState::Slip => {
                    let against = match self.arc.modes.tangents[i] {
                        1 => [-z[row + 1], 0.0],
                        _ => [-z[row + 1], -z[row + 2]],
                    };
                    Mode::Slip(direction(against, against, 0.0))
                }
                mode => mode,
            });
        }
        self.stick_where_possible(selection);
        let modes = &mut self.arc.modes;
        for (&i, mode) in self.persistent.iter().zip(&selection.chosen) {
            modes[i] = *mode;
        }
        let end = &self.step.end;
        let mode = |i: usize| (modes[i], end.contacts.law[i].mu);
        if !self.arc.accelerations.solve(end, mode) {
            return Err(no_forces(system, &self.step.end, &self.arc.modes.list));
        }
        if self.persistent.len() > 1 && self.persistent.len() <= FEW {
            return self.look_for_others(system, selection);
        }
        Ok(())
    }

    /// Looks for motions beside the one found in which some contacts open, those of the others that slip press, and the laws of the
    /// rest hold (Painlevé).
    fn look_for_others(
        &mut self,
        system: &dyn System,
        selection: &mut Selection,
    ) -> Result<(), StepError> {
        self.arc.accelerations.accelerate(&mut self.work);
        let mut found = std::mem::take(&mut selection.found);
        found.clone_from(&self.work);
        let same = SAME * self.scales.acceleration.max(saltus_linear::max_abs(&found));
        let is_other = (0..1_u32 << self.persistent.len()).any(|pattern| {
            let presses = |k: usize| pattern >> k & 1 == 1;
            self.is_consistent(selection, presses) && {
                let differ = found.iter().zip(&self.work).map(|(a, b)| (a - b).abs());
                differ.fold(0.0, f64::max) > same
            }
        });
        selection.found = found;
        if !is_other {
            return Ok(());
        }
        Err(StepError::ContactMode {
            contact: self.contact_to_blame(system),
            modes: 2,
            t: self.step.end.t,
        })
    }

    /// Whether there is a motion in which the persistent contacts open that do not press, by their number; `work` are its accelerations.
    fn is_consistent(
        &mut self,
        selection: &mut Selection,
        presses: impl Fn(usize) -> bool + Copy,
    ) -> bool {
        let zero = 0.5 * self.scales.zero_acceleration();
        let pressing = |k: usize| presses(k).then_some(NormalLaw::AssumedClosed);
        if !self.solve_posed(selection, pressing).is_solved() {
            return false;
        }
        let Selection {
            z, rows, forces, ..
        } = &mut *selection;
        let accelerations = &self.arc.accelerations;
        accelerations.spread(rows.iter().copied().zip(z.iter().copied()), forces);
        accelerations.accelerate_with(forces, &mut self.work);
        let (_, first, delassus, w_free) = accelerations.problem();
        (0..self.persistent.len()).all(|k| {
            let row = first[k];
            if presses(k) {
                forces[row] * accelerations.compliance(row) >= -zero
            } else {
                w_free[row] + dot(delassus.row(row), forces) >= -zero
            }
        })
    }

    /// Solves the laws of the persistent contacts that take part, by their number.
    fn solve_posed(
        &self,
        selection: &mut Selection,
        takes_part: impl Fn(usize) -> Option<NormalLaw>,
    ) -> ContactOutcome {
        self.pose_laws(selection, takes_part);
        loop {
            let Selection { one_step, z, .. } = &mut *selection;
            z.fill(0.0);
            let outcome = one_step.solve_posed_from(z, false);
            let is_found = outcome.is_solved() && !outcome.multiple;
            if !is_found || !self.reduce_coefficients(selection) {
                return outcome;
            }
        }
    }

    /// Poses the laws of the persistent contacts that take part, by their number.
    fn pose_laws(
        &self,
        selection: &mut Selection,
        takes_part: impl Fn(usize) -> Option<NormalLaw>,
    ) {
        let set = &self.step.end.contacts;
        let Selection {
            one_step,
            options,
            z,
            rows,
            blocks,
            place,
            posed,
            ..
        } = selection;
        let (ng, first, delassus, w_free) = self.arc.accelerations.problem();
        let alone = |row: usize| (row, Tangential::default());
        rows.clear();
        rows.extend((0..ng).map(alone));
        blocks.clear();
        blocks.extend((0..ng).map(|_| (0, Block::Equality)));
        place.clear();
        posed.clear();
        for (k, &i) in self.persistent.iter().enumerate() {
            let Some(pressed) = takes_part(k) else {
                continue;
            };
            let normal = match pressed {
                NormalLaw::Signorini => Block::Unilateral,
                NormalLaw::AssumedClosed => Block::Equality,
            };
            place.push(rows.len());
            posed.push(k);
            let law = set.law[i];
            let id = set.id[i].0;
            match options[k].0[0] {
                Mode::Stick => {
                    let count = self.arc.modes.tangents[i];
                    rows.extend((first[k]..=first[k] + count).map(alone));
                    let tangents = if count == 1 { 1 } else { 2 };
                    let mu = law.mu_static;
                    blocks.push((id, Block::Coulomb { mu, tangents }));
                }
                Mode::Slip([a, b]) => {
                    rows.push((first[k], [-a * law.mu, -b * law.mu]));
                    blocks.push((id, normal));
                }
                Mode::Open | Mode::Closed => {
                    rows.push(alone(first[k]));
                    blocks.push((id, normal));
                }
            }
        }
        one_step.take(rows.len(), |a, b| {
            let (row, (col, shares)) = (rows[a].0, rows[b]);
            let along = tangents(col, shares).map(|(col, share)| share * delassus[(row, col)]);
            delassus[(row, col)] + along.sum::<f64>()
        });
        for (q, (row, _)) in one_step.q_mut().iter_mut().zip(rows.iter()) {
            *q = w_free[*row];
        }
        one_step.pose(blocks.iter().copied());
        z.clear();
        z.resize(rows.len(), 0.0);
    }

    /// Gives contacts that leave their static cone the coefficient of slip; whether there were any.
    fn reduce_coefficients(&self, selection: &mut Selection) -> bool {
        let ng = self.step.dims.ng;
        let mut any = false;
        for (k, persistent) in selection.posed.iter().enumerate() {
            let law = self.step.end.contacts.law[self.persistent[*persistent]];
            if let (id, Block::Coulomb { mu, tangents }) = selection.blocks[ng + k]
                && mu > law.mu
                && selection.one_step.block_state(ng + k) == BlockState::Slip
            {
                let block = Block::Coulomb {
                    mu: law.mu,
                    tangents,
                };
                selection.blocks[ng + k] = (id, block);
                selection.one_step.set_block(ng + k, block);
                any = true;
            }
        }
        any
    }

    /// Where forces are not unique a contact may be at its limit without slipping: contacts that do not accelerate stick, if forces
    /// inside of all cones hold them.
    fn stick_where_possible(&mut self, selection: &mut Selection) {
        let zero = 0.5 * self.scales.zero_acceleration();
        let (end, persistent) = (&self.step.end, &self.persistent);
        let accelerations = &mut self.arc.accelerations;
        let mode_in = |list: &[Mode], i: usize| {
            let k = persistent.iter().position(|r| *r == i);
            (k.map_or(Mode::Open, |k| list[k]), end.contacts.law[i].mu)
        };
        if !accelerations.solve(end, |i| mode_in(&selection.chosen, i)) {
            return;
        }
        selection.sticking.clone_from(&selection.chosen);
        let mut any = false;
        for (k, mode) in selection.sticking.iter_mut().enumerate() {
            let is_still = size(accelerations.contact_force(k).tangential_acceleration) <= zero;
            if is_still
                && self.at_rest_in_space.contains(&persistent[k])
                && matches!(mode, Mode::Slip(_))
            {
                *mode = Mode::Stick;
                any = true;
            }
        }
        if !any || !accelerations.solve(end, |i| mode_in(&selection.sticking, i)) {
            return;
        }
        let holds = |k: usize| {
            let i = self.persistent[k];
            let carried = self.arc.accelerations.contact_force(k);
            let rests = self.at_rest_in_space.contains(&i);
            self.margin(i, &carried, selection.sticking[k], rests) >= -zero
        };
        if (0..self.persistent.len()).all(holds) {
            std::mem::swap(&mut selection.chosen, &mut selection.sticking);
        }
    }

    /// Contacts with neither force nor acceleration: closed where their gap, left free, would accelerate together a moment later.
    fn probe_undetermined(&mut self, system: &dyn System) -> Result<(), StepError> {
        let zero = self.scales.zero_acceleration();
        let (end, ng) = (&self.step.end, self.step.dims.ng);
        let arc = &mut self.arc;
        if !arc.accelerations.evaluate(end, ng, &arc.modes) {
            return Err(no_forces(system, end, &arc.modes.list));
        }
        self.arc.accelerations.accelerate(&mut self.work);
        let mut undetermined = std::mem::take(&mut self.impact.selection.place);
        undetermined.clear();
        for &i in &self.persistent {
            let closed = self.arc.accelerations.contacts().iter();
            let force = closed
                .enumerate()
                .find(|(_, c)| **c == i)
                .map(|(k, _)| self.arc.accelerations.contact_force(k));
            let is_undetermined = match force {
                Some(carried) => carried.normal * carried.compliance[0] <= zero,
                None => {
                    let row = Row::Normal(i, end.contacts.first_row[i]);
                    let (matrix, r) = end.row(row);
                    matrix.dot(r, &self.work) + end.bias(row) <= zero
                }
            };
            if is_undetermined {
                undetermined.push(i);
            }
        }
        self.undetermined += undetermined.len() as u64;
        let result = if undetermined.is_empty() {
            Ok(())
        } else {
            self.probe(system, &undetermined)
        };
        self.impact.selection.place = undetermined;
        result
    }

    fn probe(&mut self, system: &dyn System, undetermined: &[usize]) -> Result<(), StepError> {
        let zero = self.scales.zero_acceleration();
        let ng = self.step.dims.ng;
        self.extrapolate(system)?;
        for &i in undetermined {
            let kept = self.arc.modes[i];
            self.arc.modes[i] = Mode::Open;
            let arc = &mut self.arc;
            if !arc.accelerations.evaluate(&arc.trial, ng, &arc.modes) {
                return Err(no_forces(system, &arc.trial, &arc.modes.list));
            }
            arc.accelerations.accelerate(&mut self.work);
            let row = Row::Normal(i, arc.trial.contacts.first_row[i]);
            let (matrix, r) = arc.trial.row(row);
            let gamma = matrix.dot(r, &self.work) + arc.trial.bias(row);
            if gamma < -zero {
                arc.modes[i] = match kept {
                    Mode::Open if arc.modes.tangents[i] > 0 => Mode::Stick,
                    Mode::Open => Mode::Closed,
                    kept => kept,
                };
            }
        }
        Ok(())
    }

    /// Moves the work stage of the arc ahead of the end by a moment, along the accelerations in `work`.
    fn extrapolate(&mut self, system: &dyn System) -> Result<(), StepError> {
        let (end, arc) = (&self.step.end, &mut self.arc);
        let scales = &self.scales;
        let time = if scales.acceleration > 0.0 {
            (scales.speed / scales.acceleration).min(self.nominal)
        } else {
            self.nominal
        };
        let d = AHEAD * time;
        for j in 0..self.work.len() {
            let (v, a) = (end.v[j], self.work[j]);
            arc.trial.v[j] = v + d * a;
            self.work[j] = d * v + 0.5 * d * d * a;
        }
        arc.trial.take_contacts(end);
        arc.trial.retract(system, end, &self.work, end.t + d);
        arc.trial.evaluate(system, super::NAME)?;
        arc.trial.evaluate_laws(system);
        arc.trial.evaluate_force(system)?;
        arc.trial.evaluate_bias(system);
        Ok(())
    }
}
