//! Eigenfrequencies and mode shapes about a state: `K u + Gᵀ λ = ω² M u` with `G u = 0`.
//!
//! `K` is the stiffness at rest, with what the forces of bilateral constraints add to it; contacts do
//! not count. Where it is not symmetric, because a force follows the motion, eigenvalues may be complex (`unsymmetric.rs`); with
//! gyroscopic forces shapes are (`gyroscopic.rs`). Else the block Lanczos method runs on the inverse of `K + s M` bordered by `G`, with the inner product of `M`
//! (Grimes, Lewis, Simon 1994), orthogonalised in full; the shift `s` is brought to the size of the lowest elastic eigenvalue,
//! so that rigid motions do no harm and low frequencies keep their digits.

use saltus_linear::{
    Dense, LinearError, MatrixSink, RowCollector, Shifted, SquareMatrix, axpy, dot, max_abs,
    symmetric_eigen,
};
use saltus_system::{ContactSet, Point, Reach, State, System};

mod gyroscopic;
mod unsymmetric;

/// A skew part of the stiffness below this share of the whole is round-off.
const SYMMETRIC: f64 = 1e-8;

/// Vectors that are multiplied together: eigenvalues of up to this multiplicity are found at once.
const BLOCK: usize = 6;

/// Residual of an eigenvector that counts as none, relative; eigenvalues are right to its square.
const CONVERGED: f64 = 1e-9;

/// Where round-off keeps residuals from becoming smaller, those below this are accepted.
const ACCEPTED: f64 = 1e-5;

/// So many blocks without progress mean that there will be none.
const PATIENCE: u32 = 3;

/// A part of a vector below this share is round-off.
const DEPENDENT: f64 = 1e-10;

/// Eigenvalues below this share of the shift, which is near the lowest elastic one, are those of rigid motions.
const RIGID: f64 = 1e-9;

/// What round-off makes of the eigenvalue 0, as a share of the largest one.
const ROUND_OFF: f64 = 16.0 * f64::EPSILON;

/// How often the shift is looked for.
const SHIFTS: usize = 20;

/// A mode of vibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// `ω²` [1/s²], or its real part; 0 for rigid motions, negative where the state is unstable.
    pub eigenvalue: f64,
    /// Imaginary part of `ω²` [1/s²], of one sign in each mode of a pair that flutters, else 0.
    pub imaginary: f64,
    /// Shape (nv), with `uᵀ M u = 1`; of a pair that flutters the real part in the first mode and the imaginary one in the second.
    pub shape: Vec<f64>,
    /// The shape a quarter of a period later, where it whirls under gyroscopic forces; `uᴴ M u = 1` counts both.
    pub quarter_later: Option<Vec<f64>>,
    /// `uᵀ C u / (2 ω)`: the damping ratio where damping does not couple modes; `None` where `ω` is not positive or the stiffness not
    /// symmetric.
    pub damping_ratio: Option<f64>,
}

impl Mode {
    /// Circular frequency `ω` [rad/s]; 0 where the motion does not oscillate.
    #[must_use]
    pub fn omega(&self) -> f64 {
        if self.imaginary == 0.0 {
            return self.eigenvalue.max(0.0).sqrt();
        }
        let size = self.eigenvalue.hypot(self.imaginary);
        (0.5 * (size + self.eigenvalue)).max(0.0).sqrt()
    }

    /// Rate at which the motion grows [1/s], negative where it decays; damping does not count.
    #[must_use]
    pub fn growth(&self) -> f64 {
        if self.imaginary == 0.0 {
            return (-self.eigenvalue).max(0.0).sqrt();
        }
        let size = self.eigenvalue.hypot(self.imaginary);
        let rate = (0.5 * (size - self.eigenvalue)).max(0.0).sqrt();
        rate * self.imaginary.signum()
    }
}

/// The lowest modes about a state.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// By ascending eigenvalue.
    pub list: Vec<Mode>,
    /// Largest acceleration of a coordinate with which the state begins to move from rest; 0 in equilibrium.
    pub acceleration: f64,
    /// Contacts that are closed, which do not count.
    pub closed: usize,
    /// Size of the skew part of the stiffness, relative to the whole; 0 where that is round-off.
    pub asymmetry: f64,
    /// Whether gyroscopic forces, the skew part of the velocity matrix at rest, count.
    pub gyroscopic: bool,
    /// Whether there are any that do not count, because the system is large.
    pub gyroscopic_left_out: bool,
}

