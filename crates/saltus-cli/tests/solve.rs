//! `saltus solve` through the built program, and the problem of a failed step that it takes up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn saltus(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_saltus"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts")
}

/// An empty folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_problem_is_solved_and_the_solution_written() {
    let at = folder("solve-one");
    // 0 ≤ z ⟂ [2 −1; −1 2] z + (−2, 5) ≥ 0 has the solution (1, 0).
    let text = r#"{"kind":"lcp","matrix":[[2,-1],[-1,2]],"q":[-2,5]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    let out = saltus(
        &["solve", "p.json", "--solver", "all", "--out", "s.json"],
        &at,
    );
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let solutions: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(at.join("s.json")).unwrap()).unwrap();
    let mut solved = 0;
    for s in solutions
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["solved"] == true)
    {
        solved += 1;
        let z: Vec<f64> = serde_json::from_value(s["unknowns"].clone()).unwrap();
        assert!((z[0] - 1.0).abs() < 1e-6 && z[1].abs() < 1e-6, "{s}");
    }
    assert!(solved >= 6);
}

#[test]
fn a_folder_gives_a_profile() {
    let at = folder("solve-folder");
    std::fs::create_dir(at.join("set")).unwrap();
    for (name, q) in [("a", "[-1,1]"), ("b", "[-3,-4]")] {
        let text = format!(r#"{{"kind":"lcp","matrix":[[2,1],[1,2]],"q":{q}}}"#);
        std::fs::write(at.join("set").join(format!("{name}.json")), text).unwrap();
    }
    let out = saltus(&["solve", "set", "--solver", "all", "--profile", "p"], &at);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let start = saltus(&["solve", "set", "--start", "solution"], &at);
    assert_eq!(start.status.code(), Some(2), "{start:?}");
    let said = String::from_utf8(start.stderr).unwrap();
    assert!(
        said.contains("none of the 2 problems") && said.contains("start from zero"),
        "{said}"
    );
    for file in [
        "p.svg",
        "p.html",
        "p.csv",
        "p-failures.csv",
        "p-runs.csv",
        "p-runs.md",
    ] {
        assert!(at.join(file).is_file(), "{file}");
    }
}

#[test]
fn a_solution_is_written_beside_its_problem_and_judged_again() {
    let at = folder("solve-fclib");
    // A unit mass on the floor, pushed sideways: it slides.
    let text = r#"{"kind":"friction","dimension":3,"delassus":[[0,0,1],[1,1,1],[2,2,1]],"q":[-0.1,1,0],"mu":[0.3]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    let out = saltus(
        &["solve", "p.json", "--out", "s.h5", "--convert", "p.dat"],
        &at,
    );
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let first = String::from_utf8(out.stdout).unwrap();
    assert!(
        first.contains("in mixed units") && !first.contains("stored"),
        "{first}"
    );
    let again = saltus(&["solve", "s.h5"], &at);
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(again.contains("stored solution"), "{again}");
    let text = saltus(&["solve", "p.dat"], &at);
    assert_eq!(text.status.code(), Some(0), "{text:?}");
    // Half a file says what is wrong with it.
    let bytes = std::fs::read(at.join("s.h5")).unwrap();
    std::fs::write(at.join("half.h5"), &bytes[..bytes.len() / 2]).unwrap();
    let half = saltus(&["solve", "half.h5"], &at);
    assert_eq!(half.status.code(), Some(2), "{half:?}");
    assert!(
        String::from_utf8_lossy(&half.stderr).contains("half.h5"),
        "{half:?}"
    );
}

#[test]
fn wrong_input_is_refused() {
    let at = folder("solve-wrong");
    std::fs::write(
        at.join("p.json"),
        r#"{"kind":"lcp","matrix":[[1]],"q":[1,2]}"#,
    )
    .unwrap();
    for arguments in [
        &["solve", "p.json"][..],
        &["solve", "absent.dat"],
        &["solve", "."],
        &["solve", "p.json", "--tol", "-1"],
    ] {
        let out = saltus(arguments, &at);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {out:?}");
        assert!(!out.stderr.is_empty());
    }
}

