//! Geometry for ParaView and stresses at nodes, read back.

use crate::support::{folder, model, run};
use saltus::output::{Format, ResultDirectory, RunCard, read_csv};
use saltus::{Fields, Selection};
use std::collections::HashMap;
use std::fs;

/// A column of four quadrilaterals under its weight, at rest.
const COLUMN: &str = r#"
saltus = 1
gravity = [0, -10]
[materials.cork]
young = 1e6
poisson = 0
density = 1000
[[solid]]
name = "column"
box = { from = [0, 0], to = [0.5, 4], divisions = [1, 4] }
material = "cork"
law = "linear"
[[support]]
at = "column.bottom"
hold = "all"
[initial]
equilibrium = true
[simulation]
scheme = "nonsmooth-generalized-alpha"
step = 1e-3
until = 2e-3
[output]
fields = ["column.4", "column.top"]
"#;

/// The arrays of numbers of a file, by name.
fn arrays(text: &str) -> HashMap<String, Vec<f64>> {
    let mut found = HashMap::new();
    for part in text.split("<DataArray ").skip(1) {
        let (head, rest) = part.split_once('>').unwrap();
        let attribute = |name: &str| {
            let (_, value) = head.split_once(&format!("{name}=\"")).unwrap();
            value.split_once('"').unwrap().0.to_owned()
        };
        if attribute("format") != "binary" || attribute("type") != "Float64" {
            continue;
        }
        let bytes = decode(rest.split_once('<').unwrap().0);
        let (length, numbers) = bytes.split_at(8);
        assert_eq!(
            u64::from_le_bytes(length.try_into().unwrap()),
            numbers.len() as u64
        );
        let numbers = numbers
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        // The second array of a name is that of the cells.
        let name = attribute("Name");
        let name = if found.contains_key(&name) {
            format!("{name} of cells")
        } else {
            name
        };
        found.insert(name, numbers);
    }
    found
}

fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for letter in group {
            let sextet = ALPHABET.iter().position(|a| a == letter).unwrap_or(0);
            word = word << 6 | u32::try_from(sextet).unwrap();
        }
        let padding = group.iter().filter(|l| **l == b'=').count();
        bytes.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    }
    bytes
}

/// Runs the column and writes it with the fields of the nodes it names, or without.
fn write(name: &str, fields: bool) -> std::path::PathBuf {
    let model = model("column", COLUMN);
    let assembly = model.assembly.clone().unwrap();
    let path = folder(name);
    let selection = Selection {
        fields: fields.then(|| Fields::at(assembly.clone(), &model.fields)),
        ..Selection::default()
    };
    let mut files = ResultDirectory::new(&path, RunCard::new(&model.name, &model.scheme))
        .formats(&[Format::Csv, Format::Vtk])
        .select(selection)
        .shapes(assembly)
        .open()
        .unwrap();
    run(&model, &mut files);
    path
}

#[test]
fn stresses_are_those_of_the_elements_and_at_nodes_their_means() {
    let path = write("geometry", true);
    let index = fs::read_to_string(path.join("trajectory.pvd")).unwrap();
    assert_eq!(index.matches("<DataSet ").count(), 3);
    let text = fs::read_to_string(path.join("vtk/frame-00000002.vtu")).unwrap();
    let arrays = arrays(&text);
    // At the middle of an element the weight above it: −ρ g (H − y).
    let cells: Vec<f64> = (0..4).map(|e| -1e4 * (3.5 - f64::from(e))).collect();
    for (found, exact) in arrays["stress_yy of cells"].iter().zip(&cells) {
        assert!((found - exact).abs() < 1e-6, "{found}, not {exact}");
    }
    for (found, exact) in arrays["strain_yy of cells"].iter().zip(&cells) {
        assert!((found - exact / 1e6).abs() < 1e-12, "{found}");
    }
    let nodes = [
        cells[0],
        0.5 * (cells[0] + cells[1]),
        0.5 * (cells[1] + cells[2]),
        0.5 * (cells[2] + cells[3]),
        cells[3],
    ];
    assert_eq!(arrays["stress_yy"].len(), 10);
    for (k, found) in arrays["stress_yy"].iter().enumerate() {
        assert!((found - nodes[k / 2]).abs() < 1e-6, "{k}: {found}");
    }
    for k in 0..10 {
        let y = arrays["position"][3 * k + 1];
        let moved = arrays["displacement"][3 * k + 1];
        let height = (k / 2) as f64;
        assert!((y - moved - height).abs() < 1e-12);
        assert!((moved + 1e-2 * (4.0 * height - 0.5 * height * height)).abs() < 1e-10);
    }

    let trajectory = read_csv(path.join("trajectory.csv")).unwrap();
    for (node, exact) in [(4, nodes[2]), (8, nodes[4]), (9, nodes[4])] {
        let column = trajectory
            .column(&format!("stress_yy.column.{node}"))
            .unwrap();
        for value in column.to_vec() {
            assert!((value - exact).abs() < 1e-6, "{node}: {value}");
        }
        let strain = trajectory
            .column(&format!("strain_yy.column.{node}"))
            .unwrap();
        assert!((strain.last().unwrap() - exact / 1e6).abs() < 1e-12);
    }
    let columns = trajectory.columns();
    let stress = columns.iter().find(|c| c.name() == "stress_yy.column.8");
    assert_eq!(stress.unwrap().unit(), "Pa");
}

#[test]
fn without_a_request_stresses_stand_in_the_cells_only() {
    let path = write("geometry-plain", false);
    let text = fs::read_to_string(path.join("vtk/frame-00000000.vtu")).unwrap();
    assert_eq!(text.matches("\"stress_yy\"").count(), 1);
    let header = fs::read_to_string(path.join("trajectory.csv")).unwrap();
    assert!(!header.contains("stress"));
}
