//! Short flags, `--json`, completions, manual pages.

use super::{Folder, good};
use serde_json::Value;
use std::process::Stdio;

#[test]
fn the_summary_is_printed_as_json() {
    let folder = Folder::new("json");
    let (code, out, err) = folder.saltus(&[
        "run",
        &good("ball.toml"),
        "--json",
        "-q",
        "-o",
        "here",
        "-f",
        "npz",
    ]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let mut printed: Value = serde_json::from_str(&out).unwrap();
    assert!(folder.0.join("here/trajectory.npz").is_file());
    assert_eq!(printed["directory"], "here");
    printed.as_object_mut().unwrap().remove("directory");
    assert_eq!(printed, folder.summary("here"));
}

#[test]
fn a_full_standard_output_is_an_error() {
    let folder = Folder::new("stdout");
    let ball = good("ball.toml");
    let problem = folder.0.join("lcp.json").display().to_string();
    std::fs::write(
        &problem,
        r#"{ "kind": "mlcp", "equalities": 0, "matrix": [[2.0]], "q": [-1.0] }"#,
    )
    .unwrap();
    for arguments in [
        &["check", &ball][..],
        &["run", &ball],
        &["schemes"],
        &["--help"],
        &["--version"],
        &["run", "--help"],
        &["help", "sweep"],
        &["solve", &problem],
        &["modes", &ball],
        &["modes", &ball, "--out", "modes"],
        &["init", "pendulum"],
    ] {
        let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
            return; // not on this system
        };
        let output = folder
            .command(arguments)
            .stdout(Stdio::from(full))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("standard output"), "{err}");
    }
    assert_eq!(folder.summary("out/ball")["stop"], "end-reached");
}

#[test]
fn shells_and_manuals_know_every_command() {
    let folder = Folder::new("completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = folder.saltus(&["completions", shell]);
        assert_eq!(code, Some(0));
        for word in ["checkpoint-every", "sweep", "archive-failures"] {
            assert!(out.contains(word), "no {word} for {shell}");
        }
    }
    let (code, page, _) = folder.saltus(&["man"]);
    assert_eq!(code, Some(0));
    assert!(
        page.contains(".TH saltus 1") && page.contains("sweep"),
        "{page}"
    );
    let (code, page, _) = folder.saltus(&["man", "run"]);
    assert_eq!(code, Some(0));
    assert!(
        page.contains("checkpoint") && page.contains("saltus"),
        "{page}"
    );
    let (code, _, err) = folder.saltus(&["man", "fly"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("`fly`") && err.contains("sweep"), "{err}");
}
