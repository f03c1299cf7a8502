//! The element: gradients computed once, then energy, force and tangent from the material.

use super::super::differentiate::Energy;
use super::super::element::{Cell, Element, NodeKind};
use super::super::mesh::{CellId, Mesh, MeshError};
use super::super::options::{ElementError, MassMatrix};
use super::fields;
use super::material::{Law, Response, add_geometric};
use super::section::Section;
use super::shape::Shape;
use super::tensor::{
    Tensor, Tensor4, cofactor, contract, delta, determinant, identity, product, product_transposed,
    tensor, tensor4,
};
use crate::rotation::Scalar;
use std::marker::PhantomData;

/// A determinant below this part of the size of the element counts as zero.
pub(in crate::flexible) const FLAT: f64 = 1e-12;

/// A solid element with `N` nodes and `Q` integration points in `D` dimensions.
///
/// Elements turned inside out during a motion have no neo-Hookean energy: it comes out as not a number, which a scheme
/// refuses; smaller steps are the cure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid<S, const D: usize, const N: usize, const Q: usize> {
    pub(super) section: Section<D>,
    pub(super) response: Response,
    /// Gradients of the shape functions by reference coordinates in space \[1/m\], point by point.
    gradients: [[[f64; D]; N]; Q],
    /// The same at the centre.
    pub(super) centre: [[f64; D]; N],
    /// Reference volume of each point \[m³\].
    weights: [f64; Q],
    shape: PhantomData<S>,
}

/// Positions of the nodes, or velocities, node by node.
#[inline(always)]
pub(super) fn nodes<const D: usize, const N: usize, T: Scalar>(q: &[T]) -> [[T; D]; N] {
    std::array::from_fn(|a| std::array::from_fn(|i| q[a * D + i]))
}

/// `Σ xₐ ⊗ ∇Nₐ`.
#[inline(always)]
pub(super) fn gradient<T: Scalar, const D: usize, const N: usize>(
    x: &[[T; D]; N],
    gradients: &[[f64; D]; N],
) -> Tensor<T, D> {
    let mut f = [[T::from(0.0); D]; D];
    for (x, n) in x.iter().zip(gradients) {
        for i in 0..D {
            for j in 0..D {
                f[i][j] += x[i] * n[j];
            }
        }
    }
    f
}

/// `force ← force + w P ∇N`.
#[inline(always)]
fn add_force<const D: usize, const N: usize>(
    w: f64,
    stress: &Tensor<f64, D>,
    gradients: &[[f64; D]; N],
    force: &mut [[f64; D]; N],
) {
    for (force, n) in force.iter_mut().zip(gradients) {
        for i in 0..D {
            let mut sum = 0.0;
            for j in 0..D {
                sum += stress[i][j] * n[j];
            }
            force[i] += w * sum;
        }
    }
}

/// Makes a matrix (size × size) that is symmetric but for its last digits exactly so: below the diagonal stands what is
/// above it.
fn mirror(size: usize, matrix: &mut [f64]) {
    for row in 1..size {
        for col in 0..row {
            matrix[row * size + col] = matrix[col * size + row];
        }
    }
}

/// `K ← K + w ∇N A ∇N`, row-major; only blocks with `a ≤ b` for symmetric moduli.
#[inline(always)]
fn add_stiffness<const D: usize, const N: usize>(
    w: f64,
    moduli: &Tensor4<D>,
    gradients: &[[f64; D]; N],
    symmetric: bool,
    k: &mut [f64],
) {
    for a in 0..N {
        let mut half = [[[0.0; D]; D]; D];
        for i in 0..D {
            for j in 0..D {
                let n = w * gradients[a][j];
                for m in 0..D {
                    for l in 0..D {
                        half[i][m][l] += n * moduli[i][j][m][l];
                    }
                }
            }
        }
        for b in if symmetric { a } else { 0 }..N {
            let n = &gradients[b];
            for i in 0..D {
                let row = &mut k[(a * D + i) * N * D + b * D..][..D];
                for m in 0..D {
                    let mut sum = 0.0;
                    for l in 0..D {
                        sum += half[i][m][l] * n[l];
                    }
                    row[m] += sum;
                }
            }
        }
    }
}

