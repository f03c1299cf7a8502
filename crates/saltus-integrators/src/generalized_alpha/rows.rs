//! Bilateral constraints and contact normals as one list of rows, with their rates and derivatives.

use crate::kit::row_reach;
use saltus_linear::{MatrixSink, RowCollector, Shifted, SparseRows};
use saltus_system::{ContactSet, Point, System};

/// The `m` rows of a step: `ng` bilateral constraints, then the normal of every contact.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) ng: usize,
    /// Contacts at the trial state.
    pub(super) set: ContactSet,
    /// The same contacts at the forecast position, whose gaps decide to which contacts the impact law applies: `q̃` in `pvv`,
    /// `q_n + (h/2) v_n` in the half-step schemes.
    pub(super) forecast: ContactSet,
    gradient: RowCollector,                 // G (m × nv)
    bias_damping: RowCollector,             // ∂ζ/∂v
    acceleration_gradient: RowCollector,    // D(G v̇ + ζ)
    smooth_velocity_gradient: RowCollector, // D(G ṽ + ∂g/∂t)
    velocity_gradient: RowCollector,        // D(G v + ∂g/∂t)
    /// Row of each direction of `set`: `ng + contact` for normals, [`NONE`] for tangents.
    normal: Vec<usize>,
    per_direction: Vec<f64>, // (directions of `set`)
    /// `g` and gaps (m) \[m\].
    pub(super) gap: Vec<f64>,
    /// Gaps at the forecast position (m; bilateral entries unused) \[m\].
    pub(super) forecast_gap: Vec<f64>,
    /// `∂g/∂t` (m) \[m/s\].
    pub(super) rate: Vec<f64>,
    /// `ζ` (m) \[m/s²\].
    pub(super) bias: Vec<f64>,
    /// `G v + ∂g/∂t` (m) \[m/s\].
    pub(super) velocity: Vec<f64>,
    /// `G ṽ + ∂g/∂t` (m) \[m/s\].
    pub(super) smooth_velocity: Vec<f64>,
    /// `G v̇ + ζ` (m) \[m/s²\].
    pub(super) acceleration: Vec<f64>,
    /// `Σ |G_jk| / √M_kk` (m): bound on the velocity of a row at a momentum scale of one.
    pub(super) row_norm: Vec<f64>,
}

/// No row.
const NONE: usize = usize::MAX;

/// Passes the entries of normals on, with their row numbers among constraints and contacts.
struct Normals<'a> {
    sink: &'a mut dyn MatrixSink,
    row_of: &'a [usize],
}

impl MatrixSink for Normals<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        let row = self.row_of[row];
        if row != NONE && value != 0.0 {
            self.sink.entry(row, col, value);
        }
    }
}

