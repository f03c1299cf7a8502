//! All tests of the crate in one program, which is linked once.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod adaptive;
mod at_rest;
mod consistent;
mod drive;
mod event_driven;
mod event_driven_driven;
mod event_driven_energetic;
mod event_driven_jumps;
mod event_driven_spatial;
mod event_driven_stiff;
mod generalized_alpha;
mod generalized_alpha_contacts;
mod generalized_alpha_failure;
mod generalized_alpha_golden;
mod higher_order;
mod large_linear;
mod located_impacts;
mod many_contacts;
mod moreau_jean;
mod projected;
mod schemes;
mod splitting;
mod support;