impl<S: Shape<D, N, Q>, const D: usize, const N: usize, const Q: usize> Solid<S, D, N, Q> {
    /// An element with its nodes at these stress-free places \[m\], in the order of [`Cell`].
    ///
    /// # Errors
    /// [`ElementError::Shape`] with the Jacobian where the element is turned inside out or flat at an integration point.
    pub fn new(section: &Section<D>, places: &[[f64; D]; N]) -> Result<Self, ElementError> {
        let size = size(places);
        let mut gradients = [[[0.0; D]; N]; Q];
        let mut weights = [0.0; Q];
        for (q, (at, weight)) in S::points().iter().enumerate() {
            let local = S::gradients(at);
            let (inverse, det) = jacobian(&local, places);
            if !det.is_finite() || det <= FLAT * size {
                return Err(Self::refuse(at, det));
            }
            weights[q] = weight * det * section.thickness;
            gradients[q] = local.map(|n| apply(&inverse, &n));
        }
        let local = S::gradients(&S::centre());
        let (inverse, _) = jacobian(&local, places);
        Ok(Self {
            section: *section,
            response: section.response(),
            gradients,
            centre: local.map(|n| apply(&inverse, &n)),
            weights,
            shape: PhantomData,
        })
    }

    /// One element for each cell of its kind in the mesh; plane elements look at x and y.
    ///
    /// # Errors
    /// [`MeshError::Shape`] with the cell, its nodes and the Jacobian.
    pub fn on_mesh(section: &Section<D>, mesh: &Mesh) -> Result<Vec<Self>, MeshError> {
        mesh.cells(S::CELL)
            .enumerate()
            .map(Self::in_cell(section, mesh))
            .collect()
    }

    /// The element of the first cell of its kind, which stands for all of a mesh whose cells have one shape; none
    /// where there is no cell.
    ///
    /// # Errors
    /// As [`on_mesh`](Self::on_mesh).
    pub fn of_first(section: &Section<D>, mesh: &Mesh) -> Result<Vec<Self>, MeshError> {
        let first = mesh.cells(S::CELL).enumerate().take(1);
        first.map(Self::in_cell(section, mesh)).collect()
    }

