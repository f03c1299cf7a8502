//! The Moreau–Jean scheme on systems whose motion is known in closed form.

use saltus_integrators::{
    Entry, Evaluation, Forecast, Integrator, MoreauJean, MoreauJeanOptions, Plan, StepReport,
    Variant,
};
use saltus_system::{
    Constraints, ContactSet, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point, Reach, State,
    Structure, System,
};
use saltus_zoo::{
    Ball, BouncingPendulum, DoublePendulum, Linear, SliderCrank, SpinningBody, oscillator,
};

/// Every step of a run: state, report and contact impulses.
fn run(
    system: &dyn System,
    options: MoreauJeanOptions,
    state: &State,
    plan: Plan,
) -> Vec<(State, StepReport, Vec<f64>)> {
    let mut scheme = MoreauJean::new(options).unwrap();
    let mut state = state.clone();
    let first = scheme.prepare(system, &state, plan.step).unwrap();
    let mut rows = vec![(state.clone(), first, vec![])];
    for k in 0..plan.steps() {
        let report = scheme
            .step(system, &mut state, plan.step, plan.time(k + 1))
            .unwrap();
        let reactions = scheme.reactions();
        let mut impulses = reactions.impulse.to_vec();
        impulses.extend_from_slice(reactions.bilateral_impulse);
        rows.push((state.clone(), report, impulses));
    }
    rows
}

fn options() -> MoreauJeanOptions {
    MoreauJeanOptions::default()
}

#[test]
fn ball_under_constant_force_follows_the_recursion_exactly() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let rows = run(
        &ball,
        options(),
        &State::new(0.0, vec![1.0], vec![0.0]),
        Plan::new(0.0, 0.013, 385.0 * 0.013),
    );
    // Values of an independent implementation at steps 100, 200, 300, 385.
    let q = [
        0.1959824999999994,
        0.009765624999999414,
        -8.038541666723747e-05,
        -8.038541666723747e-05,
    ];
    for (k, q) in [100, 200, 300, 385].into_iter().zip(q) {
        assert!(
            (rows[k].0.q[0] - q).abs() < 1e-11,
            "{k}: {} {q}",
            rows[k].0.q[0]
        );
    }
    assert_eq!(
        rows.iter()
            .filter(|r| r.2.first().is_some_and(|p| *p > 0.0))
            .count(),
        164
    );
    let worst = rows[1..]
        .iter()
        .map(|r| r.1.certificate.get(Entry::EnergyBalance).abs())
        .fold(0.0, f64::max);
    assert!(worst < 1e-14, "{worst}");
}

#[test]
fn energy_identity_holds_for_every_weight_and_variant() {
    let system = oscillator(1.0, 30.0, -0.2, 0.8);
    for theta in [0.5, 0.6, 1.0] {
        for variant in [Variant::Standard, Variant::Dissipative] {
            for evaluation in [
                Evaluation::ThetaPoint,
                Evaluation::WeightedForces,
                Evaluation::WeightedAccelerations,
            ] {
                let options = MoreauJeanOptions {
                    theta: Some(theta),
                    variant,
                    evaluation,
                    ..options()
                };
                let rows = run(
                    &system,
                    options,
                    &State::new(0.0, vec![1.0], vec![0.0]),
                    Plan::new(0.0, 0.013, 4.0),
                );
                for (_, report, _) in &rows[1..] {
                    let defect = report.certificate.get(Entry::EnergyBalance).abs();
                    assert!(
                        defect < 1e-13 * 15.0,
                        "{theta} {variant:?} {evaluation:?}: {defect}"
                    );
                }
            }
        }
    }
}

#[test]
fn redundant_wall_shares_the_impulse() {
    let single = BouncingPendulum::default();
    let double = BouncingPendulum { walls: 2, ..single };
    let start = State::new(0.0, single.at(std::f64::consts::PI / 12.0), vec![0.0; 3]);
    let plan = Plan::new(0.0, 1e-3, 2.0);
    for evaluation in [Evaluation::ThetaPoint, Evaluation::WeightedAccelerations] {
        let options = MoreauJeanOptions {
            rho_inf: Some(0.8),
            evaluation,
            forecast: Forecast::Position,
            ..options()
        };
        let one = run(&single, options.clone(), &start, plan);
        let two = run(&double, options, &start, plan);
        let mut impacts = 0;
        for (a, b) in one.iter().zip(&two).skip(1) {
            for i in 0..3 {
                assert!((a.0.q[i] - b.0.q[i]).abs() < 1e-12);
            }
            if a.2[0] > 0.0 {
                impacts += 1;
                assert!(
                    (a.2[0] - b.2[0] - b.2[1]).abs() < 1e-11 && (b.2[0] - b.2[1]).abs() < 1e-12
                );
            }
        }
        assert!(impacts > 0);
    }
}

