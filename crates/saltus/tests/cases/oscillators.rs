//! Springs over a floor.

use crate::run::{close, drift, number, run};
use saltus::analysis::exact::TwoMasses;
use std::f64::consts::{FRAC_PI_2, PI};

/// Times and speeds of the first `n` impacts for `ω = q₀ = 1`, `e = 0.8`, and a spring that rests at `c`.
fn impacts(c: f64, n: usize) -> Vec<(f64, f64)> {
    let amplitude = 1.0 - c;
    let mut t = (-c / amplitude).acos();
    let mut speed = (amplitude * amplitude - c * c).sqrt();
    let mut list = vec![(t, speed)];
    for _ in 1..n {
        speed *= 0.8;
        t += if c < 0.0 {
            2.0 * (speed / -c).atan()
        } else if c > 0.0 {
            2.0 * (PI - (speed / c).atan())
        } else {
            PI
        };
        list.push((t, speed));
    }
    list
}

#[test]
fn linear_oscillator() {
    for (i, (t, speed)) in impacts(0.0, 6).into_iter().enumerate() {
        close("README: c = 0", t, FRAC_PI_2 + number(i) * PI, 1e-13);
        close("README: c = 0", speed, 0.8_f64.powf(number(i)), 1e-13);
    }
    for step in ["simulation.step=1e-3", "simulation.step=1e-4"] {
        for (c, n) in [(0.0, 6), (-0.2, 8), (0.3, 4)] {
            println!("{step}, c = {c}");
            let ran = run(
                "linear-oscillator",
                &[step, &format!("parameters.c={c}"), "simulation.until=30"],
            );
            let (times, speeds): (Vec<f64>, Vec<f64>) = impacts(c, n).into_iter().unzip();
            ran.impacts_at("floor", 0.8, &times);
            let hits = ran.impacts("floor");
            for (j, (hit, speed)) in hits.iter().zip(&speeds).enumerate() {
                // The spring pulls by |c| at the floor.
                let tolerance = (f64::abs(c) + ran.h()) * ran.timing(j, 0.8);
                close("approach", -hit.velocity_before, *speed, tolerance);
                close(
                    "rebound",
                    hit.velocity_after,
                    -0.8 * hit.velocity_before,
                    1e-12,
                );
            }
            if c < 0.0 {
                ran.accumulates_at("floor", 0.8, 26.543_854_471_282_4);
                close("impulse", ran.last("impulse.floor"), -c * ran.h(), 1e-9);
            }
            let free = hits[0].step as usize;
            let energy = ran.column("energy.total");
            close("energy drift", drift(&energy[..free]), 0.0, 1e-13);
        }
    }
}

#[test]
fn two_mass_oscillator() {
    for stiffness in [1e4, 1e3] {
        let k = format!("parameters.k={stiffness}");
        let ran = run("two-mass-oscillator", &[&k, "simulation.step=1e-5"]);
        let h = ran.h();
        let first = (2.0_f64 * 0.801 / 10.0).sqrt();
        let exact = TwoMasses::new(
            1.0,
            stiffness,
            1.0,
            0.2,
            10.0,
            0.8,
            [1.001, 2.001],
            [0.0; 2],
            1.0,
        );
        let times: Vec<f64> = exact.impacts().iter().map(|i| i.t).collect();
        close("README: first impact", times[0], first, 1e-12);
        ran.impacts_at("floor", 0.8, &times[..times.len().min(3)]);
        let hits = ran.impacts("floor");
        // Gravity and spring act in the step of the impact too.
        let impulse = 1.8 * 10.0 * first;
        let tolerance = 30.0 * h + 0.5 * impulse * stiffness * h * h;
        close("first impulse", hits[0].impulse, impulse, tolerance);

        let (y1, y2) = (ran.column("q.y1"), ran.column("q.y2"));
        let (v1, v2) = (ran.column("v.y1"), ran.column("v.y2"));
        let free = hits[0].step as usize;
        for i in 0..free {
            assert!((y2[i] - y1[i] - 1.0).abs() < 1e-11, "stretched in step {i}");
        }
        // Between impacts: momentum by gravity alone, energy constant.
        let end = hits.get(1).map_or(y1.len(), |hit| hit.step as usize);
        for i in free + 1..end {
            let change = v1[i] + v2[i] - v1[i - 1] - v2[i - 1];
            assert!((change + 20.0 * h).abs() < 1e-12, "step {i}");
        }
        let energy = ran.column("energy.total");
        close("energy drift", drift(&energy[free..end]), 0.0, 1e-10);
    }
}
