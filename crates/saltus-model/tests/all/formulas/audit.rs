//! Every derivative of the contract against finite differences, on models that use all of it.

use super::models::{
    Dense, Model, assert_close, double_pendulum, everything, rheonomic_energies, slider_crank,
    slider_crank_by_energies,
};
use saltus_model::FormulaSystem;
use saltus_system::{
    Constraints, ContactId, ContactSet, Contacts, Dynamics, DynamicsParts, Kinematics, MatrixSink,
    Point, Reach, Tangents,
};

fn models() -> [(&'static str, Model); 5] {
    [
        ("everything", everything()),
        ("rheonomic energies", rheonomic_energies()),
        ("slider-crank", slider_crank()),
        ("slider-crank by energies", slider_crank_by_energies()),
        ("double pendulum", double_pendulum()),
    ]
}

/// Runs an examination of every model at several points.
fn examine(examination: impl Fn(&str, &FormulaSystem, f64, &[f64], &[f64])) {
    for (name, model) in models() {
        let system = model
            .0
            .assemble()
            .unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let n = system.dims().nv;
        for k in 0..4 {
            let k = f64::from(k);
            let q: Vec<f64> = (0..n)
                .map(|i| 0.9 * (1.3 * i as f64 + 2.1 * k + 0.5).sin())
                .collect();
            let v: Vec<f64> = (0..n)
                .map(|i| 1.7 * (0.7 * i as f64 - 1.1 * k + 0.2).cos())
                .collect();
            examination(name, &system, 0.3 + 0.6 * k, &q, &v);
        }
    }
}

fn vector(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|i| (2.3 * i as f64 + seed).sin() + 0.1)
        .collect()
}

/// Derivative of `f` at `x` by central differences of fourth order, as a matrix.
fn difference(rows: usize, x: &[f64], f: impl Fn(&[f64]) -> Vec<f64>) -> Dense {
    let h = 1e-3;
    Dense::of(rows, x.len(), |matrix| {
        for j in 0..x.len() {
            let shifted = |step: f64| {
                let mut x = x.to_vec();
                x[j] += step;
                f(&x)
            };
            let (a, b, c, d) = (shifted(-2.0 * h), shifted(-h), shifted(h), shifted(2.0 * h));
            for i in 0..rows {
                matrix.entry(i, j, (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * h));
            }
        }
    })
}

/// Fourth-order differences with `h = 1e-3` of functions of size 1 to 100.
const TOLERANCE: f64 = 2e-9;

fn same(found: &Dense, expected: &Dense, what: &str) {
    assert_close(&found.data, &expected.data, TOLERANCE, what);
}

fn filled(n: usize, fill: impl FnOnce(&mut [f64])) -> Vec<f64> {
    let mut values = vec![f64::NAN; n];
    fill(&mut values);
    values
}

#[test]
fn derivatives_of_the_dynamics() {
    examine(|name, system, t, q, v| {
        let n = q.len();
        let force = |q: &[f64], v: &[f64]| filled(n, |f| system.force(Point { t, q, v }, f));
        let point = Point { t, q, v };
        let minus = |f: Vec<f64>| f.iter().map(|x| -x).collect();
        let stiffness = Dense::of(n, n, |m| system.stiffness(point, m));
        same(
            &stiffness,
            &difference(n, q, |q| minus(force(q, v))),
            &format!("{name}: stiffness"),
        );
        let damping = Dense::of(n, n, |m| system.damping(point, m));
        same(
            &damping,
            &difference(n, v, |v| minus(force(q, v))),
            &format!("{name}: damping"),
        );
        let x = vector(n, 0.4);
        let momentum = |q: &[f64]| Dense::of(n, n, |m| system.mass(q, m)).times(&x);
        let gradient = Dense::of(n, n, |m| system.mass_gradient(q, &x, m));
        same(
            &gradient,
            &difference(n, q, momentum),
            &format!("{name}: mass gradient"),
        );
    });
}

