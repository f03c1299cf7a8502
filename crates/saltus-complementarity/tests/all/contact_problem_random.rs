//! Contact problems with a solution that is chosen first, of all laws mixed, and problems of rigid bodies.

use crate::support::Random;
use saltus_complementarity::{Block, ContactProblem, Tolerance};

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// What a point misses of a law, written out from the law itself: signs, bounds, complementarity.
fn violation(block: Block, z: &[f64], w: &[f64], carried: f64) -> f64 {
    let disc = |z: &[f64], w: &[f64], radius: f64| {
        let power: f64 = z.iter().zip(w).map(|(z, w)| z * w).sum();
        let excess = (norm(z) - radius).max(0.0);
        // z·w = −radius |w| says that friction is at its bound and opposes slip.
        excess.max((power + radius * norm(w)).abs())
    };
    match block {
        Block::Equality => w[0].abs(),
        Block::Unilateral => (-z[0]).max(-w[0]).max((z[0] * w[0]).abs()),
        Block::Box { lo, hi } => {
            let out = (lo - z[0]).max(z[0] - hi).max(0.0);
            let wrong = if w[0] > 0.0 {
                if lo.is_finite() {
                    w[0] * (z[0] - lo)
                } else {
                    w[0]
                }
            } else if hi.is_finite() {
                -w[0] * (hi - z[0])
            } else {
                -w[0]
            };
            out.max(wrong)
        }
        Block::Coulomb { mu, .. } => {
            let normal = (-z[0]).max(-w[0]).max((z[0] * w[0]).abs());
            normal.max(disc(&z[1..], &w[1..], mu * z[0]))
        }
        Block::Rolling { mu, length } => {
            let normal = (-z[0]).max(-w[0]).max((z[0] * w[0]).abs());
            normal.max(disc(&z[1..3], &w[1..3], mu * z[0])).max(disc(
                &z[3..],
                &w[3..],
                length * z[0],
            ))
        }
        Block::JointCoulomb { mu, .. } => disc(z, w, mu * carried),
    }
}

fn largest_violation(problem: &ContactProblem) -> f64 {
    let mut w = vec![0.0; problem.rows()];
    problem.velocity(&mut w);
    let z = problem.z();
    (0..problem.blocks())
        .map(|k| {
            let block = problem.block(k);
            let rows = problem.first_row(k)..problem.first_row(k) + block.rows();
            let carried = match block {
                Block::JointCoulomb {
                    first_normal,
                    normals,
                    ..
                } => norm(&z[first_normal..first_normal + normals]),
                _ => 0.0,
            };
            violation(block, &z[rows.clone()], &w[rows], carried)
        })
        .fold(0.0, f64::max)
}

/// Which laws a random problem mixes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mix {
    Planar,
    Spatial,
    Rolling,
    All,
}

fn random_blocks(random: &mut Random, mix: Mix, count: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut rows = 0;
    for _ in 0..count {
        let mu = 0.1 + random.unit();
        let kind = match mix {
            Mix::Planar => [0, 1, 1, 1][random.below(4)],
            Mix::Spatial => [0, 2, 2, 2][random.below(4)],
            Mix::Rolling => 3,
            Mix::All => random.below(7),
        };
        let block = match kind {
            0 => Block::Equality,
            1 | 2 => Block::Coulomb {
                mu,
                tangents: kind as u8,
            },
            3 => Block::Rolling {
                mu,
                length: 0.3 * mu,
            },
            4 => Block::Box {
                lo: [-random.unit(), f64::NEG_INFINITY][usize::from(random.below(4) == 0)],
                hi: [random.unit(), f64::INFINITY][usize::from(random.below(4) == 0)],
            },
            5 => Block::Unilateral,
            _ => {
                let normals = 1 + random.below(2);
                for _ in 0..normals {
                    blocks.push(Block::Equality);
                }
                rows += normals;
                Block::JointCoulomb {
                    mu: 0.5 * mu,
                    tangents: 1 + random.below(2) as u8,
                    first_normal: rows - normals,
                    normals,
                }
            }
        };
        rows += block.rows();
        blocks.push(block);
    }
    blocks
}

/// Impulses on a disc and velocities that oppose them.
fn plant_disc(random: &mut Random, radius: f64, z: &mut [f64], w: &mut [f64]) {
    let mut direction = [random.signed(), random.signed()];
    let size = norm(&direction[..z.len()]);
    direction = direction.map(|v| v / size);
    let slips = random.below(2) == 0;
    let speed = random.unit();
    for (k, (z, w)) in z.iter_mut().zip(w).enumerate() {
        *z = -radius * direction[k] * if slips { 1.0 } else { 0.8 };
        *w = if slips { speed * direction[k] } else { 0.0 };
    }
}

