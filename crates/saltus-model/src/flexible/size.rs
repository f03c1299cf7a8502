//! How large the parts of a document become, told before anything is built.

use super::MOST_ELEMENTS;
use crate::build::{formula, path};
use crate::definition::Scope;
use saltus_document::document::parts::Point;
use saltus_document::document::solids::{Cells, Cuboid};
use saltus_document::document::{Document, Quantity};
use saltus_document::tree::Path;

/// Counts of what is generated from a document; meshes in files are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Elements of bars, beams and boxes.
    pub elements: u64,
    /// Their velocities, held ones included.
    pub unknowns: u64,
}

impl Size {
    /// The size of what `document` asks for. What is wrong there counts nothing.
    pub(super) fn of(document: &Document, scope: &Scope) -> Self {
        let mut size = Self::default();
        let at = Path::default();
        let value = |quantity: &Quantity| whole(scope, quantity, &at);
        for bar in &document.bar {
            let dimension = [&bar.from, &bar.to].into_iter().find_map(coordinates);
            size.add(value(&bar.elements), 1, dimension.unwrap_or(2));
        }
        for beam in &document.beam {
            let dimension = [&beam.from, &beam.to].into_iter().find_map(coordinates);
            let velocities = if dimension == Some(3) { 6 } else { 3 };
            size.add(value(&beam.elements), 1, velocities);
        }
        for (k, solid) in document.solid.iter().enumerate() {
            if let Some(cuboid) = &solid.cuboid {
                let at = path(["solid"]).index(k);
                size.add_box(cuboid, |quantity| whole(scope, quantity, &at));
            }
        }
        size
    }

    /// `count` elements in a row with one more node.
    fn add(&mut self, count: Option<u64>, nodes: u64, velocities: u64) {
        if let Some(count) = count {
            self.elements += count;
            self.unknowns += (count + nodes) * velocities;
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn add_box(&mut self, cuboid: &Cuboid, value: impl Fn(&Quantity) -> Option<u64>) {
        let divisions: Option<Vec<u64>> = cuboid.divisions.iter().map(value).collect();
        let Some(divisions) = divisions else { return };
        let parts = match cuboid.cells {
            Some(Cells::Triangles) => 2,
            Some(Cells::Tetrahedra) => 6,
            _ => 1,
        };
        // Not above the most by much: no product overflows.
        let cells: f64 = divisions.iter().map(|&n| n as f64).product();
        if cells > MOST_ELEMENTS {
            return;
        }
        let product = |extra: u64| divisions.iter().map(|n| n + extra).product::<u64>();
        self.elements += parts * product(0);
        self.unknowns += divisions.len() as u64 * product(1);
    }
}

/// A count of elements, where it is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(scope: &Scope, quantity: &Quantity, at: &Path) -> Option<u64> {
    let value = scope.evaluate(&formula(quantity, at)).ok()?;
    (1.0..=MOST_ELEMENTS)
        .contains(&value)
        .then_some(value as u64)
}

/// How many coordinates a point has, where they are given.
fn coordinates(point: &Point) -> Option<u64> {
    match point {
        Point::Coordinates(list) => Some(list.len() as u64),
        Point::Node(_) => None,
    }
}