#[test]
fn pendulum_keeps_its_velocity_constraints() {
    let system = BouncingPendulum::default();
    let start = State::new(0.0, system.at(std::f64::consts::PI / 12.0), vec![0.0; 3]);
    let options = MoreauJeanOptions {
        rho_inf: Some(0.8),
        evaluation: Evaluation::WeightedAccelerations,
        forecast: Forecast::Position,
        ..options()
    };
    let rows = run(&system, options, &start, Plan::new(0.0, 1e-3, 6.0));
    let mean = rows.iter().map(|r| f64::from(r.1.iterations)).sum::<f64>() / 6000.0;
    assert!(
        (rows[480].0.q[2] - -0.7597044655311939).abs() < 1e-7,
        "{}",
        rows[480].0.q[2]
    );
    assert!((rows[2000].0.q[2] - -0.6874272067791026).abs() < 1e-7);
    // Two corrections while it swings, one while it rests against the wall.
    assert!(mean < 2.0, "{mean}");
    let worst = |e| {
        rows[1..]
            .iter()
            .map(|r| r.1.certificate.get(e))
            .fold(0.0, f64::max)
    };
    assert!((worst(Entry::BilateralPosition) - 0.00046255839843611923).abs() < 4.6e-5);
    assert!(worst(Entry::BilateralVelocity) < 1e-8);
    assert!((worst(Entry::Penetration) - 0.0011450432180571957).abs() < 1.1e-4);
}

#[test]
fn exact_tangent_converges_in_one_correction_per_step() {
    let (q, v) = SliderCrank::start();
    for evaluation in [
        Evaluation::ThetaPoint,
        Evaluation::WeightedForces,
        Evaluation::WeightedAccelerations,
    ] {
        let options = MoreauJeanOptions {
            evaluation,
            ..options()
        };
        let rows = run(
            &SliderCrank::default(),
            options,
            &State::new(0.0, q.clone(), v.clone()),
            Plan::new(0.0, 1e-5, 0.02),
        );
        let mean =
            rows.iter().map(|r| f64::from(r.1.iterations)).sum::<f64>() / (rows.len() - 1) as f64;
        println!("{evaluation:?}: {mean} corrections per step");
        assert!(mean < 2.0);
        let worst = rows[1..]
            .iter()
            .map(|r| r.1.certificate.get(Entry::EnergyBalance).abs())
            .fold(0.0, f64::max);
        println!("energy balance {worst:e}");
    }
}

#[test]
fn double_pendulum_converges_at_the_order_of_its_evaluation() {
    let system = DoublePendulum { gravity: 10.0 };
    let end = |h: f64, evaluation| {
        let options = MoreauJeanOptions {
            evaluation,
            ..options()
        };
        run(
            &system,
            options,
            &State::new(0.0, vec![0.9, 1.2], vec![0.0; 2]),
            Plan::new(0.0, h, 1.0),
        )
        .pop()
        .unwrap()
        .0
    };
    // Weighted forces take the mass matrix at the end of the step, which is first order.
    for (evaluation, expected) in [
        (Evaluation::ThetaPoint, 2.0),
        (Evaluation::WeightedForces, 1.0),
        (Evaluation::WeightedAccelerations, 2.0),
    ] {
        let (a, b, c) = (
            end(8e-5, evaluation),
            end(4e-5, evaluation),
            end(2e-5, evaluation),
        );
        let order = ((a.q[0] - b.q[0]).abs() / (b.q[0] - c.q[0]).abs()).log2();
        assert!((order - expected).abs() < 0.1, "{evaluation:?} {order}");
    }
}

