//! Long vectors in pieces that stay in the cache, for the steps of large linear systems.
//!
//! From some 10⁵ unknowns on the time of a step is that of its memory traffic. So a vector is read and written once
//! where that is possible: forces are evaluated just before the rows are eliminated, and what a row contributes to
//! balance and energy is added up as soon as its neighbours are known, too.

use saltus_linear::Schur;
use saltus_system::State;
use std::ops::Range;

/// Partial sums kept going at the same time.
pub(crate) const LANES: usize = 4;

/// Most rows of a piece.
pub(crate) const PIECE: usize = 1024;

/// Runs a body for every element of vectors of equal length, which it finds at `[lane]` under their names.
macro_rules! by_lanes {
    (($($x:ident),+), $lane:ident, $body:block) => {{
        $(let $x = $x.as_chunks::<{ $crate::passes::LANES }>();)+
        let blocks = [$($x.0.len()),+].into_iter().fold(usize::MAX, usize::min);
        for block in 0..blocks {
            $(let $x = &$x.0[block];)+
            for $lane in 0..$crate::passes::LANES $body
        }
        $(let $x = $x.1;)+
        let rest = [$($x.len()),+].into_iter().fold(usize::MAX, usize::min);
        for $lane in 0..rest $body
    }};
}
pub(crate) use by_lanes;

#[inline]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

pub(crate) fn largest(lanes: &[f64; LANES]) -> f64 {
    lanes.iter().fold(0.0, |m, x| larger(m, *x))
}

/// What tells states apart: the sum of the bits of all positions, and of all velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fingerprint(u64, u64);

impl Fingerprint {
    #[inline]
    pub(crate) fn take(&mut self, q: f64, v: f64) {
        self.0 = self.0.wrapping_add(q.to_bits());
        self.1 = self.1.wrapping_add(v.to_bits());
    }

    /// Takes in some rows.
    #[inline]
    pub(crate) fn take_all(&mut self, q: &[f64], v: &[f64]) {
        for (q, v) in q.iter().zip(v) {
            self.take(*q, *v);
        }
    }

    pub(crate) fn of(state: &State) -> Self {
        let mut all = Self::default();
        all.take_all(&state.q, &state.v);
        all
    }
}

/// `rows` with `by` neighbours on either side, as far as there are any.
#[inline]
pub(crate) fn widened(rows: &Range<usize>, by: usize, n: usize) -> Range<usize> {
    rows.start.saturating_sub(by)..n.min(rows.end + by)
}

/// Keeps account of the rows that become complete, neighbours included, while known rows spread without a hole.
#[derive(Debug)]
pub(crate) struct Complete {
    n: usize,
    reach: usize,
    known: Option<Range<usize>>,
    done: Range<usize>,
}

impl Complete {
    pub(crate) fn new(n: usize, reach: usize) -> Self {
        Self {
            n,
            reach,
            known: None,
            done: 0..0,
        }
    }

    /// Takes note of rows that became known and gives those that became complete, in pieces.
    pub(crate) fn spread(
        &mut self,
        rows: &[Range<usize>; 2],
    ) -> impl Iterator<Item = Range<usize>> {
        for rows in rows.iter().filter(|rows| !rows.is_empty()) {
            self.known = Some(match self.known.take() {
                None => rows.clone(),
                Some(known) => known.start.min(rows.start)..known.end.max(rows.end),
            });
        }
        let known = self.known.clone().unwrap_or(0..0);
        let inside = |at: usize, edge: usize, inwards: usize| if at == edge { at } else { inwards };
        let begin = inside(known.start, 0, known.start + self.reach);
        let end = inside(known.end, self.n, known.end.saturating_sub(self.reach));
        let (above, below) = if begin >= end {
            (0..0, 0..0)
        } else if self.done.is_empty() {
            (begin..end, 0..0)
        } else {
            (begin..self.done.start, self.done.end..end)
        };
        if begin < end {
            self.done = begin..end;
        }
        [above, below].into_iter().flat_map(|rows| {
            let end = rows.end;
            rows.step_by(PIECE)
                .map(move |first| first..end.min(first + PIECE))
        })
    }
}

/// Rows of the columns of contacts that meet some rows.
#[inline]
fn part<'a>(schur: &'a Schur, i: usize, rows: &Range<usize>) -> Option<(usize, &'a [f64])> {
    let (first, column) = schur.column(i)?;
    let (begin, end) = (rows.start.max(first), rows.end.min(first + column.len()));
    (begin < end).then(|| (begin, &column[begin - first..end - first]))
}

/// `sums[k] ← sums[k] + c_kᵀ x` over some rows, `c_k` the column of the row `list[k]` of `schur`; `x` begins with the
/// first of these rows.
#[inline]
pub(crate) fn dot_columns(
    schur: &Schur,
    list: &[usize],
    rows: &Range<usize>,
    x: &[f64],
    sums: &mut [f64],
) {
    for (&i, sum) in list.iter().zip(sums) {
        if let Some((begin, column)) = part(schur, i, rows) {
            *sum += saltus_linear::dot(column, &x[begin - rows.start..][..column.len()]);
        }
    }
}

/// `x ← x + Σ z_k c_k` over some rows, likewise.
#[inline]
pub(crate) fn add_columns(
    schur: &Schur,
    list: &[usize],
    rows: &Range<usize>,
    z: &[f64],
    x: &mut [f64],
) {
    for (&i, &z) in list.iter().zip(z) {
        if z != 0.0
            && let Some((begin, column)) = part(schur, i, rows)
        {
            saltus_linear::axpy(z, column, &mut x[begin - rows.start..][..column.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_complete_once() {
        // From the middle outwards, and from the bottom up.
        let middle = vec![[400..613, 0..0], [144..400, 613..869], [0..144, 869..1013]];
        let upwards: Vec<_> = [768..1013, 512..768, 256..512, 0..256]
            .map(|r| [r, 0..0])
            .into();
        for spreading in [middle, upwards] {
            for reach in [0, 1, 40, 300] {
                let mut complete = Complete::new(1013, reach);
                let mut seen = vec![0; 1013];
                let mut known = vec![false; 1013];
                for rows in &spreading {
                    rows.iter().cloned().flatten().for_each(|i| known[i] = true);
                    for piece in complete.spread(rows) {
                        assert!(piece.len() <= PIECE);
                        assert!(widened(&piece, reach, 1013).all(|i| known[i]));
                        piece.for_each(|i| seen[i] += 1);
                    }
                }
                assert!(seen.iter().all(|s| *s == 1), "{reach}");
            }
        }
    }
}
