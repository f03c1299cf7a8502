//! Enumeration of the modes of a few planar contacts, unilateral rows and boxes; each combination is a linear system.

use super::block::Block;
use super::newton::Newton;
use super::residual::View;
use crate::outcome::Tolerance;

/// Largest number of combinations of modes: six planar contacts with friction.
pub(super) const LIMIT: u32 = 4096;
/// Largest number of rows.
const ROWS: usize = 32;
/// A combination is inconsistent only if its point violates a law by more than this, relative to the terms,
const CLEAR: f64 = 1e-7;
/// and its system has pivots no smaller than this, relative to the largest.
const CERTAIN: f64 = 1e-8;

/// Result of the enumeration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enumerated {
    Found,
    /// Every combination is inconsistent, by more than rounding.
    NoSolution,
    /// No combination was found consistent, but for some rounding does not exclude it.
    Undecided,
}

/// Number of combinations of modes; `None` where there are too many, or a law is not piecewise linear.
pub(super) fn combinations(view: &View<'_>) -> Option<u32> {
    if view.q.len() > ROWS {
        return None;
    }
    let mut product = 1_u32;
    for &block in view.blocks {
        product = product.checked_mul(u32::from(modes(block)?))?;
    }
    (product <= LIMIT).then_some(product)
}

fn modes(block: Block) -> Option<u8> {
    match block {
        Block::Equality => Some(1),
        Block::Unilateral | Block::Coulomb { tangents: 0, .. } => Some(2),
        Block::Coulomb { mu: 0.0, .. } => Some(2),
        Block::Coulomb { tangents: 1, .. } => Some(4),
        Block::Box { lo, hi } => Some(1 + u8::from(lo.is_finite()) + u8::from(hi.is_finite())),
        _ => None,
    }
}

/// Tries all combinations in a fixed order and leaves the first solution in `z`; `z` is arbitrary otherwise. `newton` has
/// [loaded](Newton::load) the problem.
pub(super) fn search(
    newton: &mut Newton,
    view: &View<'_>,
    z: &mut [f64],
    tolerance: &Tolerance,
    limit: u32,
) -> (Enumerated, u32) {
    let Some(count) = combinations(view) else {
        return (Enumerated::Undecided, 0);
    };
    let mut all_inconsistent = true;
    for number in 0..count.min(limit) {
        newton.clear_branches(view);
        let mut rest = number;
        for (k, &block) in view.blocks.iter().enumerate() {
            let base = u32::from(modes(block).unwrap_or(1));
            choose(newton, block, view.first[k], rest % base);
            rest /= base;
        }
        let pivots = newton.point_of_branches(view, z);
        newton.velocity(view, z);
        if view.is_solution(z, &newton.w, tolerance) {
            return (Enumerated::Found, number + 1);
        }
        all_inconsistent &= is_inconsistent(newton, view, z, pivots);
    }
    if all_inconsistent && count <= limit {
        (Enumerated::NoSolution, count)
    } else {
        (Enumerated::Undecided, count.min(limit))
    }
}

/// Prescribes mode `mode` of a block whose first row is `i`.
fn choose(newton: &mut Newton, block: Block, i: usize, mode: u32) {
    match block {
        Block::Box { lo, hi } => match mode {
            0 => newton.prescribe_zero_velocity(i),
            1 if lo.is_finite() => newton.prescribe_impulse(i, lo),
            _ => newton.prescribe_impulse(i, hi),
        },
        Block::Equality => newton.prescribe_zero_velocity(i),
        _ if mode == 0 => (i..i + block.rows()).for_each(|i| newton.prescribe_impulse(i, 0.0)),
        Block::Coulomb { mu, tangents } if mu > 0.0 && tangents > 0 => {
            newton.prescribe_zero_velocity(i);
            match mode {
                1 => newton.prescribe_zero_velocity(i + 1),
                2 => newton.prescribe_multiple(i + 1, i, mu),
                _ => newton.prescribe_multiple(i + 1, i, -mu),
            }
        }
        _ => {
            newton.prescribe_zero_velocity(i);
            (i + 1..i + block.rows()).for_each(|i| newton.prescribe_impulse(i, 0.0));
        }
    }
}

/// Whether a combination is inconsistent: its system is regular and its point violates a law by more than rounding, or its system is
/// singular and contradictory, so that a prescribed equation is violated.
fn is_inconsistent(newton: &Newton, view: &View<'_>, z: &[f64], pivots: Option<f64>) -> bool {
    let w = &newton.w;
    let clear = |i: usize, residual: f64| {
        let terms = view.q[i].abs() + view.matrix.row_size(i, z);
        residual > CLEAR * terms
    };
    match pivots {
        Some(ratio) if ratio < CERTAIN => false,
        Some(_) => (0..view.blocks.len()).any(|k| {
            let i = view.first[k];
            let rows = i..i + view.blocks[k].rows();
            let residual = view.block_residual(k, z, w);
            let largest = rows.map(|i| view.q[i].abs() + view.matrix.row_size(i, z));
            residual > CLEAR * largest.fold(0.0, f64::max)
        }),
        // Ill-conditioned systems, as of a heavy body on a light one, decide nothing.
        None => newton.is_singular() && newton.closed_rows().any(|i| clear(i, w[i].abs())),
    }
}
