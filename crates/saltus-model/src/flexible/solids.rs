//! Solids: a mesh from a box or a file, its nodes, elements, and sets.

use super::lines::mass_matrix;
use super::nodes::SURFACE;
use super::sections::Values;
use super::sets::{MeshSet, Surface};
use super::{MOST_ELEMENTS, Work};
use indexmap::IndexMap;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::Quantity;
use saltus_document::document::parts::Words;
use saltus_document::document::solids::{Cells, Cuboid, Integration, Law, PlaneState, Solid};
use saltus_document::number::general;
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_mechanics::flexible::mesh::generate::{
    Division, PlaneCells, SpaceCells, block, rectangle,
};
use saltus_mechanics::flexible::mesh::gmsh;
use saltus_mechanics::flexible::solid::{
    self, Hexahedron, Quadrilateral, Section, Tetrahedron, Triangle,
};
use saltus_mechanics::flexible::{Cell, Mesh, NodeId, NodeKind};

/// Poisson's ratio above which fully integrated elements are noticeably too stiff: λ/μ = 2ν/(1 − 2ν) exceeds 40.
const LOCKING: f64 = 0.488;

fn material_law(law: Law) -> solid::Law {
    match law {
        Law::Linear => solid::Law::Linear,
        Law::StVenantKirchhoff => solid::Law::StVenantKirchhoff,
        Law::NeoHookean => solid::Law::NeoHookean,
        Law::NeoHookeanSplit => solid::Law::NeoHookeanSplit,
    }
}

fn integration(integration: Integration) -> solid::Integration {
    match integration {
        Integration::Full => solid::Integration::Full,
        Integration::MeanDilatation => solid::Integration::MeanDilatation,
    }
}

impl Work<'_, '_> {
    /// Adds a solid; `None` where something is wrong, which is reported.
    pub(super) fn solid(&mut self, solid: &Solid, at: &Path) -> Option<()> {
        let named = self.part_name(&solid.name, at);
        let values = self.material_called(&solid.material, at);
        let (mesh, uniform) = self.mesh(solid, at)?;
        let dimension = self.dimension_of(solid, &mesh, at)?;
        self.note_dented(solid, &mesh);
        self.fits_the_mesh(solid, &mesh, dimension, at)?;
        let thickness = self.thickness(solid, dimension, at);
        let mut sets = self.named_sets(solid, &mesh, dimension, at)?;
        let values = values?;
        if !named {
            return None;
        }
        let kind = if dimension == 2 {
            NodeKind::Plane
        } else {
            NodeKind::Space
        };
        let mut ids = Vec::with_capacity(mesh.nodes.len());
        for (n, x) in mesh.nodes.iter().enumerate() {
            let name = format!("{}.{n}", solid.name);
            let node = self.builder.node(kind, name, &x[..dimension]);
            ids.push(self.accept(at, node)?);
        }
        let material = self.elastic(solid, values, at)?;
        let added = if dimension == 2 {
            let section = match solid.plane.unwrap_or(PlaneState::Strain) {
                PlaneState::Strain => Section::plane_strain(material, thickness?),
                PlaneState::Stress => Section::plane_stress(material, thickness?),
            };
            let section = self.accept(&at.key("plane"), section)?;
            let section = self.finished(section, solid, values, at)?;
            self.plane_elements(solid, &section, &mesh, uniform, &ids, at)
        } else {
            let section = self.finished(Section::space(material), solid, values, at)?;
            self.space_elements(solid, &section, &mesh, uniform, &ids, at)
        };
        added?;
        let sets = sets
            .drain(..)
            .map(|(name, set)| (name, set.on(&ids)))
            .collect();
        let linear = solid.law == Law::Linear;
        self.nodes
            .body(&solid.name, ids, sets, thickness.unwrap_or(1.0), linear);
        Some(())
    }

