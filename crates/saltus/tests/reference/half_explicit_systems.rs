//! The half-explicit schemes on other systems: the elastic bar, oscillators, a sphere, the rotor; and their exact motions.

use crate::entries::{Entry, Outcome, check, read};
use crate::event_driven_scheme::{self as event_driven, parse};
use crate::half_explicit::{FILE, block, columns, last, run, scheme, scheme_with};
use saltus::analysis::exact::{ImpactingBar, ImpactingMass};
use saltus_integrators::{EventDrivenOptions, EventKind};
use saltus_mechanics::modes::modes;
use saltus_system::State;
use saltus_zoo::Linear;
use std::f64::consts::PI;

/// Gap \[m\] up to which the reference of the rotor takes its contact as closed, unlike the other examples: the journal bounces
/// by nanometres, and this decides how often.
const ROTOR_TOLERANCE: f64 = 1e-8;

/// Whether a test of this file looks at an entry, in the order of the functions below.
pub fn topic(entry: &Entry) -> Option<&'static str> {
    let id = entry.id.as_str();
    if entry.is_informative() {
        None
    } else if id.starts_with("bar_cfl") || id.starts_with("bar_damped") {
        Some("stability of the bar")
    } else if id.starts_with("bar_") {
        Some("bar")
    } else if id.starts_with("cfl_") || id.starts_with("rk_") {
        Some("smooth motion")
    } else if id.starts_with("rotor_") {
        Some("rotor")
    } else if id.ends_with("_exact") || id == "sphere_vel" {
        Some("exact motion")
    } else {
        None
    }
}

fn check_topic(name: &str, ours: impl FnMut(&Entry) -> Outcome) {
    let Some(entries) = read(FILE) else { return };
    check(name, &entries, |e| topic(e) == Some(name), ours);
}

const ROD: ImpactingBar = ImpactingBar {
    young: 210e9,
    density: 7800.0,
    length: 1.0,
    section: PI * 1e-4,
    speed: 0.1,
    distance: 4.9995e-5,
};

/// Time in which a wave runs through the rod and back \[s\].
fn passage() -> f64 {
    let (start, end) = ROD.contact();
    end - start
}

/// What a run of the bar shows after a step.
struct BarStep {
    t: f64,
    /// Gap \[m\] and velocities of the first, the middle and the last node \[m/s\]; position of the last \[m\].
    gap: f64,
    v: [f64; 3],
    far: f64,
    /// `λ⁺` and `λ⁻` \[N\], 0 in a step with an impact; impulse over the step \[N·s\].
    lambda: [f64; 2],
    impulse: f64,
    hits: bool,
    energy: f64,
    /// Velocity of the centre of mass \[m/s\].
    mean: f64,
}

/// The bar of an entry: material damping `beta` \[s\].
struct Rod {
    system: Linear,
    elements: usize,
    beta: f64,
    is_lumped: bool,
}

