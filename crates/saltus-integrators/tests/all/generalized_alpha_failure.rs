//! What is kept of a run to repeat it: the problem of a failed step, and the options of a scheme.

use saltus_complementarity::{Mlcp, MlcpSolver, Tolerance};
use saltus_integrators::{
    Entry, GeneralizedAlphaOptions, Inactive, Integrator, NonsmoothFormulation,
    NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions, Plan, Preset, Scheme, StepError,
    drive,
};
use saltus_linear::Dense;
use saltus_system::State;
use saltus_zoo::{BouncingPendulum, SliderCrank, ball_over_floor};
use std::f64::consts::PI;

/// With one correction allowed, guessed sets do not find the impact of the ball; the problem left behind is linear and
/// its solution is the impulse that a run with enough corrections finds.
#[test]
fn its_solution_is_the_step() {
    let system = ball_over_floor(1.0, -10.0, 0.8);
    let h = 2e-3;
    for formulation in [NonsmoothFormulation::Pva, NonsmoothFormulation::Pvv] {
        let scheme = |max_iterations, guesses: bool| {
            let pva = formulation == NonsmoothFormulation::Pva;
            let options = NonsmoothGeneralizedAlphaOptions {
                formulation,
                max_iterations,
                inactive: if guesses && pva {
                    Inactive::Literal
                } else {
                    Inactive::Star
                },
                modified_lcp: guesses && !pva,
                ..NonsmoothGeneralizedAlphaOptions::default()
            };
            let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
            // It closes by gravity alone in the last part of a step, however that is divided.
            let state = State::new(0.0, vec![0.8 - 4e-8], vec![0.0]);
            scheme.prepare(&system, &state, h).unwrap();
            (scheme, state)
        };
        let (mut hasty, mut state) = scheme(1, true);
        let (mut patient, mut same) = scheme(50, false);
        let (mut before, mut memory) = (Vec::new(), Vec::new());
        let (problem, impulse) = (1..1000)
            .find_map(|k| {
                let end = f64::from(k) * h;
                hasty.save(&mut before);
                let outcome = hasty.step(&system, &mut state, h, end);
                patient.step(&system, &mut same, h, end).unwrap();
                let error = outcome.err()?;
                assert!(matches!(error, StepError::NotConverged { .. }), "{error}");
                let problem = error.problem().expect("the problem is kept").clone();
                Some((problem, patient.reactions().impulse[0]))
            })
            .expect("one correction does not find the impact");
        hasty.save(&mut memory);
        assert_eq!(before, memory, "a failed step leaves no trace");
        let k = problem.q.len();
        let mut matrix = Dense::zeros(k, k);
        matrix.as_mut_slice().copy_from_slice(&problem.matrix);
        let posed = Mlcp {
            equalities: problem.equalities,
            matrix: &matrix,
            q: &problem.q,
        };
        let mut z = vec![0.0; k];
        let outcome = MlcpSolver::default().solve(&posed, &mut z, Tolerance::default());
        println!("{formulation:?}: {k} unknowns, {outcome:?}, z = {z:?}, impulse {impulse}");
        let found = z.last().unwrap();
        assert!((found - impulse).abs() < 1e-12, "{found} {impulse}");
    }
}

