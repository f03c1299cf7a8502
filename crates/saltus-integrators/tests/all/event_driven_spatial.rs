//! The event-driven scheme with friction in space, on systems with closed forms.

use saltus_integrators::{
    Entry, Event, EventDriven, EventDrivenOptions, EventKind, Integrator, StepError, StepReport,
};
use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, ForceKind,
    Kinematics, MassKind, MatrixSink, Point, Reach, State, Structure, System,
};

const G: f64 = 9.81;
const M: f64 = 2.0;

/// Force at a time [N].
type Force = fn(f64) -> [f64; 3];

/// A plate over the floor `z = 0`, with small rotations (any, if it is a sphere): `x, y, z, θx, θy, θz`, feet at fixed points. Its tangents are turned by `frame` about the normal.
struct Plate {
    feet: Vec<[f64; 2]>,
    /// Height of the centre over the feet \[m\].
    height: f64,
    /// Moments of inertia [kg m²].
    inertia: [f64; 3],
    law: ContactLaw,
    frame: f64,
    /// Force at the time t beside that of gravity across the floor [N].
    force: Force,
}

/// A body that is a point: no rotation ever begins.
fn block(mu: f64, force: Force) -> Plate {
    Plate {
        feet: vec![[0.0, 0.0]],
        height: 0.0,
        inertia: [1.0; 3],
        law: ContactLaw::coulomb(0.0, mu, 2),
        frame: 0.4,
        force,
    }
}

impl Kinematics for Plate {
    fn dims(&self) -> Dims {
        Dims {
            nq: 6,
            nv: 6,
            ng: 0,
        }
    }
}

impl Dynamics for Plate {
    fn structure(&self) -> Structure {
        Structure {
            mass: MassKind::Constant,
            force: ForceKind::Affine,
            linear_constraints: true,
            linear_contacts: true,
        }
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        for i in 0..3 {
            mass.entry(i, i, M);
            mass.entry(3 + i, 3 + i, self.inertia[i]);
        }
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let [x, y, z] = (self.force)(at.t);
        force.copy_from_slice(&[x, y, z - M * G, 0.0, 0.0, 0.0]);
    }
}

impl Constraints for Plate {}

impl Contacts for Plate {
    fn contact_count(&self) -> usize {
        self.feet.len()
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        let (s, c) = self.frame.sin_cos();
        for (i, [a, b]) in self.feet.iter().enumerate() {
            set.push(ContactId(i as u64), self.law, q[2] + q[3] * b - q[4] * a);
            set.directions.push(&[2, 3, 4], &[1.0, *b, -a]);
            let r = self.height;
            let columns = [0, 1, 3, 4, 5];
            let first = [c, s, s * r, -c * r, -c * b + s * a];
            let second = [-s, c, c * r, s * r, s * b + c * a];
            set.directions.push(&columns, &first);
            set.directions.push(&columns, &second);
            set.rate.extend([0.0; 3]);
        }
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }
}

impl System for Plate {}

struct Run {
    events: Vec<Event>,
    last: State,
    reports: Vec<StepReport>,
}

impl Run {
    fn times(&self, kind: EventKind) -> Vec<f64> {
        let of_kind = self.events.iter().filter(|e| e.kind == kind);
        of_kind.map(|e| e.t).collect()
    }

    fn worst(&self, entry: Entry) -> f64 {
        let values = self.reports.iter().skip(1);
        values
            .map(|r| r.certificate.get(entry).abs())
            .fold(0.0, f64::max)
    }
}

fn run_with(
    system: &dyn System,
    options: EventDrivenOptions,
    v: [f64; 6],
    h: f64,
    end: f64,
) -> Run {
    let mut scheme = EventDriven::new(options).unwrap();
    let mut state = State::new(0.0, vec![0.0; 6], v.to_vec());
    let mut reports = vec![scheme.prepare(system, &state, h).unwrap()];
    let mut events = Vec::new();
    while state.t < end {
        let report = scheme.step(system, &mut state, h, end);
        reports.push(report.unwrap_or_else(|error| panic!("{error}")));
        events.extend_from_slice(scheme.events());
    }
    println!("{} steps, events {events:?}", reports.len() - 1);
    Run {
        events,
        last: state,
        reports,
    }
}

fn run(system: &dyn System, v: [f64; 6], h: f64, end: f64) -> Run {
    run_with(system, EventDrivenOptions::default(), v, h, end)
}

fn planar(x: f64, y: f64) -> [f64; 6] {
    [x, y, 0.0, 0.0, 0.0, 0.0]
}