/// Why there are no modes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModesError {
    /// Something has no mass.
    #[error("no modes: {0}; every motion that the constraints leave needs a mass")]
    Singular(#[from] LinearError),
    /// Nothing can move.
    #[error("no modes: the constraints leave nothing that moves")]
    Rigid,
    /// The stiffness of a large system is not symmetric.
    #[error(
        "no modes: forces that follow the motion make the stiffness unsymmetric, by {asymmetry:.1e} of its size, and {size} coordinates and \
         constraints are more than the {most} for which such modes are found; a coarser mesh may do, or a load that keeps its direction"
    )]
    Unsymmetric {
        /// Skew part, relative.
        asymmetry: f64,
        /// Unknowns.
        size: usize,
        /// Most unknowns.
        most: usize,
    },
    /// The iteration did not arrive.
    #[error("{found} of {wanted} modes were found with {vectors} vectors; ask for fewer")]
    NotConverged {
        /// Modes found.
        found: usize,
        /// Modes wanted.
        wanted: usize,
        /// Vectors used.
        vectors: usize,
    },
}

/// The `count` lowest modes of `system` about `state`, taken at rest; fewer where there are fewer.
///
/// # Errors
/// [`ModesError`].
pub fn modes(system: &dyn System, state: &State, count: usize) -> Result<Modes, ModesError> {
    let mut problem = Problem::new(system, state)?;
    let count = count.min(problem.nv);
    let shift = problem.shift()?;
    if problem.gyroscopic && problem.takes_gyroscopic_forces() {
        return problem.gyroscopic(system, state, shift, count);
    }
    if problem.asymmetry > 0.0 {
        return problem.unsymmetric(system, state, shift, count);
    }
    let (pairs, vectors) = problem.lanczos(count, 10 * count + 200, CONVERGED, ACCEPTED);
    let exhausted = vectors >= problem.freedom();
    if pairs.is_empty() && exhausted {
        return Err(ModesError::Rigid);
    }
    if pairs.len() < count && !exhausted {
        return Err(ModesError::NotConverged {
            found: pairs.len(),
            wanted: count,
            vectors,
        });
    }
    let mut list: Vec<Mode> = pairs
        .into_iter()
        .map(|(theta, shape)| problem.mode(theta, shift, shape))
        .collect();
    list.sort_by(|a, b| a.eigenvalue.total_cmp(&b.eigenvalue));
    Ok(Modes {
        list,
        acceleration: problem.acceleration,
        closed: problem.closed,
        asymmetry: 0.0,
        gyroscopic: false,
        gyroscopic_left_out: problem.gyroscopic,
    })
}

/// Adds the symmetric part of what passes to a matrix.
struct Symmetric<'a>(&'a mut SquareMatrix);

impl MatrixSink for Symmetric<'_> {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.0.entry(row, col, 0.5 * value);
        self.0.entry(col, row, 0.5 * value);
    }
}

/// Adds the stiffness with what the forces `lambda` of the constraints add to it.
fn stiffness(system: &dyn System, at: Point<'_>, lambda: &[f64], sink: &mut dyn MatrixSink) {
    system.stiffness(at, sink);
    let mut opposing = Shifted {
        sink,
        factor: -1.0,
        row: 0,
        col: 0,
    };
    system.g_curvature(at.t, at.q, lambda, &mut opposing);
}

struct Problem {
    nv: usize,
    ng: usize,
    mass: SquareMatrix,
    stiffness: SquareMatrix,
    damping: SquareMatrix,
    jacobian: RowCollector,
    /// `K + s M`, bordered by the constraints.
    bordered: SquareMatrix,
    /// The largest eigenvalue, roughly.
    largest: f64,
    acceleration: f64,
    closed: usize,
    /// Forces of the constraints (ng) \[N\].
    lambda: Vec<f64>,
    /// Skew part of the stiffness, relative; 0 where it is round-off.
    asymmetry: f64,
    /// Whether the velocity matrix has a skew part.
    gyroscopic: bool,
    seed: u64,
}

