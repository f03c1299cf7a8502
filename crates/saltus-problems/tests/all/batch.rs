//! A folder of problems, solved by every method, and the profile drawn from it.

use crate::support::{Random, planted};
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, GlobalFriction, Limits, solve_global,
};
use saltus_complementarity::{BlockMatrix, Mlcp, SparseMatrix};
use saltus_linear::Dense;
use saltus_problems::archive::{Point, Problem, Record, read, write, write_record};
use saltus_problems::batch::{
    BatchError, FolderRequest, Request, Start, not_applicable, solve, solve_folder, solve_from,
};
use saltus_problems::profile::{Family, Profile};
use saltus_problems::table::Table;
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
    let runs = solve_folder(&root, &FolderRequest::default(), |path, result| {
        if let Err(error) = result {
            complaints.push((path.file_name().unwrap().to_owned(), error.to_string()));
        }
    })
    .unwrap();
    assert_eq!(complaints.len(), 1);
    assert_eq!(complaints[0].0, "broken.dat");
    assert!(complaints[0].1.contains("line 4"), "{}", complaints[0].1);
    // A problem counts among those of its own kind only: `auto`, which is tried on both, and `lemke`, which is not.
    let profiles = Profile::by_family(&runs);
    assert_eq!(profiles.len(), 2);
    for profile in &profiles {
        assert_eq!(profile.problems, 1);
        let auto = profile.curves.iter().find(|c| c.solver == "auto").unwrap();
        assert_eq!((auto.ratios.len(), auto.failures.len()), (1, 0));
        assert!((profile.share(auto, f64::INFINITY) - 1.0).abs() < 1e-15);
        let lemke = profile.curves.iter().any(|c| c.solver == "lemke");
        assert_eq!(lemke, profile.family == Family::Complementarity);
        assert!(profile.svg().contains("of the 1 problems"));
    }
    assert!(runs.iter().all(|r| r.problem.is_relative()), "{runs:?}");
    let profile = &profiles[1];
    let csv = profile.csv();
    assert!(
        csv.starts_with("# friction: shares of the 1 problems"),
        "{csv}"
    );
    assert_eq!(
        csv.lines().nth(1).unwrap().split(',').count(),
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
        (
            "{\"kind\": \"lpc\"}",
            "kind is \"lpc\", expected one of lcp",
        ),
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

/// The answers, their order and every bit of them are the same for 1, 2 and 4 threads; only times differ.
#[test]
fn the_number_of_threads_changes_no_bit() {
    let root = folder("threads");
    let mut random = Random::new(113);
    for k in 0..12 {
        let (d, n) = ([2, 3, 5][k % 3], 1 + random.below(10));
        let rank = 1 + random.below(d * n);
        let (p, _) = planted(&mut random, d, n, rank, k % 2 == 0);
        write(&root.join(format!("f{k:02}.json")), &Problem::Friction(p)).unwrap();
    }
    write(&root.join("lcp.json"), &lcp(&[-1.0, 3.0])).unwrap();
    std::fs::write(root.join("e-broken.dat"), "3\n1\n0\n9").unwrap();
    let run = |threads: usize| {
        let asked = FolderRequest {
            threads,
            request: Request {
                max_work: 1e6,
                max_iterations: 2000,
                ..Request::default()
            },
            ..FolderRequest::default()
        };
        let mut seen = Vec::new();
        let runs = solve_folder(&root, &asked, |path, result| {
            let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            seen.push((
                path.to_owned(),
                result.as_ref().map_err(ToString::to_string).map(|s| {
                    let words = (s.solver.clone(), s.status.clone(), s.iterations);
                    (
                        words,
                        s.residual.to_bits(),
                        bits(&s.unknowns),
                        bits(&s.dual),
                    )
                }),
            ));
        })
        .unwrap();
        let rows: Vec<_> = runs
            .into_iter()
            .map(|r| (r.problem, r.solution.solver, r.solution.residual.to_bits()))
            .collect();
        (seen, rows)
    };
    let one = run(1);
    let refused = one.0.iter().filter(|s| s.1.is_err()).count();
    assert!(
        one.0.len() > 100 && refused == 1,
        "{} {refused}",
        one.0.len()
    );
    for threads in [2, 4, 100] {
        assert_eq!(run(threads), one, "{threads} threads");
    }
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn solvers_start_where_they_are_told_to() {
    let root = folder("start");
    let mut random = Random::new(127);
    let (p, solution) = planted(&mut random, 3, 12, 30, true);
    let point = |unknowns: &[f64]| Point {
        unknowns: unknowns.to_vec(),
        ..Point::default()
    };
    let far: Vec<f64> = solution.iter().map(|r| 3.0 * r).collect();
    let record = Record {
        problem: Problem::Friction(p),
        solution: Some(point(&solution)),
        guesses: vec![point(&far), point(&solution)],
        title: None,
        rows: Vec::new(),
    };
    let start = |text: &str| text.parse::<Start>().unwrap();
    for text in ["zero", "solution", "guess:2"] {
        assert_eq!(start(text).to_string(), text);
    }
    for text in [
        "", "guess", "guess:", "guess:0", "guess:-1", "guess:x", "middle",
    ] {
        let error = text.parse::<Start>().unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("guess:N"), "{error}");
    }
    let iterations = |text: &str| {
        let unknowns = start(text).unknowns(&record).unwrap();
        let end = solve_from(&record.problem, unknowns, "nsgs", &Request::default()).unwrap();
        assert!(end.solved);
        end.iterations
    };
    // From a solution there is nothing to do; the far guess takes a path of its own.
    assert_eq!((iterations("solution"), iterations("guess:2")), (0, 0));
    let end = solve(&record.problem, "nsgs", &Request::default()).unwrap();
    assert_eq!(end.iterations, iterations("zero"));
    assert!(end.iterations > 0 && iterations("guess:1") > 0);
    let error = start("guess:3").unknowns(&record).unwrap_err().to_string();
    assert!(
        error.contains("guess:3") && error.contains("2 guesses and a solution"),
        "{error}"
    );
    let error = solve_from(&record.problem, &[1.0], "nsgs", &Request::default()).unwrap_err();
    assert!(
        matches!(
            error,
            BatchError::StartSize {
                found: 1,
                expected: 36
            }
        ),
        "{error}"
    );
    // In a folder, too; a file without the point is reported.
    write_record(&root.join("a.json"), &record).unwrap();
    write(&root.join("b.json"), &sliding()).unwrap();
    let asked = FolderRequest {
        solvers: Some(vec!["nsgs".into()]),
        start: Start::Solution,
        ..FolderRequest::default()
    };
    let mut errors = Vec::new();
    let runs = solve_folder(&root, &asked, |_, result| {
        errors.extend(result.as_ref().err().map(ToString::to_string));
    })
    .unwrap();
    assert_eq!((runs.len(), runs[0].solution.iterations), (1, 0));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].contains("no solution in the file"), "{errors:?}");
    std::fs::remove_dir_all(root).unwrap();
}

