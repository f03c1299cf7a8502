//! Interior point on De Saxcé's form: `x = (μ r_n, r_t)` and `y = (û_n/μ, u_t)` in Lorentz cones, `x ∘ y → 0`
//! (Acary, Armand, Nguyen & Shpakovych, *Optim. Methods Softw.* (2023) for the setting; Nesterov & Todd's scaling).

use super::block_lu::BlockLu;
use super::functions::{Block, solve_small};
use super::search::{Search, Stop};
use crate::cone::norm;

/// Smallest coefficient of friction that is used: at 0 the cone has no interior.
const LEAST_FRICTION: f64 = 1e-6;

/// `x ∘ y` of the Jordan algebra.
fn jordan<const D: usize>(x: &[f64; D], y: &[f64; D]) -> [f64; D] {
    let mut z = [0.0; D];
    for k in 0..D {
        z[0] += x[k] * y[k];
        if k > 0 {
            z[k] = x[0] * y[k] + y[0] * x[k];
        }
    }
    z
}

fn determinant<const D: usize>(x: &[f64; D]) -> f64 {
    let t = norm(&x[1..]);
    (x[0] - t) * (x[0] + t)
}

/// The Nesterov–Todd matrix `Θ`, symmetric, with `Θ x = y`.
fn scaling<const D: usize>(x: &[f64; D], y: &[f64; D]) -> Block<D> {
    let (dx, dy) = (
        determinant(x).max(1e-300).sqrt(),
        determinant(y).max(1e-300).sqrt(),
    );
    let mut dot = 0.0;
    for k in 0..D {
        dot += x[k] / dx * (y[k] / dy);
    }
    let gamma = (0.5 * (1.0 + dot)).max(1e-300).sqrt();
    // The scaling point of (y, x): Θ = (dy/dx) (2 w wᵀ − J), w = (ŷ + J x̂)/(2γ).
    let mut w = [0.0; D];
    for k in 0..D {
        let mirrored = if k == 0 { x[k] / dx } else { -x[k] / dx };
        w[k] = (y[k] / dy + mirrored) / (2.0 * gamma);
    }
    let mut m = [[0.0; D]; D];
    for i in 0..D {
        for j in 0..D {
            m[i][j] = 2.0 * w[i] * w[j];
        }
        m[i][i] -= if i == 0 { 1.0 } else { -1.0 };
        for v in &mut m[i] {
            *v *= dy / dx;
        }
    }
    m
}

/// The largest step in [0, 1] that keeps `x + α dx` in the cone, times `share`.
fn reach<const D: usize>(x: &[f64; D], dx: &[f64; D], share: f64) -> f64 {
    let inside = |alpha: f64| {
        let mut p = *x;
        for (p, d) in p.iter_mut().zip(dx) {
            *p += alpha * d;
        }
        p[0] > norm(&p[1..])
    };
    if inside(1.0 / share) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0 / share);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if inside(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high - low <= 1e-6 * high {
            break;
        }
    }
    (low * share).min(1.0)
}

