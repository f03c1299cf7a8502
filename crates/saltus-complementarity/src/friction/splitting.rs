//! The alternating direction method of multipliers for `min ½ x'W x + (q + s)·x, x ∈ K`, `s = μ|u_t| n` refreshed in every
//! iteration (Boyd et al., *Found. Trends Mach. Learn.* 3 (2011); Tasora, Mangoni, Benatti & Garziera, *IJNME* 122 (2021)
//! for contact).

use super::block_lu::BlockLu;
use super::scaled::{Scaled, squared_norm};
use super::solver_state::{SolverState, Stop};
use crate::cone::{norm, project};

/// `W + ρ I`, factorised once per ρ.
struct Regularised<const D: usize> {
    factors: BlockLu<D>,
    rho: f64,
    scratch: Vec<[f64; D]>,
    residual: Vec<[f64; D]>,
}

impl<const D: usize> Regularised<D> {
    fn new(solver: &mut SolverState<'_, D>, rho: f64) -> Option<Self> {
        let p = solver.p;
        let n = p.contacts();
        let zero = vec![[0.0; D]; n];
        let mut factors = BlockLu::default();
        factors.analyse_matrix(&p.w);
        let mut this = Self {
            factors,
            rho,
            scratch: zero.clone(),
            residual: zero,
        };
        this.factorise(solver).then_some(this)
    }

    fn factorise(&mut self, solver: &mut SolverState<'_, D>) -> bool {
        let (p, rho) = (solver.p, self.rho);
        solver.work += self.factors.flops();
        self.factors.factorise_shifted(&p.w, rho)
    }

    /// `x ← (W + ρ I)⁻¹ b`, refined once where rounding shows.
    fn solve(&mut self, solver: &mut SolverState<'_, D>, b: &[[f64; D]], x: &mut [[f64; D]]) {
        x.copy_from_slice(b);
        self.factors.solve(x, &mut self.scratch);
        solver.work += 4.0 * solver.p.product_work();
        if self.rho < 1e-6 {
            for (i, d) in self.residual.iter_mut().enumerate() {
                let image = solver.p.w.row_dot::<D>(i, x);
                for k in 0..D {
                    d[k] = b[i][k] - image[k] - self.rho * x[i][k];
                }
            }
            self.factors.solve(&mut self.residual, &mut self.scratch);
            for (x, d) in x.iter_mut().zip(&self.residual) {
                for (x, d) in x.iter_mut().zip(d) {
                    *x += d;
                }
            }
        }
    }
}

/// `μ|u_t| + μ_r|u_r|` of a velocity.
fn de_saxce_term<const D: usize>(p: &Scaled<D>, i: usize, u: &[f64; D]) -> f64 {
    if D == 5 {
        p.mu[i] * norm(&u[1..3]) + p.rolling[i] * norm(&u[3..D])
    } else {
        p.mu[i] * norm(&u[1..])
    }
}

/// One sequence of ADMM iterations.
struct Splitting<const D: usize> {
    z: Vec<[f64; D]>,
    /// Scaled multiplier: `−ρ y` is the estimate of `û`.
    y: Vec<[f64; D]>,
    x: Vec<[f64; D]>,
    /// The De Saxcé term.
    s: Vec<f64>,
    rhs: Vec<[f64; D]>,
}

impl<const D: usize> Splitting<D> {
    fn new(solver: &mut SolverState<'_, D>, rho: f64) -> Self {
        let p = solver.p;
        let z = solver.best.clone();
        p.velocity(&z, &mut solver.u);
        solver.work += p.product_work();
        let s: Vec<f64> = solver
            .u
            .iter()
            .enumerate()
            .map(|(i, u)| de_saxce_term(p, i, u))
            .collect();
        let mut y = solver.u.clone();
        for (y, s) in y.iter_mut().zip(&s) {
            y[0] += s;
            for v in y.iter_mut() {
                *v = -*v / rho;
            }
        }
        Self {
            x: z.clone(),
            rhs: z.clone(),
            z,
            y,
            s,
        }
    }

