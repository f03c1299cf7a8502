//! Residuals of a contact problem: the natural map of every law, in velocities.

use super::block::{Block, BlockState};
use super::matrix::Matrix;
use crate::cone::norm;
use crate::mlcp::natural;
use crate::outcome::Tolerance;

/// Rounding of a velocity, relative to the terms it is the sum of.
pub(super) const ROUND_OFF: f64 = 1e-14;
/// Largest share of the data that is accepted as rounding.
const MAX_ROUNDING: f64 = 1e-6;
/// A point with larger terms, relative to the data, is not accepted: their rounding exceeds the data.
const MAX_TERMS: f64 = 1e13;
/// Impulses beyond this multiple of the scale of the data need the check by terms.
const LARGE: f64 = 1e6;

/// A borrowed problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub blocks: &'a [Block],
    /// First row of each block.
    pub first: &'a [usize],
    pub matrix: Matrix<'a>,
    pub q: &'a [f64],
}

/// The diagonal of a block [velocity per impulse]: of the first row, and the largest of each disc of friction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compliance {
    pub normal: f64,
    pub disc: [f64; 2],
}

impl Compliance {
    /// From the diagonal entries of the rows; 1 where none is positive.
    #[inline]
    pub fn of(block: Block, diagonal: impl Fn(usize) -> f64) -> Self {
        let positive = |d: f64| d > 0.0 && d < f64::INFINITY;
        let mut disc = block.discs().map(|(from, count, _)| {
            (from..from + count)
                .map(&diagonal)
                .fold(
                    0.0_f64,
                    |most, d| if positive(d) { most.max(d) } else { most },
                )
        });
        let mut normal = diagonal(0);
        if !positive(normal) {
            normal = if disc[0] > 0.0 { disc[0] } else { 1.0 };
        }
        for d in &mut disc {
            if *d <= 0.0 {
                *d = normal;
            }
        }
        Self { normal, disc }
    }
}

