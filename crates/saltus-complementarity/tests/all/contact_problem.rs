//! The problem of a time step: laws of all kinds against closed forms, references and peers.

use crate::support::{Random, as_contact_problem, planted, shared};
use saltus_complementarity::friction::{self, FrictionSolver, Limits};
use saltus_complementarity::{
    Block, BlockState, ContactProblem, Mlcp, MlcpSolver, Status, Tolerance,
};
use saltus_linear::Dense;
use serde_json::Value;
use std::sync::Arc;

fn coulomb(mu: f64, tangents: u8) -> Block {
    Block::Coulomb { mu, tangents }
}

fn posed(blocks: &[Block], rows: &[&[f64]], q: &[f64]) -> ContactProblem {
    let mut problem = ContactProblem::default();
    pose(&mut problem, blocks, rows, q);
    problem
}

fn pose(problem: &mut ContactProblem, blocks: &[Block], rows: &[&[f64]], q: &[f64]) {
    problem.begin();
    for (id, block) in blocks.iter().enumerate() {
        problem.push(id as u64, *block);
    }
    let a = problem.matrix_mut();
    for (i, row) in rows.iter().enumerate() {
        a.row_mut(i).copy_from_slice(row);
    }
    problem.q_mut().copy_from_slice(q);
}

fn solve(problem: &mut ContactProblem) {
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved(), "{outcome:?}");
    assert_eq!(outcome.residual, problem.residual());
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    let gap = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    let largest = gap.fold(0.0, f64::max);
    assert!(
        found.len() == expected.len() && largest <= tolerance,
        "{largest:e}: {found:?}, expected {expected:?}"
    );
}

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_f64().unwrap()).collect()
}

