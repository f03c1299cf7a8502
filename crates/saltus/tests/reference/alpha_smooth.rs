//! `generalized-alpha.json`: the pendulum without a wall, in every formulation for smooth systems.

use crate::alpha_masses::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::run::{Row, at, count, mean_iterations, named, record};
use saltus::analysis::order;
use saltus_integrators::Scheme;
use saltus_system::{Constraints, Point, State};
use saltus_zoo::BouncingPendulum;
use std::collections::HashMap;
use std::f64::consts::PI;

const SYSTEM: BouncingPendulum = BouncingPendulum {
    mass: 1.0,
    inertia: 0.1,
    length: 1.0,
    gravity: 10.0,
    wall: f64::NEG_INFINITY,
    restitution: 0.0,
    walls: 0,
};

fn rows(entry: &Entry, h: f64, until: f64) -> Vec<Row> {
    let q = SYSTEM.at(PI / 6.0);
    let start = State::new(0.0, q.clone(), vec![-10.0 * q[1], 10.0 * q[0], 10.0]);
    let mut scheme = named(&entry.scheme, 0.9);
    let disturbed = entry.parameters["initial_acceleration"]
        .as_str()
        .is_some_and(|text| text.starts_with("zero"));
    if let (Scheme::GeneralizedAlpha(options), true) = (&mut scheme, disturbed) {
        options.initial_acceleration = Some(vec![0.0; 3]);
    }
    record(&SYSTEM, &scheme, &start, h, count(until, h))
}

/// Angle, angular velocity and `λ₁` of the exact motion at the times `k h`.
fn exact(h: f64, until: f64) -> Vec<[f64; 3]> {
    let acceleration = |theta: f64| -10.0 * theta.cos() / 1.1;
    let (mut theta, mut omega) = (PI / 6.0, 10.0);
    let parts = (h / 1e-4).ceil();
    let d = h / parts;
    let mut list = Vec::new();
    for k in 0..=count(until, h) {
        for _ in 0..if k == 0 { 0.0 } else { parts } as u32 {
            let k1 = (omega, acceleration(theta));
            let k2 = (omega + 0.5 * d * k1.1, acceleration(theta + 0.5 * d * k1.0));
            let k3 = (omega + 0.5 * d * k2.1, acceleration(theta + 0.5 * d * k2.0));
            let k4 = (omega + d * k3.1, acceleration(theta + d * k3.0));
            theta += d / 6.0 * (k1.0 + 2.0 * k2.0 + 2.0 * k3.0 + k4.0);
            omega += d / 6.0 * (k1.1 + 2.0 * k2.1 + 2.0 * k3.1 + k4.1);
        }
        let (s, c) = theta.sin_cos();
        list.push([theta, omega, -s * acceleration(theta) - c * omega * omega]);
    }
    list
}

/// `G v̇ + ζ`.
fn acceleration(row: &Row) -> [f64; 2] {
    let mut bias = [0.0; 2];
    let at = Point {
        t: row.t,
        q: &row.q,
        v: &row.v,
    };
    SYSTEM.g_bias(at, &mut bias);
    let (s, c) = row.q[2].sin_cos();
    let x = &row.smooth_acceleration;
    [x[0] + s * x[2] + bias[0], x[1] - c * x[2] + bias[1]]
}

/// Half the largest change of the first acceleration from step to step.
fn oscillation<'a>(rows: impl Iterator<Item = &'a Row>) -> f64 {
    let list: Vec<f64> = rows.map(|r| acceleration(r)[0]).collect();
    list.windows(2)
        .map(|w| 0.5 * (w[1] - w[0]).abs())
        .fold(0.0, f64::max)
}

/// Largest error of the reaction `λ₁ + Λ₁/h` between two times.
fn multiplier_error(rows: &[Row], exact: &[[f64; 3]], from: f64, to: f64) -> f64 {
    let h = rows[1].t - rows[0].t;
    rows.iter()
        .zip(exact)
        .filter(|(r, _)| r.t > from && r.t < to)
        .map(|(r, e)| (r.lambda[0] + r.jump_impulse[0] / h - e[2]).abs())
        .fold(0.0, f64::max)
}

