//! Definitions of models, and a dense matrix to look at what a system sends.

use saltus_linear::MatrixSink;
use saltus_model::definition::{
    BilateralDefinition, Definition, Formula, MassDefinition, Source, TableDefinition,
    UnilateralDefinition,
};

/// A formula, which is a number where it can be read as one.
pub fn formula(text: &str, place: &str) -> Formula {
    let source = text
        .parse()
        .map_or_else(|_| Source::Text(text.to_owned()), Source::Number);
    Formula::new(source, place)
}

fn list(texts: &[&str], place: &str) -> Vec<Formula> {
    texts
        .iter()
        .enumerate()
        .map(|(i, text)| formula(text, &format!("{place}[{i}]")))
        .collect()
}

/// Writes a definition down briefly.
#[derive(Debug, Clone, Default)]
pub struct Model(pub Definition);

impl Model {
    pub fn new(coordinates: &[&str]) -> Self {
        let named = coordinates.iter().enumerate();
        let coordinates = named
            .map(|(i, name)| ((*name).to_owned(), format!("system.coordinates[{i}]")))
            .collect();
        Self(Definition {
            coordinates,
            ..Definition::default()
        })
    }

    pub fn parameter(mut self, name: &str, text: &str) -> Self {
        self.0.parameters.push((
            name.to_owned(),
            formula(text, &format!("parameters.{name}")),
        ));
        self
    }

    pub fn parameters(self, values: &[(&str, f64)]) -> Self {
        values.iter().fold(self, |model, (name, value)| {
            model.parameter(name, &format!("{value}"))
        })
    }

    pub fn table(mut self, name: &str, x: &[f64], y: &[f64]) -> Self {
        let place = format!("tables.{name}");
        self.0.tables.push(TableDefinition {
            name: name.to_owned(),
            x: x.to_vec(),
            y: y.to_vec(),
            place,
        });
        self
    }

    pub fn mass(mut self, diagonal: &[&str]) -> Self {
        self.0.mass = Some(MassDefinition::Diagonal(list(diagonal, "system.mass")));
        self
    }

    pub fn full_mass(mut self, rows: &[&[&str]]) -> Self {
        let rows = rows
            .iter()
            .enumerate()
            .map(|(i, row)| list(row, &format!("system.mass[{i}]")))
            .collect();
        self.0.mass = Some(MassDefinition::Full(rows));
        self
    }

    pub fn force(mut self, force: &[&str]) -> Self {
        self.0.force = Some(list(force, "system.force"));
        self
    }

    pub fn kinetic(mut self, text: &str) -> Self {
        self.0.kinetic = Some(formula(text, "system.kinetic"));
        self
    }

    pub fn potential(mut self, text: &str) -> Self {
        self.0.potential = Some(formula(text, "system.potential"));
        self
    }

    pub fn dissipation(mut self, text: &str) -> Self {
        self.0.dissipation = Some(formula(text, "system.dissipation"));
        self
    }

    pub fn bilateral(mut self, name: &str, g: &str) -> Self {
        let g = formula(g, &format!("system.bilateral.{name}.g"));
        self.0.bilateral.push(BilateralDefinition {
            name: name.to_owned(),
            g,
            on_velocity: false,
        });
        self
    }

    pub fn unilateral(mut self, name: &str, gap: &str, restitution: &str) -> Self {
        let place = format!("system.unilateral.{name}");
        self.0.unilateral.push(UnilateralDefinition {
            name: name.to_owned(),
            gap: formula(gap, &format!("{place}.gap")),
            restitution: formula(restitution, &format!("{place}.restitution")),
            tangential: Vec::new(),
            tangential_velocity: Vec::new(),
            friction: None,
            friction_static: None,
            tangential_restitution: None,
        });
        self
    }

    fn last(&mut self) -> &mut UnilateralDefinition {
        self.0.unilateral.last_mut().unwrap()
    }

    /// For the last unilateral constraint.
    pub fn tangential(mut self, texts: &[&str]) -> Self {
        let place = format!("system.unilateral.{}.tangential", self.last().name);
        self.last().tangential = list(texts, &place);
        self
    }

    /// For the last unilateral constraint.
    pub fn tangential_velocity(mut self, texts: &[&str]) -> Self {
        let place = format!("system.unilateral.{}.tangential_velocity", self.last().name);
        self.last().tangential_velocity = list(texts, &place);
        self
    }

