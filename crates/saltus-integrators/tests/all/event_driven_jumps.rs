//! The event-driven scheme under forces that jump, in time and along the motion, against closed forms.

use saltus_integrators::{
    Event, EventDriven, EventDrivenOptions, EventKind, Integrator, StepError,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics, MassKind,
    MatrixSink, Point, Reach, State, Structure, System,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// A unit mass at height `y` under a force, perhaps over a floor at `y = 0`.
struct Mass {
    force: fn(t: f64, y: f64, v: f64) -> f64,
    has_floor: bool,
    /// Of the force, for the implicit method [N/m].
    stiffness: f64,
    evaluations: AtomicU64,
}

impl Mass {
    fn new(force: fn(f64, f64, f64) -> f64, has_floor: bool) -> Self {
        Self {
            force,
            has_floor,
            stiffness: 0.0,
            evaluations: AtomicU64::new(0),
        }
    }
}

impl Kinematics for Mass {
    fn dims(&self) -> Dims {
        Dims {
            nq: 1,
            nv: 1,
            ng: 0,
        }
    }
}

impl Dynamics for Mass {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Constant,
            ..Structure::GENERAL
        }
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, 1.0);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        force[0] = (self.force)(at.t, at.q[0], at.v[0]);
    }

    fn stiffness(&self, _: Point<'_>, stiffness: &mut dyn MatrixSink) {
        stiffness.entry(0, 0, self.stiffness);
    }
}

impl Constraints for Mass {}

impl Contacts for Mass {
    fn contact_count(&self) -> usize {
        usize::from(self.has_floor)
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        if self.has_floor {
            set.push(ContactId(0), ContactLaw::frictionless(0.5), q[0]);
            set.directions.push(&[0], &[1.0]);
            set.rate.push(0.0);
        }
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }
}

impl System for Mass {}

/// The state at `until` after a start at rest from `y`, and the events.
fn run(
    system: &Mass,
    options: &EventDrivenOptions,
    y: f64,
    (h, until): (f64, f64),
) -> Result<(State, Vec<Event>), StepError> {
    let mut scheme = EventDriven::new(options.clone()).unwrap();
    let mut state = State::new(0.0, vec![y], vec![0.0]);
    let mut events = Vec::new();
    scheme.prepare(system, &state, h)?;
    while until - state.t > 1e-9 * h {
        let most = h.min(until - state.t);
        scheme.step(system, &mut state, most, until)?;
        events.extend_from_slice(scheme.events());
    }
    Ok((state, events))
}

/// With both methods and several distances of the outputs: `y` and `v` at `until`.
fn check(force: fn(f64, f64, f64) -> f64, y0: f64, until: f64, [y, v]: [f64; 2], tolerance: f64) {
    for stiff in [false, true] {
        let options = EventDrivenOptions {
            stiff,
            ..EventDrivenOptions::default()
        };
        for h in [1e-2, 0.25, 0.7] {
            let system = Mass::new(force, false);
            let (state, _) = run(&system, &options, y0, (h, until)).unwrap();
            let errors = [(state.q[0] - y).abs(), (state.v[0] - v).abs()];
            let largest = errors[0].max(errors[1]);
            assert!(largest < tolerance, "stiff {stiff}, h {h}: {errors:?}");
        }
    }
}

fn heaviside(x: f64) -> f64 {
    if x > 0.0 { 1.0 } else { 0.0 }
}

#[test]
fn a_force_jumps_in_time() {
    let a = 2.0 - 1.0003;
    check(
        |t, _, _| heaviside(t - 1.0003),
        0.0,
        2.0,
        [0.5 * a * a, a],
        1e-13,
    );
    // On the grid of the outputs.
    check(|t, _, _| heaviside(t - 1.0), 0.0, 2.0, [0.5, 1.0], 1e-13);
    // From rest, at the first and the second output, and within round-off and little more of them.
    check(
        |t, _, _| heaviside(t - 0.01),
        0.0,
        2.0,
        [0.5 * 1.99 * 1.99, 1.99],
        1e-12,
    );
    check(
        |t, _, _| heaviside(t - 0.25),
        0.0,
        2.0,
        [0.5 * 1.75 * 1.75, 1.75],
        1e-12,
    );
    check(
        |t, _, _| heaviside(t - (0.25 - 2e-16)),
        0.0,
        2.0,
        [0.5 * 1.75 * 1.75, 1.75],
        1e-12,
    );
    check(
        |t, _, _| heaviside(t - (0.25 - 1e-12)),
        0.0,
        2.0,
        [0.5 * 1.75 * 1.75, 1.75],
        1e-11,
    );
    check(
        |t, _, _| if t < 0.7 { 0.0 } else { 5.0 },
        0.0,
        2.0,
        [2.5 * 1.3 * 1.3, 6.5],
        1e-11,
    );
    let b = 2.0 - 0.75;
    check(
        |t, _, _| 1.0 - 3.0 * heaviside(t - 0.75),
        0.0,
        2.0,
        [2.0 - 1.5 * b * b, 2.0 - 3.0 * b],
        1e-12,
    );
}

