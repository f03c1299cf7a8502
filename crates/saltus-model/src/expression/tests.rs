//! The engine as a whole: text in, values and derivatives out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use std::sync::Arc;

/// Coordinates `x` and `y`, parameters `a = 2` and `b = -0.5`, table `ramp`.
pub(super) fn vocabulary() -> Vocabulary {
    let mut known = built_in();
    for (name, symbol) in [
        ("x", Symbol::Coordinate(0)),
        ("y", Symbol::Coordinate(1)),
        ("a", Symbol::Parameter(2.0)),
        ("b", Symbol::Parameter(-0.5)),
        ("ramp", Symbol::Table(0)),
    ] {
        known.symbols.insert(name.to_owned(), symbol);
    }
    known
}

pub(super) fn graph() -> Graph {
    Graph::new(Arc::from([Table {
        x: vec![0.0, 1.0, 3.0],
        y: vec![0.0, 5.0, 4.0],
    }]))
}

pub(super) const EVERYTHING: Permission = Permission {
    time: true,
    positions: true,
    velocities: true,
    subject: "a formula",
};

fn read(graph: &mut Graph, text: &str) -> Id {
    let ast = parse(text).unwrap_or_else(|c| panic!("{text}: {c:?}"));
    translate(&ast, &vocabulary(), EVERYTHING, graph).unwrap_or_else(|c| panic!("{text}: {c:?}"))
}

fn complaints(text: &str) -> Vec<Complaint> {
    match parse(text) {
        Ok(ast) => translate(&ast, &vocabulary(), EVERYTHING, &mut graph()).expect_err(text),
        Err(complaint) => vec![complaint],
    }
}

/// `t`, `x`, `y`, `v.x`, `v.y`.
pub(super) type At = [f64; 5];

pub(super) const ROLES: [Role; 5] = [
    Role::Time,
    Role::Position(0),
    Role::Position(1),
    Role::Velocity(0),
    Role::Velocity(1),
];

pub(super) fn run(tape: &Tape, at: At) -> Vec<f64> {
    tape.run(
        Inputs {
            t: at[0],
            q: &at[1..3],
            v: &at[3..5],
            weights: &[],
        },
        <[f64]>::to_vec,
    )
}

fn value(text: &str, at: At) -> f64 {
    let mut graph = graph();
    let id = read(&mut graph, text);
    run(&Tape::compile(&graph, &[id]), at)[0]
}

/// Derivatives with respect to all of [`ROLES`].
fn derivatives(text: &str, at: At) -> Vec<f64> {
    let mut graph = graph();
    let id = read(&mut graph, text);
    let gradient = Gradients::default().of(&mut graph, id);
    let zero = graph.zero();
    let find = |role| {
        gradient
            .iter()
            .find(|entry| entry.0 == role)
            .map_or(zero, |entry| entry.1)
    };
    run(&Tape::compile(&graph, &ROLES.map(find)), at)
}

const POINTS: [At; 3] = [
    [0.3, 0.7, -0.4, 1.1, -2.0],
    [1.4, 0.2, 0.9, -0.6, 0.5],
    [2.0, -1.3, 2.5, 0.1, 3.0],
];