/// A number that is a tolerance there is a bound here.
fn bounded(entry: &Entry, ours: f64) -> Outcome {
    if entry.value[0] < 1e-6 {
        Outcome::AtMost(vec![ours])
    } else {
        Outcome::Ours(vec![ours])
    }
}

fn quantity(entry: &Entry, rows: &[Row]) -> Outcome {
    let h = rows[1].t - rows[0].t;
    let largest = |f: &dyn Fn(&Row) -> f64, from: f64| {
        let late = rows.iter().filter(|r| r.t > from).map(f);
        late.fold(0.0, f64::max)
    };
    let of = |list: &[f64]| list.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    match entry.quantity.as_str() {
        "max|g|" => bounded(entry, largest(&|r| of(&r.g), 0.0)),
        "max|gdot|" => bounded(entry, largest(&|r| of(&r.g_rate), 0.0)),
        "max|gddot|(t>0)" => bounded(entry, largest(&|r| of(&acceleration(r)), 0.0)),
        "max|gddot|(t>1)" => bounded(entry, largest(&|r| of(&acceleration(r)), 1.0)),
        "step-frequency osc of gddot_1 in (0.003,0.05)" => {
            let inside = rows.iter().filter(|r| r.t > 0.003 && r.t < 0.05);
            bounded(entry, oscillation(inside))
        }
        "max error of total lam_1 in (0.003,0.05)" => {
            Outcome::Ours(vec![multiplier_error(rows, &exact(h, 5.0), 0.003, 0.05)])
        }
        "max error of total lam_1, t>1" => {
            Outcome::Ours(vec![multiplier_error(rows, &exact(h, 5.0), 1.0, 6.0)])
        }
        "theta(5)" => Outcome::Ours(vec![at(rows, 5.0).q[2]]),
        "mean_newton_iterations(tol 1e-10)" => {
            let ours = vec![mean_iterations(rows)];
            let known = match entry.scheme.as_str() {
                "A" => 2.363,
                "PVA" => 2.388,
                _ => return Outcome::Ours(ours),
            };
            Outcome::Differs {
                ours,
                known: vec![(0, known, 0.01)],
                reason: "constraints are converged to round-off, not to the tolerance",
            }
        }
        other => panic!("{}: {other}", entry.id),
    }
}

/// Orders over several step lengths.
fn orders(entry: &Entry) -> Outcome {
    let steps = entry.steps();
    if entry.quantity.starts_with("order of step-frequency") {
        let sample = |h: &f64| {
            let rows = rows(entry, *h, 26.0 * h);
            (*h, oscillation(rows[1..=25].iter()))
        };
        let samples: Vec<_> = steps.iter().map(sample).collect();
        return Outcome::Ours(vec![order::fit(&samples)]);
    }
    let mut samples = [const { Vec::new() }; 4];
    for &h in &steps {
        let (rows, exact) = (rows(entry, h, 1.0), exact(h, 1.0));
        let error = |i: usize| {
            let pairs = rows.iter().zip(&exact);
            pairs
                .map(|(r, e)| (if i == 0 { r.q[2] } else { r.v[2] } - e[i]).abs())
                .fold(0.0, f64::max)
        };
        samples[0].push((h, error(0)));
        samples[1].push((h, error(1)));
        samples[2].push((h, multiplier_error(&rows, &exact, 0.5, 2.0)));
        samples[3].push((h, multiplier_error(&rows, &exact, 0.0, 0.2)));
    }
    Outcome::Ours(samples.iter().map(|s| order::fit(s)).collect())
}

#[test]
fn smooth_pendulum() {
    let Some(entries) = read(FILE) else { return };
    let mut known: HashMap<String, Vec<Row>> = HashMap::new();
    check(
        "smooth pendulum",
        &entries,
        |e| is(e, "smooth pendulum"),
        |entry| {
            if entry.steps().len() > 1 {
                return orders(entry);
            }
            let key = format!("{} {}", entry.scheme, entry.parameters);
            let rows = known
                .entry(key)
                .or_insert_with(|| rows(entry, entry.number("h"), entry.number("T")));
            quantity(entry, rows)
        },
    );
}
