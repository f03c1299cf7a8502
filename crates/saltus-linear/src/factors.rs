//! Which factorisation a sparse matrix gets, and the proof that it is one.

use crate::LinearError;
use crate::band::{Band, WIDEST};
use crate::band_ldlt::{BandLdlt, LANES};
use crate::band_lu::BandLu;
use crate::band_sweep::Sweep;
use crate::compressed::Compressed;
use crate::forward_solves::Forward;
use crate::general::{GeneralFactors, SymmetricFactors};
use crate::ordering::reverse_cuthill_mckee;
use crate::scratch::Scratch;
use crate::sparse::Storage;
use crate::vector::max_abs;

/// Elimination that loses fewer digits than this needs no proof by a solve.
const SOUND: f64 = 1e-6;

/// Backward error above which every solve is followed by one of refinement.
const SLOPPY: f64 = 1e-13;

/// Entries that differ from their transposes by less than this fraction of the geometric mean of their diagonal entries
/// do so by round-off.
const SKEW: f64 = 16.0 * f64::EPSILON;

/// A solve that enlarges a right-hand side by more than this, in the units of the diagonal, divides by round-off. What is loose
/// enlarges it to 10¹⁵ and more, whatever its size.
const SINGULAR: f64 = 1e14;

/// Backward error that refinement must reach, else the factors are thrown away.
const HOPELESS: f64 = 1e-9;

/// A factorisation with what is known of the pattern, kept from one filling to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Factors {
    kind: Kind,
    // Each keeps its storage while another is in use: a matrix may be symmetric in one filling and not in the next.
    ldlt: BandLdlt,
    lu: BandLu,
    symmetric: Option<Box<SymmetricFactors>>,
    general: Option<Box<GeneralFactors>>,
    /// The order that turns the matrix into a band, and that band.
    reordered: Option<Box<Reordered>>,
    /// Whether the pattern was looked at.
    analysed: bool,
    /// Whether a solve is refined.
    refines: bool,
    cursor: Vec<u32>,
    probe: Vec<f64>,
    scratch: Scratch,
}

/// Which of the factorisations is that of the present values.
#[derive(Debug, Clone, Copy, Default)]
enum Kind {
    #[default]
    None,
    Ldlt,
    Lu,
    Symmetric,
    General,
}

#[derive(Debug, Clone)]
struct Reordered {
    /// Place of row `i` (n).
    place: Vec<u32>,
    band: Band,
}

impl Reordered {
    fn fill(&mut self, a: &Compressed) {
        self.band.clear();
        for i in 0..a.size() {
            for (j, value) in a.row(i) {
                self.band
                    .entry(self.place[i] as usize, self.place[j] as usize, value);
            }
        }
    }
}

fn is_round_off(difference: f64, one: f64, other: f64) -> bool {
    difference * difference <= SKEW * SKEW * (one * other).abs()
}

