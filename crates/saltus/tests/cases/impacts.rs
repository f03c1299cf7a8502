//! Impacts at several contacts.

use crate::run::{close, run};

#[test]
fn two_balls() {
    let ran = run("two-balls", &[]);
    let h = ran.h();
    // The forecast looks 3/2 of a step ahead: the middle of the step comes up to a step before the impact.
    let ground = (2.0_f64 * 0.1 / 9.81).sqrt();
    close("README: first impact", ground, 0.142_784, 5e-7);
    close(
        "ground",
        ran.impact_times("ground")[0],
        ground - 0.5 * h,
        0.5 * h,
    );
    let gap = 0.001 / (1.95 * 9.81 * ground);
    let pair = ground + gap;
    close(
        "pair",
        ran.impact_times("pair")[0],
        pair - 0.5 * h,
        0.5 * h + gap,
    );

    let (v1, v2) = (ran.column("v.q1"), ran.column("v.q2"));
    let (floor, push) = (ran.column("impulse.ground"), ran.column("impulse.pair"));
    let mut hits = 0;
    for k in 1..v1.len() {
        let momentum = |k: usize| v1[k] + 2.0 * v2[k];
        let change = momentum(k) - momentum(k - 1);
        assert!((change - floor[k] + 3.0 * 9.81 * h).abs() < 1e-12);
        if push[k] > 0.0 {
            let (before, after) = (v2[k - 1] - v1[k - 1], v2[k] - v1[k]);
            assert!((after + 0.95 * before).abs() < 1e-12, "step {k}");
            hits += 1;
        }
        if floor[k] > 0.0 {
            assert!((v1[k] + 0.95 * v1[k - 1]).abs() < 1e-12, "step {k}");
        }
    }
    println!("{hits} steps with an impulse between the balls");
    assert!(hits > 0);
}

#[test]
fn corner() {
    for (overrides, v) in [
        (&[][..], [0.3, 1.0]),
        (&["parameters.e=0"][..], [0.0, 0.0]),
        (&["parameters.angle=pi/3"][..], [0.3, 1.0]),
        (&["parameters.angle=2*pi/5"][..], [0.3, 1.0]),
    ] {
        let ran = run("corner", overrides);
        let walls = [ran.impacts("wall1"), ran.impacts("wall2")];
        assert!(
            walls
                .iter()
                .all(|w| w.len() == 1 && w[0].step == walls[0][0].step)
        );
        close(
            "impact",
            walls[0][0].t - 0.5 * ran.h(),
            0.055,
            0.5 * ran.h(),
        );
        close("v.x", ran.last("v.x"), v[0], 1e-14);
        close("v.y", ran.last("v.y"), v[1], 1e-14);
    }
}

#[test]
fn newtons_cradle() {
    for (e, velocities, impulses) in [
        ("1", [-0.6, 0.4, 0.4, 0.4, 0.4], [1.6, 1.2, 0.8, 0.4]),
        ("0", [0.2; 5], [0.8, 0.6, 0.4, 0.2]),
    ] {
        let ran = run("newtons-cradle", &[&format!("parameters.e={e}")]);
        for (i, v) in velocities.iter().enumerate() {
            let name = format!("v.x{}", i + 1);
            close(&name, ran.last(&name), *v, 1e-14);
        }
        let mut steps = Vec::new();
        for (name, impulse) in ["c12", "c23", "c34", "c45"].iter().zip(impulses) {
            let hit = &ran.impacts(name)[0];
            close(name, hit.impulse, impulse, 1e-14);
            steps.push(hit.step);
        }
        assert!(steps.iter().all(|s| *s == steps[0]), "{steps:?}");
        close(
            "impact",
            ran.impact_times("c12")[0],
            0.1 + 0.5 * ran.h(),
            0.5 * ran.h() + 1e-12,
        );
    }
}
