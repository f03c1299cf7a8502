//! Who is examined, on what.

use saltus_integrators::{
    AdaptiveMoreauJeanOptions, Evaluation, EventDrivenOptions, Explicit, Forecast,
    GeneralizedAlphaOptions, HalfExplicitMethod, HalfExplicitOptions, HigherOrderMethod,
    HigherOrderOptions, Impacts, Integrator, LinearSolve, MoreauJeanOptions, NonsmoothFormulation,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHhtOptions, NonsmoothNewmarkOptions, Prediction,
    ProjectedMoreauJeanOptions, ProjectionMethod, SchatzmanPaoliOptions, Scheme, SmoothFormulation,
    SplittingOptions, StepError, StepReport, Variant,
};
use saltus_model::{Model, Override};
use saltus_system::{ConstraintKind, ContactSet, Reach, State, System};
use std::path::PathBuf;

/// A scheme with the promises it is held to.
pub struct Candidate {
    pub name: String,
    pub scheme: Scheme,
    /// Order on smooth motion; infinite where a tolerance rules, whatever the step.
    pub smooth_order: f64,
    /// How much deeper than before a step may penetrate, over
    /// `h max(|u_k|, |u_{k+1}|) + ½ h² |ζ|`: 0 where the scheme
    /// guarantees that nothing does.
    pub penetration: f64,
    /// Whether it closes contacts by an impact law.
    pub impacts: bool,
    /// Whether a body comes to rest and stays where it is.
    pub rests: bool,
}

/// Names the candidates.
const CHOSEN: &str = "SALTUS_CANDIDATES";

/// Whether some candidates are left out, so that an examination may find none that promises what it looks at.
pub fn are_chosen() -> bool {
    std::env::var(CHOSEN).is_ok()
}

/// Every scheme, in every form that solves a step differently; with `SALTUS_CANDIDATES=text` those whose names have the text in them.
pub fn candidates() -> Vec<Candidate> {
    let mut all = all_candidates();
    if let Ok(text) = std::env::var(CHOSEN) {
        all.retain(|c| c.name.contains(&text));
    }
    all
}

fn all_candidates() -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut moreau_jean = |name: &str, smooth_order: f64, options: MoreauJeanOptions| {
        all.push(Candidate {
            name: format!("moreau-jean ({name})"),
            scheme: Scheme::MoreauJean(options),
            smooth_order,
            penetration: 1.0,
            impacts: true,
            rests: true,
        });
    };
    let options = MoreauJeanOptions::default;
    moreau_jean("default", 2.0, options());
    moreau_jean(
        "theta 1",
        1.0,
        MoreauJeanOptions {
            theta: Some(1.0),
            ..options()
        },
    );
    moreau_jean(
        "weighted forces, position forecast",
        1.0,
        MoreauJeanOptions {
            evaluation: Evaluation::WeightedForces,
            forecast: Forecast::Position,
            ..options()
        },
    );
    moreau_jean(
        "weighted accelerations, predicted forecast",
        1.0,
        MoreauJeanOptions {
            rho_inf: Some(0.8),
            evaluation: Evaluation::WeightedAccelerations,
            forecast: Forecast::Predicted,
            gamma: 0.0,
            ..options()
        },
    );
    moreau_jean(
        "dissipative, smooth forecast",
        1.0,
        MoreauJeanOptions {
            theta: Some(0.7),
            variant: Variant::Dissipative,
            forecast: Forecast::Smooth,
            ..options()
        },
    );
    moreau_jean(
        "explicit, symplectic",
        1.0,
        MoreauJeanOptions {
            explicit: Some(Explicit::Symplectic),
            ..options()
        },
    );
    all.extend(generalized_alpha());
    all.extend(half_explicit());
    all.extend(projected());
    all.push(splitting());
    all.push(Candidate {
        name: "schatzman-paoli".to_owned(),
        scheme: Scheme::SchatzmanPaoli(SchatzmanPaoliOptions::default()),
        smooth_order: 1.0,
        penetration: 1.0,
        impacts: true,
        rests: true,
    });
    all.push(Candidate {
        name: "adaptive-moreau-jean".to_owned(),
        scheme: Scheme::AdaptiveMoreauJean(AdaptiveMoreauJeanOptions::default()),
        smooth_order: 2.0,
        penetration: 1.0,
        impacts: true,
        rests: true,
    });
    all.extend(higher_order());
    for (name, stiff) in [("event-driven", false), ("event-driven (stiff)", true)] {
        all.push(Candidate {
            name: name.to_owned(),
            scheme: Scheme::EventDriven(EventDrivenOptions {
                stiff,
                ..EventDrivenOptions::default()
            }),
            smooth_order: f64::INFINITY,
            penetration: 1.0,
            impacts: true,
            rests: true,
        });
    }
    all
}

