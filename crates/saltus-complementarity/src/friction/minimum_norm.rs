//! The canonical reaction: of all reactions with the velocities of a solution, the one of least `Σ d_i |r_i|²`.
//!
//! With `u` fixed the admissible reactions form the convex set `{ W r = u − q }` ∩ cones, rays of sliding contacts
//! and zeros of open ones; its point of least norm is unique, so that symmetric scenes get symmetric
//! reactions and the numbering of contacts does not matter. With rolling friction a contact may slide without rolling, or
//! roll without sliding: its reaction is then on a ray in one pair of components and in a disc in the other. Found by
//! Douglas–Rachford splitting (Lions & Mercier, *SIAM J. Numer. Anal.* 16 (1979)) where `W` is symmetric, and by Newton's method
//! on the dual where it is not or the splitting is slow.

use super::block_lu::BlockLu;
use super::cone_newton::ConeNewton;
use super::functions::{Block, NewtonFunction, projection_jacobian};
use super::problem::FrictionContact;
use super::residual::{ResidualScales, square};
use super::scaled::Scaled;
use super::solve::{FrictionSolver, solve};
use super::solver_state::Limits;
use crate::cone::{norm, project};
use saltus_linear::{Dense, axpy, dot};

/// The face of the friction cone in which the reaction of a contact lies, given its velocity.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConeFace<const D: usize> {
    Zero,
    /// Multiples of a unit vector: the contact slips, and rolls if it can.
    Ray([f64; D]),
    /// Multiples `α` of a unit vector, and beside it the two components from `disc` on, of length `coefficient · α` at
    /// most: the contact either slips or rolls.
    RayAndDisc {
        ray: [f64; D],
        disc: usize,
        coefficient: f64,
    },
    Cone,
}

impl<const D: usize> ConeFace<D> {
    /// Of a contact with velocity `u`, of which parts below `small` count as zero.
    pub(crate) fn new(u: &[f64; D], mu: f64, rolling: f64, small: f64) -> Self {
        if u[0] > small {
            return Self::Zero;
        }
        let pairs = [(1, D.min(3), mu), (D.min(3), D, rolling)];
        let moves = pairs.map(|(from, to, _)| norm(&u[from..to]) > small);
        if moves == [false, false] {
            return Self::Cone;
        }
        let mut ray = [0.0; D];
        ray[0] = 1.0;
        for ((from, to, coefficient), moves) in pairs.into_iter().zip(moves) {
            let size = norm(&u[from..to]);
            if moves {
                for k in from..to {
                    ray[k] = -coefficient * u[k] / size;
                }
            }
        }
        let length = norm(&ray);
        let ray = ray.map(|v| v / length);
        match moves {
            [true, false] if D == 5 => Self::RayAndDisc {
                ray,
                disc: 3,
                coefficient: rolling / length,
            },
            [false, true] => Self::RayAndDisc {
                ray,
                disc: 1,
                coefficient: mu / length,
            },
            _ => Self::Ray(ray),
        }
    }

    /// The nearest point to `a`.
    pub(crate) fn project(&self, a: &[f64; D], mu: f64, rolling: f64) -> [f64; D] {
        match self {
            Self::Zero => [0.0; D],
            Self::Cone => project(a, mu, rolling).0,
            Self::Ray(ray) => {
                let along = dot(a, ray).max(0.0);
                ray.map(|r| r * along)
            }
            Self::RayAndDisc {
                ray,
                disc,
                coefficient,
            } => {
                let plane = [dot(a, ray), a[*disc], a[disc + 1]];
                let ([along, first, second], _) = project(&plane, *coefficient, 0.0);
                let mut p = ray.map(|r| r * along);
                p[*disc] = first;
                p[disc + 1] = second;
                p
            }
        }
    }

    /// An element of the generalised Jacobian of the projection at `a`.
    pub(crate) fn slope(&self, a: &[f64; D], mu: f64, rolling: f64) -> Block<D> {
        let mut m = [[0.0; D]; D];
        match self {
            Self::Zero => {}
            Self::Cone => return projection_jacobian(a, mu, rolling),
            Self::Ray(ray) => {
                if dot(a, ray) > 0.0 {
                    for (line, r) in m.iter_mut().zip(ray) {
                        *line = ray.map(|v| r * v);
                    }
                }
            }
            Self::RayAndDisc {
                ray,
                disc,
                coefficient,
            } => {
                let plane = [dot(a, ray), a[*disc], a[disc + 1]];
                let inner = projection_jacobian(&plane, *coefficient, 0.0);
                let mut axes = [*ray, [0.0; D], [0.0; D]];
                axes[1][*disc] = 1.0;
                axes[2][disc + 1] = 1.0;
                for (left, line) in axes.iter().zip(&inner) {
                    for (right, s) in axes.iter().zip(line) {
                        for i in 0..D {
                            for j in 0..D {
                                m[i][j] += left[i] * s * right[j];
                            }
                        }
                    }
                }
            }
        }
        m
    }
}

