//! Runs a case and reads what came out.

use saltus::observe::{ContactStatistics, Event, EventKind, Outcome};
use saltus::{Simulation, Trajectory};
use saltus_model::{Model, Override};
use std::path::PathBuf;

/// The folder of the cases.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// A case that was run, with every step.
pub struct Ran {
    pub model: Model,
    pub trajectory: Trajectory,
}

/// Runs the model of a case, changed by `overrides`, as it says.
pub fn run(case: &str, overrides: &[&str]) -> Ran {
    let overrides: Vec<Override> = overrides.iter().map(|&o| Override::set(o)).collect();
    let path = folder().join(case).join("model.toml");
    let model = Model::load(path, &overrides).unwrap_or_else(|errors| panic!("{errors}"));
    let trajectory = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record()
        .unwrap();
    if !model.scheme.chooses_step() {
        assert_eq!(trajectory.len() as u64, model.plan.steps() + 1);
    }
    Ran { model, trajectory }
}

impl Ran {
    /// A column, one value per step.
    pub fn column(&self, name: &str) -> Vec<f64> {
        self.trajectory.column(name).unwrap().to_vec()
    }

    /// The last value of a column.
    pub fn last(&self, name: &str) -> f64 {
        self.trajectory.column(name).unwrap().last().unwrap()
    }

    pub fn outcome(&self) -> &Outcome {
        self.trajectory.outcome().unwrap()
    }

    pub fn h(&self) -> f64 {
        self.model.plan.step
    }

    pub fn contact(&self, name: &str) -> &ContactStatistics {
        let contacts = &self.outcome().events.contacts;
        contacts.iter().find(|c| c.name == name).unwrap()
    }

    /// The impacts of a contact.
    pub fn impacts(&self, name: &str) -> Vec<Event> {
        let events = &self.outcome().events;
        let index = events.contacts.iter().position(|c| c.name == name).unwrap();
        let list = events.list.iter();
        list.filter(|e| e.kind == EventKind::Impact && e.contact.0 == index as u64)
            .copied()
            .collect()
    }

    /// The middles of the steps in which a contact closes. The forecast looks half a step ahead, so that the middle
    /// of the first such step comes between 0 and one step after the impact.
    pub fn impact_times(&self, name: &str) -> Vec<f64> {
        let middle = |e: &Event| e.t - 0.5 * self.h();
        self.impacts(name).iter().map(middle).collect()
    }

    /// How well the scheme knows the time of impact `j` (from 0) \[s\]: an impact found `s ≤ h` late at the speed
    /// `u` leaves the body `u s` behind the wall, from where it returns at `e u`, so that the next flight begins
    /// `s (1 + 1/e)` late.
    pub fn timing(&self, j: usize, e: f64) -> f64 {
        (1.0 + number(j) * (1.0 + 1.0 / e)) * self.h()
    }

    /// Holds the first impacts of a contact to `times` \[s\] as well as the scheme knows them.
    #[track_caller]
    pub fn impacts_at(&self, contact: &str, e: f64, times: &[f64]) {
        let ours = self.impact_times(contact);
        for (j, time) in times.iter().enumerate() {
            let tolerance = self.timing(j, e);
            close(&format!("impact {j}"), ours[j], *time, tolerance);
        }
    }

    /// Holds the accumulation of the impacts of a contact under a constant force to `time` \[s\].
    ///
    /// Up to the end, each of the `n` impacts shifts it by at most `h/e`. The end is missed where the next flight,
    /// of height `(e u)²/2a`, stays below the penetration `u h/2`, `2 h/(e (1 − e))` early.
    #[track_caller]
    pub fn accumulates_at(&self, contact: &str, e: f64, time: f64) {
        let contact = self.contact(contact);
        let n = number(usize::try_from(contact.impacts).unwrap());
        let tolerance = self.h() * (n / e + 2.0 / (e * (1.0 - e)));
        let ours = contact.accumulation.expect("the impacts accumulate");
        println!("{n} impacts");
        close("accumulation", ours, time, tolerance);
    }
}

/// A count as a number.
pub fn number(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

/// Largest difference from the first value.
pub fn drift(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |most: f64, x| most.max((x - values[0]).abs()))
}

/// Says and holds that `ours` is within `tolerance` of `theirs`.
#[track_caller]
pub fn close(what: &str, ours: f64, theirs: f64, tolerance: f64) {
    let difference = (ours - theirs).abs();
    println!("{what}: {ours:.10} for {theirs:.10}, {difference:.1e} of {tolerance:.1e}");
    assert!(
        difference <= tolerance,
        "{what} is {ours}, not {theirs} ± {tolerance:e}"
    );
}
