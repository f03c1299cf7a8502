//! The event-driven scheme on systems with closed forms.

use saltus_integrators::{
    Accumulation, Event, EventDriven, EventDrivenOptions, EventKind, ImpactLaw, Integrator,
    StepError, StepReport,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics, MassKind,
    MatrixSink, Point, Reach, State, Structure, System,
};
use saltus_zoo::{
    Ball, BouncingPendulum, RingPendulum, RockingBlock, newtons_cradle, spring_over_floor,
};

/// A rigid body in the plane, `x, y, θ`, whose points may touch the floor `y = 0` with friction; `force` acts on its centre.
struct Body {
    inertia: f64,
    points: Vec<[f64; 2]>,
    law: ContactLaw,
    gravity: [f64; 2],
    /// Growth of the horizontal force [N/s].
    ramp: f64,
}

impl Body {
    /// The arm from the centre to a point, and the same turned by 90°.
    fn arm(&self, i: usize, theta: f64) -> [f64; 2] {
        let ([a, b], (s, c)) = (self.points[i], theta.sin_cos());
        [c * a - s * b, s * a + c * b]
    }
}

impl Kinematics for Body {
    fn dims(&self) -> Dims {
        Dims {
            nq: 3,
            nv: 3,
            ng: 0,
        }
    }
}

impl Dynamics for Body {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Constant,
            ..Structure::GENERAL
        }
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        for (i, m) in [1.0, 1.0, self.inertia].into_iter().enumerate() {
            mass.entry(i, i, m);
        }
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let [x, y] = self.gravity;
        force.copy_from_slice(&[x + self.ramp * at.t, y, 0.0]);
    }
}

impl Constraints for Body {}

impl Contacts for Body {
    fn contact_count(&self) -> usize {
        self.points.len()
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        for i in 0..self.points.len() {
            let [ax, ay] = self.arm(i, q[2]);
            set.push(ContactId(i as u64), self.law, q[1] + ay);
            set.directions.push(&[1, 2], &[1.0, ax]);
            set.rate.push(0.0);
            if self.law.tangents > 0 {
                set.directions.push(&[0, 2], &[1.0, -ay]);
                set.rate.push(0.0);
            }
        }
        let _ = t;
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }

    fn contact_bias(&self, at: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        let w2 = at.v[2] * at.v[2];
        for i in 0..self.points.len() {
            let [ax, ay] = self.arm(i, at.q[2]);
            bias[set.first_row[i]] = -w2 * ay;
            if self.law.tangents > 0 {
                bias[set.first_row[i] + 1] = -w2 * ax;
            }
        }
    }
}

impl System for Body {}

struct Run {
    events: Vec<Event>,
    states: Vec<State>,
    reports: Vec<StepReport>,
    force: Vec<f64>,
}

impl Run {
    fn last(&self) -> &State {
        self.states.last().unwrap()
    }

    fn times(&self, kind: EventKind) -> Vec<f64> {
        let mut times: Vec<f64> = Vec::new();
        for event in self.events.iter().filter(|e| e.kind == kind) {
            if times.last() != Some(&event.t) {
                times.push(event.t);
            }
        }
        times
    }

    fn worst_balance(&self) -> f64 {
        let entry = saltus_integrators::Entry::EnergyBalance;
        let balances = self.reports.iter().skip(1);
        balances
            .map(|r| r.certificate.get(entry).abs())
            .fold(0.0, f64::max)
    }
}

fn options() -> EventDrivenOptions {
    EventDrivenOptions::default()
}

fn try_run(
    system: &dyn System,
    options: EventDrivenOptions,
    start: &State,
    h: f64,
    until: f64,
) -> Result<Run, StepError> {
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = start.clone();
    let first = scheme.prepare(system, &state, h)?;
    let mut run = Run {
        events: Vec::new(),
        states: vec![state.clone()],
        reports: vec![first],
        force: Vec::new(),
    };
    while until - state.t > 1e-9 * h {
        let left = until - state.t;
        run.reports
            .push(scheme.step(system, &mut state, h.min(left), until)?);
        run.events.extend_from_slice(scheme.events());
        run.states.push(state.clone());
    }
    run.force = scheme.reactions().force.to_vec();
    Ok(run)
}

fn run(system: &dyn System, options: EventDrivenOptions, start: &State, h: f64, until: f64) -> Run {
    try_run(system, options, start, h, until).unwrap_or_else(|error| panic!("{error}"))
}

