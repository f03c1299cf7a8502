//! Whatever is done to a model file, the answer is a model or reasons that point into the text.

use proptest::prelude::*;
use saltus_model::{Format, Model, ModelErrors, Override};

const MODEL: &str = r#"saltus = 1
title = "A ball – or two"
[parameters]
m = 1.0
gap0 = "h0 - 0.2"
h0 = 1.001
[tables.ramp]
x = [0, 1]
y = [0, 5]
[system]
coordinates = ["x", "y"]
mass = ["m", "m"]
force = ["ramp(t)", "-m*9.81"]
[[system.bilateral]]
name = "rail"
g = "x"
[[system.unilateral]]
name = "floor"
gap = "y"
restitution = 0.8
tangential = "x"
friction = 0
[initial]
q = { y = "gap0" }
v.y = 0
[simulation]
scheme = { name = "moreau-jean", theta = 0.5 }
step = 2e-3
until = 4.0
[output]
every = 1
formats = ["csv"]
"#;

/// The same model, as the other formats write it.
fn text(format: Format) -> String {
    let model = Model::parse("ball", "ball", MODEL.to_owned(), Format::Toml, &[]).unwrap();
    match format {
        Format::Toml => MODEL.to_owned(),
        // JSON is YAML in one of its styles.
        Format::Json | Format::Yaml => serde_json::to_string_pretty(&model.document).unwrap(),
    }
}

#[derive(Debug, Clone)]
enum Mutation {
    Delete(usize, usize),
    Repeat(usize, usize),
    Insert(usize, String),
    Swap(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let pieces = [
        "\"",
        "'",
        "\n",
        "[",
        "]",
        "{",
        "}",
        "=",
        ":",
        ",",
        ".",
        "-",
        "#",
        "\\",
        "\\u00e9",
        "é",
        "🎱",
        "nan",
        "1e999",
        "true",
        "\"\"\"",
        "&a ",
        "*a",
        "- ",
        "null",
        "(",
        "^",
        "v.y",
        "[[system.unilateral]]",
        "\t",
        "\r\n",
        "9223372036854775808",
    ];
    let piece = prop::sample::select(pieces.to_vec()).prop_map(str::to_owned);
    prop_oneof![
        (any::<usize>(), 1..12_usize).prop_map(|(at, n)| Mutation::Delete(at, n)),
        (any::<usize>(), 1..40_usize).prop_map(|(at, n)| Mutation::Repeat(at, n)),
        (any::<usize>(), piece).prop_map(|(at, text)| Mutation::Insert(at, text)),
        (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Mutation::Swap(a, b)),
    ]
}

fn apply(text: &mut Vec<char>, mutation: &Mutation) {
    let n = text.len().max(1);
    match mutation {
        Mutation::Delete(at, count) => {
            let at = at % n;
            text.drain(at..(at + count).min(text.len()));
        }
        Mutation::Repeat(at, count) => {
            let at = at % n;
            let piece: Vec<char> = text[at..(at + count).min(text.len())].to_vec();
            text.splice(at..at, piece);
        }
        Mutation::Insert(at, piece) => drop(text.splice(at % n..at % n, piece.chars())),
        Mutation::Swap(a, b) if !text.is_empty() => text.swap(a % n, b % n),
        Mutation::Swap(..) => {}
    }
}

/// Reasons that can be shown: at least one, each inside of its text.
fn examine(outcome: Result<Model, ModelErrors>) {
    let Err(errors) = outcome else { return };
    assert!(!errors.diagnostics.is_empty());
    for diagnostic in &errors.diagnostics {
        assert!(!diagnostic.message.is_empty());
        if let Some(at) = diagnostic.location {
            let source = &errors.sources[at.source];
            assert!(source.text.get(at.range()).is_some(), "{diagnostic:?}");
        }
    }
    assert!(!errors.to_string().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_are_models_or_errors(
        format in prop::sample::select(vec![Format::Toml, Format::Yaml, Format::Json]),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let mut text: Vec<char> = text(format).chars().collect();
        for mutation in &mutations {
            apply(&mut text, mutation);
        }
        let text: String = text.into_iter().collect();
        examine(Model::parse("ball", "ball", text, format, &[]));
    }

    #[test]
    fn any_override_is_applied_or_refused(
        path in "[a-z0-9.\\[\\]\"]{0,20}|(parameters|system|simulation|initial|output)(\\.[a-z0-9_]{1,8}|\\[[0-9]\\]){0,3}",
        value in "[ -~]{0,12}",
    ) {
        examine(Model::parse("ball", "ball", MODEL.to_owned(), Format::Toml, &[Override::set(format!("{path}={value}"))]));
    }
}
