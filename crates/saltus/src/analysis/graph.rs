//! Filled graphs of functions with jumps, and the Hausdorff distance between them.
//!
//! Acary, *Numerical methods for nonsmooth mechanical systems*, eqs. (44)–(47). In a filled graph a jump
//! is a vertical segment. With `d((t, x), (s, y)) = max(|t − s|, |x − y|)`, the excess of `A` over `B`
//! is `sup_{a ∈ A} inf_{b ∈ B} d(a, b)` and the Hausdorff distance is the larger of the two excesses.

/// The filled graph of a scalar function of time: a polyline whose time never decreases.
#[derive(Debug, Clone, Default)]
pub struct FilledGraph {
    t: Vec<f64>,
    x: Vec<f64>,
}

impl FilledGraph {
    /// The polyline through `(t, x)`, with vertical segments where two times are equal.
    ///
    /// Points whose time lies before that of their predecessor, or is not a number, are left out.
    #[must_use]
    pub fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut graph = Self::default();
        for (t, x) in points {
            graph.push(t, x);
        }
        graph
    }

    /// The graph of the right-continuous step function with value `xᵢ` on `[tᵢ, tᵢ₊₁)`: what a scheme
    /// knows of a velocity.
    #[must_use]
    pub fn steps(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut graph = Self::default();
        for (t, x) in points {
            if let Some(&last) = graph.x.last() {
                graph.push(t, last);
            }
            graph.push(t, x);
        }
        graph
    }

    /// Appends a point.
    pub fn push(&mut self, t: f64, x: f64) {
        if self.t.last().is_none_or(|last| t >= *last) {
            self.t.push(t);
            self.x.push(x);
        }
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.t.len()
    }

    /// Whether there is no point.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.t.is_empty()
    }

    /// Hausdorff distance to `other`, right to `tolerance` (in the units of `t` and `x`).
    ///
    /// The distance to a graph changes by no more than one walks, and the distance to one segment is
    /// convex along another. Segments are therefore halved only while they might hold a point farther
    /// away than the farthest one found, and a point looks at the other graph only as far in time as
    /// the nearest point found so far: the cost is nearly linear in the number of points. Infinite
    /// where exactly one graph is empty.
    #[must_use]
    pub fn hausdorff(&self, other: &Self, tolerance: f64) -> f64 {
        let there = self.excess(other, tolerance, 0.0);
        other.excess(self, tolerance, there)
    }

    /// The excess of `self` over `other`, but at least `floor`.
    fn excess(&self, other: &Self, tolerance: f64, floor: f64) -> f64 {
        if self.is_empty() {
            return floor;
        }
        if other.is_empty() {
            return f64::INFINITY;
        }
        let tolerance = tolerance.max(f64::EPSILON);
        let mut worst = floor;
        let mut stack: Vec<(Point, Point)> = Vec::new();
        let mut last = other.nearest(self.t[0], self.x[0], worst);
        worst = worst.max(last.distance);
        for i in 1..self.len() {
            let next = other.nearest(self.t[i], self.x[i], worst);
            worst = worst.max(next.distance);
            stack.push((last, next));
            while let Some((a, b)) = stack.pop() {
                let length = (b.t - a.t).abs().max((b.x - a.x).abs());
                let lipschitz = 0.5 * (a.distance + b.distance + length);
                let convex = |i: usize| {
                    let ends = [a, b].map(|p| other.segment_distance(i, p.t, p.x));
                    ends[0].max(ends[1])
                };
                let enough = worst + tolerance;
                if length <= tolerance
                    || lipschitz <= enough
                    || convex(a.nearest) <= enough
                    || convex(b.nearest) <= enough
                {
                    continue;
                }
                let middle = other.nearest(0.5 * (a.t + b.t), 0.5 * (a.x + b.x), worst);
                worst = worst.max(middle.distance);
                stack.push((a, middle));
                stack.push((middle, b));
            }
            last = next;
        }
        worst
    }

    /// The point `(t, x)` with its distance to the graph, or with any upper bound of it that is ≤ `enough`.
    fn nearest(&self, t: f64, x: f64, enough: f64) -> Point {
        let n = self.len();
        let mut left = self.t.partition_point(|s| *s <= t).min(n - 1);
        let mut right = left;
        let mut best = Point {
            t,
            x,
            distance: self.segment_distance(left, t, x),
            nearest: left,
        };
        let look = |i: usize, best: &mut Point| {
            let distance = self.segment_distance(i, t, x);
            if distance < best.distance {
                best.distance = distance;
                best.nearest = i;
            }
        };
        // From the present outwards; segment i is [i, i + 1], the last point its own segment.
        while best.distance > enough {
            let go_left = left > 0 && t - self.t[left] < best.distance;
            let go_right = right + 1 < n && self.t[right + 1] - t < best.distance;
            if go_left {
                left -= 1;
                look(left, &mut best);
            }
            if go_right {
                right += 1;
                look(right, &mut best);
            }
            if !go_left && !go_right {
                break;
            }
        }
        best
    }

    /// `min_λ max(|t_a + λ Δt − t|, |x_a + λ Δx − x|)` over the segment that starts at point `i`.
    fn segment_distance(&self, i: usize, t: f64, x: f64) -> f64 {
        let (a, c) = (self.t[i] - t, self.x[i] - x);
        if i + 1 == self.len() {
            return a.abs().max(c.abs());
        }
        let (b, d) = (self.t[i + 1] - self.t[i], self.x[i + 1] - self.x[i]);
        // A convex, piecewise linear function of λ: the minimum is at an end, at a zero of one of
        // the terms, or where both are equal.
        let at = |lambda: f64| {
            let lambda = lambda.clamp(0.0, 1.0);
            (a + lambda * b).abs().max((c + lambda * d).abs())
        };
        let mut best = at(0.0).min(at(1.0));
        for (numerator, denominator) in [(-a, b), (-c, d), (c - a, b - d), (-a - c, b + d)] {
            if denominator != 0.0 {
                best = best.min(at(numerator / denominator));
            }
        }
        best
    }
}

