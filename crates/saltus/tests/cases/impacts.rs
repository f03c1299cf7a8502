//! Impacts at several contacts.

use crate::run::{Ran, close, run};
use saltus::observe::EventKind;

#[test]
fn two_balls() {
    let ran = run("two-balls", &[]);
    let h = ran.h();
    // The forecast looks 3/2 of a step ahead: the middle of the step comes up to a step before the impact.
    let ground = (2.0_f64 * 0.1 / 9.81).sqrt();
    close("README: first impact", ground, 0.142_784, 5e-7);
    close(
        "ground",
        ran.impact_times("ground")[0],
        ground - 0.5 * h,
        0.5 * h,
    );
    let gap = 0.001 / (1.95 * 9.81 * ground);
    let pair = ground + gap;
    close(
        "pair",
        ran.impact_times("pair")[0],
        pair - 0.5 * h,
        0.5 * h + gap,
    );

    let (v1, v2) = (ran.column("v.q1"), ran.column("v.q2"));
    let (floor, push) = (ran.column("impulse.ground"), ran.column("impulse.pair"));
    let mut hits = 0;
    for k in 1..v1.len() {
        let momentum = |k: usize| v1[k] + 2.0 * v2[k];
        let change = momentum(k) - momentum(k - 1);
        assert!((change - floor[k] + 3.0 * 9.81 * h).abs() < 1e-12);
        if push[k] > 0.0 {
            let (before, after) = (v2[k - 1] - v1[k - 1], v2[k] - v1[k]);
            assert!((after + 0.95 * before).abs() < 1e-12, "step {k}");
            hits += 1;
        }
        if floor[k] > 0.0 {
            assert!((v1[k] + 0.95 * v1[k - 1]).abs() < 1e-12, "step {k}");
        }
    }
    println!("{hits} steps with an impulse between the balls");
    assert!(hits > 0);
}

#[test]
fn corner() {
    for (overrides, v) in [
        (&[][..], [0.3, 1.0]),
        (&["parameters.e=0"][..], [0.0, 0.0]),
        (&["parameters.angle=pi/3"][..], [0.3, 1.0]),
        (&["parameters.angle=2*pi/5"][..], [0.3, 1.0]),
    ] {
        let ran = run("corner", overrides);
        let walls = [ran.impacts("wall1"), ran.impacts("wall2")];
        assert!(
            walls
                .iter()
                .all(|w| w.len() == 1 && w[0].step == walls[0][0].step)
        );
        close(
            "impact",
            walls[0][0].t - 0.5 * ran.h(),
            0.055,
            0.5 * ran.h(),
        );
        close("v.x", ran.last("v.x"), v[0], 1e-14);
        close("v.y", ran.last("v.y"), v[1], 1e-14);
    }
}

#[test]
fn newtons_cradle() {
    for (e, velocities, impulses) in [
        ("1", [-0.6, 0.4, 0.4, 0.4, 0.4], [1.6, 1.2, 0.8, 0.4]),
        ("0", [0.2; 5], [0.8, 0.6, 0.4, 0.2]),
    ] {
        let ran = run("newtons-cradle", &[&format!("parameters.e={e}")]);
        for (i, v) in velocities.iter().enumerate() {
            let name = format!("v.x{}", i + 1);
            close(&name, ran.last(&name), *v, 1e-14);
        }
        let mut steps = Vec::new();
        for (name, impulse) in ["c12", "c23", "c34", "c45"].iter().zip(impulses) {
            let hit = &ran.impacts(name)[0];
            close(name, hit.impulse, impulse, 1e-14);
            steps.push(hit.step);
        }
        assert!(steps.iter().all(|s| *s == steps[0]), "{steps:?}");
        close(
            "impact",
            ran.impact_times("c12")[0],
            0.1 + 0.5 * ran.h(),
            0.5 * ran.h() + 1e-12,
        );
    }
}

#[test]
fn three_balls() {
    for (e, gap, v) in [
        ("1", "0", [-1.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0]),
        ("0.5", "0", [0.0, 0.5, 0.5]),
        ("0", "0", [1.0 / 3.0; 3]),
        ("1", "0.01", [0.0, 0.0, 1.0]),
    ] {
        let overrides = [format!("parameters.e={e}"), format!("parameters.gap={gap}")];
        let ran = run("three-balls", &[&overrides[0], &overrides[1]]);
        for (i, v) in v.iter().enumerate() {
            let name = format!("v.x{}", i + 1);
            close(&name, ran.last(&name), *v, 1e-14);
        }
        let apart = ran.impacts("c23")[0].step - ran.impacts("c12")[0].step;
        assert_eq!(apart > 0, gap != "0");
    }
}