    /// The mesh of a solid, and whether all its cells have one shape.
    fn mesh(&mut self, solid: &Solid, at: &Path) -> Option<(Mesh, bool)> {
        let of_file = [
            ("region", solid.region.is_some()),
            ("scale", solid.scale.is_some()),
            ("offset", solid.offset.is_some()),
        ];
        match (&solid.cuboid, &solid.mesh) {
            (Some(cuboid), None) => {
                if let Some((key, _)) = of_file.iter().find(|(_, given)| *given) {
                    let diagnostic =
                        Diagnostic::new(format!("{at} is a box, which has no \"{key}\""))
                            .label("is for mesh files")
                            .help("give the box its corners where and as large as it is");
                    self.findings.at_key(&at.key(key), diagnostic);
                    return None;
                }
                self.cuboid(cuboid, &at.key("box"))
            }
            (None, Some(file)) => self.file(solid, file, at).map(|mesh| (mesh, false)),
            (None, None) => {
                let diagnostic = Diagnostic::new(format!("missing key \"box\" or \"mesh\" in {at}"))
                    .label("has no shape")
                    .help("box = { from = [0, 0], to = [1, 1], divisions = [4, 4] }, or mesh = \"file.msh\"");
                self.findings.at(at, diagnostic);
                None
            }
            (Some(_), Some(_)) => {
                let diagnostic =
                    Diagnostic::new(format!("{at} is given twice: by \"box\" and by \"mesh\""))
                        .label("\"box\" is given too")
                        .help("remove one of the two");
                self.findings.at_key(&at.key("mesh"), diagnostic);
                None
            }
        }
    }

    fn cuboid(&mut self, cuboid: &Cuboid, at: &Path) -> Option<(Mesh, bool)> {
        let dimension = cuboid.from.len();
        let lists = [
            ("to", Some(&cuboid.to)),
            ("divisions", Some(&cuboid.divisions)),
            ("grading", cuboid.grading.as_ref()),
        ];
        for (key, list) in lists {
            if let Some(list) = list
                && list.len() != dimension
            {
                let expected = format!("{dimension}, as \"from\"");
                self.wrong_count(&at.key(key), list.len(), &expected);
                return None;
            }
        }
        let from = self.vector(&cuboid.from, &at.key("from"));
        let to = self.vector(&cuboid.to, &at.key("to"));
        let mut divisions = [Division::from(1); 3];
        let mut total = 1.0;
        for (k, count) in cuboid.divisions.iter().enumerate() {
            divisions[k].elements = self.count(count, &at.key("divisions").index(k))?;
            #[allow(clippy::cast_precision_loss)]
            {
                total *= divisions[k].elements as f64;
            }
        }
        if total > MOST_ELEMENTS {
            let diagnostic = Diagnostic::new(format!("{at} has {total:.3e} elements"))
                .label(format!("expected at most {MOST_ELEMENTS:.0e}"));
            self.findings.at(&at.key("divisions"), diagnostic);
            return None;
        }
        for (k, ratio) in cuboid.grading.iter().flatten().enumerate() {
            divisions[k].ratio = self.positive(ratio, &at.key("grading").index(k))?;
        }
        let (from, to) = (from?, to?);
        if let Some(k) = (0..dimension).find(|&k| to[k] <= from[k]) {
            let place = at.key("to").index(k);
            let (low, high) = (general(from[k]), general(to[k]));
            let diagnostic =
                Diagnostic::new(format!("{place} is {high}, but the box begins at {low}"))
                    .label(format!("expected more than {low}"))
                    .help("\"from\" is the corner with the lowest coordinates, \"to\" the one with the highest");
            self.findings.at(&place, diagnostic);
            return None;
        }
        let (mesh, uniform) = if dimension == 2 {
            let cells = match cuboid.cells.unwrap_or(Cells::Quadrilaterals) {
                Cells::Triangles => PlaneCells::Triangles,
                Cells::Quadrilaterals => PlaneCells::Quadrilaterals,
                other => return self.wrong_cells(other, "\"triangles\" or \"quadrilaterals\"", at),
            };
            let [x, y, _] = divisions;
            let mesh = rectangle([from[0], from[1]], [to[0], to[1]], [x, y], cells);
            (mesh, cells == PlaneCells::Quadrilaterals)
        } else {
            let cells = match cuboid.cells.unwrap_or(Cells::Hexahedra) {
                Cells::Tetrahedra => SpaceCells::Tetrahedra,
                Cells::Hexahedra => SpaceCells::Hexahedra,
                other => return self.wrong_cells(other, "\"tetrahedra\" or \"hexahedra\"", at),
            };
            (
                block(from, to, divisions, cells),
                cells == SpaceCells::Hexahedra,
            )
        };
        let even = divisions.iter().all(|d| d.ratio == 1.0);
        Some((self.accept(at, mesh)?, uniform && even))
    }

