//! What the generalized-α family promises, through its public door.

use saltus_integrators::{
    Entry, GeneralizedAlpha, GeneralizedAlphaOptions, Inactive, Integrator, LinearSolve,
    NonsmoothFormulation, NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions,
    NonsmoothNewmark, NonsmoothNewmarkOptions, Plan, Prediction, Scheme, SmoothFormulation,
    StepError, StepReport,
};
use saltus_system::{State, System};
use saltus_zoo::{
    BouncingPendulum, DoublePendulum, DoublePendulumAtWall, RockingBlock, SpinningBody,
    ball_over_floor, bar, two_masses,
};
use std::f64::consts::PI;

type Options = NonsmoothGeneralizedAlphaOptions;

/// One row per step: state, report, total impulses (bilateral first).
type Rows = Vec<(State, StepReport, Vec<f64>)>;

fn run_with(
    scheme: &mut dyn Integrator,
    system: &dyn System,
    state: &State,
    plan: Plan,
) -> Result<Rows, StepError> {
    let mut state = state.clone();
    let first = scheme.prepare(system, &state, plan.step)?;
    let mut rows = vec![(state.clone(), first, vec![])];
    for k in 0..plan.steps() {
        let report = scheme.step(system, &mut state, plan.step, plan.time(k + 1))?;
        let reactions = scheme.reactions();
        let mut impulses = reactions.bilateral_impulse.to_vec();
        impulses.extend_from_slice(reactions.impulse);
        rows.push((state.clone(), report, impulses));
    }
    Ok(rows)
}

fn run(system: &dyn System, options: Options, state: &State, plan: Plan) -> Rows {
    let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
    run_with(&mut scheme, system, state, plan).unwrap()
}

fn options(formulation: NonsmoothFormulation) -> Options {
    Options {
        formulation,
        ..Options::default()
    }
}

fn worst(rows: &Rows, entry: Entry) -> f64 {
    rows[1..]
        .iter()
        .map(|r| r.1.certificate.get(entry).abs())
        .fold(0.0, f64::max)
}

fn largest_gain(rows: &Rows) -> f64 {
    rows.windows(2)
        .map(|w| w[1].1.energy.total() - w[0].1.energy.total())
        .fold(f64::NEG_INFINITY, f64::max)
}

fn ball() -> (saltus_zoo::Linear, State, Plan) {
    (
        ball_over_floor(1.0, -10.0, 0.8),
        State::new(0.0, vec![0.801], vec![0.0]),
        Plan::new(0.0, 2e-3, 4.0),
    )
}

fn pendulum() -> (BouncingPendulum, State, Plan) {
    let p = BouncingPendulum::default();
    (
        p,
        State::new(0.0, p.at(PI / 12.0), vec![0.0; 3]),
        Plan::new(0.0, 1e-3, 6.0),
    )
}

#[test]
fn pendulum_keeps_every_level_of_its_constraints() {
    let (system, start, plan) = pendulum();
    for rho in [0.0, 0.9, 1.0] {
        for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
            let o = Options {
                rho_inf: Some(rho),
                ..options(formulation)
            };
            let mut scheme = NonsmoothGeneralizedAlpha::new(o.clone()).unwrap();
            let rows = run_with(&mut scheme, &system, &start, plan).unwrap();
            let remedies: u32 = rows.iter().map(|r| r.1.remedies).sum();
            println!(
                "{formulation:?} rho {rho}: g {:.1e}, ġ {:.1e}, g̈ {:.1e}, penetration {:.1e}, remedies {remedies}",
                worst(&rows, Entry::BilateralPosition),
                worst(&rows, Entry::BilateralVelocity),
                worst(&rows, Entry::BilateralAcceleration),
                worst(&rows, Entry::Penetration),
            );
            assert!(worst(&rows, Entry::BilateralPosition) <= 1e-13);
            assert!(worst(&rows, Entry::BilateralVelocity) <= 1e-13);
            assert!(worst(&rows, Entry::Penetration) <= 1e-13);
            let acceleration = scheme.guarantees().bound(Entry::BilateralAcceleration);
            if formulation == NonsmoothFormulation::Pva {
                assert!(acceleration.is_some());
                assert!(worst(&rows, Entry::BilateralAcceleration) <= 1e-9);
            } else {
                assert_eq!(acceleration, None);
            }
            assert_eq!(remedies, 0);
        }
    }
}

