//! A progress bar on the terminal that costs the run nothing worth measuring.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltus::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Runs shorter than this need no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// The bar moves about this often.
const INTERVAL: Duration = Duration::from_millis(60);

/// Does `work`, with a word and a moving sign on the terminal where that takes longer than one waits without.
pub fn patiently<R>(word: &'static str, quiet: bool, work: impl FnOnce() -> R) -> R {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let sign = ProgressBar::new_spinner().with_message(word);
            sign.enable_steady_tick(INTERVAL);
            // Ends when `done` is dropped.
            let _ = wait.recv();
            sign.finish_and_clear();
        });
        let result = work();
        drop(done);
        result
    })
}

/// Shows how far a run has come, if standard error is a terminal.
pub struct Progress {
    wanted: bool,
    bar: Option<ProgressBar>,
    started: Instant,
    drawn: Instant,
    steps: u64,
    /// Steps between looks at the clock, and steps until the next one.
    stride: u64,
    left: u64,
}

impl Progress {
    /// A bar that appears where there is someone to see it, unless `quiet`.
    pub fn new(quiet: bool) -> Self {
        let now = Instant::now();
        let wanted = !quiet && std::io::stderr().is_terminal();
        Self {
            wanted,
            bar: None,
            started: now,
            drawn: now,
            steps: 0,
            stride: 1,
            left: 1,
        }
    }

    fn look(&mut self, step: u64) {
        let now = Instant::now();
        let since = now - self.drawn;
        self.drawn = now;
        self.stride = if since < INTERVAL / 2 {
            self.stride.saturating_mul(2)
        } else {
            (self.stride / 2).max(1)
        };
        self.left = self.stride;
        if now - self.started < PATIENCE {
            return;
        }
        let steps = self.steps;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(
                "{bar:40} {percent:>3} %  {pos}/{len} steps  {eta} left",
            ) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(step);
    }
}

impl Observer for Progress {
    fn begin(&mut self, info: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        self.steps = info.plan.steps();
        self.started = Instant::now();
        self.drawn = self.started;
        Ok(())
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        if self.wanted {
            self.left -= 1;
            if self.left == 0 {
                self.look(frame.step);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        Ok(())
    }
}
