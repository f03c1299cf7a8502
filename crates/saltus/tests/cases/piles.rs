//! Small piles of discs between two walls: steps whose contact problem, linearised with rows that turn with the velocity, has no
//! solution, or one that rounding hides, although the step has one.

use saltus::Simulation;
use saltus_model::{Format, Model};
use std::fmt::Write as _;

/// A disc: radius [m], mass [kg], start x [m], start speed along x [m/s]; the discs start above one another.
type Disc = (f64, f64, f64, f64);

/// Discs that fall between walls at x = 0 and 0.6 m, with friction and restitution at every contact.
fn pile(discs: &[Disc], (e, mu): (f64, f64), scheme: &str, until: f64) -> String {
    let mut contacts = String::new();
    let mut contact = |name: String, gap: String, slip: String| {
        let law = format!("restitution = {e}, friction = {mu}");
        let _ = writeln!(
            contacts,
            "  {{ name = \"{name}\", gap = \"{gap}\", tangential_velocity = \"{slip}\", {law} }},"
        );
    };
    for (i, &(r, ..)) in discs.iter().enumerate() {
        let gap = |text: &str| format!("{text}-{r}");
        contact(
            format!("f{i}"),
            gap(&format!("y{i}")),
            format!("v.x{i}+{r}*v.p{i}"),
        );
        contact(
            format!("l{i}"),
            gap(&format!("x{i}")),
            format!("-v.y{i}+{r}*v.p{i}"),
        );
        contact(
            format!("r{i}"),
            gap(&format!("0.6-x{i}")),
            format!("v.y{i}+{r}*v.p{i}"),
        );
        for (j, &(other, ..)) in discs[..i].iter().enumerate() {
            let far = format!("hypot(x{i}-x{j},y{i}-y{j})");
            contact(
                format!("c{j}_{i}"),
                format!("{far}-{:.4}", r + other),
                format!(
                    "((x{i}-x{j})/{far})*(v.y{i}-v.y{j})-((y{i}-y{j})/{far})*(v.x{i}-v.x{j})-{r}*v.p{i}-{other}*v.p{j}"
                ),
            );
        }
    }
    let each = |value: &dyn Fn(usize, Disc) -> String| {
        let all = discs.iter().enumerate().map(|(i, d)| value(i, *d));
        all.collect::<Vec<_>>().join(", ")
    };
    format!(
        "saltus = 1\nsystem.coordinates = [{}]\nsystem.mass = [{}]\nsystem.force = [{}]\n\
         system.unilateral = [\n{contacts}]\ninitial.q = {{ {} }}\ninitial.v = {{ {} }}\n\
         simulation = {{ scheme = {scheme}, step = 1e-3, until = {until} }}\n",
        each(&|i, _| format!("\"x{i}\", \"y{i}\", \"p{i}\"")),
        each(&|_, (r, m, ..)| format!("{m}, {m}, {:e}", 0.5 * m * r * r)),
        each(&|_, (_, m, ..)| format!("0.0, {}, 0.0", -9.81 * m)),
        each(&|i, (_, _, x, _)| format!("x{i} = {x}, y{i} = {}", 0.2 + 0.32 * i as f64)),
        each(&|i, (_, _, _, v)| format!("x{i} = {v}")),
    )
}

fn runs(discs: &[Disc], law: (f64, f64), scheme: &str, until: f64) {
    let text = pile(discs, law, scheme, until);
    let model = Model::parse("model", "model", text, Format::Toml, &[]).unwrap();
    let run = Simulation::new(&*model.system, model.scheme.clone())
        .start(model.initial.clone())
        .step(model.plan.step)
        .until(model.plan.until)
        .record();
    let run = run.unwrap_or_else(|error| panic!("{scheme}: {error}"));
    let certificate = &run.outcome().unwrap().certificate;
    let heaviest = discs.iter().map(|disc| disc.1).fold(1.0, f64::max);
    for (entry, worst, _) in certificate.iter() {
        // What sticks may slip by the tolerance, relative to speeds of a few m/s; laws hold to it in energies of as many kilograms.
        let bound = match entry.name() {
            "stick_velocity" => 1e-8,
            "complementarity_velocity" => 1e-9 * heaviest,
            _ => continue,
        };
        let name = entry.name();
        assert!(worst < bound, "{scheme}: {name} {worst:e} of {bound:e}");
    }
}

#[test]
fn a_step_that_is_solvable_only_with_directions_that_stay_is_taken() {
    let three = [
        (0.134, 1.7956, 0.248, 0.24),
        (0.115, 1.3225, 0.274, -0.4),
        (0.113, 1.2769, 0.272, 1.48),
    ];
    runs(&three, (0.0, 0.5), r#""moreau-jean""#, 0.4);
    let heavy = [
        (0.095, 0.9025, 0.186, 0.65),
        (0.126, 79.38, 0.263, 1.13),
        (0.101, 51.005, 0.376, -0.08),
    ];
    let scheme = r#"{ name = "moreau-jean", theta = 1.0, gamma = 1.0 }"#;
    runs(&heavy, (0.0, 0.8), scheme, 1.1);
    let four = [
        (0.105, 1.1025, 0.199, -1.55),
        (0.141, 1.9881, 0.252, -0.71),
        (0.148, 2.1904, 0.256, -0.04),
        (0.13, 1.69, 0.266, -0.67),
    ];
    let scheme = r#"{ name = "moreau-jean", evaluation = "weighted-accelerations" }"#;
    runs(&four, (0.0, 0.8), scheme, 0.5);
}

#[test]
fn a_step_of_six_discs_on_which_newton_cycles_is_taken() {
    let six = [
        (0.099, 0.9801, 0.163, 1.52),
        (0.094, 44.18, 0.403, 0.21),
        (0.088, 0.7744, 0.329, 0.23),
        (0.133, 1.7689, 0.371, 0.13),
        (0.083, 0.6889, 0.312, 1.39),
        (0.132, 87.12, 0.168, 1.4),
    ];
    runs(&six, (0.0, 0.5), r#""moreau-jean""#, 1.2);
}

#[test]
fn a_residual_below_the_tolerance_of_the_step_ends_no_run() {
    let five = [
        (0.141, 1.9881, 0.19, -1.17),
        (0.091, 41.405, 0.274, -0.11),
        (0.135, 91.125, 0.353, 1.4),
        (0.113, 1.2769, 0.394, -0.23),
        (0.119, 70.805, 0.198, 1.15),
    ];
    let scheme = r#"{ name = "moreau-jean", evaluation = "weighted-forces" }"#;
    runs(&five, (0.3, 0.95), scheme, 0.75);
}
