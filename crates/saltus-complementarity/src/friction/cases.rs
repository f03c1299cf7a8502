//! Whether a few contacts that act on each other have any solution: what each of them may do is tried, case by case.
//!
//! A contact is open (`r = 0`, `u_n ≥ 0`), sticks (`u = 0`, `r` in the cone) or slips (`u_n = 0`, `r_t = −μ r_n e`, `u_t = s e`,
//! `s ≥ 0`) in a direction `e`: one of two in the plane, in space one of an arc that is cut in halves. As long as nothing is said of
//! a contact, `r` is in the cone and `u_n ≥ 0`. With polyhedral cones around the true ones these are linear inequalities in the
//! reactions. A case that Farkas' lemma refutes needs no further cut; if all are refuted, nothing solves the problem. In the plane
//! the last cases are Coulomb's law itself, so that their points are solutions, as those of the active sets of the
//! equivalent complementarity problem (Klarbring 1986) are.
//!
//! With rolling friction only open and closed are told apart.

use super::diagnosis::edges;
use super::measure::{miss, square};
use crate::block::BlockMatrix;
use crate::lcp::{Inequalities, PhaseOne};
use saltus_linear::{Dense, dot, max_abs};

/// Up to this many contacts that act on each other all cases are tried.
pub const CASES_LIMIT: usize = 8;
/// Most operations that are spent on them.
pub(crate) const MOST_WORK: f64 = 2e8;
/// `1 − cos` of the narrowest arc.
const NARROW: f64 = 1e-7;

/// What trying the cases gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// Every one of so many cases is refuted.
    Refuted(u32),
    /// The last point that was offered is a solution.
    Found,
    /// Some case could not be decided.
    Undecided,
    /// The work did not suffice.
    Exhausted,
}

/// Directions between two unit vectors; one direction where both are the same.
#[derive(Debug, Clone, Copy)]
struct Arc {
    a: [f64; 2],
    b: [f64; 2],
}

impl Arc {
    const QUARTERS: [Self; 4] = {
        let e = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
        [
            Self { a: e[0], b: e[1] },
            Self { a: e[1], b: e[2] },
            Self { a: e[2], b: e[3] },
            Self { a: e[3], b: e[0] },
        ]
    };

    fn along(x: f64) -> Self {
        let e = [x, 0.0];
        Self { a: e, b: e }
    }

    /// The two halves, unless it is narrow.
    fn halves(self) -> Option<[Self; 2]> {
        let Self { a, b } = self;
        if 1.0 - dot(&a, &b) <= NARROW {
            return None;
        }
        let (x, y) = (a[0] + b[0], a[1] + b[1]);
        let length = x.hypot(y);
        let middle = [x / length, y / length];
        Some([Self { a, b: middle }, Self { a: middle, b }])
    }

    /// Where the tangents at both ends meet.
    fn apex(self) -> [f64; 2] {
        let Self { a, b } = self;
        let share = 1.0 / (1.0 + dot(&a, &b));
        [share * (a[0] + b[0]), share * (a[1] + b[1])]
    }
}

/// What is said of one contact.
#[derive(Debug, Clone, Copy)]
enum State {
    Any,
    Open,
    /// `u_n = 0`; all there is without friction.
    Closed,
    /// In space the reaction is in the arc, if there is one.
    Stick(Option<Arc>),
    Slip(Arc),
}

impl State {
    /// What it may be in particular; nothing where it is Coulomb's law, or not to be cut further.
    fn parts<const D: usize>(self, mu: f64) -> Vec<Self> {
        let quarters = Arc::QUARTERS;
        match self {
            Self::Any if D == 5 || mu == 0.0 => vec![Self::Open, Self::Closed],
            Self::Any if D == 2 => {
                let slips = [1.0, -1.0].map(|x| Self::Slip(Arc::along(x)));
                vec![Self::Open, Self::Stick(None), slips[0], slips[1]]
            }
            Self::Any => {
                let mut all = vec![Self::Open, Self::Stick(None)];
                all.extend(quarters.map(Self::Slip));
                all
            }
            Self::Stick(None) if D == 3 => quarters.map(|arc| Self::Stick(Some(arc))).to_vec(),
            Self::Stick(Some(arc)) => halves(arc, |arc| Self::Stick(Some(arc))),
            Self::Slip(arc) => halves(arc, Self::Slip),
            _ => Vec::new(),
        }
    }