/// A problem of `blocks` and a solution of it. `A = HᵀH + skew · (S − Sᵀ)` with `rank` rows of `H`.
fn planted(
    random: &mut Random,
    blocks: &[Block],
    rank: usize,
    skew: f64,
) -> (ContactProblem, Vec<f64>, Vec<f64>) {
    let mut problem = ContactProblem::default();
    problem.begin();
    for (id, block) in blocks.iter().enumerate() {
        problem.push(id as u64, *block);
    }
    let n = problem.rows();
    let h: Vec<Vec<f64>> = (0..rank)
        .map(|_| (0..n).map(|_| random.signed()).collect())
        .collect();
    let mut s = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..i {
            let v = skew * random.signed();
            (s[i][j], s[j][i]) = (v, -v);
        }
    }
    let a = problem.matrix_mut();
    for i in 0..n {
        for j in 0..n {
            a[(i, j)] = s[i][j] + h.iter().map(|r| r[i] * r[j]).sum::<f64>();
        }
    }
    let (mut z, mut w) = (vec![0.0; n], vec![0.0; n]);
    for (k, &block) in blocks.iter().enumerate() {
        let i = problem.first_row(k);
        match block {
            Block::Equality => z[i] = random.signed(),
            Block::Box { lo, hi } => match random.below(3) {
                0 if lo.is_finite() => (z[i], w[i]) = (lo, random.unit()),
                1 if hi.is_finite() => (z[i], w[i]) = (hi, -random.unit()),
                _ => z[i] = 0.5 * (lo.max(-1.0) + hi.min(1.0)),
            },
            Block::JointCoulomb {
                mu,
                first_normal,
                normals,
                ..
            } => {
                let radius = mu * norm(&z[first_normal..first_normal + normals]);
                let rows = i..i + block.rows();
                plant_disc(random, radius, &mut z[rows.clone()], &mut w[rows]);
            }
            _ => {
                let rows = i..i + block.rows();
                if random.below(3) == 0 {
                    w[i] = random.unit();
                    w[i + 1..rows.end].fill_with(|| random.signed());
                    continue;
                }
                z[i] = 0.1 + random.unit();
                if let Block::Coulomb { mu, .. } | Block::Rolling { mu, .. } = block {
                    let end = rows.end.min(i + 3);
                    let normal = z[i];
                    plant_disc(random, mu * normal, &mut z[i + 1..end], &mut w[i + 1..end]);
                    if let Block::Rolling { length, .. } = block {
                        plant_disc(
                            random,
                            length * normal,
                            &mut z[i + 3..i + 5],
                            &mut w[i + 3..i + 5],
                        );
                    }
                }
            }
        }
    }
    problem.z_mut().copy_from_slice(&z);
    let mut image = vec![0.0; n];
    problem.velocity(&mut image);
    let q: Vec<f64> = w.iter().zip(&image).map(|(w, a)| w - a).collect();
    problem.q_mut().copy_from_slice(&q);
    let planted = largest_violation(&problem);
    assert!(planted < 1e-12, "{planted}");
    problem.z_mut().fill(0.0);
    (problem, z, w)
}

fn run(mix: Mix, seeds: u64, skew: f64, share: f64) -> (u64, u32) {
    let (mut solved, mut iterations) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random::new(seed + 1);
        let count = 1 + random.below(8);
        let blocks = random_blocks(&mut random, mix, count);
        let n: usize = blocks.iter().map(|b| b.rows()).sum();
        let rank = 1 + random.below(n + n / 2);
        let (mut problem, ..) = planted(&mut random, &blocks, rank, skew);
        let outcome = problem.solve(Tolerance::default());
        if outcome.is_solved() {
            solved += 1;
            iterations += outcome.iterations;
            let size: f64 = 1.0 + problem.z().iter().map(|z| z.abs()).sum::<f64>();
            let miss = largest_violation(&problem);
            assert!(miss <= 1e-10 * size * size, "{mix:?} {seed}: {miss:e}");
            assert_eq!(outcome.residual, problem.residual());
        } else {
            println!("{mix:?} seed {seed}: {outcome:?}, {} rows, rank {rank}", n);
        }
        assert!(
            outcome.is_solved() || outcome.status != saltus_complementarity::Status::Infeasible
        );
    }
    println!("{mix:?} skew {skew}: {solved} of {seeds} solved, {iterations} iterations");
    assert!(solved as f64 >= share * seeds as f64);
    (solved, iterations)
}

#[test]
fn planted_problems_are_solved() {
    for mix in [Mix::Planar, Mix::Spatial, Mix::Rolling, Mix::All] {
        run(mix, 400, 0.0, 0.98);
        run(mix, 200, 0.1, 0.95);
    }
}