impl Rows {
    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ng + self.set.len()
    }

    /// Number of contacts.
    pub(super) fn contacts(&self) -> usize {
        self.set.len()
    }

    /// Whether all gaps, velocities and accelerations are finite.
    pub(super) fn are_finite(&self) -> bool {
        let lists = [
            &self.gap,
            &self.velocity,
            &self.smooth_velocity,
            &self.acceleration,
        ];
        lists.into_iter().flatten().all(|x| x.is_finite())
    }

    /// `G` (m × nv).
    pub(super) fn gradient(&self) -> &SparseRows {
        self.gradient.rows()
    }

    /// `∂ζ/∂v` (m × nv).
    pub(super) fn bias_damping(&self) -> &SparseRows {
        self.bias_damping.rows()
    }

    /// `D(G v̇ + ζ)` (m × nv).
    pub(super) fn acceleration_gradient(&self) -> &SparseRows {
        self.acceleration_gradient.rows()
    }

    /// `D(G ṽ + ∂g/∂t)` (m × nv).
    pub(super) fn smooth_velocity_gradient(&self) -> &SparseRows {
        self.smooth_velocity_gradient.rows()
    }

    /// `D(G v + ∂g/∂t)` (m × nv).
    pub(super) fn velocity_gradient(&self) -> &SparseRows {
        self.velocity_gradient.rows()
    }

    /// Sizes everything for `ng` constraints and the contacts in `set`.
    pub(super) fn resize(&mut self, ng: usize) {
        self.ng = ng;
        let directions = self.set.directions.len();
        self.normal.clear();
        self.normal.resize(directions, NONE);
        for (i, &row) in self.set.first_row.iter().enumerate() {
            self.normal[row] = ng + i;
        }
        self.per_direction.clear();
        self.per_direction.resize(directions, 0.0);
        let m = self.len();
        for list in [
            &mut self.gap,
            &mut self.forecast_gap,
            &mut self.rate,
            &mut self.bias,
            &mut self.velocity,
            &mut self.smooth_velocity,
            &mut self.acceleration,
            &mut self.row_norm,
        ] {
            list.clear();
            list.resize(m, 0.0);
        }
        for rows in [
            &mut self.gradient,
            &mut self.bias_damping,
            &mut self.acceleration_gradient,
            &mut self.smooth_velocity_gradient,
            &mut self.velocity_gradient,
        ] {
            rows.clear();
            rows.finish(m);
        }
    }

    /// `g` and gaps at `(t, q)`, contact directions with them.
    pub(super) fn evaluate_gaps(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        let ng = self.ng;
        system.g(t, q, &mut self.gap[..ng]);
        if self.contacts() > 0 {
            system.evaluate_contacts(t, q, &mut self.set);
            self.gap[ng..].copy_from_slice(&self.set.gap);
        }
    }

    /// Gaps at the forecast position `q`.
    pub(super) fn evaluate_forecast_gaps(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        if self.contacts() > 0 {
            system.evaluate_contacts(t, q, &mut self.forecast);
            self.forecast_gap[self.ng..].copy_from_slice(&self.forecast.gap);
        }
    }

    /// `G` and `∂g/∂t` at the point of the last [`evaluate_gaps`](Self::evaluate_gaps).
    pub(super) fn update_directions(&mut self, system: &dyn System, t: f64, q: &[f64]) {
        let ng = self.ng;
        let m = self.len();
        self.gradient.clear();
        if ng > 0 {
            system.g_jacobian(t, q, &mut self.gradient);
            system.g_rate(t, q, &mut self.rate[..ng]);
        }
        for (i, &row) in self.set.first_row.iter().enumerate() {
            self.set
                .directions
                .send(row, ng + i, 1.0, &mut self.gradient);
            self.rate[ng + i] = self.set.rate[row];
        }
        self.gradient.finish(m);
    }

    /// `ζ` (bilateral, and of contacts where `contacts` is set).
    pub(super) fn evaluate_bias(&mut self, system: &dyn System, at: Point<'_>, contacts: bool) {
        let ng = self.ng;
        system.g_bias(at, &mut self.bias[..ng]);
        if contacts && self.contacts() > 0 {
            system.contact_bias(at, &self.set, &mut self.per_direction);
            for (i, &row) in self.set.first_row.iter().enumerate() {
                self.bias[ng + i] = self.per_direction[row];
            }
        }
    }

    /// Sends `factor · D(Gᵀ λ)` for multipliers `lambda` (m).
    pub(super) fn curvature(
        &mut self,
        system: &dyn System,
        (t, q): (f64, &[f64]),
        lambda: &[f64],
        factor: f64,
        sink: &mut dyn MatrixSink,
    ) {
        let ng = self.ng;
        let mut sink = Shifted {
            sink,
            factor,
            row: 0,
            col: 0,
        };
        if lambda[..ng].iter().any(|l| *l != 0.0) {
            system.g_curvature(t, q, &lambda[..ng], &mut sink);
        }
        if lambda[ng..].iter().any(|l| *l != 0.0) {
            self.per_direction.fill(0.0);
            for (i, &row) in self.set.first_row.iter().enumerate() {
                self.per_direction[row] = lambda[ng + i];
            }
            system.contact_curvature(t, q, &self.set, &self.per_direction, &mut sink);
        }
    }

    /// `D(G v̇ + ζ)` and `∂ζ/∂v` (those of bilateral rows, and of contacts where `contacts` is set).
    pub(super) fn update_acceleration_gradient(
        &mut self,
        system: &dyn System,
        at: Point<'_>,
        x: &[f64],
        contacts: bool,
    ) {
        let m = self.len();
        let rows = &mut self.acceleration_gradient;
        rows.clear();
        if self.ng > 0 {
            system.g_jacobian_gradient(at.t, at.q, x, rows);
            system.g_bias_gradient(at, rows);
        }
        if contacts && !self.set.is_empty() {
            let mut sink = Normals {
                sink: rows,
                row_of: &self.normal,
            };
            system.contact_direction_gradient(at.t, at.q, &self.set, x, &mut sink);
            system.contact_bias_gradient(at, &self.set, &mut sink);
        }
        rows.finish(m);
        self.update_bias_damping(system, at, contacts);
    }

    /// `∂ζ/∂v` (bilateral, and of contacts where `contacts` is set).
    pub(super) fn update_bias_damping(
        &mut self,
        system: &dyn System,
        at: Point<'_>,
        contacts: bool,
    ) {
        let m = self.len();
        let rows = &mut self.bias_damping;
        rows.clear();
        if self.ng > 0 {
            system.g_bias_damping(at, rows);
        }
        if contacts && !self.set.is_empty() {
            let mut sink = Normals {
                sink: rows,
                row_of: &self.normal,
            };
            system.contact_bias_damping(at, &self.set, &mut sink);
        }
        rows.finish(m);
    }

    /// `D(G ṽ + ∂g/∂t)` of bilateral rows, with the velocity `v` of the smooth motion.
    pub(super) fn update_smooth_velocity_gradient(
        &mut self,
        system: &dyn System,
        at: (f64, &[f64]),
        v: &[f64],
    ) {
        let mut rows = std::mem::take(&mut self.smooth_velocity_gradient);
        self.differentiate_velocity(system, at, v, false, &mut rows);
        self.smooth_velocity_gradient = rows;
    }

    /// `D(G v + ∂g/∂t)` (bilateral, and of contacts where `contacts` is set).
    pub(super) fn update_velocity_gradient(
        &mut self,
        system: &dyn System,
        at: (f64, &[f64]),
        v: &[f64],
        contacts: bool,
    ) {
        let mut rows = std::mem::take(&mut self.velocity_gradient);
        self.differentiate_velocity(system, at, v, contacts, &mut rows);
        self.velocity_gradient = rows;
    }

    fn differentiate_velocity(
        &self,
        system: &dyn System,
        (t, q): (f64, &[f64]),
        v: &[f64],
        contacts: bool,
        rows: &mut RowCollector,
    ) {
        rows.clear();
        if self.ng > 0 {
            system.g_jacobian_gradient(t, q, v, rows);
            system.g_rate_gradient(t, q, rows);
        }
        if contacts && !self.set.is_empty() {
            let mut sink = Normals {
                sink: rows,
                row_of: &self.normal,
            };
            system.contact_direction_gradient(t, q, &self.set, v, &mut sink);
            system.contact_rate_gradient(t, q, &self.set, &mut sink);
        }
        rows.finish(self.len());
    }

    /// Updates `Σ |G_jk| / √M_kk` of every row.
    pub(super) fn update_row_norms(&mut self, weights: &[f64]) {
        let rows = self.gradient.rows();
        for (j, row_norm) in self.row_norm.iter_mut().enumerate() {
            *row_norm = row_reach(weights, rows.cols(j), rows.values(j));
        }
    }
}