/// A solver that says infeasible gives the proof: a squeezed mass in global and in reduced form.
#[test]
fn infeasible_problems_come_with_their_certificate() {
    let entries = [(0, 0, 1.0), (0, 3, -1.0), (3, 0, -1.0), (3, 3, 1.0)];
    let w = BlockMatrix::from_triplets(3, 2, entries);
    let q = vec![-1.0, 0.0, 0.0, -1.0, 0.0, 0.0];
    let reduced = FrictionContact::new(w, q.clone(), vec![0.5; 2], Vec::new()).unwrap();
    let mass = SparseMatrix::from_triplets(1, 1, &[(0, 0, 1.0)]);
    let h = SparseMatrix::from_triplets(1, 6, &[(0, 0, 1.0), (0, 3, -1.0)]);
    let global = GlobalFriction::new(3, mass, h, vec![0.0], q, vec![0.5; 2], Vec::new()).unwrap();
    let request = Request {
        max_work: 1e6,
        max_iterations: 500,
        ..Request::default()
    };
    for problem in [Problem::Friction(reduced), Problem::Global(global)] {
        for name in ["auto", "nsgs", "proximal-newton"] {
            let end = solve(&problem, name, &request).unwrap();
            assert_eq!(end.status, "infeasible", "{name}");
            let proof = end.certificate.expect("the proof");
            assert!(
                (proof[0] - proof[1]).abs() < 1e-12 && proof[0] > 0.0,
                "{proof:?}"
            );
        }
    }
}

/// In the global form the projected gradient works with products, as it does where it is called by itself: to the last bit.
#[test]
fn the_projected_gradient_never_forms_the_matrix_of_the_global_form() {
    let mut random = Random::new(59);
    let (bodies, contacts) = (6, 12);
    let mass: Vec<_> = (0..bodies).map(|i| (i, i, 0.3 + random.unit())).collect();
    let mut directions = Vec::new();
    for j in 0..3 * contacts {
        directions.push((random.below(bodies), j, random.signed()));
        directions.push((random.below(bodies), j, random.signed()));
    }
    let global = GlobalFriction::new(
        3,
        SparseMatrix::from_triplets(bodies, bodies, &mass),
        SparseMatrix::from_triplets(bodies, 3 * contacts, &directions),
        (0..bodies).map(|_| random.signed()).collect(),
        vec![1e-2; 3 * contacts],
        vec![0.4; contacts],
        Vec::new(),
    )
    .unwrap();
    let request = Request {
        max_iterations: 200,
        ..Request::default()
    };
    let limits = Limits {
        tolerance: request.tolerance,
        max_iterations: request.max_iterations,
        max_work: request.max_work,
        cancel: None,
    };
    let mut r = vec![0.0; 3 * contacts];
    let end = solve_global(&global, FrictionSolver::ProjectedGradient, limits, &mut r).unwrap();
    let found = solve(&Problem::Global(global), "projected-gradient", &request).unwrap();
    assert_eq!(
        (found.unknowns, found.iterations),
        (r, end.outcome.iterations)
    );
    assert!(found.iterations > 1);
}

