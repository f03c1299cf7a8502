//! Tableaux of the Runge–Kutta methods.

use saltus_linear::Dense;

/// Coefficients of a method of `s` stages.
#[derive(Debug, Clone)]
pub(crate) struct Tableau {
    a: Dense, // (s × s)
    b: Vec<f64>,
    c: Vec<f64>,
    /// Order on smooth motion.
    pub(crate) order: u32,
    /// Whether each stage depends on those before it alone.
    pub(crate) is_explicit: bool,
}

impl Tableau {
    fn new(a: &[&[f64]], b: &[f64], order: u32) -> Self {
        let s = b.len();
        let mut full = Dense::zeros(s, s);
        for (i, row) in a.iter().enumerate() {
            full.row_mut(i)[..row.len()].copy_from_slice(row);
        }
        let is_explicit = (0..s).all(|i| full.row(i)[i..].iter().all(|a| *a == 0.0));
        let c = (0..s).map(|i| full.row(i).iter().sum()).collect();
        Self {
            a: full,
            b: b.to_vec(),
            c,
            order,
            is_explicit,
        }
    }

    /// Gauss's method of one stage: order 2.
    pub(crate) fn gauss() -> Self {
        Self::new(&[&[0.5]], &[1.0], 2)
    }

    /// Radau IIA of two stages: order 3.
    pub(crate) fn radau3() -> Self {
        let last = [0.75, 0.25];
        Self::new(&[&[5.0 / 12.0, -1.0 / 12.0], &last], &last, 3)
    }

    /// Radau IIA of three stages: order 5.
    pub(crate) fn radau5() -> Self {
        let r = 6.0_f64.sqrt();
        let last = [(16.0 - r) / 36.0, (16.0 + r) / 36.0, 1.0 / 9.0];
        Self::new(
            &[
                &[
                    (88.0 - 7.0 * r) / 360.0,
                    (296.0 - 169.0 * r) / 1800.0,
                    (-2.0 + 3.0 * r) / 225.0,
                ],
                &[
                    (296.0 + 169.0 * r) / 1800.0,
                    (88.0 + 7.0 * r) / 360.0,
                    (-2.0 - 3.0 * r) / 225.0,
                ],
                &last,
            ],
            &last,
            5,
        )
    }

    /// Explicit midpoint rule: order 2.
    pub(crate) fn midpoint() -> Self {
        Self::new(&[&[], &[0.5]], &[0.0, 1.0], 2)
    }

    /// Kutta's method of order 3.
    pub(crate) fn kutta3() -> Self {
        Self::new(
            &[&[], &[0.5], &[-1.0, 2.0]],
            &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
            3,
        )
    }

    /// The classical method of order 4.
    pub(crate) fn rk4() -> Self {
        let sixth = 1.0 / 6.0;
        Self::new(
            &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0]],
            &[sixth, 2.0 * sixth, 2.0 * sixth, sixth],
            4,
        )
    }

    /// The method of order 5 of Dormand and Prince (1980).
    pub(crate) fn dopri5() -> Self {
        Self::new(
            &[
                &[],
                &[0.2],
                &[3.0 / 40.0, 9.0 / 40.0],
                &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
                &[
                    19372.0 / 6561.0,
                    -25360.0 / 2187.0,
                    64448.0 / 6561.0,
                    -212.0 / 729.0,
                ],
                &[
                    9017.0 / 3168.0,
                    -355.0 / 33.0,
                    46732.0 / 5247.0,
                    49.0 / 176.0,
                    -5103.0 / 18656.0,
                ],
            ],
            &[
                35.0 / 384.0,
                0.0,
                500.0 / 1113.0,
                125.0 / 192.0,
                -2187.0 / 6784.0,
                11.0 / 84.0,
            ],
            5,
        )
    }

    /// Number of stages.
    pub(crate) fn stages(&self) -> usize {
        self.b.len()
    }

    /// Weights of the stages in stage `i`.
    pub(crate) fn a(&self, i: usize) -> &[f64] {
        self.a.row(i)
    }

    /// Weights of the stages at the end.
    pub(crate) fn b(&self) -> &[f64] {
        &self.b
    }

    /// Time of stage `i` as a share of the step.
    pub(crate) fn c(&self, i: usize) -> f64 {
        self.c[i]
    }

    /// `Σ_k a_ik a_kj`: weight of the accelerations in the positions.
    pub(crate) fn square(&self, i: usize, j: usize) -> f64 {
        let products = self.a(i).iter().enumerate();
        products.map(|(k, a)| a * self.a.row(k)[j]).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Tableau;

    /// `Σ b_i c_i^{k−1} = 1/k` and `Σ b_i a_ij c_j^{k−1} = Σ b_i c_i^k / k`: quadrature and the condition of the second derivative.
    #[test]
    fn the_weights_are_those_of_a_quadrature_of_their_order() {
        for t in [
            Tableau::gauss(),
            Tableau::radau3(),
            Tableau::radau5(),
            Tableau::midpoint(),
            Tableau::kutta3(),
            Tableau::rk4(),
            Tableau::dopri5(),
        ] {
            let s = t.stages();
            let power = |i: usize, k: u32| t.c(i).powi(i32::try_from(k).unwrap_or(0));
            for k in 1..=t.order {
                let sum: f64 = (0..s).map(|i| t.b()[i] * power(i, k - 1)).sum();
                assert!((sum - 1.0 / f64::from(k)).abs() < 1e-14, "{k}: {sum}");
            }
            for k in 1..t.order {
                let inner = |i: usize| -> f64 { (0..s).map(|j| t.a(i)[j] * power(j, k - 1)).sum() };
                let sum: f64 = (0..s).map(|i| t.b()[i] * inner(i)).sum();
                let expected = 1.0 / f64::from(k * (k + 1));
                assert!((sum - expected).abs() < 1e-14, "{k}: {sum}");
            }
            assert_eq!(t.is_explicit, t.a(0)[0] == 0.0);
        }
    }
}
