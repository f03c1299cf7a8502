//! From the typed document to formulas, and what the schema cannot say about them.
//!
//! Sizes, names, and the choices that exclude each other. What is wrong is reported and mended, so
//! that the formulas are compiled, and their faults found, all the same.

mod joints;

use crate::definition::{
    Definition, Formula, MassDefinition, Source, TableDefinition, UnilateralDefinition,
};
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::{
    Document, MassEntry, Quantity, System, Table, Tangential, Unilateral,
};
use saltus_document::suggest;
use saltus_document::tree::Path;
use std::collections::HashSet;

/// The path `key.key.…` from the top of the document.
pub(crate) fn path<const N: usize>(keys: [&str; N]) -> Path {
    keys.iter().fold(Path::default(), |path, key| path.key(key))
}

pub(crate) fn formula(quantity: &Quantity, place: &Path) -> Formula {
    let source = match quantity {
        Quantity::Number(value) => Source::Number(*value),
        Quantity::Formula(text) => Source::Text(text.clone()),
    };
    Formula {
        source,
        place: place.to_string(),
    }
}

fn formulas(quantities: &[Quantity], place: &Path) -> Vec<Formula> {
    quantities
        .iter()
        .enumerate()
        .map(|(k, quantity)| formula(quantity, &place.index(k)))
        .collect()
}

/// Everything the formula engine needs, and complaints about what does not belong together.
pub(crate) fn definition(
    document: &Document,
    system: &System,
    findings: &mut Findings<'_>,
) -> Definition {
    let at = path(["system"]);
    coordinates(system, findings);
    let mut names = constraint_names(system, findings);
    let mut names_of_contacts = names.split_off(system.bilateral.len().min(names.len()));
    let names_of_friction = names_of_contacts.split_off(system.unilateral.len());
    energies(system, findings);
    let optional = |quantity: &Option<Quantity>, key: &str| {
        quantity.as_ref().map(|q| formula(q, &at.key(key)))
    };
    Definition {
        coordinates: system
            .coordinates
            .iter()
            .enumerate()
            .map(|(k, name)| (name.clone(), at.key("coordinates").index(k).to_string()))
            .collect(),
        mass: mass(system, findings),
        force: force(system, findings),
        kinetic: optional(&system.kinetic, "kinetic"),
        potential: optional(&system.potential, "potential"),
        dissipation: optional(&system.dissipation, "dissipation"),
        bilateral: joints::bilateral(system, names, findings),
        friction: system
            .friction
            .iter()
            .enumerate()
            .zip(names_of_friction)
            .map(|((k, one), name)| {
                joints::friction(one, name, system, &at.key("friction").index(k), findings)
            })
            .collect(),
        unilateral: system
            .unilateral
            .iter()
            .enumerate()
            .zip(names_of_contacts)
            .map(|((k, contact), name)| {
                unilateral(contact, name, &at.key("unilateral").index(k), findings)
            })
            .collect(),
        ..named(document, findings)
    }
}

/// The names that all formulas of a document may use: parameters and tables.
pub(crate) fn named(document: &Document, findings: &mut Findings<'_>) -> Definition {
    Definition {
        parameters: document
            .parameters
            .iter()
            .map(|(name, quantity)| (name.clone(), formula(quantity, &path(["parameters", name]))))
            .collect(),
        tables: tables(document, findings),
        ..Definition::default()
    }
}

fn coordinates(system: &System, findings: &mut Findings<'_>) {
    let at = path(["system", "coordinates"]);
    for (k, name) in system.coordinates.iter().enumerate() {
        if system.coordinates[..k].contains(name) {
            let diagnostic = Diagnostic::new(format!("two coordinates are called \"{name}\""))
                .label("was named above");
            findings.at(&at.index(k), diagnostic);
        }
    }
}

/// Constraints are told apart by name in results, in messages and in overrides: the names of bilateral,
/// then of unilateral constraints, then of dry friction, all different.
fn constraint_names(system: &System, findings: &mut Findings<'_>) -> Vec<String> {
    let at = path(["system"]);
    let bilateral = system
        .bilateral
        .iter()
        .enumerate()
        .map(|(k, c)| (at.key("bilateral").index(k), &c.name));
    let unilateral = system
        .unilateral
        .iter()
        .enumerate()
        .map(|(k, c)| (at.key("unilateral").index(k), &c.name));
    let friction = system
        .friction
        .iter()
        .enumerate()
        .map(|(k, c)| (at.key("friction").index(k), &c.name));
    let mut seen: HashSet<&str> = HashSet::new();
    let mut names = Vec::new();
    for (place, name) in bilateral.chain(unilateral).chain(friction) {
        let place = place.key("name");
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let first = seen.insert(name);
        if name.is_empty() || !name.chars().all(fits) {
            let diagnostic =
                Diagnostic::new(format!("\"{name}\" cannot be the name of a constraint"))
                    .label("expected letters, digits, \"_\" and \"-\"")
                    .help("the name becomes a part of column names and of --set paths");
            findings.at(&place, diagnostic);
        } else if !first {
            let diagnostic = Diagnostic::new(format!("two constraints are called \"{name}\""))
                .label("was named above");
            findings.at(&place, diagnostic);
        }
        // What was reported here need not be reported again.
        names.push(if first {
            name.clone()
        } else {
            format!("{name} at {place}")
        });
    }
    names
}

