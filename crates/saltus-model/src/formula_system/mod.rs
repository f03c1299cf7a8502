//! The system that a [`Definition`](crate::definition::Definition) describes.
//!
//! All formulas of a model go into one graph; each answer of the
//! [`System`] contract is one tape compiled from it, with exact derivatives.

mod build;
mod constraints;
mod contacts;
mod dynamics;
mod mass;
mod matrix;
mod rows;

use crate::expression::Inputs;
use constraints::{ConstraintTapes, FrictionTapes};
use contacts::ContactTapes;
use dynamics::MotionTapes;
use saltus_system::{Dims, Kinematics, Names, Point, Structure, System};

pub(crate) use build::build;

/// A mechanical system whose mass, forces, constraints and gaps are formulas.
///
/// Positions form a vector space; each velocity is the rate of the coordinate of the same name.
/// Unilateral constraints are contacts of fixed identity, `0..n` in the order of the definition, which
/// are in every contact set whatever the margin. Only entries that are not identically zero reach a
/// matrix sink, except that small, mostly full matrices arrive as one block.
#[derive(Debug, Clone)]
pub struct FormulaSystem {
    /// Number of coordinates.
    n: usize,
    names: Names,
    structure: Structure,
    motion: MotionTapes,
    constraints: ConstraintTapes,
    friction: FrictionTapes,
    contacts: ContactTapes,
}

impl Kinematics for FormulaSystem {
    fn dims(&self) -> Dims {
        Dims {
            nq: self.n,
            nv: self.n,
            ng: self.names.bilateral.len(),
        }
    }
}

impl System for FormulaSystem {
    fn names(&self) -> Names {
        self.names.clone()
    }
}

/// The variables at a point of the state space.
#[inline]
fn at(point: Point<'_>) -> Inputs<'_> {
    Inputs {
        t: point.t,
        q: point.q,
        v: point.v,
        weights: &[],
    }
}

/// The variables of what does not depend on velocities.
#[inline]
fn at_rest(t: f64, q: &[f64]) -> Inputs<'_> {
    Inputs {
        t,
        q,
        v: &[],
        weights: &[],
    }
}