impl Rod {
    fn of(entry: &Entry) -> Self {
        let parameter = |name: &str| entry.parameters[name].as_f64().unwrap_or(0.0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let elements = entry.number("N") as usize;
        Self::new(elements, parameter("beta"), parameter("lumped") == 1.0)
    }

    #[allow(clippy::cast_precision_loss)]
    fn new(elements: usize, beta: f64, is_lumped: bool) -> Self {
        let l = ROD.length / elements as f64;
        let (s, e, rho) = (ROD.section, ROD.young, ROD.density);
        let mut system = saltus_zoo::bar(elements + 1, l, s, e, rho, 0.0);
        if is_lumped {
            // Row sums.
            system.mass = system.mass.iter().map(|&(i, _, m)| (i, i, m)).collect();
        }
        let damping = system.stiffness.iter().map(|&(i, j, k)| (i, j, beta * k));
        system.damping = damping.filter(|d| d.2 != 0.0).collect();
        Self {
            system,
            elements,
            beta,
            is_lumped,
        }
    }

    fn start(&self, distance: f64) -> State {
        let nodes = self.elements + 1;
        State::new(0.0, vec![distance; nodes], vec![-ROD.speed; nodes])
    }

    /// Largest stable step that the trapezoidal rule tells \[s\].
    fn stable_step(&self) -> f64 {
        let mut integrator = scheme("vel").unwrap().build().unwrap();
        let start = self.start(ROD.distance);
        integrator.prepare(&self.system, &start, 1e-7).unwrap();
        integrator.stable_step().unwrap()
    }

    /// Momentum \[N·s\] that the wall gives in the first stage: the first row of `M (v¹ − v) − h f`, where the positions that
    /// the step leads to tell `v¹` (eqs. 65 and 66).
    #[allow(clippy::cast_precision_loss)]
    fn first_stage(&self, before: &State, q: &[f64], h: f64) -> f64 {
        let l = ROD.length / self.elements as f64;
        let m = ROD.density * ROD.section * l;
        let k = ROD.young * ROD.section / l;
        let change = |i: usize| 2.0 * ((q[i] - before.q[i]) / h - before.v[i]);
        let stretch = before.q[1] - before.q[0] + self.beta * (before.v[1] - before.v[0]);
        let inertia = if self.is_lumped {
            0.5 * m * change(0)
        } else {
            m / 3.0 * change(0) + m / 6.0 * change(1)
        };
        inertia - h * k * stretch
    }

    /// Steps of the trapezoidal rule, the start first; ends where the motion is lost.
    #[allow(clippy::cast_precision_loss)]
    fn run(&self, h: f64, until: f64) -> Vec<BarStep> {
        let mut integrator = scheme("vel").unwrap().build().unwrap();
        let mut state = self.start(ROD.distance);
        let first = integrator.prepare(&self.system, &state, h).unwrap();
        let n = self.elements;
        let look = |state: &State, energy: f64| BarStep {
            t: state.t,
            gap: state.q[0],
            v: [state.v[0], state.v[n / 2], state.v[n]],
            far: state.q[n],
            lambda: [0.0; 2],
            impulse: 0.0,
            hits: false,
            energy,
            mean: (state.v.iter().sum::<f64>() - 0.5 * (state.v[0] + state.v[n])) / n as f64,
        };
        let mut steps = vec![look(&state, first.energy.total())];
        let mut before = state.clone();
        let mut k = 0_u32;
        while state.t < until - 0.5 * h {
            k += 1;
            let end = f64::from(k) * h;
            let Ok(report) = integrator.step(&self.system, &mut state, h, end) else {
                break;
            };
            let mut now = look(&state, report.energy.total());
            now.impulse = integrator.reactions().impulse[0];
            now.hits = before.q[0] > 0.0 && state.q[0] <= 0.0;
            if !now.hits && now.impulse > 0.0 {
                let start = self.first_stage(&before, &state.q, h) / h;
                now.lambda = [start, 2.0 * now.impulse / h - start];
            }
            steps.push(now);
            before.clone_from(&state);
        }
        steps
    }

    /// Energy at 0.9 ms as a share of that at the start; infinite where the motion is lost.
    fn energy_left(&self, h: f64) -> f64 {
        let steps = self.run(h, 9e-4);
        let last = &steps[steps.len() - 1];
        if last.t < 9e-4 - h || !last.energy.is_finite() {
            return f64::INFINITY;
        }
        last.energy / steps[0].energy
    }
}

#[allow(clippy::cast_precision_loss)]
fn mean_and_deviation(values: &[f64]) -> [f64; 2] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    [mean, square.sqrt()]
}

fn between(steps: &[BarStep], from: f64, to: f64) -> &[BarStep] {
    let find = |t: f64| steps.partition_point(|s| s.t < t);
    &steps[find(from)..find(to)]
}

/// `λ⁻` in a part of the contact that began with an impact at `start`, from and to a share of the passage.
fn end_forces(steps: &[BarStep], start: f64, from: f64, to: f64) -> Vec<f64> {
    let part = between(steps, start + from * passage(), start + to * passage());
    let pressed = part.iter().filter(|s| !s.hits);
    pressed.map(|s| s.lambda[1]).collect()
}

