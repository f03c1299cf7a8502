//! The canonical impulses: of all impulses with the velocities of a solution, those of least `Σ d_i z_i²`.
//!
//! With `w` fixed the admissible impulses form a convex set `C`: zero in open contacts, a ray in slipping ones, the cone in sticking
//! ones, the real line in equalities, an interval in boxes. The point of least norm of `{ A z = w − q } ∩ C` is unique and does not
//! depend on the order of the rows. Usually it is the point of least norm in the linear hull of `C`; otherwise it is found by
//! Newton's method on the dual function `θ(λ) = max_{y ∈ C} (Mᵀλ·y − ½ y²) − bᵀλ`, `M` the scaled matrix: `y = P_C(Mᵀλ)`.

use super::block::Block;
use super::residual::View;
use crate::cone::norm;
use crate::friction::ConeFace;
use saltus_linear::{Dense, Lu, MinimumNorm, dot, max_abs};

/// Velocities below this, relative to the size of the problem, count as zero.
const SMALL: f64 = 1e-11;
/// A contact sticks where its friction is below this share of its bound.
const INSIDE: f64 = 1.0 - 1e-9;
/// Tolerance for impulses outside of `C`, relative to the largest.
const OUTSIDE: f64 = 1e-13;
/// Largest number of Newton steps on the dual function.
const STEPS: u32 = 80;
/// Regularisation of its second derivative, relative.
const RIDGE: f64 = 1e-11;

/// The admissible scaled impulses of a block with given velocities.
#[derive(Debug, Clone, Copy)]
enum Face {
    /// A given impulse: zero, or a bound.
    Fixed,
    /// Any number.
    Free,
    /// Between two bounds, in scaled units.
    Interval(f64, f64),
    /// Face of a cone, with its coefficients in scaled units.
    Planar(ConeFace<2>, f64),
    Spatial(ConeFace<3>, f64),
    Rolling(ConeFace<5>, f64, f64),
    /// A joint that sticks: any number; the bound is checked at the end.
    Joint,
}

/// Solver for canonical impulses, with buffers reused between problems.
#[derive(Debug, Default)]
pub(super) struct Canonical {
    faces: Vec<Face>,
    /// Scaled impulses.
    y: Vec<f64>,
    found: Vec<f64>,
    /// `S A S`.
    matrix: Dense,
    /// `matrix` times a basis of the hull of `C`.
    hull_matrix: Dense,
    coefficients: Vec<f64>,
    image: Vec<f64>,
    rhs: Vec<f64>,
    rank: MinimumNorm,
    dual: Vec<f64>,
    x: Vec<f64>,
    trial: Vec<f64>,
    slope: Dense,
    hessian: Dense,
    lu: Lu,
    step: Vec<f64>,
}

impl Canonical {
    /// Whether some contact is between two modes, without impulse but not separating, or with friction at its bound but not slipping,
    /// so that impulses need not be unique although the linear system of the modes is regular.
    pub fn is_weak(view: &View<'_>, s: &[f64], z: &[f64], w: &[f64]) -> bool {
        let small = SMALL * size(view, s, z);
        view.blocks.iter().enumerate().any(|(k, block)| {
            let i = view.first[k];
            if block.is_contact() && z[i] <= 0.0 {
                return w[i] * s[i] <= small;
            }
            let load = if block.is_contact() {
                z[i]
            } else {
                view.joint_load(k, z)
            };
            block.discs().into_iter().any(|(from, count, mu)| {
                let rows = i + from..i + from + count;
                mu * load > 0.0
                    && norm(&w[rows.clone()]) * s[i + from] <= small
                    && norm(&z[rows]) >= INSIDE * mu * load
            })
        })
    }

