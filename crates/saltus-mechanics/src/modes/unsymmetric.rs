//! Modes where the stiffness is not symmetric: `T = (K + s M)⁻¹ M` in the motions that the constraints leave, in full, with its complex
//! eigenvalues `1 / (ω² + s)`. A pair of them is flutter: one motion grows while it oscillates (Bolotin, *Nonconservative Problems of the
//! Theory of Elastic Stability*, 1963).

use super::{
    BLOCK, Mode, Modes, ModesError, Problem, RIGID, ROUND_OFF, SYMMETRIC, sort, stiffness,
};
use saltus_linear::{Dense, SquareMatrix, axpy, general_eigen, max_abs};
use saltus_system::{Point, State, System};

/// Most coordinates and constraints.
pub(super) const MOST: usize = 600;

/// An imaginary part of an eigenvalue below this share of it is what round-off makes of a double one.
pub(super) const REAL: f64 = 1e-6;

impl Problem {
    /// The size of the skew part of the stiffness, relative to the whole; 0 where that is round-off.
    pub(super) fn asymmetry(&mut self, system: &dyn System, at: Point<'_>) -> f64 {
        let whole = self.whole(system, at);
        let (mut full, mut half) = (vec![0.0; self.nv], vec![0.0; self.nv]);
        let (mut skew, mut size) = (0.0_f64, 0.0_f64);
        for _ in 0..BLOCK {
            let x = self.direction();
            whole.apply(&x, &mut full);
            self.stiffness.apply(&x, &mut half);
            size = size.max(max_abs(&full)).max(max_abs(&half));
            axpy(-1.0, &half, &mut full);
            skew = skew.max(max_abs(&full));
        }
        if skew > SYMMETRIC * size {
            skew / size
        } else {
            0.0
        }
    }

    fn whole(&self, system: &dyn System, at: Point<'_>) -> SquareMatrix {
        let mut whole = SquareMatrix::new(self.nv);
        stiffness(system, at, &self.lambda, &mut whole);
        whole.finish();
        whole
    }

    /// The modes, by ascending real part of `ω²`.
    pub(super) fn unsymmetric(
        &mut self,
        system: &dyn System,
        state: &State,
        shift: f64,
        count: usize,
    ) -> Result<Modes, ModesError> {
        let n = self.nv;
        if n + self.ng > MOST {
            return Err(ModesError::Unsymmetric {
                asymmetry: self.asymmetry,
                size: n + self.ng,
                most: MOST,
            });
        }
        let rest = vec![0.0; n];
        let at = Point {
            t: state.t,
            q: &state.q,
            v: &rest,
        };
        self.stiffness = self.whole(system, at);
        self.border(1.0, shift)?;
        let mut inverse = Dense::zeros(n, n);
        let (mut unit, mut mx) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n {
            unit[j] = 1.0;
            self.mass.apply(&unit, &mut mx);
            unit[j] = 0.0;
            for (i, value) in self.apply(&mx).into_iter().enumerate() {
                inverse[(i, j)] = value;
            }
        }
        let not_found = ModesError::NotConverged {
            found: 0,
            wanted: count,
            vectors: n,
        };
        let (values, vectors) = general_eigen(&inverse).ok_or(not_found)?;
        let largest = values.iter().map(|v| v[0].hypot(v[1])).fold(0.0, f64::max);
        let mut list: Vec<Mode> = values
            .iter()
            .enumerate()
            .filter(|(_, [a, b])| a.hypot(*b) > 1e-14 * largest)
            .map(|(k, value)| self.complex_mode(*value, shift, vectors.row(k)))
            .collect();
        if list.is_empty() {
            return Err(ModesError::Rigid);
        }
        sort(&mut list);
        list.truncate(count);
        Ok(Modes {
            list,
            acceleration: self.acceleration,
            closed: self.closed,
            asymmetry: self.asymmetry,
            gyroscopic: false,
            gyroscopic_left_out: self.gyroscopic,
        })
    }

    fn complex_mode(&self, [a, b]: [f64; 2], shift: f64, shape: &[f64]) -> Mode {
        let square = a * a + b * b;
        let (real, imaginary) = (a / square - shift, -b / square);
        let least = (RIGID * shift).max(ROUND_OFF * self.largest);
        let size = real.hypot(imaginary);
        let is_real = imaginary.abs() <= (REAL * size).max(least);
        let length = self.mass.form(shape, shape).max(0.0).sqrt();
        let scale = if length > 0.0 { 1.0 / length } else { 1.0 };
        Mode {
            eigenvalue: if size <= least { 0.0 } else { real },
            // The first of a pair, which has the positive part here, grows.
            imaginary: if is_real { 0.0 } else { -imaginary },
            quarter_later: None,
            damping_ratio: None,
            shape: shape.iter().map(|x| scale * x).collect(),
        }
    }
}
