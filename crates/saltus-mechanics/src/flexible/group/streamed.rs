//! A group a few rows at a time, where its elements come in the order of their rows.

use super::{Group, Local, MOST};
use std::ops::Range;

/// The same where positions and velocities are known for some successive rows alone; the places of both agree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsView<'a> {
    /// Place of the first one.
    pub first: usize,
    /// Free positions from there on.
    pub q: &'a [f64],
    /// Free velocities from there on.
    pub v: &'a [f64],
    /// Number of free positions.
    pub free: usize,
    /// Held positions.
    pub held: &'a [f64],
}

impl RowsView<'_> {
    #[inline]
    fn position(&self, place: u32) -> f64 {
        let place = place as usize;
        if place < self.free {
            self.q[place - self.first]
        } else {
            self.held[place - self.free]
        }
    }

    #[inline]
    fn velocity(&self, place: u32) -> f64 {
        let place = (place as usize).wrapping_sub(self.first);
        self.v.get(place).copied().unwrap_or(0.0)
    }
}

/// Where the elements of a group are whose lowest and highest free rows increase along the group.
#[derive(Debug)]
pub(super) struct Order {
    /// First element that reaches row `STRIDE k`, by `k`.
    begin: Vec<u32>,
    /// Largest distance between two rows of an element.
    pub(super) reach: usize,
}

/// Rows per entry of a table of elements.
const STRIDE: usize = 64;

impl Group {
    /// Lowest and highest free row of element `e`.
    #[inline]
    fn extent(&self, e: usize) -> Option<(usize, usize)> {
        let mut rows = (self.velocity_places(e).iter())
            .map(|&place| place as usize)
            .filter(|&row| row < self.free);
        let first = rows.next()?;
        Some(rows.fold((first, first), |(low, high), row| {
            (low.min(row), high.max(row))
        }))
    }

    /// Finds out whether the elements are in the order of their rows.
    pub(super) fn put_in_order(&mut self) {
        let (mut begin, mut reach) = (Vec::new(), 0);
        let mut last = (0, 0);
        self.order = None;
        for e in 0..self.count() {
            match self.extent(e) {
                Some((low, high)) if low >= last.0 && high >= last.1 => {
                    while begin.len() * STRIDE <= high {
                        begin.push(e as u32);
                    }
                    reach = reach.max(high - low);
                    last = (low, high);
                }
                _ => return,
            }
        }
        self.order = Some(Order { begin, reach });
    }

    /// First element whose highest row is not below `row`.
    #[inline]
    fn first_reaching(&self, row: usize) -> usize {
        let Some(order) = &self.order else {
            return 0;
        };
        let Some(&e) = order.begin.get(row / STRIDE) else {
            return self.count();
        };
        let below = |&e: &usize| self.extent(e).is_some_and(|(_, high)| high < row);
        let mut e = e as usize;
        while e < self.count() && below(&e) {
            e += 1;
        }
        e
    }

    /// Elements with any of these rows.
    #[inline]
    pub(super) fn meeting(&self, rows: &Range<usize>) -> Range<usize> {
        let first = self.first_reaching(rows.start);
        let mut last = self.first_reaching(rows.end).max(first);
        while last < self.count() && self.extent(last).is_some_and(|(low, _)| low < rows.end) {
            last += 1;
        }
        first..last
    }

    /// `f ← f − force` in `rows`, with which `f` begins.
    pub(super) fn force_on(&self, view: RowsView<'_>, rows: &Range<usize>, f: &mut [f64]) {
        let elements = self.meeting(rows);
        let force = |e: usize, q: &[f64], v: &[f64], force: &mut [f64]| {
            self.elements().force(e, q, v, force)
        };
        for (part, line) in self.parts_of(elements) {
            let Some(first) = line.filter(|_| !self.moved) else {
                self.subtract_some(view, part, rows.start, f, force);
                continue;
            };
            // Elements with both ends in these rows; of those at the ends of the rows one end lies outside.
            let node = |e: usize| first + (e - part.start);
            let begin = part.start + usize::from(node(part.start) < rows.start);
            let end = part.end - usize::from(node(part.end) >= rows.end);
            let cut = begin.min(part.end);
            self.subtract_some(view, part.start..cut, rows.start, f, force);
            if begin < end {
                let nodes = node(begin)..node(end) + 1;
                let q = &view.q[nodes.start - view.first..nodes.end - view.first];
                let inside = &mut f[nodes.start - rows.start..nodes.end - rows.start];
                if !self.elements().subtract_line(0, q, inside) {
                    self.subtract_some(view, begin..end, rows.start, f, force);
                }
            }
            self.subtract_some(view, end.max(cut)..part.end, rows.start, f, force);
        }
    }

    /// Energy of the elements whose highest row is one of these.
    pub(super) fn energy_on(&self, view: RowsView<'_>, rows: &Range<usize>) -> f64 {
        let elements = self.first_reaching(rows.start)..self.first_reaching(rows.end);
        let mut q: Local = [0.0; MOST];
        let (mut sum, nq) = (0.0, self.list.nq);
        for (part, line) in self.parts_of(elements) {
            let whole = line.and_then(|first| {
                let start = first - view.first;
                self.elements()
                    .line_energy(0, &view.q[start..start + part.len() + 1])
            });
            sum += whole.unwrap_or_else(|| {
                part.map(|e| {
                    for (x, &place) in q.iter_mut().zip(self.position_places(e)) {
                        *x = view.position(place);
                    }
                    self.elements().energy(self.index(e), &q[..nq])
                })
                .sum()
            });
        }
        sum
    }

    /// The parts that runs make of some elements, with the place of the first end of the first element where they are a
    /// line.
    fn parts_of(
        &self,
        elements: Range<usize>,
    ) -> impl Iterator<Item = (Range<usize>, Option<usize>)> + '_ {
        let first = (self.runs).partition_point(|run| run.elements.end <= elements.start);
        (self.runs[first..].iter())
            .take_while(move |run| run.elements.start < elements.end)
            .map(move |run| {
                let start = run.elements.start.max(elements.start);
                let end = run.elements.end.min(elements.end);
                let line = (self.line(run)).map(|(q, _)| q.start + (start - run.elements.start));
                (start..end, line)
            })
            .filter(|(part, _)| !part.is_empty())
    }

    /// Takes from `f`, which begins with row `first`, what `force` makes of some elements.
    #[inline]
    pub(super) fn subtract_some(
        &self,
        view: RowsView<'_>,
        elements: Range<usize>,
        first: usize,
        f: &mut [f64],
        force: impl Fn(usize, &[f64], &[f64], &mut [f64]),
    ) {
        let (nq, nv) = (self.list.nq, self.list.nv);
        let (mut q, mut v, mut local) = ([0.0; MOST], [0.0; MOST], [0.0; MOST]);
        for e in elements {
            for (x, &place) in q.iter_mut().zip(self.position_places(e)) {
                *x = view.position(place);
            }
            let places = self.velocity_places(e);
            if self.moved && !view.v.is_empty() {
                for (x, &place) in v.iter_mut().zip(places) {
                    *x = view.velocity(place);
                }
            }
            force(self.index(e), &q[..nq], &v[..nv], &mut local[..nv]);
            for (x, &place) in local[..nv].iter().zip(places) {
                if let Some(f) = f.get_mut((place as usize).wrapping_sub(first)) {
                    *f -= x;
                }
            }
        }
    }
}
