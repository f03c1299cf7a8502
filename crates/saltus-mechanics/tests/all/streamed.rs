//! Assemblies row by row: the same forces and energies as at once, and the same steps.

use saltus_integrators::{
    GeneralizedAlpha, GeneralizedAlphaOptions, Inactive, Integrator, MoreauJean, MoreauJeanOptions,
    NonsmoothFormulation, NonsmoothGeneralizedAlpha, NonsmoothGeneralizedAlphaOptions,
    NonsmoothHht, NonsmoothHhtOptions, NonsmoothNewmark, NonsmoothNewmarkOptions,
    SmoothFormulation,
};
use saltus_mechanics::flexible::{
    Assembly, Builder, Damping, Geometry, LinearBeam, Load, LoadKind, NodeId, NodeKind, Rod,
};
use saltus_mechanics::signal::{Constant, Harmonic};
use saltus_system::{
    Constraints, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics, MatrixSink, Point,
    Reach, State, StreamedDynamics, Structure, System, Window,
};

/// The same system without its rows.
struct Whole<'a>(&'a Assembly);

impl Kinematics for Whole<'_> {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
}

impl Dynamics for Whole<'_> {
    fn structure(&self) -> Structure {
        self.0.structure()
    }
    fn mass(&self, q: &[f64], mass: &mut dyn MatrixSink) {
        self.0.mass(q, mass);
    }
    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.0.force(at, force);
    }
    fn stiffness(&self, at: Point<'_>, stiffness: &mut dyn MatrixSink) {
        self.0.stiffness(at, stiffness);
    }
    fn damping(&self, at: Point<'_>, damping: &mut dyn MatrixSink) {
        self.0.damping(at, damping);
    }
    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        self.0.potential_energy(t, q)
    }
    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        self.0.active_force(at, active);
    }
    fn is_conservative(&self) -> bool {
        self.0.is_conservative()
    }
}

impl Constraints for Whole<'_> {}

impl Contacts for Whole<'_> {
    fn contact_count(&self) -> usize {
        self.0.contact_count()
    }
    fn detect(&self, t: f64, q: &[f64], margin: Reach<'_>, set: &mut ContactSet) {
        self.0.detect(t, q, margin, set);
    }
    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        self.0.evaluate_contacts(t, q, set);
    }
}

impl System for Whole<'_> {}

fn pairs(nodes: &[NodeId]) -> Vec<NodeId> {
    nodes.windows(2).flatten().copied().collect()
}

fn stop(node: NodeId, normal: [f64; 3], offset: f64) -> Geometry {
    Geometry::Plane {
        node,
        normal,
        offset: Box::new(Constant(offset)),
        radius: 0.0,
    }
}

/// A bar of two materials, held at its end or free, with a load, damping and a stop at its first node.
fn rods(n: usize, damped: bool) -> Assembly {
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = (0..=n)
        .map(|i| {
            let x = i as f64 / n as f64;
            builder
                .node(NodeKind::Line, format!("bar.{i}"), &[x])
                .unwrap()
        })
        .collect();
    let length = 1.0 / n as f64;
    let damping = if damped {
        Damping::new(0.1, 1e-5).unwrap()
    } else {
        Damping::NONE
    };
    let rod = |ea: f64| Rod::new(ea, 1.0, length).unwrap().with_damping(damping);
    let joint = 2 * n / 3;
    builder
        .elements("soft", vec![rod(900.0)], &pairs(&nodes[..=joint]))
        .unwrap();
    builder
        .elements("hard", vec![rod(2700.0)], &pairs(&nodes[joint..]))
        .unwrap();
    builder.gravity([-9.81, 0.0, 0.0]);
    if damped {
        builder.hold(nodes[n], 0).unwrap();
        builder.load(Load {
            node: nodes[n / 2],
            kind: LoadKind::Component(0),
            amplitude: Box::new(Harmonic {
                offset: 0.0,
                amplitude: 40.0,
                omega: 60.0,
                phase: 0.4,
            }),
        });
    }
    builder.contact(
        "wall",
        stop(nodes[0], [1.0, 0.0, 0.0], -1e-4),
        ContactLaw::frictionless(0.3),
    );
    builder.build().unwrap()
}

