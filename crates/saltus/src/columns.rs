//! The columns of a trajectory: their names and units, and how a frame becomes a row.
//!
//! Every output (memory, CSV, NumPy, HDF5, report) reads the same row, so that they cannot differ.

use crate::acceleration::MeanAcceleration;
use crate::derived::{Bound, Derived};
use crate::supports::Supports;
use crate::trajectory::UnknownColumn;
use saltus_integrators::{ContactState, Frame, RunInfo};
use saltus_mechanics::flexible::{Assembly, NodeId, Probe};
use saltus_system::{Names, State};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Quantity {
    /// Time \[s\].
    Time,
    /// A position coordinate, in the unit of the model.
    Position,
    /// A velocity coordinate, in the unit of the model.
    Velocity,
    /// `g` of a bilateral constraint or the gap of a contact \[m\].
    Gap,
    /// Rate of a gap \[m/s\].
    GapVelocity,
    /// Total impulse of a constraint over the step \[N·s\].
    Impulse,
    /// Non-impulsive force of a constraint \[N\].
    Force,
    /// Slip velocity of a contact or a joint with friction \[m/s\].
    Slip,
    /// Tangential impulse of a contact or a joint with friction over the step \[N·s\].
    TangentialImpulse,
    /// What a contact or a joint with friction does: 0 open, 1 stick, 2 slip; in CSV the word.
    State,
    /// Kinetic energy \[J\].
    KineticEnergy,
    /// Potential energy \[J\].
    PotentialEnergy,
    /// Kinetic plus potential energy \[J\].
    TotalEnergy,
    /// Correction solves of the step.
    Iterations,
    /// A stress at a node of a solid \[Pa\].
    Stress,
    /// A strain at a node of a solid \[-\].
    Strain,
    /// The force \[N\] or moment \[N·m\] of a support.
    Reaction,
    /// What a formula of the user computes from other columns.
    Derived,
    /// A column of a file that was not written by this version.
    Other,
}

impl Quantity {
    /// The unit as printed; empty where the model alone knows it.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Gap => "m",
            Self::GapVelocity | Self::Slip => "m/s",
            Self::Impulse | Self::TangentialImpulse => "N·s",
            Self::Force => "N",
            Self::KineticEnergy | Self::PotentialEnergy | Self::TotalEnergy => "J",
            Self::Iterations | Self::Strain => "1",
            Self::Stress => "Pa",
            Self::Position
            | Self::Velocity
            | Self::State
            | Self::Reaction
            | Self::Derived
            | Self::Other => "",
        }
    }

    /// The quantity of a column of that name.
    fn of(name: &str) -> Self {
        match name {
            "t" => Self::Time,
            "energy.kinetic" => Self::KineticEnergy,
            "energy.potential" => Self::PotentialEnergy,
            "energy.total" => Self::TotalEnergy,
            "newton_iterations" => Self::Iterations,
            _ => match name.split_once('.').map(|(prefix, _)| prefix) {
                Some("q") => Self::Position,
                Some("v") => Self::Velocity,
                Some("gap") => Self::Gap,
                Some("gap_velocity") => Self::GapVelocity,
                Some("impulse") => Self::Impulse,
                Some("force") => Self::Force,
                Some("slip") => Self::Slip,
                Some("impulse_t") => Self::TangentialImpulse,
                Some("state") => Self::State,
                Some("reaction") => Self::Reaction,
                Some(p) if p.starts_with("stress_") || p == "von_mises" => Self::Stress,
                Some(p) if p.starts_with("strain_") => Self::Strain,
                _ => Self::Other,
            },
        }
    }
}

/// A named column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: String,
    quantity: Quantity,
    unit: Cow<'static, str>,
}

impl Column {
    /// The column called `name`; its name says what it holds.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let quantity = Quantity::of(&name);
        Self {
            quantity,
            name,
            unit: quantity.unit().into(),
        }
    }

    /// A component of the force of a support.
    pub(crate) fn reaction(support: &str, component: &str, unit: &'static str) -> Self {
        Self {
            name: format!("reaction.{support}.{component}"),
            quantity: Quantity::Reaction,
            unit: unit.into(),
        }
    }

    /// A column that a formula computes.
    pub(crate) fn derived(name: &str, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            quantity: Quantity::Derived,
            unit: unit.to_owned().into(),
        }
    }

    /// The full name, e.g. `q.y`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the coordinate or constraint, e.g. `y` of `q.y`.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name
            .split_once('.')
            .map_or(&self.name, |(_, label)| label)
    }

    /// What it holds.
    #[must_use]
    pub fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Its unit; empty where nobody said it.
    #[must_use]
    pub fn unit(&self) -> &str {
        &self.unit
    }
}

/// Values per constraint: gap, rate, impulse, force.
const PER_CONSTRAINT: usize = 4;