    /// Replaces the solution `z` with velocities `w` by the canonical one in `candidate`, where that differs; `s` are the scales
    /// `1/√d` of the impulses. Returns how many impulses are not unique, and whether `candidate` was written.
    pub fn find(
        &mut self,
        view: &View<'_>,
        s: &[f64],
        z: &[f64],
        w: &[f64],
        candidate: &mut Vec<f64>,
    ) -> (u32, bool) {
        self.load(view, s, z, w);
        let columns = self.fill_hull_columns(view);
        let rank = self.rank.factorise(&self.hull_matrix);
        if rank >= columns {
            return (0, false);
        }
        let redundant = (columns - rank) as u32;
        self.least_norm(columns);
        self.impulses_from_coefficients(view);
        let inside = self.project_to_set(view) || self.solve_dual(view);
        if inside {
            candidate.clear();
            candidate.extend(self.found.iter().zip(s).map(|(y, s)| y * s));
        }
        (redundant, inside)
    }

    fn load(&mut self, view: &View<'_>, s: &[f64], z: &[f64], w: &[f64]) {
        let n = z.len();
        let small = SMALL * size(view, s, z);
        self.y.clear();
        self.y.extend(z.iter().zip(s).map(|(z, s)| z / s));
        self.matrix.reset(n, n);
        let matrix = &mut self.matrix;
        view.matrix
            .visit(|i, j, v| matrix[(i, j)] = s[i] * v * s[j]);
        self.faces.clear();
        for (k, &block) in view.blocks.iter().enumerate() {
            let i = view.first[k];
            let scaled = |r: usize| w[i + r] * s[i + r];
            self.faces.push(match block {
                Block::Equality => Face::Free,
                Block::Box { lo, hi } => {
                    if scaled(0).abs() > small {
                        Face::Fixed
                    } else {
                        Face::Interval(lo / s[i], hi / s[i])
                    }
                }
                Block::Unilateral | Block::Coulomb { tangents: 0, .. } => {
                    if scaled(0) > small {
                        Face::Fixed
                    } else {
                        Face::Interval(0.0, f64::INFINITY)
                    }
                }
                Block::Coulomb { mu, tangents: 1 } => {
                    let u = [0, 1].map(scaled);
                    Face::Planar(face_of(&u, &self.y[i..], (mu, 0.0), small), mu)
                }
                Block::Coulomb { mu, .. } => {
                    let u = [0, 1, 2].map(scaled);
                    Face::Spatial(face_of(&u, &self.y[i..], (mu, 0.0), small), mu)
                }
                Block::Rolling { mu, length } => {
                    let u = [0, 1, 2, 3, 4].map(scaled);
                    let length = length * s[i] / s[i + 3];
                    Face::Rolling(face_of(&u, &self.y[i..], (mu, length), small), mu, length)
                }
                Block::JointCoulomb { .. } => {
                    let moves = (0..block.rows()).any(|r| scaled(r).abs() > small);
                    if moves { Face::Fixed } else { Face::Joint }
                }
            });
        }
        self.fix_carriers(view);
    }

    /// Fixes the impulses that carry a slipping joint, because they determine its friction.
    fn fix_carriers(&mut self, view: &View<'_>) {
        for (k, &block) in view.blocks.iter().enumerate() {
            if let Block::JointCoulomb {
                first_normal,
                normals,
                ..
            } = block
                && matches!(self.faces[k], Face::Fixed)
                && let Ok(carrier) = view.first.binary_search(&first_normal)
            {
                self.faces[carrier..carrier + normals].fill(Face::Fixed);
            }
        }
    }

    /// Calls `column(block, basis vector from the first row on)` for a basis of the hull of `C`.
    fn basis(&self, view: &View<'_>, mut column: impl FnMut(usize, &[f64])) {
        let unit = |rows: usize, r: usize| {
            let mut e = [0.0; 5];
            e[r] = 1.0;
            (e, rows)
        };
        for (k, face) in self.faces.iter().enumerate() {
            let i = view.first[k];
            let rows = view.blocks[k].rows();
            match face {
                Face::Fixed => {}
                Face::Free | Face::Interval(..) | Face::Joint => {
                    for r in 0..rows {
                        let (e, rows) = unit(rows, r);
                        column(i, &e[..rows]);
                    }
                }
                Face::Planar(face, mu) => hull(face, [*mu, 0.0], |e| column(i, e)),
                Face::Spatial(face, mu) => hull(face, [*mu, 0.0], |e| column(i, e)),
                Face::Rolling(face, mu, length) => {
                    hull(face, [*mu, *length], |e| column(i, e));
                }
            }
        }
    }

