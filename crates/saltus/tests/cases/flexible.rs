//! Bars and beams: waves, statics at large rotations, flight, many stops.

use crate::record::{agrees, record};
use crate::run::{Ran, close, number, run};
use saltus::analysis::exact::ImpactingBar;
use std::f64::consts::{PI, SQRT_2, TAU};

/// Times of the steps in which a contact gives an impulse.
fn contact_times(ran: &Ran, contact: &str) -> Vec<f64> {
    let impulses = ran.column(&format!("impulse.{contact}"));
    let largest = impulses.iter().fold(0.0, |m: f64, x| m.max(*x));
    let times = ran.column("t").into_iter().zip(&impulses);
    times
        .filter(|(_, impulse)| **impulse > 1e-9 * largest)
        .map(|(t, _)| t)
        .collect()
}

/// Mean force of a contact between two times.
fn mean_force(ran: &Ran, contact: &str, from: f64, to: f64) -> f64 {
    let impulses = ran.column(&format!("impulse.{contact}"));
    let inside: Vec<f64> = ran
        .column("t")
        .into_iter()
        .zip(impulses)
        .filter(|(t, _)| *t > from && *t <= to)
        .map(|(_, impulse)| impulse / ran.h())
        .collect();
    inside.iter().sum::<f64>() / number(inside.len())
}

/// The least of a column.
fn least(ran: &Ran, name: &str) -> f64 {
    ran.column(name).into_iter().fold(f64::INFINITY, f64::min)
}

#[test]
fn elastic_bar() {
    let exact = ImpactingBar {
        young: 900.0,
        density: 1.0,
        length: 10.0,
        section: 1.0,
        speed: 10.0,
        distance: 5.005,
    };
    let (start, end) = exact.contact();
    let ran = run("elastic-bar", &[]);
    let times = contact_times(&ran, "wall");
    close("contact begins", times[0], start, ran.h());
    close("contact ends", times[times.len() - 1], end, 2.0 * ran.h());
    let force = mean_force(&ran, "wall", start + 0.1, start + 0.55);
    close("force", force, exact.force(), 1e-2);
    let kept = ran.last("energy.total") / exact.energy();
    agrees(kept, ("generalized-alpha", "bar:036", 0), 0.0);
    close("penetration", least(&ran, "gap.wall").min(0.0), 0.0, 1e-12);
    // The bar leaves with its momentum reversed, but for what is dissipated and for waves that stay in it: what it
    // keeps of its energy E is at least the energy of its mean velocity, (p/p₀)² E.
    let (momentum, impulse) = (
        exact.density * exact.length * exact.section * exact.speed,
        ran.column("impulse.wall").iter().sum::<f64>(),
    );
    let after = impulse - momentum;
    assert!(after < momentum * kept.sqrt());
    // The momentum balance itself, of which the columns are two sides.
    let carried: f64 = (0..=200)
        .map(|i| {
            let share = if i % 200 == 0 { 0.5 } else { 1.0 };
            share * momentum / (200.0 * exact.speed) * ran.last(&format!("v.bar.{i}.x"))
        })
        .sum();
    close("momentum", after, carried, 1e-9 * momentum);
    close("README: impulse", impulse, 198.945, 1e-3);
}

#[test]
fn elastic_bar_steel() {
    let exact = ImpactingBar {
        young: 210e9,
        density: 7800.0,
        length: 1.0,
        section: 3.14e-4,
        speed: 0.1,
        distance: 5e-5,
    };
    let (start, end) = exact.contact();
    close("README: duration", end - start, 3.854_496e-4, 1e-10);
    close("README: force", exact.force(), 1270.827, 1e-3);
    let ran = run("elastic-bar-steel", &[]);
    let times = contact_times(&ran, "wall");
    close("contact begins", times[0], start, ran.h());
    // Lumped masses in exact time; both ends of the contact are known to a step.
    let lasted = times[times.len() - 1] - times[0] + ran.h();
    let record = ("flexible", "bar.semidiscrete.steel.lumped.n100", 3);
    agrees(lasted, record, 2.0 * ran.h());
    let quarter = 0.25 * (end - start);
    let force = mean_force(&ran, "wall", start + quarter, end - quarter);
    close("force", force, exact.force(), 0.1);
}

