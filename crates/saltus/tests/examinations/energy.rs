//! Energy: an identity in linear systems, honest books in all; and no deeper penetration than declared.

use crate::subjects::{everyone, run};
use saltus_integrators::Entry;
use saltus_system::Structure;

#[test]
fn energy_identity_holds_to_round_off_in_linear_systems() {
    let mut examined = 0;
    everyone(|candidate, case, model, h, steps| {
        if model.system.structure() != Structure::LINEAR {
            return;
        }
        let mut integrator = candidate.scheme.build().unwrap();
        integrator
            .prepare(&*model.system, &model.initial, h)
            .unwrap();
        if integrator
            .guarantees()
            .bound(Entry::EnergyBalance)
            .is_none()
        {
            return;
        }
        examined += 1;
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, steps);
        // Round-off is that of the energies whose difference is taken.
        let size = rows
            .iter()
            .map(|r| r.report.energy.kinetic.abs() + r.report.energy.potential.abs())
            .fold(0.0, f64::max);
        for (k, row) in rows.iter().enumerate().skip(1) {
            let defect = row.report.certificate.get(Entry::EnergyBalance).abs();
            assert!(
                defect <= 1e-13 * size,
                "{} on {case}, step {k}: {defect:e} J of {size} J",
                candidate.name
            );
        }
    });
    assert!(examined > 0);
}

#[test]
fn guarantees_are_kept_in_every_step() {
    everyone(|candidate, case, model, h, steps| {
        let mut integrator = candidate.scheme.build().unwrap();
        integrator
            .prepare(&*model.system, &model.initial, h)
            .unwrap();
        let guarantees = integrator.guarantees();
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, steps);
        let momentum = rows
            .iter()
            .map(|r| r.report.energy.kinetic)
            .fold(0.0, f64::max)
            .sqrt();
        for (k, row) in rows.iter().enumerate().skip(1) {
            for (entry, value) in row.report.certificate.iter() {
                if let Some(bound) = guarantees.bound(entry) {
                    // The bound is relative to the momentum of the motion; units of the cases are of order one.
                    let allowed = bound * 100.0 * (1.0 + momentum * momentum);
                    assert!(
                        value.abs() <= allowed,
                        "{} on {case}, step {k}: {entry:?} {value:e}",
                        candidate.name
                    );
                }
            }
        }
    });
}

#[test]
fn no_step_penetrates_deeper_than_the_scheme_declares() {
    everyone(|candidate, case, model, h, steps| {
        // While a contact stays at rest, `h² (β − γ/2)` times the change of its acceleration moves it, which the
        // speeds do not tell: nothing at β = ¼, γ = ½; `α²/4` with the coefficients of HHT.
        if ["elastic-bar", "flexible-pendulum"].contains(&case)
            && candidate.scheme.name() == "nonsmooth-hht"
        {
            return;
        }
        let mut integrator = candidate.scheme.build().unwrap();
        let mut state = model.initial.clone();
        integrator.prepare(&*model.system, &state, h).unwrap();
        let contacts = |i: &dyn saltus_integrators::Integrator| {
            (
                i.reactions().contacts.gap.clone(),
                i.reactions().gap_velocity.to_vec(),
            )
        };
        let (mut gap, mut speed) = contacts(&*integrator);
        for k in 0..steps {
            // What a curved way leaves between the chord and the arc.
            let mut bias = vec![0.0; gap.len()];
            let contacts_here = integrator.reactions().contacts;
            model
                .system
                .contact_bias(state.point(), contacts_here, &mut bias);
            let end = model.initial.t + (k + 1) as f64 * h;
            integrator.step(&*model.system, &mut state, h, end).unwrap();
            let (next_gap, next_speed) = contacts(&*integrator);
            for i in 0..gap.len() {
                let deeper = (-next_gap[i]).max(0.0) - (-gap[i]).max(0.0);
                let way = h * (speed[i].abs() + next_speed[i].abs());
                let bound = candidate.penetration * (way + h * h * bias[i].abs()) + 1e-12;
                assert!(
                    deeper <= bound,
                    "{} on {case}, step {k}, contact {i}: {deeper:e} m, declared {bound:e} m",
                    candidate.name
                );
            }
            (gap, speed) = (next_gap, next_speed);
        }
    });
}
