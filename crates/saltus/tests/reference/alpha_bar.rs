//! `generalized-alpha.json`: the elastic bar of 200 elements against a wall.

use crate::alpha_masses::{FILE, is};
use crate::entries::{Entry, Outcome, check, read};
use crate::run::{
    ROUND_OFF, Row, at, count, largest_gain, mean_iterations, named_within, record, smallest_gap,
};
use saltus::analysis::RelativeL1;
use saltus::analysis::exact::ImpactingBar;
use saltus_system::State;
use std::collections::HashMap;

const BAR: ImpactingBar = ImpactingBar {
    young: 900.0,
    density: 1.0,
    length: 10.0,
    section: 1.0,
    speed: 10.0,
    distance: 5.005,
};

fn rows(entry: &Entry) -> Vec<Row> {
    let h = entry.number("h");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let elements = entry.number("nel") as usize;
    let l = 10.0 / elements as f64;
    let mut system = saltus_zoo::bar(elements + 1, l, 1.0, 900.0, 1.0, entry.number("e"));
    if entry.parameters["mass"] == "lumped" {
        // Row sums.
        system.mass = system.mass.iter().map(|&(i, _, m)| (i, i, m)).collect();
    }
    let nodes = elements + 1;
    let start = State::new(0.0, vec![entry.number("d0"); nodes], vec![-10.0; nodes]);
    // The tolerance of the references is absolute, on unscaled momenta; ours is relative, on momenta over roots
    // of masses. The factor makes the counts of corrections agree.
    let factor = if entry.parameters["mass"] == "lumped" {
        1.5
    } else {
        1.26
    };
    let tolerance = entry.parameters["tol"].as_f64().unwrap_or(1e-10);
    let options = named_within(&entry.scheme, entry.number("rho"), factor * tolerance);
    record(&system, &options, &start, h, count(entry.number("T"), h))
}

fn quantity(entry: &Entry, rows: &[Row]) -> Outcome {
    let h = entry.number("h");
    let force = |r: &Row| r.impulse[0] / h;
    let loaded = |r: &&Row| r.impulse[0] > 1e-12;
    let (start, end) = BAR.contact();
    let plateau: Vec<f64> = rows
        .iter()
        .filter(|r| r.t > start + 0.1 && r.t < start + 0.55)
        .map(force)
        .collect();
    let mean = plateau.iter().sum::<f64>() / plateau.len() as f64;
    Outcome::Ours(match entry.quantity.as_str() {
        "first_step_with_contact_force" => vec![rows.iter().find(loaded).unwrap().t],
        "last_step_with_contact_force" => vec![rows.iter().rfind(loaded).unwrap().t],
        "min_gap" => vec![smallest_gap(rows)],
        "max|tip velocity| while closed" => {
            vec![
                rows.iter()
                    .filter(|r| r.closed[0])
                    .map(|r| r.v[0].abs())
                    .fold(0.0, f64::max),
            ]
        }
        "plateau force mean (tc+.1,tc+.55)" => vec![mean],
        "plateau force std" => {
            let square = plateau.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>();
            vec![(square / plateau.len() as f64).sqrt()]
        }
        "plateau force step-to-step oscillation" => {
            let change = plateau.windows(2).map(|w| 0.5 * (w[1] - w[0]).abs());
            vec![change.fold(0.0, f64::max)]
        }
        "peak force" => vec![rows.iter().map(force).fold(0.0, f64::max)],
        "energy ratio E(1.2)/E0" => vec![at(rows, 1.2).energy / BAR.energy()],
        "energy ratio E(T)/E0" => vec![rows[rows.len() - 1].energy / BAR.energy()],
        "max_energy_increment_per_step" => vec![largest_gain(rows)],
        "L1_rel_error_gap" => {
            let mut norm = RelativeL1::new();
            for row in rows {
                norm.add(row.gap[0], BAR.gap(row.t));
            }
            vec![norm.value()]
        }
        "mean_iterations[whole,contact,after]" => {
            let part = |from: f64, to: f64| {
                let inside: Vec<Row> = rows
                    .iter()
                    .filter(|r| r.t > from && r.t <= to)
                    .cloned()
                    .collect();
                mean_iterations(&inside)
            };
            let ours = vec![mean_iterations(rows), part(start, end), part(end, f64::MAX)];
            if entry.scheme == "MJ_half" || entry.scheme == "MJ_full" {
                // 1000 of 1250 steps: the flight before the contact needs none.
                return Outcome::Differs {
                    ours,
                    known: vec![(0, 0.8, 0.01)],
                    reason: ROUND_OFF,
                };
            }
            ours
        }
        "contact_start,contact_end,force,energy" => vec![start, end, BAR.force(), BAR.energy()],
        other => panic!("{}: {other}", entry.id),
    })
}

const LOOSE: &str = "a loosely converged solve leaves what its norm leaves";
const TIE: &str =
    "an impact in step with the grid: a gap that is zero up to round-off is closed here";
/// No paper counts the corrections of the scheme of index 3 (the counts of 2018, sec. 6.3 are those of `pvv` and `pva`), which has no
/// sequential solve; the count of the reference is that of its own guesses.
const TOGETHER: &str = "the reference guesses active sets and corrects again where they change; found together with the multipliers they \
    take one correction in every step of contact";

/// Entry, place, our value, and why it differs.
const KNOWN: &[(&str, usize, f64, &str)] = &[
    ("bar:104", 0, 0.8, TOGETHER),
    ("bar:104", 1, 1.0, TOGETHER),
    ("bar:125", 0, 307.206_730_638, LOOSE),
    ("bar:128", 0, 0.014_014_284_692, LOOSE),
    ("bar:138", 0, 308.384_564_505, LOOSE),
    ("bar:141", 0, 0.002_267_216_685, LOOSE),
    ("bar:183", 0, 0.5, TIE),
    ("bar:194", 0, 0.008_854_480_818, TIE),
    ("bar:196", 0, 0.5, TIE),
    ("bar:207", 0, 0.008_805_908_260, TIE),
    ("bar:216", 0, 327.360_906_585, LOOSE),
    ("bar:219", 0, 0.014_586_847_442, LOOSE),
    ("bar:242", 0, 308.384_564_505, LOOSE),
    ("bar:245", 0, 0.002_267_216_685, LOOSE),
];

#[test]
fn elastic_bar() {
    let Some(entries) = read(FILE) else { return };
    let mut known: HashMap<String, Vec<Row>> = HashMap::new();
    check(
        "elastic bar",
        &entries,
        |e| is(e, "bar"),
        |entry| {
            if entry.scheme == "exact" {
                return quantity(entry, &[]);
            }
            let rows = known
                .entry(format!("{} {}", entry.scheme, entry.parameters))
                .or_insert_with(|| rows(entry));
            let outcome = quantity(entry, rows);
            let mut known = KNOWN.iter().filter(|k| k.0 == entry.id).peekable();
            match (outcome, known.peek().map(|k| k.3)) {
                (Outcome::Ours(ours), Some(reason)) => Outcome::Differs {
                    ours,
                    known: known.map(|k| (k.1, k.2, 1e-6 * k.2)).collect(),
                    reason,
                },
                (outcome, _) => outcome,
            }
        },
    );
}
