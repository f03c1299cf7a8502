//! The initial state of a system of formulas, and of any assembled system: is it regular, consistent, free of overlap?

use crate::FormulaSystem;
use crate::build::{self, path};
use crate::definition::Scope;
use crate::evaluate::evaluate;
use crate::findings::Findings;
use saltus_document::diagnostic::Diagnostic;
use saltus_document::document::{self, Document, MassEntry, Overlap, Quantity};
use saltus_document::number::general;
use saltus_document::suggest;
use saltus_document::tree::Path;
use saltus_integrators::consistent::{self, Consistency, Projection};
use saltus_linear::{Dense, MatrixSink, dot, max_abs};
use saltus_system::{ContactSet, Contacts, Reach, State, System};

/// Largest number of coordinates for which the mass matrix is looked at as a whole.
const DENSE_MASS: usize = 200;

/// What became of the initial state.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// What the projection changed, where there was one.
    pub projection: Option<Projection>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// The state at time `start` that the document gives for a system of formulas.
pub(crate) fn read(
    document: &Document,
    system: &document::System,
    scope: &Scope,
    start: f64,
    findings: &mut Findings<'_>,
) -> State {
    let coordinates = &system.coordinates;
    let mut read = |values: &indexmap::IndexMap<String, Quantity>, key: &str| {
        let at = path(["initial", key]);
        let mut state = vec![0.0; coordinates.len()];
        for (name, quantity) in values {
            let place = at.key(name);
            let value = evaluate(
                &build::formula(quantity, &place),
                scope,
                |_| true,
                "a finite number",
                findings,
            );
            match coordinates.iter().position(|c| c == name) {
                Some(k) => state[k] = value.unwrap_or(0.0),
                None => {
                    let known = || coordinates.iter().map(String::as_str);
                    let message = format!(
                        "unknown coordinate \"{name}\"{}",
                        suggest::did_you_mean(name, known())
                    );
                    let diagnostic = Diagnostic::new(message)
                        .label(format!("not a coordinate, in {at}"))
                        .help(format!("the coordinates are {}", suggest::list(known())));
                    findings.at_key(&place, diagnostic);
                }
            }
        }
        state
    };
    let q = read(&document.initial.q, "q");
    let v = read(&document.initial.v, "v");
    State::new(start, q, v)
}

/// Checks `system` at `state`, in the terms of the document it was written in, and moves `state` to the
/// nearest consistent one where the document asks for it.
pub(crate) fn check(
    system: &FormulaSystem,
    state: &mut State,
    document: &Document,
    written: &document::System,
    findings: &mut Findings<'_>,
) -> Start {
    force(system, state, written, findings);
    mass(system, state, written, findings);
    parallel_tangents(system, state, written, findings);
    let mut start = consistency(system, state, document, findings);
    start.notes.extend(dissipation(system, state));
    start
}

/// Checks whether `system` is consistent and free of overlap at `state`, and moves `state` to the nearest
/// state that is where the document asks for it.
pub(crate) fn consistency(
    system: &dyn System,
    state: &mut State,
    document: &Document,
    findings: &mut Findings<'_>,
) -> Start {
    let mut start = Start::default();
    let initial = &document.initial;
    let mut found = consistent::examine(system, state);
    if !initial.project {
        bilateral(system, state, &found, document, findings);
    }
    let apart =
        initial.overlap == Overlap::Project && found.gap.iter().any(|&gap| gap < -roundoff(state));
    let wanted = initial.project && system.dims().ng > 0 || apart;
    if wanted && findings.diagnostics.is_empty() {
        let scales = (roundoff(state), 1e-12 * max_abs(&state.v).max(1.0));
        start.projection = project(system, state, apart, findings);
        start
            .notes
            .extend(start.projection.and_then(|done| changes(done, scales)));
        found = consistent::examine(system, state);
    }
    // Gaps at a state that is yet to be projected say nothing.
    if !wanted || start.projection.is_some() {
        overlap(system, state, &found, document, findings, &mut start.notes);
    }
    start
}

