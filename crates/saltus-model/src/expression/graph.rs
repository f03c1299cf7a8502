//! The graph of all subexpressions: each is held once and simplified as it is made.
//!
//! Simplifications keep the value up to round-off wherever the original is finite. Normal forms, on
//! which the rules rely: constants stand first in a product and outermost of nested products; signs
//! are pulled out of products and quotients; a sum with a negated part is a difference.

use super::function::{Binary, Parity, Unary};
use super::table::Table;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A subexpression of a [`Graph`]; parts have smaller numbers than the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(pub u32);

/// What a variable stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    Time,
    Position(u32),
    Velocity(u32),
    /// An entry of the vector that a caller multiplies a derivative by.
    Weight(u32),
}

/// A set of roles that an expression may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Dependence {
    pub time: bool,
    pub positions: bool,
    pub velocities: bool,
    pub weights: bool,
}

impl Dependence {
    fn of(role: Role) -> Self {
        let mut d = Self::default();
        match role {
            Role::Time => d.time = true,
            Role::Position(_) => d.positions = true,
            Role::Velocity(_) => d.velocities = true,
            Role::Weight(_) => d.weights = true,
        }
        d
    }

    fn or(self, other: Self) -> Self {
        Self {
            time: self.time || other.time,
            positions: self.positions || other.positions,
            velocities: self.velocities || other.velocities,
            weights: self.weights || other.weights,
        }
    }
}

/// How a subexpression is made of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The bits of the value.
    Constant(u64),
    Variable(Role),
    Neg(Id),
    Add(Id, Id),
    Sub(Id, Id),
    Mul(Id, Id),
    Div(Id, Id),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    /// The second where the first is not zero, else the third.
    Select(Id, Id, Id),
    /// Value of the table of that number.
    Lookup(u32, Id),
    /// Slope of the table of that number.
    Slope(u32, Id),
}

impl Node {
    /// The parts, in order.
    pub(crate) fn parts(self) -> impl Iterator<Item = Id> {
        let (a, b, c) = match self {
            Self::Constant(_) | Self::Variable(_) => (None, None, None),
            Self::Neg(a) | Self::Unary(_, a) | Self::Lookup(_, a) | Self::Slope(_, a) => {
                (Some(a), None, None)
            }
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::Div(a, b)
            | Self::Binary(_, a, b) => (Some(a), Some(b), None),
            Self::Select(a, b, c) => (Some(a), Some(b), Some(c)),
        };
        a.into_iter().chain(b).chain(c)
    }
}

/// All subexpressions of a model.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    depends: Vec<Dependence>,
    known: HashMap<Node, Id>,
    tables: Arc<[Table]>,
}

/// Exponents up to this size become products.
const PRODUCT_LIMIT: f64 = 16.0;

impl Graph {
    pub(crate) fn new(tables: Arc<[Table]>) -> Self {
        Self {
            tables,
            ..Self::default()
        }
    }