#[test]
fn a_force_jumps_twice_within_a_step() {
    let force: fn(f64, f64, f64) -> f64 =
        |t, _, _| 1.0 - 3.0 * heaviside(t - 1.0003) + 2.0 * heaviside(t - 1.0005);
    let (a, b) = (2.0 - 1.0003_f64, 2.0 - 1.0005_f64);
    let y = 2.0 - 1.5 * a * a + b * b;
    check(force, 0.0, 2.0, [y, 2.0 - 3.0 * a + 2.0 * b], 1e-12);
}

#[test]
fn a_force_jumps_along_the_motion() {
    // From rest under 1 until y = 1 at √2, with the velocity √2, then under −3.
    let r = 2.0_f64.sqrt();
    let s = 2.0 - r;
    let force: fn(f64, f64, f64) -> f64 = |_, y, _| if y < 1.0 { 1.0 } else { -3.0 };
    check(
        force,
        0.0,
        2.0,
        [1.0 + r * s - 1.5 * s * s, r - 3.0 * s],
        1e-10,
    );
    // A mass between two springs of which one has slack: y'' = −sign(y) is a sequence of parabolas of period 4 √2.
    let force: fn(f64, f64, f64) -> f64 = |_, y, _| -y.signum();
    check(force, 1.0, 8.0 * r, [1.0, 0.0], 1e-9);
}

#[test]
fn steps_after_a_jump_are_those_before() {
    let force: fn(f64, f64, f64) -> f64 = |t, y, _| -y + heaviside(t - 0.503);
    let system = Mass::new(force, false);
    let options = EventDrivenOptions::default();
    run(&system, &options, 1.0, (0.1, 2.0)).unwrap();
    let with_jump = system.evaluations.load(Ordering::Relaxed);
    let smooth = Mass::new(|_, y, _| -y, false);
    run(&smooth, &options, 1.0, (0.1, 2.0)).unwrap();
    let without = smooth.evaluations.load(Ordering::Relaxed);
    assert!(with_jump < without + 1500, "{with_jump} {without}");
}

#[test]
fn a_jump_opens_a_closed_contact() {
    for h in [1e-2, 0.3, 0.7] {
        let force: fn(f64, f64, f64) -> f64 = |t, _, _| -1.0 + 3.0 * heaviside(t - 0.7);
        let system = Mass::new(force, true);
        let options = EventDrivenOptions::default();
        let (state, events) = run(&system, &options, 0.0, (h, 2.0)).unwrap();
        let [event] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(event.kind, EventKind::Open);
        assert!((event.t - 0.7).abs() < 1e-14, "h {h}: {}", event.t);
        let (y, v) = (1.3_f64 * 1.3, 2.6);
        let errors = [(state.q[0] - y).abs(), (state.v[0] - v).abs()];
        assert!(errors[0].max(errors[1]) < 1e-12, "h {h}: {errors:?}");
    }
}

#[test]
fn a_jump_presses_down_what_touched() {
    // Carried at the floor without force, then pressed down, then lifted.
    let force: fn(f64, f64, f64) -> f64 =
        |t, _, _| -heaviside(t - 0.55) + 2.0 * heaviside(t - 0.95);
    let system = Mass::new(force, true);
    let options = EventDrivenOptions::default();
    let (state, _) = run(&system, &options, 0.0, (0.1, 2.0)).unwrap();
    let a = 2.0 - 0.95;
    let errors = [(state.q[0] - 0.5 * a * a).abs(), (state.v[0] - a).abs()];
    assert!(errors[0].max(errors[1]) < 1e-12, "{errors:?}");
}