/// The velocity after impacts one after the other, the wall `first` of the two before the other one.
fn one_by_one(degrees: f64, e: f64, first: usize, mut v: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let normals = [[0.0, 1.0], [sin, cos]];
    for k in first..first + 200 {
        let n = normals[k % 2];
        let u = n[0] * v[0] + n[1] * v[1];
        if u < 0.0 {
            v = [v[0] - (1.0 + e) * u * n[0], v[1] - (1.0 + e) * u * n[1]];
        }
    }
    v
}

#[test]
fn wedge() {
    // A wedge of 60° between its walls is entered more from the side.
    for (degrees, before) in [
        (60.0, [-0.3, -1.0]),
        (90.0, [-0.3, -1.0]),
        (120.0, [-1.0, -0.4]),
    ] {
        for e in [0.0, 1.0] {
            let hit_by = |scheme: &str, aside: f64| {
                let values = [
                    format!("simulation.scheme={scheme}"),
                    format!("parameters.angle='{degrees}*pi/180'"),
                    format!("parameters.e={e}"),
                    format!("parameters.aside={aside}"),
                    format!("parameters.vx={}", before[0]),
                    format!("parameters.vy={}", before[1]),
                ];
                let values = values.each_ref().map(String::as_str);
                let ran = run("wedge", &values);
                [ran.last("v.x"), ran.last("v.y")]
            };
            let hit = |aside: f64| hit_by("moreau-jean", aside);
            let together = hit(0.0);
            for scheme in ["event-driven", "higher-order"] {
                let v = hit_by(scheme, 0.0);
                let expected = before.map(|v| -e * v);
                let error = (v[0] - expected[0]).hypot(v[1] - expected[1]);
                assert!(error < 1e-9, "{scheme}, {degrees}°, e = {e}: {v:?}");
            }
            let orders = [hit(0.01), hit(-0.01)];
            println!("{degrees}°, e = {e}: {together:?}, {orders:?}");
            let agree = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-9;
            assert!(agree(together, before.map(|v| -e * v)), "{together:?}");
            for (first, v) in orders.iter().enumerate() {
                let exact = one_by_one(degrees, e, first, before);
                assert!(
                    agree(*v, exact),
                    "wall {} first: {v:?}, {exact:?}",
                    first + 1
                );
            }
            let continuous = orders.iter().all(|v| agree(*v, together));
            assert_eq!(continuous, degrees == 90.0 || degrees == 120.0 && e == 0.0);
        }
    }
    let v = one_by_one(60.0, 1.0, 1, [-0.3, -1.0]);
    close("README", v[0], 1.016_025, 5e-7);
    close("README", v[1], 0.240_192, 5e-7);
}

#[test]
fn a_moving_wall_does_all_the_work_of_elastic_located_impacts() {
    // No forces, `e = 1`: the energy changes by the work of the wall alone, whatever the step.
    let text = r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = ["0"]
[[system.unilateral]]
name = "wall"
gap = "x - 0.1*sin(5*t)"
restitution = 1
[initial]
q = { x = 1 }
v = { x = -1 }
[simulation]
scheme = { name = "nonsmooth-generalized-alpha", formulation = "pva", impacts = "located" }
step = 0.1
until = 3
"#;
    let energy = outcome_of(text).energy;
    let change = energy.last.total() - energy.initial.total();
    assert!(change.abs() > 0.1, "{change}");
    assert!((energy.work_moving - change).abs() < 1e-12, "{energy:?}");
}

#[test]
fn a_wall_has_its_speed_at_the_start_of_the_step_before_an_impact() {
    for forecast in ["start", "position", "predicted", "smooth"] {
        for evaluation in ["theta-point", "weighted-forces"] {
            let text = format!(
                r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = ["0"]
[[system.unilateral]]
name = "wall"
gap = "x - 0.1*sin(20*t)"
restitution = 0.5
[initial]
q = {{ x = 0.2 }}
v = {{ x = -1 }}
[simulation]
scheme = {{ name = "moreau-jean", forecast = "{forecast}", evaluation = "{evaluation}" }}
step = 1e-3
until = 0.4
"#
            );
            let certificate = outcome_of(&text).certificate;
            let law = certificate
                .iter()
                .find(|(e, _, _)| e.name() == "impact_law");
            assert!(law.unwrap().1 < 1e-12, "{forecast} {evaluation}: {law:?}");
        }
    }
}

