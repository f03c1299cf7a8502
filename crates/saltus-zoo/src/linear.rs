//! Linear systems with constant matrices: balls, oscillators, bars.

use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, Structure, System,
};

/// Offset of the gap, entries of `W` by column, restitution.
pub type LinearContact = (f64, Vec<(usize, f64)>, f64);

/// `M v̇ = F − K q − C v` with contacts `gap = offset + W q ≥ 0`.
///
/// Matrices are lists of `(row, col, value)`.
#[derive(Debug, Clone, Default)]
pub struct Linear {
    /// Number of coordinates.
    pub n: usize,
    /// Entries of `M`.
    pub mass: Vec<(usize, usize, f64)>,
    /// Entries of `K`.
    pub stiffness: Vec<(usize, usize, f64)>,
    /// Entries of `C`.
    pub damping: Vec<(usize, usize, f64)>,
    /// Constant force (n).
    pub load: Vec<f64>,
    /// The contacts.
    pub contacts: Vec<LinearContact>,
}

impl Kinematics for Linear {
    fn dims(&self) -> Dims {
        Dims {
            nq: self.n,
            nv: self.n,
            ng: 0,
        }
    }
}

fn send(entries: &[(usize, usize, f64)], sink: &mut dyn MatrixSink) {
    for &(i, j, value) in entries {
        sink.entry(i, j, value);
    }
}

fn subtract(entries: &[(usize, usize, f64)], x: &[f64], f: &mut [f64]) {
    for &(i, j, value) in entries {
        f[i] -= value * x[j];
    }
}

impl Dynamics for Linear {
    fn structure(&self) -> Structure {
        Structure::LINEAR
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        send(&self.mass, mass);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        self.active_force(at, force);
        subtract(&self.stiffness, at.q, force);
        for (f, load) in force.iter_mut().zip(&self.load) {
            *f += load;
        }
    }

    fn stiffness(&self, _: Point<'_>, stiffness: &mut dyn MatrixSink) {
        send(&self.stiffness, stiffness);
    }

    fn damping(&self, _: Point<'_>, damping: &mut dyn MatrixSink) {
        send(&self.damping, damping);
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        let spring: f64 = self
            .stiffness
            .iter()
            .map(|&(i, j, k)| 0.5 * k * q[i] * q[j])
            .sum();
        spring - self.load.iter().zip(q).map(|(f, q)| f * q).sum::<f64>()
    }

    fn active_force(&self, at: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
        subtract(&self.damping, at.v, active);
    }

    fn is_conservative(&self) -> bool {
        self.damping.is_empty()
    }

    fn force_is_constant(&self) -> bool {
        self.stiffness.is_empty() && self.damping.is_empty()
    }
}

impl Constraints for Linear {}

impl Contacts for Linear {
    fn contact_count(&self) -> usize {
        self.contacts.len()
    }

    fn detect(&self, t: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        for (i, (_, row, e)) in self.contacts.iter().enumerate() {
            set.push(ContactId(i as u64), ContactLaw::frictionless(*e), 0.0);
            let (cols, values): (Vec<usize>, Vec<f64>) = row.iter().copied().unzip();
            set.directions.push(&cols, &values);
            set.rate.push(0.0);
        }
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
        for (gap, (offset, row, _)) in set.gap.iter_mut().zip(&self.contacts) {
            *gap = offset + row.iter().map(|&(j, w)| w * q[j]).sum::<f64>();
        }
    }

    fn gaps_are_affine(&self) -> bool {
        true
    }
}

impl System for Linear {}

/// A mass under a constant force over a floor at height 0.
#[must_use]
pub fn ball_over_floor(mass: f64, force: f64, restitution: f64) -> Linear {
    Linear {
        n: 1,
        mass: vec![(0, 0, mass)],
        load: vec![force],
        contacts: vec![(0.0, vec![(0, 1.0)], restitution)],
        ..Linear::default()
    }
}

/// A mass on a spring over a floor at height `floor`.
#[must_use]
pub fn oscillator(mass: f64, stiffness: f64, floor: f64, restitution: f64) -> Linear {
    Linear {
        n: 1,
        mass: vec![(0, 0, mass)],
        stiffness: vec![(0, 0, stiffness)],
        load: vec![0.0],
        contacts: vec![(-floor, vec![(0, 1.0)], restitution)],
        ..Linear::default()
    }
}

/// A mass over a floor at height 0 on a spring whose relaxed position is `centre`.
#[must_use]
pub fn spring_over_floor(mass: f64, stiffness: f64, centre: f64, restitution: f64) -> Linear {
    Linear {
        load: vec![stiffness * centre],
        ..oscillator(mass, stiffness, 0.0, restitution)
    }
}