/// Refuses two tangential directions of a contact that are one.
fn parallel_tangents(
    system: &FormulaSystem,
    state: &State,
    written: &document::System,
    findings: &mut Findings<'_>,
) {
    if written.unilateral.is_empty() || !findings.diagnostics.is_empty() {
        return;
    }
    let mut set = ContactSet::default();
    system.detect(state.t, &state.q, Reach::All, &mut set);
    system.evaluate_contacts(state.t, &state.q, &mut set);
    let direction = |row: usize| {
        let mut x = vec![0.0; state.v.len()];
        set.directions.axpy(row, 1.0, &mut x);
        x
    };
    for (i, &first) in set.first_row.iter().enumerate() {
        let next = set.first_row.get(i + 1).copied();
        let k = set.id[i].0 as usize;
        let (3, Some(contact)) = (
            next.unwrap_or(set.rate.len()) - first,
            written.unilateral.get(k),
        ) else {
            continue;
        };
        let (a, b) = (direction(first + 1), direction(first + 2));
        let (aa, bb, ab) = (dot(&a, &a), dot(&b, &b), dot(&a, &b));
        if aa > 0.0 && bb > 0.0 && ab * ab >= (1.0 - 1e-12) * aa * bb {
            let key = if contact.tangential.is_some() {
                "tangential"
            } else {
                "tangential_velocity"
            };
            let message = format!(
                "the two tangential directions of contact \"{}\" are parallel at the initial state",
                contact.name
            );
            let diagnostic = Diagnostic::new(message).label("are one direction").help(
                "give displacements along two directions that are orthogonal and of equal length",
            );
            findings.at(
                &path(["system", "unilateral"]).index(k).key(key),
                diagnostic,
            );
        }
    }
}

/// What a projection changed by more than round-off, given as (position, velocity).
fn changes(done: Projection, (position, velocity): (f64, f64)) -> Option<String> {
    let part = |what: &str, change: f64, scale: f64| {
        (change > scale).then(|| format!("{what} by up to {}", general(change)))
    };
    let parts: Vec<String> = [
        part("positions", done.moved, position),
        part("velocities", done.velocity_change, velocity),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "the initial state was made consistent, which changed {}",
            parts.join(" and ")
        )
    })
}

/// A dissipation that feeds the motion instead of damping it.
fn dissipation(system: &FormulaSystem, state: &State) -> Vec<String> {
    let Some((value, curvature)) = system.dissipation(state.point()) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    // Round-off of a sum of terms of this size is no negative dissipation.
    let size: f64 = curvature
        .iter()
        .zip(&state.v)
        .map(|(r, v)| (r * v * v).abs())
        .sum();
    if value < -1e-12 * size {
        notes.push(format!(
            "the dissipation is {} W at the initial state; a negative one feeds energy into the motion",
            general(value)
        ));
    }
    for (name, &r) in system.names().velocities.iter().zip(&curvature) {
        if r < 0.0 {
            notes.push(format!(
                "the dissipation drives \"{name}\" instead of damping it: its second derivative by v.{name} is {} at the initial state",
                general(r)
            ));
        }
    }
    notes
}

/// The nearest consistent state.
fn project(
    system: &dyn System,
    state: &mut State,
    contacts: bool,
    findings: &mut Findings<'_>,
) -> Option<Projection> {
    match consistent::project(system, state, contacts, roundoff(state)) {
        Ok(projection) => Some(projection),
        Err(error) => {
            let diagnostic = Diagnostic::new(format!(
                "the initial state cannot be made consistent: {error}"
            ))
            .label("the projection starts from here")
            .help("start closer to a consistent state, or check the constraints");
            findings.at(&path(["initial"]), diagnostic);
            None
        }
    }
}

/// Lengths below this are zero \[m\].
fn roundoff(state: &State) -> f64 {
    1e-12 * max_abs(&state.q).max(1.0)
}

fn force(
    system: &dyn System,
    state: &State,
    written: &document::System,
    findings: &mut Findings<'_>,
) {
    let mut force = vec![0.0; system.dims().nv];
    system.force(state.point(), &mut force);
    let at = path(["system"]);
    for (k, value) in force.iter().enumerate() {
        if value.is_finite() {
            continue;
        }
        let place = if written.force.is_some() {
            at.key("force").index(k)
        } else {
            at.key("potential")
        };
        let name = &written.coordinates[k];
        let diagnostic = Diagnostic::new(format!("the force on \"{name}\" is {value} at the initial state"))
            .label("is not finite there")
            .help("the initial state lies outside of the domain of the formula; change [initial] or the formula");
        findings.at(&place, diagnostic);
    }
}

