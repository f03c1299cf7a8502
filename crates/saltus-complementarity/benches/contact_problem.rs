//! Time per solve of the problems of a time step, warm-started as in a step after the first.
//!
//! `cargo bench -p saltus-complementarity --bench contact_problem`

use saltus_complementarity::{Block, ContactProblem, Tolerance};
use std::hint::black_box;
use std::time::Instant;

/// Nanoseconds per call of `run`, the best of some rounds.
fn time(mut run: impl FnMut()) -> f64 {
    let mut count = 1_u32;
    loop {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        if start.elapsed().as_millis() >= 20 {
            break;
        }
        count *= 4;
    }
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(count));
    }
    best
}

/// A box of 2 m × 1 m × 0.2 m on `k` feet: `A = Wᵀ M⁻¹ W` and the free velocities.
struct Scene {
    tangents: usize,
    a: Vec<Vec<f64>>,
    q: Vec<f64>,
}

impl Scene {
    fn new(k: usize, tangents: usize, velocity: [f64; 6]) -> Self {
        let inverse = [1.0, 1.0, 1.0, 8.0, 2.5, 2.0];
        let mut directions: Vec<[f64; 6]> = Vec::new();
        for i in 0..k {
            let angle = std::f64::consts::TAU * (i as f64 + 0.3) / k as f64;
            let r = match tangents {
                1 => [-1.0 + 2.0 * i as f64 / (k.max(2) - 1) as f64, 0.0, -0.1],
                _ => [angle.cos(), 0.5 * angle.sin(), -0.1],
            };
            let axes = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
            for n in &axes[..=tangents] {
                directions.push([
                    n[0],
                    n[1],
                    n[2],
                    r[1] * n[2] - r[2] * n[1],
                    r[2] * n[0] - r[0] * n[2],
                    r[0] * n[1] - r[1] * n[0],
                ]);
            }
        }
        let times = |x: &[f64; 6], y: &[f64; 6]| -> f64 {
            x.iter()
                .zip(y)
                .zip(&inverse)
                .map(|((x, y), m)| x * y * m)
                .sum()
        };
        let a = directions
            .iter()
            .map(|x| directions.iter().map(|y| times(x, y)).collect())
            .collect();
        let q = directions
            .iter()
            .map(|d| d.iter().zip(&velocity).map(|(a, b)| a * b).sum())
            .collect();
        Self { tangents, a, q }
    }

    fn pose(&self, problem: &mut ContactProblem, mu: f64) {
        problem.begin();
        let tangents = self.tangents as u8;
        for id in 0..self.q.len() / (1 + self.tangents) {
            problem.push(id as u64, Block::Coulomb { mu, tangents });
        }
        let a = problem.matrix_mut();
        for (i, row) in self.a.iter().enumerate() {
            a.row_mut(i).copy_from_slice(row);
        }
        problem.q_mut().copy_from_slice(&self.q);
    }
}

fn main() {
    let tolerance = Tolerance::default();
    println!(
        "{:36} {:>10} {:>10}  iterations",
        "", "solve [ns]", "posed [ns]"
    );
    for (tangents, counts) in [(1, [1, 2, 4, 8]), (2, [1, 2, 4, 8])] {
        for k in counts {
            for (name, velocity) in [
                ("open", [0.2, 0.1, 1.0, 0.0, 0.0, 0.0]),
                ("stick", [0.02, -0.01, -1.0, 0.0, 0.0, 0.0]),
                ("slip", [3.0, 2.0, -1.0, 0.0, 0.02, 0.4]),
            ] {
                // Two steps, one after the other: velocities that are a little different.
                let scene = Scene::new(k, tangents, velocity);
                let mut next = velocity;
                for (i, v) in next.iter_mut().enumerate() {
                    *v = *v * (1.0 + 1e-2 * ((i % 3) as f64 - 1.0)) + 1e-4;
                }
                let next = Scene::new(k, tangents, next);
                let mut problem = ContactProblem::default();
                scene.pose(&mut problem, 0.3);
                let outcome = problem.solve(tolerance);
                assert!(outcome.is_solved(), "{outcome:?}");
                let guess = problem.z().to_vec();
                problem.q_mut().copy_from_slice(&next.q);
                let warm = problem.solve(tolerance);
                let alone = time(|| {
                    problem.z_mut().copy_from_slice(&guess);
                    black_box(black_box(&mut problem).solve(tolerance));
                });
                let mut odd = false;
                let posed = time(|| {
                    odd = !odd;
                    if odd { &scene } else { &next }.pose(&mut problem, 0.3);
                    problem.guess_from_memory();
                    black_box(black_box(&mut problem).solve(tolerance));
                });
                println!(
                    "{:36} {alone:10.0} {posed:10.0}  {:?}, {} iterations, {} redundant",
                    format!(
                        "{k} contacts, {}, {name}",
                        ["planar", "spatial"][tangents - 1]
                    ),
                    warm.status,
                    warm.iterations,
                    warm.redundant,
                );
            }
        }
    }
}
