//! One point of the state space, owned and borrowed, and what its parts are called.

use crate::contacts::ContactId;
use crate::kinematics::Dims;

/// A borrowed point of the state space.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Time \[s\].
    pub t: f64,
    /// Positions (nq).
    pub q: &'a [f64],
    /// Velocities (nv).
    pub v: &'a [f64],
}

/// An owned point of the state space.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// Time \[s\].
    pub t: f64,
    /// Positions (nq).
    pub q: Vec<f64>,
    /// Velocities (nv).
    pub v: Vec<f64>,
}

impl State {
    /// A state at time `t` \[s\] with positions `q` (nq) and velocities `v` (nv).
    #[must_use]
    pub fn new(t: f64, q: Vec<f64>, v: Vec<f64>) -> Self {
        Self { t, q, v }
    }

    /// The same point, borrowed.
    #[must_use]
    pub fn point(&self) -> Point<'_> {
        Point {
            t: self.t,
            q: &self.q,
            v: &self.v,
        }
    }
}

/// Names used in results, in messages and in `--set` paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// One per position (nq).
    pub positions: Vec<String>,
    /// One per velocity (nv).
    pub velocities: Vec<String>,
    /// One per bilateral constraint (ng).
    pub bilateral: Vec<String>,
    /// One per contact of fixed identity, in the order of their [`ContactId`](crate::ContactId)s.
    pub contacts: Vec<String>,
    /// One per element of friction in joints.
    pub friction: Vec<String>,
}

impl Names {
    /// `0`, `1`, … for positions and velocities, `bilateral0` …, `contact0` ….
    #[must_use]
    pub fn numbered(dims: Dims, contacts: usize) -> Self {
        let list = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect();
        Self {
            positions: list("", dims.nq),
            velocities: list("", dims.nv),
            bilateral: list("bilateral", dims.ng),
            contacts: list("contact", contacts),
            friction: Vec::new(),
        }
    }

    /// What element `k` of the friction in joints is called; one without a name of its own is called by its number.
    #[must_use]
    pub fn friction_element(&self, k: usize) -> String {
        let known = self.friction.get(k);
        known.map_or_else(|| format!("friction{k}"), Clone::clone)
    }

    /// What the contact `id` is called; one without a name of its own is called by its number.
    #[must_use]
    pub fn contact(&self, id: ContactId) -> String {
        let known = usize::try_from(id.0)
            .ok()
            .and_then(|i| self.contacts.get(i));
        known.map_or_else(|| format!("contact{}", id.0), Clone::clone)
    }
}
