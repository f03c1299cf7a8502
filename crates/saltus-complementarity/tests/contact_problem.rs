//! The problem of a time step: laws of all kinds against closed forms, references and peers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use saltus_complementarity::archive::{Problem, read};
use saltus_complementarity::friction::FrictionContact;
use saltus_complementarity::{Block, BlockState, ContactProblem, Status, Tolerance};
use serde_json::Value;
use support::shared;

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

/// A file of frictional contact as a contact problem.
fn from_friction(p: &FrictionContact) -> ContactProblem {
    let mut problem = ContactProblem::default();
    problem.begin();
    for (i, &mu) in p.friction().iter().enumerate() {
        let block = match p.dimension() {
            5 => Block::Rolling {
                mu,
                length: p.rolling()[i],
            },
            d => coulomb(mu, d as u8 - 1),
        };
        problem.push(i as u64, block);
    }
    if problem.rows() > 200 {
        problem.begin_sparse();
    }
    for (i, j, v) in p.delassus().triplets() {
        problem.add(i, j, v);
    }
    problem.q_mut().copy_from_slice(p.free_velocity());
    problem
}

/// Problems that have stopped other solvers.
#[test]
fn hard_files_are_solved() {
    let Some(folder) = shared("cases/friction") else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut solved = 0;
    for path in &files {
        let problem = match read(path).unwrap() {
            Problem::Friction(p) => p,
            Problem::Global(p) => p.reduce().unwrap(),
            other => panic!("{other:?}"),
        };
        let mut posed = from_friction(&problem);
        let start = std::time::Instant::now();
        let outcome = posed.solve(Tolerance::default());
        let time = start.elapsed().as_secs_f64();
        let eta = problem.residual(posed.z()).eta;
        println!(
            "{}: {} rows, {:?}, {} iterations, residual {:.1e}, eta {eta:.1e}, redundant {}, {:.1} ms",
            path.file_name().unwrap().to_str().unwrap(),
            posed.rows(),
            outcome.status,
            outcome.iterations,
            outcome.residual,
            outcome.redundant,
            1e3 * time
        );
        solved += usize::from(outcome.is_solved());
    }
    println!("{solved} of {}", files.len());
    assert_eq!(solved, files.len());
}

#[test]
fn debug_heavy() {
    let path = shared("cases/friction/heavy-on-light-1e9.json").unwrap();
    let Problem::Global(p) = read(&path).unwrap() else {
        panic!()
    };
    let p = p.reduce().unwrap();
    println!("{:?} {:?}", p.delassus(), p.free_velocity());
    let mut posed = from_friction(&p);
    let outcome = posed.solve(Tolerance::default());
    println!("{outcome:?} {:?}", posed.z());
    posed
        .z_mut()
        .copy_from_slice(&[1e7 + 0.01, 0.0, 0.0, 1e7, 0.0, 0.0]);
    println!("{:?} ", posed.worst_block());
    let outcome = posed.solve(Tolerance::default());
    println!("{outcome:?} {:?}", posed.z());
}