impl Problem {
    fn new(system: &dyn System, state: &State) -> Result<Self, ModesError> {
        let dims = system.dims();
        let (nv, ng) = (dims.nv, dims.ng);
        let rest = vec![0.0; nv];
        let at = Point {
            t: state.t,
            q: &state.q,
            v: &rest,
        };
        let mut problem = Self {
            nv,
            ng,
            mass: SquareMatrix::new(nv),
            stiffness: SquareMatrix::new(nv),
            damping: SquareMatrix::new(nv),
            jacobian: RowCollector::default(),
            bordered: SquareMatrix::new(nv + ng),
            largest: 0.0,
            acceleration: 0.0,
            closed: 0,
            lambda: Vec::new(),
            asymmetry: 0.0,
            gyroscopic: false,
            seed: 1,
        };
        system.mass(&state.q, &mut Symmetric(&mut problem.mass));
        system.damping(at, &mut Symmetric(&mut problem.damping));
        system.g_jacobian(state.t, &state.q, &mut problem.jacobian);
        problem.jacobian.finish(ng);
        problem.lambda = problem.reactions(system, at)?;
        let mut symmetric = Symmetric(&mut problem.stiffness);
        stiffness(system, at, &problem.lambda, &mut symmetric);
        for matrix in [
            &mut problem.mass,
            &mut problem.stiffness,
            &mut problem.damping,
        ] {
            matrix.finish();
        }
        problem.largest = problem.largest();
        problem.asymmetry = problem.asymmetry(system, at);
        problem.gyroscopic = problem.has_gyroscopic_forces(system, at);
        let mut set = ContactSet::default();
        system.detect(state.t, &state.q, Reach::All, &mut set);
        let size = max_abs(&state.q);
        problem.closed = set.gap.iter().filter(|gap| **gap <= 1e-9 * size).count();
        Ok(problem)
    }

    /// Forces of the constraints at rest; the accelerations that come with them are kept.
    fn reactions(&mut self, system: &dyn System, at: Point<'_>) -> Result<Vec<f64>, ModesError> {
        let (nv, ng) = (self.nv, self.ng);
        let mut x = vec![0.0; nv + ng];
        system.force(at, &mut x[..nv]);
        system.g_bias(at, &mut x[nv..]);
        x[nv..].iter_mut().for_each(|bias| *bias = -*bias);
        match self.border(0.0, 1.0) {
            // What has no mass may be held by a stiffness.
            Err(_) if ng == 0 => return Ok(Vec::new()),
            outcome => outcome?,
        }
        let scale = self.scale_of_rows(0.0, 1.0);
        x[nv..].iter_mut().for_each(|bias| *bias *= scale);
        self.bordered.solve(&mut x);
        self.acceleration = max_abs(&x[..nv]);
        Ok(x[nv..].iter().map(|y| -scale * y).collect())
    }

    /// Factorises `stiffness K + mass M`, bordered.
    fn border(&mut self, stiffness: f64, mass: f64) -> Result<(), LinearError> {
        let outcome = self.fill(stiffness, mass, 0.0);
        if outcome.is_err() && self.ng > 0 {
            // Redundant constraints: a little compliance makes their forces unique.
            return self.fill(stiffness, mass, 1e-12);
        }
        outcome
    }

    fn fill(&mut self, stiffness: f64, mass: f64, compliance: f64) -> Result<(), LinearError> {
        let scale = self.scale_of_rows(stiffness, mass);
        self.bordered.clear();
        if stiffness != 0.0 {
            self.stiffness.send(stiffness, &mut self.bordered);
        }
        self.mass.send(mass, &mut self.bordered);
        let rows = self.jacobian.rows();
        for row in 0..self.ng {
            let at = self.nv + row;
            for (&j, g) in rows.cols(row).iter().zip(rows.values(row)) {
                self.bordered.entry(j, at, scale * g);
                self.bordered.entry(at, j, scale * g);
            }
            if compliance > 0.0 {
                self.bordered.entry(at, at, -compliance * scale);
            }
        }
        self.bordered.factorise()
    }

    /// Brings rows of constraints to the size of the mass and the stiffness.
    fn scale_of_rows(&self, stiffness: f64, mass: f64) -> f64 {
        let (mut k, mut m) = (vec![0.0; self.nv], vec![0.0; self.nv]);
        self.stiffness.diagonal(&mut k);
        self.mass.diagonal(&mut m);
        (stiffness * max_abs(&k) + mass * max_abs(&m)).max(f64::MIN_POSITIVE)
    }

    /// Factorises with a shift of the size of the lowest elastic eigenvalue, which is returned.
    fn shift(&mut self) -> Result<f64, ModesError> {
        let mut shift = if self.largest > 0.0 {
            1e-3 * self.largest
        } else {
            1.0
        };
        for _ in 0..SHIFTS {
            // A shift that is too small for rigid motions, or that hits an eigenvalue, is taken larger.
            let mut attempts = 0;
            while let Err(error) = self.border(1.0, shift) {
                attempts += 1;
                if attempts > 4 {
                    return Err(error.into());
                }
                shift *= 1.7 * 10_f64.powi(attempts);
            }
            let (rough, _) = self.lanczos(BLOCK, 8 * BLOCK, 1e-3, f64::INFINITY);
            let least = (ROUND_OFF * self.largest).max(1e-11 * shift);
            let lowest = rough
                .iter()
                .map(|pair| (1.0 / pair.0 - shift).abs())
                .filter(|l| *l > least)
                .fold(f64::INFINITY, f64::min);
            if !lowest.is_finite() || (0.1..=10.0).contains(&(lowest / shift)) {
                return Ok(shift);
            }
            shift = 0.37 * lowest;
        }
        self.border(1.0, shift)?;
        Ok(shift)
    }

