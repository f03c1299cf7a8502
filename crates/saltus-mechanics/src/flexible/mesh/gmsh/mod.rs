//! Meshes from Gmsh: MSH 4.0 and 4.1, as text and as bytes (Gmsh reference manual, "MSH file format").
//!
//! Physical groups become groups under their names; a group without a name is called by its dimension and tag,
//! e.g. `surface 3`. Nodes that no cell names are left out, cells the wrong way round are turned.
//! Sections that carry no mesh (`$Periodic`, `$NodeData`, …) are passed over.

mod source;

use super::{Cell, Mesh, MeshError};
use source::Source;
use std::collections::HashMap;
use std::path::Path;

/// Reads a `.msh` file.
///
/// # Errors
/// [`MeshError`] with file, line (or byte) and cure.
pub fn read(path: impl AsRef<Path>) -> Result<Mesh, MeshError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|e| MeshError::File {
        file: name.clone(),
        reason: e.to_string(),
    })?;
    parse(&name, &bytes)
}

/// Reads the content of a `.msh` file; `name` is what messages call it.
///
/// # Errors
/// [`MeshError`] with name, line (or byte) and cure.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Mesh, MeshError> {
    let mut reader = Reader {
        source: Source::new(name, bytes),
        version: Version::V41,
        names: HashMap::new(),
        physical: HashMap::new(),
        node_of_tag: HashMap::new(),
        mesh: Mesh::default(),
        has_elements: false,
    };
    reader.sections()?;
    let mut mesh = reader.mesh;
    mesh.drop_loose_nodes();
    mesh.mend_orientation().map_err(|e| MeshError::Content {
        file: name.to_owned(),
        place: "$Elements".to_owned(),
        problem: e.to_string(),
        cure: "mesh this region again".to_owned(),
    })?;
    Ok(mesh)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V40,
    V41,
}

struct Reader<'a> {
    source: Source<'a>,
    version: Version,
    /// Names of physical groups by dimension and tag.
    names: HashMap<(usize, i64), String>,
    /// Physical tags of entities by dimension and tag.
    physical: HashMap<(usize, i64), Vec<i64>>,
    node_of_tag: HashMap<u64, usize>,
    mesh: Mesh,
    has_elements: bool,
}

const OLD: &str =
    "export the mesh as MSH 4.1 (Mesh.MshFileVersion = 4.1, or \"gmsh -format msh41\")";

