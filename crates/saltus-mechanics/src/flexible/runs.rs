//! Elements whose places in the system grow evenly: a line of rods or beams, a row of a structured mesh.
//!
//! Along such a run places are counted, not looked up, so that an evaluation reads nothing but the state.

use std::ops::Range;

/// Shorter runs are not worth their beginning.
const SHORTEST: usize = 4;

/// Consecutive elements of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    /// Their numbers.
    pub elements: Range<usize>,
    /// By how much the places of positions and of velocities grow from one element to the next, where they do so
    /// evenly and all of them are free.
    pub steps: Option<(usize, usize)>,
}

/// Local coordinates of the elements of a group: their places, element by element, and how many are free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    /// Places; those from `free` on are held.
    pub places: &'a [u32],
    /// Coordinates of an element.
    pub width: usize,
    /// Free coordinates of the system.
    pub free: usize,
}

impl Table<'_> {
    fn of(&self, e: usize) -> &[u32] {
        &self.places[e * self.width..(e + 1) * self.width]
    }

    fn is_free(&self, e: usize) -> bool {
        self.of(e).iter().all(|&place| (place as usize) < self.free)
    }

    /// The growth of all places from element `e` to the next, if it is the same and both are free.
    fn step(&self, e: usize) -> Option<usize> {
        let mut grown = (self.of(e).iter().zip(self.of(e + 1))).map(|(a, b)| b.checked_sub(*a));
        let step = grown.next()??;
        let even = self.is_free(e) && self.is_free(e + 1) && grown.all(|other| other == Some(step));
        even.then_some(step as usize)
    }
}

/// Divides `count` elements into runs.
pub(crate) fn runs(count: usize, positions: Table<'_>, velocities: Table<'_>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let steps = |e: usize| Some((positions.step(e)?, velocities.step(e)?));
    let mut first = 0;
    while first < count {
        let mut end = first + 1;
        let even = if end < count { steps(first) } else { None };
        while even.is_some() && end < count && steps(end - 1) == even {
            end += 1;
        }
        if end - first >= SHORTEST {
            runs.push(Run {
                elements: first..end,
                steps: even,
            });
        } else {
            match runs.last_mut().filter(|run| run.steps.is_none()) {
                Some(run) => run.elements.end = end,
                None => runs.push(Run {
                    elements: first..end,
                    steps: None,
                }),
            }
        }
        first = end;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::{Run, Table, runs};

    fn line(places: &[u32], free: usize) -> Vec<Run> {
        let table = Table {
            places,
            width: 2,
            free,
        };
        runs(places.len() / 2, table, table)
    }

    fn run(elements: std::ops::Range<usize>, step: Option<usize>) -> Run {
        Run {
            elements,
            steps: step.map(|s| (s, s)),
        }
    }

    #[test]
    fn a_line_of_elements_is_a_run() {
        let places: Vec<u32> = (0..9).flat_map(|e| [e, e + 1]).collect();
        assert_eq!(line(&places, 10), [run(0..9, Some(1))]);
    }

    #[test]
    fn held_places_and_jumps_end_a_run() {
        // The first node is held, and behind the sixth element the nodes go on elsewhere.
        let mut places: Vec<u32> = [99, 0].into();
        places.extend((0..5).flat_map(|e| [e, e + 1]));
        places.extend((0..4).flat_map(|e| [20 + 2 * e, 21 + 2 * e]));
        let expected = [run(0..1, None), run(1..6, Some(1)), run(6..10, Some(2))];
        assert_eq!(line(&places, 40), expected);
    }

    #[test]
    fn irregular_elements_stay_together() {
        let places = [0, 3, 3, 1, 1, 7, 7, 2, 2, 9, 9, 4];
        assert_eq!(line(&places, 10), [run(0..6, None)]);
        assert_eq!(line(&[], 0), []);
        assert_eq!(line(&[0, 1], 2), [run(0..1, None)]);
    }

    #[test]
    fn places_that_grow_unevenly_are_no_run() {
        let places: Vec<u32> = (0..8).flat_map(|e| [e, 20 + 2 * e]).collect();
        assert_eq!(line(&places, 50), [run(0..8, None)]);
    }
}
