//! Moreau–Jean with projected positions, and the splitting schemes, on hand-written systems.

use saltus_integrators::{
    Entry, EventKind, Integrator, Metric, MoreauJeanOptions, ProjectedMoreauJeanOptions,
    ProjectionMethod, Scheme, SplittingContact, SplittingOptions, StepReport,
};
use saltus_system::{State, System};
use saltus_zoo::{
    Ball, BouncingPendulum, DoublePendulum, DoublePendulumAtWall, Joint, JointedBody, RingPendulum,
    RockingBlock, SpinningBody,
};

const METHODS: [ProjectionMethod; 3] = [
    ProjectionMethod::Combined,
    ProjectionMethod::Direct,
    ProjectionMethod::Ggl,
];

fn projected(method: ProjectionMethod) -> Scheme {
    Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions {
        method,
        ..ProjectedMoreauJeanOptions::default()
    })
}

const WALL: DoublePendulumAtWall = DoublePendulumAtWall {
    pendulum: DoublePendulum { gravity: 9.81 },
    wall: -0.3,
    restitution: 0.6,
};

struct Row {
    state: State,
    report: StepReport,
    gap: Vec<f64>,
    impulse: Vec<f64>,
}

fn row(integrator: &dyn Integrator, state: &State, report: StepReport) -> Row {
    let reactions = integrator.reactions();
    Row {
        state: state.clone(),
        report,
        gap: reactions.contacts.gap.clone(),
        impulse: reactions.impulse.to_vec(),
    }
}

fn run(system: &dyn System, scheme: &Scheme, start: &State, h: f64, steps: u64) -> Vec<Row> {
    let mut integrator = scheme.build().unwrap();
    let mut state = start.clone();
    let first = integrator.prepare(system, &state, h).unwrap();
    let mut rows = vec![row(&*integrator, &state, first)];
    for k in 0..steps {
        let end = start.t + (k + 1) as f64 * h;
        match integrator.step(system, &mut state, h, end) {
            Ok(report) => rows.push(row(&*integrator, &state, report)),
            Err(error) => panic!("{} {scheme:?} step {}: {error}", integrator.name(), k + 1),
        }
    }
    rows
}

fn penetration(rows: &[Row]) -> f64 {
    let gaps = rows.iter().flat_map(|r| r.gap.iter());
    gaps.fold(0.0, |worst, gap| worst.max(-gap))
}

fn worst(rows: &[Row], entry: Entry) -> f64 {
    let values = rows[1..].iter().map(|r| r.report.certificate.get(entry));
    values.fold(0.0, |worst, value| worst.max(value.abs()))
}

fn at_rest(q: Vec<f64>) -> State {
    let n = q.len();
    State::new(0.0, q, vec![0.0; n])
}

/// The motivation of the projection: with steps of 4 ms Moreau–Jean penetrates the ring by more than its clearance.
#[test]
fn a_pin_stays_in_its_ring() {
    let ring = RingPendulum::new(0.01, 0.0);
    let start = at_rest(ring.horizontal());
    let moreau = Scheme::MoreauJean(MoreauJeanOptions::default());
    for (n, deep) in [(250, 1.6e-2), (500, 9.4e-3), (1000, 4.7e-3), (2000, 2.5e-3)] {
        let h = 1.0 / n as f64;
        let measured = penetration(&run(&ring, &moreau, &start, h, n));
        println!("h = {h:e}: Moreau–Jean penetrates {measured:e}");
        assert!((measured - deep).abs() < 0.06 * deep, "{measured}");
        for method in METHODS {
            let rows = run(&ring, &projected(method), &start, h, n);
            let iterations: u32 = rows.iter().map(|r| r.report.iterations).sum();
            println!(
                "  {method:?}: penetration {:e}, impact law {:e}, iterations per step {:.2}",
                penetration(&rows),
                worst(&rows, Entry::ImpactLaw),
                f64::from(iterations) / n as f64
            );
            assert!(penetration(&rows) < 1e-12, "{method:?}");
            if method != ProjectionMethod::Direct {
                assert!(worst(&rows, Entry::ImpactLaw) < 1e-9, "{method:?}");
                assert!(worst(&rows, Entry::ComplementarityPosition) < 1e-12);
            }
        }
    }
}

