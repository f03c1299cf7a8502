//! Minimises `Σ ½ |P_i(y_i)|² − g·x`, `y = A x + c`, with the projections `P_i` onto convex cones: convex and once
//! differentiable, its gradient `Aᵀ P(y) − g` being semismooth. Newton's method with Levenberg's term and a line search
//! (Qi & Sun, *Math. Program.* 58 (1993) for semismooth equations).

use super::functions::Block;
use super::scaled::squared_norm;
use saltus_linear::{Dense, Lu, axpy, dot};

/// The projection of `y_i` and an element of its generalised Jacobian.
pub(super) type Projection<'a, const D: usize> =
    &'a dyn Fn(usize, &[f64; D]) -> ([f64; D], Block<D>);

/// Smallest Levenberg term.
const MIN_LEVENBERG: f64 = 1e-15;

/// The point and the buffers.
pub(super) struct ConeNewton<const D: usize> {
    /// `A` (dimension · cones × unknowns).
    pub map: Dense,
    /// Unknowns `x`.
    pub x: Vec<f64>,
    pub y: Vec<[f64; D]>,
    /// `P(y)`.
    pub p: Vec<[f64; D]>,
    /// `Aᵀ P(y) − g`.
    pub gradient: Vec<f64>,
    hessian: Dense,
    regularised: Dense,
    lu: Lu,
}

impl<const D: usize> ConeNewton<D> {
    /// Starts at zero.
    pub fn new(map: Dense) -> Self {
        let (rows, m) = (map.rows(), map.cols());
        Self {
            x: vec![0.0; m],
            y: vec![[0.0; D]; rows / D],
            p: vec![[0.0; D]; rows / D],
            gradient: vec![0.0; m],
            hessian: Dense::zeros(m, m),
            regularised: Dense::zeros(m, m),
            lu: Lu::default(),
            map,
        }
    }

    fn evaluate(
        &mut self,
        x: &[f64],
        c: &[[f64; D]],
        g: &[f64],
        projection: Projection<'_, D>,
    ) -> f64 {
        for (k, (y, c)) in (self.y.as_flattened_mut().iter_mut())
            .zip(c.as_flattened())
            .enumerate()
        {
            *y = c + dot(self.map.row(k), x);
        }
        for (i, (p, y)) in self.p.iter_mut().zip(&self.y).enumerate() {
            *p = projection(i, y).0;
        }
        0.5 * squared_norm(&self.p) - dot(g, x)
    }

    /// Iterates from `x`, at most `steps` times, until `done` returns true for the state and its gradient; returns whether it did.
    pub fn minimise(
        &mut self,
        c: &[[f64; D]],
        g: &[f64],
        projection: Projection<'_, D>,
        steps: u32,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
        let mut x = std::mem::take(&mut self.x);
        let mut value = self.evaluate(&x, c, g, projection);
        let mut levenberg = 1e-6;
        let mut reached = false;
        for _ in 0..steps {
            self.gradient.fill(0.0);
            self.map
                .apply_transposed_add(1.0, self.p.as_flattened(), &mut self.gradient);
            axpy(-1.0, g, &mut self.gradient);
            if done(self) {
                reached = true;
                break;
            }
            self.fill_hessian(projection);
            let mut next = None;
            for _ in 0..12 {
                next = self.attempt(&x, c, g, projection, levenberg, value);
                if next.is_some() {
                    levenberg = (0.1 * levenberg).max(MIN_LEVENBERG);
                    break;
                }
                levenberg *= 10.0;
            }
            let Some(next) = next else {
                self.evaluate(&x, c, g, projection);
                break;
            };
            (x, value) = next;
        }
        self.x = x;
        reached
    }

    /// `Aᵀ V A` with the derivative `V` of the projections, symmetric.
    fn fill_hessian(&mut self, projection: Projection<'_, D>) {
        let m = self.map.cols();
        self.hessian.clear();
        let mut line = vec![0.0; m];
        for (i, y) in self.y.iter().enumerate() {
            let slope = projection(i, y).1;
            for a in 0..D {
                if slope[a] == [0.0; D] {
                    continue;
                }
                line.fill(0.0);
                for b in 0..D {
                    axpy(slope[a][b], self.map.row(D * i + b), &mut line);
                }
                let row = self.map.row(D * i + a);
                for (k, factor) in row.iter().enumerate() {
                    if *factor != 0.0 {
                        axpy(*factor, &line[..=k], &mut self.hessian.row_mut(k)[..=k]);
                    }
                }
            }
        }
        for k in 0..m {
            for l in 0..k {
                self.hessian[(l, k)] = self.hessian[(k, l)];
            }
        }
    }

    /// A step with Levenberg's term `levenberg`, if it descends.
    fn attempt(
        &mut self,
        x: &[f64],
        c: &[[f64; D]],
        g: &[f64],
        projection: Projection<'_, D>,
        levenberg: f64,
        value: f64,
    ) -> Option<(Vec<f64>, f64)> {
        self.regularised.clone_from(&self.hessian);
        for k in 0..x.len() {
            self.regularised[(k, k)] += levenberg;
        }
        self.lu.factorise(&self.regularised).ok()?;
        let mut step = self.gradient.clone();
        self.lu.solve(&mut step);
        let slope = dot(&step, &self.gradient);
        // Near the minimum differences of the value are rounding: a shorter gradient is accepted instead.
        let length = dot(&self.gradient, &self.gradient).sqrt();
        let mut trial = vec![0.0; x.len()];
        let mut factor = 1.0;
        for _ in 0..20 {
            for (t, (x, s)) in trial.iter_mut().zip(x.iter().zip(&step)) {
                *t = x - factor * s;
            }
            let reached = self.evaluate(&trial, c, g, projection);
            if reached <= value - 1e-4 * factor * slope && reached < value {
                return Some((trial, reached));
            }
            let rounding = 1e-14 * (value.abs() + 0.5 * squared_norm(&self.p));
            if (reached - value).abs() <= rounding {
                let mut gradient = vec![0.0; x.len()];
                self.map
                    .apply_transposed_add(1.0, self.p.as_flattened(), &mut gradient);
                axpy(-1.0, g, &mut gradient);
                if dot(&gradient, &gradient).sqrt() <= 0.9 * length {
                    return Some((trial, reached));
                }
            }
            factor *= 0.5;
        }
        None
    }
}
