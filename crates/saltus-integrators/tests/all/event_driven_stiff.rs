//! The implicit method of the event-driven scheme: what it costs does not depend on how stiff the model is.

use saltus_integrators::{EventDriven, EventDrivenOptions, EventKind, Integrator};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, ForceKind,
    Kinematics, MassKind, MatrixSink, Point, Reach, State, Structure, System,
};
use saltus_zoo::Linear;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const LOWER: f64 = 1.0;
const UPPER: f64 = 0.2;
const G: f64 = 10.0;

/// Two bodies one above the other that fall on a floor, joined by a spring and a damper that let deviations decay at the rate
/// `rate` [1/s]; it counts how often its forces are asked.
struct Joined {
    rate: f64,
    asked: AtomicU64,
}

impl Joined {
    /// Stiffness [N/m] and damping [N s/m] of critical damping.
    fn spring(&self) -> (f64, f64) {
        let reduced = LOWER * UPPER / (LOWER + UPPER);
        (reduced * self.rate * self.rate, 2.0 * reduced * self.rate)
    }

    fn pair(factor: f64, sink: &mut dyn MatrixSink) {
        for (i, j, sign) in [(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)] {
            sink.entry(i, j, sign * factor);
        }
    }
}

impl Kinematics for Joined {
    fn dims(&self) -> Dims {
        Dims {
            nq: 2,
            nv: 2,
            ng: 0,
        }
    }
}

impl Dynamics for Joined {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Constant,
            force: ForceKind::Affine,
            linear_constraints: true,
            linear_contacts: true,
        }
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        mass.entry(0, 0, LOWER);
        mass.entry(1, 1, UPPER);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.asked.fetch_add(1, Relaxed);
        let (k, c) = self.spring();
        let inner = k * (at.q[1] - at.q[0]) + c * (at.v[1] - at.v[0]);
        force.copy_from_slice(&[inner - LOWER * G, -inner - UPPER * G]);
    }

    fn stiffness(&self, _: Point<'_>, stiffness: &mut dyn MatrixSink) {
        Self::pair(self.spring().0, stiffness);
    }

    fn damping(&self, _: Point<'_>, damping: &mut dyn MatrixSink) {
        Self::pair(self.spring().1, damping);
    }
}

impl Constraints for Joined {}

impl Contacts for Joined {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        set.push(ContactId(0), ContactLaw::frictionless(1.0), q[0]);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }
}

impl System for Joined {}

/// Height of the lower body after 1.4 s from 1 m, number of impacts, and how often forces were asked.
fn run(rate: f64, stiff: bool) -> (f64, usize, u64) {
    let system = Joined {
        rate,
        asked: AtomicU64::new(0),
    };
    let options = EventDrivenOptions {
        stiff,
        ..EventDrivenOptions::default()
    };
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = State::new(0.0, vec![1.0; 2], vec![0.0; 2]);
    scheme.prepare(&system, &state, 0.1).unwrap();
    let mut impacts = 0;
    while state.t < 1.4 {
        let report = scheme.step(&system, &mut state, 0.1, 1.4);
        report.unwrap_or_else(|error| panic!("{error}"));
        let events = scheme.events().iter();
        impacts += events.filter(|e| e.kind == EventKind::Impact).count();
    }
    let asked = system.asked.load(Relaxed);
    println!(
        "rate {rate:e}, stiff {stiff}: {} m, {impacts} impacts, {asked} forces",
        state.q[0]
    );
    (state.q[0], impacts, asked)
}

#[test]
fn cost_does_not_grow_with_stiffness() {
    let (explicit, _, _) = run(1e3, false);
    let (implicit, _, _) = run(1e3, true);
    assert!((explicit - implicit).abs() < 1e-8);
    let (_, _, explicit) = run(1e5, false);
    let (_, _, soft) = run(1e4, true);
    let (height, impacts, stiff) = run(1e8, true);
    assert!(
        10 * stiff < 11 * soft && 9 * stiff < explicit,
        "{explicit} {soft} {stiff}"
    );
    // In the limit both bodies share their momentum after an impact: (m₁ − m₂)/(m₁ + m₂) of the speed is left.
    let e = (LOWER - UPPER) / (LOWER + UPPER);
    let first = (2.0 / G).sqrt();
    let second = first + 2.0 * e * first;
    let left = 1.4 - second;
    let limit = e * e * G * first * left - 0.5 * G * left * left;
    assert_eq!(impacts, 2);
    assert!((height - limit).abs() < 1e-6, "{height} {limit}");
}

/// Masses in a row that hang together by springs and dampers, the first over a floor.
fn chain(n: usize, rate: f64) -> Linear {
    let (m, k, c) = (1.0, rate * rate, 2.0 * rate);
    let pairs = |factor: f64| {
        let pair = |i: usize| {
            [
                (i, i, factor),
                (i, i + 1, -factor),
                (i + 1, i, -factor),
                (i + 1, i + 1, factor),
            ]
        };
        (0..n - 1).flat_map(pair).collect::<Vec<_>>()
    };
    Linear {
        n,
        mass: (0..n).map(|i| (i, i, m)).collect(),
        stiffness: pairs(k),
        damping: pairs(c),
        load: vec![-G; n],
        contacts: vec![(0.0, vec![(0, 1.0)], 0.0)],
    }
}

/// Processor time of ten steps \[s\], and where the first mass is.
fn fall(n: usize) -> (f64, f64) {
    let system = chain(n, 1e4);
    let options = EventDrivenOptions {
        stiff: true,
        rtol: 1e-8,
        ..EventDrivenOptions::default()
    };
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = State::new(0.0, vec![0.01; n], vec![0.0; n]);
    scheme.prepare(&system, &state, 0.01).unwrap();
    let began = std::time::Instant::now();
    while state.t < 0.1 {
        scheme.step(&system, &mut state, 0.01, 0.1).unwrap();
    }
    (began.elapsed().as_secs_f64(), state.q[0])
}

#[test]
fn cost_grows_with_the_size_of_a_chain() {
    let (short, _) = fall(100);
    let (long, height) = fall(800);
    println!("100 masses: {short} s, 800 masses: {long} s");
    assert!(height.abs() < 1e-9, "{height}");
    // Eight times as many masses; a dense matrix would cost 64 to 512 times as much.
    assert!(long < 30.0 * short, "{short} {long}");
}
