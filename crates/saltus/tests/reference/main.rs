//! The schemes against published and independently computed values.
//!
//! The values are read from `../shared/reference` beside the repository. Where these are absent
//! the tests say so and pass, unless `SALTUS_REQUIRE_SHARED=1`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adaptive;
mod alpha_bar;
mod alpha_block;
mod alpha_flexible;
mod alpha_golden;
mod alpha_located;
mod alpha_masses;
mod alpha_pendulum;
mod alpha_smooth;
mod capture_energy;
mod capture_friction;
mod capture_order;
mod capture_projection;
mod capture_splitting;
mod capture_steps;
mod entries;
mod event_driven;
mod event_driven_scheme;
mod flexible;
mod half_explicit;
mod half_explicit_runs;
mod half_explicit_systems;
mod higher_order;
mod lemmas;
mod located_orders;
mod rocking;
mod run;
#[path = "../support/shared.rs"]
mod shared;
#[path = "../support/tiers.rs"]
mod tiers;
