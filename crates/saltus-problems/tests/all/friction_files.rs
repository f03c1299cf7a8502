//! Every frictional problem of the public collection: read, solved, compared with the public values.

use crate::support::shared;
use saltus_complementarity::friction::{
    FrictionContact, FrictionSolver, GlobalFriction, Limits, ResidualScales, canonical_reaction,
    solve, solve_global,
};
use saltus_linear::dot;
use saltus_problems::archive::{Problem, read, write};
use serde_json::Value;
use std::path::{Path, PathBuf};

struct Case {
    name: String,
    reduced: FrictionContact,
    global: Option<GlobalFriction>,
}

fn files() -> Option<Vec<PathBuf>> {
    let root = shared("data/fclib")?;
    let mut list = Vec::new();
    for folder in ["dim2", "global3d", "local3d", "rolling"] {
        let mut names: Vec<_> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect();
        names.sort();
        list.extend(names);
    }
    Some(list)
}

fn load(path: &Path) -> Case {
    let folder = path
        .parent()
        .unwrap()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap();
    let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
    match read(path).unwrap() {
        Problem::Friction(p) => Case {
            name,
            reduced: p,
            global: None,
        },
        Problem::Global(p) => Case {
            name,
            reduced: p.reduce().unwrap(),
            global: Some(p),
        },
        other => panic!("{name}: {other:?}"),
    }
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// One public value; `None` if this quantity is not one that is compared.
fn quantity(case: &Case, name: &str, r: &[f64], u: &[f64]) -> Option<Vec<f64>> {
    let p = &case.reduced;
    let (q, d) = (p.free_velocity(), p.dimension());
    let image: Vec<f64> = u.iter().zip(q).map(|(u, q)| u - q).collect();
    let normal = || u.iter().step_by(d).copied();
    let one = match name {
        "n_contacts" => p.contacts() as f64,
        "norm_u" => norm(u),
        "norm_Wr" => norm(&image),
        "norm_r" => norm(r),
        "qr" => dot(q, r),
        "rWr" => dot(r, &image),
        "u.r(=-friction dissipation)" => dot(u, r),
        "sum_u_n" => normal().sum(),
        "min_u_n" => normal().fold(f64::INFINITY, f64::min),
        "max_u_t" => u
            .chunks_exact(d)
            .map(|u| norm(&u[1..d.min(3)]))
            .fold(0.0, f64::max),
        "norm_v" | "kinetic_energy" => {
            let g = case.global.as_ref()?;
            let v = g.generalised_velocity(&g.factorised_mass().ok()?, r);
            if name == "norm_v" {
                norm(&v)
            } else {
                let mut mv = vec![0.0; v.len()];
                g.mass().apply_add(1.0, &v, &mut mv);
                0.5 * dot(&v, &mv)
            }
        }
        "u_first_contacts" => return Some(u.to_vec()),
        _ => return None,
    };
    Some(vec![one])
}

fn flatten(v: &Value) -> Vec<f64> {
    match v {
        Value::Array(list) => list.iter().flat_map(flatten).collect(),
        other => other.as_f64().into_iter().collect(),
    }
}

#[test]
fn auto_solves_every_file_and_reproduces_the_public_values() {
    let (Some(list), Some(reference)) = (files(), shared("reference/friction.json")) else {
        return;
    };
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(reference).unwrap()).unwrap();
    let items = reference["items"].as_array().unwrap();
    let (mut solved, mut compared, mut wrong) = (0, 0, Vec::new());
    for path in &list {
        let case = load(path);
        let p = &case.reduced;
        let mut r = vec![0.0; p.dimension() * p.contacts()];
        let hard = case.name.contains("RockPile");
        // Velocities are compared to 1e-9 and better, so the residual has to be smaller; it is reached on all files but two.
        let limits = Limits {
            max_work: 6e9,
            ..Limits::default()
        };
        let end = solve(p, FrictionSolver::Auto, limits, &mut r);
        if hard {
            assert!(
                end.residual.eta <= 1e-5,
                "{}: {}",
                case.name,
                end.residual.eta
            );
            continue;
        }
        assert!(end.outcome.is_solved(), "{}: {end:?}", case.name);
        solved += 1;
        let sharp = Limits {
            tolerance: 1e-12,
            max_work: 2e9,
            ..Limits::default()
        };
        solve(p, FrictionSolver::Auto, sharp, &mut r);
        let mut u = vec![0.0; r.len()];
        p.velocity(&r, &mut u);
        for item in items.iter().filter(|i| i["file"] == case.name.as_str()) {
            let kind = item["tol_kind"].as_str().unwrap();
            let Some(ours) = quantity(&case, item["quantity"].as_str().unwrap(), &r, &u) else {
                continue;
            };
            let theirs = flatten(&item["value"]);
            let tolerance = item["tolerance"].as_f64().unwrap();
            let worst = ours
                .iter()
                .zip(&theirs)
                .map(|(a, b)| match kind {
                    "rel" => (a - b).abs() / b.abs().max(f64::MIN_POSITIVE),
                    _ => (a - b).abs(),
                })
                .fold(0.0, f64::max);
            if kind == "info" {
                continue;
            }
            compared += 1;
            if worst.is_nan() || worst > tolerance {
                wrong.push(format!(
                    "{}: off by {worst:.2e}, allowed {tolerance:.1e}",
                    item["id"].as_str().unwrap()
                ));
            }
        }
    }
    println!(
        "{solved} of {} files solved, {compared} public values compared",
        list.len()
    );
    for line in &wrong {
        println!("{line}");
    }
    assert!(solved >= 69);
    assert!(wrong.is_empty(), "{} public values differ", wrong.len());
}

