//! What the operating system tells a program that runs.

use crate::INTERRUPTED;
use saltus::observe::StopFlag;

/// A flag that Ctrl-C raises, and SIGTERM; a second Ctrl-C ends the program at once.
pub fn stop_on_interrupt() -> StopFlag {
    let flag = StopFlag::new();
    let raised = flag.clone();
    let handler = move || {
        if raised.is_raised() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        raised.raise();
    };
    // Without a handler Ctrl-C ends the program as it always does.
    let _ = ctrlc::set_handler(handler);
    flag
}

/// A file that reaches the limit of `ulimit -f` is an error of writing, and does not kill the program.
pub fn full_disk_is_an_error() {
    #[cfg(unix)]
    {
        use std::sync::Arc;
        use std::sync::atomic::AtomicBool;
        let told = Arc::new(AtomicBool::new(false));
        // Without a handler the limit kills the program, as it always does.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, told);
    }
}
