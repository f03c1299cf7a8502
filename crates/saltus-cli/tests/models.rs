//! Models from outside: what `check` says of them, quantities, modes, and models to begin with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::Path;
use support::{folder, saltus};

/// Exit code, standard output and standard error.
fn said(at: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = saltus(arguments, at);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn summary(at: &Path, directory: &str) -> Value {
    let text = std::fs::read_to_string(at.join(directory).join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn good(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    path.join(name).display().to_string()
}

/// The column `name` of a CSV file; empty cells are not numbers.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let mut lines = csv.lines();
    let index = lines.next().unwrap().split(',').position(|c| c == name);
    let index = index.unwrap_or_else(|| panic!("no column {name}"));
    lines
        .map(|line| {
            line.split(',')
                .nth(index)
                .unwrap()
                .parse()
                .unwrap_or(f64::NAN)
        })
        .collect()
}

#[test]
fn quantities_are_columns_of_every_output_and_end_a_run() {
    let at = folder("quantities");
    let out = |arguments: &[&str]| {
        let common = [
            "run",
            &good("ball.toml"),
            "--set",
            "output.quantities.height=100*y",
            "--set",
            "output.quantities.weight=energy.kinetic + impulse.floor + speed",
            "--set",
            "output.quantities.speed=abs(v.y)",
            "--set",
            "output.units={ height = \"cm\", y = \"m\" }",
        ];
        let (code, out, err) = said(&at, &[&common[..], arguments].concat());
        assert_eq!((code, err.as_str()), (Some(0), ""));
        out
    };
    out(&[
        "--format", "csv", "--format", "npz", "--format", "hdf5", "--report",
    ]);
    let csv = std::fs::read_to_string(at.join("out/ball/trajectory.csv")).unwrap();
    let (y, height) = (column(&csv, "q.y"), column(&csv, "height"));
    let (kinetic, impulse) = (
        column(&csv, "energy.kinetic"),
        column(&csv, "impulse.floor"),
    );
    let (v, speed, weight) = (
        column(&csv, "v.y"),
        column(&csv, "speed"),
        column(&csv, "weight"),
    );
    assert_eq!(y.len(), 2001);
    for k in 0..y.len() {
        assert_eq!(height[k], 100.0 * y[k]);
        assert_eq!(speed[k], v[k].abs());
        assert_eq!(weight[k], kinetic[k] + impulse[k] + speed[k]);
    }
    let report = std::fs::read_to_string(at.join("out/ball/report.html")).unwrap();
    assert!(report.contains("Quantities") && report.contains("[cm]") && report.contains("[m/s]"));
    let bytes = std::fs::read(at.join("out/ball/trajectory.h5")).unwrap();
    assert!(bytes.windows(2).any(|pair| pair == b"cm"));

    // The first step at whose end the condition holds is the last one; a table is written in the form that is asked for only.
    let words = out(&["--set", "simulation.stop=height < 50", "--format", "npz"]);
    assert!(words.contains("where height < 50"), "{words}");
    let summary = summary(&at, "out/ball");
    assert_eq!(summary["stop"], "condition");
    assert_eq!(summary["stop_condition"], "height < 50");
    let last = height.iter().position(|h| *h < 50.0).unwrap();
    assert_eq!(summary["steps"], last);
    assert!(!at.join("out/ball/trajectory.csv").exists());
    assert!(at.join("out/ball/trajectory.npz").exists());
}

#[test]
fn wrong_quantities_are_refused_at_their_place() {
    let at = folder("wrong-quantities");
    for (set, words) in [
        (
            "output.quantities.a=gap.flor",
            "unknown symbol \"gap.flor\", did you mean \"gap.floor\"?",
        ),
        (
            "output.quantities.y=t",
            "a quantity cannot be called \"y\", which is a coordinate",
        ),
        (
            "output.quantities={ a = \"b\", b = \"1+a\" }",
            "quantities depend on themselves: \"a\", \"b\"",
        ),
        (
            "output.units.hight=m",
            "\"hight\" is neither a coordinate nor a quantity",
        ),
        ("simulation.stop=y", "this is not a comparison"),
        (
            "simulation.stop=slip.floor > 1",
            "unknown symbol \"slip.floor\"",
        ),
    ] {
        let (code, _, err) = said(&at, &["check", &good("ball.toml"), "--set", set]);
        assert_eq!(code, Some(2), "{set}: {err}");
        assert!(
            err.contains(words) && err.contains("--set:1:"),
            "{set}: {err}"
        );
    }
}

#[test]
fn nodes_of_flexible_parts_are_quantities_too() {
    let at = folder("nodes");
    let sets = ["--set", "output.quantities.tip=beam.0.y + v.beam.0.x"];
    let model = good("flexible.toml");
    let (code, _, err) = said(
        &at,
        &[&["run", model.as_str(), "--until", "1e-4"], &sets[..]].concat(),
    );
    assert_eq!(code, Some(0), "{err}");
    let csv = std::fs::read_to_string(at.join("out/flexible/trajectory.csv")).unwrap();
    let (y, v, tip) = (
        column(&csv, "q.beam.0.y"),
        column(&csv, "v.beam.0.x"),
        column(&csv, "tip"),
    );
    assert!(y.len() > 1 && (0..y.len()).all(|k| tip[k] == y[k] + v[k]));
}

/// The column `name` of what `saltus modes` writes for `model`.
fn modes(at: &Path, model: &str, arguments: &[&str], name: &str) -> Vec<f64> {
    std::fs::write(at.join("model.toml"), model).unwrap();
    let all = [&["modes", "model.toml", "--out", "modes"], arguments].concat();
    let (code, _, err) = said(at, &all);
    assert_eq!(code, Some(0), "{err}");
    column(
        &std::fs::read_to_string(at.join("modes/modes.csv")).unwrap(),
        name,
    )
}

const RUN: &str = "[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 1\n";

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert!(found.len() >= expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs(),
            "{found} {expected}"
        );
    }
}

