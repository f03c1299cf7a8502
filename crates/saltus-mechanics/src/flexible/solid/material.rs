//! Elastic materials: energy, stress and moduli, one home for all shapes.
//!
//! With the deformation gradient `F`, `J = det F`, `E = ½(FᵀF − I)`, Lamé's `λ`, `μ` and `κ = λ + ⅔μ`:
//!
//! | law | energy per reference volume |
//! | --- | --- |
//! | `Linear` | `½λ tr²ε + μ ε:ε`, `ε = sym(F − I)` |
//! | `StVenantKirchhoff` | `½λ tr²E + μ E:E` |
//! | `NeoHookean` | `½μ(tr FᵀF − 3 − 2 ln J) + ½λ ln²J` |
//! | `NeoHookeanSplit` | `½μ(J^(−2/3) tr FᵀF − 3) + ¼κ(J² − 1 − 2 ln J)` |
//!
//! (Bonet and Wood 2008, eqs. 6.27, 6.28, 6.54; the volume term is that of Simo and Taylor 1982.) Plane strain is `F₃₃ = 1`; plane stress
//! replaces λ by `2λμ/(λ + 2μ)`, which is exact for the first two.

use super::super::options::{ElementError, finite, positive};
use super::tensor::{
    Tensor, Tensor4, cofactor, contract, delta, determinant, identity, product, product_transposed,
    symmetric, tensor, tensor4, trace, transposed_product,
};
use crate::rotation::Scalar;

/// The form of the strain energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Law {
    /// Hooke's law for small displacement gradients. Not objective: a rigid rotation strains it.
    Linear,
    /// Hooke's law between Green's strain and the second Piola–Kirchhoff stress. Objective; in compression
    /// it softens below a stretch of 1/√3.
    StVenantKirchhoff,
    /// Compressible neo-Hookean.
    NeoHookean,
    /// Neo-Hookean with separate terms for change of shape and change of volume, for near incompressibility.
    NeoHookeanSplit,
}

/// An elastic material with a density.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    pub(super) law: Law,
    pub(super) lambda: f64,
    pub(super) mu: f64,
    pub(super) density: f64,
}

impl Material {
    /// From Young's modulus \[Pa\], Poisson's ratio and density \[kg/m³\].
    ///
    /// # Errors
    /// [`ElementError::Value`] unless `young > 0`, `−1 < poisson < ½` and `density > 0`.
    pub fn new(law: Law, young: f64, poisson: f64, density: f64) -> Result<Self, ElementError> {
        let young = positive("Young's modulus of a material", young)?;
        let poisson = finite("Poisson's ratio of a material", poisson)?;
        if !(-1.0 < poisson && poisson < 0.5) {
            return Err(ElementError::Value {
                what: "Poisson's ratio of a material",
                value: poisson,
                cure: "give a number above -1 and below 0.5; for rubber take 0.499 to 0.4999 with mean dilatation",
            });
        }
        Ok(Self {
            law,
            lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)),
            mu: 0.5 * young / (1.0 + poisson),
            density: positive("the density of a material", density)?,
        })
    }

    /// From shear modulus μ \[Pa\], bulk modulus κ \[Pa\] and density \[kg/m³\].
    ///
    /// # Errors
    /// [`ElementError::Value`] unless all are above zero.
    pub fn from_moduli(
        law: Law,
        shear: f64,
        bulk: f64,
        density: f64,
    ) -> Result<Self, ElementError> {
        let mu = positive("the shear modulus of a material", shear)?;
        Ok(Self {
            law,
            lambda: positive("the bulk modulus of a material", bulk)? - 2.0 / 3.0 * mu,
            mu,
            density: positive("the density of a material", density)?,
        })
    }

    /// Form of the strain energy.
    #[must_use]
    pub const fn law(&self) -> Law {
        self.law
    }

    /// Density \[kg/m³\].
    #[must_use]
    pub const fn density(&self) -> f64 {
        self.density
    }

    /// Speed of pressure waves `√((λ + 2μ)/ρ)` \[m/s\].
    #[must_use]
    pub fn wave_speed(&self) -> f64 {
        ((self.lambda + 2.0 * self.mu) / self.density).sqrt()
    }

    /// Bulk modulus κ \[Pa\].
    #[must_use]
    pub fn bulk(&self) -> f64 {
        self.lambda + 2.0 / 3.0 * self.mu
    }
}

/// What a material answers at a point, in the dimension of the element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Response {
    pub law: Law,
    /// λ, or what plane stress makes of it.
    pub lambda: f64,
    pub mu: f64,
    pub kappa: f64,
    /// Whether the change of volume is averaged over the element: then the local part is that of shape alone.
    pub mean: bool,
}

