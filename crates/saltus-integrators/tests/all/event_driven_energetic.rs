//! The energetic impact law: exact for one contact, and for several with any restitution.

use saltus_integrators::{EventDriven, EventDrivenOptions, ImpactLaw, Integrator};
use saltus_system::{State, System};
use saltus_zoo::{Ball, corner, newtons_cradle};

/// Velocities after the impact of contacts that touch.
fn after(system: &dyn System, v: &[f64], exponent: f64) -> Vec<f64> {
    let options = EventDrivenOptions {
        impact_law: ImpactLaw::Energetic,
        exponent,
        ..EventDrivenOptions::default()
    };
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = State::new(0.0, vec![0.0; v.len()], v.to_vec());
    scheme.prepare(system, &state, 1e-9).unwrap();
    scheme.step(system, &mut state, 1e-9, 1e-9).unwrap();
    state.v
}

#[test]
fn one_contact_rebounds_as_newton_says() {
    for exponent in [1.0, 1.5, 3.0] {
        for e in [0.0, 1e-6, 0.01, 0.05, 0.5, 0.95, 1.0] {
            let ball = Ball {
                mass: 0.3,
                force: 0.0,
                restitution: e,
            };
            let v = after(&ball, &[-1.7], exponent);
            assert!((v[0] - 1.7 * e).abs() <= 1e-12 * 1.7, "{e}: {}", v[0]);
            if e == 0.0 {
                assert!(v[0].abs() < 1e-30, "{}", v[0]);
            }
        }
    }
}

/// Walls at right angles act one by one.
#[test]
fn a_right_corner_is_two_contacts() {
    for e in [0.0, 0.02, 0.7, 1.0] {
        let v = after(&corner(&[[1.0, 0.0], [0.0, 1.0]], e), &[-1.0, -3.0], 1.5);
        assert!(
            (v[0] - e).abs() < 3e-12 && (v[1] - 3.0 * e).abs() < 3e-12,
            "{e}: {v:?}"
        );
    }
}

/// Three equal balls: momentum stays, nothing approaches, and energy goes where restitution takes it.
#[test]
fn balls_in_a_row_come_apart_with_any_restitution() {
    for start in [[1.0, 0.0, 0.0], [1.0, 0.0, -1.0], [2.0, 1.0, 0.0]] {
        let mut last = 0.0;
        for e in [0.0, 1e-6, 0.01, 0.05, 0.2, 0.5, 1.0] {
            let began = std::time::Instant::now();
            let v = after(&newtons_cradle(&[1.0; 3], e), &start, 1.5);
            println!("{start:?} e = {e}: {v:?} in {:?}", began.elapsed());
            let momentum: f64 = start.iter().sum();
            assert!((v.iter().sum::<f64>() - momentum).abs() < 1e-12);
            assert!(v[1] - v[0] > -1e-8 && v[2] - v[1] > -1e-8, "{v:?}");
            let energy = |v: &[f64]| 0.5 * v.iter().map(|v| v * v).sum::<f64>();
            // More restitution leaves more energy.
            assert!(energy(&v) > last - 1e-9, "{e}: {}", energy(&v));
            last = energy(&v);
            if e == 0.0 {
                let worst = v.iter().map(|v| (v - momentum / 3.0).abs());
                assert!(worst.fold(0.0, f64::max) < 1e-8, "{v:?}");
            }
            if e == 1.0 {
                assert!((energy(&v) - energy(&start)).abs() < 1e-11);
            }
        }
    }
}