    /// Makes the element of a cell.
    fn in_cell<'a>(
        section: &'a Section<D>,
        mesh: &'a Mesh,
    ) -> impl Fn((usize, &'a [usize])) -> Result<Self, MeshError> {
        move |(index, cell)| {
            let place = |a: usize| std::array::from_fn(|i| mesh.nodes[cell[a]][i]);
            Self::new(section, &std::array::from_fn(place)).map_err(|e| MeshError::Shape {
                cell: format!("{} (nodes {cell:?})", CellId::new(S::CELL, index)),
                problem: format!("refused: {e}"),
                cure: "or mend the orientation of the mesh",
            })
        }
    }

    fn refuse(at: &[f64; D], det: f64) -> ElementError {
        ElementError::Shape {
            what: S::NAME,
            why: format!(
                "its Jacobian determinant is {det:.3e} at {at:.3?} of the reference shape"
            ),
            cure: "order its nodes as the shape demands, counter-clockwise, and keep them apart",
        }
    }

    /// What it is made of.
    #[must_use]
    pub const fn section(&self) -> &Section<D> {
        &self.section
    }

    /// Reference volume \[m³\].
    #[must_use]
    pub fn volume(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Mass between the nodes, the same in every direction \[kg\].
    fn scalar_mass(&self) -> [[f64; N]; N] {
        let density = self.section.material.density;
        let mut m = [[0.0; N]; N];
        if S::SIMPLEX {
            let whole = density * self.volume() / ((D + 1) * (D + 2)) as f64;
            m = std::array::from_fn(|a| std::array::from_fn(|b| whole * (1.0 + delta(a, b))));
        } else {
            for (&w, (at, _)) in self.weights.iter().zip(&S::points()) {
                let n = S::values(at);
                for a in 0..N {
                    for b in 0..N {
                        m[a][b] += density * w * n[a] * n[b];
                    }
                }
            }
        }
        if self.section.mass == MassMatrix::Lumped {
            let sums = m.map(|row| row.iter().sum::<f64>());
            m = std::array::from_fn(|a| std::array::from_fn(|b| delta(a, b) * sums[a]));
        }
        m
    }

    /// Mean dilatation and its derivative by the positions.
    #[inline]
    pub(super) fn mean_dilatation(&self, x: &[[f64; D]; N]) -> (f64, [[f64; D]; N]) {
        let (mut sum, mut slope) = (0.0, [[0.0; D]; N]);
        let inverse = 1.0 / self.volume();
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let f = gradient(x, n);
            sum += w * self.response.dilatation(&f);
            add_force(
                w * inverse,
                &self.response.dilatation_gradient(&f),
                n,
                &mut slope,
            );
        }
        (sum * inverse, slope)
    }

    /// `force ← force + elastic force`.
    #[inline]
    fn add_elastic(&self, x: &[[f64; D]; N], force: &mut [[f64; D]; N]) {
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            add_force(w, &self.response.stress(&gradient(x, n)), n, force);
        }
        if self.response.mean {
            let (mean, slope) = self.mean_dilatation(x);
            let pressure = self.volume() * self.response.volume_derivatives(mean).0;
            for (force, slope) in force.iter_mut().zip(&slope) {
                for i in 0..D {
                    force[i] += pressure * slope[i];
                }
            }
        }
    }

    /// What the rate of strain is measured against: `F`, or the identity for the linear law.
    #[inline(always)]
    fn strained(&self, x: &[[f64; D]; N], n: &[[f64; D]; N]) -> Tensor<f64, D> {
        if self.response.law == Law::Linear {
            return identity();
        }
        gradient(x, n)
    }

    /// Rate of the mean volume strain `tr Ė`, its derivatives by velocity and by position, times the volume.
    fn mean_rate(&self, x: &[[f64; D]; N], v: &[[f64; D]; N]) -> (f64, [[[f64; D]; N]; 2]) {
        let (mut rate, mut slopes) = (0.0, [[[0.0; D]; N]; 2]);
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let (f, speed) = (self.strained(x, n), gradient(v, n));
            rate += w * contract(&f, &speed);
            add_force(w, &f, n, &mut slopes[0]);
            add_force(w, &speed, n, &mut slopes[1]);
        }
        (rate / self.volume(), slopes)
    }

    /// `force ← force + damping force`.
    fn add_damping(&self, x: &[[f64; D]; N], v: &[[f64; D]; N], force: &mut [[f64; D]; N]) {
        let damping = self.section.damping;
        if damping.alpha != 0.0 {
            let m = self.scalar_mass();
            for a in 0..N {
                for b in 0..N {
                    for i in 0..D {
                        force[a][i] += damping.alpha * m[a][b] * v[b][i];
                    }
                }
            }
        }
        if damping.beta == 0.0 {
            return;
        }
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let (f, speed) = (self.strained(x, n), gradient(v, n));
            let stress = product(&f, &self.response.rate_stress(&f, &speed));
            add_force(damping.beta * w, &stress, n, force);
        }
        if self.response.mean {
            let (rate, [slope, _]) = self.mean_rate(x, v);
            let pressure = damping.beta * self.response.kappa * rate;
            for (force, slope) in force.iter_mut().zip(&slope) {
                for i in 0..D {
                    force[i] += pressure * slope[i];
                }
            }
        }
    }

    /// Adds the derivatives of the damping force by position and velocity.
    fn add_damping_tangents(
        &self,
        x: &[[f64; D]; N],
        v: &[[f64; D]; N],
        stiffness: &mut [f64],
        damping: &mut [f64],
    ) {
        let (alpha, beta) = (self.section.damping.alpha, self.section.damping.beta);
        if alpha != 0.0 {
            self.send_mass(alpha, damping);
        }
        if beta == 0.0 {
            return;
        }
        let r = &self.response;
        let (lambda, mu) = (r.local_lambda(), r.mu);
        let moves = r.law != Law::Linear;
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let (f, speed) = (self.strained(x, n), gradient(v, n));
            add_stiffness(beta * w, &r.material_moduli(&f), n, false, damping);
            if moves {
                let s = r.rate_stress(&f, &speed);
                let mixed = product_transposed(&f, &speed);
                let mut moduli = tensor4(|i, j, k, l| {
                    lambda * f[i][j] * speed[k][l]
                        + mu * (mixed[i][k] * delta(j, l) + f[i][l] * speed[k][j])
                });
                add_geometric(&mut moduli, &s);
                add_stiffness(beta * w, &moduli, n, false, stiffness);
            }
        }
        if r.mean {
            let (rate, [slope, turn]) = self.mean_rate(x, v);
            let factor = beta * r.kappa / self.volume();
            add_outer(factor, &slope, &slope, damping);
            if moves {
                add_outer(factor, &slope, &turn, stiffness);
                let pressure = identity::<D>().map(|row| row.map(|d| beta * r.kappa * rate * d));
                let mut moduli = [[[[0.0; D]; D]; D]; D];
                add_geometric(&mut moduli, &pressure);
                for (n, &w) in self.gradients.iter().zip(&self.weights) {
                    add_stiffness(w, &moduli, n, false, stiffness);
                }
            }
        }
    }

    /// `matrix ← matrix + factor M`.
    fn send_mass(&self, factor: f64, matrix: &mut [f64]) {
        let m = self.scalar_mass();
        for a in 0..N {
            for b in 0..N {
                for i in 0..D {
                    matrix[(a * D + i) * N * D + b * D + i] += factor * m[a][b];
                }
            }
        }
    }
}

/// `matrix ← matrix + factor a bᵀ`.
fn add_outer<const D: usize, const N: usize>(
    factor: f64,
    a: &[[f64; D]; N],
    b: &[[f64; D]; N],
    matrix: &mut [f64],
) {
    let (a, b) = (a.as_flattened(), b.as_flattened());
    for (row, a) in matrix.chunks_exact_mut(N * D).zip(a) {
        for (entry, b) in row.iter_mut().zip(b) {
            *entry += factor * a * b;
        }
    }
}

