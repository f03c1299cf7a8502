//! Contacts of nodes with obstacles, and the constraints that guide nodes: rows of few entries.

use super::assembly::Assembly;
use super::builder::{AssemblyError, Motion, NodeId, Tie};
use super::element::NodeKind;
use super::group::View;
use super::places::{HELD, Places};
use crate::gap;
use crate::signal::Signal;
use saltus_linear::MatrixSink;
use saltus_system::{Constraints, ContactId, ContactLaw, ContactSet, Contacts, Point};

/// What a contact is between.
#[derive(Debug)]
pub enum Geometry {
    /// A node over a half space: `gap = n·x − offset(t) − radius`.
    Plane {
        /// The node.
        node: NodeId,
        /// Unit normal, towards the node; components beyond the dimension of the node are unused.
        normal: [f64; 3],
        /// Distance of the surface from the origin along the normal \[m\], over time.
        offset: Box<dyn Signal>,
        /// Distance of the surface of the body from the node \[m\].
        radius: f64,
    },
}

impl Geometry {
    pub(super) fn check(&self, name: &str, kinds: &[NodeKind]) -> Result<(), AssemblyError> {
        let Self::Plane { node, normal, .. } = self;
        let dimension = kinds[node.index()].dimension();
        let length = saltus_linear::dot(&normal[..dimension], &normal[..dimension]).sqrt();
        if (length - 1.0).abs() > 1e-9 {
            return Err(AssemblyError::Value {
                what: format!("the length of the normal of contact \"{name}\""),
                value: length,
                expected: "1: the normal is a unit vector in the space of the node",
            });
        }
        Ok(())
    }

    fn node(&self) -> NodeId {
        let Self::Plane { node, .. } = self;
        *node
    }
}

/// A contact with its name and law.
#[derive(Debug)]
pub(super) struct ContactPair {
    pub name: String,
    pub geometry: Geometry,
    pub law: ContactLaw,
}

impl ContactPair {
    /// The gap \[m\] at time `t`.
    fn gap(&self, t: f64, places: &Places, view: View<'_>) -> f64 {
        let Geometry::Plane {
            node,
            normal,
            offset,
            radius,
        } = &self.geometry;
        let places = places.positions(node.index());
        let along: f64 = normal
            .iter()
            .zip(places)
            .take(3)
            .map(|(n, &place)| {
                if *n == 0.0 {
                    0.0
                } else {
                    n * view.position(place)
                }
            })
            .sum();
        along - offset.value(t) - radius
    }

    fn offset(&self) -> &dyn Signal {
        let Geometry::Plane { offset, .. } = &self.geometry;
        offset.as_ref()
    }

    /// Sends the rows of the contact: the normal, then the tangents.
    fn rows(&self, places: &Places, mut row: impl FnMut(&[usize], &[f64])) {
        let Geometry::Plane { node, normal, .. } = &self.geometry;
        let n = node.index();
        let dimension = places.kinds[n].dimension();
        let at = &places.velocities(n)[..dimension];
        let mut send = |direction: &[f64; 3]| {
            let (mut cols, mut values, mut count) = ([0; 3], [0.0; 3], 0);
            for (&place, &value) in at.iter().zip(direction) {
                if place != HELD && value != 0.0 {
                    cols[count] = place as usize;
                    values[count] = value;
                    count += 1;
                }
            }
            row(&cols[..count], &values[..count]);
        };
        send(normal);
        let tangents = usize::from(self.law.tangents);
        match dimension {
            2 => {
                for [x, y] in gap::frame(&[normal[0], normal[1]], &[0.0; 2])
                    .iter()
                    .take(tangents)
                {
                    send(&[*x, *y, 0.0]);
                }
            }
            3 => gap::frame(normal, &[0.0; 3])
                .iter()
                .take(tangents)
                .for_each(send),
            _ => {}
        }
    }
}

impl Assembly {
    fn motion_row(&self, motion: &Motion) -> Option<usize> {
        self.places.free(motion.node.index(), motion.component)
    }

    fn tie_value(&self, tie: &Tie, view: View<'_>) -> f64 {
        let [a, b] = tie
            .nodes
            .map(|n| view.position(self.places.positions(n.index())[tie.component]));
        b - a - tie.offset
    }
}

impl Constraints for Assembly {
    fn g(&self, t: f64, q: &[f64], g: &mut [f64]) {
        let view = self.view(q, &[]);
        let (motions, ties) = g.split_at_mut(self.motions.len());
        for (g, motion) in motions.iter_mut().zip(&self.motions) {
            let place = self.places.positions(motion.node.index())[motion.component];
            *g = view.position(place) - motion.position.value(t);
        }
        for (g, tie) in ties.iter_mut().zip(&self.ties) {
            *g = self.tie_value(tie, view);
        }
    }

    fn g_jacobian(&self, _: f64, _: &[f64], jacobian: &mut dyn MatrixSink) {
        for (row, motion) in self.motions.iter().enumerate() {
            if let Some(col) = self.motion_row(motion) {
                jacobian.entry(row, col, 1.0);
            }
        }
        for (k, tie) in self.ties.iter().enumerate() {
            let row = self.motions.len() + k;
            for (node, value) in tie.nodes.iter().zip([-1.0, 1.0]) {
                if let Some(col) = self.places.free(node.index(), tie.component) {
                    jacobian.entry(row, col, value);
                }
            }
        }
    }

    fn g_rate(&self, t: f64, _: &[f64], rate: &mut [f64]) {
        rate.fill(0.0);
        for (rate, motion) in rate.iter_mut().zip(&self.motions) {
            *rate = -motion.position.rate(t);
        }
    }

    fn g_bias(&self, at: Point<'_>, bias: &mut [f64]) {
        bias.fill(0.0);
        for (bias, motion) in bias.iter_mut().zip(&self.motions) {
            *bias = -motion.position.acceleration(at.t);
        }
    }
}

impl Contacts for Assembly {
    fn contact_count(&self) -> usize {
        self.contacts.len()
    }

    fn detect(&self, t: f64, q: &[f64], _: f64, set: &mut ContactSet) {
        set.clear();
        for (i, pair) in self.contacts.iter().enumerate() {
            set.push(ContactId(i as u64), pair.law, 0.0);
            pair.rows(&self.places, |cols, values| {
                set.directions.push(cols, values);
                set.rate.push(0.0);
            });
        }
        self.evaluate_contacts(t, q, set);
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let view = self.view(q, &[]);
        for (i, pair) in self.contacts.iter().enumerate() {
            set.gap[i] = pair.gap(t, &self.places, view);
            set.rate[set.first_row[i]] = -pair.offset().rate(t);
        }
    }

    fn contact_bias(&self, at: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        bias.fill(0.0);
        for (pair, &row) in self.contacts.iter().zip(&set.first_row) {
            bias[row] = -pair.offset().acceleration(at.t);
        }
    }
}

impl Assembly {
    /// The node of contact `i`.
    #[must_use]
    pub fn contact_node(&self, i: usize) -> NodeId {
        self.contacts[i].geometry.node()
    }
}
