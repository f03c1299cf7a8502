//! Accelerations for the forces of supports and in sections: means over the steps.

use saltus_system::State;

/// The mean acceleration over the last step, as the states of a run come by; 0 at the first of them.
#[derive(Debug, Clone)]
pub(crate) struct MeanAcceleration {
    /// Time and velocities of the state before.
    before: (f64, Vec<f64>),
    values: Vec<f64>,
}

impl Default for MeanAcceleration {
    fn default() -> Self {
        Self {
            before: (f64::NAN, Vec::new()),
            values: Vec::new(),
        }
    }
}

impl MeanAcceleration {
    /// Goes on to `state`.
    pub(crate) fn update(&mut self, state: &State) {
        let (t, v) = &mut self.before;
        self.values.resize(state.v.len(), 0.0);
        let length = state.t - *t;
        if v.len() == state.v.len() && length > 0.0 {
            for (a, (new, old)) in self.values.iter_mut().zip(state.v.iter().zip(&*v)) {
                *a = (new - old) / length;
            }
        }
        *t = state.t;
        v.clone_from(&state.v);
    }

    /// One value per velocity.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }
}
