//! The half-explicit schemes: slider–crank, ball in a box, elastic bar and rotor of Schindler, Rezaei, Kursawe, Acary (2015).

use crate::common::{
    Points, TIME, column, draw, largest, last, logarithms, model, run, run_every, scheme, table,
    values,
};
use saltus::{EventKind, Scheme, Trajectory};
use serde_json::json;

/// End of the runs of the slider–crank \[s\].
const END: f64 = 0.1;
const ANGLES: [&str; 3] = ["q.theta1", "q.theta2", "q.theta3"];
const RATES: [&str; 3] = ["v.theta1", "v.theta2", "v.theta3"];

fn moreau_jean() -> Scheme {
    scheme(json!({ "name": "moreau-jean", "explicit": "literal", "activation_tolerance": 0.0 }))
}

fn half_explicit(method: &str) -> Scheme {
    scheme(json!({ "name": "half-explicit", "method": method, "activation_tolerance": 0.0 }))
}

/// Spectral norm of the differences of the angles, one row per step of `coarse`.
fn error(coarse: &Trajectory, fine: &Trajectory, h: f64) -> f64 {
    let fine_columns = ANGLES.map(|name| {
        let index = fine.names().position(|n| n == name);
        index.expect("an angle")
    });
    let coarse_columns = ANGLES.map(|name| values(coarse, name));
    let mut gram = [[0.0; 3]; 3];
    for (i, t) in coarse.t().iter().enumerate() {
        let exact = fine.at(t + 1e-4 * h).expect("a row");
        let d: Vec<f64> = (0..3)
            .map(|k| coarse_columns[k][i] - exact[fine_columns[k]])
            .collect();
        for j in 0..3 {
            for k in 0..3 {
                gram[j][k] += d[j] * d[k];
            }
        }
    }
    let mut x = [1.0, 0.9, 0.1];
    let mut size = 0.0;
    for _ in 0..500 {
        let y = gram.map(|row| row.iter().zip(&x).map(|(g, x)| g * x).sum::<f64>());
        size = y.iter().map(|y| y * y).sum::<f64>().sqrt();
        x = y.map(|y| y / size);
    }
    size.sqrt()
}

fn slider_crank() {
    let steps = [1e-3, 1e-4, 1e-5];
    let fine = run(
        "slider-crank-bilateral",
        &[],
        half_explicit("hem4"),
        1e-5,
        END,
    );
    let curve = |case: &str, set: &[&str], scheme: &Scheme, fine: &Trajectory| -> Points {
        let of = |h: f64| error(&run(case, set, scheme.clone(), h, END), fine, h);
        steps.iter().map(|&h| (h, of(h))).collect()
    };
    let text = |points: &Points| -> Vec<String> {
        points.iter().map(|(_, e)| format!("{e:.2e}")).collect()
    };
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    let schemes = [
        ("moreau-jean", moreau_jean()),
        ("trapezoidal", half_explicit("trapezoidal")),
    ];
    for (name, scheme) in &schemes {
        let closed = ["parameters.c=0", "parameters.mu=0"];
        let plastic = ["parameters.c=0", "parameters.mu=0", "parameters.e=0"];
        for (how, points) in [
            (
                "guide without clearance, e = 0.4",
                curve("slider-crank", &closed, scheme, &fine),
            ),
            (
                "guide without clearance, e = 0",
                curve("slider-crank", &plastic, scheme, &fine),
            ),
            (
                "bilateral constraints",
                curve("slider-crank-bilateral", &[], scheme, &fine),
            ),
        ] {
            rows.push([vec![format!("{name}, {how}")], text(&points)].concat());
            if how.starts_with("bilateral") {
                curves.push((format!("{name}, no gap"), points));
            }
        }
    }
    table(
        "Slider–crank, Table 2",
        &["", "1e-3", "1e-4", "1e-5"],
        &rows,
    );
    let fine = run_every(
        100,
        "slider-crank",
        &[],
        half_explicit("trapezoidal"),
        1e-7,
        END,
    );
    rows.clear();
    for (name, scheme) in &schemes {
        let points = curve("slider-crank", &[], scheme, &fine);
        rows.push([vec![(*name).to_owned()], text(&points)].concat());
        curves.push((format!("{name}, gap"), points));
    }
    table(
        "Slider–crank, Table 3",
        &["", "1e-3", "1e-4", "1e-5"],
        &rows,
    );
    let curves = curves
        .iter()
        .map(|(name, points)| (name.as_str(), logarithms(points)));
    draw(
        "half-explicit-crank-error.svg",
        ("log₁₀ h", ""),
        ("log₁₀ error", ""),
        curves.collect(),
    );
}