#[test]
fn energy_never_grows_on_ball_and_block() {
    let (system, start, plan) = ball();
    let block = RockingBlock::default();
    let block_start = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        let rows = run(&system, options(formulation), &start, plan);
        let scale = rows[0].1.energy.total();
        println!("{formulation:?} ball: {:e} J", largest_gain(&rows));
        assert!(largest_gain(&rows) <= 2e-15 * scale.max(1.0));
        let rows = run(
            &block,
            options(formulation),
            &block_start,
            Plan::new(0.0, 1e-2, 3.0),
        );
        println!("{formulation:?} block: {:e} J", largest_gain(&rows));
        // Acceleration constraints that start in a rebounding step add 5e-5 J once.
        let bound = if formulation == NonsmoothFormulation::Pvv {
            2e-15 * rows[0].1.energy.total()
        } else {
            6.2e-5
        };
        assert!(largest_gain(&rows) <= bound);
    }
    // The printed form keeps an impulse on the open contact.
    let literal = Options {
        inactive: Inactive::Literal,
        ..options(NonsmoothFormulation::Pva)
    };
    let gain = largest_gain(&run(&system, literal, &start, plan));
    assert!((gain - 0.0305).abs() < 5e-4, "{gain}");
}

#[test]
fn smooth_motion_is_of_second_order() {
    let system = BouncingPendulum {
        walls: 0,
        ..BouncingPendulum::default()
    };
    let q = system.at(PI / 6.0);
    let start = State::new(0.0, q.clone(), vec![-10.0 * q[1], 10.0 * q[0], 10.0]);
    for formulation in [
        SmoothFormulation::P,
        SmoothFormulation::V,
        SmoothFormulation::Pv,
        SmoothFormulation::Pva,
        SmoothFormulation::A,
    ] {
        let end = |h: f64| {
            let o = GeneralizedAlphaOptions {
                formulation,
                rho_inf: Some(0.9),
                ..Default::default()
            };
            let mut scheme = GeneralizedAlpha::new(o).unwrap();
            let rows = run_with(&mut scheme, &system, &start, Plan::new(0.0, h, 1.0)).unwrap();
            let state = &rows.last().unwrap().0;
            [state.q[2], state.v[2], scheme.levels().lambda[0]]
        };
        let (a, b, c) = (end(2e-3), end(1e-3), end(5e-4));
        for i in 0..3 {
            let order = ((a[i] - b[i]).abs() / (b[i] - c[i]).abs()).log2();
            println!("{formulation:?} {i}: order {order:.3}");
            assert!((order - 2.0).abs() < 0.15, "{formulation:?} {i}: {order}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_activation_parameter() {
    let (system, start, _) = pendulum();
    let plan = Plan::new(0.0, 1e-3, 3.0);
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        let reference = run(&system, options(formulation), &start, plan);
        for exponent in -4..=4 {
            let o = Options {
                r: Some(10_f64.powi(exponent)),
                ..options(formulation)
            };
            let rows = run(&system, o, &start, plan);
            let distance = rows
                .iter()
                .zip(&reference)
                .flat_map(|(a, b)| a.0.q.iter().zip(&b.0.q).map(|(x, y)| (x - y).abs()))
                .fold(0.0, f64::max);
            assert!(
                distance < 1e-9,
                "{formulation:?} r = 1e{exponent}: {distance}"
            );
        }
    }
}

#[test]
fn redundant_wall_shares_the_impulse() {
    let (system, start, _) = pendulum();
    let double = BouncingPendulum { walls: 2, ..system };
    let plan = Plan::new(0.0, 1e-3, 2.0);
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        for linear_solve in [
            LinearSolve::Condensed,
            LinearSolve::Sequential,
            LinearSolve::Monolithic,
        ] {
            let o = Options {
                linear_solve,
                ..options(formulation)
            };
            let one = run(&system, o.clone(), &start, plan);
            let two = run(&double, o, &start, plan);
            let mut impacts = 0;
            for (a, b) in one.iter().zip(&two).skip(1) {
                for i in 0..3 {
                    assert!((a.0.q[i] - b.0.q[i]).abs() < 1e-11);
                }
                if a.2[2] > 1e-6 {
                    impacts += 1;
                    assert!((a.2[2] - b.2[2] - b.2[3]).abs() < 1e-8);
                    assert!((b.2[2] - b.2[3]).abs() < 1e-8);
                }
            }
            assert!(impacts > 0);
        }
    }
}

#[test]
fn massless_rotation_is_held_by_the_constraints() {
    let (system, start, _) = pendulum();
    let massless = BouncingPendulum {
        inertia: 0.0,
        ..system
    };
    let plan = Plan::new(0.0, 1e-3, 2.0);
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        for linear_solve in [LinearSolve::Auto, LinearSolve::Monolithic] {
            let o = Options {
                r: Some(1.0),
                linear_solve,
                ..options(formulation)
            };
            let rows = run(&massless, o, &start, plan);
            let remedies: u32 = rows.iter().map(|r| r.1.remedies).sum();
            assert_eq!(remedies, 0);
            assert!(worst(&rows, Entry::BilateralPosition) <= 1e-12);
        }
    }
}

