//! The observer that keeps a run in memory.

use crate::columns::{Layout, Selection};
use crate::observe::{Closures, Thinning};
use crate::trajectory::Trajectory;
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Values for which room is made at the start at most; beyond, memory grows as usual.
const RESERVE: usize = 1 << 25;

/// Records the rows of a run in a [`Trajectory`], all of them or thinned.
///
/// What was recorded before a failed step is kept.
#[derive(Debug, Clone)]
pub struct Recorder {
    selection: Selection,
    layout: Layout,
    trajectory: Trajectory,
    row: Vec<f64>,
    closures: Closures,
    thinning: Thinning,
    before: Option<Vec<u64>>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Records every row.
    #[must_use]
    pub fn new() -> Self {
        Self {
            selection: Selection::default(),
            layout: Layout::default(),
            trajectory: Trajectory::default(),
            row: Vec::new(),
            closures: Closures::default(),
            thinning: Thinning::new(1),
            before: None,
        }
    }

    /// Records rows whose step is a multiple of `n`, the last row, and every impact with the row before it.
    #[must_use]
    pub fn every(mut self, n: u64) -> Self {
        self.thinning = Thinning::new(n);
        self
    }

    /// Records these coordinates only, and derived columns.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// What was recorded.
    #[must_use]
    pub fn trajectory(&self) -> &Trajectory {
        &self.trajectory
    }

    /// What was recorded.
    #[must_use]
    pub fn into_trajectory(self) -> Trajectory {
        self.trajectory
    }
}

impl Observer for Recorder {
    fn begin(&mut self, info: &RunInfo<'_>, first: &Frame<'_>) -> Result<(), ObserverError> {
        let (layout, columns) = Layout::new(info, &self.selection)?;
        self.layout = layout;
        self.row = vec![0.0; self.layout.width()];
        self.trajectory = Trajectory::new(columns);
        if self.thinning.keeps_all() {
            let rows = info
                .plan
                .steps()
                .saturating_sub(info.plan.first)
                .saturating_add(1);
            let most = RESERVE / self.layout.width();
            self.trajectory
                .reserve(usize::try_from(rows).unwrap_or(most).min(most));
        }
        self.closures.begin(first, self.before.as_deref());
        self.layout.fill(first, &mut self.row);
        self.trajectory.push(&self.row);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        if self.thinning.keeps_all() {
            self.layout.fill(frame, self.trajectory.next_row());
        } else {
            self.layout.fill(frame, &mut self.row);
            let impact = self.closures.update(frame);
            let trajectory = &mut self.trajectory;
            let Ok(()) = self.thinning.take(frame.step, impact, &self.row, |row| {
                trajectory.push(row);
                Ok::<(), Infallible>(())
            });
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        if let Some(row) = self.thinning.finish() {
            self.trajectory.push(row);
        }
        Ok(())
    }
}
