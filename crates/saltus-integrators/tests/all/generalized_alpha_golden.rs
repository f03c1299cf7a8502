//! Every step of the golden records: state, multipliers and active sets around the first impact.

use crate::support::{flags, numbers, reference};
use saltus_integrators::{
    GeneralizedAlpha, GeneralizedAlphaOptions, Inactive, Integrator, Levels, LinearSolve,
    NonsmoothFormulation, NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions,
    NonsmoothHht, NonsmoothHhtOptions, NonsmoothNewmark, NonsmoothNewmarkOptions,
    SmoothFormulation,
};
use saltus_system::{State, System};
use saltus_zoo::{
    BouncingPendulum, DoublePendulum, DoublePendulumAtWall, RockingBlock, ball_over_floor,
    two_masses,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::f64::consts::PI;

/// A scheme whose levels can be looked at.
enum Scheme {
    Smooth(GeneralizedAlpha),
    Nonsmooth(NonsmoothGeneralizedAlpha),
    Newmark(NonsmoothNewmark),
    Hht(NonsmoothHht),
}

impl Scheme {
    fn integrator(&mut self) -> &mut dyn Integrator {
        match self {
            Self::Smooth(s) => s,
            Self::Nonsmooth(s) => s,
            Self::Newmark(s) => s,
            Self::Hht(s) => s,
        }
    }
    fn levels(&self) -> Levels<'_> {
        match self {
            Self::Smooth(s) => s.levels(),
            Self::Nonsmooth(s) => s.levels(),
            Self::Newmark(s) => s.levels(),
            Self::Hht(s) => s.levels(),
        }
    }
}

/// The scheme of a record; `None` where it belongs to another family.
fn scheme(name: &str, rho: f64, disturbed: bool, solve: LinearSolve) -> Option<Scheme> {
    let nonsmooth = |formulation, strategy, inactive| {
        let options = NonsmoothGeneralizedAlphaOptions {
            formulation,
            strategy,
            inactive,
            rho_inf: Some(rho),
            linear_solve: solve,
            tolerance: 1e-12,
            ..Default::default()
        };
        Some(Scheme::Nonsmooth(
            NonsmoothGeneralizedAlpha::new(options).unwrap(),
        ))
    };
    let smooth = |formulation| {
        let options = GeneralizedAlphaOptions {
            formulation,
            rho_inf: Some(rho),
            tolerance: 1e-12,
            initial_acceleration: disturbed.then(|| vec![0.0; 3]),
            ..Default::default()
        };
        Some(Scheme::Smooth(GeneralizedAlpha::new(options).unwrap()))
    };
    use NonsmoothFormulation::{Pva, Pvv};
    match name {
        "PVV" => nonsmooth(Pvv, None, Inactive::Star),
        "PVA1" => nonsmooth(Pva, Some(1), Inactive::Literal),
        "PVA2" => nonsmooth(Pva, Some(2), Inactive::Literal),
        "PVA3" => nonsmooth(Pva, Some(3), Inactive::Literal),
        "PVA3_star" => nonsmooth(Pva, Some(3), Inactive::Star),
        "P" => smooth(SmoothFormulation::P),
        "V" => smooth(SmoothFormulation::V),
        "PV" => smooth(SmoothFormulation::Pv),
        "PVA" => smooth(SmoothFormulation::Pva),
        "NSNewmark(1,.5625)" => {
            let options = NonsmoothNewmarkOptions {
                gamma: 1.0,
                ..Default::default()
            };
            Some(Scheme::Newmark(NonsmoothNewmark::new(options).unwrap()))
        }
        "NSHHT(.1)" => Some(Scheme::Hht(
            NonsmoothHht::new(NonsmoothHhtOptions::default()).unwrap(),
        )),
        _ => None,
    }
}

/// System and initial state of an example.
fn example(name: &str) -> (Box<dyn System>, State) {
    let state = |q: &[f64], v: &[f64]| State::new(0.0, q.to_vec(), v.to_vec());
    match name {
        "ball" => (
            Box::new(ball_over_floor(1.0, -10.0, 0.8)),
            state(&[0.801], &[0.0]),
        ),
        "pendulum" => {
            let p = BouncingPendulum::default();
            (Box::new(p), state(&p.at(PI / 12.0), &[0.0; 3]))
        }
        "rocking_block" => (
            Box::new(RockingBlock::default()),
            state(&[0.0, 1.0, 0.2], &[0.0; 3]),
        ),
        "oscillator_k1e4" => (
            Box::new(two_masses(1.0, 1e4, 1.0, 0.2, 10.0, 0.8)),
            state(&[1.001, 2.001], &[0.0; 2]),
        ),
        "double_pendulum" => {
            let system = DoublePendulumAtWall {
                pendulum: DoublePendulum { gravity: 10.0 },
                wall: -0.3,
                restitution: 0.5,
            };
            (Box::new(system), state(&[1.2, 0.9], &[0.0; 2]))
        }
        "smooth_pendulum" | "smooth_pendulum_disturbed" => {
            let p = BouncingPendulum {
                walls: 0,
                ..BouncingPendulum::default()
            };
            let q = p.at(PI / 6.0);
            let v = [-10.0 * q[1], 10.0 * q[0], 10.0];
            (Box::new(p), state(&q, &v))
        }
        other => panic!("unknown example {other}"),
    }
}