#[track_caller]
fn near(a: f64, b: f64, tolerance: f64) {
    assert!(
        (a - b).abs() <= tolerance,
        "{a} is not {b} to {tolerance:e}"
    );
}

#[test]
fn a_sliding_disc_stops_after_a_straight_path() {
    let mu = 0.4;
    let disc = block(mu, |_| [0.0; 3]);
    let run = run(&disc, planar(3.0, 4.0), 0.1, 2.0);
    let stop = 5.0 / (mu * G);
    let times = run.times(EventKind::Stick);
    assert_eq!(times.len(), 1);
    // It has stopped where the slip has passed zero by 1e-12 of the speeds of the motion.
    near(times[0], stop, 2e-12);
    let path = 0.5 * 5.0 * stop;
    near(run.last.q[0], 0.6 * path, 1e-12);
    near(run.last.q[1], 0.8 * path, 1e-12);
    assert!(run.last.v.iter().all(|v| v.abs() < 1e-15));
    assert!(run.worst(Entry::EnergyBalance) < 1e-12 * 25.0);
    assert!(run.worst(Entry::StickVelocity) < 1e-20);
}

#[test]
fn the_threshold_of_friction_is_the_same_in_every_direction() {
    const MU: f64 = 0.3;
    fn pull(degrees: f64, excess: f64) -> [f64; 3] {
        let (s, c) = degrees.to_radians().sin_cos();
        let f = (MU + excess) * M * G;
        [f * c, f * s, 0.0]
    }
    let below: [(f64, Force); 6] = [
        (17.0, |_| pull(17.0, -1e-4)),
        (45.0, |_| pull(45.0, -1e-4)),
        (90.0, |_| pull(90.0, -1e-4)),
        (135.0, |_| pull(135.0, -1e-4)),
        (200.0, |_| pull(200.0, -1e-4)),
        (270.0, |_| pull(270.0, -1e-4)),
    ];
    for (degrees, force) in below {
        let run = run(&block(MU, force), planar(0.0, 0.0), 0.1, 1.0);
        let moved = run.last.q[0].hypot(run.last.q[1]);
        assert!(moved < 1e-15, "{degrees}°: {moved:e}");
        assert!(run.times(EventKind::Slip).is_empty());
    }
    let above: [(f64, Force); 6] = [
        (17.0, |_| pull(17.0, 1e-4)),
        (45.0, |_| pull(45.0, 1e-4)),
        (90.0, |_| pull(90.0, 1e-4)),
        (135.0, |_| pull(135.0, 1e-4)),
        (200.0, |_| pull(200.0, 1e-4)),
        (270.0, |_| pull(270.0, 1e-4)),
    ];
    for (degrees, force) in above {
        let run = run(&block(MU, force), planar(0.0, 0.0), 0.1, 1.0);
        let (s, c) = degrees.to_radians().sin_cos();
        let way = 0.5 * 1e-4 * G;
        println!("{degrees}°: {:?}", run.last.q);
        near(run.last.q[0], way * c, 1e-11);
        near(run.last.q[1], way * s, 1e-11);
    }
}

#[test]
fn slip_begins_when_a_growing_force_leaves_the_cone() {
    const MU: f64 = 0.5;
    const RATE: f64 = 4.0;
    // Along (cos, sin) of 30°.
    let system = block(MU, |t| [RATE * t * 0.75_f64.sqrt(), RATE * t * 0.5, 0.0]);
    let begins = MU * M * G / RATE;
    let run = run(&system, planar(0.0, 0.0), 0.1, 4.0);
    let slips = run.times(EventKind::Slip);
    assert_eq!(slips.len(), 1);
    near(slips[0], begins, 1e-8);
    let way = RATE / M * (4.0 - begins).powi(3) / 6.0;
    near(run.last.q[0], way * 0.75_f64.sqrt(), 1e-8);
    near(run.last.q[1], way * 0.5, 1e-8);
}

