//! Systems written by hand against the contract of `saltus-system`.
//!
//! They are what a user's own code would look like, the yardstick for formula models, and the
//! subjects of tests and benchmarks.

mod bar;
mod block;
mod jointed;
mod linear;
mod pendulum;
mod planar;
mod ring;
mod slider_crank;
mod spinning;
mod wall;

pub use bar::ElasticBar;
pub use block::RockingBlock;
pub use jointed::{Joint, JointedBody};
pub use linear::ball::Ball;
pub use linear::{
    Linear, LinearContact, ball_over_floor, bar, corner, newtons_cradle, oscillator,
    spring_over_floor, two_masses,
};
pub use pendulum::{BouncingPendulum, DoublePendulum};
pub use ring::RingPendulum;
pub use slider_crank::SliderCrank;
pub use spinning::SpinningBody;
pub use wall::DoublePendulumAtWall;