#[test]
fn the_problem_of_a_failed_step_is_kept_on_request() {
    let at = folder("archive");
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good/contradiction.toml");
    let model = model.to_str().unwrap();
    let out = saltus(&["run", model, "--out", "o", "--archive-failures"], &at);
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(
        message.contains("step 1") && message.contains("inconsistent"),
        "{message}"
    );
    let kept = at.join("o/failed-step-1.json");
    let again = saltus(&["solve", kept.to_str().unwrap()], &at);
    assert!(
        String::from_utf8_lossy(&again.stdout).contains("infeasible"),
        "{again:?}"
    );
}

#[test]
fn a_step_without_a_solution_can_be_taken_again() {
    let at = folder("replay");
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let model = cases.join("slider-crank/model.toml");
    let out = saltus(
        &[
            "run",
            model.to_str().unwrap(),
            "--scheme",
            "nonsmooth-generalized-alpha",
            "--set",
            "simulation.scheme.inactive='literal'",
            "--step=5e-3",
            "--until=1",
            "--out",
            "o",
            "--archive-failures",
        ],
        &at,
    );
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    let message = String::from_utf8(out.stderr).unwrap();
    let told = |message: &str| -> String {
        let line = message.lines().find(|l| l.contains("failed:")).unwrap();
        line.trim().to_owned()
    };
    let step = told(&message);
    let number: u64 = step
        .split(|c: char| !c.is_ascii_digit())
        .find_map(|n| n.parse().ok())
        .unwrap();

    // The problem of the step: the conditions of the printed scheme have no solution, the problem has one.
    let problem = format!("o/failed-step-{number}.json");
    let solved = saltus(&["solve", &problem, "--solver", "all"], &at);
    assert_eq!(solved.status.code(), Some(0), "{solved:?}");
    // It says where it comes from and what its rows are, and the summary lists it.
    let json = |path: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(at.join(path)).unwrap()).unwrap()
    };
    let kept = json(&problem);
    let title = kept["title"].as_str().unwrap();
    assert!(
        title.starts_with(&format!("step {number} of model ")),
        "{title}"
    );
    let rows = kept["rows"].as_array().unwrap();
    assert_eq!(rows.len(), kept["q"].as_array().unwrap().len());
    assert!(
        rows.iter().all(|r| r.as_str().unwrap().contains(" of ")),
        "{rows:?}"
    );
    let files = json("o/summary.json")["files"].to_string();
    for name in [
        format!("failed-step-{number}.json"),
        format!("failed-step-{number}.checkpoint.json"),
    ] {
        assert!(files.contains(&name), "{files}");
    }

    // The step again, from the state before it, by the command that was printed.
    let command = message.lines().find(|l| l.contains("--resume")).unwrap();
    let words: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(words[0], "saltus", "{command}");
    let beside = format!("o-failed-step-{number}");
    assert!(words.contains(&beside.as_str()), "{command}");
    let unquoted: Vec<String> = words[1..]
        .iter()
        .map(|w| match w.strip_prefix('\'') {
            Some(_) => "simulation.scheme.inactive='literal'".to_owned(),
            None => (*w).to_owned(),
        })
        .collect();
    let arguments: Vec<&str> = unquoted.iter().map(String::as_str).collect();
    let again = saltus(&arguments, &at);
    assert_eq!(again.status.code(), Some(3), "{again:?}");
    assert_eq!(told(&String::from_utf8(again.stderr).unwrap()), step);
    // It says where it began, not where the first run did.
    let said = String::from_utf8(again.stdout).unwrap();
    let when = said.lines().find(|l| l.contains("0 steps of")).unwrap();
    assert!(!when.contains("from 0 s"), "{when}");

    // Not a checkpoint, another scheme.
    for (scheme, file) in [
        (
            "moreau-jean",
            format!("o/failed-step-{number}.checkpoint.json"),
        ),
        ("nonsmooth-generalized-alpha", problem),
    ] {
        let model = model.to_str().unwrap();
        let arguments = [
            "run", model, "--scheme", scheme, "--out", "p", "--resume", &file,
        ];
        let out = saltus(&arguments, &at);
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        assert!(!at.join("p").exists());
    }
}

