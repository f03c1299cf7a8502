//! Rods, beams, point masses and springs against closed forms, reference records and their own energies.

mod bend;
mod flight;
mod frame;
mod kink;
mod linear;
mod plane;
mod points;
mod space;
mod space_records;
