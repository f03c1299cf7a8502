//! Exact derivatives: the gradient of a subexpression is made of those of its parts.
//!
//! Gradients are sparse (variable, derivative) lists, kept per subexpression and shared between all
//! outputs. Sums are differentiated term by term, so that a sum of n terms in n variables costs n and
//! not n². Functions with kinks (`abs`, `min`, `if`, tables, …) get the derivative of the branch that
//! is taken; jumps contribute nothing.

use super::function::{Binary, Unary};
use super::graph::{Graph, Id, Node, Role};
use std::collections::HashMap;
use std::rc::Rc;

/// Nonzero derivatives in order of variables (time, positions, velocities).
pub(crate) type Gradient = Rc<[(Role, Id)]>;

/// Remembers the gradients of the subexpressions of one [`Graph`].
#[derive(Debug, Default)]
pub(crate) struct Gradients {
    known: HashMap<Id, Gradient>,
}

impl Gradients {
    /// Derivatives of `root` with respect to time, positions and velocities.
    pub(crate) fn of(&mut self, graph: &mut Graph, root: Id) -> Gradient {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.known.contains_key(&id) {
                stack.pop();
                continue;
            }
            let terms = terms(graph, &self.known, id);
            let before = stack.len();
            match &terms {
                Some(terms) => stack.extend(
                    terms
                        .iter()
                        .map(|t| t.0)
                        .filter(|t| !self.known.contains_key(t)),
                ),
                None => stack.extend(
                    graph
                        .node(id)
                        .parts()
                        .filter(|part| !self.known.contains_key(part)),
                ),
            }
            if stack.len() == before {
                let gradient = match terms {
                    Some(terms) => self.sum(graph, &terms),
                    None => self.single(graph, id),
                };
                self.known.insert(id, gradient);
            }
        }
        self.get(root)
    }

    fn get(&self, id: Id) -> Gradient {
        self.known.get(&id).cloned().unwrap_or_default()
    }

    /// Gradient of a signed sum.
    fn sum(&self, graph: &mut Graph, terms: &[(Id, bool)]) -> Gradient {
        let mut all: Vec<(Role, Id, bool)> = Vec::new();
        for &(term, negative) in terms {
            all.extend(self.get(term).iter().map(|&(role, d)| (role, d, negative)));
        }
        all.sort_by_key(|entry| entry.0);
        let mut gradient: Vec<(Role, Id)> = Vec::new();
        for (role, d, negative) in all {
            match gradient.last_mut() {
                Some(last) if last.0 == role => {
                    last.1 = if negative {
                        graph.sub(last.1, d)
                    } else {
                        graph.add(last.1, d)
                    };
                }
                _ => gradient.push((role, if negative { graph.neg(d) } else { d })),
            }
        }
        finish(graph, gradient)
    }

    /// Gradient of anything but a sum, from those of its parts.
    fn single(&self, graph: &mut Graph, id: Id) -> Gradient {
        match graph.node(id) {
            Node::Variable(Role::Weight(_)) | Node::Constant(_) | Node::Slope(..) => Rc::default(),
            Node::Variable(role) => {
                let one = graph.constant(1.0);
                Rc::from([(role, one)])
            }
            Node::Add(..) | Node::Sub(..) | Node::Neg(_) => Rc::default(),
            Node::Mul(a, b) => self.merge(graph, a, b, |g, da, db| {
                let (left, right) = (g.mul(da, b), g.mul(a, db));
                g.add(left, right)
            }),
            Node::Div(a, b) => {
                if graph.value(a).is_some() {
                    let (quotient, zero) = (graph.div(id, b), graph.zero());
                    let outer = graph.sub(zero, quotient);
                    return self.chain(graph, b, outer);
                }
                self.merge(graph, a, b, |g, da, db| {
                    let part = g.mul(id, db);
                    let numerator = g.sub(da, part);
                    g.div(numerator, b)
                })
            }
            Node::Unary(function, a) => match slope(graph, function, a, id) {
                Some(outer) => self.chain(graph, a, outer),
                None => Rc::default(),
            },
            Node::Binary(function, a, b) => self.two(graph, function, a, b, id),
            Node::Select(condition, a, b) => {
                self.merge(graph, a, b, |g, da, db| g.select(condition, da, db))
            }
            Node::Lookup(table, a) => {
                let outer = graph.slope(table, a);
                self.chain(graph, a, outer)
            }
        }
    }

    /// Gradient of a function of two arguments.
    fn two(&self, graph: &mut Graph, function: Binary, a: Id, b: Id, id: Id) -> Gradient {
        match function {
            Binary::Less | Binary::LessEqual => Rc::default(),
            Binary::Min | Binary::Max => {
                let (low, high) = if function == Binary::Min {
                    (a, b)
                } else {
                    (b, a)
                };
                let first = graph.binary(Binary::LessEqual, low, high);
                self.merge(graph, a, b, |g, da, db| g.select(first, da, db))
            }
            Binary::Pow => match graph.value(b) {
                Some(n) => {
                    let less = graph.constant(n - 1.0);
                    let power = graph.pow(a, less);
                    let outer = graph.times(n, power);
                    self.chain(graph, a, outer)
                }
                None => self.power(graph, a, b, id),
            },
            Binary::Atan2 => {
                let square = square_sum(graph, a, b);
                self.merge(graph, a, b, |g, da, db| {
                    let (left, right) = (g.mul(b, da), g.mul(a, db));
                    let numerator = g.sub(left, right);
                    g.div(numerator, square)
                })
            }
            Binary::Hypot => self.merge(graph, a, b, |g, da, db| {
                let (left, right) = (g.mul(a, da), g.mul(b, db));
                let numerator = g.add(left, right);
                g.div(numerator, id)
            }),
        }
    }

    /// Gradient of `aᵇ` with an exponent that varies.
    fn power(&self, graph: &mut Graph, a: Id, b: Id, id: Id) -> Gradient {
        let one = graph.constant(1.0);
        let less = graph.sub(b, one);
        let lower = graph.pow(a, less);
        let outer_a = graph.mul(b, lower);
        let log = graph.unary(Unary::Ln, a);
        let outer_b = graph.mul(id, log);
        self.merge(graph, a, b, |g, da, db| {
            let (left, right) = (g.mul(outer_a, da), g.mul(outer_b, db));
            g.add(left, right)
        })
    }

    /// `outer · ∇a`.
    fn chain(&self, graph: &mut Graph, a: Id, outer: Id) -> Gradient {
        let gradient = self
            .get(a)
            .iter()
            .map(|&(role, d)| (role, graph.mul(outer, d)))
            .collect();
        finish(graph, gradient)
    }

    /// Combines the derivatives of two parts variable by variable; a missing one is zero.
    fn merge(
        &self,
        graph: &mut Graph,
        a: Id,
        b: Id,
        mut combine: impl FnMut(&mut Graph, Id, Id) -> Id,
    ) -> Gradient {
        let (ga, gb) = (self.get(a), self.get(b));
        let (mut left, mut right) = (ga.iter().peekable(), gb.iter().peekable());
        let zero = graph.zero();
        let mut gradient = Vec::with_capacity(ga.len() + gb.len());
        loop {
            let role = match (left.peek(), right.peek()) {
                (Some(l), Some(r)) => l.0.min(r.0),
                (Some(l), None) => l.0,
                (None, Some(r)) => r.0,
                (None, None) => return finish(graph, gradient),
            };
            let da = left.next_if(|l| l.0 == role).map_or(zero, |l| l.1);
            let db = right.next_if(|r| r.0 == role).map_or(zero, |r| r.1);
            gradient.push((role, combine(graph, da, db)));
        }
    }
}