    /// Fills `hull_matrix` and the coefficients of the current impulses; returns the number of columns.
    fn fill_hull_columns(&mut self, view: &View<'_>) -> usize {
        let mut coefficients = std::mem::take(&mut self.coefficients);
        coefficients.clear();
        self.basis(view, |i, e| {
            coefficients.push(dot(e, &self.y[i..i + e.len()]))
        });
        let (n, columns) = (self.y.len(), coefficients.len());
        let mut hull_matrix = std::mem::take(&mut self.hull_matrix);
        hull_matrix.reset(n, columns);
        let mut c = 0;
        self.basis(view, |i, e| {
            for row in 0..n {
                hull_matrix[(row, c)] = dot(&self.matrix.row(row)[i..i + e.len()], e);
            }
            c += 1;
        });
        self.hull_matrix = hull_matrix;
        self.coefficients = coefficients;
        columns
    }

    /// The coefficients of least norm with the same velocities.
    fn least_norm(&mut self, columns: usize) {
        let n = self.y.len();
        self.image.clear();
        self.image.resize(n, 0.0);
        self.hull_matrix.apply(&self.coefficients, &mut self.image);
        self.x.clear();
        self.x.resize(columns, 0.0);
        self.rhs.clone_from(&self.image);
        self.rank.solve(&mut self.rhs, &mut self.x);
        // One step of iterative refinement.
        self.rhs.clone_from(&self.image);
        self.hull_matrix.apply_add(-1.0, &self.x, &mut self.rhs);
        self.trial.clear();
        self.trial.resize(columns, 0.0);
        self.rank.solve(&mut self.rhs, &mut self.trial);
        for (x, correction) in self.x.iter_mut().zip(&self.trial) {
            *x += correction;
        }
    }

    /// The scaled impulses for the coefficients `x`.
    fn impulses_from_coefficients(&mut self, view: &View<'_>) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.resize(self.y.len(), 0.0);
        let mut c = 0;
        self.basis(view, |i, e| {
            for (to, e) in found[i..].iter_mut().zip(e) {
                *to += self.x[c] * e;
            }
            c += 1;
        });
        for (k, face) in self.faces.iter().enumerate() {
            if matches!(face, Face::Fixed) {
                let i = view.first[k];
                let rows = i..i + view.blocks[k].rows();
                found[rows.clone()].copy_from_slice(&self.y[rows]);
            }
        }
        self.found = found;
    }

    /// Whether the point found lies in `C` up to rounding; projects it onto `C` then.
    fn project_to_set(&mut self, view: &View<'_>) -> bool {
        let allowed = OUTSIDE * max_abs(&self.found);
        for (k, face) in self.faces.iter().enumerate() {
            let i = view.first[k];
            let mut point = [0.0; 5];
            let rows = view.blocks[k].rows();
            face.project(&self.found[i..i + rows], &mut point);
            let own = &mut self.found[i..i + rows];
            if own
                .iter()
                .zip(&point)
                .any(|(a, b)| !((a - b).abs() <= allowed))
            {
                return false;
            }
            own.copy_from_slice(&point[..rows]);
        }
        true
    }