#[test]
fn elastic_bar_rod() {
    let section = PI * 1e-4;
    let exact = ImpactingBar {
        young: 210e9,
        density: 7800.0,
        length: 1.0,
        section,
        speed: 0.1,
        distance: 4.9995e-5,
    };
    let (start, end) = exact.contact();
    let duration = end - start;
    close("README: force", exact.force(), 1271.472, 1e-3);
    // (elements, damping, duration in the mesh, its tolerance)
    for (n, beta, lasts, tolerance) in [
        (50, "0", 3.818e-4, 5e-7),
        (50, "1000/E", 3.818e-4, 5e-7),
        (1000, "0", 3.848e-4, 5e-7),
        (1000, "1000/E", 3.851e-4, 5e-7),
    ] {
        let overrides = [
            format!("parameters.N={n}"),
            format!("parameters.beta='{beta}'"),
        ];
        let ran = run("elastic-bar-rod", &[&overrides[0], &overrides[1]]);
        let times = contact_times(&ran, "wall");
        close("contact begins", times[0], start, ran.h());
        let lasted = times[times.len() - 1] - times[0] + ran.h();
        close("duration", lasted, lasts, tolerance);
        let force = mean_force(
            &ran,
            "wall",
            start + 0.05 * duration,
            start + 0.5 * duration,
        );
        close("force", force, exact.force(), 0.2);
        close(
            "penetration",
            least(&ran, "gap.wall").min(0.0),
            0.0,
            1e-8 + 1e-12,
        );
        // What the impact of one node takes.
        let energy = ran.column("energy.total");
        let hit = ran.impacts("wall")[0].step as usize;
        let lost = 1.0 - energy[hit] / energy[hit - 1];
        println!("{n} elements: {lost:.4e} lost at the impact");
        if n == 50 {
            close("lost", lost, 1.0 / (2.0 * 3.0_f64.sqrt() * 50.0), 1e-5);
        }
    }
}

#[test]
fn flexible_pendulum() {
    // The semi-discrete motion before the contact in exact time, by an independent program.
    let ran = run("flexible-pendulum", &["simulation.until=0.36"]);
    let times = contact_times(&ran, "wall");
    agrees(
        times[0],
        ("flexible", "pend.contact_time.n4.ag10", 0),
        ran.h(),
    );
    close("last contact", times[times.len() - 1], 0.3463, 5e-4);
    close("penetration", least(&ran, "gap.wall").min(0.0), 0.0, 1e-12);
    let other = run(
        "flexible-pendulum",
        &[
            "parameters.g=9.81",
            "parameters.e=0.8",
            "simulation.scheme.rho_inf=0.65",
            "simulation.step=5e-4",
            "simulation.until=0.35",
        ],
    );
    let impacts = contact_times(&other, "wall");
    let record = ("flexible", "pend.contact_time.n4.ag9.81", 0);
    agrees(impacts[0], record, other.h());
    // The gap after 0.3 s, by another program with the same scheme.
    let gap = other.column("gap.wall")[600];
    agrees(gap, ("generalized-alpha", "flex_s004:015", 0), 0.0);
    close("wall", ran.column("gap.wall")[0], 1.0 - 0.5 * SQRT_2, 1e-15);
}

/// Position and angle of the last node of a beam of `n` elements in the plane at the end.
fn tip(ran: &Ran, n: usize) -> [f64; 3] {
    ["x", "y", "angle"].map(|c| ran.last(&format!("q.beam.{n}.{c}")))
}

#[track_caller]
fn stands_at(ran: &Ran, n: usize, place: [f64; 3], tolerance: f64) {
    for (ours, exact) in tip(ran, n).into_iter().zip(place) {
        close("tip", ours, exact, tolerance);
    }
}

#[test]
fn cantilever_roll_up() {
    let ran = run("cantilever-roll-up", &[]);
    stands_at(&ran, 10, [0.0, 0.0, TAU], 1e-9);
}

#[test]
fn cantilever_half_roll_up() {
    for n in [5_usize, 10, 20] {
        let elements = format!("parameters.n={n}");
        let ran = run("cantilever-half-roll-up", &[&elements]);
        // Half of a regular polygon of 2n sides.
        let across = 10.0 / number(n) / (0.5 * PI / number(n)).sin();
        stands_at(&ran, n, [0.0, across, PI], 1e-8);
    }
}

#[test]
fn elastica() {
    // Sixteen elements by an independent program; the inextensible elastica by shooting, within its error n⁻².
    for load in [1, 2, 5, 10] {
        let ran = run("elastica", &[&format!("parameters.load={load}")]);
        let [x, y, angle] = tip(&ran, 16);
        for (k, ours) in [y, 1.0 - x, angle].into_iter().enumerate() {
            agrees(ours, ("flexible", &format!("ge2.elastica.{load}"), k), 0.0);
        }
    }
    let Some(exact) = record("flexible", "elastica.exact.5") else {
        return;
    };
    let exact = [1.0 - exact.values[1], exact.values[0], exact.values[2]];
    let error = |n: usize| {
        let ran = run("elastica", &[&format!("parameters.n={n}")]);
        let tip = tip(&ran, n);
        let differences = tip.iter().zip(exact).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, f64::max)
    };
    let (coarse, fine) = (error(16), error(32));
    close("order", (coarse / fine).log2(), 2.0, 0.05);
}

