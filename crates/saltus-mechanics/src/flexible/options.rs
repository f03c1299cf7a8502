//! What the constructors of elements share: errors, the kind of mass matrix, damping coefficients.

/// What is wrong with the data of an element.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ElementError {
    /// A number that makes no sense.
    #[error("{what} is {value}; {cure}")]
    Value {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What to do.
        cure: &'static str,
    },
    /// A reference shape that degenerates.
    #[error("the reference shape of {what} degenerates: {why}; {cure}")]
    Shape {
        /// Which element.
        what: &'static str,
        /// In what way.
        why: String,
        /// What to do.
        cure: &'static str,
    },
    /// Two choices that exclude each other.
    #[error("there is no {what}; {cure}")]
    Choice {
        /// What was asked for.
        what: &'static str,
        /// What to do.
        cure: &'static str,
    },
}

/// Refuses what is not finite and above zero.
pub(crate) fn positive(what: &'static str, value: f64) -> Result<f64, ElementError> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    let cure = "give a finite number above zero";
    Err(ElementError::Value { what, value, cure })
}

/// Refuses what is not finite or below zero.
pub(crate) fn not_negative(what: &'static str, value: f64) -> Result<f64, ElementError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    let cure = "give a finite number, zero or above";
    Err(ElementError::Value { what, value, cure })
}

/// Refuses what is not finite.
pub(crate) fn finite(what: &'static str, value: f64) -> Result<f64, ElementError> {
    if value.is_finite() {
        return Ok(value);
    }
    let cure = "give a finite number";
    Err(ElementError::Value { what, value, cure })
}

/// How the inertia of an element is spread over its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MassMatrix {
    /// From the shape functions: frequencies come out too high.
    #[default]
    Consistent,
    /// On the nodes, diagonal: frequencies come out too low, contact forces are quieter.
    Lumped,
}

/// Damping of an element: `α M v` in proportion to mass, and stresses `β C ε̇` beside the elastic `C ε`.
///
/// The first damps rigid motion too, the second never does (Kelvin–Voigt). At the stress-free reference
/// both together are Rayleigh's `α M + β K₀`: the damping ratio is `ζ(ω) = α/(2ω) + βω/2`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Damping {
    /// Coefficient of the mass \[1/s\].
    pub alpha: f64,
    /// Coefficient of the material \[s\].
    pub beta: f64,
}

impl Damping {
    /// None.
    pub const NONE: Self = Self {
        alpha: 0.0,
        beta: 0.0,
    };

    /// Both coefficients, each zero or above.
    ///
    /// # Errors
    /// [`ElementError::Value`] where one is negative or not finite.
    pub fn new(alpha: f64, beta: f64) -> Result<Self, ElementError> {
        Ok(Self {
            alpha: not_negative("the coefficient alpha of mass-proportional damping", alpha)?,
            beta: not_negative("the coefficient beta of material damping", beta)?,
        })
    }

    /// The coefficients that give the damping ratio `zeta` at two angular frequencies \[rad/s\].
    ///
    /// # Errors
    /// [`ElementError::Value`] where a number makes no sense.
    pub fn fit(zeta: f64, omega: [f64; 2]) -> Result<Self, ElementError> {
        let zeta = not_negative("the damping ratio zeta", zeta)?;
        let [first, second] = omega;
        let first = positive("the first frequency omega", first)?;
        let second = positive("the second frequency omega", second)?;
        let sum = first + second;
        Self::new(2.0 * zeta * first * second / sum, 2.0 * zeta / sum)
    }

    /// Damping ratio ζ at the angular frequency `omega` \[rad/s\].
    #[must_use]
    pub fn ratio(&self, omega: f64) -> f64 {
        0.5 * (self.alpha / omega + self.beta * omega)
    }

    /// Whether both coefficients vanish.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.alpha == 0.0 && self.beta == 0.0
    }
}

/// `force ← force + factor · matrix · v`, square and row-major.
#[inline]
pub(crate) fn add_product(factor: f64, matrix: &[f64], v: &[f64], force: &mut [f64]) {
    for (force, row) in force.iter_mut().zip(matrix.chunks_exact(v.len())) {
        *force += factor * row.iter().zip(v).map(|(m, v)| m * v).sum::<f64>();
    }
}

/// `target ← target + factor · matrix`.
#[inline]
pub(crate) fn add_scaled(factor: f64, matrix: &[f64], target: &mut [f64]) {
    for (target, m) in target.iter_mut().zip(matrix) {
        *target += factor * m;
    }
}
