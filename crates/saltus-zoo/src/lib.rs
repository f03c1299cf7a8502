//! Systems written by hand against the contract of `saltus-system`.
//!
//! They are what a user's own code would look like, the yardstick for formula models, and the
//! subjects of tests and benchmarks.

mod linear;
mod pendulum;
mod slider_crank;
mod spinning;

pub use linear::ball::Ball;
pub use linear::{Linear, LinearContact, ball_over_floor, bar, oscillator};
pub use pendulum::{BouncingPendulum, DoublePendulum};
pub use slider_crank::SliderCrank;
pub use spinning::SpinningBody;
