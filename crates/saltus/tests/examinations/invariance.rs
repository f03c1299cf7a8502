//! The same motion in other units and in another order of coordinates.

use crate::subjects::{Examination, everyone, run};
use crate::transformed::Transformed;
use saltus_system::Dynamics;

#[test]
fn results_do_not_depend_on_units_or_order() {
    everyone(
        Examination::Invariance,
        |candidate, case, model, h, steps| {
            let n = model.system.dims().nv;
            // Chaotic cases amplify round-off: compare while it is still small. So does a slender beam without damping, whose
            // axial force is known to 1e-8 N: 1.0e-9 of the motion after 1050 steps of the pendulum at the earliest.
            let steps = match case {
                "flexible-pendulum" => steps.min(700),
                "two-balls" => steps.min(400),
                "double-pendulum" | "slider-crank" | "two-mass-oscillator" => steps.min(900),
                _ => steps,
            };
            let plain = run(&*model.system, &candidate.scheme, &model.initial, h, steps);
            let place: Vec<usize> = (0..n).map(|i| (i + 1) % n).collect();
            // Powers of two and others: millimetres, kilometres, tonnes.
            for (scale, gap, energy) in [(1.0, 1.0, 1.0), (1e3, 1e3, 1e-3), (1e-3, 1e-3, 1e6)] {
                // Rotations have no unit: where positions are no vector, only that of mass is changed.
                let flat = model.system.is_flat();
                let scales: Vec<f64> = (0..n)
                    .map(|i| match (flat, i % 2) {
                        (false, _) => 1.0,
                        (_, 0) => scale,
                        _ => scale * 7.0,
                    })
                    .collect();
                let gap = if flat { gap } else { 1.0 };
                let other = Transformed::new(&*model.system, place.clone(), scales, gap, energy);
                assert_eq!(other.structure(), model.system.structure());
                let rows = run(
                    &other,
                    &candidate.scheme,
                    &other.state(&model.initial),
                    h,
                    steps,
                );
                let size = plain
                    .iter()
                    .flat_map(|r| r.state.q.iter().chain(&r.state.v))
                    .fold(0.0_f64, |m, x| m.max(x.abs()));
                for (k, (a, b)) in plain.iter().zip(&rows).enumerate() {
                    let back = other.back(&b.state);
                    let error = a
                        .state
                        .q
                        .iter()
                        .zip(&back.q)
                        .chain(a.state.v.iter().zip(&back.v))
                        .fold(0.0_f64, |m, (x, y)| m.max((x - y).abs()));
                    assert!(
                        error <= 1e-9 * size,
                        "{} on {case}, scale {scale}, step {k}: {error:e} of {size}",
                        candidate.name
                    );
                }
            }
        },
    );
}