/// Which coordinates become columns, by their numbers; all where nothing is chosen.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Positions.
    pub positions: Option<Vec<usize>>,
    /// Velocities.
    pub velocities: Option<Vec<usize>>,
    /// Stresses and resultants at nodes.
    pub fields: Option<Fields>,
    /// Forces of supports.
    pub supports: Option<Supports>,
    /// Columns that formulas compute from the others.
    pub derived: Vec<Derived>,
    /// Units of coordinates by the names of their columns, such as `q.theta`.
    pub units: HashMap<String, String>,
}

/// Stresses and section forces at nodes of flexible parts, as columns `stress_xx.NODE`.
#[derive(Debug, Clone)]
pub struct Fields {
    assembly: Arc<Assembly>,
    probes: Vec<Probe>,
}

impl Fields {
    /// Those at these nodes, as [`Probe`] tells them.
    #[must_use]
    pub fn at(assembly: Arc<Assembly>, nodes: &[NodeId]) -> Self {
        Self {
            probes: Probe::at(&assembly, nodes),
            assembly,
        }
    }

    fn len(&self) -> usize {
        self.probes.iter().map(|probe| probe.columns().len()).sum()
    }

    fn columns(&self) -> impl Iterator<Item = Column> + '_ {
        let columns = self.probes.iter().flat_map(Probe::columns);
        columns.map(|column| Column::new(column.name()))
    }

    fn fill(&self, state: &State, acceleration: &[f64], mut row: &mut [f64]) {
        for probe in &self.probes {
            let (cells, rest) = row.split_at_mut(probe.columns().len());
            probe.values(&self.assembly, state.point(), acceleration, cells);
            row = rest;
        }
    }
}

/// Some of a vector, or all of it.
#[derive(Debug, Clone)]
enum Choice {
    All(usize),
    Some(Vec<usize>),
}

impl Default for Choice {
    fn default() -> Self {
        Self::All(0)
    }
}

impl Choice {
    /// Numbers beyond the `total` choose nothing.
    fn new(chosen: Option<&Vec<usize>>, total: usize) -> Self {
        match chosen {
            None => Self::All(total),
            Some(list) => Self::Some(list.iter().copied().filter(|&i| i < total).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::All(total) => *total,
            Self::Some(list) => list.len(),
        }
    }

    fn names<'a>(&'a self, names: &'a [String]) -> Box<dyn Iterator<Item = &'a String> + 'a> {
        match self {
            Self::All(_) => Box::new(names.iter()),
            Self::Some(list) => Box::new(list.iter().map(|&i| &names[i])),
        }
    }

    #[inline]
    fn copy(&self, to: &mut [f64], from: &[f64]) {
        match self {
            Self::All(_) => copy(to, from),
            Self::Some(list) => {
                for (to, &i) in to.iter_mut().zip(list) {
                    *to = from[i];
                }
            }
        }
    }
}

/// How a frame of a run becomes a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    positions: Choice,
    velocities: Choice,
    ng: usize,
    contacts: usize,
    /// Contact id, tangential directions and first cell among the frictional ones, of each contact with friction.
    friction: Vec<(usize, usize, usize)>,
    /// Slip rows, first of them, and first cell among the frictional ones, of each element of friction in joints.
    joints: Vec<(usize, usize, usize)>,
    /// Number of cells of them all.
    friction_cells: usize,
    fields: Option<Fields>,
    supports: Option<Supports>,
    acceleration: MeanAcceleration,
    derived: Vec<Bound>,
    /// What stands for a contact that is not near: 0 N, or nothing where the scheme has no forces.
    no_force: f64,
}

impl Layout {
    /// The layout of a run, and its columns.
    pub(crate) fn new(
        info: &RunInfo<'_>,
        selection: &Selection,
    ) -> Result<(Self, Vec<Column>), UnknownColumn> {
        let names = info.names;
        let mut friction = Vec::new();
        let mut friction_cells = 0;
        for (id, &tangents) in info.tangents.iter().enumerate().take(names.contacts.len()) {
            if tangents > 0 {
                friction.push((id, usize::from(tangents), friction_cells));
                friction_cells += 2 * usize::from(tangents) + 1;
            }
        }
        let mut joints = Vec::new();
        let mut rows = 0;
        for &tangents in info.joint_tangents {
            let tangents = usize::from(tangents);
            joints.push((tangents, rows, friction_cells));
            rows += tangents;
            friction_cells += 2 * tangents + 1;
        }
        let mut layout = Self {
            friction,
            joints,
            friction_cells,
            positions: Choice::new(selection.positions.as_ref(), names.positions.len()),
            velocities: Choice::new(selection.velocities.as_ref(), names.velocities.len()),
            ng: names.bilateral.len(),
            contacts: names.contacts.len(),
            fields: selection.fields.clone(),
            supports: selection.supports.clone(),
            acceleration: MeanAcceleration::default(),
            derived: Vec::new(),
            no_force: if info.has_forces { 0.0 } else { f64::NAN },
        };
        let mut columns = layout.columns(names, selection);
        for column in &mut columns {
            if let Some(unit) = selection.units.get(column.name()) {
                column.unit = unit.clone().into();
            }
        }
        for derived in &selection.derived {
            let bound = Bound::new(derived, names, &columns)?;
            layout.derived.push(bound);
            columns.push(derived.column());
        }
        Ok((layout, columns))
    }

