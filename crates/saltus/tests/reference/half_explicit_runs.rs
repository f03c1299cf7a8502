//! Whole runs of the slider–crank with the half-explicit schemes: errors, drift, energy, forces of the stages, reduced steps.

use crate::entries::{Entry, Outcome, check, read};
use crate::event_driven_scheme::{self as event_driven, parse};
use crate::half_explicit::{
    CRANK, FILE, columns, impulsive, last, motion, run, scheme, slider_crank, spectral,
};
use saltus::Trajectory;
use saltus_integrators::{
    EventDrivenOptions, EventKind, HalfExplicitMethod, HalfExplicitOptions, Scheme,
};
use saltus_linear::SquareMatrix;
use saltus_model::Model;
use saltus_system::{ContactSet, Reach, State, System};

const CORNERS: usize = 4;
const END: f64 = 0.1;

/// The exact state at the end \[rad, rad/s\], from the event-driven motion of the file.
const EXACT: [f64; 6] = [
    9.000_639_842_525_027,
    -0.210_588_755_100_790_9,
    0.0,
    135.872_773_126_943_2,
    63.315_565_851_082_866,
    0.0,
];

/// Whether a test of this file looks at an entry, in the order of the functions below.
pub fn topic(entry: &Entry) -> Option<&'static str> {
    let id = entry.id.as_str();
    let is_known = scheme(&entry.scheme).is_some();
    let starts = |list: &[&str]| list.iter().any(|start| id.starts_with(start));
    if entry.is_informative() {
        None
    } else if starts(&["sc_bil_maxerr", "sc_bil_order", "sc_table2_equality"]) && is_known
        || id == "sc_bil_ref_T"
    {
        Some("without clearance")
    } else if id.starts_with("sc_table2_unilat") && is_known {
        Some("table 2")
    } else if starts(&["sc_mu0_err", "sc_mbsim_dt"]) {
        Some("errors without friction")
    } else if starts(&["sc_mbsim_mu0.01", "sc_convergence"])
        && (is_known || entry.scheme.starts_with("mbsim"))
    {
        Some("errors with friction")
    } else if starts(&["sc_drift", "sc_energy", "sc_mu0_first_impulse"]) {
        Some("drift and energy")
    } else if id.starts_with("trace_vel") {
        Some("stages")
    } else if id.starts_with("sc_event") {
        Some("event-driven slider-crank")
    } else {
        None
    }
}

fn check_topic(name: &str, ours: impl FnMut(&Entry) -> Outcome) {
    let Some(entries) = read(FILE) else { return };
    check(name, &entries, |e| topic(e) == Some(name), ours);
}

#[allow(clippy::cast_precision_loss)]
fn number(n: usize) -> f64 {
    n as f64
}

/// Largest error of the positions in `a`, against those in `b`.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let errors = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    errors.fold(0.0, f64::max)
}

/// A contact with its law closes where the first gap is positive and the second is not.
fn closes(before: &[f64], after: &[f64]) -> bool {
    let mut pairs = before.iter().zip(after);
    pairs.any(|(before, after)| *before > 0.0 && *after <= 0.0)
}

/// A run with what belongs to single steps.
struct Steps {
    model: Model,
    trajectory: Trajectory,
    h: f64,
    t: Vec<f64>,
    states: Vec<State>,
    /// Gap, its rate, normal and tangential impulse of each contact after each step.
    gaps: Vec<Vec<f64>>,
    rates: Vec<Vec<f64>>,
    normal: Vec<Vec<f64>>,
    tangential: Vec<Vec<f64>>,
    mu: f64,
}