/// The correction that tight rows would like is not asked for where the limit forbids it: a step that is
/// given up is above its tolerance, whatever the limit.
#[test]
fn a_step_within_its_tolerance_never_fails() {
    let system = BouncingPendulum::default();
    let start = State::new(0.0, system.at(PI / 12.0), vec![0.0; 3]);
    let (mut failed, mut taken) = (0, 0);
    for tolerance in [1e-3, 1e-6, 1e-9, 1e-12] {
        for max_iterations in 1..5 {
            let options = NonsmoothGeneralizedAlphaOptions {
                tolerance,
                max_iterations,
                ..NonsmoothGeneralizedAlphaOptions::default()
            };
            let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
            let mut state = start.clone();
            scheme.prepare(&system, &state, 1e-3).unwrap();
            for k in 1..2000 {
                match scheme.step(&system, &mut state, 1e-3, f64::from(k) * 1e-3) {
                    Ok(report) => {
                        taken += 1;
                        assert!(report.iterations <= 60 * max_iterations);
                    }
                    Err(StepError::NotConverged {
                        residual,
                        tolerance,
                        ..
                    }) => {
                        failed += 1;
                        assert!(residual > tolerance, "{residual:e} {tolerance:e}");
                        break;
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
    println!("{taken} steps taken, {failed} runs failed");
    assert!(failed > 0 && taken > 4000);
}

/// A contact that closes in one part of a step and opens in the next is closed while it carries an impulse; the
/// certificate says so, although gap and impulse of the whole step look otherwise.
#[test]
fn the_certificate_of_a_step_in_parts_is_that_of_its_parts() {
    let system = BouncingPendulum::default();
    let options = NonsmoothGeneralizedAlphaOptions {
        // Some impacts need more in so long a step.
        max_iterations: 3,
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
    let mut state = State::new(0.0, system.at(PI / 12.0), vec![0.0; 3]);
    let h = 3e-2;
    scheme.prepare(&system, &state, h).unwrap();
    let (mut worst, mut remedied) = (0.0_f64, 0);
    for k in 1..=200 {
        let end = f64::from(k) * h;
        let report = scheme.step(&system, &mut state, h, end).unwrap();
        remedied += u32::from(report.remedies > 0);
        worst = worst.max(report.certificate.get(Entry::ComplementarityPosition));
    }
    println!("{remedied} steps with a remedy, {worst:e} m");
    assert!(remedied > 0);
    assert!(worst < 1e-13, "{worst:e} m");
}

/// The options that a summary writes are options again, and the same ones.
#[test]
fn effective_options_can_be_used_again() {
    let options = NonsmoothGeneralizedAlphaOptions::default;
    for given in [
        options(),
        NonsmoothGeneralizedAlphaOptions {
            rho_inf: Some(0.35),
            ..options()
        },
        NonsmoothGeneralizedAlphaOptions {
            preset: Some(Preset::Hht),
            alpha: Some(0.2),
            ..options()
        },
        NonsmoothGeneralizedAlphaOptions {
            gamma: Some(0.7),
            ..options()
        },
    ] {
        let effective = given.effective();
        effective.validate().unwrap();
        assert_eq!(effective.effective(), effective);
        assert_eq!(effective.coefficients(), given.coefficients());
    }
    let smooth = GeneralizedAlphaOptions {
        rho_inf: Some(0.9),
        ..GeneralizedAlphaOptions::default()
    };
    smooth.effective().validate().unwrap();
    let contradiction = NonsmoothGeneralizedAlphaOptions {
        rho_inf: Some(0.9),
        beta: Some(0.3),
        ..options()
    };
    assert!(contradiction.validate().is_err());
}

/// What cannot be squared has no energy, and the message says what moves so fast.
#[test]
fn a_motion_too_fast_for_its_energy_is_refused_by_name() {
    let system = ball_over_floor(1.0, -10.0, 0.8);
    let run = |scheme: Scheme, v: f64| {
        let mut integrator = scheme.build().unwrap();
        let mut state = State::new(0.0, vec![0.801], vec![v]);
        let plan = Plan::new(0.0, 2e-3, 1.0);
        let outcome = drive(&system, &mut *integrator, &mut state, plan, None, &mut []);
        outcome.unwrap_err().to_string()
    };
    let refused = "the kinetic energy of `0` is not finite at t = ";
    for info in Scheme::ALL.iter().filter(|s| s.name != "generalized-alpha") {
        let text = run(Scheme::by_name(info.name).unwrap(), 1e200);
        assert!(text.starts_with(refused), "{}: {text}", info.name);
    }
    let options = NonsmoothGeneralizedAlphaOptions {
        initial_acceleration: Some(vec![1e300]),
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let text = run(Scheme::NonsmoothGeneralizedAlpha(options), 0.0);
    assert!(
        text.starts_with("step 1,") && text.contains(refused),
        "{text}"
    );
}

#[test]
fn one_iteration_is_no_iterations() {
    let error = |iterations| StepError::NotConverged {
        iterations,
        residual: 1.0,
        tolerance: 0.5,
        place: "x".to_owned(),
        problem: None,
    };
    let has = |n, words: &str| error(n).to_string().contains(words);
    assert!(has(1, "after 1 iteration with") && has(2, "after 2 iterations with"));
}

/// The printed conditions are no complementarity problem; where guessed sets cycle, larger activation parameters solve the step.
#[test]
fn printed_conditions_that_cycle_are_solved_with_larger_activation_parameters() {
    let options = NonsmoothGeneralizedAlphaOptions {
        inactive: Inactive::Literal,
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let system = SliderCrank::default();
    let (q, v) = SliderCrank::start();
    let (mut state, h) = (State::new(0.0, q, v), 1e-5);
    let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
    scheme.prepare(&system, &state, h).unwrap();
    let mut remedied = 0;
    for k in 1..=2000 {
        let end = f64::from(k) * h;
        let report = scheme.step(&system, &mut state, h, end).unwrap();
        assert!(report.remedies <= 1, "step {k} was taken in parts");
        remedied += report.remedies;
    }
    assert!(remedied > 0);
}
