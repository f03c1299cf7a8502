//! Pressure on faces of solids and across beams: closed forms, and what cannot be pressed.

use crate::support::{FRAME, model, nodes, parse, rest, text};
use saltus_mechanics::flexible::{Assembly, NodeId, Probe, SupportForce};
use saltus_mechanics::modes::modes;
use saltus_model::Model;
use saltus_system::{Dynamics, Kinematics, Point, State};
use std::sync::Arc;

fn read(parts: &str) -> Result<Model, String> {
    parse(text("", parts)).map_err(|errors| errors.to_string())
}

fn assembly(parts: &str) -> Arc<Assembly> {
    model(parts).assembly.unwrap()
}

fn node(assembly: &Assembly, name: &str) -> NodeId {
    nodes(assembly)
        .find(|&n| assembly.node_name(n) == name)
        .unwrap()
}

fn force(assembly: &Assembly, q: &[f64]) -> Vec<f64> {
    let mut f = vec![0.0; assembly.dims().nv];
    let v = vec![0.0; assembly.dims().nv];
    assembly.force(Point { t: 0.0, q, v: &v }, &mut f);
    f
}

/// Smooth displacements of every coordinate.
fn bent(assembly: &Assembly, size: f64) -> State {
    let mut state = assembly.reference_state(0.0);
    for (i, q) in state.q.iter_mut().enumerate() {
        *q += size * (1.7 * i as f64).sin();
    }
    state
}

const CELLS: [(&str, &str); 4] = [
    ("[0, 0]", "triangles"),
    ("[0, 0]", "quadrilaterals"),
    ("[0, 0, 0]", "tetrahedra"),
    ("[0, 0, 0]", "hexahedra"),
];

fn block(from: &str, cells: &str, law: &str, rest: &str) -> String {
    let (to, divisions) = if from.len() == 6 {
        ("[2, 1]", "[3, 2]")
    } else {
        ("[2, 1, 1.5]", "[2, 2, 1]")
    };
    format!(
        r#"
[[solid]]
name = "block"
box = {{ from = {from}, to = {to}, divisions = {divisions}, cells = "{cells}" }}
material = "rubber"
law = "{law}"
{rest}"#
    )
}

#[test]
fn uniform_pressure_on_a_closed_surface_has_no_resultant_and_no_moment() {
    for (from, cells) in CELLS {
        for follower in [true, false] {
            let load = format!("[[load]]\nat = \"block\"\npressure = 3e4\nfollower = {follower}\n");
            let pressed = assembly(&block(from, cells, "neo-hookean", &load));
            let free = assembly(&block(from, cells, "neo-hookean", ""));
            let state = bent(&pressed, 0.02);
            let (with, without) = (force(&pressed, &state.q), force(&free, &state.q));
            let load: Vec<f64> = with.iter().zip(&without).map(|(a, b)| a - b).collect();
            let d = from.split(',').count();
            let reference = pressed.reference_state(0.0);
            // A dead pressure has its balance where the body is without stress.
            let q = if follower { &state.q } else { &reference.q };
            let mut worst = 0.0_f64;
            for i in 0..d {
                worst = worst.max(load.iter().skip(i).step_by(d).sum::<f64>().abs());
                for j in 0..i {
                    let moment: f64 = (0..load.len() / d)
                        .map(|n| q[n * d + i] * load[n * d + j] - q[n * d + j] * load[n * d + i])
                        .sum();
                    worst = worst.max(moment.abs());
                }
            }
            let largest = load.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert!(largest > 1e3, "{cells}: nothing acts");
            assert!(
                worst < 1e-12 * 3e4,
                "{cells}, follower {follower}: {worst:e}"
            );
        }
    }
}

