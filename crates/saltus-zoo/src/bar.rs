//! An elastic bar with a force of one pass over its elements.

use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Structure, System,
};

/// Partial sums kept going at the same time.
const LANES: usize = 8;

/// A bar of equal linear elements with consistent mass that hits a wall at 0 with its first node.
///
/// Coordinates are the distances of the nodes from the wall at which the bar is without stress, so that a bar at rest
/// has equal coordinates; the gap is the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ElasticBar {
    /// Number of nodes, at least 2.
    pub nodes: usize,
    /// Mass of an element \[kg\].
    pub mass: f64,
    /// Stiffness of an element `E A / l` [N/m].
    pub stiffness: f64,
    /// Restitution of the wall.
    pub restitution: f64,
}

impl ElasticBar {
    /// The bar of Brüls et al. (length 10 m, `E` = 900 Pa, unit density and section) with `elements` elements.
    #[must_use]
    pub fn of_elements(elements: usize) -> Self {
        let l = 10.0 / elements as f64;
        Self {
            nodes: elements + 1,
            mass: l,
            stiffness: 900.0 / l,
            restitution: 0.0,
        }
    }

    fn send(&self, diagonal: f64, side: f64, sink: &mut dyn MatrixSink) {
        let block = [diagonal, side, side, diagonal];
        for e in 0..self.nodes - 1 {
            sink.add(e, e, 2, 2, &block);
        }
    }
}

impl Kinematics for ElasticBar {
    fn dims(&self) -> Dims {
        Dims {
            nq: self.nodes,
            nv: self.nodes,
            ng: 0,
        }
    }
}

impl Dynamics for ElasticBar {
    fn structure(&self) -> Structure {
        Structure::LINEAR
    }

    fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
        self.send(self.mass / 3.0, self.mass / 6.0, mass);
    }

    fn force(&self, at: Point<'_>, force: &mut [f64]) {
        let (k, q, n) = (self.stiffness, at.q, self.nodes);
        force[0] = k * (q[1] - q[0]);
        force[n - 1] = k * (q[n - 2] - q[n - 1]);
        let inner = (q.iter().zip(&q[1..]).zip(&q[2..])).zip(&mut force[1..n - 1]);
        for (((before, here), after), f) in inner {
            *f = k * ((after - here) - (here - before));
        }
    }

    fn stiffness(&self, _: Point<'_>, stiffness: &mut dyn MatrixSink) {
        self.send(self.stiffness, -self.stiffness, stiffness);
    }

    fn potential_energy(&self, _: f64, q: &[f64]) -> f64 {
        let (left, left_end) = q[..q.len() - 1].as_chunks::<LANES>();
        let (right, right_end) = q[1..].as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (a, b) in left.iter().zip(right) {
            for k in 0..LANES {
                sums[k] += (b[k] - a[k]) * (b[k] - a[k]);
            }
        }
        let rest: f64 = (left_end.iter().zip(right_end))
            .map(|(a, b)| (b - a) * (b - a))
            .sum();
        0.5 * self.stiffness * (sums.iter().sum::<f64>() + rest)
    }

    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }

    fn is_conservative(&self) -> bool {
        true
    }
}

impl Constraints for ElasticBar {}

impl Contacts for ElasticBar {
    fn contact_count(&self) -> usize {
        1
    }

    fn detect(&self, _: f64, q: &[f64], _: f64, set: &mut ContactSet) {
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
}

impl System for ElasticBar {}
