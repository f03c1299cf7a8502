//! Contact sets that come and go, as those of collision detection do.

use saltus_integrators::{
    Inactive, LinearSolve, NonsmoothFormulation, NonsmoothGeneralizedAlphaOptions,
    NonsmoothHhtOptions, NonsmoothNewmarkOptions, Plan, Scheme,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, State, Structure, System,
};

/// A ball between a floor at 0 and a ceiling at 2, each in the contact set always or only while it is near.
struct Shaft {
    always: bool,
}

impl Shaft {
    const HEIGHT: f64 = 2.0;

    fn gap(id: ContactId, q: &[f64]) -> f64 {
        if id.0 == 3 { q[0] } else { Self::HEIGHT - q[0] }
    }
}

impl Kinematics for Shaft {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Shaft {
    fn structure(&self) -> Structure {
        Structure::LINEAR
    }
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }
    fn force(&self, _: Point<'_>, force: &mut [f64]) {
        force[0] = -2.0;
    }
}

impl Constraints for Shaft {}

impl Contacts for Shaft {
    fn contacts_are_fixed(&self) -> bool {
        self.always
    }
    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        for (id, direction) in [(3, 1.0), (7, -1.0)] {
            let id = ContactId(id);
            if self.always || Self::gap(id, q) < reach.margin() {
                set.push(id, ContactLaw::frictionless(0.6), 0.0);
                set.directions.push(&[0], &[direction]);
                set.rate.push(0.0);
            }
        }
        self.evaluate_contacts(t, q, set);
    }
    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        for i in 0..set.len() {
            set.gap[i] = Self::gap(set.id[i], q);
        }
    }
}

impl System for Shaft {}

/// Position, velocity and impulses at floor and ceiling.
type Row = (f64, f64, [f64; 2]);

/// Every step, and the largest and smallest contact set.
fn run(scheme: &Scheme, system: &Shaft) -> (Vec<Row>, (usize, usize)) {
    let mut integrator = scheme.build().unwrap();
    let mut state = State::new(0.0, vec![1.0], vec![5.0]);
    let plan = Plan::new(0.0, 0.013, 500.0 * 0.013);
    integrator.prepare(system, &state, plan.step).unwrap();
    let mut sizes = (usize::MAX, 0);
    let rows = (0..plan.steps())
        .map(|k| {
            integrator
                .step(system, &mut state, plan.step, plan.time(k + 1))
                .unwrap_or_else(|error| panic!("step {}: {error}", k + 1));
            let reactions = integrator.reactions();
            let set = reactions.contacts;
            sizes = (sizes.0.min(set.len()), sizes.1.max(set.len()));
            let impulse = [3, 7].map(|id| {
                let place = set.id.iter().position(|i| i.0 == id);
                place.map_or(0.0, |i| reactions.impulse[i])
            });
            (state.q[0], state.v[0], impulse)
        })
        .collect();
    (rows, sizes)
}

#[test]
fn contacts_may_come_and_go() {
    let options = NonsmoothGeneralizedAlphaOptions::default;
    let mut schemes = vec![
        Scheme::NonsmoothNewmark(NonsmoothNewmarkOptions::default()),
        Scheme::NonsmoothHht(NonsmoothHhtOptions::default()),
    ];
    for formulation in [
        NonsmoothFormulation::Unconstrained,
        NonsmoothFormulation::Pvv,
        NonsmoothFormulation::Pva,
    ] {
        for linear_solve in [
            LinearSolve::Auto,
            LinearSolve::Sequential,
            LinearSolve::Monolithic,
        ] {
            schemes.push(Scheme::NonsmoothGeneralizedAlpha(
                NonsmoothGeneralizedAlphaOptions {
                    formulation,
                    linear_solve,
                    ..options()
                },
            ));
        }
    }
    schemes.push(Scheme::NonsmoothGeneralizedAlpha(
        NonsmoothGeneralizedAlphaOptions {
            inactive: Inactive::Star,
            rho_inf: Some(0.0),
            ..options()
        },
    ));
    for scheme in schemes {
        let (always, _) = run(&scheme, &Shaft { always: true });
        let (near, sizes) = run(&scheme, &Shaft { always: false });
        assert_eq!(sizes.0, 0, "{scheme:?}: nothing is near in flight");
        let both = |k: usize| near.iter().any(|row| row.2[k] > 0.0);
        assert!(both(0) && both(1), "{scheme:?}: floor and ceiling are hit");
        for (k, (a, b)) in always.iter().zip(&near).enumerate() {
            let apart = (a.0 - b.0).abs().max((a.1 - b.1).abs());
            assert!(apart < 1e-11, "{scheme:?}, step {k}: {a:?} {b:?}");
        }
    }
}

/// A step that was not solved names the contact by its identity, whichever others the contact set lacks.
#[test]
fn a_failed_step_names_the_contact_by_identity() {
    let options = NonsmoothGeneralizedAlphaOptions {
        // Guessed sets do not find an impact at once.
        inactive: Inactive::Literal,
        max_iterations: 1,
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let mut integrator = Scheme::NonsmoothGeneralizedAlpha(options).build().unwrap();
    let system = Shaft { always: false };
    let mut state = State::new(0.0, vec![1.0], vec![5.0]);
    let h = 0.013;
    integrator.prepare(&system, &state, h).unwrap();
    let error = (1..100)
        .find_map(|k| {
            let end = f64::from(k) * h;
            integrator.step(&system, &mut state, h, end).err()
        })
        .expect("one correction does not find the impact on the ceiling");
    assert_eq!(state.q[0].round(), 2.0, "only the ceiling is near");
    let rows = &error.problem().expect("the problem is kept").rows;
    assert!(rows.iter().any(|row| row.starts_with("impact law of ")));
    let named = rows.iter().all(|row| row.ends_with(" of contact7"));
    assert!(named, "{rows:?}");
}
