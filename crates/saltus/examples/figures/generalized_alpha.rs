//! The generalized-α family beside Moreau–Jean, as in its papers.

use crate::common::{self, Points, TIME, column, draw, last};
use saltus::{Scheme, Trajectory};
use saltus_integrators::{
    GeneralizedAlphaOptions, Inactive, MoreauJeanOptions, NonsmoothFormulation,
    NonsmoothGeneralizedAlphaOptions, NonsmoothHhtOptions, NonsmoothNewmarkOptions,
    SmoothFormulation,
};

fn run(case: &str, scheme: Scheme, h: f64, until: f64) -> Trajectory {
    common::run(case, &[], scheme, h, until)
}

fn nonsmooth(formulation: NonsmoothFormulation, inactive: Inactive) -> Scheme {
    Scheme::NonsmoothGeneralizedAlpha(NonsmoothGeneralizedAlphaOptions {
        formulation,
        inactive,
        ..NonsmoothGeneralizedAlphaOptions::default()
    })
}

fn pvv() -> Scheme {
    nonsmooth(NonsmoothFormulation::Pvv, Inactive::Star)
}

fn pva() -> Scheme {
    nonsmooth(NonsmoothFormulation::Pva, Inactive::Star)
}

fn literal() -> Scheme {
    nonsmooth(NonsmoothFormulation::Pva, Inactive::Literal)
}

/// Moreau–Jean with the θ that goes with ρ∞ = 0.8, as in the papers.
fn moreau_jean() -> Scheme {
    Scheme::MoreauJean(MoreauJeanOptions {
        rho_inf: Some(0.8),
        ..MoreauJeanOptions::default()
    })
}

fn newmark(gamma: f64) -> Scheme {
    Scheme::NonsmoothNewmark(NonsmoothNewmarkOptions {
        gamma,
        ..NonsmoothNewmarkOptions::default()
    })
}

fn smooth(formulation: SmoothFormulation) -> Scheme {
    Scheme::GeneralizedAlpha(GeneralizedAlphaOptions {
        formulation,
        rho_inf: Some(0.9),
        ..GeneralizedAlphaOptions::default()
    })
}

/// Decimal logarithm of the size of a column; zero is drawn at 10⁻¹⁸.
fn size(trajectory: &Trajectory, name: &str) -> Points {
    let points = column(trajectory, name).into_iter();
    points
        .map(|(t, y)| (t, y.abs().max(1e-18).log10()))
        .collect()
}

fn ball() {
    let of = |scheme| run("bouncing-ball", scheme, 2e-3, 4.0);
    let [a, b, c, d] = [pvv(), pva(), literal(), moreau_jean()].map(of);
    let curves = |name: &str| {
        vec![
            ("pvv", column(&a, name)),
            ("pva", column(&b, name)),
            ("pva, literal", column(&c, name)),
            ("moreau-jean", column(&d, name)),
        ]
    };
    draw(
        "alpha-ball-gap.svg",
        TIME,
        ("gap", "m"),
        curves("gap.floor"),
    );
    draw(
        "alpha-ball-velocity.svg",
        TIME,
        ("velocity", "m/s"),
        curves("gap_velocity.floor"),
    );
    draw(
        "alpha-ball-energy.svg",
        TIME,
        ("energy", "J"),
        curves("energy.total"),
    );
    let [n, g, h] = [
        newmark(0.5),
        newmark(1.0),
        Scheme::NonsmoothHht(NonsmoothHhtOptions::default()),
    ]
    .map(of);
    draw(
        "newmark-ball-energy.svg",
        TIME,
        ("energy", "J"),
        vec![
            ("newmark, γ = ½", column(&n, "energy.total")),
            ("newmark, γ = 1", column(&g, "energy.total")),
            ("hht, α = 0.1", column(&h, "energy.total")),
            ("pva", column(&b, "energy.total")),
        ],
    );
    let p = of(Scheme::GeneralizedAlpha(GeneralizedAlphaOptions {
        formulation: SmoothFormulation::P,
        ..GeneralizedAlphaOptions::default()
    }));
    draw(
        "alpha-index3-energy.svg",
        TIME,
        ("energy", "J"),
        vec![
            ("generalized-alpha, p", column(&p, "energy.total")),
            ("pva", column(&b, "energy.total")),
        ],
    );
}

fn pendulum() {
    let of = |scheme| run("bouncing-pendulum", scheme, 1e-3, 6.0);
    let [a, b, c] = [moreau_jean(), pvv(), pva()].map(of);
    let three = |points: &dyn Fn(&Trajectory) -> Points| {
        vec![
            ("moreau-jean", points(&a)),
            ("pvv", points(&b)),
            ("pva", points(&c)),
        ]
    };
    draw(
        "alpha-pendulum-position.svg",
        TIME,
        ("x", "m"),
        three(&|t| column(t, "q.x")),
    );
    draw(
        "alpha-pendulum-velocity.svg",
        TIME,
        ("ẋ", "m/s"),
        three(&|t| column(t, "v.x")),
    );
    draw(
        "alpha-pendulum-drift.svg",
        TIME,
        ("log₁₀ |g|", ""),
        three(&|t| size(t, "gap.rod_x")),
    );
    draw(
        "alpha-pendulum-drift-velocity.svg",
        TIME,
        ("log₁₀ |ġ|", ""),
        three(&|t| size(t, "gap_velocity.rod_x")),
    );
}

fn oscillator() {
    let of = |scheme| run("two-mass-oscillator", scheme, 1e-3, 1.0);
    let [a, b, c] = [moreau_jean(), pva(), newmark(0.5)].map(of);
    let name = "gap.floor";
    draw(
        "alpha-oscillator-gap.svg",
        TIME,
        ("gap", "m"),
        vec![
            ("moreau-jean", column(&a, name)),
            ("pva", column(&b, name)),
            ("newmark, γ = ½", column(&c, name)),
        ],
    );
}

/// Errors of the angle of the smooth pendulum at 1 s against a run with a step of 6.25e-5 s.
fn order() {
    let of = |scheme: Scheme, h: f64| last(&run("smooth-pendulum", scheme, h, 1.0), "q.theta");
    let exact = of(smooth(SmoothFormulation::Pva), 6.25e-5);
    let curve = |formulation| -> Points {
        [1e-3, 2e-3, 4e-3, 8e-3, 16e-3]
            .iter()
            .map(|&h: &f64| {
                (
                    h.log10(),
                    (of(smooth(formulation), h) - exact).abs().log10(),
                )
            })
            .collect()
    };
    let curves = vec![
        ("p", curve(SmoothFormulation::P)),
        ("v", curve(SmoothFormulation::V)),
        ("pv", curve(SmoothFormulation::Pv)),
        ("pva", curve(SmoothFormulation::Pva)),
    ];
    for (name, points) in &curves {
        let (first, last) = (points[0], points[points.len() - 1]);
        println!(
            "order of {name}: {:.2}",
            (last.1 - first.1) / (last.0 - first.0)
        );
    }
    draw(
        "alpha-order.svg",
        ("log₁₀ h", ""),
        ("log₁₀ error of θ", ""),
        curves,
    );
}

pub fn draw_all() {
    ball();
    pendulum();
    oscillator();
    order();
}