#[test]
fn contact_closed_at_the_start_stays_closed() {
    let (system, _, _) = ball();
    let start = State::new(0.0, vec![0.0], vec![0.0]);
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        let rows = run(
            &system,
            options(formulation),
            &start,
            Plan::new(0.0, 2e-3, 0.1),
        );
        for row in &rows[1..] {
            assert!(row.0.q[0].abs() < 1e-15 && row.0.v[0].abs() < 1e-13);
            assert!((row.2[0] - 0.02).abs() < 1e-13);
        }
    }
    let mut scheme = NonsmoothGeneralizedAlpha::new(options(NonsmoothFormulation::Pva)).unwrap();
    scheme.prepare(&system, &start, 2e-3).unwrap();
    assert!((scheme.reactions().force[0] - 10.0).abs() < 1e-12);
}

#[test]
fn the_ways_to_solve_agree() {
    let wall = DoublePendulumAtWall {
        pendulum: DoublePendulum { gravity: 10.0 },
        wall: -0.3,
        restitution: 0.5,
    };
    let start = State::new(0.0, vec![1.2, 0.9], vec![0.0; 2]);
    let plan = Plan::new(0.0, 2e-3, 1.2);
    for formulation in [
        NonsmoothFormulation::Unconstrained,
        NonsmoothFormulation::Pvv,
        NonsmoothFormulation::Pva,
    ] {
        let reference = run(&wall, options(formulation), &start, plan);
        for (linear_solve, prediction) in [
            (LinearSolve::Sequential, Prediction::Zero),
            (LinearSolve::Monolithic, Prediction::Zero),
            (LinearSolve::Condensed, Prediction::Last),
        ] {
            let o = Options {
                linear_solve,
                prediction,
                ..options(formulation)
            };
            let rows = run(&wall, o, &start, plan);
            for (a, b) in rows.iter().zip(&reference) {
                for i in 0..2 {
                    assert!((a.0.q[i] - b.0.q[i]).abs() < 1e-7, "{linear_solve:?}");
                }
            }
        }
    }
}