/// The mass matrix is symmetric and positive; it may be singular only where constraints can make up for it.
fn mass(
    system: &dyn System,
    state: &State,
    written: &document::System,
    findings: &mut Findings<'_>,
) {
    let n = system.dims().nv;
    let mut mass = Entries {
        diagonal: vec![0.0; n],
        matrix: (n <= DENSE_MASS).then(|| Dense::zeros(n, n)),
    };
    system.mass(&state.q, &mut mass);
    let names = &written.coordinates;
    let before = findings.diagnostics.len();
    for (i, &value) in mass.diagonal.iter().enumerate() {
        let place = place_of_mass(written, i, i);
        if value > 0.0 && value.is_finite() || findings.reported(&place) {
            continue;
        }
        let what = if written.kinetic.is_some() {
            "mass that follows from the kinetic energy"
        } else {
            "mass"
        };
        let value = general(value);
        let diagnostic = Diagnostic::new(format!(
            "the {what} of \"{}\" is {value}, expected a number > 0",
            names[i]
        ))
        .label(format!("is {value} at the initial state"));
        findings.at(&place, diagnostic);
    }
    let Some(matrix) = mass.matrix.filter(|_| findings.diagnostics.len() == before) else {
        return;
    };
    if let Some((i, j)) = unsymmetric(&matrix) {
        let (a, b) = (general(matrix[(i, j)]), general(matrix[(j, i)]));
        let message = format!(
            "the mass matrix is not symmetric: entry ({i}, {j}) is {a}, entry ({j}, {i}) is {b}"
        );
        findings.at(
            &place_of_mass(written, i, j),
            Diagnostic::new(message).label("at the initial state"),
        );
    } else if let Some((i, pivot)) = indefinite(&matrix, system.dims().ng > 0) {
        let diagnostic =
            Diagnostic::new("the mass matrix is not positive definite at the initial state")
                .label(format!("pivot {} at \"{}\"", general(pivot), names[i]))
                .help("a kinetic energy must be positive for every motion");
        let key = if written.kinetic.is_some() {
            "kinetic"
        } else {
            "mass"
        };
        findings.at(&path(["system", key]), diagnostic);
    }
}

/// Where entry (i, j) of the mass matrix is written.
fn place_of_mass(written: &document::System, i: usize, j: usize) -> Path {
    if written.kinetic.is_some() {
        return path(["system", "kinetic"]);
    }
    let row = path(["system", "mass"]).index(i);
    let entries = written.mass.as_deref().unwrap_or_default();
    if matches!(entries.get(i), Some(MassEntry::Row(_))) {
        row.index(j)
    } else {
        row
    }
}

/// The first pair of entries that differ by more than round-off, or are not finite.
fn unsymmetric(matrix: &Dense) -> Option<(usize, usize)> {
    let differs = |&(i, j): &(usize, usize)| {
        let (a, b) = (matrix[(i, j)], matrix[(j, i)]);
        (a - b).abs() > 1e-12 * (a.abs() + b.abs()) || !(a + b).is_finite()
    };
    (0..matrix.rows())
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .find(differs)
}

/// The first pivot of Cholesky's factorisation that is negative, or zero unless `singular` is allowed.
fn indefinite(matrix: &Dense, singular: bool) -> Option<(usize, f64)> {
    let n = matrix.rows();
    let mut factor = matrix.clone();
    for k in 0..n {
        let pivot = factor[(k, k)];
        // Round-off of the eliminations is proportional to the entry they started from.
        let zero = 1e-13 * matrix[(k, k)];
        if pivot < -zero || (pivot <= zero && !singular) {
            return Some((k, pivot));
        }
        if pivot <= zero {
            continue;
        }
        for i in k + 1..n {
            let ratio = factor[(i, k)] / pivot;
            for j in k + 1..n {
                let change = ratio * factor[(k, j)];
                factor[(i, j)] -= change;
            }
        }
    }
    None
}

/// Positions and velocities of the bilateral constraints.
fn bilateral(
    system: &dyn System,
    state: &State,
    found: &Consistency,
    document: &Document,
    findings: &mut Findings<'_>,
) {
    if found.position.is_empty() && found.velocity.is_empty() {
        return;
    }
    let names = system.names().bilateral;
    let scale = |x: &[f64]| 1e-8 * max_abs(x).max(1.0);
    inconsistent(
        &found.position,
        scale(&state.q),
        &names,
        document,
        ("q", "position", "residual", "m"),
        findings,
    );
    inconsistent(
        &found.velocity,
        scale(&state.v),
        &names,
        document,
        ("v", "velocity", "rate", "m/s"),
        findings,
    );
}

fn inconsistent(
    values: &[f64],
    tolerance: f64,
    names: &[String],
    document: &Document,
    (key, level, residual, unit): (&str, &str, &str, &str),
    findings: &mut Findings<'_>,
) {
    // What one table asks of many nodes is one matter, told by its worst.
    let mut refused: Vec<(Path, usize, f64, &str)> = Vec::new();
    for (name, &value) in names.iter().zip(values) {
        // Not-a-number is inconsistent, too.
        if value.abs() <= tolerance {
            continue;
        }
        let table = table_of_guide(document, name);
        let place = table.clone().unwrap_or_else(|| path(["initial", key]));
        match refused.last_mut() {
            Some((known, count, worst, which)) if table.is_some() && *known == place => {
                *count += 1;
                if worst.abs().total_cmp(&value.abs()).is_lt() {
                    (*worst, *which) = (value, name);
                }
            }
            _ => refused.push((place, 1, value, name)),
        }
    }
    for (place, count, value, name) in refused {
        let more = match count - 1 {
            0 => String::new(),
            1 => "; so does one more node, by less or as much".to_owned(),
            n => format!("; and {n} more nodes do, by less or as much"),
        };
        let diagnostic = Diagnostic::new(format!(
            "the initial {level} violates the bilateral constraint \"{name}\": its {residual} is {} {unit}, expected 0{more}",
            general(value)
        ))
        .label(format!("inconsistent {level}"))
        .help("correct the initial state, or set project = true in [initial] to start from the nearest consistent one");
        findings.at(&place, diagnostic);
    }
}