#[test]
fn canonical_reactions_have_the_public_norm() {
    let (Some(root), Some(reference)) = (shared("data/fclib"), shared("reference/friction.json"))
    else {
        return;
    };
    let reference: Value =
        serde_json::from_str(&std::fs::read_to_string(reference).unwrap()).unwrap();
    let (mut checked, mut wrong) = (0, 0);
    for item in reference["items"].as_array().unwrap() {
        if item["quantity"] != "canonical_reaction_norm_D" {
            continue;
        }
        let case = load(&root.join(item["file"].as_str().unwrap()));
        let p = &case.reduced;
        let mut r = vec![0.0; p.dimension() * p.contacts()];
        let sharp = Limits {
            tolerance: 1e-12,
            ..Limits::default()
        };
        solve(p, FrictionSolver::Auto, sharp, &mut r);
        let changed = canonical_reaction(p, 1e-9, &mut r);
        let scales = ResidualScales::new(p);
        let size: f64 = r
            .chunks_exact(p.dimension())
            .zip(scales.contact_scales())
            .map(|(r, d)| d * dot(r, r))
            .sum::<f64>()
            .sqrt();
        let expected = item["value"].as_f64().unwrap();
        let error = (size - expected).abs() / expected;
        println!(
            "{} {changed} {size} {expected} {error:.1e} allowed {}",
            case.name, item["tolerance"]
        );
        let allowed = item["tolerance"].as_f64().unwrap();
        // Three of the public values are not the least: they hold contacts open which carry nothing in one solution, although
        // they do not move. `referee.rs` compares those with an independent code.
        let longer = ["i100-1090", "i101-404", "i103-990"]
            .iter()
            .any(|n| case.name.contains(n));
        let apart = if longer {
            size > expected
        } else {
            error > allowed
        };
        wrong += usize::from(!changed || apart);
        checked += 1;
    }
    println!("{checked} canonical reactions checked");
    assert_eq!((checked, wrong), (9, 0));
}

