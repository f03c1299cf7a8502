//! Contact problems of many bodies: apart, in a row, in a chain of joints.

use saltus_complementarity::{Block, BlockState, ContactProblem, Tolerance};
use std::time::Instant;

/// Rows of a problem as sparse directions over bodies of unit mass that move in x and z.
#[derive(Default)]
struct Bodies {
    directions: Vec<Vec<(usize, f64)>>,
}

impl Bodies {
    fn pose(&self, problem: &mut ContactProblem, velocity: &[f64]) {
        problem.begin_sparse();
        let mut touching: Vec<Vec<(usize, f64)>> = vec![Vec::new(); velocity.len()];
        for (row, direction) in self.directions.iter().enumerate() {
            for &(dof, v) in direction {
                touching[dof].push((row, v));
            }
        }
        for list in &touching {
            for &(i, a) in list {
                for &(j, b) in list {
                    problem.add(i, j, a * b);
                }
            }
        }
        for (row, direction) in self.directions.iter().enumerate() {
            problem.q_mut()[row] = direction.iter().map(|&(dof, v)| v * velocity[dof]).sum();
        }
    }
}

fn strict() -> Tolerance {
    Tolerance::default()
}

/// Sliding blocks that do not touch, each on its own.
#[test]
fn bodies_apart_are_solved_one_by_one() {
    for n in [2_000, 20_000] {
        let mut problem = ContactProblem::default();
        problem.begin();
        let mut bodies = Bodies::default();
        let mut velocity = Vec::new();
        for i in 0..n {
            problem.push(
                i as u64,
                Block::Coulomb {
                    mu: 0.3,
                    tangents: 1,
                },
            );
            bodies.directions.push(vec![(2 * i + 1, 1.0)]);
            bodies.directions.push(vec![(2 * i, 1.0)]);
            velocity.extend([i as f64 / n as f64, -1.0]);
        }
        bodies.pose(&mut problem, &velocity);
        let outcome = problem.solve(strict());
        assert!(outcome.is_solved(), "{outcome:?}");
        for i in 0..n {
            let speed = i as f64 / n as f64;
            let expected = -speed.min(0.3);
            assert!((problem.z()[2 * i + 1] - expected).abs() < 1e-14);
        }
    }
}

/// Blocks in a row, the first pushed: friction on the ground stops as many as it can.
#[test]
fn a_row_of_blocks_that_push_each_other() {
    for n in [10, 400, 2000] {
        let mut problem = ContactProblem::default();
        problem.begin();
        let mut bodies = Bodies::default();
        for i in 0..n {
            problem.push(
                i as u64,
                Block::Coulomb {
                    mu: 0.5,
                    tangents: 1,
                },
            );
            bodies.directions.push(vec![(2 * i + 1, 1.0)]);
            bodies.directions.push(vec![(2 * i, 1.0)]);
        }
        for i in 1..n {
            // No friction between the blocks.
            problem.push((n + i) as u64, Block::Unilateral);
            bodies
                .directions
                .push(vec![(2 * i, 1.0), (2 * i - 2, -1.0)]);
        }
        let mut velocity = vec![0.0; 2 * n];
        for i in 0..n {
            velocity[2 * i + 1] = -1.0;
        }
        // Momentum that 7.5 blocks can take by friction 0.5 each.
        velocity[0] = 3.75;
        bodies.pose(&mut problem, &velocity);
        let start = Instant::now();
        let outcome = problem.solve(strict());
        println!("{n} blocks: {outcome:?}, {:?}", start.elapsed());
        assert!(outcome.is_solved(), "{outcome:?}");
        let friction: f64 = (0..n).map(|i| problem.z()[2 * i + 1]).sum();
        assert!((friction + 3.75).abs() < 1e-10, "{friction}");
        let mut w = vec![0.0; problem.rows()];
        problem.velocity(&mut w);
        assert!(w.iter().all(|w| w.abs() < 1e-9));
        assert_eq!(problem.state(0), BlockState::Stick);
    }
}

/// Carts in a chain of rigid links, pulled along the ground: the links carry what friction does not take.
#[test]
fn a_chain_of_linked_carts() {
    for n in [10, 150, 1500] {
        let mut problem = ContactProblem::default();
        problem.begin();
        let mut bodies = Bodies::default();
        for i in 0..n {
            problem.push(
                i as u64,
                Block::Coulomb {
                    mu: 0.1,
                    tangents: 1,
                },
            );
            bodies.directions.push(vec![(2 * i + 1, 1.0)]);
            bodies.directions.push(vec![(2 * i, 1.0)]);
            if i > 0 {
                problem.push((n + i) as u64, Block::Equality);
                bodies
                    .directions
                    .push(vec![(2 * i, 1.0), (2 * i - 2, -1.0)]);
            }
        }
        let mut velocity = vec![0.0; 2 * n];
        for i in 0..n {
            velocity[2 * i + 1] = -1.0;
        }
        velocity[0] = n as f64;
        bodies.pose(&mut problem, &velocity);
        let start = Instant::now();
        let outcome = problem.solve(strict());
        println!("{n} carts: {outcome:?}, {:?}", start.elapsed());
        assert!(outcome.is_solved(), "{outcome:?}");
        // All slide at 1 − 0.1.
        let mut w = vec![0.0; problem.rows()];
        problem.velocity(&mut w);
        for k in 0..n {
            let block = if k == 0 { 0 } else { 2 * k - 1 };
            let row = problem.first_row(block);
            assert!((w[row + 1] - 0.9).abs() < 1e-9, "{k}: {}", w[row + 1]);
            assert_eq!(problem.state(block), BlockState::Slip);
        }
    }
}
