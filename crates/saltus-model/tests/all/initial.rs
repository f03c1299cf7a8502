//! Initial states: refused, projected or allowed where they are not consistent.

use saltus_model::{Format, Model, ModelErrors, Override};

/// A pendulum in Cartesian coordinates above a table.
const PENDULUM: &str = r#"
saltus = 1
[parameters]
L = 2
[system]
coordinates = ["x", "y"]
mass = [1, 1]
force = [0, -9.81]
[[system.bilateral]]
name = "rod"
g = "hypot(x, y) - L"
[[system.unilateral]]
name = "table"
gap = "y + 3"
restitution = 0.5
[initial]
q = { x = "L" }
v = { y = 1 }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 1
"#;

fn load(overrides: &[&str]) -> Result<Model, ModelErrors> {
    let overrides: Vec<Override> = overrides.iter().map(|text| Override::set(*text)).collect();
    Model::parse(
        "pendulum",
        "pendulum.toml",
        PENDULUM.to_owned(),
        Format::Toml,
        &overrides,
    )
}

fn messages(outcome: Result<Model, ModelErrors>) -> Vec<String> {
    outcome
        .unwrap_err()
        .diagnostics
        .into_iter()
        .map(|d| d.message)
        .collect()
}

#[test]
fn a_consistent_state_is_taken_as_it_is() {
    let model = load(&[]).unwrap();
    assert_eq!(
        (model.initial.q, model.initial.v),
        (vec![2.0, 0.0], vec![0.0, 1.0])
    );
    assert_eq!(model.projection, None);
    assert!(model.notes.is_empty());
}

#[test]
fn an_inconsistent_state_is_refused_with_its_residuals() {
    let found = messages(load(&["initial.q.x=1.5", "initial.v.x=0.25"]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("\"rod\": its residual is -0.5 m"),
        "{found:?}"
    );
    assert!(
        found[1].contains("\"rod\": its rate is 0.25 m/s"),
        "{found:?}"
    );
}

#[test]
fn projection_goes_to_the_nearest_state() {
    // The nearest point of the circle lies on the ray; the nearest velocity has no radial part.
    let model = load(&[
        "initial.q={ x = 3, y = -4 }",
        "initial.v={ x = 3, y = -4 }",
        "initial.project=true",
    ])
    .unwrap();
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11);
    assert!(
        close(&model.initial.q, &[1.2, -1.6]),
        "{:?}",
        model.initial.q
    );
    assert!(
        close(&model.initial.v, &[0.0, 0.0]),
        "{:?}",
        model.initial.v
    );
    assert!(model.projection.is_some());
    assert!(
        model.notes[0].contains("changed positions by up to 2.4 and velocities by up to 4"),
        "{:?}",
        model.notes
    );
}

#[test]
fn a_projection_that_changes_nothing_is_not_worth_a_note() {
    let model = load(&["initial.project=true"]).unwrap();
    assert!(model.projection.is_some());
    assert!(model.notes.is_empty(), "{:?}", model.notes);
    let model = load(&["initial.project=true", "initial.v.x=3"]).unwrap();
    assert_eq!(
        model.notes,
        ["the initial state was made consistent, which changed velocities by up to 3"]
    );
}

#[test]
fn what_is_wrong_at_the_start_is_said_together() {
    let found = messages(load(&[
        "initial.q={ x = 0, y = -4 }",
        "system.unilateral.table.tangential=x",
        "system.unilateral.table.friction='1/L'",
        "initial.v.y=0",
        "simulation.scheme=nonsmooth-newmark",
    ]));
    assert_eq!(found.len(), 3, "{found:?}");
    for part in [
        "\"rod\": its residual is 2 m",
        "its gap is -1 m",
        "has friction",
    ] {
        assert!(
            found.iter().any(|message| message.contains(part)),
            "{part}: {found:?}"
        );
    }
}

#[test]
fn a_dissipation_that_feeds_the_motion_is_noted() {
    let notes = |dissipation: &str| {
        let set = format!("system.dissipation='{dissipation}'");
        load(&[&set]).unwrap().notes
    };
    // At the start v = (0, 1).
    assert_eq!(
        notes("-3*v.y^2"),
        [
            "the dissipation is -3 W at the initial state; a negative one feeds energy into the motion",
            "the dissipation drives \"y\" instead of damping it: its second derivative by v.y is -6 at the initial state",
        ]
    );
    assert_eq!(notes("0.5*v.y^2 - 0.25*v.x^2").len(), 1);
    for good in ["0.5*(v.x - v.y)^2", "abs(v.y)", "0", "y^2*v.x^2"] {
        assert!(notes(good).is_empty(), "{good}");
    }
    assert_eq!(notes("-abs(v.y)").len(), 1);
}

#[test]
fn overlap_is_refused_projected_or_allowed() {
    let low = [
        "system.unilateral.table.gap='y + 1'",
        "initial.q={ x = 0, y = '-L' }",
        "initial.v.y=0",
        "initial.v.x=1",
    ];
    let with = |choice: &str| {
        let set = format!("initial.overlap={choice}");
        load(&[&low[..], &[set.as_str()]].concat())
    };
    let found = messages(with("error"));
    assert_eq!(
        found,
        ["the constraint \"table\" is violated at the start: its gap is -1 m"]
    );
    let allowed = with("allow").unwrap();
    assert_eq!(allowed.initial.q, [0.0, -2.0]);
    assert_eq!(
        allowed.notes,
        ["the initial state overlaps at \"table\" by 1 m, as overlap = \"allow\" permits"]
    );
    assert!(load(&["initial.overlap=allow"]).unwrap().notes.is_empty());
}

#[test]
fn overlap_alone_is_projected_without_touching_the_rest() {
    let model = load(&[
        "system.bilateral=[]",
        "initial.q={ x = 7, y = -5 }",
        "initial.v={ x = 1, y = -1 }",
        "initial.overlap=project",
    ])
    .unwrap();
    assert!(
        (model.initial.q[1] + 3.0).abs() < 1e-11,
        "{:?}",
        model.initial.q
    );
    assert_eq!(model.initial.q[0], 7.0);
    assert_eq!(model.initial.v, [1.0, -1.0]);
}

#[test]
fn a_scheme_that_cannot_run_the_system_says_so_before_the_run() {
    let model = load(&[
        "system.unilateral.table.tangential=x",
        "system.unilateral.table.friction=0.3",
        "simulation.scheme=nonsmooth-newmark",
    ])
    .unwrap();
    let errors = model.ready().unwrap_err();
    assert!(
        errors
            .to_string()
            .starts_with("--set:1:34: contact \"table\" has friction"),
        "{errors}"
    );
    assert!(load(&[]).unwrap().ready().is_ok());
}

#[test]
fn two_tangential_directions_that_are_one_are_refused_by_their_line() {
    let with = |directions: &str| {
        load(&[
            &format!("system.unilateral.table.tangential={directions}"),
            "system.unilateral.table.friction=0.3",
        ])
    };
    for directions in [r#"["x", "x"]"#, r#"["x", "-2*x"]"#] {
        let errors = with(directions).unwrap_err().to_string();
        assert!(
            errors.starts_with(
                "--set:1:25: the two tangential directions of contact \"table\" are parallel"
            ),
            "{errors}"
        );
    }
    assert!(with(r#"["x", "x + y"]"#).is_ok());
}
