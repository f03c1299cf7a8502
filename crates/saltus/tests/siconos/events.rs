//! Event-driven runs: a row per output and two per impact, just before and just after it.

use crate::peer::{Peer, model};
use saltus_integrators::{EventDriven, EventDrivenOptions, EventKind, ImpactLaw, Integrator};
use saltus_model::Model;
use saltus_system::State;

/// A row as the peer writes it.
struct Row {
    t: f64,
    q: Vec<f64>,
    v: Vec<f64>,
    force: Vec<f64>,
    impulse: f64,
}

/// Runs a model in the rows of the peer, the initial state first.
fn rows(model: &Model, options: EventDrivenOptions) -> Vec<Row> {
    let system = &*model.system;
    let (h, until) = (model.plan.step, model.plan.until);
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = model.initial.clone();
    scheme.prepare(system, &state, h).unwrap();
    let row = |state: &State, v: Vec<f64>, force: Vec<f64>, impulse: f64| Row {
        t: state.t,
        q: state.q.clone(),
        v,
        force,
        impulse,
    };
    let first = scheme.reactions().force.to_vec();
    let mut rows = vec![row(&state, state.v.clone(), first, 0.0)];
    let mut before = State::default();
    while until - state.t > 1e-9 * h {
        let start = state.clone();
        let left = until - state.t;
        scheme.step(system, &mut state, h.min(left), until).unwrap();
        let force = scheme.reactions().force.to_vec();
        let none = vec![0.0; force.len()];
        let impacts = scheme.events().iter();
        let impacts = impacts.filter(|e| e.kind == EventKind::Impact);
        for impact in impacts.clone().filter(|e| e.t == start.t && e.t < state.t) {
            scheme.interpolate(system, 0.0, &mut before);
            rows.push(row(
                &start,
                before.v.clone(),
                none.clone(),
                impact.impulse[0],
            ));
        }
        if let Some(impact) = impacts.clone().find(|e| e.t == state.t) {
            scheme.interpolate(system, 1.0 - 1e-16, &mut before);
            rows.push(row(&state, before.v.clone(), none, impact.impulse[0]));
            rows.push(row(&state, state.v.clone(), force, impact.impulse[0]));
        } else if scheme.events().iter().all(|e| e.t < state.t) {
            rows.push(row(&state, state.v.clone(), force, 0.0));
        }
    }
    rows
}

fn column(rows: &[Row], of: impl Fn(&Row) -> f64) -> Vec<f64> {
    rows.iter().map(of).collect()
}

fn ball(initial: &str, until: f64) -> Model {
    model(
        "ball-ed",
        &format!(
            r#"
saltus = 1
[system]
coordinates = ["z", "x", "phi"]
mass = [1.0, 1.0, 0.006]
force = [-9.81, 0, 0]
[[system.unilateral]]
name = "ground"
gap = "z"
restitution = 0.9
[initial]
{initial}
[simulation]
scheme = "event-driven"
step = 0.005
until = {until}
"#
        ),
    )
}

#[test]
fn ball_ed() {
    let Some(mut peer) = Peer::read("ball-ed") else {
        return;
    };
    let mut rows = rows(&ball("q = { z = 1.0 }", 8.5), EventDrivenOptions::default());
    rows.remove(0);
    peer.column("t", column(&rows, |r| r.t), 1e-10)
        .column("z", column(&rows, |r| r.q[0]), 1e-9)
        .column("v", column(&rows, |r| r.v[0]), 1e-9)
        .column("p1", column(&rows, |r| r.impulse), 1e-9)
        .report();
}

#[test]
fn ball_ed_initial_impact() {
    let Some(peer) = Peer::read("ball-ed-initial-impact") else {
        return;
    };
    let rows = rows(
        &ball("v = { z = -1.0 }", 8.5),
        EventDrivenOptions::default(),
    );
    let mut peer = peer.up_to(520);
    peer.column("t", column(&rows, |r| r.t), 1e-9)
        .column("z", column(&rows, |r| r.q[0]), 1e-9)
        .column("v", column(&rows, |r| r.v[0]), 1e-9)
        .report();
    // Zeno's point, then rest.
    let resting: Vec<&Row> = rows.iter().filter(|r| r.t > 1.84).collect();
    assert!(resting.len() > 1000);
    for row in resting {
        assert!(row.q[0].abs() < 1e-8 && row.v[0].abs() < 1e-8);
        assert!((row.force[0] - 9.81).abs() < 1e-8);
    }
    let bounces: Vec<f64> = rows
        .iter()
        .filter(|r| r.impulse > 0.0)
        .map(|r| r.t)
        .collect();
    let zeno = 2.0 * 0.9 / (9.81 * 0.1);
    assert!((bounces[bounces.len() - 1] - zeno).abs() < 1e-6);
}

