//! Corrections of large systems with many contacts, level by level, against all unknowns at once.

use saltus_integrators::{
    Integrator, LinearSolve, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHht, NonsmoothHhtOptions, StepReport,
};
use saltus_system::{State, System};
use saltus_zoo::Linear;

/// Masses in a row on springs, and dampers where `damping` is not zero, each over a floor of its own; `twice` gives
/// every tenth of them a second floor at the same place.
fn row_of_masses(n: usize, damping: f64, twice: bool) -> (Linear, State) {
    let mut system = Linear {
        n,
        load: (0..n).map(|i| -9.81 * (1.0 + 0.01 * i as f64)).collect(),
        mass: (0..n).map(|i| (i, i, 1.0 + 0.01 * i as f64)).collect(),
        ..Linear::default()
    };
    for i in 0..n - 1 {
        system.mass.push((i, i + 1, 0.2));
        system.mass.push((i + 1, i, 0.2));
        for (j, k, sign) in [
            (i, i, 1.0),
            (i, i + 1, -1.0),
            (i + 1, i, -1.0),
            (i + 1, i + 1, 1.0),
        ] {
            system.stiffness.push((j, k, sign * 300.0));
            if damping != 0.0 {
                // Not a combination of mass and stiffness.
                let here = damping * (1.0 + 0.1 * (i % 7) as f64);
                system.damping.push((j, k, sign * here));
            }
        }
    }
    for i in 0..n {
        system.contacts.push((0.0, vec![(i, 1.0)], 0.4));
        if twice && i % 10 == 0 {
            system.contacts.push((0.0, vec![(i, 1.0)], 0.4));
        }
    }
    let q = (0..n)
        .map(|i| 0.1 + 0.1 * (i as f64 * 0.3).sin().powi(2))
        .collect();
    (system, State::new(0.0, q, vec![0.0; n]))
}

fn close(a: &[f64], b: &[f64], what: &str) {
    let size = 1.0 + b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= 1e-8 * size, "{what} {i}: {a} {b}");
    }
}

/// Runs two integrators of the same scheme side by side; most contacts closed at once.
fn compare(
    system: &dyn System,
    start: &State,
    mut pair: [Box<dyn Integrator>; 2],
    (h, steps): (f64, u32),
) -> usize {
    let mut states = [start.clone(), start.clone()];
    for (method, state) in pair.iter_mut().zip(&states) {
        method.prepare(system, state, h).unwrap();
    }
    let mut most = 0;
    for k in 0..steps {
        let end = f64::from(k + 1) * h;
        let reports: Vec<StepReport> = (pair.iter_mut().zip(&mut states))
            .map(|(method, state)| method.step(system, state, h, end).unwrap())
            .collect();
        let what = |name: &str| format!("step {k}: {name}");
        close(&states[0].q, &states[1].q, &what("q"));
        close(&states[0].v, &states[1].v, &what("v"));
        let (a, b) = (pair[0].reactions(), pair[1].reactions());
        close(&a.contacts.gap, &b.contacts.gap, &what("gap"));
        close(a.impulse, b.impulse, &what("impulse"));
        assert_eq!(reports[0].active, reports[1].active, "step {k}");
        let guarantees = pair[0].guarantees();
        for (entry, value) in reports[0].certificate.iter() {
            // Momenta of the motion are below 10 √J.
            let allowed = guarantees.bound(entry).map_or(f64::INFINITY, |b| 10.0 * b);
            assert!(value.abs() <= allowed, "step {k}: {entry:?} {value}");
        }
        most = most.max(reports[0].active as usize);
    }
    most
}

fn alpha(formulation: NonsmoothFormulation, linear_solve: LinearSolve) -> Box<dyn Integrator> {
    Box::new(
        NonsmoothGeneralizedAlpha::new(NonsmoothGeneralizedAlphaOptions {
            formulation,
            linear_solve,
            ..Default::default()
        })
        .unwrap(),
    )
}

#[test]
fn level_by_level_is_all_at_once() {
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        for damping in [0.0, 0.7] {
            for n in [70, 100] {
                let (system, start) = row_of_masses(n, damping, false);
                let pair = [LinearSolve::Condensed, LinearSolve::Monolithic]
                    .map(|solve| alpha(formulation, solve));
                let most = compare(&system, &start, pair, (2e-3, 200));
                assert!(most > 40, "{formulation:?} {damping}: {most}");
            }
        }
    }
}

