//! Overrides edit a model before it is checked.

use saltus_integrators::Scheme;
use saltus_model::{Format, Model, ModelErrors, Override};

const BALL: &str = r#"
saltus = 1
[parameters]
m = 1.0
g = 10
[system]
coordinates = ["x", "y"]
mass = ["m", "m"]
force = [0, "-m*g"]
[[system.unilateral]]
name = "floor"
gap = "y"
restitution = 0.8
[[system.unilateral]]
name = "wall"
gap = "x"
restitution = 0.5
[initial]
q = { y = 1 }
[simulation]
scheme = "moreau-jean"
step = 1e-3
until = 1
"#;

fn load(overrides: &[Override]) -> Result<Model, ModelErrors> {
    Model::parse(
        "ball",
        "ball.toml",
        BALL.to_owned(),
        Format::Toml,
        overrides,
    )
}

fn set(texts: &[&str]) -> Model {
    let overrides: Vec<Override> = texts.iter().map(|text| Override::set(*text)).collect();
    load(&overrides).unwrap_or_else(|errors| panic!("{errors}"))
}

fn document(texts: &[&str]) -> serde_json::Value {
    serde_json::to_value(set(texts).document).unwrap()
}

#[test]
fn numbers_formulas_and_texts_are_set() {
    let document = document(&[
        "parameters.m=2",
        "parameters.g = 2*m",
        "title=two walls",
        "initial.project=true",
        "simulation.step='m/1000'",
    ]);
    assert_eq!(document["parameters"]["m"], 2.0);
    assert_eq!(document["parameters"]["g"], "2*m");
    assert_eq!(document["title"], "two walls");
    assert_eq!(document["initial"]["project"], true);
    assert_eq!(
        set(&["parameters.m=2", "simulation.step='m/1000'"])
            .plan
            .step,
        2e-3
    );
}

#[test]
fn entries_of_lists_are_found_by_name_and_by_number() {
    let document = document(&[
        "system.unilateral.wall.restitution=0.25",
        "system.unilateral[0].restitution=0.75",
        "system.force.0=-1",
        "system.force[1]=1.5",
    ]);
    assert_eq!(document["system"]["unilateral"][1]["restitution"], 0.25);
    assert_eq!(document["system"]["unilateral"][0]["restitution"], 0.75);
    assert_eq!(document["system"]["force"], serde_json::json!([-1.0, 1.5]));
}

#[test]
fn absent_tables_are_added() {
    let model = set(&["output.every=5", "initial.v.x=2", "simulation.start=0.5"]);
    assert_eq!(model.output.every, 5);
    assert_eq!(model.initial.v, [2.0, 0.0]);
    assert_eq!((model.initial.t, model.plan.start), (0.5, 0.5));
}

#[test]
fn the_last_word_counts() {
    assert_eq!(
        set(&["parameters.m=2", "parameters.m=3"])
            .document
            .parameters["m"],
        { saltus_model::document::Quantity::Number(3.0) }
    );
}

#[test]
fn options_turn_the_name_of_a_scheme_into_a_table() {
    let Scheme::MoreauJean(options) = set(&["simulation.scheme.theta=0.75"]).scheme else {
        panic!("another scheme")
    };
    assert_eq!(options.theta, Some(0.75));
}

#[test]
fn naming_the_same_scheme_keeps_its_options() {
    let text = BALL.replace(
        "\"moreau-jean\"",
        "{ name = \"moreau-jean\", theta = 0.75 }",
    );
    let again = [Override::flag(
        "--scheme",
        "simulation.scheme",
        "moreau-jean",
    )];
    let model = Model::parse("ball", "ball.toml", text.clone(), Format::Toml, &again).unwrap();
    assert!(model.notes.is_empty(), "{:?}", model.notes);
    let Scheme::MoreauJean(options) = model.scheme else {
        panic!("another scheme")
    };
    assert_eq!(options.theta, Some(0.75));

    let other = [Override::flag("--scheme", "simulation.scheme", "euler")];
    let errors = Model::parse("ball", "ball.toml", text, Format::Toml, &other).unwrap_err();
    assert!(
        errors
            .to_string()
            .contains("--scheme:1:1: unknown scheme \"euler\""),
        "{errors}"
    );
}

#[test]
fn a_wrong_value_is_blamed_on_the_override() {
    let errors = load(&[Override::set("parameters.m = 1 + k")]).unwrap_err();
    assert_eq!(errors.diagnostics.len(), 1, "{errors}");
    assert!(
        errors
            .to_string()
            .starts_with("--set:1:20: unknown symbol \"k\""),
        "{errors}"
    );
    assert_eq!(errors.diagnostics[0].place.as_deref(), Some("parameters.m"));
}
