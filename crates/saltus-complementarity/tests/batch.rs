//! A folder of problems, solved by every method, and the profile drawn from it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use saltus_complementarity::archive::{Problem, read, write};
use saltus_complementarity::batch::{BatchError, Request, solve, solve_folder};
use saltus_complementarity::friction::FrictionContact;
use saltus_complementarity::profile::Profile;
use saltus_complementarity::{BlockMatrix, Mlcp};
use saltus_linear::Dense;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("saltus-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A block of unit mass on the floor, pushed sideways: it slides, `u_t = 1 − μ g h`.
fn sliding() -> Problem {
    let w = BlockMatrix::from_triplets(3, 1, (0..3).map(|k| (k, k, 1.0)));
    Problem::Friction(FrictionContact::new(w, vec![-0.1, 1.0, 0.0], vec![0.3], Vec::new()).unwrap())
}

fn lcp(q: &[f64]) -> Problem {
    let mut matrix = Dense::zeros(q.len(), q.len());
    for i in 0..q.len() {
        matrix[(i, i)] = 2.0;
    }
    Problem::Mixed {
        equalities: 0,
        matrix,
        q: q.to_vec(),
    }
}

#[test]
fn a_folder_becomes_a_profile() {
    let root = folder("batch");
    write(&root.join("sliding.hdf5"), &sliding()).unwrap();
    write(&root.join("lcp.json"), &lcp(&[-1.0, 3.0])).unwrap();
    std::fs::write(root.join("broken.dat"), "3\n1\n0\n9").unwrap();
    std::fs::write(root.join("notes.txt"), "not a problem").unwrap();
    let mut complaints = Vec::new();
    let runs = solve_folder(&root, None, &Request::default(), |path, result| {
        if let Err(error) = result {
            complaints.push((path.file_name().unwrap().to_owned(), error.to_string()));
        }
    })
    .unwrap();
    assert_eq!(complaints.len(), 1);
    assert_eq!(complaints[0].0, "broken.dat");
    assert!(complaints[0].1.contains("line 4"), "{}", complaints[0].1);
    let profile = Profile::new(&runs);
    assert_eq!(profile.problems, 2);
    let auto = profile.curves.iter().find(|c| c.solver == "auto").unwrap();
    assert_eq!((auto.ratios.len(), auto.failures.len()), (2, 0));
    assert!((profile.share(auto, f64::INFINITY) - 1.0).abs() < 1e-15);
    let csv = profile.csv();
    assert!(csv.starts_with("factor,"));
    assert_eq!(
        csv.lines().next().unwrap().split(',').count(),
        profile.curves.len() + 1
    );
    assert!(profile.svg().starts_with("<svg") && profile.svg().trim_end().ends_with("</svg>"));
    assert!(
        profile
            .failures_csv()
            .starts_with("solver,problem,status\n")
    );
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn solutions_hold_what_they_say() {
    let solution = solve(&sliding(), "auto", &Request::default()).unwrap();
    assert!(solution.solved);
    assert!((solution.dual[1] - 0.97).abs() < 1e-15 && solution.dual[0].abs() < 1e-15);
    assert!(
        (solution.unknowns[0] - 0.1).abs() < 1e-15 && (solution.unknowns[1] + 0.03).abs() < 1e-15
    );
    let text = serde_json::to_string(&solution).unwrap();
    assert!(text.contains("\"status\":\"solved\"") && !text.contains("certificate"));
    let problem = lcp(&[-1.0, 3.0]);
    let solution = solve(&problem, "lemke", &Request::default()).unwrap();
    let Problem::Mixed { matrix, q, .. } = &problem else {
        panic!()
    };
    assert!(
        Mlcp {
            equalities: 0,
            matrix,
            q
        }
        .residual(&solution.unknowns)
            < 1e-15
    );
}

#[test]
fn unknown_solvers_are_named_with_what_there_is() {
    let Err(error) = solve(&sliding(), "proximal-newto", &Request::default()) else {
        panic!()
    };
    assert!(matches!(error, BatchError::Solver { .. }));
    let text = error.to_string();
    assert!(
        text.contains("\"proximal-newto\"") && text.contains("did you mean \"proximal-newton\"?"),
        "{text}"
    );
}

#[test]
fn broken_files_are_errors_that_name_place_and_expectation() {
    let root = folder("broken");
    for (text, expected) in [
        ("", "end of the file"),
        ("3 1 0 3 3\n3 3\n1 0 0 0 1 0 0 0 x", "\"x\""),
        (
            "{\"kind\": \"lcp\", \"matrix\": [[1]], \"q\": [1, 2]}",
            "matrix has 1 rows, q has 2 entries",
        ),
        ("{\"kind\": \"lpc\"}", "unknown variant"),
        (
            "{\"kind\": \"friction\", \"dimension\": 4, \"delassus\": [], \"q\": [0,0,0,0], \"mu\": [1]}",
            "4 components",
        ),
        (
            "{\"kind\": \"friction\", \"dimension\": 3, \"delassus\": [], \"q\": [0,0,0], \"mu\": [-1]}",
            "mu is -1",
        ),
        ("99999999999 0 1 1", "a whole number"),
    ] {
        let path = root.join("case.dat");
        std::fs::write(&path, text).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.contains("case.dat") && error.contains(expected),
            "{text:?}: {error}"
        );
    }
    assert!(
        read(&root.join("absent.dat"))
            .unwrap_err()
            .to_string()
            .contains("absent.dat")
    );
    std::fs::write(root.join("short.hdf5"), b"\x89HDF\r\n\x1a\n and no more").unwrap();
    assert!(read(&root.join("short.hdf5")).is_err());
    std::fs::remove_dir_all(root).unwrap();
}
