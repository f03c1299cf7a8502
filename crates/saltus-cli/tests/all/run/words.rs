//! What runs and checks say of options, of what cannot run, and of places.

use super::{Folder, good};
use serde_json::Value;

impl Folder {
    /// Writes a model file and returns its path.
    fn model(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

/// A case of the repository.
fn case(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");
    format!("{path}/{name}/model.toml")
}

#[test]
fn summaries_tell_every_option() {
    let folder = Folder::new("options");
    let ball = good("ball.toml");
    let (_, table, _) = folder.saltus(&["schemes"]);
    let names = table.lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = names.filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{table}");
    for name in names {
        let (_, text, _) = folder.saltus(&["schemes", name]);
        let listed = text.lines().filter_map(|line| line.strip_prefix("    "));
        let listed = listed.filter(|l| !l.starts_with(' ')).skip(2);
        let options: Vec<&str> = listed.filter_map(|l| l.split([' ', '=']).next()).collect();
        assert!(options.contains(&"tolerance"), "{text}");
        let mut run = vec!["run", &ball, "--until", "0.05", "-q", "--scheme", name];
        if name == "generalized-alpha" {
            run.extend(["--set", "simulation.scheme.formulation=p"]);
        }
        let (code, _, err) = folder.saltus(&run);
        assert_eq!(code, Some(0), "{err}");
        let summary = folder.summary("out/ball");
        let told = summary["scheme"].as_object().unwrap();
        for option in options {
            assert!(told.contains_key(option), "{name}: no {option} in {told:?}");
        }
        // 0.05 s are 25 steps of 2 ms, whatever the round-off of their times.
        let chooses = summary.get("step_range").is_some();
        assert!(chooses || summary["last_step"] == 2e-3, "{name}: {summary}");
    }
    // What follows from the model is a number, too.
    let run = ["run", &ball, "--until", "0.0505", "-q"];
    assert_eq!(folder.saltus(&run).0, Some(0));
    let summary = folder.summary("out/ball");
    let tolerance = summary["scheme"]["activation_tolerance"].as_f64().unwrap();
    assert!(tolerance > 0.0 && tolerance < 1e-9, "{tolerance}");
    // The last step was shortened.
    assert_eq!(summary["step"], 2e-3);
    let last = summary["last_step"].as_f64().unwrap();
    assert!((last - 5e-4).abs() < 1e-12, "{last}");
}

#[test]
fn orders_are_numbers_with_quotes_or_without() {
    let folder = Folder::new("orders");
    let ball = good("ball.toml");
    let scheme = ["--scheme", "adaptive-moreau-jean"];
    for (order, code) in [("0", 0), ("\"1\"", 0), ("variable", 0), ("3", 2)] {
        let set = format!("simulation.scheme.order={order}");
        let run = ["run", &ball, "-q", scheme[0], scheme[1], "--set", &set];
        let (found, _, err) = folder.saltus(&run);
        assert_eq!(found, Some(code), "{order}: {err}");
    }
}

#[test]
fn unstable_coefficients_are_told_with_their_numbers() {
    let folder = Folder::new("unstable");
    let pendulum = case("smooth-pendulum");
    let scheme = "simulation.scheme={ name = \"generalized-alpha\", alpha_m = 0.4, alpha_f = 0.1 }";
    let (_, out, err) = folder.saltus(&["check", &pendulum, "--set", scheme]);
    let words = "gamma = 0.2 is below 1/2, with alpha_m = 0.4 and alpha_f = 0.1";
    assert!(out.contains("warning") && out.contains(words), "{out}{err}");
    let run = [
        "run", &pendulum, "--set", scheme, "--until", "1e-3", "-o", "x",
    ];
    let (_, _, err) = folder.saltus(&run);
    assert!(err.contains(words), "{err}");
    let notes = folder.summary("x")["notes"].to_string();
    assert!(notes.contains(words), "{notes}");
    // What is left out is told.
    let hht = "simulation.scheme={ name = \"generalized-alpha\", preset = \"hht\" }";
    let (_, out, _) = folder.saltus(&["check", &pendulum, "--set", hht]);
    let words = "alpha_m = 0, alpha_f = 0.1, beta = 0.3025, gamma = 0.6";
    assert!(out.contains(words) && !out.contains("unstable"), "{out}");
}

#[test]
fn contacts_that_a_scheme_does_not_solve_are_refused_before_they_close() {
    let folder = Folder::new("unsolved");
    let blocks = case("colliding-blocks");
    for command in ["check", "run"] {
        let arguments = [command, &blocks, "--scheme", "generalized-alpha"];
        let (code, _, err) = folder.saltus(&arguments);
        assert_eq!(code, Some(2), "{err}");
        for part in [
            "does not solve contact",
            "front.0",
            "nonsmooth-generalized-alpha",
        ] {
            assert!(err.contains(part), "{err}");
        }
    }
}

#[test]
fn a_gradient_that_is_undefined_is_told_with_its_place() {
    let folder = Folder::new("gradient");
    let ring = folder.model(
        "ring.toml",
        r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1, 1]
force = [0, -10]
[[system.unilateral]]
name = "ring"
gap = "0.1 - hypot(x, y)"
restitution = 0
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 0.1
"#,
    );
    let (code, out, _) = folder.saltus(&["check", &ring]);
    assert_eq!(code, Some(0));
    assert!(
        !out.contains("NaN") && out.contains("rate undefined"),
        "{out}"
    );
    let words = "the gradient of the gap \"ring\", at x = 0, y = 0,";
    assert!(out.contains(words), "{out}");
}

#[test]
fn an_infinite_derivative_is_named() {
    let folder = Folder::new("derivative");
    let root = folder.model(
        "root.toml",
        r#"
saltus = 1
[system]
coordinates = ["y", "x"]
mass = [1, 1]
force = [0, "sqrt(max(0, 1 - x))"]
[initial]
v = { x = 1 }
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 3
"#,
    );
    let (code, _, err) = folder.saltus(&["run", &root]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("a derivative of the force on `x`"), "{err}");
    assert!(!err.contains("buckles"), "{err}");
}

#[test]
fn obstacles_without_room_are_infeasible_for_the_alpha_schemes_too() {
    let folder = Folder::new("room");
    let walls = folder.model(
        "walls.toml",
        r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = [0]
[[system.unilateral]]
name = "left"
gap = "x + 1 - t"
restitution = 0
[[system.unilateral]]
name = "right"
gap = "1 - t - x"
restitution = 0
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 3
"#,
    );
    for scheme in ["nonsmooth-generalized-alpha", "moreau-jean-projected"] {
        let (code, _, err) = folder.saltus(&["run", &walls, "--scheme", scheme]);
        assert_eq!(code, Some(3), "{err}");
        assert!(!err.contains("a smaller `step` usually"), "{scheme}: {err}");
    }
    let scheme = "nonsmooth-generalized-alpha";
    let (_, _, err) = folder.saltus(&["run", &walls, "--scheme", scheme]);
    assert!(
        err.contains("infeasible") && err.contains("obstacles"),
        "{err}"
    );
}

#[test]
fn a_failed_step_with_located_impacts_names_its_place() {
    let folder = Folder::new("located");
    let whip = case("whip");
    let scheme =
        "simulation.scheme={ name = \"nonsmooth-generalized-alpha\", impacts = \"located\" }";
    let (code, _, err) = folder.saltus(&["run", &whip, "--set", scheme, "--step", "5e-3"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("(beam.") && !err.contains("()"), "{err}");
}

#[test]
fn a_motion_of_a_set_that_does_not_fit_is_one_error_at_its_table() {
    let folder = Folder::new("misfit");
    let block = folder.model(
        "block.toml",
        r#"
saltus = 1
[materials.rubber]
young = 1e6
poisson = 0.3
density = 1000
[[solid]]
name = "block"
box = { from = [0, 0], to = [1, 1], divisions = [4, 4] }
material = "rubber"
plane = "strain"
thickness = 1
[[motion]]
name = "push"
at = "block.left"
component = "x"
displacement = "0.01 + t"
[[support]]
at = "block.right"
hold = "all"
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 0.1
"#,
    );
    let (code, _, err) = folder.saltus(&["check", &block]);
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("and 4 more nodes do") && err.contains("[[motion]]"),
        "{err}"
    );
    assert_eq!(
        err.matches("the initial position violates").count(),
        1,
        "{err}"
    );
}

#[test]
fn nodes_of_contacts_that_are_many_are_told() {
    let folder = Folder::new("columns");
    let block = folder.model(
        "block.toml",
        r#"
saltus = 1
[materials.rubber]
young = 1e6
poisson = 0.3
density = 1000
[[solid]]
name = "block"
box = { from = [0, 0], to = [1, 0.1], divisions = [60, 2] }
material = "rubber"
plane = "strain"
thickness = 1
[[contact]]
name = "floor"
at = "block.bottom"
plane = { point = [0, -1], normal = [0, 1] }
[simulation]
scheme = "moreau-jean"
step = 1e-4
until = 1e-3
"#,
    );
    let (code, out, err) = folder.saltus(&["check", &block]);
    assert_eq!(code, Some(0), "{err}");
    let words = "of 183 nodes, none becomes a column: there are no ends of lines and no point masses, and the 61 nodes of contacts are many";
    assert!(out.contains(words), "{out}");
}

#[test]
fn a_load_that_is_too_much_at_once_is_applied_in_steps() {
    let folder = Folder::new("steps-of-load");
    let elastica = case("elastica");
    let (code, out, err) = folder.saltus(&[
        "check",
        &elastica,
        "--set",
        "parameters.n=64",
        "--set",
        "sections.strip.stiffness.axial=1e9",
    ]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("steps of the load"), "{out}");
    // The tip is where it is with less axial stiffness, which hardly stretches either.
    let tip = |axial: &str| {
        let axial = format!("sections.strip.stiffness.axial={axial}");
        let set = ["--set", "parameters.n=64", "--set", &axial];
        let run = ["run", &elastica, "--until", "0.001", "-q", "-o", "tip"];
        let (code, _, err) = folder.saltus(&[&run[..], &set].concat());
        assert_eq!(code, Some(0), "{err}");
        let rows = std::fs::read_to_string(folder.0.join("tip/trajectory.csv")).unwrap();
        let mut lines = rows.lines().map(|line| line.split(','));
        let at = lines.next().unwrap().position(|name| name == "q.beam.64.y");
        let first = lines.next().unwrap().nth(at.unwrap()).unwrap();
        first.parse::<f64>().unwrap()
    };
    let (soft, stiff) = (tip("1e7"), tip("1e9"));
    assert!((soft - stiff).abs() < 1e-6, "{soft} {stiff}");
}

#[test]
fn a_result_begun_at_the_end_of_another_goes_on_from_there() {
    let folder = Folder::new("last-state");
    let ball = good("ball.toml");
    for (scheme, out) in [
        ("event-driven", "events"),
        ("adaptive-moreau-jean", "adaptive"),
        ("moreau-jean", "fixed"),
        ("half-explicit", "explicit"),
    ] {
        let flags = ["run", &ball, "--scheme", scheme, "-q", "-o"];
        let (code, _, err) = folder.saltus(&[&flags[..], &[out]].concat());
        assert_eq!(code, Some(0), "{err}");
        let saved = folder
            .0
            .join(out)
            .join("checkpoint.json")
            .display()
            .to_string();
        let new = format!("{out}-on");
        let run = [&flags[..], &[&new, "--until", "5", "--resume", &saved]].concat();
        let (code, _, err) = folder.saltus(&run);
        assert_eq!(code, Some(0), "{err}");
        let summary = folder.summary(&new);
        assert_eq!(summary["start"], 4.0, "{scheme}");
        // The ball rests: nothing hits any more.
        assert_eq!(summary["events"]["impacts"], 0, "{scheme}: {summary}");
    }
}

#[test]
fn without_a_table_a_run_says_so_and_leaves_its_state() {
    let folder = Folder::new("tableless");
    let ball = good("ball.toml");
    let run = ["run", &ball, "-f", "npz,hdf5", "-o", "a"];
    let (code, _, err) = folder.saltus(&run);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("--format csv"), "{err}");
    assert!(folder.0.join("a/trajectory.h5").is_file());
    let (code, _, err) = folder.saltus(&["run", "--resume", "a", "--until", "5"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("a/checkpoint.json --out"), "{err}");
    let on = [
        "run",
        &ball,
        "--resume",
        "a/checkpoint.json",
        "--until",
        "5",
        "-o",
        "b",
        "-q",
    ];
    let (code, _, err) = folder.saltus(&on);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(folder.summary("b")["start"], 4.0);
}

#[test]
fn a_failed_step_leaves_the_state_before_it() {
    let folder = Folder::new("before");
    let mass = folder.model(
        "mass.toml",
        r#"
saltus = 1
[system]
coordinates = ["x"]
mass = ["1 - x"]
[initial]
v = { x = 1 }
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 3
"#,
    );
    for scheme in ["moreau-jean", "nonsmooth-generalized-alpha", "splitting"] {
        let (code, _, err) = folder.saltus(&["run", &mass, "--scheme", scheme, "-o", scheme]);
        assert_eq!(code, Some(3), "{err}");
        let path = folder.0.join(scheme).join("checkpoint.json");
        let saved: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let failed = &folder.summary(scheme)["failed_at"];
        assert_eq!(saved["t"], *failed, "{scheme}");
    }
}

#[test]
fn a_body_at_rest_hits_nothing() {
    let folder = Folder::new("rest");
    let pendulum = case("bouncing-pendulum");
    let run = [
        "run",
        &pendulum,
        "--scheme",
        "schatzman-paoli",
        "-q",
        "-o",
        "a",
    ];
    let (code, _, err) = folder.saltus(&run);
    assert_eq!(code, Some(0), "{err}");
    // The last bounces die away by a fixed factor each; rounding goes on until 6 s.
    let last = &folder.summary("a")["events"]["last_impact"];
    assert!((5.0..5.3).contains(&last.as_f64().unwrap()), "{last}");
    // What the mean of two velocities across an impact hides comes back in the next step: no impact adds energy.
    assert_eq!(folder.summary("a")["energy"]["impacts_that_gain"], 0);
}
