//! What a finite element owes the assembly.

/// The coordinates of a node.
///
/// | kind | positions | velocities |
/// | --- | --- | --- |
/// | `Line` | x | ẋ |
/// | `Plane` | x, y | ẋ, ẏ |
/// | `PlaneFrame` | x, y, θ | ẋ, ẏ, θ̇ |
/// | `Space` | x, y, z | ẋ, ẏ, ż |
/// | `SpaceFrame` | x, y, z, quaternion (w, x, y, z) | ẋ, ẏ, ż, Ω in body axes |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A point on a line.
    Line,
    /// A point in the plane.
    Plane,
    /// A point in the plane with an angle.
    PlaneFrame,
    /// A point in space.
    Space,
    /// A point in space with a triad.
    SpaceFrame,
}

impl NodeKind {
    /// Number of positions.
    #[must_use]
    pub const fn positions(self) -> usize {
        match self {
            Self::Line => 1,
            Self::Plane => 2,
            Self::PlaneFrame | Self::Space => 3,
            Self::SpaceFrame => 7,
        }
    }

    /// Number of velocities.
    #[must_use]
    pub const fn velocities(self) -> usize {
        match self {
            Self::SpaceFrame => 6,
            other => other.positions(),
        }
    }

    /// Number of spatial coordinates: 1, 2 or 3.
    #[must_use]
    pub const fn dimension(self) -> usize {
        match self {
            Self::Line => 1,
            Self::Plane | Self::PlaneFrame => 2,
            Self::Space | Self::SpaceFrame => 3,
        }
    }
}

/// Shape of an element in pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cell {
    /// One node.
    Point,
    /// Two nodes.
    Line,
    /// Three nodes, counter-clockwise.
    Triangle,
    /// Four nodes in a plane, counter-clockwise.
    Quadrilateral,
    /// Four nodes.
    Tetrahedron,
    /// Eight nodes: the lower face counter-clockwise seen from above, then the upper face.
    Hexahedron,
}

/// A finite element with a constant mass.
///
/// Local vectors run node by node in the order of [`NodeKind`]; matrices are row-major. `force` is what
/// the element opposes: the assembly *subtracts* it. Every output is overwritten.
pub trait Element: Send + Sync {
    /// Kind of its nodes.
    const NODE: NodeKind;
    /// Number of nodes.
    const NODES: usize;
    /// Its shape in pictures.
    const CELL: Cell;
    /// Names of [`fields`](Self::fields), e.g. `normal_force`.
    const FIELDS: &'static [&'static str];
    /// Number of local positions.
    const NQ: usize = Self::NODES * Self::NODE.positions();
    /// Number of local velocities.
    const NV: usize = Self::NODES * Self::NODE.velocities();

    /// Whether `force` is linear in `q` and `v` up to a constant, with a constant tangent.
    fn is_linear(&self) -> bool {
        false
    }

    /// Whether [`damping_force`](Self::damping_force) is anything but zero.
    fn is_damped(&self) -> bool {
        false
    }

    /// Whether `force` depends on the velocity at all: damping or gyroscopic terms.
    fn has_velocity_forces(&self) -> bool {
        self.is_damped()
    }

    /// Mass (NV × NV), constant and symmetric.
    fn mass(&self, mass: &mut [f64]);

    /// Strain energy \[J\].
    fn energy(&self, q: &[f64]) -> f64;

    /// Internal force (NV): derivative of the energy along the retraction, damping, and gyroscopic terms.
    fn force(&self, q: &[f64], v: &[f64], force: &mut [f64]);

    /// `D(force)` (NV × NV) and `∂force/∂v` (NV × NV).
    fn tangent(&self, q: &[f64], v: &[f64], stiffness: &mut [f64], damping: &mut [f64]);

    /// The part of `force` (NV) that takes energy away.
    fn damping_force(&self, q: &[f64], v: &[f64], force: &mut [f64]) {
        let _ = (q, v);
        force.fill(0.0);
    }

    /// `f ← f − force` of a line of elements like this one, without forces of velocity, where element `e` has the
    /// positions and forces `e` and `e + 1` of `q` and `f`; `false` where one by one is the fastest way.
    fn subtract_line(&self, q: &[f64], f: &mut [f64]) -> bool {
        let _ = (q, f);
        false
    }

    /// Strain energy \[J\] of such a line; `None` where one by one is the fastest way.
    fn line_energy(&self, q: &[f64]) -> Option<f64> {
        let _ = q;
        None
    }

    /// Resultants or stresses at the centre of the element, one value per name in [`FIELDS`](Self::FIELDS).
    fn fields(&self, q: &[f64], values: &mut [f64]);

    /// The same at its end at node number `node` (from 0), where the node exerts `force` on it (one entry per velocity of the node):
    /// the section forces of bars and beams, in the axes of the section there.
    fn end_fields(&self, q: &[f64], node: usize, force: &[f64], values: &mut [f64]) {
        let _ = (node, force);
        self.fields(q, values);
    }
}
