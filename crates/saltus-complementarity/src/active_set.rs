//! The active-set Newton method ("newton-min", primal–dual active set) with a memory of the sets it
//! has tried, and the solution of one active block, regular or not.
//!
//! The method solves `min(y, M y + q) = 0` by Newton's method: the rows with `y_i > w_i` are active,
//! their `w` is set to zero, all other `y` vanish (Ben Gharbia & Gilbert, *Math. Program.* 134
//! (2012) 349–364, who also show that it can cycle; hence the memory).

use crate::enumeration::NOT_SINGULAR;
use crate::outcome::Status;
use crate::verdict::size_of_row;
use saltus_linear::{Dense, Lu, MinimumNorm, RANK_TOLERANCE, dot};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// How a search for the active set ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewtonEnd {
    /// The set reproduces itself.
    Stationary,
    /// A set came back.
    Cycle,
    /// The limit was reached.
    Limit,
}

impl NewtonEnd {
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Stationary => Status::Solved,
            Self::Cycle => Status::Cycle,
            Self::Limit => Status::IterationLimit,
        }
    }
}

/// Searches the active set of a scaled mixed problem.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveSet {
    block: Dense,
    lu: Lu,
    rank: MinimumNorm,
    rhs: Vec<f64>,
    x: Vec<f64>,
    /// Indices of the active rows, equalities included, ascending.
    set: Vec<usize>,
    next: Vec<usize>,
    tried: Tried,
    w: Vec<f64>,
    regular: bool,
    /// The ridge of the last block.
    ridge: f64,
    /// Whether blocks are regular up to the rounding of their pivots.
    is_sharp: bool,
}

/// Violations below this multiple of the size of their row are round-off.
const ROUND_OFF: f64 = 1e-14;
/// Equations of a singular block that miss by less than this multiple of their size are consistent.
const CONSISTENT: f64 = 1e-9;

impl ActiveSet {
    /// Sets after which a search among `rows` candidates has usually ended, if it ends well: enough where other methods follow.
    pub(crate) fn usual(rows: usize) -> u32 {
        rows as u32 + 25
    }

    /// Whether blocks that are too ill-conditioned for the usual rank decision, but regular beyond rounding, are solved as they
    /// are: the contacts of a heavy body on a light one.
    pub(crate) fn set_sharp(&mut self, is_sharp: bool) {
        self.is_sharp = is_sharp;
    }

    /// Factorises the block; whether it is regular.
    fn factorise(&mut self) -> bool {
        let least = if self.is_sharp {
            NOT_SINGULAR * self.block.rows() as f64
        } else {
            RANK_TOLERANCE
        };
        self.lu.factorise(&self.block).is_ok() && self.lu.pivot_ratio() > least
    }

    /// Newton's method on the candidates `rows` (ascending, the first `e` rows of the problem among
    /// them); rows that are no candidates keep `y = 0` and are not looked at. `ridge` is added to the diagonal.
    #[allow(clippy::too_many_arguments)] // the parts of one problem and its limits
    pub(crate) fn solve(
        &mut self,
        m: &Dense,
        q: &[f64],
        e: usize,
        rows: &[usize],
        ridge: f64,
        limit: u32,
        y: &mut [f64],
    ) -> (NewtonEnd, u32) {
        let n = q.len();
        self.w.clear();
        self.w.resize(n, 0.0);
        self.tried.clear();
        for set in [&mut self.set, &mut self.next] {
            set.clear();
            set.reserve(rows.len());
        }
        for &i in rows {
            if i < e || y[i] > q[i] + dot(m.row(i), y) + ridge * y[i] {
                self.set.push(i);
            }
        }
        for iteration in 1..=limit {
            if !self.tried.insert(&self.set) {
                return (NewtonEnd::Cycle, iteration - 1);
            }
            let set = std::mem::take(&mut self.set);
            self.regular = self.block(m, q, &set, ridge, y);
            self.set = set;
            if self.advance(m, q, e, rows, ridge, y) || self.next == self.set {
                let consistent = self.regular || self.consistent(m, q, y);
                return (
                    if consistent {
                        NewtonEnd::Stationary
                    } else {
                        NewtonEnd::Cycle
                    },
                    iteration,
                );
            }
            std::mem::swap(&mut self.set, &mut self.next);
        }
        (NewtonEnd::Limit, limit)
    }

    /// Evaluates `w`, collects the next set and says whether what is violated is round-off.
    fn advance(
        &mut self,
        m: &Dense,
        q: &[f64],
        e: usize,
        rows: &[usize],
        ridge: f64,
        y: &[f64],
    ) -> bool {
        self.next.clear();
        let mut solved = true;
        let mut active = self.set.iter().copied().peekable();
        for &i in rows {
            let member = active.next_if_eq(&i).is_some();
            // The rows of a regular block have w = 0 by construction.
            let w = if member && self.regular {
                0.0
            } else {
                q[i] + dot(m.row(i), y) + ridge * y[i]
            };
            self.w[i] = w;
            let violation = if i < e {
                w.abs()
            } else {
                (-y[i].min(w)).max(if member { w } else { 0.0 })
            };
            if i < e || y[i] > w {
                self.next.push(i);
            }
            solved = solved
                && (violation <= 0.0 || violation <= ROUND_OFF * size_of_row(m.row(i), q[i], y));
        }
        solved
    }