/// Interior point from the middle of the cone; two and three components per contact.
#[allow(clippy::too_many_lines)] // one iteration reads as one piece
pub(crate) fn solve<const D: usize>(search: &mut Search<'_, D>) -> Stop {
    if D == 5 {
        return Stop::Stalled;
    }
    if let Some(stop) = search.stop() {
        return stop;
    }
    let p = search.p;
    let n = p.contacts();
    let mu: Vec<f64> = p.mu.iter().map(|m| m.max(LEAST_FRICTION)).collect();
    let mut start = vec![0];
    let mut index = Vec::new();
    for i in 0..n {
        index.extend_from_slice(p.w.cols(i));
        start.push(index.len());
    }
    let mut lu = BlockLu::<D>::default();
    lu.analyse(&start, &index);
    let mut unit = [0.0; D];
    unit[0] = 1.0;
    let scale = 1.0 / (n as f64).sqrt();
    let mut x = vec![unit.map(|v| v * scale); n];
    let mut y = x.clone();
    let mut tau = scale * scale;
    let zero = vec![[0.0; D]; n];
    let (mut r, mut u) = (zero.clone(), zero.clone());
    let mut scratch = zero.clone();
    for _ in 0..150 {
        r.copy_from_slice(&x);
        for (r, mu) in r.iter_mut().zip(&mu) {
            r[0] /= mu;
        }
        let eta = search.evaluate(&r);
        u.copy_from_slice(&search.u);
        if let Some(stop) = search.stop() {
            return stop;
        }
        if !eta.is_finite() {
            return Stop::Diverging;
        }
        let eps = tau.min(1.0);
        // Defect of y − s(y_t) e₀ = Ŵ x + q̂ with smoothed s, Ŵ and q̂ in the coordinates of the cones.
        let soft: Vec<f64> = y
            .iter()
            .map(|y| (norm(&y[1..]).powi(2) + eps * eps).sqrt())
            .collect();
        let mut defect = zero.clone();
        let mut theta = Vec::with_capacity(n);
        let mut g: Vec<Block<D>> = Vec::with_capacity(n);
        for i in 0..n {
            let mut hat = u[i];
            hat[0] /= mu[i];
            for k in 0..D {
                defect[i][k] = y[i][k] - hat[k];
            }
            defect[i][0] -= soft[i] - eps;
            theta.push(scaling(&x[i], &y[i]));
            let mut m = [[0.0; D]; D];
            for k in 0..D {
                m[k][k] = 1.0;
                if k > 0 {
                    m[0][k] = -y[i][k] / soft[i];
                }
            }
            g.push(m);
        }
        let factorised = lu.factorise(|i, put| {
            let (lines, _) = p.w.row(i).as_chunks::<D>();
            for (w, &j) in lines.chunks_exact(D).zip(p.w.cols(i)) {
                let mut block = [[0.0; D]; D];
                for a in 0..D {
                    for b in 0..D {
                        let left = if a == 0 { 1.0 / mu[i] } else { 1.0 };
                        let right = if b == 0 { 1.0 / mu[j] } else { 1.0 };
                        block[a][b] = left * w[a][b] * right;
                    }
                }
                if i == j {
                    for a in 0..D {
                        for b in 0..D {
                            for k in 0..D {
                                block[a][b] += g[i][a][k] * theta[i][k][b];
                            }
                        }
                    }
                }
                put(j, &block);
            }
        });
        search.work += lu.flops();
        search.iterations += 1;
        if !factorised {
            return Stop::Stalled;
        }
        // G dy − Ŵ dx = −defect, dy = c − Θ dx  =>  (Ŵ + G Θ) dx = defect + G c.
        let mut direction = |c: &[[f64; D]]| {
            let mut dx = defect.clone();
            for i in 0..n {
                for a in 0..D {
                    for k in 0..D {
                        dx[i][a] += g[i][a][k] * c[i][k];
                    }
                }
            }
            lu.solve(&mut dx, &mut scratch);
            let mut dy = c.to_vec();
            for i in 0..n {
                for a in 0..D {
                    for k in 0..D {
                        dy[i][a] -= theta[i][a][k] * dx[i][k];
                    }
                }
            }
            (dx, dy)
        };
        let steps = |dx: &[[f64; D]], dy: &[[f64; D]], share: f64| {
            let mut alpha = 1.0_f64;
            for i in 0..n {
                alpha = alpha
                    .min(reach(&x[i], &dx[i], share))
                    .min(reach(&y[i], &dy[i], share));
            }
            alpha
        };
        let gap = |x: &[[f64; D]], y: &[[f64; D]]| {
            x.iter().zip(y).map(|(x, y)| jordan(x, y)[0]).sum::<f64>() / n as f64
        };
        let predictor: Vec<[f64; D]> = y.iter().map(|y| y.map(|v| -v)).collect();
        let (dx, dy) = direction(&predictor);
        let alpha = steps(&dx, &dy, 0.999);
        let moved = |base: &[[f64; D]], d: &[[f64; D]], alpha: f64| -> Vec<[f64; D]> {
            let mut out = base.to_vec();
            for (o, d) in out.iter_mut().zip(d) {
                for (o, d) in o.iter_mut().zip(d) {
                    *o += alpha * d;
                }
            }
            out
        };
        let now = gap(&x, &y);
        let after = gap(&moved(&x, &dx, alpha), &moved(&y, &dy, alpha));
        let sigma = (after / now).max(0.0).powi(3).min(1.0);
        let target = sigma * now;
        let mut corrector = predictor;
        for i in 0..n {
            // target · x⁻¹ with x ∘ x⁻¹ = e.
            let mut arrow = [[0.0; D]; D];
            for k in 0..D {
                arrow[k][k] = x[i][0];
                arrow[0][k] = x[i][k];
                arrow[k][0] = x[i][k];
            }
            let Some(inverse) = solve_small(&arrow, &unit) else {
                return Stop::Stalled;
            };
            for k in 0..D {
                corrector[i][k] += target * inverse[k];
            }
        }
        let (dx, dy) = direction(&corrector);
        let alpha = steps(&dx, &dy, 0.99);
        if alpha < 1e-9 || !alpha.is_finite() {
            return Stop::Stalled;
        }
        x = moved(&x, &dx, alpha);
        y = moved(&y, &dy, alpha);
        tau = gap(&x, &y).abs().min(tau);
        search.work += 12.0 * p.product_work();
    }
    Stop::Stalled
}