/// Largest model \[velocities\] of the examinations for schemes that are made for few coordinates, and solve dense problems at every stage
/// or event.
const FEW: usize = 8;

/// Whether a scheme is made for few coordinates.
fn wants_few(scheme: &Scheme) -> bool {
    matches!(
        scheme,
        Scheme::HigherOrder(_)
            | Scheme::MoreauJeanProjected(_)
            | Scheme::Splitting(_)
            | Scheme::AdaptiveMoreauJean(_)
            | Scheme::EventDriven(_)
    )
}

/// The higher-order schemes, implicit and explicit.
fn higher_order() -> Vec<Candidate> {
    let methods = [
        (HigherOrderMethod::Gauss, 2.0),
        (HigherOrderMethod::Radau5, 5.0),
    ];
    let candidate = |(method, smooth_order)| Candidate {
        name: format!("higher-order ({method:?})"),
        scheme: Scheme::HigherOrder(HigherOrderOptions {
            method,
            ..HigherOrderOptions::default()
        }),
        smooth_order,
        penetration: 1.0,
        impacts: true,
        rests: true,
    };
    methods.into_iter().map(candidate).collect()
}

/// Projected positions, in all their methods.
fn projected() -> Vec<Candidate> {
    let candidate = |name: &str, method, theta| Candidate {
        name: format!("moreau-jean-projected ({name})"),
        scheme: Scheme::MoreauJeanProjected(ProjectedMoreauJeanOptions {
            method,
            theta,
            ..ProjectedMoreauJeanOptions::default()
        }),
        smooth_order: if theta == 0.5 { 2.0 } else { 1.0 },
        penetration: 0.0,
        impacts: true,
        // The direct method lifts positions without their velocities.
        rests: method != ProjectionMethod::Direct,
    };
    vec![
        candidate("combined", ProjectionMethod::Combined, 0.5),
        candidate("combined, theta 0.8", ProjectionMethod::Combined, 0.8),
        candidate("direct", ProjectionMethod::Direct, 0.5),
        candidate("ggl", ProjectionMethod::Ggl, 0.5),
    ]
}

/// Splitting with forces on closed contacts; by impulses alone what rests sinks by `h |a| / 2` per unit of time, which no speed tells.
fn splitting() -> Candidate {
    Candidate {
        name: "splitting".to_owned(),
        scheme: Scheme::Splitting(SplittingOptions::default()),
        smooth_order: 5.0,
        penetration: 3.0,
        impacts: true,
        rests: true,
    }
}

/// The half-explicit schemes.
fn half_explicit() -> Vec<Candidate> {
    let methods = [
        (HalfExplicitMethod::Trapezoidal, 2.0),
        (HalfExplicitMethod::Acceleration, 2.0),
        (HalfExplicitMethod::Reduced, 2.0),
        (HalfExplicitMethod::Hem3, 3.0),
        (HalfExplicitMethod::Hem4, 4.0),
    ];
    let candidate = |(method, smooth_order)| Candidate {
        name: format!("half-explicit ({method:?})"),
        scheme: Scheme::HalfExplicit(HalfExplicitOptions {
            method,
            ..HalfExplicitOptions::default()
        }),
        smooth_order,
        // A contact closes with up to h |u⁻|, and the velocity before the impact is not that of either end of the step.
        penetration: 3.0,
        impacts: true,
        // At acceleration level velocities drift, and a body at rest sinks.
        rests: method != HalfExplicitMethod::Acceleration,
    };
    methods.into_iter().map(candidate).collect()
}

