//! Every hand-written derivative passes the audit, and a wrong one is named.
#![allow(clippy::unwrap_used)]

use saltus_system::check::check;
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, State, System,
};
use saltus_zoo::{
    Ball, BouncingPendulum, DoublePendulum, DoublePendulumAtWall, ElasticBar, Joint, JointedBody,
    RingPendulum, RockingBlock, SliderCrank, SpinningBody, bar, corner, newtons_cradle, oscillator,
    spring_over_floor, two_masses,
};

fn clean(name: &str, system: &dyn System, q: Vec<f64>, v: Vec<f64>) {
    let audit = check(system, &State::new(0.3, q, v));
    let failures: Vec<String> = audit.failures().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{name}: {failures:#?}");
    assert!(audit.findings.len() > 8);
}

#[test]
fn the_zoo_is_clean() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    clean("ball", &ball, vec![1.0], vec![-0.3]);
    clean(
        "oscillator",
        &oscillator(1.2, 1430.0, 0.1, 0.8),
        vec![0.4],
        vec![0.4],
    );
    clean(
        "bar",
        &bar(6, 0.01, 3.14e-4, 210e9, 7800.0, 0.0),
        vec![5e-5; 6],
        vec![-0.1; 6],
    );
    clean(
        "elastic bar",
        &ElasticBar::of_elements(5),
        (0..6).map(|i| 5.0 + 0.1 * f64::from(i * i)).collect(),
        vec![-10.0; 6],
    );
    let pendulum = BouncingPendulum::default();
    clean(
        "bouncing pendulum",
        &pendulum,
        pendulum.at(0.4),
        vec![0.1, -0.2, 0.3],
    );
    clean(
        "double pendulum",
        &DoublePendulum { gravity: 10.0 },
        vec![0.1, 0.2],
        vec![1.0, -2.0],
    );
    let (q, v) = SliderCrank::start();
    clean("slider crank", &SliderCrank::default(), q, v);
    let body = SpinningBody {
        mass: 1.0,
        inertia: [0.1, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0],
        force: [0.0, 0.0, -9.81],
    };
    let half = std::f64::consts::FRAC_1_SQRT_2;
    clean(
        "body",
        &body,
        vec![0.1, 0.2, 0.3, half, 0.0, half, 0.0],
        vec![1.0, 0.0, 2.0, 0.5, -1.0, 2.0],
    );
}

#[test]
fn linear_contact_systems_are_clean() {
    let systems = [
        ("spring", spring_over_floor(1.0, 4.0, 0.3, 0.8)),
        ("cradle", newtons_cradle(&[1.0, 2.0], 0.5)),
        ("corner", corner(&[[0.0, 1.0], [0.6, 0.8]], 0.5)),
        ("masses", two_masses(1.0, 1e3, 1.0, 0.2, 10.0, 0.8)),
    ];
    for (name, system) in systems {
        let n = system.n;
        clean(name, &system, vec![0.4; n], vec![-0.3; n]);
    }
}

#[test]
fn curved_contacts_are_clean() {
    let q = vec![0.1, 0.9, 0.2];
    let v = vec![0.3, -0.4, 0.7];
    clean("block", &RockingBlock::default(), q, v.clone());
    let ring = RingPendulum::new(0.1, 0.5);
    clean("ring", &ring, vec![0.52, -0.1, 1.4], v);
    let wall = DoublePendulumAtWall {
        pendulum: DoublePendulum { gravity: 10.0 },
        wall: -0.3,
        restitution: 0.5,
    };
    clean("wall", &wall, vec![0.3, -0.8], vec![1.0, -2.0]);
}

#[test]
fn joints_are_clean() {
    let body = SpinningBody {
        mass: 1.0,
        inertia: [0.1, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0],
        force: [0.0, 0.0, -9.81],
    };
    let joints = [
        Joint::Spherical {
            arm: [0.3, -0.2, 0.5],
            centre: [0.1, 0.0, 0.2],
        },
        Joint::Prismatic {
            axis: [0.1, 0.2],
            orientation: [0.8, 0.0, 0.6, 0.0],
        },
    ];
    let half = std::f64::consts::FRAC_1_SQRT_2;
    for joint in joints {
        clean(
            "joint",
            &JointedBody { body, joint },
            vec![0.1, 0.2, 0.3, half, 0.0, 0.0, half],
            vec![1.0, 0.0, 2.0, 0.5, -1.0, 2.0],
        );
    }
}

/// A pendulum whose stiffness has the wrong sign.
struct Wrong;

impl Kinematics for Wrong {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}
impl Dynamics for Wrong {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force[0] = -at.q[0].sin();
    }
    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        stiffness.entry(0, 0, -at.q[0].cos());
    }
}
impl Constraints for Wrong {}
impl Contacts for Wrong {}
impl System for Wrong {}

#[test]
fn a_wrong_derivative_is_named() {
    let audit = check(&Wrong, &State::new(0.0, vec![0.2], vec![0.0]));
    let failures: Vec<_> = audit.failures().collect();
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].quantity, "stiffness");
    assert!(failures[0].to_string().contains("K = −D(f)"));
}

/// A force that grows with time and a gap that is no line, promised to be constant and affine.
struct Promised;

impl Kinematics for Promised {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}
impl Dynamics for Promised {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force[0] = 1.0 + at.t;
    }
    fn force_is_constant(&self) -> bool {
        true
    }
}
impl Constraints for Promised {}
impl Contacts for Promised {
    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(ContactId(0), ContactLaw::frictionless(0.5), 0.0);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
        self.evaluate_contacts(t, q, set);
    }
    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        // A step in the ground that the direction does not tell of.
        set.gap[0] = if q[0] < 1.0 { q[0] } else { q[0] - 0.1 };
    }
    fn gaps_are_affine(&self) -> bool {
        true
    }
}
impl System for Promised {}

#[test]
fn a_broken_promise_is_named() {
    let audit = check(&Promised, &State::new(0.0, vec![0.2], vec![0.0]));
    let named: Vec<_> = audit.failures().map(|f| f.quantity).collect();
    assert_eq!(named, ["force_is_constant", "gaps_are_affine"]);
}