#[test]
fn the_tangent_of_a_pressure_is_the_derivative_of_its_force() {
    let parts = "[[load]]\nat = \"block.right\"\npressure = \"3e5 + t\"\n[[support]]\nat = \"block.left\"\nhold = \"all\"\n[[support]]\nat = \"block.bottom\"\nhold = \"y\"\n";
    for (from, cells) in CELLS {
        let system = assembly(&block(from, cells, "st-venant-kirchhoff", parts));
        let audit = saltus_system::check::check(&*system, &bent(&system, 0.02));
        assert!(
            audit.is_clean(),
            "{cells}: {:?}",
            audit.failures().collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_bar_under_end_pressure_shortens_as_hookes_law_says() {
    for (from, cells) in CELLS {
        let hold = if from.len() == 6 {
            "[[support]]\nat = \"block.bottom\"\nhold = \"y\"\n"
        } else {
            "[[support]]\nat = \"block.front\"\nhold = \"y\"\n[[support]]\nat = \"block.bottom\"\nhold = \"z\"\n"
        };
        let load = format!(
            "[[support]]\nat = \"block.left\"\nhold = \"x\"\n{hold}[[load]]\nat = \"block.right\"\npressure = \"1e3*(1 - t)\"\n"
        );
        let plane = if from.len() == 6 {
            "plane = \"stress\"\nthickness = 0.1\n"
        } else {
            ""
        };
        let system = assembly(&block(from, cells, "linear", &format!("{plane}{load}")));
        let (state, _) = rest(&system);
        for n in nodes(&system) {
            let x = system.reference_position(n)[0];
            let moved = system.position(&state.q, n, 0) - x;
            assert!(
                (moved + 1e-3 * x).abs() < 1e-14,
                "{cells}: {moved:e} at {x}"
            );
        }
    }
}

#[test]
fn a_pressure_all_around_a_large_strain_makes_the_true_stress() {
    for (from, cells) in CELLS {
        let load = "[[load]]\nat = \"block\"\npressure = 4e5\n[[support]]\nat = \"block.left\"\nhold = \"x\"\n[[support]]\nat = \"block.bottom\"\nhold = \"y\"\n";
        let space = "[[support]]\nat = \"block.front\"\nhold = \"y\"\n[[support]]\nat = \"block.bottom\"\nhold = \"z\"\n";
        let load = if from.len() == 6 {
            load.to_owned()
        } else {
            "[[load]]\nat = \"block\"\npressure = 4e5\n[[support]]\nat = \"block.left\"\nhold = \"x\"\n".to_owned() + space
        };
        let system = assembly(&block(from, cells, "neo-hookean", &load));
        let (state, _) = rest(&system);
        let corner = node(&system, "block.1");
        let probe = &Probe::at(&system, &[corner])[0];
        let mut values = vec![0.0; probe.columns().len()];
        probe.values(&system, state.point(), &[], &mut values);
        let of = |name: &str| {
            values[probe
                .columns()
                .iter()
                .position(|c| c.field == name)
                .unwrap()]
        };
        assert!(
            (of("stress_xx") + 4e5).abs() < 1e-3,
            "{cells}: {}",
            of("stress_xx")
        );
        let shrunk =
            1.0 - system.position(&state.q, corner, 0) / system.reference_position(corner)[0];
        assert!(shrunk > 0.05, "{cells}: {shrunk}");
    }
}

#[test]
fn supports_bear_a_pressure_that_follows() {
    for cells in ["triangles", "quadrilaterals"] {
        let load = "[[support]]\nat = \"block.left\"\nhold = \"all\"\n[[load]]\nat = [\"block.left\", \"block.right\", \"block.bottom\"]\npressure = 2e4\n";
        let system = assembly(&block("[0, 0]", cells, "neo-hookean", load));
        let (state, _) = rest(&system);
        let held: Vec<NodeId> = nodes(&system)
            .filter(|&n| system.velocity_place(n, 0).is_none())
            .collect();
        let bears = &SupportForce::at(&system, &[(held, vec![0, 1])])[0];
        let (mut found, v) = ([0.0; 2], vec![0.0; system.dims().nv]);
        bears.values(&system, (0.0, &state.q, &v), &v, &mut found);
        // The pressure on three sides is that on all less that on the top, which its ends fix.
        let [from, to] = ["block.11", "block.8"].map(|name| {
            let n = node(&system, name);
            [0, 1].map(|c| system.position(&state.q, n, c))
        });
        let exact = [-2e4 * (to[1] - from[1]), 2e4 * (to[0] - from[0])];
        for c in 0..2 {
            assert!(
                (found[c] - exact[c]).abs() < 1e-7 * 2e4,
                "{cells}: {found:?}, expected {exact:?}"
            );
        }
        assert!(exact[0].abs() > 10.0, "{exact:?}");
    }
}

fn ring(extra: &str) -> String {
    format!(
        r#"
[sections.strip]
rectangle = {{ width = 0.1, height = 0.01 }}
[[beam]]
name = "arch"
from = [1, 0]
to = [0, 1]
arc = [0.7071067811865476, 0.7071067811865476]
elements = 40
material = "rubber"
section = "strip"
[[support]]
at = "arch.start"
hold = ["y", "angle"]
[[support]]
at = "arch.end"
hold = ["x", "angle"]
{extra}"#
    )
}

#[test]
fn a_ring_under_pressure_shrinks_by_its_hoop_force() {
    // N = −p R, and R falls by p R²/EA.
    let system = assembly(&ring("[[load]]\nat = \"arch\"\npressure = 1e-3\n"));
    let (state, _) = rest(&system);
    let end = node(&system, "arch.40");
    let sunk = 1.0 - system.position(&state.q, end, 1);
    let exact = 1e-3 / (1e6 * 1e-3);
    assert!(
        (sunk / exact - 1.0).abs() < 2e-3,
        "{sunk:e}, expected {exact:e}"
    );
}

#[test]
fn a_quarter_ring_with_a_bend_buckles_where_theory_says() {
    // Two waves around: p = 3 EI/R³ where the pressure follows; a dead one would need 4 (Boresi 1955).
    let stiffness = 1e6 * 0.1 * 0.01_f64.powi(3) / 12.0;
    let softest = |p: f64, follower: bool| {
        let load = format!("[[load]]\nat = \"arch\"\npressure = {p}\nfollower = {follower}\n");
        let system = assembly(&ring(&load));
        let (state, _) = rest(&system);
        modes(&*system, &state, 1).unwrap().list[0].eigenvalue
    };
    for (follower, critical) in [(true, 3.0), (false, 4.0)] {
        let below = softest((critical - 0.05) * stiffness, follower);
        let above = softest((critical + 0.05) * stiffness, follower);
        assert!(
            below > 0.0 && above < 0.0,
            "{follower}: {below:e}, {above:e}"
        );
    }
}

#[test]
fn what_has_no_faces_or_cannot_follow_is_said() {
    let at =
        |law: &str, load: &str| read(&block("[0, 0]", "quadrilaterals", law, load)).unwrap_err();
    let cases = [
        (
            at("linear", "[[load]]\nat = \"block.top\"\npressure = 1\nfollower = true\n"),
            "no deformed faces",
        ),
        (
            at("neo-hookean", "[[load]]\nat = \"block.3\"\npressure = 1\n"),
            "\"block.3\" has no faces",
        ),
        (
            at("neo-hookean", "[[load]]\nat = \"block.3\"\nforce = [0, 1]\nfollower = true\n"),
            "neither a moment nor a pressure",
        ),
        (
            read("[[bar]]\nname = \"rod\"\nfrom = [0]\nto = [1]\nelements = 2\nmaterial = \"rubber\"\nsection = { area = 1 }\n[[load]]\nat = \"rod\"\npressure = 1\n").unwrap_err(),
            "no side that a pressure could act on",
        ),
    ];
    for (error, expected) in cases {
        assert!(error.contains(expected), "{error}");
    }
}

/// Eigenvalues of a model about its start, real and imaginary part.
fn eigenvalues(model: &Model) -> Vec<[f64; 2]> {
    let found = modes(&*model.system, &model.initial, 2).unwrap();
    let value = |mode: &saltus_mechanics::modes::Mode| [mode.eigenvalue, mode.imaginary];
    found.list.iter().map(value).collect()
}

#[test]
fn a_double_pendulum_with_a_force_along_its_tip_flutters_where_theory_says() {
    // Ziegler 1952: masses 2 m and m, equal springs and links; between P = 7/2 ∓ √2 the frequencies are complex.
    for p in [1.0, 2.08, 2.09, 3.0, 4.9, 4.92] {
        let text = format!(
            "[system]\ncoordinates = [\"a\", \"b\"]\nmass = [[3, \"cos(a - b)\"], [\"cos(a - b)\", 1]]\nforce = [\"-2*a + b + {p}*sin(a - b)\", \"a - b\"]\n"
        );
        let frame = FRAME.split("[materials").next().unwrap();
        let model = parse(format!("saltus = 1\n{frame}{text}"));
        let found = eigenvalues(&model.unwrap_or_else(|errors| panic!("{errors}")));
        let (half, square) = (0.25 * (7.0 - 2.0 * p), (7.0_f64 - 2.0 * p).powi(2) - 8.0);
        let root = 0.25 * square.abs().sqrt();
        let expected = if square > 0.0 {
            [[half - root, 0.0], [half + root, 0.0]]
        } else {
            [[half, root], [half, -root]]
        };
        for (found, expected) in found.iter().zip(expected) {
            for k in 0..2 {
                assert!(
                    (found[k] - expected[k]).abs() < 1e-9,
                    "{p}: {found:?}, {expected:?}"
                );
            }
        }
    }
}

#[test]
fn a_column_whose_end_pressure_follows_flutters_at_becks_load() {
    // Beck 1952: P = 20.05 EI/L²; with a dead load it buckles at 2.467 EI/L². EI is that of the elements, ω₁² = 3.516² EI/(ρA L⁴).
    let column = |p: f64, follower: bool| {
        let text = format!(
            r#"
[[solid]]
name = "column"
box = {{ from = [0, 0], to = [1, 0.05], divisions = [24, 1] }}
material = "rubber"
law = "st-venant-kirchhoff"
plane = "stress"
thickness = 0.1
[[support]]
at = "column.left"
hold = "all"
[[load]]
at = "column.right"
pressure = {p}
follower = {follower}
[initial]
equilibrium = true
"#
        );
        eigenvalues(&read(&text).unwrap())
    };
    let per_area = column(0.0, false)[0][0] * 1000.0 / 3.516_f64.powi(2);
    let beck = 20.05 * per_area;
    let below = column(0.95 * beck, true);
    assert!(below.iter().all(|l| l[0] > 0.0 && l[1] == 0.0), "{below:?}");
    let above = column(1.05 * beck, true);
    assert!(
        above[0][1] > 0.0 && above[1][1] == -above[0][1],
        "{above:?}"
    );
    let [stands, falls] = [2.4, 2.6].map(|share| column(share * per_area, false)[0]);
    assert!(
        stands[0] > 0.0 && falls[0] < 0.0 && falls[1] == 0.0,
        "{stands:?}, {falls:?}"
    );
}

#[test]
fn faces_named_twice_are_pressed_once_and_loads_that_overlap_are_noted() {
    let pressed = |loads: &str| {
        let model = read(&block("[0, 0]", "quadrilaterals", "neo-hookean", loads)).unwrap();
        let assembly = model.assembly.clone().unwrap();
        let state = bent(&assembly, 0.02);
        (force(&assembly, &state.q), model.notes)
    };
    let (once, silent) = pressed("[[load]]\nat = \"block.surface\"\npressure = 10\n");
    let (twice, told) =
        pressed("[[load]]\nat = [\"block.surface\", \"block.right\"]\npressure = 10\n");
    assert_eq!(once, twice);
    assert!(!silent.iter().any(|n| n.contains("once")), "{silent:?}");
    assert!(
        told.iter().any(|n| n.contains("more than once")),
        "{told:?}"
    );
    for load in ["pressure = 10", "traction = [1, 0]"] {
        let both = format!(
            "[[load]]\nat = \"block.top\"\n{load}\n[[load]]\nat = \"block.surface\"\n{load}\n"
        );
        let (_, told) = pressed(&both);
        assert!(
            told.iter()
                .any(|n| n.contains("load[0] and load[1] both act")),
            "{told:?}"
        );
    }
    let held = "[[support]]\nat = \"block.left\"\nhold = \"all\"\n[[support]]\nat = \"block.left\"\nhold = \"x\"\n";
    let (_, told) = pressed(held);
    assert!(told.iter().any(|n| n.contains("holds nothing")), "{told:?}");
}

#[test]
fn a_formula_outside_of_its_domain_at_the_start_is_shown_at_its_place() {
    for load in [
        "pressure = \"1/t\"",
        "traction = [0, \"log(t - 1)\"]",
        "force = [\"1/t\", 0]",
    ] {
        let parts = format!("[[load]]\nat = \"block.right\"\n{load}\n");
        let block = block("[0, 0]", "quadrilaterals", "neo-hookean", &parts);
        let line = 1 + text("", &block).lines().position(|l| l == load).unwrap();
        let error = read(&block).unwrap_err();
        let is_there = error.contains(&format!(":{line}:"));
        assert!(error.contains("a load is") && is_there, "{line}: {error}");
    }
    let drive = "[[motion]]\nname = \"drive\"\nat = \"block.0\"\ncomponent = \"x\"\ndisplacement = \"sqrt(t)\"\n";
    let error = read(&block("[0, 0]", "quadrilaterals", "neo-hookean", drive)).unwrap_err();
    assert!(
        error.contains("the rate of a prescribed motion is inf"),
        "{error}"
    );
}
