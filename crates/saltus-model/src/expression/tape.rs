//! A flat register program that evaluates a bundle of outputs in one pass.
//!
//! Registers hold, in this order: the inputs that are used, constants and outputs (an image that is
//! copied in), then temporaries. Small programs run on an array on the stack, whose size is a power of
//! two so that masking an index replaces the check of its bounds; larger ones in a buffer of the thread
//! that grows and is kept.

use super::function::{Binary, Unary, maximum, minimum};
use super::table::Table;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// What an instruction does with the registers `a`, `b` and `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Copy,
    Neg,
    Add,
    Sub,
    Mul,
    Div,
    /// `a b + c`, rounded twice.
    MulAdd,
    /// `a b − c`, rounded twice.
    MulSub,
    /// `c − a b`, rounded twice.
    SubMul,
    Sqrt,
    /// `dst ← sin a`, `b ← cos a`.
    SinCos,
    /// `b` where `a` is not zero, else `c`.
    Select,
    Min,
    Max,
    Less,
    LessEqual,
    One(Unary),
    Two(Binary),
    /// Value of table `b`, which is no register, at `a`.
    Lookup,
    /// Slope of table `b`, which is no register, at `a`.
    Slope,
}

/// One step of a program; registers that an operation does not use are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction<I> {
    pub op: Op,
    pub dst: I,
    pub a: I,
    pub b: I,
    pub c: I,
}

/// Values of the variables at which a tape is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub t: f64,
    pub q: &'a [f64],
    pub v: &'a [f64],
    /// The vector that a derivative is multiplied by.
    pub weights: &'a [f64],
}

/// Which inputs a tape uses; they fill its first registers in the order of the fields.
#[derive(Debug, Clone, Default)]
pub(super) struct Loads {
    /// One zero, or none.
    pub time: Vec<u32>,
    pub q: Vec<u32>,
    pub v: Vec<u32>,
    pub weights: Vec<u32>,
}

impl Loads {
    pub(super) fn len(&self) -> usize {
        self.time.len() + self.q.len() + self.v.len() + self.weights.len()
    }
}

/// Instructions, with indices as short as they can be.
#[derive(Debug, Clone)]
pub(super) enum Code {
    Short(Vec<Instruction<u16>>),
    Long(Vec<Instruction<u32>>),
}

/// A compiled bundle of outputs.
#[derive(Debug, Clone)]
pub(crate) struct Tape {
    pub(super) loads: Loads,
    /// Constants, then outputs; the outputs are zero where they are computed.
    pub(super) image: Vec<f64>,
    pub(super) outputs: Range<usize>,
    pub(super) code: Code,
    pub(super) registers: usize,
    pub(super) tables: Arc<[Table]>,
}

thread_local! {
    /// Registers of programs that are too large for the stack.
    static BUFFER: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl Tape {
    /// Number of outputs.
    pub(crate) fn len(&self) -> usize {
        self.outputs.len()
    }

    /// Whether every output is constant.
    pub(crate) fn is_constant(&self) -> bool {
        self.loads.len() == 0
    }

    /// Number of instructions.
    #[cfg(test)]
    pub(crate) fn instructions(&self) -> usize {
        match &self.code {
            Code::Short(code) => code.len(),
            Code::Long(code) => code.len(),
        }
    }

    /// Evaluates the outputs at `inputs` and shows them to `read`, in order.
    ///
    /// An input that is shorter than the program needs reads as not a number.
    #[inline]
    pub(crate) fn run<R>(&self, inputs: Inputs<'_>, read: impl FnOnce(&[f64]) -> R) -> R {
        if self.is_constant() {
            return read(&self.image[self.outputs.clone()]);
        }
        match (&self.code, self.registers) {
            (Code::Short(code), 0..=32) => self.run_on_stack::<32, R>(code, inputs, read),
            (Code::Short(code), 33..=64) => self.run_on_stack::<64, R>(code, inputs, read),
            (Code::Short(code), 65..=128) => self.run_on_stack::<128, R>(code, inputs, read),
            (Code::Short(code), 129..=256) => self.run_on_stack::<256, R>(code, inputs, read),
            _ => self.run_in_buffer(inputs, read),
        }
    }

    fn run_on_stack<const N: usize, R>(
        &self,
        code: &[Instruction<u16>],
        inputs: Inputs<'_>,
        read: impl FnOnce(&[f64]) -> R,
    ) -> R {
        let mut registers = [0.0; N];
        self.fill(&mut registers, inputs);
        execute(code, &mut registers, &self.tables);
        read(&registers[self.outputs.clone()])
    }

    fn run_in_buffer<R>(&self, inputs: Inputs<'_>, read: impl FnOnce(&[f64]) -> R) -> R {
        // Taken out for the time of the run, so that whoever reads may run another tape.
        let mut buffer = BUFFER.take();
        if buffer.len() < self.registers {
            buffer.resize(self.registers, 0.0);
        }
        self.fill(&mut buffer, inputs);
        match &self.code {
            Code::Short(code) => execute(code, buffer.as_mut_slice(), &self.tables),
            Code::Long(code) => execute(code, buffer.as_mut_slice(), &self.tables),
        }
        let result = read(&buffer[self.outputs.clone()]);
        BUFFER.set(buffer);
        result
    }

    #[inline]
    fn fill(&self, registers: &mut [f64], inputs: Inputs<'_>) {
        let loads = &self.loads;
        let rest = gather(registers, &loads.time, &[inputs.t]);
        let rest = gather(rest, &loads.q, inputs.q);
        let rest = gather(rest, &loads.v, inputs.v);
        let rest = gather(rest, &loads.weights, inputs.weights);
        rest[..self.image.len()].copy_from_slice(&self.image);
    }
}

/// Fills the first registers with the chosen entries of `source` and returns the others.
#[inline]
fn gather<'a>(registers: &'a mut [f64], indices: &[u32], source: &[f64]) -> &'a mut [f64] {
    let (filled, rest) = registers.split_at_mut(indices.len());
    for (register, &i) in filled.iter_mut().zip(indices) {
        *register = source.get(i as usize).copied().unwrap_or(f64::NAN);
    }
    rest
}