/// The largest extent of an element, to the power of its dimension: what its determinants are compared with.
fn size<const D: usize, const N: usize>(places: &[[f64; D]; N]) -> f64 {
    let extents = places.iter().flat_map(|x| {
        let from = &places[0];
        x.iter().zip(from).map(|(x, y)| (x - y).abs())
    });
    extents.fold(0.0, f64::max).powi(D as i32)
}

/// Lowest and highest Jacobian at the integration points of an element, relative to its size.
pub(in crate::flexible) fn measures<
    S: Shape<D, N, Q>,
    const D: usize,
    const N: usize,
    const Q: usize,
>(
    places: &[[f64; D]; N],
) -> (f64, f64) {
    let size = size(places);
    let measure = |(at, _): &([f64; D], f64)| jacobian(&S::gradients(at), places).1 / size;
    let all = S::points().map(|point| measure(&point));
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    (low, all.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// Inverse transposed of `∂X/∂ξ`, and its determinant.
fn jacobian<const D: usize, const N: usize>(
    local: &[[f64; D]; N],
    places: &[[f64; D]; N],
) -> (Tensor<f64, D>, f64) {
    let map = gradient(places, local);
    let c = cofactor(&map);
    let det = determinant(&map, &c);
    (tensor(|i, j| c[i][j] / det), det)
}

/// `A x`.
fn apply<const D: usize>(a: &Tensor<f64, D>, x: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|i| (0..D).map(|j| a[i][j] * x[j]).sum())
}

impl<S: Shape<D, N, Q>, const D: usize, const N: usize, const Q: usize> Energy
    for Solid<S, D, N, Q>
{
    const NODE: NodeKind = if D == 2 {
        NodeKind::Plane
    } else {
        NodeKind::Space
    };
    const NODES: usize = N;
    const CELL: Cell = S::CELL;

    fn strain_energy<T: Scalar>(&self, q: &[T]) -> T {
        let x: [[T; D]; N] = nodes(q);
        let (mut energy, mut dilatation) = (T::from(0.0), T::from(0.0));
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let f = gradient(&x, n);
            energy += self.response.density(&f) * w;
            if self.response.mean {
                dilatation += self.response.dilatation(&f) * w;
            }
        }
        if self.response.mean {
            let volume = self.volume();
            energy += self.response.volume_energy(dilatation / volume) * volume;
        }
        energy
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
        self.send_mass(1.0, mass);
        mirror(N * D, mass);
    }
}

impl<S: Shape<D, N, Q>, const D: usize, const N: usize, const Q: usize> Element
    for Solid<S, D, N, Q>
{
    const NODE: NodeKind = <Self as Energy>::NODE;
    const NODES: usize = N;
    const CELL: Cell = S::CELL;
    const FIELDS: &'static [&'static str] = if D == 2 {
        &fields::IN_THE_PLANE
    } else {
        &fields::IN_SPACE
    };

    fn is_linear(&self) -> bool {
        self.response.law == Law::Linear
    }

    fn is_damped(&self) -> bool {
        !self.section.damping.is_zero()
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.strain_energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let (x, mut sum) = (nodes(q), [[0.0; D]; N]);
        self.add_elastic(&x, &mut sum);
        if self.is_damped() {
            self.add_damping(&x, &nodes(v), &mut sum);
        }
        force.copy_from_slice(sum.as_flattened());
    }

    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        stiffness.fill(0.0);
        damping.fill(0.0);
        let x = nodes(q);
        let mean = self.response.mean.then(|| {
            let (mean, slope) = self.mean_dilatation(&x);
            (self.response.volume_derivatives(mean), slope)
        });
        for (n, &w) in self.gradients.iter().zip(&self.weights) {
            let f = gradient(&x, n);
            let (_, mut moduli) = self.response.moduli(&f);
            if let Some(((pressure, _), _)) = mean {
                self.response
                    .add_dilatation_curvature(&f, pressure, &mut moduli);
            }
            add_stiffness(w, &moduli, n, true, stiffness);
        }
        if let Some(((_, bulk), slope)) = mean {
            add_outer(bulk * self.volume(), &slope, &slope, stiffness);
        }
        mirror(N * D, stiffness);
        if self.is_damped() {
            self.add_damping_tangents(&x, &nodes(v), stiffness, damping);
            mirror(N * D, damping);
        }
    }

    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let mut sum = [[0.0; D]; N];
        if self.is_damped() {
            self.add_damping(&nodes(q), &nodes(v), &mut sum);
        }
        force.copy_from_slice(sum.as_flattened());
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        self.stress_and_strain(q, values);
    }
}
