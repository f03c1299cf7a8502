//! What a step must not do to the state it could not advance.

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

/// An undamped oscillator beyond the limit of the explicit scheme, `h ω = 2.1`, makes energy of its own until nothing else is
/// left; within the limit it does not.
#[test]
fn a_motion_that_the_scheme_makes_itself_is_a_failed_step() {
    let system = saltus_zoo::Linear {
        n: 1,
        mass: vec![(0, 0, 1.0)],
        stiffness: vec![(0, 0, 1.0)],
        ..saltus_zoo::Linear::default()
    };
    let run = |h: f64| {
        let mut integrator = Scheme::by_name("half-explicit").unwrap().build().unwrap();
        let mut state = saltus_system::State::new(0.0, vec![1.0], vec![0.0]);
        let plan = Plan::new(0.0, h, 1000.0 * h);
        drive(&system, &mut *integrator, &mut state, plan, None, &mut [])
    };
    assert!(run(1.9).is_ok());
    match run(2.1) {
        Err(DriveError::Step {
            error: StepError::Diverged { limit, size, .. },
            ..
        }) => {
            assert!((limit.unwrap() - 2.0).abs() < 1e-6);
            assert!(size < 100.0, "{size}");
        }
        other => panic!("{other:?}"),
    }
}

/// A body that rests, its velocity round-off, has not diverged whatever that round-off does.
#[test]
fn a_body_at_rest_does_not_diverge() {
    let system = saltus_zoo::Linear {
        n: 2,
        mass: vec![(0, 0, 1.3), (1, 1, 0.7)],
        load: vec![-9.81, -9.81],
        contacts: vec![
            (0.0, vec![(0, 1.0), (1, 0.3)], 0.5),
            (0.0, vec![(0, 1.0), (1, 1.7)], 0.5),
        ],
        ..saltus_zoo::Linear::default()
    };
    for info in Scheme::ALL
        .iter()
        .filter(|info| info.name != "generalized-alpha")
    {
        let mut integrator = Scheme::by_name(info.name).unwrap().build().unwrap();
        let mut state = saltus_system::State::new(0.0, vec![0.0; 2], vec![0.0; 2]);
        let plan = Plan::new(0.0, 1e-3, 0.5);
        let stop = drive(&system, &mut *integrator, &mut state, plan, None, &mut []);
        assert!(stop.is_ok(), "{}: {stop:?}", info.name);
    }
}