impl Steps {
    fn new(mu: f64, scheme: Scheme, h: f64, until: f64) -> Self {
        let text = slider_crank(0.001, 0.4, mu, false);
        let trajectory = run(&text, scheme, h, until);
        let by_step = |name: &str, count: usize| -> Vec<Vec<f64>> {
            let names: Vec<String> = (1..=count).map(|k| format!("{name}.{k}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let columns = columns(&trajectory, &names);
            (0..trajectory.len())
                .map(|i| columns.iter().map(|c| c[i]).collect())
                .collect()
        };
        let t = trajectory.t().to_vec();
        let crank = columns(&trajectory, &CRANK);
        let states = (0..t.len()).map(|i| {
            let part = |from: usize| crank[from..from + 3].iter().map(|c| c[i]).collect();
            State::new(t[i], part(0), part(3))
        });
        Self {
            model: parse(&text),
            states: states.collect(),
            gaps: by_step("gap", CORNERS),
            rates: by_step("gap_velocity", CORNERS),
            normal: by_step("impulse", CORNERS),
            tangential: if mu > 0.0 {
                by_step("impulse_t", CORNERS)
            } else {
                vec![vec![0.0; CORNERS]; t.len()]
            },
            t,
            trajectory,
            h,
            mu,
        }
    }

    fn system(&self) -> &dyn System {
        &*self.model.system
    }

    fn closes(&self, i: usize) -> bool {
        closes(&self.gaps[i - 1], &self.gaps[i])
    }

    fn min_gap(&self) -> f64 {
        let gaps = self.gaps.iter().flatten();
        gaps.fold(f64::INFINITY, |m, g| m.min(*g))
    }

    /// Whether a contact that is open before step `i` is closed where its velocity alone leads.
    fn predicts(&self, i: usize, set: &mut ContactSet) -> bool {
        let state = &self.states[i - 1];
        let ahead: Vec<f64> = (state.q.iter().zip(&state.v))
            .map(|(q, v)| q + self.h * v)
            .collect();
        let t = state.t + self.h;
        self.system().detect(t, &ahead, Reach::All, set);
        closes(&self.gaps[i - 1], &set.gap)
    }

    /// `λ⁺` and `λ⁻` \[N\], normal and tangential, of step `i`, which has no impact; its two corners slide if they are loaded.
    ///
    /// The scheme tells `h (λ⁺ + λ⁻)/2`. Positions tell the velocity of the first stage, and with it
    /// `h W λ⁺ = M (v¹ − v) − h f` (eqs. 65 and 66); two equations are enough for two corners.
    fn stage_forces(&self, i: usize) -> [[f64; CORNERS]; 4] {
        let (before, h) = (&self.states[i - 1], self.h);
        let loaded: Vec<usize> = (0..CORNERS).filter(|k| self.normal[i][*k] > 0.0).collect();
        let mut forces = [[0.0; CORNERS]; 4];
        if loaded.is_empty() {
            return forces;
        }
        assert_eq!(
            loaded.len(),
            2,
            "step {i}: corners of one side carry together"
        );
        let mut set = ContactSet::default();
        let at = (before.t, before.q.as_slice());
        self.system().detect(at.0, at.1, Reach::All, &mut set);
        let slip = |k: usize| self.mu * self.tangential[i][k].signum();
        let column = |k: usize| {
            [0, 2].map(|j| {
                let row = set.first_row[k];
                let tangent = if self.mu > 0.0 {
                    direction(&set, row + 1, j)
                } else {
                    0.0
                };
                direction(&set, row, j) + slip(k) * tangent
            })
        };
        let momentum = first_stage(self.system(), before, &self.states[i].q, h);
        let (a, b) = (column(loaded[0]), column(loaded[1]));
        let det = a[0] * b[1] - a[1] * b[0];
        let (x, y) = (momentum[0] / h, momentum[2] / h);
        let start = [(x * b[1] - y * b[0]) / det, (y * a[0] - x * a[1]) / det];
        for (k, lambda) in loaded.into_iter().zip(start) {
            forces[0][k] = lambda;
            forces[1][k] = slip(k) * lambda;
            forces[2][k] = 2.0 * self.normal[i][k] / h - forces[0][k];
            forces[3][k] = 2.0 * self.tangential[i][k] / h - forces[1][k];
        }
        forces
    }
}

/// Entry `j` of a row of the directions.
fn direction(set: &ContactSet, row: usize, j: usize) -> f64 {
    let terms = set
        .directions
        .cols(row)
        .iter()
        .zip(set.directions.values(row));
    terms.filter(|(c, _)| **c == j).map(|(_, w)| *w).sum()
}

/// Momentum that the reactions of the first stage give \[N·s\], in a step of length `h` \[s\] that leads to the positions `q`.
fn first_stage(system: &dyn System, before: &State, q: &[f64], h: f64) -> Vec<f64> {
    let n = before.v.len();
    let mut mass = SquareMatrix::new(n);
    system.mass(&before.q, &mut mass);
    mass.finish();
    let mut force = vec![0.0; n];
    system.force(before.point(), &mut force);
    let change: Vec<f64> = (0..n)
        .map(|i| 2.0 * ((q[i] - before.q[i]) / h - before.v[i]))
        .collect();
    let mut momentum = vec![0.0; n];
    mass.apply(&change, &mut momentum);
    for (p, f) in momentum.iter_mut().zip(&force) {
        *p -= h * f;
    }
    momentum
}

#[test]
fn slider_crank_without_clearance_over_the_run() {
    let model = slider_crank(0.0, 0.0, 0.0, true);
    let order_four = |h: f64| columns(&run(&model, scheme("HEM4").unwrap(), h, END), &CRANK);
    // Right to 1e-11: fifty times better than the best of the entries.
    let exact = order_four(5e-6);
    let steps = exact[0].len() - 1;
    let state = |k: usize| exact.iter().map(|c| c[k]).collect::<Vec<f64>>();
    check_topic("without clearance", |entry| {
        if entry.id == "sc_bil_ref_T" {
            return Outcome::Ours(state(steps));
        }
        let angles = |h: &f64| {
            let run = run(&model, scheme(&entry.scheme).unwrap(), *h, END);
            columns(&run, &CRANK[..3])
        };
        let list = entry.list("dt");
        if entry.id.starts_with("sc_table2") {
            let error = |h: &f64| spectral(&angles(h), &exact);
            return Outcome::Ours(list.iter().map(error).collect());
        }
        let samples = if entry.id.starts_with("sc_bil_order") {
            1
        } else {
            100
        };
        let error = |h: &f64| {
            let angles = angles(h);
            let n = angles[0].len() - 1;
            (1..=samples).fold(0.0_f64, |m, k| {
                let ours: Vec<f64> = angles.iter().map(|c| c[k * n / samples]).collect();
                m.max(distance(&ours, &state(k * steps / samples)))
            })
        };
        if samples == 100 {
            return Outcome::Ours(list.iter().map(error).collect());
        }
        let [coarse, fine] = [list[list.len() - 2], list[list.len() - 1]];
        let order = (error(&coarse) / error(&fine)).ln() / (coarse / fine).ln();
        Outcome::Ours(vec![order])
    });
}

#[test]
fn table_2_of_the_source() {
    let exact = run(
        &slider_crank(0.0, 0.0, 0.0, true),
        scheme("HEM4").unwrap(),
        1e-5,
        END,
    );
    let exact = columns(&exact, &CRANK[..3]);
    check_topic("table 2", |entry| {
        let e = if entry.id.contains("eps0.4") {
            0.4
        } else {
            0.0
        };
        let model = slider_crank(0.0, e, 0.0, false);
        let error = |h: &f64| {
            let run = run(&model, scheme(&entry.scheme).unwrap(), *h, END);
            spectral(&columns(&run, &CRANK[..3]), &exact)
        };
        Outcome::Ours(entry.list("dt").iter().map(error).collect())
    });
}

/// The rule with reduced steps that an entry names.
fn reduced(entry: &Entry) -> (Scheme, bool) {
    let retest = entry.id.ends_with("retest");
    let reduction = if entry.scheme.ends_with("dt/1") {
        1.0
    } else {
        0.1
    };
    let options = HalfExplicitOptions {
        method: HalfExplicitMethod::Reduced,
        activation_tolerance: Some(0.0),
        reduction,
        retest,
        ..HalfExplicitOptions::default()
    };
    (Scheme::HalfExplicit(options), retest)
}

/// `[steps, impulsive steps]` and the run.
fn reduced_run(entry: &Entry, mu: f64) -> ([f64; 2], Steps) {
    let (scheme, retest) = reduced(entry);
    let steps = Steps::new(mu, scheme, entry.number("dt"), END);
    let mut set = ContactSet::default();
    let count = steps.t.len() - 1;
    let impulsive = (1..=count)
        .filter(|i| steps.predicts(*i, &mut set) || retest && steps.closes(*i))
        .count();
    ([number(count), number(impulsive)], steps)
}

#[test]
fn errors_without_friction() {
    let model = slider_crank(0.001, 0.4, 0.0, false);
    let Some(_) = read(FILE) else { return };
    let fine = motion(&model, 1e-6, 100_000, 10);
    let end: Vec<f64> = fine[..3].iter().map(|c| c[c.len() - 1]).collect();
    check_topic("errors without friction", |entry| {
        if entry.id.starts_with("sc_mu0_err") {
            let error = |h: f64| {
                let run = run(&model, scheme(&entry.scheme).unwrap(), h, END);
                spectral(&columns(&run, &CRANK[..3]), &fine)
            };
            return Outcome::Ours([1e-3, 1e-4, 1e-5].map(error).to_vec());
        }
        let ([count, impulsive], steps) = reduced_run(entry, 0.0);
        let error = distance(&last(&steps.trajectory, &CRANK[..3]), &end);
        let ours = vec![count, impulsive, impulsive / count, error, steps.min_gap()];
        if entry.id == "sc_mbsim_dt1e-05" {
            return Outcome::Differs {
                ours,
                known: vec![(3, 2.028e-5, 1e-7)],
                reason: "the reference ends a reduced step, 1e-6 s, beside 0.1 s: 139 rad/s make 1.39e-4 rad of that",
            };
        }
        Outcome::Ours(ours)
    });
}

#[test]
fn errors_with_friction() {
    check_topic("errors with friction", |entry| {
        if entry.id.starts_with("sc_mbsim") {
            let ([count, impulsive], steps) = reduced_run(entry, entry.number("mu"));
            let end = last(&steps.trajectory, &CRANK);
            let errors = [0, 3].map(|k| distance(&end[k..k + 3], &EXACT[k..k + 3]));
            return Outcome::Ours(vec![
                count,
                impulsive,
                errors[0],
                errors[1],
                steps.min_gap(),
            ]);
        }
        let model = slider_crank(0.001, 0.4, entry.number("mu"), false);
        let pair = |h: &f64| {
            let run = run(&model, scheme(&entry.scheme).unwrap(), *h, END);
            let error = distance(&last(&run, &CRANK[..3]), &EXACT[..3]);
            [error, number(impulsive(&run, CORNERS).len())]
        };
        Outcome::Ours(entry.list("dt").iter().flat_map(pair).collect())
    });
}

/// `[least gap, largest rate of a loaded contact, drift, impulsive steps]`: a contact is loaded where `λ⁻ > 0`, and drifts
/// from the gap at the first of a row of steps in which it is.
fn drift(steps: &Steps) -> Vec<f64> {
    let n = steps.t.len();
    let (mut rate, mut drift, mut count) = (0.0_f64, 0.0_f64, 0);
    let mut since = [None; CORNERS];
    for i in 1..n {
        let hits = steps.closes(i);
        count += usize::from(hits);
        let end = if hits {
            [0.0; CORNERS]
        } else {
            steps.stage_forces(i)[2]
        };
        for k in 0..CORNERS {
            // Forces are 0.05 N and more, what round-off of positions leaves of them is below 1e-6 N.
            if end[k] <= 1e-4 {
                since[k] = None;
                continue;
            }
            let gap = steps.gaps[i][k];
            drift = drift.max((gap - *since[k].get_or_insert(gap)).abs());
            rate = rate.max(steps.rates[i][k].abs());
        }
    }
    vec![steps.min_gap(), rate, drift, number(count)]
}

/// `[E(0), E(T), largest gain in a step, gains without impacts, largest gain with an impact]`.
fn energy(steps: &Steps) -> Vec<f64> {
    let energy = columns(&steps.trajectory, &["energy.total"]).remove(0);
    let (mut largest, mut sum, mut hit) = (f64::NEG_INFINITY, 0.0, f64::NEG_INFINITY);
    for i in 1..energy.len() {
        let gain = energy[i] - energy[i - 1];
        largest = largest.max(gain);
        if steps.closes(i) {
            hit = hit.max(gain);
        } else {
            sum += gain.max(0.0);
        }
    }
    vec![energy[0], energy[energy.len() - 1], largest, sum, hit]
}

#[test]
fn drift_and_energy_without_friction() {
    check_topic("drift and energy", |entry| {
        let scheme = scheme(&entry.scheme).unwrap();
        let steps = Steps::new(0.0, scheme, entry.number("dt"), END);
        if entry.id.starts_with("sc_energy") {
            return Outcome::Ours(energy(&steps));
        }
        if entry.id.starts_with("sc_mu0_first_impulse") {
            let hit = (1..steps.t.len()).find(|i| steps.closes(*i)).unwrap();
            return Outcome::Ours(steps.normal[hit].clone());
        }
        let ours = drift(&steps);
        if entry.scheme == "vel" {
            return Outcome::Differs {
                ours,
                known: vec![(1, 0.0, 1e-12)],
                reason: "round-off: at most 1e-12, as the note of the entry says",
            };
        }
        Outcome::Ours(ours)
    });
}

#[test]
fn forces_of_the_stages() {
    check_topic("stages", |entry| {
        let h = entry.number("dt");
        let scheme = scheme(&entry.scheme).unwrap();
        let steps = Steps::new(entry.number("mu"), scheme, h, h * entry.number("step"));
        let i = steps.t.len() - 1;
        let state = &steps.states[i];
        let mut ours = [state.q.clone(), state.v.clone()].concat();
        let hits = steps.closes(i);
        let mut forces = [[0.0; CORNERS]; 4];
        if hits {
            ours.extend(&steps.normal[i]);
            ours.extend(&steps.tangential[i]);
        } else {
            ours.extend([0.0; 2 * CORNERS]);
            forces = steps.stage_forces(i);
        }
        ours.extend(forces.iter().flatten());
        ours.push(number(usize::from(hits)));
        Outcome::Ours(ours)
    });
}

#[test]
fn event_driven_slider_crank() {
    let options = EventDrivenOptions {
        rtol: 1e-13,
        tolerance: 1e-12,
        ..EventDrivenOptions::default()
    };
    check_topic("event-driven slider-crank", |entry| {
        let model = parse(&slider_crank(0.001, 0.4, entry.number("mu"), false));
        let run = |until: f64| {
            event_driven::run(&*model.system, options.clone(), &model.initial, 1e-3, until)
        };
        if entry.id.ends_with("first_impacts") {
            // Both corners of a side hit at once.
            let mut impacts: Vec<[f64; 4]> = Vec::new();
            for event in run(0.0095).events {
                if event.kind != EventKind::Impact {
                    continue;
                }
                let side = if event.contact.0 < 2 { 1.0 } else { -1.0 };
                match impacts.last_mut() {
                    Some(last) if last[0] == event.t => last[3] += event.impulse[0],
                    _ => impacts.push([event.t, side, event.velocity_before[0], event.impulse[0]]),
                }
            }
            return Outcome::Ours(impacts.into_iter().take(6).flatten().collect());
        }
        let end = run(entry.number("t"));
        let State { q, v, .. } = end.last();
        Outcome::Ours(vec![q[0], q[1], v[0], v[1]])
    });
}
