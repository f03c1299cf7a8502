//! What tells the states of a run apart without keeping them.

use saltus_system::State;

/// What tells states apart: the sum of the bits of all positions, and of all velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fingerprint(u64, u64);

impl Fingerprint {
    #[inline]
    pub(crate) fn take(&mut self, q: f64, v: f64) {
        self.0 = self.0.wrapping_add(q.to_bits());
        self.1 = self.1.wrapping_add(v.to_bits());
    }

    /// Takes in some rows.
    #[inline]
    pub(crate) fn take_all(&mut self, q: &[f64], v: &[f64]) {
        for (q, v) in q.iter().zip(v) {
            self.take(*q, *v);
        }
    }

    pub(crate) fn of(state: &State) -> Self {
        let mut all = Self::default();
        all.take_all(&state.q, &state.v);
        all
    }
}
