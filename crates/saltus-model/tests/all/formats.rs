//! TOML, YAML and JSON read the same document.

use saltus_model::{Format, Model};

const TOML: &str = r#"
saltus = 1
title = "Pendulum against a wall"
[parameters]
m = 1.5
L = 2
phi0 = "asin(1)/2"
[tables.push]
x = [0, 1, 2.5]
y = [0, 5, 5]
[system]
coordinates = ["phi"]
kinetic = "0.5*m*L^2*v.phi^2"
potential = "-m*9.81*L*cos(phi)"
dissipation = "0.05*v.phi^2"
force = ["push(t)"]
[[system.unilateral]]
name = "wall"
gap = "phi"
restitution = 0.5
tangential = ["phi"]
friction = 0
[initial]
q.phi = "phi0"
v = { phi = 0 }
[simulation]
step = 1e-3
until = 2
[simulation.scheme]
name = "moreau-jean"
theta = 0.5
[output]
every = 10
formats = ["csv", "npz"]
"#;

const YAML: &str = r#"
# The same in YAML.
saltus: 1
title: Pendulum against a wall
parameters: {m: 1.5, L: 2, phi0: asin(1)/2}
tables:
  push:
    x: [0, 1, 2.5]
    y: [0, 5, 5]
system:
  coordinates: [phi]
  kinetic: 0.5*m*L^2*v.phi^2
  potential: -m*9.81*L*cos(phi)
  dissipation: 0.05*v.phi^2
  force: [push(t)]
  unilateral:
    - name: wall
      gap: phi
      restitution: 0.5
      tangential: [phi]
      friction: 0
initial:
  q: {phi: phi0}
  v: {phi: 0}
simulation:
  step: 1e-3
  until: 2
  scheme: {name: moreau-jean, theta: 0.5}
output:
  every: 10
  formats: [csv, npz]
"#;

const JSON: &str = r#"{
  "saltus": 1,
  "title": "Pendulum against a wall",
  "parameters": { "m": 1.5, "L": 2, "phi0": "asin(1)/2" },
  "tables": { "push": { "x": [0, 1, 2.5], "y": [0, 5, 5] } },
  "system": {
    "coordinates": ["phi"],
    "kinetic": "0.5*m*L^2*v.phi^2",
    "potential": "-m*9.81*L*cos(phi)",
    "dissipation": "0.05*v.phi^2",
    "force": ["push(t)"],
    "unilateral": [
      { "name": "wall", "gap": "phi", "restitution": 0.5, "tangential": ["phi"], "friction": 0 }
    ]
  },
  "initial": { "q": { "phi": "phi0" }, "v": { "phi": 0 } },
  "simulation": { "step": 1e-3, "until": 2, "scheme": { "name": "moreau-jean", "theta": 0.5 } },
  "output": { "every": 10, "formats": ["csv", "npz"] }
}"#;

fn load(text: &str, format: Format) -> Model {
    Model::parse("pendulum", "pendulum", text.to_owned(), format, &[])
        .unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn the_three_formats_agree() {
    let toml = load(TOML, Format::Toml);
    for other in [load(YAML, Format::Yaml), load(JSON, Format::Json)] {
        assert_eq!(toml.document, other.document);
        assert_eq!(toml.initial, other.initial);
        assert_eq!(toml.plan, other.plan);
        assert_eq!(toml.scheme, other.scheme);
    }
    assert_eq!(toml.initial.q, [std::f64::consts::FRAC_PI_4]);
}

#[test]
fn a_written_document_reads_back() {
    let model = load(TOML, Format::Toml);
    let text = serde_json::to_string(&model.document).unwrap();
    assert_eq!(load(&text, Format::Json).document, model.document);
}

#[test]
fn line_ends_and_byte_order_marks_make_no_difference() {
    let folder = std::env::temp_dir().join(format!("saltus-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.toml");
    std::fs::write(&path, format!("\u{FEFF}{}", TOML.replace('\n', "\r\n"))).unwrap();
    let model = Model::load(&path, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(model.document, load(TOML, Format::Toml).document);
    assert_eq!(
        Some(model.name.as_str()),
        folder.file_name().and_then(|name| name.to_str())
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
