//! One contact with rolling friction: stick in closed form, slip and roll as roots of two nearly linear functions.
//!
//! A contact that is closed has `u_n = 0`; with `S` the other components condensed onto the normal one, and the ratios
//! `a_t = |u_t|/|r_t|`, `a_r = |u_r|/|r_r|`, the reactions are `x = −(S + diag(a_t, a_t, a_r, a_r))⁻¹ c`, with
//! `0 ≤ a_k ⟂ μ_k r_n − |x_k| ≥ 0` for each ratio.

use super::local::{self, mean_diagonal};
use super::residual::{natural_map_residual, square};
use crate::cone::{de_saxce, norm};

/// A matrix of two rows and columns.
type Matrix2 = [[f64; 2]; 2];

/// Solves a contact with `b_n < 0`; `None` where Newton's method on the ratios does not converge or a coefficient vanishes.
pub(crate) fn solve<const D: usize>(
    w: &[[f64; D]; D],
    b: &[f64; D],
    mu: f64,
    rolling: f64,
    guess: &[f64; D],
    work: &mut f64,
) -> Option<[f64; D]> {
    if D != 5 || mu <= 0.0 || rolling <= 0.0 {
        return None;
    }
    let contact = Condensed::new(w, b, [mu, rolling]);
    let unique = mu * norm(&w[0][1..3]) + rolling * norm(&w[0][3..]) < w[0][0];
    let guessed = if unique {
        contact.ratios(w, b, guess)
    } else {
        None
    };
    let r = contact.roots(guessed, work)?;
    let u = local::local_velocity(w, &r, b);
    let d = mean_diagonal(w);
    let e = natural_map_residual(&r, &de_saxce(&u, mu, rolling), 1.0 / d, mu, rolling);
    let scale = (norm(b) / d).max(norm(&r));
    let bound = if guessed.is_some() { 1e-9 } else { 1e-13 };
    (square(&e).sqrt() <= bound * scale).then_some(r)
}

/// The contact with its normal component eliminated.
struct Condensed {
    /// `S` in blocks: tangential and rolling rows and columns.
    s: [[Matrix2; 2]; 2],
    c: [[f64; 2]; 2],
    /// `r_n = n₀ + n₁·x`.
    n: (f64, [[f64; 2]; 2]),
    /// Radii of the discs over `r_n`.
    mu: [f64; 2],
    /// Mean diagonals of the two blocks of `S`.
    mean: [f64; 2],
}

impl Condensed {
    fn new<const D: usize>(w: &[[f64; D]; D], b: &[f64; D], mu: [f64; 2]) -> Self {
        let inverse = 1.0 / w[0][0];
        let mut s = [[[[0.0; 2]; 2]; 2]; 2];
        let (mut c, mut slope) = ([[0.0; 2]; 2], [[0.0; 2]; 2]);
        for k in 0..2 {
            for i in 0..2 {
                let row = 1 + 2 * k + i;
                let factor = w[row][0] * inverse;
                for l in 0..2 {
                    for j in 0..2 {
                        let col = 1 + 2 * l + j;
                        s[k][l][i][j] = w[row][col] - factor * w[0][col];
                    }
                }
                c[k][i] = b[row] - factor * b[0];
                slope[k][i] = -w[0][row] * inverse;
            }
        }
        Self {
            mean: [0, 1].map(|k| 0.5 * (s[k][k][0][0] + s[k][k][1][1])),
            s,
            c,
            n: (-b[0] * inverse, slope),
            mu,
        }
    }

    /// The ratios of the reaction `r`, where it closes the contact.
    fn ratios<const D: usize>(
        &self,
        w: &[[f64; D]; D],
        b: &[f64; D],
        r: &[f64; D],
    ) -> Option<[f64; 2]> {
        if r[0] <= 0.0 {
            return None;
        }
        let mut a = [0.0; 2];
        for k in 0..2 {
            let x = [r[1 + 2 * k], r[2 + 2 * k]];
            let size = x[0] * x[0] + x[1] * x[1];
            if size < (0.999 * self.mu[k] * r[0]).powi(2) {
                continue;
            }
            let mut power = 0.0;
            for i in 0..2 {
                let row = 1 + 2 * k + i;
                let u = b[row] + w[row].iter().zip(r).map(|(w, r)| w * r).sum::<f64>();
                power -= u * x[i];
            }
            a[k] = (power / size).max(0.0);
        }
        Some(a)
    }

