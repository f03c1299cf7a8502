//! What is refused, where, and with which cure.

use super::models::Model;

fn ball() -> Model {
    Model::new(&["x", "y"]).parameters(&[("m", 1.0), ("g", 9.81), ("zero", 0.0)])
}

/// One error, at `place`, whose message and help contain these words.
#[track_caller]
fn refused(model: Model, place: &str, message: &str, help: &str) {
    let errors = model.0.assemble().map(|_| "accepted").unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    let error = &errors[0];
    assert_eq!(error.place, place, "{error:?}");
    assert!(error.message.contains(message), "{error:?}");
    assert!(
        error.help.as_deref().unwrap_or_default().contains(help),
        "{error:?}"
    );
}

#[test]
fn sizes() {
    let good = || ball().mass(&["m", "m"]);
    refused(
        ball().mass(&["m"]),
        "system.mass",
        "has 1 entry, but there are 2 coordinates",
        "give 2: x, y",
    );
    refused(
        ball().mass(&["m", "m", "m"]),
        "system.mass",
        "has 3 entries",
        "give 2: x, y",
    );
    refused(
        good().force(&["0"]),
        "system.force",
        "`force` has 1 entry",
        "give 2: x, y",
    );
    refused(
        good().force(&["0", "1", "2"]),
        "system.force",
        "has 3 entries",
        "give 2",
    );
    refused(
        ball().full_mass(&[&["1", "0"]]),
        "system.mass",
        "1 rows, but there are 2",
        "2 rows of 2",
    );
    refused(
        ball().full_mass(&[&["1", "0"], &["0"]]),
        "system.mass[1]",
        "has 1 entry",
        "give 2",
    );
    refused(
        Model::new(&[]).mass(&[]),
        "system.coordinates",
        "no coordinates",
        "at least one",
    );
    refused(ball(), "system", "no inertia", "`kinetic`");
    refused(
        good().kinetic("v.x^2 + v.y^2"),
        "system.kinetic",
        "both `mass` and `kinetic`",
        "remove one",
    );
}

#[test]
fn masses() {
    let help = "symmetric and positive semidefinite";
    refused(
        ball().mass(&["m", "zero"]),
        "system.mass[1]",
        "the mass of `y` (entry 1, 1 of the mass matrix) is 0",
        help,
    );
    refused(ball().mass(&["-2*m", "m"]), "system.mass[0]", "is -2", help);
    refused(
        ball().full_mass(&[&["1", "0.5"], &["0.4", "1"]]),
        "system.mass[0][1]",
        "entry 0, 1 is 0.5, entry 1, 0 is 0.4",
        help,
    );
    refused(
        ball().full_mass(&[&["1", "0.5"], &["0", "1"]]),
        "system.mass[0][1]",
        "not symmetric",
        help,
    );
    refused(
        ball().full_mass(&[&["1", "x"], &["y", "1"]]),
        "system.mass[0][1]",
        "0, 1 and 1, 0 differ",
        help,
    );
    refused(
        ball().full_mass(&[&["1", "2"], &["2", "1"]]),
        "system.mass[1][1]",
        "leaves it the mass -3",
        help,
    );
    refused(
        ball().mass(&["m*v.x", "m"]),
        "system.mass[0]",
        "`v.x` is a velocity",
        "coordinates and parameters only",
    );
    refused(
        ball().mass(&["m", "m*t"]),
        "system.mass[1]",
        "`t` is the time",
        "coordinates and parameters only",
    );
    // The same function in other words, and a matrix that is only just semidefinite.
    let words = ball().full_mass(&[&["2", "sin(x)^2"], &["1 - cos(x)^2", "2"]]);
    assert!(words.0.assemble().is_ok());
    assert!(
        ball()
            .full_mass(&[&["1", "-1"], &["-1", "1"]])
            .0
            .assemble()
            .is_ok()
    );
    let coupled = Model::new(&["x", "y", "z"]).full_mass(&[
        &["1", "1", "0"],
        &["1", "1", "1"],
        &["0", "1", "5"],
    ]);
    refused(
        coupled,
        "system.mass[2][1]",
        "`y` has no mass of its own left but is coupled to `z`",
        help,
    );
}

