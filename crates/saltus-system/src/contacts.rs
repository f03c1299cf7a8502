//! Where bodies may touch: gaps, contact directions and laws.

use crate::kinematics::Kinematics;
use crate::state::Point;
use saltus_linear::{MatrixSink, SparseRows};

/// Names a contact for the whole of a run: impulses are warm-started and events are logged by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContactId(pub u64);

/// The law of a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactLaw {
    /// Normal restitution, in [0, 1] (Newton).
    pub e_n: f64,
    /// Tangential restitution, in [0, 1].
    pub e_t: f64,
    /// Coulomb's coefficient while the contact slips, ≥ 0.
    pub mu: f64,
    /// Coulomb's coefficient while it sticks, ≥ `mu`.
    pub mu_static: f64,
    /// Number of tangential directions: 0 (frictionless), 1 (planar) or 2 (spatial).
    pub tangents: u8,
}

/// How far to look for contacts.
#[derive(Debug, Clone, Copy)]
pub enum Reach<'a> {
    /// Every pair, however far apart.
    All,
    /// Every pair whose gap is below this distance \[m\].
    Within(f64),
    /// Every pair whose gap may close within `h` \[s\] at speeds up to `|v| + |dv|`, body by body.
    Swept {
        /// Time to come \[s\].
        h: f64,
        /// Velocities (nv).
        v: &'a [f64],
        /// By how much they may still change (nv).
        dv: &'a [f64],
    },
}

impl Reach<'_> {
    /// A distance \[m\] that no point of a system in flat coordinates can exceed: twice `h (‖v‖ + ‖dv‖)`.
    ///
    /// For systems that cannot tell the speeds of their bodies apart.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let size = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        match self {
            Self::All => f64::INFINITY,
            Self::Within(distance) => *distance,
            Self::Swept { h, v, dv } => 2.0 * h * (size(v) + size(dv)),
        }
    }
}

impl ContactLaw {
    /// Newton's law without friction.
    #[must_use]
    pub fn frictionless(restitution: f64) -> Self {
        Self {
            e_n: restitution,
            e_t: 0.0,
            mu: 0.0,
            mu_static: 0.0,
            tangents: 0,
        }
    }

    /// Coulomb's law with Newton's: one coefficient for stick and slip, no tangential restitution.
    #[must_use]
    pub fn coulomb(restitution: f64, mu: f64, tangents: u8) -> Self {
        Self {
            e_n: restitution,
            e_t: 0.0,
            mu,
            mu_static: mu,
            tangents,
        }
    }
}

/// The contacts closer than a margin, as a structure of arrays.
///
/// Contact `i` owns the rows `first_row[i]..first_row[i] + 1 + tangents` of `directions`: the normal
/// first, then the tangents. It grows and never gives capacity back.
#[derive(Debug, Default)]
pub struct ContactSet {
    /// Identity of each contact, in increasing order.
    pub id: Vec<ContactId>,
    /// Law of each contact.
    pub law: Vec<ContactLaw>,
    /// Signed distance \[m\], negative when penetrating.
    pub gap: Vec<f64>,
    /// First row of each contact in `directions` and `rate`.
    pub first_row: Vec<usize>,
    /// Where on its obstacle each contact is, for systems that search it in `detect`; 0 elsewhere.
    pub feature: Vec<u32>,
    /// `Wᵀ`: one row (nv) per direction.
    pub directions: SparseRows,
    /// `∂gap/∂t` and tangential counterparts, one per row: `u = Wᵀ v + rate`.
    pub rate: Vec<f64>,
}

impl Clone for ContactSet {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the storage of `self`: allocates only beyond the largest set seen.
    fn clone_from(&mut self, source: &Self) {
        self.id.clone_from(&source.id);
        self.law.clone_from(&source.law);
        self.gap.clone_from(&source.gap);
        self.first_row.clone_from(&source.first_row);
        self.feature.clone_from(&source.feature);
        self.directions.clone_from(&source.directions);
        self.rate.clone_from(&source.rate);
    }
}

impl ContactSet {
    /// Number of contacts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether nothing is near anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Removes all contacts, keeping the capacity.
    pub fn clear(&mut self) {
        self.id.clear();
        self.law.clear();
        self.gap.clear();
        self.first_row.clear();
        self.feature.clear();
        self.directions.clear();
        self.rate.clear();
    }

    /// Appends a contact; its rows (normal first) are pushed to `directions` and `rate` by the caller.
    pub fn push(&mut self, id: ContactId, law: ContactLaw, gap: f64) {
        self.id.push(id);
        self.law.push(law);
        self.gap.push(gap);
        self.first_row.push(self.directions.len());
        self.feature.push(0);
    }

    /// Normal relative velocity `u_N = W_Nᵀ v + ∂gap/∂t` [m/s] of contact `i`.
    #[inline]
    #[must_use]
    pub fn normal_velocity(&self, i: usize, v: &[f64]) -> f64 {
        let row = self.first_row[i];
        self.directions.dot(row, v) + self.rate[row]
    }
}

/// Where bodies may touch; the defaults are those of a system without contacts.
pub trait Contacts: Kinematics {
    /// Number of contacts whose identity is known before the run (ids `0..count`); they are recorded by name.
    fn contact_count(&self) -> usize {
        0
    }

    /// Whether the contacts are always the same ones, so that [`detect`](Self::detect) is needed once.
    fn contacts_are_fixed(&self) -> bool {
        true
    }

    /// Fills `set` with every contact within `reach` at `(t, q)`, evaluated there.
    ///
    /// Contacts of fixed identity may be in the set whatever their gap.
    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        let _ = (t, q, reach);
        set.clear();
    }

    /// Whether every gap is `c + wᵀ q + ρ t`, with `c`, `w`, `ρ` and the rows of the tangents the same at all times and positions.
    fn gaps_are_affine(&self) -> bool {
        false
    }

    /// Whether the numbers of the laws depend on the state, so that [`contact_laws`](Self::contact_laws) must be asked.
    fn laws_vary(&self) -> bool {
        false
    }

    /// Refreshes the numbers of the laws of the *same* contacts (restitution, friction) at another `(t, q, v)`.
    ///
    /// The number of tangential directions stays.
    fn contact_laws(&self, at: Point<'_>, set: &mut ContactSet) {
        let _ = (at, set);
    }

    /// Refreshes gap, directions and rate of the *same* contacts at another `(t, q)`.
    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let _ = (t, q, set);
    }

    /// `ζ` (rows) with `u̇ = Wᵀ v̇ + ζ`, overwritten.
    fn contact_bias(&self, at: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        let _ = (at, set);
        bias.fill(0.0);
    }

    /// `D(W r)` (nv × nv) for given impulses or forces (rows).
    fn contact_curvature(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let _ = (t, q, set, r, curvature);
    }

    /// `D(Wᵀ x)` (rows × nv) for a given `x` (nv).
    fn contact_direction_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        let _ = (t, q, set, x, gradient);
    }

    /// `D(rate)` (rows × nv).
    fn contact_rate_gradient(
        &self,
        t: f64,
        q: &[f64],
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        let _ = (t, q, set, gradient);
    }

    /// `D(ζ)` (rows × nv).
    fn contact_bias_gradient(
        &self,
        at: Point<'_>,
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        let _ = (at, set, gradient);
    }

    /// `∂ζ/∂v` (rows × nv).
    fn contact_bias_damping(&self, at: Point<'_>, set: &ContactSet, gradient: &mut dyn MatrixSink) {
        let _ = (at, set, gradient);
    }
}
