//! What a step must not do to the state it could not advance.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use saltus_integrators::{DriveError, Plan, Scheme, StepError, drive};
use saltus_system::{
    Constraints, Contacts, Dims, Dynamics, Kinematics, MassKind, MatrixSink, Point, State,
    Structure, System,
};

/// A coordinate whose mass `1 − q` is positive as long as `q < 1`.
struct Fading;

impl Kinematics for Fading {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Fading {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Varying,
            ..Structure::GENERAL
        }
    }
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0 - q[0]);
    }
    fn mass_gradient(&self, _: &[f64], x: &[f64], out: &mut dyn MatrixSink) {
        out.entry(0, 0, -x[0]);
    }
    fn force(&self, _: Point<'_>, force: &mut [f64]) {
        force[0] = 0.0;
    }
}

impl Constraints for Fading {}
impl Contacts for Fading {}
impl System for Fading {}

#[test]
fn a_step_to_a_negative_kinetic_energy_leaves_the_state_where_it_was() {
    let h = 0.1;
    for info in Scheme::ALL {
        let build = || Scheme::by_name(info.name).unwrap().build().unwrap();
        let mut integrator = build();
        let mut state = State::new(0.0, vec![0.03], vec![1.0]);
        integrator.prepare(&Fading, &state, h).unwrap();
        let (mut before, mut memory, mut after) = (state.clone(), Vec::new(), Vec::new());
        let error = (1..20)
            .find_map(|k| {
                before.clone_from(&state);
                integrator.save(&mut memory);
                let end = f64::from(k) * h;
                integrator.step(&Fading, &mut state, h, end).err()
            })
            .unwrap_or_else(|| panic!("{}: the mass becomes negative", info.name));
        assert!(
            matches!(error, StepError::IndefiniteMass { kinetic } if kinetic < 0.0),
            "{}: {error}",
            info.name
        );
        assert_eq!(state, before, "{}", info.name);
        integrator.save(&mut after);
        if info.name == "moreau-jean" || info.name.contains("generalized-alpha") {
            assert_eq!(memory, after, "{}", info.name);
        }

        let mut driven = State::new(0.0, vec![0.03], vec![1.0]);
        let plan = Plan::new(0.0, h, 2.0);
        let outcome = drive(&Fading, &mut *build(), &mut driven, plan, None, &mut []);
        assert!(matches!(
            outcome,
            Err(DriveError::Step {
                error: StepError::IndefiniteMass { .. },
                ..
            })
        ));
        assert_eq!(driven.q, state.q, "{}", info.name);
    }
}
