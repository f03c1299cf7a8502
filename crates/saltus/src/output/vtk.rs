//! Geometry for ParaView: `trajectory.pvd` names one `vtk/frame-*.vtu` per written frame.
//!
//! VTK XML files of unstructured grids (The VTK User's Guide, 11th ed., ch. 19), arrays in base64. Points
//! stand at their current positions; beside them are
//!
//! * at points: `displacement` from the stress-free shape \[m\], `velocity` \[m/s\], `angle` \[rad\] of nodes in
//!   the plane, `axis1`, `axis2`, `axis3` of the triads in space, `contact_impulse` over the step \[N·s\];
//! * in cells: `group`, the number of the part, and the resultants or stresses of the elements; these on request also
//!   at points, where they have one value there: not at the joint of members with different section forces.
//!
//! What a node or an element does not have is not a number.

use crate::acceleration::MeanAcceleration;
use crate::output::{OutputError, write_whole};
use saltus_integrators::Frame;
use saltus_mechanics::flexible::{Assembly, Cell, NodeId, NodeKind, Probe};
use saltus_mechanics::rotation;
use saltus_system::{ContactId, Point, State};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folder of the frames.
pub(super) const FOLDER: &str = "vtk";

/// Writes frames of an assembly.
pub(super) struct VtkWriter {
    assembly: Arc<Assembly>,
    /// The `.pvd` file.
    index: PathBuf,
    /// Every this many steps a frame is written.
    every: u64,
    /// Connectivity, offsets and types, encoded: the same in every frame.
    cells: String,
    /// Names of the fields of all groups.
    fields: Vec<&'static str>,
    /// What tells them at the nodes, where they are written there too.
    probes: Vec<Probe>,
    /// Time and file of each frame that was written.
    written: Vec<(f64, String)>,
    /// The last frame, where it is not written.
    pending: Option<Snapshot>,
    acceleration: MeanAcceleration,
}

/// What is drawn of a frame.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Snapshot {
    step: u64,
    t: f64,
    #[serde(with = "crate::exact::list")]
    q: Vec<f64>,
    #[serde(with = "crate::exact::list")]
    v: Vec<f64>,
    /// Mean accelerations over the step, where section forces need them.
    #[serde(with = "crate::exact::list")]
    acceleration: Vec<f64>,
    /// Contacts and their impulses.
    #[serde(with = "crate::exact::ids")]
    contacts: Vec<ContactId>,
    #[serde(with = "crate::exact::list")]
    impulses: Vec<f64>,
}

/// Draws `assembly` in each of `states`, whose times number the frames: the index `index` and a folder `vtk` beside it.
///
/// # Errors
/// Where a file cannot be written.
pub fn write_shapes(
    index: &Path,
    assembly: Arc<Assembly>,
    states: &[State],
) -> Result<(), OutputError> {
    let mut writer = VtkWriter::new(assembly, index.to_owned(), 1, false);
    writer.open()?;
    for (k, state) in states.iter().enumerate() {
        writer.write(&Snapshot {
            step: k as u64 + 1,
            t: state.t,
            q: state.q.clone(),
            v: state.v.clone(),
            acceleration: Vec::new(),
            contacts: Vec::new(),
            impulses: Vec::new(),
        })?;
    }
    writer.close()
}

impl VtkWriter {
    /// Frames of `assembly` beside the index file `index`; with stresses `at_nodes` too.
    pub fn new(assembly: Arc<Assembly>, index: PathBuf, every: u64, at_nodes: bool) -> Self {
        let mut fields: Vec<&'static str> = Vec::new();
        for group in assembly.groups() {
            for name in group.field_names() {
                if !fields.contains(name) {
                    fields.push(name);
                }
            }
        }
        let nodes: Vec<NodeId> = if at_nodes {
            let count = u32::try_from(assembly.node_count()).unwrap_or(u32::MAX);
            (0..count).map(NodeId).collect()
        } else {
            Vec::new()
        };
        Self {
            cells: cells(&assembly),
            probes: Probe::at(&assembly, &nodes),
            assembly,
            index,
            every: every.max(1),
            fields,
            written: Vec::new(),
            pending: None,
            acceleration: MeanAcceleration::default(),
        }
    }

    /// Creates the folder, free of frames of an earlier run.
    pub fn open(&mut self) -> Result<(), OutputError> {
        let folder = self.folder();
        clear(&folder)?;
        fs::create_dir_all(&folder).map_err(OutputError::io("create", &folder))?;
        self.written.clear();
        self.pending = None;
        Ok(())
    }