/// A constraint drives a mass: all its work is that of prescribed motions, to second order in the step.
#[test]
fn what_drives_a_mass_does_all_its_work() {
    for scheme in [
        "moreau-jean",
        "half-explicit",
        "moreau-jean-projected",
        "higher-order",
    ] {
        let text = format!(
            r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1]
force = ["0"]
[[system.bilateral]]
name = "drive"
g = "x - 0.3*sin(5*t)"
[initial]
v = {{ x = 1.5 }}
[simulation]
scheme = "{scheme}"
step = 1e-2
until = 2
"#
        );
        let energy = outcome_of(&text).energy;
        let work = 0.5 * ((1.5 * 10.0_f64.cos()).powi(2) - 1.5_f64.powi(2));
        assert!(
            (energy.work_moving - work).abs() < 5e-3,
            "{scheme}: {energy:?}"
        );
        let dissipated = energy.work_contact - energy.work_moving;
        assert!(dissipated.abs() < 5e-3, "{scheme}: {energy:?}");
    }
}

/// What begins closed and approaching hits at once, with its restitution.
#[test]
fn a_motion_that_begins_with_an_impact_rebounds() {
    for method in [
        "trapezoidal",
        "acceleration",
        "reduced",
        "hetr",
        "hem3",
        "hem4",
    ] {
        let text = format!(
            r#"
saltus = 1
[system]
coordinates = ["y"]
mass = [1]
potential = "10*y"
[[system.unilateral]]
name = "floor"
gap = "y"
restitution = 0.5
[initial]
v = {{ y = -1 }}
[simulation]
scheme = {{ name = "half-explicit", method = "{method}" }}
step = 1e-3
until = 0.05
"#
        );
        let run = recorded(&text);
        let y = run.column("q.y").unwrap().last().unwrap();
        // 0.5 t − 5 t² at 0.05 s.
        assert!((y - 0.0125).abs() < 2e-3, "{method}: {y}");
        assert_eq!(run.outcome().unwrap().events.impacts, 1, "{method}");
    }
}

fn recorded(text: &str) -> saltus::Trajectory {
    let format = saltus_model::Format::Toml;
    let model = saltus_model::Model::parse("text", "text", text.to_owned(), format, &[])
        .unwrap_or_else(|errors| panic!("{errors}"));
    saltus::Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap()
}

fn outcome_of(text: &str) -> saltus::Outcome {
    recorded(text).outcome().unwrap().clone()
}

/// Steps in which contact `name` carries an impulse, but nothing in the step before; what touches at the start is closed.
fn onsets(ran: &Ran, name: &str) -> Vec<usize> {
    let impulse = ran.column(&format!("impulse.{name}"));
    let touches = ran.column(&format!("gap.{name}"))[0] <= 1e-12;
    (1 + usize::from(touches)..impulse.len())
        .filter(|&k| impulse[k] > 0.0 && impulse[k - 1] <= 0.0)
        .collect()
}

#[test]
fn an_impulse_of_a_contact_that_was_open_is_an_impact_or_closes_it() {
    // Directions of the slider-crank turn by more in a step than the slow impacts of its corners are fast.
    let cases: [(&str, &[&str]); 5] = [
        ("slider-crank", &["simulation.until=0.02"]),
        ("rotor-rig", &["simulation.until=0.01"]),
        ("newtons-cradle", &["simulation.until=0.2"]),
        ("woodpecker", &["simulation.until=0.15"]),
        ("wedge", &[]),
    ];
    let schemes = [
        "moreau-jean",
        "adaptive-moreau-jean",
        "moreau-jean-projected",
        "half-explicit",
        "event-driven",
    ];
    for (case, changes) in cases {
        for scheme in schemes {
            let scheme_change = format!("simulation.scheme={scheme}");
            let overrides = [changes, &[scheme_change.as_str()]].concat();
            let ran = run(case, &overrides);
            let events = &ran.outcome().events;
            for (i, contact) in events.contacts.iter().enumerate() {
                let of_contact = events.list.iter().filter(|e| e.contact.0 == i as u64);
                let told: Vec<(u64, EventKind)> = of_contact.map(|e| (e.step, e.kind)).collect();
                for k in onsets(&ran, &contact.name) {
                    let is_told = told.iter().any(|&(step, kind)| {
                        step == k as u64 && matches!(kind, EventKind::Impact | EventKind::Close)
                    });
                    assert!(is_told, "{case}, {scheme}: {} in step {k}", contact.name);
                }
            }
        }
    }
}

#[test]
fn slow_impacts_between_turning_bodies_are_listed_with_the_velocities_of_the_columns() {
    let ran = run("slider-crank", &["simulation.until=0.02"]);
    let (name, impacts) = ("upper_left", ran.impacts("upper_left"));
    assert_eq!(impacts.len(), onsets(&ran, name).len());
    let velocity = ran.column(&format!("gap_velocity.{name}"));
    for hit in &impacts {
        let k = usize::try_from(hit.step).unwrap();
        close("before", hit.velocity_before, velocity[k - 1], 1e-12);
        close("after", hit.velocity_after, velocity[k], 1e-12);
    }
}