#[test]
fn spinning_body_turns_by_the_exponential() {
    // Steady spin: angular momentum parallel to the angular velocity; one radian per step.
    let body = SpinningBody {
        mass: 1.0,
        inertia: [0.1, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0],
        force: [0.0, 0.0, -9.81],
    };
    let start = State::new(
        0.0,
        vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        vec![100.0, 0.0, 0.0, 0.0, 0.0, 100.0],
    );
    let options = MoreauJeanOptions {
        theta: Some(1.0),
        ..options()
    };
    let rows = run(&body, options, &start, Plan::new(0.0, 0.01, 1.0));
    let end = &rows[100].0;
    assert!(
        (end.q[3] - (50.0_f64).cos()).abs() < 1e-11 && (end.q[6] - (50.0_f64).sin()).abs() < 1e-11
    );
    assert!((end.q[0] - 100.0).abs() < 1e-10);
}

/// A ball whose floor is in the contact set only while it is near.
struct Near(Ball);

impl Kinematics for Near {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
}

impl Dynamics for Near {
    fn structure(&self) -> Structure {
        self.0.structure()
    }
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        self.0.mass(q, mass);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.0.force(at, force);
    }
}

impl Constraints for Near {}

impl Contacts for Near {
    fn contacts_are_fixed(&self) -> bool {
        false
    }
    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        self.0.detect(t, q, reach, set);
        if set.gap[0] >= reach.margin() {
            set.clear();
        }
    }
    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        if !set.is_empty() {
            self.0.evaluate_contacts(t, q, set);
        }
    }
}

impl System for Near {}

#[test]
fn contacts_may_come_and_go() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let plan = Plan::new(0.0, 0.013, 385.0 * 0.013);
    for forecast in [
        Forecast::Start,
        Forecast::Position,
        Forecast::Predicted,
        Forecast::Smooth,
    ] {
        let options = MoreauJeanOptions {
            forecast,
            activation_tolerance: Some(1e-12),
            ..options()
        };
        let always = run(&ball, options.clone(), &start, plan);
        let near = run(&Near(ball), options, &start, plan);
        for (k, (a, b)) in always.iter().zip(&near).enumerate() {
            assert_eq!(a.0, b.0, "{forecast:?}, step {k}");
        }
        assert!(near.iter().any(|row| row.2.is_empty()));
        assert!(
            near.iter()
                .any(|row| row.2.first().is_some_and(|p| *p > 0.0))
        );
    }
}

#[test]
fn one_correction_is_enough_where_it_solves_the_step() {
    // Left alone, the first steps spend a second correction on what would add up.
    let (q, v) = SliderCrank::start();
    let options = MoreauJeanOptions {
        tolerance: 1e-9,
        max_iterations: 1,
        ..options()
    };
    let plan = Plan::new(0.0, 5e-5, 1e-3);
    let rows = run(
        &SliderCrank::default(),
        options,
        &State::new(0.0, q, v),
        plan,
    );
    assert!(rows[1..].iter().all(|row| row.1.iterations == 1));
}

#[test]
fn a_singular_iteration_matrix_is_laid_to_the_step_or_to_the_mass() {
    let h = 1e-2;
    // M + h²/4 K = 0.
    let buckling = oscillator_of(1.0, -4.0 / (h * h));
    let massless = oscillator_of(0.0, 1.0);
    for (system, word) in [
        (buckling, "take a smaller `step`"),
        (massless, "needs a regular mass matrix"),
    ] {
        for forecast in [Forecast::Position, Forecast::Smooth] {
            let options = MoreauJeanOptions {
                forecast,
                ..options()
            };
            let mut scheme = MoreauJean::new(options).unwrap();
            let mut state = State::new(0.0, vec![1.0], vec![0.0]);
            let outcome = scheme
                .prepare(&system, &state, h)
                .and_then(|_| scheme.step(&system, &mut state, h, h));
            let message = outcome.unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}

fn oscillator_of(mass: f64, stiffness: f64) -> Linear {
    Linear {
        n: 1,
        mass: vec![(0, 0, mass)],
        stiffness: vec![(0, 0, stiffness)],
        load: vec![0.0],
        ..Linear::default()
    }
}

/// What has no effect is named, not what takes its effect away.
#[test]
fn options_that_the_explicit_scheme_lacks_are_named() {
    let options = MoreauJeanOptions {
        explicit: Some(saltus_integrators::Explicit::EndDirections),
        theta: Some(0.6),
        ..MoreauJeanOptions::default()
    };
    let error = options.validate().unwrap_err();
    assert_eq!((error.option, error.value.as_str()), ("theta", "0.6"));
    assert_eq!(
        error.expected,
        "nothing beside `explicit = \"end-directions\"`"
    );
}
