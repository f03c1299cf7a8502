//! Reduction to a problem of frictional contact and its solution: equalities are eliminated, and all laws are written as contacts of
//! one size.
//!
//! A box becomes a contact of its own: its normal impulse is half the width of the box, fixed by a row that is not coupled to others,
//! its coefficient of friction is 1 and its first tangential impulse the distance from the middle of the box. A joint with friction
//! is treated alike, with a disc whose radius is that of the last round. Rows that a contact lacks are added with the compliance of the contact
//! and no velocity.

use super::block::Block;
use super::residual::View;
use crate::block::BlockMatrix;

use crate::friction::{self, FrictionContact, FrictionSolver, Limits};
use crate::outcome::Status;
use saltus_linear::{Dense, Lu, MinimumNorm, RANK_TOLERANCE, dot};

/// Largest number of equalities that are eliminated.
const EQUALITIES: usize = 3000;
/// Rounds on the bounds of joints.
const ROUNDS: u32 = 60;
/// Relative change of the bounds of joints below which they have converged.
const SETTLED: f64 = 1e-11;

/// Outcome of the solvers of frictional contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReducedOutcome {
    pub status: Status,
    pub iterations: u32,
}

/// A row of the problem in terms of reactions: `z = offset + sign · r[component]`.
#[derive(Debug, Clone, Copy)]
struct Row {
    component: Option<usize>,
    offset: f64,
    sign: f64,
}

/// Improves `z` by the solvers of frictional contact, to the relative tolerance `eta`; `s` are the scales `1/√d` of the impulses.
/// `None` where the problem is too large to be reduced.
pub(super) fn solve(
    view: &View<'_>,
    s: &[f64],
    z: &mut [f64],
    (method, eta): (FrictionSolver, f64),
    (most_iterations, most_work): (u32, f64),
) -> Option<ReducedOutcome> {
    let joints = |b: &Block| matches!(b, Block::JointCoulomb { .. });
    let rounds = if view.blocks.iter().any(joints) {
        ROUNDS
    } else {
        1
    };
    let mut spent = 0_u32;
    let mut status = Status::Stalled;
    for _ in 0..rounds {
        let before: Vec<f64> = radii(view, z).collect();
        let mut reduced = Reduced::new(view, s, z)?;
        let mut r = reduced.guess(z);
        let limits = Limits {
            tolerance: eta,
            max_iterations: u64::from(most_iterations.saturating_sub(spent)),
            max_work: most_work,
            cancel: None,
        };
        let end = friction::solve(&reduced.problem, method, limits, &mut r);
        spent = spent.saturating_add(end.outcome.iterations.max(1));
        // With joints a proof would hold for the bounds of this round only.
        let infeasible = end.outcome.status == Status::Infeasible && rounds == 1;
        status = if infeasible {
            Status::Infeasible
        } else {
            Status::Stalled
        };
        reduced.recover_impulses(view, &r, z);
        let change = radii(view, z).zip(&before);
        let converged = change
            .map(|(new, old)| (new - old).abs() - SETTLED * new.max(*old))
            .all(|excess| excess <= 0.0);
        if converged || spent >= most_iterations {
            break;
        }
    }
    Some(ReducedOutcome {
        status,
        iterations: spent,
    })
}

/// Radii of the discs of joints.
fn radii<'a>(view: &'a View<'_>, z: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    (0..view.blocks.len()).map(|k| match view.blocks[k] {
        Block::JointCoulomb { mu, .. } => mu * view.joint_load(k, z),
        _ => 0.0,
    })
}

/// The problem as one of frictional contact.
struct Reduced {
    problem: FrictionContact,
    rows: Vec<Row>,
    fixed: Vec<(usize, f64)>,
    equalities: Option<Equalities>,
}

/// Law and added components of one reduced contact.
struct Contact {
    mu: f64,
    length: f64,
    /// Fixed normal impulse of a box or a joint.
    normal: Option<f64>,
    /// Compliance of the components that are added.
    compliance: f64,
    used: [bool; 5],
}

