//! Large bodies in contact with PVA: a beam that whips against a hundred stops, a slab of 10⁵ coordinates that falls on
//! a plane with a thousand nodes.
//!
//! `cargo bench -p saltus-mechanics --bench large -- whip` or `-- slab`; sizes may follow the word, `--each` shows every step.
#![allow(clippy::unwrap_used)]

use saltus_integrators::{
    Entry, Integrator, LinearSolve, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, WorstCertificate,
};
use saltus_linear::{MatrixSink, SquareMatrix};
use saltus_mechanics::flexible::mesh::generate::{PlaneCells, rectangle};
use saltus_mechanics::flexible::solid::{Law, Material, Quadrilateral, Section};
use saltus_mechanics::flexible::{
    Assembly, Builder, Cell, Geometry, NodeId, NodeKind, PlaneBeam, PlaneSection,
};
use saltus_mechanics::signal::Constant;
use saltus_system::{ContactLaw, Dynamics, DynamicsParts, Kinematics, State, Tangents};
use std::time::Duration;

/// Time this thread has spent on a processor: other jobs do not count.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split_whitespace().next().unwrap().parse().unwrap();
    Duration::from_nanos(nanoseconds)
}

/// Largest memory of this process so far \[MB\].
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024
}

fn floor(node: NodeId, height: f64) -> Geometry {
    Geometry::Plane {
        node,
        normal: [0.0, 1.0, 0.0],
        offset: Box::new(Constant(height)),
        radius: 0.0,
    }
}

/// A clamped beam of length 10 m over evenly spread stops, thrown down.
fn whip(elements: usize, stops: usize) -> (Assembly, State) {
    let section = PlaneSection {
        ea: 1e6,
        ga: 4e5,
        ei: 100.0,
        rho_a: 1.0,
        rho_i: 1e-4,
    };
    let length = 10.0 / elements as f64;
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = (0..=elements)
        .map(|i| {
            let position = [i as f64 * length, 0.0, 0.0];
            builder
                .node(NodeKind::PlaneFrame, format!("beam.{i}"), &position)
                .unwrap()
        })
        .collect();
    let pairs: Vec<NodeId> = nodes.windows(2).flatten().copied().collect();
    let element = PlaneBeam::straight(section, length).unwrap();
    builder.elements("beam", vec![element], &pairs).unwrap();
    builder.clamp(nodes[0]);
    builder.gravity([0.0, -9.81, 0.0]);
    for k in 1..=stops {
        let node = nodes[k * elements / stops];
        let law = ContactLaw::frictionless(0.0);
        builder.contact(format!("stop.{k}"), floor(node, -0.02), law);
    }
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    for (i, &node) in nodes.iter().enumerate().skip(1) {
        let s = i as f64 / elements as f64;
        state.v[system.velocity_place(node, 1).unwrap()] = -2.0 * s * s;
        state.v[system.velocity_place(node, 2).unwrap()] = -0.4 * s;
    }
    (system, state)
}

/// A slab of `nx × ny` quadrilaterals that falls on a plane, flat.
fn slab(nx: usize, ny: usize) -> (Assembly, State) {
    let h = 1e-3;
    let mesh = rectangle(
        [0.0, 1e-4],
        [nx as f64 * h, 1e-4 + ny as f64 * h],
        [nx, ny],
        PlaneCells::Quadrilaterals,
    )
    .unwrap();
    let material = Material::new(Law::Linear, 1e7, 0.3, 1000.0).unwrap();
    let section = Section::plane_strain(material, 1.0).unwrap();
    let mut builder = Builder::new();
    let nodes: Vec<NodeId> = mesh
        .nodes
        .iter()
        .enumerate()
        .map(|(i, x)| {
            builder
                .node(NodeKind::Plane, format!("slab.{i}"), &x[..2])
                .unwrap()
        })
        .collect();
    let corners: Vec<NodeId> = mesh
        .cells(Cell::Quadrilateral)
        .flatten()
        .map(|&n| nodes[n])
        .collect();
    let elements = Quadrilateral::on_mesh(&section, &mesh).unwrap();
    builder.elements("slab", elements, &corners).unwrap();
    for n in mesh.group_nodes("bottom").unwrap() {
        let law = ContactLaw::frictionless(0.0);
        builder.contact(format!("floor.{n}"), floor(nodes[n], 0.0), law);
    }
    let system = builder.build().unwrap();
    let mut state = system.reference_state(0.0);
    for y in state.v.iter_mut().skip(1).step_by(2) {
        *y = -1.0;
    }
    (system, state)
}

/// Time of one assembly (mass, force, tangents) and one factorisation of `M + h² K`.
fn bound(system: &Assembly, state: &State, h: f64) -> (Duration, Duration) {
    let nv = system.dims().nv;
    let matrix = || SquareMatrix::new(nv);
    let (mut mass, mut stiffness, mut damping, mut gradient) =
        (matrix(), matrix(), matrix(), matrix());
    let (mut force, x) = (vec![0.0; nv], vec![0.0; nv]);
    let mut iteration = matrix();
    let mut sum = (Duration::ZERO, Duration::ZERO);
    let mut rounds = 0;
    // The clock is coarse.
    while rounds < 5 || sum.1 < Duration::from_millis(200) {
        rounds += 1;
        let start = cpu();
        for m in [&mut mass, &mut stiffness, &mut damping, &mut gradient] {
            m.clear();
        }
        system.evaluate(
            state.point(),
            DynamicsParts {
                mass: &mut mass,
                force: &mut force,
                tangents: Some(Tangents {
                    x: &x,
                    mass_gradient: &mut gradient,
                    stiffness: &mut stiffness,
                    damping: &mut damping,
                }),
            },
        );
        sum.0 += cpu() - start;
        iteration.clear();
        iteration.add_scaled(1.0, &mass);
        iteration.add_scaled(h * h, &stiffness);
        let start = cpu();
        iteration.factorise().unwrap();
        sum.1 += cpu() - start;
    }
    mass.factorise().unwrap();
    println!(
        "mass by {}, M + h² K by {}",
        mass.method(),
        iteration.method()
    );
    (sum.0 / rounds, sum.1 / rounds)
}