/// Drops the derivatives that turned out to be zero.
fn finish(graph: &Graph, mut gradient: Vec<(Role, Id)>) -> Gradient {
    gradient.retain(|&(_, d)| !graph.is_zero(d));
    gradient.into()
}

/// The terms of a sum with their signs (true: negative), in order; `None` for anything else.
///
/// Sums inside whose gradient is known already are not opened.
fn terms(graph: &Graph, known: &HashMap<Id, Gradient>, id: Id) -> Option<Vec<(Id, bool)>> {
    if !matches!(graph.node(id), Node::Add(..) | Node::Sub(..) | Node::Neg(_)) {
        return None;
    }
    let mut terms = Vec::new();
    let mut stack = vec![(id, false)];
    while let Some((part, negative)) = stack.pop() {
        match graph.node(part) {
            _ if known.contains_key(&part) => terms.push((part, negative)),
            Node::Add(a, b) => stack.extend([(b, negative), (a, negative)]),
            Node::Sub(a, b) => stack.extend([(b, !negative), (a, negative)]),
            Node::Neg(a) => stack.push((a, !negative)),
            _ => terms.push((part, negative)),
        }
    }
    Some(terms)
}

fn square_sum(graph: &mut Graph, a: Id, b: Id) -> Id {
    let (aa, bb) = (graph.mul(a, a), graph.mul(b, b));
    graph.add(aa, bb)
}

/// Derivative of `function` at `a`, where its value is `value`; `None` where it is zero.
fn slope(g: &mut Graph, function: Unary, a: Id, value: Id) -> Option<Id> {
    let one = g.constant(1.0);
    let square = g.mul(a, a);
    let inverse_root = |g: &mut Graph, radicand: Id| {
        let root = g.unary(Unary::Sqrt, radicand);
        g.div(one, root)
    };
    let over = |g: &mut Graph, c: f64, denominator: Id| {
        let c = g.constant(c);
        g.div(c, denominator)
    };
    Some(match function {
        Unary::Sin => g.unary(Unary::Cos, a),
        Unary::Cos => {
            let sin = g.unary(Unary::Sin, a);
            g.neg(sin)
        }
        Unary::Tan => {
            let square = g.mul(value, value);
            g.add(one, square)
        }
        Unary::Asin | Unary::Acos => {
            let rest = g.sub(one, square);
            let d = inverse_root(g, rest);
            if function == Unary::Acos { g.neg(d) } else { d }
        }
        Unary::Atan => {
            let sum = g.add(one, square);
            over(g, 1.0, sum)
        }
        Unary::Sinh => g.unary(Unary::Cosh, a),
        Unary::Cosh => g.unary(Unary::Sinh, a),
        Unary::Tanh => {
            let square = g.mul(value, value);
            g.sub(one, square)
        }
        Unary::Asinh => {
            let sum = g.add(square, one);
            inverse_root(g, sum)
        }
        Unary::Acosh => {
            let rest = g.sub(square, one);
            inverse_root(g, rest)
        }
        Unary::Atanh => {
            let rest = g.sub(one, square);
            over(g, 1.0, rest)
        }
        Unary::Exp => value,
        Unary::Ln => over(g, 1.0, a),
        Unary::Log10 => over(g, std::f64::consts::LOG10_E, a),
        Unary::Log2 => over(g, std::f64::consts::LOG2_E, a),
        Unary::Sqrt => over(g, 0.5, value),
        Unary::Cbrt => {
            let square = g.mul(value, value);
            over(g, 1.0 / 3.0, square)
        }
        Unary::Abs => g.unary(Unary::Sign, a),
        Unary::Sign | Unary::Heaviside => return None,
    })
}