/// The generalized-α family; its literal form is left out, because it has steps without a solution.
fn generalized_alpha() -> Vec<Candidate> {
    use NonsmoothFormulation::{Pva, Pvv, Unconstrained};
    let options = |formulation, rho| NonsmoothGeneralizedAlphaOptions {
        formulation,
        rho_inf: Some(rho),
        ..NonsmoothGeneralizedAlphaOptions::default()
    };
    let solved = |formulation, linear_solve| NonsmoothGeneralizedAlphaOptions {
        linear_solve,
        ..options(formulation, 0.8)
    };
    let nonsmooth = [
        ("pvv", options(Pvv, 0.8)),
        ("pva", options(Pva, 0.8)),
        ("unconstrained", options(Unconstrained, 0.8)),
        ("pva, rho_inf 0", options(Pva, 0.0)),
        ("pvv, rho_inf 1", options(Pvv, 1.0)),
        ("pva, sequential", solved(Pva, LinearSolve::Sequential)),
        ("pvv, monolithic", solved(Pvv, LinearSolve::Monolithic)),
        ("pvv, sequential", solved(Pvv, LinearSolve::Sequential)),
        ("pva, monolithic", solved(Pva, LinearSolve::Monolithic)),
        (
            "pva, strategy 2",
            NonsmoothGeneralizedAlphaOptions {
                strategy: Some(2),
                ..options(Pva, 0.8)
            },
        ),
        (
            "pva, located impacts",
            NonsmoothGeneralizedAlphaOptions {
                impacts: Impacts::Located,
                ..options(Pva, 0.8)
            },
        ),
        (
            "pva, last prediction",
            NonsmoothGeneralizedAlphaOptions {
                prediction: Prediction::Last,
                ..options(Pva, 0.8)
            },
        ),
    ];
    let candidate = |name: String, scheme: Scheme, penetration: f64| Candidate {
        name,
        scheme,
        smooth_order: 2.0,
        penetration,
        impacts: true,
        rests: true,
    };
    let mut all: Vec<Candidate> = nonsmooth
        .into_iter()
        .map(|(name, options)| {
            let name = format!("nonsmooth-generalized-alpha ({name})");
            candidate(name, Scheme::NonsmoothGeneralizedAlpha(options), 0.0)
        })
        .collect();
    all.push(candidate(
        "nonsmooth-newmark".to_owned(),
        Scheme::NonsmoothNewmark(NonsmoothNewmarkOptions::default()),
        1.0,
    ));
    all.push(candidate(
        "nonsmooth-hht".to_owned(),
        Scheme::NonsmoothHht(NonsmoothHhtOptions::default()),
        1.0,
    ));
    for formulation in [
        SmoothFormulation::P,
        SmoothFormulation::V,
        SmoothFormulation::Pv,
        SmoothFormulation::Pva,
        SmoothFormulation::A,
    ] {
        let options = GeneralizedAlphaOptions {
            formulation,
            ..GeneralizedAlphaOptions::default()
        };
        let name = format!("generalized-alpha ({formulation:?})");
        all.push(Candidate {
            impacts: false,
            ..candidate(name, Scheme::GeneralizedAlpha(options), 1.0)
        });
    }
    all
}

/// The candidates that close contacts.
pub fn with_impacts() -> Vec<Candidate> {
    candidates().into_iter().filter(|c| c.impacts).collect()
}

/// Those whose error falls with the step they are asked for, and not with a tolerance.
pub fn with_orders() -> Vec<Candidate> {
    let mut all = with_impacts();
    all.retain(|c| c.scheme.name() != "adaptive-moreau-jean");
    all
}

/// Those that come to rest with steps of the length they are asked for.
pub fn resting() -> Vec<Candidate> {
    let mut all = with_impacts();
    all.retain(|c| c.rests && !c.scheme.build().unwrap().chooses_step());
    all
}