#[test]
fn stiff_bar_needs_no_more_corrections_at_large_steps() {
    // 40 elements, unit density and section, E = 900; Courant number c h / l with c = 30, l = 0.25.
    let mut system = bar(41, 0.25, 1.0, 900.0, 1.0, 0.0);
    system.contacts[0].0 = 1.0013;
    let start = State::new(
        0.0,
        (0..41).map(|i| 0.25 * f64::from(i)).collect(),
        vec![-10.0; 41],
    );
    // Positions are places along the bar: rest lengths enter as a load.
    for e in 0..40 {
        let force = 900.0 / 0.25 * 0.25;
        system.load[e] -= force;
        system.load[e + 1] += force;
    }
    for courant in [0.3, 1.2, 4.8] {
        let h = courant * 0.25 / 30.0;
        for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
            let rows = run(
                &system,
                options(formulation),
                &start,
                Plan::new(0.0, h, 1.0),
            );
            let most = rows.iter().map(|r| r.1.iterations).max().unwrap();
            let contact: Vec<u32> = rows[1..]
                .iter()
                .filter(|r| r.2[0] > 0.0)
                .map(|r| r.1.iterations)
                .collect();
            println!(
                "{formulation:?} Courant {courant}: at most {most} corrections, {:.2} in contact",
                f64::from(contact.iter().sum::<u32>()) / contact.len() as f64
            );
            let slow = Options {
                linear_solve: LinearSolve::Sequential,
                tolerance: 1e-8,
                max_iterations: 400,
                ..options(formulation)
            };
            let sequential = run(&system, slow, &start, Plan::new(0.0, h, 1.0));
            let closed = sequential[1..].iter().filter(|r| r.2[0] > 1e-9);
            let counts: Vec<u32> = closed.map(|r| r.1.iterations).collect();
            println!(
                "  sequential: {:.1} in contact",
                f64::from(counts.iter().sum::<u32>()) / counts.len() as f64
            );
            assert!(most <= 3, "{most}");
            assert!(worst(&rows, Entry::Penetration) < 1e-12);
        }
    }
}

#[test]
fn a_run_goes_on_bit_for_bit() {
    let (system, start, plan) = pendulum();
    for formulation in [NonsmoothFormulation::Pvv, NonsmoothFormulation::Pva] {
        for cut in [100, 487, 488, 900] {
            let whole = run(
                &system,
                options(formulation),
                &start,
                Plan { until: 1.0, ..plan },
            );
            let mut scheme = NonsmoothGeneralizedAlpha::new(options(formulation)).unwrap();
            let mut state = start.clone();
            scheme.prepare(&system, &state, plan.step).unwrap();
            let mut memory = Vec::new();
            for k in 0..cut {
                scheme
                    .step(&system, &mut state, plan.step, plan.time(k + 1))
                    .unwrap();
            }
            scheme.save(&mut memory);
            let mut scheme = NonsmoothGeneralizedAlpha::new(options(formulation)).unwrap();
            scheme.prepare(&system, &state, plan.step).unwrap();
            scheme.load(&memory);
            for k in cut..1000 {
                scheme
                    .step(&system, &mut state, plan.step, plan.time(k + 1))
                    .unwrap();
            }
            assert_eq!(
                state,
                whole.last().unwrap().0,
                "{formulation:?} cut at {cut}"
            );
        }
    }
}

#[test]
fn spinning_body_turns_by_the_exponential() {
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
    let rows = run(
        &body,
        options(NonsmoothFormulation::Pvv),
        &start,
        Plan::new(0.0, 0.01, 1.0),
    );
    let end = &rows[100].0;
    assert!((end.q[3] - (50.0_f64).cos()).abs() < 1e-9);
    assert!((end.q[0] - 100.0).abs() < 1e-9 && (end.q[2] + 4.905).abs() < 1e-9);
}

#[test]
fn every_scheme_steps_every_case_at_three_steps() {
    let (ball, ball_start, _) = ball();
    let (pendulum, pendulum_start, _) = pendulum();
    let masses = two_masses(1.0, 1e4, 1.0, 0.2, 10.0, 0.8);
    let wall = DoublePendulumAtWall {
        pendulum: DoublePendulum { gravity: 10.0 },
        wall: -0.3,
        restitution: 0.5,
    };
    let block = RockingBlock::default();
    let cases: [(&str, &dyn System, State, f64); 5] = [
        ("ball", &ball, ball_start, 4.0),
        ("pendulum", &pendulum, pendulum_start, 6.0),
        (
            "two masses",
            &masses,
            State::new(0.0, vec![1.001, 2.001], vec![0.0; 2]),
            2.0,
        ),
        (
            "double pendulum",
            &wall,
            State::new(0.0, vec![1.2, 0.9], vec![0.0; 2]),
            1.2,
        ),
        (
            "block",
            &block,
            State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]),
            3.0,
        ),
    ];
    for (name, system, start, until) in &cases {
        for formulation in [
            NonsmoothFormulation::Unconstrained,
            NonsmoothFormulation::Pvv,
            NonsmoothFormulation::Pva,
        ] {
            for h in [1e-2, 1e-3, 2e-4] {
                let rows = run(
                    *system,
                    options(formulation),
                    start,
                    Plan::new(0.0, h, *until),
                );
                let remedies: u32 = rows.iter().map(|r| r.1.remedies).sum();
                if remedies > 0 {
                    println!("{name} {formulation:?} h = {h}: {remedies} remedies");
                }
                assert!(worst(&rows, Entry::Penetration) < 1e-9);
            }
        }
    }
}

