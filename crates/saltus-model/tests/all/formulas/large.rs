//! Many coordinates: assembly stays quick and matrices sparse.

use super::models::{Dense, Model};
use saltus_system::{Constraints, ContactSet, Contacts, Dynamics, Point, Reach};
use std::time::Instant;

/// A chain of masses, springs and dampers between walls; neighbours may touch.
fn chain(n: usize) -> Model {
    let names: Vec<String> = (0..n).map(|i| format!("x{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut model = Model::new(&names).parameters(&[
        ("m", 1.0),
        ("k", 100.0),
        ("k3", 7.0),
        ("c", 0.1),
        ("r", 0.01),
    ]);
    let stretch = |i: usize| format!("(x{i} - x{})", i - 1);
    let mut potential = "0.5*k*x0^2".to_owned();
    let mut dissipation = "0.5*c*v.x0^2".to_owned();
    let mut kinetic = "0.5*m*v.x0^2".to_owned();
    for i in 1..n {
        potential += &format!(" + 0.5*k*{0}^2 + k3*{0}^4", stretch(i));
        dissipation += &format!(" + 0.5*c*(v.x{i} - v.x{})^2", i - 1);
        kinetic += &format!(" + 0.5*m*v.x{i}^2");
    }
    model = model
        .kinetic(&kinetic)
        .potential(&potential)
        .dissipation(&dissipation);
    for i in 1..n {
        model = model.unilateral(&format!("gap{i}"), &format!("2*r + {}", stretch(i)), "0.5");
        model = model.tangential(&[&format!("sin(x{i})")]).friction("0.1");
    }
    model.bilateral("ends", &format!("x0 + x{} - 0.1*sin(t)", n - 1))
}

#[test]
fn a_chain_is_sparse_and_right() {
    let n = 200;
    let started = Instant::now();
    let system = chain(n).0.assemble().unwrap();
    let elapsed = started.elapsed();
    println!("assembly of {n} masses: {elapsed:?}");
    assert!(elapsed.as_secs_f64() < 5.0, "{elapsed:?}");

    let q: Vec<f64> = (0..n).map(|i| 0.1 * (i as f64).sin()).collect();
    let v: Vec<f64> = (0..n).map(|i| (0.3 * i as f64).cos()).collect();
    let point = Point {
        t: 0.2,
        q: &q,
        v: &v,
    };
    let mut force = vec![0.0; n];
    system.force(point, &mut force);
    for (i, force) in force.iter().enumerate() {
        let mut expected = 0.0;
        let pull = |a: usize, b: usize| {
            let d = q[b] - q[a];
            100.0 * d + 28.0 * d * d * d + 0.1 * (v[b] - v[a])
        };
        if i > 0 {
            expected -= pull(i - 1, i);
        } else {
            expected -= 100.0 * q[0] + 0.1 * v[0];
        }
        if i + 1 < n {
            expected += pull(i, i + 1);
        }
        assert!(
            (force - expected).abs() < 1e-12,
            "force {i}: {force}, not {expected}",
        );
    }
    let count = |fill: &dyn Fn(&mut Dense)| Dense::of(n, n, |m| fill(m)).entries;
    assert_eq!(count(&|m| system.mass(&q, m)), n);
    assert_eq!(count(&|m| system.stiffness(point, m)), 3 * n - 2);
    assert_eq!(count(&|m| system.damping(point, m)), 3 * n - 2);
    assert_eq!(count(&|m| system.mass_gradient(&q, &v, m)), 0);
    assert_eq!(count(&|m| system.g_jacobian(0.2, &q, m)), 2);
    let mut set = ContactSet::default();
    system.detect(0.2, &q, Reach::All, &mut set);
    assert_eq!(set.len(), n - 1);
    assert_eq!(set.directions.cols(0), [0, 1]);
    assert_eq!(set.directions.cols(1), [1]);
    let r = vec![1.0; set.directions.len()];
    assert_eq!(
        count(&|m| system.contact_curvature(0.2, &q, &set, &r, m)),
        n - 1
    );
}