#[test]
fn all_at_once_is_the_same_as_one_by_one() {
    examine(|name, system, t, q, v| {
        let n = q.len();
        let point = Point { t, q, v };
        let x = vector(n, 1.4);
        let [mut mass, mut gradient, mut stiffness, mut damping] =
            [(); 4].map(|()| Dense::zeros(n, n));
        let mut force = vec![f64::NAN; n];
        let tangents = Tangents {
            x: &x,
            mass_gradient: &mut gradient,
            stiffness: &mut stiffness,
            damping: &mut damping,
        };
        system.evaluate(
            point,
            DynamicsParts {
                mass: &mut mass,
                force: &mut force,
                tangents: Some(tangents),
            },
        );
        assert_close(&force, &filled(n, |f| system.force(point, f)), 1e-14, name);
        assert_close(
            &mass.data,
            &Dense::of(n, n, |m| system.mass(q, m)).data,
            1e-14,
            name,
        );
        assert_close(
            &stiffness.data,
            &Dense::of(n, n, |m| system.stiffness(point, m)).data,
            1e-14,
            name,
        );
        assert_close(
            &damping.data,
            &Dense::of(n, n, |m| system.damping(point, m)).data,
            1e-14,
            name,
        );
        assert_close(
            &gradient.data,
            &Dense::of(n, n, |m| system.mass_gradient(q, &x, m)).data,
            1e-14,
            name,
        );
        let (mut again, mut force_again) = (Dense::zeros(n, n), vec![f64::NAN; n]);
        system.evaluate(
            point,
            DynamicsParts {
                mass: &mut again,
                force: &mut force_again,
                tangents: None,
            },
        );
        assert_close(&force_again, &force, 1e-14, name);
        assert_close(&again.data, &mass.data, 1e-14, name);
    });
}

/// `vᵀ active = d/dt (T + V)` along the motion `M v̇ = f`, up to `∂V/∂t`, which is zero here.
#[test]
fn active_force_is_the_power_of_the_energy() {
    examine(|name, system, t, q, v| {
        let n = q.len();
        let point = Point { t, q, v };
        let force = filled(n, |f| system.force(point, f));
        let mass = Dense::of(n, n, |m| system.mass(q, m));
        let acceleration = solve(&mass, &force);
        let h = 1e-4;
        let energy = |s: f64| {
            let shift = |x: &[f64], d: &[f64], dd: f64| -> Vec<f64> {
                x.iter()
                    .zip(d)
                    .zip(&acceleration)
                    .map(|((x, d), a)| x + s * d + dd * s * s * a)
                    .collect()
            };
            let (q, v) = (shift(q, v, 0.5), shift(v, &acceleration, 0.0));
            system.kinetic_energy(&q, &v) + system.potential_energy(t + s, &q)
        };
        let (a, b, c, d) = (energy(-2.0 * h), energy(-h), energy(h), energy(2.0 * h));
        let rate = (a - 8.0 * b + 8.0 * c - d) / (12.0 * h);
        let active = filled(n, |f| system.active_force(point, f));
        let power: f64 = active.iter().zip(v).map(|(f, v)| f * v).sum();
        let scale: f64 = force.iter().zip(v).map(|(f, v)| (f * v).abs()).sum::<f64>() + 1.0;
        assert!(
            (power - rate).abs() <= 1e-8 * scale,
            "{name}: {power}, not {rate}"
        );
    });
}

/// Gaussian elimination of a positive definite matrix.
fn solve(matrix: &Dense, right: &[f64]) -> Vec<f64> {
    let n = right.len();
    let (mut a, mut x) = (matrix.data.clone(), right.to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            x[i] -= factor * x[k];
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            x[k] -= a[k * n + j] * x[j];
        }
        x[k] /= a[k * n + k];
    }
    x
}

