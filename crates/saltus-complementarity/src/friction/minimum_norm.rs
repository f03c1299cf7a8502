//! The canonical reaction: of all reactions with the velocities of a solution, the one of least `Σ d_i |r_i|²`.
//!
//! With `u` fixed the admissible reactions form the convex set `{ W r = u − q }` ∩ cones, rays of sliding contacts
//! and zeros of open ones; its point of least norm is unique, so that symmetric scenes get symmetric
//! reactions and the numbering of contacts does not matter. Found by Douglas–Rachford splitting.

use super::block_lu::BlockLu;
use super::functions::Block;
use super::measure::{Measure, square};
use super::problem::FrictionContact;
use super::scaled::Scaled;
use crate::cone::{norm, project};

/// Where the reaction of a contact may lie once the velocities are known.
#[derive(Debug, Clone, Copy)]
enum Place<const D: usize> {
    Zero,
    Ray([f64; D]),
    Cone,
}

/// Added to the diagonal of the scaled `W` to make it regular; the solution is refined. The larger, the less
/// rounding; the smaller, the better stiff directions are resolved.
const RIDGES: [f64; 4] = [1e-5, 1e-6, 1e-7, 1e-8];

/// Replaces `r`, a solution of `problem`, by the canonical reaction if that solves the problem to `tolerance`
/// or at least as well as `r`. Two and three components per contact; returns whether `r` was replaced.
pub fn canonical_reaction(problem: &FrictionContact, tolerance: f64, r: &mut [f64]) -> bool {
    if r.len() != problem.dimension() * problem.contacts() || r.iter().any(|v| !v.is_finite()) {
        return false;
    }
    let problem = &*problem.assembled();
    match problem.dimension() {
        2 => sized::<2>(problem, tolerance, r),
        3 => sized::<3>(problem, tolerance, r),
        _ => false,
    }
}

fn sized<const D: usize>(problem: &FrictionContact, tolerance: f64, r: &mut [f64]) -> bool {
    let measure = Measure::new(problem);
    let p = Scaled::<D>::new(problem, &measure);
    let n = p.contacts();
    let root: Vec<f64> = measure
        .scales()
        .iter()
        .map(|d| d.sqrt() / measure.reference())
        .collect();
    let (given, _) = r.as_chunks::<D>();
    let start: Vec<[f64; D]> = given
        .iter()
        .zip(&root)
        .map(|(r, s)| r.map(|v| v * s))
        .collect();
    let mut u = vec![[0.0; D]; n];
    p.velocity(&start, &mut u);
    let eta = p.eta(&start, &u);
    let limit = tolerance.max(eta);
    let small = (1e-8_f64).max(10.0 * eta);
    let places: Vec<Place<D>> = u
        .iter()
        .enumerate()
        .map(|(i, u)| {
            let slip = norm(&u[1..]);
            if slip > small {
                let mut ray = [0.0; D];
                ray[0] = 1.0;
                for k in 1..D {
                    ray[k] = -p.mu[i] * u[k] / slip;
                }
                let length = norm(&ray);
                if u[0] > small {
                    Place::Zero
                } else {
                    Place::Ray(ray.map(|v| v / length))
                }
            } else if u[0] > small {
                Place::Zero
            } else {
                Place::Cone
            }
        })
        .collect();
    let Some(best) = RIDGES
        .iter()
        .find_map(|&ridge| splitting(&p, &places, &start, limit, ridge))
    else {
        return false;
    };
    let (out, _) = r.as_chunks_mut::<D>();
    for ((to, from), s) in out.iter_mut().zip(&best).zip(&root) {
        *to = from.map(|v| v / s);
    }
    true
}

/// Douglas–Rachford between `½|x|²` on the places and the affine set `W x = W start`.
fn splitting<const D: usize>(
    p: &Scaled<D>,
    places: &[Place<D>],
    start: &[[f64; D]],
    limit: f64,
    ridge: f64,
) -> Option<Vec<[f64; D]>> {
    let n = p.contacts();
    let mut pattern = (vec![0], Vec::new());
    for i in 0..n {
        pattern.1.extend_from_slice(p.w.cols(i));
        pattern.0.push(pattern.1.len());
    }
    let mut lu = BlockLu::<D>::default();
    lu.analyse(&pattern.0, &pattern.1);
    let regular = lu.factorise(|i, put| {
        let (lines, _) = p.w.row(i).as_chunks::<D>();
        for (w, &j) in lines.chunks_exact(D).zip(p.w.cols(i)) {
            let mut block: Block<D> = [[0.0; D]; D];
            block.copy_from_slice(w);
            if i == j {
                for (k, row) in block.iter_mut().enumerate() {
                    row[k] += ridge;
                }
            }
            put(j, &block);
        }
    });
    if !regular {
        return None;
    }
    let zero = vec![[0.0; D]; n];
    let mut scratch = zero.clone();
    let mut correction = zero.clone();
    // x ← v − (W + ε)⁻¹ W (v − start), repeated: what the ridge leaves over is removed.
    let mut project_affine = |v: &[[f64; D]], x: &mut Vec<[f64; D]>| {
        x.clear();
        x.extend_from_slice(v);
        for _ in 0..6 {
            let gap: Vec<[f64; D]> = x
                .iter()
                .zip(start)
                .map(|(a, b)| {
                    let mut g = *a;
                    for (g, b) in g.iter_mut().zip(b) {
                        *g -= b;
                    }
                    g
                })
                .collect();
            for (i, c) in correction.iter_mut().enumerate() {
                *c = p.w.row_dot::<D>(i, &gap);
            }
            lu.solve(&mut correction, &mut scratch);
            for (x, c) in x.iter_mut().zip(&correction) {
                for (x, c) in x.iter_mut().zip(c) {
                    *x -= c;
                }
            }
        }
    };
    let mut v = start.to_vec();
    let (mut x, mut z) = (zero.clone(), zero.clone());
    let mut u = zero;
    let mut good = None;
    for iteration in 0..3000 {
        project_affine(&v, &mut x);
        let mut moved = 0.0;
        for i in 0..n {
            let mut a = [0.0; D];
            for k in 0..D {
                a[k] = 0.5 * (2.0 * x[i][k] - v[i][k]);
            }
            z[i] = match &places[i] {
                Place::Zero => [0.0; D],
                Place::Cone => project(&a, p.mu[i], p.rolling[i]).0,
                Place::Ray(ray) => {
                    let along: f64 = a.iter().zip(ray).map(|(a, b)| a * b).sum();
                    ray.map(|r| r * along.max(0.0))
                }
            };
            let mut step = [0.0; D];
            for k in 0..D {
                step[k] = z[i][k] - x[i][k];
                v[i][k] += step[k];
            }
            moved += square(&step);
        }
        let done = moved.sqrt() <= 0.1 * limit;
        if iteration % 50 == 49 || done {
            p.velocity(&z, &mut u);
            let eta = p.eta(&z, &u);
            if !eta.is_finite() {
                return good;
            }
            if eta <= limit {
                good = Some(z.clone());
            }
            if done {
                break;
            }
        }
    }
    p.velocity(&z, &mut u);
    (p.eta(&z, &u) <= limit).then_some(z).or(good)
}
