//! Springs and dampers: between two nodes or from a node to the ground, and bars, which are springs with mass.

use super::differentiate::Energy;
use super::element::{Cell, Element, NodeKind};
use super::options::{
    Damping, ElementError, MassMatrix, add_product, add_scaled, finite, not_negative, positive,
};
use super::point::{Kind, kind};
use crate::rotation::{Matrix3, Scalar, dot};
use std::marker::PhantomData;

/// An axial spring with a damper between two nodes (`N = 2`), or between one node and a fixed point (`N = 1`).
///
/// Tension `k (l − l₀) + c l̇` along the line between the ends, objective; on nodes of the kind `Line` the
/// length is the signed difference of the positions and the spring is linear. A spring of relaxed length zero
/// has no preferred direction; one of another length has none only while its ends coincide, and then no force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring<K, const N: usize = 2> {
    stiffness: f64,
    damping: f64,
    relaxed: f64,
    anchor: [f64; 3],
    /// Mass of a bar \[kg\].
    mass: f64,
    distribution: MassMatrix,
    /// Coefficient of mass-proportional damping \[1/s\].
    alpha: f64,
    kind: PhantomData<K>,
}

impl<K: Kind, const N: usize> Spring<K, N> {
    fn with_anchor(
        stiffness: f64,
        damping: f64,
        relaxed: f64,
        anchor: [f64; 3],
    ) -> Result<Self, ElementError> {
        let relaxed = match K::NODE {
            NodeKind::Line => finite("the relaxed length of a spring", relaxed)?,
            _ => not_negative("the relaxed length of a spring", relaxed)?,
        };
        Ok(Self {
            stiffness: not_negative("the stiffness of a spring", stiffness)?,
            damping: not_negative("the coefficient of a damper", damping)?,
            relaxed,
            anchor,
            mass: 0.0,
            distribution: MassMatrix::Consistent,
            alpha: 0.0,
            kind: PhantomData,
        })
    }
}

impl<K: Kind> Spring<K, 2> {
    /// A spring of `stiffness` \[N/m\] and relaxed length `relaxed` \[m\], with a damper of coefficient `damping`
    /// \[N·s/m\]; either may be zero.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn new(stiffness: f64, damping: f64, relaxed: f64) -> Result<Self, ElementError> {
        Self::with_anchor(stiffness, damping, relaxed, [0.0; 3])
    }

    /// A two-force bar of axial stiffness `ea` \[N\], mass per length `rho_a` \[kg/m\] and stress-free `length`
    /// \[m\]: `N = EA (l − L)/L` under any displacement.
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn bar(ea: f64, rho_a: f64, length: f64) -> Result<Self, ElementError> {
        let length = positive("the length of a bar", length)?;
        let stiffness = positive("the axial stiffness EA of a bar", ea)? / length;
        let mut bar = Self::new(stiffness, 0.0, length)?;
        bar.mass = not_negative("the mass per length of a bar", rho_a)? * length;
        Ok(bar)
    }

    /// With another mass matrix of the bar; consistent without this.
    #[must_use]
    pub fn with_mass(mut self, distribution: MassMatrix) -> Self {
        self.distribution = distribution;
        self
    }

    /// With the damping of a bar in place of the damper; the material part is objective.
    #[must_use]
    pub fn with_damping(mut self, damping: Damping) -> Self {
        self.damping = damping.beta * self.stiffness;
        self.alpha = damping.alpha;
        self
    }
}

impl<K: Kind> Spring<K, 1> {
    /// As [`new`](Spring::new), from the point `anchor` \[m\] (as many coordinates as the node has) to the node.
    ///
    /// # Errors
    /// [`ElementError`] where a number makes no sense or coordinates are missing.
    pub fn to_ground(
        stiffness: f64,
        damping: f64,
        relaxed: f64,
        anchor: &[f64],
    ) -> Result<Self, ElementError> {
        if anchor.len() != K::NODE.dimension() {
            return Err(ElementError::Shape {
                what: "a spring to the ground",
                why: format!("its anchor has {} coordinates", anchor.len()),
                cure: "give as many as its node has",
            });
        }
        let mut point = [0.0; 3];
        for (to, &value) in point.iter_mut().zip(anchor) {
            *to = finite("a coordinate of the anchor of a spring", value)?;
        }
        Self::with_anchor(stiffness, damping, relaxed, point)
    }
}

/// Direction and length of a spring.
struct Line {
    direction: [f64; 3],
    length: f64,
    /// Rate of the distance of the ends.
    rate: [f64; 3],
}

impl<K: Kind, const N: usize> Spring<K, N> {
    /// From the first end to the second, padded with zeros.
    #[inline]
    fn distance<D: Scalar>(&self, x: &[D], stride: usize, from: &[f64; 3]) -> [D; 3] {
        let second = (N - 1) * stride;
        std::array::from_fn(|i| {
            if i >= K::NODE.dimension() {
                D::from(0.0)
            } else if N == 1 {
                x[i] - from[i]
            } else {
                x[second + i] - x[i]
            }
        })
    }

