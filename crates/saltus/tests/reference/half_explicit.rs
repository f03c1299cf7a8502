//! The half-explicit schemes and the explicit Moreau–Jean scheme against independently computed values.

use crate::entries::{Entry, Outcome, check, leave_out, read};
use crate::event_driven_scheme::parse;
use crate::{half_explicit_runs as runs, half_explicit_systems as systems};
use saltus::{Simulation, Trajectory};
use saltus_integrators::{
    Explicit, HalfExplicitMethod, HalfExplicitOptions, MoreauJeanOptions, Scheme,
};
use std::fmt::Write as _;

pub const FILE: &str = "half-explicit.json";

/// The scheme that the file calls by this name.
pub fn scheme(name: &str) -> Option<Scheme> {
    scheme_with(name, 0.0)
}

/// The same with a gap \[m\] up to which a contact is closed.
pub fn scheme_with(name: &str, activation_tolerance: f64) -> Option<Scheme> {
    let half = |method| {
        Some(Scheme::HalfExplicit(HalfExplicitOptions {
            method,
            activation_tolerance: Some(activation_tolerance),
            ..HalfExplicitOptions::default()
        }))
    };
    let explicit = |variant| {
        Some(Scheme::MoreauJean(MoreauJeanOptions {
            explicit: Some(variant),
            activation_tolerance: Some(activation_tolerance),
            ..MoreauJeanOptions::default()
        }))
    };
    match name {
        "vel" => half(HalfExplicitMethod::Trapezoidal),
        "acc" => half(HalfExplicitMethod::Acceleration),
        "hem_HETR" => half(HalfExplicitMethod::Hetr),
        "hem_HEM3" | "HEM3" => half(HalfExplicitMethod::Hem3),
        "hem_HEM4" | "HEM4" => half(HalfExplicitMethod::Hem4),
        "mj" | "mj_literal" => explicit(Explicit::Literal),
        "mj_preW_new" => explicit(Explicit::EndDirections),
        "mj_W_old" => explicit(Explicit::Start),
        "mj_mbsim" => explicit(Explicit::Symplectic),
        _ => None,
    }
}

/// Every step of a model given as text.
pub fn run(text: &str, scheme: Scheme, step: f64, until: f64) -> Trajectory {
    let model = parse(text);
    Simulation::new(&*model.system, scheme)
        .start(model.initial.clone())
        .step(step)
        .until(until)
        .record()
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The slider–crank with clearance `c`, restitution and friction at its corners; with equality constraints where `bilateral`.
pub fn slider_crank(c: f64, e: f64, mu: f64, bilateral: bool) -> String {
    let mut text = format!(
        r#"
saltus = 1
[parameters]
l1 = 0.153
l2 = 0.306
a = 0.05
b = 0.025
c = {c}
m1 = 0.038
m2 = 0.038
m3 = 0.076
J1 = 7.4e-5
J2 = 5.9e-4
J3 = 2.7e-6
g = 9.81
M1 = "J1 + (m1/4 + m2 + m3)*l1^2"
M2 = "J2 + (m2/4 + m3)*l2^2"
k = "(m2/2 + m3)*l1*l2"
[system]
coordinates = ["p", "q", "r"]
mass = [["M1", "k*cos(p - q)", 0], ["k*cos(p - q)", "M2", 0], [0, 0, "J3"]]
force = ["-k*sin(p - q)*v.q^2", "k*sin(p - q)*v.p^2", 0]
potential = "(m1/2 + m2 + m3)*g*l1*sin(p) + (m2/2 + m3)*g*l2*sin(q)"
"#
    );
    if bilateral {
        text.push_str(
            "bilateral = [{ name = \"guide\", g = \"l1*sin(p) + l2*sin(q)\" }, { name = \"turn\", g = \"r\" }]\n",
        );
    } else {
        for (name, s, t) in [
            ("1", "-", "+"),
            ("2", "+", "+"),
            ("3", "-", "-"),
            ("4", "+", "-"),
        ] {
            let opposite = if t == "+" { "-" } else { "+" };
            write!(
                text,
                r#"
[[system.unilateral]]
name = "{name}"
gap = "b + c {opposite} (l1*sin(p) + l2*sin(q) {s} a*sin(r) {t} b*cos(r))"
tangential = "l1*cos(p) + l2*cos(q) {s} a*cos(r) {opposite} b*sin(r)"
restitution = {e}
friction = {mu}
"#
            )
            .unwrap();
        }
    }
    text.push_str("[initial]\nv = { p = 150.0, q = -75.0, r = 0.0 }\n");
    text.push_str("[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-4\nuntil = 0.1\n");
    text
}

fn ball_in_a_box(example: &str) -> String {
    let direction = if example.contains("tilt") {
        "7*pi/6"
    } else {
        "-pi/2"
    };
    format!(
        r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1.0, 1.0]
potential = "-9.81*(cos({direction})*x + sin({direction})*y)"
unilateral = [
  {{ name = "1", gap = "x - 1", restitution = 0.3 }},
  {{ name = "2", gap = "4 - 1 - x", restitution = 0.3 }},
  {{ name = "3", gap = "y - 1", restitution = 0.3 }},
  {{ name = "4", gap = "4 - 1 - y", restitution = 0.3 }},
]
[initial]
q = {{ x = 2.0, y = 2.0 }}
[simulation]
scheme = "moreau-jean"
step = 5e-3
until = 2.0
"#
    )
}