/// The fifteen numbers of a hit, in the order of the file.
#[allow(clippy::cast_precision_loss)]
fn hit(steps: &[BarStep]) -> Vec<f64> {
    let first = steps.iter().position(|s| s.hits).unwrap();
    let last = steps.iter().rposition(|s| s.impulse > 0.0).unwrap();
    let (start, end) = (steps[first].t, &steps[steps.len() - 1]);
    let contact = &steps[first..=last];
    let [mean, deviation] = mean_and_deviation(&end_forces(steps, start, 0.0, 0.5));
    let [overall, _] = mean_and_deviation(&end_forces(steps, start, 0.0, 1.0));
    let idle = contact.iter().filter(|s| s.impulse <= 0.0).count();
    let hits = steps.iter().filter(|s| s.hits).count();
    let still = contact[..contact.len() - 1].iter().map(|s| s.v[0].abs());
    vec![
        start,
        steps[last].t - start,
        mean,
        deviation,
        overall,
        steps[first].impulse,
        steps.iter().fold(f64::INFINITY, |m, s| m.min(s.gap)),
        still.fold(0.0, f64::max),
        idle as f64,
        hits as f64,
        end.mean,
        steps[0].energy,
        steps[first].energy,
        end.energy,
        steps.iter().fold(0.0, |m: f64, s| m.max(s.energy)),
    ]
}

/// The twelve numbers about the force, in the order of the file.
fn force(steps: &[BarStep]) -> Vec<f64> {
    let first = steps.iter().position(|s| s.hits).unwrap();
    // What round-off of positions leaves of a force of 0 is below 1e-6 N.
    let last = steps.iter().rposition(|s| s.lambda[1] > 1e-6).unwrap();
    let (start, release) = (steps[first].t, steps[last].t);
    let mut out = vec![release - start];
    for (from, to) in [(0.05, 0.5), (0.5, 0.95)] {
        let forces = end_forces(steps, start, from, to);
        out.extend(mean_and_deviation(&forces));
        let off = forces.iter().map(|f| (f - ROD.force()).abs());
        out.push(off.fold(0.0, f64::max));
    }
    let closed = steps[first + 1..=last].iter().map(|s| s.lambda[1]);
    out.push(closed.fold(f64::INFINITY, f64::min));
    let tip = steps.partition_point(|s| s.t < start + 0.6 * passage());
    out.push(steps[tip].v[2]);
    let after = between(steps, release + 5e-5, release + 3e-4);
    let velocities: Vec<f64> = after.iter().map(|s| s.v[0]).collect();
    out.extend(mean_and_deviation(&velocities));
    out.push(steps[steps.len() - 1].energy / steps[0].energy);
    out
}

#[test]
fn elastic_bar() {
    const STILL: &str = "round-off of a node at rest";
    check_topic("bar", |entry| {
        match entry.id.as_str() {
            "bar_c0" => return Outcome::Ours(vec![ROD.wave_speed()]),
            "bar_T" => return Outcome::Ours(vec![passage()]),
            "bar_tau" => return Outcome::Ours(vec![ROD.force()]),
            _ => {}
        }
        let rod = Rod::of(entry);
        let h = entry.number("dt");
        if entry.id.contains("state") {
            let steps = rod.run(h, 5.2e-4);
            let s = &steps[steps.len() - 1];
            let [v0, middle, far] = s.v;
            let impact = if s.hits { s.impulse } else { 0.0 };
            let [start, end] = s.lambda;
            return Outcome::Differs {
                ours: vec![s.t, s.gap, v0, s.far, far, middle, start, end, impact],
                known: vec![(2, 0.0, 1e-15)],
                reason: STILL,
            };
        }
        if entry.id.starts_with("bar_force") {
            return Outcome::Ours(force(&rod.run(h, 1.3e-3)));
        }
        Outcome::Differs {
            ours: hit(&rod.run(h, 1e-3)),
            known: vec![(7, 0.0, 1e-15)],
            reason: STILL,
        }
    });
}

#[test]
fn stability_of_the_bar() {
    check_topic("stability of the bar", |entry| {
        if entry.id == "bar_cfl_N1000" {
            let step = Rod::of(entry).stable_step();
            let lumped = Rod::new(1000, 0.0, true).stable_step();
            return Outcome::Ours(vec![2.0 / step, step, lumped]);
        }
        let rod = Rod::of(entry);
        if entry.id.starts_with("bar_damped") {
            let is_stable = rod.energy_left(entry.number("dt")) <= 1.01;
            return Outcome::Ours(vec![f64::from(u8::from(is_stable))]);
        }
        let h = entry.number("dt_over_dtcrit") * rod.stable_step();
        Outcome::Ours(vec![rod.energy_left(h)])
    });
}

