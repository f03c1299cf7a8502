//! The largest step that an explicit scheme is stable with, from the fastest vibration about a state (Courant, Friedrichs, Lewy).

use super::Step;
use saltus_linear::SquareMatrix;
use saltus_system::{State, System};

/// Power iterations, and the change of the estimate that ends them.
const ITERATIONS: usize = 200;
const SETTLED: f64 = 1e-6;

/// A vibration: `ω²` [1/s²] and `2 ξ ω` [1/s].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) square: f64,
    pub(crate) damping: f64,
}

impl Mode {
    /// Largest step \[s\] of an explicit scheme whose limit on the imaginary axis is `ω h ≤ limit`; damping is not looked at.
    pub(crate) fn imaginary_limit(self, limit: f64) -> f64 {
        limit / self.square.sqrt()
    }

    /// Largest step \[s\] of the velocity Verlet scheme (Schindler et al. 2015).
    pub(crate) fn verlet_limit(self) -> f64 {
        verlet_limit(self.square, self.damping)
    }
}

/// Largest `h` with `c ≤ 2` and `z² ≤ 4 − 2c + c²`, `z = ω h`, `c = 2 ξ ω h`.
fn verlet_limit(square: f64, damping: f64) -> f64 {
    let a = square - damping * damping;
    // a h² + 2 d h − 4 ≤ 0
    let root = (damping * damping + 4.0 * a).max(0.0).sqrt();
    let limit = if damping + root > 0.0 {
        4.0 / (damping + root)
    } else {
        f64::INFINITY
    };
    if damping > 0.0 {
        limit.min(2.0 / damping)
    } else {
        limit
    }
}

/// The mode with the highest frequency about `state`, the start of `step`, by power iterations on `M⁻¹ K`; `None` where nothing
/// vibrates.
pub(crate) fn highest_mode(system: &dyn System, state: &State, step: &Step) -> Option<Mode> {
    let n = step.dims.nv;
    let mut stiffness = SquareMatrix::new(n);
    let mut damping = SquareMatrix::new(n);
    system.stiffness(state.point(), &mut stiffness);
    system.damping(state.point(), &mut damping);
    stiffness.finish();
    damping.finish();
    if n == 0 || stiffness.is_zero() {
        return None;
    }
    let mass = &step.start.mass;
    // Signs that alternate are close to the mode of a mesh with the highest frequency.
    #[allow(clippy::cast_precision_loss)]
    let mut x: Vec<f64> = (0..n)
        .map(|i| (if i % 2 == 0 { 1.0 } else { -1.0 }) * (1.0 + 0.1 * (i as f64).sin()))
        .collect();
    let mut y = vec![0.0; n];
    let mut square = 0.0_f64;
    for _ in 0..ITERATIONS {
        stiffness.apply(&x, &mut y);
        mass.solve(&mut y);
        let size = mass.form(&y, &y).sqrt();
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let estimate = mass.form(&x, &y) / mass.form(&x, &x);
        x.iter_mut().zip(&y).for_each(|(x, y)| *x = y / size);
        let settled = (estimate - square).abs() <= SETTLED * estimate.abs();
        square = estimate;
        if settled {
            break;
        }
    }
    let damped = damping.form(&x, &x) / mass.form(&x, &x);
    (square > 0.0).then_some(Mode {
        square,
        damping: damped.max(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::verlet_limit;

    #[test]
    fn the_limit_with_damping_is_that_of_the_source() {
        for (xi, limit) in [
            (0.0_f64, 2.0),
            (0.1, 1.843_636),
            (0.3, 1.732_58),
            (1.0, 1.0),
        ] {
            let found = verlet_limit(1.0, 2.0 * xi);
            assert!((found - limit).abs() < 2e-3, "{xi}: {found}");
        }
    }
}
