//! Problems in units of their own, a power of two for every contact, so that no square or cube leaves the range of numbers.
//!
//! With `r_i = 2^(b + s_i) r_i'` and `u_i = 2^(b − s_i) u_i'`, `W_ij' = 2^(s_i + s_j) W_ij` and `q_i' = 2^(s_i − b) q_i`: Coulomb's
//! law and `eta` stay what they are, and no bit is lost. `s_i` makes the scale `d_i` of [`Measure`] nearly 1, `b` the largest `q'`
//! of the contacts that act on each other. The doors of the solvers, of the residual and of the proofs pass through here;
//! what they find comes back in the units of the data.

use super::far_measure::{At, Power, residual};
use super::measure::{Measure, Residual, scales};
use super::problem::FrictionContact;
use crate::block::BlockMatrix;
use crate::equilibrium::{FARTHEST, exponent, near_one, times_power};
use crate::operator::Product;
use saltus_linear::max_abs;
use std::sync::{Arc, Mutex, PoisonError};

/// The smallest scale of a contact relative to the largest below which they need units of their own.
const APART: f64 = 1e-12;

/// How far the data are from 1.
#[derive(Debug)]
pub(crate) enum Range {
    /// Work on them as they are.
    Usual,
    /// Work in [`Units`].
    Far,
}

impl Range {
    /// Of the blocks of `W` at hand and `q`.
    pub fn of(problem: &FrictionContact) -> Self {
        let (w, q) = (problem.delassus().entries(), problem.free_velocity());
        if near_one(&[max_abs(w), max_abs(q)]) && !is_spread(problem) {
            Self::Usual
        } else {
            Self::Far
        }
    }
}

/// Whether the scales of the contacts are too far apart for each other's units.
fn is_spread(problem: &FrictionContact) -> bool {
    let (w, size) = (problem.delassus(), problem.dimension());
    let (mut least, mut most) = (f64::INFINITY, 0.0);
    for i in 0..problem.contacts() {
        let block = w.diagonal(i);
        let sum: f64 = (0..size.min(3)).map(|k| block[k * (size + 1)]).sum();
        if sum > 0.0 {
            least = f64::min(least, sum);
        }
        most = f64::max(most, sum);
    }
    least < APART * most && {
        // Some of the small ones may count as nothing.
        let d = scales(problem);
        let largest = max_abs(&d);
        d.iter().any(|d| *d < 0.999 * APART * largest)
    }
}

/// `S A S` in other units, where `A` is known by its products: they see impulses in the units of the data.
#[derive(Debug)]
struct InUnits {
    product: Arc<dyn Product>,
    dimension: usize,
    contact: Vec<i32>,
    unit: i32,
    scratch: Mutex<Vec<f64>>,
}

impl Product for InUnits {
    fn size(&self) -> usize {
        self.product.size()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let d = self.dimension;
        let mut inside = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = inside.chunks_exact_mut(d).zip(x.chunks_exact(d));
        for ((to, from), s) in blocks.zip(&self.contact) {
            for (to, x) in to.iter_mut().zip(from) {
                *to = times_power(*x, s + self.unit);
            }
        }
        self.product.apply(&inside, y);
        for (y, s) in y.chunks_exact_mut(d).zip(&self.contact) {
            y.iter_mut()
                .for_each(|y| *y = times_power(*y, s - self.unit));
        }
    }

    fn work(&self) -> f64 {
        self.product.work()
    }
}

/// A problem with rolling friction whose angular components are in units of lengths of its own, one per contact: `r_r = ℓ r_r'`,
/// `u_r = u_r'/ℓ`, `μ_r = ℓ μ_r'`. Coulomb's law stays what it is, and the unit of length of the data does not matter.
#[derive(Debug)]
pub(super) struct Levelled {
    /// The problem in these units.
    pub problem: FrictionContact,
    lengths: Vec<f64>,
}