    fn wrong_cells<T>(&mut self, cells: Cells, expected: &str, at: &Path) -> Option<T> {
        let (name, place) = match cells {
            Cells::Triangles => ("triangles", "in the plane"),
            Cells::Quadrilaterals => ("quadrilaterals", "in the plane"),
            Cells::Tetrahedra => ("tetrahedra", "in space"),
            Cells::Hexahedra => ("hexahedra", "in space"),
        };
        let diagnostic = Diagnostic::new(format!("a box cannot be divided into {name} here"))
            .label(format!("expected {expected}"))
            .help(format!("{name} are {place}: \"from\" and \"to\" say which it is by the number of their coordinates"));
        self.findings.at(&at.key("cells"), diagnostic);
        None
    }

    /// The mesh in a file, of the region that is asked for.
    fn file(&mut self, solid: &Solid, file: &str, at: &Path) -> Option<Mesh> {
        let scale = match &solid.scale {
            Some(scale) => self.positive(scale, &at.key("scale")),
            None => Some(1.0),
        };
        let offset = match &solid.offset {
            Some(offset) => self.vector(offset, &at.key("offset")),
            None => Some([0.0; 3]),
        };
        let place = at.key("mesh");
        let mesh = match gmsh::read(self.folder.join(file)) {
            Ok(mesh) => mesh,
            Err(error) => {
                let diagnostic = Diagnostic::new(error.to_string())
                    .label("is read for this part")
                    .help("the path is relative to the folder of the model file");
                self.findings.at(&place, diagnostic);
                return None;
            }
        };
        let mut mesh = self.region(&mesh, solid.region.as_ref(), &at.key("region"))?;
        let (scale, offset) = (scale?, offset?);
        for x in &mut mesh.nodes {
            *x = std::array::from_fn(|i| offset[i] + scale * x[i]);
        }
        Some(mesh)
    }

    /// Says which cells have a corner pushed in, so that a part of their shape is inside out.
    fn note_dented(&mut self, solid: &Solid, mesh: &Mesh) {
        let dented = mesh.dented();
        if let Some(first) = dented.first() {
            self.notes.push(format!(
                "{} of the mesh of \"{}\" {} a negative Jacobian at a corner, the first is {first} (nodes {:?}): it is positive at the Gauss points, where the element is integrated; stresses there are less accurate",
                suggest::count(dented.len(), first.kind().name(), first.kind().names()),
                solid.name,
                if dented.len() == 1 { "has" } else { "have" },
                mesh.cell(*first),
            ));
        }
    }

    /// The part of a mesh that the body consists of.
    fn region(&mut self, mesh: &Mesh, words: Option<&Words>, at: &Path) -> Option<Mesh> {
        for (name, place) in words.iter().flat_map(|words| words.places(at)) {
            if let Err(diagnostic) = is_body(mesh, name) {
                self.findings.at(&place, diagnostic);
                return None;
            }
        }
        let groups = words.map_or(&[][..], Words::as_slice);
        let body = mesh.body(groups);
        self.accept(at, body)
    }

    /// Whether the solid lies in the plane or in space.
    fn dimension_of(&mut self, solid: &Solid, mesh: &Mesh, at: &Path) -> Option<usize> {
        let place = at.key("mesh");
        match mesh.dimension() {
            3 => Some(3),
            2 if mesh.is_plane() => Some(2),
            2 => {
                let diagnostic = Diagnostic::new(format!(
                    "the mesh of \"{}\" is a surface in space: it has no cells of volume, and its z is not constant",
                    solid.name
                ))
                .label("expected a plane mesh, or one of tetrahedra or hexahedra")
                .help("there are no shells; mesh the volume (gmsh -3), or put the surface into the plane z = 0");
                self.findings.at(&place, diagnostic);
                None
            }
            _ => {
                let diagnostic = Diagnostic::new(format!(
                    "the mesh of \"{}\" has lines and points only",
                    solid.name
                ))
                .label("expected triangles, quadrilaterals, tetrahedra or hexahedra")
                .help("mesh the surface (gmsh -2) or the volume (gmsh -3) before saving; with physical groups, Gmsh saves only what is in one");
                self.findings.at(&place, diagnostic);
                None
            }
        }
    }