/// A sliding mass with a stored guess that is the solution, and what is asked for in vain.
#[test]
fn solvers_start_from_what_the_file_stores() {
    let at = folder("solve-start");
    let text = r#"{"kind":"friction","dimension":3,"delassus":[[0,0,1],[1,1,1],[2,2,1]],"q":[-0.1,1,0],"mu":[0.3],
        "guesses":[{"unknowns":[0,0,0]},{"unknowns":[0.1,-0.03,0]}]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    let run = |arguments: &[&str]| saltus(&[&["solve", "p.json"], arguments].concat(), &at);
    let iterations = |out: &Output| -> u32 {
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let row = text.lines().last().unwrap().to_owned();
        row.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    let solver = ["--solver", "projected-gradient"];
    assert!(iterations(&run(&solver)) > 0);
    assert!(iterations(&run(&[&solver[..], &["--start", "guess:1"]].concat())) > 0);
    assert_eq!(
        iterations(&run(&[&solver[..], &["--start", "guess:2"]].concat())),
        0
    );
    for (start, expected) in [
        (
            "guess:3",
            "no guess:3 in the file, which holds 2 guesses and no solution",
        ),
        ("solution", "no solution in the file"),
        ("guess:0", "expected zero, solution, or guess:N"),
    ] {
        let out = run(&["--start", start]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.contains(start), "{text}");
    }
    let out = run(&["--threads", "0"]);
    assert_eq!(out.status.code(), Some(2), "{out:?}");
}

/// What cannot be settled within the limits is said to be solvable where that can be proven.
#[test]
fn unsettled_problems_are_told_apart() {
    let at = folder("solve-unsettled");
    // A mass between walls that keep their distance: one number says how far it is pushed aside.
    let text = |q: &str| {
        let w = "[[0,0,1],[0,3,-1],[3,0,-1],[3,3,1],[1,1,1],[1,4,1],[4,1,1],[4,4,1]]";
        format!(r#"{{"kind":"friction","dimension":3,"delassus":{w},"q":{q},"mu":[0.5,0.5]}}"#)
    };
    for (q, settled, expected) in [
        ("[-1,0.2,0,1,0.2,0]", false, "not strictly feasible"),
        ("[-1,0.2,0,2,0.2,0]", false, "is strictly feasible"),
        ("[-1,0.2,0,-1,0.2,0]", true, ""),
    ] {
        std::fs::write(at.join("p.json"), text(q)).unwrap();
        let arguments = [
            "solve",
            "p.json",
            "--solver",
            "admm",
            "--max-iterations",
            "1",
        ];
        let out = saltus(&arguments, &at);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(
            out.status.code(),
            Some(if settled { 0 } else { 3 }),
            "{q}: {out:?}"
        );
        assert!(text.contains(expected), "{q}: {text}");
    }
}

/// Every solution on request, in the terminal and in the file; and the word for a problem without one.
#[test]
fn an_enumeration_lists_all_solutions() {
    let at = folder("solve-enumeration");
    // 0 ≤ z ⟂ [1 2; 2 1] z − (1, 1) ≥ 0: (1, 0), (0, 1), (1/3, 1/3).
    let three = r#"{"kind":"lcp","matrix":[[1,2],[2,1]],"q":[-1,-1]}"#;
    std::fs::write(at.join("three.json"), three).unwrap();
    let arguments = [
        "solve",
        "three.json",
        "--solver",
        "enumeration",
        "--out",
        "s.json",
    ];
    let out = saltus(&arguments, &at);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("solution 3:") && text.contains("proven to be all"),
        "{text}"
    );
    let file = std::fs::read_to_string(at.join("s.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    let found = &file[0]["enumeration"];
    assert_eq!(found["complete"], true);
    let all: Vec<Vec<f64>> = serde_json::from_value(found["solutions"].clone()).unwrap();
    let third = 1.0 / 3.0;
    for expected in [[1.0, 0.0], [0.0, 1.0], [third, third]] {
        let same = |z: &Vec<f64>| z.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15);
        assert!(all.iter().any(same), "{all:?}");
    }
    // w = (z₁ − 1, z₁ + 1): z = (0, 1) satisfies the inequalities, but w₁ > 0 asks for z₁ = 0 and that for w₀ < 0.
    let none = r#"{"kind":"lcp","matrix":[[0,1],[0,1]],"q":[-1,1]}"#;
    std::fs::write(at.join("none.json"), none).unwrap();
    let row = r#"{"kind":"lcp","matrix":[[0,0],[0,1]],"q":[-1,-1e9]}"#;
    std::fs::write(at.join("row.json"), row).unwrap();
    for problem in ["none.json", "row.json"] {
        for solver in ["enumeration", "auto"] {
            let out = saltus(&["solve", problem, "--solver", solver], &at);
            let text = String::from_utf8(out.stdout).unwrap();
            assert!(text.contains("infeasible"), "{problem} {solver}: {text}");
        }
    }
}

/// Where nothing helped, what was tried already is not recommended.
#[test]
fn a_hint_says_what_was_not_tried() {
    let at = folder("solve-hint");
    let text = r#"{"kind":"lcp","matrix":[[1,2],[-2,1]],"q":[-1,-1]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    for (solver, hint) in [("pgs", true), ("all", false)] {
        let arguments = [
            "solve",
            "p.json",
            "--solver",
            solver,
            "--max-iterations",
            "0",
        ];
        let out = saltus(&arguments, &at);
        let said = String::from_utf8(out.stderr).unwrap();
        let unsettled = out.status.code() == Some(3);
        assert_eq!(
            said.contains("--solver all"),
            hint && unsettled,
            "{solver}: {said}"
        );
    }
}

/// What is written beside a problem is a solution of it, or nothing.
#[test]
fn a_point_that_is_no_solution_is_not_stored_as_one() {
    let at = folder("solve-infeasible");
    // Two contacts that squeeze a point.
    let text = r#"{"kind":"friction","dimension":2,"delassus":[[0,0,1],[0,2,-1],[2,0,-1],[2,2,1]],"q":[-1,0,-1,0],"mu":[0.5,0.5]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    let out = saltus(&["solve", "p.json", "--out", "s.h5"], &at);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("s.h5") && said.contains("without"), "{said}");
    let again = saltus(&["solve", "s.h5"], &at);
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(
        again.contains("infeasible") && !again.contains("stored solution"),
        "{again}"
    );
}

/// A folder with problems of both kinds: a profile for each, vectors in the file, names from the folder.
#[test]
fn kinds_of_problems_are_profiled_apart() {
    let at = folder("solve-kinds");
    std::fs::create_dir(at.join("set")).unwrap();
    let lcp = r#"{"kind":"lcp","matrix":[[2,1],[1,2]],"q":[-1,1]}"#;
    let friction = r#"{"kind":"friction","dimension":3,"delassus":[[0,0,1],[1,1,1],[2,2,1]],"q":[-0.1,1,0],"mu":[0.3]}"#;
    std::fs::write(at.join("set/a.json"), lcp).unwrap();
    std::fs::write(at.join("set/b.json"), friction).unwrap();
    let full = at.join("set");
    for set in ["set", full.to_str().unwrap()] {
        let arguments = [
            "solve",
            set,
            "--solver",
            "all",
            "--profile",
            "p",
            "--out",
            "all.json",
        ];
        let out = saltus(&arguments, &at);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        for (file, count) in [("p-complementarity.csv", 1), ("p-friction.csv", 1)] {
            let text = std::fs::read_to_string(at.join(file)).unwrap();
            assert!(text.starts_with('#') && text.contains(&format!("the {count} problems")));
            let last = text.lines().last().unwrap();
            assert!(last.split(',').skip(1).any(|v| v == "1"), "{text}");
        }
        assert!(!at.join("p.csv").exists());
        let runs = std::fs::read_to_string(at.join("all.json")).unwrap();
        let runs: serde_json::Value = serde_json::from_str(&runs).unwrap();
        for run in runs.as_array().unwrap() {
            let name = run["problem"].as_str().unwrap();
            assert!(["a.json", "b.json"].contains(&name), "{name}");
            for vector in ["unknowns", "dual"] {
                let length = run["solution"][vector].as_array().unwrap().len();
                assert_eq!(length, if name == "a.json" { 2 } else { 3 });
            }
        }
        for file in ["p-runs.csv", "p-friction-failures.csv"] {
            let text = std::fs::read_to_string(at.join(file)).unwrap();
            assert!(!text.contains(full.to_str().unwrap()), "{text}");
        }
    }
}

const SLIDING: &str = r#"{"kind":"friction","dimension":3,"delassus":[[0,0,1],[1,1,1],[2,2,1]],"q":[-0.1,1,0],"mu":[0.3]}"#;
const SMALL: &str = r#"{"kind":"lcp","matrix":[[2,1],[1,2]],"q":[-1,1]}"#;

/// Runs `saltus solve ARGUMENTS` and wants exit code `code` and `words` on standard error.
fn refused(at: &Path, arguments: &[&str], code: i32, words: &str) -> Output {
    let out = saltus(&[&["solve"], arguments].concat(), at);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(code), "{arguments:?}: {out:?}");
    assert!(said.contains(words), "{arguments:?}: {said}");
    out
}

