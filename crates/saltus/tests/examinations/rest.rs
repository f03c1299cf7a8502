//! What should rest rests, and pushes with its weight.

use crate::subjects::{model, resting, run};
use saltus_integrators::Entry;

#[test]
fn a_ball_comes_to_rest_and_stays() {
    let model = model("bouncing-ball");
    let h = 2e-3;
    for candidate in resting() {
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, 2500);
        let last = &rows[2500];
        let weight = 10.0 * h;
        assert!(
            last.state.v[0].abs() < 1e-13,
            "{}: {}",
            candidate.name,
            last.state.v[0]
        );
        assert!(
            (last.impulse[0] - weight).abs() < 1e-12,
            "{}: {}",
            candidate.name,
            last.impulse[0]
        );
        // It moved last within the tolerance of the accumulation, 3.602 s, and not since.
        let moved = rows
            .iter()
            .rposition(|r| r.state.v[0].abs() > 1e-9)
            .unwrap();
        assert!(
            moved as f64 * h < 4.5,
            "{}: moves until {} s",
            candidate.name,
            moved as f64 * h
        );
    }
}

#[test]
fn a_block_stands_on_both_corners() {
    let model = model("rocking-block");
    let h = 1e-2;
    for candidate in resting() {
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, 500);
        let last = &rows[500];
        let total: f64 = last.impulse.iter().sum();
        assert!(
            (total - 9.81 * h).abs() < 1e-9,
            "{}: {total}",
            candidate.name
        );
        assert!(
            last.state.v.iter().all(|v| v.abs() < 1e-9),
            "{}: {:?}",
            candidate.name,
            last.state.v
        );
    }
}

#[test]
fn a_pendulum_leans_on_its_wall() {
    let model = model("bouncing-pendulum");
    let h = 1e-3;
    for candidate in resting() {
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, 6000);
        let last = &rows[6000];
        // At 45° the reaction changes by twice the weight per radian, and drift of rod and wall is an angle.
        let certificate = &last.report.certificate;
        let drift = certificate.get(Entry::BilateralPosition)
            + certificate.get(Entry::ComplementarityPosition);
        let error = (last.impulse[0] / h - 10.0).abs();
        assert!(
            error <= 40.0 * drift + 1e-9,
            "{}: {error} with a drift of {drift}",
            candidate.name
        );
    }
}