/// The local problems of the reference values of half-explicit schemes.
#[test]
fn reference_values_of_local_problems() {
    let Some(path) = shared("reference/half-explicit.json") else {
        return;
    };
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut count = 0;
    for item in file["items"].as_array().unwrap() {
        let id = item["id"].as_str().unwrap();
        if !id.starts_with("solver_") {
            continue;
        }
        let params = &item["params"];
        let tangents = params["dT"].as_u64().unwrap() as u8;
        let blocks: Vec<Block> = numbers(&params["mu"])
            .into_iter()
            .map(|mu| {
                if tangents == 0 {
                    Block::Unilateral
                } else {
                    coulomb(mu, tangents)
                }
            })
            .collect();
        let rows: Vec<Vec<f64>> = params["G"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let mut problem = posed(&blocks, &rows, &numbers(&params["b"]));
        solve(&mut problem);
        let mut u = vec![0.0; problem.rows()];
        problem.velocity(&mut u);
        let tolerance = item["tol"].as_f64().unwrap();
        close(problem.z(), &numbers(&item["value"][0]), tolerance);
        close(&u, &numbers(&item["value"][1]), tolerance);
        count += 1;
    }
    assert_eq!(count, 7);
}

/// A block on an incline stays while tan(angle) is below mu.
#[test]
fn a_block_on_an_incline_slides_beyond_the_angle_of_friction() {
    let (mass, h, mu) = (3.0, 1e-3, 0.4_f64);
    for (excess, state) in [(-1e-4, BlockState::Stick), (1e-4, BlockState::Slip)] {
        let angle = mu.atan() + excess;
        let (sin, cos) = angle.sin_cos();
        let (normal, down) = (-9.81 * h * cos, 9.81 * h * sin);
        let m = 1.0 / mass;
        let mut plane = posed(&[coulomb(mu, 1)], &[&[m, 0.0], &[0.0, m]], &[normal, down]);
        let rows: [&[f64]; 3] = [&[m, 0.0, 0.0], &[0.0, m, 0.0], &[0.0, 0.0, m]];
        let mut space = posed(&[coulomb(mu, 2)], &rows, &[normal, 0.6 * down, -0.8 * down]);
        for problem in [&mut plane, &mut space] {
            solve(problem);
            assert_eq!(problem.state(0), state, "{:?}", problem.z());
            let z = problem.z();
            assert!((z[0] + mass * normal).abs() <= 1e-16);
            let friction = z[1..].iter().map(|v| v * v).sum::<f64>().sqrt();
            let expected = match state {
                BlockState::Stick => mass * down,
                _ => mu * z[0],
            };
            assert!(
                (friction - expected).abs() <= 1e-16,
                "{friction} {expected}"
            );
        }
    }
}

#[test]
fn one_contact_without_solution_is_refuted() {
    // Slip to the left needs 1 − 0.9 mu > 0, slip to the right ends to the left, stick pulls.
    let rows: [&[f64]; 2] = [&[1.0, -0.9], &[-7.0, 1.0]];
    let mut problem = posed(&[coulomb(2.0, 1)], &rows, &[-1.0, -5.0]);
    let outcome = problem.solve(Tolerance::default());
    assert_eq!(
        outcome.status,
        Status::Infeasible,
        "{outcome:?} {:?}",
        problem.z()
    );
    assert_eq!(problem.worst_block().0, 0);
}

/// Friction points against slip whatever its direction; the rotation of the tangent plane does not matter.
#[test]
fn friction_opposes_slip_in_every_direction() {
    let mu = 0.3;
    for degrees in [0.0_f64, 17.0, 45.0, 90.0, 163.0, 270.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let rows: [&[f64]; 3] = [&[0.5, 0.0, 0.0], &[0.0, 0.5, 0.0], &[0.0, 0.0, 0.5]];
        let mut problem = posed(&[coulomb(mu, 2)], &rows, &[-1.0, 3.0 * cos, 3.0 * sin]);
        solve(&mut problem);
        close(problem.z(), &[2.0, -0.6 * cos, -0.6 * sin], 1e-15);
        // Coupled to the normal in the direction of slip: z_N (a − mu b) = 1.
        let (b, c) = (0.2 * cos, 0.2 * sin);
        let rows: [&[f64]; 3] = [&[0.5, b, c], &[b, 0.5, 0.0], &[c, 0.0, 0.5]];
        let mut problem = posed(&[coulomb(mu, 2)], &rows, &[-1.0, 3.0 * cos, 3.0 * sin]);
        solve(&mut problem);
        let n = 1.0 / (0.5 - mu * 0.2);
        close(problem.z(), &[n, -mu * n * cos, -mu * n * sin], 1e-14);
        assert_eq!(problem.state(0), BlockState::Slip);
    }
}

/// Planar directions of a body of mass 1 and inertia `inertia`: rows `(n, t)` of contacts at `(x, y)`.
fn body(inertia: f64, points: &[[f64; 2]]) -> Vec<[f64; 3]> {
    let rows = points.iter().flat_map(|&[x, y]| {
        let i = 1.0 / inertia.sqrt();
        [[0.0, 1.0, x * i], [1.0, 0.0, -y * i]]
    });
    rows.collect()
}

fn gram(rows: &[[f64; 3]]) -> Vec<Vec<f64>> {
    let times = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    let row = |a: &[f64; 3]| rows.iter().map(|b| times(a, b)).collect();
    rows.iter().map(row).collect()
}

fn slices(rows: &[Vec<f64>]) -> Vec<&[f64]> {
    rows.iter().map(Vec::as_slice).collect()
}

/// Two feet that stick are once too many: the canonical impulses are as symmetric as the body.
#[test]
fn a_hyperstatic_body_gets_symmetric_impulses() {
    let directions = body(2.0, &[[-1.0, -0.5], [1.0, -0.5]]);
    let q: Vec<f64> = directions.iter().map(|d| 0.2 * d[0] - 1.0 * d[1]).collect();
    let mut problem = posed(
        &[coulomb(0.5, 1), coulomb(0.5, 1)],
        &slices(&gram(&directions)),
        &q,
    );
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved());
    assert_eq!(outcome.redundant, 1);
    let z = problem.z();
    // Friction at the feet turns the body: the load differs, the friction does not.
    close(&[z[0] + z[2], z[1] + z[3]], &[1.0, -0.2], 1e-15);
    close(&[z[1] - z[3], z[2] - z[0]], &[0.0, 0.1], 1e-15);
    assert_eq!([problem.state(0), problem.state(1)], [BlockState::Stick; 2]);
}

