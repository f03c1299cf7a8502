//! Rows of a long vector in pieces that stay in the cache.

use saltus_linear::SquareMatrix;
use saltus_system::StreamedDynamics;
use std::ops::Range;

/// Most rows of a piece.
pub(crate) const PIECE: usize = 1024;

/// Entries of a buffer for what is made of some rows and their neighbours: the last stage of a forward pass has rows of both
/// sides.
pub(crate) fn buffer_size(reach: usize) -> usize {
    2 * PIECE + 1 + 2 * reach
}

/// How far a row reaches: through forces, mass and stiffness; `None` where the matrices are no bands.
pub(crate) fn reach_of(
    local: &dyn StreamedDynamics,
    mass: &SquareMatrix,
    stiffness: &SquareMatrix,
) -> Option<usize> {
    let widths = mass.half_bandwidth()?.max(stiffness.half_bandwidth()?);
    Some(local.reach().max(widths))
}

/// `rows` with `by` neighbours on either side, as far as there are any.
#[inline]
pub(crate) fn widened(rows: &Range<usize>, by: usize, n: usize) -> Range<usize> {
    rows.start.saturating_sub(by)..n.min(rows.end + by)
}

/// Keeps account of the rows that become complete, neighbours included, while known rows spread without a hole.
#[derive(Debug)]
pub(super) struct CompletedRows {
    n: usize,
    reach: usize,
    known: Option<Range<usize>>,
    done: Range<usize>,
}

impl CompletedRows {
    pub(super) fn new(n: usize, reach: usize) -> Self {
        Self {
            n,
            reach,
            known: None,
            done: 0..0,
        }
    }

    /// Takes note of rows that became known and gives those that became complete, in pieces.
    pub(super) fn spread(
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
                let mut complete = CompletedRows::new(1013, reach);
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
