//! Meshes: generators, boundaries, orientation, and files of Gmsh in all four dialects.

use proptest::prelude::*;
use saltus_mechanics::flexible::Cell;
use saltus_mechanics::flexible::mesh::generate::{
    Division, PlaneCells, SpaceCells, block, line, rectangle,
};
use saltus_mechanics::flexible::mesh::{CELLS, Mesh, MeshError, gmsh};
use saltus_mechanics::flexible::solid::{Law, Material, Quadrilateral, Section};

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Volume of a mesh from its boundary faces (divergence theorem): right only when all faces point outward.
fn volume_from_boundary(mesh: &Mesh) -> f64 {
    let mut volume = 0.0;
    for face in mesh.boundary() {
        let x: Vec<[f64; 3]> = face.nodes().iter().map(|&n| mesh.nodes[n]).collect();
        for i in 1..x.len() - 1 {
            volume += dot(x[0], cross(x[i], x[i + 1])) / 6.0;
        }
    }
    volume
}

fn area_from_boundary(mesh: &Mesh) -> f64 {
    let faces = mesh.boundary();
    let part = |f: &saltus_mechanics::flexible::mesh::Face| {
        let (a, b) = (mesh.nodes[f.nodes()[0]], mesh.nodes[f.nodes()[1]]);
        0.5 * (a[0] * b[1] - a[1] * b[0])
    };
    faces.iter().map(part).sum()
}

#[test]
fn lines_are_divided_and_graded() {
    let mesh = line([0.0; 3], [2.0, 0.0, 0.0], 4).unwrap();
    assert_eq!(mesh.nodes.len(), 5);
    assert_eq!(mesh.nodes[1], [0.5, 0.0, 0.0]);
    assert_eq!(mesh.group_nodes("start").unwrap(), [0]);
    assert_eq!(mesh.group_nodes("end").unwrap(), [4]);
    let graded = line([0.0; 3], [1.0, 0.0, 0.0], Division::graded(5, 4.0)).unwrap();
    let length = |i: usize| graded.nodes[i + 1][0] - graded.nodes[i][0];
    assert!((length(4) / length(0) - 4.0).abs() < 1e-12);
    assert_eq!(graded.nodes[5], [1.0, 0.0, 0.0]);
}

#[test]
fn rectangles_name_their_sides() {
    for cells in [PlaneCells::Triangles, PlaneCells::Quadrilaterals] {
        let mesh = rectangle([1.0, 2.0], [3.0, 5.0], [4, 1], cells).unwrap();
        assert_eq!(mesh.nodes.len(), 10);
        assert!((area_from_boundary(&mesh) - 6.0).abs() < 1e-14);
        for (name, axis, value, count) in [
            ("left", 0, 1.0, 2),
            ("right", 0, 3.0, 2),
            ("bottom", 1, 2.0, 5),
            ("top", 1, 5.0, 5),
        ] {
            let nodes = mesh.group_nodes(name).unwrap();
            assert_eq!(nodes.len(), count, "{name}");
            assert!(
                nodes.iter().all(|&n| mesh.nodes[n][axis] == value),
                "{name}"
            );
        }
        assert_eq!(mesh.group_nodes("body").unwrap().len(), 10);
    }
}

#[test]
fn blocks_close_and_name_their_sides() {
    for (cells, faces, volumes) in [
        (SpaceCells::Hexahedra, 22, 6),
        (SpaceCells::Tetrahedra, 44, 36),
    ] {
        let mesh = block([0.0; 3], [1.0, 2.0, 3.0], [1, 2, 3], cells).unwrap();
        assert_eq!(mesh.boundary().len(), faces);
        assert_eq!(mesh.group("body").unwrap().len(), volumes);
        assert!((volume_from_boundary(&mesh) - 6.0).abs() < 1e-13);
        let mut again = mesh.clone();
        assert_eq!(again.mend_orientation().unwrap(), 0);
        for (name, axis, value) in [
            ("left", 0, 0.0),
            ("right", 0, 1.0),
            ("front", 1, 0.0),
            ("back", 1, 2.0),
            ("bottom", 2, 0.0),
            ("top", 2, 3.0),
        ] {
            let nodes = mesh.group_nodes(name).unwrap();
            let on: Vec<usize> = (0..mesh.nodes.len())
                .filter(|&n| mesh.nodes[n][axis] == value)
                .collect();
            assert_eq!(nodes, on, "{name}");
            let (mut low, mut high) = ([f64::NEG_INFINITY; 3], [f64::INFINITY; 3]);
            (low[axis], high[axis]) = (value, value);
            assert_eq!(mesh.nodes_in_box(low, high), on);
        }
    }
}