/// The four corners of a box on a plane, spatial: 12 rows of rank 6.
fn four_corners(order: [usize; 4], load: [f64; 6], mu: f64) -> ContactProblem {
    let corners = [[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, 0.5]];
    let inverse = [1.0, 1.0, 1.0, 3.0, 2.0, 2.5];
    let mut directions: Vec<[f64; 6]> = Vec::new();
    for &k in &order {
        let ([x, y], z) = (corners[k], -0.4);
        directions.push([0.0, 0.0, 1.0, y, -x, 0.0]);
        directions.push([1.0, 0.0, 0.0, 0.0, z, -y]);
        directions.push([0.0, 1.0, 0.0, -z, 0.0, x]);
    }
    let mut problem = ContactProblem::default();
    problem.begin();
    for &k in &order {
        problem.push(k as u64, coulomb(mu, 2));
    }
    for (i, a) in directions.iter().enumerate() {
        for (j, b) in directions.iter().enumerate() {
            let entry = (0..6).map(|k| a[k] * inverse[k] * b[k]).sum();
            problem.add(i, j, entry);
        }
        problem.q_mut()[i] = a.iter().zip(&load).map(|(a, v)| a * v).sum();
    }
    problem
}

/// Permuted blocks give permuted impulses and velocities, whether all corners carry or some lift.
#[test]
fn the_order_of_contacts_does_not_matter() {
    let loads = [
        [0.1, 0.05, -1.0, 0.0, 0.0, 0.02],
        [2.0, 1.0, -1.0, 0.0, 0.0, 0.0],
        [0.3, 0.1, -1.0, 0.4, 0.9, 0.0],
        [3.0, 0.0, -1.0, 0.2, -0.6, 1.0],
        [0.1, 0.0, -1.0, 0.0, 1.2, 0.0],
    ];
    for load in loads {
        for mu in [0.2, 0.8] {
            let mut first = four_corners([0, 1, 2, 3], load, mu);
            let outcome = first.solve(Tolerance::default());
            assert!(outcome.is_solved(), "{outcome:?}");
            let mut w = [0.0; 12];
            first.velocity(&mut w);
            for order in [[3, 1, 0, 2], [2, 3, 0, 1], [1, 0, 3, 2], [3, 2, 1, 0]] {
                let mut other = four_corners(order, load, mu);
                assert!(other.solve(Tolerance::default()).is_solved());
                let mut v = [0.0; 12];
                other.velocity(&mut v);
                for (position, &k) in order.iter().enumerate() {
                    let (here, there) = (3 * position..3 * position + 3, 3 * k..3 * k + 3);
                    close(&v[here.clone()], &w[there.clone()], 1e-12);
                    close(&other.z()[here], &first.z()[there], 1e-10);
                }
            }
        }
    }
}

/// The same with a guess: of impulses that are not unique the guess decides nothing.
#[test]
fn canonical_impulses_do_not_depend_on_the_guess() {
    let load = [0.1, 0.05, -1.0, 0.0, 0.3, 0.02];
    let mut cold = four_corners([0, 1, 2, 3], load, 0.6);
    solve(&mut cold);
    for guess in [[1.0, 0.1, 0.0], [0.2, -0.1, 0.1], [5.0, 0.0, 2.0]] {
        let mut warm = four_corners([0, 1, 2, 3], load, 0.6);
        warm.z_mut()[..3].copy_from_slice(&guess);
        solve(&mut warm);
        close(warm.z(), cold.z(), 1e-12);
    }
}

/// A symmetric load on four corners is shared evenly, a contact listed twice half and half.
#[test]
fn loads_are_shared_evenly() {
    let mut problem = four_corners([0, 1, 2, 3], [0.0, 0.0, -1.0, 0.0, 0.0, 0.0], 0.5);
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved());
    assert_eq!(outcome.redundant, 6);
    for k in 0..4 {
        close(&problem.z()[3 * k..3 * k + 3], &[0.25, 0.0, 0.0], 1e-15);
    }
    let row: &[f64] = &[2.0, 0.5, 2.0, 0.5];
    let other: &[f64] = &[0.5, 1.0, 0.5, 1.0];
    let blocks = [coulomb(0.5, 1), coulomb(0.5, 1)];
    let mut twice = posed(
        &blocks,
        &[row, other, row, other],
        &[-1.0, 0.05, -1.0, 0.05],
    );
    solve(&mut twice);
    // One alone slips: z_N = 4/7.
    close(
        twice.z(),
        &[2.0 / 7.0, -1.0 / 7.0, 2.0 / 7.0, -1.0 / 7.0],
        1e-15,
    );
}

