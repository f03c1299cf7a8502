//! A progress bar on the terminal that costs the run nothing worth measuring.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use saltus::{Frame, Observer, ObserverError, RunInfo, Stop};
use saltus_model::number::general;
use std::io::{IsTerminal, Write as _};
use std::ops::ControlFlow;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Runs shorter than this need no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Length of the bar of a run whose number of steps is not known.
const PER_MILLE: u64 = 1000;
/// In a log a line is written about this often.
const LINES: Duration = Duration::from_secs(10);
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

/// Shows how far a run has come: a bar on a terminal, else a line every ten seconds.
pub struct Progress {
    quiet: bool,
    /// Whether there is a terminal for a bar.
    terminal: bool,
    bar: Option<ProgressBar>,
    started: Instant,
    drawn: Instant,
    looked: Instant,
    /// Steps of the whole run, and those before it began.
    steps: u64,
    first: u64,
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
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            bar: None,
            started: now,
            drawn: now,
            looked: now,
            steps: 0,
            first: 0,
            span: None,
            stride: 1,
            left: 1,
        }
    }

    fn look(&mut self, step: u64, t: f64) {
        let now = Instant::now();
        let since = now - self.looked;
        self.looked = now;
        self.stride = if since < INTERVAL / 2 {
            self.stride.saturating_mul(2)
        } else {
            (self.stride / 2).max(1)
        };
        self.left = self.stride;
        if !self.terminal {
            if now - self.drawn >= LINES {
                self.drawn = now;
                self.write_line(step, t);
            }
            return;
        }
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

impl Progress {
    /// One line of a log.
    fn write_line(&self, step: u64, t: f64) {
        #[allow(clippy::cast_precision_loss)]
        let share = match self.span {
            Some((begin, end)) => (t - begin) / (end - begin),
            None => {
                step.saturating_sub(self.first) as f64
                    / self.steps.saturating_sub(self.first).max(1) as f64
            }
        };
        let of = match self.span {
            Some(_) => String::new(),
            None => format!(" of {}", self.steps),
        };
        let passed = self.started.elapsed().as_secs_f64();
        let left = general((passed * (1.0 - share) / share).round());
        let percent = 100.0 * share;
        let t = general(t);
        let line = format!("{percent:.1} %: {step}{of} steps, t = {t} s, {left} s left");
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// What is to be said of a step \[s\] and of the largest stable one.
pub fn stability(step: f64, limit: f64) -> String {
    if limit == 0.0 {
        return "no step of this explicit method is stable about the start, where vibrations are undamped or nearly so: they grow in every step; use `half-explicit` with `method = \"hem3\"` or an implicit scheme".to_owned();
    }
    let (step_text, limit_text) = (general(step), general(limit));
    if step > limit {
        format!(
            "the step of {step_text} s is beyond the limit of the explicit scheme about the start, {limit_text} s: the fastest vibration will grow until the run fails; take a smaller `step`, or an implicit scheme"
        )
    } else {
        format!("the largest stable step about the start is {limit_text} s")
    }
}

/// Steps between two outputs from which on it is worth a word that stability forces them.
const MANY_STEPS: f64 = 50.0;

/// The steps that stability forces on the explicit method of `event-driven`, where there are many of them between two outputs.
pub fn stiffness(step: f64, forced: f64) -> Option<String> {
    let count = step / forced;
    (count >= MANY_STEPS).then(|| {
        format!(
            "stability about the start forces steps of {} s on the explicit method, {count:.0} between two outputs; where fast vibrations and decays do not matter, set `stiff = true` in the scheme",
            general(forced)
        )
    })
}

impl Observer for Progress {
    fn begin(&mut self, info: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        self.steps = info.plan.steps();
        let plan = info.plan;
        self.span = info.chooses_step.then_some((plan.begin(), plan.until));
        if let Some(limit) = info.stable_step
            && !self.quiet
        {
            crate::render::note(&stability(plan.step, limit));
        }
        if let Some(text) = info
            .forced_step
            .and_then(|forced| stiffness(plan.step, forced))
            && !self.quiet
        {
            crate::render::note(&text);
        }
        self.started = Instant::now();
        (self.drawn, self.looked) = (self.started, self.started);
        self.first = plan.first;
        Ok(())
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        if !self.quiet {
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

/// Shows how many of many things are done: a bar on a terminal, else a line every ten seconds.
pub struct Counter {
    quiet: bool,
    noun: &'static str,
    bar: Option<ProgressBar>,
    total: usize,
    first: usize,
    started: Instant,
    drawn: Instant,
}

impl Counter {
    /// Of `total`, `done` are there at the start.
    pub fn new(quiet: bool, noun: &'static str, done: usize, total: usize) -> Self {
        let now = Instant::now();
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(total as u64), target);
            let template =
                format!("{{bar:40}} {{percent:>3}} %  {{pos}}/{{len}} {noun}  {{eta}} left");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style);
            }
            bar.set_position(done as u64);
            bar.reset_eta();
            bar
        });
        Self {
            quiet,
            noun,
            bar,
            total,
            first: done,
            started: now,
            drawn: now,
        }
    }

    /// So many are done.
    pub fn set(&mut self, done: usize) {
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        } else if !self.quiet && self.drawn.elapsed() >= LINES {
            self.drawn = Instant::now();
            let passed = self.started.elapsed().as_secs_f64();
            #[allow(clippy::cast_precision_loss)]
            let each = passed / (done - self.first).max(1) as f64;
            #[allow(clippy::cast_precision_loss)]
            let left = general((each * (self.total - done) as f64).round());
            let line = format!("{done} of {} {}, {left} s left", self.total, self.noun);
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