impl Reduced {
    fn new(view: &View<'_>, s: &[f64], z: &[f64]) -> Option<Self> {
        let dimension = dimension(view);
        let (rows, contacts) = rows_and_contacts(view, z, dimension);
        let free: Vec<usize> = (0..rows.len())
            .filter(|&i| rows[i].component.is_none())
            .collect();
        let mut equalities = if free.is_empty() {
            None
        } else {
            Some(Equalities::new(view, s, free)?)
        };
        // q with the contribution of the offsets.
        let offsets: Vec<f64> = rows.iter().map(|r| r.offset).collect();
        let mut q = vec![0.0; view.q.len()];
        view.velocity(&offsets, &mut q);
        let mut entries = Vec::new();
        let mut put = |i: usize, j: usize, v: f64| {
            if let (Some(a), Some(b)) = (rows[i].component, rows[j].component) {
                entries.push((a, b, rows[i].sign * rows[j].sign * v));
            }
        };
        match &mut equalities {
            None => view.matrix.visit(&mut put),
            Some(e) => e.condense(view, &mut q, &mut put),
        }
        let mut free_velocity = vec![0.0; dimension * contacts.len()];
        for (row, q) in rows.iter().zip(&q) {
            if let Some(c) = row.component {
                free_velocity[c] = row.sign * q;
            }
        }
        let mut fixed = Vec::new();
        for (k, contact) in contacts.iter().enumerate() {
            for c in (0..dimension).filter(|&c| !contact.used[c]) {
                let at = dimension * k + c;
                entries.push((at, at, contact.compliance));
                if c == 0
                    && let Some(normal) = contact.normal
                {
                    free_velocity[at] = -contact.compliance * normal;
                    fixed.push((at, normal));
                }
            }
        }
        let matrix = BlockMatrix::from_triplets(dimension, contacts.len(), entries);
        let mu = contacts.iter().map(|c| c.mu).collect();
        let lengths = contacts.iter().map(|c| c.length);
        let lengths = lengths.filter(|_| dimension == 5).collect();
        let problem = FrictionContact::new(matrix, free_velocity, mu, lengths).ok()?;
        Some(Self {
            problem,
            rows,
            fixed,
            equalities,
        })
    }

    fn guess(&self, z: &[f64]) -> Vec<f64> {
        let mut r = vec![0.0; self.problem.free_velocity().len()];
        for (row, z) in self.rows.iter().zip(z) {
            if let Some(c) = row.component {
                r[c] = row.sign * (z - row.offset);
            }
        }
        for &(c, normal) in &self.fixed {
            r[c] = normal;
        }
        r
    }

    /// The impulses `z` for the reactions `r`.
    fn recover_impulses(&mut self, view: &View<'_>, r: &[f64], z: &mut [f64]) {
        for (row, z) in self.rows.iter().zip(z.iter_mut()) {
            *z = row.offset + row.component.map_or(0.0, |c| row.sign * r[c]);
        }
        if let Some(equalities) = &mut self.equalities {
            equalities.recover(view, z);
        }
    }
}

/// Components of the largest contact.
fn dimension(view: &View<'_>) -> usize {
    let size = |block: &Block| match block {
        Block::Rolling { .. } => 5,
        Block::Coulomb { .. } => block.rows(),
        Block::JointCoulomb { .. } => 1 + block.rows(),
        _ => 2,
    };
    view.blocks.iter().map(size).max().unwrap_or(2).max(2)
}

/// Writes every row as a component of a contact, or as an equality.
fn rows_and_contacts(view: &View<'_>, z: &[f64], dimension: usize) -> (Vec<Row>, Vec<Contact>) {
    let mut rows = Vec::new();
    let mut contacts: Vec<Contact> = Vec::new();
    for (k, &block) in view.blocks.iter().enumerate() {
        let d = view.compliance(k);
        let mut contact = Contact {
            mu: 0.0,
            length: 0.0,
            normal: None,
            compliance: d.normal,
            used: [false; 5],
        };
        let base = dimension * contacts.len();
        let mut row = |c: usize, offset: f64, sign: f64, contact: &mut Contact| {
            contact.used[c] = true;
            rows.push(Row {
                component: Some(base + c),
                offset,
                sign,
            });
        };
        match block {
            Block::Box { lo, hi } if lo.is_finite() && hi.is_finite() => {
                let middle = 0.5 * (lo + hi);
                (contact.mu, contact.normal) = (1.0, Some(0.5 * (hi - lo)));
                row(1, middle, 1.0, &mut contact);
            }
            Block::Box { lo, .. } if lo.is_finite() => row(0, lo, 1.0, &mut contact),
            Block::Box { hi, .. } if hi.is_finite() => row(0, hi, -1.0, &mut contact),
            Block::Equality | Block::Box { .. } => {
                rows.push(Row {
                    component: None,
                    offset: 0.0,
                    sign: 1.0,
                });
                continue;
            }
            Block::Unilateral => row(0, 0.0, 1.0, &mut contact),
            Block::JointCoulomb { mu, .. } => {
                (contact.mu, contact.normal) = (1.0, Some(mu * view.joint_load(k, z)));
                for c in 0..block.rows() {
                    row(1 + c, 0.0, 1.0, &mut contact);
                }
            }
            Block::Coulomb { mu, .. } | Block::Rolling { mu, .. } => {
                contact.mu = mu;
                if let Block::Rolling { length, .. } = block {
                    contact.length = length;
                }
                for c in 0..block.rows() {
                    row(c, 0.0, 1.0, &mut contact);
                }
            }
        }
        contacts.push(contact);
    }
    (rows, contacts)
}