impl View<'_> {
    #[inline]
    pub fn compliance(&self, k: usize) -> Compliance {
        let first = self.first[k];
        Compliance::of(self.blocks[k], |i| self.matrix.entry(first + i, first + i))
    }

    /// Norm of the impulses that carry a joint with friction, 0 for other blocks.
    #[inline]
    pub fn joint_load(&self, k: usize, z: &[f64]) -> f64 {
        match self.blocks[k] {
            Block::JointCoulomb {
                first_normal,
                normals,
                ..
            } => norm(&z[first_normal..first_normal + normals]),
            _ => 0.0,
        }
    }

    /// `w ← A z + q`.
    #[inline]
    pub fn velocity(&self, z: &[f64], w: &mut [f64]) {
        for (i, (w, q)) in w.iter_mut().zip(self.q).enumerate() {
            *w = q + self.matrix.row_dot(i, z);
        }
    }

    /// The natural map of block `k` at `z`.
    #[inline]
    pub fn block_residual(&self, k: usize, z: &[f64], w: &[f64]) -> f64 {
        let (block, first) = (self.blocks[k], self.first[k]);
        let range = first..first + block.rows();
        let joint_load = self.joint_load(k, z);
        natural_map(
            block,
            &z[range.clone()],
            &w[range],
            &self.compliance(k),
            joint_load,
        )
    }

    /// The block with the largest residual, and that residual; NaN counts as the largest.
    pub fn worst(&self, z: &[f64], w: &[f64]) -> (usize, f64) {
        let mut worst = (0, 0.0);
        for k in 0..self.blocks.len() {
            let residual = self.block_residual(k, z, w);
            if residual > worst.1 || residual.is_nan() {
                worst = (k, residual);
                if residual.is_nan() {
                    break;
                }
            }
        }
        worst
    }

    /// Whether the residual of every block is within the tolerance, given `w`.
    ///
    /// The residual of a block may be `floor + residual · s + 1e-14 s'`, `s'` being the largest sum of absolute terms among its rows and `s`
    /// the smaller of that and `√d ‖q‖` (`‖q‖² = Σ q_i²/d_i` over the whole problem). A point whose terms are so large that
    /// their rounding exceeds the data is not accepted.
    #[inline]
    pub fn is_solution(&self, z: &[f64], w: &[f64], tolerance: &Tolerance) -> bool {
        self.examine(z, w, tolerance).0
    }

    /// The same, and the largest residual of a block, which is not that of a NaN.
    #[inline]
    pub fn examine(&self, z: &[f64], w: &[f64], tolerance: &Tolerance) -> (bool, f64) {
        let mut all = BlockCheck::default();
        for (k, &block) in self.blocks.iter().enumerate() {
            let range = self.first[k]..self.first[k] + block.rows();
            let (z_own, w, q) = (&z[range.clone()], &w[range.clone()], &self.q[range]);
            let load = self.joint_load(k, z);
            all.include(block, (z_own, w, q), &self.compliance(k), load, tolerance);
        }
        let energy = all.energy.sqrt();
        let is_solution = all.is_certain() || self.is_solution_by_terms(z, w, tolerance, energy);
        (is_solution, all.worst)
    }

    #[cold]
    fn is_solution_by_terms(
        &self,
        z: &[f64],
        w: &[f64],
        tolerance: &Tolerance,
        energy: f64,
    ) -> bool {
        for k in 0..self.blocks.len() {
            let (terms, data) = self.scales(k, z, energy);
            let rounding = (ROUND_OFF * terms).min(MAX_ROUNDING * data);
            let allowed = tolerance.floor + tolerance.residual * terms.min(data) + rounding;
            let hidden = terms > MAX_TERMS * data + tolerance.floor / ROUND_OFF;
            if hidden || !(self.block_residual(k, z, w) <= allowed) {
                return false;
            }
        }
        true
    }

    /// The largest sum of absolute terms among the rows of block `k`, and the largest `√d ‖q‖`, `energy` being `‖q‖`.
    fn scales(&self, k: usize, z: &[f64], energy: f64) -> (f64, f64) {
        let (block, first, d) = (self.blocks[k], self.first[k], self.compliance(k));
        let (mut terms, mut data) = (0.0_f64, 0.0_f64);
        for (i, row) in (first..first + block.rows()).enumerate() {
            let own = row_compliance(block, i, &d) * z[row];
            let size = self.q[row].abs() + self.matrix.row_size(row, z).max(own.abs());
            terms = terms.max(size);
            data = data.max(row_compliance(block, i, &d).sqrt() * energy);
        }
        (terms, data)
    }

    /// The largest residual of a block relative to the scale that [`is_solution`](Self::is_solution) compares it with; infinite where a block
    /// without data has a residual.
    pub fn relative(&self, z: &[f64], w: &[f64]) -> f64 {
        let mut energy = 0.0;
        for (k, &block) in self.blocks.iter().enumerate() {
            let d = self.compliance(k);
            for (i, q) in self.q[self.first[k]..][..block.rows()].iter().enumerate() {
                energy += q * q / row_compliance(block, i, &d);
            }
        }
        let mut largest = 0.0;
        for k in 0..self.blocks.len() {
            let residual = self.block_residual(k, z, w);
            let (terms, data) = self.scales(k, z, energy.sqrt());
            let relative = if residual == 0.0 {
                0.0
            } else {
                residual / terms.min(data)
            };
            largest = crate::verdict::max_or_nan(largest, relative);
        }
        largest
    }

    /// State of block `k` at `z`, with the velocities `w` of its own rows.
    pub fn state(&self, k: usize, z: &[f64], w: &[f64]) -> BlockState {
        let (block, first) = (self.blocks[k], self.first[k]);
        let d = self.compliance(k);
        if block.is_contact() && z[first] <= 0.0 {
            return BlockState::Open;
        }
        match block {
            Block::Equality | Block::Unilateral => BlockState::Closed,
            Block::Box { lo, hi } => {
                let moves = w[0].abs() > 100.0 * ROUND_OFF * self.terms(first, z);
                let bound = z[first] <= lo || z[first] >= hi;
                if moves && bound {
                    BlockState::Slip
                } else {
                    BlockState::Stick
                }
            }
            _ => {
                let (from, count, mu) = block.discs()[0];
                let rows = first + from..first + from + count;
                let radius = if block.is_contact() {
                    mu * z[first]
                } else {
                    mu * self.joint_load(k, z)
                };
                let rounding = rows.clone().map(|i| self.terms(i, z)).fold(0.0, f64::max);
                let moves = norm(&w[from..from + count]) > 100.0 * ROUND_OFF * rounding;
                let bound = norm(&z[rows]) * d.disc[0] >= (1.0 - 1e-9) * radius * d.disc[0];
                if moves && bound {
                    BlockState::Slip
                } else {
                    BlockState::Stick
                }
            }
        }
    }

    /// The absolute terms whose sum is `w_i`.
    fn terms(&self, i: usize, z: &[f64]) -> f64 {
        self.q[i].abs() + self.matrix.row_size(i, z)
    }
}