fn at_rest(q: &[f64]) -> State {
    State::new(0.0, q.to_vec(), vec![0.0; q.len()])
}

fn ball(force: f64, restitution: f64) -> Ball {
    Ball {
        mass: 1.0,
        force,
        restitution,
    }
}

fn guarded(v_acc: f64) -> EventDrivenOptions {
    EventDrivenOptions {
        v_acc: Some(v_acc),
        ..options()
    }
}

fn block(w: f64, h: f64, mu: f64, ramp: f64) -> Body {
    Body {
        inertia: (w * w + h * h) / 12.0,
        points: vec![[0.5 * w, -0.5 * h], [-0.5 * w, -0.5 * h]],
        law: ContactLaw::coulomb(0.0, mu, 1),
        gravity: [0.0, -9.81],
        ramp,
    }
}

#[test]
fn a_ball_bounces_as_often_as_the_guard_lets_it() {
    for (v_acc, count) in [(1e-3, 12), (1e-5, 19), (1e-7, 26)] {
        let run = run(&ball(-2.0, 0.5), guarded(v_acc), &at_rest(&[1.0]), 0.1, 5.0);
        let times = run.times(EventKind::Impact);
        assert_eq!(times.len(), count);
        let late = 3.0 - times[count - 1];
        println!("v_acc {v_acc:e}: {count} impacts, {late:.6e} s early");
        assert!(late > 0.0 && late < v_acc);
        assert_eq!(run.times(EventKind::Accumulation), times[count - 1..]);
        assert!(run.worst_balance() < 1e-13, "{:e}", run.worst_balance());
    }
}

#[test]
fn impacts_that_accumulate_end_at_rest() {
    for (e, end) in [(0.5, 1.354_571), (0.9, 8.578_949)] {
        let run = run(&ball(-9.81, e), options(), &at_rest(&[1.0]), 0.1, 10.0);
        let times = run.times(EventKind::Accumulation);
        assert_eq!(times.len(), 1);
        println!("e = {e}: at rest at {}", times[0]);
        assert!((times[0] - end).abs() < 1e-6, "{}", times[0]);
        assert!(run.last().v[0] == 0.0 && run.last().q[0].abs() < 1e-15);
        assert!((run.force[0] - 9.81).abs() < 1e-12);
    }
}

#[test]
fn accumulations_pass_to_time_stepping_and_back() {
    let options = EventDrivenOptions {
        accumulation: Accumulation::TimeStepping,
        v_acc: Some(1e-2),
        ..options()
    };
    let run = run(&ball(-9.81, 0.5), options, &at_rest(&[1.0]), 0.1, 3.0);
    let times = run.times(EventKind::Accumulation);
    println!(
        "{times:?}, {} steps, ends {:?}",
        run.states.len(),
        run.last()
    );
    assert_eq!(times.len(), 1);
    assert!((times[0] - 1.354_571).abs() < 3e-3);
    assert!(run.last().v[0].abs() < 1e-12 && run.last().q[0].abs() < 1e-12);
    assert!((run.force[0] - 9.81).abs() < 1e-9);
    // Large steps again: event-driven.
    let n = run.states.len();
    assert!(run.states[n - 1].t - run.states[n - 2].t > 0.09);
}

#[test]
fn a_ball_loses_no_energy_over_a_hundred_bounces() {
    let run = run(&ball(-2.0, 1.0), options(), &at_rest(&[1.0]), 0.1, 200.0);
    assert_eq!(run.times(EventKind::Impact).len(), 100);
    let energy: Vec<f64> = run
        .states
        .iter()
        .map(|s| 0.5 * s.v[0] * s.v[0] + 2.0 * s.q[0])
        .collect();
    let lost = energy.iter().map(|e| (e / energy[0] - 1.0).abs());
    let lost = lost.fold(0.0, f64::max);
    println!("100 bounces: |ΔE|/E = {lost:.1e}");
    assert!(lost < 1e-8);
}

#[test]
fn without_a_guard_a_run_stops_with_a_reason() {
    let options = EventDrivenOptions {
        max_events: 60,
        ..guarded(0.0)
    };
    let error = try_run(&ball(-2.0, 0.5), options, &at_rest(&[1.0]), 1.0, 5.0).err();
    let message = error.unwrap().to_string();
    println!("{message}");
    assert!(message.contains("contact0") && message.contains("impact"));
}

