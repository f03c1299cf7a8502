//! What it costs to watch a run: nanoseconds per step of every observer, for a ball with 11 columns.
//!
//! `cargo bench -p saltus --bench output [STEPS]`. Short runs of 2000 steps show the cost of the code itself: the
//! best of 300, in memory that was used before. Long runs add what the system takes for fresh memory and files:
//! the best of five, in processor time of the thread (wall time where the system does not tell it). The time
//! to make the frames is taken off; runs of the real scheme stand beside for comparison.

#![allow(clippy::unwrap_used)]

use saltus::observe::Audit;
use saltus::output::{CsvWriter, Format, ResultDirectory, RowStream, RunCard, SpooledWriter};
use saltus::{
    ContactId, ContactLaw, ContactSet, Frame, Names, Observer, Plan, Recorder, RunInfo, Scheme,
    Simulation, State, Stop,
};
use saltus_integrators::{Certificate, Energy, Entry, Guarantees, Memory, Reactions, StepReport};
use std::hint::black_box;
use std::time::Instant;

/// A ball that needs no scheme: numbers with all their digits, an impact every 500 steps.
struct Frames {
    state: State,
    set: ContactSet,
    report: StepReport,
    gap_velocity: [f64; 1],
    impulse: [f64; 1],
}

impl Frames {
    fn new() -> Self {
        let mut set = ContactSet::default();
        set.push(ContactId(0), ContactLaw::frictionless(0.8), 1.0);
        let mut certificate = Certificate::EMPTY;
        for entry in [
            Entry::Dynamics,
            Entry::Penetration,
            Entry::ComplementarityVelocity,
            Entry::ImpactLaw,
            Entry::EnergyBalance,
        ] {
            certificate.set(entry, 1e-17);
        }
        let energy = Energy {
            kinetic: 0.0,
            potential: 0.0,
        };
        let report = StepReport {
            h: 1e-3,
            iterations: 0,
            active: 0,
            redundant: 0,
            remedies: 0,
            rejected: 0,
            energy,
            energy_lag: 0.0,
            work_external: 0.0,
            work_contact: 0.0,
            certificate,
        };
        Self {
            state: State::new(0.0, vec![1.0], vec![0.0]),
            set,
            report,
            gap_velocity: [0.0],
            impulse: [0.0],
        }
    }

    #[inline]
    fn step(&mut self, k: u64) -> Frame<'_> {
        let phase = (k % 500) as f64 * 1e-3;
        self.state.t = k as f64 * 1e-3;
        self.state.q[0] = phase * (2.0 - 3.9 * phase) / 3.0;
        self.state.v[0] = (2.0 - 7.8 * phase) / 3.0;
        self.set.gap[0] = self.state.q[0];
        self.gap_velocity[0] = self.state.v[0];
        self.impulse[0] = if phase == 0.0 { 1.0 / 3.0 } else { 0.0 };
        self.report.energy = Energy {
            kinetic: 0.5 * self.state.v[0] * self.state.v[0],
            potential: 9.81 * self.state.q[0],
        };
        self.frame(k)
    }

    fn frame(&self, step: u64) -> Frame<'_> {
        let reactions = Reactions {
            bilateral_gap: &[],
            bilateral_velocity: &[],
            bilateral_rate: &[],
            bilateral_impulse: &[],
            bilateral_force: &[],
            contacts: &self.set,
            gap_velocity: &self.gap_velocity,
            impulse: &self.impulse,
            force: &[],
            ..Reactions::of(&self.set)
        };
        Frame {
            step,
            state: &self.state,
            report: &self.report,
            reactions,
            events: &[],
            counts: saltus_integrators::Counts::default(),
            memory: Memory::NONE,
        }
    }
}

/// A clock that runs while this thread does [s].
fn clock() -> f64 {
    let used = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|s| s.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()));
    used.map_or_else(|| START.elapsed().as_secs_f64(), |ns| 1e-9 * ns)
}

static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);

/// Nanoseconds per step of `steps` frames shown to `observer`, and of its end.
fn pass(steps: u64, clock: fn() -> f64, observer: &mut dyn Observer) -> (f64, f64) {
    let names = Names {
        positions: vec!["y".into()],
        velocities: vec!["y".into()],
        bilateral: vec![],
        contacts: vec!["floor".into()],
        ..Names::default()
    };
    let plan = Plan::new(0.0, 1e-3, steps as f64 * 1e-3);
    let info = RunInfo {
        scheme: "moreau-jean",
        names: &names,
        plan,
        guarantees: Guarantees::default(),
        has_forces: false,
        tangents: &[],
        joint_tangents: &[],
        chooses_step: false,
        stable_step: None,
        forced_step: None,
        resolved_options: &[],
        velocity_lags: false,
    };
    let mut frames = Frames::new();
    observer.begin(&info, &frames.frame(0)).unwrap();
    let start = clock();
    for k in 1..=steps {
        let _ = black_box(observer.frame(black_box(&frames.step(k))).unwrap());
    }
    let middle = clock();
    observer.end(&Stop::EndReached).unwrap();
    let per_step = 1e9 / steps as f64;
    ((middle - start) * per_step, (clock() - middle) * per_step)
}

