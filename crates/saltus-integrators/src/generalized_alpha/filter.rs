//! The filter variables `a`, `η`: saved in checkpoints and rescaled when the step size changes.
//!
//! `a_n ≈ v̇(t_n + (α_m − α_f) h)`, so that a step of another length `h'` has `a' = v̇ + (h'/h)(a − v̇)`, and `η` likewise. Without
//! the rescaling order 2 is lost where the step size changes.

use super::engine::{Engine, Start};
use saltus_system::ContactId;

/// Filter variables saved before a rescaling, and whether a checkpoint was loaded.
#[derive(Debug, Default)]
pub(super) struct SavedFilter {
    a: Vec<f64>,
    eta: Vec<f64>,
    filtered_force: Vec<f64>,
    length: f64,
    /// Whether the filters come from a checkpoint whose state is given with the next step.
    pub(super) is_loaded: bool,
}

impl SavedFilter {
    /// Stores the variables that a change of the step size rescales.
    pub(super) fn store(&mut self, start: &Start) {
        self.a.clone_from(&start.a);
        self.eta.clone_from(&start.eta);
        self.filtered_force.clone_from(&start.filtered_force);
        self.length = start.length;
    }

    /// Restores the variables of [`store`](Self::store).
    pub(super) fn restore(&self, start: &mut Start) {
        start.a.clone_from(&self.a);
        start.filtered_force.clone_from(&self.filtered_force);
        start.length = self.length;
        if start.eta.len() == self.eta.len() {
            start.eta.clone_from(&self.eta);
        }
    }
}

impl Engine {
    /// Rescales the filter variables to steps of length `h`.
    pub(super) fn rescale_filters(&mut self, h: f64) {
        let start = &mut self.start;
        if start.length == h {
            return;
        }
        let ratio = h / start.length;
        for (filtered, exact) in [
            (&mut start.a, &start.v_dot),
            (&mut start.eta, &start.lambda),
            (&mut start.filtered_force, &start.nonconservative_force),
        ] {
            for (f, x) in filtered.iter_mut().zip(exact) {
                *f = x + ratio * (*f - x);
            }
        }
        start.length = h;
    }

    /// Writes to `memory` all that the next step depends on beside the state.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        self.captured.save(memory);
        memory.extend([
            self.momentum_scale.scale,
            self.force_scale,
            self.bias_scale,
            self.epsilon,
        ]);
        let s = &self.start;
        memory.extend([s.length, f64::from(u8::from(s.is_filtered))]);
        memory.push(s.lambda.len() as f64);
        for list in [
            &s.v_dot,
            &s.a,
            &s.nonconservative_force,
            &s.filtered_force,
            &s.lambda,
            &s.eta,
        ] {
            memory.extend_from_slice(list);
        }
        if self.settings.location.is_some() {
            memory.extend(s.closed.iter().map(|c| f64::from(u8::from(*c))));
        }
        memory.extend(s.ids.iter().map(|id| f64::from_bits(id.0)));
        if !self.contacts_are_fixed {
            memory.extend(self.rows.set.feature.iter().map(|f| f64::from(*f)));
        }
        memory.push(self.monolithic.capacity as f64);
    }

    /// Restores what [`save`](Self::save) wrote; the state of that time is given with the next step.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // written as whole numbers
    pub(super) fn load(&mut self, memory: &[f64]) {
        let memory = self.captured.load(memory);
        let [
            scale,
            force_scale,
            bias_scale,
            epsilon,
            length,
            is_filtered,
            count,
            rest @ ..,
        ] = memory
        else {
            return;
        };
        let (n, ng) = (self.dims.nv, self.dims.ng);
        let m = *count as usize;
        if m < ng {
            return;
        }
        let contacts = m - ng;
        let features = if self.contacts_are_fixed { 0 } else { contacts };
        let sets = if self.settings.location.is_some() {
            m
        } else {
            0
        };
        if rest.len() < 4 * n + 2 * m + sets + contacts + features {
            return;
        }
        self.momentum_scale.scale = *scale;
        self.force_scale = *force_scale;
        self.bias_scale = *bias_scale;
        self.epsilon = *epsilon;
        let s = &mut self.start;
        s.length = *length;
        s.is_filtered = *is_filtered > 0.0;
        let mut rest = rest;
        for (list, size) in [
            (&mut s.v_dot, n),
            (&mut s.a, n),
            (&mut s.nonconservative_force, n),
            (&mut s.filtered_force, n),
            (&mut s.lambda, m),
            (&mut s.eta, m),
        ] {
            let (part, others) = rest.split_at(size);
            list.clear();
            list.extend_from_slice(part);
            rest = others;
        }
        let (closed, rest) = rest.split_at(sets);
        let (ids, rest) = rest.split_at(contacts);
        let (features, rest) = rest.split_at(features);
        s.closed.clear();
        s.closed.extend(closed.iter().map(|c| *c > 0.0));
        s.closed.resize(m, false);
        s.ids.clear();
        s.ids.extend(ids.iter().map(|id| ContactId(id.to_bits())));
        // Everything else in `start` belongs to another state.
        s.t = f64::NAN;
        self.saved_filter.is_loaded = true;
        self.restored_features.clear();
        self.restored_features
            .extend(features.iter().map(|f| *f as u32));
        if let [capacity] = rest {
            self.monolithic.capacity = *capacity as usize;
        }
    }
}
