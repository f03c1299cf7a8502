//! Moreau–Jean with projected positions.

use crate::peer::{Peer, model, ours, run};

fn ball(case: &str, scheme: &str) {
    let Some(mut peer) = Peer::read(case) else {
        return;
    };
    let text = format!(
        r#"
saltus = 1
[parameters]
m = 1.0
R = 0.1
[system]
coordinates = ["z", "x", "phi"]
mass = ["m", "m", "2/5*m*R^2"]
force = ["-m*9.81", 0, 0]
[[system.unilateral]]
name = "ground"
gap = "z"
restitution = 0.9
[initial]
q = {{ z = 1.0 }}
[simulation]
scheme = {{ name = "moreau-jean-projected", {scheme} }}
step = 0.005
until = 10.0
"#
    );
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
    ball("ball-direct-projection", scheme);
}

#[test]
fn ball_combined_projection() {
    let scheme = r#"method = "combined", metric = "identity", position_tolerance = 1e-10"#;
    ball("ball-combined-projection", scheme);
}

#[test]
fn bead_column_direct_projection() {
    let Some(peer) = Peer::read("bead-column-direct-projection") else {
        return;
    };
    // Around t = 1.15 s many gaps are zero up to rounding, which decides from then on.
    let mut peer = peer.up_to(2300);
    let names: Vec<String> = (0..10).map(|i| format!("\"q{i}\"")).collect();
    let start: Vec<String> = (0..10)
        .map(|i| format!("q{i} = \"1 + 0.25*{i}\""))
        .collect();
    let contacts: String = (0..10)
        .map(|i| {
            let gap = if i == 0 {
                "q0 - R".to_owned()
            } else {
                format!("q{i} - q{} - 2*R", i - 1)
            };
            format!("[[system.unilateral]]\nname = \"c{i}\"\ngap = \"{gap}\"\nrestitution = 0.9\n")
        })
        .collect();
    let text = format!(
        r#"
saltus = 1
[parameters]
R = 0.1
g = 9.81
[system]
coordinates = [{names}]
mass = [{mass}]
force = [{force}]
{contacts}
[initial]
q = {{ {start} }}
[simulation]
scheme = {{ name = "moreau-jean-projected", method = "direct", lifted = "active", activation_tolerance = 0.0 }}
step = 5e-4
until = 1.15
"#,
        names = names.join(", "),
        mass = ["1.0"; 10].join(", "),
        force = ["\"-g\""; 10].join(", "),
        start = start.join(", "),
    );
    let run = run(&model("bead-column-direct-projection", &text));
    peer.column("t", run.t().iter(), 1e-11);
    for i in 0..10 {
        peer.column(&format!("q{i}"), ours(&run, &format!("q.q{i}")), 1e-11)
            .column(&format!("v{i}"), ours(&run, &format!("v.q{i}")), 1e-11);
    }
    peer.report();
}
