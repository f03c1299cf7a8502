//! Frictional contact in reduced and in global form.

use super::diagnosis;
use super::residual::{Residual, ResidualScales};
use crate::block::BlockMatrix;
use crate::equilibrium::is_representable;
use crate::operator::{Operator, Product, diagonal_of, entries_of};
use crate::sparse::SparseMatrix;
use saltus_linear::{MatrixSink, SquareMatrix, max_abs};
use std::borrow::Cow;
use std::sync::Arc;

/// The parts of a problem do not fit together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A size is wrong.
    #[error("{what} has {found} entries, expected {expected}")]
    Size {
        /// Which part.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The size that the other parts imply.
        expected: usize,
    },
    /// A dimension that is none of 2, 3 and 5.
    #[error("{0} components per contact; 2, 3 or (with rolling friction) 5 are possible")]
    Dimension(usize),
    /// An entry is not finite, or a coefficient of friction negative.
    #[error("entry {index} of {what} is {value}; expected a finite number{}", if *.excludes_negative { " that is not negative" } else { "" })]
    Value {
        /// Which part.
        what: &'static str,
        /// Index, from 0.
        index: usize,
        /// What is there.
        value: f64,
        /// Whether negative numbers are excluded.
        excludes_negative: bool,
    },
    /// An entry of the mass matrix that contradicts symmetry or positive definiteness.
    #[error("entry ({row}, {column}) of M is {value}; {why}")]
    MassEntry {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What is there.
        value: f64,
        /// What was expected.
        why: String,
    },
    /// The mass matrix is symmetric, but not positive definite.
    #[error(
        "M is not positive definite: some velocity of the coordinates {coordinates:?} has negative kinetic energy"
    )]
    MassIndefinite {
        /// Some of the coupled coordinates, from 0.
        coordinates: Vec<usize>,
    },
    /// The mass matrix cannot be factorised.
    #[error("the mass matrix cannot be inverted: {0}; give the reduced form instead")]
    Mass(saltus_linear::LinearError),
}

/// Reduced form: find `r_i ∈ K_i` and `u = W r + q` with Coulomb's law,
/// `K_i ∋ r_i ⟂ u_i + μ_i |u_{t,i}| n ∈ K_i*`, for every contact `i`.
///
/// Impulses `r` in N s (N m s for rolling components), velocities `u` and `q` in m/s (rad/s).
#[derive(Debug, Clone)]
pub struct FrictionContact {
    dimension: usize,
    w: BlockMatrix,
    /// The operator of a matrix-free problem; `w` then holds the diagonal blocks only.
    product: Option<Arc<dyn Product>>,
    q: Vec<f64>,
    mu: Vec<f64>,
    rolling: Vec<f64>,
}

impl FrictionContact {
    /// Checks that the parts fit together. `w` is a [`Dense`](saltus_linear::Dense), a [`BlockMatrix`] or an
    /// `Arc<dyn Product>`; a contact has as many components as `q` has per entry of `mu`.
    /// `rolling` (lengths, m) is empty unless there are 5 components per contact.
    ///
    /// # Errors
    /// [`ProblemError`] where they do not, or a number is not finite or a coefficient negative.
    pub fn new(
        w: impl Into<Operator>,
        q: Vec<f64>,
        mu: Vec<f64>,
        rolling: Vec<f64>,
    ) -> Result<Self, ProblemError> {
        let contacts = mu.len();
        let per_contact = q.len().checked_div(contacts).unwrap_or(3);
        let square = |dimension: usize, rows: usize, cols: usize| {
            check(dimension, contacts, &q, &mu, &rolling)?;
            size("a row of W", cols, dimension * contacts)?;
            size("a column of W", rows, dimension * contacts)
        };
        let (w, product) = match w.into() {
            Operator::Blocks(w) => {
                check(w.dimension(), w.blocks(), &q, &mu, &rolling)?;
                (w, None)
            }
            Operator::Dense(m) => {
                square(per_contact, m.rows(), m.cols())?;
                let n = m.cols();
                let list = m.as_slice().iter().enumerate();
                let entries = list.map(|(k, v)| (k / n, k % n, *v));
                (
                    BlockMatrix::from_triplets(per_contact, contacts, entries),
                    None,
                )
            }
            Operator::Free(product) => {
                square(per_contact, product.size(), product.size())?;
                let d = per_contact;
                let list = diagonal_of(&*product, d).into_iter().enumerate();
                let entries = list.map(|(k, v)| {
                    let (contact, k) = (k / (d * d), k % (d * d));
                    (contact * d + k / d, contact * d + k % d, v)
                });
                (
                    BlockMatrix::from_triplets(d, contacts, entries),
                    Some(product),
                )
            }
        };
        let finite = |(_, (_, _, v)): &(usize, (usize, usize, f64))| !v.is_finite();
        if let Some((index, (_, _, value))) = w.triplets().enumerate().find(finite) {
            return Err(ProblemError::Value {
                what: "W",
                index,
                value,
                excludes_negative: false,
            });
        }
        Ok(Self {
            dimension: w.dimension(),
            w,
            product,
            q,
            mu,
            rolling,
        })
    }

