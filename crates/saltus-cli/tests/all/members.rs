//! Section forces of members against statics by hand: loads along elements, joints, corners, and inertia.

use crate::support::{column, folder, said};
use std::fmt::Write as _;

/// The table of a run of `model`.
fn table(name: &str, model: &str) -> String {
    let at = folder(name);
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, _, err) = said(&at, &["run", "model.toml", "--out", "out"]);
    assert_eq!(code, Some(0), "{name}: {err}");
    std::fs::read_to_string(at.join("out/trajectory.csv")).unwrap()
}

/// Steel, a rectangle, gravity or not, and one step from equilibrium.
fn frame(parts: &str) -> String {
    format!(
        "saltus = 1\n[materials.s]\nyoung = 200e9\npoisson = 0.3\ndensity = 7850\n\
         [sections.r]\nrectangle = {{ width = 0.05, height = 0.1 }}\n{parts}\n\
         [initial]\nequilibrium = true\n\
         [simulation]\nscheme = \"generalized-alpha\"\nstep = 1e-4\nuntil = 1e-4\n"
    )
}

fn beam(name: &str, from: &str, to: &str, elements: usize, theory: &str) -> String {
    format!(
        "[[beam]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\nelements = {elements}\nmaterial = \"s\"\nsection = \"r\"\ntheory = \"{theory}\"\n"
    )
}

fn support(at: &str, hold: &str) -> String {
    format!("[[support]]\nat = \"{at}\"\nhold = {hold}\n")
}

/// That `found` is `exact` within `tolerance`, which counts against `scale`.
fn close(what: &str, found: f64, exact: f64, scale: f64, tolerance: f64) {
    assert!(
        (found - exact).abs() <= tolerance * scale,
        "{what}: {found}, not {exact}"
    );
}

/// Positions are totals: a stretch of round-off, 1e-16 m, is a force of 1e-7 N in this steel. The exact beam balances in its bent
/// shape, whose sections turn by up to 2e-5.
const THEORIES: [(&str, f64); 2] = [("euler-bernoulli", 1e-7), ("exact", 1e-5)];

