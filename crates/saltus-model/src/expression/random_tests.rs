//! Random formulas against an independent evaluator and finite differences; random text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::function::Unary;
use super::tests::{At, EVERYTHING, ROLES, graph, run, vocabulary};
use super::*;
use proptest::prelude::*;

/// A random formula, with its value known independently of the engine.
#[derive(Debug, Clone)]
enum Tree {
    Number(f64),
    Variable(usize),
    Negate(Box<Tree>),
    Operation(char, Box<Tree>, Box<Tree>),
    Power(Box<Tree>, i32),
    Function(&'static str, Unary, Box<Tree>),
    Extremum(bool, Box<Tree>, Box<Tree>),
    If(Box<[Tree; 4]>),
}

const NAMES: [&str; 5] = ["t", "x", "y", "v.x", "v.y"];

impl Tree {
    fn text(&self) -> String {
        match self {
            Self::Number(value) => format!("{value}"),
            Self::Variable(i) => NAMES[*i].to_owned(),
            Self::Negate(a) => format!("(-{})", a.text()),
            Self::Operation(sign, a, b) => format!("({} {sign} {})", a.text(), b.text()),
            Self::Power(a, n) => format!("(({})^{n})", a.text()),
            Self::Function(name, _, a) => format!("{name}({})", a.text()),
            Self::Extremum(least, a, b) => {
                format!(
                    "{}({}, {})",
                    if *least { "min" } else { "max" },
                    a.text(),
                    b.text()
                )
            }
            Self::If(parts) => {
                let [a, b, c, d] = parts.each_ref().map(Tree::text);
                format!("if({a} < {b}, {c}, {d})")
            }
        }
    }

    /// The value, and a bound of the round-off that any order of evaluation may have made.
    fn evaluate(&self, at: At) -> (f64, f64) {
        let rounded =
            |value: f64, inherited: f64| (value, inherited + 2.0 * f64::EPSILON * value.abs());
        match self {
            Self::Number(value) => (*value, 0.0),
            Self::Variable(i) => (at[*i], 0.0),
            Self::Negate(a) => {
                let (value, error) = a.evaluate(at);
                (-value, error)
            }
            Self::Operation(sign, a, b) => {
                let ((a, ea), (b, eb)) = (a.evaluate(at), b.evaluate(at));
                match sign {
                    '+' => rounded(a + b, ea + eb + 2.0 * f64::EPSILON * (a.abs() + b.abs())),
                    '-' => rounded(a - b, ea + eb + 2.0 * f64::EPSILON * (a.abs() + b.abs())),
                    '*' => rounded(a * b, a.abs() * eb + b.abs() * ea + ea * eb),
                    _ => rounded(
                        a / b,
                        if eb < b.abs() {
                            (ea + (a / b).abs() * eb) / (b.abs() - eb)
                        } else {
                            f64::INFINITY
                        },
                    ),
                }
            }
            Self::Power(a, n) => {
                let (a, ea) = a.evaluate(at);
                let spread = (a.abs() + ea).powi(*n) - a.abs().powi(*n);
                rounded(
                    a.powi(*n),
                    spread + f64::from(*n) * f64::EPSILON * (a.abs() + ea).powi(*n),
                )
            }
            Self::Function(_, function, a) => {
                let (a, ea) = a.evaluate(at);
                let value = function.apply(a);
                let near = [a - ea, a + ea].map(|a| (function.apply(a) - value).abs());
                // Sine and cosine have no slope beyond 1, the others are monotone or even.
                let spread = match function {
                    Unary::Sin | Unary::Cos => ea,
                    _ => near[0].max(near[1]),
                };
                rounded(
                    value,
                    if spread.is_nan() {
                        f64::INFINITY
                    } else {
                        2.0 * spread
                    },
                )
            }
            Self::Extremum(least, a, b) => {
                let ((a, ea), (b, eb)) = (a.evaluate(at), b.evaluate(at));
                // Unlike those of the standard library, they do not hide what is not a number.
                let value = if *least { a.min(b) } else { a.max(b) };
                (
                    if a.is_nan() || b.is_nan() {
                        f64::NAN
                    } else {
                        value
                    },
                    ea.max(eb),
                )
            }
            Self::If(parts) => {
                let [(a, ea), (b, eb), c, d] = parts.each_ref().map(|part| part.evaluate(at));
                let undecided = (a - b).abs() <= ea + eb;
                let (value, error) = if a < b { c } else { d };
                (value, if undecided { f64::INFINITY } else { error })
            }
        }
    }
}

fn trees(functions: &'static [(&'static str, Unary)], kinks: bool) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (-4i32..=4).prop_map(|n| Tree::Number(f64::from(n) / 2.0)),
        (0usize..5).prop_map(Tree::Variable),
        (0usize..5).prop_map(Tree::Variable),
    ];
    leaf.prop_recursive(6, 60, 4, move |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let sign = prop_oneof![Just('+'), Just('-'), Just('*'), Just('*'), Just('/')];
        let smooth = prop_oneof![
            4 => (sign, boxed.clone(), boxed.clone()).prop_map(|(sign, a, b)| Tree::Operation(sign, a, b)),
            1 => boxed.clone().prop_map(Tree::Negate),
            1 => (boxed.clone(), 1i32..5).prop_map(|(a, n)| Tree::Power(a, n)),
            2 => (proptest::sample::select(functions), boxed.clone()).prop_map(|((name, f), a)| Tree::Function(name, f, a)),
        ];
        if !kinks {
            return smooth.boxed();
        }
        prop_oneof![
            8 => smooth,
            1 => (any::<bool>(), boxed.clone(), boxed).prop_map(|(least, a, b)| Tree::Extremum(least, a, b)),
            1 => [inner.clone(), inner.clone(), inner.clone(), inner].prop_map(|parts| Tree::If(Box::new(parts))),
        ]
        .boxed()
    })
}

