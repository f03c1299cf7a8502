//! A spring over a stop.

use crate::peer::{Peer, case, ours, run};

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
