//! What `saltus solve` refuses before it works, what it says then, and what it does not lose.

use crate::support::{SLIDING, SMALL, folder, refused, saltus};
use std::path::Path;
use std::process::Command;

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
        (
            &["lcp.json", "--tol", "abc"],
            "expected a number, such as 0.01 or 1e-8",
        ),
        (&["lcp.json", "--max-work", "1e"], "expected a number"),
        (
            &["set", "--threads", "0"],
            "expected a whole number, at least 1",
        ),
        (&["set", "--threads", "-2"], "a whole number, at least 1"),
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
            "auto" => "2 of 2 problems settled; 3 files could not be posed",
            "all" => "2 of 2 problems settled",
            _ => "1 of 1 problem settled; 4 files could not be posed",
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

/// A problem is not replaced by something else; solutions are, and so is the same problem.
#[test]
fn problems_are_not_replaced() {
    let at = folder("solve-replace");
    std::fs::create_dir(at.join("set")).unwrap();
    let text = "1\n0\n1\n1\n1\n1\n2\n-1\n";
    for (name, text) in [
        ("p.json", SLIDING),
        ("other.json", SMALL),
        ("other.dat", text),
        ("set/a.json", SMALL),
    ] {
        std::fs::write(at.join(name), text).unwrap();
    }
    let kept =
        || ["other.json", "other.dat", "set/a.json"].map(|f| std::fs::read(at.join(f)).unwrap());
    let before = kept();
    for (arguments, words) in [
        (&["p.json", "--out", "other.json"][..], "this is a problem"),
        (&["p.json", "--out", "other.dat"], "this is a problem"),
        (
            &["p.json", "--convert", "other.json"],
            "this is another problem",
        ),
        (&["p.json", "--convert", "other.dat"], "give another name"),
        (&["set", "--out", "other.json"], "this is a problem"),
        (&["set", "--out", "set/a.json"], "this is a problem"),
    ] {
        let out = refused(&at, arguments, 2, words);
        assert!(out.stdout.is_empty(), "{arguments:?}: {out:?}");
    }
    assert_eq!(kept(), before);
    for _ in 0..2 {
        for arguments in [
            ["p.json", "--out", "s.json"],
            ["p.json", "--out", "s.h5"],
            ["p.json", "--convert", "copy.json"],
            ["p.json", "--convert", "copy.dat"],
            ["set", "--out", "all.json"],
        ] {
            refused(&at, &arguments, 0, "");
        }
    }
    refused(
        &at,
        &["p.json", "--out", "copy.json"],
        2,
        "this is a problem",
    );
}

/// A file of another command is recognised in a folder as it is by itself.
#[test]
fn files_of_other_commands_are_recognised_in_a_folder() {
    let at = folder("solve-foreign-set");
    std::fs::create_dir(at.join("set")).unwrap();
    std::fs::write(at.join("set/p.json"), SMALL).unwrap();
    std::fs::write(at.join("set/model.json"), r#"{"saltus": 1}"#).unwrap();
    refused(&at, &["set/p.json", "--out", "set/s.json"], 0, "");
    refused(&at, &["set", "--out", "all.json"], 0, "");
    std::fs::rename(at.join("all.json"), at.join("set/t.json")).unwrap();
    let out = refused(&at, &["set"], 0, "");
    let said = String::from_utf8(out.stdout).unwrap();
    for file in ["model.json", "s.json", "t.json"] {
        let file = format!("set/{file}");
        let alone = saltus(&["solve", &file], &at);
        assert_eq!(alone.status.code(), Some(2), "{alone:?}");
        let alone = String::from_utf8(alone.stderr).unwrap();
        assert!(alone.contains("this is a"), "{alone}");
        assert!(said.contains(alone.trim_end()), "{alone}{said}");
    }
    assert!(said.contains("1 of 1 problem settled; 3 files"), "{said}");
}

/// What is wrong in a file is said in the words of its format.
#[test]
fn complaints_say_what_was_expected() {
    let at = folder("solve-complaints");
    let friction = |entries: &str, behind: &str| {
        format!(
            r#"{{"kind":"friction","dimension":2,"delassus":{entries},"q":[-1,1],"mu":[0.3]}}{behind}"#
        )
    };
    let lcp = |q: &str| format!(r#"{{"kind":"lcp","matrix":[[2,0,0],[0,2,0],[0,0,2]],"q":{q}}}"#);
    for (name, text, words) in [
        (
            "a.dat",
            "2\n0\n2\n2\n2 2\n1 2\n3 x\n1 2\n".to_owned(),
            &["line 7", "found \"x\"", "M (a number)"][..],
        ),
        (
            "b.dat",
            "2\n1\n2\n2\n2\n1\nCSparse dump\ntriplet: two, nnz: 1\n".to_owned(),
            &["a CSparse header"],
        ),
        (
            "a.json",
            friction("[[0,0,1,5],[1,1,1]]", ""),
            &["delassus[0] goes on", "expected 3 numbers"],
        ),
        (
            "b.json",
            friction("[[0,0,1],[1,1,1]]", " trailing"),
            &["found \"trailing\"", "expected the end of the file"],
        ),
        (
            "c.json",
            friction("[[0,0,1],[1,1,1]]", " }"),
            &["found \"}\"", "expected the end of the file"],
        ),
        (
            "d.json",
            lcp("[1,,2]"),
            &["found ','", "expected a value", "q[0]"],
        ),
    ] {
        std::fs::write(at.join(name), text).unwrap();
        let out = saltus(&["solve", name], &at);
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{name}: {said}");
        for words in words {
            assert!(said.contains(words), "{name}: {words}: {said}");
        }
    }
}