    pub(crate) fn tables(&self) -> &Arc<[Table]> {
        &self.tables
    }

    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes[id.0 as usize]
    }

    /// What the value can depend on.
    pub(crate) fn dependence(&self, id: Id) -> Dependence {
        self.depends[id.0 as usize]
    }

    /// The value, where it depends on nothing.
    pub(crate) fn value(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Whether the value is made of sums, products and quotients alone, as far as it depends on anything.
    pub(crate) fn is_rational(&self, id: Id) -> bool {
        let mut known = HashSet::new();
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            if self.dependence(id) == Dependence::default() || !known.insert(id) {
                continue;
            }
            match self.node(id) {
                Node::Constant(_) | Node::Variable(_) => {}
                Node::Neg(a) => rest.push(a),
                Node::Add(a, b) | Node::Sub(a, b) | Node::Mul(a, b) | Node::Div(a, b) => {
                    rest.extend([a, b]);
                }
                Node::Unary(..)
                | Node::Binary(..)
                | Node::Select(..)
                | Node::Lookup(..)
                | Node::Slope(..) => return false,
            }
        }
        true
    }

    pub(crate) fn is_zero(&self, id: Id) -> bool {
        self.value(id) == Some(0.0)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn intern(&mut self, node: Node) -> Id {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let id = Id(self.nodes.len() as u32);
        let depends = match node {
            Node::Variable(role) => Dependence::of(role),
            _ => node
                .parts()
                .fold(Dependence::default(), |d, part| d.or(self.dependence(part))),
        };
        self.nodes.push(node);
        self.depends.push(depends);
        self.known.insert(node, id);
        id
    }

    pub(crate) fn constant(&mut self, value: f64) -> Id {
        let value = match value {
            _ if value.is_nan() => f64::NAN,
            _ if value == 0.0 => 0.0,
            _ => value,
        };
        self.intern(Node::Constant(value.to_bits()))
    }

    pub(crate) fn zero(&mut self) -> Id {
        self.constant(0.0)
    }

    pub(crate) fn variable(&mut self, role: Role) -> Id {
        self.intern(Node::Variable(role))
    }

    /// The expression as a constant times another; signs count as −1.
    fn scaled(&self, id: Id) -> (f64, Id) {
        match self.node(id) {
            Node::Neg(a) => (-1.0, a),
            Node::Mul(c, a) => self.value(c).map_or((1.0, id), |c| (c, a)),
            _ => (1.0, id),
        }
    }

    pub(crate) fn neg(&mut self, a: Id) -> Id {
        if let Some(a) = self.value(a) {
            return self.constant(-a);
        }
        match self.scaled(a) {
            (1.0, _) => self.intern(Node::Neg(a)),
            (c, base) => self.times(-c, base),
        }
    }

    pub(crate) fn add(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => return self.constant(a + b),
            (Some(0.0), None) => return b,
            (None, Some(0.0)) => return a,
            _ => {}
        }
        let ((ca, xa), (cb, xb)) = (self.scaled(a), self.scaled(b));
        if xa == xb {
            return self.times(ca + cb, xa);
        }
        if cb < 0.0 {
            let b = self.times(-cb, xb);
            return self.difference(a, b);
        }
        if ca < 0.0 {
            let a = self.times(-ca, xa);
            return self.difference(b, a);
        }
        self.intern(Node::Add(a.min(b), a.max(b)))
    }

    pub(crate) fn sub(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => return self.constant(a - b),
            (Some(0.0), None) => return self.neg(b),
            (None, Some(0.0)) => return a,
            _ => {}
        }
        let ((ca, xa), (cb, xb)) = (self.scaled(a), self.scaled(b));
        if xa == xb {
            return self.times(ca - cb, xa);
        }
        if cb < 0.0 {
            let b = self.times(-cb, xb);
            return self.add(a, b);
        }
        if matches!(self.node(a), Node::Neg(_)) {
            let sum = self.add(xa, b);
            return self.neg(sum);
        }
        self.difference(a, b)
    }

    /// `a − b` where neither rule of [`sub`](Self::sub) applies; the opposite is reused where it exists.
    fn difference(&mut self, a: Id, b: Id) -> Id {
        match self.known.get(&Node::Sub(b, a)) {
            Some(&opposite) => self.intern(Node::Neg(opposite)),
            None => self.intern(Node::Sub(a, b)),
        }
    }

    /// `c a`.
    pub(crate) fn times(&mut self, c: f64, a: Id) -> Id {
        let c = self.constant(c);
        self.mul(c, a)
    }

    pub(crate) fn mul(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a * b),
            (Some(c), None) => self.scale(c, b),
            (None, Some(c)) => self.scale(c, a),
            (None, None) => {
                let ((ca, xa), (cb, xb)) = (self.scaled(a), self.scaled(b));
                let c = ca * cb;
                if c == 1.0 || !(safe(c) && safe(ca) && safe(cb)) {
                    let (a, b) = if c == 1.0 { (xa, xb) } else { (a, b) };
                    return self.product(a, b);
                }
                let product = self.product(xa, xb);
                self.scale(c, product)
            }
        }
    }

    /// `a b` of two parts without constant factors.
    fn product(&mut self, a: Id, b: Id) -> Id {
        for (a, b) in [(a, b), (b, a)] {
            if let Node::Div(one, y) = self.node(a)
                && self.value(one) == Some(1.0)
            {
                return self.div(b, y);
            }
        }
        self.intern(Node::Mul(a.min(b), a.max(b)))
    }

    /// `c a` for an `a` that is not constant.
    fn scale(&mut self, c: f64, a: Id) -> Id {
        if c == 0.0 {
            return self.zero();
        }
        if c == 1.0 {
            return a;
        }
        let (ca, base) = self.scaled(a);
        let whole = c * ca;
        if ca != 1.0 && safe(whole) && safe(ca) {
            return self.scale(whole, base);
        }
        if let Node::Div(numerator, y) = self.node(base)
            && let Some(n) = self.value(numerator)
            && safe(n * c)
        {
            let n = self.constant(n * c);
            return self.intern(Node::Div(n, y));
        }
        if c == -1.0 {
            return self.intern(Node::Neg(a));
        }
        let c = self.constant(c);
        self.intern(Node::Mul(c, a))
    }

    pub(crate) fn div(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => return self.constant(a / b),
            (Some(0.0), None) => return self.zero(),
            (None, Some(c)) if safe(c) => return self.scale(1.0 / c, a),
            _ => {}
        }
        let ((ca, xa), (cb, xb)) = (self.scaled(a), self.scaled(b));
        if let Some(value) = self.value(a)
            && safe(cb)
            && (safe(value / cb) || value / cb == 0.0)
        {
            let numerator = self.constant(value / cb);
            return self.intern(Node::Div(numerator, xb));
        }
        let c = ca / cb;
        if c != 1.0 && safe(c) && safe(ca) && safe(cb) && self.value(b).is_none() {
            let quotient = self.intern(Node::Div(xa, xb));
            return self.scale(c, quotient);
        }
        self.intern(Node::Div(a, b))
    }

    pub(crate) fn pow(&mut self, a: Id, b: Id) -> Id {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => return self.constant(a.powf(b)),
            (Some(1.0), None) => return self.constant(1.0),
            (None, Some(n)) if n.fract() == 0.0 && n.abs() <= PRODUCT_LIMIT => {
                return self.whole_power(a, n);
            }
            (None, Some(n)) if n.fract().abs() == 0.5 && n.abs() <= PRODUCT_LIMIT => {
                let root = self.unary(Unary::Sqrt, a);
                let power = self.whole_power(a, n.trunc());
                return if n < 0.0 {
                    self.div(power, root)
                } else {
                    self.mul(power, root)
                };
            }
            _ => {}
        }
        self.intern(Node::Binary(Binary::Pow, a, b))
    }

    /// `aⁿ` for a small whole `n`, by squaring.
    fn whole_power(&mut self, a: Id, n: f64) -> Id {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let mut rest = n.abs() as u32;
        let mut power = self.constant(1.0);
        let mut square = a;
        while rest > 0 {
            if rest % 2 == 1 {
                power = self.mul(power, square);
            }
            rest /= 2;
            if rest > 0 {
                square = self.mul(square, square);
            }
        }
        if n < 0.0 {
            let one = self.constant(1.0);
            return self.div(one, power);
        }
        power
    }

    pub(crate) fn unary(&mut self, function: Unary, a: Id) -> Id {
        if let Some(x) = self.value(a) {
            return self.constant(function.apply(x));
        }
        let parity = function.parity();
        let Some(opposite) = (parity != Parity::Neither)
            .then(|| self.opposite(a))
            .flatten()
        else {
            return self.intern(Node::Unary(function, a));
        };
        let value = self.intern(Node::Unary(function, opposite));
        if parity == Parity::Odd {
            self.neg(value)
        } else {
            value
        }
    }

    /// `−a`, where that is the form to be preferred as an argument of an even or odd function.
    fn opposite(&mut self, a: Id) -> Option<Id> {
        match (self.node(a), self.scaled(a)) {
            (Node::Sub(x, y), _) if x > y => Some(self.intern(Node::Sub(y, x))),
            (_, (c, _)) if c < 0.0 => Some(self.neg(a)),
            _ => None,
        }
    }

    pub(crate) fn binary(&mut self, function: Binary, a: Id, b: Id) -> Id {
        if function == Binary::Pow {
            return self.pow(a, b);
        }
        if let (Some(a), Some(b)) = (self.value(a), self.value(b)) {
            return self.constant(function.apply(a, b));
        }
        match function {
            Binary::Min | Binary::Max if a == b => a,
            _ => self.intern(Node::Binary(function, a, b)),
        }
    }

    /// `a` where `condition` is not zero, else `b`.
    pub(crate) fn select(&mut self, condition: Id, a: Id, b: Id) -> Id {
        match self.value(condition) {
            Some(0.0) => b,
            Some(_) => a,
            None if a == b => a,
            None => self.intern(Node::Select(condition, a, b)),
        }
    }

    pub(crate) fn lookup(&mut self, table: u32, x: Id) -> Id {
        if let Some(x) = self.value(x) {
            let value = self
                .tables
                .get(table as usize)
                .map_or(f64::NAN, |t| t.value(x));
            return self.constant(value);
        }
        self.intern(Node::Lookup(table, x))
    }

    pub(crate) fn slope(&mut self, table: u32, x: Id) -> Id {
        if let Some(x) = self.value(x) {
            let value = self
                .tables
                .get(table as usize)
                .map_or(f64::NAN, |t| t.slope(x));
            return self.constant(value);
        }
        self.intern(Node::Slope(table, x))
    }

    /// All subexpressions of `roots`, parts before wholes.
    pub(crate) fn reachable(&self, roots: &[Id]) -> Vec<Id> {
        let mut seen = std::collections::HashSet::new();
        let mut stack: Vec<Id> = roots.to_vec();
        while let Some(id) = stack.pop() {
            if seen.insert(id) {
                stack.extend(self.node(id).parts());
            }
        }
        let mut ids: Vec<Id> = seen.into_iter().collect();
        ids.sort_unstable();
        ids
    }

    /// `root` with variables replaced: `replacement` says by what, `None` leaves a variable alone.
    pub(crate) fn substitute(&mut self, root: Id, replacement: impl Fn(Role) -> Option<f64>) -> Id {
        let mut new: HashMap<Id, Id> = HashMap::new();
        for id in self.reachable(&[root]) {
            let of = |part: Id| new.get(&part).copied().unwrap_or(part);
            let made = match self.node(id) {
                Node::Constant(_) => id,
                Node::Variable(role) => replacement(role).map_or(id, |value| self.constant(value)),
                Node::Neg(a) => self.neg(of(a)),
                Node::Add(a, b) => self.add(of(a), of(b)),
                Node::Sub(a, b) => self.sub(of(a), of(b)),
                Node::Mul(a, b) => self.mul(of(a), of(b)),
                Node::Div(a, b) => self.div(of(a), of(b)),
                Node::Unary(f, a) => self.unary(f, of(a)),
                Node::Binary(f, a, b) => self.binary(f, of(a), of(b)),
                Node::Select(c, a, b) => self.select(of(c), of(a), of(b)),
                Node::Lookup(table, a) => self.lookup(table, of(a)),
                Node::Slope(table, a) => self.slope(table, of(a)),
            };
            new.insert(id, made);
        }
        new.get(&root).copied().unwrap_or(root)
    }
}

/// Whether a constant can be moved through a product without over- or underflow.
fn safe(c: f64) -> bool {
    let size = c.abs();
    (1e-100..=1e100).contains(&size)
}
