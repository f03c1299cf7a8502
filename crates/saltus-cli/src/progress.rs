//! A progress bar on the terminal that costs the run nothing worth measuring.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltus::{Frame, Observer, ObserverError, RunInfo, Stop};
use saltus_model::number::general;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Runs shorter than this need no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Length of the bar of a run whose number of steps is not known.
const PER_MILLE: u64 = 1000;
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
    quiet: bool,
    wanted: bool,
    bar: Option<ProgressBar>,
    started: Instant,
    drawn: Instant,
    steps: u64,
    /// Begin and end of the run \[s\], where the number of its steps is not known.
    span: Option<(f64, f64)>,
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
            quiet,
            wanted,
            bar: None,
            started: now,
            drawn: now,
            steps: 0,
            span: None,
            stride: 1,
            left: 1,
        }
    }

    fn look(&mut self, step: u64, t: f64) {
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
        let (steps, template) = match self.span {
            Some(_) => (
                PER_MILLE,
                "{bar:40} {percent:>3} %  {msg} steps  {eta} left",
            ),
            None => (
                self.steps,
                "{bar:40} {percent:>3} %  {pos}/{len} steps  {eta} left",
            ),
        };
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        match self.span {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Some((begin, end)) => {
                let share = (t - begin) / (end - begin);
                bar.set_message(step.to_string());
                bar.set_position((PER_MILLE as f64 * share) as u64);
            }
            None => bar.set_position(step),
        }
    }
}

/// What is to be said of a step \[s\] beyond the largest stable one.
pub fn unstable(step: f64, limit: f64) -> Option<String> {
    (step > limit).then(|| {
        format!(
            "the step of {} s is beyond the limit of the explicit scheme about the start, {} s: the fastest vibration will grow until the run fails; take a smaller `step`, or an implicit scheme",
            general(step),
            general(limit)
        )
    })
}

impl Observer for Progress {
    fn begin(&mut self, info: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        self.steps = info.plan.steps();
        let plan = info.plan;
        self.span = info.chooses_step.then_some((plan.begin(), plan.until));
        if let Some(warning) = info
            .stable_step
            .and_then(|limit| unstable(plan.step, limit))
            && !self.quiet
        {
            crate::render::note(&warning);
        }
        self.started = Instant::now();
        self.drawn = self.started;
        Ok(())
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        if self.wanted {
            self.left -= 1;
            if self.left == 0 {
                self.look(frame.step, frame.state.t);
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
