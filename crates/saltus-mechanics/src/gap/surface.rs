//! The nearest of many facets, by a tree of boxes.
//!
//! The tree is built once in the reference shape (`O(n log n)`) and fitted to other positions in one pass, so a query
//! costs `O(log n)` on a surface that is not folded. Nothing is allocated after it is built.

use super::facet::{Closest, Region, closest, over};
use super::{GapError, dot, minus, unit};

/// A surface of facets over nodes: segments in the plane, triangles and quadrilaterals in space.
#[derive(Debug, Clone)]
pub struct Surface<const D: usize> {
    /// Corners of each facet; triangles and segments repeat none, unused places hold `NONE`.
    facets: Vec<[u32; 4]>,
    tree: Vec<Branch<D>>,
    /// Facets in the order of the leaves.
    order: Vec<u32>,
    /// Facets that share a node with each, itself first: `ring[ring_start[f]..ring_start[f + 1]]`.
    ring: Vec<u32>,
    ring_start: Vec<u32>,
    /// Where the surface ends: bit `a` for the edge from corner `a`, bit `4 + a` for corner `a`.
    rim: Vec<u8>,
}

const NONE: u32 = u32::MAX;
/// Part of the size of a facet that the surface goes on beyond its rim.
const REACH: f64 = 0.05;
/// Facets in a leaf, at most.
const LEAF: usize = 4;
/// Depth of the stack of a query: trees are halved, so this is enough for any number of facets.
const DEPTH: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Branch<const D: usize> {
    low: [f64; D],
    high: [f64; D],
    /// Leaf: first place in `order`. Otherwise: the second child; the first follows its parent.
    link: u32,
    /// Facets of a leaf; zero for a branch.
    count: u32,
}

impl<const D: usize> Branch<D> {
    /// Square of the distance of a point from the box.
    fn distance(&self, x: &[f64; D]) -> f64 {
        (0..D)
            .map(|i| {
                (self.low[i] - x[i])
                    .max(x[i] - self.high[i])
                    .max(0.0)
                    .powi(2)
            })
            .sum()
    }
}

/// The facet nearest to a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest<const D: usize> {
    /// Which facet.
    pub facet: usize,
    /// Where on it.
    pub closest: Closest<D>,
}

