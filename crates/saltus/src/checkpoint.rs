//! A run that stopped, in a form that goes on bit for bit.

use saltus_system::State;
use serde::{Deserialize, Serialize};

/// Everything needed to go on: the time grid, the state, and what the scheme remembers.
///
/// Written to JSON and read back it is the same, to the last bit, with a JSON library that writes and
/// reads shortest round-trip numbers (`serde_json` with its feature `float_roundtrip`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Version of this format; 1.
    pub format: u32,
    /// Name of the scheme whose memory this is.
    pub scheme: String,
    /// Time of step 0 of the grid \[s\].
    pub start: f64,
    /// Length of a step \[s\].
    pub step: f64,
    /// Number of steps of the grid that were taken.
    pub steps: u64,
    /// Time of the state \[s\].
    pub t: f64,
    /// Positions (nq).
    pub q: Vec<f64>,
    /// Velocities (nv).
    pub v: Vec<f64>,
    /// What the scheme remembers.
    pub memory: Vec<f64>,
    /// Contacts that carried an impulse in the last step: they do not impact when the run goes on.
    pub closed: Vec<u64>,
}

impl Checkpoint {
    /// The format written by this version.
    pub const FORMAT: u32 = 1;

    /// Time after `steps` steps of `step` from `start` \[s\].
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn grid_time(start: f64, step: f64, steps: u64) -> f64 {
        start + steps as f64 * step
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        State::new(self.t, self.q.clone(), self.v.clone())
    }
}
