//! The elastic bar of a hundred nodes.

use crate::peer::{Peer, model, ours, run};
use std::fmt::Write as _;

const NODES: usize = 100;

/// Uniform bar by two-node elements; the spacing in the matrices is `L/100`.
fn text() -> String {
    let list = |item: &dyn Fn(usize) -> String| (0..NODES).map(item).collect::<Vec<_>>().join(", ");
    let (mut kinetic, mut potential) = (String::new(), String::new());
    for i in 0..NODES - 1 {
        let j = i + 1;
        let plus = if i == 0 { "" } else { " + " };
        write!(kinetic, "{plus}v.q{i}^2 + v.q{i}*v.q{j} + v.q{j}^2").unwrap();
        write!(potential, "{plus}(q{j} - q{i})^2").unwrap();
    }
    format!(
        r#"
saltus = 1
[parameters]
S = 3.14e-4
E = 210e9
rho = 7800.0
l = "1.0/100"
[system]
coordinates = [{names}]
kinetic = "rho*S*l/6*({kinetic})"
potential = "0.5*E*S/l*({potential})"
[[system.unilateral]]
name = "wall"
gap = "q0"
restitution = 0.0
[initial]
q = {{ {q} }}
v = {{ {v} }}
[simulation]
scheme = {{ name = "moreau-jean", gamma = 0.0, activation_tolerance = 0.0 }}
step = 2e-6
start = 1e-8
until = "1e-8 + 748*2e-6"
"#,
        names = list(&|i| format!("\"q{i}\"")),
        q = list(&|i| format!("q{i} = 5e-5")),
        v = list(&|i| format!("q{i} = -0.1")),
    )
}

/// The tip arrives with a gap of 1e-19 m, whose sign decides in which step the contact begins.
#[test]
fn impacting_bar() {
    let Some(mut peer) = Peer::read("impacting-bar") else {
        return;
    };
    let model = model("impacting-bar", &text());
    let run = run(&model);
    let impulse = ours(&run, "impulse.wall");
    let contact = impulse.iter().position(|p| *p > 0.0).unwrap();
    println!(
        "  impacting-bar: contact from step {contact}, gap {:e} at row 250",
        ours(&run, "q.q0")[250]
    );
    let h = model.plan.step;
    let twice = |name: &str| ours(&run, name).into_iter().map(|energy| 2.0 * energy);
    let v = ours(&run, "v.q0");
    let work = (0..run.len()).map(|k| 0.5 * (v[k] + v[k.saturating_sub(1)]) * impulse[k]);
    peer.column("t", run.t().iter(), 1e-15)
        .column("q_tip", ours(&run, "q.q0"), 1e-15)
        .column("v_tip", ours(&run, "v.q0"), 1e-11)
        .column("P/h", impulse.iter().map(|p| p / h), 1e-7)
        .column("q_end", ours(&run, "q.q99"), 1e-15)
        .column("v_end", ours(&run, "v.q99"), 1e-11)
        .column("q_mid", ours(&run, "q.q50"), 1e-15)
        .column("v_mid", ours(&run, "v.q50"), 1e-11)
        // No agreement is stated for energies and work; the bounds follow from those of velocity and force.
        .column("2*E_pot", twice("energy.potential"), 1e-12)
        .column("2*E_kin", twice("energy.kinetic"), 1e-12)
        .column("W", work, 1e-13)
        .report();
}