/// Largest errors of angles and rates at the end of the bilateral slider–crank, and their orders.
fn bilateral_orders() {
    let end = |scheme: Scheme, h: f64| {
        let run = run("slider-crank-bilateral", &[], scheme, h, END);
        [ANGLES, RATES].map(|names| names.map(|name| last(&run, name)))
    };
    let exact = end(half_explicit("hem4"), 5e-6);
    let off = |scheme: Scheme, h: f64| {
        let end = end(scheme, h);
        [0, 1].map(|k| largest(end[k].iter().zip(exact[k]).map(|(a, b)| a - b)))
    };
    let mut rows = Vec::new();
    for (name, scheme) in [
        ("`moreau-jean`, explicit", moreau_jean()),
        ("`trapezoidal`", half_explicit("trapezoidal")),
        ("`acceleration`", half_explicit("acceleration")),
        ("`hem3`", half_explicit("hem3")),
        ("`hem4`", half_explicit("hem4")),
    ] {
        let [a, b] = [1e-4, 2e-5].map(|h| off(scheme.clone(), h));
        let order = |k: usize| (a[k] / b[k]).ln() / 5.0_f64.ln();
        rows.push(vec![
            name.to_owned(),
            format!("{:.1e}, {:.1e}", a[0], a[1]),
            format!("{:.1e}, {:.1e}", b[0], b[1]),
            format!("{:.2}, {:.2}", order(0), order(1)),
        ]);
    }
    let header = [
        "",
        "errors at h = 1e-4 [rad, rad/s]",
        "at h = 2e-5",
        "orders",
    ];
    table("Slider–crank, bilateral", &header, &rows);
}

fn ball() {
    let of = |scheme| run("ball-in-a-box", &[], scheme, 5e-3, 2.0);
    let runs = [
        ("moreau-jean", of(scheme(json!({ "name": "moreau-jean" })))),
        ("trapezoidal", of(half_explicit("trapezoidal"))),
        ("acceleration", of(half_explicit("acceleration"))),
    ];
    let curves = |name: &str, from: f64| {
        let late = |run| {
            let all = column(run, name).into_iter();
            all.filter(|(t, _)| *t >= from).collect()
        };
        runs.iter().map(|(n, run)| (*n, late(run))).collect()
    };
    let (gap, energy) = (("gap", "m"), ("energy", "J"));
    draw(
        "half-explicit-ball-gap.svg",
        TIME,
        gap,
        curves("gap.bottom", 0.7),
    );
    draw(
        "half-explicit-ball-energy.svg",
        TIME,
        energy,
        curves("energy.total", 0.75),
    );
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|(name, run)| {
            let lowest = values(run, "gap.bottom")
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            vec![
                (*name).to_owned(),
                format!("{lowest:.2e}"),
                format!("{:.2e}", last(run, "gap.bottom")),
                format!("{:.2e}", last(run, "v.y")),
                format!("{:.4}", last(run, "energy.total")),
            ]
        })
        .collect();
    let header = [
        "",
        "least gap [m]",
        "gap at 2 s [m]",
        "velocity at 2 s [m/s]",
        "energy at 2 s [J]",
    ];
    table("Ball in a box", &header, &rows);
}

/// Mean and standard deviation.
#[allow(clippy::cast_precision_loss)]
fn statistics(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, square.sqrt())
}

