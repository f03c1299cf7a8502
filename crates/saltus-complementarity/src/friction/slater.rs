//! Whether the velocities of a problem can be put inside the dual cones: Slater's condition, which guarantees a solution
//! where `W` is symmetric and positive semidefinite (Acary, Cadoux, Lemaréchal & Malick, *ZAMM* 91 (2011), theorem 3.4).
//!
//! The converse is false. A solution has `u_n ≥ 0`, not `u ∈ K*`: where the condition fails, a solution may exist or not.
//! That none exists is said by [`infeasibility`](super::infeasibility) and [`refutation`](super::refutation) alone.

use super::cone_newton::ConeNewton;
use super::diagnosis::{DIAGNOSIS_LIMIT, Refutation, guarantees, infeasibility, refutation};
use super::functions::projection_slope;
use super::measure::Measure;
use super::problem::FrictionContact;
use super::scaled::{Scaled, total};
use super::units::{Levelled, Range, Units};
use crate::cone::{norm, project};
use saltus_linear::{Dense, dot};

/// What is known of a problem before it is solved.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Feasibility {
    /// `u = W x + q` is inside the dual cones: `u_n ≥ μ|u_t| + μ_r|u_r| + margin √d |q|_D` in every contact, with the scales
    /// of [`Measure`]; with
    /// rolling friction `|u_r|` is measured in the length `√(W_tt/W_rr)` of each contact there.
    Strict {
        /// Impulses that do it (dimension × contacts), N s; they need not be in the cones.
        x: Vec<f64>,
        /// Distance from the boundary; the largest that was looked for is 1/2.
        margin: f64,
        /// Whether `W` is symmetric and positive semidefinite, so that a solution exists; else one may exist or not.
        solvable: bool,
    },
    /// No such point was found: a solution may exist or not.
    Open {
        /// The proof that there is none, up to rounding, where one was found: `p ∈ K` (dimension × contacts), N s, with `Wᵀ p = 0`
        /// and `q·p ≤ 0` or hardly more.
        separating: Option<Vec<f64>>,
    },
    /// No reaction satisfies even `u_n ≥ 0`.
    Infeasible {
        /// See [`infeasibility`].
        certificate: Vec<f64>,
    },
    /// Some reactions satisfy `u_n ≥ 0`, but every combination of open, stick and slip is refuted: there is no solution.
    Refuted(Refutation),
}

/// Margins that are looked for, one after the other.
const MARGINS: [f64; 5] = [1.0, 1e-2, 1e-4, 1e-6, 1e-8];

/// Largest number of Newton steps for one margin.
const STEPS: u32 = 100;

/// What is known of `problem`; `None` for more than [`DIAGNOSIS_LIMIT`] contacts.
#[must_use]
pub fn feasibility(problem: &FrictionContact) -> Option<Feasibility> {
    if problem.contacts() > DIAGNOSIS_LIMIT {
        return None;
    }
    let problem = &*problem.assembled();
    let mut found = match Range::of(problem) {
        Range::Usual => in_own_length(problem),
        Range::Far => {
            let whole = Units::whole(problem);
            let mut found = in_own_length(&whole.problem);
            found.change(|x| {
                let inside = std::mem::take(x);
                x.resize(inside.len(), 0.0);
                whole.leave(&inside, x);
            });
            if let Feasibility::Infeasible { certificate } = &mut found {
                *certificate = whole.normals(certificate, problem.contacts());
            }
            found
        }
    };
    found.finite();
    Some(found)
}

/// With rolling friction in the lengths of the problem itself.
fn in_own_length(problem: &FrictionContact) -> Feasibility {
    match Levelled::new(problem) {
        Some(own) => {
            let mut found = sized::<5>(&own.problem);
            found.change(|x| own.leave(x));
            found
        }
        None if problem.dimension() == 2 => sized::<2>(problem),
        None => sized::<3>(problem),
    }
}

impl Feasibility {
    /// Impulses in other units.
    fn change(&mut self, leave: impl Fn(&mut Vec<f64>)) {
        match self {
            Self::Strict { x, .. } => leave(x),
            Self::Open { separating } => {
                if let Some(p) = separating {
                    leave(p);
                }
            }
            Self::Infeasible { .. } | Self::Refuted(_) => {}
        }
    }

