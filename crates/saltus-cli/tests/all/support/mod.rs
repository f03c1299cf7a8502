//! The built program, folders to run it in, and problems to give it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn saltus(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_saltus"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts")
}

/// An empty folder of its own for each test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

pub const SLIDING: &str = r#"{"kind":"friction","dimension":3,"delassus":[[0,0,1],[1,1,1],[2,2,1]],"q":[-0.1,1,0],"mu":[0.3]}"#;
pub const SMALL: &str = r#"{"kind":"lcp","matrix":[[2,1],[1,2]],"q":[-1,1]}"#;

/// Runs `saltus solve ARGUMENTS` and wants exit code `code` and `words` on standard error.
pub fn refused(at: &Path, arguments: &[&str], code: i32, words: &str) -> Output {
    let out = saltus(&[&["solve"], arguments].concat(), at);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{arguments:?}: {out:?}");
    assert!(said.contains(words), "{arguments:?}: {said}");
    out
}

/// Exit code, standard output and standard error.
pub fn said(at: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = saltus(arguments, at);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The column `name` of a CSV file; empty cells are not numbers.
pub fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines();
    let index = lines.next().unwrap().split(',').position(|c| c == name);
    let index = index.unwrap_or_else(|| panic!("no column {name}"));
    lines
        .map(|line| {
            line.split(',')
                .nth(index)
                .unwrap()
                .parse()
                .unwrap_or(f64::NAN)
        })
        .collect()
}