#[test]
fn floors_that_are_there_twice_share_the_load() {
    let (single, start) = row_of_masses(80, 0.0, false);
    let (double, _) = row_of_masses(80, 0.0, true);
    let h = 2e-3;
    let mut pair = [(); 2].map(|()| alpha(NonsmoothFormulation::Pva, LinearSolve::Condensed));
    let [once, twice] = &mut pair;
    let (mut a, mut b) = (start.clone(), start);
    once.prepare(&single, &a, h).unwrap();
    twice.prepare(&double, &b, h).unwrap();
    let mut redundant = 0;
    for k in 0..150 {
        let end = f64::from(k + 1) * h;
        once.step(&single, &mut a, h, end).unwrap();
        let report = twice.step(&double, &mut b, h, end).unwrap();
        redundant = redundant.max(report.redundant);
        close(&a.q, &b.q, &format!("step {k}: q"));
        close(&a.v, &b.v, &format!("step {k}: v"));
        let (one, two) = (once.reactions().impulse, twice.reactions().impulse);
        let mut next = two.iter();
        for (i, p) in one.iter().enumerate() {
            let first = next.next().unwrap();
            let mut sum = *first;
            if i % 10 == 0 {
                let second = next.next().unwrap();
                close(&[*first], &[*second], &format!("step {k}: impulse of {i}"));
                sum += second;
            }
            close(&[sum], &[*p], &format!("step {k}: impulse of {i}"));
        }
    }
    assert!(redundant > 2, "{redundant}");
}

#[test]
fn half_steps_with_many_contacts() {
    for damping in [0.0, 0.7] {
        // One mass more, which nothing ties to the others, makes the system large.
        let (small, start) = row_of_masses(60, damping, false);
        let mut large = small.clone();
        large.n += 1;
        large.load.push(0.0);
        large.mass.push((60, 60, 1.0));
        let mut more = start.clone();
        more.q.push(0.0);
        more.v.push(0.0);
        let h = 2e-3;
        let mut pair = [(); 2].map(|()| NonsmoothHht::new(NonsmoothHhtOptions::default()).unwrap());
        let [dense, sparse] = &mut pair;
        let (mut a, mut b) = (start, more);
        dense.prepare(&small, &a, h).unwrap();
        sparse.prepare(&large, &b, h).unwrap();
        let mut most = 0;
        for k in 0..150 {
            let end = f64::from(k + 1) * h;
            let x = dense.step(&small, &mut a, h, end).unwrap();
            let y = sparse.step(&large, &mut b, h, end).unwrap();
            close(&a.q, &b.q[..60], &format!("step {k}: q"));
            close(&a.v, &b.v[..60], &format!("step {k}: v"));
            let impulses = (dense.reactions().impulse, sparse.reactions().impulse);
            close(impulses.0, impulses.1, &format!("step {k}: impulse"));
            assert_eq!(x.active, y.active);
            most = most.max(y.active);
        }
        assert!(most > 15, "{damping}: {most}");
    }
}

/// Every contact of a column at rest bears what is above it: conditions that hold already are noise of any sign.
#[test]
fn a_column_at_rest_stays() {
    let n = 6;
    let mut contacts = vec![(0.0, vec![(0, 1.0)], 0.5)];
    contacts.extend((1..n).map(|i| (-0.2, vec![(i - 1, -1.0), (i, 1.0)], 0.5)));
    let system = Linear {
        n,
        mass: (0..n).map(|i| (i, i, 1.0 + 0.3 * i as f64)).collect(),
        load: (0..n).map(|i| -10.0 * (1.0 + 0.3 * i as f64)).collect(),
        contacts,
        ..Linear::default()
    };
    let q: Vec<f64> = (0..n).map(|i| 0.2 * i as f64).collect();
    let weight: f64 = (0..n).map(|i| 10.0 * (1.0 + 0.3 * i as f64)).sum();
    for formulation in [NonsmoothFormulation::Pva, NonsmoothFormulation::Pvv] {
        let mut integrator = alpha(formulation, LinearSolve::Auto);
        let mut state = State::new(0.0, q.clone(), vec![0.0; n]);
        let h = 7e-3;
        integrator.prepare(&system, &state, h).unwrap();
        for k in 1..=50 {
            let end = f64::from(k) * h;
            let report = integrator.step(&system, &mut state, h, end).unwrap();
            assert_eq!(report.remedies, 0);
            let bottom = integrator.reactions().impulse[0];
            assert!(bottom > 0.0 && (k < 40 || (bottom - h * weight).abs() < 1e-9));
        }
        close(&state.q, &q, "positions");
    }
}