/// A force that grows along x and is constant along y: slip begins obliquely, and its direction turns. Compared with Moreau–Jean
/// steps in closed form, extrapolated to steps of nothing.
#[test]
fn a_direction_that_turns_from_the_begin_of_slip_is_followed() {
    const MU: f64 = 0.5;
    let force: Force = |t| [4.0 * t, 6.0, 0.0];
    let end = 3.0;
    let stepped = |n: u32| {
        let h = end / f64::from(n);
        let (mut v, mut q) = ([0.0; 2], [0.0; 2]);
        for k in 0..n {
            let f = force((f64::from(k) + 0.5) * h);
            let free = [v[0] + h * f[0] / M, v[1] + h * f[1] / M];
            let size = free[0].hypot(free[1]);
            let share = (1.0 - h * MU * G / size).max(0.0);
            for i in 0..2 {
                let next = share * free[i];
                q[i] += 0.5 * h * (v[i] + next);
                v[i] = next;
            }
        }
        [q[0], q[1], v[0], v[1]]
    };
    let (coarse, fine) = (stepped(1_000_000), stepped(2_000_000));
    let run = run(&block(MU, force), planar(0.0, 0.0), 0.1, end);
    let begins = ((MU * M * G).powi(2) - 36.0).sqrt() / 4.0;
    near(run.times(EventKind::Slip)[0], begins, 1e-8);
    let State { q, v, .. } = &run.last;
    for (i, ours) in [q[0], q[1], v[0], v[1]].into_iter().enumerate() {
        let reference = 2.0 * fine[i] - coarse[i];
        println!("{ours} {reference} {:e}", ours - reference);
        near(ours, reference, 1e-10);
    }
    assert!(run.worst(Entry::EnergyBalance) < 1e-9);
}

/// A block thrown across a slope: with `a = g sin α`, `k = μ / tan α` and `s = tan(ψ/2)` of the angle `ψ` between velocity and slope,
/// `u = v₀ s^k / sin ψ`; for `k > 1` it stops after `v₀/a · k/(k² − 1)`.
#[test]
fn a_block_thrown_across_a_slope_turns_and_stops() {
    const SLOPE: f64 = 1.5;
    let v0 = 1.3;
    let (a, normal) = (SLOPE / M, M * G);
    for k in [1.2, 1.5, 2.0, 3.0] {
        let mu = k * SLOPE / normal;
        let mut system = block(mu, |_| [SLOPE, 0.0, 0.0]);
        for frame in [0.0, 0.4] {
            system.frame = frame;
            let run = run(&system, planar(0.0, v0), 0.25, 12.0);
            let stop = v0 / a * k / (k * k - 1.0);
            let times = run.times(EventKind::Stick);
            assert_eq!(times.len(), 1, "{k}");
            println!("k {k}: {:e}", times[0] - stop);
            near(times[0], stop, 1e-9);
            near(run.last.q[0], v0 * v0 / (4.0 * a * (k * k - 1.0)), 1e-9);
            let across = v0 * v0 / a * 2.0 * k / (4.0 * k * k - 1.0);
            near(run.last.q[1], across, 1e-9);
            assert!(run.worst(Entry::EnergyBalance) < 1e-9);
        }
    }
    // A steeper slope: it does not stop; where tan(ψ/2) = s the time is v₀/(2a) [1/(k−1) s^(k−1) + 1/(k+1) s^(k+1)] between s and 1.
    let k = 0.7;
    let system = block(k * SLOPE / normal, |_| [SLOPE, 0.0, 0.0]);
    let run = run(&system, planar(0.0, v0), 0.25, 3.0);
    let (x, y) = (run.last.v[0], run.last.v[1]);
    let s = (0.5 * y.atan2(x)).tan();
    let primitive = |s: f64| s.powf(k - 1.0) / (k - 1.0) + s.powf(k + 1.0) / (k + 1.0);
    near(v0 / (2.0 * a) * (primitive(1.0) - primitive(s)), 3.0, 1e-9);
    near(x.hypot(y), v0 * s.powf(k) * (1.0 + s * s) / (2.0 * s), 1e-9);
}

#[test]
fn an_oblique_impact_slips_or_sticks() {
    let after = |mu: f64, e: f64| {
        let mut system = block(mu, |_| [0.0, 0.0, M * G]);
        system.law.e_n = e;
        let run = run(&system, [1.2, 1.6, -1.0, 0.0, 0.0, 0.0], 0.1, 0.1);
        let impacts = run.times(EventKind::Impact);
        assert_eq!(impacts.len(), 1);
        let impact = run.events.iter().find(|e| e.kind == EventKind::Impact);
        let lost = impact.unwrap().energy_lost;
        let v = &run.last.v;
        let kinetic = 0.5 * M * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        near(0.5 * M * 5.0 - kinetic, lost, 1e-12);
        v.clone()
    };
    for (mu, e) in [(0.3, 0.0), (0.3, 0.5), (0.9, 0.8)] {
        let v = after(mu, e);
        let left = 1.0 - mu * (1.0 + e) / 2.0;
        near(v[0], 1.2 * left, 1e-13);
        near(v[1], 1.6 * left, 1e-13);
        near(v[2], e, 1e-13);
    }
    let v = after(1.5, 0.5);
    near(v[0].hypot(v[1]), 0.0, 1e-13);
    near(v[2], 0.5, 1e-13);
}

