//! What several test files share.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

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
