//! Contacts of nodes with obstacles, and the constraints that guide nodes: rows of few entries.

use super::assembly::Assembly;
use super::builder::{AssemblyError, Motion, NodeId, Tie};
use super::element::NodeKind;
use super::group::View;
use super::places::{HELD, Places};
use super::surfaces::{Touching, send_square};
use crate::gap;
use crate::signal::Signal;
use saltus_linear::MatrixSink;
use saltus_system::{Constraints, ContactId, ContactLaw, ContactSet, Contacts, Point, Reach};

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

/// Up to this many nodes over surfaces are contacts with names.
const NAMED: usize = 100;

/// What a contact of the set belongs to.
enum Owner<'a> {
    Pair(&'a ContactPair),
    /// A surface and which of its nodes.
    Touching(&'a Touching, usize),
}

impl Assembly {
    /// Nodes over surfaces.
    fn touching_nodes(&self) -> usize {
        self.touching.iter().map(Touching::len).sum()
    }

    /// Names of the contacts whose identity is known: all, without those with surfaces where they are many.
    pub(super) fn contact_names(&self) -> Vec<String> {
        let pairs = self.contacts.iter().map(|c| c.name.clone());
        let of_surface = |t: &Touching| {
            let name = t.name.clone();
            (0..t.len()).map(move |k| format!("{name}.{k}"))
        };
        let surfaces = self.touching.iter().flat_map(of_surface);
        pairs.chain(surfaces).take(self.contact_count()).collect()
    }

    fn owner(&self, id: ContactId) -> Option<Owner<'_>> {
        let mut k = usize::try_from(id.0).ok()?;
        if let Some(pair) = self.contacts.get(k) {
            return Some(Owner::Pair(pair));
        }
        k -= self.contacts.len();
        for touching in &self.touching {
            if k < touching.len() {
                return Some(Owner::Touching(touching, k));
            }
            k -= touching.len();
        }
        None
    }

    /// The node of a contact.
    #[must_use]
    pub fn contact_node(&self, id: ContactId) -> Option<NodeId> {
        Some(match self.owner(id)? {
            Owner::Pair(pair) => pair.geometry.node(),
            Owner::Touching(touching, k) => touching.node(k),
        })
    }

    /// Runs `visit` over the contacts of `set` with surfaces: number in the set, surface, node of it.
    fn over_surfaces(&self, set: &ContactSet, mut visit: impl FnMut(usize, &Touching, usize)) {
        if self.touching.is_empty() {
            return;
        }
        for (i, id) in set.id.iter().enumerate() {
            if let Some(Owner::Touching(touching, k)) = self.owner(*id) {
                visit(i, touching, k);
            }
        }
    }
}

impl Contacts for Assembly {
    fn contact_count(&self) -> usize {
        let of_surfaces = self.touching_nodes();
        self.contacts.len() + if of_surfaces <= NAMED { of_surfaces } else { 0 }
    }

    fn contacts_are_fixed(&self) -> bool {
        self.touching.is_empty()
    }

    fn detect(&self, t: f64, q: &[f64], reach: Reach<'_>, set: &mut ContactSet) {
        set.clear();
        let view = self.view(q, &[]);
        for (i, pair) in self.contacts.iter().enumerate() {
            set.push(
                ContactId(i as u64),
                pair.law,
                pair.gap(t, &self.places, view),
            );
            let mut rate = -pair.offset().rate(t);
            pair.rows(&self.places, |cols, values| {
                set.directions.push(cols, values);
                set.rate.push(rate);
                rate = 0.0;
            });
        }
        let mut first = self.contacts.len() as u64;
        for touching in &self.touching {
            touching.detect(first, reach.margin(), &self.places, view, set);
            first += touching.len() as u64;
        }
    }

