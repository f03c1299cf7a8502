//! Interior point on De Saxcé's form: `x = (μ r_n, r_t)` and `y` in Lorentz cones, `x ∘ y → 0`
//! (Acary, Armand, Nguyen & Shpakovych, *Optim. Methods Softw.* (2023) for the setting; Nesterov & Todd's scaling, Mehrotra's
//! correction).
//!
//! With rolling friction the cone of reactions is cut out by two Lorentz cones that share `r_n`: `x₁ = (μ r_n, r_t)`,
//! `x₂ = (μ_r r_n, r_r)`. Its dual is their sum, so that the velocity is split between the two, `û_n = μ y₁₀ + μ_r y₂₀`,
//! `u_t` and `u_r` being the other components of `y₁` and `y₂`: with `x = J r` and `û = Jᵀ y` both cases read the same. The
//! unknowns are the reactions, and `y` is eliminated contact by contact.

use super::block_lu::BlockLu;
use super::functions::{Block, solve_small};
use super::solver_state::{SolverState, Stop};
use crate::cone::norm;

/// Lower bound on the coefficient of friction: at 0 the cone has no interior.
const LEAST_FRICTION: f64 = 1e-6;

/// Consecutive centring steps after which the point is accepted as central; what remains is rounding.
const CENTRING: u32 = 3;

/// A step is short, limited by the boundary of a cone, below this length.
const SHORT: f64 = 0.1;

/// Consecutive short steps after which the method has stalled.
const MAX_SHORT_STEPS: u32 = 10;

/// A point of a Lorentz cone; the last component is 0 in two dimensions.
type Lorentz = [f64; 3];

/// The Lorentz cones of a contact; the second counts with rolling friction only.
type Pair = [Lorentz; 2];

/// Number of Lorentz cones of a contact.
const fn cones<const D: usize>() -> usize {
    if D == 5 { 2 } else { 1 }
}

/// `J r` of one contact, `c` its coefficients.
fn to_cones<const D: usize>(r: &[f64; D], c: &[f64; 2]) -> Pair {
    let mut x = [[0.0; 3]; 2];
    for part in 0..cones::<D>() {
        x[part][0] = c[part] * r[0];
        for (x, r) in x[part][1..].iter_mut().zip(&r[1 + 2 * part..]) {
            *x = *r;
        }
    }
    x
}

/// `Jᵀ y` of one contact.
fn from_cones<const D: usize>(y: &Pair, c: &[f64; 2]) -> [f64; D] {
    let mut u = [0.0; D];
    for part in 0..cones::<D>() {
        u[0] += c[part] * y[part][0];
        for (u, y) in u[1 + 2 * part..].iter_mut().zip(&y[part][1..]) {
            *u = *y;
        }
    }
    u
}

/// `x ∘ y` of the Jordan algebra.
fn jordan(x: &Lorentz, y: &Lorentz) -> Lorentz {
    let mut z = [0.0; 3];
    for k in 0..3 {
        z[0] += x[k] * y[k];
        if k > 0 {
            z[k] = x[0] * y[k] + y[0] * x[k];
        }
    }
    z
}

fn determinant(x: &Lorentz) -> f64 {
    let t = norm(&x[1..]);
    (x[0] - t) * (x[0] + t)
}

/// Nesterov & Todd's scaling of a pair of points inside the cone.
struct Scaling {
    /// `Θ`, symmetric, with `Θ x = y`.
    theta: Block<3>,
    /// `Θ^½` and its inverse.
    root: Block<3>,
    inverse: Block<3>,
    /// `Θ^½ x = Θ^−½ y`.
    middle: Lorentz,
}

impl Scaling {
    fn new(x: &Lorentz, y: &Lorentz) -> Self {
        let (dx, dy) = (
            determinant(x).max(1e-300).sqrt(),
            determinant(y).max(1e-300).sqrt(),
        );
        let mut dot = 0.0;
        for k in 0..3 {
            dot += x[k] / dx * (y[k] / dy);
        }
        let gamma = (0.5 * (1.0 + dot)).max(1e-300).sqrt();
        // The scaling point of (y, x): Θ = (dy/dx) (2 w wᵀ − J), w = (ŷ + J x̂)/(2γ).
        let mut w = [0.0; 3];
        for k in 0..3 {
            let mirrored = if k == 0 { x[k] / dx } else { -x[k] / dx };
            w[k] = (y[k] / dy + mirrored) / (2.0 * gamma);
        }
        // The roots have the same form with v = (w + e)/√(2 (w₀ + 1)).
        let length = (2.0 * (w[0] + 1.0)).sqrt();
        let v = [(w[0] + 1.0) / length, w[1] / length, w[2] / length];
        let ratio = dy / dx;
        let root = reflection(&v, ratio.sqrt());
        Self {
            theta: reflection(&w, ratio),
            middle: times(&root, x),
            root,
            inverse: reflection(&[v[0], -v[1], -v[2]], 1.0 / ratio.sqrt()),
        }
    }

