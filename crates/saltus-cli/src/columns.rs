//! The columns of the trajectory of a model.

use saltus::observe::StopWhen;
use saltus::{Derived, Fields, Selection, Supports};
use saltus_model::{Model, Quantity};

/// What is written of a model, and in which units.
pub fn selection(model: &Model) -> Selection {
    let mut selection = Selection {
        derived: model.quantities.iter().map(derived).collect(),
        units: model.units.iter().cloned().collect(),
        ..Selection::default()
    };
    if let Some(columns) = &model.columns {
        selection.positions = Some(columns.positions.clone());
        selection.velocities = Some(columns.velocities.clone());
    }
    selection.fields = fields(model);
    selection.supports = supports(model);
    selection
}

/// Stresses and resultants at the nodes that the model chooses.
fn fields(model: &Model) -> Option<Fields> {
    let assembly = model.assembly.as_ref()?;
    (!model.fields.is_empty()).then(|| Fields::at(assembly.clone(), &model.fields))
}

/// Forces of the supports of the model.
fn supports(model: &Model) -> Option<Supports> {
    let assembly = model.assembly.as_ref()?;
    let list = &model.supports;
    (!list.is_empty()).then(|| Supports::at(assembly.clone(), list))
}

/// A quantity of the model as a column.
fn derived(quantity: &Quantity) -> Derived {
    let formula = quantity.clone();
    let column = Derived::new(
        quantity.name(),
        quantity.inputs().to_vec(),
        move |values: &[f64]| formula.evaluate(values),
    );
    column.unit(quantity.unit())
}

/// What ends the run where the condition of the model holds.
pub fn stop_when(model: &Model) -> Option<StopWhen> {
    let condition = model.stop.as_ref()?;
    let columns: Vec<Derived> = model.quantities.iter().map(derived).collect();
    let stop = StopWhen::new(condition.text(), &columns, derived(condition.quantity()));
    Some(stop.with(&selection(model)))
}