impl Response {
    /// λ of the local part.
    #[inline]
    pub fn local_lambda(&self) -> f64 {
        if self.mean {
            -2.0 / 3.0 * self.mu
        } else {
            self.lambda
        }
    }

    /// Strain of the first two laws.
    #[inline(always)]
    fn strain<T: Scalar, const D: usize>(&self, f: &Tensor<T, D>) -> Tensor<T, D> {
        if self.law == Law::Linear {
            return tensor(|i, j| (f[i][j] + f[j][i]) * 0.5 - delta(i, j));
        }
        let c = transposed_product(f, f);
        tensor(|i, j| (c[i][j] - delta(i, j)) * 0.5)
    }

    /// Hooke's stress of a strain.
    #[inline(always)]
    fn hooke<const D: usize>(&self, strain: &Tensor<f64, D>) -> Tensor<f64, D> {
        let pressure = self.local_lambda() * trace(strain);
        tensor(|i, j| 2.0 * self.mu * strain[i][j] + delta(i, j) * pressure)
    }

    /// Local energy per reference volume \[J/m³\].
    #[inline]
    pub fn density<T: Scalar, const D: usize>(&self, f: &Tensor<T, D>) -> T {
        let mu = self.mu;
        let dimension = D as f64;
        match self.law {
            Law::Linear | Law::StVenantKirchhoff => {
                let e = self.strain(f);
                let sum = trace(&e);
                sum * sum * (0.5 * self.local_lambda()) + contract(&e, &e) * mu
            }
            Law::NeoHookean => {
                let ln = determinant(f, &cofactor(f)).ln();
                (contract(f, f) - dimension - ln * 2.0) * (0.5 * mu) + ln * ln * (0.5 * self.lambda)
            }
            Law::NeoHookeanSplit => {
                let j = determinant(f, &cofactor(f));
                let scale = (j.ln() * (-2.0 / 3.0)).exp();
                let shape = (scale * (contract(f, f) + (3.0 - dimension)) - 3.0) * (0.5 * mu);
                if self.mean {
                    shape
                } else {
                    shape + self.volume_energy(j)
                }
            }
        }
    }

    /// Local first Piola–Kirchhoff stress \[Pa\].
    #[inline]
    pub fn stress<const D: usize>(&self, f: &Tensor<f64, D>) -> Tensor<f64, D> {
        match self.law {
            Law::Linear => self.hooke(&self.strain(f)),
            Law::StVenantKirchhoff => product(f, &self.hooke(&self.strain(f))),
            Law::NeoHookean => {
                let (j, g) = inverse_transposed(f);
                let volume = self.lambda * j.ln() - self.mu;
                tensor(|i, k| self.mu * f[i][k] + volume * g[i][k])
            }
            Law::NeoHookeanSplit => {
                let (j, g) = inverse_transposed(f);
                let split = self.split(f, j);
                let on_g = split.volume - split.scale * split.third;
                tensor(|i, k| split.scale * f[i][k] + on_g * g[i][k])
            }
        }
    }

    /// Local stress \[Pa\] and moduli `∂P/∂F` \[Pa\].
    #[inline]
    pub fn moduli<const D: usize>(&self, f: &Tensor<f64, D>) -> (Tensor<f64, D>, Tensor4<D>) {
        match self.law {
            Law::Linear => (self.stress(f), self.material_moduli(&identity())),
            Law::StVenantKirchhoff => {
                let s = self.hooke(&self.strain(f));
                let mut a = self.material_moduli(f);
                add_geometric(&mut a, &s);
                (product(f, &s), a)
            }
            Law::NeoHookean => {
                let (j, g) = inverse_transposed(f);
                let volume = self.lambda * j.ln() - self.mu;
                let stress = tensor(|i, k| self.mu * f[i][k] + volume * g[i][k]);
                let moduli = tensor4(|i, j, k, l| {
                    self.mu * delta(i, k) * delta(j, l) - volume * g[i][l] * g[k][j]
                        + self.lambda * g[i][j] * g[k][l]
                });
                (stress, moduli)
            }
            Law::NeoHookeanSplit => {
                let (j, g) = inverse_transposed(f);
                let Split {
                    scale,
                    third,
                    volume,
                    rate,
                } = self.split(f, j);
                let on_g = volume - scale * third;
                let stress = tensor(|i, k| scale * f[i][k] + on_g * g[i][k]);
                let (mixed, square) = (-2.0 / 3.0 * scale, 2.0 / 3.0 * scale * third + rate);
                let moduli = tensor4(|i, j, k, l| {
                    scale * delta(i, k) * delta(j, l)
                        + mixed * (f[i][j] * g[k][l] + g[i][j] * f[k][l])
                        + square * g[i][j] * g[k][l]
                        - on_g * g[i][l] * g[k][j]
                });
                (stress, moduli)
            }
        }
    }

