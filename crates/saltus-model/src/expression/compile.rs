//! From the graph to a [`Tape`]: order the work, fuse what goes together, assign registers.

use super::function::{Binary, Unary};
use super::graph::{Graph, Id, Node, Role};
use super::tape::{Code, Instruction, Loads, Op, Tape};
use std::collections::HashMap;

impl Tape {
    /// Compiles the values of `outputs`; what they share is computed once.
    pub(crate) fn compile(graph: &Graph, outputs: &[Id]) -> Self {
        let plan = Plan::new(graph, outputs);
        let steps = plan.schedule(outputs);
        Assignment::new(&plan, outputs, &steps).finish(graph, outputs, &steps)
    }
}

/// What is to be computed, and how often each value is used.
struct Plan<'a> {
    graph: &'a Graph,
    reachable: Vec<Id>,
    uses: HashMap<Id, u32>,
}

/// An instruction whose operands are values, not yet registers.
#[derive(Debug, Clone, Copy)]
struct Step {
    op: Op,
    result: Id,
    /// The cosine, where the result is the sine.
    second: Option<Id>,
    operands: [Option<Id>; 3],
    table: u32,
}

impl Step {
    fn operands(&self) -> impl Iterator<Item = Id> {
        self.operands.into_iter().flatten()
    }
}

impl<'a> Plan<'a> {
    fn new(graph: &'a Graph, outputs: &[Id]) -> Self {
        let reachable = graph.reachable(outputs);
        let mut uses: HashMap<Id, u32> = HashMap::with_capacity(reachable.len());
        let parts = reachable.iter().flat_map(|&id| graph.node(id).parts());
        for id in parts.chain(outputs.iter().copied()) {
            *uses.entry(id).or_default() += 1;
        }
        Self {
            graph,
            reachable,
            uses,
        }
    }

    fn used_once(&self, id: Id) -> bool {
        self.uses.get(&id) == Some(&1)
    }

    /// The factors of a product that nobody else needs.
    fn private_product(&self, id: Id) -> Option<(Id, Id)> {
        match self.graph.node(id) {
            Node::Mul(a, b) if self.used_once(id) => Some((a, b)),
            _ => None,
        }
    }

    /// The instruction that computes `id`; `None` for constants and variables.
    fn step(&self, id: Id) -> Option<Step> {
        let step = |op, operands| {
            Some(Step {
                op,
                result: id,
                second: None,
                operands,
                table: 0,
            })
        };
        let (one, two, three) = (
            |op, a| step(op, [Some(a), None, None]),
            |op, a, b| step(op, [Some(a), Some(b), None]),
            |op, a, b, c| step(op, [Some(a), Some(b), Some(c)]),
        );
        match self.graph.node(id) {
            Node::Constant(_) | Node::Variable(_) => None,
            Node::Neg(x) => match self.graph.node(x) {
                Node::Sub(a, b) if self.used_once(x) => two(Op::Sub, b, a),
                _ => one(Op::Neg, x),
            },
            Node::Add(x, y) => match (self.private_product(x), self.private_product(y)) {
                (_, Some((a, b))) => three(Op::MulAdd, a, b, x),
                (Some((a, b)), None) => three(Op::MulAdd, a, b, y),
                _ => two(Op::Add, x, y),
            },
            Node::Sub(x, y) => match (self.private_product(x), self.private_product(y)) {
                (_, Some((a, b))) => three(Op::SubMul, a, b, x),
                (Some((a, b)), None) => three(Op::MulSub, a, b, y),
                _ => two(Op::Sub, x, y),
            },
            Node::Mul(a, b) => two(Op::Mul, a, b),
            Node::Div(a, b) => two(Op::Div, a, b),
            Node::Unary(Unary::Sqrt, a) => one(Op::Sqrt, a),
            Node::Unary(function, a) => one(Op::One(function), a),
            Node::Binary(function, a, b) => {
                let op = match function {
                    Binary::Min => Op::Min,
                    Binary::Max => Op::Max,
                    Binary::Less => Op::Less,
                    Binary::LessEqual => Op::LessEqual,
                    _ => Op::Two(function),
                };
                two(op, a, b)
            }
            Node::Select(c, a, b) => three(Op::Select, c, a, b),
            Node::Lookup(table, a) => one(Op::Lookup, a).map(|s| Step { table, ..s }),
            Node::Slope(table, a) => one(Op::Slope, a).map(|s| Step { table, ..s }),
        }
    }

    /// All steps, operands before results, each output's work as late as possible.
    fn schedule(&self, outputs: &[Id]) -> Vec<Step> {
        let partners = self.sines_with_cosines();
        let mut done = std::collections::HashSet::new();
        let mut steps = Vec::new();
        let mut stack: Vec<Id> = Vec::new();
        for &output in outputs {
            stack.push(output);
            while let Some(&id) = stack.last() {
                let Some(mut step) = (!done.contains(&id)).then(|| self.step(id)).flatten() else {
                    stack.pop();
                    continue;
                };
                let before = stack.len();
                stack.extend(
                    step.operands()
                        .filter(|a| !done.contains(a) && self.step(*a).is_some()),
                );
                if stack.len() > before {
                    continue;
                }
                stack.pop();
                done.insert(id);
                if let Some(&(sine, cosine)) = partners.get(&id) {
                    done.extend([sine, cosine]);
                    step = Step {
                        op: Op::SinCos,
                        result: sine,
                        second: Some(cosine),
                        ..step
                    };
                }
                steps.push(step);
            }
        }
        steps
    }