/// Dry friction with a fixed bound: z = clamp(−q/a), coupled ones by elimination.
#[test]
fn boxes_in_closed_form() {
    let bounds = [
        (-1.0, 2.0),
        (-0.25, f64::INFINITY),
        (f64::NEG_INFINITY, 0.5),
    ];
    for (lo, hi) in bounds {
        for q in [-9.0_f64, -3.0, 0.0, 0.7, 5.0] {
            let mut problem = posed(&[Block::Box { lo, hi }], &[&[2.0]], &[q]);
            solve(&mut problem);
            let z = (-q / 2.0).max(lo).min(hi);
            close(problem.z(), &[z], 1e-15);
            let moves = 2.0 * z + q != 0.0;
            let state = [BlockState::Stick, BlockState::Slip][usize::from(moves)];
            assert_eq!(problem.state(0), state);
        }
    }
    // The first at its bound 1, the second inside: 3 z_2 + 1 = 1.5.
    let blocks = [
        Block::Box { lo: -1.0, hi: 1.0 },
        Block::Box { lo: -1.0, hi: 1.0 },
    ];
    let mut problem = posed(&blocks, &[&[2.0, 1.0], &[1.0, 3.0]], &[-8.0, -1.5]);
    solve(&mut problem);
    close(problem.z(), &[1.0, 0.5 / 3.0], 1e-15);
}

/// A pendulum with mass `m`, inertia `j` and length `l` is released from the horizontal; its pin of radius `r` has friction.
#[test]
fn a_pendulum_with_friction_in_its_pin() {
    let (m, j, l, mu, impulse) = (2.0, 0.5, 0.3, 0.4, 9.81e-3);
    for r in [0.1, 1.5] {
        // Rows: pin in x, pin in y, slip r ω; unknowns v_x, v_y, ω.
        let g = [[1.0, 0.0, 0.0], [0.0, 1.0, -l], [0.0, 0.0, r]];
        let inverse = [1.0 / m, 1.0 / m, 1.0 / j];
        let rows: Vec<Vec<f64>> = g
            .iter()
            .map(|a| {
                g.iter()
                    .map(|b| (0..3).map(|k| a[k] * inverse[k] * b[k]).sum())
                    .collect()
            })
            .collect();
        let blocks = [
            Block::Equality,
            Block::Equality,
            Block::JointCoulomb {
                mu,
                tangents: 1,
                first_normal: 0,
                normals: 2,
            },
        ];
        let mut problem = posed(&blocks, &slices(&rows), &[0.0, -impulse, 0.0]);
        solve(&mut problem);
        if l <= mu * r {
            assert_eq!(problem.state(2), BlockState::Stick);
            close(problem.z(), &[0.0, m * impulse, l * m * impulse / r], 1e-15);
        } else {
            assert_eq!(problem.state(2), BlockState::Slip);
            let y = m * impulse / (1.0 + m * l * (l - mu * r) / j);
            close(problem.z(), &[0.0, y, mu * y], 1e-15);
        }
    }
}

/// A spatial pin: two slip rows share one disc.
#[test]
fn two_slip_rows_of_a_joint_share_a_disc() {
    let rows: [&[f64]; 3] = [&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]];
    let blocks = [
        Block::Equality,
        Block::JointCoulomb {
            mu: 0.5,
            tangents: 2,
            first_normal: 0,
            normals: 1,
        },
    ];
    let mut problem = posed(&blocks, &rows, &[2.0, 3.0, -4.0]);
    solve(&mut problem);
    close(problem.z(), &[-2.0, -0.6, 0.8], 1e-14);
    let mut problem = posed(&blocks, &rows, &[10.0, 3.0, -4.0]);
    solve(&mut problem);
    close(problem.z(), &[-10.0, -3.0, 4.0], 1e-14);
}