impl<const D: usize> Surface<D> {
    /// A surface of facets given by their nodes, at these positions \[m\].
    ///
    /// # Errors
    /// [`GapError::Facet`] where there is none, where one has the wrong number of corners, or a node that is not there.
    pub fn new<'a>(
        facets: impl IntoIterator<Item = &'a [usize]>,
        positions: &[[f64; D]],
    ) -> Result<Self, GapError> {
        let mut corners = Vec::new();
        for (k, nodes) in facets.into_iter().enumerate() {
            let fits = match D {
                2 => nodes.len() == 2,
                _ => nodes.len() == 3 || nodes.len() == 4,
            };
            if !fits {
                return Err(GapError::Facet {
                    what: format!("facet {k} has {} corners in {D} dimensions", nodes.len()),
                    cure: "give segments in the plane, triangles or quadrilaterals in space",
                });
            }
            let mut facet = [NONE; 4];
            for (place, &node) in facet.iter_mut().zip(nodes) {
                if node >= positions.len() || node >= NONE as usize {
                    return Err(GapError::Facet {
                        what: format!(
                            "facet {k} names node {node}, there are {} nodes",
                            positions.len()
                        ),
                        cure: "count nodes from zero",
                    });
                }
                *place = node as u32;
            }
            corners.push(facet);
        }
        if corners.is_empty() {
            return Err(GapError::Facet {
                what: "the surface has no facets".to_owned(),
                cure: "choose a group of lines (in the plane) or faces (in space)",
            });
        }
        let mut surface = Self {
            order: (0..corners.len() as u32).collect(),
            rim: vec![0; corners.len()],
            facets: corners,
            tree: Vec::new(),
            ring: Vec::new(),
            ring_start: Vec::new(),
        };
        surface.connect(positions.len());
        surface.find_rim();
        let centres: Vec<[f64; D]> = (0..surface.facets.len())
            .map(|f| {
                let nodes = surface.facet(f);
                std::array::from_fn(|i| {
                    nodes.iter().map(|&n| positions[n as usize][i]).sum::<f64>()
                        / nodes.len() as f64
                })
            })
            .collect();
        surface.grow(0, surface.order.len(), &centres);
        surface.fit(positions);
        Ok(surface)
    }

    /// Number of facets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.facets.len()
    }

    /// Always false: a surface has facets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facets.is_empty()
    }

    /// Nodes of a facet.
    #[must_use]
    pub fn facet(&self, facet: usize) -> &[u32] {
        let corners = &self.facets[facet];
        let count = corners.iter().take_while(|&&n| n != NONE).count();
        &corners[..count]
    }

    /// Finds the facets around each.
    fn connect(&mut self, nodes: usize) {
        let mut start = vec![0_u32; nodes + 1];
        for facet in 0..self.facets.len() {
            for &n in self.facet(facet) {
                start[n as usize + 1] += 1;
            }
        }
        for n in 0..nodes {
            start[n + 1] += start[n];
        }
        let mut fill = start.clone();
        let mut of_node = vec![0_u32; start[nodes] as usize];
        for facet in 0..self.facets.len() {
            for &n in self.facet(facet) {
                let place = &mut fill[n as usize];
                of_node[*place as usize] = facet as u32;
                *place += 1;
            }
        }
        self.ring_start.push(0);
        for facet in 0..self.facets.len() {
            let first = self.ring.len();
            self.ring.push(facet as u32);
            let corners = self.facets[facet];
            for &n in corners.iter().take_while(|&&n| n != NONE) {
                let around = start[n as usize] as usize..start[n as usize + 1] as usize;
                for &other in &of_node[around] {
                    if !self.ring[first..].contains(&other) {
                        self.ring.push(other);
                    }
                }
            }
            self.ring_start.push(self.ring.len() as u32);
        }
    }

    /// Marks the edges (in the plane: the ends) that belong to one facet only.
    fn find_rim(&mut self) {
        for facet in 0..self.facets.len() {
            let corners = self.facet(facet);
            let sides = if D == 2 { 2 } else { corners.len() };
            let shared = |nodes: &[u32]| {
                let others = self.around(facet).iter().filter(|&&f| f as usize != facet);
                let mut having = others.filter(|&&f| {
                    let other = self.facet(f as usize);
                    nodes.iter().all(|n| other.contains(n))
                });
                having.next().is_some()
            };
            let mut marks = 0;
            for a in 0..sides {
                let b = (a + 1) % sides;
                if D == 2 {
                    if !shared(&corners[a..=a]) {
                        marks |= 1 << (4 + a);
                    }
                } else if !shared(&[corners[a], corners[b]]) {
                    marks |= 1 << a | 1 << (4 + a) | 1 << (4 + b);
                }
            }
            self.rim[facet] = marks;
        }
        if D == 2 {
            return;
        }
        // A corner on the rim is one for every facet that has it, also where none of its own edges is.
        let mut ends = vec![
            false;
            self.facets
                .iter()
                .flatten()
                .filter(|&&n| n != NONE)
                .fold(0, |m, &n| m.max(n as usize + 1))
        ];
        for facet in 0..self.facets.len() {
            for (a, &n) in self.facet(facet).iter().enumerate() {
                ends[n as usize] |= self.rim[facet] >> (4 + a) & 1 == 1;
            }
        }
        for facet in 0..self.facets.len() {
            let mut marks = self.rim[facet];
            for (a, &n) in self.facet(facet).iter().enumerate() {
                marks |= u8::from(ends[n as usize]) << (4 + a);
            }
            self.rim[facet] = marks;
        }
    }

    /// Facets that share a node with `facet`, itself first.
    #[must_use]
    pub fn around(&self, facet: usize) -> &[u32] {
        let place = self.ring_start[facet] as usize..self.ring_start[facet + 1] as usize;
        &self.ring[place]
    }

    /// Splits the facets `from..to` of the order at the middle of their longest extent. Halving bounds the depth.
    fn grow(&mut self, from: usize, to: usize, centres: &[[f64; D]]) {
        let at = self.tree.len();
        self.tree.push(Branch {
            low: [0.0; D],
            high: [0.0; D],
            link: from as u32,
            count: (to - from) as u32,
        });
        if to - from <= LEAF {
            return;
        }
        let extent = |axis: usize| {
            let along = self.order[from..to]
                .iter()
                .map(|&f| centres[f as usize][axis]);
            let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| {
                (l.min(x), h.max(x))
            });
            high - low
        };
        let axis = (0..D)
            .max_by(|&i, &j| extent(i).total_cmp(&extent(j)))
            .unwrap_or(0);
        let middle = (to - from) / 2;
        self.order[from..to].select_nth_unstable_by(middle, |&a, &b| {
            centres[a as usize][axis].total_cmp(&centres[b as usize][axis])
        });
        self.grow(from, from + middle, centres);
        self.tree[at].link = self.tree.len() as u32;
        self.tree[at].count = 0;
        self.grow(from + middle, to, centres);
    }

    /// Fits the boxes to other positions of the nodes.
    pub fn fit(&mut self, positions: &[[f64; D]]) {
        for at in (0..self.tree.len()).rev() {
            let Branch { link, count, .. } = self.tree[at];
            let (mut low, mut high) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
            let mut include = |a: &[f64; D], b: &[f64; D]| {
                for i in 0..D {
                    low[i] = low[i].min(a[i]);
                    high[i] = high[i].max(b[i]);
                }
            };
            if count == 0 {
                for child in [at + 1, link as usize] {
                    include(&self.tree[child].low, &self.tree[child].high);
                }
            } else {
                for &facet in &self.order[link as usize..(link + count) as usize] {
                    for &n in self.facet(facet as usize) {
                        let x = &positions[n as usize];
                        include(x, x);
                    }
                }
            }
            (self.tree[at].low, self.tree[at].high) = (low, high);
        }
    }

    /// The closest point of one facet.
    #[must_use]
    pub fn on_facet(
        &self,
        facet: usize,
        x: &[f64; D],
        positions: &[[f64; D]],
    ) -> Option<Closest<D>> {
        self.on_facet_at(facet, x, &|n| positions[n as usize])
    }

    /// The same with the positions of nodes as a function.
    ///
    /// Where the surface ends there is no back side: beside its rim the distance is positive. Up to a twentieth of the size of the facet beyond the
    /// rim the surface goes on straight, so that a node on the very rim does not slip off by round-off.
    #[inline]
    pub fn on_facet_at(
        &self,
        facet: usize,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
    ) -> Option<Closest<D>> {
        let rim = self.rim[facet];
        let mut found = self.ask(facet, x, place, &Near)?;
        let ends = match found.region {
            Region::Interior => false,
            Region::Edge(a) => rim >> a & 1 == 1,
            Region::Vertex(a) => rim >> (4 + a) & 1 == 1,
        };
        if ends {
            if let Some(extended) = self.over_facet(facet, x, place) {
                return Some(extended);
            }
            if found.gap < 0.0 {
                found.gap = -found.gap;
                found.normal = found.normal.map(|n| -n);
            }
        }
        Some(found)
    }

    /// The point over one facet as if that went on straight beyond its edges by a twentieth of its size; `None` where the
    /// point is farther out.
    #[inline]
    pub fn over_facet(
        &self,
        facet: usize,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
    ) -> Option<Closest<D>> {
        self.ask(facet, x, place, &Over)
    }

    /// Asks a question about the position of a point to one facet, in the dimension and with the corners that it has.
    #[inline]
    fn ask(
        &self,
        facet: usize,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
        question: &impl Question,
    ) -> Option<Closest<D>> {
        let nodes = self.facet(facet);
        let at = |a: usize| place(nodes[a]);
        let plane = |p: [f64; D]| [p[0], p[1]];
        let space = |p: [f64; D]| std::array::from_fn(|i| if i < D { p[i] } else { 0.0 });
        // Each call below is compiled for the dimension it is made for.
        Some(match (D, nodes.len()) {
            (2, _) => widen(&question.line(&plane(*x), &[plane(at(0)), plane(at(1))])?),
            (_, 3) => widen(&question.triangle(&space(*x), &[0, 1, 2].map(|a| space(at(a))))?),
            _ => widen(&question.quadrilateral(&space(*x), &[0, 1, 2, 3].map(|a| space(at(a))))?),
        })
    }

    /// The nearest of `facets`; where several share the closest point, the one that faces the point most decides on
    /// which side it is.
    #[inline]
    pub fn nearest_of(
        &self,
        facets: impl Iterator<Item = usize>,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
    ) -> Option<Nearest<D>> {
        let mut best = Best::within(f64::INFINITY);
        for facet in facets {
            self.consider(facet, x, place, &mut best);
        }
        best.found.map(|(nearest, _)| nearest)
    }

    /// Takes a facet where it is nearer than the best so far, or as near and faces the point more.
    #[inline]
    fn consider(
        &self,
        facet: usize,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
        best: &mut Best<D>,
    ) {
        let Some(closest) = self.on_facet_at(facet, x, place) else {
            return;
        };
        let distance = closest.gap.abs();
        if distance > best.bound * (1.0 + 1e-10) {
            return;
        }
        let facing = self.facing(facet, &closest, x, place);
        let as_near =
            |(found, _): &(Nearest<D>, f64)| distance >= found.closest.gap.abs() * (1.0 - 1e-10);
        let tie = best.found.as_ref().is_some_and(as_near);
        if !tie || best.found.is_none_or(|(_, other)| facing > other) {
            best.found = Some((Nearest { facet, closest }, facing));
        }
        best.bound = best.bound.min(distance);
    }

    /// The nearest facet within `limit` \[m\]; facets that have the node `skip` as a corner are left out.
    ///
    /// Where several facets share the closest point, the one that faces the point most decides on which side it is.
    #[must_use]
    pub fn nearest(
        &self,
        x: &[f64; D],
        positions: &[[f64; D]],
        limit: f64,
        skip: Option<usize>,
    ) -> Option<Nearest<D>> {
        let mut best = Best::within(limit);
        let mut stack = [0_u32; DEPTH];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let at = stack[depth] as usize;
            let branch = &self.tree[at];
            if branch.distance(x) > best.bound * best.bound * (1.0 + 1e-9) {
                continue;
            }
            if branch.count == 0 {
                let (a, b) = (at + 1, branch.link as usize);
                let a_first = self.tree[a].distance(x) <= self.tree[b].distance(x);
                let (near, far) = if a_first { (a, b) } else { (b, a) };
                if depth + 2 <= DEPTH {
                    stack[depth] = far as u32;
                    stack[depth + 1] = near as u32;
                    depth += 2;
                }
                continue;
            }
            let leaf = branch.link as usize..(branch.link + branch.count) as usize;
            for &facet in &self.order[leaf] {
                let facet = facet as usize;
                if !skip.is_some_and(|n| self.facet(facet).contains(&(n as u32))) {
                    self.consider(facet, x, &|n| positions[n as usize], &mut best);
                }
            }
        }
        best.found.map(|(nearest, _)| nearest)
    }

    /// How much a facet faces the point: the cosine between its normal and the way to the point, without sign.
    fn facing(
        &self,
        facet: usize,
        found: &Closest<D>,
        x: &[f64; D],
        place: &impl Fn(u32) -> [f64; D],
    ) -> f64 {
        if found.region == Region::Interior {
            return 1.0;
        }
        let nodes = self.facet(facet);
        let mut foot = [0.0; D];
        for (w, &n) in found.weights.iter().zip(nodes) {
            let at = place(n);
            for i in 0..D {
                foot[i] += w * at[i];
            }
        }
        let Some((way, _)) = unit(&minus(x, &foot)) else {
            return 1.0;
        };
        // The part of the way that leaves the plane of the facet.
        let mut flat = way;
        let mut basis = [[0.0; D]; 2];
        for k in 0..D - 1 {
            let mut e = minus(&place(nodes[1 + k]), &place(nodes[0]));
            for other in basis.iter().take(k) {
                let along = dot(&e, other);
                e = std::array::from_fn(|i| e[i] - along * other[i]);
            }
            let Some((e, _)) = unit(&e) else { return 0.0 };
            let along = dot(&flat, &e);
            flat = std::array::from_fn(|i| flat[i] - along * e[i]);
            basis[k] = e;
        }
        dot(&flat, &flat).sqrt()
    }
}