impl Reader<'_> {
    fn sections(&mut self) -> Result<(), MeshError> {
        let first = self.source.full_line();
        if first != Some(b"$MeshFormat") {
            return Err(self
                .source
                .error("the file does not begin with $MeshFormat", OLD));
        }
        self.format()?;
        while let Some(line) = self.source.full_line() {
            let Some(name) = line.strip_prefix(b"$") else {
                return Err(self.source.error(
                    format!("found \"{}\" between sections", shorten(line)),
                    "sections begin with a line $Name and end with a line $EndName",
                ));
            };
            let name = shorten(name);
            match name.as_str() {
                "PhysicalNames" => self.physical_names()?,
                "Entities" => self.entities()?,
                "Nodes" => self.nodes()?,
                "Elements" => self.elements()?,
                _ => {}
            }
            self.source.leave(&name)?;
        }
        if self.has_elements {
            return Ok(());
        }
        Err(self.source.error(
            "the file has no $Elements",
            "mesh the geometry before exporting it",
        ))
    }

    fn format(&mut self) -> Result<(), MeshError> {
        let version = self.source.double("the version of the format")?;
        self.version = if version == 4.1 {
            Version::V41
        } else if version == 4.0 {
            Version::V40
        } else {
            return Err(self
                .source
                .error(format!("MSH version {version} is not understood"), OLD));
        };
        let binary = self.source.int("the file type (0 text, 1 binary)")?;
        let size = self.source.int("the size of a number in bytes")?;
        if !(0..=1).contains(&binary) || size != 8 {
            return Err(self.source.error(
                format!("file type {binary} with numbers of {size} bytes is not understood"),
                OLD,
            ));
        }
        if binary == 1 {
            let _ = self.source.line();
            self.source.binary = true;
            let one = self.source.int("the mark of the byte order")?;
            self.source.swapped = match one {
                1 => false,
                0x0100_0000 => true,
                _ => {
                    return Err(self.source.error(
                        format!("the mark of the byte order is {one}, not 1"),
                        "transfer the file as bytes, not as text",
                    ));
                }
            };
        }
        self.source.leave("MeshFormat")
    }

    /// Names are text in binary files too.
    fn physical_names(&mut self) -> Result<(), MeshError> {
        let binary = std::mem::replace(&mut self.source.binary, false);
        let count = self.source.count("the number of physical names")?;
        for _ in 0..count {
            let dimension = self.dimension("the dimension of a physical group")?;
            let tag = self.source.int("the tag of a physical group")?;
            let line = self.source.line().unwrap_or_default();
            let name = String::from_utf8_lossy(line);
            let name = name
                .strip_prefix('"')
                .and_then(|n| n.strip_suffix('"'))
                .filter(|n| !n.is_empty())
                .ok_or_else(|| {
                    self.source.error(
                        "the name of a physical group is not in quotation marks",
                        "write: dimension tag \"name\"",
                    )
                })?;
            self.names.insert((dimension, tag), name.to_owned());
        }
        self.source.binary = binary;
        Ok(())
    }

    fn dimension(&mut self, what: &str) -> Result<usize, MeshError> {
        let dimension = self.source.int(what)?;
        match usize::try_from(dimension) {
            Ok(d) if d <= 3 => Ok(d),
            _ => Err(self.source.error(
                format!("{what} is {dimension}"),
                "dimensions run from 0 to 3; export the mesh again",
            )),
        }
    }

    fn entities(&mut self) -> Result<(), MeshError> {
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = self.source.count("the number of entities")?;
        }
        for (dimension, &count) in counts.iter().enumerate() {
            let corners = match (self.version, dimension) {
                (Version::V41, 0) => 3,
                _ => 6,
            };
            for _ in 0..count {
                let tag = self.source.int("the tag of an entity")?;
                for _ in 0..corners {
                    self.source.double("a side of the box of an entity")?;
                }
                let physical = self.source.count("the number of physical tags")?;
                let mut tags = Vec::new();
                for _ in 0..physical {
                    // A negative tag reverses the orientation of the group.
                    tags.push(self.source.int("a physical tag")?.saturating_abs());
                }
                tags.sort_unstable();
                tags.dedup();
                if dimension > 0 {
                    let bounds = self.source.count("the number of bounding entities")?;
                    for _ in 0..bounds {
                        self.source.int("the tag of a bounding entity")?;
                    }
                }
                if !tags.is_empty() {
                    self.physical.insert((dimension, tag), tags);
                }
            }
        }
        Ok(())
    }

    /// Dimension and tag of the entity of a block, then one more number.
    fn block_head(&mut self, what: &str) -> Result<(usize, i64, i64), MeshError> {
        let (dimension, tag) = match self.version {
            Version::V41 => {
                let dimension = self.dimension("the dimension of an entity")?;
                (dimension, self.source.int("the tag of an entity")?)
            }
            Version::V40 => {
                let tag = self.source.int("the tag of an entity")?;
                (self.dimension("the dimension of an entity")?, tag)
            }
        };
        Ok((dimension, tag, self.source.int(what)?))
    }

    /// Tags of nodes and cells grew from four to eight bytes with version 4.1.
    fn tag(&mut self, what: &str) -> Result<u64, MeshError> {
        if self.version == Version::V41 {
            return self.source.size(what);
        }
        let tag = self.source.int(what)?;
        u64::try_from(tag).map_err(|_| {
            self.source
                .error(format!("{what} is {tag}"), "tags are not negative")
        })
    }

    fn nodes(&mut self) -> Result<(), MeshError> {
        let blocks = self.source.count("the number of blocks of nodes")?;
        self.source.count("the number of nodes")?;
        if self.version == Version::V41 {
            self.source.size("the smallest tag of a node")?;
            self.source.size("the largest tag of a node")?;
        }
        let mut tags = Vec::new();
        for _ in 0..blocks {
            let (dimension, _, parametric) = self.block_head("whether nodes have parameters")?;
            let count = self.source.count("the number of nodes of a block")?;
            let extra = if parametric != 0 { dimension } else { 0 };
            tags.clear();
            if self.version == Version::V41 {
                for _ in 0..count {
                    tags.push(self.tag("the tag of a node")?);
                }
            }
            for i in 0..count {
                let tag = match tags.get(i) {
                    Some(&tag) => tag,
                    None => self.tag("the tag of a node")?,
                };
                let mut x = [0.0; 3];
                for x in &mut x {
                    *x = self.source.double("a coordinate of a node")?;
                }
                for _ in 0..extra {
                    self.source.double("a parameter of a node")?;
                }
                if self
                    .node_of_tag
                    .insert(tag, self.mesh.nodes.len())
                    .is_some()
                {
                    return Err(self.source.error(
                        format!("node {tag} is defined twice"),
                        "export the mesh again, tags of nodes are unique",
                    ));
                }
                self.mesh.nodes.push(x);
            }
        }
        Ok(())
    }

    fn elements(&mut self) -> Result<(), MeshError> {
        self.has_elements = true;
        let blocks = self.source.count("the number of blocks of elements")?;
        self.source.count("the number of elements")?;
        if self.version == Version::V41 {
            self.source.size("the smallest tag of an element")?;
            self.source.size("the largest tag of an element")?;
        }
        for _ in 0..blocks {
            let (dimension, entity, kind) = self.block_head("the type of the elements")?;
            let count = self.source.count("the number of elements of a block")?;
            let cell = self.cell(kind)?;
            if cell.dimension() != dimension {
                return Err(self.source.error(
                    format!(
                        "elements of type {kind} ({}) on an entity of dimension {dimension}",
                        cell.name()
                    ),
                    "export the mesh again, the file is damaged",
                ));
            }
            let mut ids = Vec::new();
            for _ in 0..count {
                ids.push(self.element(cell)?);
            }
            let groups = self.physical.get(&(dimension, entity));
            for &tag in groups.into_iter().flatten() {
                let name = self.names.get(&(dimension, tag)).cloned();
                let name = name.unwrap_or_else(|| {
                    let kind = ["point", "curve", "surface", "volume"][dimension];
                    format!("{kind} {tag}")
                });
                self.mesh.add_to_group(&name, ids.iter().copied());
            }
        }
        Ok(())
    }

    fn element(&mut self, cell: Cell) -> Result<super::CellId, MeshError> {
        let tag = self.tag("the tag of an element")?;
        let mut nodes = [0; 8];
        let nodes = &mut nodes[..cell.nodes()];
        for node in nodes.iter_mut() {
            let name = self.tag("a node of an element")?;
            *node = *self.node_of_tag.get(&name).ok_or_else(|| {
                self.source.error(
                    format!("element {tag} names node {name}, which is not defined"),
                    "export the mesh again with all nodes before the elements",
                )
            })?;
        }
        self.mesh.push(cell, nodes)
    }

    fn cell(&self, kind: i64) -> Result<Cell, MeshError> {
        let (what, cure) = match kind {
            1 => return Ok(Cell::Line),
            2 => return Ok(Cell::Triangle),
            3 => return Ok(Cell::Quadrilateral),
            4 => return Ok(Cell::Tetrahedron),
            5 => return Ok(Cell::Hexahedron),
            15 => return Ok(Cell::Point),
            6 | 7 => (
                if kind == 6 { "prisms" } else { "pyramids" },
                "mesh the volume with tetrahedra only, or with hexahedra only (transfinite volumes, \
                 Mesh.RecombineAll with Mesh.Recombine3DAll, Mesh.SubdivisionAlgorithm = 2)",
            ),
            8..=14 | 16..=19 | 20..=140 => (
                "curved elements of higher order",
                "mesh with straight elements (Mesh.ElementOrder = 1)",
            ),
            _ => ("unknown elements", "export the mesh as MSH 4.1 again"),
        };
        Err(self.source.error(
            format!("elements of type {kind} ({what}) are not supported"),
            cure,
        ))
    }
}

fn shorten(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(40).collect()
}
