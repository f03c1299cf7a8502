//! The quantities of the contract, one by one.

use super::{Examiner, Variable};
use crate::Reach;
use crate::constraints::{ConstraintKind, friction_rows};
use crate::contacts::ContactSet;
use crate::dynamics::{DynamicsParts, Tangents};
use crate::state::{Point, State};
use saltus_linear::{Dense, dot};

impl Examiner<'_> {
    /// Everything the contract asks for.
    pub(super) fn examine_all(&mut self) {
        self.kinematics();
        self.dynamics();
        self.one_call();
        self.power();
        self.constraints();
        self.joint_friction();
        self.contacts();
        self.promises();
    }

    /// Values below this are round-off in differences of rates.
    fn floor(&self) -> f64 {
        1e-3 * (1.0 + saltus_linear::max_abs(&self.at.v))
    }

    /// Reproducible multipliers or velocities of size one (n).
    fn weights(n: usize) -> Vec<f64> {
        (0..n)
            .map(|i| 1.0 - 0.37 * (i % 5) as f64 + 0.01 * i as f64)
            .collect()
    }

    fn kinematics(&mut self) {
        let system = self.system;
        let mut qdot = vec![0.0; system.dims().nq];
        system.qdot(&self.at.q, &self.at.v, &mut qdot);
        let candidates =
            self.along_motion(false, true, qdot.len(), &|p: Point<'_>, out: &mut [f64]| {
                out.copy_from_slice(p.q)
            });
        self.compare_vector(
            "qdot",
            "q̇ = Y(q) v, the rate of retract",
            &qdot,
            &candidates,
            self.floor(),
        );
        if !system.is_flat() {
            self.retraction();
        }
    }

    /// `T(ξ)`: `q ⊕ (ξ + δ)` against `(q ⊕ ξ) ⊕ T δ`, both to first order.
    fn retraction(&mut self) {
        let system = self.system;
        let dims = system.dims();
        let xi: Vec<f64> = self
            .at
            .v
            .iter()
            .map(|v| 0.3 * v / (1.0 + v.abs()))
            .collect();
        let mut tangent = Dense::zeros(dims.nv, dims.nv);
        system.retract_tangent(&self.at.q, &xi, &mut tangent);
        let mut end = self.at.q.clone();
        system.retract(&mut end, &xi);
        let direction = Self::weights(dims.nv);
        let mut turned = vec![0.0; dims.nv];
        tangent.apply(&direction, &mut turned);
        let mut expected = vec![0.0; dims.nq];
        system.qdot(&end, &turned, &mut expected);
        let candidates: Vec<Vec<f64>> = [1e-3, 1e-4, 1e-5]
            .iter()
            .map(|h| {
                let mut sum = vec![0.0; dims.nq];
                for (steps, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
                    let mut q = self.at.q.clone();
                    let moved: Vec<f64> = xi
                        .iter()
                        .zip(&direction)
                        .map(|(x, d)| x + steps * h * d)
                        .collect();
                    system.retract(&mut q, &moved);
                    saltus_linear::axpy(weight / (12.0 * h), &q, &mut sum);
                }
                sum
            })
            .collect();
        self.compare_vector(
            "retract_tangent",
            "T(ξ), tangent of q ⊕ ξ",
            &expected,
            &candidates,
            self.floor(),
        );
    }

    fn dynamics(&mut self) {
        let system = self.system;
        let nv = system.dims().nv;
        let at = self.at.clone();
        let mut mass = Dense::zeros(nv, nv);
        system.mass(&at.q, &mut mass);
        let transposed: Vec<f64> = (0..nv * nv).map(|k| mass[(k % nv, k / nv)]).collect();
        self.compare_vector(
            "mass",
            "M = Mᵀ",
            mass.as_slice(),
            &[transposed],
            self.floor(),
        );

        let mut k = Dense::zeros(nv, nv);
        system.stiffness(at.point(), &mut k);
        self.compare(
            "stiffness",
            "K = −D(f)",
            Variable::Position,
            &k,
            &|p, out| negative_force(system, p, out),
        );
        let mut c = Dense::zeros(nv, nv);
        system.damping(at.point(), &mut c);
        self.compare(
            "damping",
            "C = −∂f/∂v",
            Variable::Velocity,
            &c,
            &|p, out| negative_force(system, p, out),
        );

        let x = Self::weights(nv);
        let mut gradient = Dense::zeros(nv, nv);
        system.mass_gradient(&at.q, &x, &mut gradient);
        self.compare(
            "mass_gradient",
            "D(M x)",
            Variable::Position,
            &gradient,
            &|p, out| {
                let mut m = Dense::zeros(nv, nv);
                system.mass(p.q, &mut m);
                m.apply(&x, out);
            },
        );
    }

    /// `evaluate` and `kinetic_energy` against the single methods.
    fn one_call(&mut self) {
        let system = self.system;
        let nv = system.dims().nv;
        let at = self.at.clone();
        let x = Self::weights(nv);
        let zeros = || Dense::zeros(nv, nv);
        let (mut mass, mut gradient, mut k, mut c) = (zeros(), zeros(), zeros(), zeros());
        let mut force = vec![0.0; nv];
        let tangents = Tangents {
            x: &x,
            mass_gradient: &mut gradient,
            stiffness: &mut k,
            damping: &mut c,
        };
        let parts = DynamicsParts {
            mass: &mut mass,
            force: &mut force,
            tangents: Some(tangents),
        };
        system.evaluate(at.point(), parts);
        let mut single = force.clone();
        system.force(at.point(), &mut single);
        self.compare_vector(
            "evaluate",
            "force equals that of `force`",
            &force,
            &[single],
            self.floor(),
        );
        for (name, together, ask) in [
            ("evaluate: mass", &mass, 0),
            ("evaluate: mass_gradient", &gradient, 1),
            ("evaluate: stiffness", &k, 2),
            ("evaluate: damping", &c, 3),
        ] {
            let mut alone = zeros();
            match ask {
                0 => system.mass(&at.q, &mut alone),
                1 => system.mass_gradient(&at.q, &x, &mut alone),
                2 => system.stiffness(at.point(), &mut alone),
                _ => system.damping(at.point(), &mut alone),
            }
            self.compare_vector(
                name,
                "equals the single method",
                together.as_slice(),
                &[alone.as_slice().to_vec()],
                self.floor(),
            );
        }
        let kinetic = system.kinetic_energy(&at.q, &at.v);
        self.compare_vector(
            "kinetic_energy",
            "½ vᵀ M v",
            &[kinetic],
            &[vec![0.5 * mass.form(&at.v, &at.v)]],
            self.floor(),
        );
    }

    /// `vᵀ active = vᵀ f + ½ vᵀ Ṁ v + vᵀ ∂V/∂q`, and the rate of the potential at fixed positions.
    fn power(&mut self) {
        let system = self.system;
        let nv = system.dims().nv;
        let at = self.at.clone();
        let (mut active, mut force) = (vec![0.0; nv], vec![0.0; nv]);
        system.active_force(at.point(), &mut active);
        system.force(at.point(), &mut force);
        let v = at.v.clone();
        let rates = self.along_motion(false, true, 1, &|p, out| {
            out[0] = system.kinetic_energy(p.q, &v) + system.potential_energy(at.t, p.q);
        });
        let power: f64 = v.iter().zip(&force).map(|(v, f)| (v * f).abs()).sum();
        let candidates: Vec<Vec<f64>> =
            rates.iter().map(|r| vec![dot(&v, &force) + r[0]]).collect();
        self.compare_vector(
            "active_force",
            "vᵀ active = d/dt (T + V)",
            &[dot(&v, &active)],
            &candidates,
            power,
        );
        let changes = self.along_motion(true, false, 1, &|p, out| {
            out[0] = system.potential_energy(p.t, &at.q);
        });
        let rate = system.potential_rate(at.t, &at.q).unwrap_or(0.0);
        let size = system.potential_energy(at.t, &at.q).abs();
        self.compare_vector("potential_rate", "∂V/∂t", &[rate], &changes, size);
    }

    /// What is promised to be the same everywhere, against another time, position and velocity; recorded where it is not.
    fn promises(&mut self) {
        let system = self.system;
        let here = self.at.clone();
        let mut there = here.clone();
        there.t += 1.0;
        let xi = Self::weights(here.v.len());
        system.retract(&mut there.q, &xi);
        there.v.iter_mut().zip(&xi).for_each(|(v, x)| *v += x);
        let mut differs = |promise, meaning, of: &dyn Fn(&State) -> Vec<f64>| {
            let (given, expected) = (of(&here), of(&there));
            let size = saltus_linear::max_abs(&given);
            let differ = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * size;
            if given.iter().zip(&expected).any(differ) {
                self.compare_vector(promise, meaning, &given, &[expected], 0.0);
            }
        };
        if system.force_is_constant() {
            differs("force_is_constant", "f is the same everywhere", &|at| {
                let mut force = vec![0.0; at.v.len()];
                system.force(at.point(), &mut force);
                force
            });
        }
        let mut set = ContactSet::default();
        system.detect(here.t, &here.q, Reach::All, &mut set);
        if system.gaps_are_affine() && !set.is_empty() {
            differs("gaps_are_affine", "gap = c + wᵀ q + ρ t", &|at| {
                let mut set = set.clone();
                system.evaluate_contacts(at.t, &at.q, &mut set);
                let mut rows = set.rate.clone();
                for i in 0..set.rate.len() {
                    rows.extend_from_slice(set.directions.values(i));
                }
                // What the rows do not account for is constant.
                rows.extend((0..set.len()).map(|i| {
                    let row = set.first_row[i];
                    set.gap[i] - set.directions.dot(row, &at.q) - set.rate[row] * at.t
                }));
                rows
            });
        }
    }

    fn constraints(&mut self) {
        let system = self.system;
        let (ng, nv) = (system.dims().ng, system.dims().nv);
        if ng == 0 {
            return;
        }
        let at = self.at.clone();
        let (t, q) = (at.t, at.q.clone());
        let jacobian = |p: Point<'_>| {
            let mut g = Dense::zeros(ng, nv);
            system.g_jacobian(p.t, p.q, &mut g);
            g
        };
        let velocity = |p: Point<'_>, out: &mut [f64]| {
            system.g_rate(p.t, p.q, out);
            jacobian(p).apply_add(1.0, p.v, out);
        };
        // A constraint on velocities alone has no `g` to differentiate: it is reported as 0.
        let on_position = |i: usize| system.constraint_kind(i) == ConstraintKind::Position;
        let mut of_g = jacobian(at.point());
        let mut given = vec![0.0; ng];
        system.g_rate(t, &q, &mut given);
        for i in (0..ng).filter(|&i| !on_position(i)) {
            of_g.row_mut(i).fill(0.0);
            given[i] = 0.0;
        }
        self.compare(
            "g_jacobian",
            "G = D(g)",
            Variable::Position,
            &of_g,
            &|p, out| {
                system.g(p.t, p.q, out);
            },
        );
        let rates = self.along_motion(true, false, ng, &|p, out| system.g(p.t, p.q, out));
        self.compare_vector("g_rate", "∂g/∂t", &given, &rates, self.floor());
        system.g_bias(at.point(), &mut given);
        let biases = self.along_motion(true, true, ng, &velocity);
        self.compare_vector(
            "g_bias",
            "ζ = d/dt (G v + ∂g/∂t) at v̇ = 0",
            &given,
            &biases,
            self.floor(),
        );

        let lambda = Self::weights(ng);
        let mut curvature = Dense::zeros(nv, nv);
        system.g_curvature(t, &q, &lambda, &mut curvature);
        self.compare(
            "g_curvature",
            "D(Gᵀ λ)",
            Variable::Position,
            &curvature,
            &|p, out| {
                jacobian(p).apply_transposed_add(1.0, &lambda, out);
            },
        );
        let x = Self::weights(nv);
        let mut gradient = Dense::zeros(ng, nv);
        system.g_jacobian_gradient(t, &q, &x, &mut gradient);
        self.compare(
            "g_jacobian_gradient",
            "D(G x)",
            Variable::Position,
            &gradient,
            &|p, out| jacobian(p).apply(&x, out),
        );
        gradient.clear();
        system.g_rate_gradient(t, &q, &mut gradient);
        self.compare(
            "g_rate_gradient",
            "D(∂g/∂t)",
            Variable::Position,
            &gradient,
            &|p, out| system.g_rate(p.t, p.q, out),
        );
        gradient.clear();
        system.g_bias_gradient(at.point(), &mut gradient);
        self.compare(
            "g_bias_gradient",
            "D(ζ)",
            Variable::Position,
            &gradient,
            &|p, out| system.g_bias(p, out),
        );
        gradient.clear();
        system.g_bias_damping(at.point(), &mut gradient);
        self.compare(
            "g_bias_damping",
            "∂ζ/∂v",
            Variable::Velocity,
            &gradient,
            &|p, out| system.g_bias(p, out),
        );
    }

    /// Slip rows of the friction in joints.
    fn joint_friction(&mut self) {
        let system = self.system;
        let rows = friction_rows(system.joint_friction());
        let nv = system.dims().nv;
        if rows == 0 {
            return;
        }
        let at = self.at.clone();
        let (t, q) = (at.t, at.q.clone());
        let jacobian = |p: Point<'_>| {
            let mut slip = Dense::zeros(rows, nv);
            system.friction_jacobian(p.t, p.q, &mut slip);
            slip
        };
        let r = Self::weights(rows);
        let mut curvature = Dense::zeros(nv, nv);
        system.friction_curvature(t, &q, &r, &mut curvature);
        self.compare(
            "friction_curvature",
            "D(Tᵀ r)",
            Variable::Position,
            &curvature,
            &|p, out| {
                jacobian(p).apply_transposed_add(1.0, &r, out);
            },
        );
        let x = Self::weights(nv);
        let mut gradient = Dense::zeros(rows, nv);
        system.friction_jacobian_gradient(t, &q, &x, &mut gradient);
        self.compare(
            "friction_jacobian_gradient",
            "D(T x + rate)",
            Variable::Position,
            &gradient,
            &|p, out| {
                system.friction_rate(p.t, p.q, out);
                jacobian(p).apply_add(1.0, &x, out);
            },
        );
    }

    fn contacts(&mut self) {
        let system = self.system;
        let nv = system.dims().nv;
        let at = self.at.clone();
        let (t, q) = (at.t, at.q.clone());
        let mut set = ContactSet::default();
        system.detect(t, &q, Reach::All, &mut set);
        if set.is_empty() {
            return;
        }
        let rows = set.rate.len();
        let evaluated = |p: Point<'_>| {
            let mut set = set.clone();
            system.evaluate_contacts(p.t, p.q, &mut set);
            set
        };
        let directions = |p: Point<'_>| {
            let set = evaluated(p);
            let mut w = Dense::zeros(rows, nv);
            for i in 0..rows {
                set.directions.send(i, i, 1.0, &mut w);
            }
            w
        };
        let normals = |set: &ContactSet| set.first_row.clone();
        let w = directions(at.point());
        let mut normal = Dense::zeros(set.len(), nv);
        let mut rate = vec![0.0; set.len()];
        let here = evaluated(at.point());
        for (i, row) in normals(&here).into_iter().enumerate() {
            normal.row_mut(i).copy_from_slice(w.row(row));
            rate[i] = here.rate[row];
        }
        self.compare(
            "directions",
            "W_N = D(gap)",
            Variable::Position,
            &normal,
            &|p, out| {
                out.copy_from_slice(&evaluated(p).gap);
            },
        );
        let rates = self.along_motion(true, false, set.len(), &|p, out| {
            out.copy_from_slice(&evaluated(p).gap)
        });
        self.compare_vector("rate", "∂gap/∂t", &rate, &rates, self.floor());

        let velocity = |p: Point<'_>, out: &mut [f64]| {
            out.copy_from_slice(&evaluated(p).rate);
            directions(p).apply_add(1.0, p.v, out);
        };
        let mut given = vec![0.0; rows];
        system.contact_bias(at.point(), &here, &mut given);
        let biases = self.along_motion(true, true, rows, &velocity);
        self.compare_vector(
            "contact_bias",
            "ζ = d/dt (Wᵀ v + rate) at v̇ = 0",
            &given,
            &biases,
            self.floor(),
        );

        let r = Self::weights(rows);
        let mut curvature = Dense::zeros(nv, nv);
        system.contact_curvature(t, &q, &here, &r, &mut curvature);
        self.compare(
            "contact_curvature",
            "D(W r)",
            Variable::Position,
            &curvature,
            &|p, out| {
                directions(p).apply_transposed_add(1.0, &r, out);
            },
        );
        let x = Self::weights(nv);
        let mut gradient = Dense::zeros(rows, nv);
        system.contact_direction_gradient(t, &q, &here, &x, &mut gradient);
        self.compare(
            "contact_direction_gradient",
            "D(Wᵀ x)",
            Variable::Position,
            &gradient,
            &|p, out| {
                directions(p).apply(&x, out);
            },
        );
        gradient.clear();
        system.contact_rate_gradient(t, &q, &here, &mut gradient);
        self.compare(
            "contact_rate_gradient",
            "D(rate)",
            Variable::Position,
            &gradient,
            &|p, out| {
                out.copy_from_slice(&evaluated(p).rate);
            },
        );
        let bias = |p: Point<'_>, out: &mut [f64]| system.contact_bias(p, &evaluated(p), out);
        gradient.clear();
        system.contact_bias_gradient(at.point(), &here, &mut gradient);
        self.compare(
            "contact_bias_gradient",
            "D(ζ)",
            Variable::Position,
            &gradient,
            &bias,
        );
        gradient.clear();
        system.contact_bias_damping(at.point(), &here, &mut gradient);
        self.compare(
            "contact_bias_damping",
            "∂ζ/∂v",
            Variable::Velocity,
            &gradient,
            &bias,
        );
    }
}

fn negative_force(system: &dyn crate::System, p: Point<'_>, out: &mut [f64]) {
    system.force(p, out);
    for f in out {
        *f = -*f;
    }
}
