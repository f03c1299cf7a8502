//! Reactions and velocities of a global problem in known modes, from the equations of motion and those of the modes at once.
//!
//! Where a heavy body rests on a light one, `W = Hᵀ M⁻¹ H` has lost what their reactions differ by, and even at the right reactions
//! `M⁻¹ (H r + f)` is the rounding of large terms over a small mass. With the velocities as unknowns nothing cancels:
//!
//! ```text
//! M v − B x = f ,   A v = −w ,   r = D x
//! ```
//!
//! with a row and an unknown for the normal of every closed contact, and for each tangent of those that stick; a contact that slips
//! exerts `(1, μ t/|t|)` times its unknown.

use super::global::Motion;
use super::problem::GlobalFriction;
use super::residual::{Residual, ResidualScales};
use saltus_linear::{MatrixSink, SquareMatrix};

/// A contact sticks where its friction is below the bound by more than this share.
const INSIDE: f64 = 1e-6;
/// What a row of the equations of motion may leave over, relative to the sum of its absolute terms.
const ROUND_OFF: f64 = 1e-13;

/// The row of a law, the first row of its contact, and the impulse of that contact per unknown.
struct Unknown {
    row: usize,
    first: usize,
    direction: [f64; 3],
}

impl GlobalFriction {
    /// Replaces the impulses `r` (dimension × contacts) of two or three components by those of their modes, with velocities that are
    /// not computed from them. The point is a solution to `tolerance`, and obeys `M v = H r + f` in every row to 1e-13 of its terms;
    /// `None`, and `r` as it was, where there is no such point.
    pub fn refine(&self, r: &mut [f64], tolerance: f64) -> Option<(Motion, Residual)> {
        let unknowns = self.unknowns(r)?;
        let n = self.force().len();
        let mut matrix = SquareMatrix::new(n + unknowns.len());
        for (i, j, value) in self.mass().triplets() {
            matrix.entry(i, j, value);
        }
        let mut right = self.force().to_vec();
        for (k, unknown) in unknowns.iter().enumerate() {
            for (i, value) in self.directions().column(unknown.row) {
                matrix.entry(n + k, i, value);
            }
            for (along, share) in unknown.direction[..self.dimension()].iter().enumerate() {
                for (i, value) in self.directions().column(unknown.first + along) {
                    matrix.entry(i, n + k, -share * value);
                }
            }
            right.push(-self.bias()[unknown.row]);
        }
        matrix.finish();
        matrix.factorise().ok()?;
        let mut x = right.clone();
        matrix.solve(&mut x);
        let mut left = vec![0.0; x.len()];
        matrix.apply(&x, &mut left);
        for (left, right) in left.iter_mut().zip(&right) {
            *left = right - *left;
        }
        matrix.solve(&mut left);
        x.iter_mut().zip(&left).for_each(|(x, left)| *x += left);

        let mut refined = vec![0.0; r.len()];
        for (unknown, x) in unknowns.iter().zip(&x[n..]) {
            for (along, share) in unknown.direction[..self.dimension()].iter().enumerate() {
                refined[unknown.first + along] += share * x;
            }
        }
        x.truncate(n);
        if !self.balances(&x, &refined) {
            return None;
        }
        let motion = self.motion_at(x, &refined);
        let reduced = self.matrix_free().ok()?;
        let residual = ResidualScales::new(&reduced).residual_beside(&reduced, &refined, &motion.u);
        if residual.eta.is_nan() || residual.eta > tolerance {
            return None;
        }
        r.copy_from_slice(&refined);
        Some((motion, residual))
    }

    /// The unknowns in the modes of `r`.
    fn unknowns(&self, r: &[f64]) -> Option<Vec<Unknown>> {
        let d = self.dimension();
        if d > 3 {
            return None;
        }
        let unit = |first: usize, along: usize| {
            let mut direction = [0.0; 3];
            direction[along] = 1.0;
            Unknown {
                row: first + along,
                first,
                direction,
            }
        };
        let mut unknowns = Vec::new();
        for (k, mu) in self.friction().iter().enumerate() {
            let own = &r[k * d..(k + 1) * d];
            let size = own[1..].iter().map(|t| t * t).sum::<f64>().sqrt();
            let mut normal = unit(k * d, 0);
            if own[0] <= 0.0 {
                continue;
            }
            if size <= (1.0 - INSIDE) * mu * own[0] {
                unknowns.extend((1..d).map(|along| unit(k * d, along)));
            } else if size > 0.0 {
                for (share, t) in normal.direction[1..].iter_mut().zip(&own[1..]) {
                    *share = mu * t / size;
                }
            }
            unknowns.push(normal);
        }
        Some(unknowns)
    }

    /// Whether `M v = H r + f` holds in every row.
    fn balances(&self, v: &[f64], r: &[f64]) -> bool {
        let (mut sum, mut terms) = (self.force().to_vec(), self.force().to_vec());
        terms.iter_mut().for_each(|f| *f = f.abs());
        let mut add = |i: usize, term: f64| {
            sum[i] += term;
            terms[i] += term.abs();
        };
        for (i, j, value) in self.mass().triplets() {
            add(i, -value * v[j]);
        }
        for (i, j, value) in self.directions().triplets() {
            add(i, value * r[j]);
        }
        let mut rows = sum.iter().zip(&terms);
        rows.all(|(sum, terms)| sum.abs() <= ROUND_OFF * terms)
    }
}
