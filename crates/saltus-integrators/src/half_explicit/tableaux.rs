//! Tableaux of half-explicit Runge–Kutta methods, and their order conditions.

use crate::scheme::OptionsError;

/// A tableau: `a` has one row per stage after the first (lower triangle), `b` the weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tableau {
    /// `a[l]` are the weights of the stages `0..=l` in stage `l + 1`; the last row is `b`.
    rows: Vec<Vec<f64>>,
}

impl Tableau {
    /// The tableau with these coefficients: `a` without its first, empty row.
    pub(super) fn new(a: &[Vec<f64>], b: &[f64]) -> Self {
        let mut rows = a.to_vec();
        rows.push(b.to_vec());
        Self { rows }
    }

    /// Explicit trapezoidal rule (Heun): order 2.
    pub(super) fn hetr() -> Self {
        Self::new(&[vec![1.0]], &[0.5, 0.5])
    }

    /// HEM3 (Brasey, Hairer 1993): order 3.
    pub(super) fn hem3() -> Self {
        Self::new(&[vec![1.0 / 3.0], vec![-1.0, 2.0]], &[0.0, 0.75, 0.25])
    }

    /// HEM4 (Brasey, Hairer 1993): order 4.
    pub(super) fn hem4() -> Self {
        let r = 6.0_f64.sqrt();
        Self::new(
            &[
                vec![0.3],
                vec![(1.0 + r) / 30.0, (11.0 - 4.0 * r) / 30.0],
                vec![
                    (-79.0 - 31.0 * r) / 150.0,
                    (-1.0 - 4.0 * r) / 30.0,
                    (24.0 + 11.0 * r) / 25.0,
                ],
                vec![
                    (14.0 + 5.0 * r) / 6.0,
                    (-8.0 + 7.0 * r) / 6.0,
                    (-9.0 - 7.0 * r) / 4.0,
                    (9.0 - r) / 4.0,
                ],
            ],
            &[0.0, 0.0, (16.0 - r) / 36.0, (16.0 + r) / 36.0, 1.0 / 9.0],
        )
    }

    /// Number of stages.
    pub(super) fn stages(&self) -> usize {
        self.rows.len()
    }

    /// Weights of the stages `0..=l` in stage `l + 1`, or in the end of the step.
    pub(super) fn row(&self, l: usize) -> &[f64] {
        &self.rows[l]
    }

    /// Weight of stage `l` in the end of the step.
    pub(super) fn b(&self, l: usize) -> f64 {
        self.rows[self.rows.len() - 1][l]
    }

    /// Time of stage `l` as a share of the step.
    pub(super) fn c(&self, l: usize) -> f64 {
        if l == 0 {
            0.0
        } else {
            self.rows[l - 1].iter().sum()
        }
    }

    /// `a` of stage `l` and `k`.
    fn a(&self, l: usize, k: usize) -> f64 {
        if l == 0 || k >= l {
            0.0
        } else {
            self.rows[l - 1][k]
        }
    }

    /// Order of the method on smooth motion without constraints, up to 4 (conditions of Runge and Kutta).
    pub(super) fn order(&self) -> u32 {
        let s = self.stages();
        let sum = |f: &dyn Fn(usize) -> f64| (0..s).map(|l| self.b(l) * f(l)).sum::<f64>();
        let inner =
            |l: usize, f: &dyn Fn(usize) -> f64| (0..l).map(|k| self.a(l, k) * f(k)).sum::<f64>();
        let holds = |value: f64, expected: f64| (value - expected).abs() < 1e-10;
        let c = |l: usize| self.c(l);
        if !holds(sum(&|_| 1.0), 1.0) {
            return 0;
        }
        if !holds(sum(&c), 0.5) {
            return 1;
        }
        let ac = |l: usize| inner(l, &c);
        if !holds(sum(&|l| c(l).powi(2)), 1.0 / 3.0) || !holds(sum(&ac), 1.0 / 6.0) {
            return 2;
        }
        let fourth = holds(sum(&|l| c(l).powi(3)), 0.25)
            && holds(sum(&|l| c(l) * ac(l)), 0.125)
            && holds(sum(&|l| inner(l, &|k| c(k).powi(2))), 1.0 / 12.0)
            && holds(sum(&|l| inner(l, &ac)), 1.0 / 24.0);
        if fourth { 4 } else { 3 }
    }

    /// Whether the coefficients make a method.
    pub(super) fn validate(&self, claimed: Option<u32>) -> Result<(), OptionsError> {
        let fault =
            |value: String, expected: &str| Err(OptionsError::new("tableau", value, expected));
        for (l, row) in self.rows.iter().enumerate() {
            if row.len() != l + 1 {
                return fault(
                    format!("a row of {} weights after {l} others", row.len()),
                    "rows of 1, 2, 3, … weights in `a`, and one more in `b` than in the last of them",
                );
            }
            if row.iter().any(|w| !w.is_finite()) {
                return fault(format!("{row:?}"), "finite weights");
            }
            if row[l] <= 0.0 {
                return fault(
                    row[l].to_string(),
                    "a last weight > 0 in every row: with it a contact pushes on the next stage, and must push it away",
                );
            }
        }
        let order = self.order();
        if order == 0 {
            return fault("inconsistent".to_owned(), "weights `b` whose sum is 1");
        }
        if let Some(claimed) = claimed
            && order < claimed
        {
            return fault(
                format!("of order {order}"),
                &format!("the order {claimed} that `order` claims"),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tableau;

    #[test]
    fn the_tableaux_have_their_orders() {
        assert_eq!(Tableau::hetr().order(), 2);
        assert_eq!(Tableau::hem3().order(), 3);
        assert_eq!(Tableau::hem4().order(), 4);
    }

    #[test]
    fn a_tableau_that_is_none_is_refused() {
        let refuse = |a: &[Vec<f64>], b: &[f64], order: Option<u32>| {
            Tableau::new(a, b).validate(order).is_err()
        };
        assert!(!refuse(&[vec![1.0]], &[0.5, 0.5], Some(2)));
        assert!(refuse(&[vec![1.0]], &[0.5, 0.5], Some(3)));
        assert!(refuse(&[vec![1.0]], &[0.5, 0.4], None));
        assert!(refuse(&[vec![1.0]], &[1.5, -0.5], None));
        assert!(refuse(&[vec![1.0, 2.0]], &[0.5, 0.5], None));
        assert!(refuse(&[vec![f64::NAN]], &[0.5, 0.5], None));
    }
}
