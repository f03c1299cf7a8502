//! `event-capture.json`: energy identities, their corner cases, and what coming to rest costs.

use crate::capture_steps::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::lemmas::{Lemma, largest_residuals};
use crate::run::{record, run};
use saltus::analysis::GridNorms;
use saltus::analysis::exact::ImpactingMass;
use saltus_integrators::{MoreauJeanOptions, Variant};
use saltus_system::State;
use saltus_zoo::Ball;

const BALL: Ball = Ball {
    mass: 1.0,
    force: -2.0,
    restitution: 0.5,
};

/// `U_{k+1}, P, ΔE − W` of the step in which a closing contact is pushed back.
fn counterexample(scheme: &str) -> Vec<f64> {
    let options = MoreauJeanOptions {
        theta: Some(if scheme.contains("1/(1+e)") {
            2.0 / 3.0
        } else {
            0.5
        }),
        variant: if scheme.contains("87") {
            Variant::Dissipative
        } else {
            Variant::Standard
        },
        ..MoreauJeanOptions::default()
    };
    let rows = record(
        &BALL,
        &options,
        &State::new(0.0, vec![-0.05], vec![0.08]),
        0.1,
        1,
    );
    // The weight is a potential: ΔE − W = change of the total energy.
    vec![
        rows[1].v[0],
        rows[1].impulse[0],
        rows[1].energy - rows[0].energy,
    ]
}

/// One line of the table: `h, max ΔE − W, rms U at rest / h, q L1, v L1, penetration`.
fn rest(h: f64) -> [f64; 6] {
    let n = crate::run::count(5.0, h);
    let exact = ImpactingMass::under_force(-2.0, 0.5, 1.0, 0.0, 5.0);
    let (mut q, mut v) = (GridNorms::new(), GridNorms::new());
    let (mut gain, mut penetration, mut last) = (f64::NEG_INFINITY, 0.0_f64, f64::NAN);
    let (mut squares, mut resting) = (0.0, 0.0);
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    run(
        &BALL,
        &MoreauJeanOptions::default(),
        &start,
        h,
        n,
        |k, state, report, _| {
            let (exact_q, exact_v) = exact.at(state.t);
            q.add(h, state.q[0] - exact_q);
            v.add(h, state.v[0] - exact_v);
            let energy = report.energy.total();
            if k > 0 {
                gain = gain.max(energy - last);
            }
            last = energy;
            penetration = penetration.max(-state.q[0]);
            if state.t > 4.0 {
                squares += state.v[0] * state.v[0];
                resting += 1.0;
            }
        },
    );
    let rms: f64 = (squares / resting).sqrt();
    [h, gain, rms / h, q.l1(), v.l1(), penetration]
}

/// Columns of the table.
const COLUMNS: usize = 6;

fn rest_table(entry: &Entry) -> Outcome {
    let ours: Vec<f64> = entry
        .value
        .chunks(COLUMNS)
        .flat_map(|line| rest(line[0]))
        .collect();
    Outcome::Differs {
        known: (0..ours.len())
            .skip(2)
            .step_by(COLUMNS)
            .map(|i| (i, 0.0, 1e-14))
            .collect(),
        ours,
        reason: "the velocity at rest decays to round-off here, to underflow there",
    }
}

#[test]
fn energy() {
    let Some(mut entries) = read(FILE) else {
        return;
    };
    // The second table suppresses contacts that open, which is another scheme.
    for table in entries
        .iter_mut()
        .filter(|e| e.id == "energy.rest_tradeoff")
    {
        table.value.truncate(table.value.len() / 2);
        println!("{}: second table left out", table.id);
    }
    check(
        "energy",
        &entries,
        |e| is(e, "energy"),
        |entry| match entry.scheme.as_str() {
            "eq84" => Outcome::Ours(vec![largest_residuals(Lemma::Standard, false).identity]),
            "eq84_withC" => Outcome::Ours(vec![largest_residuals(Lemma::Standard, true).identity]),
            "eq88" => Outcome::Ours(vec![largest_residuals(Lemma::Dissipative, false).identity]),
            _ if entry.id == "energy.rest_tradeoff" => rest_table(entry),
            scheme => Outcome::Ours(counterexample(scheme)),
        },
    );
}