    /// Edges of the cone the reaction is in.
    fn edges<const D: usize>(self, mu: f64, rolling: f64) -> Vec<[f64; 5]> {
        let unit = 1.0 / mu.max(1.0);
        let edge = |e: [f64; 2]| [unit, mu * unit * e[0], mu * unit * e[1], 0.0, 0.0];
        let opposite = |e: [f64; 2]| edge(e.map(|v| -v));
        match self {
            Self::Open => Vec::new(),
            Self::Any | Self::Closed | Self::Stick(None) if mu == 0.0 && D < 5 => {
                vec![[1.0, 0.0, 0.0, 0.0, 0.0]]
            }
            Self::Any | Self::Closed | Self::Stick(None) => {
                // With much friction the edges alone make a normal reaction of large parts that cancel.
                let mut all = edges(D, (mu, rolling));
                all.push([1.0, 0.0, 0.0, 0.0, 0.0]);
                all
            }
            Self::Stick(Some(arc)) => {
                vec![
                    [1.0, 0.0, 0.0, 0.0, 0.0],
                    edge(arc.a),
                    edge(arc.apex()),
                    edge(arc.b),
                ]
            }
            Self::Slip(arc) if arc.a == arc.b => vec![opposite(arc.a)],
            Self::Slip(arc) => vec![opposite(arc.a), opposite(arc.apex()), opposite(arc.b)],
        }
    }

    /// `f·u ≥ 0`, `= 0` where the second says so.
    fn conditions<const D: usize>(self, to: &mut Vec<([f64; 3], bool)>) {
        let normal = [1.0, 0.0, 0.0];
        match self {
            Self::Any | Self::Open => to.push((normal, false)),
            Self::Closed => to.push((normal, true)),
            Self::Stick(_) => {
                let unit = |k: usize| std::array::from_fn(|j| f64::from(u8::from(j == k)));
                to.extend((0..D.min(3)).map(|k| (unit(k), true)));
            }
            Self::Slip(Arc { a, b }) => {
                to.push((normal, true));
                if a == b {
                    to.push(([0.0, a[0], a[1]], false));
                } else {
                    to.push(([0.0, -a[1], a[0]], false));
                    to.push(([0.0, b[1], -b[0]], false));
                }
            }
        }
    }
}

fn halves(arc: Arc, state: impl Fn(Arc) -> State) -> Vec<State> {
    arc.halves()
        .map_or_else(Vec::new, |each| each.map(state).to_vec())
}

/// The contacts, in units in which `W` is of the order of 1, and what the trial costs.
struct Trial<'a, const D: usize> {
    w: &'a BlockMatrix,
    q: &'a [[f64; D]],
    cone: &'a dyn Fn(usize) -> (f64, f64),
    work: f64,
}

