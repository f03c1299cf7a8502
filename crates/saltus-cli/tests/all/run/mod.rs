//! `saltus run` from outside: exit codes, files, and what it says.

mod completions;
mod directory;
mod events;
mod resume;
mod sweep;
mod words;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A new empty directory that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("saltus-run-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_saltus"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env("NO_COLOR", "1");
        command
    }

    fn saltus(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(arguments).output().unwrap();
        (
            status.code(),
            String::from_utf8(stdout).unwrap(),
            String::from_utf8(stderr).unwrap(),
        )
    }

    /// Whether a run has begun to write there.
    fn has(&self, directory: &str) -> bool {
        self.0.join(directory).join("summary.json").exists()
    }

    fn summary(&self, directory: &str) -> Value {
        serde_json::from_str(
            &std::fs::read_to_string(self.0.join(directory).join("summary.json")).unwrap(),
        )
        .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn good(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/good")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn a_run_writes_its_result_and_says_what_happened() {
    let folder = Folder::new("result");
    let (code, out, err) = folder.saltus(&[
        "run",
        &good("ball.toml"),
        "--report",
        "--format",
        "csv",
        "--format",
        "npz",
    ]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for part in [
        "Bouncing ball",
        "2000 steps",
        "impacts",
        "at rest",
        "certificate",
        "µs per step",
        "out/ball",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    for file in [
        "trajectory.csv",
        "trajectory.npz",
        "summary.json",
        "report.html",
    ] {
        assert!(folder.0.join("out/ball").join(file).is_file(), "no {file}");
    }
    let summary = folder.summary("out/ball");
    assert_eq!(summary["model"], "ball");
    assert_eq!(summary["steps"], 2000);
    assert_eq!(summary["stop"], "end-reached");
    assert_eq!(summary["scheme"]["name"], "moreau-jean");
    assert_eq!(summary["parameters"]["e"], 0.8);
    let rows = std::fs::read_to_string(folder.0.join("out/ball/trajectory.csv")).unwrap();
    assert_eq!(rows.lines().count(), 2002);
}

#[test]
fn flags_change_the_run() {
    let folder = Folder::new("flags");
    let (code, out, err) = folder.saltus(&[
        "run",
        &good("ball.toml"),
        "--step",
        "1e-3",
        "--until",
        "gap0",
        "--every",
        "100",
        "--out",
        "here",
        "--set",
        "simulation.scheme.theta=0.75",
        "--set",
        "parameters.R=0.001",
        "--quiet",
    ]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
    let summary = folder.summary("here");
    assert_eq!(summary["step"], 1e-3);
    assert_eq!(summary["steps"], 1000);
    assert_eq!(summary["scheme"]["theta"], 0.75);
    let rows = std::fs::read_to_string(folder.0.join("here/trajectory.csv"))
        .unwrap()
        .lines()
        .count();
    assert!((12..100).contains(&rows), "{rows} rows");
}

#[test]
fn set_wins_over_named_flags() {
    let folder = Folder::new("set-wins");
    let ball = good("ball.toml");
    let both = ["--set", "simulation.step=0.5", "--step", "0.25", "--quiet"];
    let (code, _, err) = folder.saltus(&[&["run", &ball], &both[..]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(folder.summary("out/ball")["step"], 0.5);
    let (_, help, _) = folder.saltus(&["run", "--help"]);
    assert!(help.contains("wins over --scheme, --step"), "{help}");
}

#[test]
fn steps_are_told_as_they_were_taken() {
    let folder = Folder::new("steps");
    let ball = good("ball.toml");
    let cases = [
        ("10", "4", "1 step of 4 s"),
        ("0.3", "1", "4 steps of 0.3 s, the last one of 0.1 s"),
        ("0.5", "1", "2 steps of 0.5 s"),
    ];
    for (step, until, words) in cases {
        let plan = ["--step", step, "--until", until];
        let (_, out, _) = folder.saltus(&[&["run", &ball], &plan[..]].concat());
        assert!(out.contains(&format!("  {words} with ")), "{out}");
        let (_, out, _) = folder.saltus(&[&["check", &ball], &plan[..]].concat());
        assert!(out.contains(&format!(" in {words}\n")), "{out}");
    }
}

#[test]
fn without_a_step_there_is_no_rest() {
    let folder = Folder::new("no-step");
    let (code, out, _) = folder.saltus(&["run", &good("ball.toml"), "--until", "0"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("0 steps of 0.002 s"), "{out}");
    assert!(!out.contains("rest") && !out.contains("Newton"), "{out}");
    let (code, out, _) = folder.saltus(&["run", &good("leaves_domain.toml"), "--step", "1"]);
    assert_eq!(code, Some(3));
    assert!(out.contains("0 steps of 1 s"), "{out}");
    assert!(!out.contains("rest"), "{out}");
}

#[test]
fn redundant_constraints_are_counted() {
    let folder = Folder::new("redundant");
    let model = good("redundant.toml");
    // Two of four constraints in two coordinates follow from the others.
    let words = "constraints are redundant: up to 2 multipliers are not unique";
    for command in ["run", "check"] {
        let (code, out, err) = folder.saltus(&[command, &model]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(words), "{out}");
    }
    let (_, out, _) = folder.saltus(&["check", &good("ball.toml")]);
    assert!(!out.contains("redundant"), "{out}");
}

#[test]
fn an_allowed_overlap_is_noted() {
    let folder = Folder::new("notes");
    let low = [
        "--set",
        "initial.q.y=-0.25",
        "--set",
        "initial.overlap=allow",
    ];
    let note = "the initial state overlaps at \"floor\" by 0.25 m, as overlap = \"allow\" permits";
    let (_, _, err) = folder.saltus(&[&["run", &good("ball.toml")], &low[..]].concat());
    assert!(err.contains(note), "{err}");
    assert_eq!(folder.summary("out/ball")["notes"][0], note);
    let (_, out, _) = folder.saltus(&[&["check", &good("ball.toml")], &low[..]].concat());
    assert!(out.contains(note), "{out}");
}

/// A step may be wrong by its tolerance, and so may every other.
#[test]
fn a_tolerance_that_proves_nothing_is_not_called_a_guarantee() {
    let folder = Folder::new("tolerance");
    let ball = good("ball.toml");
    for scheme in ["moreau-jean", "nonsmooth-generalized-alpha"] {
        let run = |tolerance: &str| {
            let tolerance = format!("simulation.scheme.tolerance={tolerance}");
            let arguments = ["run", &ball, "--scheme", scheme, "--set", &tolerance];
            let (code, out, err) = folder.saltus(&arguments);
            assert_eq!(code, Some(0), "{err}");
            (
                out,
                folder.summary("out/ball")["certificate"]["dynamics"].clone(),
            )
        };
        let (out, entry) = run("0.01");
        let line = "a tolerance of 0.01 guarantees nothing; 1e-6 or less does";
        assert!(out.contains(line) && !out.contains("guaranteed"), "{out}");
        assert_eq!(entry["guaranteed"], false);
        assert!(entry.get("relative_tolerance").is_none(), "{entry}");
        let (out, entry) = run("1e-6");
        assert!(
            !out.contains("guarantees nothing") && out.contains("guaranteed"),
            "{out}"
        );
        assert_eq!(entry["guaranteed"], true);
        assert_eq!(
            (&entry["relative_tolerance"], &entry["unit"]),
            (&1e-6.into(), &"N·s".into())
        );
    }
}

#[test]
fn the_result_of_another_model_is_kept_unless_forced() {
    let folder = Folder::new("force");
    let run = |model: &str, more: &[&str]| {
        folder.saltus(&[&["run", &good(model), "--out", "same"], more].concat())
    };
    assert_eq!(run("ball.toml", &[]).0, Some(0));
    assert_eq!(run("ball.toml", &["--step", "4e-3"]).0, Some(0));
    let (code, out, err) = run("wall.toml", &[]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.contains("ball") && err.contains("--force"), "{err}");
    assert_eq!(folder.summary("same")["model"], "ball");
    assert_eq!(run("wall.toml", &["--force"]).0, Some(0));
    assert_eq!(folder.summary("same")["model"], "wall");
}

#[test]
fn wrong_input_runs_nothing() {
    let folder = Folder::new("wrong");
    let file = folder.0.join("file");
    std::fs::write(&file, "").unwrap();
    let ball = good("ball.toml");
    let friction = [
        "--set",
        "system.unilateral.floor.friction=0.3",
        "--set",
        "system.unilateral.floor.tangential=y",
        "--scheme",
        "nonsmooth-newmark",
    ];
    let cases: [&[&str]; 6] = [
        &["run", &ball, "--step", "0"],
        &["run", &ball, "--format", "vtk"],
        &["run", &ball, "--every", "0"],
        &["run", &ball, "--out", "file"],
        &["run", &ball, "--out", "file/below"],
        &[&["run", &ball], &friction[..]].concat(),
    ];
    for arguments in cases {
        let (code, out, err) = folder.saltus(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains("nothing was run"), "{arguments:?}: {err}");
        assert!(!folder.0.join("out").exists(), "{arguments:?}");
    }
}

#[test]
fn a_failed_step_leaves_what_was_computed() {
    let folder = Folder::new("failed");
    let (code, _, err) = folder.saltus(&["run", &good("leaves_domain.toml"), "--out", "kept"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(
        err.contains("step 11") && err.contains('y') && err.contains("kept"),
        "{err}"
    );
    let summary = folder.summary("kept");
    assert_eq!(summary["stop"], "step-failed");
    assert_eq!(summary["failed_step"], 11);
    let rows = std::fs::read_to_string(folder.0.join("kept/trajectory.csv")).unwrap();
    assert_eq!(rows.lines().count(), 12);
}

/// A run goes on from a checkpoint of the same model only, unless it is told to.
#[test]
fn a_checkpoint_of_another_run_is_refused_by_name() {
    let folder = Folder::new("resume");
    let model = good("leaves_domain.toml");
    let higher = ["--set", "initial.q.y=0.105"];
    let first = ["run", &model, "--out", "kept", "--archive-failures"];
    let first = [&first[..], &higher].concat();
    assert_eq!(folder.saltus(&first).0, Some(3));
    let file = "kept/failed-step-11.checkpoint.json";
    let resume = |model: &str, more: &[&str]| {
        let arguments = ["run", model, "--out", "on", "--force", "--resume", file];
        folder.saltus(&[&arguments, more].concat())
    };
    let text = std::fs::read_to_string(&model).unwrap();
    let changed = |name: &str, from: &str, to: &str| {
        let path = folder.0.join(name);
        std::fs::write(&path, text.replace(from, to)).unwrap();
        path.display().to_string()
    };
    let heavier = changed("heavier.toml", "mass = [1]", "mass = [2]");
    let renamed = folder.0.join("renamed.toml").display().to_string();
    let other = [("\"y\"", "\"z\""), ("(y)", "(z)"), (".y ", ".z ")];
    let other = other
        .iter()
        .fold(text.clone(), |text, (from, to)| text.replace(from, to));
    std::fs::write(&renamed, other).unwrap();
    let parameter = changed(
        "parameter.toml",
        "[system]",
        "[parameters]\nm = 2\n[system]",
    );
    let wider = changed("wider.toml", r#"["y"]"#, r#"["y", "x"]"#);
    let wider = {
        let text = std::fs::read_to_string(&wider).unwrap();
        let text = text
            .replace("[1]", "[1, 1]")
            .replace(r#"["-sqrt(y)"]"#, r#"["-sqrt(y)", "0"]"#);
        std::fs::write(&wider, text).unwrap();
        wider
    };
    let theta = [
        "--set",
        "simulation.scheme={ name = \"moreau-jean\", theta = 0.75 }",
    ];
    let cases: [(&str, &[&str], &str, &str); 5] = [
        (&heavier, &[], "`system` is not the same", "--allow-changes"),
        (&renamed, &[], "have other names", "--allow-changes"),
        (
            &parameter,
            &[],
            "parameter `m` is not there in it, 2 here",
            "--allow-changes",
        ),
        (
            &model,
            &theta,
            "`theta` of the scheme is 0.5 in it, 0.75 here",
            "--allow-changes",
        ),
        (
            &wider,
            &[],
            "has 1 positions, this run has 2",
            "the model it was written by",
        ),
    ];
    for (model, more, difference, cure) in cases {
        let (code, out, err) = resume(model, more);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        for part in [file, difference, cure, "nothing was run"] {
            assert!(err.contains(part), "no {part:?} in {err}");
        }
        assert!(!folder.0.join("on").exists());
    }
    // It begins before the step that failed, and fails or not as the change will have it.
    for (model, more) in [
        (&model, &[][..]),
        (&model, &["--step", "5e-3"]),
        (&model, &["--set", "simulation.scheme.tolerance=1e-9"]),
        (&model, &["--set", "initial.v.y=-2"]),
        (&heavier, &["--allow-changes"]),
        (&renamed, &["--allow-changes"]),
    ] {
        let (code, _, err) = resume(model, more);
        assert_eq!(code, Some(3), "{more:?}: {err}");
        assert_eq!(folder.summary("on")["start"], 0.1, "{more:?}");
    }
    let (code, _, err) = resume(&wider, &["--allow-changes"]);
    assert_eq!(code, Some(2), "{err}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_valid_files() {
    let folder = Folder::new("interrupt");
    let ball = good("ball.toml");
    let mut child = folder
        .command(&[
            "run", &ball, "--step", "1e-9", "--every", "1000", "--out", "cut", "--quiet",
        ])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The run of 4e9 steps has begun once there is a table of steps.
    let table = folder.0.join("cut/trajectory.csv");
    let growing = folder.0.join("cut/trajectory.csv.partial");
    let begun = (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        growing.is_file()
    });
    assert!(begun, "no table of steps after ten seconds");
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folder.summary("cut")["stop"], "interrupted");
    let rows = std::fs::read_to_string(&table).unwrap();
    assert!(
        rows.ends_with('\n') && rows.starts_with("t,"),
        "the table is not whole"
    );
}

#[test]
fn check_describes_a_good_model() {
    let folder = Folder::new("check");
    let (code, out, err) = folder.saltus(&["check", &good("wall.toml")]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for part in [
        "phi",
        "wall: gap 1.2 m",
        "moreau-jean",
        "3000 steps",
        "agree with finite differences",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
}

#[test]
fn schemes_and_schema_are_printed() {
    let folder = Folder::new("lists");
    let (code, out, _) = folder.saltus(&["schemes"]);
    assert_eq!(code, Some(0));
    let row = |name: &str| {
        let line = out
            .lines()
            .find(|l| l.split_whitespace().next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {out}"))
            .to_owned()
    };
    let columns = ["order", "friction", "chooses step"].map(|c| row("scheme").find(c).unwrap());
    let cells = |name: &str| {
        columns.map(|at| {
            row(name)[at..]
                .split("  ")
                .next()
                .unwrap()
                .trim()
                .to_owned()
        })
    };
    let order = "2, with constraints and across impacts 1";
    assert_eq!(cells("moreau-jean"), [order, "yes", "no"]);
    assert_eq!(cells("generalized-alpha"), ["2", "no", "no"]);
    let (code, out, _) = folder.saltus(&["schemes", "moreau-jean"]);
    assert_eq!(code, Some(0));
    for part in [
        "solves friction: yes",
        "gamma = 0.5",
        "tolerance = 1e-10",
        "\"start\":",
        "--set simulation.scheme.OPTION",
    ] {
        assert!(out.contains(part), "no {part} in {out}");
    }
    assert!(!out.contains("nonsmooth"), "{out}");
    let (_, out, _) = folder.saltus(&["schemes", "nonsmooth-generalized-alpha"]);
    let (preset, hht) = (out.find("    preset\n"), out.find("\"hht\":"));
    assert!(preset.is_some() && preset < hht, "{out}");
    let (code, out, err) = folder.saltus(&["schemes", "moreau"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(
        err.contains("'moreau'") && err.contains("moreau-jean"),
        "{err}"
    );
    let (code, out, _) = folder.saltus(&["schema"]);
    assert_eq!(code, Some(0));
    let schema: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(schema["properties"]["saltus"]["type"], "integer");
    assert_eq!(folder.saltus(&["--help"]).0, Some(0));
}

/// Whether a file is there within ten seconds.
fn appears(path: &Path) -> bool {
    (0..1000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        path.is_file()
    })
}