    /// The term added to `−y` so that the step `(dx, dy)` ends near `x ∘ y = target e`, given the predictor step `(ax, ay)`
    /// (Mehrotra's correction).
    fn correction(&self, ax: &Lorentz, ay: &Lorentz, target: f64) -> Option<Lorentz> {
        let second_order = jordan(&times(&self.root, ax), &times(&self.inverse, ay));
        let right = [target - second_order[0], -second_order[1], -second_order[2]];
        let x = &self.middle;
        let mut arrow = [[0.0; 3]; 3];
        for k in 0..3 {
            arrow[k][k] = x[0];
            arrow[0][k] = x[k];
            arrow[k][0] = x[k];
        }
        Some(times(&self.root, &solve_small(&arrow, &right)?))
    }
}

/// `factor (2 w wᵀ − J)`.
fn reflection(w: &Lorentz, factor: f64) -> Block<3> {
    let mut m = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            m[i][j] = 2.0 * w[i] * w[j];
        }
        m[i][i] -= if i == 0 { 1.0 } else { -1.0 };
        for v in &mut m[i] {
            *v *= factor;
        }
    }
    m
}

fn times(m: &Block<3>, x: &Lorentz) -> Lorentz {
    m.map(|line| line.iter().zip(x).map(|(a, b)| a * b).sum())
}

/// The largest step in [0, `most`] that keeps `x + α dx` in the cone, times `fraction`.
fn step_to_boundary(x: &Lorentz, dx: &Lorentz, fraction: f64, most: f64) -> f64 {
    let inside = |alpha: f64| {
        let mut p = *x;
        for (p, d) in p.iter_mut().zip(dx) {
            *p += alpha * d;
        }
        p[0] > norm(&p[1..])
    };
    if inside(most / fraction) {
        return most;
    }
    let (mut low, mut high) = (0.0, most / fraction);
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
    low * fraction
}

/// Counted operations of one iteration on one cone.
const CONE_WORK: f64 = 3000.0;

/// Contribution of one contact to the linear system.
struct Local<const D: usize> {
    /// `y ↦ Jᵀ y − Σ c_k s(y_k) n`: its value is `u`, its derivative `G`.
    value: [f64; D],
    /// `−y_kt / s(y_k)`: the part of `G` in which it differs from `Jᵀ`.
    slope: Pair,
    scaling: Vec<Scaling>,
    /// `G Θ J`.
    block: Block<D>,
}

impl<const D: usize> Local<D> {
    /// `s` is `|y_t|`, smoothed by `eps` and 0 at 0.
    fn new(x: &Pair, y: &Pair, c: &[f64; 2], eps: f64) -> Self {
        let mut local = Self {
            value: from_cones(y, c),
            slope: [[0.0; 3]; 2],
            scaling: Vec::with_capacity(2),
            block: [[0.0; D]; D],
        };
        for part in 0..cones::<D>() {
            let smoothed = (norm(&y[part][1..]).powi(2) + eps * eps).sqrt();
            local.value[0] -= c[part] * (smoothed - eps);
            for k in 1..3 {
                local.slope[part][k] = -y[part][k] / smoothed;
            }
            local.scaling.push(Scaling::new(&x[part], &y[part]));
        }
        for k in 0..D {
            let mut unit = [0.0; D];
            unit[k] = 1.0;
            let column = local.apply(&local.scaled(&to_cones(&unit, c)), c);
            for (row, v) in local.block.iter_mut().zip(column) {
                row[k] = v;
            }
        }
        local
    }