/// Regularisations of the diagonal of the scaled `W`; the solution is refined. A larger one reduces rounding, a smaller one resolves
/// stiff directions.
const REGULARISATIONS: [f64; 4] = [1e-5, 1e-6, 1e-7, 1e-8];

/// Largest number of unknowns for Newton's method where splitting does not converge.
const NEWTON_LIMIT: usize = 2000;

/// Largest number of steps of Newton's method.
const NEWTON_STEPS: u32 = 60;

/// Thresholds below which velocities count as zero, relative to `√d |q|_D`, tried in this order: the residual alone does not bound
/// the error of the velocities.
const SMALL: [f64; 3] = [1e-8, 1e-6, 1e-4];

/// Relative reduction of the squared norm for which a larger residual is accepted.
const GAIN: f64 = 1e-9;

/// Rows whose remainder after orthogonalisation is shorter than this are linearly dependent.
const DEPENDENT: f64 = 1e-10;

/// Residuals below this are rounding.
const ROUND_OFF: f64 = 1e-14;

/// Largest residual at which velocities are accurate enough to distinguish slip from stick; a point with a larger one is refined
/// first, because the residual does not bound the error of velocities where `W` is ill-conditioned.
const VELOCITY_ACCURACY: f64 = 1e-11;

/// Counted operations spent on that refinement.
const REFINEMENT_WORK: f64 = 1e9;
/// Residual that the projections onto the reactions with the same velocities reach.
const PROJECTION_ACCURACY: f64 = 1e-9;
/// Newton steps that refine a shorter reaction to the tolerance.
const REFINEMENT_STEPS: u64 = 40;

/// Replaces `r`, a solution of `problem`, by the canonical reaction if that solves the problem to `tolerance`
/// or at least as well as `r`. Returns whether `r` is the canonical reaction now.
///
/// A reaction whose norm is not reduced is replaced only if the residual grows at most tenfold.
///
/// Where the velocities of `r` are not accurate enough to distinguish slip from stick, the problem is first solved more accurately
/// than to `tolerance`.
///
/// With rolling friction the norm mixes impulses (N s) with angular impulses (N m s), as `eta` does.
pub fn canonical_reaction(problem: &FrictionContact, tolerance: f64, r: &mut [f64]) -> bool {
    if r.len() != problem.dimension() * problem.contacts() || r.iter().any(|v| !v.is_finite()) {
        return false;
    }
    let problem = &*problem.assembled();
    // The projections reach this accuracy; a tighter tolerance is met from there by `refined`.
    let reached = tolerance.max(PROJECTION_ACCURACY);
    let least = |r: &mut [f64]| {
        let found = match problem.dimension() {
            2 => canonical_sized::<2>(problem, reached, r),
            3 => canonical_sized::<3>(problem, reached, r),
            _ => canonical_sized::<5>(problem, reached, r),
        };
        found && refined(problem, tolerance, r)
    };
    let eta = problem.residual(r).eta;
    let weights = ResidualScales::new(problem);
    let square = |r: &[f64]| -> f64 {
        let blocks = r
            .chunks_exact(problem.dimension())
            .zip(weights.contact_scales());
        blocks.map(|(r, d)| d * square(r)).sum()
    };
    // Replaces the reaction by a shorter one; one of the same norm is kept if it is more accurate.
    let least = |r: &mut [f64], eta: f64| {
        let mut shorter = r.to_vec();
        if !least(&mut shorter) {
            return false;
        }
        let (before, after) = (square(r), square(&shorter));
        let gains = before - after > GAIN * before;
        if gains || problem.residual(&shorter).eta <= (10.0 * eta).max(ROUND_OFF) {
            r.copy_from_slice(&shorter);
        }
        true
    };
    if eta > VELOCITY_ACCURACY {
        let mut better = r.to_vec();
        let limits = Limits {
            tolerance: 0.1 * VELOCITY_ACCURACY,
            max_work: REFINEMENT_WORK,
            ..Limits::default()
        };
        let end = solve(problem, FrictionSolver::Auto, limits, &mut better);
        if end.residual.eta < eta && least(&mut better, end.residual.eta) {
            r.copy_from_slice(&better);
            return true;
        }
    }
    least(r, eta)
}

