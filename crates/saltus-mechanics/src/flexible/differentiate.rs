//! Elements from their energy alone: force and tangent by dual numbers, exact to round-off.
//!
//! Write a strain energy once, generic over [`Scalar`], and [`Differentiated`] makes an [`Element`] of it.
//! A hand-written element states its energy too and is checked against this one.

use super::element::{Cell, Element, NodeKind};
use crate::rotation::{Scalar, apply, compose, cross, hat};
use num_dual::{Dual64, HyperDual64};

/// Size of local positions, velocities and the sides of local matrices.
const MOST: usize = 24;

/// A strain energy and an inertia: what an element is, before anything is differentiated.
pub trait Energy: Send + Sync {
    /// Kind of its nodes.
    const NODE: NodeKind;
    /// Number of nodes.
    const NODES: usize;
    /// Its shape in pictures.
    const CELL: Cell;

    /// Strain energy \[J\] at the local positions `q`.
    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D;

    /// Mass (row-major), constant and symmetric; overwritten.
    fn inertia(&self, mass: &mut [f64]);
}

/// An element whose force and tangent are the derivatives of its energy along the retraction.
///
/// Nodes with a triad get the gyroscopic term `Ω × JΩ` of their block `J` of the mass, which takes a rotary
/// inertia that is lumped on the nodes. There is no damping. The tangent evaluates the energy once per
/// entry with hyper-dual numbers (Fike and Alonso 2011): right, not fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Differentiated<E>(pub E);

/// Moves component `i` of the velocities by an infinitesimal `step`.
fn advance<D: Scalar>(kind: NodeKind, q: &mut [D], i: usize, step: D) {
    let (node, component) = (i / kind.velocities(), i % kind.velocities());
    let q = &mut q[node * kind.positions()..(node + 1) * kind.positions()];
    if kind != NodeKind::SpaceFrame || component < 3 {
        q[component] += step;
        return;
    }
    let mut turn = [1.0, 0.0, 0.0, 0.0].map(D::from);
    turn[component - 2] = step * 0.5;
    let turned = compose(&[q[3], q[4], q[5], q[6]], &turn);
    q[3..7].copy_from_slice(&turned);
}

impl<E: Energy> Differentiated<E> {
    const SIZE: usize = E::NODES * E::NODE.velocities();
    const POSITIONS: usize = E::NODES * E::NODE.positions();

    fn lift<D: Scalar>(q: &[f64]) -> [D; MOST] {
        const {
            assert!(
                Self::POSITIONS <= MOST,
                "the element has too many positions"
            )
        };
        let mut lifted = [D::from(0.0); MOST];
        for (lifted, &q) in lifted.iter_mut().zip(q) {
            *lifted = D::from(q);
        }
        lifted
    }

    /// Calls `visit` with the inertia of the triad of each node and where its velocities begin.
    fn triads(&self, mut visit: impl FnMut(usize, &[[f64; 3]; 3])) {
        if E::NODE != NodeKind::SpaceFrame {
            return;
        }
        let mut mass = [0.0; MOST * MOST];
        let n = Self::SIZE;
        self.0.inertia(&mut mass[..n * n]);
        for start in (3..n).step_by(6) {
            let row = |i: usize| std::array::from_fn(|j| mass[(start + i) * n + start + j]);
            visit(start, &[row(0), row(1), row(2)]);
        }
    }
}

impl<E: Energy> Element for Differentiated<E> {
    const NODE: NodeKind = E::NODE;
    const NODES: usize = E::NODES;
    const CELL: Cell = E::CELL;
    const FIELDS: &'static [&'static str] = &[];

    fn has_velocity_forces(&self) -> bool {
        E::NODE == NodeKind::SpaceFrame
    }

    fn mass(&self, mass: &mut [f64]) {
        self.0.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.0.strain_energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let q: [Dual64; MOST] = Self::lift(q);
        for (i, force) in force.iter_mut().enumerate() {
            let mut moved = q;
            advance(E::NODE, &mut moved, i, Dual64::new(0.0, 1.0));
            *force = self.0.strain_energy(&moved[..Self::POSITIONS]).eps;
        }
        self.triads(|start, inertia| {
            let omega = [v[start], v[start + 1], v[start + 2]];
            let moment = cross(&omega, &apply(inertia, &omega));
            for (force, moment) in force[start..].iter_mut().zip(moment) {
                *force += moment;
            }
        });
    }

    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        let q: [HyperDual64; MOST] = Self::lift(q);
        let n = Self::SIZE;
        let symmetric = E::NODE != NodeKind::SpaceFrame;
        for j in 0..n {
            let mut moved = q;
            advance(E::NODE, &mut moved, j, HyperDual64::new(0.0, 1.0, 0.0, 0.0));
            for i in (if symmetric { j } else { 0 })..n {
                let mut moved = moved;
                advance(E::NODE, &mut moved, i, HyperDual64::new(0.0, 0.0, 1.0, 0.0));
                let energy = self.0.strain_energy(&moved[..Self::POSITIONS]);
                stiffness[i * n + j] = energy.eps1eps2;
                if symmetric {
                    stiffness[j * n + i] = energy.eps1eps2;
                }
            }
        }
        damping.fill(0.0);
        self.triads(|start, inertia| {
            let block = gyroscopic(inertia, &[v[start], v[start + 1], v[start + 2]]);
            for (i, row) in block.iter().enumerate() {
                damping[(start + i) * n + start..][..3].copy_from_slice(row);
            }
        });
    }

    fn fields(&self, _q: &[f64], _values: &mut [f64]) {}
}

/// `∂(Ω × JΩ)/∂Ω = Ω̂J − (JΩ)^`.
#[inline]
pub(crate) fn gyroscopic(inertia: &[[f64; 3]; 3], omega: &[f64; 3]) -> [[f64; 3]; 3] {
    let spin = hat(&apply(inertia, omega));
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let column = [inertia[0][j], inertia[1][j], inertia[2][j]];
            cross(omega, &column)[i] - spin[i][j]
        })
    })
}