/// A block on a plane: weight `normal`, force `force` along it.
pub fn block(normal: f64, force: &str, mu: f64, e: f64, start: [f64; 4]) -> String {
    let [x, y, vx, vy] = start;
    format!(
        r#"
saltus = 1
[system]
coordinates = ["x", "y"]
mass = [1.0, 1.0]
force = ["{force}", "{normal}"]
unilateral = [{{ name = "floor", gap = "y", tangential = "x", restitution = {e}, friction = {mu} }}]
[initial]
q = {{ x = {x}, y = {y} }}
v = {{ x = {vx}, y = {vy} }}
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 1.0
"#
    )
}

fn disc(mu: f64) -> String {
    format!(
        r#"
saltus = 1
[system]
coordinates = ["x", "y", "z"]
mass = [1.0, 1.0, 1.0]
force = [0, 0, -9.81]
unilateral = [{{ name = "floor", gap = "z", tangential = ["x", "y"], restitution = 0.0, friction = {mu} }}]
[initial]
v = {{ x = 3.0, y = 4.0, z = 0.0 }}
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 2.0
"#
    )
}

pub fn columns(trajectory: &Trajectory, names: &[&str]) -> Vec<Vec<f64>> {
    let column = |name: &&str| trajectory.column(name).unwrap().to_vec();
    names.iter().map(column).collect()
}

pub fn last(trajectory: &Trajectory, names: &[&str]) -> Vec<f64> {
    let mut all = columns(trajectory, names);
    all.iter_mut().map(|c| c.pop().unwrap()).collect()
}

pub const CRANK: [&str; 6] = ["q.p", "q.q", "q.r", "v.p", "v.q", "v.r"];
const BALL: [&str; 4] = ["q.x", "q.y", "v.x", "v.y"];

/// Steps in which a contact closed: its gap was open before and is not now.
pub fn impulsive(trajectory: &Trajectory, contacts: usize) -> Vec<usize> {
    let mut steps = Vec::new();
    for k in 1..=contacts {
        let gap = columns(trajectory, &[&format!("gap.{k}")]).remove(0);
        steps.extend((1..gap.len()).filter(|&i| gap[i - 1] > 0.0 && gap[i] <= 0.0));
    }
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// `[impulsive steps, last one, min gap, gaps, max |v|, E(0), E(T), largest gain]` of a ball in a box.
fn ball_summary(trajectory: &Trajectory, has_impacts: bool) -> Vec<f64> {
    let steps = if has_impacts {
        impulsive(trajectory, 4)
    } else {
        Vec::new()
    };
    let names = ["gap.1", "gap.2", "gap.3", "gap.4"];
    let gaps = columns(trajectory, &names);
    let least = gaps.iter().flatten().fold(f64::INFINITY, |m, g| m.min(*g));
    let end = last(trajectory, &["v.x", "v.y"]);
    let energy = columns(trajectory, &["energy.total"]).remove(0);
    let gain = energy.windows(2).map(|e| e[1] - e[0]);
    #[allow(clippy::cast_precision_loss)]
    let mut out = vec![
        steps.len() as f64,
        steps.last().copied().unwrap_or(0) as f64,
        least,
    ];
    out.extend(last(trajectory, &names));
    out.push(end[0].abs().max(end[1].abs()));
    out.extend([energy[0], energy[energy.len() - 1]]);
    out.push(gain.fold(f64::NEG_INFINITY, f64::max));
    out
}

/// Angles and rates of the slider–crank after every `stride` steps of the trapezoidal rule.
pub fn motion(text: &str, h: f64, steps: u32, stride: u32) -> Vec<Vec<f64>> {
    let model = parse(text);
    let mut integrator = scheme("vel").unwrap().build().unwrap();
    let mut state = model.initial.clone();
    integrator.prepare(&*model.system, &state, h).unwrap();
    let mut motion = vec![Vec::new(); 6];
    for k in 0..=steps {
        if k % stride == 0 {
            for (column, x) in motion.iter_mut().zip(state.q.iter().chain(&state.v)) {
                column.push(*x);
            }
        }
        let end = f64::from(k + 1) * h;
        integrator.step(&*model.system, &mut state, h, end).unwrap();
    }
    motion
}

/// Largest singular value of the matrix of differences, one row per step of the coarser motion.
pub fn spectral(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let stride = (b[0].len() - 1) / (a[0].len() - 1);
    let mut gram = [[0.0; 3]; 3];
    for i in 0..a[0].len() {
        let d: Vec<f64> = (0..3).map(|k| a[k][i] - b[k][stride * i]).collect();
        for j in 0..3 {
            for k in 0..3 {
                gram[j][k] += d[j] * d[k];
            }
        }
    }
    let mut x = [1.0, 0.9, 0.1];
    let mut size = 0.0;
    for _ in 0..500 {
        let y: Vec<f64> = gram
            .iter()
            .map(|row| row.iter().zip(&x).map(|(g, x)| g * x).sum())
            .collect();
        size = y.iter().map(|y| y * y).sum::<f64>().sqrt();
        for k in 0..3 {
            x[k] = y[k] / size;
        }
    }
    size.sqrt()
}

/// Whether a test of this file looks at an entry, in the order of the functions below.
fn topic(entry: &Entry) -> Option<&'static str> {
    let id = entry.id.as_str();
    scheme(&entry.scheme)?;
    let friction = [
        "fr_incline",
        "fr_threshold",
        "fr_ramp",
        "fr_disc3d",
        "fr_oblique",
    ];
    if id.starts_with("ball_") {
        Some("ball")
    } else if id.starts_with("sc_bil_state") || id.starts_with("sc_bil_err") {
        Some("bilateral")
    } else if id.starts_with("sc_mu0_state")
        || id.starts_with("sc_uni_state")
        || id.starts_with("sc_mu0_impacts")
        || id.starts_with("trace_mj")
    {
        Some("slider-crank")
    } else if id.starts_with("sc_table3") {
        Some("table 3")
    } else if friction.iter().any(|f| id.starts_with(f)) || id.starts_with("fr_spring") {
        Some("friction")
    } else {
        None
    }
}

