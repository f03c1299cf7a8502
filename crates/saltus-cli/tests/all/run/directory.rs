//! The directory of a result: whose it is, what it is called, what is in it when the disk is full.

use super::{Folder, appears, good};
use std::process::{Command, Stdio};

/// Two runs into one directory would leave files of both.
#[test]
fn a_directory_belongs_to_one_run_at_a_time() {
    let folder = Folder::new("lock");
    let ball = good("ball.toml");
    let long = ["--step", "1e-9", "--every", "1000", "--quiet"];
    let mut child = folder
        .command(&[&["run", &ball, "--out", "same"], &long[..]].concat())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let growing = folder.0.join("same/trajectory.csv.partial");
    assert!(appears(&growing), "no table of steps after ten seconds");
    let (code, out, err) = folder.saltus(&["run", &ball, "--out", "same", "--force"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    let owner = format!("process {} on ", child.id());
    for part in [owner.as_str(), "`same`", "--out", "nothing was run"] {
        assert!(err.contains(part), "no {part:?} in {err}");
    }
    let (code, _, err) = folder.saltus(&["run", "--resume", "same"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(&owner), "{err}");
    // A killed run says that it ran, and leaves a directory that the next one may use.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.summary("same")["stop"], "running");
    let (code, _, err) = folder.saltus(&["run", "--resume", "same"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("was killed before it wrote one"), "{err}");
    assert_eq!(folder.saltus(&["run", &ball, "--out", "same"]).0, Some(0));
    assert_eq!(folder.summary("same")["stop"], "end-reached");
    for gone in [".lock", "trajectory.csv.partial"] {
        assert!(!folder.0.join("same").join(gone).exists(), "{gone} is left");
    }
}

#[test]
fn the_directory_is_named_by_values_of_the_model() {
    let folder = Folder::new("placeholders");
    let ball = good("ball.toml");
    let run = |out: &str, more: &[&str]| {
        folder.saltus(&[&["run", &ball, "--quiet", "--out", out], more].concat())
    };
    let set = [
        "--set",
        "parameters.h0=2*R+1",
        "--step",
        "1e-3",
        "--until",
        "0.1",
    ];
    let path = "{parameters.h0}/{simulation.step}-{simulation.scheme}-{simulation.scheme.theta}-{system.unilateral.floor.restitution}-{{x}}";
    let (code, _, err) = run(path, &set);
    assert_eq!(code, Some(0), "{err}");
    let summary = folder.summary("1.4/0.001-moreau-jean-0.5-e-{x}");
    assert_eq!(summary["step"], 1e-3);
    let cases = [
        (
            "out/{parameters.hO}",
            "there is no \"hO\" in parameters, did you mean \"h0\"?",
            "\"R\"",
        ),
        ("out/{simulaton.step}", "\"simulaton\"", "\"simulation\""),
        (
            "out/{system.unilateral.roof.gap}",
            "there is no \"roof\" in system.unilateral",
            "\"floor\"",
        ),
        ("out/{parameters}", "parameters is a table", "\"h0\""),
        ("out/{parameters.h0", "brace", "{}"),
    ];
    for (path, reason, more) in cases {
        let (code, out, err) = run(path, &[]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{path}: {err}");
        for part in ["--out", reason, more, "nothing was run"] {
            assert!(err.contains(part), "{path}: no {part:?} in {err}");
        }
    }
    assert!(!folder.0.join("out").exists());
}

/// A file that can grow no further ends the run, and the summary says so.
#[cfg(unix)]
#[test]
fn a_full_disk_is_told_in_the_summary() {
    let folder = Folder::new("full");
    let ball = good("ball.toml");
    // Files of 256 KiB at most: the table does not fit, or, of a ball at rest, the columns do not.
    let cases: [(&str, &[&str]); 3] = [
        ("trajectory.csv", &["--step", "1e-4"]),
        (
            "trajectory.npz",
            &["--step", "1e-3", "--set", "parameters.h0=0.2", "-f", "npz"],
        ),
        (
            "trajectory.h5",
            &["--step", "1e-3", "--set", "parameters.h0=0.2", "-f", "hdf5"],
        ),
    ];
    for (file, flags) in cases {
        let limited = "ulimit -f 512; exec \"$@\"";
        let program = env!("CARGO_BIN_EXE_saltus");
        let output = Command::new("sh")
            .args(["-c", limited, "sh", program, "run", &ball, "--out", "full"])
            .args(flags)
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{file}: {err}");
        assert_eq!(output.stdout, b"", "{file}");
        let errors = err.lines().filter(|line| !line.starts_with("note: "));
        assert_eq!(errors.count(), 1, "{err}");
        let said = format!("cannot write `full/{file}");
        assert!(err.contains(&said), "{err}");
        let summary = folder.summary("full");
        assert_eq!(summary["stop"], "not-written");
        assert!(summary["error"].as_str().unwrap().contains(&said));
        for entry in std::fs::read_dir(folder.0.join("full")).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let length = entry.metadata().unwrap().len();
            assert!(length > 0, "{name} is empty");
            let table = name.starts_with("trajectory.csv");
            assert!(table || name == "summary.json", "{file}: {name} is left");
            if table {
                let rows = std::fs::read_to_string(entry.path()).unwrap();
                assert!(rows.ends_with('\n'), "{name} is torn");
            }
        }
        let (code, _, err) = folder.saltus(&["run", "--resume", "full"]);
        assert_eq!(code, Some(2), "{err}");
        assert!(
            err.contains("could not write its result to the end"),
            "{err}"
        );
    }
}
