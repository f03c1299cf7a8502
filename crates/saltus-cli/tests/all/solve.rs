//! `saltus solve` through the built program, and the problem of a failed step that it takes up.

use crate::support::{folder, saltus};
use std::path::Path;
use std::process::Output;

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

/// A rod that slides on its tip; when a lift and friction set in at once, open and slip both solve the step (Painlevé).
const ROD: &str = r#"
saltus = 1
system.coordinates = ["x", "y", "phi"]
system.mass = [1, 1, "1/3"]
system.force = [0, "-9.81 + 20*(1 + sign(t - 0.0046))", 0]
system.unilateral = [{ name = "tip", gap = "y - sin(phi)", restitution = 0, tangential = "x - cos(phi)", friction = "1 + sign(t - 0.0046)" }]
initial.q = { phi = "atan(2)", y = "2/sqrt(5)" }
initial.v = { x = -30 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 1e-2 }
"#;

/// A guide that leads a ball into the floor.
const GUIDED: &str = r#"
saltus = 1
system.coordinates = ["x", "y"]
system.mass = [1, 1]
system.force = [0, -9.81]
system.bilateral = [{ name = "guide", g = "y - 0.01 + t" }]
system.unilateral = [{ name = "floor", gap = "y", restitution = 0, tangential = "x", friction = 0.3 }]
initial.q = { y = 0.01 }
initial.v = { x = 1, y = -1 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 1 }
"#;

#[test]
fn the_problem_of_a_failed_step_with_friction_is_kept_too() {
    let at = folder("archive-friction");
    let cases = [
        (
            "rod",
            ROD,
            "friction",
            "several solutions",
            "one of several solutions",
        ),
        ("guided", GUIDED, "contact", "1 bilateral", "infeasible"),
    ];
    for (name, text, kind, why, word) in cases {
        let model = format!("{name}.toml");
        std::fs::write(at.join(&model), text).unwrap();
        let out = saltus(&["run", &model, "--out", name, "--archive-failures"], &at);
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(3), "{message}");
        assert!(message.contains(why), "{message}");
        let summary = std::fs::read_to_string(at.join(name).join("summary.json")).unwrap();
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        let file = format!("failed-step-{}.json", summary["failed_step"]);
        assert!(summary["files"].to_string().contains(&file), "{summary}");
        let kept = at.join(name).join(&file);
        let text = std::fs::read_to_string(&kept).unwrap();
        let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(kept["kind"], kind);
        let rows: Vec<&str> = kept["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r.as_str().unwrap())
            .collect();
        match kind {
            "friction" => assert_eq!(rows, ["impact law of tip", "friction of tip, direction 1"]),
            _ => {
                assert_eq!(
                    rows,
                    [
                        "rate of guide",
                        "impact law of floor",
                        "friction of floor, direction 1"
                    ]
                );
                let laws =
                    serde_json::json!(["equality", { "coulomb": { "mu": 0.3, "tangents": 1 } }]);
                assert_eq!(kept["blocks"], laws);
            }
        }
        let file = format!("{name}/{file}");
        let again = saltus(&["solve", &file], &at);
        let said = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(
            said.contains(word),
            "{said}{}",
            String::from_utf8_lossy(&again.stderr)
        );
        // Written and read again it is the same problem.
        let copy = format!("{name}-copy.json");
        let converted = saltus(&["solve", &file, "--convert", &copy], &at);
        assert_eq!(converted.status.code(), Some(0), "{converted:?}");
        let copy: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(at.join(&copy)).unwrap()).unwrap();
        assert_eq!(copy, kept);
    }
    let refused = saltus(
        &["solve", "guided/failed-step-11.json", "--convert", "x.h5"],
        &at,
    );
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("problem of several laws"), "{said}");
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
            "--set",
            "parameters.mu=0",
            "--step=1e-2",
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
            "run",
            model,
            "--scheme",
            scheme,
            "--set",
            "parameters.mu=0",
            "--out",
            "p",
            "--resume",
            &file,
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

/// What proves that there is no solution is said, with the contacts.
#[test]
fn the_proof_that_nothing_solves_a_problem_is_named() {
    let at = folder("solve-proofs");
    let squeezed = r#"{"kind":"friction","dimension":2,"delassus":[[0,0,1],[0,2,-1],[2,0,-1],[2,2,1]],"q":[-1,0,-1,0],"mu":[0.5,0.5]}"#;
    let jammed = r#"{"kind":"friction","dimension":2,"mu":[1],"delassus":[[0,0,1],[0,1,2],[1,0,2],[1,1,4]],"q":[-1,10]}"#;
    for (text, proof) in [
        (
            squeezed,
            "no reaction gives u_n >= 0 in contacts 0 and 1 at once",
        ),
        (
            jammed,
            "open, stick and every slip of contact 0 are refuted",
        ),
    ] {
        std::fs::write(at.join("p.json"), text).unwrap();
        for solver in ["auto", "nsgs"] {
            let out = saltus(&["solve", "p.json", "--solver", solver], &at);
            let said = String::from_utf8(out.stdout).unwrap();
            assert_eq!(out.status.code(), Some(0), "{said}");
            assert!(
                said.contains("infeasible") && said.contains(proof),
                "{said}"
            );
            let said = String::from_utf8(out.stderr).unwrap();
            assert!(!said.contains("may exist"), "{said}");
        }
    }
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

/// The solution of least norm, by every solver, of `z₁ + z₂ = 1` on a segment; where `M` is not monotone, a word.
#[test]
fn the_solution_of_least_norm_is_given_on_request() {
    let at = folder("solve-least");
    std::fs::create_dir(at.join("set")).unwrap();
    for (name, text) in [
        (
            "set/lcp.json",
            r#"{"kind":"lcp","matrix":[[1,1],[1,1]],"q":[-1,-1]}"#,
        ),
        (
            "set/mlcp.json",
            r#"{"kind":"mlcp","equalities":1,"matrix":[[1,1,1],[1,1,1],[1,1,1]],"q":[-3,-3,-3]}"#,
        ),
    ] {
        std::fs::write(at.join(name), text).unwrap();
    }
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(at.join(name)).unwrap()).unwrap()
    };
    let near = |s: &serde_json::Value, expected: f64| {
        let z: Vec<f64> = serde_json::from_value(s["unknowns"].clone()).unwrap();
        assert_eq!(s["canonical"], true, "{s}");
        assert!(s.get("canonical_note").is_none(), "{s}");
        assert!(z.iter().all(|z| (z - expected).abs() < 1e-7), "{s}");
    };
    for (name, expected) in [("set/lcp.json", 0.5), ("set/mlcp.json", 1.0)] {
        let all = [
            "solve",
            name,
            "--solver",
            "all",
            "--canonical",
            "--out",
            "s.json",
        ];
        let out = saltus(&all, &at);
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        let list = read("s.json");
        let solved = list.as_array().unwrap().iter();
        let solved: Vec<_> = solved.filter(|s| s["solved"] == true).collect();
        assert!(solved.len() >= 4, "{name}: {list}");
        solved.iter().for_each(|s| near(s, expected));
    }
    let out = saltus(&["solve", "set", "--canonical", "--out", "f.json"], &at);
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    let list = read("f.json");
    near(&list[0]["solution"], 0.5);
    near(&list[1]["solution"], 1.0);
}