#[test]
fn pendulum_ed_lsodar() {
    let Some(mut peer) = Peer::read("pendulum-ed-lsodar") else {
        return;
    };
    let model = model(
        "pendulum-ed-lsodar",
        r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1.0, 1.0]
force = [0, 9.81]
[[system.unilateral]]
name = "string"
gap = "1 - x^2 - y^2"
restitution = 0.9
[initial]
q = { x = "sin(pi/3)", y = "cos(pi/3)" }
[simulation]
scheme = "event-driven"
step = 0.01
until = 10.0
"#,
    );
    let rows = rows(&model, EventDrivenOptions::default());
    peer.column("t", column(&rows, |r| r.t), 1e-10)
        .column("x", column(&rows, |r| r.q[0]), 1e-8)
        .column("y", column(&rows, |r| r.q[1]), 1e-8)
        .column("vx", column(&rows, |r| r.v[0]), 1e-8)
        .column("vy", column(&rows, |r| r.v[1]), 1e-8)
        .column("lambda", column(&rows, |r| r.force[0]), 1e-8)
        .report();
}

/// Ten steel balls on a line, nine of which touch: a wave runs through them.
#[test]
fn ball_chain_mono_lzb() {
    let Some(peer) = Peer::read("ball-chain-mono-lzb") else {
        return;
    };
    let names: Vec<String> = (0..10).map(|i| format!("\"q{i}\"")).collect();
    let mass = 4.0 / 3.0 * std::f64::consts::PI * 1e-6 * 7780.0;
    let start: Vec<String> = (0..10)
        .map(|i| {
            let q = if i == 0 {
                0.0
            } else {
                0.2 + 0.02 * f64::from(i)
            };
            format!("q{i} = {q:?}")
        })
        .collect();
    let contacts: String = (0..9)
        .map(|i| {
            format!(
                "[[system.unilateral]]\nname = \"c{i}\"\ngap = \"q{} - q{i} - 0.02\"\nrestitution = 1.0\n",
                i + 1
            )
        })
        .collect();
    let text = format!(
        r#"
saltus = 1
[system]
coordinates = [{}]
mass = [{}]
force = [{}]
{contacts}
[initial]
q = {{ {} }}
v = {{ q0 = 1.0 }}
[simulation]
scheme = "event-driven"
step = 0.001
until = 0.6
"#,
        names.join(", "),
        vec![format!("{mass:?}"); 10].join(", "),
        ["0"; 10].join(", "),
        start.join(", "),
    );
    let model = model("ball-chain-mono-lzb", &text);
    let options = EventDrivenOptions {
        impact_law: ImpactLaw::Energetic,
        ..EventDrivenOptions::default()
    };
    let rows = rows(&model, options);
    let last = &rows[rows.len() - 1];
    let mut worst = 0.0_f64;
    for i in 0..10 {
        let (ours, theirs) = (last.v[i], peer.last(&format!("v{i}")));
        worst = worst.max((ours - theirs).abs());
        assert!((ours - theirs).abs() < 5e-4, "v{i}: {ours} for {theirs}");
    }
    println!("ball-chain-mono-lzb: ten velocities after the impact within {worst:.1e}");
}

/// A stiff spring that presses on a stop: 180 impacts in nine tenths of a second, then rest.
#[test]
fn linear_oscillator_ed() {
    let Some(peer) = Peer::read("linear-oscillator-ed") else {
        return;
    };
    let model = model(
        "linear-oscillator-ed",
        r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1e-3, 1e-3]
force = ["-100*x - 1e-3*9.81", "-100*y"]
[[system.unilateral]]
name = "stop"
gap = "x"
restitution = 0.9
[initial]
q = { x = 1.0, y = 0.001 }
[simulation]
scheme = "event-driven"
step = 0.005
until = 1.5
"#,
    );
    // The peer goes on for longer before it lets the contact close; here impacts end at 5e-7 m/s of 316 m/s.
    let options = EventDrivenOptions {
        v_acc: Some(1e-9),
        ..EventDrivenOptions::default()
    };
    let mut rows = rows(&model, options);
    rows.remove(0);
    let mut peer = peer.up_to(559);
    peer.column("t", column(&rows, |r| r.t), 1e-7)
        .column("x", column(&rows, |r| r.q[0]), 1e-7 * 316.0)
        .column("vx", column(&rows, |r| r.v[0]), 1e-7 * 316.0)
        .column("p1", column(&rows, |r| r.impulse), 1e-7)
        .report();
    let resting: Vec<&Row> = rows.iter().filter(|r| r.t > 0.8703).collect();
    assert!(resting.len() > 100);
    for row in resting {
        assert!(row.q[0].abs() < 1e-8 && (row.force[0] - 9.81e-3).abs() < 1e-7);
    }
}

