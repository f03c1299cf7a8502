//! The solve with a factored band a few rows at a time, so that a caller works on rows while they are in the cache.
//!
//! A tridiagonal matrix is swept from both ends towards the middle and back: two recurrences that do not wait for
//! each other. A wider band is swept down and up. Where entries of the factors repeat, their one value is read.

use crate::band_ldlt::BandLdlt;
use crate::prefetch::{Ahead, LINE};
use crate::vector::{axpy, dot};
use std::ops::Range;

/// Rows of a stage, on either side.
const ROWS: usize = 1024;

/// Contributions below this size are dropped: ahead of a wave they, and what is made of them, would fade away through
/// the subnormal numbers, with which processors are slow.
const NOTHING: f64 = 1e-140;

/// One solve `x ← alpha A⁻¹ x`.
///
/// [`inward`](Self::inward) is called for the stages `0..stages()`, each when its rows hold the right-hand side, then
/// [`outward`](Self::outward) for the same stages in reverse order. After it the rows of the stage hold the solution and
/// are not looked at again: the caller may put them to other use.
///
/// The recurrences wait for their own last result and leave the memory idle, so the rows of the next stage are asked for
/// meanwhile: those of the vector itself, and those of the vectors `prefetched` in which the caller will read or write them.
#[derive(Debug)]
pub struct Sweep<'a> {
    factors: &'a BandLdlt,
    /// What the rows done last contribute to their neighbours, on both sides.
    carry: (f64, f64),
}

/// Entries of a vector, or one number for all of them.
trait Entries: Copy {
    fn at(self, i: usize) -> f64;
}

impl Entries for f64 {
    #[inline]
    fn at(self, _: usize) -> f64 {
        self
    }
}

impl Entries for &[f64] {
    #[inline]
    fn at(self, i: usize) -> f64 {
        self[i]
    }
}

impl<'a> Sweep<'a> {
    pub(crate) fn new(factors: &'a BandLdlt) -> Self {
        Self {
            factors,
            carry: (0.0, 0.0),
        }
    }

    /// Rows above the middle of a tridiagonal matrix.
    fn middle(&self) -> usize {
        self.factors.n / 2
    }

    /// Rows of the stage that comes next, if there is one.
    fn next(&self, stage: usize) -> [Range<usize>; 2] {
        if stage < self.stages() {
            self.rows(stage)
        } else {
            [0..0, 0..0]
        }
    }

    fn is_twisted(&self) -> bool {
        self.factors.width == 1
    }

    /// Number of stages.
    #[must_use]
    pub fn stages(&self) -> usize {
        let rows = if self.is_twisted() {
            self.middle()
        } else {
            self.factors.n
        };
        rows.div_ceil(ROWS).max(1)
    }

    /// Rows of a stage: one range or two. The last stages together are rows without a hole.
    #[must_use]
    pub fn rows(&self, stage: usize) -> [Range<usize>; 2] {
        let n = self.factors.n;
        let first = stage * ROWS;
        if self.is_twisted() {
            if stage + 1 == self.stages() {
                [first..n - first, 0..0]
            } else {
                [first..first + ROWS, n - first - ROWS..n - first]
            }
        } else {
            [first..n.min(first + ROWS), 0..0]
        }
    }

    /// The rows of a stage of a tridiagonal matrix above and below the middle, and whether the middle is next to them.
    fn sides(&self, stage: usize) -> (Range<usize>, Range<usize>, bool) {
        let (n, middle) = (self.factors.n, self.middle());
        let [top, bottom] = self.rows(stage);
        if bottom.is_empty() {
            (top.start..middle, middle + 1..n - stage * ROWS, true)
        } else {
            (top, bottom, false)
        }
    }

    /// Eliminates the rows of a stage; `prefetched` are vectors of any length.
    pub fn inward(&mut self, stage: usize, alpha: f64, x: &mut [f64], prefetched: &[&[f64]]) {
        match self.factors.width {
            0 => {
                let [rows, _] = self.rows(stage);
                let reciprocal = &self.factors.reciprocal[rows.clone()];
                for (x, r) in x[rows].iter_mut().zip(reciprocal) {
                    *x *= alpha * r;
                }
            }
            1 => self.inward_twisted(stage, alpha, x, prefetched),
            _ => self.downward(stage, alpha, x),
        }
    }

    /// Substitutes the rows of a stage; `prefetched` are vectors of any length.
    pub fn outward(&mut self, stage: usize, x: &mut [f64], prefetched: &[&[f64]]) {
        match self.factors.width {
            0 => {}
            1 => self.outward_twisted(stage, x, prefetched),
            _ => self.upward(stage, x),
        }
    }