impl Levelled {
    /// `None` without rolling friction. `ℓ² = Σ W_tt / Σ W_rr` of the contact (with the normal one), the coefficient where that is
    /// no number.
    pub fn new(problem: &FrictionContact) -> Option<Self> {
        if problem.dimension() != 5 {
            return None;
        }
        let w = problem.delassus();
        let lengths: Vec<f64> = (0..problem.contacts())
            .map(|i| {
                let block = w.diagonal(i);
                let sum = |from: usize, to: usize| (from..to).map(|k| block[6 * k]).sum::<f64>();
                let own = (sum(0, 3) / 3.0).sqrt() / (sum(3, 5) / 2.0).sqrt();
                let usable = |v: &f64| v.is_finite() && *v > 0.0;
                let choices = [own, problem.rolling_of(i)];
                choices.into_iter().find(usable).unwrap_or(1.0)
            })
            .collect();
        let factor = |k: usize| if k % 5 < 3 { 1.0 } else { lengths[k / 5] };
        let entries = w
            .triplets()
            .map(|(i, j, v)| (i, j, v * factor(i) * factor(j)));
        let w = BlockMatrix::from_triplets(5, problem.contacts(), entries);
        let q = problem.free_velocity().iter().enumerate();
        let q = q.map(|(k, q)| q * factor(k)).collect();
        let rolling = problem.rolling().iter().zip(&lengths);
        let rolling = rolling.map(|(m, l)| m / l).collect();
        let problem = FrictionContact::new(w, q, problem.friction().to_vec(), rolling).ok()?;
        Some(Self { problem, lengths })
    }

    /// Impulses in these units.
    pub fn enter(&self, r: &mut [f64]) {
        for (r, l) in r.chunks_exact_mut(5).zip(&self.lengths) {
            r[3..].iter_mut().for_each(|r| *r /= l);
        }
    }

    /// Impulses in the units of the data.
    pub fn leave(&self, r: &mut [f64]) {
        for (r, l) in r.chunks_exact_mut(5).zip(&self.lengths) {
            r[3..].iter_mut().for_each(|r| *r *= l);
        }
    }
}

/// Contacts that act on no others, in units in which their numbers are near 1.
#[derive(Debug)]
pub(crate) struct Part {
    /// The problem in these units.
    pub problem: FrictionContact,
    /// Its scales: those of the data in these units, as far as they can be written.
    pub measure: Measure,
    /// Of each contact the scale in units in which it is nearly 1, and how much larger the power of those is than `s_i`.
    pub natural: Vec<(f64, i32)>,
    /// Its contacts, ascending.
    pub members: Vec<usize>,
    /// `s_i`.
    pub contact: Vec<i32>,
    /// `b`.
    unit: i32,
}

impl Part {
    fn new(problem: &FrictionContact, members: Vec<usize>, d: &[f64]) -> Self {
        let size = problem.dimension();
        let own = if members.len() == problem.contacts() {
            problem.delassus().clone()
        } else {
            problem.delassus().part(&members)
        };
        let mut contact: Vec<i32> = members.iter().map(|&i| -(exponent(d[i]) >> 1)).collect();
        let mut w = own.in_units(&contact);
        let most = max_abs(w.entries());
        if most.is_nan() || most > FARTHEST {
            // Where contacts act on others by far more than their own scales allow, or turn more easily than they move, by the
            // largest entry.
            contact.fill(-(exponent(max_abs(own.entries())) >> 1));
            w = own.in_units(&contact);
        }
        let data = |k: usize| &problem.free_velocity()[size * members[k]..][..size];
        let largest = (0..members.len())
            .filter_map(|k| Some(top(data(k))? + contact[k]))
            .max();
        let unit = largest.unwrap_or(0);
        let q = (0..members.len()).flat_map(|k| {
            let s = contact[k];
            data(k).iter().map(move |q| times_power(*q, s - unit))
        });
        let q = q.collect();
        let pick = |list: &[f64]| members.iter().map(|&i| list[i]).collect();
        let rolling: &[f64] = problem.rolling();
        let rolling = if rolling.is_empty() {
            Vec::new()
        } else {
            pick(rolling)
        };
        let product = problem.product().map(|product| {
            let product: Arc<dyn Product> = Arc::new(InUnits {
                product: Arc::clone(product),
                dimension: size,
                contact: contact.clone(),
                unit,
                scratch: Mutex::new(vec![0.0; size * members.len()]),
            });
            product
        });
        let problem = FrictionContact::assemble(w, product, q, pick(problem.friction()), rolling);
        let each = members.iter().zip(&contact);
        let inside = each.clone().map(|(&i, s)| times_power(d[i], 2 * s));
        let inside = inside.map(|d| d.clamp(1e-250, 1e250)).collect();
        let measure = Measure::with(&problem, inside);
        let natural = each.map(|(&i, s)| natural(d[i], *s)).collect();
        Self {
            problem,
            measure,
            natural,
            members,
            contact,
            unit,
        }
    }