/// The table of the motion or tie that a constraint comes from.
fn table_of_guide(document: &Document, name: &str) -> Option<Path> {
    let motion = document.motion.iter().position(|m| is_of(&m.name, name));
    let tie = document.tie.iter().position(|t| is_of(&t.name, name));
    let motion = motion.map(|k| path(["motion"]).index(k));
    motion.or_else(|| tie.map(|k| path(["tie"]).index(k)))
}

/// Whether `name` is `of`, or one of several of that name, which have numbers behind a point.
fn is_of(of: &str, name: &str) -> bool {
    name.strip_prefix(of)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Gaps that are negative at the start: refused, or noted where they are allowed.
fn overlap(
    system: &dyn System,
    state: &State,
    found: &Consistency,
    document: &Document,
    findings: &mut Findings<'_>,
    notes: &mut Vec<String>,
) {
    if found.gap.is_empty() {
        return;
    }
    let names = system.names().contacts;
    // What overlaps, by its place: a contact of many nodes is one matter.
    let mut refused: Vec<(Path, usize, f64, &str)> = Vec::new();
    for (k, &gap) in found.gap.iter().enumerate() {
        let name = names.get(k).map_or("", String::as_str);
        if gap.is_nan() {
            let diagnostic = Diagnostic::new(format!(
                "the gap of \"{name}\" is not a number at the initial state"
            ))
            .label("is not finite there");
            findings.at(
                &path(["system", "unilateral"]).index(k).key("gap"),
                diagnostic,
            );
        } else if gap >= -roundoff(state) {
            continue;
        } else if document.initial.overlap == Overlap::Allow {
            notes.push(format!(
                "the initial state overlaps at \"{name}\" by {} m, as overlap = \"allow\" permits",
                general(-gap)
            ));
        } else {
            let place = place_of_overlap(document, name);
            match refused.last_mut() {
                Some((known, count, worst, which)) if *known == place => {
                    *count += 1;
                    if gap < *worst {
                        (*worst, *which) = (gap, name);
                    }
                }
                _ => refused.push((place, 1, gap, name)),
            }
        }
    }
    for (place, count, gap, name) in refused {
        let message = format!(
            "the constraint \"{name}\" is violated at the start: its gap is {} m",
            general(gap)
        );
        let message = match count - 1 {
            0 => message,
            1 => format!("{message}; so is another one, by less or as much"),
            n => format!("{message}; so are {n} others, by less or as much"),
        };
        let diagnostic = Diagnostic::new(message)
            .label(format!("overlap of {} m at \"{name}\"", general(-gap)))
            .help(
                "correct the initial state, or set overlap in [initial]: \"project\" starts from the nearest state without overlap, \"allow\" starts as it is",
            );
        findings.at(&place, diagnostic);
    }
}

/// The initial positions, where they were given, or else the contact `name`.
fn place_of_overlap(document: &Document, name: &str) -> Path {
    if !document.initial.q.is_empty() {
        return path(["initial", "q"]);
    }
    if !document.initial.parts.is_empty() {
        return path(["initial", "parts"]);
    }
    let is = |contact: &str| is_of(contact, name);
    let formulas = document.system.iter().flat_map(|s| &s.unilateral);
    let of_formulas = formulas.map(|c| &c.name).position(|name| is(name));
    let of_parts = document.contact.iter().position(|c| is(&c.name));
    match (of_formulas, of_parts) {
        (Some(k), _) => path(["system", "unilateral"]).index(k).key("gap"),
        (None, Some(k)) => path(["contact"]).index(k).key("at"),
        (None, None) => path(["initial"]),
    }
}

/// The diagonal of a passing matrix, and all of it where that is wanted.
struct Entries {
    diagonal: Vec<f64>,
    matrix: Option<Dense>,
}

impl MatrixSink for Entries {
    fn entry(&mut self, row: usize, col: usize, value: f64) {
        if row == col {
            self.diagonal[row] += value;
        }
        if let Some(matrix) = &mut self.matrix {
            matrix.entry(row, col, value);
        }
    }
}
