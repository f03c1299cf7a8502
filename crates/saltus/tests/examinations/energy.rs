//! Energy: an identity in linear systems, honest books in all; and no deeper penetration than declared.

use crate::subjects::{Examination, Row, are_chosen, everyone, run};
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
    assert!(examined > 0 || are_chosen());
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
            // Two steps are one of Schatzman–Paoli.
            let span = if candidate.scheme.name() == "schatzman-paoli" {
                2.0 * h
            } else {
                h
            };
            let mut scale = Scale::default();
            for (k, row) in rows.iter().enumerate() {
                scale.update(&*model.system, row, span);
                if k == 0 {
                    continue;
                }
                for (entry, value) in row.report.certificate.iter() {
                    if let Some(bound) = guarantees.bound(entry) {
                        let mut allowed = bound * scale.of(entry, span);
                        if entry == Entry::Dynamics && value.abs() > allowed {
                            allowed += h * max_abs(&force_round_off(&*model.system, &row.state));
                        }
                        assert!(
                            value.abs() <= allowed,
                            "{} on {case}, step {k}: {entry:?} {value:e}, allowed {allowed:e}",
                            candidate.name
                        );
                    }
                }
            }
        },
    );
}

/// Scale of a motion so far, which the bounds of guarantees are relative to.
#[derive(Default)]
struct Scale {
    /// `max (|M v| + h |f|)ᵢ/√Mᵢᵢ` [√J].
    momentum: f64,
    /// `max √Mᵢᵢ` [√kg].
    mass: f64,
    /// `max Σᵢ |Gⱼᵢ|/√Mᵢᵢ` over the rows of constraints and contacts: the speed that a unit of momentum makes along one.
    reach: f64,
    /// Largest coordinate.
    place: f64,
    /// Largest energies whose difference is taken [J].
    energy: f64,
}

impl Scale {
    fn update(&mut self, system: &dyn System, row: &Row, h: f64) {
        let (state, energy) = (&row.state, row.report.energy);
        let dims = system.dims();
        let mut mass = Dense::zeros(dims.nv, dims.nv);
        system.mass(&state.q, &mut mass);
        let root: Vec<f64> = (0..dims.nv).map(|i| mass.row(i)[i].sqrt()).collect();
        let mut force = vec![0.0; dims.nv];
        system.force(state.point(), &mut force);
        for i in 0..dims.nv {
            let terms = mass.row(i).iter().zip(&state.v);
            let p: f64 = terms.map(|(m, v)| m * v).sum();
            self.momentum = self.momentum.max((p.abs() + h * force[i].abs()) / root[i]);
            self.mass = self.mass.max(root[i]);
        }
        let mut jacobian = Dense::zeros(dims.ng, dims.nv);
        system.g_jacobian(state.t, &state.q, &mut jacobian);
        let set = Approach::of(system, state).set;
        let bilateral = (0..dims.ng).map(|j| {
            let terms = jacobian.row(j).iter().zip(&root);
            terms.map(|(g, m)| g.abs() / m).sum::<f64>()
        });
        let contacts = (0..set.directions.len()).map(|j| {
            let terms = set.directions.cols(j).iter().zip(set.directions.values(j));
            terms.map(|(i, w)| w.abs() / root[*i]).sum::<f64>()
        });
        self.reach = bilateral.chain(contacts).fold(self.reach, f64::max);
        self.place = self.place.max(max_abs(&state.q));
        self.energy = self
            .energy
            .max(energy.kinetic.abs() + energy.potential.abs());
    }

    /// What the bound of an entry is relative to, in the unit of the entry.
    fn of(&self, entry: Entry, h: f64) -> f64 {
        let speed = self.momentum * self.reach;
        match entry {
            Entry::Dynamics | Entry::Cone => self.momentum * self.mass,
            Entry::BilateralPosition | Entry::Penetration | Entry::ComplementarityPosition => {
                self.place + h * speed
            }
            Entry::BilateralAcceleration => speed / h,
            Entry::EnergyBalance => self.energy + self.momentum * self.momentum,
            Entry::FrictionWork => self.momentum * self.momentum,
            Entry::QuaternionNorm => 1.0,
            _ => speed,
        }
    }
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

/// Round-off of stiff forces (nv) \[N\]: `8 ε Σ |K_ij q_j|`, since a force is a difference of numbers as large as `K q`; where
/// coordinates are not flat, any of them may be as large as the largest.
fn force_round_off(system: &dyn System, state: &State) -> Vec<f64> {
    let n = system.dims().nv;
    let q = if system.is_flat() {
        state.q.clone()
    } else {
        vec![max_abs(&state.q); n]
    };
    let mut stiffness = Dense::zeros(n, n);
    system.stiffness(state.point(), &mut stiffness);
    let of_row = |i: usize| {
        let terms = stiffness.row(i).iter().zip(&q);
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
