//! The linear complementarity problems of the public collection, each settled.

use crate::support::shared;
use saltus_complementarity::lcp::{LcpSolver, solve};
use saltus_complementarity::{Mlcp, Status, Tolerance};
use saltus_linear::{dot, max_abs};
use saltus_problems::archive::{Problem, read};

#[test]
fn every_file_is_settled() {
    let Some(folder) = shared("data/fclib/lcp") else {
        return;
    };
    // Infeasible as linear systems.
    let infeasible = [
        "CPS_4",
        "CPS_4bis",
        "Pang_isolated_sol",
        "Pang_isolated_sol_perturbed",
        "inf_sol_perturbed",
        "tobenna",
    ];
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.sort();
    let mut counts = [0, 0];
    for path in &names {
        let Problem::Mixed {
            equalities,
            matrix,
            q,
        } = read(path).unwrap()
        else {
            panic!("{path:?}")
        };
        let problem = Mlcp {
            equalities,
            matrix: &matrix,
            q: &q,
        };
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let hopeless = infeasible.iter().any(|n| stem == format!("lcp_{n}"));
        let mut line = format!("{stem:34}");
        for (name, solver) in LcpSolver::ALL {
            let mut z = vec![0.0; q.len()];
            let end = solve(
                &problem,
                solver,
                Tolerance {
                    max_iterations: 20_000,
                    ..Tolerance::default()
                },
                &mut z,
            );
            line += &format!(
                " {name} {:?}/{}",
                end.outcome.status, end.outcome.iterations
            );
            if end.outcome.is_solved() {
                assert!(!hopeless, "{stem} {name}");
                assert!(problem.relative_residual(&z) <= 1e-12);
            }
            if solver != LcpSolver::Auto {
                continue;
            }
            if hopeless {
                assert_eq!(end.outcome.status, Status::Infeasible, "{stem}");
                let y = end.certificate.unwrap();
                let mut image = vec![0.0; q.len()];
                matrix.apply_transposed_add(1.0, &y, &mut image);
                assert!(y.iter().all(|&v| v >= 0.0));
                assert!(
                    image
                        .iter()
                        .all(|&v| v <= 1e-12 * max_abs(matrix.as_slice()) * max_abs(&y)),
                    "{stem}: {image:?}"
                );
                assert!(dot(&q, &y) < 0.0);
                counts[1] += 1;
            } else {
                assert!(end.outcome.is_solved(), "{stem}: {:?}", end.outcome);
                counts[0] += 1;
            }
        }
        println!("{line}");
    }
    println!(
        "{} solved, {} infeasible with a certificate, of {}",
        counts[0],
        counts[1],
        names.len()
    );
    assert_eq!(counts, [14, 6]);
}