    /// Complains about values that do not fit the mesh.
    fn fits_the_mesh(
        &mut self,
        solid: &Solid,
        mesh: &Mesh,
        dimension: usize,
        at: &Path,
    ) -> Option<()> {
        if let Some(offset) = &solid.offset
            && offset.len() != dimension
        {
            let expected = format!("{dimension}, as the mesh has coordinates");
            self.wrong_count(&at.key("offset"), offset.len(), &expected);
            return None;
        }
        let has = |kind| mesh.cells(kind).next().is_some();
        if solid.integration == Integration::MeanDilatation
            && !has(Cell::Quadrilateral)
            && !has(Cell::Hexahedron)
        {
            let (cells, others) = if dimension == 2 {
                ("triangles", "quadrilaterals")
            } else {
                ("tetrahedra", "hexahedra")
            };
            let diagnostic = Diagnostic::new(format!(
                "\"{}\" consists of {cells}, whose dilatation is constant in each: its mean changes nothing",
                solid.name
            ))
            .label(format!("is for {others}"))
            .help(format!(
                "use {others} against locking, or remove \"integration\""
            ));
            self.findings.at(&at.key("integration"), diagnostic);
            return None;
        }
        Some(())
    }

    fn thickness(&mut self, solid: &Solid, dimension: usize, at: &Path) -> Option<f64> {
        let plane_keys = [
            ("thickness", solid.thickness.is_some()),
            ("plane", solid.plane.is_some()),
        ];
        if dimension == 3
            && let Some((key, _)) = plane_keys.iter().find(|(_, given)| *given)
        {
            let diagnostic = Diagnostic::new(format!(
                "\"{}\" is in space, it has no \"{key}\"",
                solid.name
            ))
            .label("is for bodies in the plane")
            .help("remove it");
            self.findings.at_key(&at.key(key), diagnostic);
            return None;
        }
        match &solid.thickness {
            Some(thickness) => self.positive(thickness, &at.key("thickness")),
            None => Some(1.0),
        }
    }

    fn elastic(&mut self, solid: &Solid, values: Values, at: &Path) -> Option<solid::Material> {
        let Some(poisson) = values.poisson else {
            let diagnostic = Diagnostic::new(format!(
                "the material \"{}\" has no poisson, which the solid \"{}\" needs",
                solid.material, solid.name
            ))
            .label("has no poisson")
            .help("give the material a poisson, such as 0.3; 0 for a body that does not bulge");
            self.findings.at(&at.key("material"), diagnostic);
            return None;
        };
        let confined = solid.plane != Some(PlaneState::Stress);
        if poisson > LOCKING && confined && solid.integration == Integration::Full {
            self.notes.push(format!(
                "\"{}\" is nearly incompressible (poisson = {}): its elements lock and are far too stiff; quadrilaterals or hexahedra with integration = \"mean-dilatation\" and the law \"linear\" or \"neo-hookean-split\" do not",
                solid.name,
                general(poisson)
            ));
        }
        let material = solid::Material::new(
            material_law(solid.law),
            values.young,
            poisson,
            values.density,
        );
        self.accept(&at.key("material"), material)
    }

    /// A section with integration, mass and damping as the document has them.
    fn finished<const D: usize>(
        &mut self,
        section: Section<D>,
        solid: &Solid,
        values: Values,
        at: &Path,
    ) -> Option<Section<D>> {
        let section = section.with_integration(integration(solid.integration));
        let section = self.accept(&at.key("integration"), section)?;
        let mass = mass_matrix(solid.mass);
        Some(section.with_mass(mass).with_damping(values.damping))
    }

    fn plane_elements(
        &mut self,
        solid: &Solid,
        section: &Section<2>,
        mesh: &Mesh,
        uniform: bool,
        ids: &[NodeId],
        at: &Path,
    ) -> Option<()> {
        let triangles = Triangle::on_mesh(section, mesh);
        let triangles = self.accept(at, triangles)?;
        self.elements(solid, triangles, Cell::Triangle, mesh, ids, at)?;
        let rest = if uniform {
            Quadrilateral::of_first(section, mesh)
        } else {
            Quadrilateral::on_mesh(section, mesh)
        };
        let rest = self.accept(at, rest)?;
        self.elements(solid, rest, Cell::Quadrilateral, mesh, ids, at)
    }

    fn space_elements(
        &mut self,
        solid: &Solid,
        section: &Section<3>,
        mesh: &Mesh,
        uniform: bool,
        ids: &[NodeId],
        at: &Path,
    ) -> Option<()> {
        let tetrahedra = Tetrahedron::on_mesh(section, mesh);
        let tetrahedra = self.accept(at, tetrahedra)?;
        self.elements(solid, tetrahedra, Cell::Tetrahedron, mesh, ids, at)?;
        let rest = if uniform {
            Hexahedron::of_first(section, mesh)
        } else {
            Hexahedron::on_mesh(section, mesh)
        };
        let rest = self.accept(at, rest)?;
        self.elements(solid, rest, Cell::Hexahedron, mesh, ids, at)
    }

