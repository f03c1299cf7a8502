//! Motions with impacts that are known in closed form.
//!
//! Every motion is a list of arcs between impacts, each of which is solved by elementary functions;
//! where impacts accumulate, the motion ends in rest. Velocities are right-continuous: at the instant
//! of an impact they are those after it.

mod bar;
mod mass;
mod pendulum;
mod two_masses;

pub use bar::ImpactingBar;
pub use mass::ImpactingMass;
pub use pendulum::ImpactingPendulum;
pub use two_masses::TwoMasses;

/// One impact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impact {
    /// Instant \[s\].
    pub t: f64,
    /// Normal velocity before \[m/s\], ≤ 0.
    pub before: f64,
    /// Normal velocity after \[m/s\], ≥ 0.
    pub after: f64,
}