    /// Motions that the constraints leave, where none of them is redundant.
    fn freedom(&self) -> usize {
        self.nv.saturating_sub(self.ng)
    }

    /// The largest eigenvalue, roughly, which the diagonals tell.
    fn largest(&self) -> f64 {
        let (mut k, mut m) = (vec![0.0; self.nv], vec![0.0; self.nv]);
        self.stiffness.diagonal(&mut k);
        self.mass.diagonal(&mut m);
        let ratios = k.iter().zip(&m).filter(|(_, m)| **m > 0.0);
        ratios.map(|(k, m)| k.abs() / m).fold(0.0, f64::max)
    }

    fn mode(&self, theta: f64, shift: f64, shape: Vec<f64>) -> Mode {
        let eigenvalue = 1.0 / theta - shift;
        let rigid = (RIGID * shift).max(ROUND_OFF * self.largest);
        let eigenvalue = if eigenvalue.abs() <= rigid {
            0.0
        } else {
            eigenvalue
        };
        let omega = eigenvalue.max(0.0).sqrt();
        let damping = self.damping.form(&shape, &shape);
        Mode {
            eigenvalue,
            imaginary: 0.0,
            quarter_later: None,
            damping_ratio: (omega > 0.0).then(|| damping / (2.0 * omega)),
            shape,
        }
    }

    /// `(K + s M)⁻¹ M x` in the motions that the constraints leave.
    fn apply(&self, mx: &[f64]) -> Vec<f64> {
        let mut x = mx.to_vec();
        x.resize(self.nv + self.ng, 0.0);
        self.bordered.solve(&mut x);
        x.truncate(self.nv);
        x
    }

    /// A motion without a pattern that the constraints leave, the same in every run.
    fn any(&mut self) -> Vec<f64> {
        let vector = self.direction();
        let mut mx = vec![0.0; self.nv];
        self.mass.apply(&vector, &mut mx);
        self.apply(&mx)
    }

    /// A vector without a pattern, the same in every run (nv).
    fn direction(&mut self) -> Vec<f64> {
        let mut next = || {
            // Xorshift (Marsaglia 2003).
            self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut x = self.seed;
            x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            x ^= x >> 31;
            (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..self.nv).map(|_| next()).collect()
    }

    /// Up to `wanted` eigenvalues `1 / (ω² + s)` of largest size with their vectors, and the number of vectors used: until their
    /// residuals are below `tolerance`, or below `accepted` where round-off keeps them from it.
    fn lanczos(
        &mut self,
        wanted: usize,
        most: usize,
        tolerance: f64,
        accepted: f64,
    ) -> (Vec<Pair>, usize) {
        let most = most.min(self.freedom().max(1)).max(wanted.min(self.nv));
        let mut basis = Basis::default();
        let (mut first, mut least, mut idle) = (0, f64::INFINITY, 0);
        let start: Vec<Vec<f64>> = (0..BLOCK).map(|_| self.any()).collect();
        for mut x in start {
            basis.extend(&self.mass, &mut x, 1.0);
        }
        loop {
            let last = first..basis.len();
            let images: Vec<Vec<f64>> = last.clone().map(|j| self.apply(&basis.mx[j])).collect();
            for (j, image) in last.clone().zip(&images) {
                basis.project(j, image);
            }
            let (values, vectors) = basis.ritz();
            let chosen = best(&values, wanted);
            first = basis.len();
            // What the images add to the basis measures how far the pairs are from being exact.
            let mut rest = Vec::with_capacity(images.len());
            for mut image in images {
                let size = basis.norm(&self.mass, &image);
                let parts = basis.extend(&self.mass, &mut image, size);
                rest.push(parts);
            }
            let miss = |&k: &usize| {
                let coefficients = &vectors.row(k)[last.clone()];
                basis.length_of(first, &rest, coefficients) / values[k].abs()
            };
            let misses: Vec<f64> = chosen.iter().map(miss).collect();
            let worst = max_abs(&misses);
            idle = if worst < 0.5 * least { 0 } else { idle + 1 };
            least = least.min(worst);
            let stagnates = idle >= PATIENCE && worst <= accepted;
            let settled = worst <= tolerance || stagnates;
            let exhausted = basis.len() == first && !self.fresh(&mut basis, most);
            if exhausted || (settled && chosen.len() == wanted) || first >= most {
                let pairs = chosen.iter().zip(misses);
                let kept = pairs.filter(|(_, miss)| exhausted || *miss <= accepted);
                let pairs = kept.map(|(&k, _)| (values[k], basis.combine(vectors.row(k))));
                return (pairs.collect(), first);
            }
        }
    }

    /// Where the images add nothing, a vector that is new may; whether there is one.
    fn fresh(&mut self, basis: &mut Basis, most: usize) -> bool {
        if basis.len() >= most {
            return false;
        }
        let before = basis.len();
        let mut x = self.any();
        let size = basis.norm(&self.mass, &x);
        basis.extend(&self.mass, &mut x, size);
        basis.len() > before
    }
}

/// An eigenvalue and its vector.
type Pair = (f64, Vec<f64>);

/// Sorts modes by their eigenvalue; of a pair the one that grows comes first.
fn sort(list: &mut [Mode]) {
    list.sort_by(|a, b| {
        let by_size = a.eigenvalue.total_cmp(&b.eigenvalue);
        by_size.then(b.imaginary.total_cmp(&a.imaginary))
    });
}

/// The numbers of the `wanted` eigenvalues of largest size, without those that are zero.
fn best(values: &[f64], wanted: usize) -> Vec<usize> {
    let largest = max_abs(values);
    let mut order: Vec<usize> = (0..values.len())
        .filter(|&k| values[k].abs() > 1e-14 * largest)
        .collect();
    order.sort_by(|&i, &j| values[j].abs().total_cmp(&values[i].abs()));
    order.truncate(wanted);
    order
}

/// Vectors that are orthonormal with the mass.
#[derive(Default)]
struct Basis {
    x: Vec<Vec<f64>>,
    /// `M x` of each.
    mx: Vec<Vec<f64>>,
    /// `xᵢᵀ M T xⱼ`, line by line: entries `(i, 0..=i)`.
    projection: Vec<Vec<f64>>,
}

impl Basis {
    fn len(&self) -> usize {
        self.x.len()
    }