    /// Components per contact: 2, 3 or 5.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of contacts.
    #[must_use]
    pub fn contacts(&self) -> usize {
        self.mu.len()
    }

    /// The Delassus operator `W`; of a [matrix-free](Self::is_matrix_free) problem its diagonal blocks only.
    #[must_use]
    pub fn delassus(&self) -> &BlockMatrix {
        &self.w
    }

    /// Whether `W` is given by its products only.
    #[must_use]
    pub fn is_matrix_free(&self) -> bool {
        self.product.is_some()
    }

    /// The operator of a matrix-free problem.
    pub(crate) fn product(&self) -> Option<&Arc<dyn Product>> {
        self.product.as_ref()
    }

    /// The same problem with `W` as blocks; of a matrix-free one this takes as many products as it has unknowns.
    #[must_use]
    pub fn assembled(&self) -> Cow<'_, Self> {
        let Some(product) = &self.product else {
            return Cow::Borrowed(self);
        };
        let entries = entries_of(&**product);
        Cow::Owned(Self {
            w: BlockMatrix::from_triplets(self.dimension, self.contacts(), entries),
            product: None,
            ..self.clone()
        })
    }

    /// Residuals of the natural map at `r` (dimension × contacts), as energy, in impulses and in velocities.
    #[must_use]
    pub fn residual(&self, r: &[f64]) -> Residual {
        ResidualScales::new(self).residual_of(self, r)
    }

    /// Whether the largest absolute entries of `W` and `q` are between 1e-60 and 1e60, so that squares and products are representable.
    pub(crate) fn is_within_range(&self) -> bool {
        is_representable(&[max_abs(self.w.entries()), max_abs(&self.q)])
    }

    /// A proof that no reaction satisfies `u_n ≥ 0`, if there is one; see
    /// [`infeasibility`](diagnosis::infeasibility).
    #[must_use]
    pub fn infeasibility(&self) -> Option<Vec<f64>> {
        diagnosis::infeasibility(self)
    }

    /// Velocities without reactions, `q`.
    #[must_use]
    pub fn free_velocity(&self) -> &[f64] {
        &self.q
    }

    /// Coefficients of friction.
    #[must_use]
    pub fn friction(&self) -> &[f64] {
        &self.mu
    }

    /// Lengths of rolling friction (m), empty without.
    #[must_use]
    pub fn rolling(&self) -> &[f64] {
        &self.rolling
    }

    /// Rolling length of contact `i`, 0 without.
    #[inline]
    pub(crate) fn rolling_of(&self, i: usize) -> f64 {
        self.rolling.get(i).copied().unwrap_or(0.0)
    }

    /// `u ← W r + q`.
    pub fn velocity(&self, r: &[f64], u: &mut [f64]) {
        self.apply_delassus(r, u);
        for (u, q) in u.iter_mut().zip(&self.q) {
            *u += q;
        }
    }

    /// `y ← W r`.
    pub(super) fn apply_delassus(&self, r: &[f64], y: &mut [f64]) {
        match &self.product {
            Some(product) => product.apply(r, y),
            None => self.w.apply(r, y),
        }
    }
}