/// The inertia is given once.
fn energies(system: &System, findings: &mut Findings<'_>) {
    let at = path(["system"]);
    match (&system.mass, &system.kinetic) {
        (Some(_), Some(_)) => {
            let diagnostic =
                Diagnostic::new("the inertia is given twice: by \"mass\" and by \"kinetic\"")
                    .label("\"mass\" is given too")
                    .help("remove one of the two");
            findings.at(&at.key("kinetic"), diagnostic);
        }
        (None, None)
            if !findings.touched(&at.key("mass")) && !findings.touched(&at.key("kinetic")) =>
        {
            let diagnostic = Diagnostic::new("missing key \"mass\" or \"kinetic\" in system")
                .label("the inertia is not given")
                .help(
                    "give mass = [\"m\"], one entry per coordinate, or kinetic = \"0.5*m*v.y^2\"",
                );
            findings.at(&at, diagnostic);
        }
        _ => {}
    }
}

/// Complains where a list has not one entry per coordinate, and makes it so.
fn one_per_coordinate(
    list: &mut Vec<Formula>,
    place: &Path,
    system: &System,
    neutral: f64,
    findings: &mut Findings<'_>,
) {
    let expected = system.coordinates.len();
    if list.len() == expected {
        return;
    }
    let names = suggest::list(system.coordinates.iter().map(String::as_str));
    let count = suggest::count(list.len(), "entry", "entries");
    let diagnostic = Diagnostic::new(format!("{place} has {count}, expected {expected}"))
        .label(format!("expected {expected}, one per coordinate"))
        .help(format!("the coordinates are {names}"));
    findings.at(place, diagnostic);
    list.resize(
        expected,
        Formula {
            source: Source::Number(neutral),
            place: place.to_string(),
        },
    );
}

fn mass(system: &System, findings: &mut Findings<'_>) -> Option<MassDefinition> {
    let at = path(["system", "mass"]);
    let entries = system.mass.as_ref()?;
    let is_row = |entry: &MassEntry| matches!(entry, MassEntry::Row(_));
    if !entries.iter().any(is_row) {
        let mut diagonal: Vec<Formula> = entries
            .iter()
            .enumerate()
            .filter_map(|(k, entry)| match entry {
                MassEntry::Diagonal(quantity) => Some(formula(quantity, &at.index(k))),
                MassEntry::Row(_) => None,
            })
            .collect();
        one_per_coordinate(&mut diagonal, &at, system, 1.0, findings);
        return Some(MassDefinition::Diagonal(diagonal));
    }
    let n = system.coordinates.len();
    let mut rows: Vec<Vec<Formula>> = Vec::with_capacity(n);
    for (k, entry) in entries.iter().enumerate() {
        let place = at.index(k);
        match entry {
            MassEntry::Row(row) => {
                let mut row = formulas(row, &place);
                one_per_coordinate(&mut row, &place, system, 0.0, findings);
                rows.push(row);
            }
            MassEntry::Diagonal(_) => {
                let diagnostic = Diagnostic::new(format!(
                    "{place} is no list, but other entries of the mass are"
                ))
                .label("expected a list, a row of the matrix")
                .help("give the diagonal, or all rows of the full matrix");
                findings.at(&place, diagnostic);
                return Some(unit_mass(system));
            }
        }
    }
    if rows.len() != n {
        let diagnostic = Diagnostic::new(format!("{at} has {} rows, expected {n}", rows.len()))
            .label(format!("expected {n} rows, one per coordinate"));
        findings.at(&at, diagnostic);
        return Some(unit_mass(system));
    }
    Some(MassDefinition::Full(rows))
}

/// Stands in for a mass that was reported.
fn unit_mass(system: &System) -> MassDefinition {
    let one = Formula {
        source: Source::Number(1.0),
        place: "system.mass".to_owned(),
    };
    MassDefinition::Diagonal(vec![one; system.coordinates.len()])
}

fn force(system: &System, findings: &mut Findings<'_>) -> Option<Vec<Formula>> {
    let at = path(["system", "force"]);
    let mut force = formulas(system.force.as_ref()?, &at);
    one_per_coordinate(&mut force, &at, system, 0.0, findings);
    Some(force)
}