/// Where outputs are late, the round-off of their time is more than a billionth of a step.
#[test]
fn late_outputs_follow_each_other_by_a_step() {
    let system = ball(-9.81, 0.5);
    for (begin, h) in [(3600.0, 1e-4), (86400.0, 1e-3), (1e7, 0.05), (600.0, 1e-5)] {
        let mut scheme = EventDriven::new(options()).unwrap();
        let mut state = State::new(begin, vec![0.5 * 9.81 * h * h * 1e4], vec![0.0]);
        scheme.prepare(&system, &state, h).unwrap();
        let end = begin + 200.0 * h;
        let mut steps = 0;
        while end - state.t > 1e-9 * h && steps < 250 {
            let left = h.min(end - state.t);
            scheme.step(&system, &mut state, left, end).unwrap();
            steps += 1;
        }
        // Every output, and the impact in the middle with those that follow.
        assert!((200..230).contains(&steps), "{steps} from {begin} s");
        assert_eq!(state.t, end);
    }
}

#[test]
fn stiffnesses_are_one_per_contact() {
    let system = newtons_cradle(&[1.0; 3], 1.0);
    let given = |stiffness: &[f64]| {
        let options = EventDrivenOptions {
            impact_law: ImpactLaw::Energetic,
            stiffness: stiffness.to_vec(),
            ..options()
        };
        let start = State::new(0.0, vec![0.0; 3], vec![1.0, 0.0, 0.0]);
        try_run(&system, options, &start, 1e-9, 1e-9)
    };
    assert!(given(&[5.0, 1.0]).is_ok());
    for wrong in [&[5.0][..], &[5.0, 1.0, 7.0]] {
        let error = given(wrong).err().unwrap();
        assert!(
            matches!(error, StepError::ContactStiffness { expected: 2, .. }),
            "{error}"
        );
    }
}

#[test]
fn an_oscillator_grazes_without_an_impact() {
    let system = spring_over_floor(1.0, 1.0, 0.5, 0.8);
    let grazing = run(&system, options(), &at_rest(&[1.0]), 0.1, 10.0);
    assert!(grazing.events.is_empty(), "{:?}", grazing.events);
    let exact = 0.5 + 0.5 * 10.0_f64.cos();
    let error = grazing.last().q[0] - exact;
    println!("grazing: error {error:.1e}");
    assert!(error.abs() < 1e-9);
    let system = spring_over_floor(1.0, 1.0, 0.0, 0.8);
    let impacts = run(&system, options(), &at_rest(&[1.0]), 0.1, 10.0).times(EventKind::Impact);
    let worst = (0..3).map(|k| {
        let exact = std::f64::consts::PI * (0.5 + f64::from(k));
        (impacts[usize::try_from(k).unwrap()] - exact).abs()
    });
    let worst = worst.fold(0.0, f64::max);
    println!("oscillator: impact times within {worst:.1e}");
    assert!(impacts.len() == 3 && worst < 1e-10);
}

#[test]
fn a_ring_lets_its_pendulum_go() {
    let system = RingPendulum::new(0.1, 0.0);
    let run = run(
        &system,
        options(),
        &at_rest(&system.horizontal()),
        0.01,
        1.0,
    );
    let opens = run.times(EventKind::Open);
    println!(
        "detaches at {:.9}, balance {:.1e}",
        opens[0],
        run.worst_balance()
    );
    assert!((opens[0] - 0.881_027_871_5).abs() < 1e-8);
    assert!(run.worst_balance() < 1e-9);
}

#[test]
fn a_rocking_block_hits_its_corners_in_turn() {
    let run = run(
        &RockingBlock::default(),
        options(),
        &at_rest(&[0.0, 1.0, 0.2]),
        0.01,
        0.55,
    );
    let impacts: Vec<(f64, u64)> = run
        .events
        .iter()
        .filter(|e| e.kind == EventKind::Impact)
        .map(|e| (e.t, e.contact.0))
        .collect();
    println!("{impacts:?}\n{:?}", run.last());
    let exact = [
        (0.183_751_483_782, 1),
        (0.296_296_864_350, 0),
        (0.472_693_233_898, 1),
        (0.518_576_580_968, 0),
    ];
    assert_eq!(impacts.len(), 4);
    for ((t, id), (exact, contact)) in impacts.iter().zip(exact) {
        assert!((t - exact).abs() < 1e-8 && *id == contact);
    }
}