/// The cases, by folder, with a step and a number of steps that show impacts but take little time. Steps
/// are such that no flight lasts a whole number of them, or round-off would decide when it ends. Cases of statics
/// have no motion: from the equilibrium that was found every scheme must stay there.
pub const CASES: &[(&str, f64, u64)] = &[
    ("ball-in-a-box", 4.7e-3, 425),
    ("block-on-belt", 4.7e-2, 500),
    ("block-on-incline", 4.7e-3, 300),
    ("bouncing-ball", 1.89e-3, 2100),
    ("bouncing-ball-lecture", 0.013, 385),
    ("bouncing-pendulum", 2e-3, 1500),
    ("cantilever-45-degree-bend", 1e-3, 10),
    ("cantilever-half-roll-up", 1e-3, 10),
    ("cantilever-roll-up", 1e-3, 10),
    ("colliding-blocks", 1.7e-3, 100),
    ("corner", 9.3e-3, 21),
    ("double-pendulum", 1e-3, 1500),
    ("elastic-bar", 5e-3, 300),
    ("elastic-bar-rod", 9.3e-6, 130),
    ("elastic-bar-steel", 9.3e-6, 130),
    ("elastic-block", 1e-3, 250),
    ("elastica", 1e-3, 10),
    ("flexible-pendulum", 1e-4, 4000),
    ("flying-beam", 1e-2, 400),
    ("housner-block", 2e-3, 300),
    ("linear-oscillator", 1e-2, 1000),
    ("newtons-cradle", 9.3e-4, 322),
    ("oblique-impact", 1.1e-3, 60),
    ("painleve-rod", 1e-4, 100),
    ("pendulum-in-a-ring", 5e-4, 800),
    ("pendulum-wall", 2e-3, 1500),
    ("pendulum-with-dry-pin", 4e-3, 400),
    ("right-angle-frame", 5e-2, 80),
    ("rocking-block", 1e-2, 300),
    ("rolling-disc", 1e-2, 300),
    ("rotor-rig", 5e-6, 60),
    ("rubber-cylinder", 1e-4, 10),
    ("shaking-table", 1.7e-3, 700),
    ("skate-on-incline", 1e-2, 300),
    ("slider-crank", 1e-5, 3000),
    ("slider-crank-bilateral", 1e-4, 500),
    ("sliding-disc", 4.7e-3, 350),
    ("smooth-pendulum", 2e-3, 1500),
    ("spinning-ball", 2.1e-3, 600),
    ("spring-coulomb", 1.9e-3, 1000),
    ("three-balls", 9.3e-4, 322),
    ("two-balls", 1e-3, 2000),
    ("two-mass-oscillator", 1e-3, 1000),
    ("weakening-friction", 4.7e-3, 300),
    ("wedge", 9.3e-4, 150),
    ("whip", 3e-4, 60),
    ("woodpecker", 1e-4, 1000),
];

/// What every scheme is asked on every case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examination {
    Books,
    EnergyIdentity,
    Guarantees,
    Penetration,
    Allocation,
    Restart,
    Solved,
    Invariance,
}

/// A single examination that does not apply to some cases (to any, where none is named), and why.
struct Exemption {
    /// All where it is empty.
    examinations: &'static [Examination],
    /// All where it is empty.
    cases: &'static [&'static str],
    schemes: fn(&Candidate) -> bool,
    reason: &'static str,
}

const EXEMPTIONS: &[Exemption] = &[
    Exemption {
        examinations: &[Examination::Penetration],
        cases: &[],
        schemes: |candidate| candidate.scheme.name() == "splitting",
        reason: "the smooth motion goes on through a contact until the end of its step, by a h²/2 more than speeds tell",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &[],
        schemes: |candidate| candidate.scheme.name() == "moreau-jean-projected",
        reason: "positions at the end of a step decide which contacts close, and close to the end of an accumulation round-off does",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &["ball-in-a-box", "bouncing-ball", "bouncing-ball-lecture"],
        schemes: |candidate| candidate.scheme.name() == "schatzman-paoli",
        reason: "its velocities are differences of positions over 2h, and every bounce multiplies their round-off (the peer's do too)",
    },
    Exemption {
        examinations: &[Examination::Penetration],
        cases: &[],
        schemes: |candidate| candidate.scheme.name() == "adaptive-moreau-jean",
        reason: "its steps are two: what falls in the first is stopped in the second, which speeds at the ends do not tell; \
                 it is held to `violation_tolerance` by its own tests",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &[],
        schemes: |candidate| candidate.scheme.name() == "adaptive-moreau-jean",
        reason: "its tolerances are in the units of the positions, and choose other steps in other units",
    },
    Exemption {
        examinations: &[],
        cases: &["whip"],
        schemes: |candidate| candidate.name.ends_with("(pva, located impacts)"),
        reason: "elastic contact of many nodes: six and more impacts in a step of many periods of the elements, for which its page \
                 advises captured impacts",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &["pendulum-in-a-ring", "rocking-block"],
        schemes: |candidate| candidate.scheme.name() == "event-driven",
        reason: "impacts come closer and closer, each multiplies the round-off of its instant, and what is left of it decides which \
                 impact is the last",
    },
    Exemption {
        examinations: &[Examination::Penetration],
        cases: &["painleve-rod"],
        schemes: |candidate| candidate.name == "half-explicit (Reduced)",
        reason: "a closed contact falls freely during a reduced step, by g h²/2, before the impact at its end",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &[],
        schemes: |candidate| candidate.name == "half-explicit (Acceleration)",
        reason: "at acceleration level nothing corrects the round-off of a velocity: a contact at rest drifts until it counts as open",
    },
    Exemption {
        examinations: &[Examination::Books],
        cases: &["rotor-rig"],
        schemes: |_| true,
        reason: "it is driven: the work of the torque goes into the torsion of the axle first, and no kinetic energy bounds it",
    },
    Exemption {
        examinations: &[Examination::Penetration],
        cases: &[
            "colliding-blocks",
            "elastic-bar",
            "elastic-bar-rod",
            "elastic-bar-steel",
            "elastic-block",
            "flexible-pendulum",
            "whip",
            "woodpecker",
        ],
        schemes: |candidate| candidate.scheme.name() == "nonsmooth-hht",
        reason: "while a contact stays at rest, h² (β − γ/2) times the change of its acceleration moves it, which its \
                 speeds do not tell: nothing at β = ¼, γ = ½; α²/4 with the coefficients of HHT",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &["elastica"],
        schemes: |_| true,
        reason: "it stays at rest, and moves by round-off alone: 8 ε Σ|K q| of its forces gives its light nodes up to 1.9e-6 m/s \
                 in a step, of which another order of coordinates shows 2.2e-9 in the first and no more later",
    },
    Exemption {
        examinations: &[Examination::Invariance],
        cases: &["bouncing-ball-lecture"],
        schemes: |candidate| candidate.penetration == 0.0,
        reason: "with e = 1/2 a scheme that puts the ball on the floor at each impact lands exactly on the grid again, \
                 and round-off decides in which step it does",
    },
];

