//! What is said of models and runs that need a cure, and that the cure works; the stable step of constrained motion.

use crate::support::{column, folder, said};
use std::path::Path;

/// What `check` says, standard output and error together, and its exit code.
fn check(at: &Path, model: &str) -> (Option<i32>, String) {
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, out, err) = said(at, &["check", "model.toml"]);
    (code, out + &err)
}

fn half_explicit(system: &str, initial: &str, step: &str) -> String {
    format!(
        "saltus = 1\n[system]\n{system}[initial]\n{initial}\n[simulation]\nscheme = \"half-explicit\"\nstep = {step}\nuntil = 1\n"
    )
}

/// The largest stable step that a run of one step tells.
fn limit(at: &Path, model: &str) -> f64 {
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, _, err) = said(
        at,
        &[
            "run",
            "model.toml",
            "--until",
            "1e-4",
            "--out",
            "out",
            "--force",
        ],
    );
    assert_eq!(code, Some(0), "{err}");
    let text = std::fs::read_to_string(at.join("out/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["stable_step"].as_f64().unwrap()
}

#[test]
fn the_stable_step_is_that_of_the_motions_that_constraints_leave() {
    let at = folder("stable");
    // x = y: masses 3 and 0.5 with K = [400 200; 200 30100] and C = 30 [1 −1; −1 1].
    let tied = "coordinates = [\"x\", \"y\", \"z\"]\nmass = [1.0, 2.0, 0.5]\n\
                potential = \"0.5*1e6*(x-y)^2 + 0.5*100*(x+y+z)^2 + 0.5*3e4*z^2\"\ndissipation = \"0.5*30*(v.z-v.x)^2\"\n\
                [[system.bilateral]]\nname = \"tie\"\ng = \"x-y\"\n";
    let found = limit(
        &at,
        &half_explicit(tied, "q = { x = 0.01, y = 0.01 }", "1e-4"),
    );
    let verlet = |x: [f64; 2]| {
        let form =
            |a: f64, b: f64, c: f64| a * x[0] * x[0] + 2.0 * b * x[0] * x[1] + c * x[1] * x[1];
        let mass = form(3.0, 0.0, 0.5);
        let (k, d) = (
            form(400.0, 200.0, 30100.0) / mass,
            form(30.0, -30.0, 30.0) / mass,
        );
        4.0 / (d + (d * d + 4.0 * (k - d * d)).sqrt())
    };
    let (a, c) = (400.0 / 3.0, 60200.0_f64);
    let fastest = 0.5 * (a + c + ((a - c).powi(2) + 4.0 * 200.0 * 200.0 / 1.5).sqrt());
    let exact = verlet([200.0, 3.0 * fastest - 400.0]).min(verlet([1.0 / 3.0, -2.0]));
    assert!((found / exact - 1.0).abs() < 1e-4, "{found} {exact}");
    assert!((0.0070..0.0076).contains(&found), "{found}");

    // A pendulum whose rod is a constraint: its force is the only stiffness, m g cos φ / L.
    let pendulum = "coordinates = [\"x\", \"y\"]\nmass = [1.0, 1.0]\npotential = \"9.81*y\"\n\
                    [[system.bilateral]]\nname = \"rod\"\ng = \"(x^2+y^2-0.01)/0.2\"\n";
    let hangs = "q = { x = 0.006, y = -0.09981983770774224 }\nproject = true";
    let model = half_explicit(pendulum, hangs, "1e-4");
    let exact = 2.0 / (9.81 * 0.998_198_377_077_422_4 / 0.1_f64).sqrt();
    let found = limit(&at, &model);
    assert!((found / exact - 1.0).abs() < 1e-5, "{found} {exact}");
    let (code, text) = check(&at, &half_explicit(pendulum, hangs, "0.25"));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("warning        the step of 0.25 s is beyond the limit"),
        "{text}"
    );

    // Upside down it falls, which limits no step; beside a spring on another coordinate that does.
    let fallen = pendulum.replace("[\"x\", \"y\"]", "[\"x\", \"y\", \"z\"]");
    let fallen = fallen
        .replace("[1.0, 1.0]", "[1.0, 1.0, 1.0]")
        .replace("9.81*y", "9.81*y + 8*z^2");
    let stands = "q = { x = 0, y = 0.1 }\nproject = true";
    let found = limit(&at, &half_explicit(&fallen, stands, "1e-4"));
    assert!((found / 0.5 - 1.0).abs() < 1e-4, "{found}");
}