    /// Whether the rows of the last set have `w = 0` as far as their terms allow.
    fn consistent(&self, m: &Dense, q: &[f64], y: &[f64]) -> bool {
        let holds = |&i: &usize| self.w[i].abs() <= CONSISTENT * size_of_row(m.row(i), q[i], y);
        self.set.iter().all(holds)
    }

    /// `y ← −M_SS⁻¹ q_S` on `set`, zero elsewhere; by least norm where the block is singular.
    /// Returns whether it was regular.
    fn block(&mut self, m: &Dense, q: &[f64], set: &[usize], ridge: f64, y: &mut [f64]) -> bool {
        self.extract(m, set, ridge);
        self.ridge = ridge;
        if !self.factorise() {
            self.least_norm(m, q, set, ridge, y);
            return false;
        }
        self.x.clear();
        self.x.extend(set.iter().map(|&i| -q[i]));
        self.lu.solve(&mut self.x);
        // One step of iterative refinement.
        self.rhs.clear();
        for (k, &i) in set.iter().enumerate() {
            self.rhs.push(-q[i] - dot(self.block.row(k), &self.x));
        }
        self.lu.solve(&mut self.rhs);
        y.fill(0.0);
        for (k, &i) in set.iter().enumerate() {
            y[i] = self.x[k] + self.rhs[k];
        }
        true
    }

    /// Least-norm solution of `M_SS y_S = −q_S`, zero elsewhere.
    pub(crate) fn least_norm(
        &mut self,
        m: &Dense,
        q: &[f64],
        set: &[usize],
        ridge: f64,
        y: &mut [f64],
    ) {
        self.extract(m, set, ridge);
        self.rank.factorise(&self.block);
        self.rhs.clear();
        self.rhs.extend(set.iter().map(|&i| -q[i]));
        self.x.clear();
        self.x.resize(set.len(), 0.0);
        self.rank.solve(&mut self.rhs, &mut self.x);
        // One step of iterative refinement.
        for (k, &i) in set.iter().enumerate() {
            self.rhs[k] = -q[i] - dot(self.block.row(k), &self.x);
        }
        y.fill(0.0);
        for (k, &i) in set.iter().enumerate() {
            y[i] = self.x[k];
        }
        self.rank.solve(&mut self.rhs, &mut self.x);
        for (k, &i) in set.iter().enumerate() {
            y[i] += self.x[k];
        }
    }

    fn extract(&mut self, m: &Dense, set: &[usize], ridge: f64) {
        self.block.reset(set.len(), set.len());
        for (k, &i) in set.iter().enumerate() {
            let row = m.row(i);
            for (to, &j) in self.block.row_mut(k).iter_mut().zip(set) {
                *to = row[j];
            }
            self.block[(k, k)] += ridge;
        }
    }

    /// Solves again, without a ridge, on the equalities and the rows with `y > 0`.
    pub(crate) fn polish(&mut self, m: &Dense, q: &[f64], e: usize, y: &mut [f64]) {
        let mut set = std::mem::take(&mut self.set);
        set.clear();
        set.extend((0..y.len()).filter(|&i| i < e || y[i] > 0.0));
        self.regular = self.block(m, q, &set, 0.0, y);
        self.set = set;
    }

    /// Whether the last block was regular.
    pub(crate) fn regular(&self) -> bool {
        self.regular
    }

    /// Whether the block of `set` is regular.
    pub(crate) fn is_regular(&mut self, m: &Dense, set: &[usize]) -> bool {
        self.extract(m, set, 0.0);
        self.factorise()
    }

    /// Rows minus rank of the block of the equalities and the rows with `y > 0`.
    pub(crate) fn redundancy(&mut self, m: &Dense, e: usize, y: &[f64]) -> u32 {
        let mut set = std::mem::take(&mut self.next);
        set.clear();
        set.extend((0..y.len()).filter(|&i| i < e || y[i] > 0.0));
        // The block of the last set is known already.
        let known = self.regular && self.ridge == 0.0 && set == self.set;
        let missing = if known || self.is_regular(m, &set) {
            0
        } else {
            set.len() - self.rank.factorise(&self.block)
        };
        self.next = set;
        missing as u32
    }
}

/// The active sets a search has tried, by their fingerprints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tried(HashSet<u64, BuildHasherDefault<Folded>>);

impl Tried {
    /// Fingerprints for which room is kept from one search to the next.
    const KEPT: usize = 1024;

    pub(crate) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(Self::KEPT);
    }

    /// Whether `set` (ascending) has not been tried before; from now on it has.
    pub(crate) fn insert(&mut self, set: &[usize]) -> bool {
        self.0.insert(fingerprint(set))
    }
}

/// A fingerprint is a hash already; its lower half alone is a poor one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value ^ value >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// FNV-1a over the indices: two different sets collide with probability 2⁻⁶⁴, and a collision only
/// ends the search early.
fn fingerprint(set: &[usize]) -> u64 {
    set.iter().fold(0xcbf2_9ce4_8422_2325, |h, &i| {
        (h ^ i as u64).wrapping_mul(0x0100_0000_01b3)
    })
}