    #[inline]
    fn line(&self, q: &[f64], v: &[f64]) -> Line {
        let d = self.distance(q, K::NODE.positions(), &self.anchor);
        let rate = if self.damping > 0.0 {
            self.distance(v, K::NODE.velocities(), &[0.0; 3])
        } else {
            [0.0; 3]
        };
        if K::NODE == NodeKind::Line {
            let direction = [1.0, 0.0, 0.0];
            return Line {
                direction,
                length: d[0],
                rate,
            };
        }
        let length = dot(&d, &d).sqrt();
        let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
        let direction = d.map(|x| x * factor);
        Line {
            direction,
            length,
            rate,
        }
    }

    /// Puts the force on the second end into the places of all ends; overwrites.
    #[inline]
    fn pull(&self, direction: &[f64; 3], tension: f64, force: &mut [f64]) {
        force.fill(0.0);
        let stride = K::NODE.velocities();
        for i in 0..K::NODE.dimension() {
            if N == 2 {
                force[i] = -tension * direction[i];
            }
            force[(N - 1) * stride + i] = tension * direction[i];
        }
    }

    #[inline]
    fn spread(&self, block: &Matrix3, matrix: &mut [f64]) {
        matrix.fill(0.0);
        let stride = K::NODE.velocities();
        for a in 0..N {
            for b in 0..N {
                let sign = if a == b { 1.0 } else { -1.0 };
                for i in 0..K::NODE.dimension() {
                    for j in 0..K::NODE.dimension() {
                        matrix[(a * stride + i) * N * stride + b * stride + j] = sign * block[i][j];
                    }
                }
            }
        }
    }

    /// Adds `α M v`, which only a bar has.
    #[inline]
    fn add_mass_damping(&self, v: &[f64], force: &mut [f64]) {
        if self.alpha > 0.0 {
            let mut mass = [0.0; 144];
            let mass = &mut mass[..v.len() * v.len()];
            self.inertia(mass);
            add_product(self.alpha, mass, v, force);
        }
    }
}

impl<K: Kind, const N: usize> Energy for Spring<K, N> {
    const NODE: NodeKind = K::NODE;
    const NODES: usize = N;
    const CELL: Cell = if N == 1 { Cell::Point } else { Cell::Line };

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let d = self.distance(q, K::NODE.positions(), &self.anchor);
        let square = if K::NODE == NodeKind::Line {
            (d[0] - self.relaxed) * (d[0] - self.relaxed)
        } else if self.relaxed == 0.0 {
            dot(&d, &d)
        } else {
            let stretch = dot(&d, &d).sqrt() - self.relaxed;
            stretch * stretch
        };
        square * (0.5 * self.stiffness)
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
        let (own, other) = match self.distribution {
            MassMatrix::Consistent => (self.mass / 3.0, self.mass / 6.0),
            MassMatrix::Lumped => (0.5 * self.mass, 0.0),
        };
        let stride = K::NODE.velocities();
        for a in 0..N {
            for b in 0..N {
                for i in 0..K::NODE.dimension() {
                    mass[(a * stride + i) * N * stride + b * stride + i] =
                        if a == b { own } else { other };
                }
            }
        }
    }
}

impl<K: Kind, const N: usize> Element for Spring<K, N> {
    const NODE: NodeKind = K::NODE;
    const NODES: usize = N;
    const CELL: Cell = if N == 1 { Cell::Point } else { Cell::Line };
    const FIELDS: &'static [&'static str] = &["normal_force"];

    fn is_linear(&self) -> bool {
        K::NODE == NodeKind::Line
    }

    fn is_damped(&self) -> bool {
        self.damping > 0.0 || self.alpha > 0.0
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.strain_energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let line = self.line(q, v);
        let tension = self.stiffness * (line.length - self.relaxed)
            + self.damping * dot(&line.direction, &line.rate);
        self.pull(&line.direction, tension, force);
        self.add_mass_damping(v, force);
    }

    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        let line = self.line(q, v);
        let n = &line.direction;
        let along = dot(n, &line.rate);
        // Stiffness across the line, and the turning of the rate against the line, over the length.
        let (across, per_length) = if K::NODE == NodeKind::Line {
            (0.0, 0.0)
        } else if line.length > 0.0 {
            let slope = self.stiffness * (line.length - self.relaxed) + self.damping * along;
            (slope / line.length, self.damping / line.length)
        } else if self.relaxed == 0.0 {
            (self.stiffness, 0.0)
        } else {
            (0.0, 0.0)
        };
        let block = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let unit = if i == j { 1.0 } else { 0.0 };
                let both = n[i] * n[j];
                self.stiffness * both
                    + across * (unit - both)
                    + per_length * n[i] * (line.rate[j] - along * n[j])
            })
        });
        self.spread(&block, stiffness);
        let block = n.map(|x| n.map(|y| self.damping * x * y));
        self.spread(&block, damping);
        if self.alpha > 0.0 {
            let mut mass = [0.0; 144];
            let mass = &mut mass[..damping.len()];
            self.inertia(mass);
            add_scaled(self.alpha, mass, damping);
        }
    }

    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let line = self.line(q, v);
        let tension = self.damping * dot(&line.direction, &line.rate);
        self.pull(&line.direction, tension, force);
        self.add_mass_damping(v, force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        let d = self.distance(q, K::NODE.positions(), &self.anchor);
        let length = match K::NODE {
            NodeKind::Line => d[0],
            _ => dot(&d, &d).sqrt(),
        };
        values[0] = self.stiffness * (length - self.relaxed);
    }

    fn end_fields(&self, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        let d = self.distance(q, K::NODE.positions(), &self.anchor);
        let length = dot(&d, &d).sqrt();
        if N == 1 || length <= 0.0 {
            self.fields(q, values);
            return;
        }
        let direction = match K::NODE {
            NodeKind::Line => [1.0, 0.0, 0.0],
            _ => d.map(|x| x / length),
        };
        let along: f64 = force.iter().zip(direction).map(|(f, n)| f * n).sum();
        values[0] = if node == 0 { -along } else { along };
    }
}

