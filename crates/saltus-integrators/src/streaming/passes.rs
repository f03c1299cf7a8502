//! The two passes over memory of a step.

use super::columns::dot_columns;
use super::fingerprint::Fingerprint;
use super::rows::{CompletedRows, widened};
use super::sums::{Slices, Sums, Weights};
use crate::integrator::Energy;
use saltus_linear::{Runs, Schur, SquareMatrix, Sweep};
use saltus_system::{StreamedDynamics, Window};
use std::ops::Range;

/// What a step starts from.
#[derive(Clone, Copy)]
pub(crate) struct StepInputs<'a> {
    pub(crate) local: &'a dyn StreamedDynamics,
    pub(crate) q: &'a [f64],
    pub(crate) v: &'a [f64],
    /// Length of the step \[s\].
    pub(crate) h: f64,
    /// Time its forces are evaluated at \[s\].
    pub(crate) t_eval: f64,
    /// Time of its end \[s\].
    pub(crate) end: f64,
}

/// The forward pass.
pub(crate) struct ForwardPass<'a> {
    /// What forces are multiplied by before they are eliminated.
    pub(crate) factor: f64,
    /// Columns that gather what forces alone do along the rows of `list`.
    pub(crate) columns: &'a Schur,
    pub(crate) list: &'a [usize],
    /// Vectors to be prefetched into the cache.
    pub(crate) prefetched: &'a [&'a [f64]],
}

impl ForwardPass<'_> {
    /// Leaves eliminated forces in `x` and what the columns gathered in `sums`; returns what tells the start apart.
    ///
    /// `evaluate(rows, wide, force)` evaluates the force on `rows`, of which `wide` are the rows it depends on.
    pub(crate) fn run(
        &self,
        sweep: &mut Sweep<'_>,
        inputs: StepInputs<'_>,
        x: &mut [f64],
        sums: &mut [f64],
        mut evaluate: impl FnMut(Range<usize>, Range<usize>, &mut [f64]),
    ) -> Fingerprint {
        let mut seen = Fingerprint::default();
        for stage in 0..sweep.stages() {
            for rows in sweep.rows(stage).into_iter().filter(|r| !r.is_empty()) {
                seen.take_all(&inputs.q[rows.clone()], &inputs.v[rows.clone()]);
                let wide = widened(&rows, inputs.local.reach(), x.len());
                let force = &mut x[rows.clone()];
                evaluate(rows.clone(), wide, force);
                dot_columns(self.columns, self.list, &rows, force, sums);
            }
            sweep.inward(stage, self.factor, x, self.prefetched);
        }
        seen
    }
}

/// What a scheme does in its backward pass.
pub(crate) trait BackwardPass {
    /// Substitutes the unknowns of a stage.
    fn substitute(&mut self, sweep: &mut Sweep<'_>, stage: usize);
    /// Makes the end of the step from the unknowns of `rows`.
    fn advance(&mut self, rows: Range<usize>);
    /// Adds up what `rows` contribute to balance and energy; their neighbours are at the end, too.
    fn certify(&mut self, rows: Range<usize>);
}

/// Runs the backward pass over `n` rows that reach `reach` rows far; where weights repeat, in `runs`, rows come apart.
#[inline]
pub(crate) fn backward_pass(
    sweep: &mut Sweep<'_>,
    (n, reach): (usize, usize),
    runs: &Runs,
    pass: &mut impl BackwardPass,
) {
    let mut completed = CompletedRows::new(n, reach);
    for stage in (0..sweep.stages()).rev() {
        pass.substitute(sweep, stage);
        let ranges = sweep.rows(stage);
        for rows in ranges.iter().filter(|rows| !rows.is_empty()) {
            pass.advance(rows.clone());
        }
        for rows in completed.spread(&ranges).flat_map(|rows| runs.parts(rows)) {
            pass.certify(rows);
        }
    }
}

/// Energy of the state of `inputs`, added up in the order of a step, so that a run that goes on finds the same bits.
pub(crate) fn energy_of_rows(
    sweep: &Sweep<'_>,
    inputs: StepInputs<'_>,
    mass: &SquareMatrix,
    reach: usize,
    (runs, weights): (&Runs, &[f64]),
    buffer: &mut [f64],
) -> Energy {
    let mut sums = Sums::default();
    let mut completed = CompletedRows::new(inputs.v.len(), reach);
    for stage in (0..sweep.stages()).rev() {
        let ranges = sweep.rows(stage);
        for rows in completed.spread(&ranges).flat_map(|rows| runs.parts(rows)) {
            let mv = &mut buffer[..rows.len()];
            mass.rows_times(rows.clone(), (0, inputs.v), mv);
            let slices = Slices {
                mx: mv,
                mv,
                force: mv,
                v: &inputs.v[rows.clone()],
            };
            sums.include::<false>(&slices, Weights::of(runs, weights, &rows), 0.0);
            let at = full_window(inputs.t_eval, inputs.q, inputs.v);
            sums.potential += inputs.local.potential_rows(at, rows);
        }
    }
    sums.energy()
}

/// All positions and velocities.
pub(crate) fn full_window<'a>(t: f64, q: &'a [f64], v: &'a [f64]) -> Window<'a> {
    Window { t, first: 0, q, v }
}