#[test]
fn questions_that_make_no_sense_get_a_cure() {
    let mesh = rectangle([0.0; 2], [1.0; 2], [1, 1], PlaneCells::Triangles).unwrap();
    let message = mesh.group("lef").unwrap_err().to_string();
    assert!(
        message.contains("\"lef\"") && message.contains("\"left\""),
        "{message}"
    );
    let message = rectangle([0.0; 2], [1.0, -1.0], [1, 1], PlaneCells::Triangles).unwrap_err();
    assert!(message.to_string().contains("-1"), "{message}");
    assert!(rectangle([0.0; 2], [1.0; 2], [0, 1], PlaneCells::Triangles).is_err());
    assert!(line([0.0; 3], [0.0; 3], 3).is_err());
    assert!(line([0.0; 3], [1.0; 3], Division::graded(3, -1.0)).is_err());
    let mut mesh = Mesh::new(vec![[0.0; 3]]);
    let message = mesh.push(Cell::Line, &[0, 1]).unwrap_err().to_string();
    assert!(message.contains("node 1"), "{message}");
}

#[test]
fn orientation_is_mended_or_refused() {
    for (kind, cells) in [
        (Cell::Hexahedron, SpaceCells::Hexahedra),
        (Cell::Tetrahedron, SpaceCells::Tetrahedra),
    ] {
        let good = block([0.0; 3], [1.0; 3], [2, 1, 1], cells).unwrap();
        let mut bad = Mesh::new(good.nodes.iter().map(|x| [-x[0], x[1], x[2]]).collect());
        for cell in good.cells(kind) {
            bad.push(kind, cell).unwrap();
        }
        assert_eq!(bad.mend_orientation().unwrap(), bad.count(kind));
        assert_eq!(bad.mend_orientation().unwrap(), 0);
        assert!((volume_from_boundary(&bad) - 1.0).abs() < 1e-14);
    }
    let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut turned = Mesh::new(corners.clone());
    turned.push(Cell::Quadrilateral, &[3, 2, 1, 0]).unwrap();
    turned.push(Cell::Triangle, &[0, 2, 1]).unwrap();
    assert_eq!(turned.mend_orientation().unwrap(), 2);
    let mut folded = Mesh::new(corners.clone());
    folded.push(Cell::Quadrilateral, &[0, 2, 1, 3]).unwrap();
    let message = folded.mend_orientation().unwrap_err().to_string();
    assert!(message.contains("folded"), "{message}");
    // A corner pushed in beyond the diagonal: positive at the Gauss points, then not.
    for (place, accepted) in [(0.52, true), (0.8, false)] {
        for nodes in [[0, 1, 2, 3], [3, 2, 1, 0]] {
            let mut dented = Mesh::new(corners.clone());
            dented.nodes[0] = [place, place, 0.0];
            dented.push(Cell::Quadrilateral, &nodes).unwrap();
            let mended = dented.mend_orientation();
            assert_eq!(mended.is_ok(), accepted, "{mended:?}");
            if accepted {
                assert_eq!(mended.unwrap(), usize::from(nodes[0] == 3));
                assert_eq!(dented.dented().len(), 1);
                let material = Material::new(Law::Linear, 1.0, 0.3, 1.0).unwrap();
                let section = Section::plane_strain(material, 1.0).unwrap();
                let element = &Quadrilateral::on_mesh(&section, &dented).unwrap()[0];
                assert!((element.volume() - (1.0 - place)).abs() < 1e-14);
            }
        }
    }
    let mut dented = block([0.0; 3], [1.0; 3], [1, 1, 1], SpaceCells::Hexahedra).unwrap();
    dented.nodes[0] = [0.4; 3];
    assert_eq!(dented.mend_orientation().unwrap(), 0);
    assert_eq!(dented.dented().len(), 1);
    let mut flat = Mesh::new(corners);
    flat.push(Cell::Triangle, &[0, 1, 1]).unwrap();
    assert!(flat.mend_orientation().is_err());
}

/// Writes a mesh as Gmsh does: one entity per dimension, groups as physical groups.
struct Writer {
    bytes: Vec<u8>,
    binary: bool,
    big: bool,
    old: bool,
}

impl Writer {
    fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn raw<const N: usize>(&mut self, mut raw: [u8; N], text: String) {
        if self.binary {
            if self.big {
                raw.reverse();
            }
            self.bytes.extend_from_slice(&raw);
        } else {
            self.text(&text);
            self.text(" ");
        }
    }

    fn int(&mut self, value: usize) {
        self.raw((value as i32).to_le_bytes(), value.to_string());
    }

    fn size(&mut self, value: usize) {
        self.raw((value as u64).to_le_bytes(), value.to_string());
    }

    fn tag(&mut self, value: usize) {
        if self.old {
            self.int(value)
        } else {
            self.size(value)
        }
    }