#[test]
fn derivatives_of_the_constraints() {
    examine(|name, system, t, q, v| {
        let (n, ng) = (q.len(), system.dims().ng);
        let what = |part: &str| format!("{name}: bilateral {part}");
        let g = |t: f64, q: &[f64]| filled(ng, |g| system.g(t, q, g));
        let jacobian = |t: f64, q: &[f64]| Dense::of(ng, n, |m| system.g_jacobian(t, q, m));
        let rate = |t: f64, q: &[f64]| filled(ng, |r| system.g_rate(t, q, r));
        same(
            &jacobian(t, q),
            &difference(ng, q, |q| g(t, q)),
            &what("jacobian"),
        );
        assert_close(
            &rate(t, q),
            &difference(ng, &[t], |t| g(t[0], q)).data,
            TOLERANCE,
            &what("rate"),
        );
        let velocity = |t: f64, q: &[f64], v: &[f64]| sum(&jacobian(t, q).times(v), &rate(t, q));
        let bias = |q: &[f64], v: &[f64]| filled(ng, |b| system.g_bias(Point { t, q, v }, b));
        let expected = along(ng, t, q, v, &velocity);
        assert_close(&bias(q, v), &expected, TOLERANCE, &what("bias"));
        let lambda = vector(ng, 0.9);
        let curvature = Dense::of(n, n, |m| system.g_curvature(t, q, &lambda, m));
        let reaction = |q: &[f64]| jacobian(t, q).transposed_times(&lambda);
        same(&curvature, &difference(n, q, reaction), &what("curvature"));
        let x = vector(n, 0.2);
        let gradient = Dense::of(ng, n, |m| system.g_jacobian_gradient(t, q, &x, m));
        same(
            &gradient,
            &difference(ng, q, |q| jacobian(t, q).times(&x)),
            &what("jacobian gradient"),
        );
        let gradient = Dense::of(ng, n, |m| system.g_rate_gradient(t, q, m));
        same(
            &gradient,
            &difference(ng, q, |q| rate(t, q)),
            &what("rate gradient"),
        );
        let point = Point { t, q, v };
        let gradient = Dense::of(ng, n, |m| system.g_bias_gradient(point, m));
        same(
            &gradient,
            &difference(ng, q, |q| bias(q, v)),
            &what("bias gradient"),
        );
        let damping = Dense::of(ng, n, |m| system.g_bias_damping(point, m));
        same(
            &damping,
            &difference(ng, v, |v| bias(q, v)),
            &what("bias damping"),
        );
    });
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// A velocity as a function of time, positions and velocities.
type Velocity<'a> = &'a dyn Fn(f64, &[f64], &[f64]) -> Vec<f64>;

/// `∂u/∂q v + ∂u/∂t` by differences.
fn along(rows: usize, t: f64, q: &[f64], v: &[f64], u: Velocity<'_>) -> Vec<f64> {
    let by_position = difference(rows, q, |q| u(t, q, v)).times(v);
    sum(
        &by_position,
        &difference(rows, &[t], |t| u(t[0], q, v)).data,
    )
}

fn detected(system: &FormulaSystem, t: f64, q: &[f64]) -> ContactSet {
    let mut set = ContactSet::default();
    system.detect(t, q, Reach::All, &mut set);
    set
}

fn directions(set: &ContactSet, n: usize) -> Dense {
    Dense::of(set.directions.len(), n, |m| {
        for row in 0..set.directions.len() {
            set.directions.send(row, row, 1.0, m);
        }
    })
}

#[test]
fn derivatives_of_the_contacts() {
    examine(|name, system, t, q, v| {
        let n = q.len();
        let set = detected(system, t, q);
        let rows = set.directions.len();
        let what = |part: &str| format!("{name}: contact {part}");
        let at = |t: f64, q: &[f64]| detected(system, t, q);
        for (i, &row) in set.first_row.iter().enumerate() {
            let gap = difference(1, q, |q| vec![at(t, q).gap[i]]);
            assert_close(
                &directions(&set, n).data[row * n..(row + 1) * n],
                &gap.data,
                TOLERANCE,
                &what("normal"),
            );
            let rate = difference(1, &[t], |t| vec![at(t[0], q).gap[i]]);
            assert_close(&set.rate[row..=row], &rate.data, TOLERANCE, &what("rate"));
        }
        let velocity = |t: f64, q: &[f64], v: &[f64]| {
            let set = at(t, q);
            sum(&directions(&set, n).times(v), &set.rate)
        };
        let bias = |q: &[f64], v: &[f64]| {
            filled(rows, |b| system.contact_bias(Point { t, q, v }, &set, b))
        };
        assert_close(
            &bias(q, v),
            &along(rows, t, q, v, &velocity),
            TOLERANCE,
            &what("bias"),
        );
        let r = vector(rows, 0.9);
        let curvature = Dense::of(n, n, |m| system.contact_curvature(t, q, &set, &r, m));
        let reaction = |q: &[f64]| directions(&at(t, q), n).transposed_times(&r);
        same(&curvature, &difference(n, q, reaction), &what("curvature"));
        let x = vector(n, 0.2);
        let gradient = Dense::of(rows, n, |m| {
            system.contact_direction_gradient(t, q, &set, &x, m)
        });
        same(
            &gradient,
            &difference(rows, q, |q| directions(&at(t, q), n).times(&x)),
            &what("direction gradient"),
        );
        let gradient = Dense::of(rows, n, |m| system.contact_rate_gradient(t, q, &set, m));
        same(
            &gradient,
            &difference(rows, q, |q| at(t, q).rate),
            &what("rate gradient"),
        );
        let point = Point { t, q, v };
        let gradient = Dense::of(rows, n, |m| system.contact_bias_gradient(point, &set, m));
        same(
            &gradient,
            &difference(rows, q, |q| bias(q, v)),
            &what("bias gradient"),
        );
        let damping = Dense::of(rows, n, |m| system.contact_bias_damping(point, &set, m));
        same(
            &damping,
            &difference(rows, v, |v| bias(q, v)),
            &what("bias damping"),
        );
    });
}

/// Slip velocities are what the formula says.
#[test]
fn slip_is_that_of_the_formula() {
    let system = everything().0.assemble().unwrap();
    let (t, q, v) = (0.7, [0.4, -0.2, 0.9], [1.0, 2.0, -0.5]);
    let set = detected(&system, t, &q);
    assert_eq!(set.first_row, [0, 3, 5]);
    let found = set.directions.dot(4, &v) + set.rate[4];
    let (l, w) = (1.1, 2.0);
    let slip = q[0] * v[1] + (l + q[1]) * v[2] * f64::cos(t) + 0.1 * f64::sin(w * t) * q[0];
    assert_close(&[found], &[slip], 1e-15, "slip");
    assert_eq!(
        set.directions.cols(4),
        [1, 2],
        "only what is not zero is stored"
    );
}

#[test]
fn contacts_are_refreshed_in_place() {
    examine(|name, system, t, q, v| {
        let mut set = detected(system, t, q);
        system.evaluate_contacts(t + 0.3, v, &mut set);
        let fresh = detected(system, t + 0.3, v);
        assert_eq!(set.gap, fresh.gap, "{name}");
        assert_eq!(set.directions, fresh.directions, "{name}");
        assert_eq!(set.rate, fresh.rate, "{name}");
        assert_eq!(
            set.id,
            (0..set.len() as u64).map(ContactId).collect::<Vec<_>>()
        );
    });
}

/// A set that holds some of the contacts only.
#[test]
fn some_of_the_contacts_can_be_asked_for() {
    examine(|name, system, t, q, v| {
        let n = q.len();
        let whole = detected(system, t, q);
        let mut some = ContactSet::default();
        let mut kept = Vec::new();
        for i in (0..whole.len()).filter(|i| i % 2 == 1 || whole.len() == 1) {
            some.push(whole.id[i], whole.law[i], f64::NAN);
            for row in whole.first_row[i]..=whole.first_row[i] + usize::from(whole.law[i].tangents)
            {
                let cols = whole.directions.cols(row);
                some.directions.push(cols, &vec![f64::NAN; cols.len()]);
                some.rate.push(f64::NAN);
                kept.push(row);
            }
        }
        system.evaluate_contacts(t, q, &mut some);
        let (all, part) = (directions(&whole, n), directions(&some, n));
        let rows = |matrix: &Dense| -> Vec<f64> {
            kept.iter()
                .flat_map(|&row| matrix.data[row * n..(row + 1) * n].to_vec())
                .collect()
        };
        let chosen = |values: &[f64]| -> Vec<f64> { kept.iter().map(|&row| values[row]).collect() };
        assert_eq!(part.data, rows(&all), "{name}");
        assert_eq!(some.rate, chosen(&whole.rate), "{name}");
        let point = Point { t, q, v };
        let bias =
            |set: &ContactSet| filled(set.directions.len(), |b| system.contact_bias(point, set, b));
        assert_eq!(bias(&some), chosen(&bias(&whole)), "{name}");
        let r = vector(kept.len(), 0.3);
        let mut r_whole = vec![0.0; whole.directions.len()];
        for (&row, r) in kept.iter().zip(&r) {
            r_whole[row] = *r;
        }
        let curvature = |set: &ContactSet, r: &[f64]| {
            Dense::of(n, n, |m| system.contact_curvature(t, q, set, r, m)).data
        };
        assert_eq!(curvature(&some, &r), curvature(&whole, &r_whole), "{name}");
        type Ask<'a> = &'a dyn Fn(&ContactSet, &mut dyn MatrixSink);
        let x = vector(n, 0.2);
        let direction: Ask<'_> = &|set, m| system.contact_direction_gradient(t, q, set, &x, m);
        let rate: Ask<'_> = &|set, m| system.contact_rate_gradient(t, q, set, m);
        let bias: Ask<'_> = &|set, m| system.contact_bias_gradient(point, set, m);
        let damping: Ask<'_> = &|set, m| system.contact_bias_damping(point, set, m);
        for ask in [direction, rate, bias, damping] {
            let whole = Dense::of(whole.directions.len(), n, |m| ask(&whole, m));
            let part = Dense::of(kept.len(), n, |m| ask(&some, m));
            assert_eq!(part.data, rows(&whole), "{name}");
        }
    });
}

/// The audit that `saltus check` runs.
#[test]
fn the_audit_of_the_contract_is_clean() {
    examine(|name, system, t, q, v| {
        let state = saltus_system::State::new(t, q.to_vec(), v.to_vec());
        let audit = saltus_system::check::check(system, &state);
        let failures: Vec<String> = audit.failures().map(ToString::to_string).collect();
        assert!(failures.is_empty(), "{name}: {failures:#?}");
    });
}
