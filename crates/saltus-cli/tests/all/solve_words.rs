//! The words of `saltus solve`: how a method ended, what helps, numbers that are none, and what stays in a file.

use crate::support::{SLIDING, folder, refused, saltus};

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

/// A row without data has no measure to miss it by: a word says so, and `null` in the file.
#[test]
fn a_miss_without_a_measure_is_no_number() {
    let at = folder("solve-unbounded");
    let text = r#"{"kind":"mlcp","equalities":1,"matrix":[[0,0,0,2],[0,2,0,0],[1,2,0,1],[1,0,1,1]],"q":[0,0,-2,-2]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    let out = saltus(
        &["solve", "p.json", "--solver", "all", "--out", "s.json"],
        &at,
    );
    let said = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
    assert!(
        said.split_whitespace()
            .all(|w| !["inf", "NaN"].contains(&w)),
        "{said}"
    );
    let text = std::fs::read_to_string(at.join("s.json")).unwrap();
    let solutions: serde_json::Value = serde_json::from_str(&text).unwrap();
    let solutions = solutions.as_array().unwrap();
    let nulls = solutions.iter().filter(|s| s["residual"].is_null());
    assert!(nulls.clone().all(|s| s["solved"] == false), "{text}");
    assert_eq!(nulls.count() > 0, said.contains("  unbounded"), "{said}");
}

/// One of something is one.
#[test]
fn numbers_and_nouns_agree() {
    let at = folder("solve-plurals");
    let global = r#"{"kind":"global-friction","dimension":2,"mu":[0.5],"mass":[[0,0,1],[1,1,1]],
        "directions":[[0,0,1],[1,1,1]],"f":[-1,0.2],"w":[0,0]}"#;
    for (name, text, words) in [
        ("p", SLIDING, "frictional contact, 1 contact of dimension 3"),
        (
            "g",
            global,
            "global form, 1 contact of dimension 2, 2 velocities",
        ),
        (
            "l",
            r#"{"kind":"lcp","matrix":[[2]],"q":[-1]}"#,
            "complementarity, 1 unknown\n",
        ),
        (
            "m",
            r#"{"kind":"mlcp","equalities":1,"matrix":[[2]],"q":[-1]}"#,
            "1 equality of 1 row\n",
        ),
    ] {
        std::fs::write(at.join(format!("{name}.json")), text).unwrap();
        let out = refused(&at, &[&format!("{name}.json")], 0, "");
        let said = String::from_utf8(out.stdout).unwrap();
        assert!(said.contains(words), "{said}");
    }
    let out = refused(&at, &["l.json", "--solver", "enumeration"], 0, "");
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(said.contains(": 1 solution, proven"), "{said}");
}

/// `0 ≤ z ⟂ z − (1, …, 1) ≥ 0`.
fn identity(n: usize) -> String {
    let row = |i: usize| {
        let entries: Vec<&str> = (0..n).map(|j| if i == j { "1" } else { "0" }).collect();
        format!("[{}]", entries.join(","))
    };
    let rows: Vec<String> = (0..n).map(row).collect();
    let q = vec!["-1"; n].join(",");
    format!(
        r#"{{"kind":"lcp","matrix":[{}],"q":[{q}]}}"#,
        rows.join(",")
    )
}

/// A method that is not for a problem is refused by itself and listed among others; it has not failed.
#[test]
fn a_method_that_is_not_for_a_problem_is_no_failure() {
    let at = folder("solve-not-applicable");
    std::fs::create_dir_all(at.join("set/large")).unwrap();
    for (name, n) in [("set/few.json", 3), ("set/large/many.json", 13)] {
        std::fs::write(at.join(name), identity(n)).unwrap();
    }
    let many = "set/large/many.json";
    let reason = "13 complementary pairs, and enumeration is for at most 12; use auto";
    let out = refused(&at, &[many, "--solver", "enumeration"], 2, reason);
    assert!(out.stdout.is_empty(), "{out:?}");
    let out = refused(&at, &[many, "--solver", "all"], 0, "");
    let said = String::from_utf8(out.stdout).unwrap();
    let row = said.lines().find(|l| l.starts_with("enumeration")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["enumeration", "not-applicable"], "{said}");
    assert!(said.contains(reason), "{said}");
    let none = ["set/large", "--solver", "enumeration"];
    refused(&at, &none, 2, "for none of the problems");
    let arguments = ["set", "--solver", "all", "--profile", "p"];
    let out = refused(&at, &arguments, 0, "");
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(
        said.contains("of 17 runs; 1 run not applicable; 0 files") && said.contains(reason),
        "{said}"
    );
    let failures = std::fs::read_to_string(at.join("p-failures.csv")).unwrap();
    assert!(!failures.contains("enumeration"), "{failures}");
}