/// Where the pin passes several clearances in a step its direction at the end of the step follows the velocity; such a step is taken with
/// another.
#[test]
fn a_pin_in_a_narrow_ring_stays_there() {
    for clearance in [2e-3, 1e-3, 5e-4] {
        for restitution in [1.0, 0.9, 0.5] {
            let ring = RingPendulum::new(clearance, restitution);
            let start = at_rest(ring.horizontal());
            for n in [250, 500, 1000] {
                let scheme = projected(ProjectionMethod::Combined);
                let rows = run(&ring, &scheme, &start, 1.0 / n as f64, n);
                let taken = rows.iter().filter(|r| r.report.remedies > 0).count();
                println!(
                    "clearance {clearance}, e = {restitution}, {n} steps: {taken} with others"
                );
                assert!(penetration(&rows) < 1e-12);
                assert!(worst(&rows, Entry::ImpactLaw) < 1e-9);
                assert!(worst(&rows, Entry::ComplementarityPosition) < 1e-12);
            }
        }
    }
}

/// The pin falls into its ring and slides along it, without a rebound: whatever the curvature of the ring, that is one impact.
#[test]
fn a_pin_that_slides_along_its_ring_hits_it_once() {
    let ring = RingPendulum::new(0.01, 0.0);
    let h = 4e-3;
    for method in [ProjectionMethod::Combined, ProjectionMethod::Ggl] {
        let mut scheme = projected(method).build().unwrap();
        let mut state = at_rest(ring.horizontal());
        scheme.prepare(&ring, &state, h).unwrap();
        let mut impacts = 0;
        for _ in 0..250 {
            let end = state.t + h;
            scheme.step(&ring, &mut state, h, end).unwrap();
            let events = scheme.events().iter();
            impacts += events.filter(|e| e.kind == EventKind::Impact).count();
        }
        assert_eq!(impacts, 1, "{method:?}");
    }
}

/// Direct projection lifts the ball without its velocity, so that it never rests; the others end its bounces exactly.
#[test]
fn a_ball_rests_exactly_unless_its_positions_alone_are_lifted() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    for method in METHODS {
        let rows = run(&ball, &projected(method), &at_rest(vec![1.0]), 0.013, 385);
        let last = &rows[rows.len() - 38..];
        let fastest = last.iter().map(|r| r.state.v[0].abs()).fold(0.0, f64::max);
        println!("{method:?}: {fastest:e} m/s at the end");
        if method == ProjectionMethod::Direct {
            assert!(fastest > 1e-3 && fastest < 0.05);
        } else {
            assert!(fastest < 1e-16);
            assert!(last.iter().all(|r| (r.impulse[0] - 0.026).abs() < 1e-15));
            assert!(last.iter().all(|r| r.gap[0].abs() < 1e-15));
        }
    }
}

#[test]
fn constraints_hold_at_positions_and_velocities() {
    let pendulum = BouncingPendulum::default();
    let start = at_rest(pendulum.at(std::f64::consts::PI / 12.0));
    for metric in [Metric::Mass, Metric::Identity] {
        for method in METHODS {
            let scheme = Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions {
                method,
                metric,
                ..ProjectedMoreauJeanOptions::default()
            });
            let rows = run(&pendulum, &scheme, &start, 2e-3, 3000);
            let drift = worst(&rows, Entry::BilateralPosition);
            let rate = worst(&rows, Entry::BilateralVelocity);
            println!(
                "{method:?} {metric:?}: g {drift:e}, G v {rate:e}, penetration {:e}",
                penetration(&rows)
            );
            assert!(drift < 1e-12);
            assert!(penetration(&rows) < 1e-12);
            assert!(
                rate < if method == ProjectionMethod::Direct {
                    1e-1
                } else {
                    1e-9
                }
            );
        }
    }
}

#[test]
fn corners_and_walls_are_not_penetrated() {
    let block = RockingBlock::default();
    let systems: [(&dyn System, State, f64, u64); 2] = [
        (&block, at_rest(vec![0.0, 1.0, 0.2]), 1e-2, 300),
        (
            &WALL,
            State::new(0.0, vec![1.2, 0.9], vec![0.0, 0.0]),
            2e-3,
            1500,
        ),
    ];
    for (system, start, h, n) in systems {
        for method in METHODS {
            let rows = run(system, &projected(method), &start, h, n);
            let iterations: u32 = rows.iter().map(|r| r.report.iterations).sum();
            println!(
                "{method:?}: penetration {:e}, iterations per step {:.2}",
                penetration(&rows),
                f64::from(iterations) / n as f64
            );
            assert!(penetration(&rows) < 1e-12, "{method:?}");
        }
    }
}

