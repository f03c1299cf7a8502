//! Mechanisms whose equations are known by hand.

use super::models::{
    Dense, SLIDER_CRANK, assert_close, double_pendulum, rheonomic_energies, slider_crank,
    slider_crank_by_energies,
};
use saltus_system::{
    ContactSet, Contacts, Dynamics, ForceKind, Kinematics, MassKind, Point, Reach, System,
};

const STATES: [([f64; 3], [f64; 3]); 4] = [
    ([0.0, 0.0, 0.0], [150.0, -75.0, 0.0]),
    ([0.4, -0.2, 0.01], [3.0, 1.0, -2.0]),
    ([2.5, -0.31, -0.02], [-140.0, 30.0, 5.0]),
    ([-4.0, 0.25, 0.005], [0.5, -0.1, 0.2]),
];

fn parameter(name: &str) -> f64 {
    SLIDER_CRANK.iter().find(|p| p.0 == name).unwrap().1
}

/// Mass matrix and force by hand.
fn slider_crank_by_hand(q: &[f64], v: &[f64]) -> ([f64; 9], [f64; 3]) {
    let [l1, l2, m1, m2, m3, j1, j2, j3, g] =
        ["l1", "l2", "m1", "m2", "m3", "J1", "J2", "J3", "g"].map(parameter);
    let k = (m2 / 2.0 + m3) * l1 * l2;
    let off = k * (q[1] - q[0]).cos();
    let mass = [
        j1 + (m1 / 4.0 + m2 + m3) * l1 * l1,
        off,
        0.0,
        off,
        j2 + (m2 / 4.0 + m3) * l2 * l2,
        0.0,
        0.0,
        0.0,
        j3,
    ];
    let s = (q[0] - q[1]).sin();
    let force = [
        -(k * s * v[1] * v[1] + (m1 / 2.0 + m2 + m3) * g * l1 * q[0].cos()),
        -(-k * s * v[0] * v[0] + (m2 / 2.0 + m3) * g * l2 * q[1].cos()),
        0.0,
    ];
    (mass, force)
}

#[test]
fn slider_crank_has_the_equations_of_the_book() {
    for (what, model) in [
        ("mass and force", slider_crank()),
        ("energies", slider_crank_by_energies()),
    ] {
        let system = model.0.assemble().unwrap();
        assert_eq!(system.structure().mass, MassKind::Varying);
        for (q, v) in STATES {
            let (mass, force) = slider_crank_by_hand(&q, &v);
            let sent = Dense::of(3, 3, |m| system.mass(&q, m));
            assert_close(&sent.data, &mass, 1e-15, what);
            assert_eq!(sent.calls, 1, "a small mass matrix arrives as one block");
            let mut f = [f64::NAN; 3];
            system.force(
                Point {
                    t: 0.0,
                    q: &q,
                    v: &v,
                },
                &mut f,
            );
            assert_close(&f, &force, 1e-14, what);
            let energy: f64 = sent
                .times(&v)
                .iter()
                .zip(&v)
                .map(|(p, v)| 0.5 * p * v)
                .sum();
            assert_close(&[system.kinetic_energy(&q, &v)], &[energy], 1e-14, what);
        }
    }
}

#[test]
fn slider_crank_has_the_corners_of_the_book() {
    let system = slider_crank().0.assemble().unwrap();
    assert_eq!(system.contact_count(), 4);
    assert_eq!(
        system.names().contacts,
        ["upper_left", "upper_right", "lower_left", "lower_right"]
    );
    assert_eq!(system.names().positions, ["crank", "rod", "block"]);
    let [l1, l2, a, b] = ["l1", "l2", "a", "b"].map(parameter);
    let half = b + parameter("c");
    let mut set = ContactSet::default();
    for (q, _) in STATES {
        let s = l1 * q[0].sin() + l2 * q[1].sin();
        let (sin, cos) = q[2].sin_cos();
        let gaps = [
            half - (s - a * sin + b * cos),
            half - (s + a * sin + b * cos),
            half + s - a * sin - b * cos,
            half + s + a * sin - b * cos,
        ];
        let (c0, c1) = (l1 * q[0].cos(), l2 * q[1].cos());
        let (s0, s1) = (-l1 * q[0].sin(), -l2 * q[1].sin());
        let rows = [
            [-c0, -c1, a * cos + b * sin],
            [s0, s1, a * sin - b * cos],
            [-c0, -c1, -a * cos + b * sin],
            [s0, s1, -a * sin - b * cos],
            [c0, c1, -a * cos + b * sin],
            [s0, s1, a * sin + b * cos],
            [c0, c1, a * cos + b * sin],
            [s0, s1, -a * sin + b * cos],
        ];
        system.detect(0.0, &q, Reach::All, &mut set);
        assert_eq!(set.first_row, [0, 2, 4, 6]);
        assert_eq!(
            (
                set.law[3].e_n,
                set.law[3].e_t,
                set.law[3].mu,
                set.law[3].tangents
            ),
            (0.4, 0.0, 0.01, 1)
        );
        assert_close(&set.gap, &gaps, 1e-15, "gaps");
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(set.directions.cols(i), [0, 1, 2]);
            assert_close(set.directions.values(i), row, 1e-15, "directions");
        }
        assert_eq!(set.rate, [0.0; 8]);
    }
}