    /// Goes on after `steps` steps, whose last frame, where it was not to be written, is `pending`.
    pub fn go_on(&mut self, steps: u64, pending: Option<Snapshot>) -> Result<(), OutputError> {
        let folder = self.folder();
        let entries = fs::read_dir(&folder).map_err(OutputError::io("read", &folder))?;
        let mut frames: Vec<(u64, String)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let step = name.strip_prefix("frame-")?.strip_suffix(".vtu")?;
                Some((step.parse().ok()?, name))
            })
            .collect();
        frames.sort_unstable();
        self.written.clear();
        for (step, name) in frames {
            let path = folder.join(&name);
            if step > steps || (step == steps && pending.is_some()) {
                fs::remove_file(&path).map_err(OutputError::io("remove", &path))?;
            } else {
                self.written.push((time_of(&path)?, name));
            }
        }
        self.pending = pending;
        Ok(())
    }

    /// The last frame, where it is not written.
    pub fn pending(&self) -> Option<&Snapshot> {
        self.pending.as_ref()
    }

    /// Looks at the state that a run goes on from: rates over a step begin there.
    pub fn see(&mut self, state: &State) {
        if !self.probes.is_empty() {
            self.acceleration.update(state);
        }
    }

    /// Takes a frame; it is written where its step is a multiple of `every` or a contact closed in it.
    pub fn take(&mut self, frame: &Frame<'_>, impact: bool) -> Result<(), OutputError> {
        let mut snapshot = self.pending.take().unwrap_or_default();
        snapshot.step = frame.step;
        snapshot.t = frame.state.t;
        snapshot.q.clone_from(&frame.state.q);
        snapshot.v.clone_from(&frame.state.v);
        self.see(frame.state);
        let acceleration = self.acceleration.values();
        acceleration.clone_into(&mut snapshot.acceleration);
        let reactions = &frame.reactions;
        snapshot.contacts.clone_from(&reactions.contacts.id);
        snapshot.impulses.clear();
        snapshot.impulses.extend_from_slice(reactions.impulse);
        if impact || frame.step.is_multiple_of(self.every) {
            self.write(&snapshot)
        } else {
            self.pending = Some(snapshot);
            Ok(())
        }
    }

    /// Writes the last frame and the index.
    pub fn close(&mut self) -> Result<(), OutputError> {
        if let Some(last) = self.pending.take() {
            self.write(&last)?;
        }
        let mut text = String::from(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>\n",
        );
        for (t, file) in &self.written {
            let _ = writeln!(text, "<DataSet timestep=\"{t}\" file=\"{FOLDER}/{file}\"/>");
        }
        text.push_str("</Collection>\n</VTKFile>\n");
        write_whole(&self.index, text.as_bytes())
    }

    fn folder(&self) -> PathBuf {
        self.index.with_file_name(FOLDER)
    }

    fn write(&mut self, snapshot: &Snapshot) -> Result<(), OutputError> {
        let file = format!("frame-{:08}.vtu", snapshot.step);
        let path = self.folder().join(&file);
        write_whole(&path, self.frame(snapshot).as_bytes())?;
        self.written.push((snapshot.t, file));
        Ok(())
    }

    /// The text of a frame.
    fn frame(&self, snapshot: &Snapshot) -> String {
        let assembly = &*self.assembly;
        let count = assembly.node_count();
        let elements: usize = assembly.groups().iter().map(|g| g.len()).sum();
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
             <UnstructuredGrid>\n<FieldData><DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{}</DataArray></FieldData>\n\
             <Piece NumberOfPoints=\"{count}\" NumberOfCells=\"{elements}\">\n<Points>\n",
            snapshot.t
        );
        let points = Points::of(assembly, snapshot);
        reals(&mut text, "position", 3, &points.position);
        text.push_str("</Points>\n");
        text.push_str(&self.cells);
        text.push_str("<PointData Vectors=\"displacement\">\n");
        reals(&mut text, "displacement", 3, &points.displacement);
        reals(&mut text, "velocity", 3, &points.velocity);
        if let Some(angle) = &points.angle {
            reals(&mut text, "angle", 1, angle);
        }
        if let Some(axes) = &points.axes {
            for (k, axis) in axes.iter().enumerate() {
                reals(&mut text, &format!("axis{}", k + 1), 3, axis);
            }
        }
        reals(&mut text, "contact_impulse", 1, &points.impulse);
        let cells = self.cell_data(snapshot, elements);
        if !self.probes.is_empty() {
            for (name, values) in self.fields.iter().zip(&self.at_nodes(snapshot)) {
                reals(&mut text, name, 1, values);
            }
        }
        text.push_str("</PointData>\n<CellData>\n");
        reals(&mut text, "group", 1, &cells.group);
        for (name, column) in self.fields.iter().zip(&cells.fields) {
            reals(&mut text, name, 1, column);
        }
        text.push_str("</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
        text
    }

    fn cell_data(&self, snapshot: &Snapshot, elements: usize) -> Cells {
        let mut number = Vec::with_capacity(elements);
        let mut columns = vec![vec![f64::NAN; elements]; self.fields.len()];
        let mut values = Vec::new();
        let mut first = 0;
        for (k, group) in self.assembly.groups().iter().enumerate() {
            #[allow(clippy::cast_precision_loss)]
            number.extend(std::iter::repeat_n(k as f64, group.len()));
            values.clear();
            group.fields(&snapshot.q, &mut values);
            let names = group.field_names();
            for (c, name) in names.iter().enumerate() {
                let Some(column) = self.fields.iter().position(|field| field == name) else {
                    continue;
                };
                for e in 0..group.len() {
                    columns[column][first + e] = values[e * names.len() + c];
                }
            }
            first += group.len();
        }
        Cells {
            group: number,
            fields: columns,
        }
    }

    /// Each field at every node, not a number where nothing around it has that, or sections differ.
    fn at_nodes(&self, snapshot: &Snapshot) -> Vec<Vec<f64>> {
        let at = Point {
            t: snapshot.t,
            q: &snapshot.q,
            v: &snapshot.v,
        };
        let mut columns = vec![vec![f64::NAN; self.probes.len()]; self.fields.len()];
        let mut values = Vec::new();
        for (n, probe) in self.probes.iter().enumerate() {
            values.clear();
            values.resize(probe.columns().len(), 0.0);
            probe.values(&self.assembly, at, &snapshot.acceleration, &mut values);
            for (name, column) in self.fields.iter().zip(&mut columns) {
                let of_field = probe.columns().iter().zip(&values);
                let mut of_field = of_field.filter(|(own, _)| own.field == *name);
                if let (Some((_, value)), None) = (of_field.next(), of_field.next()) {
                    column[n] = *value;
                }
            }
        }
        columns
    }
}

