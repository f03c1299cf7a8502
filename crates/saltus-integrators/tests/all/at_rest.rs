//! Systems that rest without forces when they start: nothing is known yet of the size of their motion.

use saltus_integrators::{
    GeneralizedAlphaOptions, MoreauJeanOptions, NonsmoothGeneralizedAlphaOptions, Scheme,
};
use saltus_system::{
    Constraints, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point, State, Structure, System,
};

/// Two masses of 1 kg, the first pushed by the force `rate · t`; driven ones follow `x₁ = ½ rate t²` instead.
struct Started {
    rate: f64,
    driven: bool,
    structure: Structure,
}

impl Kinematics for Started {
    fn dims(&self) -> Dims {
        Dims {
            nq: 2,
            nv: 2,
            ng: usize::from(self.driven),
        }
    }
}

impl Dynamics for Started {
    fn structure(&self) -> Structure {
        self.structure
    }
    fn mass(&self, _: &[f64], out: &mut dyn MatrixSink) {
        out.entry(0, 0, 1.0);
        out.entry(1, 1, 1.0);
    }
    fn force(&self, at: Point<'_>, out: &mut [f64]) {
        out[0] = if self.driven { 0.0 } else { self.rate * at.t };
        out[1] = 0.0;
    }
    fn potential_energy(&self, _: f64, _: &[f64]) -> f64 {
        0.0
    }
}

impl Constraints for Started {
    fn g(&self, t: f64, q: &[f64], out: &mut [f64]) {
        if self.driven {
            out[0] = q[0] - 0.5 * self.rate * t * t;
        }
    }
    fn g_jacobian(&self, _: f64, _: &[f64], out: &mut dyn MatrixSink) {
        if self.driven {
            out.entry(0, 0, 1.0);
        }
    }
    fn g_rate(&self, t: f64, _: &[f64], out: &mut [f64]) {
        if self.driven {
            out[0] = -self.rate * t;
        }
    }
    fn g_bias(&self, _: Point<'_>, out: &mut [f64]) {
        if self.driven {
            out[0] = -self.rate;
        }
    }
}

impl Contacts for Started {}

impl System for Started {}

#[test]
fn the_first_force_and_the_first_drive_are_followed_however_large_in_their_unit() {
    let schemes = [
        Scheme::MoreauJean(MoreauJeanOptions::default()),
        Scheme::NonsmoothGeneralizedAlpha(NonsmoothGeneralizedAlphaOptions::default()),
        Scheme::GeneralizedAlpha(GeneralizedAlphaOptions::default()),
    ];
    let h = 1e-2;
    for scheme in schemes {
        for structure in [Structure::GENERAL, Structure::LINEAR] {
            for driven in [false, true] {
                for rate in [1e-100, 1.0, 1e12, 1e100] {
                    let system = Started {
                        rate,
                        driven,
                        structure,
                    };
                    let place = format!("{} {driven} {rate:e} {structure:?}", scheme.name());
                    let mut integrator = scheme.build().unwrap();
                    let mut state = State::new(0.0, vec![0.0; 2], vec![0.0; 2]);
                    integrator.prepare(&system, &state, h).unwrap();
                    for k in 1..=20 {
                        let end = f64::from(k) * h;
                        let step = integrator.step(&system, &mut state, h, end);
                        step.unwrap_or_else(|error| panic!("{place}, step {k}: {error}"));
                    }
                    let exact = rate * state.t * if driven { 1.0 } else { 0.5 * state.t };
                    let error = (state.v[0] - exact).abs();
                    assert!(error <= 0.1 * exact, "{place}: {} {exact}", state.v[0]);
                    assert_eq!(state.v[1], 0.0, "{place}");
                }
            }
        }
    }
}
