//! The linear system of one Newton step, `(A + s B) dr + B W dr = right side` on the active contacts.
//!
//! In *contact space* it is factorised as it stands. In *body space* `W = Hᵀ M⁻¹ H` is never formed: with
//! `N = A + s B`, `C = N⁻¹ B` and `M dv = H dr` it becomes `(M + H C Hᵀ) dv = H N⁻¹ right side`, as large as the
//! velocities and as sparse as the bodies that touch, however many redundant contacts there are.

use super::block_lu::{BlockLu, invert, multiply, times};
use super::block_pattern::Pattern;
use super::functions::Block;
use super::measure::Measure;
use super::problem::GlobalFriction;
use super::search::Search;
use saltus_linear::{DENSE_LIMIT, MatrixSink, SquareMatrix};

/// Where the system of a Newton step is solved.
#[derive(Debug)]
pub(crate) enum Tangent<const D: usize> {
    Contacts(Box<ContactSpace<D>>),
    Bodies(Box<BodySpace<D>>),
}

impl<const D: usize> Default for Tangent<D> {
    fn default() -> Self {
        Self::Contacts(Box::default())
    }
}

impl<const D: usize> Tangent<D> {
    /// Factorises the system of the contacts `active` (ascending); `a` and `b` hold the blocks of all contacts.
    /// False where it is singular.
    pub fn factorise(
        &mut self,
        search: &mut Search<'_, D>,
        active: &[usize],
        (a, b): (&[Block<D>], &[Block<D>]),
        s: f64,
    ) -> bool {
        match self {
            Self::Contacts(space) => space.factorise(search, active, (a, b), s),
            Self::Bodies(space) => space.factorise(search, active, (a, b), s),
        }
    }

    /// Replaces the right side `x` (one entry per active contact) by the solution.
    pub fn solve(&mut self, x: &mut [[f64; D]]) {
        match self {
            Self::Contacts(space) => {
                space.scratch.resize(x.len(), [0.0; D]);
                space.lu.solve(x, &mut space.scratch);
            }
            Self::Bodies(space) => space.solve(x),
        }
    }
}

/// The system by blocks of contacts.
#[derive(Debug, Default)]
pub(crate) struct ContactSpace<const D: usize> {
    lu: BlockLu<D>,
    /// Contacts that were active when `lu` was analysed.
    analysed: Vec<usize>,
    /// Place of a contact among the active ones.
    number: Vec<usize>,
    start: Vec<usize>,
    index: Vec<usize>,
    scratch: Vec<[f64; D]>,
}

impl<const D: usize> ContactSpace<D> {
    /// Counted operations of one factorisation with all contacts active.
    pub fn predict(&mut self, search: &Search<'_, D>) -> f64 {
        let all: Vec<usize> = (0..search.p.contacts()).collect();
        self.analyse(search, &all);
        self.lu.flops()
    }

    /// Pattern of the active contacts.
    fn analyse(&mut self, search: &Search<'_, D>, active: &[usize]) {
        if active == self.analysed && !self.start.is_empty() {
            return;
        }
        self.number.clear();
        self.number.resize(search.p.contacts(), usize::MAX);
        for (k, &i) in active.iter().enumerate() {
            self.number[i] = k;
        }
        self.start.clear();
        self.index.clear();
        self.start.push(0);
        for &i in active {
            for &j in search.p.w.cols(i) {
                if self.number[j] != usize::MAX {
                    self.index.push(self.number[j]);
                }
            }
            self.start.push(self.index.len());
        }
        self.lu.analyse(&self.start, &self.index);
        self.analysed.clear();
        self.analysed.extend_from_slice(active);
    }