const BALL: &str = "saltus = 1\n[system]\ncoordinates = [\"y\"]\nmass = [1.0]\npotential = \"9.81*y\"\n\
                    [[system.unilateral]]\nname = \"wall-1\"\ngap = \"y\"\nrestitution = 0.5\n\
                    [initial]\nq = { y = 0.1 }\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 0.5\n";

#[test]
fn names_that_read_as_differences_are_quoted() {
    let at = folder("quoted");
    let (code, text) = check(
        &at,
        &format!("{BALL}[output]\nquantities = {{ a = \"2*impulse.wall-1\" }}\n"),
    );
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("'impulse.wall-1'"), "{text}");
    let model = format!(
        "{BALL}stop = \"'gap.wall-1' < 0.05\"\n[output]\nquantities = {{ a = \"2*'gap.wall-1' - 1\" }}\n"
    );
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, _, err) = said(&at, &["run", "model.toml", "--out", "out"]);
    assert_eq!(code, Some(0), "{err}");
    let csv = std::fs::read_to_string(at.join("out/trajectory.csv")).unwrap();
    let (a, y) = (column(&csv, "a"), column(&csv, "q.y"));
    assert!(*y.last().unwrap() < 0.05 && a.len() < 200);
    assert!(
        a.iter()
            .zip(&y)
            .all(|(a, y)| (a - (2.0 * y - 1.0)).abs() < 1e-12)
    );
}

#[test]
fn what_is_proposed_for_combined_conditions_works() {
    let at = folder("conditions");
    let with = |stop: &str| format!("{BALL}stop = \"{stop}\"\n");
    for (stop, cure) in [
        ("y < 0.05 and v.y > 0", "if(a < b, if(c < d, 1, 0), 0) > 0"),
        ("y < 0.05 or v.y > 0", "if(a < b, 1, if(c < d, 1, 0)) > 0"),
        ("y < 0.05 & v.y > 0", "if(a < b, if(c < d, 1, 0), 0) > 0"),
        ("0 < y < 0.05", "if(a < b, if(c < d, 1, 0), 0) > 0"),
        ("y = 0", "is met by none of them"),
    ] {
        let (code, text) = check(&at, &with(stop));
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(cure), "{stop}: {text}");
        assert!(!text.contains("*and"), "{text}");
    }
    for stop in [
        "if(y < 0.05, if(v.y > 0, 1, 0), 0) > 0",
        "if(y < 0.05, 1, if(v.y > 0, 1, 0)) > 0",
    ] {
        let (code, text) = check(&at, &with(stop));
        assert_eq!(code, Some(0), "{text}");
    }
}

#[test]
fn one_wrong_value_of_a_tableau_is_one_finding() {
    let at = folder("tableau");
    let model = |a: &str, order: &str| {
        let tableau =
            format!("{{ a = [[{a}], [-1.0, 2.0]], b = [0.25, 0.5, 0.25], order = {order} }}");
        format!("{BALL}scheme = {{ name = \"half-explicit\", method = \"tableau\", tableau = {tableau} }}\n")
            .replacen("scheme = \"moreau-jean\"\n", "", 1)
    };
    for (a, order, what) in [
        ("0.5", "5", "order is 5, expected a whole number in [1, 4]"),
        ("0.5", "0", "order is 0, expected a whole number in [1, 4]"),
        ("\"2/3\"", "2", "is the text \"2/3\", expected a number"),
    ] {
        let (code, text) = check(&at, &model(a, order));
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(what) && text.contains("1 error"), "{text}");
    }
}

