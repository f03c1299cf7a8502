//! The largest step that an explicit scheme is stable with, from the fastest vibration about a state (Courant, Friedrichs, Lewy).

use super::Step;
use saltus_linear::{MatrixSink as _, RowCollector, Shifted, SquareMatrix, axpy, max_abs};
use saltus_system::{State, System};

/// Power iterations, and the change of the estimate that ends them.
const ITERATIONS: usize = 200;
const SETTLED: f64 = 1e-6;
/// Step lengths at which a Runge–Kutta method is looked at, over the time scale of the motion, and how many.
const SCAN: f64 = 1e-2;
const FARTHEST: u32 = 800;
/// Most stages of a method that is looked at.
const MOST_STAGES: usize = 16;

/// A vibration: `ω²` [1/s²] and `2 ξ ω` [1/s].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) square: f64,
    pub(crate) damping: f64,
}

impl Mode {
    /// Largest step \[s\] of the velocity Verlet scheme (Schindler et al. 2015).
    pub(crate) fn verlet_limit(self) -> f64 {
        verlet_limit(self.square, self.damping)
    }

    /// Largest step \[s\] of the symplectic Euler scheme with forces at the velocity before: `c ≤ 2` and `z² + 2c ≤ 4`.
    pub(crate) fn symplectic_limit(self) -> f64 {
        let (k, d) = (self.square, self.damping);
        let limit = 4.0 / (d + (d * d + 4.0 * k).sqrt());
        limit.min(2.0 / d)
    }