#[test]
fn a_force_that_drives_the_motion_into_its_jump_is_refused() {
    for stiff in [false, true] {
        let options = EventDrivenOptions {
            stiff,
            ..EventDrivenOptions::default()
        };
        // At rest from the start; and coming to rest at t = 1.
        let held: fn(f64, f64, f64) -> f64 = |_, _, v| 0.1 - v.signum();
        let stops: fn(f64, f64, f64) -> f64 = |t, _, v| if t < 0.5 { 1.0 } else { -v.signum() };
        for (force, instant) in [(held, 0.0), (stops, 1.0)] {
            let system = Mass::new(force, false);
            match run(&system, &options, 0.0, (0.1, 2.0)) {
                Err(StepError::SlidingMode { t, .. }) => {
                    assert!((t - instant).abs() < 1e-6, "{t}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// A push of 1000 N for less than a millisecond in steps of a hundredth of a second.
#[test]
fn a_force_shorter_than_a_step_is_met_at_a_stage() {
    let force: fn(f64, f64, f64) -> f64 =
        |t, _, _| 1e3 * (heaviside(t - 0.5031) - heaviside(t - 0.5039));
    let (v, y) = (0.8, 0.8 * (2.0 - 0.5035));
    let system = Mass::new(force, false);
    let options = EventDrivenOptions::default();
    let (state, _) = run(&system, &options, 0.0, (1e-2, 2.0)).unwrap();
    let errors = [(state.q[0] - y).abs(), (state.v[0] - v).abs()];
    assert!(errors[0].max(errors[1]) < 1e-11, "{errors:?}");
}

/// A jump of the force at the instant of an impact, and one at an output.
#[test]
fn a_force_jumps_where_something_else_happens() {
    // Falls from 1 under 2 for 1 s, rebounds with 1; the force vanishes then, or at 1.5.
    let at_impact: fn(f64, f64, f64) -> f64 = |t, _, _| -2.0 * heaviside(1.0 - t);
    let at_output: fn(f64, f64, f64) -> f64 = |t, _, _| -2.0 * heaviside(1.25 - t);
    for (force, [y, v]) in [(at_impact, [1.0, 1.0]), (at_output, [0.5625, 0.5])] {
        for h in [0.25, 0.01, 0.3] {
            let system = Mass::new(force, true);
            let options = EventDrivenOptions::default();
            let (state, events) = run(&system, &options, 1.0, (h, 2.0)).unwrap();
            assert_eq!(events.len(), 1, "{events:?}");
            let errors = [(state.q[0] - y).abs(), (state.v[0] - v).abs()];
            assert!(errors[0].max(errors[1]) < 1e-10, "h {h}: {errors:?}");
        }
    }
}

/// A stiff spring holds the mass at 1 m, where round-off of its position is worth far more force than the tolerance of its motion.
#[test]
fn small_vibrations_of_a_stiff_model_need_no_small_steps() {
    const K: f64 = 1e8;
    let vibrates: fn(f64, f64, f64) -> f64 = |_, y, _| -K * (y - 1.0);
    let driven: fn(f64, f64, f64) -> f64 = |t, y, _| 1e-4 * (100.0 * t).sin() - K * (y - 1.0);
    for stiff in [false, true] {
        let options = EventDrivenOptions {
            stiff,
            ..EventDrivenOptions::default()
        };
        let (until, h) = (0.01, 1e-3);
        let system = Mass {
            stiffness: K,
            ..Mass::new(vibrates, false)
        };
        let (state, _) = run(&system, &options, 1.0 + 1e-9, (h, until)).unwrap();
        let phase = K.sqrt() * until;
        let errors = [
            (state.q[0] - 1.0 - 1e-9 * phase.cos()).abs(),
            (state.v[0] + 1e-9 * K.sqrt() * phase.sin()).abs() / K.sqrt(),
        ];
        let asked = system.evaluations.load(Ordering::Relaxed);
        assert!(errors[0].max(errors[1]) < 1e-13, "{errors:?}");
        assert!(asked < 100_000, "stiff {stiff}: {asked}");
        let system = Mass {
            stiffness: K,
            ..Mass::new(driven, false)
        };
        let (state, _) = run(&system, &options, 1.0, (h, until)).unwrap();
        let asked = system.evaluations.load(Ordering::Relaxed);
        let expected = 1e-4 * (100.0 * until).sin() / K;
        assert!(
            (state.q[0] - 1.0 - expected).abs() < 1e-14,
            "{}",
            state.q[0]
        );
        assert!(asked < 100_000, "stiff {stiff}: {asked}");
    }
}