/// Equalities and unilateral rows are solved as by the solver of mixed problems, bit for bit.
#[test]
fn linear_problems_are_those_of_the_mixed_solver() {
    let mut random = Random::new(3);
    let mut solver = MlcpSolver::default();
    let mut problem = ContactProblem::default();
    for _ in 0..200 {
        let n = 1 + random.below(9);
        let equalities = random.below(n.min(4));
        let rank = 1 + random.below(n + 2);
        let h: Vec<Vec<f64>> = (0..rank)
            .map(|_| (0..n).map(|_| random.signed()).collect())
            .collect();
        let mut m = Dense::zeros(n, n);
        for i in 0..n {
            for j in 0..n {
                m[(i, j)] = h.iter().map(|r| r[i] * r[j]).sum();
            }
        }
        let v: Vec<f64> = (0..rank).map(|_| random.signed()).collect();
        let q: Vec<f64> = (0..n)
            .map(|i| (0..rank).map(|k| h[k][i] * v[k]).sum())
            .collect();
        let mut z = vec![0.0; n];
        let mlcp = Mlcp {
            equalities,
            matrix: &m,
            q: &q,
        };
        let expected = solver.solve(&mlcp, &mut z, Tolerance::default());
        problem.begin();
        for i in 0..n {
            let block = [Block::Unilateral, Block::Equality][usize::from(i < equalities)];
            problem.push(i as u64, block);
        }
        problem.matrix_mut().clone_from(&m);
        problem.q_mut().copy_from_slice(&q);
        let outcome = problem.solve(Tolerance::default());
        assert_eq!(problem.z(), z);
        assert_eq!(
            (outcome.status, outcome.residual, outcome.redundant),
            (expected.status, expected.residual, expected.redundant)
        );
    }
    // Rows in another order.
    let rows: [&[f64]; 3] = [&[3.0, 1.0, 1.0], &[1.0, 2.0, 2.0], &[1.0, 2.0, 2.0]];
    let blocks = [Block::Unilateral, Block::Equality, Block::Equality];
    let mut problem = posed(&blocks, &rows, &[1.0, -4.0, -4.0]);
    let outcome = problem.solve(Tolerance::default());
    assert_eq!((outcome.status, outcome.redundant), (Status::Solved, 1));
    close(problem.z(), &[0.0, 1.0, 1.0], 1e-14);
}

/// The velocities of monotone problems are those that the solvers of frictional contact find.
#[test]
fn velocities_agree_with_the_solvers_of_frictional_contact() {
    for d in [2, 3, 5] {
        for seed in 0..40 {
            let mut random = Random::new(100 * d as u64 + seed);
            let n = 1 + random.below(8);
            let (friction, _) = planted(&mut random, d, n, d * n + 2, true);
            let mut problem = as_contact_problem(&friction);
            let outcome = problem.solve(Tolerance::default());
            assert!(outcome.is_solved(), "{d} {seed}: {outcome:?}");
            let mut w = vec![0.0; problem.rows()];
            problem.velocity(&mut w);
            let limits = Limits {
                tolerance: 1e-12,
                ..Limits::default()
            };
            let mut r = vec![0.0; problem.rows()];
            let end = friction::solve(&friction, FrictionSolver::Auto, limits, &mut r);
            if end.outcome.is_solved() {
                let mut u = vec![0.0; problem.rows()];
                friction.velocity(&r, &mut u);
                close(&w, &u, 1e-6);
            }
        }
    }
}

/// Where friction couples more than the normal compliance a contact may both open and stick.
#[test]
fn several_solutions_of_one_contact_are_reported() {
    // Open since q_N > 0; slip with k = 1 − 0.9·2 < 0 also closes it.
    let rows: [&[f64]; 2] = [&[1.0, -0.9], &[-0.9, 1.0]];
    let mut problem = posed(&[coulomb(2.0, 1)], &rows, &[0.1, -5.0]);
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved() && outcome.multiple, "{outcome:?}");
    assert_eq!(problem.z(), [0.0; 2]);
    let mut problem = posed(&[coulomb(0.5, 1)], &rows, &[0.1, -5.0]);
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved() && !outcome.multiple);
}

