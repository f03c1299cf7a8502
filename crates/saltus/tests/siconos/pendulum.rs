//! The double pendulum.

use crate::peer::{Peer, case, ours, run};

/// The peer stops after one Newton iteration; converged steps stay within the tolerance for such through all impacts.
#[test]
fn double_pendulum() {
    let Some(mut peer) = Peer::read("double-pendulum") else {
        return;
    };
    let run = run(&case("double-pendulum", &[]));
    let impacts = run.outcome().unwrap().events.impacts;
    println!("  double-pendulum: {impacts} impacts");
    peer.column("t", run.t().iter(), 1e-11)
        .column("q0", ours(&run, "q.q0"), 1e-4)
        .column("q1", ours(&run, "q.q1"), 1e-4)
        .report();
}