#[test]
fn values_are_those_of_the_functions() {
    type Closed = fn(f64, f64, f64, f64) -> f64;
    let cases: &[(&str, Closed)] = &[
        ("x + 2*y - t/4", |t, x, y, _| x + 2.0 * y - t / 4.0),
        ("-x^2", |_, x, _, _| -(x * x)),
        ("2^x^2", |_, x, _, _| 2f64.powf(x * x)),
        ("x^3 + x^-2 + x^0 + x^7", |_, x, _, _| {
            x.powi(3) + x.powi(-2) + 1.0 + x.powi(7)
        }),
        ("(x^2)^0.5", |_, x, _, _| x.abs()),
        ("(1 + x^2)^-1.5", |_, x, _, _| (1.0 + x * x).powf(-1.5)),
        ("a*x + b*v.x", |_, x, _, v| 2.0 * x - 0.5 * v),
        ("sin(x)*cos(y) + tan(x)", |_, x, y, _| {
            x.sin() * y.cos() + x.tan()
        }),
        ("asin(sin(x)/2) + acos(cos(y)/2) + atan(x)", |_, x, y, _| {
            (x.sin() / 2.0).asin() + (y.cos() / 2.0).acos() + x.atan()
        }),
        ("atan2(x, y) + hypot(x, y)", |_, x, y, _| {
            x.atan2(y) + x.hypot(y)
        }),
        ("sinh(x) + cosh(y) + tanh(x)", |_, x, y, _| {
            x.sinh() + y.cosh() + x.tanh()
        }),
        (
            "asinh(x) + acosh(1 + y^2) + atanh(tanh(x)/2)",
            |_, x, y, _| x.asinh() + (1.0 + y * y).acosh() + (x.tanh() / 2.0).atanh(),
        ),
        (
            "exp(x) + ln(t) + log(t) + log10(t) + log2(t)",
            |t, x, _, _| x.exp() + 2.0 * t.ln() + t.log10() + t.log2(),
        ),
        ("sqrt(t) + cbrt(x) + abs(y)", |t, x, y, _| {
            t.sqrt() + x.cbrt() + y.abs()
        }),
        ("sign(x) + heaviside(y)", |_, x, y, _| {
            x.signum() + if y >= 0.0 { 1.0 } else { 0.0 }
        }),
        ("min(x, y, t) + max(x, y, t)", |t, x, y, _| {
            x.min(y).min(t) + x.max(y).max(t)
        }),
        ("clamp(x, -1, 0.5)", |_, x, _, _| x.clamp(-1.0, 0.5)),
        (
            "if(x < y, x^2, 3*y)",
            |_, x, y, _| if x < y { x * x } else { 3.0 * y },
        ),
        ("if(x >= y, x, y)", |_, x, y, _| x.max(y)),
        ("smoothstep(t, 0, 2)", |t, _, _, _| {
            let u = (t / 2.0).clamp(0.0, 1.0);
            u * u * (3.0 - 2.0 * u)
        }),
        ("smootherstep(t, 0, 2)", |t, _, _, _| {
            let u = (t / 2.0).clamp(0.0, 1.0);
            u * u * u * (u * (6.0 * u - 15.0) + 10.0)
        }),
        ("ramp(t)", |t, _, _, _| {
            if t < 1.0 {
                5.0 * t
            } else {
                5.0 - 0.5 * (t - 1.0)
            }
        }),
        ("2*pi", |_, _, _, _| std::f64::consts::TAU),
    ];
    for (text, closed) in cases {
        for at in POINTS {
            let (found, expected) = (value(text, at), closed(at[0], at[1], at[2], at[3]));
            let close = (found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs().max(1.0);
            assert!(
                close || (found.is_nan() && expected.is_nan()),
                "{text} at {at:?}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn derivatives_are_exact() {
    type Closed = fn(f64, f64, f64) -> f64;
    // Derivatives by x.
    let cases: &[(&str, Closed)] = &[
        ("x^4*y", |_, x, y| 4.0 * x.powi(3) * y),
        ("y/x", |_, x, y| -y / (x * x)),
        ("3/x", |_, x, _| -3.0 / (x * x)),
        ("sin(x*y)", |_, x, y| y * (x * y).cos()),
        ("cos(y - x)", |_, x, y| (y - x).sin()),
        ("tan(x)", |_, x, _| x.cos().powi(-2)),
        ("asin(x/3)", |_, x, _| 1.0 / (9.0 - x * x).sqrt()),
        ("acos(x/3)", |_, x, _| -1.0 / (9.0 - x * x).sqrt()),
        ("atan(x)", |_, x, _| 1.0 / (1.0 + x * x)),
        ("atan2(x, y)", |_, x, y| y / (x * x + y * y)),
        ("atan2(y, x)", |_, x, y| -y / (x * x + y * y)),
        ("hypot(x, y)", |_, x, y| x / x.hypot(y)),
        ("sinh(x) + cosh(x)", |_, x, _| x.exp()),
        ("tanh(x)", |_, x, _| x.cosh().powi(-2)),
        ("asinh(x)", |_, x, _| 1.0 / (x * x + 1.0).sqrt()),
        ("acosh(3 + x)", |_, x, _| {
            1.0 / ((3.0 + x).powi(2) - 1.0).sqrt()
        }),
        ("atanh(x/3)", |_, x, _| 3.0 / (9.0 - x * x)),
        ("exp(-2*x)", |_, x, _| -2.0 * (-2.0 * x).exp()),
        ("ln(3 + x)", |_, x, _| 1.0 / (3.0 + x)),
        ("log10(3 + x)", |_, x, _| {
            1.0 / ((3.0 + x) * std::f64::consts::LN_10)
        }),
        ("log2(3 + x)", |_, x, _| {
            1.0 / ((3.0 + x) * std::f64::consts::LN_2)
        }),
        ("sqrt(3 + x)", |_, x, _| 0.5 / (3.0 + x).sqrt()),
        ("cbrt(x)", |_, x, _| x.cbrt().powi(-2) / 3.0),
        ("(3 + x)^t", |t, x, _| t * (3.0 + x).powf(t - 1.0)),
        ("2^x", |_, x, _| 2f64.powf(x) * std::f64::consts::LN_2),
        ("(3 + x)^2.7", |_, x, _| 2.7 * (3.0 + x).powf(1.7)),
        ("abs(x)^3", |_, x, _| 3.0 * x * x.abs()),
        ("sign(x)*x + heaviside(x)", |_, x, _| x.signum()),
        ("min(x, y)", |_, x, y| if x <= y { 1.0 } else { 0.0 }),
        (
            "max(x^2, y)",
            |_, x, y| if x * x >= y { 2.0 * x } else { 0.0 },
        ),
        (
            "if(x < y, x^2, 3*x)",
            |_, x, y| if x < y { 2.0 * x } else { 3.0 },
        ),
        ("ramp(x)", |_, x, _| if x < 0.0 { 0.0 } else { 5.0 }),
        ("x - x", |_, _, _| 0.0),
    ];
    for (text, closed) in cases {
        for at in POINTS {
            let (found, expected) = (derivatives(text, at)[1], closed(at[0], at[1], at[2]));
            let close = (found - expected).abs() <= 1e-14 * expected.abs().max(1.0);
            assert!(close, "∂/∂x of {text} at {at:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn undefined_branches_do_not_leak() {
    let at = [0.0, -1.0, 0.0, 0.0, 0.0];
    assert_eq!(value("if(x > 0, sqrt(x), 0)", at), 0.0);
    assert_eq!(derivatives("if(x > 0, sqrt(x), 2*x)", at)[1], 2.0);
    assert_eq!(value("if(a > 2, 1/(a - 2), 7)", at), 7.0);
    assert_eq!(value("if(a <= 2, x, sqrt(b)/(a - 2))", at), -1.0);
    assert!(value("min(sqrt(x), 1)", at).is_nan());
    assert!(value("max(1, sqrt(x))", at).is_nan());
    assert_eq!(
        derivatives("min(sqrt(x + 1), 1)^2", [0.0, 3.0, 0.0, 0.0, 0.0])[1],
        0.0
    );
}

#[test]
fn common_work_is_done_once() {
    let mut graph = graph();
    let texts = [
        "sin(x - y)*v.x^2",
        "cos(y - x)*v.x^2",
        "-sin(y - x)",
        "2*cos(x - y)",
    ];
    let ids: Vec<Id> = texts.iter().map(|text| read(&mut graph, text)).collect();
    let tape = Tape::compile(&graph, &ids);
    // x − y, sine with cosine, the square, two products, a sign at most, and a double.
    assert!(
        tape.instructions() <= 8,
        "{} instructions",
        tape.instructions()
    );
    let at = POINTS[0];
    let separate: Vec<f64> = texts.iter().map(|text| value(text, at)).collect();
    assert_eq!(run(&tape, at), separate);
}

#[test]
fn constants_and_inputs_can_be_outputs_twice() {
    let mut graph = graph();
    let ids: Vec<Id> = ["3", "x", "x*y", "x", "x*y", "3", "v.y", "t"]
        .iter()
        .map(|t| read(&mut graph, t))
        .collect();
    let tape = Tape::compile(&graph, &ids);
    assert_eq!(
        run(&tape, [9.0, 2.0, 5.0, 0.0, 7.0]),
        [3.0, 2.0, 10.0, 2.0, 10.0, 3.0, 7.0, 9.0]
    );
    let constant = Tape::compile(&graph, &ids[..1]);
    assert!(constant.is_constant());
    assert_eq!(run(&constant, POINTS[0]), [3.0]);
    assert_eq!(run(&Tape::compile(&graph, &[]), POINTS[0]), [0.0; 0]);
}

#[test]
fn programs_of_every_size_agree() {
    for count in [3, 20, 40, 90, 200, 1000, 70_000] {
        let mut graph = graph();
        let x = graph.variable(Role::Position(0));
        let ids: Vec<Id> = (0..count)
            .map(|i| {
                let c = graph.constant(f64::from(i) + 0.5);
                let sum = graph.add(x, c);
                graph.mul(sum, x)
            })
            .collect();
        let tape = Tape::compile(&graph, &ids);
        let found = run(&tape, [0.0, 2.0, 0.0, 0.0, 0.0]);
        let expected: Vec<f64> = (0..count)
            .map(|i| (2.0 + (f64::from(i) + 0.5)) * 2.0)
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn missing_inputs_read_as_not_a_number() {
    let mut graph = graph();
    let id = read(&mut graph, "x + y");
    let tape = Tape::compile(&graph, &[id]);
    let found = tape.run(
        Inputs {
            t: 0.0,
            q: &[1.0],
            v: &[],
            weights: &[],
        },
        |values| values[0],
    );
    assert!(found.is_nan());
}

#[test]
fn mistakes_are_named_with_a_cure() {
    for (text, span, message, help) in [
        ("2*rmp", 2..5, "unknown symbol `rmp`", "`ramp`"),
        ("cso(x)", 0..3, "unknown function `cso`", "`cos`"),
        ("sin", 0..3, "is a function", "sin(x)"),
        ("atan2(x)", 0..5, "takes 2 arguments, not 1", "atan2(y, x)"),
        ("min(x)", 0..3, "2 or more", "min(a, b, …)"),
        (
            "a(x + 1)",
            0..1,
            "`a` is a parameter, not a function",
            "a*(",
        ),
        ("ramp + 1", 0..4, "is a table", "ramp(t)"),
        ("ramp(t, x)", 0..4, "takes 1 argument, not 2", "ramp(x)"),
        (
            "x + v.z",
            4..7,
            "`z` in `v.z` is not a coordinate",
            "`x`, `y`",
        ),
        ("v.a", 0..3, "`a` in `v.a` is not a coordinate", "`x`, `y`"),
        ("e^x", 0..1, "unknown symbol `e`", "exp(1)"),
        ("PI", 0..2, "unknown symbol", "`pi`"),
        ("xdot", 0..4, "unknown symbol `xdot`", "`v.x`"),
        ("vy^2", 0..2, "unknown symbol `vy`", "`v.y`"),
        ("x < y", 0..5, "not a number", "if(condition, a, b)"),
        ("1 + (x < y)", 4..11, "not a number", "if(condition, a, b)"),
        ("if(x, 1, 2)", 3..4, "not a comparison", "<="),
        ("1/(a - 2)", 0..9, "infinite", "denominator"),
        ("sqrt(b)", 0..7, "not a number", "called with -0.5"),
        ("smoothstep(x, a, 2)", 14..18, "same place", ""),
        ("pow(x, 2)", 0..3, "unknown function", "^"),
        ("arctan(x)", 0..6, "unknown function", "`atan`"),
    ] {
        let found = &complaints(text)[0];
        assert!(found.message.contains(message), "{text}: {found:?}");
        assert!(
            found.help.clone().unwrap_or_default().contains(help),
            "{text}: {found:?}"
        );
        assert_eq!(found.span, span, "{text}: {found:?}");
    }
    let all = complaints("foo(q1) + q2 + sin(x, y)");
    assert_eq!(all.len(), 4, "{all:?}");
}

#[test]
fn formulas_may_only_use_what_they_are_allowed() {
    let mass = Permission {
        time: false,
        positions: true,
        velocities: false,
        subject: "the mass matrix",
    };
    let found = translate(
        &parse("x + v.x*t").unwrap(),
        &vocabulary(),
        mass,
        &mut graph(),
    )
    .unwrap_err();
    assert_eq!(found.len(), 2);
    assert!(
        found[0]
            .message
            .contains("`v.x` is a velocity, which the mass matrix cannot depend on")
    );
    assert!(
        found[0]
            .help
            .clone()
            .unwrap()
            .contains("coordinates and parameters only")
    );
    assert!(found[1].message.contains("`t` is the time"));
}