    /// `G dy`.
    fn apply(&self, dy: &Pair, c: &[f64; 2]) -> [f64; D] {
        let mut u: [f64; D] = from_cones(dy, c);
        for part in 0..cones::<D>() {
            let slope = &self.slope[part];
            u[0] += c[part] * (slope[1] * dy[part][1] + slope[2] * dy[part][2]);
        }
        u
    }

    /// `Θ dx`.
    fn scaled(&self, dx: &Pair) -> Pair {
        let mut dy = [[0.0; 3]; 2];
        for part in 0..cones::<D>() {
            dy[part] = times(&self.scaling[part].theta, &dx[part]);
        }
        dy
    }
}

/// `base + alpha d`.
fn moved<const D: usize>(base: &[[f64; D]], d: &[[f64; D]], alpha: f64) -> Vec<[f64; D]> {
    let mut out = base.to_vec();
    for (o, d) in out.iter_mut().flatten().zip(d.iter().flatten()) {
        *o += alpha * d;
    }
    out
}

/// Interior point from the middle of the cones. The law is not that of a convex problem: if the run with the
/// second-order correction stalls, it is repeated without.
pub(crate) fn solve<const D: usize>(solver: &mut SolverState<'_, D>) -> Stop {
    if let Some(stop) = solver.stop() {
        return stop;
    }
    match follow(solver, true) {
        Stop::Stalled => follow(solver, false),
        end => end,
    }
}

