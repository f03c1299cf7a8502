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

    /// Weights of the stages before it in stage `l`; of the end of the step where `l` is the number of stages.
    pub(super) fn stage(&self, l: usize) -> &[f64] {
        l.checked_sub(1).map_or(&[], |row| &self.rows[row])
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

    /// Order of the method on smooth motion, up to 4: without constraints, and with constraints and closed contacts.
    pub(super) fn orders(&self) -> (u32, u32) {
        let free = self.order();
        (free, self.constrained_order(free))
    }

    /// `x` with `Â x = y`, where the rows of `Â` are those of the stages after the first and `b`: of integrals over the stages it makes
    /// rates.
    fn rate_of(&self, y: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(self.stages());
        for (l, row) in self.rows.iter().enumerate() {
            let known: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            x.push((y(l) - known) / row[l]);
        }
        x
    }

    /// Order with constraints, where that without is `free` (conditions of half-explicit methods for problems of index 2; Brasey,
    /// Hairer 1993; Hairer, Lubich, Roche 1989).
    fn constrained_order(&self, free: u32) -> u32 {
        if free < 3 {
            return free;
        }
        let s = self.stages();
        let sum = |f: &dyn Fn(usize) -> f64| (0..s).map(|l| self.b(l) * f(l)).sum::<f64>();
        let inner =
            |l: usize, f: &dyn Fn(usize) -> f64| (0..l).map(|k| self.a(l, k) * f(k)).sum::<f64>();
        let holds = |value: f64, expected: f64| (value - expected).abs() < 1e-10;
        let c = |l: usize| self.c(l);
        // Time, and the integral of time, at the stage after `l` or the end.
        let next = |l: usize| self.rows[l].iter().sum::<f64>();
        let integral = |l: usize| (0..=l).map(|k| self.rows[l][k] * c(k)).sum::<f64>();
        let square = self.rate_of(|l| next(l).powi(2));
        if !holds(sum(&|l| c(l) * square[l]), 2.0 / 3.0)
            || !holds(sum(&|l| square[l].powi(2)), 4.0 / 3.0)
        {
            return 2;
        }
        let cube = self.rate_of(|l| next(l).powi(3));
        let product = self.rate_of(|l| next(l) * integral(l));
        let fourth = holds(sum(&|l| c(l).powi(2) * square[l]), 0.5)
            && holds(sum(&|l| c(l) * cube[l]), 0.75)
            && holds(sum(&|l| c(l) * product[l]), 0.375)
            && holds(sum(&|l| inner(l, &c) * square[l]), 0.25)
            && holds(sum(&|l| inner(l, &|k| c(k) * square[k])), 1.0 / 6.0)
            && holds(sum(&|l| inner(l, &|k| square[k].powi(2))), 1.0 / 3.0)
            && holds(sum(&|l| c(l) * square[l].powi(2)), 1.0)
            && holds(sum(&|l| square[l].powi(3)), 2.0)
            && holds(sum(&|l| square[l] * cube[l]), 1.5)
            && holds(sum(&|l| square[l] * product[l]), 0.75);
        if fourth { free } else { 3 }
    }

    /// Order of the method on smooth motion without constraints, up to 4 (conditions of Runge and Kutta).
    fn order(&self) -> u32 {
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
        let (free, constrained) = self.orders();
        if free == 0 {
            return fault("inconsistent".to_owned(), "weights `b` whose sum is 1");
        }
        let Some(claimed) = claimed else {
            return Ok(());
        };
        if !(1..=4).contains(&claimed) {
            return Err(OptionsError::new("tableau.order", claimed, "1, 2, 3 or 4"));
        }
        if constrained < claimed {
            let value = if free > constrained {
                format!("of order {constrained} with constraints and contacts ({free} without)")
            } else {
                format!("of order {constrained}")
            };
            let expected = format!("the order {claimed} that `order` claims");
            return Err(OptionsError::new("tableau", value, &expected)
                .cure(format!("claim {constrained}, or leave `order` out")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tableau;

    #[test]
    fn the_tableaux_have_their_orders() {
        assert_eq!(Tableau::hetr().orders(), (2, 2));
        assert_eq!(Tableau::hem3().orders(), (3, 3));
        assert_eq!(Tableau::hem4().orders(), (4, 4));
        // What is of order 3 or 4 without constraints need not be with them.
        let sixth = 1.0 / 6.0;
        let classical = Tableau::new(
            &[vec![0.5], vec![0.0, 0.5], vec![0.0, 0.0, 1.0]],
            &[sixth, 2.0 * sixth, 2.0 * sixth, sixth],
        );
        assert_eq!(classical.orders(), (4, 2));
        let kutta = Tableau::new(&[vec![0.5], vec![-1.0, 2.0]], &[sixth, 4.0 * sixth, sixth]);
        assert_eq!(kutta.orders(), (3, 2));
        assert!(kutta.validate(Some(3)).is_err() && kutta.validate(Some(2)).is_ok());
        assert!(kutta.validate(Some(5)).is_err());
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