const MONOTONE_OR_EVEN: &[(&str, Unary)] = &[
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("exp", Unary::Exp),
    ("ln", Unary::Ln),
    ("sqrt", Unary::Sqrt),
    ("cbrt", Unary::Cbrt),
    ("atan", Unary::Atan),
    ("tanh", Unary::Tanh),
    ("asinh", Unary::Asinh),
    ("abs", Unary::Abs),
];

const SMOOTH: &[(&str, Unary)] = &[
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tanh", Unary::Tanh),
    ("atan", Unary::Atan),
    ("asinh", Unary::Asinh),
    ("sqrt", Unary::Sqrt),
    ("exp", Unary::Exp),
    ("ln", Unary::Ln),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_formulas_have_their_value(tree in trees(MONOTONE_OR_EVEN, true), at in prop::array::uniform5(-2.0f64..2.0)) {
        let (expected, bound) = tree.evaluate(at);
        if expected.is_finite() && bound.is_finite() {
            let text = tree.text();
            // A constant part that is not finite is refused; the whole may still be finite.
            let Ok(ast) = parse(&text) else { return Err(TestCaseError::fail(text)) };
            let mut graph = graph();
            if let Ok(id) = translate(&ast, &vocabulary(), EVERYTHING, &mut graph) {
                let found = run(&Tape::compile(&graph, &[id]), at)[0];
                prop_assert!((found - expected).abs() <= 2.0 * bound, "{text}: {found}, not {expected} ± {bound}");
            }
        }
    }

    #[test]
    fn random_formulas_have_their_derivatives(tree in trees(SMOOTH, true), at in prop::array::uniform5(-2.0f64..2.0)) {
        let text = tree.text();
        let ast = parse(&text).unwrap();
        let mut graph = graph();
        let Ok(id) = translate(&ast, &vocabulary(), EVERYTHING, &mut graph) else { return Ok(()) };
        let gradient = Gradients::default().of(&mut graph, id);
        let zero = graph.zero();
        let find = |role| gradient.iter().find(|entry| entry.0 == role).map_or(zero, |entry| entry.1);
        let exact = run(&Tape::compile(&graph, &ROLES.map(find)), at);
        for (i, exact) in exact.iter().enumerate() {
            // Central differences of three steps; where they do not settle, they say nothing.
            let difference = |h: f64| {
                let (mut left, mut right) = (at, at);
                left[i] -= h;
                right[i] += h;
                let ((a, ea), (b, eb)) = (tree.evaluate(left), tree.evaluate(right));
                ((b - a) / (right[i] - left[i]), (ea + eb) / (2.0 * h))
            };
            let ((d1, _), (d2, _), (d3, noise)) = (difference(4e-4), difference(2e-4), difference(1e-4));
            // With Richardson's extrapolation.
            let (coarse, fine) = ((4.0 * d2 - d1) / 3.0, (4.0 * d3 - d2) / 3.0);
            let doubt = 10.0 * (fine - coarse).abs() + 10.0 * noise + 1e-9 * fine.abs();
            let settled = (d1 - d3).abs() <= 1e-3 * (1.0 + d3.abs());
            if fine.is_finite() && doubt.is_finite() && settled && exact.is_finite() {
                prop_assert!((exact - fine).abs() <= doubt, "∂/∂{} of {text}: {exact}, not {fine} ± {doubt}", NAMES[i]);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        check_complaint(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(proptest::sample::select(WORDS), 0..14)) {
        check_complaint(&words.concat());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        check_complaint(&String::from_utf8_lossy(&bytes));
    }
}

const WORDS: &[&str] = &[
    "x",
    "y",
    "v.x",
    "v.",
    "t",
    "a",
    "1",
    "2.5",
    ".",
    "e",
    "1e",
    "1e9",
    "(",
    "(",
    ")",
    ")",
    ",",
    "+",
    "-",
    "*",
    "**",
    "/",
    "^",
    "<",
    "<=",
    ">",
    "if(",
    "sin(",
    "min(",
    "ramp(",
    "smoothstep(",
    "atan2",
    " ",
    "θ",
    "²",
    "sqrt(",
    "ln(",
];

/// Reading must not panic, and what is refused is marked within the text.
fn check_complaint(text: &str) {
    let found = match parse(text) {
        Ok(ast) => match translate(&ast, &vocabulary(), EVERYTHING, &mut graph()) {
            Ok(_) => return,
            Err(found) => found,
        },
        Err(complaint) => vec![complaint],
    };
    assert!(!found.is_empty());
    for complaint in found {
        assert!(
            text.get(complaint.span.clone()).is_some(),
            "`{text}`: {complaint:?}"
        );
        assert!(!complaint.message.is_empty());
    }
}
