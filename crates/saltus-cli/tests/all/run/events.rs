//! Events of every scheme: what is listed, counted and summed.

use super::Folder;
use serde_json::Value;

/// A mass between two walls, the upper one of which shakes and keeps it down at last.
const SHAKEN: &str = r#"saltus = 1
[parameters]
w = "2*pi*5"
[system]
coordinates = ["x"]
mass = [1.0]
potential = "-20*x"
unilateral = [
  { name = "left", gap = "x", restitution = 0.9 },
  { name = "right", gap = "0.3 + 0.02*sin(w*t) - x", restitution = 0.3 },
]
[initial]
q = { x = 0.1 }
v = { x = -1 }
[simulation]
scheme = "moreau-jean"
step = 1e-4
until = 2
"#;

const SCHEMES: [&str; 11] = [
    r#""moreau-jean""#,
    r#"{name="moreau-jean",evaluation="weighted-accelerations"}"#,
    r#""nonsmooth-generalized-alpha""#,
    r#""nonsmooth-newmark""#,
    r#""half-explicit""#,
    r#""splitting""#,
    r#""schatzman-paoli""#,
    r#""moreau-jean-projected""#,
    r#"{name="moreau-jean-projected",method="ggl"}"#,
    r#""event-driven""#,
    r#""higher-order""#,
];

struct Events {
    summary: Value,
    /// Kind and energy lost.
    list: Vec<(String, f64)>,
}

impl Events {
    fn count(&self, kind: &str) -> usize {
        self.list.iter().filter(|(k, _)| k == kind).count()
    }
}

fn run(folder: &Folder, scheme: &str) -> Events {
    run_model(folder, SHAKEN, scheme)
}

fn run_model(folder: &Folder, model: &str, scheme: &str) -> Events {
    let path = folder.0.join("model.toml");
    std::fs::write(&path, model).unwrap();
    let path = path.display().to_string();
    let set = format!("simulation.scheme={scheme}");
    let (code, _, err) = folder.saltus(&["run", &path, "--set", &set, "-q", "-o", "r"]);
    assert_eq!(code, Some(0), "{scheme}: {err}");
    let text = std::fs::read_to_string(folder.0.join("r/events.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let (kind, lost) = (at("kind"), at("energy_lost"));
    let list = lines.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[kind].to_owned(), cells[lost].parse().unwrap())
    });
    Events {
        list: list.collect(),
        summary: folder.summary("r"),
    }
}