/// Balls in a row, each touching the next at the displacements 0 (Newton's cradle).
#[must_use]
pub fn newtons_cradle(masses: &[f64], restitution: f64) -> Linear {
    let n = masses.len();
    Linear {
        n,
        mass: masses.iter().enumerate().map(|(i, m)| (i, i, *m)).collect(),
        load: vec![0.0; n],
        contacts: (1..n)
            .map(|i| (0.0, vec![(i - 1, -1.0), (i, 1.0)], restitution))
            .collect(),
        ..Linear::default()
    }
}

/// A unit point mass in the plane between walls through the origin with the given inward `normals`.
#[must_use]
pub fn corner(normals: &[[f64; 2]], restitution: f64) -> Linear {
    Linear {
        n: 2,
        mass: vec![(0, 0, 1.0), (1, 1, 1.0)],
        load: vec![0.0; 2],
        contacts: normals
            .iter()
            .map(|n| (0.0, vec![(0, n[0]), (1, n[1])], restitution))
            .collect(),
        ..Linear::default()
    }
}

/// Two masses on a vertical line joined by a spring of relaxed length `length`, in gravity; the lower
/// one is a ball of the given `radius` over a floor at height 0.
#[must_use]
pub fn two_masses(
    mass: f64,
    stiffness: f64,
    length: f64,
    radius: f64,
    gravity: f64,
    restitution: f64,
) -> Linear {
    let k = stiffness;
    Linear {
        n: 2,
        mass: vec![(0, 0, mass), (1, 1, mass)],
        stiffness: vec![(0, 0, k), (0, 1, -k), (1, 0, -k), (1, 1, k)],
        load: vec![-mass * gravity - k * length, -mass * gravity + k * length],
        contacts: vec![(-radius, vec![(0, 1.0)], restitution)],
        ..Linear::default()
    }
}

/// An elastic bar of `nodes` nodes, length `l` per element, that hits a wall with its first node.
#[must_use]
pub fn bar(
    nodes: usize,
    l: f64,
    section: f64,
    young: f64,
    density: f64,
    restitution: f64,
) -> Linear {
    let (m, k) = (density * section * l, young * section / l);
    let mut system = Linear {
        n: nodes,
        load: vec![0.0; nodes],
        contacts: vec![(0.0, vec![(0, 1.0)], restitution)],
        ..Linear::default()
    };
    for e in 0..nodes - 1 {
        for (i, j, mass, stiffness) in [
            (0, 0, 1.0 / 3.0, 1.0),
            (0, 1, 1.0 / 6.0, -1.0),
            (1, 0, 1.0 / 6.0, -1.0),
            (1, 1, 1.0 / 3.0, 1.0),
        ] {
            system.mass.push((e + i, e + j, mass * m));
            system.stiffness.push((e + i, e + j, stiffness * k));
        }
    }
    system
}

/// One mass under a constant force over a floor, with nothing but what the contract asks for.
pub mod ball {
    use super::*;

    /// A ball of mass `mass` \[kg\] under the constant force `force` \[N\] over a floor at height 0.
    #[derive(Debug, Clone, Copy)]
    pub struct Ball {
        /// Mass \[kg\].
        pub mass: f64,
        /// Force, upwards positive \[N\].
        pub force: f64,
        /// Restitution of the floor.
        pub restitution: f64,
    }

    impl Kinematics for Ball {
        fn dims(&self) -> Dims {
            Dims {
                nq: 1,
                nv: 1,
                ng: 0,
            }
        }
    }

    impl Dynamics for Ball {
        fn structure(&self) -> Structure {
            Structure::LINEAR
        }
        fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
            mass.entry(0, 0, self.mass);
        }
        fn force(&self, _: Point<'_>, force: &mut [f64]) {
            force[0] = self.force;
        }
        fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
            -self.force * q[0]
        }
        fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
            active[0] = 0.0;
        }
        fn is_conservative(&self) -> bool {
            true
        }
        fn force_is_constant(&self) -> bool {
            true
        }
    }

    impl Constraints for Ball {}

    impl Contacts for Ball {
        fn contact_count(&self) -> usize {
            1
        }
        fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
            set.clear();
            set.push(
                ContactId(0),
                ContactLaw::frictionless(self.restitution),
                q[0],
            );
            set.directions.push(&[0], &[1.0]);
            set.rate.push(0.0);
        }
        fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
            set.gap[0] = q[0];
        }
        fn gaps_are_affine(&self) -> bool {
            true
        }
    }

    impl System for Ball {}
}
