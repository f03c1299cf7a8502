//! Bars and beams: waves.

use crate::run::{Ran, close, number, run};
use saltus::analysis::exact::ImpactingBar;

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
    // The bar leaves with its momentum reversed.
    let impulse: f64 = ran.column("impulse.wall").iter().sum();
    close("impulse", impulse, 200.0, 1.0);
}