fn size(what: &'static str, found: usize, expected: usize) -> Result<(), ProblemError> {
    if found == expected {
        Ok(())
    } else {
        Err(ProblemError::Size {
            what,
            found,
            expected,
        })
    }
}

fn check(
    dimension: usize,
    contacts: usize,
    q: &[f64],
    mu: &[f64],
    rolling: &[f64],
) -> Result<(), ProblemError> {
    if !matches!(dimension, 2 | 3 | 5) {
        return Err(ProblemError::Dimension(dimension));
    }
    size("q", q.len(), dimension * contacts)?;
    size("mu", mu.len(), contacts)?;
    size(
        "mu_r",
        rolling.len(),
        if dimension == 5 { contacts } else { 0 },
    )?;
    for (what, list, negative) in [("q", q, false), ("mu", mu, true), ("mu_r", rolling, true)] {
        if let Some((index, &value)) = list
            .iter()
            .enumerate()
            .find(|(_, v)| !v.is_finite() || (negative && **v < 0.0))
        {
            return Err(ProblemError::Value {
                what,
                index,
                value,
                excludes_negative: negative,
            });
        }
    }
    Ok(())
}

/// Global form: `M v = H r + f`, `u = Hᵀ v + w`, with the same law between `r` and `u`.
#[derive(Debug, Clone)]
pub struct GlobalFriction {
    dimension: usize,
    mass: SparseMatrix,
    h: SparseMatrix,
    f: Vec<f64>,
    w: Vec<f64>,
    mu: Vec<f64>,
    rolling: Vec<f64>,
}

