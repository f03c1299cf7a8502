//! The hidden variables of the scheme, for runs that go on.

use super::Prepared;
use super::accumulation::TimeStepping;
use super::scales::Scales;

impl Prepared {
    /// Appends what [`load`](Self::load) takes up.
    pub(super) fn save(&self, memory: &mut Vec<f64>) {
        self.step.save(memory);
        memory.extend([
            f64::from(u8::from(self.modes_are_current)),
            self.scales.length,
            self.scales.speed,
            self.scales.acceleration,
            self.origin,
            self.nominal,
            f64::from(self.events),
            self.last_event,
            self.arc.suggestion[0],
            self.arc.suggestion[1],
        ]);
        self.memory.save(memory);
        let stepping = self.time_stepping.as_ref();
        memory.push(f64::from(u8::from(stepping.is_some())));
        if let Some(stepping) = stepping {
            stepping.save(memory);
        } else {
            self.arc.save_piece(memory);
        }
    }

    /// Takes up what [`save`](Self::save) gave.
    pub(super) fn load(&mut self, memory: &[f64]) {
        let rest = self.step.load(memory);
        let [
            current,
            length,
            speed,
            acceleration,
            origin,
            nominal,
            events,
            last,
            explicit,
            implicit,
            rest @ ..,
        ] = rest
        else {
            return;
        };
        self.modes_are_current = *current == 1.0;
        self.scales = Scales {
            length: *length,
            speed: *speed,
            acceleration: *acceleration,
        };
        (self.origin, self.nominal) = (*origin, *nominal);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let events = *events as u32;
        (self.events, self.last_event) = (events, *last);
        self.arc.suggestion = [*explicit, *implicit];
        let rest = self.memory.load(rest);
        self.is_loaded = true;
        self.time_stepping = None;
        match rest {
            [1.0, rest @ ..] => self.time_stepping = TimeStepping::load(rest),
            [_, rest @ ..] => self.arc.load_piece(rest),
            [] => {}
        }
    }
}