    /// For each sine and cosine of one argument that are both needed, the pair of them.
    fn sines_with_cosines(&self) -> HashMap<Id, (Id, Id)> {
        let mut by_argument: HashMap<Id, (Option<Id>, Option<Id>)> = HashMap::new();
        for &id in &self.reachable {
            match self.graph.node(id) {
                Node::Unary(Unary::Sin, a) => by_argument.entry(a).or_default().0 = Some(id),
                Node::Unary(Unary::Cos, a) => by_argument.entry(a).or_default().1 = Some(id),
                _ => {}
            }
        }
        let pairs = by_argument
            .values()
            .filter_map(|&(sine, cosine)| Some((sine?, cosine?)));
        pairs
            .flat_map(|pair| [(pair.0, pair), (pair.1, pair)])
            .collect()
    }
}

/// Where each value lives.
struct Assignment {
    loads: Loads,
    image: Vec<f64>,
    first_output: usize,
    register: HashMap<Id, u32>,
    /// Number of the last step that uses a temporary.
    last_use: HashMap<Id, usize>,
    free: Vec<u32>,
    next: u32,
}

#[allow(clippy::cast_possible_truncation)]
impl Assignment {
    fn new(plan: &Plan<'_>, outputs: &[Id], steps: &[Step]) -> Self {
        let mut this = Self {
            loads: Loads::default(),
            image: Vec::new(),
            first_output: 0,
            register: HashMap::new(),
            last_use: HashMap::new(),
            free: Vec::new(),
            next: 0,
        };
        let mut operands: Vec<Id> = steps.iter().flat_map(Step::operands).collect();
        operands.sort_unstable();
        operands.dedup();
        this.place_inputs(plan.graph, operands.iter().chain(outputs));
        for &id in &operands {
            if let Some(value) = plan.graph.value(id) {
                this.image.push(value);
                this.place(id);
            }
        }
        this.first_output = this.next as usize;
        for &output in outputs {
            this.image.push(plan.graph.value(output).unwrap_or(0.0));
            let computed = plan.step(output).is_some();
            if computed && !this.register.contains_key(&output) {
                this.register.insert(output, this.next);
            }
            this.next += 1;
        }
        for (i, step) in steps.iter().enumerate() {
            for operand in step.operands() {
                this.last_use.insert(operand, i);
            }
        }
        this
    }

    fn place(&mut self, id: Id) {
        self.register.insert(id, self.next);
        self.next += 1;
    }

    fn place_inputs<'a>(&mut self, graph: &Graph, used: impl Iterator<Item = &'a Id>) {
        let mut variables: Vec<(Role, Id)> = used
            .filter_map(|&id| match graph.node(id) {
                Node::Variable(role) => Some((role, id)),
                _ => None,
            })
            .collect();
        variables.sort_unstable();
        variables.dedup();
        for (role, id) in variables {
            match role {
                Role::Time => self.loads.time.push(0),
                Role::Position(i) => self.loads.q.push(i),
                Role::Velocity(i) => self.loads.v.push(i),
                Role::Weight(i) => self.loads.weights.push(i),
            }
            self.place(id);
        }
    }

    /// The register for a result: that of an output, or a temporary.
    fn destination(&mut self, id: Id) -> u32 {
        if let Some(&register) = self.register.get(&id) {
            return register;
        }
        let register = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.register.insert(id, register);
        register
    }

    /// Gives back the temporaries that `step` number `i` used last.
    fn release(&mut self, step: &Step, i: usize) {
        let fixed = (self.first_output + self.outputs_len()) as u32;
        let mut operands: Vec<Id> = step.operands().collect();
        operands.sort_unstable();
        operands.dedup();
        for operand in operands {
            if self.last_use.get(&operand) == Some(&i)
                && let Some(&register) = self.register.get(&operand)
                && register >= fixed
            {
                self.free.push(register);
            }
        }
    }

    fn outputs_len(&self) -> usize {
        self.loads.len() + self.image.len() - self.first_output
    }

    fn finish(mut self, graph: &Graph, outputs: &[Id], steps: &[Step]) -> Tape {
        let mut code: Vec<Instruction<u32>> = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let mut operand = [0; 3];
            for (register, id) in operand.iter_mut().zip(step.operands) {
                *register = id
                    .and_then(|id| self.register.get(&id).copied())
                    .unwrap_or(0);
            }
            self.release(step, i);
            let dst = self.destination(step.result);
            let [a, mut b, c] = operand;
            match step.op {
                Op::SinCos => {
                    if let Some(cosine) = step.second {
                        b = self.destination(cosine);
                    }
                }
                Op::Lookup | Op::Slope => b = step.table,
                _ => {}
            }
            code.push(Instruction {
                op: step.op,
                dst,
                a,
                b,
                c,
            });
        }
        for (k, &output) in outputs.iter().enumerate() {
            let dst = (self.first_output + k) as u32;
            if let (None, Some(&a)) = (graph.value(output), self.register.get(&output))
                && a != dst
            {
                code.push(Instruction {
                    op: Op::Copy,
                    dst,
                    a,
                    b: 0,
                    c: 0,
                });
            }
        }
        let range = self.first_output..self.first_output + outputs.len();
        Tape {
            loads: self.loads,
            image: self.image,
            outputs: range,
            code: shorten(code),
            registers: self.next as usize,
            tables: graph.tables().clone(),
        }
    }
}

fn shorten(code: Vec<Instruction<u32>>) -> Code {
    let short = |ins: &Instruction<u32>| {
        Some(Instruction {
            op: ins.op,
            dst: u16::try_from(ins.dst).ok()?,
            a: u16::try_from(ins.a).ok()?,
            b: u16::try_from(ins.b).ok()?,
            c: u16::try_from(ins.c).ok()?,
        })
    };
    match code.iter().map(short).collect() {
        Some(code) => Code::Short(code),
        None => Code::Long(code),
    }
}