#[test]
fn double_pendulum_has_the_equations_of_the_book() {
    let system = double_pendulum().0.assemble().unwrap();
    for (q, v) in [
        ([0.1, 0.2], [0.0, 0.0]),
        ([0.7, -1.9], [2.0, -3.0]),
        ([-2.0, 1.0], [0.3, 5.0]),
    ] {
        let (sin, cos) = f64::sin_cos(q[0] - q[1]);
        let mass = Dense::of(2, 2, |m| system.mass(&q, m));
        assert_close(&mass.data, &[2.0, cos, cos, 1.0], 1e-15, "mass");
        let mut force = [0.0; 2];
        let point = Point {
            t: 0.0,
            q: &q,
            v: &v,
        };
        system.force(point, &mut force);
        let expected = [
            -(v[1] * v[1] * sin + 20.0 * q[0].sin()),
            -(-v[0] * v[0] * sin + 10.0 * q[1].sin()),
        ];
        assert_close(&force, &expected, 1e-15, "force");
        let potential = -20.0 * q[0].cos() - 10.0 * q[1].cos();
        assert_close(
            &[system.potential_energy(0.0, &q)],
            &[potential],
            1e-15,
            "potential",
        );
        // −∂f/∂q by hand.
        let stiffness = Dense::of(2, 2, |m| system.stiffness(point, m));
        let (a, b) = (v[1] * v[1] * cos, v[0] * v[0] * cos);
        let expected = [a + 20.0 * q[0].cos(), -a, -b, b + 10.0 * q[1].cos()];
        assert_close(&stiffness.data, &expected, 1e-15, "stiffness");
        let mut active = [f64::NAN; 2];
        system.active_force(point, &mut active);
        assert_eq!(active, [0.0; 2], "nothing but the potential does work");
    }
}

#[test]
fn kinetic_energy_is_its_quadratic_part() {
    let system = rheonomic_energies().0.assemble().unwrap();
    let (q, v) = ([0.8, -0.3], [1.5, 0.7]);
    let mass = Dense::of(2, 2, |m| system.mass(&q, m));
    let (m, r): (f64, f64) = (0.4, 0.6);
    let coupling = m * r * q[0].sin();
    assert_close(
        &mass.data,
        &[m * r * r, coupling, coupling, m + 1.0],
        1e-15,
        "mass",
    );
    let expected: f64 = mass
        .times(&v)
        .iter()
        .zip(&v)
        .map(|(p, v)| 0.5 * p * v)
        .sum();
    assert_close(
        &[system.kinetic_energy(&q, &v)],
        &[expected],
        1e-15,
        "kinetic energy",
    );
    // Centrifugal force of the rotating hoop, at rest and at a time when the drive stands still.
    let t = std::f64::consts::FRAC_PI_2 / 3.0;
    let mut force = [0.0; 2];
    system.force(
        Point {
            t,
            q: &q,
            v: &[0.0; 2],
        },
        &mut force,
    );
    let centrifugal = m * r * r * 9.0 * q[0].sin() * q[0].cos();
    let weight = -m * 9.81 * r * q[0].sin();
    // The hoop is accelerated by −0.6 sin(3t) = −0.6.
    let inertia = m * r * q[0].cos() * 0.6;
    assert_close(
        &force,
        &[centrifugal + weight + inertia + 0.1 * t.sin(), -8.0 * q[1]],
        1e-14,
        "force",
    );
}

#[test]
fn structure_is_seen_in_the_formulas() {
    use super::models::Model;
    let linear = Model::new(&["x", "y"])
        .parameter("k", "3")
        .mass(&["2", "1"])
        .force(&["-k*(x - y) - 0.1*v.x + cos(t)", "k*x - k*y"])
        .bilateral("tie", "x - 2*y + sin(t)")
        .unilateral("stop", "1 - x + t^2", "0.5");
    let system = linear.clone().0.assemble().unwrap();
    let structure = system.structure();
    assert!(structure.is_time_invariant());
    assert!(structure.linear_constraints && structure.linear_contacts);
    assert_eq!(
        (system.dims().nq, system.dims().nv, system.dims().ng),
        (2, 2, 1)
    );
    let stiffness = Dense::of(2, 2, |m| {
        system.stiffness(
            Point {
                t: 0.0,
                q: &[0.3, 0.1],
                v: &[0.0; 2],
            },
            m,
        )
    });
    assert_eq!(stiffness.data, [3.0, -3.0, -3.0, 3.0]);

    let quadratic = linear.clone().potential("0.5*k*x^2").0.assemble().unwrap();
    assert_eq!(quadratic.structure().force, ForceKind::Affine);
    let parametric = linear
        .clone()
        .potential("0.5*k*x^2*cos(t)")
        .0
        .assemble()
        .unwrap();
    assert_eq!(
        parametric.structure().force,
        ForceKind::General,
        "the stiffness depends on time"
    );
    let cubic = linear.clone().potential("x^4").0.assemble().unwrap();
    assert_eq!(cubic.structure().force, ForceKind::General);
    let bent = linear
        .clone()
        .bilateral("bent", "x*y")
        .0
        .assemble()
        .unwrap();
    assert!(!bent.structure().linear_constraints && bent.structure().linear_contacts);
    let slip = linear
        .clone()
        .unilateral("slip", "x", "0")
        .tangential_velocity(&["x*v.y"])
        .0
        .assemble()
        .unwrap();
    assert!(slip.structure().linear_constraints && !slip.structure().linear_contacts);
    let bare = Model::new(&["x"]).mass(&["1"]).0.assemble().unwrap();
    assert_eq!(bare.structure(), saltus_system::Structure::LINEAR);
    let mut force = [7.0];
    bare.force(
        Point {
            t: 0.0,
            q: &[1.0],
            v: &[1.0],
        },
        &mut force,
    );
    assert_eq!(force, [0.0]);
}