/// Tries all cases of the contacts with matrix `w`, free velocities `q` and `cone` (coefficients of friction and of rolling).
/// `offer` gives `η` of a point and keeps it; at most `tolerance` makes it a solution. Without a tolerance none is looked for.
/// Second: the operations, at most about `budget`.
pub(crate) fn all_cases<const D: usize>(
    w: &BlockMatrix,
    q: &[[f64; D]],
    cone: &dyn Fn(usize) -> (f64, f64),
    (tolerance, budget): (Option<f64>, f64),
    mut offer: impl FnMut(&[[f64; D]]) -> f64,
) -> (Answer, f64) {
    let n = q.len();
    let mut trial = Trial {
        w,
        q,
        cone,
        work: 0.0,
    };
    let mut open = vec![vec![State::Any; n]];
    let (mut cases, mut doubt) = (0, false);
    while let Some(case) = open.pop() {
        if trial.work > budget {
            return (Answer::Exhausted, trial.work);
        }
        let Some(r) = trial.refute(&case) else {
            cases += 1;
            continue;
        };
        if tolerance.is_some_and(|most| offer(&r) <= most) {
            return (Answer::Found, trial.work);
        }
        match trial.cut(&case, &r) {
            Some((i, parts)) => open.extend(parts.into_iter().map(|state| {
                let mut part = case.clone();
                part[i] = state;
                part
            })),
            // In the plane another case may still hold a solution.
            None if D == 2 && tolerance.is_some() => doubt = true,
            None => return (Answer::Undecided, trial.work),
        }
    }
    let answer = if doubt {
        Answer::Undecided
    } else {
        Answer::Refuted(cases)
    };
    (answer, trial.work)
}

impl<const D: usize> Trial<'_, D> {
    /// `None` if the case is refuted, otherwise a point that satisfies its inequalities as far as is known.
    fn refute(&mut self, case: &[State]) -> Option<Vec<[f64; D]>> {
        let n = case.len();
        let (mut columns, mut rows, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (i, state) in case.iter().enumerate() {
            let (mu, rolling) = (self.cone)(i);
            columns.extend(state.edges::<D>(mu, rolling).into_iter().map(|e| (i, e)));
            own.clear();
            state.conditions::<D>(&mut own);
            rows.extend(own.iter().map(|(f, equation)| (i, *f, *equation)));
        }
        let (m, k) = (rows.len(), columns.len());
        let (mut matrix, mut terms) = (Dense::zeros(m, k), Dense::zeros(m, k));
        let mut constant: Vec<f64> = Vec::with_capacity(m);
        let mut sizes: Vec<f64> = Vec::with_capacity(m);
        let e = D.min(3);
        for (row, (i, f, _)) in rows.iter().enumerate() {
            for (col, (j, edge)) in columns.iter().enumerate() {
                let Some(block) = self.w.block(*i, *j) else {
                    continue;
                };
                let (mut sum, mut size) = (0.0, 0.0);
                for (f, line) in f[..e].iter().zip(block.chunks_exact(D)) {
                    for (w, x) in line.iter().zip(edge) {
                        sum += f * w * x;
                        size += (f * w * x).abs();
                    }
                }
                matrix[(row, col)] = sum;
                terms[(row, col)] = size;
            }
            let each = f[..e].iter().zip(&self.q[*i]).map(|(f, q)| f * q);
            let (sum, size) = each.fold((0.0, 0.0), |(s, t), v| (s + v, t + v.abs()));
            constant.push(sum);
            sizes.push(size);
        }
        self.work += (2 * (m + 1) * (2 * k + 2 * m + 1) * (m + 4) + 4 * m * k * D * D) as f64;
        let units = balance(&mut matrix, &mut terms, &mut constant, &mut sizes);
        let inequalities = Inequalities {
            matrix: &matrix,
            constant: &constant,
            equation: |row: usize| rows[row].2,
            free: |_| false,
        };
        let clear = |y: &[f64]| inequalities.is_clear(y, |i, j| terms[(i, j)], |i| sizes[i]);
        let x = match inequalities.phase_one() {
            PhaseOne::Proof(y) if clear(&y) => return None,
            PhaseOne::Point(x) => x,
            _ => vec![0.0; k],
        };
        let mut r = vec![[0.0; D]; n];
        for (((j, edge), x), unit) in columns.iter().zip(x).zip(units) {
            for (r, e) in r[*j].iter_mut().zip(edge) {
                *r += x * unit * e;
            }
        }
        Some(r)
    }

    /// The contact that misses Coulomb's law most at `r`, of those that can be cut, and its parts.
    fn cut(&self, case: &[State], r: &[[f64; D]]) -> Option<(usize, Vec<State>)> {
        let each = case.iter().enumerate().filter_map(|(i, state)| {
            let (mu, rolling) = (self.cone)(i);
            let parts = state.parts::<D>(mu);
            let mut u = self.w.row_dot::<D>(i, r);
            u.iter_mut().zip(&self.q[i]).for_each(|(u, q)| *u += q);
            let size = square(&miss(&r[i], &u, 1.0, mu, rolling));
            (!parts.is_empty()).then_some((size, i, parts))
        });
        let worst = each.max_by(|a, b| a.0.total_cmp(&b.0));
        worst.map(|(_, i, parts)| (i, parts))
    }
}

