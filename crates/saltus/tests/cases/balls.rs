//! Single balls under a constant force: flights are exact on the grid.

use crate::run::{close, number, run};

/// Times of the first `n` impacts after a fall of `first` \[s\] from rest.
fn impacts(first: f64, e: f64, n: usize) -> Vec<f64> {
    let mut flight = 2.0 * first;
    let mut times = vec![first];
    for _ in 1..n {
        flight *= e;
        times.push(times.last().unwrap() + flight);
    }
    times
}

#[test]
fn bouncing_ball() {
    let e = 0.8;
    let first = (2.0_f64 * 0.801 / 10.0).sqrt();
    close("README: first impact", first, 0.400_249_922, 5e-10);
    let accumulation = first * (1.0 + e) / (1.0 - e);
    close("README: accumulation", accumulation, 3.602_249_297, 5e-10);
    for step in ["simulation.step=2e-3", "simulation.step=1e-4"] {
        let ran = run("bouncing-ball", &[step]);
        ran.impacts_at("floor", e, &impacts(first, e, 10));
        ran.accumulates_at("floor", e, accumulation);
        for event in ran.impacts("floor") {
            let after = event.velocity_after;
            close("rebound", after, -e * event.velocity_before, 1e-12);
        }
        let weight = 10.0 * ran.h();
        close("impulse", ran.last("impulse.floor"), weight, 1e-14);
        close("velocity", ran.last("v.y"), 0.0, 1e-12);
        // At rest below the floor, by no more than the last impact that was resolved left it there.
        close("height", ran.last("q.y"), 0.2, weight * ran.h());
    }
}

#[test]
fn bouncing_ball_lecture() {
    for step in ["simulation.step=0.013", "simulation.step=1e-4"] {
        let ran = run("bouncing-ball-lecture", &[step]);
        let dyadic: Vec<f64> = (0..6).map(|n| 3.0 - 2.0_f64.powi(1 - n)).collect();
        assert_eq!(dyadic, impacts(1.0, 0.5, 6));
        ran.impacts_at("floor", 0.5, &dyadic);
        ran.accumulates_at("floor", 0.5, 3.0);
        let impacts = ran.impacts("floor");
        for (n, event) in impacts.iter().take(6).enumerate() {
            // The force changes the speed by 2 in a second.
            let tolerance = 2.0 * ran.timing(n, 0.5);
            let speed = 2.0 * 0.5_f64.powf(number(n));
            close("approach", -event.velocity_before, speed, tolerance);
        }
        close("impulse", ran.last("impulse.floor"), 2.0 * ran.h(), 1e-14);
    }
    // Acary's count of steps with contact, and the static penetration.
    let ran = run("bouncing-ball-lecture", &[]);
    let impulses = ran.column("impulse.floor");
    assert_eq!(ran.outcome().steps, 385);
    assert_eq!(impulses.iter().filter(|p| **p > 0.0).count(), 164);
    close("README: penetration", ran.last("q.q"), -8.04e-5, 5e-8);
}

#[test]
fn ball_in_a_box() {
    let e = 0.3;
    let fall = |a: f64| (2.0 / a).sqrt();
    let settled = |a: f64| fall(a) * (1.0 + e) / (1.0 - e);
    close("README: first impact", fall(9.81), 0.451_523_64, 5e-9);
    close("README: accumulation", settled(9.81), 0.838_543_90, 5e-9);
    let tilted = [
        ("left", 9.81 * 0.75_f64.sqrt()),
        ("bottom", 9.81 * 0.25_f64.sqrt()),
    ];
    let directions = [
        ("parameters.direction=-pi/2", &[("bottom", 9.81)][..]),
        ("parameters.direction=7*pi/6", &tilted[..]),
    ];
    for step in ["simulation.step=5e-3", "simulation.step=1e-4"] {
        for (direction, walls) in directions {
            let ran = run("ball-in-a-box", &[step, direction]);
            println!("{step} {direction}");
            for (wall, a) in walls {
                ran.impacts_at(wall, e, &impacts(fall(*a), e, 3));
                ran.accumulates_at(wall, e, settled(*a));
                let impulse = ran.last(&format!("impulse.{wall}"));
                close("impulse", impulse, a * ran.h(), 1e-14);
            }
            for other in &ran.outcome().events.contacts {
                let named = walls.iter().any(|(wall, _)| *wall == other.name);
                assert!(named || other.impacts == 0, "{} was hit", other.name);
            }
        }
    }
}