/// The equalities, eliminated by their own scaled block.
struct Equalities {
    /// Their rows, and the others.
    own: Vec<usize>,
    others: Vec<usize>,
    s: Vec<f64>,
    factor: Factor,
}

/// A factorised square block, by least norm where it is singular.
enum Factor {
    Regular(Lu),
    Singular(Box<MinimumNorm>),
}

impl Equalities {
    fn new(view: &View<'_>, s: &[f64], own: Vec<usize>) -> Option<Self> {
        if own.len() > EQUALITIES || view.q.len() - own.len() > EQUALITIES {
            return None;
        }
        let m = own.len();
        let mut dense = Dense::zeros(m, m);
        for (a, &i) in own.iter().enumerate() {
            for (b, &j) in own.iter().enumerate() {
                dense[(a, b)] = s[i] * view.matrix.entry(i, j) * s[j];
            }
        }
        let mut lu = Lu::default();
        let factor = if lu.factorise(&dense).is_ok() && lu.pivot_ratio() > RANK_TOLERANCE {
            Factor::Regular(lu)
        } else {
            let mut rank = Box::<MinimumNorm>::default();
            rank.factorise(&dense);
            Factor::Singular(rank)
        };
        let mut member = vec![false; view.q.len()];
        own.iter().for_each(|&i| member[i] = true);
        let others = (0..view.q.len()).filter(|&i| !member[i]).collect();
        Some(Self {
            own,
            others,
            s: s.to_vec(),
            factor,
        })
    }

    /// `x ← A_EE⁺ x` of unscaled velocities `x` of the equalities.
    fn solve(&mut self, x: &mut [f64]) {
        for (x, &i) in x.iter_mut().zip(&self.own) {
            *x *= self.s[i];
        }
        match &mut self.factor {
            Factor::Regular(lu) => lu.solve(x),
            Factor::Singular(rank) => {
                let mut b = x.to_vec();
                rank.solve(&mut b, x);
            }
        }
        for (x, &i) in x.iter_mut().zip(&self.own) {
            *x *= self.s[i];
        }
    }

    /// The Schur complement of the other rows, entry by entry, and their velocities without impulses `q`.
    fn condense(&mut self, view: &View<'_>, q: &mut [f64], mut put: impl FnMut(usize, usize, f64)) {
        let own = self.own.clone();
        let others = std::mem::take(&mut self.others);
        // Rows A_iE of the others.
        let mut across = Dense::zeros(others.len(), own.len());
        for (a, &i) in others.iter().enumerate() {
            for (to, &e) in across.row_mut(a).iter_mut().zip(&own) {
                *to = view.matrix.entry(i, e);
            }
        }
        let mut x: Vec<f64> = own.iter().map(|&e| q[e]).collect();
        self.solve(&mut x);
        for (a, &i) in others.iter().enumerate() {
            q[i] -= dot(across.row(a), &x);
        }
        for &j in &others {
            for (x, &e) in x.iter_mut().zip(&own) {
                *x = view.matrix.entry(e, j);
            }
            self.solve(&mut x);
            for (a, &i) in others.iter().enumerate() {
                put(i, j, view.matrix.entry(i, j) - dot(across.row(a), &x));
            }
        }
        self.others = others;
    }

    /// The impulses of the equalities for those of the others in `z`.
    fn recover(&mut self, view: &View<'_>, z: &mut [f64]) {
        self.own.iter().for_each(|&e| z[e] = 0.0);
        for _ in 0..2 {
            let defect = self.own.iter();
            let mut x: Vec<f64> = defect
                .map(|&e| view.q[e] + view.matrix.row_dot(e, z))
                .collect();
            self.solve(&mut x);
            for (x, &e) in x.iter().zip(&self.own) {
                z[e] -= x;
            }
        }
    }
}