/// A method that is not for a problem is listed with the reason, and counts neither as tried nor as a failure; numbers that are
/// not finite have one form in each table.
#[test]
fn tables_tell_failures_from_what_was_not_tried() {
    let root = folder("not-tried");
    let identity = |n: usize, q: f64| {
        let mut matrix = Dense::zeros(n, n);
        for i in 0..n {
            matrix[(i, i)] = 1.0;
        }
        Problem::Mixed {
            equalities: 0,
            matrix,
            q: vec![q; n],
        }
    };
    write(&root.join("few.json"), &identity(12, -1.0)).unwrap();
    write(&root.join("many.json"), &identity(13, -1.0)).unwrap();
    let mut runs = solve_folder(&root, &FolderRequest::default(), |_, _| {}).unwrap();
    assert_eq!(not_applicable(&identity(12, 1.0), "enumeration"), None);
    assert_eq!(not_applicable(&identity(13, 1.0), "lemke"), None);
    let reason = not_applicable(&identity(13, 1.0), "enumeration").unwrap();
    assert!(
        reason.contains("13 complementary pairs") && reason.contains("at most 12"),
        "{reason}"
    );
    let refused: Vec<_> = runs.iter().filter(|r| !r.solution.applies()).collect();
    assert_eq!(refused.len(), 1);
    let s = &refused[0].solution;
    assert_eq!(
        (s.solver.as_str(), s.status.as_str()),
        ("enumeration", "not-applicable")
    );
    assert!(!s.settled() && s.iterations == 0 && s.residual.is_nan());
    let json = serde_json::to_value(s).unwrap();
    assert_eq!(json["not_applicable"], reason);
    assert!(json["residual"].is_null() && json["unknowns"] == serde_json::json!([]));
    let profile = Profile::new(&runs, Family::Complementarity);
    let curve = profile
        .curves
        .iter()
        .find(|c| c.solver == "enumeration")
        .unwrap();
    assert_eq!((curve.ratios.len(), curve.failures.len()), (1, 0));
    assert!(!profile.failures_csv().contains("enumeration"));
    let line = |text: &str| {
        let found = |l: &&str| l.contains("many.json") && l.contains("not-applicable");
        text.lines().find(found).unwrap().to_owned()
    };
    let csv = line(&Table::new(&runs).csv());
    assert!(csv.contains("not-applicable,false,false,0,,,,,,"), "{csv}");
    let html = line(&Table::new(&runs).html());
    assert!(
        html.contains("class=\"none\"") && !html.contains("nan"),
        "{html}"
    );
    assert!(Table::new(&runs).markdown().contains("| – |"));
    runs.truncate(2);
    runs[0].solution.residual = f64::INFINITY;
    runs[0].solution.residual_unscaled = Some(f64::NAN);
    let table = Table::new(&runs);
    assert!(table.csv().contains(",inf,nan,"), "{}", table.csv());
    for text in [table.html(), table.markdown()] {
        let words = text.contains("unbounded") && text.contains("not finite");
        assert!(words && !text.contains("NaN"), "{text}");
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// Where no multipliers prove it, the contact is named that has no solution: a rod that jams, in global and in reduced form.
#[test]
fn refuted_problems_name_their_contact() {
    let w = BlockMatrix::from_triplets(2, 1, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 4.0)]);
    let q = vec![-1.0, 10.0];
    let reduced = FrictionContact::new(w, q.clone(), vec![1.0], Vec::new()).unwrap();
    let mass = SparseMatrix::from_triplets(1, 1, &[(0, 0, 1.0)]);
    let h = SparseMatrix::from_triplets(1, 2, &[(0, 0, 1.0), (0, 1, 2.0)]);
    let global = GlobalFriction::new(2, mass, h, vec![0.0], q, vec![1.0], Vec::new()).unwrap();
    for problem in [Problem::Friction(reduced), Problem::Global(global)] {
        for name in ["auto", "nsgs", "proximal-newton"] {
            let end = solve(&problem, name, &Request::default()).unwrap();
            assert_eq!(end.status, "infeasible", "{name}");
            assert!(end.certificate.is_none() && end.settled());
            let text = serde_json::to_string(&end).unwrap();
            assert!(text.contains(r#""refuted":0"#), "{text}");
        }
    }
}