/// Whether `r` solves `problem` to `tolerance`, if necessary after a few proximal steps, which change it little.
fn refined(problem: &FrictionContact, tolerance: f64, r: &mut [f64]) -> bool {
    if problem.residual(r).eta <= tolerance {
        return true;
    }
    let limits = Limits {
        tolerance,
        max_iterations: REFINEMENT_STEPS,
        ..Limits::default()
    };
    let method = FrictionSolver::ProximalNewton(NewtonFunction::NaturalMap);
    solve(problem, method, limits, r).outcome.is_solved()
}

fn canonical_sized<const D: usize>(
    problem: &FrictionContact,
    tolerance: f64,
    r: &mut [f64],
) -> bool {
    let scales = ResidualScales::new(problem);
    let p = Scaled::<D>::new(problem, &scales);
    let root: Vec<f64> = scales
        .contact_scales()
        .iter()
        .map(|d| d.sqrt() / scales.reference())
        .collect();
    let (given, _) = r.as_chunks::<D>();
    let start: Vec<[f64; D]> = given
        .iter()
        .zip(&root)
        .map(|(r, s)| r.map(|v| v * s))
        .collect();
    let mut u = vec![[0.0; D]; p.contacts()];
    p.velocity(&start, &mut u);
    let eta = p.eta(&start, &u);
    // The residual that is accepted, and the one aimed at.
    let limit = tolerance.max(eta);
    let goal = eta.max(ROUND_OFF).min(limit);
    let symmetric = p.w.asymmetry() <= 1e-12;
    let mut basis = None;
    let mut best = None;
    for small in SMALL {
        let small = small.max(10.0 * eta);
        let faces: Vec<ConeFace<D>> = u
            .iter()
            .enumerate()
            .map(|(i, u)| ConeFace::new(u, p.mu[i], p.rolling[i], small))
            .collect();
        if symmetric {
            best = REGULARISATIONS.iter().find_map(|&regularisation| {
                let mut affine_projection = RegularisedProjection::new(&p, regularisation)?;
                splitting(&p, &faces, &start, (limit, goal), |x| {
                    affine_projection.project(&start, x)
                })
            });
        }
        if best.is_none() && r.len() <= NEWTON_LIMIT {
            let basis = basis.get_or_insert_with(|| row_space(&p));
            best = solve_dual(&p, &faces, &start, (limit, goal), basis);
        }
        if best.is_some() {
            break;
        }
    }
    let Some(best) = best else {
        return false;
    };
    let (out, _) = r.as_chunks_mut::<D>();
    for ((to, from), s) in out.iter_mut().zip(&best).zip(&root) {
        *to = from.map(|v| v / s);
    }
    true
}

/// The projection onto `{ W x = W start }` by the factorised `W + ε`, where `W` is symmetric.
struct RegularisedProjection<'a, const D: usize> {
    p: &'a Scaled<D>,
    lu: BlockLu<D>,
    deviation: Vec<[f64; D]>,
    correction: Vec<[f64; D]>,
    scratch: Vec<[f64; D]>,
}

impl<'a, const D: usize> RegularisedProjection<'a, D> {
    fn new(p: &'a Scaled<D>, regularisation: f64) -> Option<Self> {
        let n = p.contacts();
        let mut lu = BlockLu::<D>::default();
        lu.analyse_matrix(&p.w);
        let regular = lu.factorise_shifted(&p.w, regularisation);
        let zero = vec![[0.0; D]; n];
        regular.then(|| Self {
            p,
            lu,
            deviation: zero.clone(),
            correction: zero.clone(),
            scratch: zero,
        })
    }

    /// `x ← x − (W + ε)⁻¹ W (x − start)`, repeated to remove the error of the regularisation.
    fn project(&mut self, start: &[[f64; D]], x: &mut [[f64; D]]) {
        for _ in 0..6 {
            for ((deviation, x), start) in self.deviation.iter_mut().zip(&*x).zip(start) {
                for k in 0..D {
                    deviation[k] = x[k] - start[k];
                }
            }
            self.p.product(&self.deviation, &mut self.correction);
            self.lu.solve(&mut self.correction, &mut self.scratch);
            axpy(-1.0, self.correction.as_flattened(), x.as_flattened_mut());
        }
    }
}

/// An orthonormal basis of the row space of `W` in the columns.
fn row_space<const D: usize>(p: &Scaled<D>) -> Dense {
    let size = D * p.contacts();
    let mut rows = vec![vec![0.0; size]; size];
    for (i, j, value) in p.w.triplets() {
        rows[i][j] += value;
    }
    let basis = row_basis(rows);
    let mut columns = Dense::zeros(size, basis.len());
    for (k, vector) in basis.iter().enumerate() {
        for (i, v) in vector.iter().enumerate() {
            columns[(i, k)] = *v;
        }
    }
    columns
}

