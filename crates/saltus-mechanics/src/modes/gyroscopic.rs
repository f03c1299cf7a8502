//! Modes with gyroscopic forces: `(λ² M + λ G + K) u + Jᵀ μ = 0` with `J u = 0`, where `G` is the skew part of the velocity matrix.
//!
//! As a linear problem of twice the size in coordinates of the motions that the constraints leave, in full, by the inverse about a real
//! shift (Tisseur and Meerbergen 2001). The shapes are complex: the motion whirls. Damping is told by its share of the first order,
//! `ζ = uᴴ D u / (2 ω uᴴ M u − i uᴴ G u)`, as without gyroscopic forces.

use super::unsymmetric::{MOST, REAL};
use super::{BLOCK, Basis, Mode, Modes, ModesError, Problem, RIGID, SYMMETRIC, sort, stiffness};
use saltus_linear::{Dense, MatrixSink, SquareMatrix, axpy, dot, general_eigen, max_abs};
use saltus_system::{Point, State, System};

/// Adds a multiple of the skew part of what passes to a matrix.
struct Skew<'a> {
    matrix: &'a mut SquareMatrix,
    factor: f64,
}

impl MatrixSink for Skew<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.matrix.entry(row, col, 0.5 * self.factor * value);
        self.matrix.entry(col, row, -0.5 * self.factor * value);
    }
}

/// A complex vector, real and imaginary part.
type Complex = [Vec<f64>; 2];

impl Problem {
    /// Whether the velocity matrix has a skew part that is no round-off.
    pub(super) fn has_gyroscopic_forces(&mut self, system: &dyn System, at: Point<'_>) -> bool {
        let skew = self.skew(system, at);
        let (mut of_skew, mut of_rest) = (vec![0.0; self.nv], vec![0.0; self.nv]);
        (0..BLOCK).any(|_| {
            let x = self.direction();
            skew.apply(&x, &mut of_skew);
            self.damping.apply(&x, &mut of_rest);
            max_abs(&of_skew) > SYMMETRIC * max_abs(&of_rest)
        })
    }

    fn skew(&self, system: &dyn System, at: Point<'_>) -> SquareMatrix {
        let mut matrix = SquareMatrix::new(self.nv);
        let mut skew = Skew {
            matrix: &mut matrix,
            factor: 1.0,
        };
        system.damping(at, &mut skew);
        matrix.finish();
        matrix
    }

    /// Whether the problem is small enough.
    pub(super) fn takes_gyroscopic_forces(&self) -> bool {
        2 * (self.nv + self.ng) <= MOST
    }

    /// The modes, by ascending real part of `ω² = −λ²`.
    pub(super) fn gyroscopic(
        &mut self,
        system: &dyn System,
        state: &State,
        shift: f64,
        count: usize,
    ) -> Result<Modes, ModesError> {
        let rest = vec![0.0; self.nv];
        let at = Point {
            t: state.t,
            q: &state.q,
            v: &rest,
        };
        let basis = self.motions(shift)?;
        if basis.len() == 0 {
            return Err(ModesError::Rigid);
        }
        let (sigma, skew) = (shift.sqrt(), self.skew(system, at));
        let inverse = self.inverse(system, at, (&basis, &skew), sigma)?;
        let not_found = ModesError::NotConverged {
            found: 0,
            wanted: count,
            vectors: 2 * basis.len(),
        };
        let (values, vectors) = general_eigen(&inverse).ok_or(not_found)?;
        let largest = values.iter().map(|v| v[0].hypot(v[1])).fold(0.0, f64::max);
        let least = (RIGID * shift).sqrt();
        let mut list = Vec::new();
        let (mut rigid, mut k) = (0, 0);
        while k < values.len() {
            let [a, b] = values[k];
            let square = a * a + b * b;
            let is_pair = b != 0.0;
            let first = k;
            k += if is_pair { 2 } else { 1 };
            if square.sqrt() <= 1e-14 * largest {
                continue; // a coordinate without mass
            }
            let lambda = [sigma + a / square, (b / square).abs()];
            let size = lambda[0].hypot(lambda[1]);
            let half = |row: usize| basis.combine(&vectors.row(row)[..basis.len()]);
            let real = || [half(first), vec![0.0; self.nv]];
            if size <= least {
                // Each rigid motion is there twice.
                rigid += k - first;
                if rigid % 2 == 0 {
                    list.push(self.whirl([0.0; 2], real(), &skew));
                }
            } else if is_pair {
                // The vector of the conjugate value, whose imaginary part is positive.
                let mut other = half(first + 1);
                other.iter_mut().for_each(|y| *y = -*y);
                let lambda = lambda.map(|x| if x.abs() <= REAL * size { 0.0 } else { x });
                list.push(self.whirl(lambda, [half(first), other], &skew));
            } else if lambda[0] > 0.0 {
                list.push(self.whirl(lambda, real(), &skew));
            }
        }
        sort(&mut list);
        list.truncate(count);
        Ok(Modes {
            list,
            acceleration: self.acceleration,
            closed: self.closed,
            asymmetry: self.asymmetry,
            gyroscopic: true,
            gyroscopic_left_out: false,
        })
    }

