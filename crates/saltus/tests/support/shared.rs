//! Where the reference data lie.

use std::io::Write as _;
use std::path::PathBuf;

/// A file of `../shared` beside the repository (or beside the directory that holds a linked work tree of it), or
/// `None`, said aloud, where it is absent; a failure where `SALTUS_REQUIRE_SHARED=1` demands it.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for beside in ["../shared", "../../shared"] {
        let file = root.join(beside).join(path);
        if file.exists() {
            return Some(file);
        }
    }
    let required = std::env::var("SALTUS_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "../shared/{path} is required and absent");
    // Not `println!`, which is hidden where a test passes.
    let cure = "set SALTUS_REQUIRE_SHARED=1 to make that a failure";
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: ../shared/{path} is absent; {cure}"
    );
    None
}