/// A torsional spring with a damper between the angles of two nodes in the plane (`N = 2`), or on the angle of
/// one (`N = 1`): moment `k (Δθ − θ₀) + c Δθ̇` on the last node, the opposite on the first of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TorsionSpring<const N: usize = 2> {
    stiffness: f64,
    damping: f64,
    relaxed: f64,
}

impl<const N: usize> TorsionSpring<N> {
    const FACTOR: [f64; 2] = [-1.0, 1.0];

    /// A spring of `stiffness` \[N·m/rad\], with a damper of coefficient `damping` \[N·m·s/rad\], without moment at
    /// the angle `relaxed` \[rad\].
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn new(stiffness: f64, damping: f64, relaxed: f64) -> Result<Self, ElementError> {
        const { assert!(N == 1 || N == 2, "a torsional spring has one node or two") };
        Ok(Self {
            stiffness: not_negative("the stiffness of a torsional spring", stiffness)?,
            damping: not_negative("the coefficient of a torsional damper", damping)?,
            relaxed: finite("the relaxed angle of a torsional spring", relaxed)?,
        })
    }

    #[inline]
    fn turn<D: Scalar>(x: &[D]) -> D {
        if N == 1 { x[2] } else { x[5] - x[2] }
    }

    #[inline]
    fn twist(moment: f64, force: &mut [f64]) {
        force.fill(0.0);
        for n in 0..N {
            force[3 * n + 2] = Self::FACTOR[n + 2 - N] * moment;
        }
    }

    #[inline]
    fn spread(coefficient: f64, matrix: &mut [f64]) {
        matrix.fill(0.0);
        for a in 0..N {
            for b in 0..N {
                let sign = Self::FACTOR[a + 2 - N] * Self::FACTOR[b + 2 - N];
                matrix[(3 * a + 2) * 3 * N + 3 * b + 2] = sign * coefficient;
            }
        }
    }
}

impl<const N: usize> Energy for TorsionSpring<N> {
    const NODE: NodeKind = kind::PlaneFrame::NODE;
    const NODES: usize = N;
    const CELL: Cell = if N == 1 { Cell::Point } else { Cell::Line };

    fn strain_energy<D: Scalar>(&self, q: &[D]) -> D {
        let turn = Self::turn(q) - self.relaxed;
        turn * turn * (0.5 * self.stiffness)
    }

    fn inertia(&self, mass: &mut [f64]) {
        mass.fill(0.0);
    }
}

impl<const N: usize> Element for TorsionSpring<N> {
    const NODE: NodeKind = kind::PlaneFrame::NODE;
    const NODES: usize = N;
    const CELL: Cell = if N == 1 { Cell::Point } else { Cell::Line };
    const FIELDS: &'static [&'static str] = &["bending_moment"];

    fn is_linear(&self) -> bool {
        true
    }

    fn is_damped(&self) -> bool {
        self.damping > 0.0
    }

    fn mass(&self, mass: &mut [f64]) {
        self.inertia(mass);
    }

    fn energy(&self, q: &[f64]) -> f64 {
        self.strain_energy(q)
    }

    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let elastic = self.stiffness * (Self::turn(q) - self.relaxed);
        Self::twist(elastic + self.damping * Self::turn(v), force);
    }

    fn tangent(&self, _q: &[f64], _v: &[f64], stiffness: &mut [f64], damping: &mut [f64]) {
        Self::spread(self.stiffness, stiffness);
        Self::spread(self.damping, damping);
    }

    fn damping_force(&self, _q: &[f64], v: &[f64], force: &mut [f64]) {
        Self::twist(self.damping * Self::turn(v), force);
    }

    fn fields(&self, q: &[f64], values: &mut [f64]) {
        values[0] = self.stiffness * (Self::turn(q) - self.relaxed);
    }
}
