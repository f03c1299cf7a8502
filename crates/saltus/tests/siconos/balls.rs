//! Balls, disks and points on straight lines: constant mass, constant force, linear gaps.

use crate::peer::{Peer, ball, bead_column, case, minus, model, ours, run};
use saltus::{Simulation, State};

#[test]
fn ball_moreau_jean() {
    let Some(mut peer) = Peer::read("ball-moreau-jean") else {
        return;
    };
    let text = ball(r#""moreau-jean""#, 0.005);
    let run = run(&model("ball-moreau-jean", &text));
    peer.column("t", run.t().iter(), 1e-12)
        .column("z", ours(&run, "q.z"), 1e-12)
        .column("v", ours(&run, "v.z"), 1e-12)
        .column("p", ours(&run, "impulse.ground"), 1e-12)
        .column("P", ours(&run, "impulse.ground"), 1e-12)
        .report();
}

/// The peer tests at the predicted position with `gamma = 1/2`: for a linear gap that is the start of the step with `3/2`.
#[test]
fn ball_oblique_ground() {
    for forecast in [
        r#"forecast = "start", gamma = 1.5"#,
        r#"forecast = "predicted", gamma = 0.5"#,
    ] {
        let Some(mut peer) = Peer::read("ball-oblique-ground") else {
            return;
        };
        let text = format!(
            r#"
saltus = 1
[system]
coordinates = ["q0", "q1", "q2"]
mass = [1.0, 1.0, 0.004]
force = [-10.0, 0, 0]
[[system.unilateral]]
name = "ground"
gap = "q0 + 0.1*q1"
restitution = 0.9
[initial]
q = {{ q0 = 1.0 }}
[simulation]
scheme = {{ name = "moreau-jean", {forecast} }}
step = 0.025
until = 10.0
"#
        );
        let run = run(&model("ball-oblique-ground", &text));
        peer.column("t", run.t().iter(), 1e-11);
        for i in 0..2 {
            peer.column(&format!("q{i}"), ours(&run, &format!("q.q{i}")), 1e-11)
                .column(&format!("v{i}"), ours(&run, &format!("v.q{i}")), 1e-11);
        }
        peer.column("p0", ours(&run, "impulse.ground"), 1e-11)
            .column("P", ours(&run, "impulse.ground"), 1e-11)
            .report();
    }
}

#[test]
fn two_balls() {
    let Some(mut peer) = Peer::read("two-balls") else {
        return;
    };
    let run = run(&case("two-balls", &[]));
    let (ground, pair) = (ours(&run, "impulse.ground"), ours(&run, "impulse.pair"));
    peer.column("t", run.t().iter(), 1e-11)
        .column("q1", ours(&run, "q.q1"), 1e-11)
        .column("v1", ours(&run, "v.q1"), 1e-11)
        .column("p1", minus(&ground, &pair), 1e-11)
        .column("P_ground", ground, 1e-11)
        .column("q2", ours(&run, "q.q2"), 1e-11)
        .column("v2", ours(&run, "v.q2"), 1e-11)
        .column("p2", pair, 1e-11)
        .report();
}

#[test]
fn disks_two_frictionless() {
    let Some(mut peer) = Peer::read("disks-two-frictionless") else {
        return;
    };
    let model = model(
        "disks-two-frictionless",
        r#"
saltus = 1
[parameters]
m = 1.0
R = 0.5
g = 9.81
I = "2/5*m*R^2"
e = 0.9
[system]
coordinates = ["xa", "ya", "phia", "xb", "yb", "phib"]
mass = ["m", "m", "I", "m", "m", "I"]
potential = "m*g*(xa + xb)"
[[system.unilateral]]
name = "ground"
gap = "xa - R"
restitution = "e"
[[system.unilateral]]
name = "pair"
gap = "xb - xa - 2*R"
restitution = "e"
[initial]
q = { xa = 1.0, xb = 2.1 }
[simulation]
scheme = "moreau-jean"
step = 0.005
until = 10.0
"#,
    );
    let run = run(&model);
    let (ground, pair) = (ours(&run, "impulse.ground"), ours(&run, "impulse.pair"));
    peer.column("t", run.t().iter(), 1e-11)
        .column("x_a", ours(&run, "q.xa"), 1e-11)
        .column("v_a", ours(&run, "v.xa"), 1e-11)
        .column("p_a", minus(&ground, &pair), 1e-11)
        .column("P_ground", ground, 1e-11)
        .column("x_b", ours(&run, "q.xb"), 1e-11)
        .column("P_pair", pair, 1e-11)
        .report();
}

#[test]
fn bead_column_moreau_jean() {
    let Some(mut peer) = Peer::read("bead-column-moreau-jean") else {
        return;
    };
    let text = bead_column(r#""moreau-jean""#, 2.0);
    let run = run(&model("bead-column-moreau-jean", &text));
    let most = (0..run.len())
        .map(|k| {
            (0..10)
                .filter(|i| ours_at(&run, k, &format!("impulse.c{i}")) > 0.0)
                .count()
        })
        .max();
    println!(
        "  at most {} contacts carry an impulse at once",
        most.unwrap()
    );
    peer.column("t", run.t().iter(), 1e-11);
    for i in 0..10 {
        peer.column(&format!("q{i}"), ours(&run, &format!("q.q{i}")), 1e-11)
            .column(&format!("v{i}"), ours(&run, &format!("v.q{i}")), 1e-11);
    }
    peer.report();
}

fn ours_at(run: &saltus::Trajectory, k: usize, name: &str) -> f64 {
    run.column(name).unwrap().get(k).unwrap()
}

/// The plate moves by a constraint that depends on time. The peer starts it with velocity 0, which the constraint does not
/// allow, so that the first step starts from a state that no model file may start from.
#[test]
fn ball_moving_plane() {
    let Some(mut peer) = Peer::read("ball-moving-plane") else {
        return;
    };
    let model = model(
        "ball-moving-plane",
        r#"
saltus = 1
[system]
coordinates = ["z", "z_p"]
mass = [1.0, 1.0]
force = [-9.81, 0]
[[system.bilateral]]
name = "drive"
g = "z_p - (2*t + 2/pi*sin(pi*t/2))"
[[system.unilateral]]
name = "contact"
gap = "z - z_p"
restitution = 0.9
[initial]
q = { z = 1.0 }
v = { z_p = 3.0 }
[simulation]
scheme = { name = "moreau-jean", evaluation = "weighted-forces" }
step = 0.005
until = 10.0
"#,
    );
    let run = Simulation::new(&*model.system, model.scheme.clone())
        .start(State::new(0.0, vec![1.0, 0.0], vec![0.0, 0.0]))
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap();
    let impulse = ours(&run, "impulse.contact");
    let plate = ours(&run, "v.z_p");
    let logged: Vec<f64> = plate.iter().zip(&impulse).map(|(v, p)| -(v + p)).collect();
    peer.column("t", run.t().iter(), 1e-11)
        .column("z", ours(&run, "q.z"), 1e-11)
        .column("v", ours(&run, "v.z"), 1e-11)
        .column("p", impulse.clone(), 1e-11)
        .column("P", impulse, 1e-11)
        .column("z_plane", ours(&run, "q.z_p"), 1e-11)
        .column("v_plane", plate, 1e-11)
        .column("logged", logged, 1e-11)
        .report();
}

#[test]
fn ne_ball() {
    let Some(mut peer) = Peer::read("ne-ball") else {
        return;
    };
    let model = model(
        "ne-ball",
        r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1.0]
force = [-9.81]
[[system.unilateral]]
name = "plane"
gap = "abs(x) - 0.1"
restitution = 0.9
[initial]
q = { x = 1.0 }
v = { x = 2.0 }
[simulation]
scheme = "moreau-jean"
step = 0.005
until = 10.0
"#,
    );
    let run = run(&model);
    peer.column("t", run.t().iter(), 1e-11)
        .column("x", ours(&run, "q.x"), 1e-11)
        .column("vx", ours(&run, "v.x"), 1e-11)
        .column("p_x", ours(&run, "impulse.plane"), 1e-11)
        .column("P_N", ours(&run, "impulse.plane"), 1e-11)
        .report();
}

/// The box falls flat: height and two small tilts, four corners whose impulses only their sum determines. The peer tests at
/// the predicted position; its gaps are of single precision, which decides from row 1107 on.
#[test]
fn box_on_plane() {
    let Some(peer) = Peer::read("box-on-plane") else {
        return;
    };
    let mut peer = peer.up_to(1107);
    let corners: String = ["+ a/2 + b/2", "+ a/2 - b/2", "- a/2 + b/2", "- a/2 - b/2"]
        .iter()
        .enumerate()
        .map(|(i, tilt)| {
            format!(
                "[[system.unilateral]]\nname = \"corner{i}\"\ngap = \"z {tilt}\"\nrestitution = 0.8\n"
            )
        })
        .collect();
    let text = format!(
        r#"
saltus = 1
[system]
coordinates = ["z", "a", "b"]
mass = [1.0, "1/6", "1/6"]
force = [-9.81, 0, 0]
{corners}
[initial]
q = {{ z = 10.0 }}
[simulation]
scheme = {{ name = "moreau-jean", gamma = 1.5 }}
step = 0.005
until = 20.0
"#
    );
    let run = run(&model("box-on-plane", &text));
    let mut sum = vec![0.0; run.len()];
    for i in 0..4 {
        for (s, p) in sum
            .iter_mut()
            .zip(ours(&run, &format!("impulse.corner{i}")))
        {
            *s += p;
        }
    }
    peer.column("t", run.t().iter(), 1e-9)
        .column("z", ours(&run, "q.z"), 1e-9)
        .column("vz", ours(&run, "v.z"), 1e-9)
        .column("sum", sum, 1e-9)
        .report();
}

#[test]
fn ball_schatzman_paoli() {
    let Some(peer) = Peer::read("ball-schatzman-paoli") else {
        return;
    };
    let text = ball(
        r#"{ name = "schatzman-paoli", start = "first-order" }"#,
        0.005,
    );
    let run = run(&model("ball-schatzman-paoli", &text));
    // Rounding is amplified by every bounce.
    let mut peer = peer.up_to(1350);
    peer.column("t", run.t().iter(), 1e-11)
        .column("z", ours(&run, "q.z"), 1e-9)
        .column("v", ours(&run, "v.z"), 1e-9);
    let mut peer = peer.up_to(usize::MAX);
    peer.column("z", ours(&run, "q.z"), 1e-5)
        .column("v", ours(&run, "v.z"), 1e-3)
        .report();
}

/// The peer adds an impact to every step in contact, and so never rests: compared while it bounces.
#[test]
fn ball_d1minus() {
    let Some(peer) = Peer::read("ball-d1minus") else {
        return;
    };
    let mut peer = peer.up_to(17_000);
    let text = ball(
        r#"{ name = "half-explicit", method = "acceleration", activation_tolerance = 1e-8 }"#,
        5e-4,
    );
    let run = run(&model("ball-d1minus", &text));
    peer.column("t", run.t().iter(), 1e-11)
        .column("z", ours(&run, "q.z"), 1e-11)
        .column("v", ours(&run, "v.z"), 1e-11)
        .report();
}

#[test]
fn disk_friction() {
    let Some(mut peer) = Peer::read("disk-friction") else {
        return;
    };
    let text = r#"
saltus = 1
[system]
coordinates = ["x", "y", "phi"]
mass = [1.0, 1.0, 0.1]
force = [-9.81, 0, 0]
[[system.unilateral]]
name = "ground"
gap = "x - 0.5"
tangential = "y - 0.5*phi"
restitution = 0.9
friction = 0.1
[initial]
q = { x = 1.0 }
v = { phi = 2.0 }
[simulation]
scheme = { name = "moreau-jean", gamma = 1.0 }
step = 0.005
until = 10.0
"#;
    let run = run(&model("disk-friction", text));
    peer.column("x", ours(&run, "q.x"), 1e-11)
        .column("vx", ours(&run, "v.x"), 1e-11)
        .column("omega", ours(&run, "v.phi"), 1e-11)
        .column("P_N", ours(&run, "impulse.ground"), 1e-11)
        .column("y", ours(&run, "q.y"), 1e-11)
        .column("phi", ours(&run, "q.phi"), 1e-11)
        .column("vy", ours(&run, "v.y"), 1e-11)
        .report();
}
