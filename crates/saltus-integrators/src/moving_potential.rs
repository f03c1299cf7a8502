//! The work of a potential that changes by itself, `∫ ∂V/∂t dt`, for every scheme alike.

use crate::certificate::Entry;
use crate::integrator::StepReport;
use saltus_system::{State, System};

/// A system whose potential depends on time, with the last state.
pub(crate) struct MovingPotential {
    is_flat: bool,
    before: State,
    /// `∂V/∂t` there \[W\].
    rate: f64,
    middle: Vec<f64>,
}

impl MovingPotential {
    /// `None` where the potential does not depend on time.
    pub(crate) fn new(system: &dyn System, state: &State) -> Option<Self> {
        Some(Self {
            is_flat: system.is_flat(),
            rate: system.potential_rate(state.t, &state.q)?,
            before: state.clone(),
            middle: state.q.clone(),
        })
    }

    /// Adds the work over the step that ended at `state` to its report, by Simpson's rule with the cubic through both ends; in
    /// coordinates without one by the trapezoidal rule.
    pub(crate) fn include(&mut self, system: &dyn System, state: &State, report: &mut StepReport) {
        let rate = |t: f64, q: &[f64]| system.potential_rate(t, q).unwrap_or(0.0);
        let before = &mut self.before;
        let h = state.t - before.t;
        let end = rate(state.t, &state.q);
        let mean = if self.is_flat {
            for (i, middle) in self.middle.iter_mut().enumerate() {
                let turn = 0.125 * h * (before.v[i] - state.v[i]);
                *middle = 0.5 * (before.q[i] + state.q[i]) + turn;
            }
            let middle = rate(0.5 * (before.t + state.t), &self.middle);
            (self.rate + 4.0 * middle + end) / 6.0
        } else {
            0.5 * (self.rate + end)
        };
        let work = h * mean;
        report.work_external += work;
        let balance = report.certificate.get(Entry::EnergyBalance);
        report.certificate.set(Entry::EnergyBalance, balance - work);
        self.rate = end;
        before.t = state.t;
        before.q.copy_from_slice(&state.q);
        before.v.copy_from_slice(&state.v);
    }
}