    /// Number of values in a row.
    pub(crate) fn width(&self) -> usize {
        1 + self.positions.len()
            + self.velocities.len()
            + PER_CONSTRAINT * (self.ng + self.contacts)
            + self.friction_cells
            + self.fields.as_ref().map_or(0, Fields::len)
            + self.supports.as_ref().map_or(0, Supports::len)
            + 4
            + self.derived.len()
    }

    /// Writes `frame` to `row` ([`width`](Self::width)); NaN stands for an empty cell.
    #[inline]
    pub(crate) fn fill(&mut self, frame: &Frame<'_>, row: &mut [f64]) {
        let first = row.len() - self.derived.len();
        self.fill_known(frame, &mut row[..first]);
        for (k, bound) in self.derived.iter_mut().enumerate() {
            let (before, cell) = row.split_at_mut(first + k);
            cell[0] = bound.value(frame, before);
        }
    }

    #[inline]
    fn fill_known(&mut self, frame: &Frame<'_>, row: &mut [f64]) {
        let (report, reactions) = (frame.report, &frame.reactions);
        row[0] = frame.state.t;
        let (positions, row) = row[1..].split_at_mut(self.positions.len());
        let (velocities, row) = row.split_at_mut(self.velocities.len());
        let (bilateral, row) = row.split_at_mut(PER_CONSTRAINT * self.ng);
        let (contacts, row) = row.split_at_mut(PER_CONSTRAINT * self.contacts);
        let (friction, row) = row.split_at_mut(self.friction_cells);
        self.fill_friction(frame, friction);
        self.fill_joints(frame, friction);
        self.positions.copy(positions, &frame.state.q);
        self.velocities.copy(velocities, &frame.state.v);
        for (i, cells) in bilateral.chunks_exact_mut(PER_CONSTRAINT).enumerate() {
            cells[0] = reactions.bilateral_gap[i];
            cells[1] = reactions.bilateral_velocity[i];
            cells[2] = reactions.bilateral_impulse[i];
            cells[3] = reactions
                .bilateral_force
                .get(i)
                .copied()
                .unwrap_or(f64::NAN);
        }
        let ids = &reactions.contacts.id;
        let all =
            ids.len() == self.contacts && ids.iter().enumerate().all(|(i, id)| id.0 == i as u64);
        if !all {
            for cells in contacts.chunks_exact_mut(PER_CONSTRAINT) {
                cells.copy_from_slice(&[f64::NAN, f64::NAN, 0.0, self.no_force]);
            }
        }
        for (i, id) in ids.iter().enumerate() {
            let slot = usize::try_from(id.0).unwrap_or(usize::MAX);
            if slot >= self.contacts {
                continue; // a contact without a name has no column
            }
            let cells = &mut contacts[PER_CONSTRAINT * slot..][..PER_CONSTRAINT];
            cells[0] = reactions.contacts.gap[i];
            cells[1] = reactions.gap_velocity[i];
            cells[2] = reactions.impulse[i];
            cells[3] = reactions.force.get(i).copied().unwrap_or(f64::NAN);
        }
        if self.fields.is_some() || self.supports.is_some() {
            self.acceleration.update(frame.state);
        }
        let acceleration = self.acceleration.values();
        let (fields, row) = row.split_at_mut(self.fields.as_ref().map_or(0, Fields::len));
        if let Some(chosen) = &self.fields {
            chosen.fill(frame.state, acceleration, fields);
        }
        let (supports, row) = row.split_at_mut(self.supports.as_ref().map_or(0, Supports::len));
        if let Some(forces) = &self.supports {
            forces.fill(frame.state, acceleration, supports);
        }
        row[0] = report.energy.kinetic;
        row[1] = report.energy.potential;
        row[2] = report.energy.total();
        row[3] = f64::from(report.iterations);
    }
}