    /// Newton's method on the dual function; `found` holds the canonical impulses at the end, if it converges.
    fn solve_dual(&mut self, view: &View<'_>) -> bool {
        let n = self.y.len();
        self.image.clear();
        self.image.resize(n, 0.0);
        self.matrix.apply(&self.y, &mut self.image);
        let goal = 1e-15 * dot(&self.image, &self.image).sqrt() * (n as f64).sqrt();
        self.dual.clear();
        self.dual.resize(n, 0.0);
        let mut value = self.dual_value(view);
        let mut least = f64::INFINITY;
        let mut idle = 0;
        for _ in 0..STEPS {
            let size = dot(&self.rhs, &self.rhs).sqrt();
            if size <= goal {
                return true;
            }
            if size < 0.5 * least {
                (least, idle) = (size, 0);
            } else {
                idle += 1;
            }
            if idle > 20 || !size.is_finite() {
                break;
            }
            if !self.dual_step(view) {
                break;
            }
            // The directional derivative of the dual function.
            let descent = dot(&self.rhs, &self.step);
            self.trial.clone_from(&self.dual);
            let mut factor = 1.0;
            loop {
                for ((to, from), step) in self.dual.iter_mut().zip(&self.trial).zip(&self.step) {
                    *to = from + factor * step;
                }
                let next = self.dual_value(view);
                let rounding = 1e-15 * value.abs();
                if next <= value + 1e-4 * factor * descent + rounding || factor < 1e-6 {
                    value = next;
                    break;
                }
                factor *= 0.5;
            }
        }
        let size = dot(&self.rhs, &self.rhs).sqrt();
        size <= 1e2 * goal
    }

    /// The dual function at `dual`; leaves its gradient in `rhs`, the impulses in `found`.
    fn dual_value(&mut self, view: &View<'_>) -> f64 {
        let n = self.y.len();
        self.x.clear();
        self.x.resize(n, 0.0);
        self.matrix
            .apply_transposed_add(1.0, &self.dual, &mut self.x);
        for (k, face) in self.faces.iter().enumerate() {
            let i = view.first[k];
            let rows = i..i + view.blocks[k].rows();
            let mut point = [0.0; 5];
            if matches!(face, Face::Fixed) {
                self.found[rows.clone()].copy_from_slice(&self.y[rows]);
                continue;
            }
            face.project(&self.x[rows.clone()], &mut point);
            let count = rows.len();
            self.found[rows].copy_from_slice(&point[..count]);
        }
        self.rhs.clear();
        self.rhs.resize(n, 0.0);
        self.matrix.apply(&self.found, &mut self.rhs);
        for (g, b) in self.rhs.iter_mut().zip(&self.image) {
            *g -= b;
        }
        dot(&self.x, &self.found)
            - 0.5 * dot(&self.found, &self.found)
            - dot(&self.image, &self.dual)
    }

    /// The Newton step of the dual function, into `step`.
    fn dual_step(&mut self, view: &View<'_>) -> bool {
        let n = self.y.len();
        // slope = V Mᵀ, hessian = M slope.
        self.slope.reset(n, n);
        for (k, face) in self.faces.iter().enumerate() {
            let i = view.first[k];
            let rows = view.blocks[k].rows();
            let mut v = [[0.0; 5]; 5];
            face.slope(&self.x[i..i + rows], &mut v);
            for (r, line) in v[..rows].iter().enumerate() {
                for (c, &v) in line[..rows].iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    for j in 0..n {
                        self.slope[(i + r, j)] += v * self.matrix[(j, i + c)];
                    }
                }
            }
        }
        self.hessian.reset(n, n);
        let mut largest = 0.0_f64;
        for a in 0..n {
            let row = self.hessian.row_mut(a);
            for (j, m) in self.matrix.row(a).iter().enumerate() {
                if *m != 0.0 {
                    saltus_linear::axpy(*m, self.slope.row(j), row);
                }
            }
            largest = largest.max(row[a]);
        }
        let ridge = RIDGE * if largest > 0.0 { largest } else { 1.0 };
        for a in 0..n {
            self.hessian[(a, a)] += ridge;
        }
        if self.lu.factorise(&self.hessian).is_err() {
            return false;
        }
        self.step.clear();
        self.step.extend(self.rhs.iter().map(|g| -g));
        self.lu.solve(&mut self.step);
        self.step.iter().all(|v| v.is_finite())
    }
}

