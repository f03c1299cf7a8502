//! After warm-up no step allocates.

use crate::counting::CALLS;
use crate::subjects::{Examination, everyone, root};
use saltus_integrators::{
    Integrator, MoreauJean, MoreauJeanOptions, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions,
};
use saltus_model::{Model, Override};
use saltus_system::State;
use saltus_zoo::ElasticBar;

#[test]
fn no_step_allocates_after_warm_up() {
    everyone(
        Examination::Allocation,
        |candidate, case, model, h, steps| {
            let mut integrator = candidate.scheme.build().unwrap();
            let start = &model.initial;
            let mut state = start.clone();
            integrator.prepare(&*model.system, &state, h).unwrap();
            let mut calls = 0;
            // The second round begins with what the first one left; the third takes the same way, with every buffer at its largest size.
            for _ in 0..3 {
                state.t = start.t;
                state.q.copy_from_slice(&start.q);
                state.v.copy_from_slice(&start.v);
                let before = CALLS.get();
                for k in 0..steps.min(1000) {
                    let end = start.t + (k + 1) as f64 * h;
                    integrator.step(&*model.system, &mut state, h, end).unwrap();
                }
                calls = CALLS.get() - before;
            }
            assert_eq!(calls, 0, "{} on {case}", candidate.name);
        },
    );
}

#[test]
fn no_step_of_a_large_bar_allocates() {
    let n = 3000;
    let bar = ElasticBar::of_elements(n);
    let h = 1.2 * (10.0 / n as f64) / 30.0;
    let moreau = MoreauJean::new(MoreauJeanOptions::default()).unwrap();
    let options = NonsmoothGeneralizedAlphaOptions::default();
    let alpha = NonsmoothGeneralizedAlpha::new(options).unwrap();
    let methods: [Box<dyn Integrator>; 2] = [Box::new(moreau), Box::new(alpha)];
    for mut method in methods {
        let mut state = State::new(0.0, vec![40.0 * h; n + 1], vec![-10.0; n + 1]);
        method.prepare(&bar, &state, h).unwrap();
        let mut before = 0;
        for k in 0..60 {
            if k == 20 {
                before = CALLS.get();
            }
            let end = f64::from(k + 1) * h;
            method.step(&bar, &mut state, h, end).unwrap();
        }
        assert_eq!(CALLS.get() - before, 0, "{}", method.name());
        assert!(method.reactions().impulse[0] > 0.0);
    }
}

/// From 200 rows on a dense matrix is factored in blocks, and a problem of so many contacts is another than that of a few.
#[test]
fn no_step_with_many_contacts_allocates() {
    let path = root().join("cases/elastic-block/model.toml");
    let moreau = MoreauJean::new(MoreauJeanOptions::default()).unwrap();
    let pva = NonsmoothGeneralizedAlphaOptions {
        formulation: NonsmoothFormulation::Pva,
        rho_inf: Some(0.8),
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let alpha = NonsmoothGeneralizedAlpha::new(pva).unwrap();
    let mut methods: [Box<dyn Integrator>; 2] = [Box::new(moreau), Box::new(alpha)];
    for law in ["linear", "neo-hookean"] {
        let law = format!("solid.block.law={law}");
        let values = [
            "parameters.nx=249",
            "parameters.ny=1",
            "parameters.B=10",
            "parameters.H=0.04",
            "parameters.drop=1e-3",
            &law,
        ];
        let model = Model::load(&path, &values.map(Override::set)).unwrap();
        let h = 2e-4;
        for method in &mut methods {
            let mut state = model.initial.clone();
            let (mut calls, mut closed) = (0, 0);
            method.prepare(&*model.system, &state, h).unwrap();
            // The second round begins with what the first one left; the third takes the same way, with every buffer at its largest size.
            for _ in 0..3 {
                state.clone_from(&model.initial);
                let before = CALLS.get();
                for k in 0..100 {
                    let end = f64::from(k + 1) * h;
                    let report = method.step(&*model.system, &mut state, h, end).unwrap();
                    closed = closed.max(report.active);
                }
                calls = CALLS.get() - before;
            }
            assert_eq!(closed, 250, "{} {law}", method.name());
            assert_eq!(calls, 0, "{} {law}", method.name());
        }
    }
}
