//! Ends a run in good order from elsewhere: Ctrl-C, another thread.

use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the run after the step in which the flag is raised; every file is completed.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A lowered flag.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag; clones share it.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Observer for StopFlag {
    fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        Ok(())
    }

    fn frame(&mut self, _: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        Ok(if self.is_raised() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(())
    }
}
