//! Runs the scheme and keeps what the quantities of the references are made of.

use saltus_integrators::{
    Evaluation, Forecast, GeneralizedAlpha, GeneralizedAlphaOptions, Inactive, Integrator, Levels,
    LinearSolve, MoreauJeanOptions, NonsmoothFormulation, NonsmoothGeneralizedAlpha,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHhtOptions, NonsmoothNewmarkOptions, Reactions,
    Scheme, SmoothFormulation, StepReport, Variant,
};
use saltus_system::{State, System};

/// What a run is told to use.
pub trait AsScheme {
    fn scheme(&self) -> Scheme;
}

impl AsScheme for MoreauJeanOptions {
    fn scheme(&self) -> Scheme {
        Scheme::MoreauJean(self.clone())
    }
}

impl AsScheme for Scheme {
    fn scheme(&self) -> Scheme {
        self.clone()
    }
}

/// A scheme, with what it computes beside state and reactions where it does.
enum Method {
    Plain(Box<dyn Integrator>),
    Smooth(GeneralizedAlpha),
    Nonsmooth(NonsmoothGeneralizedAlpha),
}

impl Method {
    fn new(scheme: &Scheme) -> Self {
        match scheme {
            Scheme::GeneralizedAlpha(o) => Self::Smooth(GeneralizedAlpha::new(o.clone()).unwrap()),
            Scheme::NonsmoothGeneralizedAlpha(o) => {
                Self::Nonsmooth(NonsmoothGeneralizedAlpha::new(o.clone()).unwrap())
            }
            other => Self::Plain(other.build().unwrap()),
        }
    }

    fn integrator(&mut self) -> &mut dyn Integrator {
        match self {
            Self::Plain(scheme) => scheme.as_mut(),
            Self::Smooth(scheme) => scheme,
            Self::Nonsmooth(scheme) => scheme,
        }
    }

    fn look(&self) -> (Reactions<'_>, Option<Levels<'_>>) {
        match self {
            Self::Plain(scheme) => (scheme.reactions(), None),
            Self::Smooth(scheme) => (scheme.reactions(), Some(scheme.levels())),
            Self::Nonsmooth(scheme) => (scheme.reactions(), Some(scheme.levels())),
        }
    }
}

