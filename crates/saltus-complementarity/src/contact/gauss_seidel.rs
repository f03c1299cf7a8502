//! Nonsmooth Gauss–Seidel sweeps over the blocks of any problem, each block solved exactly with the others fixed.

use super::block::Block;
use super::residual::View;
use crate::friction::solve_contact;

/// Sweeps over all blocks of `view`, starting from `z`, until the largest change is below `change` times the largest impulse.
/// Returns the number of sweeps.
pub(super) fn sweep(view: &View<'_>, z: &mut [f64], limit: u32, change: f64) -> u32 {
    for sweep in 1..=limit {
        let (mut largest, mut moved) = (0.0_f64, 0.0_f64);
        for k in 0..view.blocks.len() {
            let first = view.first[k];
            let rows = view.blocks[k].rows();
            let mut before = [0.0; 5];
            before[..rows].copy_from_slice(&z[first..first + rows]);
            solve_block(view, k, z);
            let scale = view.compliance(k).normal.sqrt();
            for (new, old) in z[first..first + rows].iter().zip(&before) {
                largest = largest.max(scale * new.abs());
                moved = moved.max(scale * (new - old).abs());
            }
        }
        if !(moved > change * largest) {
            return sweep;
        }
    }
    limit
}

/// Solves block `k` with all other impulses fixed; leaves it as it is where it has no solution.
fn solve_block(view: &View<'_>, k: usize, z: &mut [f64]) {
    let (block, i) = (view.blocks[k], view.first[k]);
    match block {
        Block::Equality | Block::Unilateral | Block::Box { .. } => {
            let own = view.matrix.entry(i, i);
            if own > 0.0 {
                let free = z[i] - (view.q[i] + view.matrix.row_dot(i, z)) / own;
                z[i] = match block {
                    Block::Unilateral => free.max(0.0),
                    Block::Box { lo, hi } => free.max(lo).min(hi),
                    _ => free,
                };
            }
        }
        Block::Coulomb { mu, .. } => match block.rows() {
            1 => contact::<1>(view, i, (mu, 0.0), z),
            2 => contact::<2>(view, i, (mu, 0.0), z),
            _ => contact::<3>(view, i, (mu, 0.0), z),
        },
        Block::Rolling { mu, length } => contact::<5>(view, i, (mu, length), z),
        Block::JointCoulomb { mu, .. } => {
            let radius = mu * view.joint_load(k, z);
            match block.rows() {
                1 => joint::<1, 2>(view, i, radius, z),
                2 => joint::<2, 3>(view, i, radius, z),
                _ => {}
            }
        }
    }
}

/// The matrix of the rows from `i` on, and the velocities there without their own impulses.
fn local<const D: usize>(view: &View<'_>, i: usize, z: &[f64]) -> ([[f64; D]; D], [f64; D]) {
    let (mut w, mut b) = ([[0.0; D]; D], [0.0; D]);
    for r in 0..D {
        b[r] = view.q[i + r] + view.matrix.row_dot(i + r, z);
        for c in 0..D {
            w[r][c] = view.matrix.entry(i + r, i + c);
            b[r] -= w[r][c] * z[i + c];
        }
    }
    (w, b)
}

fn contact<const D: usize>(view: &View<'_>, i: usize, (mu, length): (f64, f64), z: &mut [f64]) {
    let (w, b) = local::<D>(view, i, z);
    let own = &mut z[i..i + D];
    if D == 1 {
        if w[0][0] > 0.0 {
            own[0] = (-b[0] / w[0][0]).max(0.0);
        }
        return;
    }
    let mut guess = [0.0; D];
    guess.copy_from_slice(own);
    if let Some(found) = solve_contact(&w, &b, mu, length, &guess, &mut 0.0) {
        own.copy_from_slice(&found);
    }
}

/// Slip rows with a fixed bound: a contact whose normal impulse is 1 and whose coefficient of friction is the bound.
fn joint<const D: usize, const E: usize>(view: &View<'_>, i: usize, radius: f64, z: &mut [f64]) {
    let (w, b) = local::<D>(view, i, z);
    let own = &mut z[i..i + D];
    if radius <= 0.0 {
        own.fill(0.0);
        return;
    }
    let (mut wide, mut free, mut guess) = ([[0.0; E]; E], [0.0; E], [0.0; E]);
    wide[0][0] = w[0][0].max(1.0);
    free[0] = -wide[0][0];
    guess[0] = 1.0;
    for r in 0..D {
        free[r + 1] = b[r];
        guess[r + 1] = own[r];
        wide[r + 1][1..].copy_from_slice(&w[r]);
    }
    if let Some(found) = solve_contact(&wide, &free, radius, 0.0, &guess, &mut 0.0) {
        own.copy_from_slice(&found[1..]);
    }
}
