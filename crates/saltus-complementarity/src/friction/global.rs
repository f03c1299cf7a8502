//! The global form solved as it is: `W` is never formed, only applied as `Hᵀ M⁻¹ H`.

use super::far::Ends;
use super::functions::NewtonFunction;
use super::measure::{Measure, Residual, norm_of};
use super::minimum_norm::canonical_reaction;
use super::problem::{FrictionContact, GlobalFriction, ProblemError};
use super::proximal::{Newton, Weight};
use super::search::{Limits, Search};
use super::solve::{FrictionOutcome, FrictionSolver, in_scaled_unknowns, solve};
use super::tangent::BodySpace;
use super::units::{Part, Range};
use crate::equilibrium::{exponent, near_one, times_power};
use crate::operator::Product;
use crate::outcome::Status;
use crate::sparse::SparseMatrix;
use saltus_linear::{SquareMatrix, max_abs};
use std::sync::{Arc, Mutex, PoisonError};

/// `W = Hᵀ M⁻¹ H` by its products.
#[derive(Debug)]
struct GlobalOperator {
    mass: SquareMatrix,
    h: SparseMatrix,
    mass_entries: usize,
    /// Generalised velocities of the product that is being computed.
    scratch: Mutex<Vec<f64>>,
}

impl Product for GlobalOperator {
    fn size(&self) -> usize {
        self.h.cols()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let mut v = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        v.fill(0.0);
        self.h.apply_add(1.0, x, &mut v);
        self.mass.solve(&mut v);
        y.fill(0.0);
        self.h.apply_transposed_add(1.0, &v, y);
    }

    /// The factors are counted as twice the matrix.
    fn work(&self) -> f64 {
        (4 * self.h.entries() + 4 * self.mass_entries) as f64
    }

    fn diagonal_block(&self, place: usize, k: usize, block: &mut [f64]) -> bool {
        let mut v = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        for j in 0..k {
            v.fill(0.0);
            for (i, value) in self.h.column(place * k + j) {
                v[i] = value;
            }
            self.mass.solve(&mut v);
            for i in 0..k {
                let column = self.h.column(place * k + i);
                block[i * k + j] = column.map(|(l, h)| h * v[l]).sum();
            }
        }
        true
    }
}

impl GlobalFriction {
    /// Whether the numbers are so far from 1 that the reduced form may leave their range.
    pub(crate) fn is_far(&self) -> bool {
        let diagonal = self.mass().triplets().filter(|e| e.0 == e.1).map(|e| e.2);
        let directions = self.directions().triplets();
        let largest = directions.fold(0.0_f64, |most, e| most.max(e.2.abs()));
        let data = max_abs(self.force()).max(max_abs(self.bias()));
        !near_one(&[largest, data]) || !near_one(&diagonal.collect::<Vec<_>>())
    }

    /// The reduced form with `W` known by its products: one solve with the factorised `M` each.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn matrix_free(&self) -> Result<FrictionContact, ProblemError> {
        let mass = self.factorised_mass()?;
        let mut v = self.force().to_vec();
        mass.solve(&mut v);
        let mut q = self.bias().to_vec();
        self.directions().apply_transposed_add(1.0, &v, &mut q);
        let operator: Arc<dyn Product> = Arc::new(GlobalOperator {
            mass_entries: self.mass().entries(),
            h: self.directions().clone(),
            scratch: Mutex::new(v),
            mass,
        });
        let (mu, rolling) = (self.friction().to_vec(), self.rolling().to_vec());
        FrictionContact::new(operator, q, mu, rolling)
    }
}

/// What impulses of the contacts make of a global problem.
pub(crate) struct Motion {
    /// Generalised velocities, `M v = H r + f`.
    pub v: Vec<f64>,
    /// Velocities of the contacts, `Hᵀ v + w`.
    pub u: Vec<f64>,
    /// `|M v − H r − f|`, relative to the largest term; in units in which the data are near 1, where they are far from it.
    pub defect: f64,
}