#[test]
fn static_friction_holds_longer_than_sliding_friction() {
    let mut system = block(0.3, |t| [2.0 * t, 1.5 * t, 0.0]);
    system.law.mu_static = 0.4;
    let run = run(&system, planar(0.0, 0.0), 0.1, 4.0);
    let begins = 0.4 * M * G / 2.5;
    near(run.times(EventKind::Slip)[0], begins, 1e-8);
    let t = 4.0 - begins;
    let way = (0.1 * G * t * t) / 2.0 + 2.5 / M * t.powi(3) / 6.0;
    near(run.last.q[0], 0.8 * way, 1e-8);
    near(run.last.q[1], 0.6 * way, 1e-8);
}

/// Four feet of one body: how they share a force is not unique, and none may slip before the body can.
#[test]
fn a_table_on_four_feet_slips_when_all_of_them_can() {
    let table = |force| Plate {
        feet: vec![[0.5, 0.3], [-0.5, 0.3], [-0.5, -0.3], [0.5, -0.3]],
        inertia: [0.2, 0.3, 0.4],
        ..block(0.5, force)
    };
    let begins = 0.5 * M * G / 5.0;
    let run = run(
        &table(|t| [4.0 * t, 3.0 * t, 0.0]),
        planar(0.0, 0.0),
        0.1,
        3.0,
    );
    let slips = run.times(EventKind::Slip);
    assert_eq!(slips.len(), 4);
    for slip in slips {
        near(slip, begins, 1e-8);
    }
    let way = 5.0 / M * (3.0 - begins).powi(3) / 6.0;
    near(run.last.q[0], 0.8 * way, 1e-8);
    near(run.last.q[1], 0.6 * way, 1e-8);
    assert!(run.last.q[3..].iter().all(|q| q.abs() < 1e-9));
}

/// A turning table comes to rest as a whole: in no foot is slip along a straight line.
#[test]
fn a_table_that_turns_and_slides_comes_to_rest() {
    let table = Plate {
        feet: vec![[0.5, 0.0], [-0.25, 0.4], [-0.25, -0.4]],
        inertia: [0.2, 0.3, 0.4],
        ..block(0.3, |_| [0.0; 3])
    };
    let run = run(&table, [1.0, 0.2, 0.0, 0.0, 0.0, 2.0], 0.1, 2.0);
    assert!(
        run.last.v.iter().all(|v| v.abs() < 1e-14),
        "{:?}",
        run.last.v
    );
    assert_eq!(run.times(EventKind::Stick).len(), 3);
    assert!(run.worst(Entry::EnergyBalance) < 1e-9);
    let energy = 0.5 * M * 1.04 + 0.5 * 0.4 * 4.0;
    let lost: f64 = run.reports.iter().map(|r| r.work_contact).sum();
    near(-lost, energy, 1e-9);
}

/// A sphere with spin slides straight on, decelerating by 7/2 μ g, until it rolls.
#[test]
fn a_sphere_slides_until_it_rolls() {
    let (mu, r) = (0.2, 0.5);
    let sphere = Plate {
        height: r,
        inertia: [0.4 * M * r * r; 3],
        ..block(mu, |_| [0.0; 3])
    };
    let v = [1.0, 0.5, 0.0, 3.0, -1.0, 2.0];
    let run = run(&sphere, v, 0.1, 1.0);
    let slip = [v[0] - r * v[4], v[1] + r * v[3]];
    let rolls = 2.0 / 7.0 * slip[0].hypot(slip[1]) / (mu * G);
    near(run.times(EventKind::Stick)[0], rolls, 1e-11);
    for i in 0..2 {
        let end = v[i] - 2.0 / 7.0 * slip[i];
        near(run.last.v[i], end, 1e-11);
        let way = 0.5 * (v[i] + end) * rolls + end * (1.0 - rolls);
        near(run.last.q[i], way, 1e-11);
    }
    near(run.last.v[5], 2.0, 1e-15);
}

