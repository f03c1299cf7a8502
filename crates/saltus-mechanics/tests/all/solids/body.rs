//! Elements by name, and a body of them with Newton's method.

use saltus_linear::{MatrixSink, SquareMatrix};
use saltus_mechanics::flexible::mesh::Mesh;
use saltus_mechanics::flexible::solid::{
    Hexahedron, Integration, Law, Material, Quadrilateral, Section, Tetrahedron, Triangle,
};
use saltus_mechanics::flexible::{
    Cell, Damping, Differentiated, Element, ElementError, Energy, MassMatrix,
};
use serde_json::Value;

/// What an element is made of, by the words of the records.
#[derive(Debug, Clone)]
pub struct Spec {
    pub law: Law,
    pub young: f64,
    pub poisson: f64,
    pub density: f64,
    pub mean: bool,
    pub stress: bool,
    pub mass: MassMatrix,
    pub damping: Damping,
    /// Shear and bulk modulus instead of Young's and Poisson's.
    pub moduli: Option<[f64; 2]>,
}

pub fn law(name: &str) -> Law {
    match name {
        "linear" => Law::Linear,
        "stvk" => Law::StVenantKirchhoff,
        "nh" => Law::NeoHookean,
        "nhiso" => Law::NeoHookeanSplit,
        other => panic!("no law {other}"),
    }
}

pub fn is_mean(name: &str) -> bool {
    match name {
        "full" => false,
        "bbar" | "q1p0" => true,
        other => panic!("no integration {other}"),
    }
}

impl Spec {
    pub fn new(law: Law, young: f64, poisson: f64) -> Self {
        Self {
            law,
            young,
            poisson,
            density: 1.0,
            mean: false,
            stress: false,
            mass: MassMatrix::Consistent,
            damping: Damping::NONE,
            moduli: None,
        }
    }

    pub fn of(record: &Value) -> Self {
        let p = &record["parameters"];
        Self {
            density: p["rho"].as_f64().unwrap(),
            mean: is_mean(p["integration"].as_str().unwrap()),
            stress: p["plane"] == "stress",
            ..Self::new(
                law(p["material"].as_str().unwrap()),
                p["E"].as_f64().unwrap(),
                p["nu"].as_f64().unwrap(),
            )
        }
    }

    fn material(&self) -> Result<Material, ElementError> {
        match self.moduli {
            Some([mu, kappa]) => Material::from_moduli(self.law, mu, kappa, self.density),
            None => Material::new(self.law, self.young, self.poisson, self.density),
        }
    }

    fn finish<const D: usize>(&self, section: Section<D>) -> Result<Section<D>, ElementError> {
        let integration = if self.mean {
            Integration::MeanDilatation
        } else {
            Integration::Full
        };
        let section = section.with_mass(self.mass).with_damping(self.damping);
        section.with_integration(integration)
    }

    pub fn plane(&self) -> Result<Section<2>, ElementError> {
        let material = self.material()?;
        self.finish(if self.stress {
            Section::plane_stress(material, 1.0)?
        } else {
            Section::plane_strain(material, 1.0)?
        })
    }

    pub fn space(&self) -> Result<Section<3>, ElementError> {
        self.finish(Section::space(self.material()?))
    }
}

/// An element whatever its type.
pub trait AnyElement {
    fn energy(&self, q: &[f64]) -> f64;
    fn force(&self, q: &[f64], v: &[f64]) -> Vec<f64>;
    fn tangents(&self, q: &[f64], v: &[f64]) -> (Vec<f64>, Vec<f64>);
    fn mass(&self) -> Vec<f64>;
    fn fields(&self, q: &[f64]) -> Vec<f64>;
    fn exact_force(&self, q: &[f64]) -> Vec<f64>;
    fn exact_stiffness(&self, q: &[f64]) -> Vec<f64>;
    fn finite_differences(&self, q: &[f64], v: &[f64]) -> (f64, f64);
}

impl<E: Element + Energy + Copy> AnyElement for E {
    fn energy(&self, q: &[f64]) -> f64 {
        Element::energy(self, q)
    }

    fn force(&self, q: &[f64], v: &[f64]) -> Vec<f64> {
        crate::support::force(self, q, v)
    }

    fn tangents(&self, q: &[f64], v: &[f64]) -> (Vec<f64>, Vec<f64>) {
        crate::support::tangents(self, q, v)
    }

    fn mass(&self) -> Vec<f64> {
        crate::support::mass(self)
    }

    fn fields(&self, q: &[f64]) -> Vec<f64> {
        crate::support::fields(self, q)
    }

    fn exact_force(&self, q: &[f64]) -> Vec<f64> {
        crate::support::force(&Differentiated(*self), q, &vec![0.0; q.len()])
    }

    fn exact_stiffness(&self, q: &[f64]) -> Vec<f64> {
        crate::support::stiffness(&Differentiated(*self), q, &vec![0.0; q.len()])
    }

    fn finite_differences(&self, q: &[f64], v: &[f64]) -> (f64, f64) {
        crate::support::finite_differences(self, q, v)
    }
}