#[test]
fn swapped_letters_and_words_of_names_are_recognised() {
    let at = folder("swapped");
    let theta = BALL
        .replace("\"y\"", "\"theta\"")
        .replace("*y", "*theta")
        .replace("{ y", "{ tetha");
    let (_, text) = check(&at, &theta);
    assert!(text.contains("did you mean \"theta\"?"), "{text}");
    let (_, text) = check(&at, &BALL.replace("moreau-jean", "newmark"));
    assert!(
        text.contains("did you mean \"nonsmooth-newmark\"?"),
        "{text}"
    );
}

const FRAME: &str = "saltus = 1\n[materials.s]\nyoung = YOUNG\npoisson = 0.3\ndensity = 7850\n[sections.r]\nrectangle = { width = 0.01, height = 0.02 }\n\
    [[beam]]\nname = \"a\"\nfrom = [0, 0]\nto = [1, 0]\nelements = 4\nmaterial = \"s\"\nsection = \"r\"\n\
    [[beam]]\nname = \"b\"\nfrom = FROM\nto = [1, 1]\nelements = 4\nmaterial = \"s\"\nsection = \"r\"\n\
    [[support]]\nat = \"a.start\"\nhold = \"all\"\n\
    [simulation]\nscheme = \"generalized-alpha\"\nstep = 1e-5\nuntil = 1e-3\n";

#[test]
fn check_doubts_nodes_that_nearly_coincide_and_metals_softer_than_rubber() {
    let at = folder("doubts");
    let model = |young: &str, from: &str| FRAME.replace("YOUNG", young).replace("FROM", from);
    let (_, text) = check(&at, &model("210e9", "\"a.end\""));
    assert!(!text.contains("warning"), "{text}");
    let (_, text) = check(&at, &model("210e9", "[1, 1e-6]"));
    assert!(
        text.contains("at one place, or within 1.0e-6 m, and not connected"),
        "{text}"
    );
    let (_, text) = check(&at, &model("210e9", "[1, 0.01]"));
    assert!(!text.contains("not connected"), "{text}");
    let (_, text) = check(&at, &model("210e3", "\"a.end\""));
    assert!(
        text.contains("is the modulus meant in MPa or GPa?"),
        "{text}"
    );
}

#[test]
fn a_sweep_says_which_runs_a_condition_ended_and_no_scratch_file_stays() {
    let at = folder("conditioned");
    std::fs::write(
        at.join("model.toml"),
        format!("{BALL}stop = \"y < 0.05\"\n"),
    )
    .unwrap();
    let (code, out, err) = said(
        &at,
        &[
            "sweep",
            "model.toml",
            "--set",
            "initial.q.y=[0.1, 5]",
            "--out",
            "many",
        ],
    );
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("1 to the end, 1 to the condition"), "{out}");
    let runs = std::fs::read_to_string(at.join("many/runs.csv")).unwrap();
    let word = |row: &str| {
        runs.lines()
            .nth(if row == "first" { 1 } else { 2 })
            .unwrap()
            .to_owned()
    };
    assert!(word("first").contains(",condition,"), "{runs}");
    assert!(word("second").contains(",end-reached,"), "{runs}");

    let run = |arguments: &[&str]| {
        let common = ["run", "model.toml", "--out", "out"];
        let (code, _, err) = said(&at, &[&common[..], arguments].concat());
        assert_eq!(code, Some(0), "{err}");
    };
    run(&["--format", "npz"]);
    // What a run that was killed leaves behind.
    let scratch = at.join("out/trajectory.npz.spool");
    std::fs::write(&scratch, "rows").unwrap();
    run(&["--format", "csv"]);
    assert!(!scratch.exists() && !at.join("out/trajectory.npz").exists());
}