#[test]
fn a_cantilever_bears_its_load_at_every_node() {
    // A load along it as a force per length, a pressure across it, and its weight (g A density = 10 N/m), in two directions of the beam.
    let (length, q, n) = (2.0_f64, 10.0, 3.0);
    let weight = q / (7850.0 * 0.005);
    for (theory, tolerance) in THEORIES {
        for elements in [1, 5, 16] {
            for (kind, axial, load) in [
                (
                    "line",
                    n,
                    format!("[[load]]\nat = \"bm\"\nline_force = [{n}, {}]\n", -q),
                ),
                (
                    "pressed",
                    0.0,
                    format!("[[load]]\nat = \"bm\"\npressure = {q}\n"),
                ),
                (
                    "follower",
                    0.0,
                    format!("[[load]]\nat = \"bm\"\npressure = {q}\nfollower = true\n"),
                ),
                ("weight", 0.0, String::new()),
            ] {
                if kind == "follower" && theory != "exact" {
                    continue;
                }
                let gravity = if kind == "weight" { weight } else { 0.0 };
                let parts = beam("bm", "[0, 0]", "[2, 0]", elements, theory)
                    + &support("bm.start", "\"all\"")
                    + &load
                    + "[output]\nfields = [\"bm\"]\n";
                let model = frame(&parts).replace(
                    "saltus = 1\n",
                    &format!("saltus = 1\ngravity = [0, -{gravity:?}]\n"),
                );
                let csv = table("cantilever", &model);
                for k in 0..=elements {
                    let left = length * (1.0 - k as f64 / elements as f64);
                    let exact = [axial * left, -q * left, -0.5 * q * left * left];
                    // Pressure acts to the left of the beam's direction, on its lower side from above.
                    let sign = if column(&csv, "shear_force.bm.0")[0] > 0.0 {
                        1.0
                    } else {
                        -1.0
                    };
                    for (field, exact) in ["normal_force", "shear_force", "bending_moment"]
                        .into_iter()
                        .zip(exact)
                    {
                        let exact = if field == "normal_force" || sign < 0.0 {
                            exact
                        } else {
                            -exact
                        };
                        let found = column(&csv, &format!("{field}.bm.{k}"))[0];
                        // Linear elements of constant moment are exact at their ends.
                        close(
                            &format!("{theory} {elements} {kind} {field} {k}"),
                            found,
                            exact,
                            q * length * length,
                            tolerance,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn pinned_ends_have_no_moment_and_the_middle_has_its_own_sides() {
    for (theory, tolerance) in THEORIES {
        let parts = beam("bm", "[0, 0]", "[2, 0]", 6, theory)
            + &support("bm.start", "[\"x\", \"y\"]")
            + &support("bm.end", "[\"y\"]")
            + "[[load]]\nat = \"bm\"\nline_force = [0, -10]\n[[load]]\nat = \"bm.3\"\nforce = [0, -8]\n[output]\nfields = [\"bm\"]\n";
        let csv = table("pinned", &frame(&parts));
        for (name, exact) in [
            ("bending_moment.bm.0", 0.0),
            ("bending_moment.bm.6", 0.0),
            ("bending_moment.bm.3", 10.0 * 4.0 / 8.0 + 8.0 * 2.0 / 4.0),
            ("shear_force.bm.0", -14.0),
            ("shear_force.bm.3.start_side", -4.0),
            ("shear_force.bm.3.end_side", 4.0),
            ("shear_force.bm.6", 14.0),
        ] {
            // The sign of the moment is that of the curvature, of the shear force that of the force on a section with the axis as normal.
            close(name, column(&csv, name)[0], exact, 20.0, tolerance);
        }
    }
}

#[test]
fn members_at_a_joint_have_their_own_ends() {
    for theory in ["euler-bernoulli", "exact"] {
        let mut parts = beam("a", "[0, 0]", "[1, 0]", 12, theory);
        parts += &beam("b", "\"a.end\"", "[2, 0]", 12, theory);
        parts += &beam("c", "\"a.end\"", "[1, -1]", 12, theory);
        for far in ["a.start", "b.end", "c.end"] {
            parts += &support(far, "\"all\"");
        }
        parts +=
            "[[load]]\nat = \"a.end\"\nmoment = 300\n[output]\nfields = [\"a\", \"b\", \"c\"]\n";
        let csv = table("tee", &frame(&parts));
        let first = |name: &str| column(&csv, name)[0];
        for (name, exact) in [
            ("bending_moment.a.12", 100.0),
            ("bending_moment.b.0", -100.0),
            ("bending_moment.c.0", -100.0),
            ("bending_moment.a.0", -50.0),
            ("bending_moment.b.12", 50.0),
            ("bending_moment.c.12", 50.0),
        ] {
            // The members stretch a little, which lets the joint move.
            close(name, first(name), exact, 100.0, 2e-2);
        }
        let balance = first("bending_moment.a.12")
            - first("bending_moment.b.0")
            - first("bending_moment.c.0");
        close("balance", balance, 300.0, 300.0, 1e-9);
    }
}

#[test]
fn a_corner_turns_the_shear_force_of_one_leg_into_the_normal_force_of_the_other() {
    for (theory, tolerance) in [("euler-bernoulli", 1e-7), ("exact", 1e-3)] {
        let mut parts =
            beam("bm", "[0, 0]", "[1, 2]", 6, theory).replace("to =", "via = [[0, 2]]\nto =");
        parts += &support("bm.start", "\"all\"");
        parts += "[[load]]\nat = \"bm.end\"\nforce = [0, -100]\n[output]\nfields = [\"bm\"]\n";
        let csv = table("corner", &frame(&parts));
        let mut list = String::new();
        for (name, exact) in [
            ("normal_force.bm.4.start_side", -100.0),
            ("shear_force.bm.4.start_side", 0.0),
            ("normal_force.bm.4.end_side", 0.0),
            ("shear_force.bm.4.end_side", -100.0),
            ("bending_moment.bm.4", -100.0),
            ("bending_moment.bm.0", -100.0),
        ] {
            let found = column(&csv, name)[0];
            let _ = write!(list, "{name} {found} ");
            close(&list, found, exact, 100.0, tolerance);
        }
    }
}

#[test]
fn a_bar_hangs_on_its_weight_and_a_beam_in_space_on_all_of_it() {
    let mut parts = "gravity = [0, 0, -10]\n".to_owned();
    parts += &beam("bm", "[0, 0, 0]", "[0, 2, 0]", 8, "exact");
    parts += &support("bm.start", "\"all\"");
    parts += "[[load]]\nat = \"bm\"\nline_force = [0, 5, 0]\n[output]\nfields = [\"bm\"]\n";
    let model = frame("").replace(
        "saltus = 1\n",
        &format!(
            "saltus = 1\n{}",
            parts.split_once('\n').unwrap().0.to_owned() + "\n"
        ),
    );
    let model = model.replace(
        "[initial]",
        &format!("{}\n[initial]", parts.split_once('\n').unwrap().1),
    );
    let csv = table("space", &model);
    let weight = 7850.0 * 0.005 * 10.0;
    let size = |names: [&str; 2]| {
        let parts = names.map(|name| column(&csv, &format!("{name}.bm.0"))[0]);
        parts[0].hypot(parts[1])
    };
    close(
        "shear",
        size(["shear_force_2", "shear_force_3"]),
        2.0 * weight,
        weight,
        1e-4,
    );
    close(
        "moment",
        size(["bending_moment_2", "bending_moment_3"]),
        2.0 * weight,
        weight,
        1e-4,
    );
    close(
        "normal",
        column(&csv, "normal_force.bm.0")[0],
        10.0,
        weight,
        1e-3,
    );
    close(
        "torsion",
        column(&csv, "torsion_moment.bm.0")[0],
        0.0,
        weight,
        1e-9,
    );
    close(
        "tip",
        size(["shear_force_2", "shear_force_3"]) - 2.0 * weight,
        0.0,
        weight,
        1e-4,
    );

    // Hung at its start, from high to low and from low to high: a rod on a line counts its nodes either way.
    for (from, to, sign) in [("[0]", "[-2]", 1.0), ("[0]", "[2]", -1.0)] {
        let bar = format!(
            "saltus = 1\ngravity = [-10]\n[materials.s]\nyoung = 200e9\ndensity = 7850\n[sections.r]\narea = 0.005\n\
             [[bar]]\nname = \"bar\"\nfrom = {from}\nto = {to}\nelements = 4\nmaterial = \"s\"\nsection = \"r\"\n\
             [[load]]\nat = \"bar\"\nline_force = [\"7\"]\n[[mass]]\nname = \"m\"\nat = \"bar.2\"\nmass = 3\n\
             [[support]]\nat = \"bar.start\"\nhold = \"all\"\n[initial]\nequilibrium = true\n\
             [output]\nfields = [\"bar\"]\n[simulation]\nscheme = \"generalized-alpha\"\nstep = 1e-4\nuntil = 1e-4\n"
        );
        let csv = table("hanging", &bar);
        let line = weight - 7.0;
        for (name, exact) in [
            ("normal_force.bar.0", 2.0 * line + 30.0),
            ("normal_force.bar.2.start_side", line + 30.0),
            ("normal_force.bar.2.end_side", line),
            ("normal_force.bar.3", 0.5 * line),
            ("normal_force.bar.4", 0.0),
        ] {
            close(name, column(&csv, name)[0], sign * exact, weight, 1e-7);
        }
    }
}

#[test]
fn section_forces_of_a_moving_beam_balance_its_supports_and_its_free_end() {
    for theory in ["euler-bernoulli", "exact"] {
        let parts = beam("bm", "[0, 0]", "[2, 0]", 8, theory)
            + &support("bm.start", "\"all\"")
            + "[[load]]\nat = \"bm\"\nline_force = [0, \"-1000*sin(300*t)\"]\n[output]\nfields = [\"bm\"]\n";
        let model = frame(&parts)
            .replace("[initial]\nequilibrium = true\n", "")
            .replace("until = 1e-4", "until = 0.02")
            .replace(
                "\"generalized-alpha\"",
                "{ name = \"moreau-jean\", theta = 1.0 }",
            );
        let csv = table("moving", &model);
        let pick = |name: &str| column(&csv, name);
        let largest = pick("bending_moment.bm.0")
            .iter()
            .fold(0.0_f64, |m, x| m.max(x.abs()));
        assert!(largest > 1000.0, "{largest}");
        for (section, other, sign) in [
            ("shear_force.bm.0", "reaction.bm.start.y", -1.0),
            ("bending_moment.bm.0", "reaction.bm.start.moment", -1.0),
        ] {
            for (a, b) in pick(section).iter().zip(&pick(other)) {
                close(&format!("{theory} {section}"), *a, sign * b, largest, 1e-6);
            }
        }
        for name in ["shear_force.bm.8", "bending_moment.bm.8"] {
            for x in pick(name) {
                close(&format!("{theory} {name}"), x, 0.0, largest, 1e-6);
            }
        }
    }
}

#[test]
fn quantities_choose_the_sections_they_need() {
    let parts = beam("bm", "[0, 0]", "[2, 0]", 4, "euler-bernoulli")
        + &support("bm.start", "\"all\"")
        + "[[load]]\nat = \"bm\"\nline_force = [0, -10]\n[[load]]\nat = \"bm.2\"\nforce = [0, -1]\n\
           [output.quantities]\nroot = \"abs(bending_moment.bm.0)\"\njump = \"shear_force.bm.2.end_side - shear_force.bm.2.start_side\"\n";
    let csv = table("sections-in-quantities", &frame(&parts));
    close("root", column(&csv, "root")[0], 21.0, 1.0, 1e-9);
    close("jump", column(&csv, "jump")[0].abs(), 1.0, 1.0, 1e-9);
}
