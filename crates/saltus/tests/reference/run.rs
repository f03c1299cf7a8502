//! Runs the scheme and keeps what the quantities of the references are made of.

use saltus_integrators::{
    Evaluation, Forecast, Integrator, MoreauJean, MoreauJeanOptions, Reactions, StepReport, Variant,
};
use saltus_system::{State, System};

/// Runs `steps` steps of length `h` [s], showing each to `see`; step 0 is the initial state.
#[allow(clippy::cast_precision_loss)]
pub fn run(
    system: &dyn System,
    options: &MoreauJeanOptions,
    start: &State,
    h: f64,
    steps: u64,
    mut see: impl FnMut(u64, &State, &StepReport, Reactions<'_>),
) {
    let mut scheme = MoreauJean::new(options.clone()).unwrap();
    let mut state = start.clone();
    let report = scheme.prepare(system, &state, h).unwrap();
    see(0, &state, &report, scheme.reactions());
    for k in 1..=steps {
        let end = start.t + k as f64 * h;
        let report = scheme.step(system, &mut state, h, end).unwrap();
        see(k, &state, &report, scheme.reactions());
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
    /// Largest `|G(q_{k+1}) (v_{k+1} + e v_k)|` of the contacts that carry an impulse.
    pub impact_law: f64,
}

/// All rows of a run.
pub fn record(
    system: &dyn System,
    options: &MoreauJeanOptions,
    start: &State,
    h: f64,
    steps: u64,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    run(system, options, start, h, steps, |_, state, report, r| {
        assert!(r.force.is_empty() && r.bilateral_force.is_empty());
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

/// The scheme that an entry of `generalized-alpha.json` names.
pub fn named(scheme: &str, rho: f64) -> MoreauJeanOptions {
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
