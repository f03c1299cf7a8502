//! The event-driven scheme under forces and on a floor that depend on time: instants of events, and the books of what moves by
//! itself, against closed forms.

use saltus_integrators::{Event, EventDriven, EventDrivenOptions, EventKind, Integrator};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics, MassKind,
    MatrixSink, Point, Reach, State, Structure, System,
};
use std::f64::consts::{FRAC_PI_2, TAU};

const GRAVITY: f64 = 9.81;

/// A unit mass `x, y` over a floor at `a sin ω t` whose surface moves along `x`.
struct Mass {
    force: fn(f64) -> [f64; 2],
    amplitude: f64,
    omega: f64,
    belt: f64,
    law: ContactLaw,
}

impl Mass {
    fn under(force: fn(f64) -> [f64; 2], law: ContactLaw) -> Self {
        Self {
            force,
            amplitude: 0.0,
            omega: 0.0,
            belt: 0.0,
            law,
        }
    }
}

impl Kinematics for Mass {
    fn dims(&self) -> Dims {
        Dims {
            nq: 2,
            nv: 2,
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
        mass.entry(1, 1, 1.0);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        force.copy_from_slice(&(self.force)(at.t));
    }
}

impl Constraints for Mass {}

impl Contacts for Mass {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        let (sine, cosine) = (self.omega * t).sin_cos();
        set.push(ContactId(0), self.law, q[1] - self.amplitude * sine);
        set.directions.push(&[1], &[1.0]);
        set.rate.push(-self.amplitude * self.omega * cosine);
        if self.law.tangents > 0 {
            set.directions.push(&[0], &[1.0]);
            set.rate.push(-self.belt);
        }
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        bias.fill(0.0);
        bias[0] = self.amplitude * self.omega * self.omega * (self.omega * at.t).sin();
    }
}

impl System for Mass {}

/// Works of a run \[J\]: of contacts, and of prescribed motions.
#[derive(Default)]
struct Run {
    state: State,
    events: Vec<Event>,
    contact: f64,
    moving: f64,
}

fn run(system: &Mass, v: [f64; 2], h: f64, until: f64) -> Run {
    let mut scheme = EventDriven::new(EventDrivenOptions::default()).unwrap();
    let mut run = Run {
        state: State::new(0.0, vec![0.0; 2], v.to_vec()),
        ..Run::default()
    };
    scheme.prepare(system, &run.state, h).unwrap();
    while until - run.state.t > 1e-9 * h {
        let report = scheme.step(system, &mut run.state, h, until).unwrap();
        run.events.extend_from_slice(scheme.events());
        run.contact += report.work_contact;
        run.moving += scheme.reactions().work_moving.unwrap();
    }
    run
}

/// Time and velocities of the only event of a kind.
fn only(run: &Run, kind: EventKind) -> &Event {
    let mut found = run.events.iter().filter(|e| e.kind == kind);
    let event = found.next().unwrap();
    assert!(found.next().is_none(), "{:?}", run.events);
    event
}

#[test]
fn a_contact_opens_where_its_force_passes_zero() {
    let system = Mass::under(|t| [0.0, -t.cos()], ContactLaw::frictionless(0.0));
    let run = run(&system, [0.0; 2], 0.1, 3.0);
    let t = only(&run, EventKind::Open).t;
    assert!((t - FRAC_PI_2).abs() < 1e-14, "{t}");
    // y'' = −cos t from there.
    let y = 3.0_f64.cos() + 3.0 - FRAC_PI_2;
    assert!((run.state.q[1] - y).abs() < 1e-13, "{} {y}", run.state.q[1]);
}

#[test]
fn a_block_slips_where_the_force_reaches_its_cone() {
    let law = ContactLaw::coulomb(0.0, 0.4, 1);
    let system = Mass::under(|t| [0.3 * t, -1.0], law);
    let run = run(&system, [0.0; 2], 0.1, 3.0);
    let event = only(&run, EventKind::Slip);
    let (t, expected) = (event.t, 4.0 / 3.0);
    assert!((t - expected).abs() < 1e-14, "{t}");
    assert_eq!(event.velocity_before[1], 0.0);
    let x = 0.05 * (3.0_f64 - expected).powi(3);
    assert!((run.state.q[0] - x).abs() < 1e-13, "{} {x}", run.state.q[0]);
}

