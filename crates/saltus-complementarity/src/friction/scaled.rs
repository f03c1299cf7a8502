//! The problem in the unknowns the solvers work with: dimensionless, one scale per contact.
//!
//! With `d_i` of [`ResidualScales`] and `|q|_D = √Σ |q_i|²/d_i`, `r̂_i = √d_i r_i / |q|_D` and `û_i = u_i / (√d_i |q|_D)`: the cones are unchanged, the
//! diagonal blocks of `Ŵ_ij = W_ij/√(d_i d_j)` have mean diagonal 1, `q̂` has length 1, and the length of the natural map is η.

use super::problem::FrictionContact;
use super::residual::{ResidualScales, law_residual, square};
use crate::block::BlockMatrix;
use crate::operator::Product;
use std::sync::{Arc, Mutex, PoisonError};

/// `D^(−1/2) W D^(−1/2)` of a matrix-free `W`.
#[derive(Debug)]
pub(crate) struct ScaledProduct {
    product: Arc<dyn Product>,
    root: Vec<f64>,
    scratch: Mutex<Vec<f64>>,
}

impl ScaledProduct {
    fn apply<const D: usize>(&self, x: &[[f64; D]], y: &mut [[f64; D]]) {
        let mut scaled = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        for ((to, x), root) in scaled
            .as_chunks_mut::<D>()
            .0
            .iter_mut()
            .zip(x)
            .zip(&self.root)
        {
            *to = x.map(|v| v / root);
        }
        self.product.apply(&scaled, y.as_flattened_mut());
        for (y, root) in y.iter_mut().zip(&self.root) {
            *y = y.map(|v| v / root);
        }
    }
}

/// A scaled problem, or a connected part of one.
#[derive(Debug, Clone)]
pub(crate) struct Scaled<const D: usize> {
    pub w: BlockMatrix,
    pub q: Vec<[f64; D]>,
    pub mu: Vec<f64>,
    pub rolling: Vec<f64>,
    /// Replaces `w` in products where the operator is not formed; `w` then holds the diagonal blocks only.
    pub product_operator: Option<Arc<ScaledProduct>>,
}

impl<const D: usize> Scaled<D> {
    pub fn new(problem: &FrictionContact, scales: &ResidualScales) -> Self {
        let reference = scales.reference();
        let root: Vec<f64> = scales.contact_scales().iter().map(|d| d.sqrt()).collect();
        let w = problem.delassus().scaled(|i, j| 1.0 / (root[i] * root[j]));
        let (q, _) = problem.free_velocity().as_chunks::<D>();
        let q = q
            .iter()
            .zip(&root)
            .map(|(q, s)| q.map(|v| v / (s * reference)))
            .collect();
        let n = problem.contacts();
        let product_operator = problem.product().map(|product| {
            Arc::new(ScaledProduct {
                product: Arc::clone(product),
                root: root.clone(),
                scratch: Mutex::new(vec![0.0; D * n]),
            })
        });
        let rolling = (0..n).map(|i| problem.rolling_of(i)).collect();
        Self {
            w,
            q,
            mu: problem.friction().to_vec(),
            rolling,
            product_operator,
        }
    }

    pub fn contacts(&self) -> usize {
        self.q.len()
    }

    /// `y ← W x`.
    pub fn product(&self, x: &[[f64; D]], y: &mut [[f64; D]]) {
        if let Some(operator) = &self.product_operator {
            operator.apply(x, y);
            return;
        }
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.w.row_dot::<D>(i, x);
        }
    }

    /// `u ← W r + q`.
    pub fn velocity(&self, r: &[[f64; D]], u: &mut [[f64; D]]) {
        self.product(r, u);
        for (u, q) in u.iter_mut().zip(&self.q) {
            for (u, q) in u.iter_mut().zip(q) {
                *u += q;
            }
        }
    }

    /// Length of the natural map at `r` with `u = W r + q`.
    pub fn eta(&self, r: &[[f64; D]], u: &[[f64; D]]) -> f64 {
        let mut sum = 0.0;
        for (i, (r, u)) in r.iter().zip(u).enumerate() {
            sum += square(&law_residual(r, u, 1.0, self.mu[i], self.rolling[i]));
        }
        sum.sqrt()
    }

    /// Floating-point operations of one product with `W`.
    pub fn product_work(&self) -> f64 {
        self.product_operator
            .as_ref()
            .map_or((2 * D * D * self.w.stored()) as f64, |f| f.product.work())
    }

    /// The part of the problem with the contacts `members` (ascending), which are not coupled to others.
    pub fn part(&self, members: &[usize]) -> Self {
        let pick = |v: &[f64]| members.iter().map(|&i| v[i]).collect();
        Self {
            w: self.w.part(members),
            q: members.iter().map(|&i| self.q[i]).collect(),
            mu: pick(&self.mu),
            rolling: pick(&self.rolling),
            product_operator: None,
        }
    }
}

/// The sum of squares of all components.
pub(crate) fn squared_norm<const D: usize>(x: &[[f64; D]]) -> f64 {
    x.iter().map(|v| square(v)).sum()
}