    /// Adds elements with their nodes; a single one stands for all cells of its kind.
    fn elements<E: saltus_mechanics::flexible::Listed>(
        &mut self,
        solid: &Solid,
        elements: Vec<E>,
        kind: Cell,
        mesh: &Mesh,
        ids: &[NodeId],
        at: &Path,
    ) -> Option<()> {
        if elements.is_empty() {
            return Some(());
        }
        let nodes: Vec<NodeId> = mesh.cells(kind).flatten().map(|&n| ids[n]).collect();
        let added = self.builder.elements(&solid.name, elements, &nodes);
        self.accept(at, added)
    }

    /// The sets of a solid: groups of its mesh, boxes of the document, and its surface.
    fn named_sets(
        &mut self,
        solid: &Solid,
        mesh: &Mesh,
        dimension: usize,
        at: &Path,
    ) -> Option<Vec<(String, MeshSet)>> {
        let surface = Surface::of(mesh);
        // What lies on a side of a box is in it, whatever round-off says.
        let size = mesh
            .nodes
            .iter()
            .flatten()
            .fold(0.0, |m: f64, x| m.max(x.abs()));
        let slack = 1e-9 * size;
        let mut sets = IndexMap::new();
        for name in mesh.group_names() {
            let set = surface.group(mesh, name);
            if !set.nodes.is_empty() {
                sets.insert(name.to_owned(), set);
            }
        }
        for (name, corners) in &solid.sets {
            let place = at.key("sets").key(name);
            if sets.contains_key(name) || name == SURFACE {
                let diagnostic =
                    Diagnostic::new(format!("\"{}\" has two sets \"{name}\"", solid.name))
                        .label("is a set of its mesh already")
                        .help("choose another name");
                self.findings.at_key(&place, diagnostic);
                continue;
            }
            let low = self.corner(&corners.from, dimension, &place.key("from"));
            let high = self.corner(&corners.to, dimension, &place.key("to"));
            let (Some(mut low), Some(mut high)) = (low, high) else {
                continue;
            };
            for c in 0..3 {
                low[c] = if c < dimension {
                    low[c] - slack
                } else {
                    f64::NEG_INFINITY
                };
                high[c] = if c < dimension {
                    high[c] + slack
                } else {
                    f64::INFINITY
                };
            }
            let set = surface.among(mesh.nodes_in_box(low, high));
            if set.nodes.is_empty() {
                let diagnostic = Diagnostic::new(format!(
                    "the set \"{name}\" of \"{}\" has no nodes: its box lies between them",
                    solid.name
                ))
                .label("no node is in this box")
                .help("make the box larger, all of its sides count as inside");
                self.findings.at_key(&place, diagnostic);
                continue;
            }
            sets.insert(name.clone(), set);
        }
        let all = surface.whole();
        sets.entry(SURFACE.to_owned()).or_insert(all);
        Some(sets.into_iter().collect())
    }

    /// A corner of a box of nodes.
    fn corner(&mut self, list: &[Quantity], dimension: usize, at: &Path) -> Option<[f64; 3]> {
        if list.len() != dimension {
            self.wrong_count(at, list.len(), &dimension.to_string());
            return None;
        }
        self.vector(list, at)
    }
}

/// Whether a group has cells of the highest dimension, which a body could consist of.
fn is_body(mesh: &Mesh, name: &str) -> Result<(), Diagnostic> {
    let dimension = mesh.dimension();
    let bodies = || {
        mesh.group_names().filter(|name| {
            let cells = mesh.group(name).unwrap_or_default();
            cells.iter().any(|c| c.kind().dimension() == dimension)
        })
    };
    if bodies().any(|known| known == name) {
        return Ok(());
    }
    let message = if mesh.group(name).is_ok() {
        format!(
            "the physical group \"{name}\" is a boundary: it has no cells of dimension {dimension}"
        )
    } else {
        format!(
            "the mesh has no physical group \"{name}\"{}",
            suggest::did_you_mean(name, bodies())
        )
    };
    let help = match bodies().next() {
        Some(_) => format!("a body may consist of {}", suggest::list(bodies())),
        None => format!(
            "the mesh has no physical group of dimension {dimension}; remove \"region\" to take all of it"
        ),
    };
    Err(Diagnostic::new(message)
        .label("not a region of the mesh")
        .help(help))
}