/// Follows the central path, with the second-order correction if `second_order`.
#[allow(clippy::too_many_lines)] // one iteration reads as one piece
fn follow<const D: usize>(solver: &mut SolverState<'_, D>, second_order: bool) -> Stop {
    let p = solver.p;
    let (n, parts) = (p.contacts(), cones::<D>());
    let coefficients: Vec<[f64; 2]> =
        p.mu.iter()
            .zip(&p.rolling)
            .map(|(mu, rolling)| [mu.max(LEAST_FRICTION), rolling.max(LEAST_FRICTION)])
            .collect();
    let mut lu = BlockLu::<D>::default();
    lu.analyse_matrix(&p.w);
    let scale = 1.0 / (n as f64).sqrt();
    let mut r = vec![[0.0; D]; n];
    for (r, c) in r.iter_mut().zip(&coefficients) {
        let middle = if parts == 2 {
            (c[0] * c[1]).sqrt()
        } else {
            c[0]
        };
        r[0] = scale / middle;
    }
    // The cones of all contacts, one after the other.
    let flat = |pairs: &[Pair]| -> Vec<Lorentz> {
        pairs.iter().flat_map(|p| p[..parts].to_vec()).collect()
    };
    let mut y: Vec<Pair> = vec![[[scale, 0.0, 0.0]; 2]; n];
    let mut tau = scale * scale;
    let mut scratch = vec![[0.0; D]; n];
    let mut centred = 0;
    let (mut recentre, mut short) = (false, 0);
    for _ in 0..150 {
        let eta = solver.evaluate(&r);
        if let Some(stop) = solver.stop() {
            return stop;
        }
        if !eta.is_finite() {
            return Stop::Diverging;
        }
        let x: Vec<Pair> = r
            .iter()
            .zip(&coefficients)
            .map(|(r, c)| to_cones(r, c))
            .collect();
        let eps = tau.min(1.0);
        let mut residual = vec![[0.0; D]; n];
        let mut local = Vec::with_capacity(n);
        for i in 0..n {
            let part = Local::<D>::new(&x[i], &y[i], &coefficients[i], eps);
            for k in 0..D {
                residual[i][k] = part.value[k] - solver.u[i][k];
            }
            local.push(part);
        }
        let factorised = lu.factorise(|i, put| {
            let (lines, _) = p.w.row(i).as_chunks::<D>();
            for (w, &j) in lines.chunks_exact(D).zip(p.w.cols(i)) {
                let mut block = [[0.0; D]; D];
                block.copy_from_slice(w);
                if i == j {
                    for (row, own) in block.iter_mut().zip(&local[i].block) {
                        for (v, own) in row.iter_mut().zip(own) {
                            *v += own;
                        }
                    }
                }
                put(j, &block);
            }
        });
        solver.work += lu.flops();
        solver.iterations += 1;
        if !factorised {
            return Stop::Stalled;
        }
        // G dy − W dr = −residual, dy = c − Θ J dr  =>  (W + G Θ J) dr = residual + G c.
        let mut direction = |c: &[Pair]| {
            let mut dr = residual.clone();
            for i in 0..n {
                let known = local[i].apply(&c[i], &coefficients[i]);
                for (d, k) in dr[i].iter_mut().zip(known) {
                    *d += k;
                }
            }
            lu.solve(&mut dr, &mut scratch);
            let dx: Vec<Pair> = dr
                .iter()
                .zip(&coefficients)
                .map(|(r, c)| to_cones(r, c))
                .collect();
            let mut dy = c.to_vec();
            for i in 0..n {
                let back = local[i].scaled(&dx[i]);
                for (d, b) in dy[i].iter_mut().flatten().zip(back.iter().flatten()) {
                    *d -= b;
                }
            }
            (dr, flat(&dx), dy)
        };
        let (flat_x, flat_y) = (flat(&x), flat(&y));
        let steps = |dx: &[Lorentz], dy: &[Lorentz], fraction: f64| {
            let mut alpha = 1.0_f64;
            for i in 0..dx.len() {
                alpha = step_to_boundary(&flat_x[i], &dx[i], fraction, alpha);
                alpha = step_to_boundary(&flat_y[i], &dy[i], fraction, alpha);
            }
            alpha
        };
        let duality_measure = |x: &[Lorentz], y: &[Lorentz]| {
            let sum: f64 = x.iter().zip(y).map(|(x, y)| jordan(x, y)[0]).sum();
            sum / x.len() as f64
        };
        let predictor: Vec<Pair> = y.iter().map(|y| y.map(|y| y.map(|v| -v))).collect();
        let (_, dx, dy) = direction(&predictor);
        let dy = flat(&dy);
        let alpha = steps(&dx, &dy, 0.999);
        let now = duality_measure(&flat_x, &flat_y);
        let after = duality_measure(&moved(&flat_x, &dx, alpha), &moved(&flat_y, &dy, alpha));
        // Off the central path reactions and velocities of sliding contacts are antiparallel to the root of the duality measure only.
        // Once that is small, and after a short step, the point is recentred before the next reduction.
        let central = centred >= CENTRING
            || flat_x.iter().zip(&flat_y).all(|(x, y)| {
                let product = jordan(x, y);
                let off = [product[0] - now, product[1], product[2]];
                norm(&off) <= 0.5 * now
            });
        recentre |= now <= solver.tolerance;
        let sigma = match (recentre, central) {
            (false, _) => (after / now).max(0.0).powi(3).min(1.0),
            (true, true) => 0.1,
            (true, false) => 1.0,
        };
        centred = if sigma == 1.0 { centred + 1 } else { 0 };
        let zero = [0.0; 3];
        let mut corrected = |second: bool| {
            let mut corrector = predictor.clone();
            for i in 0..n {
                for part in 0..parts {
                    let k = parts * i + part;
                    let (ax, ay) = if second {
                        (&dx[k], &dy[k])
                    } else {
                        (&zero, &zero)
                    };
                    let target = local[i].scaling[part].correction(ax, ay, sigma * now)?;
                    for (c, t) in corrector[i][part].iter_mut().zip(target) {
                        *c += t;
                    }
                }
            }
            let (dr, dx, dy) = direction(&corrector);
            let alpha = steps(&dx, &flat(&dy), 0.99);
            Some((alpha, dr, dx, dy))
        };
        let Some(mut best) = corrected(second_order && !recentre) else {
            return Stop::Stalled;
        };
        if second_order
            && best.0 < 0.5
            && let Some(plain) = corrected(false)
            && plain.0 > best.0
        {
            best = plain;
        }
        let (alpha, dr, dx, dy) = best;
        recentre = second_order && alpha < SHORT;
        short = if alpha < SHORT { short + 1 } else { 0 };
        if alpha < 1e-9 || !alpha.is_finite() || short > MAX_SHORT_STEPS {
            return Stop::Stalled;
        }
        r = moved(&r, &dr, alpha);
        for (y, d) in y.iter_mut().flatten().zip(dy.iter().flatten()) {
            for (y, d) in y.iter_mut().zip(d) {
                *y += alpha * d;
            }
        }
        tau = duality_measure(&moved(&flat_x, &dx, alpha), &flat(&y))
            .abs()
            .min(tau);
        solver.work += 12.0 * p.product_work() + CONE_WORK * (parts * n) as f64;
    }
    Stop::Stalled
}