/// What a check of all blocks finds without the terms of their rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockCheck {
    /// The largest residual of a block, which is not that of a NaN.
    pub worst: f64,
    /// Whether the data of some block alone do not allow its residual.
    uncertain: bool,
    /// `‖q‖²`, and the largest `d z²`.
    energy: f64,
    large: f64,
}

impl BlockCheck {
    /// Includes a block with its impulses, velocities and data `q`.
    #[inline]
    pub fn include(
        &mut self,
        block: Block,
        (z, w, q): (&[f64], &[f64], &[f64]),
        d: &Compliance,
        joint_load: f64,
        tolerance: &Tolerance,
    ) {
        let residual = natural_map(block, z, w, d, joint_load);
        let mut data = 0.0_f64;
        for (i, (z, q)) in z.iter().zip(q).enumerate() {
            let d = row_compliance(block, i, d);
            data = data.max(q.abs());
            self.energy += q * q / d;
            self.large = self.large.max(d * z * z);
        }
        let certain = tolerance.floor + (tolerance.residual + ROUND_OFF) * data;
        self.uncertain |= !(residual <= certain);
        self.worst = self.worst.max(residual);
    }

    /// Whether the residuals are within the tolerance, whatever the terms of the rows are.
    #[inline]
    pub fn is_certain(&self) -> bool {
        !self.uncertain && self.large <= LARGE * LARGE * self.energy
    }
}

/// The compliance that belongs to row `i` of a block.
#[inline]
pub(super) fn row_compliance(block: Block, i: usize, d: &Compliance) -> f64 {
    match block {
        Block::Coulomb { .. } if i > 0 => d.disc[0],
        Block::Rolling { .. } if i > 2 => d.disc[1],
        Block::Rolling { .. } if i > 0 => d.disc[0],
        Block::JointCoulomb { .. } => d.disc[0],
        _ => d.normal,
    }
}

/// Residual of a block, in velocities: the norm of `F/r` over its rows, with the natural map `F` and `r = 1/d`.
///
/// Rolling rows [rad/s] are weighed by the length `√(d_N/d_R)`. By cases, to avoid cancellation of a small
/// velocity in a large impulse.
#[inline]
pub(super) fn natural_map(
    block: Block,
    z: &[f64],
    w: &[f64],
    d: &Compliance,
    joint_load: f64,
) -> f64 {
    match block {
        Block::Equality => w[0].abs(),
        Block::Unilateral => natural(d.normal * z[0], w[0]),
        Block::Box { lo, hi } => {
            let x = d.normal * z[0] - w[0];
            if x < d.normal * lo {
                d.normal * (z[0] - lo).abs()
            } else if x > d.normal * hi {
                d.normal * (z[0] - hi).abs()
            } else if x.is_nan() {
                f64::NAN
            } else {
                w[0].abs()
            }
        }
        _ => {
            let contact = block.is_contact();
            let mut sum = 0.0;
            let load = if contact {
                let f = natural(d.normal * z[0], w[0]);
                sum = f * f;
                z[0].max(0.0)
            } else {
                joint_load
            };
            for (k, (from, count, mu)) in block.discs().into_iter().enumerate() {
                if count == 0 {
                    continue;
                }
                let weight = if k == 1 { d.normal / d.disc[1] } else { 1.0 };
                let rows = from..from + count;
                sum += weight * disc_map(&z[rows.clone()], &w[rows], d.disc[k], mu * load);
            }
            sum.sqrt()
        }
    }
}

/// The square of `d z − P(d z − w)` with the projection on the disc of radius `d radius`.
#[inline]
fn disc_map(z: &[f64], w: &[f64], d: f64, radius: f64) -> f64 {
    let bound = d * radius;
    let mut size = 0.0;
    for (z, w) in z.iter().zip(w) {
        let x = d * z - w;
        size += x * x;
    }
    let size = size.sqrt();
    let mut sum = 0.0;
    if size <= bound && bound > 0.0 {
        for w in w {
            sum += w * w;
        }
    } else {
        let factor = if size > 0.0 { bound / size } else { 0.0 };
        for (z, w) in z.iter().zip(w) {
            let f = d * z - factor * (d * z - w);
            sum += f * f;
        }
    }
    sum
}