    /// All motions that the constraints leave, orthonormal with the mass.
    fn motions(&mut self, shift: f64) -> Result<Basis, ModesError> {
        if self.border(0.0, 1.0).is_err() {
            self.border(1.0, shift)?;
        }
        let mut basis = Basis::default();
        let (mut unit, mut mx) = (vec![0.0; self.nv], vec![0.0; self.nv]);
        for j in 0..self.nv {
            unit[j] = 1.0;
            self.mass.apply(&unit, &mut mx);
            let size = basis.norm(&self.mass, &unit);
            unit[j] = 0.0;
            let mut x = self.apply(&mx);
            let size = size.max(basis.norm(&self.mass, &x));
            basis.extend(&self.mass, &mut x, size);
        }
        Ok(basis)
    }

    /// `(A − σ)⁻¹` of `ż = A z` for `z = (σ u, u̇)` in coordinates of the basis: with `S = K + σ G + σ² M`, the image of `(σ a, b)` is
    /// `(σ u, a + σ u)` where `S u = −(M b + (G + σ M) a)`.
    fn inverse(
        &mut self,
        system: &dyn System,
        at: Point<'_>,
        (basis, skew): (&Basis, &SquareMatrix),
        sigma: f64,
    ) -> Result<Dense, ModesError> {
        let mut sum = SquareMatrix::new(self.nv);
        stiffness(system, at, &self.lambda, &mut sum);
        let mut skewed = Skew {
            matrix: &mut sum,
            factor: sigma,
        };
        system.damping(at, &mut skewed);
        sum.finish();
        self.stiffness = sum;
        self.border(1.0, sigma * sigma)?;
        let r = basis.len();
        let mut inverse = Dense::zeros(2 * r, 2 * r);
        let mut load = vec![0.0; self.nv];
        for i in 0..r {
            for half in 0..2 {
                load.fill(0.0);
                if half == 0 {
                    skew.apply(&basis.x[i], &mut load);
                    axpy(sigma, &basis.mx[i], &mut load);
                    load.iter_mut().for_each(|x| *x /= sigma);
                } else {
                    load.copy_from_slice(&basis.mx[i]);
                }
                let u = self.apply(&load);
                for (k, mx) in basis.mx.iter().enumerate() {
                    let part = -sigma * dot(mx, &u);
                    inverse[(k, half * r + i)] = part;
                    inverse[(r + k, half * r + i)] = part;
                }
            }
            inverse[(r + i, i)] += 1.0 / sigma;
        }
        Ok(inverse)
    }

    /// The mode of the eigenvalue `λ` whose imaginary part is not negative.
    fn whirl(&self, [growth, omega]: [f64; 2], shape: Complex, skew: &SquareMatrix) -> Mode {
        let [x, y] = self.turned(shape);
        let product = |a: &[f64], matrix: &SquareMatrix, b: &[f64]| {
            let mut image = vec![0.0; self.nv];
            matrix.apply(b, &mut image);
            dot(a, &image)
        };
        let damping = self.damping.form(&x, &x) + self.damping.form(&y, &y);
        let momentum = omega + product(&x, skew, &y);
        let is_told = growth == 0.0 && omega > 0.0 && self.asymmetry == 0.0 && momentum != 0.0;
        let whirls = max_abs(&y) > REAL * max_abs(&x);
        Mode {
            eigenvalue: omega * omega - growth * growth,
            imaginary: 2.0 * growth * omega,
            damping_ratio: is_told.then(|| damping / (2.0 * momentum)),
            quarter_later: whirls.then(|| y.iter().map(|y| -y).collect()),
            shape: x,
        }
    }

    /// The vector with `uᴴ M u = 1` in the phase in which its real part is largest.
    fn turned(&self, [x, y]: Complex) -> Complex {
        let form = |a: &[f64], b: &[f64]| self.mass.form(a, b);
        let (a, b, c) = (form(&x, &x), form(&y, &y), form(&x, &y));
        let (sin, cos) = (0.5 * (2.0 * c).atan2(a - b)).sin_cos();
        let length = (a + b).max(0.0).sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 1.0 };
        let sum = |p: f64, q: f64| -> Vec<f64> {
            let both = x.iter().zip(&y);
            both.map(|(x, y)| scale * (p * x + q * y)).collect()
        };
        [sum(cos, sin), sum(-sin, cos)]
    }
}