/// Slip with two compliances, a < b: it turns into the direction of the smaller one. With w = tan of its angle and b = 3/2 a,
/// |u| ~ w² √(1 + w²), and it stops after |u₀| ((1 + w₀²)^{3/2} − 1) / (3 w₀² √(1 + w₀²) μ m g (b − a)).
#[test]
fn slip_turns_into_the_stiffer_direction_before_it_stops() {
    let (mu, r) = (0.2, 0.5);
    let (a, b) = (2.0, 3.0);
    let body = Plate {
        height: r,
        inertia: [r * r / (b - 1.0 / M), r * r / (a - 1.0 / M), 1.0],
        ..block(mu, |_| [0.0; 3])
    };
    let run = run(&body, planar(0.6, 0.9), 0.1, 1.0);
    let (speed, w) = (0.6_f64.hypot(0.9), 1.5_f64);
    let root = (1.0 + w * w).sqrt();
    let stop = speed * (root.powi(3) - 1.0) / (3.0 * w * w * root * mu * M * G * (b - a));
    let times = run.times(EventKind::Stick);
    println!("{:e}", times[0] - stop);
    near(times[0], stop, 1e-10);
    assert!(run.worst(Entry::EnergyBalance) < 1e-10);
}

#[test]
fn a_run_with_friction_in_space_goes_on_bit_for_bit() {
    let system = block(0.2, |_| [1.5, 0.0, 0.0]);
    let mut scheme = EventDriven::new(EventDrivenOptions::default()).unwrap();
    let mut state = State::new(0.0, vec![0.0; 6], planar(0.0, 1.3).to_vec());
    scheme.prepare(&system, &state, 0.1).unwrap();
    let mut memory = Vec::new();
    let mut middle = State::default();
    for k in 0..40 {
        if k == 9 {
            scheme.save(&mut memory);
            middle = state.clone();
        }
        scheme.step(&system, &mut state, 0.1, 10.0).unwrap();
    }
    let mut other = EventDriven::new(EventDrivenOptions::default()).unwrap();
    other.prepare(&system, &middle, 0.1).unwrap();
    other.load(&memory);
    for _ in 9..40 {
        other.step(&system, &mut middle, 0.1, 10.0).unwrap();
    }
    assert_eq!(state, middle);
}

/// A rod `x, y, z, θ` whose tip slips on the floor, and a block `x, y, z` that rests beside it, both with friction in space.
struct RodAndBlock {
    law: ContactLaw,
}

impl Kinematics for RodAndBlock {
    fn dims(&self) -> Dims {
        Dims {
            nq: 7,
            nv: 7,
            ng: 0,
        }
    }
}

impl Dynamics for RodAndBlock {
    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        for i in 0..7 {
            mass.entry(i, i, if i == 3 { 1.0 / 3.0 } else { 1.0 });
        }
    }

    fn force(&self, _: Point<'_>, force: &mut [f64]) {
        force.copy_from_slice(&[0.0, 0.0, -G, 0.0, 0.0, 0.0, -G]);
    }
}

impl Constraints for RodAndBlock {}

impl Contacts for RodAndBlock {
    fn contact_count(&self) -> usize {
        2
    }

    fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        let (s, c) = q[3].sin_cos();
        set.push(ContactId(0), self.law, q[2] - s);
        set.directions.push(&[2, 3], &[1.0, -c]);
        set.directions.push(&[0, 3], &[1.0, s]);
        set.directions.push(&[1], &[1.0]);
        set.push(ContactId(1), self.law, q[6]);
        for i in [6, 4, 5] {
            set.directions.push(&[i], &[1.0]);
        }
        set.rate.extend([0.0; 6]);
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.detect(t, q, Reach::All, set);
    }

    fn contact_bias(&self, at: Point<'_>, _: &ContactSet, bias: &mut [f64]) {
        bias.fill(0.0);
        let ((s, c), w) = (at.q[3].sin_cos(), at.v[3]);
        bias[0] = w * w * s;
        bias[1] = w * w * c;
    }
}

impl System for RodAndBlock {}

/// Painlevé's rod is named also where another contact is part of the problem.
#[test]
fn several_motions_of_several_contacts_are_named() {
    let (s, c) = 2.0_f64.atan().sin_cos();
    let modes = |mu: f64, omega: f64, slip: f64| {
        let system = RodAndBlock {
            law: ContactLaw::coulomb(0.0, mu, 2),
        };
        let q = vec![0.0, 0.0, s, 2.0_f64.atan(), 0.0, 0.0, 0.0];
        let v = vec![slip - s * omega, 0.0, c * omega, omega, 0.0, 0.0, 0.0];
        let mut scheme = EventDriven::new(EventDrivenOptions::default()).unwrap();
        match scheme.prepare(&system, &State::new(0.0, q, v), 1e-3) {
            Ok(_) => 1,
            Err(StepError::ContactMode { contact, modes, .. }) => {
                assert_eq!(contact, "contact0");
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