/// A point on a graph, its distance to the other one, and the segment of that it is nearest to.
#[derive(Debug, Clone, Copy)]
struct Point {
    t: f64,
    x: f64,
    distance: f64,
    nearest: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn jump(at: f64) -> FilledGraph {
        FilledGraph::polyline([(0.0, 0.0), (at, 0.0), (at, 1.0), (2.0, 1.0)])
    }

    #[test]
    fn a_late_jump_is_as_far_as_it_is_late() {
        let d = jump(1.0).hausdorff(&jump(1.05), 1e-12);
        assert!((d - 0.05).abs() < 1e-11, "{d}");
    }

    #[test]
    fn a_lower_jump_is_as_far_as_it_is_lower() {
        let other = FilledGraph::polyline([(0.0, 0.0), (1.0, 0.0), (1.0, 0.9), (2.0, 0.9)]);
        assert!((jump(1.0).hausdorff(&other, 1e-12) - 0.1).abs() < 1e-11);
    }

    #[test]
    fn steps_hold_their_value_until_the_next() {
        let steps = FilledGraph::steps([(0.0, 0.0), (1.0, 1.0), (2.0, 1.0)]);
        assert_eq!(steps.hausdorff(&jump(1.0), 1e-12), 0.0);
    }

    #[test]
    fn the_farthest_point_may_be_inside_a_segment() {
        // The middle of a line is farther from a gate over it than its ends are.
        let line = FilledGraph::polyline([(0.0, 0.0), (4.0, 0.0)]);
        let gate = FilledGraph::polyline([(0.0, 0.0), (0.0, 1.0), (4.0, 1.0), (4.0, 0.0)]);
        assert!((line.hausdorff(&gate, 1e-9) - 1.0).abs() < 1e-8);
    }

    #[test]
    fn empty_graphs() {
        let (none, line) = (FilledGraph::default(), jump(1.0));
        assert_eq!(none.hausdorff(&none, 1e-9), 0.0);
        assert_eq!(none.hausdorff(&line, 1e-9), f64::INFINITY);
        assert_eq!(line.hausdorff(&none, 1e-9), f64::INFINITY);
    }

    fn graph() -> impl Strategy<Value = FilledGraph> {
        prop::collection::vec((0.0..1.0_f64, -1.0..1.0_f64, prop::bool::ANY), 2..12).prop_map(|p| {
            let mut t = 0.0;
            FilledGraph::polyline(p.into_iter().map(|(dt, x, vertical)| {
                t += if vertical { 0.0 } else { 0.3 * dt };
                (t, x)
            }))
        })
    }

    /// Every segment of `a` sampled finely, against every segment of `b`.
    fn brute(a: &FilledGraph, b: &FilledGraph) -> f64 {
        let mut worst = 0.0_f64;
        for i in 0..a.len() - 1 {
            for k in 0..=400 {
                let l = f64::from(k) / 400.0;
                let t = a.t[i] + l * (a.t[i + 1] - a.t[i]);
                let x = a.x[i] + l * (a.x[i + 1] - a.x[i]);
                let d = (0..b.len()).map(|j| b.segment_distance(j, t, x));
                worst = worst.max(d.fold(f64::INFINITY, f64::min));
            }
        }
        worst
    }

    proptest! {
        #[test]
        fn agrees_with_brute_force(a in graph(), b in graph()) {
            let d = a.hausdorff(&b, 1e-9);
            let reference = brute(&a, &b).max(brute(&b, &a));
            // Sampling misses at most half the spacing of the longest segment, 2/400/2.
            prop_assert!(d >= reference - 1e-8 && d <= reference + 2.6e-3, "{} {}", d, reference);
            prop_assert!((d - b.hausdorff(&a, 1e-9)).abs() < 3e-9);
        }
    }
}