#[test]
fn a_block_sticks_where_its_slip_passes_zero() {
    let law = ContactLaw::coulomb(0.0, 0.4, 1);
    let system = Mass::under(|_| [0.0, -GRAVITY], law);
    let run = run(&system, [1.0, 0.0], 0.1, 0.5);
    let t = only(&run, EventKind::Stick).t;
    let expected = 1.0 / (0.4 * GRAVITY);
    assert!((t - expected).abs() < 1e-14, "{t}");
    assert!((run.state.q[0] - 0.5 * expected).abs() < 1e-14);
    assert_eq!(run.state.v[0], 0.0);
}

/// Slip that passes through zero under a force that friction cannot hold.
#[test]
fn a_block_turns_where_its_slip_passes_zero() {
    let law = ContactLaw::coulomb(0.0, 0.1, 1);
    let system = Mass::under(|_| [-0.3 * GRAVITY, -GRAVITY], law);
    let run = run(&system, [1.0, 0.0], 0.1, 0.5);
    let t = only(&run, EventKind::Slip).t;
    let expected = 1.0 / (0.4 * GRAVITY);
    assert!((t - expected).abs() < 1e-14, "{t}");
    let v = -0.2 * GRAVITY * (0.5 - expected);
    assert!((run.state.v[0] - v).abs() < 1e-13);
}

/// A mass that lies on a shaken floor: `N = g − a ω² sin ω t`.
#[test]
fn a_floor_does_the_work_of_its_force_along_its_way() {
    let law = ContactLaw::frictionless(0.0);
    let (amplitude, omega) = (0.02, 20.0);
    let system = Mass {
        amplitude,
        omega,
        ..Mass::under(|_| [0.0, -GRAVITY], law)
    };
    let until = 0.4 * TAU / omega;
    let run = run(&system, [0.0, amplitude * omega], 0.03, until);
    assert!(run.events.is_empty());
    let way = amplitude * (omega * until).sin();
    let work = GRAVITY * way - 0.5 * (omega * way).powi(2);
    assert!((run.moving - work).abs() < 1e-11, "{} {work}", run.moving);
    assert!((run.contact - work).abs() < 1e-11);
}

/// Elastic impacts on a shaken floor: it does all the work of the contact.
#[test]
fn a_floor_does_all_the_work_of_elastic_impacts() {
    let system = Mass {
        amplitude: 0.01,
        omega: 30.0,
        ..Mass::under(|_| [0.0, -GRAVITY], ContactLaw::frictionless(1.0))
    };
    let run = run(&system, [0.0, 2.0], 0.05, 6.0);
    let impacts = run.events.iter().filter(|e| e.kind == EventKind::Impact);
    assert!(impacts.count() > 8);
    let gained = run.contact.abs();
    assert!(gained > 0.1);
    assert!((run.contact - run.moving).abs() < 1e-11 * gained.max(1.0));
}

/// A block that a belt takes with it and a force pulls back: it sticks, then slips, then is taken again.
#[test]
fn a_belt_does_the_work_of_friction_along_its_way() {
    let law = ContactLaw::coulomb(0.0, 0.3, 1);
    let system = Mass {
        belt: 0.7,
        ..Mass::under(|t| [-4.0 * t.sin(), -GRAVITY], law)
    };
    let until = 3.0;
    let run = run(&system, [0.7, 0.0], 0.1, until);
    // Stick while |4 sin t| ≤ 0.3 g; then slip against friction until the velocities meet again.
    let slips = (0.3 * GRAVITY / 4.0).asin();
    let t = only(&run, EventKind::Slip).t;
    assert!((t - slips).abs() < 1e-13, "{t} {slips}");
    let sticks = run.events.iter().find(|e| e.kind == EventKind::Stick);
    let end = sticks.map_or(until, |e| e.t);
    // Friction of the belt over time: 4 (1 − cos t) while it sticks, 0.3 g while it slips.
    let force = 4.0 * (1.0 - slips.cos()) + 0.3 * GRAVITY * (end - slips);
    let rest = 4.0 * (end.cos() - until.cos());
    let work = 0.7 * (force + rest);
    assert!(
        (run.moving - work).abs() < 1e-9 * work,
        "{} {work}",
        run.moving
    );
}