    /// For the last unilateral constraint.
    pub fn friction(mut self, text: &str) -> Self {
        let place = format!("system.unilateral.{}.friction", self.last().name);
        self.last().friction = Some(formula(text, &place));
        self
    }
}

/// A matrix that adds up what it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<f64>,
    /// Number of entries and blocks received.
    pub calls: usize,
    /// Number of entries received.
    pub entries: usize,
}

impl Dense {
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            data: vec![0.0; rows * cols],
            calls: 0,
            entries: 0,
        }
    }

    pub fn of(rows: usize, cols: usize, fill: impl FnOnce(&mut Self)) -> Self {
        let mut matrix = Self::zeros(rows, cols);
        fill(&mut matrix);
        matrix
    }

    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        self.data
            .chunks(self.cols.max(1))
            .map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// The transpose times `x`.
    pub fn transposed_times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.cols)
            .map(|j| {
                (0..self.rows)
                    .map(|i| self.data[i * self.cols + j] * x[i])
                    .sum()
            })
            .collect()
    }
}

impl MatrixSink for Dense {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        self.add(row, col, 1, 1, &[value]);
    }

    fn add(&mut self, row: usize, col: usize, rows: usize, cols: usize, block: &[f64]) {
        assert_eq!(block.len(), rows * cols);
        for (k, value) in block.iter().enumerate() {
            self.data[(row + k / cols) * self.cols + col + k % cols] += value;
        }
        self.calls += 1;
        self.entries += block.len();
    }
}

pub fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= tolerance * scale,
            "{what}, entry {i}: {a}, not {b}\n{found:?}\n{expected:?}"
        );
    }
}

/// Crank, rod and block of a slider-crank mechanism with clearance.
pub const SLIDER_CRANK: &[(&str, f64)] = &[
    ("l1", 0.153),
    ("l2", 0.306),
    ("a", 0.05),
    ("b", 0.025),
    ("c", 0.001),
    ("m1", 0.038),
    ("m2", 0.038),
    ("m3", 0.076),
    ("J1", 7.4e-5),
    ("J2", 5.9e-4),
    ("J3", 2.7e-6),
    ("g", 9.81),
];

/// The corners of the block slide in the guide with friction.
fn slider_crank_contacts(model: Model) -> Model {
    let s = "l1*sin(crank) + l2*sin(rod)";
    let x = "l1*cos(crank) + l2*cos(rod)";
    let corner = |model: Model, name: &str, gap: &str, slide: &str| {
        model
            .unilateral(name, gap, "0.4")
            .tangential(&[&format!("{x} {slide}")])
            .friction("0.01")
    };
    let model = model.parameter("d", "2*(b + c)");
    let model = corner(
        model,
        "upper_left",
        &format!("d/2 - ({s} - a*sin(block) + b*cos(block))"),
        "- a*cos(block) - b*sin(block)",
    );
    let model = corner(
        model,
        "upper_right",
        &format!("d/2 - ({s} + a*sin(block) + b*cos(block))"),
        "+ a*cos(block) - b*sin(block)",
    );
    let model = corner(
        model,
        "lower_left",
        &format!("d/2 + {s} - a*sin(block) - b*cos(block)"),
        "- a*cos(block) + b*sin(block)",
    );
    corner(
        model,
        "lower_right",
        &format!("d/2 + {s} + a*sin(block) - b*cos(block)"),
        "+ a*cos(block) + b*sin(block)",
    )
}

/// With mass matrix and force.
pub fn slider_crank() -> Model {
    let k = "(m2/2 + m3)*l1*l2*cos(rod - crank)";
    let model = Model::new(&["crank", "rod", "block"])
        .parameters(SLIDER_CRANK)
        .full_mass(&[
            &["J1 + (m1/4 + m2 + m3)*l1^2", k, "0"],
            &[k, "J2 + (m2/4 + m3)*l2^2", "0"],
            &["0", "0", "J3"],
        ])
        .force(&[
            "-(m2/2 + m3)*l1*l2*sin(crank - rod)*v.rod^2 - (m1/2 + m2 + m3)*g*l1*cos(crank)",
            "(m2/2 + m3)*l1*l2*sin(crank - rod)*v.crank^2 - (m2/2 + m3)*g*l2*cos(rod)",
            "0",
        ]);
    slider_crank_contacts(model)
}

