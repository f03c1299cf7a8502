//! Rods, beams, point masses and springs against closed forms, reference records and their own energies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod linear;
mod plane;
mod space;
mod support;
