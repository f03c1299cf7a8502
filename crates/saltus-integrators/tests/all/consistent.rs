//! Initial states are measured and projected.

use saltus_integrators::consistent::{examine, project};
use saltus_system::State;
use saltus_zoo::{BouncingPendulum, ball_over_floor};

#[test]
fn pendulum_returns_to_its_circle() {
    let system = BouncingPendulum::default();
    let mut state = State::new(0.0, vec![1.0, 0.3, 0.2], vec![0.1, 0.2, 0.3]);
    let before = examine(&system, &state);
    assert!(before.position.iter().any(|g| g.abs() > 1e-2));
    let report = project(&system, &mut state, false, 1e-12).unwrap();
    let after = examine(&system, &state);
    assert!(
        after
            .position
            .iter()
            .chain(&after.velocity)
            .all(|g| g.abs() < 1e-13),
        "{after:?}"
    );
    assert!(report.iterations < 30 && report.moved > 0.0);
    // Nearest in the mass metric: the displacement is M⁻¹ Gᵀ τ.
    let d: Vec<f64> = state
        .q
        .iter()
        .zip([1.0, 0.3, 0.2])
        .map(|(a, b)| a - b)
        .collect();
    let (s, c) = state.q[2].sin_cos();
    let (tau0, tau1) = (d[0], d[1]);
    assert!((0.1 * d[2] - (s * tau0 - c * tau1)).abs() < 1e-12);
}

#[test]
fn redundant_constraints_and_overlap_are_projected() {
    let system = ball_over_floor(1.0, -10.0, 0.5);
    let mut state = State::new(0.0, vec![-0.25], vec![1.0]);
    assert_eq!(examine(&system, &state).gap, vec![-0.25]);
    project(&system, &mut state, true, 1e-12).unwrap();
    assert!(state.q[0].abs() < 1e-15 && state.v[0] == 1.0);
}