    fn evaluate_contacts(&self, t: f64, q: &[f64], set: &mut ContactSet) {
        let view = self.view(q, &[]);
        if self.touching.is_empty() {
            for (i, pair) in self.contacts.iter().enumerate() {
                set.gap[i] = pair.gap(t, &self.places, view);
                set.rate[set.first_row[i]] = -pair.offset().rate(t);
            }
            return;
        }
        set.directions.clear();
        for i in 0..set.len() {
            match self.owner(set.id[i]) {
                Some(Owner::Pair(pair)) => {
                    set.gap[i] = pair.gap(t, &self.places, view);
                    set.rate[set.first_row[i]] = -pair.offset().rate(t);
                    pair.rows(&self.places, |cols, values| {
                        set.directions.push(cols, values)
                    });
                }
                Some(Owner::Touching(touching, k)) => {
                    touching.evaluate(k, i, &self.places, view, set);
                }
                // A contact of another system.
                None => set.directions.push(&[], &[]),
            }
        }
    }

    fn contact_bias(&self, at: Point<'_>, set: &ContactSet, bias: &mut [f64]) {
        bias.fill(0.0);
        for (id, &row) in set.id.iter().zip(&set.first_row) {
            if let Some(Owner::Pair(pair)) = self.owner(*id) {
                bias[row] = -pair.offset().acceleration(at.t);
            }
        }
        let view = self.view(at.q, at.v);
        self.over_surfaces(set, |i, touching, k| {
            let sum = &mut bias[set.first_row[i]];
            touching.second(
                k,
                set.feature[i],
                1.0,
                &self.places,
                view,
                |cols, matrix| {
                    for (&row, entries) in cols.iter().zip(matrix.chunks_exact(cols.len())) {
                        let v = view.velocity(row);
                        let along = cols.iter().zip(entries).map(|(&c, h)| h * view.velocity(c));
                        *sum += v * along.sum::<f64>();
                    }
                },
            );
        });
    }

    fn contact_curvature(
        &self,
        _: f64,
        q: &[f64],
        set: &ContactSet,
        r: &[f64],
        curvature: &mut dyn MatrixSink,
    ) {
        let view = self.view(q, &[]);
        self.over_surfaces(set, |i, touching, k| {
            let force = r[set.first_row[i]];
            if force != 0.0 {
                let send = |cols: &[u32], matrix: &[f64]| send_square(cols, matrix, curvature);
                touching.second(k, set.feature[i], force, &self.places, view, send);
            }
        });
    }

    fn contact_direction_gradient(
        &self,
        _: f64,
        q: &[f64],
        set: &ContactSet,
        x: &[f64],
        gradient: &mut dyn MatrixSink,
    ) {
        self.second_along(q, set, x, 1.0, gradient);
    }

    fn contact_bias_gradient(
        &self,
        at: Point<'_>,
        set: &ContactSet,
        gradient: &mut dyn MatrixSink,
    ) {
        let view = self.view(at.q, at.v);
        self.over_surfaces(set, |i, touching, k| {
            let row = set.first_row[i];
            touching.third(k, set.feature[i], &self.places, view, |cols, values| {
                for (&col, &value) in cols.iter().zip(values) {
                    if col != HELD && value != 0.0 {
                        gradient.entry(row, col as usize, value);
                    }
                }
            });
        });
    }

    fn contact_bias_damping(&self, at: Point<'_>, set: &ContactSet, gradient: &mut dyn MatrixSink) {
        self.second_along(at.q, set, at.v, 2.0, gradient);
    }
}

impl Assembly {
    /// Rows `factor · xᵀ ∂²g` of the contacts with surfaces.
    fn second_along(
        &self,
        q: &[f64],
        set: &ContactSet,
        x: &[f64],
        factor: f64,
        gradient: &mut dyn MatrixSink,
    ) {
        let view = self.view(q, x);
        self.over_surfaces(set, |i, touching, k| {
            let at = set.first_row[i];
            touching.second(
                k,
                set.feature[i],
                factor,
                &self.places,
                view,
                |cols, matrix| {
                    for (&row, entries) in cols.iter().zip(matrix.chunks_exact(cols.len())) {
                        if row == HELD {
                            continue;
                        }
                        let along = cols.iter().zip(entries).map(|(&c, h)| h * view.velocity(c));
                        let sum: f64 = along.sum();
                        if sum != 0.0 {
                            gradient.entry(at, row as usize, sum);
                        }
                    }
                },
            );
        });
    }
}
