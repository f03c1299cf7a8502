//! Which contacts take part in the impact law of a step.

use super::options::{Forecast, MoreauJeanOptions};
use saltus_linear::is_zero;
use saltus_system::{ContactSet, System};

/// The contacts of a step.
#[derive(Debug, Default)]
pub(super) struct ActiveContacts {
    /// By their index in the set, increasing.
    pub(super) list: Vec<usize>,
    /// The same contacts, evaluated where the forecast looks.
    pub(super) probe: ContactSet,
}

impl ActiveContacts {
    /// Chooses the contacts of a step of `h` \[s\] with the velocity `v` at its start, where they are `set`. `probe` evaluates contacts the
    /// given time ahead \[s\] along that velocity. With [`Forecast::Predicted`] the probe is where the law is.
    pub(super) fn choose(
        &mut self,
        options: &MoreauJeanOptions,
        (set, v): (&ContactSet, &[f64]),
        (epsilon, h): (f64, f64),
        mut evaluate: impl FnMut(f64, &mut ContactSet),
    ) {
        let Self { list, probe } = self;
        list.clear();
        let ahead = options.gamma * h;
        let all = 0..set.len();
        match options.forecast {
            _ if set.is_empty() => {}
            Forecast::Smooth => {}
            Forecast::Start => {
                let closes = |&i: &usize| set.gap[i] + ahead * set.normal_velocity(i, v) <= epsilon;
                list.extend(all.filter(closes));
            }
            Forecast::Position => {
                evaluate(ahead, probe);
                list.extend(all.filter(|&i| probe.gap[i] <= epsilon));
            }
            Forecast::Predicted => {
                evaluate(h, probe);
                let closes =
                    |&i: &usize| probe.gap[i] + ahead * probe.normal_velocity(i, v) <= epsilon;
                list.extend(all.filter(closes));
            }
        }
    }

    /// Chooses the contacts that are closed at `(end, q)`, the end of a step taken without any; `false` where there are none.
    pub(super) fn choose_closed(
        &mut self,
        system: &dyn System,
        (end, q): (f64, &[f64]),
        epsilon: f64,
    ) -> bool {
        if self.probe.is_empty() {
            return false;
        }
        system.evaluate_contacts(end, q, &mut self.probe);
        let gap = &self.probe.gap;
        self.list
            .extend((0..gap.len()).filter(|&i| gap[i] <= epsilon));
        !self.list.is_empty()
    }

    /// Gives `law`, which is evaluated at the time `t`, the rates `∂g/∂t` at `end`: a contact that stays closed on an accelerating wall
    /// then has zero gap velocity at the end of the step. `rate` are those at its start; the probe is overwritten.
    pub(super) fn use_rates_at_end(
        &mut self,
        system: &dyn System,
        law: &mut ContactSet,
        (t, end): (f64, f64),
        q: &[f64],
        rate: &[f64],
    ) {
        if t == end || is_zero(&law.rate) && is_zero(rate) {
            return;
        }
        system.evaluate_contacts(end, q, &mut self.probe);
        law.rate.copy_from_slice(&self.probe.rate);
    }
}