    fn inward_twisted(&mut self, stage: usize, alpha: f64, x: &mut [f64], prefetched: &[&[f64]]) {
        let [down, up] = self.next(stage + 1);
        let (above, below, last) = self.sides(stage);
        let f = self.factors;
        let constant = |rows: &Range<usize>| f.lower_runs.constant(&f.lower, rows);
        let middle = self.middle();
        let (top, rest) = x.split_at_mut(middle);
        let (centre, bottom) = rest.split_at_mut(1);
        let (_, top, deeper) = parted(top, &above);
        let own = &deeper[..down.len().min(deeper.len())];
        let inner = below.start - middle - 1..below.end - middle - 1;
        let (higher, bottom, _) = parted(bottom, &inner);
        let ahead = [
            Ahead::new(prefetched, down, own),
            Ahead::new(prefetched, up.clone(), &higher[higher.len() - up.len()..]),
        ];
        self.carry = match (constant(&above), constant(&below)) {
            (Some(e), Some(f)) => inward(alpha, (top, e), (bottom, f), self.carry, &ahead),
            _ => {
                let (e, f) = (&f.lower[above], &f.lower[below]);
                inward(alpha, (top, e), (bottom, f), self.carry, &ahead)
            }
        };
        if last {
            centre[0] = alpha * centre[0] - self.carry.0 - self.carry.1;
        }
    }

    fn outward_twisted(&mut self, stage: usize, x: &mut [f64], prefetched: &[&[f64]]) {
        let [down, up] = self.next(stage.wrapping_sub(1));
        let (above, below, last) = self.sides(stage);
        let f = self.factors;
        let constant = |rows: &Range<usize>| {
            let e = f.lower_runs.constant(&f.lower, rows)?;
            Some((e, f.reciprocal_runs.constant(&f.reciprocal, rows)?))
        };
        let middle = self.middle();
        let (top, rest) = x.split_at_mut(middle);
        let (centre, bottom) = rest.split_at_mut(1);
        if last {
            centre[0] *= f.reciprocal[middle];
            self.carry = (centre[0], centre[0]);
        }
        let (higher, top, _) = parted(top, &above);
        let own = &higher[higher.len() - down.len()..];
        let inner = below.start - middle - 1..below.end - middle - 1;
        let (_, bottom, deeper) = parted(bottom, &inner);
        let ahead = [
            Ahead::new(prefetched, down, own),
            Ahead::new(prefetched, up.clone(), &deeper[..up.len()]),
        ];
        self.carry = match (constant(&above), constant(&below)) {
            (Some((e, r)), Some((f, s))) => {
                outward((top, e, r), (bottom, f, s), self.carry, &ahead)
            }
            _ => {
                let (e, r) = (&f.lower[above.clone()], &f.reciprocal[above]);
                let (f, s) = (&f.lower[below.clone()], &f.reciprocal[below]);
                outward((top, e, r), (bottom, f, s), self.carry, &ahead)
            }
        };
    }

    fn downward(&self, stage: usize, alpha: f64, x: &mut [f64]) {
        let (f, w) = (self.factors, self.factors.width);
        let [rows, _] = self.rows(stage);
        if alpha != 1.0 {
            x[rows.clone()].iter_mut().for_each(|x| *x *= alpha);
        }
        for i in rows {
            let count = i.min(w);
            let line = &f.lower[i * w + w - count..(i + 1) * w];
            let (solved, rest) = x.split_at_mut(i);
            rest[0] -= dot(line, &solved[i - count..]);
        }
    }

    fn upward(&self, stage: usize, x: &mut [f64]) {
        let (f, w, n) = (self.factors, self.factors.width, self.factors.n);
        let [rows, _] = self.rows(stage);
        // Rows are divided by their pivots before those below take anything from them.
        let before = |row: usize| if row == n { n } else { row.saturating_sub(w) };
        let fresh = before(rows.start)..before(rows.end);
        for (x, r) in x[fresh.clone()].iter_mut().zip(&f.reciprocal[fresh]) {
            *x *= r;
        }
        for i in rows.rev() {
            let count = i.min(w);
            let line = &f.lower[i * w + w - count..(i + 1) * w];
            let (rest, solved) = x.split_at_mut(i);
            let value = solved[0];
            if value != 0.0 {
                axpy(-value, line, &mut rest[i - count..]);
            }
        }
    }
}

/// What lies before a part of a vector, the part, and what lies after it.
fn parted<'a>(x: &'a mut [f64], part: &Range<usize>) -> (&'a [f64], &'a mut [f64], &'a [f64]) {
    let (before, rest) = x.split_at_mut(part.start);
    let (here, after) = rest.split_at_mut(part.len());
    (before, here, after)
}

/// A contribution, unless it is next to nothing.
#[inline]
fn kept(x: f64) -> f64 {
    if x.abs() < NOTHING { 0.0 } else { x }
}

