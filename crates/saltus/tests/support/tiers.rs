//! Which tests run: a sample that touches everything, or all of them (`SALTUS_EXAMINE=all`, as before a change lands).

use std::io::Write as _;

/// Whether `SALTUS_EXAMINE=all` asks for every test.
pub fn takes_all() -> bool {
    std::env::var("SALTUS_EXAMINE").is_ok_and(|value| value == "all")
}

/// Whether a long test is left out, which is said aloud.
#[allow(dead_code)]
pub fn is_left_out(test: &str) -> bool {
    let left_out = !takes_all();
    if left_out {
        // Not `println!`, which is hidden where a test passes.
        let cure = "set SALTUS_EXAMINE=all to run it";
        let _ = writeln!(std::io::stderr(), "SKIPPED: {test} takes long; {cure}");
    }
    left_out
}