/// The time that a frame holds \[s\].
fn time_of(path: &Path) -> Result<f64, OutputError> {
    let file = fs::File::open(path).map_err(OutputError::io("read", path))?;
    let mut head = Vec::new();
    // The time stands in the first lines.
    file.take(1024)
        .read_to_end(&mut head)
        .map_err(OutputError::io("read", path))?;
    let head = String::from_utf8_lossy(&head);
    let after = head.split_once("format=\"ascii\">").map(|(_, rest)| rest);
    let text = after.and_then(|rest| rest.split_once('<'));
    text.and_then(|(text, _)| text.parse().ok())
        .ok_or_else(|| OutputError::encode(path, "it is no frame of this program"))
}

/// One value per cell.
struct Cells {
    /// Number of the part.
    group: Vec<f64>,
    /// Each field, not a number where an element does not have it.
    fields: Vec<Vec<f64>>,
}

/// Removes the frames in `folder`, where there are any.
pub(super) fn clear(folder: &Path) -> Result<(), OutputError> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".partial").unwrap_or(&name);
        if name.starts_with("frame-") && name.ends_with(".vtu") {
            let path = entry.path();
            fs::remove_file(&path).map_err(OutputError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Arrays of one entry, or three, per node.
struct Points {
    position: Vec<f64>,
    displacement: Vec<f64>,
    velocity: Vec<f64>,
    angle: Option<Vec<f64>>,
    axes: Option<[Vec<f64>; 3]>,
    impulse: Vec<f64>,
}

impl Points {
    fn of(assembly: &Assembly, snapshot: &Snapshot) -> Self {
        let count = assembly.node_count();
        let mut points = Self {
            position: vec![0.0; 3 * count],
            displacement: vec![0.0; 3 * count],
            velocity: vec![0.0; 3 * count],
            angle: None,
            axes: None,
            impulse: vec![0.0; count],
        };
        for n in 0..count {
            let node = NodeId(u32::try_from(n).unwrap_or(u32::MAX));
            let reference = assembly.reference_position(node);
            for c in 0..assembly.kind(node).dimension() {
                let x = assembly.position(&snapshot.q, node, c);
                points.position[3 * n + c] = x;
                points.displacement[3 * n + c] = x - reference[c];
                points.velocity[3 * n + c] = assembly.velocity(&snapshot.v, node, c);
            }
            points.turn(assembly, snapshot, node, n, count);
        }
        for (contact, impulse) in snapshot.contacts.iter().zip(&snapshot.impulses) {
            if let Some(node) = assembly.contact_node(*contact) {
                points.impulse[node.index()] += impulse;
            }
        }
        points
    }

    /// Angle or triad of node `n`.
    fn turn(
        &mut self,
        assembly: &Assembly,
        snapshot: &Snapshot,
        node: NodeId,
        n: usize,
        count: usize,
    ) {
        match assembly.kind(node) {
            NodeKind::PlaneFrame => {
                let angle = self.angle.get_or_insert_with(|| vec![f64::NAN; count]);
                angle[n] = assembly.position(&snapshot.q, node, 2);
            }
            NodeKind::SpaceFrame => {
                let p = [3, 4, 5, 6].map(|c| assembly.position(&snapshot.q, node, c));
                let axes = self
                    .axes
                    .get_or_insert_with(|| [(); 3].map(|()| vec![f64::NAN; 3 * count]));
                for (k, axis) in axes.iter_mut().enumerate() {
                    let mut unit = [0.0; 3];
                    unit[k] = 1.0;
                    axis[3 * n..3 * n + 3].copy_from_slice(&rotation::rotate(&p, &unit));
                }
            }
            NodeKind::Line | NodeKind::Plane | NodeKind::Space => {}
        }
    }
}

/// The cells of an assembly.
fn cells(assembly: &Assembly) -> String {
    let (mut connectivity, mut offsets, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for group in assembly.groups() {
        // Numbers of `vtkCellType.h`.
        let kind: u8 = match group.cell() {
            Cell::Point => 1,
            Cell::Line => 3,
            Cell::Triangle => 5,
            Cell::Quadrilateral => 9,
            Cell::Tetrahedron => 10,
            Cell::Hexahedron => 12,
        };
        for e in 0..group.len() {
            connectivity.extend(group.nodes(e).map(|node| node.index() as u64));
            offsets.push(connectivity.len() as u64);
            types.push(kind);
        }
    }
    let integers = |list: &[u64]| {
        list.iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let mut text = String::from("<Cells>\n");
    array(
        &mut text,
        "Int64",
        "connectivity",
        1,
        &integers(&connectivity),
    );
    array(&mut text, "Int64", "offsets", 1, &integers(&offsets));
    array(&mut text, "UInt8", "types", 1, &types);
    text.push_str("</Cells>\n");
    text
}

fn reals(text: &mut String, name: &str, components: usize, values: &[f64]) {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    array(text, "Float64", name, components, &bytes);
}

/// A data array: its length in bytes, then its bytes, as one stream in base64.
fn array(text: &mut String, kind: &str, name: &str, components: usize, bytes: &[u8]) {
    let _ = write!(
        text,
        "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"binary\">"
    );
    let length = (bytes.len() as u64).to_le_bytes();
    base64(length.iter().chain(bytes).copied(), text);
    text.push_str("</DataArray>\n");
}

/// Base64 with padding (RFC 4648, §4).
fn base64(bytes: impl Iterator<Item = u8>, text: &mut String) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut put = |group: [u8; 3], count: usize| {
        let word = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        for k in 0..4 {
            let sextet = word >> (18 - 6 * k) & 63;
            let letter = ALPHABET[sextet as usize];
            text.push(if k <= count { char::from(letter) } else { '=' });
        }
    };
    let (mut group, mut count) = ([0; 3], 0);
    for byte in bytes {
        group[count] = byte;
        count += 1;
        if count == 3 {
            put(group, 3);
            (group, count) = ([0; 3], 0);
        }
    }
    if count > 0 {
        put(group, count);
    }
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn the_vectors_of_the_standard() {
        // RFC 4648, §10.
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut text = String::new();
            base64(plain.bytes(), &mut text);
            assert_eq!(text, encoded);
        }
    }
}