    fn double(&mut self, value: f64) {
        self.raw(value.to_le_bytes(), format!("{value:?}"));
    }

    fn end(&mut self) {
        if !self.binary {
            self.text("\n");
        }
    }

    fn head(&mut self, dimension: usize, tag: usize, third: usize) {
        let (a, b) = if self.old {
            (tag, dimension)
        } else {
            (dimension, tag)
        };
        self.int(a);
        self.int(b);
        self.int(third);
    }
}

/// One entity per cell: groups overlap freely.
fn write(mesh: &Mesh, [binary, big, old]: [bool; 3]) -> Vec<u8> {
    let mut w = Writer {
        bytes: Vec::new(),
        binary,
        big,
        old,
    };
    let names: Vec<&str> = mesh.group_names().collect();
    w.text(&format!(
        "$MeshFormat\n4.{} {} 8\n",
        usize::from(!old),
        usize::from(binary)
    ));
    if binary {
        w.int(1);
        w.text("\n");
    }
    w.text("$EndMeshFormat\n$PhysicalNames\n");
    let mut lines = String::new();
    let mut count = 0;
    for (tag, name) in names.iter().enumerate() {
        let mut dimensions: Vec<usize> = mesh
            .group(name)
            .unwrap()
            .iter()
            .map(|c| c.kind().dimension())
            .collect();
        dimensions.sort_unstable();
        dimensions.dedup();
        for d in dimensions {
            lines += &format!("{d} {} \"{name}\"\n", tag + 1);
            count += 1;
        }
    }
    w.text(&format!("{count}\n{lines}$EndPhysicalNames\n$Entities\n"));
    let number = |d: usize| -> usize {
        CELLS
            .iter()
            .filter(|k| k.dimension() == d)
            .map(|&k| mesh.count(k))
            .sum()
    };
    (0..4).for_each(|d| w.size(number(d)));
    w.end();
    let mut blocks = Vec::new();
    for d in 0..4 {
        let mut entity = 0;
        for kind in CELLS.into_iter().filter(|k| k.dimension() == d) {
            for index in 0..mesh.count(kind) {
                let id = saltus_mechanics::flexible::mesh::CellId::new(kind, index);
                entity += 1;
                w.int(entity);
                (0..if d == 0 && !old { 3 } else { 6 }).for_each(|_| w.double(0.5));
                let tags: Vec<usize> = (0..names.len())
                    .filter(|&g| mesh.group(names[g]).unwrap().contains(&id))
                    .collect();
                w.size(tags.len());
                tags.iter().for_each(|g| w.int(g + 1));
                if d > 0 {
                    w.size(1);
                    w.int(7);
                }
                w.end();
                blocks.push((d, entity, id));
            }
        }
    }
    w.text("\n$EndEntities\n$Nodes\n");
    // Tags have gaps, and the nodes of the first block have parameters where the format gives them.
    let n = mesh.nodes.len();
    w.size(1);
    w.size(n);
    if !old {
        w.size(10);
        w.size(10 + 3 * n);
    }
    w.end();
    w.head(2, 1, usize::from(!old));
    w.size(n);
    w.end();
    if !old {
        (0..n).for_each(|i| w.size(10 + 3 * i));
        w.end();
    }
    for (i, x) in mesh.nodes.iter().enumerate() {
        if old {
            w.int(10 + 3 * i);
        }
        x.iter().for_each(|&x| w.double(x));
        if !old {
            w.double(0.1);
            w.double(0.2);
        }
        w.end();
    }
    w.text("\n$EndNodes\n$Elements\n");
    w.size(blocks.len());
    w.size(blocks.len());
    if !old {
        w.size(1);
        w.size(blocks.len());
    }
    w.end();
    for (k, (d, entity, id)) in blocks.iter().enumerate() {
        let kind = match id.kind() {
            Cell::Point => 15,
            Cell::Line => 1,
            Cell::Triangle => 2,
            Cell::Quadrilateral => 3,
            Cell::Tetrahedron => 4,
            Cell::Hexahedron => 5,
        };
        w.head(*d, *entity, kind);
        w.size(1);
        w.end();
        w.tag(k + 1);
        mesh.cell(*id).iter().for_each(|n| w.tag(10 + 3 * n));
        w.end();
    }
    w.text("\n$EndElements\n$Comments\nnothing\n$EndComments\n");
    w.bytes
}

const DIALECTS: [[bool; 3]; 6] = [
    [false, false, false],
    [true, false, false],
    [true, true, false],
    [false, false, true],
    [true, false, true],
    [true, true, true],
];

