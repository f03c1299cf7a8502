//! LU factorisation with row pivoting of a small dense matrix, reusing its storage.
//!
//! Written here because a step of a small mechanism costs less than the set-up of a call into a
//! blocked library routine; a large matrix goes to one.

use crate::LinearError;
use crate::dense::Dense;
use crate::scratch::Scratch;
use crate::vector::{dot, max_abs};
use crate::workspace::Workspace;
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::{MatMut, Par, Spec};

/// From this size on a matrix is factorised in blocks.
const BLOCKED: usize = 200;

/// `P A = L U`, unit lower triangular `L` below the diagonal of `factors`; of a large matrix
/// `P Aᵀ = L U`, which is what a routine for columns makes of our rows.
#[derive(Debug, Clone, Default)]
pub struct Lu {
    factors: Dense,
    /// `pivots[k]` is the row exchanged with row `k` in step `k`; of a large matrix, row `k` of `P Aᵀ` is row
    /// `pivots[k]` of `Aᵀ`.
    pivots: Vec<usize>,
    /// The inverse of `pivots` of a large matrix.
    places: Vec<usize>,
    /// Reciprocals of the diagonal of `U`: a division costs as much as a row of a small matrix.
    reciprocals: Vec<f64>,
    /// What a large matrix is factorised and solved in.
    work: Workspace,
    turned: Scratch,
}

impl Lu {
    /// Pivots below this multiple of the largest entry of their column count as zero.
    const SINGULAR: f64 = 1e-14;

