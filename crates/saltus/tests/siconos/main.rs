//! Trajectories of Siconos (`../shared/data/siconos`), each with the agreement that its `case.md` states.
//!
//! The systems are model files, in `cases/` or written here; bodies with quaternions are systems of `saltus-zoo`. Where
//! the data are absent the tests say so and pass, unless `SALTUS_REQUIRE_SHARED=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod balls;
mod bar;
mod bodies;
mod census;
mod events;
mod oscillator;
mod peer;
mod pendulum;
mod projections;
#[path = "../support/shared.rs"]
mod shared;