    /// A problem that is in units already: `s_i` of all contacts, `b`.
    pub fn given(problem: FrictionContact, measure: Measure, contact: Vec<i32>, unit: i32) -> Self {
        Self {
            members: (0..contact.len()).collect(),
            natural: measure.scales().iter().map(|d| natural(*d, 0)).collect(),
            problem,
            measure,
            contact,
            unit,
        }
    }

    /// The numbers of the contacts of this part, each with the power of its contact.
    fn of<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = (f64, i32)> + 'a {
        let d = self.problem.dimension();
        let each = self.members.iter().zip(&self.contact);
        each.flat_map(move |(&i, &s)| x[d * i..][..d].iter().map(move |v| (*v, s)))
    }

    /// Impulses in these units.
    pub fn enter(&self, r: &[f64]) -> Vec<f64> {
        self.of(r)
            .map(|(r, s)| times_power(r, -s - self.unit))
            .collect()
    }

    /// Velocities in these units.
    pub fn speeds(&self, u: &[f64]) -> Vec<f64> {
        self.of(u)
            .map(|(u, s)| times_power(u, s - self.unit))
            .collect()
    }

    /// Impulses of a guess: zero where it leaves the range.
    pub fn guess(&self, r: &[f64]) -> Vec<f64> {
        let mut inside = self.enter(r);
        for v in inside.iter_mut().filter(|v| !v.is_finite()) {
            *v = 0.0;
        }
        inside
    }

    /// Impulses in the units of the data, infinite where they leave the range; whether none does.
    pub fn leave(&self, inside: &[f64], r: &mut [f64]) -> bool {
        self.write(inside, r, |s| s + self.unit)
    }

    /// Velocities in the units of the data.
    pub fn leave_speeds(&self, inside: &[f64], u: &mut [f64]) {
        self.write(inside, u, |s| self.unit - s);
    }

    /// `b`.
    pub fn unit(&self) -> i32 {
        self.unit
    }

    /// Whether all are finite.
    fn write(&self, inside: &[f64], out: &mut [f64], power: impl Fn(i32) -> i32) -> bool {
        let mut finite = true;
        let d = self.problem.dimension();
        let each = self.members.iter().zip(&self.contact);
        for ((&i, &s), x) in each.zip(inside.chunks_exact(d)) {
            for (to, x) in out[d * i..][..d].iter_mut().zip(x) {
                *to = times_power(*x, power(s));
                finite &= to.is_finite();
            }
        }
        finite
    }

    /// Normal impulses of all `contacts` in any unit, the largest of the order of 1, from those of this part.
    pub fn normals(&self, inside: &[f64], contacts: usize) -> Vec<f64> {
        let each = inside.iter().zip(&self.contact);
        let most = each
            .filter(|(p, _)| **p != 0.0)
            .map(|(p, s)| exponent(*p) + s)
            .max();
        let most = most.unwrap_or(0);
        let mut all = vec![0.0; contacts];
        for ((&i, p), s) in self.members.iter().zip(inside).zip(&self.contact) {
            all[i] = times_power(*p, s - most);
        }
        all
    }

    /// Whether the velocities at `inside` can be written in the units of the data.
    pub fn has_velocities(&self, inside: &[f64]) -> bool {
        let d = self.problem.dimension();
        let mut u = vec![0.0; inside.len()];
        self.problem.velocity(inside, &mut u);
        let each = u.chunks_exact(d).zip(&self.contact);
        each.flat_map(|(u, s)| u.iter().map(move |u| times_power(*u, self.unit - s)))
            .all(f64::is_finite)
    }

    /// `|q'|_D` with its power.
    pub fn reference(&self) -> Power {
        Power {
            value: self.measure.reference(),
            power: self.unit,
        }
    }

    /// The point `r` of the data, with `u = W r + q`, in the unit of the larger ones of `r` and `q`.
    fn at(&self, q: &[f64], r: &[f64]) -> At {
        let size = |(v, s): (f64, i32)| (v != 0.0).then(|| exponent(v) + s);
        let data = self.of(q).filter_map(size).max();
        let point = self.of(r).filter_map(|(v, s)| size((v, -s))).max();
        let unit = data.max(point).unwrap_or(0);
        let r: Vec<f64> = self.of(r).map(|(r, s)| times_power(r, -s - unit)).collect();
        let mut u = vec![0.0; r.len()];
        self.problem.product_with(&r, &mut u);
        for (u, (q, s)) in u.iter_mut().zip(self.of(q)) {
            *u += times_power(q, s - unit);
        }
        At {
            q: self.of(q).map(|(q, _)| q).collect(),
            powers: self.contact.clone(),
            r,
            u,
            unit,
        }
    }

    /// The point `inside` of this part with the velocities `u`, both in its units.
    pub fn inside(&self, inside: Vec<f64>, u: Vec<f64>) -> At {
        At {
            q: self.problem.free_velocity().to_vec(),
            powers: vec![self.unit; self.contact.len()],
            r: inside,
            u,
            unit: self.unit,
        }
    }

    /// The residual of the only part.
    pub fn residual(&self, at: At) -> Residual {
        match self.problem.dimension() {
            2 => residual::<2>(&[(self, at)]),
            3 => residual::<3>(&[(self, at)]),
            _ => residual::<5>(&[(self, at)]),
        }
    }
}