/// A table with a fault is reported and becomes one of unknown values, so that the formulas that use it
/// are read all the same.
fn tables(document: &Document, findings: &mut Findings<'_>) -> Vec<TableDefinition> {
    let mut tables = Vec::with_capacity(document.tables.len());
    for (name, table) in &document.tables {
        let place = path(["tables", name]);
        let sound = points(name, table, &place, findings);
        if !sound {
            findings.mend(&place.key("x"));
            findings.mend(&place.key("y"));
        }
        let (x, y) = if sound {
            (table.x.clone(), table.y.clone())
        } else {
            (vec![0.0, 1.0], vec![f64::NAN; 2])
        };
        tables.push(TableDefinition {
            name: name.clone(),
            x,
            y,
            place: place.to_string(),
        });
    }
    tables
}

/// Whether the points of a table make a function; complains where they do not.
fn points(name: &str, table: &Table, place: &Path, findings: &mut Findings<'_>) -> bool {
    if findings.mended_inside(place) {
        return false;
    }
    let (nx, ny) = (table.x.len(), table.y.len());
    if nx != ny {
        let diagnostic = Diagnostic::new(format!(
            "table \"{name}\" has {nx} values of x and {ny} of y"
        ))
        .label(format!("expected {nx} values, one per x"));
        findings.at(&place.key("y"), diagnostic);
        return false;
    }
    if let Some(k) = (1..nx).find(|&k| table.x[k] <= table.x[k - 1]) {
        let diagnostic = Diagnostic::new(format!("the x of table \"{name}\" do not increase"))
            .label(format!("is not above {}", table.x[k - 1]));
        findings.at(&place.key("x").index(k), diagnostic);
        return false;
    }
    true
}

/// Displacements and slip velocities of a contact or a joint.
fn slip(
    tangential: &Option<Tangential>,
    velocity: &Option<Tangential>,
    at: &Path,
    findings: &mut Findings<'_>,
) -> (Vec<Formula>, Vec<Formula>) {
    let directions = |choice: &Option<Tangential>, key: &str| match choice {
        None => Vec::new(),
        Some(Tangential::One(one)) => vec![formula(one, &at.key(key))],
        Some(several) => formulas(several.as_slice(), &at.key(key)),
    };
    if tangential.is_some() && velocity.is_some() {
        let diagnostic = Diagnostic::new(
            "the slip is given twice: by \"tangential\" and by \"tangential_velocity\"",
        )
        .label("\"tangential\" is given too")
        .help("remove one of the two");
        findings.at(&at.key("tangential_velocity"), diagnostic);
    }
    let velocities = match tangential {
        Some(_) => Vec::new(),
        None => directions(velocity, "tangential_velocity"),
    };
    (directions(tangential, "tangential"), velocities)
}

fn unilateral(
    contact: &Unilateral,
    name: String,
    at: &Path,
    findings: &mut Findings<'_>,
) -> UnilateralDefinition {
    let (tangential, tangential_velocity) = slip(
        &contact.tangential,
        &contact.tangential_velocity,
        at,
        findings,
    );
    let frictional = contact
        .friction
        .as_ref()
        .is_some_and(|f| *f != Quantity::Number(0.0));
    if contact.friction.is_none() {
        for (given, key) in [
            (&contact.friction_static, "friction_static"),
            (&contact.tangential_restitution, "tangential_restitution"),
        ] {
            if given.is_some() {
                let diagnostic = Diagnostic::new(format!(
                    "contact \"{}\" has \"{key}\" but no \"friction\"",
                    contact.name
                ))
                .label("means nothing without friction")
                .help("give friction too, or remove it");
                findings.at(&at.key(key), diagnostic);
            }
        }
    }
    if frictional && contact.tangential.is_none() && contact.tangential_velocity.is_none() {
        let diagnostic = Diagnostic::new(format!(
            "contact \"{}\" has friction but no tangential direction",
            contact.name
        ))
        .label("needs \"tangential\" or \"tangential_velocity\"")
        .help("for example tangential = \"x\", the displacement along the surface");
        findings.at(&at.key("friction"), diagnostic);
    }
    UnilateralDefinition {
        name,
        gap: formula(&contact.gap, &at.key("gap")),
        restitution: formula(&contact.restitution, &at.key("restitution")),
        tangential,
        tangential_velocity,
        friction: contact
            .friction
            .as_ref()
            .map(|f| formula(f, &at.key("friction"))),
        friction_static: contact
            .friction_static
            .as_ref()
            .map(|f| formula(f, &at.key("friction_static"))),
        tangential_restitution: contact
            .tangential_restitution
            .as_ref()
            .map(|f| formula(f, &at.key("tangential_restitution"))),
    }
}