/// The states of the finest run, which the errors of table 3 are counted from.
fn is_finest(entry: &Entry) -> bool {
    entry.id.starts_with("sc_uni_ref")
}

fn check_topic(name: &str, ours: impl FnMut(&Entry) -> Outcome) {
    let Some(entries) = read(FILE) else { return };
    check(name, &entries, |e| topic(e) == Some(name), ours);
}

#[test]
fn ball_in_a_box_with_every_scheme() {
    check_topic("ball", |entry| {
        let model = ball_in_a_box(&entry.example);
        let scheme = scheme(&entry.scheme).unwrap();
        let h = entry.number("dt");
        if entry.quantity == "q,v" {
            return Outcome::Ours(last(&run(&model, scheme, h, entry.number("t")), &BALL));
        }
        let trajectory = run(&model, scheme, h, entry.number("T"));
        Outcome::Ours(ball_summary(&trajectory, entry.scheme != "mj"))
    });
}

#[test]
fn slider_crank_without_clearance() {
    // Exact at t = 0.1 s, from a reduction to one degree of freedom.
    let exact = [9.140_152_416_941_643, -0.140_864_435_419_977_98, 0.0];
    let model = slider_crank(0.0, 0.0, 0.0, true);
    check_topic("bilateral", |entry| {
        let run = |h| run(&model, scheme(&entry.scheme).unwrap(), h, 0.1);
        if entry.id.starts_with("sc_bil_state") {
            return Outcome::Ours(last(&run(entry.number("dt")), &CRANK));
        }
        let steps = entry.list("dt");
        let error = |h: &f64| {
            let q = last(&run(*h), &CRANK[..3]);
            (0..3).fold(0.0_f64, |m, i| m.max((q[i] - exact[i]).abs()))
        };
        Outcome::Ours(steps.iter().map(error).collect())
    });
}

#[test]
fn slider_crank_with_clearance_and_friction() {
    check_topic("slider-crank", |entry| {
        let mu = if entry.example.contains("mu=0") {
            0.0
        } else {
            0.01
        };
        let model = slider_crank(0.001, 0.4, mu, false);
        let h = entry.number("dt");
        let run = |t| run(&model, scheme(&entry.scheme).unwrap(), h, t);
        if entry.id.starts_with("sc_mu0_impacts") {
            let steps = impulsive(&run(0.1), 4);
            #[allow(clippy::cast_precision_loss)]
            return Outcome::Ours(steps.iter().take(12).map(|k| *k as f64).collect());
        }
        if entry.id.starts_with("trace") {
            let mut names: Vec<String> = CRANK.map(str::to_owned).to_vec();
            names.extend((1..=4).map(|k| format!("impulse.{k}")));
            names.extend((1..=4).map(|k| format!("impulse_t.{k}")));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Outcome::Ours(last(&run(h * entry.number("step")), &names));
        }
        Outcome::Ours(last(&run(entry.number("t")), &CRANK))
    });
}