/// A clamped beam over stops.
fn beam(n: usize) -> Assembly {
    let mut builder = Builder::new();
    let length = 0.1;
    let nodes: Vec<NodeId> = (0..=n)
        .map(|i| {
            let place = [i as f64 * length, 0.0, 0.0];
            builder
                .node(NodeKind::PlaneFrame, format!("beam.{i}"), &place)
                .unwrap()
        })
        .collect();
    let element = |i: usize| {
        let x = i as f64 * length;
        LinearBeam::new(1e4, 30.0, 2.0, &[x, 0.0, 0.0, x + length, 0.0, 0.0]).unwrap()
    };
    builder
        .elements("beam", (0..n).map(element).collect(), &pairs(&nodes))
        .unwrap();
    builder.clamp(nodes[0]);
    builder.gravity([0.0, -9.81, 0.0]);
    for i in [n / 2, n] {
        builder.contact(
            format!("stop{i}"),
            stop(nodes[i], [0.0, 1.0, 0.0], -1e-5 * i as f64 / n as f64),
            ContactLaw::frictionless(0.2),
        );
    }
    builder.build().unwrap()
}

fn moved(system: &Assembly) -> State {
    let mut state = system.reference_state(0.3);
    for (i, (q, v)) in state.q.iter_mut().zip(&mut state.v).enumerate() {
        *q += 1e-3 * (i as f64 * 1.3).sin();
        *v = (i as f64 * 0.7).cos();
    }
    state
}

#[test]
fn rows_are_those_of_the_whole() {
    for system in [rods(300, false), rods(300, true), beam(90)] {
        let state = moved(&system);
        let n = state.v.len();
        let rows: &dyn StreamedDynamics = system.streamed().unwrap();
        let (mut force, mut active) = (vec![0.0; n], vec![0.0; n]);
        system.force(state.point(), &mut force);
        system.active_force(state.point(), &mut active);
        let reach = rows.reach();
        assert!(reach <= 5, "{reach}");
        let mut potential = 0.0;
        for first in (0..n).step_by(37) {
            let range = first..n.min(first + 37);
            let wide = first.saturating_sub(reach)..n.min(range.end + reach);
            let at = Window {
                t: state.t,
                first: wide.start,
                q: &state.q[wide.clone()],
                v: &state.v[wide],
            };
            let (mut f, mut a) = (vec![f64::NAN; range.len()], vec![f64::NAN; range.len()]);
            rows.force_rows(at, range.clone(), &mut f);
            rows.active_force_rows(at, range.clone(), &mut a);
            assert_eq!(f, force[range.clone()]);
            assert_eq!(a, active[range.clone()]);
            potential += rows.potential_rows(at, range);
        }
        let whole = system.potential_energy(state.t, &state.q);
        assert!((potential - whole).abs() < 1e-12 * (1.0 + whole.abs()));
    }
    // What does not come in order is not offered.
    let mut builder = Builder::new();
    let nodes =
        [0.0, 1.0, 2.0].map(|x| builder.node(NodeKind::Line, format!("{x}"), &[x]).unwrap());
    let rod = Rod::new(1.0, 1.0, 1.0).unwrap();
    let crossed = [nodes[1], nodes[2], nodes[0], nodes[1]];
    builder.elements("rods", vec![rod], &crossed).unwrap();
    assert!(builder.build().unwrap().streamed().is_none());
}

