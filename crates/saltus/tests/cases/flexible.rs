//! Bars and beams: waves, statics at large rotations, flight, many stops.

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
    close(
        "energy kept",
        ran.last("energy.total") / exact.energy(),
        0.994_231,
        2e-4,
    );
    close("penetration", least(&ran, "gap.wall").min(0.0), 0.0, 1e-12);
    // The bar leaves with its momentum of 100 N·s reversed, but for what the scheme dissipates.
    let impulse: f64 = ran.column("impulse.wall").iter().sum();
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
    // Lumped masses in exact time part after 3.876970e-4 s.
    let lasted = times[times.len() - 1] - times[0] + ran.h();
    close("duration", lasted, 3.876_970e-4, 2.0 * ran.h());
    let quarter = 0.25 * (end - start);
    let force = mean_force(&ran, "wall", start + quarter, end - quarter);
    close("force", force, exact.force(), 0.1);
}

#[test]
fn flexible_pendulum() {
    // The semi-discrete motion before the contact in exact time, by an independent program.
    let ran = run("flexible-pendulum", &["simulation.until=0.36"]);
    let times = contact_times(&ran, "wall");
    close("first contact", times[0], 0.327_023_385, ran.h());
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
    close("other set", impacts[0], 0.330_192_517, other.h());
    // The gap after 0.3 s, by another program with the same scheme.
    close(
        "gap",
        other.column("gap.wall")[600],
        0.087_332_922_684_55,
        1e-5,
    );
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
    let meshed = [
        (
            1.0,
            [0.301_489_519_968, 0.056_316_562_506, 0.461_438_938_978],
        ),
        (
            2.0,
            [0.493_215_412_135, 0.160_393_363_825, 0.782_110_067_856],
        ),
        (
            5.0,
            [0.713_627_478_267, 0.387_282_208_229, 1.216_364_173_473],
        ),
        (
            10.0,
            [0.810_403_077_833, 0.554_599_613_159, 1.431_527_781_998],
        ),
    ];
    for (load, [w, u, angle]) in meshed {
        let ran = run("elastica", &[&format!("parameters.load={load}")]);
        stands_at(&ran, 16, [1.0 - u, w, angle], 1e-8);
    }
    let exact = [1.0 - 0.387_628_360_7, 0.713_791_523_6, 1.215_368_117_6];
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
    let meshed = [
        (8, [47.250_573_094_9, 15.738_335_583_2, 53.392_034_654_7]),
        (32, [47.156_730_948_5, 15.688_127_782_3, 53.469_615_184_7]),
    ];
    for (n, place) in meshed {
        let ran = run("cantilever-45-degree-bend", &[&format!("parameters.n={n}")]);
        for (c, exact) in ["x", "y", "z"].iter().zip(place) {
            let ours = ran.last(&format!("q.beam.{n}.{c}"));
            close("tip", ours, exact, 1e-6);
        }
    }
}

#[test]
fn right_angle_frame() {
    let ran = run("right-angle-frame", &[]);
    // The tip after 2, 4, 6, 8 and 10 s by an explicit scheme of fourth order in fine steps.
    let exact = [
        [0.115_723_31, -0.675_046_64, 0.075_363_32],
        [0.423_268_30, -0.660_542_74, 3.489_020_17],
        [-1.173_269_70, -1.702_501_54, 6.788_961_73],
        [0.016_185_38, -2.604_018_57, 7.945_998_04],
        [-0.062_805_15, -1.998_969_36, 4.375_402_83],
    ];
    for (k, place) in exact.iter().enumerate() {
        for (c, (axis, origin)) in [("x", 10.0), ("y", 10.0), ("z", 0.0)].iter().enumerate() {
            let column = ran.column(&format!("q.outer.4.{axis}"));
            close("tip", column[200 * (k + 1)] - origin, place[c], 2e-4);
        }
    }
    close("energy", ran.last("energy.total"), 114.248_6, 5e-3);
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