/// The same mechanism by its energies.
pub fn slider_crank_by_energies() -> Model {
    let model = Model::new(&["crank", "rod", "block"])
        .parameters(SLIDER_CRANK)
        .kinetic(
            "0.5*(J1 + m1*l1^2/4)*v.crank^2 + 0.5*J2*v.rod^2 + 0.5*J3*v.block^2 \
             + 0.5*m2*((l1*sin(crank)*v.crank + l2/2*sin(rod)*v.rod)^2 + (l1*cos(crank)*v.crank + l2/2*cos(rod)*v.rod)^2) \
             + 0.5*m3*((l1*sin(crank)*v.crank + l2*sin(rod)*v.rod)^2 + (l1*cos(crank)*v.crank + l2*cos(rod)*v.rod)^2)",
        )
        .potential(
            "m1*g*l1/2*sin(crank) + m2*g*(l1*sin(crank) + l2/2*sin(rod)) + m3*g*(l1*sin(crank) + l2*sin(rod))",
        );
    slider_crank_contacts(model)
}

/// Two unit masses on unit rods with absolute angles, by energies.
pub fn double_pendulum() -> Model {
    Model::new(&["a", "b"])
        .parameter("g", "10")
        .kinetic("0.5*v.a^2 + 0.5*(v.a^2 + v.b^2 + 2*v.a*v.b*cos(a - b))")
        .potential("-g*cos(a) - g*(cos(a) + cos(b))")
        .unilateral("upper", "sin(a)", "1")
        .unilateral("lower", "sin(a) + sin(b)", "0")
}

/// Everything at once: full mass, potential, dissipation, rheonomic constraints, slip velocities, a table.
pub fn everything() -> Model {
    Model::new(&["x", "y", "phi"])
        .parameters(&[("m", 1.3), ("J", 0.7), ("k", 5.0), ("L", 1.1), ("w", 2.0)])
        .table("ramp", &[0.0, 1.0, 3.0], &[0.0, 2.0, 1.0])
        .full_mass(&[
            &["m*(1 + 0.2*sin(y)^2)", "0.1*x*y", "0.2*m*cos(phi)"],
            &["0.1*y*x", "m + x^2", "-0.2*m*sin(phi)"],
            &["0.2*m*cos(phi)", "-0.2*sin(phi)*m", "J + 0.5*x^2"],
        ])
        .force(&[
            "cos(w*t)*y - v.x*abs(v.x)",
            "-v.y*x + ramp(t)",
            "sin(phi - x)*v.phi^2 + v.x*v.y",
        ])
        .potential("0.5*k*(x^2 + y^2) + m*9.81*y*(1 + 0.1*cos(phi))")
        .dissipation("0.5*0.3*(v.x - v.y)^2*(1 + x^2) + 0.1*v.phi^2")
        .bilateral("rod", "x - L*sin(phi) + 0.1*sin(w*t)*y")
        .bilateral("drive", "x^2 + y^2*exp(-t) - phi*y*t")
        .unilateral("floor", "y + 0.1*cos(w*t)*x^2 - 0.05*sin(phi)", "0.8")
        .tangential(&["x*cos(phi) + 0.1*t*y^2", "phi*x"])
        .friction("0.3")
        .unilateral("wall", "2 - x*cos(phi)", "0.5")
        .tangential_velocity(&["x*v.y + (L + y)*v.phi*cos(t) + 0.1*sin(w*t)*x"])
        .unilateral("stop", "3 - phi", "0")
}

/// A bead on a rotating, moving hoop: a kinetic energy with linear and constant terms in the velocities.
pub fn rheonomic_energies() -> Model {
    Model::new(&["theta", "z"])
        .parameters(&[("m", 0.4), ("R", 0.6), ("w", 3.0)])
        .kinetic(
            "0.5*m*((R*cos(theta)*v.theta + 0.2*cos(w*t))^2 + (R*sin(theta)*v.theta + v.z)^2 + (R*sin(theta)*w)^2) \
             + 0.5*v.z^2",
        )
        .potential("-m*9.81*R*cos(theta) + 4*z^2")
        .dissipation("0.05*v.theta^2")
        .force(&["0.1*sin(t)", "-0.2*v.z"])
        .unilateral("floor", "z + 1", "0.3")
}
