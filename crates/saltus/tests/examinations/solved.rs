//! No step goes unsolved, whatever its length.

use crate::subjects::{CASES, Examination, constrains_velocities, everyone, frictionless, run};
use saltus_integrators::{Inactive, NonsmoothGeneralizedAlphaOptions, Scheme, StepError};
use std::collections::BTreeMap;

#[test]
fn every_step_is_solved_at_three_step_lengths() {
    let mut remedies: BTreeMap<String, u32> = BTreeMap::new();
    everyone(Examination::Solved, |candidate, case, model, h, steps| {
        for (factor, steps) in [(2.0, steps / 2), (1.0, steps), (0.5, 2 * steps)] {
            let rows = run(
                &*model.system,
                &candidate.scheme,
                &model.initial,
                factor * h,
                steps,
            );
            let count: u32 = rows.iter().map(|r| r.report.remedies).sum();
            *remedies.entry(candidate.name.clone()).or_default() += count;
            if count > 0 {
                println!(
                    "{} on {case}, h = {:e}: {count} remedies",
                    candidate.name,
                    factor * h
                );
            }
        }
    });
    for (name, count) in remedies {
        println!("{name}: {count} remedies in all");
    }
}

/// The printed form of `pva` has steps without a solution: they are errors, counted and told here.
#[test]
fn unsolved_steps_of_the_literal_form_are_counted() {
    let options = NonsmoothGeneralizedAlphaOptions {
        inactive: Inactive::Literal,
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let scheme = Scheme::NonsmoothGeneralizedAlpha(options);
    let (mut runs, mut failed) = (0, 0);
    let coarse = [("slider-crank", 5e-3, 200)];
    for (case, h, steps) in CASES.iter().chain(&coarse) {
        let model = frictionless(case);
        if constrains_velocities(&model) {
            continue;
        }
        for (factor, steps) in [(2.0, steps / 2), (1.0, *steps), (0.5, 2 * steps)] {
            let h = factor * h;
            let mut integrator = scheme.build().unwrap();
            let mut state = model.initial.clone();
            integrator.prepare(&*model.system, &state, h).unwrap();
            let start = state.t;
            let error = (0..steps).find_map(|k| {
                let end = start + (k + 1) as f64 * h;
                integrator
                    .step(&*model.system, &mut state, h, end)
                    .err()
                    .map(|error| (k + 1, error))
            });
            runs += 1;
            if let Some((step, error)) = error {
                failed += 1;
                println!("literal on {case}, h = {h:e}, step {step}: {error}");
                assert!(matches!(error, StepError::NotConverged { .. }), "{error}");
            }
        }
    }
    println!("literal: {failed} of {runs} runs end at a step that is not solved");
    assert!(failed > 0, "the slider-crank in coarse steps has one");
}