/// Where results go is made sure of before anything is solved.
#[test]
fn targets_are_checked_before_the_work() {
    let at = folder("solve-targets");
    std::fs::create_dir(at.join("set")).unwrap();
    std::fs::create_dir(at.join("taken")).unwrap();
    std::fs::create_dir(at.join("p.html")).unwrap();
    for (name, text) in [
        ("lcp.json", SMALL),
        ("friction.json", SLIDING),
        ("set/a.json", SMALL),
        ("plain", ""),
    ] {
        std::fs::write(at.join(name), text).unwrap();
    }
    for (arguments, words) in [
        (&["lcp.json", "--out", "taken"][..], "this is a folder"),
        (&["lcp.json", "--out", "new/"], "this is a folder"),
        (&["lcp.json", "--out", "plain/s.json"], "cannot be made"),
        (&["lcp.json", "--out", "s.h5"], "frictional contact only"),
        (
            &["lcp.json", "--convert", "s.hdf5"],
            "frictional contact only",
        ),
        (&["lcp.json", "--convert", "taken"], "this is a folder"),
        (&["lcp.json", "--out", "lcp.json"], "the problem itself"),
        (
            &["lcp.json", "--out", "x.json", "--convert", "x.json"],
            "two names",
        ),
        (&["set", "--out", "taken"], "this is a folder"),
        (&["set", "--out", "s.h5"], "ending in .json"),
        (&["set", "--profile", "p"], "p.html"),
        (&["set", "--profile", "new/"], "this is a folder"),
    ] {
        let out = refused(&at, arguments, 2, words);
        assert!(out.stdout.is_empty(), "{arguments:?}: {out:?}");
    }
    assert_eq!(std::fs::read_to_string(at.join("lcp.json")).unwrap(), SMALL);
    // Folders that are missing are made.
    for arguments in [
        &["solve", "lcp.json", "--out", "a/b/s.json"][..],
        &["solve", "friction.json", "--convert", "c/p.h5"],
        &[
            "solve",
            "set",
            "--profile",
            "d/e/profile",
            "--out",
            "f/all.json",
        ],
    ] {
        let out = saltus(arguments, &at);
        assert_eq!(out.status.code(), Some(0), "{arguments:?}: {out:?}");
    }
    for file in [
        "a/b/s.json",
        "c/p.h5",
        "d/e/profile.svg",
        "d/e/profile-runs.csv",
        "f/all.json",
    ] {
        assert!(at.join(file).is_file(), "{file}");
    }
}