/// Eliminates rows from the top and from the bottom; the top has as many as the bottom, or one more.
#[inline]
fn inward<E: Entries, F: Entries>(
    alpha: f64,
    (x, e): (&mut [f64], E),
    (y, f): (&mut [f64], F),
    (mut down, mut up): (f64, f64),
    ahead: &[Ahead<'_>; 2],
) -> (f64, f64) {
    let last = y.len();
    let (x, rest) = x.split_at_mut(last);
    for (i, (x, y)) in x.iter_mut().zip(y.iter_mut().rev()).enumerate() {
        if i % LINE == 0 {
            ahead.iter().for_each(|a| a.ask(i));
            (down, up) = (kept(down), kept(up));
        }
        *x = alpha * *x - down;
        down = e.at(i) * *x;
        *y = alpha * *y - up;
        up = f.at(last - 1 - i) * *y;
    }
    for (k, x) in rest.iter_mut().enumerate() {
        *x = alpha * *x - down;
        down = e.at(last + k) * *x;
    }
    (down, up)
}

/// Substitutes rows upwards and downwards from the middle.
#[inline]
fn outward<E: Entries, F: Entries>(
    (x, e, r): (&mut [f64], E, E),
    (y, f, s): (&mut [f64], F, F),
    (mut above, mut below): (f64, f64),
    ahead: &[Ahead<'_>; 2],
) -> (f64, f64) {
    let last = y.len();
    let (x, rest) = x.split_at_mut(last);
    for (k, x) in rest.iter_mut().enumerate().rev() {
        above = *x * r.at(last + k) - e.at(last + k) * above;
        *x = above;
    }
    for (i, (x, y)) in x.iter_mut().rev().zip(y.iter_mut()).enumerate() {
        let k = last - 1 - i;
        if i % LINE == 0 {
            ahead.iter().for_each(|a| a.ask(i));
            (above, below) = (kept(above), kept(below));
        }
        above = *x * r.at(k) - e.at(k) * above;
        *x = above;
        below = *y * s.at(i) - f.at(i) * below;
        *y = below;
    }
    (above, below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::band::Band;

    #[test]
    fn in_stages_as_at_once_whatever_becomes_of_finished_rows() {
        for width in [0, 1, 2, 5] {
            for n in [61, 1024, 2048, 2049, 2050, 5000, 5001] {
                let mut a = Band::new(n);
                for i in 0..n {
                    a.entry(i, i, 4.0 + 2.0 * width as f64);
                    for k in 1..=width.min(i) {
                        // One element is not like the others.
                        let value = if i == n / 3 { -0.7 } else { -1.0 };
                        a.entry(i, i - k, value);
                        a.entry(i - k, i, value);
                    }
                }
                let mut factors = BandLdlt::default();
                factors.factorise(&a).unwrap();
                let b: Vec<f64> = (0..n).map(|i| (0.7 * i as f64).sin()).collect();
                let mut expected: Vec<f64> = b.iter().map(|b| 0.3 * b).collect();
                let (lanes, _) = expected.as_chunks_mut::<1>();
                let mut wide: Vec<[f64; crate::band_ldlt::LANES]> =
                    lanes.iter().map(|b| [b[0]; _]).collect();
                factors.solve_lanes(&mut wide);
                let mut x = vec![f64::NAN; n];
                let mut sweep = Sweep::new(&factors);
                let mut seen = vec![0; n];
                for k in 0..sweep.stages() {
                    for rows in sweep.rows(k) {
                        x[rows.clone()].copy_from_slice(&b[rows.clone()]);
                        seen[rows].iter_mut().for_each(|s| *s += 1);
                    }
                    sweep.inward(k, 0.3, &mut x, &[&b, &b[..n / 2]]);
                }
                assert!(seen.iter().all(|s| *s == 1));
                let mut known: Option<Range<usize>> = None;
                for k in (0..sweep.stages()).rev() {
                    sweep.outward(k, &mut x, &[&b]);
                    for rows in sweep.rows(k).into_iter().filter(|r| !r.is_empty()) {
                        for i in rows.clone() {
                            assert!((x[i] - wide[i][0]).abs() < 1e-15, "{width} {n} {i}");
                            x[i] = f64::NAN;
                        }
                        known = Some(match known {
                            None => rows,
                            Some(k) if k.start == rows.end => rows.start..k.end,
                            Some(k) => {
                                assert_eq!(k.end, rows.start);
                                k.start..rows.end
                            }
                        });
                    }
                }
                assert_eq!(known, Some(0..n));
            }
        }
    }

    #[test]
    fn what_fades_away_ends_as_nothing() {
        let mut a = Band::new(5001);
        for i in 0..5001 {
            a.entry(i, i, 4.0);
            if i > 0 {
                a.entry(i, i - 1, -1.0);
                a.entry(i - 1, i, -1.0);
            }
        }
        let mut factors = BandLdlt::default();
        factors.factorise(&a).unwrap();
        for pushed in [0, 2500, 5000] {
            let mut x = vec![0.0; 5001];
            x[pushed] = 1.0;
            factors.solve(1.0, &mut x);
            let root = 2.0 - 3.0_f64.sqrt();
            for x in &x {
                assert!(*x == 0.0 || *x > 1e-150, "{x:e}");
            }
            let (up, down) = (x[..=pushed].iter().rev(), x[pushed..].iter());
            for side in [up.collect::<Vec<_>>(), down.collect()] {
                for pair in side.windows(2).take_while(|pair| *pair[0] > 1e-135) {
                    assert!((pair[1] / pair[0] - root).abs() < 1e-12 || *pair[1] < 1e-135);
                }
            }
        }
    }
}