    /// Newton's method on the ratios, from those of the guess or from stick.
    fn roots<const D: usize>(&self, guessed: Option<[f64; 2]>, work: &mut f64) -> Option<[f64; D]> {
        let mut a = guessed.unwrap_or([0.0; 2]);
        let mut is_first = guessed.is_none();
        // As with three components the next sweep continues from the end of this one.
        let small = if guessed.is_some() { 1e-5 } else { 1e-9 };
        let mut last = false;
        for _ in 0..30 {
            *work += 200.0;
            let inverse = self.inverse(a)?;
            let x = apply(&inverse, &self.c.map(|c| c.map(|v| -v)));
            let n = self.n.0 + dot(&self.n.1, &x);
            let size = x.map(|x| norm(&x));
            let excess = [0, 1].map(|k| size[k] - self.mu[k] * n);
            let active = [0, 1].map(|k| a[k] > 0.0 || excess[k] > 1e-15 * size[k]);
            let converged = |k: usize| !active[k] || excess[k].abs() <= 4e-16 * size[k];
            if n > 0.0
                && (converged(0) && converged(1)
                    || last && (0..2).all(|k| active[k] || excess[k] <= 0.0))
            {
                return Some(self.reaction(n, &x, &size, active));
            }
            if is_first || n <= 0.0 {
                // Stick needs a tensile reaction or exceeds the discs: start from the uncoupled solution.
                for k in 0..2 {
                    if n <= 0.0 && !is_first {
                        a[k] = 4.0 * a[k] + self.mean[k];
                    } else if active[k] || n <= 0.0 {
                        let drive = norm(&self.c[k]);
                        let uncoupled = drive / (self.mu[k] * self.n.0) - self.mean[k];
                        a[k] = uncoupled.max(1e-3 * self.mean[k]);
                    }
                }
                is_first = false;
                last = false;
                continue;
            }
            let step = self.step(&inverse, &x, n, &size, active)?;
            last = true;
            for k in 0..2 {
                if !active[k] {
                    continue;
                }
                let next = a[k] + step[k];
                if !next.is_finite() {
                    return None;
                }
                last &= step[k].abs() <= small * a[k];
                a[k] = if next > 0.0 {
                    next
                } else if excess[k] > 0.0 {
                    0.25 * a[k]
                } else {
                    0.0
                };
            }
        }
        None
    }

    /// `(S + diag a)⁻¹` by blocks.
    fn inverse(&self, a: [f64; 2]) -> Option<[[Matrix2; 2]; 2]> {
        let mut s = self.s;
        for k in 0..2 {
            s[k][k][0][0] += a[k];
            s[k][k][1][1] += a[k];
        }
        let first = inverse(&s[0][0])?;
        let left = product(&s[1][0], &first);
        let mut schur = s[1][1];
        let coupling = product(&left, &s[0][1]);
        for i in 0..2 {
            for j in 0..2 {
                schur[i][j] -= coupling[i][j];
            }
        }
        let last = inverse(&schur)?;
        let right = product(&first, &s[0][1]);
        let low = product(&last, &left);
        let high = product(&right, &last);
        let corner = product(&high, &left);
        let mut m = [[first, high], [low, last]];
        for i in 0..2 {
            for j in 0..2 {
                m[0][0][i][j] += corner[i][j];
                m[0][1][i][j] = -m[0][1][i][j];
                m[1][0][i][j] = -m[1][0][i][j];
            }
        }
        Some(m)
    }

    /// The Newton step on `1/|x_k| − 1/(μ_k r_n)` of the active discs.
    fn step(
        &self,
        inverse: &[[Matrix2; 2]; 2],
        x: &[[f64; 2]; 2],
        n: f64,
        size: &[f64; 2],
        active: [bool; 2],
    ) -> Option<[f64; 2]> {
        let mut slope = [[0.0; 2]; 2];
        let mut value = [0.0; 2];
        for l in 0..2 {
            if !active[l] {
                slope[l][l] = 1.0;
                continue;
            }
            // ∂x/∂a_l = −(S + diag a)⁻¹ of the components of disc l.
            let mut e = [[0.0; 2]; 2];
            e[l] = x[l].map(|v| -v);
            let p = apply(inverse, &e);
            let dn = dot(&self.n.1, &p);
            for k in (0..2).filter(|&k| active[k]) {
                let along = x[k][0] * p[k][0] + x[k][1] * p[k][1];
                slope[k][l] = dn / (self.mu[k] * n * n) - along / size[k].powi(3);
            }
            value[l] = 1.0 / size[l] - 1.0 / (self.mu[l] * n);
        }
        let m = self::inverse(&slope)?;
        Some([0, 1].map(|k| -(m[k][0] * value[0] + m[k][1] * value[1])))
    }