    /// Largest step \[s\] up to which no step of the explicit Runge–Kutta method makes the vibration more than `growth` times as large;
    /// `weights(l)` are those of the stages before in stage `l` of `stages`, and `weights(stages)` those of the end. 0 where every step
    /// does.
    pub(crate) fn runge_kutta_limit<'a>(
        self,
        growth: f64,
        stages: usize,
        weights: impl Fn(usize) -> &'a [f64],
    ) -> f64 {
        let unit = self.square.sqrt().max(self.damping);
        let is_stable = |s: f64| self.amplification(s / unit, stages, &weights) <= growth;
        let Some(first) = (1..=FARTHEST).find(|&k| !is_stable(SCAN * f64::from(k))) else {
            return SCAN * f64::from(FARTHEST) / unit;
        };
        let (mut low, mut high) = (SCAN * f64::from(first - 1), SCAN * f64::from(first));
        while high - low > 1e-6 * high {
            let middle = 0.5 * (low + high);
            if is_stable(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        // Growth that a short step hides in the tolerance is growth.
        if first == 1 { 0.0 } else { low / unit }
    }

    /// Largest amplification of `ẍ + d ẋ + k x = 0` in a step of length `h` \[s\].
    pub(crate) fn amplification<'a>(
        self,
        h: f64,
        stages: usize,
        weights: &impl Fn(usize) -> &'a [f64],
    ) -> f64 {
        // The columns of the matrix of the step are the motions from (1, 0) and (0, 1), velocities over the unit of frequency.
        let unit = self.square.sqrt().max(self.damping);
        let (z, k, d) = (h * unit, self.square / (unit * unit), self.damping / unit);
        let column = |start: [f64; 2]| {
            let mut rates = [[0.0; 2]; MOST_STAGES];
            let after = |rates: &[[f64; 2]], weights: &[f64]| {
                let mut x = start;
                for (w, rate) in weights.iter().zip(rates) {
                    x = [x[0] + z * w * rate[0], x[1] + z * w * rate[1]];
                }
                x
            };
            for l in 0..stages {
                let x = after(&rates[..l], weights(l));
                rates[l] = [x[1], -k * x[0] - d * x[1]];
            }
            after(&rates[..stages], weights(stages))
        };
        let (a, b) = (column([1.0, 0.0]), column([0.0, 1.0]));
        let (half_trace, det) = (0.5 * (a[0] + b[1]), a[0] * b[1] - a[1] * b[0]);
        let discriminant = half_trace * half_trace - det;
        if discriminant < 0.0 {
            det.sqrt()
        } else {
            half_trace.abs() + discriminant.sqrt()
        }
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

/// The smallest of what `limit` \[s\] says of the vibration with the highest frequency about `state`, the start of `step`, and of the
/// motion that is damped most; `None` where nothing vibrates and nothing is damped, 0 where every step makes a vibration grow.
///
/// Of the motions that bilateral constraints leave, with the stiffness that their forces make as they turn.
pub(crate) fn largest_step(
    system: &dyn System,
    state: &State,
    step: &Step,
    limit: impl Fn(Mode) -> f64,
) -> Option<f64> {
    let n = step.dims.nv;
    if n == 0 {
        return None;
    }
    let mut stiffness = SquareMatrix::new(n);
    let mut damping = SquareMatrix::new(n);
    system.stiffness(state.point(), &mut stiffness);
    system.damping(state.point(), &mut damping);
    let mass = &step.start.mass;
    let constrained = (step.dims.ng > 0)
        .then(|| Constrained::new(system, state))
        .flatten();
    if let Some(constrained) = &constrained {
        let lambda = constrained.forces(system, state);
        let mut opposing = Shifted {
            sink: &mut stiffness,
            factor: -1.0,
            row: 0,
            col: 0,
        };
        system.g_curvature(state.t, &state.q, &lambda, &mut opposing);
    }
    stiffness.finish();
    damping.finish();
    let response = |x: &mut Vec<f64>| match &constrained {
        Some(constrained) => constrained.respond(x),
        None => mass.solve(x),
    };
    let fastest = [&stiffness, &damping].map(|matrix| {
        let x = largest_eigenvector(matrix, mass, response, n)?;
        let of = |matrix: &SquareMatrix| matrix.form(&x, &x) / mass.form(&x, &x);
        let mode = Mode {
            square: of(&stiffness).max(0.0),
            damping: of(&damping).max(0.0),
        };
        (mode.square > 0.0 || mode.damping > 0.0).then(|| limit(mode))
    });
    fastest.into_iter().flatten().reduce(f64::min)
}

/// The mass bordered by bilateral constraints, `[M Gᵀ; G 0]`, about a state.
struct Constrained {
    n: usize,
    ng: usize,
    /// Brings the rows of the constraints to the size of the mass.
    scale: f64,
    matrix: SquareMatrix,
}

impl Constrained {
    /// `None` where the constraints leave no motion that has a mass.
    fn new(system: &dyn System, state: &State) -> Option<Self> {
        let (n, ng) = (system.dims().nv, system.dims().ng);
        let mut rows = RowCollector::default();
        system.g_jacobian(state.t, &state.q, &mut rows);
        let rows = rows.finish(ng);
        let mut mass = SquareMatrix::new(n);
        system.mass(&state.q, &mut mass);
        mass.finish();
        let mut diagonal = vec![0.0; n];
        mass.diagonal(&mut diagonal);
        let scale = max_abs(&diagonal);
        // Redundant constraints: a little compliance makes their forces unique.
        for compliance in [0.0, 1e-12] {
            let mut matrix = SquareMatrix::new(n + ng);
            mass.send(1.0, &mut matrix);
            for row in 0..ng {
                for (&j, g) in rows.cols(row).iter().zip(rows.values(row)) {
                    matrix.entry(j, n + row, scale * g);
                    matrix.entry(n + row, j, scale * g);
                }
                if compliance > 0.0 {
                    matrix.entry(n + row, n + row, -compliance * scale);
                }
            }
            if matrix.factorise().is_ok() {
                return Some(Self {
                    n,
                    ng,
                    scale,
                    matrix,
                });
            }
        }
        None
    }

    /// The acceleration that a force `x` makes in the motions that the constraints leave, in its place.
    fn respond(&self, x: &mut Vec<f64>) {
        x.resize(self.n + self.ng, 0.0);
        self.matrix.solve(x);
        x.truncate(self.n);
    }

    /// The forces of the constraints at `state` (ng) \[N\].
    fn forces(&self, system: &dyn System, state: &State) -> Vec<f64> {
        let mut x = vec![0.0; self.n + self.ng];
        system.force(state.point(), &mut x[..self.n]);
        system.g_bias(state.point(), &mut x[self.n..]);
        x[self.n..].iter_mut().for_each(|bias| *bias *= -self.scale);
        self.matrix.solve(&mut x);
        x[self.n..].iter().map(|y| -self.scale * y).collect()
    }
}

/// The eigenvector of `M⁻¹ A` with the largest eigenvalue, by power iterations; `response` is `M⁻¹` in place, in the motions that
/// constraints leave.
fn largest_eigenvector(
    matrix: &SquareMatrix,
    mass: &SquareMatrix,
    response: impl Fn(&mut Vec<f64>),
    n: usize,
) -> Option<Vec<f64>> {
    if matrix.is_zero() {
        return None;
    }
    let (x, value) = power_iterations(matrix, mass, &response, n, 0.0)?;
    if value >= 0.0 {
        return Some(x);
    }
    // The largest in size belongs to a motion that grows by itself: behind it may be vibrations.
    let (x, value) = power_iterations(matrix, mass, &response, n, -value)?;
    (value > 0.0).then_some(x)
}

/// The eigenvector of `M⁻¹ A + shift` with the eigenvalue of largest size, and that of `M⁻¹ A`.
fn power_iterations(
    matrix: &SquareMatrix,
    mass: &SquareMatrix,
    response: impl Fn(&mut Vec<f64>),
    n: usize,
    shift: f64,
) -> Option<(Vec<f64>, f64)> {
    // Signs that alternate are close to the mode of a mesh with the highest frequency.
    #[allow(clippy::cast_precision_loss)]
    let mut x: Vec<f64> = (0..n)
        .map(|i| (if i % 2 == 0 { 1.0 } else { -1.0 }) * (1.0 + 0.1 * (i as f64).sin()))
        .collect();
    let mut y = vec![0.0; n];
    mass.apply(&x, &mut y);
    response(&mut y);
    x.copy_from_slice(&y);
    let mut value = 0.0_f64;
    for _ in 0..ITERATIONS {
        matrix.apply(&x, &mut y);
        response(&mut y);
        axpy(shift, &x, &mut y);
        let size = mass.form(&y, &y).sqrt();
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let estimate = mass.form(&x, &y) / mass.form(&x, &x);
        x.iter_mut().zip(&y).for_each(|(x, y)| *x = y / size);
        let settled = (estimate - value).abs() <= SETTLED * estimate.abs();
        value = estimate;
        if settled {
            break;
        }
    }
    Some((x, value - shift))
}

#[cfg(test)]
mod tests {
    use super::{Mode, verlet_limit};

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

    #[test]
    fn limits_of_runge_kutta_methods_depend_on_damping() {
        let kutta: [&[f64]; 4] = [
            &[],
            &[0.5],
            &[-1.0, 2.0],
            &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0],
        ];
        let heun: [&[f64]; 3] = [&[], &[1.0], &[0.5, 0.5]];
        let euler: [&[f64]; 2] = [&[], &[1.0]];
        let mode = |xi: f64| Mode {
            square: 4.0,
            damping: 4.0 * xi,
        };
        let close = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        };
        close(
            mode(0.0).runge_kutta_limit(1.0 + 1e-9, 3, |l| kutta[l]),
            0.5 * 3.0_f64.sqrt(),
        );
        close(mode(0.0).runge_kutta_limit(1.0 + 1e-9, 2, |l| heun[l]), 0.0);
        close(mode(1.0).runge_kutta_limit(1.0 + 1e-9, 2, |l| heun[l]), 1.0);
        close(
            mode(0.0).runge_kutta_limit(1.0 + 1e-9, 1, |l| euler[l]),
            0.0,
        );
        close(
            mode(0.5).runge_kutta_limit(1.0 + 1e-9, 1, |l| euler[l]),
            0.5,
        );
        close(mode(0.0).symplectic_limit(), 1.0);
        close(mode(1.0).symplectic_limit(), 0.5 * (8.0_f64.sqrt() - 2.0));
        let damped = Mode {
            square: 0.0,
            damping: 10.0,
        };
        close(damped.verlet_limit(), 0.2);
        close(damped.runge_kutta_limit(1.0 + 1e-9, 1, |l| euler[l]), 0.2);
    }
}
