//! The convex problems behind Coulomb's law, `min ½ r'W r + (q + s n)·r, r ∈ K`, one velocity `s` per contact, and the
//! fixed point `s → μ|u_t(s)| + μ_r|u_r(s)|` on them (Acary, Cadoux, Lemaréchal & Malick, *ZAMM* 91 (2011)).
//!
//! With `s = 0` this is the associated law: what slides separates with `u_n = μ|u_t|`. With `s` of a solution, it has that
//! solution. Each is a second-order cone program, solved by ADMM with the factorisation of one matrix.

use super::scaled::total;
use super::search::{Search, Stop};
use super::splitting::{Admm, lift};

/// Iterations between two looks at the size of the point.
const PAUSE: u32 = 50;

/// Largest number of iterations on one convex problem of the fixed point.
const INNER: u32 = 2000;

/// How an attempt to solve a convex problem ended.
enum End {
    Reached,
    /// More iterations than allowed.
    Open,
    Stopped(Stop),
}

/// Iterates with `s` kept until both residuals are at most `goal`.
fn solve_convex<const D: usize>(admm: &mut Admm<D>, search: &mut Search<'_, D>, goal: f64) -> End {
    for k in 1..=INNER {
        if let Some(stop) = search.stop() {
            return End::Stopped(stop);
        }
        match admm.iterate(search, true) {
            None => return End::Stopped(Stop::Stalled),
            Some((primal, dual)) if primal.max(dual) <= goal => return End::Reached,
            Some(_) => {}
        }
        if k % PAUSE == 0 && diverges(&admm.state.z) {
            return End::Stopped(Stop::Diverging);
        }
    }
    End::Open
}

fn diverges<const D: usize>(z: &[[f64; D]]) -> bool {
    let size = total(z);
    size.is_nan() || size > 1e20
}

/// The fixed point; each convex problem is solved as exactly as the point it starts from deserves.
pub(crate) fn fixed_point<const D: usize>(search: &mut Search<'_, D>) -> Stop {
    if let Some(stop) = search.stop() {
        return stop;
    }
    let Some(mut convex) = Admm::new(search) else {
        return Stop::Stalled;
    };
    convex.state.s.fill(0.0);
    let mut goal = 1e-3;
    loop {
        if let End::Stopped(stop) = solve_convex(&mut convex, search, goal) {
            search.evaluate(&convex.state.z);
            return search.stop().unwrap_or(stop);
        }
        let eta = search.evaluate(&convex.state.z);
        if let Some(stop) = search.stop() {
            return stop;
        }
        if !eta.is_finite() || diverges(&convex.state.z) {
            return Stop::Diverging;
        }
        for (i, s) in convex.state.s.iter_mut().enumerate() {
            *s = lift(search.p, i, &search.u[i]);
        }
        goal = (0.1 * eta).min(goal).max(0.1 * search.tolerance);
    }
}