/// A contact with rank-one matrix (a mechanism of one degree of freedom) that sticks gets the least impulses.
#[test]
fn a_contact_on_a_mechanism_of_one_degree_of_freedom() {
    let (n, t) = (0.8, 0.6);
    let rows: [&[f64]; 2] = [&[n * n, n * t], &[n * t, t * t]];
    let mut problem = posed(&[coulomb(1.0, 1)], &rows, &[-n, -t]);
    let outcome = problem.solve(Tolerance::default());
    assert!(outcome.is_solved());
    assert_eq!(outcome.redundant, 1);
    close(problem.z(), &[0.8, 0.6], 1e-15);
    // With less friction the least impulse is on the cone: z_T = 0.5 z_N.
    let mut problem = posed(&[coulomb(0.5, 1)], &rows, &[-n, -t]);
    solve(&mut problem);
    let z = 1.0 / (n + 0.5 * t);
    close(problem.z(), &[z, 0.5 * z], 1e-14);
}

/// Impulses are found again by id, whatever the order of the next problem.
#[test]
fn the_memory_knows_blocks_by_id() {
    let mut problem = four_corners([0, 1, 2, 3], [0.1, 0.2, -1.0, 0.1, 0.2, 0.0], 0.5);
    solve(&mut problem);
    let z = problem.z().to_vec();
    problem.begin();
    for (id, block) in [
        (2, coulomb(0.4, 2)),
        (9, coulomb(0.5, 2)),
        (0, Block::Unilateral),
        (1, coulomb(0.5, 2)),
    ] {
        problem.push(id, block);
    }
    problem.guess_from_memory();
    close(&problem.z()[..3], &z[6..9], 0.0);
    close(&problem.z()[3..7], &[0.0; 4], 0.0);
    close(&problem.z()[7..], &z[3..6], 0.0);
}

/// Sparse, free and dense matrices make the same problem.
#[test]
fn the_form_of_the_matrix_does_not_matter() {
    let load = [0.3, 0.1, -1.0, 0.4, 0.9, 0.0];
    let mut dense = four_corners([0, 1, 2, 3], load, 0.4);
    solve(&mut dense);
    let matrix = dense.matrix_mut().clone();
    let q = dense.q().to_vec();
    let mut problem = ContactProblem::default();
    for free in [false, true] {
        problem.begin();
        for id in 0..4 {
            problem.push(id, coulomb(0.4, 2));
        }
        problem.q_mut().copy_from_slice(&q);
        if free {
            problem.free(Arc::new(matrix.clone()));
        } else {
            problem.begin_sparse();
            for i in (0..12).rev() {
                for j in 0..12 {
                    problem.add(i, j, 0.25 * matrix[(i, j)]);
                    problem.add(i, j, 0.75 * matrix[(i, j)]);
                }
            }
        }
        solve(&mut problem);
        close(problem.z(), dense.z(), 1e-14);
        assert!((problem.compliance(4) - matrix[(4, 4)]).abs() < 1e-15);
    }
}

/// A problem as plain data is the same problem, infinite bounds included.
#[test]
fn plain_data_are_the_same_problem() {
    let blocks = [
        Block::Equality,
        coulomb(0.5, 1),
        Block::Box {
            lo: f64::NEG_INFINITY,
            hi: 0.5,
        },
        Block::JointCoulomb {
            mu: 0.2,
            tangents: 1,
            first_normal: 0,
            normals: 1,
        },
    ];
    let rows: [&[f64]; 5] = [
        &[2.0, 0.1, 0.0, 0.3, 0.1],
        &[0.1, 1.0, 0.2, 0.0, 0.0],
        &[0.0, 0.2, 1.5, 0.0, 0.1],
        &[0.3, 0.0, 0.0, 1.0, 0.0],
        &[0.1, 0.0, 0.1, 0.0, 1.0],
    ];
    let mut problem = posed(&blocks, &rows, &[1.0, -1.0, 0.4, -2.0, 0.5]);
    let data = problem.data();
    let mut again = ContactProblem::from_data(&data).unwrap();
    assert_eq!(again.data(), data);
    solve(&mut problem);
    solve(&mut again);
    assert_eq!(problem.z(), again.z());
    let mut wrong = data.clone();
    wrong.q.pop();
    let error = ContactProblem::from_data(&wrong).unwrap_err();
    assert_eq!(error.to_string(), "q has 4 entries, the blocks ask for 5");
    let mut wrong = data;
    wrong.matrix.push((0, 7, 1.0));
    assert!(ContactProblem::from_data(&wrong).is_err());
}