/// What is changed in a case for the examinations: the mesh is coarser than in the model, and what comes late there
/// comes early.
pub fn overrides(case: &str) -> Vec<Override> {
    let values: &[&str] = match case {
        "cantilever-45-degree-bend" | "elastica" => &["parameters.n=4"],
        "colliding-blocks" => &["parameters.n=10", "parameters.across=1"],
        "elastic-bar" | "elastic-bar-steel" => &["parameters.n=10"],
        "elastic-bar-rod" => &["parameters.N=10"],
        "elastic-block" => &["parameters.nx=3", "parameters.ny=10"],
        "flying-beam" => &["parameters.n=3"],
        "right-angle-frame" => &["parameters.n=4"],
        "whip" => &["parameters.gap=0.0002"],
        _ => &[],
    };
    values.iter().map(|value| Override::set(*value)).collect()
}

/// The model of a case.
pub fn model(case: &str) -> Model {
    load(case, &overrides(case))
}

/// The same without friction, for schemes that do not solve it; `None` where there is none.
fn without_friction(case: &str, model: &Model) -> Option<Model> {
    let mut set = ContactSet::default();
    let (system, start) = (&model.system, &model.initial);
    system.detect(start.t, &start.q, Reach::All, &mut set);
    if set.law.iter().all(|law| law.mu == 0.0) && system.joint_friction().is_empty() {
        return None;
    }
    let mut overrides = overrides(case);
    let values: &[&str] = match case {
        "block-on-belt" => &["parameters.mu_s=0", "parameters.mu_d=0"],
        "pendulum-with-dry-pin" => &["system.friction=[]"],
        _ => &["parameters.mu=0"],
    };
    overrides.extend(values.iter().map(|value| Override::set(*value)));
    Some(load(case, &overrides))
}

/// Whether a model has constraints on velocities alone.
pub fn constrains_velocities(model: &Model) -> bool {
    let kind = |i: usize| model.system.constraint_kind(i);
    (0..model.system.dims().ng).any(|i| kind(i) == ConstraintKind::Velocity)
}

/// The model of a case, without friction where it has any.
pub fn frictionless(case: &str) -> Model {
    let model = model(case);
    without_friction(case, &model).unwrap_or(model)
}