/// The name of the first field of a record that differs by more than its tolerance.
fn difference(record: &Value, state: &State, levels: &Levels<'_>) -> Option<String> {
    let compare = |name: &str, ours: &[f64], tolerance: f64| {
        let theirs = record.get(name).map(numbers)?;
        if theirs.len() != ours.len() {
            return Some(format!(
                "{name}: {} numbers instead of {}",
                ours.len(),
                theirs.len()
            ));
        }
        let worst = ours.iter().zip(&theirs).find(|(a, b)| {
            let d = (**a - **b).abs();
            d.is_nan() || d > tolerance * (1.0 + b.abs())
        });
        worst.map(|(a, b)| format!("{name}: {a:e} instead of {b:e}"))
    };
    compare("q", &state.q, 1e-8)
        .or_else(|| compare("v", &state.v, 1e-8))
        .or_else(|| {
            // Newmark and HHT records have one acceleration, `M a = (1−α) f + α f_n`.
            let one = record["vd"] == record["a"];
            let ours = if one {
                levels.acceleration
            } else {
                levels.smooth_acceleration
            };
            compare("vd", ours, 1e-6)
        })
        .or_else(|| compare("a", levels.acceleration, 1e-6))
        .or_else(|| compare("lam", levels.lambda, 1e-6))
        .or_else(|| compare("eta", levels.eta, 1e-6))
        .or_else(|| compare("nu", levels.nu, 1e-6))
        .or_else(|| compare("nus", levels.nu_total, 1e-6))
        .or_else(|| compare("Lam", levels.lambda_jump, 1e-6))
        .or_else(|| compare("Lams", levels.lambda_total, 1e-6))
}

/// Whether the active sets agree; bilateral rows are always active.
fn sets_agree(record: &Value, levels: &Levels<'_>) -> bool {
    [
        ("A", levels.closed_position),
        ("B", levels.closed_velocity),
        ("C", levels.closed_smooth),
    ]
    .into_iter()
    .all(|(name, ours)| match record.get(name) {
        Some(theirs) => {
            let theirs = flags(theirs);
            let contacts = usize::from(record["example"] == "rocking_block") + 1;
            theirs
                .iter()
                .zip(ours)
                .rev()
                .take(contacts)
                .all(|(a, b)| a == b)
        }
        None => true,
    })
}

type Key = (String, String);

fn records() -> Option<BTreeMap<Key, Vec<Value>>> {
    let golden = reference("generalized-alpha-golden.json")?;
    let mut runs: BTreeMap<Key, Vec<Value>> = BTreeMap::new();
    for record in golden["records"].as_array().unwrap() {
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        runs.entry((text("example"), text("scheme")))
            .or_default()
            .push(record.clone());
    }
    Some(runs)
}

/// Runs every golden record with `solve`; returns what differs.
fn compare_all(solve: LinearSolve) -> Option<(usize, Vec<String>)> {
    let (mut checked, mut wrong, mut other) = (0, Vec::new(), 0);
    let mut iterations: BTreeMap<String, (i64, i64, usize)> = BTreeMap::new();
    for ((name, scheme_name), list) in records()? {
        let rho = list[0]["rho"].as_f64().unwrap();
        let h = list[0]["h"].as_f64().unwrap();
        let disturbed = name.ends_with("disturbed");
        let Some(mut scheme) = scheme(&scheme_name, rho, disturbed, solve) else {
            other += list.len();
            continue;
        };
        let (system, mut state) = example(&name);
        scheme
            .integrator()
            .prepare(system.as_ref(), &state, h)
            .unwrap();
        let mut step = 0;
        let mut spent = 0;
        for record in &list {
            let wanted = record["step"].as_u64().unwrap();
            while step < wanted {
                step += 1;
                let end = step as f64 * h;
                let report = scheme
                    .integrator()
                    .step(system.as_ref(), &mut state, h, end);
                match report {
                    Ok(report) => spent = report.iterations,
                    Err(error) => {
                        wrong.push(format!("{name} {scheme_name} step {step}: {error}"));
                        break;
                    }
                }
            }
            let levels = scheme.levels();
            checked += 1;
            let place = format!("{name} {scheme_name} step {wanted}");
            if let Some(what) = difference(record, &state, &levels) {
                wrong.push(format!("{place}: {what}"));
            } else if wanted > 0 && !matches!(scheme, Scheme::Newmark(_) | Scheme::Hht(_)) {
                if !sets_agree(record, &levels) {
                    wrong.push(format!("{place}: active sets"));
                }
                let theirs = record["iterations"].as_i64().unwrap();
                let count = iterations.entry(scheme_name.clone()).or_default();
                count.0 += i64::from(spent);
                count.1 += theirs;
                count.2 += 1;
            }
        }
    }
    println!("{solve:?}: {checked} records compared, {other} of other families left out");
    for (scheme, (ours, theirs, n)) in iterations {
        println!("  {scheme:10} corrections in {n} recorded steps: {ours}, reference {theirs}");
    }
    Some((checked, wrong))
}

fn assert_golden(solve: LinearSolve) {
    let Some((checked, wrong)) = compare_all(solve) else {
        return;
    };
    for line in &wrong {
        println!("{line}");
    }
    assert!(wrong.is_empty(), "{} of {checked} differ", wrong.len());
}

#[test]
fn golden_records_condensed() {
    assert_golden(LinearSolve::Condensed);
}

#[test]
fn golden_records_sequential() {
    assert_golden(LinearSolve::Sequential);
}

#[test]
fn golden_records_monolithic() {
    assert_golden(LinearSolve::Monolithic);
}