    /// `F_iM C_MJNL F_kN` with Hooke's moduli `C`.
    #[inline(always)]
    pub fn material_moduli<const D: usize>(&self, f: &Tensor<f64, D>) -> Tensor4<D> {
        let (lambda, mu) = (self.local_lambda(), self.mu);
        let b = product_transposed(f, f);
        tensor4(|i, j, k, l| {
            lambda * f[i][j] * f[k][l] + mu * (b[i][k] * delta(j, l) + f[i][l] * f[k][j])
        })
    }

    #[inline(always)]
    fn split<const D: usize>(&self, f: &Tensor<f64, D>, j: f64) -> Split {
        let third = (contract(f, f) + (3.0 - D as f64)) / 3.0;
        let scale = self.mu * (-2.0 / 3.0 * j.ln()).exp();
        let (volume, rate) = if self.mean {
            (0.0, 0.0)
        } else {
            let (first, second) = self.volume_derivatives(j);
            (first * j, (second * j + first) * j)
        };
        Split {
            scale,
            third,
            volume,
            rate,
        }
    }

    /// Change of volume that is averaged: `tr ε`, or `J`.
    #[inline]
    pub fn dilatation<T: Scalar, const D: usize>(&self, f: &Tensor<T, D>) -> T {
        if self.law == Law::Linear {
            return trace(f) - D as f64;
        }
        determinant(f, &cofactor(f))
    }

    /// Derivative of the dilatation by `F`.
    #[inline]
    pub fn dilatation_gradient<const D: usize>(&self, f: &Tensor<f64, D>) -> Tensor<f64, D> {
        if self.law == Law::Linear {
            return identity();
        }
        cofactor(f)
    }

    /// Adds `factor` times the second derivative of the dilatation to moduli.
    #[inline]
    pub fn add_dilatation_curvature<const D: usize>(
        &self,
        f: &Tensor<f64, D>,
        factor: f64,
        moduli: &mut Tensor4<D>,
    ) {
        if self.law == Law::Linear {
            return;
        }
        let (j, g) = inverse_transposed(f);
        let factor = factor * j;
        for (i, a) in moduli.iter_mut().enumerate() {
            for (m, a) in a.iter_mut().enumerate() {
                for (k, a) in a.iter_mut().enumerate() {
                    for (l, a) in a.iter_mut().enumerate() {
                        *a += factor * (g[i][m] * g[k][l] - g[i][l] * g[k][m]);
                    }
                }
            }
        }
    }

    /// Energy of the change of volume per reference volume \[J/m³\].
    #[inline]
    pub fn volume_energy<T: Scalar>(&self, dilatation: T) -> T {
        let square = dilatation * dilatation;
        if self.law == Law::Linear {
            return square * (0.5 * self.kappa);
        }
        (square - 1.0 - dilatation.ln() * 2.0) * (0.25 * self.kappa)
    }

    /// First and second derivative of the energy of the change of volume.
    #[inline]
    pub fn volume_derivatives(&self, dilatation: f64) -> (f64, f64) {
        if self.law == Law::Linear {
            return (self.kappa * dilatation, self.kappa);
        }
        let inverse = 1.0 / dilatation;
        (
            0.5 * self.kappa * (dilatation - inverse),
            0.5 * self.kappa * (1.0 + inverse * inverse),
        )
    }

    /// Hooke's stress of the rate of Green's strain: what material damping multiplies by β.
    #[inline]
    pub fn rate_stress<const D: usize>(
        &self,
        f: &Tensor<f64, D>,
        rate: &Tensor<f64, D>,
    ) -> Tensor<f64, D> {
        self.hooke(&symmetric(&transposed_product(f, rate)))
    }
}

/// Parts of the split neo-Hookean law: `P = scale (F − third F⁻ᵀ) + volume F⁻ᵀ`.
struct Split {
    scale: f64,
    third: f64,
    volume: f64,
    /// `d(volume)/d(ln J)`.
    rate: f64,
}

/// `det F` and `F⁻ᵀ`.
#[inline(always)]
fn inverse_transposed<const D: usize>(f: &Tensor<f64, D>) -> (f64, Tensor<f64, D>) {
    let c = cofactor(f);
    let j = determinant(f, &c);
    let inverse = 1.0 / j;
    (j, tensor(|i, k| c[i][k] * inverse))
}

/// `A_iJkL ← A_iJkL + δ_ik S_JL`.
#[inline(always)]
pub(super) fn add_geometric<const D: usize>(a: &mut Tensor4<D>, s: &Tensor<f64, D>) {
    for i in 0..D {
        for j in 0..D {
            for l in 0..D {
                a[i][j][i][l] += s[j][l];
            }
        }
    }
}