/// Rows and columns in units, powers of two, in which their largest entries are near 1; returns those of the columns.
fn balance(
    matrix: &mut Dense,
    terms: &mut Dense,
    constant: &mut [f64],
    sizes: &mut [f64],
) -> Vec<f64> {
    let (m, k) = (matrix.rows(), matrix.cols());
    let mut units = vec![1.0; k];
    for (j, unit) in units.iter_mut().enumerate() {
        let largest = (0..m).fold(0.0_f64, |a, i| a.max(terms[(i, j)]));
        *unit = reciprocal(largest);
        for i in 0..m {
            matrix[(i, j)] *= *unit;
            terms[(i, j)] *= *unit;
        }
    }
    for i in 0..m {
        let unit = reciprocal(max_abs(terms.row(i)));
        matrix.row_mut(i).iter_mut().for_each(|v| *v *= unit);
        terms.row_mut(i).iter_mut().for_each(|v| *v *= unit);
        constant[i] *= unit;
        sizes[i] *= unit;
    }
    units
}

/// The power of two near `1/v`; 1 of zero.
fn reciprocal(v: f64) -> f64 {
    if v > 0.0 {
        (-v.log2().round()).exp2()
    } else {
        1.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn cases<const D: usize>(w: &[[f64; D]], q: [f64; D], budget: f64) -> Answer {
        let entries = w.iter().enumerate();
        let entries =
            entries.flat_map(|(i, line)| line.iter().enumerate().map(move |(j, v)| (i, j, *v)));
        let w = BlockMatrix::from_triplets(D, 1, entries);
        let eta = |r: &[[f64; D]]| {
            let mut u = w.row_dot::<D>(0, r);
            u.iter_mut().zip(&q).for_each(|(u, q)| *u += q);
            square(&miss(&r[0], &u, 1.0, 1.0, 0.0)).sqrt()
        };
        all_cases(&w, &[q], &|_| (1.0, 0.0), (Some(1e-9), budget), eta).0
    }

    /// The rod of Painlevé: open, stick and two slips. With the other velocity it slips away.
    #[test]
    fn four_cases_refute_a_contact_in_the_plane() {
        let w = [[1.0, 2.0], [2.0, 4.0]];
        assert_eq!(cases(&w, [-1.0, 10.0], MOST_WORK), Answer::Refuted(4));
        assert_eq!(cases(&w, [-1.0, -10.0], MOST_WORK), Answer::Found);
        assert_eq!(cases(&w, [-1.0, 10.0], -1.0), Answer::Exhausted);
    }

    /// The quarters close, halves meet, and what an arc spans is inside the triangle of its ends and its apex.
    #[test]
    fn arcs_cover_all_directions() {
        for (k, arc) in Arc::QUARTERS.iter().enumerate() {
            assert_eq!(arc.b, Arc::QUARTERS[(k + 1) % 4].a);
            let [first, second] = arc.halves().unwrap();
            assert_eq!((first.a, first.b, second.b), (arc.a, second.a, arc.b));
            let apex = arc.apex();
            // On both tangents.
            assert!((dot(&apex, &arc.a) - 1.0).abs() < 1e-15);
            assert!((dot(&apex, &arc.b) - 1.0).abs() < 1e-15);
        }
        let (mut arc, mut count) = (Arc::QUARTERS[0], 0);
        while let Some([half, _]) = arc.halves() {
            (arc, count) = (half, count + 1);
        }
        assert!((10..14).contains(&count), "{count}");
    }
}