#[test]
fn cantilever_45_degree_bend() {
    // The same mesh by an independent program, in axes x and y exchanged.
    for n in [8, 32] {
        let ran = run("cantilever-45-degree-bend", &[&format!("parameters.n={n}")]);
        for (k, c) in ["y", "x", "z"].iter().enumerate() {
            let ours = ran.last(&format!("q.beam.{n}.{c}"));
            agrees(ours, ("flexible", &format!("b3.bend45.n{n}"), k), 0.0);
        }
    }
}

#[test]
fn right_angle_frame() {
    let ran = run("right-angle-frame", &[]);
    // The tip after 2, 4, 6, 8 and 10 s by an explicit scheme of fourth order in fine steps; ours are of second order.
    for second in 0..5 {
        for (c, (axis, origin)) in [("x", 10.0), ("y", 10.0), ("z", 0.0)].iter().enumerate() {
            let column = ran.column(&format!("q.outer.4.{axis}"));
            let ours = column[200 * (second + 1)] - origin;
            agrees(
                ours,
                ("flexible", "b3.rightangle.n4.tip", 3 * second + c),
                1.3e-4,
            );
        }
    }
    let kept = ran.last("energy.total");
    agrees(kept, ("flexible", "b3.rightangle.n4.range", 3), 0.0);
}

#[test]
fn flying_beam() {
    let ran = run("flying-beam", &[]);
    let momentum = |axis: &str| -> f64 {
        (0..=10)
            .map(|i| {
                let mass = if i % 10 == 0 { 0.5 } else { 1.0 };
                mass * ran.last(&format!("v.beam.{i}.{axis}"))
            })
            .sum()
    };
    close("momentum", momentum("x"), 20.0, 1e-9);
    close("momentum", momentum("y"), 0.0, 1e-9);
    let after = ran.column("energy.total")[501..].to_vec();
    close("energy drift", crate::run::drift(&after), 0.0, 0.05);
}

#[test]
fn whip() {
    let ran = run("whip", &[]);
    for k in 0..7 {
        let name = format!("gap.stop.{k}");
        close(&name, least(&ran, &name).min(0.0), 0.0, 1e-12);
    }
    let hits: u64 = ran
        .outcome()
        .events
        .contacts
        .iter()
        .map(|c| c.impacts)
        .sum();
    println!("{hits} impacts");
    assert!(hits > 50);
    // The potential energy of the beam on its stops is the least it can fall to.
    let weight = 7800.0 * 0.02 * 0.002 * 9.81;
    assert!(ran.last("energy.total") > -0.05 * weight);
    assert!(ran.last("energy.total") < 0.0);
}

/// The first step that an explicit method tries is far too long for a stiff beam, and its forces are beyond all numbers.
#[test]
fn a_whip_begins_with_steps_that_are_short_enough() {
    let ran = run(
        "whip",
        &[
            "simulation.scheme='event-driven'",
            "simulation.step=5e-5",
            "simulation.until=5e-5",
        ],
    );
    let energy = ran.column("energy.total");
    close("energy", energy[energy.len() - 1], energy[0], 1e-9);
}

#[test]
fn a_steel_beam_falls_freely_at_any_step() {
    // The forces in the beam are differences of numbers that make more noise in a short step than its momentum.
    let text = r#"
saltus = 1
gravity = [0, -9.81]
materials.steel = { young = 210e9, poisson = 0.3, density = 7800 }
sections.strip.rectangle = { width = 0.03, height = 0.01 }
beam = [{ name = "beam", from = [0, 0], to = [1, 0], elements = 40, material = "steel", section = "strip" }]
simulation = { scheme = "moreau-jean", step = 1e-5, until = 0.02 }
"#;
    for (h, until) in [(1e-3, 0.1), (2e-5, 0.04), (2e-6, 0.01)] {
        let model = saltus_model::Model::parse(
            "beam",
            "beam",
            text.to_owned(),
            saltus_model::Format::Toml,
            &[],
        )
        .unwrap_or_else(|errors| panic!("{errors}"));
        let run = saltus::Simulation::new(&*model.system, model.scheme.clone())
            .start(model.initial.clone())
            .step(h)
            .until(until)
            .record()
            .unwrap();
        let y = run.column("q.beam.20.y").unwrap().last().unwrap();
        assert!(
            (y + 0.5 * 9.81 * until * until).abs() < 1e-12,
            "h = {h}: {y}"
        );
    }
}