#[test]
fn energies() {
    let energy = |text: &str| ball().kinetic(text);
    refused(
        energy("v.x^3 + v.y^2"),
        "system.kinetic",
        "not quadratic in the velocities: ∂²T/∂v.x∂v.x",
        "0.5*m*v.x^2",
    );
    refused(
        energy("v.x^2 + sqrt(v.y^2)"),
        "system.kinetic",
        "not quadratic",
        "",
    );
    refused(
        energy("v.x^2"),
        "system.kinetic",
        "gives `y` no mass",
        "`v.y`",
    );
    refused(
        energy("v.x^2 + (1 + t)*v.y^2"),
        "system.kinetic",
        "depends on the time",
        "parameters only",
    );
    refused(
        energy("v.x^2 - v.y^2"),
        "system.kinetic",
        "the mass of `y`",
        "positive",
    );
    refused(
        energy("v.x^2 + v.y^2 + 3*v.x*v.y"),
        "system.kinetic",
        "not positive semidefinite",
        "positive",
    );
    refused(
        energy("v.x^2 + v.y^2").potential("m*g*v.y"),
        "system.potential",
        "`v.y` is a velocity",
        "the potential energy",
    );
}

#[test]
fn constraints() {
    let good = || ball().mass(&["m", "m"]);
    refused(
        good().bilateral("rod", "g*t"),
        "system.bilateral.rod.g",
        "gradient of the bilateral constraint `rod` is zero",
        "x, y",
    );
    refused(
        good().bilateral("rod", "x + v.y"),
        "system.bilateral.rod.g",
        "`v.y` is a velocity",
        "the time, coordinates and parameters only",
    );
    refused(
        good().bilateral("rod", "x - x"),
        "system.bilateral.rod.g",
        "is zero",
        "",
    );
    refused(
        good().unilateral("floor", "2", "0"),
        "system.unilateral.floor.gap",
        "the gap `floor` is zero",
        "",
    );
    refused(
        good().unilateral("floor", "v.x", "0"),
        "system.unilateral.floor.gap",
        "a gap cannot depend on",
        "",
    );
    let twice = good().bilateral("a", "x").unilateral("a", "y", "0");
    refused(
        twice,
        "system.unilateral.a.gap",
        "two constraints are called `a`; the first is at system.bilateral.a.g",
        "own `name`",
    );
    refused(
        good().bilateral("", "x"),
        "system.bilateral..g",
        "no name",
        "unique",
    );
}

#[test]
fn laws() {
    let floor = |e: &str| ball().mass(&["m", "m"]).unilateral("floor", "y", e);
    refused(
        floor("1.2"),
        "system.unilateral.floor.restitution",
        "the restitution of `floor` is 1.2",
        "between 0",
    );
    refused(
        floor("-m"),
        "system.unilateral.floor.restitution",
        "is -1",
        "between 0",
    );
    refused(
        floor("y"),
        "system.unilateral.floor.restitution",
        "`y` is a coordinate",
        "parameters only",
    );
    refused(
        floor("0").friction("0.3"),
        "system.unilateral.floor.friction",
        "no tangential direction",
        "`tangential`",
    );
    assert!(floor("0").friction("zero").0.assemble().is_ok());
    refused(
        floor("0").tangential(&["x"]).friction("-0.1"),
        "system.unilateral.floor.friction",
        "is -0.1",
        "0 or greater",
    );
    let slip = |text: &str| floor("0").tangential_velocity(&[text]);
    let place = "system.unilateral.floor.tangential_velocity[0]";
    refused(slip("v.x^2"), place, "not linear in `v.x`", "a*v.x");
    refused(
        slip("x + t"),
        place,
        "does not depend on any velocity",
        "`v.name`",
    );
    refused(slip("v.x*v.y"), place, "not linear", "");
    refused(
        floor("0").tangential(&["t"]),
        "system.unilateral.floor.tangential[0]",
        "tangential displacement of `floor` is zero",
        "",
    );
    refused(
        floor("0").tangential(&["x"]).tangential_velocity(&["v.x"]),
        place,
        "has both",
        "remove one",
    );
    refused(
        floor("0").tangential(&["x", "y", "x*y"]),
        "system.unilateral.floor.tangential[2]",
        "more than 2",
        "in space",
    );
}

#[test]
fn everything_that_is_wrong_is_said() {
    let errors = Model::new(&["x", "y"])
        .parameter("m", "1")
        .parameter("k", "1/0")
        .mass(&["mm", "-m"])
        .force(&["-k*z", "2y", "sin(x, y)"])
        .bilateral("rod", "x +")
        .unilateral("floor", "y", "2")
        .0
        .assemble()
        .unwrap_err();
    let places: Vec<&str> = errors.iter().map(|e| e.place.as_str()).collect();
    assert_eq!(
        places,
        [
            "parameters.k",
            "system.force",
            "system.force[0]",
            "system.force[1]",
            "system.force[2]",
            "system.mass[0]",
            "system.bilateral.rod.g",
            "system.unilateral.floor.restitution",
        ],
        "{errors:#?}"
    );
}