#[test]
fn every_scheme_is_listed_built_and_serialised() {
    for info in Scheme::ALL {
        let scheme = Scheme::by_name(info.name).unwrap();
        assert_eq!(scheme.name(), info.name);
        assert_eq!(scheme.build().unwrap().name(), info.name);
        let text = serde_json::to_string(&scheme).unwrap();
        assert_eq!(serde_json::from_str::<Scheme>(&text).unwrap(), scheme);
    }
    let text = r#"{"name": "nonsmooth-generalized-alpha", "formulation": "pvv", "rho_inf": 0.5}"#;
    let Scheme::NonsmoothGeneralizedAlpha(o) = serde_json::from_str(text).unwrap() else {
        panic!("wrong scheme");
    };
    assert_eq!(o.rho_inf, Some(0.5));
    assert!(serde_json::from_str::<Scheme>(r#"{"name": "nonsmooth-hht", "rho": 1}"#).is_err());
}

#[test]
fn what_cannot_be_done_is_said() {
    let (system, start, _) = ball();
    let mut smooth = GeneralizedAlpha::new(GeneralizedAlphaOptions::default()).unwrap();
    let error = smooth.prepare(&system, &start, 1e-3).unwrap_err();
    assert!(
        error.to_string().contains("nonsmooth-generalized-alpha"),
        "{error}"
    );
    let wrong = GeneralizedAlphaOptions {
        initial_acceleration: Some(vec![0.0; 2]),
        formulation: SmoothFormulation::P,
        ..Default::default()
    };
    let error = GeneralizedAlpha::new(wrong)
        .unwrap()
        .prepare(&system, &start, 1e-3)
        .unwrap_err();
    assert!(
        error.to_string().contains("initial_acceleration"),
        "{error}"
    );
    for bad in [
        Options {
            rho_inf: Some(1.5),
            ..Options::default()
        },
        Options {
            strategy: Some(4),
            ..Options::default()
        },
        Options {
            r: Some(0.0),
            ..Options::default()
        },
        Options {
            tolerance: 0.0,
            ..Options::default()
        },
        Options {
            max_iterations: 0,
            ..Options::default()
        },
        Options {
            modified_lcp: true,
            ..Options::default()
        },
        Options {
            inactive: Inactive::Literal,
            ..options(NonsmoothFormulation::Pvv)
        },
    ] {
        assert!(bad.validate().is_err(), "{bad:?}");
    }
    let hard = Options {
        max_iterations: 1,
        ..options(NonsmoothFormulation::Pva)
    };
    let (system, start, plan) = pendulum();
    let error = run_with(
        &mut NonsmoothGeneralizedAlpha::new(hard).unwrap(),
        &system,
        &start,
        plan,
    )
    .unwrap_err();
    assert!(matches!(error, StepError::NotConverged { .. }), "{error}");
}

#[test]
fn newmark_balances_energy_between_impacts() {
    let (system, start, plan) = ball();
    let o = NonsmoothNewmarkOptions::default();
    let rows = run_with(
        &mut NonsmoothNewmark::new(o).unwrap(),
        &system,
        &start,
        plan,
    )
    .unwrap();
    let flight = worst(&rows[..150].to_vec(), Entry::EnergyBalance);
    assert!(flight < 1e-13, "{flight}");
}