fn bar() {
    let h = 1e-7;
    let passage = 2.0 / (210e9_f64 / 7800.0).sqrt();
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (name, set) in [
        ("N = 50", vec!["parameters.N=50"]),
        ("N = 1000", vec!["parameters.N=1000"]),
        (
            "N = 1000, damped",
            vec!["parameters.N=1000", "parameters.beta='1000/E'"],
        ),
    ] {
        let run = run(
            "elastic-bar-rod",
            &set,
            half_explicit("trapezoidal"),
            h,
            1e-3,
        );
        let [impulse, gap, energy] =
            ["impulse.wall", "gap.wall", "energy.total"].map(|name| values(&run, name));
        let t = run.t().to_vec();
        let hit = (1..t.len())
            .find(|&i| gap[i - 1] > 0.0 && gap[i] <= 0.0)
            .expect("an impact");
        let end = (hit..t.len())
            .rfind(|&i| impulse[i] > 0.0)
            .expect("a contact");
        let force: Points = (1..t.len())
            .filter(|&i| i != hit && t[i] > 4.9e-4 && t[i] < 9.2e-4)
            .map(|i| (1e3 * t[i], impulse[i] / h))
            .collect();
        let part = |from: f64, to: f64| {
            let range = |x: f64| 1e3 * (t[hit] + x * passage);
            let inside = force
                .iter()
                .filter(|(t, _)| *t > range(from) && *t < range(to));
            statistics(&inside.map(|p| p.1).collect::<Vec<_>>())
        };
        let (mean, early) = part(0.05, 0.5);
        let (_, late) = part(0.5, 0.95);
        rows.push(vec![
            name.to_owned(),
            format!("{:.4e}", t[end] - t[hit]),
            format!("{mean:.3}"),
            format!("{early:.2e}"),
            format!("{late:.2e}"),
            format!("{:.4e}", impulse[hit]),
            format!("{:.4} %", 100.0 * (1.0 - energy[hit] / energy[0])),
            format!("{:.4}", energy[energy.len() - 1] / energy[0]),
        ]);
        curves.push((name, force));
    }
    table(
        "Elastic bar",
        &[
            "",
            "contact [s]",
            "mean force, first half [N]",
            "its deviation, first half",
            "second half",
            "impulse of the impact [N·s]",
            "energy the impact takes",
            "energy left at 1 ms",
        ],
        &rows,
    );
    draw(
        "half-explicit-bar-force.svg",
        ("t", "ms"),
        ("force", "N"),
        curves,
    );
}

/// The journal of the rotor in its bearing.
fn rotor() {
    let model = model("rotor-rig", &[]);
    let parameter = |name: &str| {
        let found = model.parameters.iter().find(|(n, _)| n == name);
        found.expect("a parameter").1
    };
    let hermite = ["N1", "N2", "N3", "N4"].map(parameter);
    let run = run("rotor-rig", &[], half_explicit("trapezoidal"), 5e-6, END);
    let [y0, b0, y1, b1, y] = ["q.y0", "q.b0", "q.y1", "q.b1", "q.Y"].map(|n| values(&run, n));
    let [z0, a0, z1, a1, z] = ["q.z0", "q.a0", "q.z1", "q.a1", "q.Z"].map(|n| values(&run, n));
    let [n1, n2, n3, n4] = hermite;
    let along = |i: usize| n1 * y0[i] + n2 * b0[i] + n3 * y1[i] + n4 * b1[i] - y[i];
    let across = |i: usize| n1 * z0[i] - n2 * a0[i] + n3 * z1[i] - n4 * a1[i] - z[i];
    let t = run.t().to_vec();
    let over_time = |of: &dyn Fn(usize) -> f64| -> Points {
        (0..t.len())
            .step_by(10)
            .map(|i| (t[i], 1e6 * of(i)))
            .collect()
    };
    draw(
        "half-explicit-rotor-journal.svg",
        TIME,
        ("journal in bearing", "µm"),
        vec![
            ("sideways", over_time(&along)),
            ("vertical", over_time(&across)),
        ],
    );
    let [impulse, gap] = ["impulse.bearing", "gap.bearing"].map(|n| values(&run, n));
    let steps = t.len() - 1;
    let pressed = impulse.iter().filter(|p| **p > 0.0).count();
    let hits = (1..t.len())
        .filter(|&i| gap[i - 1] > 0.0 && gap[i] <= 0.0)
        .count();
    let first = (1..t.len()).find(|&i| gap[i] <= 0.0).map(|i| t[i]);
    let at = |time: f64| t.partition_point(|t| *t < time - 1e-9);
    let spin = values(&run, "v.p2");
    println!(
        "rotor: {steps} steps, {pressed} with a reaction, {hits} impulsive, first contact {first:?} s, least gap {:.2e} m, spin {:.2} rad/s at 0.05 s and {:.2} at 0.1 s",
        gap.iter().copied().fold(f64::INFINITY, f64::min),
        spin[at(0.05)],
        spin[steps],
    );
    let events = run.outcome().map(|o| {
        o.events
            .list
            .iter()
            .filter(|e| e.kind == EventKind::Impact)
            .count()
    });
    println!("rotor: {events:?} impacts counted");
}

pub fn draw_all() {
    slider_crank();
    bilateral_orders();
    ball();
    bar();
    rotor();
}