#[test]
fn two_masses_on_springs_swing_as_their_closed_form_says() {
    let at = folder("modes-masses");
    // m = 2, k = 8 between the masses and to both walls: ω² = k/m and 3 k/m; C = 0.1 K has the ratios 0.05 ω.
    let model = format!(
        "saltus = 1\n[system]\ncoordinates = [\"x\", \"y\"]\nmass = [2, 2]\n\
         potential = \"4*(x^2 + y^2 + (x-y)^2)\"\ndissipation = \"0.4*(v.x^2 + v.y^2 + (v.x-v.y)^2)\"\n{RUN}"
    );
    let omega = modes(&at, &model, &[], "omega");
    assert_eq!(omega.len(), 2);
    close(&omega, &[2.0, 12_f64.sqrt()], 1e-12);
    close(
        &modes(&at, &model, &[], "damping_ratio"),
        &[0.1, 0.05 * 12_f64.sqrt()],
        1e-12,
    );
    let shapes = std::fs::read_to_string(at.join("modes/shapes.csv")).unwrap();
    close(&column(&shapes, "mode 1"), &[1.0, 1.0], 1e-10);
}

#[test]
fn a_pendulum_swings_alike_in_its_angle_and_on_its_constraint() {
    let at = folder("modes-pendulum");
    let head = "saltus = 1\n[parameters]\nm = 3\nL = 0.5\ng = 9.81\n[system]\n";
    let angle = format!(
        "{head}coordinates = [\"phi\"]\nmass = [\"m*L^2\"]\npotential = \"-m*g*L*cos(phi)\"\n{RUN}"
    );
    // In x and y the stiffness comes from the force of the rod alone; a second, redundant rod does no harm.
    let rod = "[[system.bilateral]]\nname = \"NAME\"\ng = \"x^2 + y^2 - L^2\"\n";
    let plane = |rods: &str| {
        format!(
            "{head}coordinates = [\"x\", \"y\"]\nmass = [\"m\", \"m\"]\nforce = [0, \"-m*g\"]\n{rods}\n\
             [initial]\nq = {{ x = 0, y = \"-L\" }}\n{RUN}"
        )
    };
    let omega = (9.81_f64 / 0.5).sqrt();
    let (one, two) = (rod.replace("NAME", "one"), rod.replace("NAME", "two"));
    for model in [angle, plane(&one), plane(&format!("{one}{two}"))] {
        let found = modes(&at, &model, &[], "omega");
        assert_eq!(found.len(), 1, "{found:?}");
        close(&found, &[omega], 1e-9);
    }
}

fn beam(elements: usize, kind: &str, more: &str) -> String {
    format!(
        "saltus = 1\n[materials.steel]\nyoung = 210e9\npoisson = 0.3\ndensity = 7800\n\
         [sections.strip]\nrectangle = {{ width = 0.02, height = 0.01 }}\n\
         [[{kind}]]\nname = \"part\"\nfrom = [0, 0]\nto = [2, 0]\nelements = {elements}\nmaterial = \"steel\"\nsection = \"strip\"\n\
         {more}\n{RUN}"
    )
}

#[test]
fn a_clamped_beam_has_the_frequencies_of_euler_and_bernoulli() {
    let at = folder("modes-beam");
    let clamped = "theory = \"euler-bernoulli\"\n[[support]]\nat = \"part.start\"\n";
    // βL of the clamped-free beam; √(EI/ρA) = h √(E/12ρ).
    let betas = [
        1.875_104_068_711_961,
        4.694_091_132_974_175,
        7.854_757_438_237_613,
    ];
    let speed = 0.01 * (210e9_f64 / 12.0 / 7800.0).sqrt();
    let omegas = betas.map(|b: f64| (b / 2.0).powi(2) * speed);
    // From a band of 60 unknowns to one of 3000: the discretisation is worth less than 1e-6 at 40 elements.
    for elements in [20, 40, 1000] {
        let found = modes(
            &at,
            &beam(elements, "beam", clamped),
            &["--count", "3"],
            "omega",
        );
        let tolerance = if elements == 20 { 2e-5 } else { 2e-6 };
        close(&found, &omegas, tolerance);
    }
    assert!(at.join("modes/shapes.pvd").exists());
    assert!(at.join("modes/vtk/frame-00000003.vtu").exists());
}

#[test]
fn a_free_bar_moves_as_a_whole_first() {
    let at = folder("modes-bar");
    let model = beam(400, "bar", "")
        .replace("[0, 0]", "[0]")
        .replace("[2, 0]", "[2]");
    let found = modes(&at, &model, &["--count", "4"], "omega");
    // n π c / L; linear elements are too stiff by (n π / N)² / 24.
    let c = (210e9_f64 / 7800.0).sqrt();
    let exact = [1.0, 2.0, 3.0].map(|n| n * std::f64::consts::PI * c / 2.0);
    assert_eq!(found[0], 0.0);
    close(&found[1..], &exact, 3e-5);
    let corrected = |n: f64| (n * std::f64::consts::PI / 400.0).powi(2) / 24.0;
    for (k, (found, exact)) in found[1..].iter().zip(exact).enumerate() {
        let error = (found / exact - 1.0) / corrected((k + 1) as f64);
        assert!((error - 1.0).abs() < 1e-3, "{error}");
    }
}