fn best(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// Prints what `make` costs per row in short and in long runs.
fn measure(
    name: &str,
    steps: u64,
    baseline: f64,
    make: &mut dyn FnMut() -> Box<dyn Observer>,
) -> f64 {
    let wall = || START.elapsed().as_secs_f64();
    let short: Vec<_> = (0..300).map(|_| pass(2000, wall, &mut *make())).collect();
    let short = best(short.iter().map(|p| p.0));
    let long: Vec<_> = (0..5).map(|_| pass(steps, clock, &mut *make())).collect();
    let frame = best(long.iter().map(|p| p.0)) - baseline;
    let end = best(long.iter().map(|p| p.1));
    println!(
        "{name:<34} short {:6.1} ns/row   long {frame:6.1} + {end:5.1} ns/row  ({:5.2} million rows/s)",
        short - baseline,
        1e3 / (frame + end)
    );
    short
}

struct Nothing;

impl Observer for Nothing {
    fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), saltus::ObserverError> {
        Ok(())
    }
    fn frame(&mut self, _: &Frame<'_>) -> Result<std::ops::ControlFlow<()>, saltus::ObserverError> {
        Ok(std::ops::ControlFlow::Continue(()))
    }
    fn end(&mut self, _: &Stop) -> Result<(), saltus::ObserverError> {
        Ok(())
    }
}

fn main() {
    let steps = std::env::args()
        .skip(1)
        .find_map(|a| a.parse().ok())
        .unwrap_or(1_000_000);
    let folder = std::env::temp_dir().join(format!("saltus-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let scheme = Scheme::by_name("moreau-jean").unwrap();
    println!("{steps} steps of a ball, 11 columns");
    let baseline = measure("frames alone", steps, 0.0, &mut || Box::new(Nothing));
    measure("recorder", steps, baseline, &mut || {
        Box::new(Recorder::new())
    });
    measure("recorder, every 100th row", steps, baseline, &mut || {
        Box::new(Recorder::new().every(100))
    });
    measure("audit", steps, baseline, &mut || Box::new(Audit::new()));
    measure("csv", steps, baseline, &mut || {
        Box::new(RowStream::new("ball").to(CsvWriter::new(folder.join("a.csv"))))
    });
    measure("csv, every 100th row", steps, baseline, &mut || {
        Box::new(
            RowStream::new("ball")
                .every(100)
                .to(CsvWriter::new(folder.join("a.csv"))),
        )
    });
    measure("npz", steps, baseline, &mut || {
        Box::new(RowStream::new("ball").to(SpooledWriter::npz(folder.join("a.npz"))))
    });
    measure("hdf5", steps, baseline, &mut || {
        Box::new(RowStream::new("ball").to(SpooledWriter::hdf5(folder.join("a.h5"))))
    });
    let card = RunCard::new("ball", &scheme);
    measure(
        "directory: csv, report, summary",
        steps,
        baseline,
        &mut || {
            let directory = ResultDirectory::new(folder.join("all"), card.clone());
            Box::new(
                directory
                    .formats(&[Format::Csv])
                    .report(true)
                    .open()
                    .unwrap(),
            )
        },
    );
    let ball = saltus_zoo::Ball {
        mass: 1.0,
        force: -9.81,
        restitution: 0.8,
    };
    let run = |record: bool| {
        let simulation =
            Simulation::new(&ball, scheme.clone()).start(State::new(0.0, vec![1.0], vec![0.0]));
        let simulation = simulation.step(1e-3).until(steps as f64 * 1e-3);
        let start = clock();
        if record {
            black_box(simulation.record().unwrap());
        } else {
            black_box(simulation.run(&mut []).unwrap());
        }
        (clock() - start) * 1e9 / steps as f64
    };
    println!(
        "{:<34} {:8.1} ns/step",
        "Moreau–Jean with audit",
        best((0..5).map(|_| run(false)))
    );
    println!(
        "{:<34} {:8.1} ns/step",
        "Moreau–Jean, audited and recorded",
        best((0..5).map(|_| run(true)))
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