    fn factorise(
        &mut self,
        search: &mut Search<'_, D>,
        active: &[usize],
        (a, b): (&[Block<D>], &[Block<D>]),
        s: f64,
    ) -> bool {
        self.analyse(search, active);
        let (p, number) = (search.p, &self.number);
        let factorised = self.lu.factorise(|k, put| {
            let i = active[k];
            let (lines, _) = p.w.row(i).as_chunks::<D>();
            for (w, &j) in lines.chunks_exact(D).zip(p.w.cols(i)) {
                if number[j] == usize::MAX {
                    continue;
                }
                let mut block = [[0.0; D]; D];
                for x in 0..D {
                    for y in 0..D {
                        for z in 0..D {
                            block[x][z] += b[i][x][y] * w[y][z];
                        }
                    }
                }
                if i == j {
                    for x in 0..D {
                        for y in 0..D {
                            block[x][y] += a[i][x][y] + s * b[i][x][y];
                        }
                    }
                }
                put(number[j], &block);
            }
        });
        search.work += self.lu.flops();
        factorised
    }
}

/// The directions of one contact: the velocities they involve and a line of `H` (D values) for each.
#[derive(Debug, Clone)]
struct Directions<const D: usize> {
    rows: Vec<usize>,
    lines: Vec<[f64; D]>,
}

/// The system in the velocities of the bodies.
#[derive(Debug)]
pub(crate) struct BodySpace<const D: usize> {
    mass: Vec<(usize, usize, f64)>,
    /// `H D^(−1/2)` by contacts, `D` the scales of the measure.
    directions: Vec<Directions<D>>,
    matrix: SquareMatrix,
    active: Vec<usize>,
    /// `N⁻¹` and `B` of the active contacts.
    inverse: Vec<Block<D>>,
    slope: Vec<Block<D>>,
    /// Velocities that contacts act on.
    dv: Vec<f64>,
    flops: f64,
    /// Counted operations of the three solves that a step takes at most.
    solves: f64,
}

/// Operations that an entry costs on its way into the matrix: it is sorted into a pattern that is new each time.
const ENTRY: f64 = 20.0;

/// What elimination with row pivoting costs over the same in the order of a symmetric pattern: it fills more, and it reaches every
/// entry through an index. So that an operation counted here takes about as long as one of the other methods.
const SCATTERED: f64 = 8.0;

impl<const D: usize> BodySpace<D> {
    /// `measure` is that of the reduced problem.
    pub fn new(problem: &GlobalFriction, measure: &Measure) -> Self {
        let mut directions: Vec<Directions<D>> = measure
            .scales()
            .iter()
            .enumerate()
            .map(|(i, d)| {
                let mut rows: Vec<usize> = (0..D)
                    .flat_map(|k| problem.directions().column(D * i + k).map(|(row, _)| row))
                    .collect();
                rows.sort_unstable();
                rows.dedup();
                let mut lines = vec![[0.0; D]; rows.len()];
                for k in 0..D {
                    for (row, value) in problem.directions().column(D * i + k) {
                        if let Ok(at) = rows.binary_search(&row) {
                            lines[at][k] = value / d.sqrt();
                        }
                    }
                }
                Directions { rows, lines }
            })
            .collect();
        // Bodies that touch nothing take no part.
        let place = numbers(problem, &directions);
        let size = place.iter().filter(|k| **k != usize::MAX).count();
        for row in directions.iter_mut().flat_map(|d| &mut d.rows) {
            *row = place[*row];
        }
        let entries = problem.mass().triplets();
        let mass: Vec<_> = entries
            .filter(|(i, _, _)| place[*i] != usize::MAX)
            .map(|(i, j, value)| (place[i], place[j], value))
            .collect();
        let (flops, stored) = factorisation_work(size, &mass, &directions);
        Self {
            flops,
            solves: 6.0 * stored,
            mass,
            directions,
            matrix: SquareMatrix::new(size),
            active: Vec::new(),
            inverse: Vec::new(),
            slope: Vec::new(),
            dv: vec![0.0; size],
        }
    }