    fn norm(&self, mass: &SquareMatrix, x: &[f64]) -> f64 {
        mass.form(x, x).max(0.0).sqrt()
    }

    /// Adds what is new in `x`, of the length `size`; returns the parts of `x` along the vectors that are added.
    fn extend(&mut self, mass: &SquareMatrix, x: &mut [f64], size: f64) -> Vec<f64> {
        let old = self.len();
        let mut parts = vec![0.0; old];
        for _ in 0..2 {
            for (k, (own, mx)) in self.x.iter().zip(&self.mx).enumerate() {
                let part = dot(mx, x);
                axpy(-part, own, x);
                parts[k] += part;
            }
        }
        let length = self.norm(mass, x);
        if length > DEPENDENT * size && length > 0.0 {
            x.iter_mut().for_each(|x| *x /= length);
            let mut mx = vec![0.0; x.len()];
            mass.apply(x, &mut mx);
            self.x.push(x.to_vec());
            self.mx.push(mx);
            parts.push(length);
        }
        parts
    }

    /// Takes up the image of vector `j`.
    fn project(&mut self, j: usize, image: &[f64]) {
        self.projection.resize(self.len(), Vec::new());
        for i in 0..self.len() {
            let value = dot(&self.mx[i], image);
            let (row, col) = (i.max(j), i.min(j));
            let line = &mut self.projection[row];
            if line.len() <= col {
                line.resize(row + 1, 0.0);
            }
            line[col] = value;
        }
    }

    fn ritz(&self) -> (Vec<f64>, Dense) {
        let n = self.len();
        let mut matrix = Dense::zeros(n, n);
        for (i, line) in self.projection.iter().enumerate() {
            for (j, value) in line.iter().enumerate() {
                matrix[(i, j)] = *value;
            }
        }
        symmetric_eigen(&matrix)
    }

    /// Length of the part outside of the first `first` vectors of a combination of vectors with these `parts`.
    fn length_of(&self, first: usize, parts: &[Vec<f64>], coefficients: &[f64]) -> f64 {
        let mut sum = vec![0.0; self.len()];
        for (parts, c) in parts.iter().zip(coefficients) {
            axpy(*c, parts, &mut sum[..parts.len()]);
        }
        sum.get(first..).map_or(0.0, |new| dot(new, new).sqrt())
    }

    fn combine(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.x.first().map_or(0, Vec::len)];
        for (x, c) in self.x.iter().zip(coefficients) {
            axpy(*c, x, &mut sum);
        }
        sum
    }
}