/// Whether a free oscillation of circular frequency 1 /s and damping ratio `xi` stays small in steps of `z` \[s\].
fn stays(name: &str, xi: f64, z: f64) -> bool {
    let mut system = saltus_zoo::oscillator(1.0, 1.0, -1e9, 0.0);
    system.damping = vec![(0, 0, 2.0 * xi)];
    let mut integrator = scheme(name).unwrap().build().unwrap();
    let mut state = State::new(0.0, vec![1.0], vec![0.0]);
    integrator.prepare(&system, &state, z).unwrap();
    (1..=20_000_u32).all(|k| {
        let end = f64::from(k) * z;
        integrator.step(&system, &mut state, z, end).is_ok() && state.q[0].abs() < 1e3
    })
}

/// Limit of stability that runs show, and the one that the scheme tells.
fn limit(name: &str, xi: f64) -> [f64; 2] {
    let (mut low, mut high) = (0.5, 4.0);
    for _ in 0..14 {
        let middle = 0.5 * (low + high);
        if stays(name, xi, middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut system = saltus_zoo::oscillator(1.0, 1.0, -1e9, 0.0);
    system.damping = vec![(0, 0, 2.0 * xi)];
    let mut integrator = scheme(name).unwrap().build().unwrap();
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    integrator.prepare(&system, &start, 0.1).unwrap();
    [0.5 * (low + high), integrator.stable_step().unwrap()]
}

#[test]
fn stability_and_order_of_smooth_motion() {
    check_topic("smooth motion", |entry| {
        if entry.id == "rk_cond_HEM4" {
            // One step of length 1 of rates 1, t, t², v of the rate t, t³: the sums of the conditions of order.
            let text = r#"
saltus = 1
[system]
coordinates = ["one", "c", "cc", "ac", "ccc"]
mass = [1.0, 1.0, 1.0, 1.0, 1.0]
force = ["1", "t", "t^2", "v.c", "t^3"]
[simulation]
scheme = "half-explicit"
step = 1.0
until = 1.0
"#;
            let run = run(text, scheme("HEM4").unwrap(), 1.0, 1.0);
            let names = ["v.one", "v.c", "v.cc", "v.ac", "v.ccc"];
            return Outcome::Ours(last(&run, &names));
        }
        let [found, told] = if entry.id.starts_with("cfl") {
            limit("vel", entry.number("xi"))
        } else {
            limit(entry.id.trim_start_matches("rk_imag_limit_"), 0.0)
        };
        assert!(
            (found - told).abs() <= 0.002,
            "{}: {found} found, {told} told",
            entry.id
        );
        Outcome::Ours(vec![found])
    });
}

/// A sphere of radius 0.1 m on a rough floor; its angles are integrals of the angular velocity.
const SPHERE: &str = r#"
saltus = 1
[parameters]
R = 0.1
J = "2/5*R^2"
[system]
coordinates = ["x", "y", "z", "a", "b", "c"]
mass = [1.0, 1.0, 1.0, "J", "J", "J"]
force = [0, 0, -9.81, 0, 0, 0]
[[system.unilateral]]
name = "floor"
gap = "z - R"
tangential_velocity = ["v.x - R*v.b", "v.y + R*v.a"]
restitution = 0.0
friction = 0.3
[initial]
q = { z = "R" }
v = { x = 3.0, y = 4.0 }
[simulation]
scheme = "half-explicit"
step = 1e-3
until = 1.0
"#;

/// The same in the plane of its straight path, which friction in two directions does not leave.
const ROLLER: &str = r#"
saltus = 1
[parameters]
R = 0.1
[system]
coordinates = ["s", "z", "b"]
mass = [1.0, 1.0, "2/5*R^2"]
force = [0, -9.81, 0]
[[system.unilateral]]
name = "floor"
gap = "z - R"
tangential_velocity = "v.s - R*v.b"
restitution = 0.0
friction = 0.3
[initial]
q = { z = "R" }
v = { s = 5.0 }
[simulation]
scheme = "event-driven"
step = 0.05
until = 1.0
"#;

/// Length of the straight path of the sphere after 1 s \[m\].
const PATH: f64 = 3.918_152_378_178_59;

fn exactly(text: &str, until: f64) -> event_driven::Run {
    let model = parse(text);
    let options = EventDrivenOptions {
        rtol: 1e-13,
        ..EventDrivenOptions::default()
    };
    event_driven::run(&*model.system, options, &model.initial, 0.05, until)
}

#[test]
fn exact_motion() {
    check_topic("exact motion", |entry| {
        let g = 9.81;
        Outcome::Ours(match entry.id.as_str() {
            "ball_y_exact" => {
                let ball = ImpactingMass::under_force(-g, 0.3, 1.0, 0.0, 1.0);
                vec![ball.impacts()[0].t, ball.accumulation().unwrap()]
            }
            "fr_incline_exact" => {
                let alpha = 10.0_f64.to_radians();
                let along = format!("{}", g * alpha.sin());
                let text = block(-g * alpha.cos(), &along, 0.5, 0.0, [0.0, 0.0, 2.0, 0.0]);
                let run = exactly(&text, 1.0);
                let stop = run.times(EventKind::Stick)[0];
                let early = run.states.iter().find(|s| s.t > 0.2).unwrap();
                let slowing = (2.0 - early.v[0]) / early.t;
                vec![stop, run.last().q[0], slowing]
            }
            "fr_ramp_exact" => {
                let run = exactly(&block(-g, "2*t", 0.3, 0.0, [0.0; 4]), 2.0);
                vec![run.times(EventKind::Slip)[0], run.last().q[0]]
            }
            "fr_spring_exact" => {
                let text = block(-g, "-100*x", 0.3, 0.0, [1.0, 0.0, 0.0, 0.0]);
                vec![exactly(&text, entry.number("T")).last().q[0]]
            }
            "sphere_exact" => {
                let run = exactly(ROLLER, 1.0);
                let State { q, v, .. } = run.last();
                vec![run.times(EventKind::Stick)[0], v[0], q[0]]
            }
            _ => {
                let error = |h: &f64| {
                    let end = run(SPHERE, scheme(&entry.scheme).unwrap(), *h, 1.0);
                    let end = last(&end, &["q.x", "q.y"]);
                    (end[0].hypot(end[1]) - PATH).abs()
                };
                entry.list("dt").iter().map(error).collect()
            }
        })
    });
}

/// The case of the rotor. The reference takes the rotation of the journal at the first node, the case at the place of contact.
fn rotor() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../cases/rotor-rig/model.toml"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let between = "rJF*((1 - s)*v.p0 + s*v.p1)";
    assert!(text.contains(between));
    text.replace(between, "rJF*v.p0")
}

/// Deflection of the journal \[m\] from those of two nodes and their slopes, by Hermite's polynomials.
fn journal(y: [f64; 2], slope: [f64; 2]) -> f64 {
    let l = 0.09;
    let s: f64 = 0.5 * 19e-3 / l;
    (1.0 - 3.0 * s.powi(2) + 2.0 * s.powi(3)) * y[0]
        + l * (s - 2.0 * s.powi(2) + s.powi(3)) * slope[0]
        + (3.0 * s.powi(2) - 2.0 * s.powi(3)) * y[1]
        + l * (s.powi(3) - s.powi(2)) * slope[1]
}

#[test]
fn rotor_in_its_bearing() {
    let text = rotor();
    check_topic("rotor", |entry| {
        if entry.id == "rotor_eigs" {
            let model = parse(&text);
            let found = modes(&*model.system, &model.initial, model.initial.v.len());
            let modes = found.unwrap().list;
            let omega: Vec<f64> = modes
                .iter()
                .map(saltus_mechanics::modes::Mode::omega)
                .collect();
            let mut ours: Vec<f64> = omega[..8].iter().map(|w| w / (2.0 * PI)).collect();
            let largest = omega[omega.len() - 1];
            ours.extend([largest, 2.0 / largest]);
            return Outcome::Differs {
                ours,
                known: (0..3).map(|i| (i, 0.0, 1e-3)).collect(),
                reason: "round-off of rigid motions",
            };
        }
        let (h, t) = (entry.number("dt"), entry.number("t"));
        let scheme = scheme_with(&entry.scheme, ROTOR_TOLERANCE).unwrap();
        let run = run(&text, scheme, h, t);
        let at = |names: [&str; 2]| {
            let end = columns(&run, &names);
            [end[0][end[0].len() - 1], end[1][end[1].len() - 1]]
        };
        let [y, z] = at(["q.Y", "q.Z"]);
        let [phi, rate] = at(["q.p2", "v.p2"]);
        let along = journal(at(["q.y0", "q.y1"]), at(["q.b0", "q.b1"]));
        let up = journal(at(["q.z0", "q.z1"]), at(["q.a0", "q.a1"]).map(|a| -a));
        Outcome::Ours(vec![along - y, up - z, phi, rate, y, z])
    });
}
