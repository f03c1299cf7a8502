//! Moreau–Jean with projected positions.

use crate::peer::{Peer, ball, bead_column, model, ours, run};

fn compare(case: &str, scheme: &str) {
    let Some(mut peer) = Peer::read(case) else {
        return;
    };
    let scheme = format!(r#"{{ name = "moreau-jean-projected", {scheme} }}"#);
    let text = ball(&scheme, 0.005);
    let run = run(&model(case, &text));
    peer.column("t", run.t().iter(), 1e-12)
        .column("z", ours(&run, "q.z"), 1e-12)
        .column("v", ours(&run, "v.z"), 1e-12)
        .column("p", ours(&run, "impulse.ground"), 1e-12)
        .column("P", ours(&run, "impulse.ground"), 1e-12)
        .report();
}

#[test]
fn ball_direct_projection() {
    let scheme =
        r#"method = "direct", lifted = "active", metric = "identity", position_tolerance = 1e-8"#;
    compare("ball-direct-projection", scheme);
}

#[test]
fn ball_combined_projection() {
    let scheme = r#"method = "combined", metric = "identity", position_tolerance = 1e-10"#;
    compare("ball-combined-projection", scheme);
}

#[test]
fn bead_column_direct_projection() {
    let Some(peer) = Peer::read("bead-column-direct-projection") else {
        return;
    };
    // Around t = 1.15 s many gaps are zero up to rounding, which decides from then on.
    let mut peer = peer.up_to(2300);
    let scheme = r#"{ name = "moreau-jean-projected", method = "direct", lifted = "active", activation_tolerance = 0.0 }"#;
    let text = bead_column(scheme, 1.15);
    let run = run(&model("bead-column-direct-projection", &text));
    peer.column("t", run.t().iter(), 1e-11);
    for i in 0..10 {
        peer.column(&format!("q{i}"), ours(&run, &format!("q.q{i}")), 1e-11)
            .column(&format!("v{i}"), ours(&run, &format!("v.q{i}")), 1e-11);
    }
    peer.report();
}
