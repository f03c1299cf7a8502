//! A scheme that chooses its step and locates its impacts: the exact motion of a ball.

use saltus::{ContactSet, Contacts, Integrator, Reach, State, System};
use saltus_integrators::{
    Certificate, Energy, Event, EventKind, Guarantees, Reactions, StepError, StepReport,
};
use saltus_zoo::Ball;

/// Rebounds slower than this end the motion \[m/s\].
const SLOWEST: f64 = 1e-3;

/// Flies along parabolas. A step ends at an impact, is an eighth of the longest one after it, where a longer attempt is
/// rejected, and grows by a half from step to step.
pub struct ExactBall {
    ball: Ball,
    /// Longest step \[s\].
    longest: f64,
    /// Length of the next step \[s\].
    next: f64,
    resting: bool,
    contacts: ContactSet,
    gap_velocity: [f64; 1],
    impulse: [f64; 1],
    events: Vec<Event>,
}

impl ExactBall {
    pub fn new(ball: Ball) -> Box<Self> {
        Box::new(Self {
            ball,
            longest: 0.0,
            next: 0.0,
            resting: false,
            contacts: ContactSet::default(),
            gap_velocity: [0.0],
            impulse: [0.0],
            events: Vec::new(),
        })
    }

    fn report(&self, state: &State, h: f64, rejected: u32) -> StepReport {
        StepReport {
            h,
            iterations: 0,
            active: u32::from(self.impulse[0] > 0.0),
            redundant: 0,
            remedies: 0,
            rejected,
            energy: Energy {
                kinetic: 0.5 * self.ball.mass * state.v[0] * state.v[0],
                potential: -self.ball.force * state.q[0],
            },
            energy_lag: 0.0,
            work_external: 0.0,
            work_contact: 0.0,
            certificate: Certificate::EMPTY,
        }
    }

    /// The ball arrives with the velocity `v` \[m/s\] at the time `t` \[s\]; the velocity after.
    fn hit(&mut self, t: f64, v: f64) -> f64 {
        let Ball {
            mass, restitution, ..
        } = self.ball;
        let rebound = -restitution * v;
        self.resting = rebound < SLOWEST;
        let after = if self.resting { 0.0 } else { rebound };
        self.impulse[0] = mass * (after - v);
        self.events.push(Event {
            kind: if self.resting {
                EventKind::Accumulation
            } else {
                EventKind::Impact
            },
            t,
            contact: self.contacts.id[0],
            velocity_before: [v, 0.0, 0.0],
            velocity_after: [after, 0.0, 0.0],
            impulse: [self.impulse[0], 0.0, 0.0],
            energy_lost: 0.5 * mass * (v * v - after * after),
            energy: None,
        });
        after
    }
}

impl Integrator for ExactBall {
    fn name(&self) -> &'static str {
        "exact-ball"
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees::default()
    }

    fn prepare(&mut self, _: &dyn System, state: &State, h: f64) -> Result<StepReport, StepError> {
        (self.longest, self.next, self.resting) = (h, 0.125 * h, false);
        let reach = Reach::Within(f64::INFINITY);
        self.ball
            .detect(state.t, &state.q, reach, &mut self.contacts);
        (self.gap_velocity, self.impulse) = ([state.v[0]], [0.0]);
        self.events.clear();
        Ok(self.report(state, h, 0))
    }

    fn step(
        &mut self,
        _: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        self.events.clear();
        self.impulse[0] = 0.0;
        let (y, v) = (state.q[0], state.v[0]);
        let a = self.ball.force / self.ball.mass;
        let mut length = self.next.min(h);
        self.next = (1.5 * self.next).min(self.longest);
        let mut rejected = 0;
        let until_impact = (v + (v * v - 2.0 * a * y).sqrt()) / -a;
        if self.resting {
            self.impulse[0] = -self.ball.force * length;
        } else if until_impact <= length {
            length = until_impact;
            (state.q[0], state.v[0]) = (0.0, self.hit(state.t + length, v + a * length));
            self.next = 0.125 * self.longest;
            rejected = 1;
        } else {
            (state.q[0], state.v[0]) = (y + length * (v + 0.5 * a * length), v + a * length);
        }
        let t = state.t + length;
        state.t = if length == h { t.min(end) } else { t };
        self.contacts.gap[0] = state.q[0];
        self.gap_velocity[0] = state.v[0];
        Ok(self.report(state, length, rejected))
    }

    fn reactions(&self) -> Reactions<'_> {
        Reactions {
            gap_velocity: &self.gap_velocity,
            impulse: &self.impulse,
            ..Reactions::of(&self.contacts)
        }
    }

    fn interpolate(&self, _: &dyn System, _: f64, _: &mut State) {}

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn chooses_step(&self) -> bool {
        true
    }

    fn save(&self, memory: &mut Vec<f64>) {
        memory.clear();
        memory.extend([self.next, f64::from(u8::from(self.resting))]);
    }

    fn load(&mut self, memory: &[f64]) {
        (self.next, self.resting) = (memory[0], memory[1] > 0.0);
    }
}