/// Largest round-off of the forces \[N\]: `8 ε max Σ |K_ij q_j|`, since a force is a difference of numbers as large as `K q`.
fn force_round_off(system: &Assembly, state: &State) -> f64 {
    struct Sizes<'a>(Vec<f64>, &'a [f64]);
    impl MatrixSink for Sizes<'_> {
        fn entry(&mut self, row: usize, col: usize, value: f64) {
            self.0[row] += (value * self.1[col]).abs();
        }
    }
    let mut sizes = Sizes(vec![0.0; system.dims().nv], &state.q);
    system.stiffness(state.point(), &mut sizes);
    8.0 * f64::EPSILON * sizes.0.iter().fold(0.0_f64, |m, x| m.max(*x))
}

fn run(
    name: &str,
    system: &Assembly,
    start: &State,
    h: f64,
    steps: u32,
    linear_solve: LinearSolve,
) {
    let options = NonsmoothGeneralizedAlphaOptions {
        formulation: NonsmoothFormulation::Pva,
        linear_solve,
        rho_inf: Some(0.8),
        ..Default::default()
    };
    let mut scheme = NonsmoothGeneralizedAlpha::new(options).unwrap();
    let mut state = start.clone();
    let prepared = cpu();
    scheme.prepare(system, &state, h).unwrap();
    let prepared = cpu() - prepared;
    let mut certificate = WorstCertificate::default();
    let (mut iterations, mut most, mut worst) = (0_u32, 0, Duration::ZERO);
    let begin = cpu();
    for k in 1..=steps {
        let clock = cpu();
        let taken;
        match scheme.step(system, &mut state, h, f64::from(k) * h) {
            Ok(report) => {
                taken = report.iterations;
                iterations += taken;
                certificate.update(state.t, &report.certificate);
                // What the scheme promises holds in every step, or its time means nothing. Bounds are relative to the scale of
                // the motion, a few units here.
                for (entry, value) in report.certificate.iter() {
                    let Some(bound) = scheme.guarantees().bound(entry) else {
                        continue;
                    };
                    let mut bound = 10.0 * bound;
                    if entry == Entry::Dynamics && value.abs() > bound {
                        bound += h * force_round_off(system, &state);
                    }
                    let word = entry.name();
                    assert!(value.abs() <= bound, "{name}, step {k}: {word} {value:e}");
                }
            }
            Err(error) => {
                println!("{name}: step {k}: {error}");
                return;
            }
        }
        let spent = cpu() - clock;
        if std::env::args().any(|a| a == "--each") {
            println!("    step {k}: {spent:.1?}, {} iterations", taken);
        }
        worst = worst.max(spent);
        let closed = scheme.reactions().impulse.iter().filter(|p| **p > 0.0);
        most = most.max(closed.count());
    }
    let spent = cpu() - begin;
    println!(
        "{name}, {linear_solve:?}: prepare {prepared:.1?}, {:.1?} a step (worst {worst:.1?}), {:.2} iterations a step, {:.1?} an \
         iteration, at most {most} contacts closed, peak {} MB",
        spent / steps,
        f64::from(iterations) / f64::from(steps),
        spent / iterations.max(1),
        peak()
    );
    for (entry, worst, _) in certificate.iter() {
        let bound = scheme.guarantees().bound(entry);
        let word = bound.map_or_else(String::new, |bound| format!(" (guaranteed to {bound:.0e})"));
        println!("    {} {worst:.1e} {}{word}", entry.name(), entry.unit());
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let wanted = |name: &str| words.first().is_none_or(|w| w == name);
    let size =
        |k: usize, default: usize| words.get(k).and_then(|w| w.parse().ok()).unwrap_or(default);
    if wanted("whip") {
        let (elements, stops) = (size(1, 10_000), size(2, 100));
        let (system, state) = whip(elements, stops);
        let h = 1e-4;
        let (assembly, factor) = bound(&system, &state, h);
        println!("whip of {elements}: assembly {assembly:.1?}, factorisation {factor:.1?}");
        for solve in [LinearSolve::Condensed, LinearSolve::Monolithic] {
            run("whip", &system, &state, h, size(3, 200) as u32, solve);
        }
    }
    if wanted("slab") {
        let (nx, ny) = (size(1, 1000), size(2, 50));
        let (system, state) = slab(nx, ny);
        let h = 1e-5;
        let (assembly, factor) = bound(&system, &state, h);
        println!("slab of {nx} × {ny}: assembly {assembly:.1?}, factorisation {factor:.1?}");
        run(
            "slab",
            &system,
            &state,
            h,
            size(3, 40) as u32,
            LinearSolve::Condensed,
        );
    }
}
