//! Solids against the records of `../shared/reference/flexible.json`, closed forms and invariances.
//!
//! Not covered: `solid.patch.Q4` with `linear/reduced` (one-point integration is not offered: it leaves hourglass
//! modes); of `solid.rates.*` with distorted meshes the orders are compared, not the errors of one random mesh.

mod block;
mod body;
mod cook;
mod derivatives;
mod golden;
mod patch;
mod rates;
