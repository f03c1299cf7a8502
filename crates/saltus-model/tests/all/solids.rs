//! Solids of model files: shapes of elements, sets, tractions, ties and motions against closed forms.

use crate::support::{model, nodes, parse, rest, text};
use saltus_mechanics::flexible::Assembly;
use saltus_model::Model;
use saltus_system::State;

fn heavy(gravity: &str, parts: &str) -> Model {
    let text = text(&format!("gravity = {gravity}"), parts);
    parse(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Holds the displacement of every node to a homogeneous strain.
#[track_caller]
fn strained(assembly: &Assembly, state: &State, strain: &[f64], tolerance: f64) {
    for node in nodes(assembly) {
        let from = assembly.reference_position(node);
        for (c, e) in strain.iter().enumerate() {
            let moved = assembly.position(&state.q, node, c) - from[c];
            let exact = e * from[c];
            assert!(
                (moved - exact).abs() < tolerance,
                "{} moved by {moved} in direction {c}, not by {exact}",
                assembly.node_name(node)
            );
        }
    }
}

#[test]
fn a_traction_strains_a_plate_of_any_cells_evenly() {
    for cells in ["triangles", "quadrilaterals"] {
        for (plane, along, across) in [("stress", 1.0, -0.3), ("strain", 0.91, -0.39)] {
            let model = model(&format!(
                r#"
[[solid]]
name = "plate"
box = {{ from = [0, 0], to = [2, 1], divisions = [4, 3], grading = [2, 1], cells = "{cells}" }}
material = "rubber"
law = "linear"
plane = "{plane}"
thickness = 0.1
[[support]]
at = "plate.left"
hold = "x"
[[support]]
at = "plate.bottom"
hold = "y"
[[load]]
at = "plate.right"
traction = [1000, 0]
"#
            ));
            let assembly = model.assembly.unwrap();
            let (state, _) = rest(&assembly);
            let strain = 1000.0 / 1e6;
            strained(&assembly, &state, &[along * strain, across * strain], 1e-15);
        }
    }
}

#[test]
fn a_traction_strains_a_block_of_any_cells_evenly() {
    for cells in ["tetrahedra", "hexahedra"] {
        let model = model(&format!(
            r#"
[[solid]]
name = "block"
box = {{ from = [0, 0, 0], to = [1, 1, 2], divisions = [2, 1, 3], cells = "{cells}" }}
material = "rubber"
law = "linear"
[[support]]
at = "block.left"
hold = "x"
[[support]]
at = "block.front"
hold = "y"
[[support]]
at = "block.bottom"
hold = "z"
[[load]]
at = "block.top"
traction = [0, 0, "-1e3*(1 - t)"]
"#
        ));
        let assembly = model.assembly.unwrap();
        let (state, _) = rest(&assembly);
        strained(&assembly, &state, &[3e-4, 3e-4, -1e-3], 1e-14);
    }
}

#[test]
fn a_block_under_its_weight_presses_evenly() {
    let model = heavy(
        "[0, 0, -9.81]",
        r#"
[materials.cork]
young = 1e6
poisson = 0
density = 1000
[[solid]]
name = "cube"
box = { from = [0, 0, 0], to = [1, 1, 1], divisions = [4, 4, 4] }
material = "cork"
law = "linear"
sets.middle = { from = [0.5, 0.5, 0], to = [0.5, 0.5, 1] }
sets.side = { from = [0, 0.5, 0], to = [0, 0.5, 1] }
[[support]]
at = "cube.middle"
hold = ["x", "y"]
[[support]]
at = "cube.side"
hold = "y"
[[contact]]
name = "ground"
at = "cube.bottom"
plane = { point = [0, 0, 0], normal = [0, 0, 2] }
"#,
    );
    let assembly = model.assembly.unwrap();
    let (state, found) = rest(&assembly);
    // With ν = 0: u = −ρ g (H z − z²/2)/E, and the shares of the base are 1 : 2 : 4 from corner to middle.
    for node in nodes(&assembly) {
        let z = assembly.reference_position(node)[2];
        let moved = assembly.position(&state.q, node, 2) - z;
        let exact = -9810.0 / 1e6 * (z - 0.5 * z * z);
        assert!((moved - exact).abs() < 1e-13, "{moved}, not {exact}");
    }
    let share = 9810.0 / 64.0;
    for (k, force) in found.normal_forces.iter().enumerate() {
        let sides = [k % 5, k / 5].map(|i| if i % 4 == 0 { 1.0 } else { 2.0 });
        let exact = share * sides[0] * sides[1];
        assert!(
            (force / exact - 1.0).abs() < 1e-9,
            "{k}: {force}, not {exact}"
        );
    }
    assert_eq!(found.normal_forces.len(), 25);
}

#[test]
fn two_blocks_tied_are_one() {
    let block = |from: &str, to: &str, n: usize, name: &str| {
        format!(
            r#"
[[solid]]
name = "{name}"
box = {{ from = [0, {from}], to = [1, {to}], divisions = [3, {n}] }}
material = "rubber"
"#
        )
    };
    let held = |top: &str, bottom: &str| {
        format!(
            r#"
[[support]]
at = "{bottom}.bottom"
hold = "all"
[[load]]
at = "{top}.top"
traction = [2e4, -3e4]
"#
        )
    };
    let tied = model(
        &[
            block("0", "0.5", 2, "low"),
            block("0.5", "1.5", 4, "high"),
            held("high", "low"),
            "[[tie]]\nname = \"glue\"\nbetween = [\"low.top\", \"high.bottom\"]\ncomponents = [\"x\", \"y\"]\n"
                .to_owned(),
        ]
        .concat(),
    );
    let whole = model(&[block("0", "1.5", 6, "whole"), held("whole", "whole")].concat());
    let (tied, whole) = (tied.assembly.unwrap(), whole.assembly.unwrap());
    let ((here, found), (there, _)) = (rest(&tied), rest(&whole));
    assert_eq!(found.lambda.len(), 8);
    let mut compared = 0;
    for a in nodes(&tied) {
        let from = tied.reference_position(a);
        let b = nodes(&whole).find(|&b| {
            let other = whole.reference_position(b);
            (from[0] - other[0]).hypot(from[1] - other[1]) < 1e-9
        });
        let b = b.unwrap();
        for c in 0..2 {
            let (x, y) = (tied.position(&here.q, a, c), whole.position(&there.q, b, c));
            assert!((x - y).abs() < 1e-10, "{}: {x} and {y}", tied.node_name(a));
            compared += usize::from((x - from[c]).abs() > 1e-3);
        }
    }
    assert!(compared > 20, "nothing moved");
}

#[test]
fn a_moved_face_strains_a_body_as_far_as_it_goes() {
    // Uniaxial strain of the St-Venant–Kirchhoff law: E = s + s²/2 along, the face follows its displacement.
    let model = model(
        r#"
[[solid]]
name = "block"
box = { from = [1, 0], to = [3, 1], divisions = [4, 2] }
material = "rubber"
[[support]]
at = ["block.left", "block.right"]
hold = "y"
[[support]]
at = "block.left"
hold = "x"
[[support]]
at = ["block.bottom", "block.top"]
hold = "y"
[[motion]]
name = "pull"
at = "block.right"
component = "x"
displacement = "0.2 + t"
[initial]
project = true
"#,
    );
    let assembly = model.assembly.unwrap();
    let (state, found) = rest(&assembly);
    for node in nodes(&assembly) {
        let x = assembly.reference_position(node)[0];
        let moved = assembly.position(&state.q, node, 0) - x;
        assert!((moved - 0.1 * (x - 1.0)).abs() < 1e-12, "{moved} at {x}");
    }
    let (young, nu) = (1e6, 0.3);
    let modulus = young * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
    // First Piola–Kirchhoff stress along x: F₁₁ M E₁₁.
    let force: f64 = found.lambda.iter().sum();
    let exact = 1.1 * modulus * (0.1 + 0.5 * 0.01);
    assert!((force / exact - 1.0).abs() < 1e-10, "{force}, not {exact}");
}

#[test]
fn a_force_along_a_beam_bends_it_as_the_textbooks_say() {
    // Tip of a cantilever under q: w = q L⁴/(8 E I), θ = q L³/(6 E I); exact at the nodes of linear beams.
    for (theory, shear) in [("euler-bernoulli", ""), ("exact", "shear = 1e12, ")] {
        let model = model(&format!(
            r#"
[sections.strip]
stiffness = {{ axial = 1e6, {shear}bending = 2000 }}
line_density = 1
[[beam]]
name = "beam"
from = [0, 0]
to = ["3*cos(0.5)", "3*sin(0.5)"]
elements = 6
section = "strip"
theory = "{theory}"
[[support]]
at = "beam.start"
hold = "all"
[[load]]
at = "beam"
line_force = ["-0.7*sin(0.5)", "0.7*cos(0.5)"]
"#
        ));
        let assembly = model.assembly.unwrap();
        let (state, _) = rest(&assembly);
        let tip = nodes(&assembly).last().unwrap();
        let from = assembly.reference_position(tip);
        let moved: Vec<f64> = (0..3)
            .map(|c| assembly.position(&state.q, tip, c) - from[c])
            .collect();
        let (sin, cos) = 0.5_f64.sin_cos();
        let across = cos * moved[1] - sin * moved[0];
        let (q, length, bending) = (0.7, 3.0_f64, 2000.0);
        let deflection = q * length.powi(4) / (8.0 * bending);
        let slope = q * length.powi(3) / (6.0 * bending);
        // The exact beam has one point per element: an error of its square, and large rotations of 1.6e-3.
        let tolerance = if theory == "exact" { 2e-2 } else { 1e-9 };
        assert!(
            (across / deflection - 1.0).abs() < tolerance,
            "{theory}: {across}, not {deflection}"
        );
        assert!(
            (moved[2] / slope - 1.0).abs() < tolerance,
            "{theory}: {}, not {slope}",
            moved[2]
        );
    }
}

#[test]
fn a_lid_rests_on_a_block_of_another_mesh() {
    for cells in ["tetrahedra", "hexahedra"] {
        let model = heavy(
            "[0, 0, -9.81]",
            &format!(
                r#"
[[solid]]
name = "block"
box = {{ from = [0, 0, 0], to = [1, 1, 1], divisions = [3, 3, 2], cells = "{cells}" }}
material = "rubber"
law = "linear"
[[solid]]
name = "lid"
box = {{ from = [0.1, 0.2, 1], to = [0.9, 0.8, 1.2], divisions = [4, 5, 1] }}
material = "rubber"
law = "linear"
[[support]]
at = "block.bottom"
hold = "all"
[[support]]
at = "lid.left"
hold = "x"
[[support]]
at = "lid.front"
hold = "y"
[[contact]]
name = "seat"
at = "lid.bottom"
surface = "block.top"
[initial]
overlap = "allow"
"#
            ),
        );
        let assembly = model.assembly.unwrap();
        let (state, found) = rest(&assembly);
        let weight = 1000.0 * 9.81 * 0.8 * 0.6 * 0.2;
        let carried: f64 = found.normal_forces.iter().sum();
        // The top sags by some 1e-3: the normals lean by as much, their cosines by its square.
        assert!(
            (carried / weight - 1.0).abs() < 1e-4,
            "{cells}: {carried}, not {weight}"
        );
        let held = found.normal_forces.iter().filter(|f| **f > 0.0).count();
        assert!((4..=30).contains(&held), "{cells}: {held}");
        assert!(found.normal_forces.iter().all(|f| *f >= 0.0));
        assert!(found.residual < 1e-9 && state.v.iter().all(|v| *v == 0.0));
    }
}

/// As it is built a spring is without force, whichever end is named first; on a line, too.
#[test]
fn a_spring_is_built_without_stress() {
    for (at, between, apart) in [
        ("[1.0]", r#"["m", [-1.0]]"#, 2.0),
        ("[1.0]", r#"[[-1.0], "m"]"#, 2.0),
        ("[-1.0]", r#"["m", [0.5]]"#, 1.5),
        ("[-1.0]", r#"[[0.5], "m"]"#, 1.5),
        ("[1.0, 2.0]", r#"["m", [1.0, -1.0]]"#, 3.0),
    ] {
        for (length, relaxed) in [("", apart), ("length = 1.25", 1.25)] {
            let parts = format!(
                "[[mass]]\nname = \"m\"\nat = {at}\nmass = 1\n\
                 [[spring]]\nname = \"s\"\nbetween = {between}\nstiffness = 100\n{length}\n"
            );
            let model = model(&parts);
            let energy = model.system.potential_energy(0.0, &model.initial.q);
            let expected: f64 = 50.0 * (apart - relaxed) * (apart - relaxed);
            assert!(
                (energy - expected).abs() < 1e-12,
                "{between} {length}: {energy}"
            );
        }
    }
}

#[test]
fn a_material_in_other_units_is_noted() {
    let notes = |young: &str, density: &str| {
        let material =
            format!("[materials.other]\nyoung = {young}\npoisson = 0.3\ndensity = {density}\n");
        let solid = "[[solid]]\nname = \"block\"\nbox = { from = [0, 0], to = [1, 1], divisions = [2, 2] }\nmaterial = \"other\"\n";
        model(&format!("{material}{solid}")).notes
    };
    let told = |young: &str, density: &str| {
        let notes = notes(young, density);
        notes
            .iter()
            .filter(|n| n.contains("as in no material"))
            .count()
    };
    assert_eq!(told("210e9", "7850"), 0);
    assert_eq!(told("1e5", "1000"), 0);
    assert_eq!(told("210", "7850"), 1, "GPa");
    assert_eq!(told("210e9", "7.85"), 1, "g/cm³");
    assert_eq!(told("210e3", "7.85e-9"), 1, "MPa and t/mm³");
}