    /// Nothing that leaves the range of numbers.
    fn finite(&mut self) {
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        match self {
            Self::Strict { x, .. } if !finite(x) => *self = Self::Open { separating: None },
            Self::Open { separating } if separating.as_ref().is_some_and(|p| !finite(p)) => {
                *separating = None;
            }
            _ => {}
        }
    }
}

fn sized<const D: usize>(problem: &FrictionContact) -> Feasibility {
    let measure = Measure::new(problem);
    let p = Scaled::<D>::new(problem, &measure);
    let unscaled = |x: &[[f64; D]]| -> Vec<f64> {
        let scales = measure.scales().iter();
        x.iter()
            .zip(scales)
            .flat_map(|(x, d)| x.map(|v| v * measure.reference() / d.sqrt()))
            .collect()
    };
    let mut minus_w = Dense::zeros(D * p.contacts(), D * p.contacts());
    for (i, j, value) in p.w.triplets() {
        minus_w[(i, j)] -= value;
    }
    let solvable = guarantees(&p.w);
    // Where `W` is anything, velocities inside the dual cones may belong to impulses outside the cones only.
    if !solvable && let Some(found) = disproved(problem) {
        return found;
    }
    let mut search = ConeNewton::<D>::new(minus_w);
    let mut separating = None;
    for margin in MARGINS {
        match reach(&mut search, &p, margin) {
            Reach::Inside(margin) => {
                let x = unscaled(search.x.as_chunks::<D>().0);
                return Feasibility::Strict {
                    x,
                    margin,
                    solvable,
                };
            }
            Reach::Separated(proof) => separating = Some(unscaled(&proof)),
            Reach::Unknown => {}
        }
    }
    let found = if solvable { disproved(problem) } else { None };
    found.unwrap_or(Feasibility::Open { separating })
}

/// The proof that there is no solution.
fn disproved(problem: &FrictionContact) -> Option<Feasibility> {
    let squeezed =
        infeasibility(problem).map(|certificate| Feasibility::Infeasible { certificate });
    squeezed.or_else(|| refutation(problem).map(Feasibility::Refuted))
}

enum Reach<const D: usize> {
    Inside(f64),
    Separated(Vec<[f64; D]>),
    Unknown,
}

/// Looks for `x` with `W x + q − margin n` in the dual cones by minimising half its squared distance from them, `½ |P_K(−·)|²`.
/// Where that ends above zero, the projection separates the velocities from the shifted cones.
fn reach<const D: usize>(search: &mut ConeNewton<D>, p: &Scaled<D>, margin: f64) -> Reach<D> {
    let minus: Vec<[f64; D]> = p.q.iter().map(|q| shifted(q, margin)).collect();
    let projection = |i: usize, y: &[f64; D]| {
        let (point, slope) = (
            project(y, p.mu[i], p.rolling[i]).0,
            projection_slope(y, p.mu[i], p.rolling[i]),
        );
        (point, slope)
    };
    let mut end = Reach::Unknown;
    let flat = vec![0.0; search.x.len()];
    search.minimise(&minus, &flat, &projection, STEPS, |at| {
        let depth = depth(&at.y, p, margin);
        if depth >= 0.5 * margin {
            end = Reach::Inside(depth.min(0.5));
            return true;
        }
        let length = total(&at.p).sqrt();
        if dot(&at.gradient, &at.gradient).sqrt() <= 1e-11 * length {
            end = Reach::Separated(at.p.clone());
            return true;
        }
        false
    });
    end
}

/// `−(u − margin n)`.
fn shifted<const D: usize>(u: &[f64; D], margin: f64) -> [f64; D] {
    let mut y = u.map(|v| -v);
    y[0] += margin;
    y
}

/// How far the velocities are inside the dual cones, `y` being what [`shifted`] makes of them.
fn depth<const D: usize>(y: &[[f64; D]], p: &Scaled<D>, margin: f64) -> f64 {
    let lines = y.iter().enumerate().map(|(i, y)| {
        let (t, s) = (norm(&y[1..D.min(3)]), norm(&y[D.min(3)..]));
        margin - y[0] - p.mu[i] * t - p.rolling[i] * s
    });
    lines.fold(f64::INFINITY, f64::min)
}