#[test]
fn every_scheme_lists_the_same_impacts_and_stays_on_a_wall_that_accelerates() {
    let folder = Folder::new("events");
    let reference = run(&folder, r#""event-driven""#).count("impact");
    assert!((4..40).contains(&reference), "{reference}");
    for scheme in SCHEMES {
        let found = run(&folder, scheme);
        let impacts = found.count("impact");
        // The last ones before rest are smaller than a step.
        assert!(
            impacts.abs_diff(reference) <= reference / 2 + 3,
            "{scheme}: {impacts} impacts, {reference} by events"
        );
        assert!(
            found.count("close") < 12,
            "{scheme}: {:?}",
            found.count("close")
        );
        let events = &found.summary["events"];
        assert_eq!(events["impacts"], impacts, "{scheme}");
        assert_eq!(events["closings"], found.count("close"), "{scheme}");
        assert_eq!(events["openings"], found.count("open"), "{scheme}");
        assert_eq!(found.summary["energy"]["impacts_that_gain"], 0, "{scheme}");
        // What impacts take is the work of the contacts less that of the wall, but for what it does in lasting contact.
        let energy = &found.summary["energy"];
        let of = |name: &str| energy[name].as_f64().unwrap();
        let taken: f64 = found
            .list
            .iter()
            .filter(|(kind, _)| kind == "impact")
            .map(|(_, lost)| lost)
            .sum();
        let rest = taken + of("work_contact") - of("work_moving");
        assert!(rest.abs() < 0.03 * taken, "{scheme}: {rest} of {taken}");
    }
}

#[test]
fn options_that_follow_from_the_motion_are_told() {
    let folder = Folder::new("in-force");
    let located = run(
        &folder,
        r#"{name="event-driven",accumulation="time-stepping"}"#,
    );
    let scheme = &located.summary["scheme"];
    assert!(scheme["v_acc"].as_f64().unwrap() > 0.0, "{scheme}");
    assert!(scheme["time_step"].as_f64().unwrap() > 0.0, "{scheme}");
    assert_eq!(scheme["atol"].as_array().unwrap().len(), 2, "{scheme}");
    // 1/(Wᵀ M⁻¹ W) of both contacts.
    let alpha = run(&folder, r#""nonsmooth-generalized-alpha""#);
    assert_eq!(alpha.summary["scheme"]["r"], 1.0);
    for (scheme, count) in [
        (r#""event-driven""#, "located_impacts"),
        (r#""higher-order""#, "brackets"),
        (r#""moreau-jean-projected""#, "contact_sets"),
        (r#""splitting""#, "flows"),
    ] {
        let counts = run(&folder, scheme).summary["counts"][count].clone();
        assert!(counts.as_u64().unwrap() > 0, "{scheme}: {counts}");
    }
}

#[test]
fn waves_of_a_body_do_not_accumulate() {
    let folder = Folder::new("waves");
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../cases/flexible-pendulum/model.toml"
    );
    let (code, _, err) = folder.saltus(&["run", model, "-q", "-o", "r"]);
    assert_eq!(code, Some(0), "{err}");
    let events = folder.summary("r")["events"].clone();
    assert_eq!(events["accumulation"], 0, "{events}");
    assert!(events["impacts"].as_u64().unwrap() > 5, "{events}");
}

#[test]
fn what_rests_at_the_start_is_closed_in_the_first_row() {
    let folder = Folder::new("row-zero");
    let text = r#"saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1.0, 1.0]
potential = "9.81*y - 0.1*x"
unilateral = [{ name = "floor", gap = "y", restitution = 0, tangential = "x", friction = 0.3 }]
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 0.1
"#;
    let path = folder.0.join("model.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    for scheme in [
        "moreau-jean",
        "half-explicit",
        "event-driven",
        "moreau-jean-projected",
    ] {
        let arguments = ["run", &path, "--scheme", scheme, "-q", "-o", "r"];
        let (code, _, err) = folder.saltus(&arguments);
        assert_eq!(code, Some(0), "{scheme}: {err}");
        let table = std::fs::read_to_string(folder.0.join("r/trajectory.csv")).unwrap();
        let rows: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
        let at = rows[0].iter().position(|h| *h == "state.floor").unwrap();
        for row in &rows[1..] {
            assert_eq!(row[at], "stick", "{scheme}: {row:?}");
        }
        assert!(!folder.0.join("r/events.csv").exists(), "{scheme}");
    }
}

/// A mass at rest that a wall hits at sin(5 t) = 1/2: P = (1 + e) m u.
const STRUCK: &str = r#"saltus = 1
[system]
coordinates = ["y"]
mass = [1.0]
unilateral = [{ name = "c", gap = "y - 0.1*sin(5*t)", restitution = 0.5 }]
[initial]
q = { y = 0.05 }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 0.15
"#;

/// A bar at rest that a plane at constant speed meets.
const STRUCK_BAR: &str = r#"saltus = 1
[materials.m]
young = 1e6
density = 1000
[sections.s]
area = 1e-4
inertia = 1e-9
[[bar]]
name = "b"
from = [0]
to = [1]
elements = 10
material = "m"
section = "s"
[[contact]]
name = "w"
at = "b.start"
plane = { point = ["-0.03 + t"], normal = [1] }
[simulation]
scheme = "moreau-jean"
step = 1e-4
until = 0.04
"#;

#[test]
fn what_moves_hits_what_rests() {
    let speed = 0.5 * (1.0_f64 - 0.25).sqrt();
    for scheme in SCHEMES {
        let folder = Folder::new("struck");
        let events = run_model(&folder, STRUCK, scheme);
        assert_eq!(events.count("impact"), 1, "{scheme}");
        // The wall pushes: P (u⁻ + u⁺)/2 = (1 + e)(1 - e)/2 m u² with the sign of a loss.
        let lost: f64 = events.list.iter().map(|(_, lost)| lost).sum();
        let expected = 0.375 * speed * speed;
        assert!(
            (lost - expected).abs() < 1e-2 * expected,
            "{scheme}: {lost} J"
        );
    }
    for scheme in [
        r#""moreau-jean""#,
        r#""nonsmooth-generalized-alpha""#,
        r#""nonsmooth-newmark""#,
        r#""higher-order""#,
        r#""moreau-jean-projected""#,
    ] {
        let events = run_model(&Folder::new("struck-bar"), STRUCK_BAR, scheme);
        assert!(events.count("impact") > 0, "{scheme}");
    }
}

#[test]
fn an_impact_that_closes_loses_its_energy_once() {
    let model = r#"saltus = 1
[system]
coordinates = ["x"]
mass = [1.0]
unilateral = [{ name = "w", gap = "1.005 - x", restitution = 0 }]
[initial]
v = { x = 1 }
[simulation]
scheme = "moreau-jean"
step = 1e-2
until = 1.5
"#;
    for scheme in SCHEMES {
        let events = run_model(&Folder::new("plastic"), model, scheme);
        let lost: f64 = events.list.iter().map(|(_, lost)| lost).sum();
        assert!((lost - 0.5).abs() < 1e-9, "{scheme}: {lost} J");
    }
}

/// A beam in space, whose rotations are more numbers than velocities, starts from rest and sways.
#[test]
fn a_beam_in_space_sways_between_events() {
    let model = r#"saltus = 1
[sections.bar]
stiffness = { axial = 1e4, shear = 1e4, bending = 10, torsion = 8 }
line_density = 1.0
rotary_inertia = [0.02, 0.01, 0.01]
[[beam]]
name = "beam"
from = [0, 0, 0]
to = [1, 0, 0]
elements = 2
section = "bar"
[[support]]
at = "beam.start"
hold = "all"
[[load]]
at = "beam.end"
force = [0, "1e-6*sin(10*t)", "heaviside(t - 0.03)"]
[simulation]
scheme = "event-driven"
step = 0.01
until = 0.05
"#;
    let folder = Folder::new("beam-in-space");
    let path = folder.0.join("model.toml");
    std::fs::write(&path, model).unwrap();
    let path = path.display().to_string();
    let (code, _, err) = folder.saltus(&["run", &path, "-q", "-o", "r"]);
    assert_eq!(code, Some(0), "{err}");
    let summary = folder.summary("r");
    let balance = summary["certificate"]["energy_balance"]["worst"].as_f64();
    assert!(balance.is_some_and(|x| x < 1e-9), "{balance:?}");
}