/// The rolling cone is the intersection of two Lorentz cones: the interior point solves all files with rolling friction, and
/// all others but RockPile, whose `W` is unsymmetric and has contacts of Painlevé's kind.
#[test]
fn interior_point_solves_the_files() {
    let Some(list) = files() else { return };
    let (mut solved, mut rolling, mut iterations) = (0, 0, 0);
    for path in &list {
        let case = load(path);
        let p = &case.reduced;
        if p.contacts() > 1000 {
            continue;
        }
        let mut r = vec![0.0; p.free_velocity().len()];
        let end = solve(p, FrictionSolver::InteriorPoint, Limits::default(), &mut r);
        println!(
            "{}: {:?} {} {:.1e}",
            case.name, end.outcome.status, end.outcome.iterations, end.residual.eta
        );
        solved += usize::from(end.outcome.is_solved());
        rolling += usize::from(end.outcome.is_solved() && p.dimension() == 5);
        iterations += end.outcome.iterations;
    }
    println!(
        "{solved} problems solved by the interior point, {rolling} with rolling, {iterations} iterations"
    );
    assert!(solved >= 67 && rolling >= 9);
}

#[test]
fn global_files_are_solved_without_forming_the_operator() {
    let Some(list) = files() else { return };
    let mut solved = 0;
    for path in &list {
        let case = load(path);
        // This one takes too many iterations of the one method there is; its reduced form is solved elsewhere.
        let (Some(global), false) = (&case.global, case.name.contains("spheres-in-a-box")) else {
            continue;
        };
        let mut r = vec![0.0; global.dimension() * global.contacts()];
        let gradient = FrictionSolver::ProjectedGradient;
        let end = solve_global(global, gradient, Limits::default(), &mut r).unwrap();
        assert!(end.outcome.is_solved(), "{}: {end:?}", case.name);
        // The reduced problem agrees about the residual.
        let reduced = ResidualScales::new(&case.reduced).residual_of(&case.reduced, &r);
        assert!(reduced.eta <= 1.1e-8, "{}: {reduced:?}", case.name);
        solved += 1;
    }
    println!("{solved} global problems solved matrix-free");
    assert!(solved >= 15);
}

#[test]
fn what_is_written_is_read_again() {
    let Some(list) = files() else { return };
    let folder = std::env::temp_dir().join(format!("saltus-archive-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for path in list
        .iter()
        .filter(|p| p.metadata().unwrap().len() < 200_000)
    {
        let problem = read(path).unwrap();
        for name in ["copy.hdf5", "copy.json"] {
            let copy = folder.join(name);
            write(&copy, &problem).unwrap();
            match (&problem, read(&copy).unwrap()) {
                (Problem::Friction(a), Problem::Friction(b)) => {
                    assert_eq!(a.friction(), b.friction(), "{path:?}");
                    assert_eq!(a.rolling(), b.rolling(), "{path:?}");
                    assert_eq!(a.free_velocity(), b.free_velocity(), "{path:?}");
                    let kept = |p: &FrictionContact| -> Vec<_> {
                        p.delassus().triplets().filter(|e| e.2 != 0.0).collect()
                    };
                    assert_eq!(kept(a), kept(&b), "{path:?}");
                }
                (Problem::Global(a), Problem::Global(b)) => {
                    assert_eq!(a.mass(), b.mass(), "{path:?}");
                    assert_eq!(a.directions(), b.directions(), "{path:?}");
                    assert_eq!(
                        (a.force(), a.bias(), a.friction()),
                        (b.force(), b.bias(), b.friction()),
                        "{path:?}"
                    );
                }
                (a, b) => panic!("{path:?}: {a:?} became {b:?}"),
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A table: file, status, eta, counted work, time.
#[test]
#[ignore = "measures time"]
fn table_of_auto() {
    let Some(list) = files() else { return };
    let mut total = 0.0;
    for path in &list {
        let case = load(path);
        let p = &case.reduced;
        let mut r = vec![0.0; p.free_velocity().len()];
        let start = std::time::Instant::now();
        let end = solve(p, FrictionSolver::Auto, Limits::default(), &mut r);
        let time = start.elapsed().as_secs_f64();
        total += time;
        println!(
            "{:60} {:?} {:.1e} {:.2e} {:.2} ms",
            case.name,
            end.outcome.status,
            end.residual.eta,
            end.work,
            1e3 * time
        );
    }
    println!("{total:.2} s");
}