impl GlobalFriction {
    /// Checks that the parts fit together: `M` (n × n), `H` (n × dimension·contacts), `f` (n), the constant part `w` of the contact velocities
    /// (dimension·contacts), `mu` and `rolling` (one per contact, as in [`FrictionContact::new`]); `M` is symmetric ([nearly](Self::mass_asymmetry)) and
    /// positive definite.
    ///
    /// # Errors
    /// [`ProblemError`] where they do not, a number is not finite, or `M` is not symmetric positive definite.
    pub fn new(
        dimension: usize,
        mass: SparseMatrix,
        h: SparseMatrix,
        f: Vec<f64>,
        w: Vec<f64>,
        mu: Vec<f64>,
        rolling: Vec<f64>,
    ) -> Result<Self, ProblemError> {
        check(dimension, mu.len(), &w, &mu, &rolling)?;
        let n = f.len();
        for (what, found, expected) in [
            ("a row of M", mass.cols(), n),
            ("a column of M", mass.rows(), n),
            ("a column of H", h.rows(), n),
            ("a row of H", h.cols(), dimension * mu.len()),
        ] {
            size(what, found, expected)?;
        }
        let matrices = [("M", &mass), ("H", &h)];
        for (what, matrix) in matrices {
            if let Some((index, (_, _, value))) = matrix
                .triplets()
                .enumerate()
                .find(|(_, (_, _, v))| !v.is_finite())
            {
                return Err(ProblemError::Value {
                    what,
                    index,
                    value,
                    excludes_negative: false,
                });
            }
        }
        if let Some((index, &value)) = f.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(ProblemError::Value {
                what: "f",
                index,
                value,
                excludes_negative: false,
            });
        }
        super::mass::check(&mass)?;
        Ok(Self {
            dimension,
            mass,
            h,
            f,
            w,
            mu,
            rolling,
        })
    }

    /// Components per contact: 2, 3 or 5.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of contacts.
    #[must_use]
    pub fn contacts(&self) -> usize {
        self.mu.len()
    }

    /// The mass matrix `M`.
    #[must_use]
    pub fn mass(&self) -> &SparseMatrix {
        &self.mass
    }

    /// The largest difference of mirrored entries of `M`, relative to `√(Mᵢᵢ Mⱼⱼ)`; up to 1e-2, which public problems need.
    #[must_use]
    pub fn mass_asymmetry(&self) -> f64 {
        super::mass::asymmetry(&self.mass)
    }

    /// The directions `H`.
    #[must_use]
    pub fn directions(&self) -> &SparseMatrix {
        &self.h
    }

    /// The generalised impulse `f` (n).
    #[must_use]
    pub fn force(&self) -> &[f64] {
        &self.f
    }

    /// The constant part `w` of the contact velocities.
    #[must_use]
    pub fn bias(&self) -> &[f64] {
        &self.w
    }

    /// Coefficients of friction.
    #[must_use]
    pub fn friction(&self) -> &[f64] {
        &self.mu
    }

    /// Lengths of rolling friction (m), empty without.
    #[must_use]
    pub fn rolling(&self) -> &[f64] {
        &self.rolling
    }

    /// The mass matrix, factorised.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where it is singular.
    pub fn factorised_mass(&self) -> Result<SquareMatrix, ProblemError> {
        let mut mass = SquareMatrix::new(self.f.len());
        for (i, j, v) in self.mass.triplets() {
            mass.entry(i, j, v);
        }
        mass.factorise().map_err(ProblemError::Mass)?;
        Ok(mass)
    }

    /// Solves `M v = H r + f` for `v` (n).
    pub fn generalised_velocity(&self, mass: &SquareMatrix, r: &[f64]) -> Vec<f64> {
        let mut v = self.f.clone();
        self.h.apply_add(1.0, r, &mut v);
        let right = v.clone();
        mass.solve(&mut v);
        // One step of iterative refinement.
        let mut residual = right;
        self.mass.apply_add(-1.0, &v, &mut residual);
        mass.solve(&mut residual);
        for (v, d) in v.iter_mut().zip(&residual) {
            *v += d;
        }
        v
    }

    /// Residuals of the natural map at `r`, with `u = Hᵀ v + w` from `M v = H r + f`.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn residual(&self, r: &[f64]) -> Result<Residual, ProblemError> {
        let reduced = self.matrix_free()?;
        let v = self.generalised_velocity(&self.factorised_mass()?, r);
        let mut u = self.w.clone();
        self.h.apply_transposed_add(1.0, &v, &mut u);
        Ok(ResidualScales::new(&reduced).residual(&reduced, r, &u))
    }

    /// A proof that no reaction satisfies `u_n ≥ 0`, if there is one.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn infeasibility(&self) -> Result<Option<Vec<f64>>, ProblemError> {
        Ok(self.matrix_free()?.infeasibility())
    }

    /// The reduced form, `W = Hᵀ M⁻¹ H`, `q = Hᵀ M⁻¹ f + w`.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn reduce(&self) -> Result<FrictionContact, ProblemError> {
        let mass = self.factorised_mass()?;
        let (n, m) = (self.f.len(), self.w.len());
        let mut v = self.f.clone();
        mass.solve(&mut v);
        let mut q = self.w.clone();
        self.h.apply_transposed_add(1.0, &v, &mut q);
        let mut entries = Vec::new();
        let mut column = vec![0.0; n];
        let mut image = vec![0.0; m];
        for j in 0..m {
            column.fill(0.0);
            for (i, value) in self.h.column(j) {
                column[i] = value;
            }
            mass.solve(&mut column);
            image.fill(0.0);
            self.h.apply_transposed_add(1.0, &column, &mut image);
            entries.extend(
                image
                    .iter()
                    .enumerate()
                    .filter(|(_, v)| **v != 0.0)
                    .map(|(i, v)| (i, j, *v)),
            );
        }
        let w = BlockMatrix::from_triplets(self.dimension, self.mu.len(), entries);
        FrictionContact::new(w, q, self.mu.clone(), self.rolling.clone())
    }
}