    /// Counted operations of one factorisation with all contacts active.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    fn factorise(
        &mut self,
        search: &mut Search<'_, D>,
        active: &[usize],
        (a, b): (&[Block<D>], &[Block<D>]),
        s: f64,
    ) -> bool {
        self.active.clear();
        self.active.extend_from_slice(active);
        self.inverse.clear();
        self.slope.clear();
        self.matrix.clear();
        for &(i, j, value) in &self.mass {
            self.matrix.entry(i, j, value);
        }
        search.work += self.flops + self.solves + ENTRY * self.mass.len() as f64;
        for &i in active {
            let mut n = a[i];
            for x in 0..D {
                for y in 0..D {
                    n[x][y] += s * b[i][x][y];
                }
            }
            let Some(inverse) = invert(&n) else {
                return false;
            };
            let c = multiply(&inverse, &b[i]);
            let Directions { rows, lines } = &self.directions[i];
            for (&row, line) in rows.iter().zip(lines) {
                let mut left = [0.0; D];
                for x in 0..D {
                    for y in 0..D {
                        left[y] += line[x] * c[x][y];
                    }
                }
                for (&col, line) in rows.iter().zip(lines) {
                    let value = left.iter().zip(line).map(|(a, b)| a * b).sum();
                    self.matrix.entry(row, col, value);
                }
            }
            let entries = (rows.len() * rows.len()) as f64;
            search.work += (2.0 * D as f64 + ENTRY) * entries + (2 * D * D * rows.len()) as f64;
            self.inverse.push(inverse);
            self.slope.push(b[i]);
        }
        self.matrix.factorise().is_ok()
    }

    fn solve(&mut self, x: &mut [[f64; D]]) {
        self.dv.fill(0.0);
        for ((x, inverse), &i) in x.iter().zip(&self.inverse).zip(&self.active) {
            let y = times(inverse, x);
            let Directions { rows, lines } = &self.directions[i];
            for (&row, line) in rows.iter().zip(lines) {
                self.dv[row] += line.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        self.matrix.solve(&mut self.dv);
        for (k, (x, &i)) in x.iter_mut().zip(&self.active).enumerate() {
            let Directions { rows, lines } = &self.directions[i];
            let mut du = [0.0; D];
            for (&row, line) in rows.iter().zip(lines) {
                for (u, h) in du.iter_mut().zip(line) {
                    *u += h * self.dv[row];
                }
            }
            let coupled = times(&self.slope[k], &du);
            for (x, c) in x.iter_mut().zip(&coupled) {
                *x -= c;
            }
            *x = times(&self.inverse[k], x);
        }
    }
}

/// New numbers, ascending, of the velocities that contacts act on, directly or through the mass matrix; `usize::MAX` of others.
fn numbers<const D: usize>(problem: &GlobalFriction, directions: &[Directions<D>]) -> Vec<usize> {
    let size = problem.force().len();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); size];
    for (i, j, _) in problem.mass().triplets() {
        neighbours[i].push(j);
        neighbours[j].push(i);
    }
    let mut place = vec![usize::MAX; size];
    let mut open: Vec<usize> = directions.iter().flat_map(|d| d.rows.clone()).collect();
    while let Some(i) = open.pop() {
        if place[i] == usize::MAX {
            place[i] = 0;
            open.extend_from_slice(&neighbours[i]);
        }
    }
    let touched = place.iter_mut().filter(|k| **k != usize::MAX);
    for (next, k) in touched.enumerate() {
        *k = next;
    }
    place
}

/// Counted operations of one factorisation of `M + H C Hᵀ` with all contacts active, and entries of the factors.
fn factorisation_work<const D: usize>(
    size: usize,
    mass: &[(usize, usize, f64)],
    directions: &[Directions<D>],
) -> (f64, f64) {
    if size <= DENSE_LIMIT {
        let n = size as f64;
        return (2.0 / 3.0 * n.powi(3), n * n);
    }
    let mut pattern: Vec<Vec<usize>> = (0..size).map(|i| vec![i]).collect();
    for &(i, j, _) in mass {
        pattern[i].push(j);
        pattern[j].push(i);
    }
    for Directions { rows, .. } in directions {
        for &i in rows {
            pattern[i].extend_from_slice(rows);
        }
    }
    let (mut start, mut index) = (vec![0], Vec::new());
    for row in &mut pattern {
        row.sort_unstable();
        row.dedup();
        index.extend_from_slice(row);
        start.push(index.len());
    }
    let mut factors = Pattern::default();
    factors.analyse(&start, &index);
    let stored = 2 * factors.above() + factors.rows();
    (SCATTERED * factors.flops(1), 2.0 * stored as f64)
}