/// What is computed and cannot be written is printed.
#[cfg(target_os = "linux")]
#[test]
fn nothing_computed_is_lost() {
    let at = folder("solve-full");
    std::fs::create_dir(at.join("set")).unwrap();
    std::fs::write(at.join("p.json"), SMALL).unwrap();
    std::fs::write(at.join("set/p.json"), SMALL).unwrap();
    for problem in ["p.json", "set"] {
        let out = refused(&at, &[problem, "--out", "/dev/full"], 1, "printed instead");
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(
            said.contains("\"unknowns\": [") && said.contains("0.5"),
            "{said}"
        );
    }
}

/// A file of another command says what it is; a problem does so to `run`.
#[test]
fn files_of_other_commands_are_recognised() {
    let at = folder("solve-foreign");
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    let model = good.join("contradiction.toml");
    let model = model.to_str().unwrap();
    let out = saltus(&["run", model, "--out", "o", "--archive-failures"], &at);
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    std::fs::write(at.join("p.json"), SMALL).unwrap();
    std::fs::write(at.join("p.dat"), "1\n0\n1\n1\n1\n1\n2\n-1\n").unwrap();
    std::fs::write(at.join("model.json"), r#"{"saltus": 1, "simulation": {}}"#).unwrap();
    assert_eq!(
        saltus(&["solve", "p.json", "--out", "s.json"], &at)
            .status
            .code(),
        Some(0)
    );
    refused(&at, &[model], 2, "this is a model");
    refused(&at, &["model.json"], 2, "saltus run model.json");
    refused(&at, &["s.json"], 2, "list of solutions");
    refused(&at, &["o/summary.json"], 2, "summary of a run");
    let out = refused(
        &at,
        &["o/failed-step-1.checkpoint.json"],
        2,
        "this is a checkpoint",
    );
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.contains("--resume") && said.contains("o/failed-step-1.json"),
        "{said}"
    );
    for command in ["run", "check"] {
        for (file, words) in [
            ("p.json", "`saltus solve p.json` takes it"),
            ("p.dat", "`saltus solve p.dat` takes it"),
            ("s.json", "list of solutions"),
            ("o/failed-step-1.checkpoint.json", "--resume"),
        ] {
            let out = saltus(&[command, file], &at);
            let said = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(2), "{said}");
            assert!(said.contains(words), "{command} {file}: {said}");
        }
    }
    // Not everything in HDF5 is a problem.
    std::fs::write(at.join("t.h5"), "x").unwrap();
    let out = saltus(&["run", "t.h5"], &at);
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.contains("extension") && !said.contains("saltus solve"),
        "{said}"
    );
    let out = saltus(&["run", model, "--resume", "p.json"], &at);
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("saltus solve p.json"), "{said}");
}