    /// One iteration; returns the primal and the dual residual.
    fn step(&mut self, solver: &mut SolverState<'_, D>, system: &mut Regularised<D>) -> (f64, f64) {
        let p = solver.p;
        let rho = system.rho;
        for i in 0..self.z.len() {
            for k in 0..D {
                self.rhs[i][k] = -p.q[i][k] + rho * (self.z[i][k] - self.y[i][k]);
            }
            self.rhs[i][0] -= self.s[i];
        }
        system.solve(solver, &self.rhs, &mut self.x);
        let (mut primal, mut dual) = (0.0, 0.0);
        for i in 0..self.z.len() {
            let mut a = [0.0; D];
            for k in 0..D {
                a[k] = 1.6 * self.x[i][k] - 0.6 * self.z[i][k] + self.y[i][k];
            }
            let z = project(&a, p.mu[i], p.rolling[i]).0;
            for k in 0..D {
                primal += (self.x[i][k] - z[k]).powi(2);
                dual += (rho * (z[k] - self.z[i][k])).powi(2);
                self.y[i][k] = a[k] - z[k];
            }
            self.z[i] = z;
            // û = −ρ y: its tangential part is that of u.
            self.s[i] = rho * de_saxce_term(p, i, &self.y[i]);
        }
        solver.iterations += 1;
        solver.work += (40 * D * self.z.len()) as f64;
        (primal.sqrt(), dual.sqrt())
    }
}

impl<const D: usize> Splitting<D> {
    /// Multiplies ρ by the square root of the ratio of the residuals and factorises again; false where that fails.
    fn adapt_rho(
        &mut self,
        solver: &mut SolverState<'_, D>,
        system: &mut Regularised<D>,
        ratio: f64,
    ) -> bool {
        let next = (system.rho * ratio.clamp(0.1, 10.0)).clamp(1e-8, 1e4);
        for y in &mut self.y {
            for v in y {
                *v *= system.rho / next;
            }
        }
        system.rho = next;
        system.factorise(solver)
    }
}

/// ADMM with ρ balanced by the residuals, at most ten factorisations.
pub(crate) struct Admm<const D: usize> {
    system: Regularised<D>,
    state: Splitting<D>,
    factorisations: u32,
    /// Iterations since the last factorisation.
    since_factorisation: u32,
    /// Iterations since the last evaluation of the residual.
    since_evaluation: u32,
}

impl<const D: usize> Admm<D> {
    /// From the best point; `None` where `W + ρ I` is singular.
    pub fn new(solver: &mut SolverState<'_, D>) -> Option<Self> {
        let system = Regularised::new(solver, 0.1)?;
        let state = Splitting::new(solver, system.rho);
        Some(Self {
            system,
            state,
            factorisations: 0,
            since_factorisation: 0,
            since_evaluation: 0,
        })
    }

    /// One iteration; false where the matrix with another ρ is singular.
    fn iterate(&mut self, solver: &mut SolverState<'_, D>) -> bool {
        let (primal, dual) = self.state.step(solver, &mut self.system);
        self.since_factorisation += 1;
        let balance = (primal / dual).sqrt();
        let unbalanced = balance.is_finite() && !(1.0 / 3.0..=3.0).contains(&balance);
        if unbalanced && self.since_factorisation >= 20 && self.factorisations < 10 {
            if !self.state.adapt_rho(solver, &mut self.system, balance) {
                return false;
            }
            self.factorisations += 1;
            self.since_factorisation = 0;
        }
        true
    }

    /// Until the solver is to stop.
    pub fn run(&mut self, solver: &mut SolverState<'_, D>) -> Stop {
        loop {
            if let Some(stop) = solver.stop() {
                return stop;
            }
            if !self.iterate(solver) {
                return Stop::Stalled;
            }
            self.since_evaluation += 1;
            if self.since_evaluation >= 5 || solver.remaining_iterations() == 0 {
                self.since_evaluation = 0;
                let eta = solver.evaluate(&self.state.z);
                if !eta.is_finite() || squared_norm(&self.state.z) > 1e20 {
                    return solver.stop().unwrap_or(Stop::Diverging);
                }
            }
        }
    }
}

/// ADMM to the end.
pub(crate) fn admm<const D: usize>(solver: &mut SolverState<'_, D>) -> Stop {
    Admm::new(solver).map_or(Stop::Stalled, |mut admm| admm.run(solver))
}