/// A rod on a spherical joint: positions that are no vector.
#[test]
fn a_joint_of_a_turning_body_does_not_drift() {
    let body = SpinningBody {
        mass: 1.0,
        inertia: [0.1, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        force: [0.0, 0.0, -9.81],
    };
    let arm = [-0.5, 0.0, 0.0];
    let knee = JointedBody {
        body,
        joint: Joint::Spherical {
            arm,
            centre: [0.0; 3],
        },
    };
    let start = State::new(
        0.0,
        vec![0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        vec![0.0, 0.5, 0.0, 2.0, 0.0, 1.0],
    );
    for method in METHODS {
        let rows = run(&knee, &projected(method), &start, 5e-3, 400);
        let drift = worst(&rows, Entry::BilateralPosition);
        let energy = |k: usize| rows[k].report.energy.total();
        println!(
            "{method:?}: g {drift:e}, energy {:e}",
            energy(400) - energy(0)
        );
        assert!(drift < 1e-12);
    }
}

#[test]
fn options_of_the_direct_method_are_named_beside_others() {
    let usual = ProjectedMoreauJeanOptions::default;
    let refused = |options: ProjectedMoreauJeanOptions| options.validate().unwrap_err().option;
    let gamma = ProjectedMoreauJeanOptions {
        gamma: 1.0,
        ..usual()
    };
    assert_eq!(refused(gamma.clone()), "gamma");
    let hysteresis = ProjectedMoreauJeanOptions {
        method: ProjectionMethod::Ggl,
        hysteresis: true,
        ..usual()
    };
    assert_eq!(refused(hysteresis), "hysteresis");
    let direct = ProjectedMoreauJeanOptions {
        method: ProjectionMethod::Direct,
        ..gamma
    };
    assert!(direct.validate().is_ok());
}

fn splitting(contact: SplittingContact) -> Scheme {
    Scheme::Splitting(SplittingOptions {
        contact,
        ..SplittingOptions::default()
    })
}

/// What rests sinks by `h |a| / 2` per unit of time where contacts act by impulses alone (specification, §10), and not at all where they
/// carry forces.
#[test]
fn splitting_by_impulses_alone_sinks() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.0,
    };
    let start = at_rest(vec![1.0]);
    for (h, drift) in [(0.01, -0.0398), (0.005, -0.01998), (0.0025, -0.00999)] {
        let n = (5.0 / h) as u64;
        let rows = run(&ball, &splitting(SplittingContact::Impulses), &start, h, n);
        // It lands after 1 s.
        let sunk = rows[n as usize].gap[0] - rows[(1.0 / h) as usize].gap[0].min(0.0);
        println!("h = {h}: sinks {sunk}");
        assert!((sunk - drift).abs() < 0.02 * drift.abs(), "{sunk}");
        let rows = run(&ball, &splitting(SplittingContact::Forces), &start, h, n);
        let last = &rows[n as usize];
        assert_eq!(last.state.v[0], 0.0);
        let landed = (1.1 / h) as usize;
        assert_eq!(last.gap[0], rows[landed].gap[0]);
        assert!((last.impulse[0] - 2.0 * h).abs() < 1e-15);
    }
}

/// A ball that bounces ever less closes for good after finitely many impacts.
#[test]
fn splitting_ends_accumulations_of_impacts() {
    let ball = Ball {
        mass: 1.0,
        force: -2.0,
        restitution: 0.5,
    };
    let rows = run(
        &ball,
        &splitting(SplittingContact::Forces),
        &at_rest(vec![1.0]),
        1e-3,
        5000,
    );
    assert_eq!(rows[5000].state.v[0], 0.0);
    let moved = rows.iter().rposition(|r| r.state.v[0] != 0.0).unwrap();
    println!("moves until {} s", moved as f64 * 1e-3);
    assert!((moved as f64 * 1e-3 - 3.0).abs() < 0.05);
}

#[test]
fn splitting_is_of_order_five_on_smooth_motion() {
    let start = State::new(0.0, vec![1.2, 0.9], vec![0.0, 0.0]);
    let end = |n: u64| {
        let h = 0.3 / n as f64;
        run(&WALL, &splitting(SplittingContact::Forces), &start, h, n)
            .pop()
            .unwrap()
            .state
    };
    let exact = end(960);
    let error = |n: u64| {
        let state = end(n);
        let off = |a: &[f64], b: &[f64]| {
            let pairs = a.iter().zip(b);
            pairs.fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()))
        };
        off(&state.q, &exact.q) + off(&state.v, &exact.v)
    };
    let errors = [15, 30, 60].map(error);
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        println!("order {order}");
        assert!((order - 5.0).abs() < 0.4, "{errors:?}");
    }
}