/// An orthonormal basis of the span of `rows`: Gram–Schmidt with the longest first, every vector orthogonalised twice.
fn row_basis(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut longest = 0.0_f64;
    while let Some((next, square)) = rows
        .iter()
        .map(|row| dot(row, row))
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
    {
        longest = longest.max(square);
        if square <= DEPENDENT * DEPENDENT * longest || square.is_nan() {
            break;
        }
        let mut next = rows.swap_remove(next);
        for known in &basis {
            let along = dot(known, &next);
            axpy(-along, known, &mut next);
        }
        let length = dot(&next, &next).sqrt();
        // The remainder is rounding only.
        if length <= 0.5 * square.sqrt() {
            continue;
        }
        next.iter_mut().for_each(|v| *v /= length);
        for row in &mut rows {
            let along = dot(&next, row);
            axpy(-along, &next, row);
        }
        basis.push(next);
    }
    basis
}

/// The dual of `min ½|x|²` on the faces with `W x = W start`: `x = P(y)`, `y` in the row space, by Newton's method.
fn solve_dual<const D: usize>(
    p: &Scaled<D>,
    faces: &[ConeFace<D>],
    start: &[[f64; D]],
    (limit, goal): (f64, f64),
    basis: &Dense,
) -> Option<Vec<[f64; D]>> {
    let projection = |i: usize, y: &[f64; D]| {
        let (mu, rolling) = (p.mu[i], p.rolling[i]);
        (
            faces[i].project(y, mu, rolling),
            faces[i].slope(y, mu, rolling),
        )
    };
    let mut target = vec![0.0; basis.cols()];
    basis.apply_transposed_add(1.0, start.as_flattened(), &mut target);
    let zero = vec![[0.0; D]; start.len()];
    let mut u = zero.clone();
    let mut newton = ConeNewton::<D>::new(basis.clone());
    newton.x.clone_from(&target);
    let mut accepted = None;
    newton.minimise(&zero, &target, &projection, NEWTON_STEPS, |at| {
        // The accuracy of W x = W start, which keeps the velocities.
        let off = dot(&at.gradient, &at.gradient).sqrt();
        if off > limit {
            return false;
        }
        p.velocity(&at.p, &mut u);
        if p.eta(&at.p, &u) <= limit {
            accepted = Some(at.p.clone());
        }
        off <= 0.01 * goal
    });
    accepted
}

/// Douglas–Rachford between `½|x|²` on the faces and the affine set `W x = W start`, which `affine_projection` projects onto.
fn splitting<const D: usize>(
    p: &Scaled<D>,
    faces: &[ConeFace<D>],
    start: &[[f64; D]],
    (limit, goal): (f64, f64),
    mut affine_projection: impl FnMut(&mut [[f64; D]]),
) -> Option<Vec<[f64; D]>> {
    let n = p.contacts();
    let mut v = start.to_vec();
    let mut x = v.clone();
    let mut z = vec![[0.0; D]; n];
    let mut u = z.clone();
    let (mut accepted, mut least) = (None, f64::INFINITY);
    let mut earlier = f64::INFINITY;
    for iteration in 0..3000 {
        x.copy_from_slice(&v);
        affine_projection(&mut x);
        let mut moved = 0.0;
        for i in 0..n {
            let mut a = [0.0; D];
            for k in 0..D {
                a[k] = 0.5 * (2.0 * x[i][k] - v[i][k]);
            }
            z[i] = faces[i].project(&a, p.mu[i], p.rolling[i]);
            let mut step = [0.0; D];
            for k in 0..D {
                step[k] = z[i][k] - x[i][k];
                v[i][k] += step[k];
            }
            moved += square(&step);
        }
        let done = moved.sqrt() <= 0.1 * goal;
        if iteration % 50 == 49 || done {
            p.velocity(&z, &mut u);
            let eta = p.eta(&z, &u);
            if !eta.is_finite() {
                return accepted;
            }
            if eta <= limit && eta <= least {
                least = eta;
                accepted = Some(z.clone());
            }
            if done {
                break;
            }
        }
        if iteration % 500 == 499 {
            // Too slow to converge, or limited by rounding.
            if moved.sqrt() > 0.1 * earlier {
                break;
            }
            earlier = moved.sqrt();
        }
    }
    p.velocity(&z, &mut u);
    let eta = p.eta(&z, &u);
    (eta <= limit && eta <= least).then_some(z).or(accepted)
}
