//! Forces and energies of a few rows at a time.
//!
//! The force on a row of a large body depends on its neighbours alone. A scheme that asks for a few rows goes on with
//! them while they are in the cache; one that asks for all rows moves every vector through the memory once more.

use std::ops::Range;

/// Some successive positions and velocities.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    /// Time \[s\].
    pub t: f64,
    /// Number of the first coordinate.
    pub first: usize,
    /// Positions from there on.
    pub q: &'a [f64],
    /// Velocities from there on; may be empty where no force depends on them.
    pub v: &'a [f64],
}

/// A system in flat coordinates whose velocity `i` moves position `i` (`nq = nv`), and whose force on row `i` depends
/// on the coordinates `i − reach ..= i + reach` alone.
///
/// Windows hold at least the rows asked for and their neighbours within reach, as far as there are any.
pub trait StreamedDynamics {
    /// How far the force on a row reaches.
    fn reach(&self) -> usize;

    /// The rows `rows` of [`force`](crate::Dynamics::force), overwritten: `force[0]` is that of the first one.
    fn force_rows(&self, at: Window<'_>, rows: Range<usize>, force: &mut [f64]);

    /// The same of [`active_force`](crate::Dynamics::active_force); not asked of conservative systems.
    fn active_force_rows(&self, at: Window<'_>, rows: Range<usize>, active: &mut [f64]) {
        let _ = (at, rows);
        active.fill(0.0);
    }

    /// Share of the rows in [`potential_energy`](crate::Dynamics::potential_energy) \[J\]: the shares of ranges that cover
    /// all rows add up to it. Velocities are not looked at.
    fn potential_rows(&self, at: Window<'_>, rows: Range<usize>) -> f64;
}