#[test]
fn bilateral_constraints_do_not_drift() {
    let system = BouncingPendulum::default();
    let start = at_rest(&system.at(0.0));
    let run = run(&system, options(), &start, 0.01, 3.0);
    use saltus_integrators::Entry::{BilateralPosition, BilateralVelocity};
    for report in &run.reports {
        assert!(report.certificate.get(BilateralPosition) < 1e-13);
        assert!(report.certificate.get(BilateralVelocity) < 1e-13);
    }
    println!("balance {:.1e}", run.worst_balance());
    assert!(!run.times(EventKind::Impact).is_empty());
    assert!(run.worst_balance() < 1e-8);
}

#[test]
fn a_block_slides_to_a_stop() {
    for (mu, alpha, v, until) in [(0.6, 0.3_f64, 2.0, 2.0), (0.5, 0.0, 3.0, 1.0)] {
        let g = 9.81;
        let system = Body {
            inertia: 1.0,
            points: vec![[0.0, 0.0]],
            law: ContactLaw::coulomb(0.0, mu, 1),
            gravity: [g * alpha.sin(), -g * alpha.cos()],
            ramp: 0.0,
        };
        // The arm is zero, so that nothing turns.
        let start = State::new(0.0, vec![0.0; 3], vec![v, 0.0, 0.0]);
        let run = run(&system, options(), &start, 0.1, until);
        let a = g * (mu * alpha.cos() - alpha.sin());
        let stops = run.times(EventKind::Stick);
        println!("stops at {} for {}", stops[0], v / a);
        assert!((stops[0] - v / a).abs() < 1e-9);
        assert!((run.last().q[0] - 0.5 * v * v / a).abs() < 1e-9);
        assert_eq!(run.last().v[0], 0.0);
        assert!(run.worst_balance() < 1e-10);
    }
}

#[test]
fn a_block_on_two_feet_slips_once() {
    let system = block(4.0, 0.2, 0.3, 2.0);
    let run = run(&system, options(), &at_rest(&[0.0, 0.1, 0.0]), 0.05, 3.0);
    let slips = run.times(EventKind::Slip);
    println!("{slips:?} {:?}", run.last());
    assert_eq!(slips.len(), 1);
    assert!((slips[0] - 1.4715).abs() < 1e-8);
    assert!((run.last().v[0] - 2.336_312_25).abs() < 1e-8);
    assert!((run.last().q[0] - 1.190_351_091_375).abs() < 1e-8);
}

#[test]
fn a_block_rocks_as_housner_says() {
    for (w, h) in [(0.5_f64, 2.0_f64), (1.0, 1.5)] {
        let alpha = w.atan2(h);
        let theta = 0.3 * alpha;
        let y = 0.5 * h * theta.cos() + 0.5 * w * theta.sin();
        let run = run(
            &block(w, h, 10.0, 0.0),
            options(),
            &at_rest(&[0.0, y, theta]),
            0.05,
            0.5,
        );
        let impact = run
            .events
            .iter()
            .find(|e| e.kind == EventKind::Impact && e.velocity_before[0] < -1e-6)
            .unwrap();
        let after = run.states.iter().find(|s| s.t == impact.t).unwrap();
        let ratio = after.v[2].abs() / (impact.velocity_before[0].abs() / w);
        let exact = 1.0 - 1.5 * alpha.sin().powi(2);
        println!(
            "Housner {w} × {h}: at {:.12}, ratio {ratio} for {exact}",
            impact.t
        );
        assert!((ratio - exact).abs() < 1e-8);
        if w == 0.5 {
            assert!((impact.t - 0.336_169_291_605_275_76).abs() < 1e-9);
        }
    }
}