#[test]
fn every_contact_of_the_cradle_hits_whatever_the_scheme() {
    for scheme in [
        "moreau-jean",
        "adaptive-moreau-jean",
        "schatzman-paoli",
        "moreau-jean-projected",
        "nonsmooth-newmark",
        "nonsmooth-hht",
        "nonsmooth-generalized-alpha",
        "{ name = \"nonsmooth-generalized-alpha\", impacts = \"located\" }",
        "half-explicit",
        "event-driven",
        "higher-order",
        "splitting",
    ] {
        let ran = run("newtons-cradle", &[&format!("simulation.scheme={scheme}")]);
        let hits = ["c12", "c23", "c34", "c45"].map(|name| ran.impacts(name).len());
        assert_eq!(hits, [1; 4], "{scheme}");
    }
}

/// After the impact the balls that move together press on each other by round-off only.
#[test]
fn round_off_in_a_chain_of_balls_is_neither_event_nor_impulse() {
    for (case, contacts) in [
        ("three-balls", &["c12", "c23"][..]),
        ("newtons-cradle", &["c12", "c23", "c34", "c45"]),
    ] {
        for method in ["combined", "ggl", "direct"] {
            for (e, h) in [(1.0, 1e-3), (0.9, 1e-3), (0.5, 7e-4), (0.0, 2e-2)] {
                let scheme = format!(
                    "simulation.scheme={{ name = \"moreau-jean-projected\", method = \"{method}\" }}"
                );
                let (e_n, step) = (format!("parameters.e={e}"), format!("simulation.step={h}"));
                let ran = run(case, &[&scheme, &e_n, &step]);
                let what = format!("{case} {method} e = {e} h = {h}");
                for name in contacts {
                    let impulses = ran.column(&format!("impulse.{name}"));
                    let small = impulses
                        .iter()
                        .filter(|p| **p != 0.0 && **p < 1e-12)
                        .count();
                    assert_eq!(small, 0, "{what}: impulses of {name}");
                }
                for event in &ran.outcome().events.list {
                    let p = event.impulse;
                    assert!(p == 0.0 || p > 1e-12, "{what}: {event:?}");
                }
            }
        }
    }
}

/// A contact that closes is closed at the end of the step: it does not leave.
#[test]
fn what_closes_with_half_explicit_steps_does_not_leave() {
    for (case, method) in [
        ("rotor-rig", "trapezoidal"),
        ("rotor-rig", "hem3"),
        ("two-balls", "hem3"),
        ("ball-in-a-box", "acceleration"),
    ] {
        let scheme =
            format!("simulation.scheme={{ name = \"half-explicit\", method = \"{method}\" }}");
        let ran = run(case, &[&scheme]);
        let list = ran.outcome().events.list.iter();
        for event in list.filter(|event| event.kind == EventKind::Close) {
            let leaves = event.velocity_after > 1e-9;
            assert!(!leaves, "{case}, {method}: {event:?}");
        }
    }
}

/// One impact per period, always at the same phase.
#[test]
fn shaking_table() {
    let (g, period, e) = (9.81, 0.2, 0.5);
    let (before, impulse) = (-g * period / (1.0 + e), g * period);
    close("README: velocity", before, -1.308, 1e-12);
    close("README: impulse", impulse, 1.962, 1e-12);
    // Scheme, error of the instant and of the velocity.
    for (scheme, late, slow) in [
        ("event-driven", 1e-12, 1e-12),
        ("higher-order", 1e-12, 1e-12),
        ("moreau-jean", 2e-4, 1e-3),
        ("moreau-jean-projected", 2e-4, 1e-3),
        ("schatzman-paoli", 2e-4, 1e-3),
        ("nonsmooth-newmark", 2e-4, 1e-3),
        ("nonsmooth-generalized-alpha", 2e-4, 1e-3),
        ("half-explicit", 2e-4, 1e-3),
        ("adaptive-moreau-jean", 2e-4, 1e-3),
        ("splitting", 2e-4, 1e-3),
    ] {
        let scheme = format!("simulation.scheme={scheme}");
        let ran = run("shaking-table", &[&scheme, "simulation.step=1e-4"]);
        let impacts = ran.impacts("table");
        // The last one comes at the end, or just after it.
        assert!(
            matches!(impacts.len(), 49 | 50),
            "{scheme}: {}",
            impacts.len()
        );
        let hit = &impacts[48];
        close(&scheme, hit.t, 9.8, late);
        close(&scheme, hit.velocity_before, before, slow);
        close(&scheme, hit.impulse, impulse, slow);
        let work = ran.outcome().energy.work_moving / impacts.len() as f64;
        let table = impulse * (g * period / 2.0 + e * before);
        close(&scheme, work, table, 0.03 * table);
    }
}
