//! Ends a run in good order when a condition on its columns holds.

use crate::columns::{Layout, Selection};
use crate::derived::Derived;
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;

/// Ends the run after the first step at whose end a condition holds; the initial state does not count.
#[derive(Debug, Clone)]
pub struct StopWhen {
    text: String,
    selection: Selection,
    layout: Layout,
    row: Vec<f64>,
    holds: bool,
}

impl StopWhen {
    /// Ends where `condition` is above 0; `text` is what a summary calls it. The condition may use the columns `derived`.
    #[must_use]
    pub fn new(text: impl Into<String>, derived: &[Derived], condition: Derived) -> Self {
        let derived = derived.iter().cloned().chain([condition]);
        Self {
            text: text.into(),
            selection: Selection {
                positions: Some(Vec::new()),
                velocities: Some(Vec::new()),
                derived: derived.collect(),
                ..Selection::default()
            },
            layout: Layout::default(),
            row: Vec::new(),
            holds: false,
        }
    }

    /// With the columns of stresses at nodes and of supports of `selection`, for conditions that use them.
    #[must_use]
    pub fn with(mut self, selection: &Selection) -> Self {
        self.selection.fields.clone_from(&selection.fields);
        self.selection.supports.clone_from(&selection.supports);
        self
    }
}

impl Observer for StopWhen {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        self.layout = Layout::new(info, &self.selection)?.0;
        self.row = vec![0.0; self.layout.width()];
        // Rates over the first step begin here.
        self.layout.fill(first, &mut self.row);
        self.holds = false;
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        self.layout.fill(frame, &mut self.row);
        self.holds = self.row.last().is_some_and(|value| *value > 0.0);
        Ok(if self.holds {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(())
    }

    fn condition(&self) -> Option<&str> {
        self.holds.then_some(self.text.as_str())
    }
}