#[test]
fn painleve_is_named() {
    let theta = 2.0_f64.atan();
    let (s, c) = theta.sin_cos();
    let modes = |mu: f64, omega: f64, slip: f64| {
        let rod = Body {
            inertia: 1.0 / 3.0,
            points: vec![[-1.0, 0.0]],
            law: ContactLaw::coulomb(0.0, mu, 1),
            gravity: [0.0, -9.81],
            ramp: 0.0,
        };
        let v = vec![slip - s * omega, c * omega, omega];
        let start = State::new(0.0, vec![0.0, s, theta], v);
        match try_run(&rod, options(), &start, 1e-3, 1e-3) {
            Ok(_) => 1,
            Err(error @ StepError::ContactMode { modes, .. }) => {
                println!("{error}");
                assert!(error.to_string().contains("`contact0`"));
                modes
            }
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(modes(1.0, 0.0, 1.0), 1);
    assert_eq!(modes(1.0, 0.0, -1.0), 1);
    assert_eq!(modes(1.6, 6.0, 1.0), 1);
    assert_eq!(modes(1.6, 0.0, -1.0), 0);
    assert_eq!(modes(1.6, 6.0, -1.0), 2);
}

#[test]
fn impact_laws_of_a_cradle() {
    let after = |law, e, v: &[f64]| {
        let system = newtons_cradle(&[1.0; 3], e);
        let options = EventDrivenOptions {
            impact_law: law,
            ..options()
        };
        let start = State::new(0.0, vec![0.0; 3], v.to_vec());
        run(&system, options, &start, 1e-9, 1e-9).last().v.clone()
    };
    let near = |a: &[f64], b: &[f64], tolerance: f64| {
        let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs());
        assert!(worst.fold(0.0, f64::max) <= tolerance, "{a:?} is not {b:?}");
    };
    let third = 1.0 / 3.0;
    let one = [1.0, 0.0, 0.0];
    let both = [1.0, 0.0, -1.0];
    let thirds = [-third, 2.0 * third, 2.0 * third];
    near(&after(ImpactLaw::Newton, 1.0, &one), &thirds, 1e-12);
    near(
        &after(ImpactLaw::Newton, 0.5, &one),
        &[0.0, 0.5, 0.5],
        1e-12,
    );
    let sequential = |e, v: &[f64]| after(ImpactLaw::Sequential, e, v);
    near(&sequential(1.0, &one), &[0.0, 0.0, 1.0], 1e-12);
    near(
        &sequential(0.5, &one),
        &[0.203_125, 0.234_375, 0.5625],
        1e-12,
    );
    near(
        &sequential(0.5, &both),
        &[-0.359_375, 0.046_875, 0.3125],
        1e-12,
    );
    // An endless sequence, whose rest is closed at once.
    near(&sequential(0.0, &one), &[third; 3], 1e-15);
    // Compression leaves (1/3, 1/3, 1/3) with the impulses 2/3 and 1/3; expansion adds e times as much.
    near(&after(ImpactLaw::Poisson, 1.0, &one), &thirds, 1e-12);
    near(
        &after(ImpactLaw::Poisson, 0.5, &one),
        &[0.0, 0.5, 0.5],
        1e-12,
    );
    let v = after(ImpactLaw::Energetic, 1.0, &one);
    println!("energetic: {v:?}");
    let sums = [v.iter().sum(), v.iter().map(|v| v * v).sum()];
    near(&sums, &[1.0, 1.0], 1e-6);
    assert!(v[2] > 0.98);
}

/// A mass on a spring that would pass a floor by the given depth hits it where that is more than a gap that counts, 1e-10 of its fall of 2 m.
#[test]
fn a_graze_counts_from_the_depth_of_a_gap_that_counts() {
    for (depth, impacts) in [(1e-10, 0), (1.5e-10, 0), (3e-10, 1), (1e-9, 1), (1e-7, 1)] {
        let system = spring_over_floor(1.0, 1.0, 1.0 - depth, 0.5);
        let start = State::new(0.0, vec![2.0 - depth], vec![0.0]);
        let events = run(&system, options(), &start, 0.01, 4.0).events;
        let hits: Vec<_> = events
            .iter()
            .filter(|e| e.kind == EventKind::Impact)
            .collect();
        assert_eq!(hits.len(), impacts, "{depth}: {events:?}");
        let exact = (depth - 1.0).acos();
        assert!(
            hits.iter().all(|e| (e.t - exact).abs() < 1e-6),
            "{depth}: {hits:?}"
        );
    }
}

#[test]
fn a_run_goes_on_bit_for_bit() {
    let system = RockingBlock::default();
    let start = at_rest(&[0.0, 1.0, 0.2]);
    let mut scheme = EventDriven::new(options()).unwrap();
    let mut state = start.clone();
    scheme.prepare(&system, &state, 0.01).unwrap();
    let mut memory = Vec::new();
    let mut middle = State::default();
    for k in 0..120 {
        if k == 50 {
            scheme.save(&mut memory);
            middle = state.clone();
        }
        scheme.step(&system, &mut state, 0.01, 10.0).unwrap();
    }
    let mut other = EventDriven::new(options()).unwrap();
    other.prepare(&system, &middle, 0.01).unwrap();
    other.load(&memory);
    for _ in 50..120 {
        other.step(&system, &mut middle, 0.01, 10.0).unwrap();
    }
    assert_eq!(state, middle);
}

/// Flights between impacts are integrated over many outputs at once: a run that goes on from any of them does the same.
#[test]
fn a_flight_over_many_outputs_goes_on_bit_for_bit() {
    let system = ball(-10.0, 0.8);
    let mut state = at_rest(&[1.0]);
    let mut scheme = EventDriven::new(options()).unwrap();
    scheme.prepare(&system, &state, 0.01).unwrap();
    for _ in 0..200 {
        let mut memory = Vec::new();
        scheme.save(&mut memory);
        let mut other = EventDriven::new(options()).unwrap();
        let mut copy = state.clone();
        other.prepare(&system, &copy, 0.01).unwrap();
        other.load(&memory);
        let mut again = Vec::new();
        other.save(&mut again);
        assert_eq!(memory, again);
        let report = scheme.step(&system, &mut state, 0.01, 10.0).unwrap();
        let other_report = other.step(&system, &mut copy, 0.01, 10.0).unwrap();
        assert_eq!(state, copy);
        assert_eq!(format!("{report:?}"), format!("{other_report:?}"));
        scheme.save(&mut memory);
        other.save(&mut again);
        assert_eq!(memory, again);
    }
}

/// A run that goes on with another force, or from another state, leaves the flight of before.
#[test]
fn a_flight_over_many_outputs_ends_where_something_changes() {
    let mut scheme = EventDriven::new(options()).unwrap();
    let mut state = at_rest(&[5.0]);
    let system = ball(-10.0, 0.8);
    scheme.prepare(&system, &state, 0.01).unwrap();
    for _ in 0..10 {
        scheme.step(&system, &mut state, 0.01, 10.0).unwrap();
    }
    let mut memory = Vec::new();
    scheme.save(&mut memory);
    let falls = |state: &State, from: &State, force: f64| {
        let t = 0.1;
        let (q, v) = (from.q[0], from.v[0]);
        assert!((state.q[0] - (q + v * t + 0.5 * force * t * t)).abs() < 1e-14);
        assert!((state.v[0] - (v + force * t)).abs() < 1e-14);
    };
    let heavier = ball(-20.0, 0.8);
    let mut other = EventDriven::new(options()).unwrap();
    let mut copy = state.clone();
    other.prepare(&heavier, &copy, 0.01).unwrap();
    other.load(&memory);
    for _ in 0..10 {
        other.step(&heavier, &mut copy, 0.01, 10.0).unwrap();
    }
    falls(&copy, &state, -20.0);
    state.v[0] += 1.0;
    let thrown = state.clone();
    for _ in 0..10 {
        scheme.step(&system, &mut state, 0.01, 10.0).unwrap();
    }
    falls(&state, &thrown, -10.0);
}

/// A ball thrown up hits a ceiling just below its apex and falls back: the whole contact lies between two points at which the arc is
/// looked at, whatever the step.
#[test]
fn what_passes_through_its_obstacle_and_back_between_two_looks_hits_it() {
    let thrown = State::new(0.0, vec![0.0], vec![10.0]);
    for (depth, h) in [(1e-2, 3.0), (1e-3, 3.0), (1e-5, 0.07), (1e-5, 3.0)] {
        let system = saltus_zoo::Linear {
            n: 1,
            mass: vec![(0, 0, 1.0)],
            load: vec![-10.0],
            contacts: vec![(5.0 - depth, vec![(0, -1.0)], 0.5)],
            ..saltus_zoo::Linear::default()
        };
        let run = run(&system, options(), &thrown, h, 1.9);
        let hits = run.times(EventKind::Impact);
        assert_eq!(hits.len(), 1, "{depth} {h}: {hits:?}");
        let expected = 1.0 - (2.0 * depth / 10.0_f64).sqrt();
        assert!((hits[0] - expected).abs() < 1e-9, "{depth} {h}: {hits:?}");
    }
}