impl GlobalFriction {
    /// The motion by the impulses `r`.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub(crate) fn motion(&self, r: &[f64]) -> Result<Motion, ProblemError> {
        match Balanced::of(self)? {
            Some(near) => near.motion(r),
            None => self.motion_within(r),
        }
    }

    fn motion_within(&self, r: &[f64]) -> Result<Motion, ProblemError> {
        let v = self.generalised_velocity(&self.factorised_mass()?, r);
        let mut u = self.bias().to_vec();
        self.directions().apply_transposed_add(1.0, &v, &mut u);
        let (mut inertia, mut impulse) = (vec![0.0; v.len()], vec![0.0; v.len()]);
        self.mass().apply_add(1.0, &v, &mut inertia);
        self.directions().apply_add(1.0, r, &mut impulse);
        let terms = [&inertia, &impulse, self.force()].map(norm_of);
        let scale = terms.into_iter().fold(0.0, f64::max);
        let missed = inertia.iter().zip(&impulse).zip(self.force());
        let missed: Vec<f64> = missed.map(|((a, b), f)| a - b - f).collect();
        let defect = if scale > 0.0 {
            norm_of(&missed) / scale
        } else {
            0.0
        };
        Ok(Motion { v, u, defect })
    }

    /// [`canonical_reaction`] of the reduced form; false where that cannot be written.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub(crate) fn canonical_reaction(
        &self,
        tolerance: f64,
        r: &mut [f64],
    ) -> Result<bool, ProblemError> {
        let Some(near) = Balanced::of(self)? else {
            return Ok(canonical_reaction(&self.reduce()?, tolerance, r));
        };
        let mut inside = near.contacts.guess(r);
        let mut found = r.to_vec();
        let least = canonical_reaction(&near.problem.reduce()?, tolerance, &mut inside)
            && near.contacts.leave(&inside, &mut found);
        if least {
            r.copy_from_slice(&found);
        }
        Ok(least)
    }
}

