//! Models from outside: what `check` says of them, quantities, modes, and models to begin with.

use crate::support::{column, folder, said};
use serde_json::Value;
use std::path::Path;

fn summary(at: &Path, directory: &str) -> Value {
    let text = std::fs::read_to_string(at.join(directory).join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn good(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    path.join(name).display().to_string()
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
        // That a result without CSV cannot be gone on with is noted.
        let told: Vec<&str> = err
            .lines()
            .filter(|l| !l.contains("--format csv"))
            .collect();
        assert_eq!((code, told), (Some(0), Vec::new()));
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
    let clamped =
        "theory = \"euler-bernoulli\"\n[[support]]\nat = \"part.start\"\nhold = \"all\"\n";
    // βL of the clamped-free beam; √(EI/ρA) = h √(E/12ρ).
    let betas = [
        1.875_104_068_711_961,
        4.694_091_132_974_175,
        7.854_757_438_237_613,
    ];
    let speed = 0.01 * (210e9_f64 / 12.0 / 7800.0).sqrt();
    let omegas = betas.map(|b: f64| (b / 2.0).powi(2) * speed);
    // The error of the discretisation falls with the fourth power, that of round-off in the stiffness grows with it.
    for (elements, tolerance) in [(20, 2e-5), (40, 2e-6), (200, 2e-6), (1000, 1e-3)] {
        let model = beam(elements, "beam", clamped);
        close(
            &modes(&at, &model, &["--count", "3"], "omega"),
            &omegas,
            tolerance,
        );
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

#[test]
fn models_to_begin_with_run() {
    let at = folder("init");
    for template in ["pendulum", "beam", "contact"] {
        let (code, out, err) = said(&at, &["init", template]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{template}");
        let file = format!("{template}.toml");
        assert!(out.contains(&file), "{out}");
        let text = std::fs::read_to_string(at.join(&file)).unwrap();
        assert!(text.contains(&format!("saltus run {file}")), "{text}");
        let (code, out, err) = said(&at, &["check", &file]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{template}");
        assert!(!out.contains("warning"), "{template}: {out}");
        let (code, _, err) = said(&at, &["run", &file, "--quiet"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{template}");
        // A second time the file stays as it is.
        let (code, _, err) = said(&at, &["init", template]);
        assert_eq!(code, Some(2));
        assert!(err.contains("is there already"), "{err}");
        assert_eq!(std::fs::read_to_string(at.join(&file)).unwrap(), text);
    }
    assert_eq!(said(&at, &["init", "beam", "bridge.toml"]).0, Some(0));
    assert!(at.join("bridge.toml").exists());
    assert_eq!(said(&at, &["init", "beam", "bridge.txt"]).0, Some(2));
    assert_eq!(said(&at, &["init", "bridge"]).0, Some(2));
}

/// A beam in equilibrium under a force at its tip, with columns of what its ends bear.
fn cantilever(elements: usize, theory: &str) -> String {
    format!(
        "saltus = 1\n[sections.s]\nstiffness = {{ axial = 1e6, bending = 1e4{} }}\nline_density = 1\nrotary_inertia = 1e-3\n\
         [[beam]]\nname = \"beam\"\nfrom = [0, 0]\nto = [2, 0]\nelements = {elements}\nsection = \"s\"\ntheory = \"{theory}\"\n\
         [[support]]\nat = \"beam.start\"\nhold = \"all\"\n\
         [[load]]\nat = \"beam.end\"\nforce = [3, -25]\n[[load]]\nat = \"beam.start\"\nforce = [0, -7]\n\
         [initial]\nequilibrium = true\n[output]\nfields = [\"beam.start\", \"beam.end\"]\n\
         [simulation]\nscheme = \"generalized-alpha\"\nstep = 1e-3\nuntil = 2e-3\n",
        if theory == "exact" {
            ", shear = 1e6"
        } else {
            ""
        }
    )
}

#[test]
fn ends_of_beams_and_supports_bear_what_is_put_on_them() {
    let at = folder("ends");
    for (theory, elements, tolerance) in [
        ("euler-bernoulli", 5, 1e-9),
        ("euler-bernoulli", 20, 1e-9),
        ("exact", 5, 1e-6),
        ("exact", 20, 1e-6),
    ] {
        std::fs::write(at.join("model.toml"), cantilever(elements, theory)).unwrap();
        let (code, _, err) = said(&at, &["run", "model.toml", "--out", "out"]);
        assert_eq!(code, Some(0), "{theory} {elements}: {err}");
        assert!(err.contains("the support bears all of it"), "{err}");
        let csv = std::fs::read_to_string(at.join("out/trajectory.csv")).unwrap();
        let first = |name: &str| column(&csv, name)[0];
        let end = format!("beam.{elements}");
        // The lever arm is that of the bent beam; the linear one knows the straight one.
        let arms = if theory == "exact" {
            [first(&format!("q.{end}.x")), first(&format!("q.{end}.y"))]
        } else {
            [2.0, 0.0]
        };
        let moment = -25.0 * arms[0] - 3.0 * arms[1];
        for (name, expected) in [
            ("bending_moment.beam.0", moment),
            ("reaction.beam.start.x", -3.0),
            ("reaction.beam.start.y", 32.0),
            ("reaction.beam.start.moment", -moment),
        ] {
            let found = first(name);
            assert!(
                (found - expected).abs() <= tolerance * 50.0,
                "{theory} {elements} {name}: {found} {expected}"
            );
        }
        assert!(first(&format!("bending_moment.{end}")).abs() <= tolerance * 50.0);
    }
}

#[test]
fn supports_bear_inertia_and_weight_too() {
    let at = folder("swinging");
    // A falling bar on a support: the momentum of bar and support balances weight and reaction in every step.
    let model = "saltus = 1\ngravity = [-10]\n[materials.m]\nyoung = 1e6\ndensity = 1000\n[sections.s]\narea = 1e-3\n\
         [[bar]]\nname = \"bar\"\nfrom = [0]\nto = [1]\nelements = 10\nmaterial = \"m\"\nsection = \"s\"\n\
         [[support]]\nat = \"bar.start\"\nhold = \"all\"\n\
         [output.quantities]\nmomentum = \"0.1*(v.bar.1.x + v.bar.2.x + v.bar.3.x + v.bar.4.x + v.bar.5.x + v.bar.6.x + v.bar.7.x + v.bar.8.x + v.bar.9.x + v.bar.10.x/2)\"\n\
         [simulation]\nscheme = { name = \"moreau-jean\", theta = 1.0 }\nstep = 1e-3\nuntil = 0.2\n";
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, _, err) = said(&at, &["run", "model.toml", "--out", "out"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let csv = std::fs::read_to_string(at.join("out/trajectory.csv")).unwrap();
    let (force, momentum) = (
        column(&csv, "reaction.bar.start.x"),
        column(&csv, "momentum"),
    );
    // With theta = 1 the forces are those of the end of the step. The mass is 1 kg.
    for k in 1..force.len() {
        let rate = (momentum[k] - momentum[k - 1]) / 1e-3;
        assert!(
            (rate - (force[k] - 10.0)).abs() < 1e-6 * 20.0,
            "{k}: {rate} {}",
            force[k]
        );
    }
}

#[test]
fn fine_slender_beams_find_their_equilibrium_and_loose_ones_are_named() {
    let at = folder("slender");
    let model = |n: usize, ends: &str| {
        format!(
            "saltus = 1\n[sections.s]\nstiffness = {{ axial = 1e7, shear = 1e7, bending = 1 }}\nline_density = 1\nrotary_inertia = 1e-4\n\
             [[beam]]\nname = \"beam\"\nfrom = [0, 0]\nto = [1, 0]\nelements = {n}\nsection = \"s\"\n\
             [[support]]\nat = \"beam.start\"\nhold = {ends}\n[[load]]\nat = \"beam.end\"\nforce = [0, 5]\n\
             [initial]\nequilibrium = true\n[simulation]\nscheme = \"generalized-alpha\"\nstep = 1e-3\nuntil = 1e-3\n"
        )
    };
    // Tip of the elastica for P L² / E I = 5 (Mattiasson 1981): v / L = 0.71379.
    for n in [100, 500, 700, 1000] {
        std::fs::write(at.join("model.toml"), model(n, "\"all\"")).unwrap();
        let (code, _, err) = said(&at, &["run", "model.toml", "--out", "out"]);
        assert_eq!(code, Some(0), "{n}: {err}");
        let csv = std::fs::read_to_string(at.join("out/trajectory.csv")).unwrap();
        let tip = column(&csv, &format!("q.beam.{n}.y"))[0];
        assert!((tip - 0.71379).abs() < 1e-4, "{n}: {tip}");
    }
    for n in [10, 300] {
        std::fs::write(at.join("model.toml"), model(n, "[\"x\", \"y\"]")).unwrap();
        let (code, _, err) = said(&at, &["check", "model.toml"]);
        assert_eq!(code, Some(2), "{n}: {err}");
        assert!(
            err.contains("meets no resistance") && err.contains("a motion of beam."),
            "{n}: {err}"
        );
    }
}

#[test]
fn slender_beams_use_rotary_inertia_and_refuse_shear() {
    let at = folder("ebshear");
    let model = |shear: &str, inertia: f64| {
        format!(
            "saltus = 1\n[sections.s]\nstiffness = {{ axial = 1e6, bending = 1e4{shear} }}\nline_density = 1\nrotary_inertia = {inertia}\n\
             [[beam]]\nname = \"b\"\nfrom = [0, 0]\nto = [1, 0]\nelements = 40\nsection = \"s\"\ntheory = \"euler-bernoulli\"\n\
             [[support]]\nat = \"b.start\"\nhold = [\"x\", \"y\"]\n[[support]]\nat = \"b.end\"\nhold = [\"y\"]\n{RUN}"
        )
    };
    // Rayleigh's beam on two supports: ω² = (EI / ρA) k⁴ / (1 + (ρI / ρA) k²), k = π / L.
    let k = std::f64::consts::PI;
    for inertia in [0.0, 0.05] {
        let omega = (1e4 * k.powi(4) / (1.0 + inertia * k * k)).sqrt();
        close(
            &modes(&at, &model("", inertia), &["--count", "1"], "omega"),
            &[omega],
            1e-5,
        );
    }
    std::fs::write(at.join("model.toml"), model(", shear = 1e-9", 0.0)).unwrap();
    let (code, _, err) = said(&at, &["check", "model.toml"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("knows no shear") && err.contains("model.toml:3:"),
        "{err}"
    );
}

/// The warnings of `saltus check` on `model`.
fn warnings(at: &Path, model: &str) -> Vec<String> {
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, out, err) = said(at, &["check", "model.toml"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{model}");
    let lines = out
        .lines()
        .filter_map(|line| line.trim().strip_prefix("warning"));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn what_is_probably_not_meant_is_told() {
    let at = folder("doubts");
    let oscillator = |more: &str, step: &str, until: &str| {
        format!(
            "saltus = 1\n[system]\ncoordinates = [\"x\"]\nmass = [1]\npotential = \"50*x^2\"\n{more}\n\
             [simulation]\nscheme = \"moreau-jean\"\nstep = {step}\nuntil = {until}\n"
        )
    };
    assert_eq!(
        warnings(&at, &oscillator("", "1e-3", "1")),
        Vec::<String>::new()
    );
    for (model, words) in [
        (oscillator("", "100", "6"), "longer than the simulation"),
        (
            oscillator("", "1e-12", "6"),
            "the result of all steps takes about",
        ),
        (oscillator("", "100", "1000"), "makes 159 periods"),
        (
            oscillator("[output.quantities]\na = \"sqrt(x - 1)\"", "1e-3", "1"),
            "the quantity \"a\" is not a number",
        ),
        (
            oscillator("", "1e-3", "1") + "stop = \"x < 1\"\n",
            "holds at the start",
        ),
    ] {
        let found = warnings(&at, &model);
        assert!(
            found.iter().any(|line| line.contains(words)),
            "{words}: {found:?}"
        );
    }
}

/// A Gmsh 4.1 file of quadrilaterals, each with its four nodes, on nodes in the plane.
fn mesh(nodes: &[[f64; 2]], cells: &[[usize; 4]]) -> String {
    let mut text = format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 1 \"body\"\n$EndPhysicalNames\n\
         $Entities\n0 0 1 0\n1 0 0 0 1 1 0 1 1 0\n$EndEntities\n$Nodes\n1 {0} 1 {0}\n2 1 0 {0}\n",
        nodes.len()
    );
    (1..=nodes.len()).for_each(|n| text += &format!("{n}\n"));
    nodes
        .iter()
        .for_each(|[x, y]| text += &format!("{x} {y} 0\n"));
    text += &format!(
        "$EndNodes\n$Elements\n1 {0} 1 {0}\n2 1 3 {0}\n",
        cells.len()
    );
    for (k, cell) in cells.iter().enumerate() {
        text += &format!(
            "{} {} {} {} {}\n",
            k + 1,
            cell[0],
            cell[1],
            cell[2],
            cell[3]
        );
    }
    text + "$EndElements\n"
}

#[test]
fn meshes_that_do_not_hang_together_are_told() {
    let at = folder("meshes");
    let solid = |name: &str, file: &str| {
        format!(
            "[[solid]]\nname = \"{name}\"\nmesh = \"{file}\"\nregion = \"body\"\nmaterial = \"rubber\"\nplane = \"strain\"\n"
        )
    };
    let head = format!(
        "saltus = 1\n[materials.rubber]\nyoung = 1e6\npoisson = 0.3\ndensity = 1000\n{RUN}"
    );
    let square = |x: f64| [[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 1.0]];
    let apart = [square(0.0), square(2.0)].concat();
    let twice = [square(0.0), square(1.0)].concat();
    // Two small squares beside a large one: the node between them hangs on its edge.
    let mut hanging = square(0.0).to_vec();
    hanging.extend([[1.0, 0.5], [1.5, 0.0], [1.5, 0.5], [1.5, 1.0]]);
    let hang = [[1, 2, 3, 4], [2, 6, 7, 5], [5, 7, 8, 3]];
    for (nodes, cells, words) in [
        (square(0.0).to_vec(), vec![[1, 2, 3, 4]], ""),
        (apart, vec![[1, 2, 3, 4], [5, 6, 7, 8]], "is in 2 pieces"),
        (
            twice,
            vec![[1, 2, 3, 4], [5, 6, 7, 8]],
            "2 pairs of nodes are at one place",
        ),
        (
            square(0.0).to_vec(),
            vec![[1, 2, 3, 4], [1, 2, 3, 4]],
            "mass and stiffness are there twice",
        ),
        (hanging, hang.to_vec(), "1 node lies on the edge"),
    ] {
        std::fs::write(at.join("mesh.msh"), mesh(&nodes, &cells)).unwrap();
        let found = warnings(&at, &(head.clone() + &solid("body", "mesh.msh")));
        if words.is_empty() {
            assert_eq!(found, Vec::<String>::new());
        } else {
            assert!(
                found.iter().any(|line| line.contains(words)),
                "{words}: {found:?}"
            );
        }
    }
    let boxes = |x: f64| {
        let one = |name: &str, x: f64| {
            format!(
                "[[solid]]\nname = \"{name}\"\nbox = {{ from = [{x}, 0], to = [{}, 1], divisions = [2, 2] }}\nmaterial = \"rubber\"\nplane = \"strain\"\n",
                x + 1.0
            )
        };
        head.clone() + &one("left", 0.0) + &one("right", x)
    };
    assert_eq!(warnings(&at, &boxes(1.5)), Vec::<String>::new());
    let found = warnings(&at, &boxes(0.75));
    assert!(
        found
            .iter()
            .any(|line| line.contains("\"left\" and \"right\" overlap")),
        "{found:?}"
    );
}
