//! Columns that are computed from others: formulas of coordinates, gaps, impulses, energies and the time.

use crate::columns::Column;
use crate::trajectory::UnknownColumn;
use saltus_integrators::Frame;
use saltus_system::Names;
use std::fmt;
use std::sync::Arc;

/// A function of the values of some columns.
type Formula = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A column whose values are computed from those of others, of all coordinates, written or not.
#[derive(Clone)]
pub struct Derived {
    name: String,
    unit: String,
    inputs: Vec<String>,
    formula: Formula,
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derived")
            .field("name", &self.name)
            .field("unit", &self.unit)
            .field("inputs", &self.inputs)
            .finish_non_exhaustive()
    }
}

impl Derived {
    /// The column `name`: `formula` of the values of the columns `inputs`, such as `t`, `q.y`, `gap.floor` or another derived
    /// column that comes before this one.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        inputs: Vec<String>,
        formula: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            unit: String::new(),
            inputs,
            formula: Arc::new(formula),
        }
    }

    /// Its unit, as printed.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    pub(crate) fn column(&self) -> Column {
        Column::derived(&self.name, &self.unit)
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
enum Input {
    Position(usize),
    Velocity(usize),
    /// A cell of the row.
    Cell(usize),
}

/// A derived column of a run.
#[derive(Clone)]
pub(crate) struct Bound {
    inputs: Vec<Input>,
    values: Vec<f64>,
    formula: Formula,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inputs.fmt(f)
    }
}

impl Bound {
    /// `derived` in a run whose coordinates have these `names` and whose rows begin with `columns`.
    pub(crate) fn new(
        derived: &Derived,
        names: &Names,
        columns: &[Column],
    ) -> Result<Self, UnknownColumn> {
        let find = |list: &[String], name: &str| list.iter().position(|known| known == name);
        let input = |name: &String| {
            let cell = columns.iter().position(|column| column.name() == name);
            let coordinate = || match name.split_once('.')? {
                ("q", name) => find(&names.positions, name).map(Input::Position),
                ("v", name) => find(&names.velocities, name).map(Input::Velocity),
                _ => None,
            };
            let found = cell.map(Input::Cell).or_else(coordinate);
            found.ok_or_else(|| UnknownColumn {
                name: name.clone(),
                columns: columns.iter().map(|c| c.name().to_owned()).collect(),
            })
        };
        let inputs: Result<Vec<Input>, UnknownColumn> = derived.inputs.iter().map(input).collect();
        let inputs = inputs?;
        Ok(Self {
            values: vec![0.0; inputs.len()],
            inputs,
            formula: derived.formula.clone(),
        })
    }

    /// The value in `frame`, of which `row` holds the columns before this one.
    #[inline]
    pub(crate) fn value(&mut self, frame: &Frame<'_>, row: &[f64]) -> f64 {
        for (value, input) in self.values.iter_mut().zip(&self.inputs) {
            *value = match *input {
                Input::Position(i) => frame.state.q[i],
                Input::Velocity(i) => frame.state.v[i],
                Input::Cell(i) => row[i],
            };
        }
        (self.formula)(&self.values)
    }
}