fn load(case: &str, overrides: &[Override]) -> Model {
    let path = root().join("cases").join(case).join("model.toml");
    Model::load(&path, overrides).unwrap_or_else(|errors| panic!("{errors}"))
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One accepted step.
pub struct Row {
    pub state: State,
    pub report: StepReport,
    pub impulse: Vec<f64>,
}

/// Runs `steps` steps and keeps every one.
pub fn run(system: &dyn System, scheme: &Scheme, start: &State, h: f64, steps: u64) -> Vec<Row> {
    let mut integrator = scheme.build().unwrap();
    let mut state = start.clone();
    let first = integrator.prepare(system, &state, h).unwrap();
    let mut rows = vec![row(&*integrator, &state, first)];
    for k in 0..steps {
        let end = start.t + (k + 1) as f64 * h;
        // A scheme that chooses its step takes several to come that far.
        while end - state.t > 1e-9 * h {
            let length = h.min(end - state.t);
            let length = if integrator.chooses_step() { length } else { h };
            match integrator.step(system, &mut state, length, end) {
                Ok(report) => rows.push(row(&*integrator, &state, report)),
                Err(error) => panic!("{} step {}: {error}", integrator.name(), k + 1),
            }
        }
    }
    rows
}

fn row(integrator: &dyn Integrator, state: &State, report: StepReport) -> Row {
    Row {
        state: state.clone(),
        report,
        impulse: integrator.reactions().impulse.to_vec(),
    }
}

/// Of pairs of a scheme and a case each examination takes one in so many, others each, so that every scheme and every case is among them.
const SAMPLE: usize = 12;

/// Every candidate on every case (a sample of the pairs unless all are asked for), but for the exemptions, which are printed. What does not solve friction sits the case
/// without it, and none with constraints on velocities.
pub fn everyone(
    examination: Examination,
    mut examine: impl FnMut(&Candidate, &str, &Model, f64, u64),
) {
    let candidates = candidates();
    let sampled = |row: usize, column: usize| {
        crate::tiers::takes_all() || (row + column + examination as usize).is_multiple_of(SAMPLE)
    };
    for (row, (case, h, steps)) in CASES.iter().enumerate() {
        let model = model(case);
        let smooth = model.system.contact_count() == 0;
        let frictionless = without_friction(case, &model);
        let on_velocity = constrains_velocities(&model);
        // Whether steps are solved is asked of longer ones, too.
        let longest = if examination == Examination::Solved {
            2.0 * h
        } else {
            *h
        };
        for (column, candidate) in candidates.iter().enumerate() {
            if !sampled(row, column) || !(candidate.impacts || smooth) {
                continue;
            }
            if on_velocity && !candidate.scheme.solves_friction() {
                continue;
            }
            let nv = model.system.dims().nv;
            if wants_few(&candidate.scheme) && nv > FEW {
                println!(
                    "{examination:?} leaves out {} on {case}: it is examined on up to {FEW} velocities, not {nv}",
                    candidate.name
                );
                continue;
            }
            let exempt = EXEMPTIONS.iter().find(|e| {
                (e.examinations.is_empty() || e.examinations.contains(&examination))
                    && (e.cases.is_empty() || e.cases.contains(case))
                    && (e.schemes)(candidate)
            });
            match exempt {
                Some(exemption) => println!(
                    "{examination:?} leaves out {} on {case}: {}",
                    candidate.name, exemption.reason
                ),
                None => {
                    let model = match &frictionless {
                        Some(other) if !solves_friction_of(candidate, &model, *h) => other,
                        _ => &model,
                    };
                    if let Some(limit) = exceeds_stable_step(candidate, model, longest) {
                        println!(
                            "{examination:?} leaves out {} on {case}: its step is stable up to {limit:.2e} s, not {longest:.2e} s",
                            candidate.name
                        );
                        continue;
                    }
                    examine(candidate, case, model, *h, *steps);
                }
            }
        }
    }
}

/// Whether a scheme solves the friction of a model: some solve it in the plane only, or only in contacts.
fn solves_friction_of(candidate: &Candidate, model: &Model, h: f64) -> bool {
    let mut integrator = candidate.scheme.build().unwrap();
    let refusal = integrator.prepare(&*model.system, &model.initial, h).err();
    candidate.scheme.solves_friction()
        && !matches!(
            refusal,
            Some(
                StepError::ContactsUnsupported { .. } | StepError::JointFrictionUnsupported { .. }
            )
        )
}

/// The largest stable step of an explicit scheme, where the step of the examination is larger (or close to it, since the frequencies
/// of a motion change).
fn exceeds_stable_step(candidate: &Candidate, model: &Model, h: f64) -> Option<f64> {
    let mut integrator = candidate.scheme.build().unwrap();
    if integrator
        .prepare(&*model.system, &model.initial, h)
        .is_err()
    {
        return None;
    }
    integrator.stable_step().filter(|limit| h > 0.8 * limit)
}

#[test]
fn every_scheme_and_every_case_is_examined() {
    let candidates = all_candidates();
    for info in Scheme::ALL {
        assert!(
            candidates.iter().any(|c| c.scheme.name() == info.name),
            "{} is not examined",
            info.name
        );
    }
    let mut folders: Vec<String> = std::fs::read_dir(root().join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let known: Vec<&str> = CASES.iter().map(|c| c.0).collect();
    assert_eq!(folders, known);
}
