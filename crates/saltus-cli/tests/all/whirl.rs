//! Modes with gyroscopic forces against closed forms.

use crate::support::{column, folder, said};

fn modes(name: &str, system: &str) -> (String, String) {
    let at = folder(name);
    let model = format!(
        "saltus = 1\n[system]\n{system}\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 1\n"
    );
    std::fs::write(at.join("model.toml"), model).unwrap();
    let (code, out, err) = said(&at, &["modes", "model.toml", "--out", "out"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let table = std::fs::read_to_string(at.join("out/modes.csv")).unwrap();
    (table, out + &err)
}

fn close(found: &[f64], exact: &[f64], tolerance: f64) {
    assert_eq!(found.len(), exact.len(), "{found:?}");
    for (found, exact) in found.iter().zip(exact) {
        assert!(
            (found - exact).abs() <= tolerance * exact.abs().max(1.0),
            "{found}, not {exact}"
        );
    }
}

const PLANE: &str =
    "coordinates = [\"x\", \"y\"]\nmass = [1.0, 1.0]\npotential = \"50*(x^2+y^2)\"\n";

#[test]
fn coriolis_forces_split_a_pair_of_frequencies() {
    let (table, said) = modes(
        "coriolis",
        &format!("{PLANE}force = [\"4*v.y\", \"-4*v.x\"]"),
    );
    let root = 104.0_f64.sqrt();
    close(&column(&table, "omega"), &[root - 2.0, root + 2.0], 1e-9);
    close(&column(&table, "growth"), &[0.0, 0.0], 1e-9);
    assert!(said.contains("gyroscopic forces count"), "{said}");
    // Circles, one of either sense.
    let at = folder("coriolis-shapes");
    let model = format!(
        "saltus = 1\n[system]\n{PLANE}force = [\"4*v.y\", \"-4*v.x\"]\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 1\n"
    );
    std::fs::write(at.join("model.toml"), model).unwrap();
    assert_eq!(
        crate::support::said(&at, &["modes", "model.toml", "--out", "out"]).0,
        Some(0)
    );
    let shapes = std::fs::read_to_string(at.join("out/shapes.csv")).unwrap();
    let turn = |k: usize| {
        let (now, later) = (
            column(&shapes, &format!("mode {k}")),
            column(&shapes, &format!("mode {k} a quarter later")),
        );
        now[0] * later[1] - now[1] * later[0]
    };
    // The force turns velocities to the right: the fast motion goes with it.
    assert!(turn(1) > 0.9 && turn(2) < -0.9, "{} {}", turn(1), turn(2));
}

#[test]
fn a_mass_in_a_frame_that_turns_faster_than_it_vibrates_is_stable() {
    let kinetic = "coordinates = [\"x\", \"y\"]\nkinetic = \"0.5*((v.x-12*y)^2+(v.y+12*x)^2)\"\npotential = \"50*(x^2+y^2)\"\n";
    let (table, said) = modes("turning", kinetic);
    close(&column(&table, "omega"), &[2.0, 22.0], 1e-9);
    close(&column(&table, "growth"), &[0.0, 0.0], 1e-9);
    assert!(!said.contains("grows"), "{said}");
    // Without a spring it is free: it goes straight on, which the frame sees as ω = 12 twice.
    let free = "coordinates = [\"x\", \"y\"]\nmass = [2.0, 2.0]\nforce = [\"6*v.y\", \"-6*v.x\"]\n";
    let (table, _) = modes("magnetic", free);
    close(&column(&table, "omega"), &[0.0, 3.0], 1e-9);
}

#[test]
fn gyroscopic_forces_count_within_constraints_and_with_damping() {
    // The third coordinate is tied to the first, and adds its mass and its spring.
    let tied = "coordinates = [\"x\", \"y\", \"z\"]\nmass = [0.5, 1.0, 0.5]\npotential = \"50*y^2+30*x^2+20*z^2\"\n\
                dissipation = \"0.05*(v.x^2+v.y^2)\"\nforce = [\"4*v.y\", \"-4*v.x\", \"0\"]\n\
                [[system.bilateral]]\nname = \"tie\"\ng = \"x-z\"\n";
    let (table, _) = modes("tied", tied);
    let root = 104.0_f64.sqrt();
    let exact = [root - 2.0, root + 2.0];
    close(&column(&table, "omega"), &exact, 1e-9);
    // λ² + (0.1 ∓ 4i) λ + 100 = 0 in the complex coordinate x + iy: ζ = 0.1 / (2 √104) to the first order.
    close(&column(&table, "damping_ratio"), &[0.05 / root; 2], 1e-9);
}

#[test]
fn flutter_by_gyroscopic_forces_and_a_repelling_spring_is_told() {
    // λ² ± i g λ − k = 0 has growing roots where g² < 4 k.
    let model = "coordinates = [\"x\", \"y\"]\nmass = [1.0, 1.0]\npotential = \"-8*(x^2+y^2)\"\nforce = [\"4*v.y\", \"-4*v.x\"]\n";
    let (table, said) = modes("flutter", model);
    let grow = 12.0_f64.sqrt();
    close(&column(&table, "omega"), &[2.0, 2.0], 1e-6);
    let mut growth = column(&table, "growth");
    growth.sort_by(f64::total_cmp);
    close(&growth, &[-grow, grow], 1e-6);
    assert!(said.contains("flutters"), "{said}");
}
