//! What the tests of this crate share: balls, folders, a scheme that fails.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

pub mod exact_ball;
pub mod stop_after;

use saltus::output::{ResultDirectory, RunCard};
use saltus::{Integrator, Scheme, Simulation, State, System};
use saltus_integrators::{Event, Guarantees, MoreauJeanOptions, Reactions, StepError, StepReport};
use saltus_model::{Format as Text, Model};
use saltus_zoo::Ball;
use std::path::{Path, PathBuf};

/// The ball of Acary's lecture: unit mass, force −2, restitution 1/2.
pub const LECTURE: Ball = Ball {
    mass: 1.0,
    force: -2.0,
    restitution: 0.5,
};

pub fn scheme() -> Scheme {
    Scheme::MoreauJean(MoreauJeanOptions::default())
}

/// The lecture ball dropped from height 1: impacts at 1, 2, 5/2, 11/4, …, accumulation at 3.
pub fn lecture(ball: &Ball) -> Simulation<'_> {
    Simulation::new(ball, scheme())
        .start(State::new(0.0, vec![1.0], vec![0.0]))
        .step(1e-3)
        .until(4.0)
}

/// The model that a text in TOML describes.
pub fn model(name: &str, text: &str) -> Model {
    Model::parse(
        name,
        &format!("{name}.toml"),
        text.to_owned(),
        Text::Toml,
        &[],
    )
    .unwrap_or_else(|errors| panic!("{errors}"))
}

/// Runs a model as its file says, with one observer.
pub fn run(model: &Model, observer: &mut dyn saltus::Observer) {
    Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .run(&mut [observer])
        .unwrap();
}

/// An empty folder of its own for a test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

pub fn directory(path: &Path) -> ResultDirectory {
    ResultDirectory::new(path, RunCard::new("lecture ball", &scheme()))
}

pub fn summary(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path.join("summary.json")).unwrap()).unwrap()
}

/// A scheme that works for a number of steps and then does not; in the first it reports `events`.
pub struct Failing {
    pub inner: Box<dyn Integrator>,
    pub steps: u32,
    pub events: Vec<Event>,
    taken: u32,
}

impl Failing {
    pub fn after(steps: u32) -> Box<Self> {
        Box::new(Self {
            inner: scheme().build().unwrap(),
            steps,
            events: Vec::new(),
            taken: 0,
        })
    }
}

impl Integrator for Failing {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn prepare(
        &mut self,
        system: &dyn System,
        state: &State,
        h: f64,
    ) -> Result<StepReport, StepError> {
        self.inner.prepare(system, state, h)
    }

    fn step(
        &mut self,
        system: &dyn System,
        state: &mut State,
        h: f64,
        end: f64,
    ) -> Result<StepReport, StepError> {
        if self.steps == 0 {
            return Err(StepError::NotFinite {
                quantity: "the force",
                place: "y".into(),
                t: state.t,
            });
        }
        self.steps -= 1;
        self.taken += 1;
        self.inner.step(system, state, h, end)
    }

    fn reactions(&self) -> Reactions<'_> {
        self.inner.reactions()
    }

    fn interpolate(&self, system: &dyn System, fraction: f64, out: &mut State) {
        self.inner.interpolate(system, fraction, out);
    }

    fn events(&self) -> &[Event] {
        if self.taken == 1 { &self.events } else { &[] }
    }

    fn save(&self, memory: &mut Vec<f64>) {
        self.inner.save(memory);
    }

    fn load(&mut self, memory: &[f64]) {
        self.inner.load(memory);
    }
}
