//! Bodies with several contacts.

use crate::run::{Ran, close, drift, run};

#[test]
fn rocking_block() {
    let (phi, g) = (0.2_f64, 9.81);
    let first = (2.0 * (1.0 - 0.75 * phi.cos() - 0.5 * phi.sin()) / g).sqrt();
    let arm = 0.75 * phi.sin() - 0.5 * phi.cos();
    let inertia = (1.0 + 1.5 * 1.5) / 12.0;
    for step in ["simulation.step=1e-2", "simulation.step=1e-4"] {
        let ran = run("rocking-block", &[step]);
        // It falls without turning, and lands on its right corner.
        ran.impacts_at("right", 0.5, &[first]);
        let hit = &ran.impacts("right")[0];
        let impulse = 1.5 * g * first / (1.0 + arm * arm / inertia);
        close("first impulse", hit.impulse, impulse, 3.0 * g * ran.h());
        // At rest, by the balance of moments of a block that stands with the angle φ.
        let tilt = ran.last("q.phi");
        let half = 0.5 * g * ran.h();
        close(
            "left",
            ran.last("impulse.left"),
            half * (1.0 - 1.5 * tilt.tan()),
            1e-12,
        );
        close(
            "right",
            ran.last("impulse.right"),
            half * (1.0 + 1.5 * tilt.tan()),
            1e-12,
        );
        let energy = ran.last("energy.total");
        close("energy", energy, g * ran.last("q.y"), 1e-12);
        close("README: energy", energy, 7.3575, g * ran.h());
        let since = ran.outcome().rest.since.unwrap();
        println!("at rest since {since} s");
    }
}

/// Time, wall and approach speed of every impact faster than 0.2 m/s before 0.19 s.
fn hard_impacts(ran: &Ran) -> Vec<(f64, &'static str, f64)> {
    let mut list = Vec::new();
    let t = ran.column("t");
    for wall in ["upper", "lower"] {
        let impulse = ran.column(&format!("impulse.{wall}_left"));
        let velocity = ran.column(&format!("gap_velocity.{wall}_left"));
        for k in 1..t.len() {
            if impulse[k] > 0.0 && velocity[k - 1] < -0.2 && t[k] < 0.19 {
                list.push((t[k], wall, -velocity[k - 1]));
            }
        }
    }
    list.sort_by(|a, b| a.0.total_cmp(&b.0));
    list
}

#[test]
fn slider_crank() {
    // Without gravity the energy is conserved until the first impact, up to O(h²).
    let energy_drift = |step: &str| {
        let ran = run(
            "slider-crank",
            &[
                "parameters.mu=0",
                "parameters.g=0",
                "simulation.until=0.01",
                step,
            ],
        );
        let first = ran.impacts("upper_left")[0].step as usize;
        drift(&ran.column("energy.total")[..first])
    };
    let coarse = energy_drift("simulation.step=1e-5");
    let fine = energy_drift("simulation.step=5e-6");
    println!("energy drift {coarse:e} J, {fine:e} J");
    close("order of the drift", (coarse / fine).log2(), 2.0, 0.1);

    let ran = run("slider-crank", &["parameters.mu=0"]);
    // Nothing turns the slider: both corners of a wall hit together.
    assert_eq!(drift(&ran.column("q.theta3")), 0.0);
    for (left, right) in [("upper_left", "upper_right"), ("lower_left", "lower_right")] {
        let steps = |name: &str| ran.impacts(name).iter().map(|e| e.step).collect::<Vec<_>>();
        assert_eq!(steps(left), steps(right));
    }
    let gaps = ["upper_left", "lower_left"].map(|name| ran.column(&format!("gap.{name}")));
    let deepest = gaps.iter().flatten().fold(0.0_f64, |m, g| m.min(*g));
    println!(
        "deepest penetration {:.1e} m, {} impacts",
        -deepest,
        ran.outcome().events.impacts
    );

    // The hard impacts are the same at another step and with another evaluation.
    let reference = hard_impacts(&ran);
    println!(
        "{} hard impacts in {} turns",
        reference.len(),
        ran.last("q.theta1") / std::f64::consts::TAU
    );
    for other in [
        "simulation.step=5e-6",
        "simulation.scheme.evaluation=weighted-accelerations",
    ] {
        let others = hard_impacts(&run("slider-crank", &["parameters.mu=0", other]));
        assert_eq!(reference.len(), others.len(), "{other}");
        for (j, (a, b)) in reference.iter().zip(&others).enumerate() {
            assert_eq!(a.1, b.1, "{other}: impact {j}");
            close(other, b.0, a.0, 2.0 * ran.timing(j, 0.4));
        }
    }
}

/// Angles and rates of crank and rod with friction 0.01, by an event-driven integration to 1e-12.
const WITH_FRICTION: [(f64, [f64; 4]); 4] = [
    (
        0.002,
        [
            0.275_794_414_9,
            -0.134_949_263_9,
            120.463_881_7,
            -56.473_394_1,
        ],
    ),
    (
        0.005,
        [
            0.576_050_583_9,
            -0.272_879_463_8,
            85.638_170_1,
            -36.729_210_5,
        ],
    ),
    (
        0.01,
        [
            0.947_961_321_8,
            -0.414_624_200_3,
            67.471_928_5,
            -21.501_405_1,
        ],
    ),
    (
        0.02,
        [1.613_316_541_5, -0.519_904_710_2, 71.681_765_8, 1.382_526_7],
    ),
];