/// The scale `d` in units in which it is nearly 1, and their power above `s`.
fn natural(d: f64, s: i32) -> (f64, i32) {
    let own = -(exponent(d) >> 1);
    (times_power(d, 2 * own), own - s)
}

/// The exponent of the largest number; `None` of zeros.
pub(super) fn top(x: &[f64]) -> Option<i32> {
    let each = x.iter().filter(|v| **v != 0.0);
    each.map(|v| exponent(*v)).max()
}

/// A problem in units of its own.
#[derive(Debug)]
pub(crate) struct Units {
    /// All its contacts, those that act on each other together.
    pub parts: Vec<Part>,
}

impl Units {
    /// Contacts that do not act on each other apart. A matrix-free problem is one part.
    pub fn new(problem: &FrictionContact) -> Self {
        let lists = if problem.is_matrix_free() {
            vec![(0..problem.contacts()).collect()]
        } else {
            problem.delassus().components()
        };
        let d = scales(problem);
        let each = lists.into_iter().map(|list| Part::new(problem, list, &d));
        Self {
            parts: each.collect(),
        }
    }

    /// All contacts in one part.
    pub fn whole(problem: &FrictionContact) -> Part {
        let all = (0..problem.contacts()).collect();
        Part::new(problem, all, &scales(problem))
    }

    /// `u ← W r + q`; infinite where it leaves the range.
    pub fn velocity(&self, q: &[f64], r: &[f64], u: &mut [f64]) {
        for part in &self.parts {
            let at = part.at(q, r);
            part.write(&at.u, u, |s| at.unit - s);
        }
    }

    /// The residual of `r` in the units of the data.
    pub fn residual(&self, q: &[f64], r: &[f64]) -> Residual {
        let each = self.parts.iter().map(|part| (part, part.at(q, r)));
        let points: Vec<(&Part, At)> = each.collect();
        match self.parts.first().map(|part| part.problem.dimension()) {
            Some(2) => residual::<2>(&points),
            Some(3) => residual::<3>(&points),
            Some(_) => residual::<5>(&points),
            None => Residual::default(),
        }
    }
}