/// Solves the global form from the guess `r` (dimension × contacts) and leaves the best point there. The certificate is
/// computed from `M v = H r + f`, `u = Hᵀ v + w`.
///
/// `ProjectedGradient` and `ProximalNewtonBodies` never form `W`; all other methods work on the
/// [reduced form](GlobalFriction::reduce).
///
/// # Errors
/// [`ProblemError::Mass`] where `M` is singular.
pub fn solve_global(
    problem: &GlobalFriction,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> Result<FrictionOutcome, ProblemError> {
    if let Some(near) = Balanced::of(problem)? {
        return near.solve(solver, limits, r);
    }
    within(problem, solver, limits, r)
}

/// In the units the data are in.
fn within(
    problem: &GlobalFriction,
    solver: FrictionSolver,
    limits: Limits<'_>,
    r: &mut [f64],
) -> Result<FrictionOutcome, ProblemError> {
    let mut end = match solver {
        FrictionSolver::ProximalNewtonBodies(function) => {
            let reduced = problem.matrix_free()?;
            match problem.dimension() {
                // In other units, by contacts.
                _ if !matches!(Range::of(&reduced), Range::Usual) => {
                    solve(&problem.reduce()?, solver, limits, r)
                }
                2 => in_bodies::<2>(problem, &reduced, function, limits, r),
                3 => in_bodies::<3>(problem, &reduced, function, limits, r),
                _ => in_bodies::<5>(problem, &reduced, function, limits, r),
            }
        }
        FrictionSolver::ProjectedGradient => solve(&problem.matrix_free()?, solver, limits, r),
        _ => solve(&problem.reduce()?, solver, limits, r),
    };
    end.residual = problem.residual_within(r)?;
    end.outcome.residual = end.residual.eta;
    if end.outcome.status == Status::NotFinite {
        // The solution is known, and too large or too small to be written.
    } else if end.residual.eta <= limits.tolerance {
        end.outcome.status = Status::Solved;
    } else if end.outcome.is_solved() {
        end.outcome.status = Status::Inaccurate;
    }
    Ok(end)
}

/// A global problem in units in which its numbers are near 1: those of a [`Part`] for the contacts, `v_j = 2^(b + t_j) v_j'` for
/// the bodies. `W` and `q` of the data need not be numbers.
pub(super) struct Balanced {
    problem: GlobalFriction,
    contacts: Part,
    /// `t_j`.
    bodies: Vec<i32>,
}

impl Balanced {
    /// `None` where the data are near 1.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn of(given: &GlobalFriction) -> Result<Option<Self>, ProblemError> {
        if !given.is_far() {
            return Ok(None);
        }
        let (mass, h) = (given.mass(), given.directions());
        let d = given.dimension();
        let mut bodies = vec![0; mass.rows()];
        for (j, _, v) in mass.triplets().filter(|e| e.0 == e.1) {
            bodies[j] = -(exponent(v) >> 1);
        }
        let mut largest = vec![None; given.contacts()];
        for (l, k, v) in h.triplets().filter(|e| e.2 != 0.0) {
            largest[k / d] = largest[k / d].max(Some(exponent(v) + bodies[l]));
        }
        let mut contacts: Vec<i32> = largest.iter().map(|k| k.map_or(0, |k: i32| -k)).collect();
        let mass = in_units(mass, |j| bodies[j], |j| bodies[j]);
        let h = in_units(h, |l| bodies[l], |k| contacts[k / d]);
        let size = given.bias().len();
        let law = [given.friction().to_vec(), given.rolling().to_vec()];
        let with = |f: Vec<f64>, w: Vec<f64>| {
            let [mu, rolling] = law.clone();
            GlobalFriction::assemble(d, mass.clone(), h.clone(), f, [w, mu, rolling])
        };
        // The scales of the contacts first; those on which no body acts have them from the others.
        let still = with(vec![0.0; bodies.len()], vec![0.0; size]).matrix_free()?;
        let mut scales = Measure::new(&still).scales().to_vec();
        let moved = (0..scales.len()).filter(|&i| largest[i].is_some());
        let most = moved
            .map(|i| exponent(scales[i]) - 2 * contacts[i])
            .max()
            .map_or(0, |k| k - 40);
        for i in (0..scales.len()).filter(|&i| largest[i].is_none()) {
            contacts[i] = -(most >> 1);
            scales[i] = 1.0;
        }
        let top = |x: &[f64], k: &dyn Fn(usize) -> i32| {
            let each = x.iter().enumerate().filter(|(_, v)| **v != 0.0);
            each.map(|(i, v)| exponent(*v) + k(i)).max()
        };
        let (force, bias) = (|j: usize| bodies[j], |k: usize| contacts[k / d]);
        let unit = top(given.force(), &force).max(top(given.bias(), &bias));
        let unit = unit.unwrap_or(0);
        let change = |x: &[f64], k: &dyn Fn(usize) -> i32| -> Vec<f64> {
            let each = x.iter().enumerate();
            each.map(|(i, v)| times_power(*v, k(i) - unit)).collect()
        };
        let problem = with(change(given.force(), &force), change(given.bias(), &bias));
        let reduced = problem.matrix_free()?;
        let measure = Measure::with(&reduced, scales);
        Ok(Some(Self {
            problem,
            contacts: Part::given(reduced, measure, contacts, unit),
            bodies,
        }))
    }

    /// The residual of `r` in the units of the data.
    ///
    /// # Errors
    /// [`ProblemError::Mass`] where `M` is singular.
    pub fn residual(&self, r: &[f64]) -> Result<Residual, ProblemError> {
        let inside = self.contacts.enter(r);
        let u = self.problem.motion_within(&inside)?.u;
        Ok(self.contacts.residual(self.contacts.inside(inside, u)))
    }

    fn motion(&self, r: &[f64]) -> Result<Motion, ProblemError> {
        let inside = self.problem.motion_within(&self.contacts.enter(r))?;
        let (mut u, unit) = (vec![0.0; inside.u.len()], self.contacts.unit());
        self.contacts.leave_speeds(&inside.u, &mut u);
        let v = inside.v.iter().zip(&self.bodies);
        let v = v.map(|(v, t)| times_power(*v, t + unit)).collect();
        Ok(Motion { v, u, ..inside })
    }

    pub fn infeasibility(&self) -> Option<Vec<f64>> {
        let found = self.contacts.problem.infeasibility()?;
        Some(self.contacts.normals(&found, self.problem.contacts()))
    }

    fn solve(
        &self,
        solver: FrictionSolver,
        limits: Limits<'_>,
        r: &mut [f64],
    ) -> Result<FrictionOutcome, ProblemError> {
        let mut inside = self.contacts.guess(r);
        let end = within(&self.problem, solver, limits, &mut inside)?;
        let mut ends = Ends::default();
        let solved = end.outcome.is_solved();
        ends.add(&self.contacts, end, &mut inside, r);
        let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
        ends.beyond |= solved && !finite(&self.motion(r)?.v);
        Ok(ends.judged(self.residual(r)?, limits))
    }
}

/// Entries times powers of two, one for each row and each column.
fn in_units(
    matrix: &SparseMatrix,
    row: impl Fn(usize) -> i32,
    column: impl Fn(usize) -> i32,
) -> SparseMatrix {
    let entries = matrix.triplets();
    let entries: Vec<_> = entries
        .map(|(i, j, v)| (i, j, times_power(v, row(i) + column(j))))
        .collect();
    SparseMatrix::from_triplets(matrix.rows(), matrix.cols(), &entries)
}

/// Proximal Newton with linear systems in the velocities of the bodies.
fn in_bodies<const D: usize>(
    problem: &GlobalFriction,
    reduced: &FrictionContact,
    function: NewtonFunction,
    limits: Limits<'_>,
    r: &mut [f64],
) -> FrictionOutcome {
    let measure = Measure::new(reduced);
    in_scaled_unknowns(reduced, &measure, limits, r, |scaled, limits, guess| {
        let mut search = Search::<D>::new(scaled, limits, guess);
        let mut newton = Newton::in_bodies(BodySpace::new(problem, &measure));
        let budget = limits.max_iterations;
        let stop = newton.proximal(&mut search, function, &mut Weight::new(1e-2), budget);
        (stop, search.iterations, search.spent(), search.best)
    })
}
