//! The double pendulum.

use crate::peer::{Peer, case, ours, run};

/// The peer stops after one Newton iteration; a converged step agrees up to the first impact.
#[test]
fn double_pendulum() {
    let run = run(&case("double-pendulum", &[]));
    let impulse = ["impulse.upper", "impulse.lower"].map(|name| ours(&run, name));
    let first = (0..run.len())
        .find(|&k| impulse.iter().any(|p| p[k] > 0.0))
        .unwrap();
    println!("  double-pendulum: first impulse in step {first}");
    let Some(peer) = Peer::read("double-pendulum") else {
        return;
    };
    let mut peer = peer.up_to(first - 1);
    peer.column("t", run.t().iter(), 1e-11)
        .column("q0", ours(&run, "q.q0"), 1e-4)
        .column("q1", ours(&run, "q.q1"), 1e-4)
        .report();
}
