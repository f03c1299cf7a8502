//! The functions a formula may call.

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Exp,
    Ln,
    Log10,
    Log2,
    Sqrt,
    Cbrt,
    Abs,
    /// −1, 0 or 1.
    Sign,
    /// 0 below zero, 1 from zero on.
    Heaviside,
}

/// How a function behaves under a change of sign of its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parity {
    Even,
    Odd,
    Neither,
}

impl Unary {
    /// The value at `x`.
    pub(crate) fn apply(self, x: f64) -> f64 {
        match self {
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Asin => x.asin(),
            Self::Acos => x.acos(),
            Self::Atan => x.atan(),
            Self::Sinh => x.sinh(),
            Self::Cosh => x.cosh(),
            Self::Tanh => x.tanh(),
            Self::Asinh => x.asinh(),
            Self::Acosh => x.acosh(),
            Self::Atanh => x.atanh(),
            Self::Exp => x.exp(),
            Self::Ln => x.ln(),
            Self::Log10 => x.log10(),
            Self::Log2 => x.log2(),
            Self::Sqrt => x.sqrt(),
            Self::Cbrt => x.cbrt(),
            Self::Abs => x.abs(),
            Self::Sign => sign(x),
            Self::Heaviside => heaviside(x),
        }
    }

    pub(crate) fn parity(self) -> Parity {
        match self {
            Self::Cos | Self::Cosh | Self::Abs => Parity::Even,
            Self::Sin
            | Self::Tan
            | Self::Asin
            | Self::Atan
            | Self::Sinh
            | Self::Tanh
            | Self::Asinh
            | Self::Atanh
            | Self::Cbrt
            | Self::Sign => Parity::Odd,
            _ => Parity::Neither,
        }
    }
}

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    Pow,
    Atan2,
    Hypot,
    Min,
    Max,
    /// 1 where the first is less than the second, else 0.
    Less,
    /// 1 where the first is at most the second, else 0.
    LessEqual,
}

impl Binary {
    /// The value at `(a, b)`.
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Pow => a.powf(b),
            Self::Atan2 => a.atan2(b),
            Self::Hypot => a.hypot(b),
            Self::Min => minimum(a, b),
            Self::Max => maximum(a, b),
            Self::Less => f64::from(u8::from(a < b)),
            Self::LessEqual => f64::from(u8::from(a <= b)),
        }
    }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

fn heaviside(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else {
        f64::from(u8::from(x >= 0.0))
    }
}

/// The smaller one; not a number if either is not.
#[inline]
pub(crate) fn minimum(a: f64, b: f64) -> f64 {
    if a <= b || a.is_nan() { a } else { b }
}

/// The larger one; not a number if either is not.
#[inline]
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a >= b || a.is_nan() { a } else { b }
}

/// What a name in front of a parenthesis stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    One(Unary),
    Two(Binary),
    /// `min` or `max` of two or more.
    Extremum(Binary),
    /// `clamp(x, a, b)`.
    Clamp,
    /// `smoothstep(x, a, b)`, C¹.
    Smoothstep,
    /// `smootherstep(x, a, b)`, C².
    Smootherstep,
    /// `if(condition, a, b)`.
    If,
}

impl Function {
    pub(crate) fn named(name: &str) -> Option<Self> {
        FUNCTIONS
            .iter()
            .find(|(known, ..)| *known == name)
            .map(|&(_, function, _)| function)
    }

    /// How a call is written, e.g. `clamp(x, a, b)`.
    pub(crate) fn usage(self, name: &str) -> String {
        let arguments = FUNCTIONS
            .iter()
            .find(|(_, function, _)| *function == self)
            .map_or("…", |&(_, _, a)| a);
        format!("{name}({arguments})")
    }

    /// Whether `count` arguments are right.
    pub(crate) fn accepts(self, count: usize) -> bool {
        match self {
            Self::One(_) => count == 1,
            Self::Two(_) => count == 2,
            Self::Extremum(_) => count >= 2,
            Self::Clamp | Self::Smoothstep | Self::Smootherstep | Self::If => count == 3,
        }
    }

    /// The number of arguments, in words.
    pub(crate) fn arity(self) -> &'static str {
        match self {
            Self::One(_) => "1 argument",
            Self::Two(_) => "2 arguments",
            Self::Extremum(_) => "2 or more arguments",
            _ => "3 arguments",
        }
    }
}

/// Name, meaning and arguments of every function.
pub(crate) const FUNCTIONS: &[(&str, Function, &str)] = &[
    ("sin", Function::One(Unary::Sin), "x"),
    ("cos", Function::One(Unary::Cos), "x"),
    ("tan", Function::One(Unary::Tan), "x"),
    ("asin", Function::One(Unary::Asin), "x"),
    ("acos", Function::One(Unary::Acos), "x"),
    ("atan", Function::One(Unary::Atan), "x"),
    ("atan2", Function::Two(Binary::Atan2), "y, x"),
    ("sinh", Function::One(Unary::Sinh), "x"),
    ("cosh", Function::One(Unary::Cosh), "x"),
    ("tanh", Function::One(Unary::Tanh), "x"),
    ("asinh", Function::One(Unary::Asinh), "x"),
    ("acosh", Function::One(Unary::Acosh), "x"),
    ("atanh", Function::One(Unary::Atanh), "x"),
    ("exp", Function::One(Unary::Exp), "x"),
    ("ln", Function::One(Unary::Ln), "x"),
    ("log", Function::One(Unary::Ln), "x"),
    ("log10", Function::One(Unary::Log10), "x"),
    ("log2", Function::One(Unary::Log2), "x"),
    ("sqrt", Function::One(Unary::Sqrt), "x"),
    ("cbrt", Function::One(Unary::Cbrt), "x"),
    ("abs", Function::One(Unary::Abs), "x"),
    ("sign", Function::One(Unary::Sign), "x"),
    ("heaviside", Function::One(Unary::Heaviside), "x"),
    ("hypot", Function::Two(Binary::Hypot), "x, y"),
    ("min", Function::Extremum(Binary::Min), "a, b, …"),
    ("max", Function::Extremum(Binary::Max), "a, b, …"),
    ("clamp", Function::Clamp, "x, a, b"),
    ("smoothstep", Function::Smoothstep, "x, a, b"),
    ("smootherstep", Function::Smootherstep, "x, a, b"),
    ("if", Function::If, "condition, a, b"),
];