impl Layout {
    /// Slip, tangential impulse and state of the contacts with friction; a contact that is not near is open.
    fn fill_friction(&self, frame: &Frame<'_>, cells: &mut [f64]) {
        if self.friction.is_empty() {
            return;
        }
        let reactions = &frame.reactions;
        let set = reactions.contacts;
        for &(id, tangents, first) in &self.friction {
            let cells = &mut cells[first..=first + 2 * tangents];
            let found = set.id.binary_search_by(|own| own.0.cmp(&(id as u64)));
            let known = found.ok().filter(|&i| i < reactions.state.len());
            let Some(i) = known else {
                cells.fill(0.0);
                cells[..tangents].fill(f64::NAN);
                continue;
            };
            let row = set.first_row[i] + 1;
            cells[..tangents].copy_from_slice(&reactions.row_velocity[row..row + tangents]);
            cells[tangents..2 * tangents]
                .copy_from_slice(&reactions.row_impulse[row..row + tangents]);
            cells[2 * tangents] = state_cell(reactions.state[i]);
        }
    }

    /// The same of the friction in joints.
    fn fill_joints(&self, frame: &Frame<'_>, cells: &mut [f64]) {
        let reactions = &frame.reactions;
        for (k, &(tangents, row, first)) in self.joints.iter().enumerate() {
            let cells = &mut cells[first..=first + 2 * tangents];
            let rows = row..row + tangents;
            cells[..tangents].copy_from_slice(&reactions.friction_slip[rows.clone()]);
            cells[tangents..2 * tangents].copy_from_slice(&reactions.friction_impulse[rows]);
            cells[2 * tangents] = state_cell(reactions.friction_state[k]);
        }
    }

    /// All columns of a run, in their order.
    fn columns(&self, names: &Names, selection: &Selection) -> Vec<Column> {
        let mut columns = vec![Column::new("t")];
        columns.extend(
            self.positions
                .names(&names.positions)
                .map(|n| Column::new(format!("q.{n}"))),
        );
        columns.extend(
            self.velocities
                .names(&names.velocities)
                .map(|n| Column::new(format!("v.{n}"))),
        );
        for name in names.bilateral.iter().chain(&names.contacts) {
            columns.extend(
                ["gap", "gap_velocity", "impulse", "force"]
                    .map(|p| Column::new(format!("{p}.{name}"))),
            );
        }
        let contacts = self.friction.iter();
        let contacts = contacts.map(|&(id, tangents, _)| (names.contacts[id].clone(), tangents));
        let joints = self.joints.iter().enumerate();
        let joints = joints.map(|(k, &(tangents, ..))| (names.friction_element(k), tangents));
        for (name, tangents) in contacts.chain(joints) {
            for prefix in ["slip", "impulse_t"] {
                if tangents == 1 {
                    columns.push(Column::new(format!("{prefix}.{name}")));
                } else {
                    columns.extend(
                        (1..=tangents).map(|k| Column::new(format!("{prefix}.{name}.{k}"))),
                    );
                }
            }
            columns.push(Column::new(format!("state.{name}")));
        }
        columns.extend(self.fields.iter().flat_map(Fields::columns));
        let supports = selection.supports.iter();
        columns.extend(supports.flat_map(|supports| supports.columns().iter().cloned()));
        columns.extend(
            [
                "energy.kinetic",
                "energy.potential",
                "energy.total",
                "newton_iterations",
            ]
            .map(Column::new),
        );
        columns
    }
}

/// The number of a state in a row.
fn state_cell(state: ContactState) -> f64 {
    match state {
        ContactState::Open => 0.0,
        ContactState::Closed | ContactState::Stick => 1.0,
        ContactState::Slip => 2.0,
    }
}

/// Copies short slices; a loop, because a call to `memcpy` costs more than the few values.
#[inline]
fn copy(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_column_holds() {
        let column = Column::new("gap_velocity.floor.left");
        assert_eq!(column.quantity(), Quantity::GapVelocity);
        assert_eq!(column.label(), "floor.left");
        assert_eq!(column.unit(), "m/s");
        assert_eq!(Column::new("v.y").quantity(), Quantity::Velocity);
        assert_eq!(Column::new("temperature").quantity(), Quantity::Other);
    }

    #[test]
    fn order_is_bilateral_before_contacts_and_grouped_by_constraint() {
        let names = Names {
            positions: vec!["x".into()],
            velocities: vec!["x".into()],
            bilateral: vec!["rod".into()],
            contacts: vec!["floor".into()],
            ..Names::default()
        };
        let layout = Layout {
            positions: Choice::All(1),
            velocities: Choice::All(1),
            ..Layout::default()
        };
        let list: Vec<_> = layout
            .columns(&names, &Selection::default())
            .iter()
            .map(|c| c.name().to_owned())
            .collect();
        assert_eq!(
            list,
            [
                "t",
                "q.x",
                "v.x",
                "gap.rod",
                "gap_velocity.rod",
                "impulse.rod",
                "force.rod",
                "gap.floor",
                "gap_velocity.floor",
                "impulse.floor",
                "force.floor",
                "energy.kinetic",
                "energy.potential",
                "energy.total",
                "newton_iterations"
            ]
        );
    }
}