/// A file of registers.
trait Registers<I> {
    fn get(&self, i: I) -> f64;
    fn set(&mut self, i: I, value: f64);
}

impl<const N: usize> Registers<u16> for [f64; N] {
    #[inline]
    fn get(&self, i: u16) -> f64 {
        self[usize::from(i) & (N - 1)]
    }

    #[inline]
    fn set(&mut self, i: u16, value: f64) {
        self[usize::from(i) & (N - 1)] = value;
    }
}

impl Registers<u16> for [f64] {
    #[inline]
    fn get(&self, i: u16) -> f64 {
        self[usize::from(i)]
    }

    #[inline]
    fn set(&mut self, i: u16, value: f64) {
        self[usize::from(i)] = value;
    }
}

impl Registers<u32> for [f64] {
    #[inline]
    fn get(&self, i: u32) -> f64 {
        self[i as usize]
    }

    #[inline]
    fn set(&mut self, i: u32, value: f64) {
        self[i as usize] = value;
    }
}

#[inline]
fn execute<I: Copy + Into<u32>, F: Registers<I> + ?Sized>(
    code: &[Instruction<I>],
    r: &mut F,
    tables: &[Table],
) {
    for ins in code {
        let a = r.get(ins.a);
        let value = match ins.op {
            Op::Copy => a,
            Op::Neg => -a,
            Op::Add => a + r.get(ins.b),
            Op::Sub => a - r.get(ins.b),
            Op::Mul => a * r.get(ins.b),
            Op::Div => a / r.get(ins.b),
            Op::MulAdd => a * r.get(ins.b) + r.get(ins.c),
            Op::MulSub => a * r.get(ins.b) - r.get(ins.c),
            Op::SubMul => r.get(ins.c) - a * r.get(ins.b),
            Op::Sqrt => a.sqrt(),
            Op::SinCos => {
                let (sin, cos) = a.sin_cos();
                r.set(ins.b, cos);
                sin
            }
            Op::Select => r.get(if a != 0.0 { ins.b } else { ins.c }),
            Op::Min => minimum(a, r.get(ins.b)),
            Op::Max => maximum(a, r.get(ins.b)),
            Op::Less => f64::from(u8::from(a < r.get(ins.b))),
            Op::LessEqual => f64::from(u8::from(a <= r.get(ins.b))),
            Op::One(function) => one(function, a),
            Op::Two(function) => two(function, a, r.get(ins.b)),
            Op::Lookup => tables
                .get(ins.b.into() as usize)
                .map_or(f64::NAN, |table| table.value(a)),
            Op::Slope => tables
                .get(ins.b.into() as usize)
                .map_or(f64::NAN, |table| table.slope(a)),
        };
        r.set(ins.dst, value);
    }
}

/// Kept out of the loop, which stays small.
#[inline(never)]
fn one(function: Unary, a: f64) -> f64 {
    function.apply(a)
}

#[inline(never)]
fn two(function: Binary, a: f64, b: f64) -> f64 {
    function.apply(a, b)
}