/// Options out of range, of another kind of problem, or against each other.
#[test]
fn options_are_refused_or_mean_what_they_say() {
    let at = folder("solve-options");
    std::fs::create_dir(at.join("set")).unwrap();
    for (name, text) in [
        ("lcp.json", SMALL),
        ("friction.json", SLIDING),
        ("set/a.json", SMALL),
        ("set/b.json", SMALL),
    ] {
        std::fs::write(at.join(name), text).unwrap();
    }
    for (arguments, words) in [
        (
            &["lcp.json", "--tol", "0"][..],
            "--tol is 0, expected a number > 0 and < 1",
        ),
        (&["lcp.json", "--tol", "nan"], "--tol is NaN"),
        (&["lcp.json", "--tol", "inf"], "--tol is inf"),
        (&["lcp.json", "--tol", "1"], "--tol is 1"),
        (&["lcp.json", "--tol", "-1e-8"], "--tol is -0.00000001"),
        (&["lcp.json", "--max-work", "0"], "--max-work is 0"),
        (&["lcp.json", "--max-work", "-1"], "--max-work is -1"),
        (
            &["lcp.json", "--max-iterations", "-1"],
            "a whole number that is not negative",
        ),
        (
            &["lcp.json", "--max-iterations", "1e3"],
            "a whole number that is not negative",
        ),
        (
            &["lcp.json", "--start", "guess:99"],
            "holds no guesses and no solution; start from zero",
        ),
        (
            &["lcp.json", "--start", "solution"],
            "no solution in the file",
        ),
        (
            &["lcp.json", "--canonical"],
            "--canonical is for reactions of frictional contact",
        ),
        (&["lcp.json", "--profile", "p"], "--profile needs a folder"),
        (&["lcp.json", "--solver", "lemk"], "did you mean \"lemke\"?"),
        (
            &["lcp.json", "--solver", "nsgs"],
            "for this kind of problem",
        ),
        (
            &["friction.json", "--solver", "Proximal_Newtn"],
            "did you mean \"proximal-newton\"?",
        ),
        (
            &["set", "--solver", "foo"],
            "for complementarity there are auto, lemke",
        ),
        (&["set", "--solver", "nsgs"], "none of the 2 problems"),
        (&["set", "--convert", "x.json"], "single problem"),
    ] {
        let out = refused(&at, arguments, 2, words);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(
            said.matches("no solver is called").count(),
            usize::from(said.contains("no solver is")),
            "{said}"
        );
    }
    // No iterations: what needs none is tried.
    let out = saltus(
        &[
            "solve",
            "friction.json",
            "--solver",
            "nsgs",
            "--max-iterations",
            "0",
        ],
        &at,
    );
    assert_eq!(out.status.code(), Some(3), "{out:?}");
    assert!(
        String::from_utf8_lossy(&out.stdout).contains("iteration-limit"),
        "{out:?}"
    );
    // Every solver gives the reaction of least norm.
    let all = [
        "solve",
        "friction.json",
        "--solver",
        "all",
        "--canonical",
        "--out",
        "s.json",
    ];
    assert_eq!(saltus(&all, &at).status.code(), Some(0));
    let text = std::fs::read_to_string(at.join("s.json")).unwrap();
    let solutions: serde_json::Value = serde_json::from_str(&text).unwrap();
    for s in solutions
        .as_array()
        .unwrap()
        .iter()
        .filter(|s| s["solved"] == true)
    {
        assert_eq!(s["canonical"], true, "{s}");
    }
    // A file is converted, and solved only if that is asked for.
    let out = saltus(&["solve", "lcp.json", "--convert", "x.dat"], &at);
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        said.contains("written to x.dat; not solved") && !said.contains("solver  "),
        "{said}"
    );
    let out = saltus(
        &[
            "solve",
            "lcp.json",
            "--convert",
            "y.dat",
            "--solver",
            "lemke",
        ],
        &at,
    );
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        said.contains("lemke") && at.join("y.dat").is_file(),
        "{said}"
    );
}