impl Factors {
    /// Whether nothing was factorised yet.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self.kind, Kind::None)
    }

    /// Whether the factorisation in use is of a symmetric matrix.
    pub(crate) fn is_symmetric(&self) -> bool {
        matches!(self.kind, Kind::Ldlt | Kind::Symmetric)
    }

    /// Name of the factorisation in use.
    pub(crate) fn name(&self) -> &'static str {
        match (self.kind, &self.reordered) {
            (Kind::None, _) => "none",
            (Kind::Ldlt, None) => "band LDLᵀ",
            (Kind::Ldlt, Some(_)) => "reordered band LDLᵀ",
            (Kind::Lu, None) => "band LU",
            (Kind::Lu, Some(_)) => "reordered band LU",
            (Kind::Symmetric, _) => "sparse LDLᵀ",
            (Kind::General, _) => "sparse LU",
        }
    }

    /// Factorises `a` (n × n).
    ///
    /// # Errors
    /// [`LinearError`] where it is singular or not finite.
    pub(crate) fn factorise(&mut self, n: usize, a: &Storage) -> Result<(), LinearError> {
        self.refines = false;
        if a.values().iter().any(|v| !v.is_finite()) {
            let mut row = n;
            a.for_each(n, |i, _, v| {
                if !v.is_finite() {
                    row = row.min(i);
                }
            });
            return Err(LinearError::NotFinite { size: n, row });
        }
        match a {
            Storage::Band(band) => self.factorise_band(n, band, a),
            Storage::Rows(rows) => {
                self.analyse(rows);
                if let Some(mut reordered) = self.reordered.take() {
                    reordered.fill(rows);
                    let band = std::mem::take(&mut reordered.band);
                    self.reordered = Some(reordered);
                    let outcome = self.factorise_band(n, &band, a);
                    if let Some(reordered) = &mut self.reordered {
                        reordered.band = band;
                    }
                    outcome
                } else {
                    self.factorise_rows(n, rows, a)
                }
            }
        }
    }

    /// Looks for an order of small bandwidth.
    fn analyse(&mut self, a: &Compressed) {
        if self.analysed {
            return;
        }
        self.analysed = true;
        let symmetric = a.is_symmetric(&mut self.cursor, |_, other, _| other.is_some());
        if !symmetric {
            return;
        }
        let (start, cols, values) = a.parts();
        let (order, width) = reverse_cuthill_mckee(start, cols);
        if width > WIDEST || (2 * width + 1) * a.size() > 4 * values.len() {
            return;
        }
        let mut place = vec![0; order.len()];
        for (k, &i) in order.iter().enumerate() {
            #[allow(clippy::cast_possible_truncation)] // rows are numbered in 32 bits
            {
                place[i as usize] = k as u32;
            }
        }
        let mut band = Band::new(a.size());
        band.widen(width, width);
        self.reordered = Some(Box::new(Reordered { place, band }));
    }

    /// `band` is `a`, perhaps in another order.
    fn factorise_band(&mut self, n: usize, band: &Band, a: &Storage) -> Result<(), LinearError> {
        if band.is_empty() {
            return Err(LinearError::Singular {
                size: n,
                pivot: 0,
                value: 0.0,
            });
        }
        let diagonal = band.diagonal(0);
        let symmetric =
            |i: usize, j: usize, a: f64, b: f64| is_round_off(a - b, diagonal[i], diagonal[j]);
        if diagonal.iter().all(|d| *d > 0.0) && band.is_symmetric(symmetric) {
            let done = self.ldlt.factorise(band);
            let sound = self.ldlt.weakest() > SOUND;
            if done.is_ok() {
                self.kind = Kind::Ldlt;
                if sound || self.examine(n, a).is_ok() {
                    return Ok(());
                }
            }
        }
        self.kind = Kind::None;
        self.lu.factorise(band)?;
        self.kind = Kind::Lu;
        self.examine(n, a)
    }

    fn factorise_rows(
        &mut self,
        n: usize,
        rows: &Compressed,
        a: &Storage,
    ) -> Result<(), LinearError> {
        let symmetric = {
            self.probe.resize(2 * n, 0.0);
            let diagonal = &mut self.probe[..n];
            rows.diagonal(diagonal);
            rows.is_symmetric(&mut self.cursor, |(i, j), a, b| {
                let a = a.unwrap_or(0.0);
                a == b || is_round_off(a - b, diagonal[i], diagonal[j])
            })
        };
        if symmetric {
            let indefinite = !self.probe[..n].iter().all(|d| *d > 0.0);
            let factors = match &mut self.symmetric {
                Some(factors) if factors.is_indefinite() == indefinite => factors,
                other => other.insert(Box::new(SymmetricFactors::new(rows, indefinite)?)),
            };
            factors.factorise(rows);
            self.kind = Kind::Symmetric;
            if self.examine(n, a).is_ok() {
                return Ok(());
            }
        }
        self.kind = Kind::None;
        let factors = match &mut self.general {
            Some(factors) => factors,
            none => none.insert(Box::new(GeneralFactors::new(rows)?)),
        };
        factors.factorise(rows)?;
        self.kind = Kind::General;
        self.examine(n, a)
    }

    /// Solves once with the new factors: elimination without a vanishing pivot can still divide by one that is
    /// only round-off. Where the residual asks for it, solves are refined from now on.
    fn examine(&mut self, n: usize, a: &Storage) -> Result<(), LinearError> {
        let mut probe = std::mem::take(&mut self.probe);
        probe.resize(2 * n, 0.0);
        let (x, r) = probe.split_at_mut(n);
        let mut outcome = Ok(());
        for refines in [false, true] {
            self.refines = refines;
            for (i, (x, r)) in x.iter_mut().zip(r.iter_mut()).enumerate() {
                *x = 1.0 + (i % 7) as f64;
                *r = *x;
            }
            self.solve(a, x);
            a.product(x, |first, line| {
                for (r, value) in r[first..].iter_mut().zip(line) {
                    *r -= value;
                }
            });
            let (defect, size) = (max_abs(r), max_abs(x));
            let backward = defect / (a.largest_row_sum() * size + 7.0);
            let regular = defect <= 1e-6 * (1.0 + n as f64) || self.growth(n, a, x).0 < SINGULAR;
            let good_enough = if refines { HOPELESS } else { SLOPPY };
            if regular && backward <= good_enough {
                outcome = Ok(());
                break;
            }
            let (growth, pivot) = self.growth(n, a, x);
            outcome = Err(LinearError::Singular {
                size: n,
                pivot,
                value: 1.0 / growth,
            });
        }
        self.probe = probe;
        outcome
    }

    /// How much a solve with the right-hand side of [`examine`](Self::examine) enlarges it, both measured in the units that give
    /// every row a diagonal entry of 1, and the row that is moved most: what is badly conditioned for its units alone does not
    /// grow, what is singular does to the inverse of round-off.
    fn growth(&self, n: usize, a: &Storage, x: &[f64]) -> (f64, usize) {
        self.scratch.with(2 * n, |scratch| {
            let (diagonal, units) = scratch.split_at_mut(n);
            diagonal.fill(0.0);
            a.for_each(n, |i, j, value| {
                if i == j {
                    diagonal[i] += value.abs();
                }
            });
            units.copy_from_slice(diagonal);
            // A constraint has the size of its entries against the diagonals of what it constrains.
            a.for_each(n, |i, j, value| {
                if diagonal[i] == 0.0 && diagonal[j] > 0.0 {
                    units[i] = units[i].max(value * value / diagonal[j]);
                }
            });
            let (mut most, mut right, mut row) = (0.0_f64, 0.0_f64, 0);
            for (i, (x, unit)) in x.iter().zip(&*units).enumerate() {
                let unit = unit.sqrt();
                if unit > 0.0 {
                    right = right.max((1.0 + (i % 7) as f64) / unit);
                }
                if (x * unit).abs() > most || x.is_nan() {
                    (most, row) = ((x * unit).abs(), i);
                }
            }
            (most / right, row)
        })
    }

    /// `x ← A⁻¹ x` of the matrix `a` that was factorised.
    pub(crate) fn solve(&self, a: &Storage, x: &mut [f64]) {
        if !self.refines {
            return self.once(x);
        }
        let n = x.len();
        self.scratch.with(n, |r| {
            r.copy_from_slice(x);
            self.once(x);
            a.product(x, |first, line| {
                for (r, value) in r[first..].iter_mut().zip(line) {
                    *r -= value;
                }
            });
            self.once(r);
            crate::vector::axpy(1.0, r, x);
        });
    }

    /// The forward half of a solve, where the factorisation offers it and nothing is refined.
    pub(crate) fn half(&self) -> Option<Forward<'_>> {
        match (self.kind, &self.symmetric, self.refines) {
            (Kind::Symmetric, Some(factors), false) => factors.half(),
            _ => None,
        }
    }

    /// The solve by stages, where the rows are eliminated in their own order and nothing is refined.
    pub(crate) fn sweep(&self) -> Option<Sweep<'_>> {
        match (self.kind, &self.reordered, self.refines) {
            (Kind::Ldlt, None, false) => Some(Sweep::new(&self.ldlt)),
            _ => None,
        }
    }

    /// `x ← alpha A⁻¹ x`.
    pub(crate) fn solve_scaled(&self, a: &Storage, alpha: f64, x: &mut [f64]) {
        if let (Kind::Ldlt, None, false) = (self.kind, &self.reordered, self.refines) {
            return self.ldlt.solve(alpha, x);
        }
        x.iter_mut().for_each(|x| *x *= alpha);
        self.solve(a, x);
    }

    /// `X ← A⁻¹ X` for vectors one after the other. In a band the answer to each is the same to the last bit, whichever
    /// others come with it.
    pub(crate) fn solve_many(&self, a: &Storage, n: usize, x: &mut [f64]) {
        match self.kind {
            Kind::Symmetric | Kind::General if !self.refines => self.in_order(x),
            Kind::Ldlt if !self.refines => {
                for x in x.chunks_mut(LANES * n.max(1)) {
                    self.solve_lanes(n, x);
                }
            }
            _ => {
                for x in x.chunks_exact_mut(n.max(1)) {
                    self.solve(a, x);
                }
            }
        }
    }

    /// Solves for at most [`LANES`] vectors (n each), side by side.
    fn solve_lanes(&self, n: usize, x: &mut [f64]) {
        let place = |i: usize| match &self.reordered {
            Some(reordered) => reordered.place[i] as usize,
            None => i,
        };
        self.scratch.with(LANES * n, |lanes| {
            let (lanes, _) = lanes.as_chunks_mut::<LANES>();
            lanes.fill([0.0; LANES]);
            for (k, x) in x.chunks_exact(n).enumerate() {
                for (i, value) in x.iter().enumerate() {
                    lanes[place(i)][k] = *value;
                }
            }
            self.ldlt.solve_lanes(lanes);
            for (k, x) in x.chunks_exact_mut(n).enumerate() {
                for (i, value) in x.iter_mut().enumerate() {
                    *value = lanes[place(i)][k];
                }
            }
        });
    }

    fn once(&self, x: &mut [f64]) {
        if let Some(reordered) = &self.reordered {
            self.scratch.with(x.len(), |y| {
                for (&k, x) in reordered.place.iter().zip(&*x) {
                    y[k as usize] = *x;
                }
                self.in_order(y);
                for (&k, x) in reordered.place.iter().zip(x) {
                    *x = y[k as usize];
                }
            });
        } else {
            self.in_order(x);
        }
    }

    fn in_order(&self, x: &mut [f64]) {
        match self.kind {
            Kind::None => {}
            Kind::Ldlt => self.ldlt.solve(1.0, x),
            Kind::Lu => self.lu.solve(x),
            Kind::Symmetric => {
                if let Some(factors) = &self.symmetric {
                    factors.solve(x);
                }
            }
            Kind::General => {
                if let Some(factors) = &self.general {
                    factors.solve(x);
                }
            }
        }
    }
}