#[test]
fn slider_crank_bilateral() {
    let ran = run("slider-crank-bilateral", &[]);
    // By integration of the one degree of freedom.
    close("theta1", ran.last("q.theta1"), 9.140_152_416_941_643, 1e-5);
    close("omega1", ran.last("v.theta1"), 144.406_332_089, 1e-3);
    let energy = ran.column("energy.total");
    close("README: energy", energy[0], 7.495_548_75, 1e-12);
    close("energy", drift(&energy), 0.0, 1e-5);
    // The rate of an angle is that of its energy.
    let (theta, [l1, l2, g]) = (ran.last("q.theta1"), [0.153, 0.306, 9.81]);
    let rod = -(l1 / l2 * theta.sin()).asin();
    let ratio = -l1 * theta.cos() / (l2 * rod.cos());
    let crank = 7.4e-5 + (0.25 * 0.038 + 0.038 + 0.076) * l1 * l1;
    let other = 5.9e-4 + (0.25 * 0.038 + 0.076) * l2 * l2;
    let coupling = (0.5 * 0.038 + 0.076) * l1 * l2 * (theta - rod).cos();
    let mass = crank + 2.0 * ratio * coupling + ratio * ratio * other;
    let height =
        (0.5 * 0.038 + 0.038 + 0.076) * l1 * theta.sin() + (0.5 * 0.038 + 0.076) * l2 * rod.sin();
    let rate = (2.0 * (7.495_548_75 - g * height) / mass).sqrt();
    close("rate", ran.last("v.theta1"), rate, 1e-3);

    for (method, order) in [("trapezoidal", 2.0), ("hem4", 4.0)] {
        let error = |step: &str| {
            let method = format!("simulation.scheme.method={method}");
            let ran = run("slider-crank-bilateral", &[&method, step]);
            (ran.last("q.theta1") - 9.140_152_416_941_643).abs()
        };
        let ratio = error("simulation.step=1e-4") / error("simulation.step=5e-5");
        close(method, ratio.log2(), order, 0.2);
    }
}

#[test]
fn slider_crank_with_friction() {
    let columns = ["q.theta1", "q.theta2", "v.theta1", "v.theta2"];
    // Rates over 100 rad/s.
    let sizes = [1.0, 1.0, 100.0, 100.0];
    for (until, exact) in WITH_FRICTION {
        let mut errors = Vec::new();
        for step in ["4e-5", "1e-5", "2.5e-6"] {
            let ran = run(
                "slider-crank",
                &[
                    &format!("simulation.step={step}"),
                    &format!("simulation.until={until}"),
                ],
            );
            close("theta3", drift(&ran.column("q.theta3")), 0.0, 1e-12);
            let error = (0..4).fold(0.0_f64, |most, i| {
                most.max((ran.last(columns[i]) - exact[i]).abs() / sizes[i])
            });
            errors.push(error);
        }
        println!("{until} s: {errors:.6?}");
        close("error", errors[2], 0.0, 1e-4);
        assert!(errors[2] < 0.5 * errors[0]);
    }
}

#[test]
fn rotor_rig() {
    // Journal relative to the bearing (y, z), fly-wheel (angle, rate), bearing (Y, Z), by an independent half-explicit program
    // with steps of 5 µs.
    let known = [
        (
            0.002,
            [4.619_6e-5, -2.113e-6, 0.019_648, 19.441, 0.0, -1.6889e-5],
        ),
        (
            0.005,
            [-5.001e-5, -8.667e-5, 0.122_803, 48.616, -1.96e-6, -4.912e-5],
        ),
        (
            0.01,
            [
                -3.594e-5,
                -9.333e-5,
                0.491_212,
                97.369,
                -4.538e-5,
                -1.585_5e-4,
            ],
        ),
    ];
    let ran = run("rotor-rig", &["simulation.until=0.01"]);
    let s = 9.5e-3 / 0.09_f64;
    let la = 0.09;
    let hermite = [
        1.0 - 3.0 * s * s + 2.0 * s.powi(3),
        la * (s - 2.0 * s * s + s.powi(3)),
        3.0 * s * s - 2.0 * s.powi(3),
        la * (s.powi(3) - s * s),
    ];
    let column = |name: &str| ran.column(&format!("q.{name}"));
    let journal = |u: &str, slope: &str, sign: f64, k: usize| {
        let parts = [
            column(&format!("{u}0"))[k],
            sign * column(&format!("{slope}0"))[k],
            column(&format!("{u}1"))[k],
            sign * column(&format!("{slope}1"))[k],
        ];
        hermite.iter().zip(parts).map(|(h, x)| h * x).sum::<f64>()
    };
    for (t, values) in known {
        let k = (t / ran.h()).round() as usize;
        let (y, z) = (column("Y")[k], column("Z")[k]);
        let ours = [
            journal("y", "b", 1.0, k) - y,
            journal("z", "a", -1.0, k) - z,
            column("p2")[k],
            ran.column("v.p2")[k],
            y,
            z,
        ];
        // Both programs have errors of first order at the impacts, and torsion at 2 kHz in the rate of the fly-wheel.
        let tolerances = [1e-7, 2e-7, 1e-5, 0.08, 5e-8, 1e-7];
        for (i, name) in ["y", "z", "angle", "rate", "Y", "Z"].iter().enumerate() {
            close(&format!("{name} at {t}"), ours[i], values[i], tolerances[i]);
        }
    }
}
