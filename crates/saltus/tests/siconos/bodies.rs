//! Rigid bodies with quaternions, free and on a joint.

use crate::peer::{Peer, ours};
use saltus::{Scheme, Simulation, State, System, Trajectory};
use saltus_integrators::{Evaluation, MoreauJeanOptions};
use saltus_zoo::{Joint, JointedBody, SpinningBody};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

const BEAM: SpinningBody = SpinningBody {
    mass: 1.0,
    inertia: [0.1, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0],
    force: [0.0, 0.0, -9.81],
};

fn beam_start(v: Vec<f64>) -> State {
    let (s, c) = (PI / 8.0).sin_cos();
    let x = 0.5 * FRAC_1_SQRT_2;
    State::new(0.0, vec![x, 0.0, -x, c, 0.0, s, 0.0], v)
}

/// The implicit scheme of the peer.
fn simulate(system: &dyn System, start: State, h: f64, until: f64) -> Trajectory {
    let options = MoreauJeanOptions {
        theta: Some(1.0),
        evaluation: Evaluation::WeightedForces,
        ..MoreauJeanOptions::default()
    };
    Simulation::new(system, Scheme::MoreauJean(options))
        .start(start)
        .step(h)
        .until(until)
        .record()
        .unwrap()
}

/// Compares the positions; the first row of the peer is that after the first step.
fn close(case: &str, run: &Trajectory, tolerance: f64) {
    let Some(mut peer) = Peer::read(case) else {
        return;
    };
    let names: Vec<&str> = run.names().filter(|n| n.starts_with("q.")).collect();
    peer.column("t", run.t().iter().skip(1), 1e-12);
    for (theirs, name) in ["x", "y", "z", "p0", "p1", "p2", "p3"].iter().zip(names) {
        peer.column(theirs, ours(run, name).into_iter().skip(1), tolerance);
    }
    peer.report();
}

#[test]
fn ne_free_beam() {
    let start = beam_start(vec![100.0, 0.0, 0.0, 0.0, 0.0, 100.0]);
    close("ne-free-beam", &simulate(&BEAM, start, 0.01, 10.0), 1e-9);
}

#[test]
fn prismatic_free_fall() {
    let (s, c) = (PI / 5.0).sin_cos();
    let s = s / 14.0_f64.sqrt();
    let orientation = [c, 3.0 * s, 2.0 * s, s];
    let system = JointedBody {
        body: SpinningBody {
            inertia: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            ..BEAM
        },
        joint: Joint::Prismatic {
            axis: [1.0, 1.0],
            orientation,
        },
    };
    let q = [&[1.0; 3][..], &orientation].concat();
    let start = State::new(0.0, q, vec![0.0; 6]);
    let run = simulate(&system, start, 1e-3, 2.0);
    close("prismatic-free-fall", &run, 1e-9);
}

/// A loop that is run to convergence differs from the peer's by 5e-3: the first step, from 100 m/s, decides.
#[test]
fn ne_knee() {
    let x = 0.5 * FRAC_1_SQRT_2;
    let start = beam_start(vec![100.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // The point at the origin: R(0) b = −x(0), which is the rod's end.
    let (s, c) = (PI / 4.0).sin_cos();
    let arm = [-c * x - s * x, 0.0, -s * x + c * x];
    let system = JointedBody {
        body: BEAM,
        joint: Joint::Spherical {
            arm,
            centre: [0.0; 3],
        },
    };
    close("ne-knee", &simulate(&system, start, 0.01, 10.0), 5e-3);
}