/// A pull that is stronger than gravity for a hundredth of a second, between two looks at the arc.
#[test]
fn a_contact_opens_in_a_dip_of_its_force() {
    const WIDTH: f64 = 0.012;
    const CENTRE: f64 = 1.031;
    let pull: fn(f64) -> [f64; 2] = |t| [0.0, 1.2 * (-((t - CENTRE) / WIDTH).powi(2)).exp() - 1.0];
    let system = Mass::under(pull, ContactLaw::frictionless(0.0));
    for h in [0.1, 0.07, 0.013] {
        let run = run(&system, [0.0; 2], h, 2.0);
        let t = only(&run, EventKind::Open).t;
        let expected = CENTRE - WIDTH * 1.2_f64.ln().sqrt();
        assert!((t - expected).abs() < 1e-13, "h {h}: {t} {expected}");
        let impact = only(&run, EventKind::Impact).t;
        assert!(impact > CENTRE, "h {h}: {impact}");
        assert!(run.state.q[1].abs() < 1e-15, "h {h}: {}", run.state.q[1]);
    }
}

/// A force that touches zero and no more: the contact stays.
#[test]
fn a_force_that_touches_zero_opens_nothing() {
    let system = Mass::under(|t| [0.0, -t.cos().powi(2)], ContactLaw::frictionless(0.5));
    for h in [0.3, 0.1, 0.07] {
        let run = run(&system, [0.0; 2], h, 6.0);
        assert!(run.events.is_empty(), "h {h}: {:?}", run.events);
        assert_eq!(run.state.q[1], 0.0);
    }
}

/// A triple zero: located as well as the force is known.
#[test]
fn a_contact_opens_where_its_force_has_a_triple_zero() {
    let system = Mass::under(|t| [0.0, -t.cos().powi(3)], ContactLaw::frictionless(0.0));
    let run = run(&system, [0.0; 2], 0.1, 3.0);
    let t = only(&run, EventKind::Open).t;
    assert!((t - FRAC_PI_2).abs() < 1e-5, "{t}");
}

/// Bounces, rests and openings on a shaken floor, whatever the distance of the outputs.
#[test]
fn events_do_not_depend_on_the_outputs() {
    let system = Mass {
        amplitude: 0.05,
        omega: 20.0,
        ..Mass::under(|_| [0.0, -GRAVITY], ContactLaw::frictionless(0.3))
    };
    let events = |h: f64| run(&system, [0.0, 1.2], h, 2.0).events;
    let reference = events(0.01);
    assert!(reference.iter().any(|e| e.kind == EventKind::Open));
    assert!(reference.len() > 10, "{}", reference.len());
    for h in [0.037, 0.25] {
        let other = events(h);
        let listed = |events: &[Event]| -> Vec<(EventKind, f64, f64)> {
            let rows = events.iter();
            rows.map(|e| (e.kind, e.t, e.velocity_before[0])).collect()
        };
        let (these, those) = (listed(&reference), listed(&other));
        assert_eq!(those.len(), these.len(), "h {h}: {these:?} {those:?}");
        for (a, b) in reference.iter().zip(&other) {
            assert_eq!(a.kind, b.kind, "h {h}: {a:?} {b:?}");
            assert!((a.t - b.t).abs() < 1e-9, "h {h}: {a:?} {b:?}");
            let change = (a.velocity_after[0] - b.velocity_after[0]).abs();
            assert!(change < 1e-9, "h {h}: {a:?} {b:?}");
        }
    }
}
