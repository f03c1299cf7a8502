//! Equalities that say the same by different formulas.
//!
//! On the manifold of the constraints such rows agree. Beside it, at a stage or an iterate of a step, or after a drift, their constants
//! differ by a little that no multiplier removes. Least squares then takes the place of the equations,
//!
//! ```text
//! A_E ← P A_E ,   q_E ← P q_E ,    P the projection on the range of A_EE, in rows scaled by the diagonal,
//! ```
//!
//! and whoever posed the problem judges what is left by its own rows. Rows that contradict each other leave it to the next problem, whose
//! constants then are little else.

use saltus_linear::{Dense, MinimumNorm};

/// Share of the constants of equalities that may be left over; more is a contradiction.
const CONTRADICTION: f64 = 0.25;

/// The problem with equalities that agree, with its buffers.
#[derive(Debug, Default)]
pub(super) struct Redundant {
    rank: MinimumNorm,
    /// The scaled block of the equalities (e × e), and the scales of its rows.
    block: Dense,
    scale: Vec<f64>,
    column: Vec<f64>,
    rhs: Vec<f64>,
    x: Vec<f64>,
    pub(super) matrix: Dense,
    pub(super) q: Vec<f64>,
}

impl Redundant {
    /// Takes over `matrix` and `q` with the first `e` rows projected. False, and nothing to be used, where these rows are independent
    /// or contradict each other.
    pub(super) fn project(&mut self, matrix: &Dense, q: &[f64], e: usize) -> bool {
        if e < 2 {
            return false;
        }
        self.scale.clear();
        self.scale.extend((0..e).map(|i| {
            let s = 1.0 / matrix[(i, i)].abs().sqrt();
            if s.is_finite() { s } else { 1.0 }
        }));
        self.block.reset(e, e);
        for i in 0..e {
            for j in 0..e {
                self.block[(i, j)] = self.scale[i] * matrix[(i, j)] * self.scale[j];
            }
        }
        if self.rank.factorise(&self.block) == e {
            return false;
        }
        self.q.clear();
        self.q.extend_from_slice(q);
        self.column.clear();
        self.column.extend_from_slice(&q[..e]);
        let (left, all) = self.project_column();
        if left.is_nan() || left > CONTRADICTION * all {
            return false;
        }
        self.q[..e].copy_from_slice(&self.column);
        self.matrix.clone_from(matrix);
        for j in e..q.len() {
            for i in 0..e {
                self.column[i] = matrix[(i, j)];
            }
            self.project_column();
            for i in 0..e {
                self.matrix[(i, j)] = self.column[i];
            }
        }
        true
    }

    /// `column ← P column`; returns the scaled norms of what was taken away and of the whole.
    fn project_column(&mut self) -> (f64, f64) {
        let e = self.column.len();
        self.rhs.clear();
        let scaled = self.column.iter().zip(&self.scale);
        self.rhs.extend(scaled.map(|(x, s)| s * x));
        self.x.clear();
        self.x.resize(e, 0.0);
        self.rank.solve(&mut self.rhs, &mut self.x);
        let (mut left, mut all) = (0.0, 0.0);
        for i in 0..e {
            let whole = self.scale[i] * self.column[i];
            let part = saltus_linear::dot(self.block.row(i), &self.x);
            left += (whole - part) * (whole - part);
            all += whole * whole;
            self.column[i] = part / self.scale[i];
        }
        (f64::sqrt(left), f64::sqrt(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Dense {
        let mut matrix = Dense::zeros(rows.len(), rows.len());
        for (i, row) in rows.iter().enumerate() {
            matrix.row_mut(i).copy_from_slice(row);
        }
        matrix
    }

    #[test]
    fn rows_that_say_the_same_are_made_to_agree() {
        // Two rows, the first twice the second, and a contact.
        let a = matrix(&[&[4.0, 2.0, 1.0], &[2.0, 1.0, 0.5], &[1.0, 0.5, 1.0]]);
        let mut rows = Redundant::default();
        assert!(rows.project(&a, &[2.0 + 2e-4, 1.0 - 1e-4, 3.0], 2));
        // In scaled rows, 1 + 1e-4 and 1 − 1e-4, the mean is left.
        assert!((rows.q[0] - 2.0).abs() < 1e-15 && (rows.q[1] - 1.0).abs() < 1e-15);
        assert_eq!(rows.q[2], 3.0);
        for i in 0..3 {
            for j in 0..3 {
                assert!((rows.matrix[(i, j)] - a[(i, j)]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn contradictions_and_independent_rows_stay() {
        let parallel = matrix(&[&[4.0, 2.0], &[2.0, 1.0]]);
        let mut rows = Redundant::default();
        assert!(!rows.project(&parallel, &[2.0, -1.0], 2));
        assert!(!rows.project(&parallel, &[2.0, 0.4], 2));
        let regular = matrix(&[&[4.0, 1.0], &[1.0, 1.0]]);
        assert!(!rows.project(&regular, &[2.0, 1.0], 2));
        assert!(!rows.project(&parallel, &[2.0, 1.0], 1));
    }
}
