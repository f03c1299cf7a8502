//! An observer that ends a run.

use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;

/// Ends a run after so many steps, whatever their length.
pub struct StopAfter(pub u64);

impl Observer for StopAfter {
    fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        Ok(if frame.step == self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(())
    }
}
