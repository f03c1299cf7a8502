//! What several test files share.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod scenes;

use saltus_complementarity::friction::FrictionContact;
use saltus_complementarity::{Block, BlockMatrix, ContactProblem};
use saltus_linear::Dense;
use std::path::PathBuf;

/// `../shared/PATH` beside the repository. `None`, said aloud, where it is absent; a failure where
/// `SALTUS_REQUIRE_SHARED=1` demands it.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for base in [root.join("shared"), root.join("../shared")] {
        let full = base.join(path);
        if full.exists() {
            return Some(full);
        }
    }
    let required = std::env::var("SALTUS_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(!required, "../shared/{path} is required and absent");
    eprintln!(
        "SKIPPED: ../shared/{path} is absent; set SALTUS_REQUIRE_SHARED=1 to make that a failure"
    );
    None
}

pub fn dense(rows: &[&[f64]]) -> Dense {
    let mut m = Dense::zeros(rows.len(), rows.first().map_or(0, |r| r.len()));
    for (i, row) in rows.iter().enumerate() {
        m.row_mut(i).copy_from_slice(row);
    }
    m
}

/// A small pseudo-random generator (xorshift64*), so that a seed means the same everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}

/// A disc on `k` legs at the corners of a polygon, mass `m`: `W_ij` of the rigid body in contact frames.
pub fn disc(k: usize, m: f64, mu: f64, v0: f64, gh: f64) -> FrictionContact {
    let inertia = 0.25 * m;
    let axial = 0.5 * m;
    let mut h = vec![vec![0.0; 3 * k]; 6];
    for i in 0..k {
        let (y, x) = (std::f64::consts::TAU * i as f64 / k as f64).sin_cos();
        // Rows: translation z, x, y, rotation about x, y, z; columns: n, t1 = x, t2 = y of leg i.
        for (row, values) in [
            [1.0 / m.sqrt(), 0.0, 0.0],
            [0.0, 1.0 / m.sqrt(), 0.0],
            [0.0, 0.0, 1.0 / m.sqrt()],
            [y / inertia.sqrt(), 0.0, 0.0],
            [-x / inertia.sqrt(), 0.0, 0.0],
            [0.0, -y / axial.sqrt(), x / axial.sqrt()],
        ]
        .iter()
        .enumerate()
        {
            h[row][3 * i..3 * i + 3].copy_from_slice(values);
        }
    }
    let mut entries = Vec::new();
    for i in 0..3 * k {
        for j in 0..3 * k {
            entries.push((i, j, h.iter().map(|r| r[i] * r[j]).sum::<f64>()));
        }
    }
    let w = BlockMatrix::from_triplets(3, k, entries);
    let q = (0..k).flat_map(|_| [-gh, v0, 0.0]).collect();
    FrictionContact::new(w, q, vec![mu; k], Vec::new()).unwrap()
}

/// A solution of Coulomb's law that is chosen first: open, sticking and sliding contacts with `d` components, and the `q` that
/// makes it one of `W = H'H`, `rank` rows of `H`. With `apart`, normal directions do not act on the others: the problem
/// is monotone, its velocities unique.
pub fn planted(
    random: &mut Random,
    d: usize,
    n: usize,
    rank: usize,
    apart: bool,
) -> (FrictionContact, Vec<f64>) {
    let size = d * n;
    let h: Vec<Vec<f64>> = (0..rank)
        .map(|_| (0..size).map(|_| random.signed()).collect())
        .collect();
    let mut entries = Vec::new();
    for i in 0..size {
        for j in 0..size {
            if !apart || (i % d == 0) == (j % d == 0) {
                entries.push((i, j, h.iter().map(|r| r[i] * r[j]).sum::<f64>()));
            }
        }
    }
    let w = BlockMatrix::from_triplets(d, n, entries);
    let mu: Vec<f64> = (0..n).map(|_| 0.1 + random.unit()).collect();
    let rolling: Vec<f64> = (0..n)
        .map(|_| 0.1 + random.unit())
        .filter(|_| d == 5)
        .collect();
    let (mut r, mut u) = (vec![0.0; size], vec![0.0; size]);
    for i in 0..n {
        let (r, u) = (&mut r[d * i..][..d], &mut u[d * i..][..d]);
        if random.below(3) == 0 {
            u[0] = random.unit();
            u[1..].iter_mut().for_each(|u| *u = random.signed());
            continue;
        }
        r[0] = random.unit();
        let pairs = [
            (1, d.min(3), mu[i]),
            (3, d, *rolling.get(i).unwrap_or(&0.0)),
        ];
        for (from, to, coefficient) in pairs {
            if from >= to {
                continue;
            }
            let direction: Vec<f64> = (from..to).map(|_| random.signed()).collect();
            let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
            let slides = random.below(2) == 0;
            let (share, speed) = if slides {
                (1.0, random.unit())
            } else {
                (0.8, 0.0)
            };
            for k in from..to {
                let e = direction[k - from] / length;
                r[k] = -share * coefficient * r[0] * e;
                u[k] = speed * e;
            }
        }
    }
    let mut image = vec![0.0; size];
    w.apply(&r, &mut image);
    let q = u.iter().zip(&image).map(|(u, w)| u - w).collect();
    let problem = FrictionContact::new(w, q, mu, rolling).unwrap();
    let residual = problem.residual(&r);
    assert!(residual.eta < 1e-12, "{residual:?}");
    (problem, r)
}

/// A friction problem as the contact problem of a time step.
pub fn as_contact_problem(p: &FrictionContact) -> ContactProblem {
    let mut problem = ContactProblem::default();
    problem.begin();
    for (i, &mu) in p.friction().iter().enumerate() {
        let block = match p.dimension() {
            5 => Block::Rolling {
                mu,
                length: p.rolling()[i],
            },
            d => Block::Coulomb {
                mu,
                tangents: d as u8 - 1,
            },
        };
        problem.push(i as u64, block);
    }
    if problem.rows() > 200 {
        problem.begin_sparse();
    }
    for (i, j, v) in p.delassus().triplets() {
        problem.add(i, j, v);
    }
    problem.q_mut().copy_from_slice(p.free_velocity());
    problem
}