/// What can be asked of a facet of any shape.
trait Question {
    fn line(&self, x: &[f64; 2], corners: &[[f64; 2]; 2]) -> Option<Closest<2>>;
    fn triangle(&self, x: &[f64; 3], corners: &[[f64; 3]; 3]) -> Option<Closest<3>>;
    fn quadrilateral(&self, x: &[f64; 3], corners: &[[f64; 3]; 4]) -> Option<Closest<3>>;
}

/// Its closest point.
struct Near;
/// The point over it, also a little beyond its edges.
struct Over;

macro_rules! question {
    ($name:ident, |$x:ident, $corners:ident| $answer:expr) => {
        impl Question for $name {
            #[inline]
            fn line(&self, $x: &[f64; 2], $corners: &[[f64; 2]; 2]) -> Option<Closest<2>> {
                $answer
            }
            #[inline]
            fn triangle(&self, $x: &[f64; 3], $corners: &[[f64; 3]; 3]) -> Option<Closest<3>> {
                $answer
            }
            #[inline]
            fn quadrilateral(&self, $x: &[f64; 3], $corners: &[[f64; 3]; 4]) -> Option<Closest<3>> {
                $answer
            }
        }
    };
}
question!(Near, |x, corners| closest(x, corners));
question!(Over, |x, corners| over(x, corners, REACH));

/// The nearest facet so far.
struct Best<const D: usize> {
    found: Option<(Nearest<D>, f64)>,
    /// Distance beyond which a facet does not count \[m\].
    bound: f64,
}

impl<const D: usize> Best<D> {
    fn within(bound: f64) -> Self {
        Self { found: None, bound }
    }
}

/// The same closest point in `B` of its `A` dimensions, which are as many.
fn widen<const A: usize, const B: usize>(found: &Closest<A>) -> Closest<B> {
    Closest {
        gap: found.gap,
        normal: std::array::from_fn(|i| found.normal.get(i).copied().unwrap_or(0.0)),
        weights: found.weights,
        xi: found.xi,
        region: found.region,
    }
}