fn samples() -> Vec<Mesh> {
    vec![
        rectangle([0.0; 2], [2.0, 1.0], [3, 2], PlaneCells::Triangles).unwrap(),
        rectangle([0.0; 2], [2.0, 1.0], [3, 2], PlaneCells::Quadrilaterals).unwrap(),
        block([0.0; 3], [1.0, 2.0, 3.0], [1, 2, 2], SpaceCells::Tetrahedra).unwrap(),
        block([0.0; 3], [1.0, 2.0, 3.0], [1, 2, 2], SpaceCells::Hexahedra).unwrap(),
        line([0.0; 3], [1.0, 2.0, 3.0], 4).unwrap(),
    ]
}

#[test]
fn all_dialects_of_gmsh_read_the_same() {
    for mesh in samples() {
        for dialect in DIALECTS {
            let read = gmsh::parse("a.msh", &write(&mesh, dialect)).unwrap();
            assert_eq!(read.nodes, mesh.nodes, "{dialect:?}");
            for kind in CELLS {
                assert!(
                    read.cells(kind).eq(mesh.cells(kind)),
                    "{dialect:?} {kind:?}"
                );
            }
            assert!(read.group_names().eq(mesh.group_names()));
            for name in mesh.group_names() {
                let sorted = |m: &Mesh| {
                    let mut cells = m.group(name).unwrap().to_vec();
                    cells.sort_unstable();
                    cells
                };
                assert_eq!(sorted(&read), sorted(&mesh), "{dialect:?} {name}");
            }
        }
    }
}

const SMALL: &str = "$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 0 1 0
5 0 0 0 1 1 0 1 -3 0
$EndEntities
$Nodes
1 5 1 9
2 5 0 5
1
2
3
4
9
0 0 0
1 0 0
1 1 0
0 1 0
7 7 0
$EndNodes
$Elements
1 2 1 2
2 5 2 2
1 1 2 3
2 1 4 3
$EndElements
";

#[test]
fn loose_nodes_go_and_unnamed_groups_are_called_by_their_tag() {
    let mesh = gmsh::parse("small.msh", SMALL.as_bytes()).unwrap();
    assert_eq!(mesh.nodes.len(), 4);
    assert_eq!(mesh.group("surface 3").unwrap().len(), 2);
    // The second triangle runs clockwise in the file.
    assert_eq!(mesh.cells(Cell::Triangle).nth(1).unwrap(), [0, 2, 3]);
    assert!((area_from_boundary(&mesh) - 1.0).abs() < 1e-15);
}

#[test]
fn errors_of_files_name_file_line_and_cure() {
    let fails = |from: &str, to: &str, parts: &[&str]| {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL);
        let message = gmsh::parse("small.msh", text.as_bytes())
            .unwrap_err()
            .to_string();
        for part in parts.iter().chain(&["small.msh"]) {
            assert!(message.contains(part), "{message}: no {part}");
        }
    };
    fails(
        "4.1 0 8",
        "2.2 0 8",
        &["line 2", "2.2", "Mesh.MshFileVersion"],
    );
    fails("$MeshFormat\n", "", &["line 1", "$MeshFormat"]);
    fails(
        "2 5 2 2",
        "2 5 9 2",
        &["line 24", "type 9", "Mesh.ElementOrder = 1"],
    );
    fails("2 5 2 2", "2 5 6 2", &["prisms", "tetrahedra"]);
    fails("2 1 4 3", "2 1 44 3", &["line 26", "element 2", "node 44"]);
    fails("1 1 0\n", "1 one 0\n", &["line 18", "\"one\""]);
    fails("1 1 0\n", "1 inf 0\n", &["line 18", "inf"]);
    fails("2 5 0 5", "2 5 0 99999999999", &["line 10", "99999999999"]);
    fails("0 1 0\n7 7 0\n", "0 1 0\n", &["found \"$EndNodes\""]);
    fails("1\n2\n3", "1\n2\n2", &["node 2", "twice"]);
    fails(
        "1 0 0\n1 1 0",
        "1 0 0\n2 0 0",
        &["without volume", "mesh this region"],
    );
    fails("$EndElements\n", "", &["$EndElements", "cut off"]);
    assert!(matches!(
        gmsh::read("/nowhere/at/all.msh"),
        Err(MeshError::File { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_never_panic(
        which in 0_usize..5,
        dialect in 0_usize..6,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 1..6),
    ) {
        let mut bytes = write(&samples()[which], DIALECTS[dialect]);
        for (at, byte, how) in edits {
            let i = at.index(bytes.len());
            match how {
                0 => bytes[i] = byte,
                1 if bytes.len() > 1 => { bytes.remove(i); }
                1 => {}
                2 => bytes.insert(i, byte),
                _ => bytes.truncate(i.max(1)),
            }
        }
        if let Ok(mesh) = gmsh::parse("mutated.msh", &bytes) {
            let _ = mesh.boundary();
            for name in mesh.group_names() {
                prop_assert!(mesh.group_nodes(name).is_ok());
            }
        }
    }
}