pub fn cell(kind: &str) -> Cell {
    match kind {
        "T3" => Cell::Triangle,
        "Q4" => Cell::Quadrilateral,
        "T4" => Cell::Tetrahedron,
        "H8" => Cell::Hexahedron,
        other => panic!("no element {other}"),
    }
}

fn plane<const N: usize>(x: &[[f64; 3]]) -> [[f64; 2]; N] {
    std::array::from_fn(|a| [x[a][0], x[a][1]])
}

fn space<const N: usize>(x: &[[f64; 3]]) -> [[f64; 3]; N] {
    std::array::from_fn(|a| x[a])
}

pub fn element(
    kind: Cell,
    spec: &Spec,
    x: &[[f64; 3]],
) -> Result<Box<dyn AnyElement>, ElementError> {
    Ok(match kind {
        Cell::Triangle => Box::new(Triangle::new(&spec.plane()?, &plane(x))?),
        Cell::Quadrilateral => Box::new(Quadrilateral::new(&spec.plane()?, &plane(x))?),
        Cell::Tetrahedron => Box::new(Tetrahedron::new(&spec.space()?, &space(x))?),
        Cell::Hexahedron => Box::new(Hexahedron::new(&spec.space()?, &space(x))?),
        _ => panic!("no solid"),
    })
}

/// A body: elements, positions, and which of them are given.
pub struct Body {
    pub dim: usize,
    pub elements: Vec<Box<dyn AnyElement>>,
    pub nodes: Vec<Vec<usize>>,
    pub reference: Vec<f64>,
    pub q: Vec<f64>,
    pub given: Vec<bool>,
}

impl Body {
    pub fn new(mesh: &Mesh, kind: Cell, spec: &Spec) -> Self {
        let dim = kind.dimension();
        let nodes: Vec<Vec<usize>> = mesh.cells(kind).map(<[usize]>::to_vec).collect();
        let make = |cell: &Vec<usize>| {
            let x: Vec<[f64; 3]> = cell.iter().map(|&n| mesh.nodes[n]).collect();
            element(kind, spec, &x).unwrap()
        };
        let reference: Vec<f64> = mesh.nodes.iter().flat_map(|x| x[..dim].to_vec()).collect();
        Self {
            dim,
            elements: nodes.iter().map(make).collect(),
            nodes,
            q: reference.clone(),
            given: vec![false; reference.len()],
            reference,
        }
    }

    pub fn place(&self, e: usize, i: usize) -> usize {
        self.nodes[e][i / self.dim] * self.dim + i % self.dim
    }

    pub fn local(&self, e: usize) -> Vec<f64> {
        (0..self.nodes[e].len() * self.dim)
            .map(|i| self.q[self.place(e, i)])
            .collect()
    }

    /// Holds all components of the nodes at their reference places.
    pub fn clamp(&mut self, nodes: &[usize]) {
        for &n in nodes {
            self.given[n * self.dim..(n + 1) * self.dim].fill(true);
        }
    }

    pub fn displacement(&self, n: usize, component: usize) -> f64 {
        let i = n * self.dim + component;
        self.q[i] - self.reference[i]
    }

    pub fn assembled(&self, of: impl Fn(usize) -> Vec<f64>) -> SquareMatrix {
        let mut matrix = SquareMatrix::new(self.q.len());
        for e in 0..self.elements.len() {
            let k = of(e);
            let n = self.nodes[e].len() * self.dim;
            for i in 0..n {
                for j in 0..n {
                    matrix.entry(self.place(e, i), self.place(e, j), k[i * n + j]);
                }
            }
        }
        matrix
    }

    /// Equilibrium under `load`; returns the number of solves, the last of which changed nothing.
    pub fn equilibrium(&mut self, load: &[f64], linear: bool) -> usize {
        let mut matrix = SquareMatrix::new(self.q.len());
        let size = crate::support::largest(&self.reference);
        for iteration in 1..40 {
            let mut x = load.to_vec();
            matrix.clear();
            for e in 0..self.elements.len() {
                let (q, v) = (self.local(e), vec![0.0; self.nodes[e].len() * self.dim]);
                let f = self.elements[e].force(&q, &v);
                let (k, _) = self.elements[e].tangents(&q, &v);
                for i in 0..q.len() {
                    let row = self.place(e, i);
                    x[row] -= f[i];
                    for j in 0..q.len() {
                        let col = self.place(e, j);
                        if !self.given[row] && !self.given[col] {
                            matrix.entry(row, col, k[i * q.len() + j]);
                        }
                    }
                }
            }
            for (i, given) in self.given.iter().enumerate() {
                if *given {
                    matrix.entry(i, i, 1.0);
                    x[i] = 0.0;
                }
            }
            matrix.factorise().unwrap();
            matrix.solve(&mut x);
            self.q.iter_mut().zip(&x).for_each(|(q, x)| *q += x);
            if linear || crate::support::largest(&x) < 1e-12 * size {
                return iteration;
            }
        }
        panic!("no equilibrium");
    }
}