/// The advice fits the word.
#[test]
fn each_word_has_its_cure() {
    let at = folder("solve-advice");
    let huge = r#"{"kind":"lcp","matrix":[[1e308,1e308],[1e308,-1e308]],"q":[-1e308,-1e308]}"#;
    let against = r#"{"kind":"mlcp","equalities":2,"matrix":[[1,0],[1,0]],"q":[0,1]}"#;
    for (name, text) in [("huge", huge), ("against", against)] {
        std::fs::write(at.join(format!("{name}.json")), text).unwrap();
    }
    for (name, solver) in [
        ("huge", "newton-min"),
        ("huge", "all"),
        ("against", "newton-min"),
    ] {
        let out = saltus(&["solve", &format!("{name}.json"), "--solver", solver], &at);
        let (found, said) = (
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        );
        for (word, cure) in [
            ("not-finite", "units"),
            ("inconsistent", "contradict each other"),
            ("iteration-limit", "--max-iterations"),
            ("ray ", "enumeration"),
        ] {
            let unsettled = out.status.code() == Some(3) && found.contains(word);
            assert!(
                !unsettled || said.contains(cure),
                "{name} {solver}: {found}{said}"
            );
        }
        let hopeless = found
            .lines()
            .skip(2)
            .all(|l| l.contains("not-finite") || l.contains("inconsistent"));
        assert!(
            !(hopeless && said.contains("--solver all")),
            "{found}{said}"
        );
    }
}

