//! What the operating system tells a program that runs.

use crate::{INTERRUPTED, render};
use saltus::observe::StopFlag;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What is run ends in good order within this time after it is told to, or the program ends without it.
const GRACE: Duration = Duration::from_secs(5);

/// Whether something is run that ends in good order.
static RUNS: AtomicBool = AtomicBool::new(false);

/// A flag that Ctrl-C raises, and SIGTERM. Before something [runs](begin), the program ends at once; then after the step, or where that takes
/// too long, or by a second Ctrl-C, in the middle of it.
pub fn stop_on_interrupt() -> StopFlag {
    let flag = StopFlag::new();
    let raised = flag.clone();
    let handler = move || {
        if raised.is_raised() || !RUNS.load(Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        raised.raise();
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            render::note(&format!(
                "the step did not end within {} s and was given up; what was written before it is on disk",
                GRACE.as_secs()
            ));
            std::process::exit(i32::from(INTERRUPTED));
        });
    };
    // Without a handler Ctrl-C ends the program as it always does.
    let _ = ctrlc::set_handler(handler);
    flag
}

/// From now on there is something that ends in good order.
pub fn begin() {
    RUNS.store(true, Ordering::Relaxed);
}

/// A file that reaches the limit of `ulimit -f` is an error of writing, and does not kill the program.
pub fn full_disk_is_an_error() {
    #[cfg(unix)]
    {
        use std::sync::Arc;
        let told = Arc::new(AtomicBool::new(false));
        // Without a handler the limit kills the program, as it always does.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, told);
    }
}