/// The limit on iterations is the one that was given, and is advised where it was spent.
#[test]
fn the_limit_is_the_one_that_was_given() {
    let at = folder("solve-limit");
    // No z satisfies z₁ − z₂ ≥ 1 and z₂ − z₁ ≥ 1: sweeps climb for ever.
    let text = r#"{"kind":"lcp","matrix":[[1,-1],[-1,1]],"q":[-1,-1]}"#;
    std::fs::write(at.join("p.json"), text).unwrap();
    for (solver, word, advised) in [
        ("pgs", "iteration-limit       150000", true),
        ("fischer-burmeister", "stalled", false),
    ] {
        let arguments = ["p.json", "--solver", solver, "--max-iterations", "150000"];
        let out = refused(&at, &arguments, 3, "no solver settled");
        let (found, said) = (
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
        );
        assert!(found.contains(word), "{solver}: {found}");
        assert_eq!(
            said.contains("--max-iterations"),
            advised,
            "{solver}: {said}"
        );
    }
}

/// What stands beside a problem stays where the same problem is written over it; a format without a place for it says so.
#[test]
fn stored_points_are_kept() {
    let at = folder("solve-kept");
    let body = SLIDING.trim_end().strip_suffix('}').unwrap();
    let beside = |points: &str| format!("{body},{points}}}");
    let both = r#""solution":{"unknowns":[0.5,0,0]},"guesses":[{"unknowns":[1,0,0]},{"unknowns":[2,0,0]}]"#;
    let other = r#""title":"here","guesses":[{"unknowns":[2,0,0]},{"unknowns":[3,0,0]}]"#;
    for (name, text) in [("p.json", SLIDING.to_owned()), ("q.json", beside(other))] {
        std::fs::write(at.join(name), text).unwrap();
    }
    let points = |name: &str| {
        let record = saltus_problems::archive::read_record(&at.join(name)).unwrap();
        let guesses: Vec<f64> = record.guesses.iter().map(|g| g.unknowns[0]).collect();
        (
            record.solution.map(|s| s.unknowns[0]),
            guesses,
            record.title,
        )
    };
    std::fs::write(at.join("t.json"), beside(both)).unwrap();
    let said = refused(&at, &["p.json", "--convert", "t.json"], 0, "").stdout;
    assert!(
        String::from_utf8(said)
            .unwrap()
            .contains("3 stored points of the file kept")
    );
    assert_eq!(points("t.json"), (Some(0.5), vec![1.0, 2.0], None));
    refused(&at, &["q.json", "--convert", "t.json"], 0, "");
    let title = Some("here".to_owned());
    assert_eq!(points("t.json"), (Some(0.5), vec![2.0, 3.0, 1.0], title));
    refused(&at, &["t.json", "--convert", "t.h5"], 0, "");
    // A solution that was found takes the place of the one stored; without one it stays.
    let out = ["p.json", "--out", "t.h5"];
    let few = [
        "--solver",
        "projected-gradient",
        "--tol",
        "1e-14",
        "--max-iterations",
        "0",
    ];
    let failed = refused(&at, &[&out[..], &few].concat(), 3, "stays");
    assert!(failed.status.code() == Some(3));
    assert_eq!(points("t.h5").0, Some(0.5));
    refused(&at, &out, 0, "");
    let (solution, guesses, _) = points("t.h5");
    assert!((solution.unwrap() - 0.1).abs() < 1e-6);
    assert_eq!(guesses, [2.0, 3.0, 1.0]);
    refused(
        &at,
        &["t.json", "--convert", "t.dat"],
        0,
        "no place for the 4 stored points",
    );
}
