//! Parameters and values outside of the system.

use super::models::{Model, formula};

#[test]
fn parameters_may_come_in_any_order() {
    let scope = Model::new(&["y"])
        .parameter("gap0", "h0 - R")
        .parameter("R", "0.2")
        .parameter("h0", "5*R + 1e-3")
        .parameter("peak", "ramp(2) + sin(pi/2)")
        .table("ramp", &[0.0, 1.0], &[0.0, 5.0])
        .0
        .scope()
        .unwrap();
    let named: Vec<&str> = scope.parameters().iter().map(|p| p.0.as_str()).collect();
    assert_eq!(named, ["gap0", "R", "h0", "peak"]);
    assert_eq!(scope.parameters()[0].1, 5.0 * 0.2 + 1e-3 - 0.2);
    assert_eq!(scope.parameters()[3].1, 6.0);
    assert_eq!(
        scope.evaluate(&formula("2*gap0/R", "initial.q.y")).unwrap(),
        2.0 * (5.0 * 0.2 + 1e-3 - 0.2) / 0.2
    );
    assert_eq!(
        scope.evaluate(&formula("0.25", "simulation.step")).unwrap(),
        0.25
    );
}

#[test]
fn values_outside_know_parameters_only() {
    let scope = Model::new(&["y"]).parameter("R", "0.2").0.scope().unwrap();
    let error = scope
        .evaluate(&formula("R + y", "initial.q.y"))
        .unwrap_err();
    assert_eq!(
        (error.place.as_str(), error.span.clone()),
        ("initial.q.y", 4..5)
    );
    assert!(error.message.contains("`y` is a coordinate"), "{error:?}");
    let error = scope
        .evaluate(&formula("r", "simulation.step"))
        .unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `R`?"));
    let error = scope
        .evaluate(&formula("1/(R - 0.2)", "simulation.step"))
        .unwrap_err();
    assert!(error.message.contains("infinite"), "{error:?}");
    assert_eq!(error.to_string(), "simulation.step: the value is infinite");
    let error = scope
        .evaluate(&formula("inf", "simulation.step"))
        .unwrap_err();
    assert!(error.message.contains("infinite"), "{error:?}");
}

#[test]
fn cycles_are_shown() {
    let errors = Model::new(&["y"])
        .parameter("a", "2*b")
        .parameter("b", "c + 1")
        .parameter("c", "sin(a)")
        .parameter("d", "a")
        .parameter("self_made", "self_made")
        .parameter("fine", "3")
        .0
        .scope()
        .unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].message.contains("a -> b -> c -> a"), "{errors:?}");
    assert_eq!(errors[0].place, "parameters.a");
    assert!(
        errors[1].message.contains("self_made -> self_made"),
        "{errors:?}"
    );
}

#[test]
fn one_broken_parameter_is_one_error() {
    let errors = Model::new(&["y"])
        .parameter("m", "1 +")
        .parameter("n", "2*m")
        .parameter("o", "n/0")
        .mass(&["m*n"])
        .force(&["-o*y"])
        .unilateral("floor", "y", "m")
        .0
        .assemble()
        .unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].place, "parameters.m");
}

#[test]
fn names_belong_to_one_thing() {
    let cases: &[(Model, &str, &str)] = &[
        (
            Model::new(&["y", "y"]),
            "system.coordinates[1]",
            "`y` is the name of a coordinate already",
        ),
        (
            Model::new(&["y"]).parameter("y", "1"),
            "parameters.y",
            "`y` is the name of a coordinate already",
        ),
        (
            Model::new(&["t"]),
            "system.coordinates[0]",
            "a coordinate cannot be called `t`, which is the time",
        ),
        (
            Model::new(&["x"]).parameter("pi", "3"),
            "parameters.pi",
            "the constant π",
        ),
        (
            Model::new(&["x"]).parameter("min", "3"),
            "parameters.min",
            "a function",
        ),
        (
            Model::new(&["2x"]),
            "system.coordinates[0]",
            "`2x` cannot name a coordinate",
        ),
        (Model::new(&["a.b"]), "system.coordinates[0]", "cannot name"),
        (Model::new(&[""]), "system.coordinates[0]", "cannot name"),
        (
            Model::new(&["x"]).table("x", &[0.0, 1.0], &[0.0, 1.0]),
            "tables.x",
            "already",
        ),
        (
            Model::new(&["x"]).parameter("a", "1").parameter("a", "2"),
            "parameters.a",
            "a parameter already",
        ),
    ];
    for (model, place, message) in cases {
        let errors = model.0.scope().unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].place, *place, "{errors:?}");
        assert!(errors[0].message.contains(message), "{errors:?}");
        assert!(errors[0].help.is_some());
    }
}

#[test]
fn tables_are_checked() {
    let table = |x: &[f64], y: &[f64]| {
        Model::new(&["q"])
            .table("ramp", x, y)
            .0
            .scope()
            .unwrap_err()
    };
    let found = table(&[0.0, 1.0, 1.0], &[0.0, 1.0, 2.0]);
    assert_eq!(
        (found.len(), found[0].place.as_str()),
        (1, "tables.ramp.x[2]")
    );
    assert!(found[0].message.contains("1 follows 1"), "{found:?}");
    assert!(
        table(&[0.0, 1.0], &[0.0])[0]
            .message
            .contains("2 values of `x` and 1 of `y`")
    );
    assert!(
        table(&[0.0], &[0.0])[0]
            .help
            .clone()
            .unwrap()
            .contains("at least 2")
    );
    assert_eq!(
        table(&[0.0, 1.0], &[0.0, f64::NAN])[0].place,
        "tables.ramp.y[1]"
    );
}

#[test]
fn long_chains_of_parameters_cost_no_stack() {
    let mut model = Model::new(&["x"]).parameter("p0", "1");
    for i in 1..20_000 {
        model = model.parameter(&format!("p{i}"), &format!("p{} + 1", i - 1));
    }
    model.0.parameters.reverse();
    let scope = model.0.scope().unwrap();
    assert_eq!(scope.parameters()[0].1, 20_000.0);
}
