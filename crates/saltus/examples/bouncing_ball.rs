//! A ball that bounces on a floor, written against the contract of a system.
//!
//! `cargo run --release -p saltus --example bouncing_ball`
#![allow(clippy::expect_used)]

use saltus::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Names, Point, Reach, Scheme, Simulation, State, System,
};

struct Ball;

impl Kinematics for Ball {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Ball {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }

    fn force(&self, _: Point<'_>, force: &mut [f64]) {
        force[0] = -9.81;
    }
}

impl Contacts for Ball {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(ContactId(0), ContactLaw::frictionless(0.8), q[0]);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        set.gap[0] = q[0];
    }
}

impl Constraints for Ball {}

impl System for Ball {
    fn names(&self) -> Names {
        let list = |name: &str| vec![name.to_owned()];
        Names {
            positions: list("y"),
            velocities: list("y"),
            contacts: list("floor"),
            ..Names::default()
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ball = Ball;
    let trajectory = Simulation::new(&ball, Scheme::MoreauJean(Default::default()))
        .start(State::new(0.0, vec![1.0], vec![0.0]))
        .step(1e-3)
        .until(5.0)
        .record()?;
    let outcome = trajectory.outcome().expect("a recorded run");
    println!("lowest point {} m", trajectory.column("q.y")?.min());
    println!(
        "{} impacts, at rest since {:?} s",
        outcome.events.impacts, outcome.rest.since
    );
    Ok(())
}