#[test]
fn table_3_of_the_source() {
    let model = slider_crank(0.001, 0.4, 0.01, false);
    let Some(entries) = read(FILE) else { return };
    let reference = motion(&model, 1e-7, 1_000_000, 100);
    check("finest steps", &entries, is_finest, |entry| {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let k = (entry.number("t") / 1e-5).round() as usize;
        Outcome::Ours(reference.iter().map(|column| column[k]).collect())
    });
    check_topic("table 3", |entry| {
        let error = |h: &f64| {
            let coarse = run(&model, scheme(&entry.scheme).unwrap(), *h, 0.1);
            spectral(&columns(&coarse, &CRANK[..3]), &reference)
        };
        Outcome::Ours(entry.list("dt").iter().map(error).collect())
    });
}

#[test]
fn friction_of_a_block() {
    check_topic("friction", |entry| {
        let scheme = || scheme(&entry.scheme).unwrap();
        let id = entry.id.as_str();
        let x = |model: &str, h: f64, t: f64| last(&run(model, scheme(), h, t), &["q.x"])[0];
        if id.starts_with("fr_incline") {
            let (alpha, g) = (10.0_f64.to_radians(), 9.81);
            let force = format!("{}", g * alpha.sin());
            let model = block(-g * alpha.cos(), &force, 0.5, 0.0, [0.0, 0.0, 2.0, 0.0]);
            let a = g * (0.5 * alpha.cos() - alpha.sin());
            let list = entry.list("dt");
            return Outcome::Ours(list.iter().map(|h| x(&model, *h, 1.0) - 2.0 / a).collect());
        }
        if id.starts_with("fr_threshold") {
            let shift = if id.contains("-0.001") { -0.001 } else { 0.001 };
            let alpha = 0.3_f64.atan() + shift;
            let force = format!("{}", 9.81 * alpha.sin());
            let model = block(-9.81 * alpha.cos(), &force, 0.3, 0.0, [0.0; 4]);
            return Outcome::Ours(vec![x(&model, entry.number("dt"), entry.number("T"))]);
        }
        if id.starts_with("fr_ramp") {
            let model = block(-9.81, "2*t", 0.3, 0.0, [0.0; 4]);
            let list = entry.list("dt");
            return Outcome::Ours(list.iter().map(|h| x(&model, *h, 2.0)).collect());
        }
        if id.starts_with("fr_disc3d") {
            let h = entry.number("dt");
            let trajectory = run(&disc(0.4), scheme(), h, entry.number("T"));
            return Outcome::Ours(last(&trajectory, &["q.x", "q.y"]));
        }
        if id.starts_with("fr_oblique") {
            let e = if id.ends_with("eps0.5") { 0.5 } else { 0.0 };
            let vx = if id.contains("slip") { 2.0 } else { 0.2 };
            let model = block(0.0, "0", 0.3, e, [0.0, 0.01, vx, -1.0]);
            let trajectory = run(&model, scheme(), entry.number("dt"), 0.05);
            return Outcome::Ours(last(&trajectory, &["v.x", "v.y"]));
        }
        // A mass on a spring with dry friction.
        let model = block(-9.81, "-100*x", 0.3, 0.0, [1.0, 0.0, 0.0, 0.0]);
        let t = entry.number("T");
        let exact = -0.496_125_612_467_701_37;
        let error = |n: &f64| (x(&model, t / n, t) - exact).abs();
        Outcome::Ours(entry.list("steps").iter().map(error).collect())
    });
}

/// Values that no test of this file, or of those beside it, compares, and why.
fn why_left_out(entry: &Entry) -> &'static str {
    let id = entry.id.as_str();
    // Restitution with the velocity at the start of the step, and the set of contacts predicted without the test of impacts
    // that belongs to it: the file gives them as wrong.
    let refuted = [
        "vel_restit_old",
        "vel_predset",
        "hem_HETR_B11",
        "hem_HEM4_B11",
    ];
    if refuted.contains(&entry.scheme.as_str()) {
        return "a variant that is refuted";
    }
    if id.starts_with("paper") {
        "printed in the source"
    } else if id.starts_with("solver") {
        "the contact problem alone: see the tests of the solvers"
    } else if entry.is_informative() {
        "no criterion: counts, times and ties"
    } else {
        "not compared"
    }
}

#[test]
fn what_is_left_out() {
    let Some(entries) = read(FILE) else { return };
    let ours = |e: &Entry| {
        topic(e).is_some()
            || is_finest(e)
            || runs::topic(e).is_some()
            || systems::topic(e).is_some()
    };
    leave_out(FILE, &entries, ours, why_left_out);
}
