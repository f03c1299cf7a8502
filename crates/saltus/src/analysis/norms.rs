//! Norms of the error at the grid points.
//!
//! Acary, *Numerical methods for nonsmooth mechanical systems*, eqs. (48)–(49):
//! `‖e‖_p = (h Σᵢ |fᵢ − f(tᵢ)|ᵖ)^(1/p)` over all grid points, start and end included.

/// `L¹`, `L²` and `L^∞` grid norms of a scalar error, accumulated point by point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GridNorms {
    sum: f64,
    squares: f64,
    largest: f64,
}

impl GridNorms {
    /// Norms of nothing: all zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the error at one grid point, of any sign. `weight` is the length of the step that ends
    /// there \[s\], for the first point that of the first step.
    #[inline]
    pub fn add(&mut self, weight: f64, error: f64) {
        let size = error.abs();
        self.sum += weight * size;
        self.squares += weight * size * size;
        // `max` would lose a NaN.
        if size > self.largest || size.is_nan() {
            self.largest = size;
        }
    }

    /// `h Σ |e|` \[unit of the error times s\].
    #[must_use]
    pub fn l1(&self) -> f64 {
        self.sum
    }

    /// `(h Σ e²)^½` \[unit of the error times s^½\].
    #[must_use]
    pub fn l2(&self) -> f64 {
        self.squares.sqrt()
    }

    /// `max |e|` \[unit of the error\].
    #[must_use]
    pub fn linf(&self) -> f64 {
        self.largest
    }
}

/// The relative `L¹` norm `Σᵢ |fᵢ − f(tᵢ)| / Σᵢ |f(tᵢ)|` over all points and components
/// (Brüls, Acary, Cardona 2014, and Acary's lecture, section on empirical order).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RelativeL1 {
    errors: f64,
    values: f64,
}

impl RelativeL1 {
    /// Norm of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one component at one grid point: what was computed and what is true.
    #[inline]
    pub fn add(&mut self, computed: f64, exact: f64) {
        self.errors += (computed - exact).abs();
        self.values += exact.abs();
    }

    /// The norm, without unit; NaN where the true motion vanishes everywhere.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.errors / self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_error_has_the_norms_of_a_constant() {
        // |e| = 3 at 5 points of spacing 0.5: 7.5, 3 √2.5, 3.
        let mut norms = GridNorms::new();
        for i in 0..5 {
            norms.add(0.5, if i % 2 == 0 { 3.0 } else { -3.0 });
        }
        assert_eq!(norms.l1(), 7.5);
        assert!((norms.l2() - 3.0 * 2.5_f64.sqrt()).abs() < 1e-15);
        assert_eq!(norms.linf(), 3.0);
    }

    #[test]
    fn a_jump_one_step_late_has_orders_one_half_and_zero() {
        let of = |n: i32| {
            let mut norms = GridNorms::new();
            let h = 1.0 / f64::from(n);
            for i in 0..=n {
                norms.add(h, if i == n / 2 { 1.0 } else { 0.0 });
            }
            norms
        };
        let (a, b) = (of(100), of(400));
        assert!((a.l1() / b.l1() - 4.0).abs() < 1e-12);
        assert!((a.l2() / b.l2() - 2.0).abs() < 1e-12);
        assert_eq!(a.linf(), b.linf());
    }

    #[test]
    fn not_a_number_is_not_lost() {
        let mut norms = GridNorms::new();
        norms.add(1.0, f64::NAN);
        norms.add(1.0, 1.0);
        assert!(norms.l1().is_nan() && norms.l2().is_nan() && norms.linf().is_nan());
    }

    #[test]
    fn relative_norm_adds_components() {
        let mut norm = RelativeL1::new();
        norm.add(1.1, 1.0);
        norm.add(-3.3, -3.0);
        assert!((norm.value() - 0.1).abs() < 1e-14);
    }
}