    /// Number of unknowns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.factors.rows()
    }

    /// Smallest over largest pivot of the last factorisation, in absolute value; 1 of an empty matrix.
    ///
    /// A cheap warning of near singularity: of an equilibrated matrix a ratio near round-off says
    /// that its rank is in doubt.
    #[must_use]
    pub fn pivot_ratio(&self) -> f64 {
        let mut range = (f64::INFINITY, 0.0_f64);
        for k in 0..self.size() {
            let pivot = self.factors[(k, k)].abs();
            range = (range.0.min(pivot), range.1.max(pivot));
        }
        if range.1 > 0.0 {
            range.0 / range.1
        } else {
            1.0
        }
    }

    /// Factorises a copy of the square matrix `a`.
    ///
    /// # Errors
    /// [`LinearError`] where a pivot vanishes against the entries of its column, or an entry is not finite.
    pub fn factorise(&mut self, a: &Dense) -> Result<(), LinearError> {
        let n = a.rows();
        self.factors.clone_from(a);
        self.pivots.resize(n, 0);
        self.reciprocals.resize(n, 0.0);
        let largest = max_abs(a.as_slice());
        if !largest.is_finite() {
            let place = a.as_slice().iter().position(|x| !x.is_finite());
            let row = place.unwrap_or(0) / n;
            return Err(LinearError::NotFinite { size: n, row });
        }
        match n {
            2 => return self.factorise_few::<2>(largest),
            3 => return self.factorise_few::<3>(largest),
            BLOCKED.. => return self.factorise_in_blocks(largest),
            _ => {}
        }
        let f = &mut self.factors;
        for k in 0..n {
            let mut p = k;
            let mut best = f[(k, k)].abs();
            for i in k + 1..n {
                let candidate = f[(i, k)].abs();
                if candidate > best {
                    best = candidate;
                    p = i;
                }
            }
            if !best.is_finite() {
                return Err(LinearError::NotFinite { size: n, row: k });
            }
            // The column is looked at only where the pivot is small against the whole matrix.
            if best <= Self::SINGULAR * largest {
                let scale = (0..n).fold(0.0_f64, |m, i| m.max(a[(i, k)].abs()));
                if best <= Self::SINGULAR * scale {
                    return Err(LinearError::Singular {
                        size: n,
                        pivot: k,
                        value: best,
                    });
                }
            }
            self.pivots[k] = p;
            if p != k {
                let (above, below) = f.as_mut_slice().split_at_mut(p * n);
                above[k * n..(k + 1) * n].swap_with_slice(&mut below[..n]);
            }
            let (above, below) = f.as_mut_slice().split_at_mut((k + 1) * n);
            let pivot_row = &above[k * n + k..];
            let inverse = 1.0 / pivot_row[0];
            self.reciprocals[k] = inverse;
            for row in below.chunks_exact_mut(n) {
                let row = &mut row[k..];
                let factor = row[0] * inverse;
                row[0] = factor;
                if factor != 0.0 {
                    for (x, p) in row[1..].iter_mut().zip(&pivot_row[1..]) {
                        *x -= factor * p;
                    }
                }
            }
        }
        Ok(())
    }

    /// The same for `N` unknowns, without loops.
    #[inline]
    fn factorise_few<const N: usize>(&mut self, largest: f64) -> Result<(), LinearError> {
        let (rows, _) = self.factors.as_mut_slice().as_chunks_mut::<N>();
        let Some(rows) = rows.first_chunk_mut::<N>() else {
            return Ok(());
        };
        let mut f = *rows;
        for k in 0..N {
            let mut p = k;
            for i in k + 1..N {
                if f[i][k].abs() > f[p][k].abs() {
                    p = i;
                }
            }
            let best = f[p][k].abs();
            if !best.is_finite() {
                return Err(LinearError::NotFinite { size: N, row: k });
            }
            if best <= Self::SINGULAR * largest {
                let scale = rows.iter().fold(0.0_f64, |m, row| m.max(row[k].abs()));
                if best <= Self::SINGULAR * scale {
                    return Err(LinearError::Singular {
                        size: N,
                        pivot: k,
                        value: best,
                    });
                }
            }
            self.pivots[k] = p;
            f.swap(k, p);
            let inverse = 1.0 / f[k][k];
            self.reciprocals[k] = inverse;
            for i in k + 1..N {
                let factor = f[i][k] * inverse;
                f[i][k] = factor;
                for j in k + 1..N {
                    f[i][j] -= factor * f[k][j];
                }
            }
        }
        *rows = f;
        Ok(())
    }

    fn factorise_in_blocks(&mut self, largest: f64) -> Result<(), LinearError> {
        let n = self.factors.rows();
        self.places.clear();
        self.places.resize(n, 0);
        let spec = Spec::default();
        let scratch = lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, spec);
        let factors = MatMut::from_column_major_slice_mut(self.factors.as_mut_slice(), n, n);
        let (pivots, places) = (&mut self.pivots, &mut self.places);
        self.work.with(scratch, |stack| {
            lu_in_place(factors, pivots, places, Par::Seq, stack, spec);
        });
        for pivot in 0..n {
            let value = self.factors[(pivot, pivot)];
            if !value.is_finite() {
                return Err(LinearError::NotFinite {
                    size: n,
                    row: pivot,
                });
            }
            if value.abs() <= Self::SINGULAR * largest {
                return Err(LinearError::Singular {
                    size: n,
                    pivot,
                    value,
                });
            }
            self.reciprocals[pivot] = 1.0 / value;
        }
        Ok(())
    }

    /// `A = Uᵀ Lᵀ P`: both triangles are read along our rows.
    fn solve_in_blocks(&self, x: &mut [f64]) {
        let n = self.size();
        for i in 0..n {
            let row = &self.factors.row(i)[..i];
            x[i] = (x[i] - dot(row, &x[..i])) * self.reciprocals[i];
        }
        for i in (0..n).rev() {
            let row = &self.factors.row(i)[i + 1..];
            x[i] -= dot(row, &x[i + 1..]);
        }
        self.turned.with(n, |turned| {
            turned.copy_from_slice(x);
            for (value, &place) in turned.iter().zip(&self.pivots) {
                x[place] = *value;
            }
        });
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.size();
        if n >= BLOCKED {
            self.solve_in_blocks(x);
            return;
        }
        let f = &self.factors;
        match n {
            1 => {
                x[0] /= f[(0, 0)];
                return;
            }
            2 => return self.solve_few::<2>(x),
            3 => return self.solve_few::<3>(x),
            _ => {}
        }
        for (k, &p) in self.pivots.iter().enumerate() {
            if p != k {
                x.swap(k, p);
            }
        }
        for i in 1..n {
            let (solved, rest) = x.split_at_mut(i);
            let mut sum = rest[0];
            for (l, x) in f.row(i)[..i].iter().zip(&*solved) {
                sum -= l * x;
            }
            rest[0] = sum;
        }
        for i in (0..n).rev() {
            let (rest, solved) = x.split_at_mut(i + 1);
            let row = &f.row(i)[i..];
            let mut sum = rest[i];
            for (u, x) in row[1..].iter().zip(&*solved) {
                sum -= u * x;
            }
            rest[i] = sum * self.reciprocals[i];
        }
    }

    /// The same for `N` unknowns, without loops.
    #[inline]
    fn solve_few<const N: usize>(&self, x: &mut [f64]) {
        let (rows, _) = self.factors.as_slice().as_chunks::<N>();
        let (Some(f), Some(x)) = (rows.first_chunk::<N>(), x.first_chunk_mut::<N>()) else {
            return;
        };
        for (k, &p) in self.pivots.iter().enumerate() {
            if p != k {
                x.swap(k, p);
            }
        }
        for i in 1..N {
            for j in 0..i {
                x[i] -= f[i][j] * x[j];
            }
        }
        for i in (0..N).rev() {
            for j in i + 1..N {
                x[i] -= f[i][j] * x[j];
            }
            x[i] *= self.reciprocals[i];
        }
    }
}