    /// The reaction, projected onto the active discs.
    fn reaction<const D: usize>(
        &self,
        n: f64,
        x: &[[f64; 2]; 2],
        size: &[f64; 2],
        active: [bool; 2],
    ) -> [f64; D] {
        let mut r = [0.0; D];
        r[0] = n;
        for k in 0..2 {
            let factor = if active[k] && size[k] > 0.0 {
                self.mu[k] * n / size[k]
            } else {
                1.0
            };
            for i in 0..2 {
                r[1 + 2 * k + i] = factor * x[k][i];
            }
        }
        r
    }
}

fn inverse(m: &Matrix2) -> Option<Matrix2> {
    let determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    let size = m[0][0].abs().max(m[0][1].abs()) * m[1][1].abs().max(m[1][0].abs());
    if determinant.is_nan() || determinant.abs() <= 1e-14 * size {
        return None;
    }
    let scale = 1.0 / determinant;
    Some([
        [m[1][1] * scale, -m[0][1] * scale],
        [-m[1][0] * scale, m[0][0] * scale],
    ])
}

fn product(a: &Matrix2, b: &Matrix2) -> Matrix2 {
    let mut c = [[0.0; 2]; 2];
    for i in 0..2 {
        for j in 0..2 {
            c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j];
        }
    }
    c
}

fn apply(m: &[[Matrix2; 2]; 2], x: &[[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let mut y = [[0.0; 2]; 2];
    for k in 0..2 {
        for l in 0..2 {
            for i in 0..2 {
                y[k][i] += m[k][l][i][0] * x[l][0] + m[k][l][i][1] * x[l][1];
            }
        }
    }
    y
}

fn dot(a: &[[f64; 2]; 2], b: &[[f64; 2]; 2]) -> f64 {
    a[0][0] * b[0][0] + a[0][1] * b[0][1] + a[1][0] * b[1][0] + a[1][1] * b[1][1]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const W: [f64; 5] = [2.0, 1.0, 1.0, 4.0, 4.0];

    fn diagonal() -> [[f64; 5]; 5] {
        let mut w = [[0.0; 5]; 5];
        for (k, d) in W.iter().enumerate() {
            w[k][k] = *d;
        }
        w
    }

    fn run(w: &[[f64; 5]; 5], b: [f64; 5], mu: f64, rolling: f64) -> Option<[f64; 5]> {
        solve(w, &b, mu, rolling, &[0.0; 5], &mut 0.0)
    }

    /// Without coupling `r_n = −b_n/w_n`, and each pair stops its motion or reaches its disc, by itself.
    #[test]
    fn pairs_that_do_not_couple_in_closed_form() {
        for (slides, rolls) in [(false, false), (true, false), (false, true), (true, true)] {
            let (speed, spin) = (
                if slides { 3.0 } else { 0.1 },
                if rolls { 2.0 } else { 0.02 },
            );
            let b = [-1.0, 0.6 * speed, -0.8 * speed, 0.8 * spin, 0.6 * spin];
            let r = run(&diagonal(), b, 0.4, 0.1).unwrap();
            let (t, s) = (
                if slides { 0.2 } else { speed },
                if rolls { 0.05 } else { spin / 4.0 },
            );
            let expected = [0.5, -0.6 * t, 0.8 * t, -0.8 * s, -0.6 * s];
            let close = r.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{slides} {rolls}: {r:?} {expected:?}");
        }
    }

    /// With coupling the solution satisfies the law up to rounding.
    #[test]
    fn a_coupled_contact_obeys_the_law() {
        let mut w = diagonal();
        for (i, j, v) in [(0, 1, 0.3), (0, 4, -0.5), (1, 4, 0.4), (2, 3, -0.6)] {
            w[i][j] = v;
            w[j][i] = v;
        }
        for b in [
            [-1.0, 0.5, 0.2, 0.1, -0.3],
            [-1.0, 3.0, 0.2, 0.1, -3.0],
            [-0.1, 1.0, 1.0, 1.0, 1.0],
        ] {
            let r = run(&w, b, 0.5, 0.2).unwrap();
            let u = local::local_velocity(&w, &r, &b);
            let e = natural_map_residual(&r, &de_saxce(&u, 0.5, 0.2), 1.0, 0.5, 0.2);
            assert!(norm(&e) < 1e-12, "{b:?}: {e:?}");
        }
    }

    /// Two discs are needed, of five components.
    #[test]
    fn without_a_disc_there_is_nothing_to_do() {
        let b = [-1.0, 1.0, 0.0, 0.0, 0.0];
        assert!(run(&diagonal(), b, 0.0, 0.1).is_none());
        assert!(run(&diagonal(), b, 0.4, 0.0).is_none());
        let w = [[1.0, 0.0], [0.0, 1.0]];
        assert!(solve(&w, &[-1.0, 1.0], 0.4, 0.1, &[0.0; 2], &mut 0.0).is_none());
    }
}
