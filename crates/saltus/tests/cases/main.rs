//! Every case of `cases/` through the public door, against the closed forms that its README states.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod balls;
mod books;
mod flexible;
mod folders;
mod friction;
mod impacts;
mod joints;
mod mechanisms;
mod oscillators;
mod pendulums;
mod piles;
mod record;
mod run;
#[path = "../support/shared.rs"]
mod shared;
mod solids;
