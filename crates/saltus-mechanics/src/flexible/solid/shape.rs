//! Shape functions and integration points.

use super::super::element::Cell;

/// A reference shape in `D` dimensions with `N` nodes and `Q` integration points.
pub trait Shape<const D: usize, const N: usize, const Q: usize>:
    std::fmt::Debug + Copy + Send + Sync + 'static
{
    /// The shape in pictures.
    const CELL: Cell;
    /// Whether the mass of straight simplices (closed form) is taken, instead of the integration points.
    const SIMPLEX: bool;
    /// What messages call it.
    const NAME: &'static str;

    /// Integration points with their weights.
    fn points() -> [([f64; D], f64); Q];
    /// Centre.
    fn centre() -> [f64; D];
    /// Places of the nodes.
    fn corners() -> [[f64; D]; N];
    /// Values of the shape functions.
    fn values(at: &[f64; D]) -> [f64; N];
    /// Gradients of the shape functions by reference coordinates.
    fn gradients(at: &[f64; D]) -> [[f64; D]; N];
}

/// Three nodes, one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triangular;
/// Four nodes in the plane, 2 × 2 points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quadrangular;
/// Four nodes in space, one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tetrahedral;
/// Eight nodes, 2 × 2 × 2 points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hexahedral;

/// Corners of the simplex: the origin, then the unit points of the axes.
fn simplex_corners<const D: usize, const N: usize>() -> [[f64; D]; N] {
    std::array::from_fn(|a| std::array::from_fn(|i| if a == i + 1 { 1.0 } else { 0.0 }))
}

fn simplex_values<const D: usize, const N: usize>(at: &[f64; D]) -> [f64; N] {
    std::array::from_fn(|a| match a {
        0 => 1.0 - at.iter().sum::<f64>(),
        _ => at[a - 1],
    })
}

fn simplex_gradients<const D: usize, const N: usize>() -> [[f64; D]; N] {
    std::array::from_fn(|a| {
        std::array::from_fn(|i| match a {
            0 => -1.0,
            _ if a == i + 1 => 1.0,
            _ => 0.0,
        })
    })
}

/// Corners of the square or cube from −1 to 1 in the order of [`Cell`].
fn cube_corners<const D: usize, const N: usize>() -> [[f64; D]; N] {
    std::array::from_fn(|a| {
        std::array::from_fn(|i| match i {
            0 => [-1.0, 1.0, 1.0, -1.0][a % 4],
            1 => [-1.0, -1.0, 1.0, 1.0][a % 4],
            _ => [-1.0, 1.0][a / 4],
        })
    })
}

/// Gauss's 2-point rule in every direction: at the corners, divided by √3.
fn cube_points<const D: usize, const N: usize>() -> [([f64; D], f64); N] {
    cube_corners().map(|corner: [f64; D]| (corner.map(|c| c / 3.0_f64.sqrt()), 1.0))
}

fn cube_values<const D: usize, const N: usize>(at: &[f64; D]) -> [f64; N] {
    cube_corners::<D, N>().map(|corner| {
        let factors = corner.iter().zip(at).map(|(c, x)| 0.5 * (1.0 + c * x));
        factors.product()
    })
}

fn cube_gradients<const D: usize, const N: usize>(at: &[f64; D]) -> [[f64; D]; N] {
    cube_corners::<D, N>().map(|corner| {
        std::array::from_fn(|k| {
            let factor = |i: usize| {
                if i == k {
                    0.5 * corner[i]
                } else {
                    0.5 * (1.0 + corner[i] * at[i])
                }
            };
            (0..D).map(factor).product()
        })
    })
}

macro_rules! simplex {
    ($shape:ty, $d:literal, $n:literal, $cell:expr, $name:literal, $volume:expr) => {
        impl Shape<$d, $n, 1> for $shape {
            const CELL: Cell = $cell;
            const SIMPLEX: bool = true;
            const NAME: &'static str = $name;

            fn points() -> [([f64; $d], f64); 1] {
                [(Self::centre(), $volume)]
            }

            fn centre() -> [f64; $d] {
                [1.0 / $n as f64; $d]
            }

            fn corners() -> [[f64; $d]; $n] {
                simplex_corners()
            }

            fn values(at: &[f64; $d]) -> [f64; $n] {
                simplex_values(at)
            }

            fn gradients(_: &[f64; $d]) -> [[f64; $d]; $n] {
                simplex_gradients()
            }
        }
    };
}

macro_rules! cube {
    ($shape:ty, $d:literal, $n:literal, $cell:expr, $name:literal) => {
        impl Shape<$d, $n, $n> for $shape {
            const CELL: Cell = $cell;
            const SIMPLEX: bool = false;
            const NAME: &'static str = $name;

            fn points() -> [([f64; $d], f64); $n] {
                cube_points()
            }

            fn centre() -> [f64; $d] {
                [0.0; $d]
            }

            fn corners() -> [[f64; $d]; $n] {
                cube_corners()
            }

            fn values(at: &[f64; $d]) -> [f64; $n] {
                cube_values(at)
            }

            fn gradients(at: &[f64; $d]) -> [[f64; $d]; $n] {
                cube_gradients(at)
            }
        }
    };
}

simplex!(Triangular, 2, 3, Cell::Triangle, "a triangle", 0.5);
simplex!(
    Tetrahedral,
    3,
    4,
    Cell::Tetrahedron,
    "a tetrahedron",
    1.0 / 6.0
);
cube!(Quadrangular, 2, 4, Cell::Quadrilateral, "a quadrilateral");
cube!(Hexahedral, 3, 8, Cell::Hexahedron, "a hexahedron");
