//! The pendulum of the tutorial as a system in Rust, audited, run by three schemes, and written to disk.
//!
//! `cargo run --release -p saltus --example pendulum_at_a_wall`
#![allow(clippy::expect_used)]

use saltus::output::{ResultDirectory, RunCard};
use saltus::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Entry, ForceKind,
    Kinematics, MassKind, MatrixSink, Names, Point, Reach, Scheme, Simulation, State, Structure,
    System, check,
};
use std::error::Error;
use std::f64::consts::PI;

/// A point mass on a rod that swings against a wall to its left; its coordinate is the angle from hanging \[rad\].
struct Pendulum {
    /// Mass \[kg\].
    mass: f64,
    /// Length \[m\].
    length: f64,
    /// Gravity [m/s²].
    gravity: f64,
    /// Distance of the wall from the suspension \[m\].
    wall: f64,
    /// Restitution of the wall.
    restitution: f64,
}

impl Kinematics for Pendulum {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Pendulum {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Constant,
            force: ForceKind::General,
            linear_constraints: true,
            linear_contacts: false,
        }
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, self.mass * self.length * self.length);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force[0] = -self.mass * self.gravity * self.length * at.q[0].sin();
    }

    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        let k = self.mass * self.gravity * self.length * at.q[0].cos();
        stiffness.entry(0, 0, k);
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        -self.mass * self.gravity * self.length * q[0].cos()
    }

    // All of the force has a potential: none of it changes the total energy.
    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }

    fn is_conservative(&self) -> bool {
        true
    }
}

impl Constraints for Pendulum {}

impl Contacts for Pendulum {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(
            ContactId(0),
            ContactLaw::frictionless(self.restitution),
            0.0,
        );
        set.directions.push(&[0], &[0.0]); // one row: the normal; the columns that it has entries in
        set.rate.push(0.0); // the wall stands still
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        set.gap[0] = self.wall + self.length * q[0].sin();
        set.directions.all_values_mut()[0] = self.length * q[0].cos(); // ∂gap/∂θ
    }

    // ζ of the acceleration of the gap, W v̇ + ζ.
    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        bias[0] = -self.length * at.q[0].sin() * at.v[0] * at.v[0];
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        curvature.entry(0, 0, -self.length * q[0].sin() * r[0]);
    }

    fn contact_direction_gradient(
        &self,
        _: f64,
        q: &[f64],
        _: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        gradient.entry(0, 0, -self.length * q[0].sin() * x[0]);
    }

    fn contact_bias_gradient(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        gradient.entry(0, 0, -self.length * at.q[0].cos() * at.v[0] * at.v[0]);
    }

    fn contact_bias_damping(&self, at: Point<'_>, _: &ContactSet, gradient: &mut dyn MatrixSink) {
        gradient.entry(0, 0, -2.0 * self.length * at.q[0].sin() * at.v[0]);
    }
}

impl System for Pendulum {
    fn names(&self) -> Names {
        let list = |name: &str| vec![name.to_owned()];
        Names {
            positions: list("theta"),
            velocities: list("theta"),
            contacts: list("wall"),
            ..Names::default()
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pendulum = Pendulum {
        mass: 1.0,
        length: 1.0,
        gravity: 9.81,
        wall: 0.5,
        restitution: 0.8,
    };
    let start = State::new(0.0, vec![PI / 3.0], vec![0.0]);

    // Every derivative against finite differences, at the start and near it.
    let audit = check::check(&pendulum, &start);
    for finding in &audit.findings {
        println!("{finding}");
    }
    if !audit.is_clean() {
        return Err("a derivative is wrong".into());
    }

    for name in ["moreau-jean", "nonsmooth-generalized-alpha", "event-driven"] {
        let scheme = Scheme::by_name(name).expect("a scheme of that name");
        let trajectory = Simulation::new(&pendulum, scheme)
            .start(start.clone())
            .step(1e-3)
            .until(6.0)
            .record()?;
        let outcome = trajectory.outcome().expect("a recorded run");
        let penetration = outcome
            .certificate
            .iter()
            .find(|(entry, ..)| *entry == Entry::Penetration);
        println!(
            "{name}: {} impacts, penetration {:.1e} m, energy lost {:.4} J",
            outcome.events.impacts,
            penetration.map_or(0.0, |(_, worst, _)| worst),
            outcome.energy.initial.total() - outcome.energy.last.total()
        );
    }

    // The same run with its files: trajectory.csv, summary.json and report.html.
    let scheme = Scheme::MoreauJean(Default::default());
    let card = RunCard::new("pendulum in Rust", &scheme);
    let mut files = ResultDirectory::new("out/pendulum-in-rust", card)
        .report(true)
        .open()?;
    Simulation::new(&pendulum, scheme)
        .start(start)
        .step(1e-3)
        .until(6.0)
        .run(&mut [&mut files])?;
    println!("written to {}", files.path().display());
    Ok(())
}
