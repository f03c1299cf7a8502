//! The largest step that an explicit scheme is stable with (spec §6 of the source: CFL condition).

use super::Method;
use crate::integrator::StepError;
use crate::kit::Step;
use saltus_linear::SquareMatrix;
use saltus_system::{State, System};

/// Power iterations, and the change of the estimate that ends them.
const ITERATIONS: usize = 200;
const SETTLED: f64 = 1e-6;

/// The largest stable step \[s\] of the motion about `state`, from the highest frequency `ω` of `K x = ω² M x` and its damping
/// `2 ξ ω`; `None` where nothing vibrates, or where the method is unstable with every step.
pub(super) fn largest_step(
    system: &dyn System,
    state: &State,
    method: Method,
    step: &Step,
) -> Result<Option<f64>, StepError> {
    let Some((square, damping)) = highest_mode(system, state, step) else {
        return Ok(None);
    };
    let omega = square.sqrt();
    Ok(match method {
        Method::Trapezoidal | Method::Acceleration | Method::Reduced => {
            Some(verlet_limit(square, damping))
        }
        // Limits on the imaginary axis.
        Method::Hem3 => Some(3.0_f64.sqrt() / omega),
        Method::Hem4 => Some(3.275_8 / omega),
        Method::Hetr | Method::Tableau => None,
    })
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

/// `ω²` and `2 ξ ω` of the mode with the highest frequency, by power iterations on `M⁻¹ K`.
fn highest_mode(system: &dyn System, state: &State, step: &Step) -> Option<(f64, f64)> {
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
    (square > 0.0).then_some((square, damped.max(0.0)))
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
