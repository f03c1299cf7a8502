//! Stresses and strains at the centre of an element.

use super::element::{Solid, gradient, nodes};
use super::material::{Law, Response};
use super::shape::Shape;
use super::tensor::{
    Tensor, cofactor, contract, delta, determinant, product_transposed, symmetric, tensor,
    transposed_product,
};

/// What there is of an element in the plane.
pub(super) const IN_THE_PLANE: [&str; 9] = [
    "stress_xx",
    "stress_yy",
    "stress_zz",
    "stress_xy",
    "von_mises",
    "strain_xx",
    "strain_yy",
    "strain_zz",
    "strain_xy",
];

/// What there is of an element in space.
pub(super) const IN_SPACE: [&str; 13] = [
    "stress_xx",
    "stress_yy",
    "stress_zz",
    "stress_xy",
    "stress_yz",
    "stress_zx",
    "von_mises",
    "strain_xx",
    "strain_yy",
    "strain_zz",
    "strain_xy",
    "strain_yz",
    "strain_zx",
];

impl<S: Shape<D, N, Q>, const D: usize, const N: usize, const Q: usize> Solid<S, D, N, Q> {
    /// Cauchy stress \[Pa\], von Mises' equivalent stress \[Pa\] and strain by the names above: Green's strain
    /// `½(FᵀF − I)`, or `sym(F − I)` for the linear law; shear strains are those of the tensor, half the change of angle.
    pub(super) fn stress_and_strain(&self, q: &[f64], values: &mut [f64]) {
        let x = nodes(q);
        let in_plane = gradient(&x, &self.centre);
        let across = self.stretch_across(&in_plane);
        let f: Tensor<f64, 3> = tensor(|i, j| {
            if i < D && j < D {
                in_plane[i][j]
            } else {
                delta(i, j) * across
            }
        });
        let response = self.section.space_response();
        let mut stress = response.stress(&f);
        if response.mean {
            let (mean, _) = self.mean_dilatation(&x);
            let pressure = response.volume_derivatives(mean).0;
            let slope = response.dilatation_gradient(&f);
            stress = tensor(|i, j| stress[i][j] + pressure * slope[i][j]);
        }
        let strain: Tensor<f64, 3> = if response.law == Law::Linear {
            let e = symmetric(&f);
            tensor(|i, j| e[i][j] - delta(i, j))
        } else {
            let j = determinant(&f, &cofactor(&f));
            stress = product_transposed(&stress, &f).map(|row| row.map(|p| p / j));
            let c = transposed_product(&f, &f);
            tensor(|i, j| 0.5 * (c[i][j] - delta(i, j)))
        };
        let s = &stress;
        let mises = (0.5
            * ((s[0][0] - s[1][1]).powi(2)
                + (s[1][1] - s[2][2]).powi(2)
                + (s[2][2] - s[0][0]).powi(2))
            + 3.0 * (s[0][1].powi(2) + s[1][2].powi(2) + s[2][0].powi(2)))
        .sqrt();
        const PLACES: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)];
        let components = if D == 2 { 4 } else { 6 };
        let (stresses, rest) = values.split_at_mut(components);
        let (equivalent, strains) = rest.split_at_mut(1);
        equivalent[0] = mises;
        for (k, &(i, j)) in PLACES[..components].iter().enumerate() {
            stresses[k] = stress[i][j];
            strains[k] = strain[i][j];
        }
    }

    /// Stretch across the plane: 1 in plane strain and in space, free in plane stress.
    fn stretch_across(&self, f: &Tensor<f64, D>) -> f64 {
        if !self.section.plane_stress {
            return 1.0;
        }
        let Response { lambda, mu, .. } = self.section.space_response();
        let ratio = -lambda / (lambda + 2.0 * mu);
        if self.response.law == Law::Linear {
            let sum: f64 = (0..D).map(|i| f[i][i] - 1.0).sum();
            return 1.0 + ratio * sum;
        }
        let sum = 0.5 * (contract(f, f) - D as f64);
        (1.0 + 2.0 * ratio * sum).max(0.0).sqrt()
    }
}
