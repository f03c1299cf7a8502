//! `event-capture.json`: orders and penetrations with and without projected positions, on curved contacts too.

use crate::capture_steps::{FILE, is, projected};
use crate::entries::{Entry, Outcome, check, read};
use crate::event_driven::Motion;
use crate::run::{Row, record};
use saltus::analysis::{GridNorms, order};
use saltus_integrators::{MoreauJeanOptions, ProjectedMoreauJeanOptions, Scheme};
use saltus_system::{State, System};
use saltus_zoo::{Ball, RingPendulum, RockingBlock};
use std::collections::HashMap;

struct Case {
    system: Box<dyn System>,
    start: State,
    until: f64,
    counts: Vec<Vec<u64>>,
}

fn case(example: &str, fine: bool) -> Case {
    let at_rest = |q: Vec<f64>| {
        let n = q.len();
        State::new(0.0, q, vec![0.0; n])
    };
    let seed = 5;
    match example {
        "ball" => Case {
            system: Box::new(Ball {
                mass: 1.0,
                force: -2.0,
                restitution: 0.5,
            }),
            start: at_rest(vec![1.0]),
            until: 5.0,
            counts: order::counts(seed, 300, 4, 6),
        },
        "block" => Case {
            system: Box::new(RockingBlock::default()),
            start: at_rest(vec![0.0, 1.0, 0.2]),
            until: 0.55,
            counts: order::counts(seed, 120, 4, 6),
        },
        ring => {
            let clearance = if ring.contains("0.01") { 0.01 } else { 0.1 };
            let restitution = if ring.contains("e=0.5") { 0.5 } else { 0.0 };
            let system = RingPendulum::new(clearance, restitution);
            Case {
                start: at_rest(system.horizontal()),
                system: Box::new(system),
                until: 1.0,
                counts: if fine {
                    vec![
                        vec![2011],
                        vec![2897],
                        vec![4099],
                        vec![5801],
                        vec![8209],
                        vec![11587],
                    ]
                } else if clearance == 0.01 {
                    (0..5).map(|k| vec![250 << k]).collect()
                } else {
                    order::counts(seed, 180, 4, 6)
                },
            }
        }
    }
}

/// `order q, order v, finest penetration, law residual, share of approaching steps at the end`.
fn measure(case: &Case, exact: &Motion<'_>, scheme: &Scheme) -> [f64; 5] {
    let (mut q_means, mut v_means) = (Vec::new(), Vec::new());
    let mut finest = [0.0; 3];
    for counts in &case.counts {
        let (mut q_samples, mut v_samples) = (Vec::new(), Vec::new());
        let mut last = [0.0_f64; 3];
        for n in counts {
            let h = case.until / *n as f64;
            let rows = record(&*case.system, scheme, &case.start, h, *n);
            let (q, v) = errors(&rows, exact, h);
            q_samples.push((h, q));
            v_samples.push((h, v));
            let tail = &rows[rows.len() - rows.len() / 10..];
            let approaching = tail
                .iter()
                .filter(|r| r.gap_velocity.iter().any(|u| *u < -1e-9))
                .count();
            last[0] = last[0].max(-crate::run::smallest_gap(&rows));
            last[1] = rows.iter().map(|r| r.impact_law).fold(last[1], f64::max);
            last[2] = approaching as f64 / tail.len() as f64;
        }
        q_means.push(order::octave_mean(&q_samples));
        v_means.push(order::octave_mean(&v_samples));
        finest = last;
    }
    [
        order::fit(&q_means),
        order::fit(&v_means),
        finest[0],
        finest[1],
        finest[2],
    ]
}

/// `L¹` errors of the largest component of position and velocity.
fn errors(rows: &[Row], exact: &Motion<'_>, h: f64) -> (f64, f64) {
    let (mut q, mut v) = (GridNorms::new(), GridNorms::new());
    let distance = |a: &[f64], b: &[f64]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max)
    };
    for row in rows {
        let state = exact.at(row.t);
        q.add(h, distance(&row.q, &state.q));
        v.add(h, distance(&row.v, &state.v));
    }
    (q.l1(), v.l1())
}

#[test]
fn with_and_without_projection() {
    if crate::tiers::is_left_out("projection of event-capturing schemes") {
        return;
    }
    let Some(entries) = read(FILE) else { return };
    let mut known: HashMap<(String, String), [f64; 5]> = HashMap::new();
    check(
        "with and without projection",
        &entries,
        |e| is(e, "projection"),
        |entry: &Entry| {
            let fine = entry.id.contains("ringfine");
            let key = (entry.example.clone(), entry.scheme.clone());
            let all = *known.entry(key).or_insert_with(|| {
                let case = case(&entry.example, fine);
                let gamma = entry.scheme.split_once("gamma=");
                let gamma = gamma.map_or(0.5, |(_, g)| g.parse().unwrap_or(0.5));
                let scheme = match projected(entry) {
                    Some(method) => Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions {
                        method,
                        gamma,
                        ..ProjectedMoreauJeanOptions::default()
                    }),
                    None => Scheme::MoreauJean(MoreauJeanOptions {
                        gamma,
                        ..MoreauJeanOptions::default()
                    }),
                };
                let exact = Motion::new(&*case.system, &case.start, case.until, 5e-4);
                measure(&case, &exact, &scheme)
            });
            let ours = all[..entry.value.len()].to_vec();
            if entry.id == "proj.block|mjgamma=0.5" {
                // With six counts in each of four octaves, 200 draws gave 0.76 to 1.29, median 1.00; with one count
                // 0.33 to 1.68. More counts narrow it to 1.
                return Outcome::Differs {
                    ours,
                    known: vec![(0, 1.0, 0.1)],
                    reason: "four impacts sampled by few step lengths: the fitted order scatters around 1",
                };
            }
            Outcome::Ours(ours)
        },
    );
}
