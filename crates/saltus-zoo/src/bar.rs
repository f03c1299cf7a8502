//! An elastic bar with a force of one pass over its elements.

use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, Kinematics,
    MatrixSink, Point, Reach, StreamedDynamics, Structure, System, Window,
};
use std::ops::Range;

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
        let at = Window {
            t: at.t,
            first: 0,
            q: at.q,
            v: at.v,
        };
        self.force_rows(at, 0..self.nodes, force);
    }

    fn stiffness(&self, _: Point<'_>, stiffness: &mut dyn MatrixSink) {
        self.send(self.stiffness, -self.stiffness, stiffness);
    }

    fn potential_energy(&self, t: f64, q: &[f64]) -> f64 {
        let at = Window {
            t,
            first: 0,
            q,
            v: &[],
        };
        self.potential_rows(at, 0..self.nodes)
    }

    fn streamed(&self) -> Option<&dyn StreamedDynamics> {
        Some(self)
    }

    fn active_force(&self, _: Point<'_>, active: &mut [f64]) {
        active.fill(0.0);
    }

    fn is_conservative(&self) -> bool {
        true
    }
}

impl StreamedDynamics for ElasticBar {
    fn reach(&self) -> usize {
        1
    }

    fn force_rows(&self, at: Window<'_>, rows: Range<usize>, force: &mut [f64]) {
        let (k, q, n) = (self.stiffness, at.q, self.nodes);
        let (mut first, mut last) = (rows.start, rows.end);
        if first == 0 {
            force[0] = k * (q[1] - q[0]);
            first = 1;
        }
        if last == n {
            last = n - 1;
            force[last - rows.start] = k * (q[last - 1 - at.first] - q[last - at.first]);
        }
        if first >= last {
            return;
        }
        let inner = &mut force[first - rows.start..last - rows.start];
        let begin = first - at.first;
        let count = inner.len();
        let (before, here, after) = (
            &q[begin - 1..][..count],
            &q[begin..][..count],
            &q[begin + 1..][..count],
        );
        for i in 0..count {
            inner[i] = k * ((after[i] - here[i]) - (here[i] - before[i]));
        }
    }

    /// A row has the element before it.
    fn potential_rows(&self, at: Window<'_>, rows: Range<usize>) -> f64 {
        let first = rows.start.max(1);
        if first >= rows.end {
            return 0.0;
        }
        let q = &at.q[first - 1 - at.first..rows.end - at.first];
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
}

impl Constraints for ElasticBar {}

impl Contacts for ElasticBar {
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
}

impl System for ElasticBar {}
