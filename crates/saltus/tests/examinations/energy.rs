//! Energy: an identity in linear systems, honest books in all; and no deeper penetration than declared.

use crate::subjects::{Examination, everyone, run};
use saltus_integrators::Entry;
use saltus_linear::{Dense, max_abs};
use saltus_system::{ContactSet, Reach, State, Structure, System};

#[test]
fn energy_identity_holds_to_round_off_in_linear_systems() {
    let mut examined = 0;
    everyone(
        Examination::EnergyIdentity,
        |candidate, case, model, h, steps| {
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
                let bound = 1e-13 * size + h * power_of_round_off(&*model.system, &row.state);
                assert!(
                    defect <= bound,
                    "{} on {case}, step {k}: {defect:e} J of {size} J, round-off {bound:e} J",
                    candidate.name
                );
            }
        },
    );
    assert!(examined > 0);
}

#[test]
fn guarantees_are_kept_in_every_step() {
    everyone(
        Examination::Guarantees,
        |candidate, case, model, h, steps| {
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
                        let mut allowed = bound * 100.0 * (1.0 + momentum * momentum);
                        if entry == Entry::Dynamics && value.abs() > allowed {
                            allowed += h * max_abs(&force_round_off(&*model.system, &row.state));
                        }
                        assert!(
                            value.abs() <= allowed,
                            "{} on {case}, step {k}: {entry:?} {value:e}",
                            candidate.name
                        );
                    }
                }
            }
        },
    );
}

#[test]
fn no_step_penetrates_deeper_than_the_scheme_declares() {
    everyone(
        Examination::Penetration,
        |candidate, case, model, h, steps| {
            let mut integrator = candidate.scheme.build().unwrap();
            let mut state = model.initial.clone();
            integrator.prepare(&*model.system, &state, h).unwrap();
            let mut before = Approach::of(&*model.system, &state);
            for k in 0..steps {
                let end = model.initial.t + (k + 1) as f64 * h;
                integrator.step(&*model.system, &mut state, h, end).unwrap();
                let after = Approach::of(&*model.system, &state);
                for (i, id) in after.set.id.iter().enumerate() {
                    let j = before.set.id.binary_search(id).unwrap();
                    let deeper = (-after.set.gap[i]).max(0.0) - (-before.set.gap[j]).max(0.0);
                    let way = h * before.speed(j).abs().max(after.speed(i).abs());
                    // What a curved way leaves between the chord and the arc, before and after an impact, and what the
                    // curvature itself changes on the way.
                    let bends = [
                        before.bias[before.set.first_row[j]],
                        after.bias[after.set.first_row[i]],
                    ];
                    let bend = bends[0].abs().max(bends[1].abs());
                    let change = (bends[1] - bends[0]).abs();
                    let curved = h * h * (0.5 * bend + change / 6.0);
                    let bound = candidate.penetration * (way + curved) + 1e-12;
                    assert!(
                        deeper <= bound,
                        "{} on {case}, step {k}, contact {}: {deeper:e} m, declared {bound:e} m",
                        candidate.name,
                        id.0
                    );
                }
                before = after;
            }
        },
    );
}

/// Round-off of stiff forces in flat systems (nv) \[N\]: `8 ε Σ |K_ij q_j|`, since a force is a difference of numbers as
/// large as `K q`.
fn force_round_off(system: &dyn System, state: &State) -> Vec<f64> {
    assert!(system.is_flat());
    let n = system.dims().nv;
    let mut stiffness = Dense::zeros(n, n);
    system.stiffness(state.point(), &mut stiffness);
    let of_row = |i: usize| {
        let terms = stiffness.row(i).iter().zip(&state.q);
        8.0 * f64::EPSILON * terms.map(|(k, q)| (k * q).abs()).sum::<f64>()
    };
    (0..n).map(of_row).collect()
}

/// The power of this force \[W\].
fn power_of_round_off(system: &dyn System, state: &State) -> f64 {
    let force = force_round_off(system, state);
    force.iter().zip(&state.v).map(|(f, v)| f * v.abs()).sum()
}

/// Every contact a system can have, also those that a scheme does not look at because they are far.
struct Approach {
    set: ContactSet,
    v: Vec<f64>,
    /// How the way of each row of `set` bends [m/s²].
    bias: Vec<f64>,
}

impl Approach {
    fn of(system: &dyn System, state: &State) -> Self {
        let mut set = ContactSet::default();
        system.detect(state.t, &state.q, Reach::All, &mut set);
        system.evaluate_contacts(state.t, &state.q, &mut set);
        let mut bias = vec![0.0; set.rate.len()];
        system.contact_bias(state.point(), &set, &mut bias);
        Self {
            set,
            v: state.v.clone(),
            bias,
        }
    }

    fn speed(&self, i: usize) -> f64 {
        self.set.normal_velocity(i, &self.v)
    }
}
