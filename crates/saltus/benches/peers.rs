//! Our side of the comparison with a peer: CPU time per step of ball and slider–crank under several schemes, recorded
//! in memory with certificate, as a system written in Rust and as a model file, and of a bar whose rows are thinned. One
//! `RESULT {json}` line each; with an argument the cases whose name contains it alone, `bar1000000` only then. A second argument,
//! `once`, runs each once, for counts of instructions.
#![allow(clippy::unwrap_used)]

use saltus::{Scheme, Simulation, State, System};
use saltus_integrators::{Explicit, MoreauJeanOptions};
use saltus_model::{Model, Override};
use saltus_zoo::{Ball, ElasticBar, SliderCrank};
use std::path::PathBuf;

/// User CPU time of this thread so far [s]; the kernel counts it in hundredths of a second.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields = text.rsplit(')').next().unwrap().split_whitespace();
    fields
        .skip(11)
        .take(1)
        .map(|x| x.parse::<f64>().unwrap())
        .sum::<f64>()
        * 1e-2
}

fn wanted(case: &str) -> bool {
    std::env::args()
        .nth(1)
        .is_none_or(|only| !case.contains("-") || case.contains(&only) || only.starts_with("--"))
}

/// A run that is measured: every column of every step is kept.
#[derive(Clone, Copy)]
struct Run<'a> {
    case: &'a str,
    scheme: &'a str,
    system: &'a dyn System,
    start: &'a State,
    h: f64,
    until: f64,
    repeat: u32,
    /// Every how many steps a row is kept.
    every: u64,
}

/// Largest memory of this process so far \[MB\].
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1024.0
}

/// The bar of the peer: length 10 m, speed of waves 30 m/s, 10 m/s towards a wall; from the start until `until` \[s\].
fn bar(elements: u32, gap: f64, until: f64, repeat: u32) {
    let system = ElasticBar::of_elements(elements as usize);
    let start = State::new(0.0, vec![gap; system.nodes], vec![-10.0; system.nodes]);
    let h = 1.2 * (10.0 / f64::from(elements)) / 30.0;
    let case = format!("bar{elements}-rust");
    measure(&Run {
        case: &case,
        scheme: "moreau-jean",
        system: &system,
        start: &start,
        h,
        until,
        repeat,
        every: u64::MAX,
    });
}

fn measure(run: &Run<'_>) {
    let case = run.case;
    if !wanted(case) {
        return;
    }
    let scheme = match run.scheme {
        "explicit" => Scheme::MoreauJean(MoreauJeanOptions {
            explicit: Some(Explicit::Literal),
            ..MoreauJeanOptions::default()
        }),
        name => Scheme::by_name(name).unwrap(),
    };
    let once = std::env::args().any(|a| a == "once");
    // The kernel's clock of a thread is coarse: the sum over all repetitions counts.
    let mut spent = 0.0;
    let (mut steps, mut corrections) = (0, 0);
    for _ in 0..if once { 1 } else { run.repeat } {
        let simulation = Simulation::new(run.system, scheme.clone())
            .start(run.start.clone())
            .step(run.h)
            .every(run.every)
            .until(run.until);
        let before = cpu();
        let trajectory = simulation.record().unwrap();
        spent += cpu() - before;
        let outcome = trajectory.outcome().unwrap();
        // A peer that locates impacts counts them as steps of their own.
        steps += outcome.steps
            + if run.scheme == "event-driven" {
                outcome.events.impacts
            } else {
                0
            };
        corrections += outcome.iterations.total;
    }
    println!(
        "RESULT {{\"tool\":\"saltus\",\"case\":\"{case}\",\"steps\":{steps},\"us_per_step\":{:.4},\"newton_per_step\":{:.3},\"peak_mb\":{:.0}}}",
        spent / steps as f64 * 1e6,
        corrections as f64 / steps as f64,
        peak()
    );
}

/// The model of a case, with the coefficient of friction `mu`.
fn model(case: &str, mu: f64) -> Model {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../cases")
        .join(case);
    let mu = format!("parameters.mu={mu}");
    Model::load(path.join("model.toml"), &[Override::set(&mu)]).unwrap()
}

/// 1 kg, 9.81 m/s², dropped from 1 m, e = 0.9, until 10 s: 1e5 steps of 1e-4 s, or as many rows as a located run has at 0.01 s.
fn balls() {
    let ball = Ball {
        mass: 1.0,
        force: -9.81,
        restitution: 0.9,
    };
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    let text = "saltus = 1\n[system]\ncoordinates = [\"y\"]\nmass = [1.0]\npotential = \"9.81*y\"\n\
        [[system.unilateral]]\nname = \"floor\"\ngap = \"y\"\nrestitution = 0.9\n\
        [initial]\nq = { y = 1.0 }\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-4\nuntil = 10.0\n";
    let text = text.to_owned();
    let formula = Model::parse("ball", "ball", text, saltus_model::Format::Toml, &[]).unwrap();
    let run = Run {
        case: "ball-rust",
        scheme: "moreau-jean",
        system: &ball,
        start: &start,
        h: 1e-4,
        until: 10.0,
        repeat: 50,
        every: 1,
    };
    measure(&run);
    measure(&Run {
        case: "ball-formulas",
        system: &*formula.system,
        ..run
    });
    measure(&Run {
        case: "ball-half-explicit",
        scheme: "half-explicit",
        ..run
    });
    measure(&Run {
        case: "ball-schatzman",
        scheme: "schatzman-paoli",
        ..run
    });
    measure(&Run {
        case: "ball-event",
        scheme: "event-driven",
        h: 1e-2,
        repeat: 1000,
        ..run
    });
}

/// The slider–crank as published, by hand in Rust and by formulas, without friction and with it.
fn cranks() {
    let (q, v) = SliderCrank::start();
    let start = State::new(0.0, q, v);
    let by_hand = [0.0, 0.01].map(|friction| SliderCrank::default().with_friction(friction));
    let by_formulas = [0.0, 0.01].map(|mu| model("slider-crank", mu));
    let run = Run {
        case: "crank-rust",
        scheme: "moreau-jean",
        system: &by_hand[0],
        start: &start,
        h: 1e-5,
        until: 0.2,
        repeat: 40,
        every: 1,
    };
    measure(&run);
    measure(&Run {
        case: "crank-formulas",
        system: &*by_formulas[0].system,
        ..run
    });
    measure(&Run {
        case: "crank_friction-rust",
        system: &by_hand[1],
        ..run
    });
    measure(&Run {
        case: "crank_friction-formulas",
        system: &*by_formulas[1].system,
        ..run
    });
    measure(&Run {
        case: "crank_friction-half-explicit",
        scheme: "half-explicit",
        system: &by_hand[1],
        ..run
    });
    measure(&Run {
        case: "crank_friction-explicit",
        scheme: "explicit",
        system: &by_hand[1],
        ..run
    });
    measure(&Run {
        case: "crank_projected-rust",
        scheme: "moreau-jean-projected",
        system: &by_hand[1],
        ..run
    });
    measure(&Run {
        case: "crank_projected-formulas",
        scheme: "moreau-jean-projected",
        system: &*by_formulas[1].system,
        ..run
    });
}

fn main() {
    balls();
    cranks();
    bar(200, 0.3, 0.75, 100);
    bar(1000, 0.003, 0.75, 10);
    bar(5000, 0.0003, 0.75, 1);
    if std::env::args().any(|a| a == "bar1000000") {
        bar(1_000_000, 1e-6, 2e-5, 1);
    }
}