/// Runs both ways and compares; the number of steps in which a contact carried an impulse.
fn compare(system: &Assembly, make: &dyn Fn() -> Box<dyn Integrator>, h: f64, steps: u32) -> usize {
    let whole = Whole(system);
    let mut state = system.reference_state(0.0);
    state.v.iter_mut().for_each(|v| *v = -10.0);
    let (mut a, mut b) = (state.clone(), state);
    let (mut streamed, mut general) = (make(), make());
    streamed.prepare(system, &a, h).unwrap();
    general.prepare(&whole, &b, h).unwrap();
    let (mut closed, n) = (0, a.v.len());
    for k in 0..steps {
        let end = f64::from(k + 1) * h;
        let x = streamed.step(system, &mut a, h, end).unwrap();
        let y = general.step(&whole, &mut b, h, end).unwrap();
        let close = |a: &[f64], b: &[f64]| {
            let size = 10.0 + b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * size)
        };
        let same = close(&a.q, &b.q) && close(&a.v, &b.v);
        assert!(same, "{} {n}, step {k}", general.name());
        let (p, q) = (streamed.reactions(), general.reactions());
        assert!(close(p.impulse, q.impulse), "step {k}");
        assert_eq!(x.active, y.active, "step {k}");
        closed += usize::from(x.active > 0);
        let size = y.energy.kinetic.abs() + y.energy.potential.abs() + 1.0;
        for (one, other) in [
            (x.energy.kinetic, y.energy.kinetic),
            (x.energy.potential, y.energy.potential),
            (x.work_external, y.work_external),
            (x.work_contact, y.work_contact),
        ] {
            assert!(
                (one - other).abs() < 1e-10 * size,
                "step {k}: {one} {other}"
            );
        }
        for (entry, value) in y.certificate.iter() {
            let one = x.certificate.get(entry);
            assert!(
                (one - value).abs() < 1e-10 * size,
                "step {k}: {entry:?} {one} {value}"
            );
        }
    }
    closed
}

#[test]
fn steps_are_those_of_the_whole() {
    for theta in [0.5, 1.0] {
        let make = move || {
            let options = MoreauJeanOptions {
                theta: Some(theta),
                ..Default::default()
            };
            Box::new(MoreauJean::new(options).unwrap()) as Box<dyn Integrator>
        };
        assert!(compare(&rods(2600, false), &make, 2e-5, 60) > 10);
        assert!(compare(&rods(300, true), &make, 1e-4, 200) > 10);
        assert!(compare(&beam(800), &make, 1e-4, 80) > 10);
    }
}

#[test]
fn steps_of_the_generalized_alpha_family_are_those_of_the_whole() {
    let alpha = |formulation: NonsmoothFormulation, inactive: Inactive| {
        move || {
            let options = NonsmoothGeneralizedAlphaOptions {
                formulation,
                inactive,
                ..Default::default()
            };
            Box::new(NonsmoothGeneralizedAlpha::new(options).unwrap()) as Box<dyn Integrator>
        }
    };
    let newmark = || {
        let options = NonsmoothNewmarkOptions::default();
        Box::new(NonsmoothNewmark::new(options).unwrap()) as Box<dyn Integrator>
    };
    let hht = || {
        let options = NonsmoothHhtOptions::default();
        Box::new(NonsmoothHht::new(options).unwrap()) as Box<dyn Integrator>
    };
    let smooth = || {
        let options = GeneralizedAlphaOptions {
            formulation: SmoothFormulation::P,
            ..Default::default()
        };
        Box::new(GeneralizedAlpha::new(options).unwrap()) as Box<dyn Integrator>
    };
    let pva = alpha(NonsmoothFormulation::Pva, Inactive::Star);
    let pvv = alpha(NonsmoothFormulation::Pvv, Inactive::Star);
    let unconstrained = alpha(NonsmoothFormulation::Unconstrained, Inactive::Star);
    let all: [&dyn Fn() -> Box<dyn Integrator>; 6] =
        [&pva, &pvv, &unconstrained, &newmark, &hht, &smooth];
    for (k, make) in all.into_iter().enumerate() {
        assert!(compare(&rods(2600, false), make, 2e-5, 60) > 5, "{k}");
        assert!(compare(&rods(300, true), make, 1e-4, 200) > 5, "{k}");
        // A smooth scheme that meets a stop blows round-off up from step to step.
        let steps = if k == 5 { 50 } else { 80 };
        assert!(compare(&beam(800), make, 1e-4, steps) > 5, "{k}");
    }
}