/// The relative residual is what the tolerance bounds, and it has no unit.
#[test]
fn a_relative_residual_is_free_of_units() {
    let rows: [&[f64]; 2] = [&[1.0, 0.0], &[0.0, 1.0]];
    let at = |unit: f64, z: [f64; 2]| {
        let mut problem = posed(&[coulomb(0.5, 1)], &rows, &[-unit, unit]);
        problem.z_mut().copy_from_slice(&z.map(|z| z * unit));
        (problem.residual(), problem.relative_residual())
    };
    // Free velocities (−1, 1) m/s: the answer is (1, −1/2) N s, and 0.01 N s too much is missed by that over √2.
    assert_eq!(at(1.0, [1.0, -0.5]), (0.0, 0.0));
    for unit in [1.0, 1e6, 1e-9] {
        let (absolute, relative) = at(unit, [1.01, -0.505]);
        assert!((absolute / unit - 0.01).abs() < 1e-12, "{absolute}");
        assert!(
            (relative - 0.01 / 2.0_f64.sqrt()).abs() < 1e-12,
            "{relative}"
        );
    }
}

/// Malformed problems end with a word, not with a panic.
#[test]
fn malformed_problems_are_refused() {
    let one: &[&[f64]] = &[&[1.0, 0.0], &[0.0, 1.0]];
    let joint = |first_normal, normals| Block::JointCoulomb {
        mu: 0.5,
        tangents: 1,
        first_normal,
        normals,
    };
    let wrong = [
        vec![coulomb(-0.5, 1)],
        vec![coulomb(f64::NAN, 1)],
        vec![Block::Equality, Block::Box { lo: 1.0, hi: 0.0 }],
        vec![Block::Unilateral, joint(0, 1)],
        vec![Block::Equality, joint(0, 2)],
        vec![Block::Equality, joint(usize::MAX, 2)],
    ];
    for blocks in wrong {
        let mut problem = posed(&blocks, one, &[-1.0, 0.1]);
        let outcome = problem.solve(Tolerance::default());
        assert_eq!(outcome.status, Status::Inconsistent, "{blocks:?}");
    }
    let mut problem = posed(&[coulomb(0.5, 1)], one, &[-1.0, 0.1]);
    problem.set_block(0, Block::Unilateral);
    assert_eq!(
        problem.solve(Tolerance::default()).status,
        Status::Inconsistent
    );
    for q in [[f64::NAN, 0.0], [-1.0, f64::INFINITY]] {
        let mut problem = posed(&[coulomb(0.5, 1)], one, &q);
        let outcome = problem.solve(Tolerance::default());
        assert_eq!(outcome.status, Status::NotFinite, "{outcome:?}");
    }
    let mut empty = ContactProblem::default();
    assert!(empty.solve(Tolerance::default()).is_solved());
    assert_eq!(empty.worst_block(), (0, 0.0));
    // A row outside of the matrix.
    let mut problem = posed(&[coulomb(0.5, 1)], one, &[-1.0, 0.1]);
    problem.begin_sparse();
    problem.add(0, 5, 1.0);
    assert_eq!(
        problem.solve(Tolerance::default()).status,
        Status::Inconsistent
    );
}

/// The floor of the tolerance excuses what `q` is not known to.
#[test]
fn a_floor_excuses_noise() {
    let rows: [&[f64]; 2] = [&[1.0, 1.0], &[1.0, 1.0]];
    let blocks = [Block::Equality, Block::Box { lo: -5.0, hi: 5.0 }];
    let q = [1e-9, -1e-9];
    let mut problem = posed(&blocks, &rows, &q);
    let tolerance = Tolerance {
        floor: 1e-8,
        ..Tolerance::default()
    };
    assert!(problem.solve(tolerance).is_solved());
    let mut problem = posed(&blocks, &rows, &[1.0, -1.0]);
    assert!(!problem.solve(tolerance).is_solved() || problem.residual() < 1e-8);
}
