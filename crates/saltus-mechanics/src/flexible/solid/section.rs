//! What an element of a solid is made of: material, plane assumption, integration, mass, damping.

use super::super::options::{Damping, ElementError, MassMatrix, positive};
use super::material::{Law, Material, Response};

/// How the energy is integrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Integration {
    /// The points of the shape for everything.
    #[default]
    Full,
    /// The change of volume is averaged over the element: B̄ (Hughes 1980) for [`Law::Linear`], mean dilatation
    /// (Simo, Taylor and Pister 1985) for [`Law::NeoHookeanSplit`]. Quadrilaterals and hexahedra then do not lock
    /// near incompressibility; triangles and tetrahedra are the same as before.
    MeanDilatation,
}

/// Material, thickness, integration, mass and damping of solid elements in `D` dimensions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section<const D: usize> {
    pub(super) material: Material,
    /// Thickness of a plane body \[m\]; 1 in space.
    pub(super) thickness: f64,
    pub(super) plane_stress: bool,
    pub(super) integration: Integration,
    pub(super) mass: MassMatrix,
    pub(super) damping: Damping,
}

impl Section<2> {
    /// A plane body that cannot expand across its plane, `thickness` \[m\] of it.
    ///
    /// # Errors
    /// [`ElementError::Value`] unless `thickness` is above zero.
    pub fn plane_strain(material: Material, thickness: f64) -> Result<Self, ElementError> {
        Ok(Self {
            thickness: positive("the thickness of a plane body", thickness)?,
            ..Self::plain(material)
        })
    }

    /// A plate of `thickness` \[m\] (before deformation) that is free to expand across its plane.
    ///
    /// # Errors
    /// [`ElementError::Value`] unless `thickness` is above zero, [`ElementError::Choice`] for a neo-Hookean material.
    pub fn plane_stress(material: Material, thickness: f64) -> Result<Self, ElementError> {
        if matches!(material.law, Law::NeoHookean | Law::NeoHookeanSplit) {
            return Err(ElementError::Choice {
                what: "neo-Hookean material in plane stress",
                cure: "take the St-Venant-Kirchhoff law, plane strain, or a mesh in space",
            });
        }
        Ok(Self {
            plane_stress: true,
            ..Self::plane_strain(material, thickness)?
        })
    }
}

impl Section<3> {
    /// A body in space.
    #[must_use]
    pub fn space(material: Material) -> Self {
        Self::plain(material)
    }
}

impl<const D: usize> Section<D> {
    fn plain(material: Material) -> Self {
        Self {
            material,
            thickness: 1.0,
            plane_stress: false,
            integration: Integration::Full,
            mass: MassMatrix::Consistent,
            damping: Damping::NONE,
        }
    }

    /// With another integration; full without this.
    ///
    /// # Errors
    /// [`ElementError::Choice`] for mean dilatation in plane stress, or with a law that has no energy of volume alone.
    pub fn with_integration(mut self, integration: Integration) -> Result<Self, ElementError> {
        if integration == Integration::MeanDilatation {
            if self.plane_stress {
                return Err(ElementError::Choice {
                    what: "mean dilatation in plane stress",
                    cure: "take full integration: plane stress does not lock by volume",
                });
            }
            if !matches!(self.material.law, Law::Linear | Law::NeoHookeanSplit) {
                return Err(ElementError::Choice {
                    what: "mean dilatation with a law that does not separate volume from shape",
                    cure: "take the linear or the split neo-Hookean law, or full integration",
                });
            }
        }
        self.integration = integration;
        Ok(self)
    }

    /// With another mass matrix; consistent without this.
    #[must_use]
    pub fn with_mass(mut self, mass: MassMatrix) -> Self {
        self.mass = mass;
        self
    }

    /// With damping: `α M v`, and stresses `S ← S + β C:Ė` with Hooke's moduli `C` of the undeformed material.
    ///
    /// The second part never damps rigid motion, but for the linear law, which is not objective. With mean dilatation
    /// the rate of volume change in it is averaged too.
    #[must_use]
    pub fn with_damping(mut self, damping: Damping) -> Self {
        self.damping = damping;
        self
    }

    /// The material.
    #[must_use]
    pub const fn material(&self) -> &Material {
        &self.material
    }

    /// What the material answers in the plane, or in space.
    pub(super) fn response(&self) -> Response {
        let full = self.space_response();
        let (lambda, mu) = (full.lambda, full.mu);
        Response {
            lambda: if self.plane_stress {
                2.0 * lambda * mu / (lambda + 2.0 * mu)
            } else {
                lambda
            },
            ..full
        }
    }

    /// What the material answers in space, whatever the dimension.
    pub(super) fn space_response(&self) -> Response {
        Response {
            law: self.material.law,
            lambda: self.material.lambda,
            mu: self.material.mu,
            kappa: self.material.bulk(),
            mean: self.integration == Integration::MeanDilatation,
        }
    }
}
