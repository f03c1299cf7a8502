//! Solids against the records of `../shared/reference/flexible.json`, closed forms and invariances.
//!
//! Not covered: `solid.patch.*` with `linear/reduced` (one-point integration is not offered: it leaves hourglass
//! modes), and the meshes of 64 and 128 elements of Cook's membrane in builds without optimisation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod block;
mod body;
mod cook;
mod derivatives;
mod golden;
mod patch;
mod rates;
#[allow(dead_code)]
#[path = "../line_elements/support.rs"]
mod support;