/// A block rotates about a corner that rests; both corners are hit at once when the other one lands.
#[test]
fn rocking_block_ed_lzb() {
    let Some(peer) = Peer::read("rocking-block-ed-lzb") else {
        return;
    };
    let model = model(
        "rocking-block-ed-lzb",
        r#"
saltus = 1
[parameters]
L = 1.0
H = 0.5
[system]
coordinates = ["x", "y", "theta"]
mass = [1.0, 1.0, "(L^2 + H^2)/12"]
force = [0, -9.81, 0]
[[system.unilateral]]
name = "one"
gap = "y - L/2*sin(theta) - H/2*cos(theta)"
restitution = 0.8
[[system.unilateral]]
name = "other"
gap = "y + L/2*sin(theta) - H/2*cos(theta)"
restitution = 0.8
[initial]
q = { x = "L/2*cos(pi/3) - H/2*sin(pi/3)", y = "L/2*sin(pi/3) + H/2*cos(pi/3)", theta = "pi/3" }
[simulation]
scheme = "event-driven"
step = 0.01
until = 0.6
"#,
    );
    let options = EventDrivenOptions {
        impact_law: ImpactLaw::Energetic,
        exponent: 1.0,
        ..EventDrivenOptions::default()
    };
    let rows = rows(&model, options);
    let mut peer = peer.up_to(58);
    peer.column("t", column(&rows, |r| r.t), 1e-10)
        .column("y", column(&rows, |r| r.q[1]), 1e-10)
        .column("theta", column(&rows, |r| r.q[2]), 1e-10)
        .column("vy", column(&rows, |r| r.v[1]), 1e-10)
        .column("omega", column(&rows, |r| r.v[2]), 1e-10)
        .column("f1", column(&rows, |r| r.force[0]), 1e-9)
        .report();
    // The peer integrates the impact with steps of 5e-5 N·s, which is 2.1e-4 rad/s from the limit of small steps.
    let mut peer = peer.up_to(60);
    peer.column("t", column(&rows, |r| r.t), 1e-9)
        .column("vy", column(&rows, |r| r.v[1]), 2e-4)
        .column("omega", column(&rows, |r| r.v[2]), 2.2e-4)
        .report();
}

/// A column of touching steel balls falls on the floor, which is stiffer than they are.
#[test]
fn bead_column_ed_lzb() {
    let Some(peer) = Peer::read("bead-column-ed-lzb") else {
        return;
    };
    let names: Vec<String> = (0..10).map(|i| format!("\"q{i}\"")).collect();
    // The peer's own value of π.
    #[allow(clippy::approx_constant, clippy::excessive_precision)]
    let pi = 3.141_592_65;
    let mass = 4.0 / 3.0 * pi * 0.005_f64.powi(3) * 7780.0;
    let start: Vec<String> = (0..10)
        .map(|i| format!("q{i} = \"0.05 + R + 2*R*{i}\""))
        .collect();
    let contacts: String = (0..10)
        .map(|i| {
            let gap = match i {
                0 => "q0 - R".to_owned(),
                _ => format!("q{i} - q{} - 2*R", i - 1),
            };
            format!("[[system.unilateral]]\nname = \"c{i}\"\ngap = \"{gap}\"\nrestitution = 1.0\n")
        })
        .collect();
    let text = format!(
        r#"
saltus = 1
[parameters]
R = 0.005
[system]
coordinates = [{}]
mass = [{}]
force = [{}]
{contacts}
[initial]
q = {{ {} }}
[simulation]
scheme = "event-driven"
step = 0.001
until = 0.135
"#,
        names.join(", "),
        vec![format!("{mass:?}"); 10].join(", "),
        vec![format!("{:?}", -9.81 * mass); 10].join(", "),
        start.join(", "),
    );
    let model = model("bead-column-ed-lzb", &text);
    // Ball on plane: 4/3 √R E*/2; ball on ball: 2/3 √(R/2) E*.
    let mut stiffness = vec![1.0; 10];
    stiffness[0] = 2.0_f64.sqrt();
    let options = EventDrivenOptions {
        impact_law: ImpactLaw::Energetic,
        stiffness,
        ..EventDrivenOptions::default()
    };
    let rows = rows(&model, options);
    let first = rows.iter().position(|r| r.impulse > 0.0).unwrap();
    let after = rows.iter().skip(first).find(|r| r.v[9] > 0.0).unwrap();
    let times = peer.values("t");
    let fall = (0.1_f64 / 9.81).sqrt();
    assert!((after.t - fall).abs() < 1e-9, "{} {fall}", after.t);
    let theirs = (0..times.len())
        .rfind(|&k| (times[k] - fall).abs() < 1e-9)
        .unwrap();
    let mut worst = 0.0_f64;
    for i in 0..10 {
        let (ours, theirs) = (after.v[i], peer.values(&format!("v{i}"))[theirs]);
        worst = worst.max((ours - theirs).abs());
        assert!((ours - theirs).abs() < 2e-3, "v{i}: {ours} for {theirs}");
    }
    println!("bead-column-ed-lzb: ten velocities after the first impact within {worst:.1e}");
}