/// What cannot be read stops nothing, and is counted and listed.
#[test]
fn a_folder_goes_on_past_what_cannot_be_read() {
    let at = folder("solve-broken");
    std::fs::create_dir(at.join("set")).unwrap();
    for (name, text) in [
        ("a, b.json", SMALL),
        ("b.dat", "3\n1\n0\n9"),
        ("c.json", "[]"),
        ("d.json", SLIDING),
        ("e.h5", "x"),
    ] {
        std::fs::write(at.join("set").join(name), text).unwrap();
    }
    for solver in ["auto", "all", "nsgs"] {
        let out = saltus(
            &["solve", "set", "--solver", solver, "--profile", "out/p"],
            &at,
        );
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let said = String::from_utf8(out.stdout).unwrap();
        let summary = match solver {
            "auto" => "2 of 2 problems settled, by 2 of 2 runs; 3 files could not be posed",
            "all" => "2 of 2 problems settled",
            _ => "1 of 1 problems settled, by 1 of 1 runs; 4 files could not be posed",
        };
        assert!(said.contains(summary), "{said}");
        let page = std::fs::read_to_string(at.join("out/p.html")).unwrap();
        for words in [
            "Not read or not posed",
            "c.json",
            "tolerance 1e-8",
            "share of problems solved",
        ] {
            assert!(page.contains(words), "{words}");
        }
        let runs = std::fs::read_to_string(at.join("out/p-runs.csv")).unwrap();
        let header = runs.lines().next().unwrap().split(',').count();
        let fields = |line: &str| line.replace("a, b.json", "").split(',').count();
        assert!(runs.lines().all(|line| fields(line) == header), "{runs}");
    }
    let failures = std::fs::read_to_string(at.join("out/p-complementarity-failures.csv")).unwrap();
    assert!(
        failures
            .lines()
            .all(|l| !l.contains("a, b") || l.contains("\"a, b.json\"")),
        "{failures}"
    );
}

/// Who reads no further does not end the work: what was asked for is written.
#[test]
fn a_closed_pipe_ends_nothing() {
    let at = folder("solve-pipe");
    std::fs::write(at.join("p.json"), SLIDING).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_saltus"))
        .args(["solve", "p.json", "--solver", "all", "--out", "s.json"])
        .current_dir(&at)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(at.join("s.json").is_file());
}

/// The inertia of a public problem is not quite symmetric: it is said, and solved.
#[test]
fn an_almost_symmetric_mass_is_taken_as_it_stands() {
    let at = folder("solve-asymmetry");
    let text = |off: f64| {
        format!(
            r#"{{"kind":"global-friction","dimension":2,"mu":[0.5],"mass":[[0,0,1],[0,1,0.1],[1,0,{off}],[1,1,1]],
            "directions":[[0,0,1],[1,1,1]],"f":[-1,0.2],"w":[0,0]}}"#
        )
    };
    for (off, code, words) in [
        (0.1, 0, ""),
        (0.103, 0, "not symmetric"),
        (0.2, 2, "entry (1, 0) of M is 0.2"),
    ] {
        std::fs::write(at.join("p.json"), text(off)).unwrap();
        let out = refused(&at, &["p.json"], code, words);
        assert_eq!(out.stderr.is_empty(), words.is_empty(), "{out:?}");
    }
}
