//! A spring over a stop.

use crate::peer::{Peer, case, model, ours, run};

#[test]
fn impact_oscillator() {
    let Some(mut peer) = Peer::read("impact-oscillator") else {
        return;
    };
    let model = case(
        "linear-oscillator",
        &[
            "parameters.m=1.221",
            "parameters.k=1430.8",
            "parameters.q0=0.4",
            "initial.v={ q = 0.4 }",
            "simulation.step=1e-4",
            "simulation.until=1.0",
        ],
    );
    let run = run(&model);
    peer.column("t", run.t().iter(), 1e-11)
        .column("q", ours(&run, "q.q"), 1e-11)
        .column("v", ours(&run, "v.q"), 1e-11)
        .column("P", ours(&run, "impulse.floor"), 1e-11)
        .report();
}

/// Straight lines of decay on a spring, then stick. The step of the θ-method for a relay is that of Moreau–Jean with the
/// impulse of a dry friction of 1 N.
#[test]
fn friction_oscillator() {
    let Some(mut peer) = Peer::read("friction-oscillator") else {
        return;
    };
    let model = model(
        "friction-oscillator",
        r#"
saltus = 1
[system]
coordinates = ["x"]
mass = [1.0]
force = ["-x"]
[[system.friction]]
name = "slide"
tangential = "x"
dry_friction = 1.0
[initial]
q = { x = 12.0 }
v = { x = 6.0 }
[simulation]
scheme = { name = "moreau-jean", theta = 0.5 }
step = 0.01
until = 99.99
"#,
    );
    let run = run(&model);
    let impulse = ours(&run, "impulse_t.slide");
    peer.column("t", run.t().iter(), 1e-10)
        .column("x", ours(&run, "q.x"), 1e-10)
        .column("v", ours(&run, "v.x"), 1e-10)
        .column("lambda", impulse.iter().map(|p| p / 0.01), 1e-10)
        .report();
}
