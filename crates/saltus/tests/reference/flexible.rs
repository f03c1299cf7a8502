//! `flexible.json`: the flexible pendulum until it meets its wall, by the smooth generalized-α scheme.
//!
//! The references are semi-discrete motions, exact in time. Two runs with the steps `h` and `h/2` are
//! extrapolated, so that what is left of the scheme is of fourth order.

use crate::alpha_flexible::pinned_beam;
use crate::entries::{Outcome, check, read};
use saltus_integrators::{
    GeneralizedAlpha, GeneralizedAlphaOptions, Integrator, SmoothFormulation,
};
use saltus_linear::{Dense, Lu};
use saltus_system::{Dynamics, Kinematics};

/// Time at which the tip of the pendulum is at `x = √2/2`, without a wall, in steps of `h` [s].
fn contact_time(elements: usize, gravity: f64, h: f64) -> f64 {
    let (builder, tip) = pinned_beam(elements, gravity);
    let system = builder.build().unwrap();
    let mut scheme = GeneralizedAlpha::new(GeneralizedAlphaOptions {
        formulation: SmoothFormulation::A,
        rho_inf: Some(1.0),
        ..GeneralizedAlphaOptions::default()
    })
    .unwrap();
    let mut state = system.reference_state(0.0);
    scheme.prepare(&system, &state, h).unwrap();
    let gap = |q: &[f64]| system.position(q, tip, 0) - 0.5_f64.sqrt();
    for k in 1.. {
        let before = state.clone();
        scheme
            .step(&system, &mut state, h, f64::from(k) * h)
            .unwrap();
        if gap(&state.q) <= 0.0 {
            // Hermite's cubic over the step, its zero by bisection.
            let ends = [gap(&before.q), gap(&state.q)];
            let slopes = [&before.v, &state.v].map(|v| h * system.velocity(v, tip, 0));
            let cubic = |s: f64| {
                let r = 1.0 - s;
                r * r * (ends[0] * (1.0 + 2.0 * s) + slopes[0] * s)
                    + s * s * (ends[1] * (1.0 + 2.0 * r) - slopes[1] * r)
            };
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if cubic(middle) > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            return before.t + low * h;
        }
    }
    f64::NAN
}

#[test]
fn the_flexible_pendulum() {
    if crate::tiers::is_left_out("flexible pendulum") {
        return;
    }
    let Some(entries) = read("flexible.json") else {
        return;
    };
    check(
        "flexible pendulum",
        &entries,
        |e| e.id.starts_with("pend.contact_time") || e.id.starts_with("pend.a0"),
        |entry| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let elements = entry.number("n") as usize;
            let gravity = entry.number("ag");
            if entry.id.starts_with("pend.contact_time") {
                let [coarse, fine] = [5e-6, 2.5e-6].map(|h| contact_time(elements, gravity, h));
                return Outcome::Ours(vec![fine + (fine - coarse) / 3.0]);
            }
            let system = pinned_beam(elements, gravity).0.build().unwrap();
            let state = system.reference_state(0.0);
            let nv = system.dims().nv;
            let (mut mass, mut acceleration) = (Dense::zeros(nv, nv), vec![0.0; nv]);
            system.mass(&state.q, &mut mass);
            system.force(state.point(), &mut acceleration);
            let mut lu = Lu::default();
            lu.factorise(&mass).unwrap();
            lu.solve(&mut acceleration);
            Outcome::Ours(acceleration)
        },
    );
}