impl Face {
    /// The nearest point of `C`.
    fn project(&self, from: &[f64], to: &mut [f64; 5]) {
        match self {
            Self::Fixed | Self::Free | Self::Joint => to[..from.len()].copy_from_slice(from),
            Self::Interval(lo, hi) => to[0] = from[0].max(*lo).min(*hi),
            Self::Planar(face, mu) => {
                to[..2].copy_from_slice(&face.project(&array(from), *mu, 0.0));
            }
            Self::Spatial(face, mu) => {
                to[..3].copy_from_slice(&face.project(&array(from), *mu, 0.0));
            }
            Self::Rolling(face, mu, length) => *to = face.project(&array(from), *mu, *length),
        }
    }

    /// An element of the generalised Jacobian of [`project`](Self::project).
    fn slope(&self, at: &[f64], v: &mut [[f64; 5]; 5]) {
        match self {
            Self::Fixed => {}
            Self::Free | Self::Joint => {
                for (r, line) in v[..at.len()].iter_mut().enumerate() {
                    line[r] = 1.0;
                }
            }
            Self::Interval(lo, hi) => {
                v[0][0] = if at[0] > *lo && at[0] < *hi { 1.0 } else { 0.0 };
            }
            Self::Planar(face, mu) => widened(&face.slope(&array(at), *mu, 0.0), v),
            Self::Spatial(face, mu) => widened(&face.slope(&array(at), *mu, 0.0), v),
            Self::Rolling(face, mu, length) => {
                widened(&face.slope(&array(at), *mu, *length), v);
            }
        }
    }
}

fn widened<const D: usize>(from: &[[f64; D]; D], to: &mut [[f64; 5]; 5]) {
    for (to, from) in to.iter_mut().zip(from) {
        to[..D].copy_from_slice(from);
    }
}

fn array<const D: usize>(from: &[f64]) -> [f64; D] {
    let mut to = [0.0; D];
    to.copy_from_slice(&from[..D]);
    to
}

/// The size of a problem in scaled units: its data and its impulses.
fn size(view: &View<'_>, s: &[f64], z: &[f64]) -> f64 {
    let q: f64 = view.q.iter().zip(s).map(|(q, s)| (q * s).abs()).sum();
    let y: f64 = z.iter().zip(s).map(|(z, s)| (z / s).abs()).sum();
    q + y
}

/// The face of a contact with the scaled velocities `u` and the scaled impulse `y`. A loaded contact is closed, one inside its cone
/// sticks, and the direction of slip comes from the impulse.
fn face_of<const D: usize>(
    u: &[f64; D],
    y: &[f64],
    (mu, length): (f64, f64),
    small: f64,
) -> ConeFace<D> {
    let mut u = *u;
    if y[0] > 0.0 {
        u[0] = u[0].min(0.0);
        for (from, to, c) in [(1, D.min(3), mu), (D.min(3), D, length)] {
            if norm(&y[from..to]) < INSIDE * c * y[0] {
                u[from..to].fill(0.0);
            }
        }
    }
    let face = ConeFace::new(&u, mu, length, small);
    match face {
        ConeFace::Ray(_) if D < 5 && y[0] > 0.0 => {
            let ray = array::<D>(y);
            let size = norm(&ray);
            ConeFace::Ray(ray.map(|r| r / size))
        }
        _ => face,
    }
}

/// An orthonormal basis of the linear hull of a face; a disc of radius zero has none.
fn hull<const D: usize>(
    face: &ConeFace<D>,
    [mu, length]: [f64; 2],
    mut column: impl FnMut(&[f64]),
) {
    let mut unit = |r: usize| {
        let mut e = [0.0; D];
        e[r] = 1.0;
        column(&e);
    };
    match face {
        ConeFace::Zero => {}
        ConeFace::Ray(ray) => column(ray),
        ConeFace::RayAndDisc {
            ray,
            disc,
            coefficient,
        } => {
            if *coefficient > 0.0 {
                unit(*disc);
                unit(disc + 1);
            }
            column(ray);
        }
        ConeFace::Cone => {
            unit(0);
            for r in 1..D {
                if if r < 3 { mu } else { length } > 0.0 {
                    unit(r);
                }
            }
        }
    }
}
