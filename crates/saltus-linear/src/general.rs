//! Sparse factorisations of any pattern: symmetric indefinite and unsymmetric.
//!
//! They are `faer`'s, driven so that the symbolic part is kept and a new factorisation of the same pattern
//! allocates nothing. The symmetric one pivots within supernodes after Bunch and Kaufman, which no theorem protects
//! from growth: its user looks at the residual.

use crate::LinearError;
use crate::compressed::Compressed;
use crate::forward_solves::Forward;
use crate::workspace::Workspace;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, IntranodeLbltRef, SymbolicCholesky, SymbolicCholeskyRaw,
    SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{
    LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};
use std::sync::Arc;

/// The transpose of a matrix in compressed rows, as compressed columns.
fn transposed(a: &Compressed) -> SparseColMatRef<'_, u32, f64> {
    let (start, cols, values) = a.parts();
    let n = a.size();
    let shape = SymbolicSparseColMatRef::new_checked(n, n, start, None, cols);
    SparseColMatRef::new(shape, values)
}

fn singular(n: usize) -> LinearError {
    LinearError::Singular {
        size: n,
        pivot: 0,
        value: 0.0,
    }
}

/// `P A Pᵀ = L B Lᵀ` of a symmetric matrix.
#[derive(Debug, Clone)]
pub(crate) struct SymmetricFactors {
    symbolic: Arc<SymbolicCholesky<u32>>,
    values: Vec<f64>,
    subdiagonal: Vec<f64>,
    forward: Vec<u32>,
    inverse: Vec<u32>,
    is_indefinite: bool,
    work: Workspace,
}

impl SymmetricFactors {
    /// Analyses the pattern of `a`. With pivots of either sign in view, supernodes are made wherever possible.
    pub(crate) fn new(a: &Compressed, indefinite: bool) -> Result<Self, LinearError> {
        let n = a.size();
        let parameters = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: if indefinite {
                SupernodalThreshold::FORCE_SUPERNODAL
            } else {
                SupernodalThreshold::default()
            },
            ..CholeskySymbolicParams::default()
        };
        let symbolic = factorize_symbolic_cholesky(
            transposed(a).symbolic(),
            Side::Upper,
            SymmetricOrdering::Amd,
            parameters,
        )
        .map_err(|_| singular(n))?;
        Ok(Self {
            values: vec![0.0; symbolic.len_val()],
            symbolic: Arc::new(symbolic),
            subdiagonal: vec![0.0; n],
            forward: vec![0; n],
            inverse: vec![0; n],
            is_indefinite: indefinite,
            work: Workspace::default(),
        })
    }

    /// Whether the pattern was analysed for pivots of either sign.
    pub(crate) fn is_indefinite(&self) -> bool {
        self.is_indefinite
    }

    pub(crate) fn factorise(&mut self, a: &Compressed) {
        let need = self
            .symbolic
            .factorize_numeric_intranode_lblt_scratch::<f64>(Par::Seq, faer::Spec::default());
        let solve = self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq);
        self.work.reserve(need.or(solve));
        let Self {
            symbolic,
            values,
            subdiagonal,
            forward,
            inverse,
            work,
            ..
        } = self;
        work.with(need, |stack| {
            symbolic.factorize_numeric_intranode_lblt(
                values,
                subdiagonal,
                forward,
                inverse,
                transposed(a),
                Side::Upper,
                Par::Seq,
                stack,
                faer::Spec::default(),
            );
        });
    }

    /// The forward half of a solve, where there are supernodes.
    pub(crate) fn half(&self) -> Option<Forward<'_>> {
        let SymbolicCholeskyRaw::Supernodal(symbolic) = self.symbolic.raw() else {
            return None;
        };
        Some(Forward {
            symbolic,
            values: &self.values,
            subdiagonal: &self.subdiagonal,
            order: self.symbolic.perm().map(|order| order.arrays().1),
            pivots: &self.inverse,
        })
    }

    /// `X ← A⁻¹ X` for vectors one after the other.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.forward.len();
        let count = x.len() / n.max(1);
        let order = faer::perm::PermRef::new_checked(&self.forward, &self.inverse, n);
        let factors = IntranodeLbltRef::new(&self.symbolic, &self.values, &self.subdiagonal, order);
        let need = self.symbolic.solve_in_place_scratch::<f64>(count, Par::Seq);
        self.work.with(need, |stack| {
            factors.solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(x, n, count),
                Par::Seq,
                stack,
            );
        });
    }
}

/// `P A Q = L U`.
#[derive(Debug, Clone)]
pub(crate) struct GeneralFactors {
    symbolic: SymbolicLu<u32>,
    numeric: NumericLu<u32, f64>,
    work: Workspace,
}

impl GeneralFactors {
    /// Analyses the pattern of `a`.
    pub(crate) fn new(a: &Compressed) -> Result<Self, LinearError> {
        let symbolic = factorize_symbolic_lu(
            transposed(a).symbolic(),
            // The supernodal one allocates whenever pivots are chosen; this one keeps its storage.
            LuSymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SIMPLICIAL,
                ..LuSymbolicParams::default()
            },
        )
        .map_err(|_| singular(a.size()))?;
        Ok(Self {
            symbolic,
            numeric: NumericLu::new(),
            work: Workspace::default(),
        })
    }

    /// # Errors
    /// [`LinearError::Singular`] where no pivot is left.
    pub(crate) fn factorise(&mut self, a: &Compressed) -> Result<(), LinearError> {
        let need = self
            .symbolic
            .factorize_numeric_lu_scratch::<f64>(Par::Seq, faer::Spec::default());
        let solve = self
            .symbolic
            .solve_transpose_in_place_scratch::<f64>(1, Par::Seq);
        self.work.reserve(need.or(solve));
        let Self {
            symbolic,
            numeric,
            work,
        } = self;
        work.with(need, |stack| {
            symbolic
                .factorize_numeric_lu(
                    numeric,
                    transposed(a),
                    Par::Seq,
                    stack,
                    faer::Spec::default(),
                )
                .map(|_| ())
                .map_err(|_| singular(a.size()))
        })
    }

    /// `X ← A⁻¹ X` for vectors one after the other.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        let n = self.symbolic.nrows();
        let count = x.len() / n.max(1);
        let factors = LuRef::new_unchecked(&self.symbolic, &self.numeric);
        let need = self
            .symbolic
            .solve_transpose_in_place_scratch::<f64>(count, Par::Seq);
        self.work.with(need, |stack| {
            factors.solve_transpose_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(x, n, count),
                Par::Seq,
                stack,
            );
        });
    }
}
