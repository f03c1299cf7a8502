//! The examinations: what every scheme must show on every case, whatever its name.
//!
//! A new scheme enters in `all_candidates` of [`subjects`], with what it promises; what does not apply to it is an exemption there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod allocation;
mod books;
#[path = "../../../saltus-complementarity/tests/support/counting.rs"]
mod counting;
mod energy;
mod invariance;
mod order;
mod rest;
mod restart;
mod solved;
#[path = "../support/stop_after.rs"]
mod stop_after;
mod subjects;
#[path = "../support/tiers.rs"]
mod tiers;
mod transformed;