/// Runs `steps` steps of length `h` [s], showing each to `see`; step 0 is the initial state.
pub fn run(
    system: &dyn System,
    scheme: &impl AsScheme,
    start: &State,
    h: f64,
    steps: u64,
    mut see: impl FnMut(u64, &State, &StepReport, Reactions<'_>),
) {
    run_levels(system, scheme, start, h, steps, |k, state, report, r, _| {
        see(k, state, report, r);
    });
}

/// The same, with the levels of schemes that have them.
#[allow(clippy::cast_precision_loss)]
pub fn run_levels(
    system: &dyn System,
    scheme: &impl AsScheme,
    start: &State,
    h: f64,
    steps: u64,
    mut see: impl FnMut(u64, &State, &StepReport, Reactions<'_>, Option<Levels<'_>>),
) {
    let mut method = Method::new(&scheme.scheme());
    let mut state = start.clone();
    let report = method.integrator().prepare(system, &state, h).unwrap();
    let (reactions, levels) = method.look();
    see(0, &state, &report, reactions, levels);
    for k in 1..=steps {
        let end = start.t + k as f64 * h;
        let report = method
            .integrator()
            .step(system, &mut state, h, end)
            .unwrap_or_else(|error| panic!("{} step {k}: {error}", scheme.scheme().name()));
        let (reactions, levels) = method.look();
        see(k, &state, &report, reactions, levels);
    }
}

/// Everything about one step.
#[derive(Debug, Clone)]
pub struct Row {
    pub t: f64,
    pub q: Vec<f64>,
    pub v: Vec<f64>,
    pub gap: Vec<f64>,
    pub impulse: Vec<f64>,
    pub gap_velocity: Vec<f64>,
    pub g: Vec<f64>,
    pub g_rate: Vec<f64>,
    pub bilateral_impulse: Vec<f64>,
    pub energy: f64,
    pub iterations: u32,
    /// `v̇` of the smooth motion, `λ`, `ν` and `Λ`; empty where the scheme has none.
    pub smooth_acceleration: Vec<f64>,
    pub lambda: Vec<f64>,
    pub nu: Vec<f64>,
    pub jump_impulse: Vec<f64>,
    /// Contacts closed at velocity level.
    pub closed: Vec<bool>,
    /// Largest `|G(q_{k+1}) (v_{k+1} + e v_k)|` of the contacts that carry an impulse.
    pub impact_law: f64,
}

/// All rows of a run.
pub fn record(
    system: &dyn System,
    scheme: &impl AsScheme,
    start: &State,
    h: f64,
    steps: u64,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let moreau = matches!(scheme.scheme(), Scheme::MoreauJean(_));
    run_levels(system, scheme, start, h, steps, |_, state, report, r, l| {
        assert!(!moreau || r.force.is_empty() && r.bilateral_force.is_empty());
        let level = |f: &dyn Fn(&Levels<'_>) -> Vec<f64>| l.as_ref().map_or_else(Vec::new, f);
        let c = r.contacts;
        let impact_law = rows.last().map_or(0.0, |before| {
            (0..c.len())
                .filter(|&i| r.impulse[i] > 0.0)
                .map(|i| (r.gap_velocity[i] + c.law[i].e_n * c.normal_velocity(i, &before.v)).abs())
                .fold(0.0, f64::max)
        });
        rows.push(Row {
            t: state.t,
            q: state.q.clone(),
            v: state.v.clone(),
            gap: r.contacts.gap.clone(),
            impulse: r.impulse.to_vec(),
            gap_velocity: r.gap_velocity.to_vec(),
            g: r.bilateral_gap.to_vec(),
            g_rate: r.bilateral_velocity.to_vec(),
            bilateral_impulse: r.bilateral_impulse.to_vec(),
            energy: report.energy.total(),
            iterations: report.iterations,
            impact_law,
            smooth_acceleration: level(&|l| l.smooth_acceleration.to_vec()),
            lambda: level(&|l| l.lambda.to_vec()),
            nu: level(&|l| l.nu.to_vec()),
            jump_impulse: level(&|l| l.lambda_jump.to_vec()),
            closed: l.map_or_else(
                || r.impulse.iter().map(|p| *p > 1e-12).collect(),
                |l| {
                    let ng = r.bilateral_gap.len();
                    let smooth = &l.closed_smooth[ng..];
                    let jump = &l.closed_velocity[ng..];
                    smooth.iter().zip(jump).map(|(a, b)| *a || *b).collect()
                },
            ),
        });
    });
    rows
}

/// Number of steps of length `h` to `end`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn count(end: f64, h: f64) -> u64 {
    (end / h).round() as u64
}

/// The scheme as Brüls, Acary, Cardona (2014, §9.1) state it; `kappa` is the length of the forecast.
pub fn weighted_accelerations(theta: f64, kappa: f64, variant: Variant) -> MoreauJeanOptions {
    MoreauJeanOptions {
        theta: Some(theta),
        forecast: Forecast::Position,
        gamma: kappa,
        evaluation: Evaluation::WeightedAccelerations,
        variant,
        ..MoreauJeanOptions::default()
    }
}

/// The scheme that an entry of `generalized-alpha.json` names, with the tolerance of the references.
pub fn named(scheme: &str, rho: f64) -> Scheme {
    named_within(scheme, rho, 1e-10)
}

/// The same with a given tolerance.
pub fn named_within(scheme: &str, rho: f64, tolerance: f64) -> Scheme {
    if scheme.starts_with("MJ") {
        return moreau_jean(scheme, rho).scheme();
    }
    if let Some(gamma_beta) = scheme.strip_prefix("NSNewmark") {
        return Scheme::NonsmoothNewmark(NonsmoothNewmarkOptions {
            gamma: 1.0,
            beta: Some(if gamma_beta == "_1_.5" { 0.5 } else { 0.5625 }),
            tolerance,
            ..NonsmoothNewmarkOptions::default()
        });
    }
    if scheme.starts_with("NSHHT") {
        return Scheme::NonsmoothHht(NonsmoothHhtOptions {
            tolerance,
            ..NonsmoothHhtOptions::default()
        });
    }
    let smooth = match scheme {
        "index3" | "P" => Some(SmoothFormulation::P),
        "V" => Some(SmoothFormulation::V),
        "PV" => Some(SmoothFormulation::Pv),
        "PVA" => Some(SmoothFormulation::Pva),
        "A" => Some(SmoothFormulation::A),
        _ => None,
    };
    if let Some(formulation) = smooth {
        return Scheme::GeneralizedAlpha(GeneralizedAlphaOptions {
            formulation,
            rho_inf: Some(rho),
            tolerance,
            ..GeneralizedAlphaOptions::default()
        });
    }
    Scheme::NonsmoothGeneralizedAlpha(nonsmooth(scheme, rho, tolerance))
}

/// `PVV`, `PVA1` to `PVA3`, `PVA3_star` and their variants.
fn nonsmooth(scheme: &str, rho: f64, tolerance: f64) -> NonsmoothGeneralizedAlphaOptions {
    let strategy = scheme
        .strip_prefix("PVA")
        .map(|rest| rest[..1].parse().unwrap());
    let inactive = if scheme.contains("star") || strategy.is_none() {
        Inactive::Star
    } else {
        Inactive::Literal
    };
    let rho = match scheme {
        "PVV_rho.6" => 0.6,
        "PVA3_rho1" => 1.0,
        _ => rho,
    };
    NonsmoothGeneralizedAlphaOptions {
        formulation: if strategy.is_some() {
            NonsmoothFormulation::Pva
        } else {
            NonsmoothFormulation::Pvv
        },
        strategy,
        inactive,
        modified_lcp: scheme.contains("modLCP"),
        linear_solve: if scheme.contains("mono") {
            LinearSolve::Monolithic
        } else {
            LinearSolve::Sequential
        },
        rho_inf: Some(rho),
        tolerance,
        ..NonsmoothGeneralizedAlphaOptions::default()
    }
}

/// The Moreau–Jean scheme that an entry of `generalized-alpha.json` names.
pub fn moreau_jean(scheme: &str, rho: f64) -> MoreauJeanOptions {
    let theta = 1.0 / (1.0 + rho);
    let standard = Variant::Standard;
    match scheme {
        "MJ_half" | "MJ" => weighted_accelerations(theta, 0.5, standard),
        "MJ_full" => weighted_accelerations(theta, 1.0, standard),
        "MJ_zero" => weighted_accelerations(theta, 0.0, standard),
        "MJ_th1" => weighted_accelerations(1.0, 0.5, standard),
        "MJ_variant" => weighted_accelerations(theta, 0.5, Variant::Dissipative),
        "MJ_variant.6" => weighted_accelerations(0.6, 0.5, Variant::Dissipative),
        other => panic!("unknown scheme {other}"),
    }
}

/// Largest increment of the energy over a step [J].
pub fn largest_gain(rows: &[Row]) -> f64 {
    rows.windows(2)
        .map(|w| w[1].energy - w[0].energy)
        .fold(f64::NEG_INFINITY, f64::max)
}

/// Smallest gap [m].
pub fn smallest_gap(rows: &[Row]) -> f64 {
    rows.iter()
        .flat_map(|r| r.gap.iter().copied())
        .fold(f64::INFINITY, f64::min)
}

/// Why mean numbers of corrections of linear systems differ.
pub const ROUND_OFF: &str = "a linear step is free only where the prediction is right to round-off; the reference \
                             compares round-off with an absolute tolerance";

/// Mean number of corrections over steps `rows[1..]`.
pub fn mean_iterations(rows: &[Row]) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let n = (rows.len() - 1) as f64;
    rows[1..]
        .iter()
        .map(|r| f64::from(r.iterations))
        .sum::<f64>()
        / n
}

/// The row at time `t`.
pub fn at(rows: &[Row], t: f64) -> &Row {
    let h = rows[1].t - rows[0].t;
    let row = &rows[usize::try_from(count(t - rows[0].t, h)).unwrap()];
    assert!((row.t - t).abs() < 1e-9, "no row at {t}");
    row
}
