//! Where a long vector repeats one number, bit for bit.
//!
//! Bodies of equal elements have matrices whose diagonals are one number almost everywhere, and elimination carries
//! that over to the factors: away from the ends their entries settle. Reading the number once instead of its copies
//! saves most of the memory traffic of a large solve.

use std::ops::Range;

/// Shorter repetitions are not worth a look-up.
const SHORTEST: usize = 512;

/// Most repetitions that are looked up.
const MOST: usize = 64;

/// The long repetitions of a vector.
#[derive(Debug, Clone, Default)]
pub struct Runs(Vec<Range<usize>>);

impl Runs {
    /// The repetitions of `values`.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut runs = Self::default();
        runs.find(values);
        runs
    }

    /// Finds the repetitions of `values`, reusing the storage.
    pub fn find(&mut self, values: &[f64]) {
        self.0.clear();
        let mut start = 0;
        for i in 1..=values.len() {
            let ends = i == values.len() || values[i].to_bits() != values[start].to_bits();
            if ends {
                if i - start >= SHORTEST && self.0.len() < MOST {
                    self.0.push(start..i);
                }
                start = i;
            }
        }
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The parts that repetitions make of a range: each lies in one of them or in none.
    pub fn parts(&self, range: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = self.0.partition_point(|run| run.end <= range.start);
        let cuts = (self.0[first..].iter()).flat_map(|run| [run.start, run.end]);
        let mut start = range.start;
        cuts.chain([range.end])
            .map_while(move |cut| {
                let part = start..cut.clamp(start, range.end);
                start = part.end;
                (part.start < range.end).then_some(part)
            })
            .filter(|part| !part.is_empty())
    }

    /// The one value of the entries `range` of `values`, if it is known that they are all the same.
    #[inline]
    #[must_use]
    pub fn constant(&self, values: &[f64], range: &Range<usize>) -> Option<f64> {
        let k = self.0.partition_point(|run| run.end < range.end);
        let run = self.0.get(k)?;
        (run.start <= range.start && range.start < range.end).then(|| values[range.start])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_repetitions_are_found_and_nothing_else() {
        let mut values = vec![1.5; 3000];
        values[700] = 1.0;
        values[701] = -0.0;
        values[702..2000].fill(0.0);
        let runs = Runs::of(&values);
        assert_eq!(runs.constant(&values, &(0..700)), Some(1.5));
        assert_eq!(runs.constant(&values, &(3..17)), Some(1.5));
        assert_eq!(runs.constant(&values, &(0..701)), None);
        assert_eq!(runs.constant(&values, &(701..800)), None);
        assert_eq!(runs.constant(&values, &(702..800)), Some(0.0));
        assert_eq!(runs.constant(&values, &(1990..2001)), None);
        assert_eq!(runs.constant(&values, &(2000..3000)), Some(1.5));
        assert_eq!(runs.constant(&values, &(5..5)), None);
        assert_eq!(Runs::of(&values[..100]).constant(&values, &(3..17)), None);
    }

    #[test]
    fn a_range_is_parted_where_repetitions_begin_and_end() {
        let mut values = vec![1.5; 3000];
        values[700] = 1.0;
        values[701..2000].fill(0.0);
        let runs = Runs::of(&values);
        let parts = |range| {
            runs.parts(range)
                .map(|r| (r.start, r.end))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            parts(0..3000),
            [(0, 700), (700, 701), (701, 2000), (2000, 3000)]
        );
        assert_eq!(parts(600..700), [(600, 700)]);
        assert_eq!(parts(700..701), [(700, 701)]);
        assert_eq!(parts(650..702), [(650, 700), (700, 701), (701, 702)]);
        assert_eq!(parts(5..5), []);
        assert_eq!(Runs::default().parts(3..9).next(), Some(3..9));
    }
}
