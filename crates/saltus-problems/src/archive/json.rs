//! Our own format: one JSON object that says its kind, matrices as triplets `[row, column, value]`.

use super::law::Law;
use super::location::{self, Step};
use super::{ArchiveError, Misfit, Point, Problem, Record};
use saltus_complementarity::friction::{FrictionContact, GlobalFriction, ProblemError};
use saltus_complementarity::{
    BlockMatrix, ContactData, ContactDataError, ContactProblem, SparseMatrix,
};
use saltus_linear::Dense;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::path::Path;

type Triplets = Vec<(usize, usize, f64)>;

/// A document as it is written; `kind` is the name of the variant.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Document {
    Lcp(Lcp),
    Mlcp(Mixed),
    Friction(Reduced),
    GlobalFriction(Global),
    Contact(Contact),
}

/// `0 ≤ z ⟂ M z + q ≥ 0`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lcp {
    #[serde(rename = "kind", skip_serializing)]
    _kind: IgnoredAny,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<String>,
    matrix: Vec<Vec<f64>>,
    q: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Point>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guesses: Vec<Point>,
}

/// The same with leading equalities.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mixed {
    #[serde(rename = "kind", skip_serializing)]
    _kind: IgnoredAny,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<String>,
    equalities: usize,
    matrix: Vec<Vec<f64>>,
    q: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Point>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guesses: Vec<Point>,
}

/// `u = W r + q`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reduced {
    #[serde(rename = "kind", skip_serializing)]
    _kind: IgnoredAny,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<String>,
    dimension: usize,
    delassus: Triplets,
    q: Vec<f64>,
    mu: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rolling: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Point>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guesses: Vec<Point>,
}

/// `M v = H r + f`, `u = Hᵀ v + w`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Global {
    #[serde(rename = "kind", skip_serializing)]
    _kind: IgnoredAny,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    dimension: usize,
    mass: Triplets,
    directions: Triplets,
    f: Vec<f64>,
    w: Vec<f64>,
    mu: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rolling: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Point>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guesses: Vec<Point>,
}

/// `w = W z + q`, block by block.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contact {
    #[serde(rename = "kind", skip_serializing)]
    _kind: IgnoredAny,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ids: Vec<u64>,
    blocks: Vec<Law>,
    delassus: Triplets,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sparse: bool,
    q: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solution: Option<Point>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guesses: Vec<Point>,
}

/// A text and its file: complaints name the place in it.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

pub(super) fn read(path: &Path, text: &str) -> Result<Record, ArchiveError> {
    let source = Source { path, text };
    let document = source.document()?;
    let (problem, solution, guesses, title, rows) = match document {
        Document::Lcp(p) => {
            let problem = source.mixed(0, &p.matrix, p.q)?;
            (problem, p.solution, p.guesses, p.title, p.rows)
        }
        Document::Mlcp(p) => {
            let problem = source.mixed(p.equalities, &p.matrix, p.q)?;
            (problem, p.solution, p.guesses, p.title, p.rows)
        }
        Document::Friction(p) => {
            let (d, mu, rolling) = (p.dimension, &p.mu, &p.rolling);
            let contacts = source.contacts(d, ("q", &p.q), mu, rolling)?;
            let size = d * contacts;
            source.inside("delassus", &p.delassus, size, size)?;
            let w = BlockMatrix::from_triplets(d, contacts, p.delassus);
            let problem = FrictionContact::new(w, p.q, p.mu, p.rolling);
            let problem = problem.map_err(|e| source.problem(e, "delassus"))?;
            let problem = Problem::Friction(problem);
            (problem, p.solution, p.guesses, p.title, p.rows)
        }
        Document::GlobalFriction(p) => {
            let (d, mu, rolling) = (p.dimension, &p.mu, &p.rolling);
            let contacts = source.contacts(d, ("w", &p.w), mu, rolling)?;
            let (n, m) = (p.f.len(), d * contacts);
            source.inside("mass", &p.mass, n, n)?;
            source.inside("directions", &p.directions, n, m)?;
            let mass = SparseMatrix::from_triplets(n, n, &p.mass);
            let h = SparseMatrix::from_triplets(n, m, &p.directions);
            let problem = GlobalFriction::new(d, mass, h, p.f, p.w, p.mu, p.rolling);
            let problem = problem.map_err(|e| match e {
                ProblemError::MassEntry { row, column, .. } => {
                    let entry = |e: &(usize, usize, f64)| (e.0, e.1) == (row, column);
                    match p.mass.iter().rposition(entry) {
                        Some(k) => source.wrong(&[Step::Field("mass"), Step::Entry(k)], e),
                        None => source.wrong(&[Step::Field("mass")], e),
                    }
                }
                e => source.problem(e, "mass"),
            })?;
            let problem = Problem::Global(problem);
            (problem, p.solution, p.guesses, p.title, Vec::new())
        }
        Document::Contact(p) => {
            let archive = ContactData {
                ids: match p.ids.len() {
                    0 => (0..p.blocks.len() as u64).collect(),
                    _ => p.ids,
                },
                blocks: p.blocks.iter().map(|law| law.0).collect(),
                matrix: p.delassus,
                sparse: p.sparse,
                z: vec![0.0; p.q.len()],
                q: p.q,
            };
            ContactProblem::from_data(&archive).map_err(|e| source.contact(e, &archive))?;
            let problem = Problem::Contact(archive);
            (problem, p.solution, p.guesses, p.title, p.rows)
        }
    };
    let record = Record {
        problem,
        solution,
        guesses,
        title,
        rows,
    };
    match record.misfit() {
        None => Ok(record),
        Some((Misfit::Solution, message)) => Err(source.wrong(&[Step::Field("solution")], message)),
        Some((Misfit::Guess(k), message)) => {
            Err(source.wrong(&[Step::Field("guesses"), Step::Entry(k)], message))
        }
        Some((Misfit::Rows, message)) => Err(source.wrong(&[Step::Field("rows")], message)),
    }
}

impl Source<'_> {
    fn wrong(&self, at: &[Step<'_>], message: impl ToString) -> ArchiveError {
        self.at(location::find(self.text, at), message)
    }

    fn at(&self, byte: usize, message: impl ToString) -> ArchiveError {
        let (line, column) = location::line_column(self.text, byte);
        ArchiveError::Value {
            path: self.path.into(),
            line,
            column,
            message: message.to_string(),
        }
    }

    /// What is wrong is named with its line and column: a document that is chosen by its kind while it is read has lost them.
    fn document(&self) -> Result<Document, ArchiveError> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        const KNOWN: &str = "lcp, mlcp, friction, global-friction, contact";
        if !self.text.trim_start().starts_with('{') {
            let found: String = self.text.trim_start().chars().take(20).collect();
            let found = match found.chars().next() {
                None => "the file is empty".to_owned(),
                Some('[') => "this is a list".to_owned(),
                Some(_) => format!("found {found:?}"),
            };
            let begin = self.text.len() - self.text.trim_start().len();
            let expected = format!("expected one object {{...}} whose kind is one of {KNOWN}");
            return Err(self.at(begin, format!("{found}; {expected}")));
        }
        let Kind { kind } = self.parsed().map_err(|e| match e {
            ArchiveError::Value { message, path, .. }
                if message.contains("missing field `kind`") =>
            {
                ArchiveError::Value {
                    path,
                    line: 1,
                    column: 1,
                    message: format!("the field `kind` is missing; expected one of {KNOWN}"),
                }
            }
            e => e,
        })?;
        Ok(match kind.as_str() {
            "lcp" => Document::Lcp(self.parsed()?),
            "mlcp" => Document::Mlcp(self.parsed()?),
            "friction" => Document::Friction(self.parsed()?),
            "global-friction" => Document::GlobalFriction(self.parsed()?),
            "contact" => Document::Contact(self.parsed()?),
            _ => {
                let message = format!("kind is {kind:?}, expected one of {KNOWN}");
                return Err(self.wrong(&[Step::Field("kind")], message));
            }
        })
    }

    fn parsed<'t, T: Deserialize<'t>>(&'t self) -> Result<T, ArchiveError> {
        serde_json::from_str(self.text).map_err(|e| self.syntax(&e))
    }

    /// The complaint of the parser, in the words of the format, with the name of the value it is about.
    fn syntax(&self, error: &serde_json::Error) -> ArchiveError {
        let byte = location::offset(self.text, error.line(), error.column());
        let text = error.to_string();
        let text = text
            .rsplit_once(" at line ")
            .map_or(&*text, |(message, _)| message);
        if let Some(inside) = text.strip_prefix("EOF while parsing ") {
            return self.at(byte, format!("the file ends inside {inside}"));
        }
        let about_a_value = [
            "expected value",
            "expected ident",
            "number out of range",
            "invalid ",
        ];
        if text == "trailing characters" {
            return self.trailing(byte);
        }
        let value = about_a_value.iter().any(|start| text.starts_with(start));
        let Some(location::Value { name, begin, found }) =
            location::value_at(self.text, byte).filter(|_| value)
        else {
            return self.at(byte, text);
        };
        let word = found.trim_start_matches(['-', '+']).to_ascii_lowercase();
        if ["nan", "inf", "infinity"].contains(&word.as_str()) || text.starts_with("number out") {
            return self.at(
                begin,
                format!("{name} is {found}, expected a finite number"),
            );
        }
        if text.starts_with("expected ") {
            let found = self.text[byte..].chars().next().unwrap_or(' ');
            return self.at(
                byte,
                format!("found {found:?} after {name}, expected a value"),
            );
        }
        let words = text
            .replace("expected usize", "expected a whole number")
            .replace("expected f64", "expected a number")
            .replace(
                "expected a tuple of size 3",
                "expected [row, column, value]",
            );
        // A list of the wrong length is complained of at its end, when the last value is one of its entries.
        let name = match text.starts_with("invalid length") {
            true => name.rsplit_once('[').map_or(&*name, |(list, _)| list),
            false => &name,
        };
        self.at(begin, format!("{name}: {words}"))
    }

    /// Something stands behind the end of the document, or a list of three numbers goes on at `byte`.
    fn trailing(&self, byte: usize) -> ArchiveError {
        let mut documents = serde_json::Deserializer::from_str(self.text).into_iter::<IgnoredAny>();
        let whole = matches!(documents.next(), Some(Ok(_)));
        let end = documents.byte_offset();
        let rest = self.text[end..].trim_start();
        if whole && end <= byte && !rest.is_empty() {
            let found: String = rest.chars().take(20).collect();
            let message =
                format!("found {found:?} behind the object, expected the end of the file");
            return self.at(self.text.len() - rest.len(), message);
        }
        let Some(location::Value { name, begin, .. }) = location::value_at(self.text, byte) else {
            return self.at(byte, "trailing characters");
        };
        let list = name.rsplit_once('[').map_or(&*name, |(list, _)| list);
        self.at(
            begin,
            format!("{list} goes on, expected 3 numbers, [row, column, value]"),
        )
    }

    /// Number of contacts: as many as `mu` and the velocities agree upon.
    fn contacts(
        &self,
        dimension: usize,
        (what, velocities): (&str, &[f64]),
        mu: &[f64],
        rolling: &[f64],
    ) -> Result<usize, ArchiveError> {
        if !matches!(dimension, 2 | 3 | 5) {
            return Err(self.problem(ProblemError::Dimension(dimension), "dimension"));
        }
        let size = velocities.len();
        if size % dimension != 0 {
            let message = format!(
                "{what} has {size} entries, expected a multiple of {dimension}, the dimension of a contact"
            );
            return Err(self.wrong(&[Step::Field(what)], message));
        }
        let contacts = size / dimension;
        let of = if contacts == 1 { "contact" } else { "contacts" };
        let because = format!(
            "{what} has {size} entries, which are {contacts} {of} of dimension {dimension}"
        );
        if mu.len() != contacts {
            let message = format!(
                "mu has {} entries, expected {contacts}: {because}",
                mu.len()
            );
            return Err(self.wrong(&[Step::Field("mu")], message));
        }
        let (at, message) = match (dimension, rolling.len()) {
            (5, 0) if contacts > 0 => (
                "dimension",
                format!(
                    "dimension 5 asks for the field `rolling`, one length [m] per contact; there are {contacts}"
                ),
            ),
            (5, found) if found != contacts => (
                "rolling",
                format!("rolling has {found} entries, expected {contacts}: {because}"),
            ),
            (2 | 3, found) if found > 0 => (
                "rolling",
                format!(
                    "rolling has {found} entries, but contacts of dimension {dimension} do not roll; leave it out, or use dimension 5"
                ),
            ),
            _ => return Ok(contacts),
        };
        Err(self.wrong(&[Step::Field(at)], message))
    }

    /// All entries of a matrix lie in it.
    fn inside(
        &self,
        what: &str,
        list: &Triplets,
        rows: usize,
        cols: usize,
    ) -> Result<(), ArchiveError> {
        let Some(k) = list.iter().position(|e| e.0 >= rows || e.1 >= cols) else {
            return Ok(());
        };
        let (i, j, _) = list[k];
        let message = format!(
            "{what}: an entry at ({i}, {j}) of a {rows} × {cols} matrix; rows and columns count from 0"
        );
        Err(self.wrong(&[Step::Field(what), Step::Entry(k)], message))
    }

    /// What a problem of several laws complains of.
    fn contact(&self, error: ContactDataError, archive: &ContactData) -> ArchiveError {
        match error {
            ContactDataError::Size { what, .. } => self.wrong(&[Step::Field(what)], error),
            ContactDataError::Law { block } => {
                self.wrong(&[Step::Field("blocks"), Step::Entry(block)], error)
            }
            ContactDataError::Entry { row, column, .. } => {
                let outside = |e: &(usize, usize, f64)| (e.0, e.1) == (row, column);
                let entry = archive.matrix.iter().position(outside).unwrap_or(0);
                self.wrong(&[Step::Field("delassus"), Step::Entry(entry)], error)
            }
            _ => self.wrong(&[Step::Field("blocks")], error),
        }
    }

    /// What the problem itself complains of; `field` is where its matrix is.
    fn problem(&self, error: ProblemError, field: &str) -> ArchiveError {
        let of = |what: &'static str| match what {
            "mu_r" => "rolling",
            other => other,
        };
        match error {
            ProblemError::Value {
                what: what @ ("q" | "mu" | "mu_r" | "f"),
                index,
                value,
                excludes_negative: negative,
            } => {
                let error = ProblemError::Value {
                    what: of(what),
                    index,
                    value,
                    excludes_negative: negative,
                };
                let at = [Step::Field(of(what)), Step::Entry(index)];
                self.wrong(&at, error)
            }
            error => self.wrong(&[Step::Field(field)], error),
        }
    }

    fn mixed(
        &self,
        equalities: usize,
        rows: &[Vec<f64>],
        q: Vec<f64>,
    ) -> Result<Problem, ArchiveError> {
        let n = q.len();
        if rows.len() != n {
            let message = format!("matrix has {} rows, q has {n} entries", rows.len());
            return Err(self.wrong(&[Step::Field("matrix")], message));
        }
        if equalities > n {
            let message = format!("equalities is {equalities}, more than the {n} rows");
            return Err(self.wrong(&[Step::Field("equalities")], message));
        }
        let mut matrix = Dense::zeros(n, n);
        for (i, row) in rows.iter().enumerate() {
            if row.len() != n {
                let message = format!("row {i} of matrix has {} entries, expected {n}", row.len());
                return Err(self.wrong(&[Step::Field("matrix"), Step::Entry(i)], message));
            }
            matrix.row_mut(i).copy_from_slice(row);
        }
        super::mixed(self.path, equalities, matrix, q)
    }
}

pub(super) fn write(path: &Path, record: &Record) -> Result<String, ArchiveError> {
    let solution = record.solution.clone();
    let guesses = record.guesses.clone();
    let title = record.title.clone();
    let document = match &record.problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let lines = (0..q.len()).map(|i| matrix.row(i).to_vec()).collect();
            let rows = record.rows.clone();
            match *equalities {
                0 => Document::Lcp(Lcp {
                    _kind: IgnoredAny,
                    title,
                    rows,
                    matrix: lines,
                    q: q.clone(),
                    solution,
                    guesses,
                }),
                equalities => Document::Mlcp(Mixed {
                    _kind: IgnoredAny,
                    equalities,
                    title,
                    rows,
                    matrix: lines,
                    q: q.clone(),
                    solution,
                    guesses,
                }),
            }
        }
        Problem::Friction(p) if p.is_matrix_free() => return Err(super::not_a_matrix(path)),
        Problem::Friction(p) => Document::Friction(Reduced {
            _kind: IgnoredAny,
            title,
            rows: record.rows.clone(),
            dimension: p.dimension(),
            delassus: p.delassus().triplets().filter(|e| e.2 != 0.0).collect(),
            q: p.free_velocity().to_vec(),
            mu: p.friction().to_vec(),
            rolling: p.rolling().to_vec(),
            solution,
            guesses,
        }),
        Problem::Global(p) => Document::GlobalFriction(Global {
            _kind: IgnoredAny,
            title,
            dimension: p.dimension(),
            mass: p.mass().triplets().collect(),
            directions: p.directions().triplets().collect(),
            f: p.force().to_vec(),
            w: p.bias().to_vec(),
            mu: p.friction().to_vec(),
            rolling: p.rolling().to_vec(),
            solution,
            guesses,
        }),
        Problem::Contact(p) => Document::Contact(Contact {
            _kind: IgnoredAny,
            title,
            rows: record.rows.clone(),
            ids: p.ids.clone(),
            blocks: p.blocks.iter().copied().map(Law).collect(),
            delassus: p.matrix.clone(),
            sparse: p.sparse,
            q: p.q.clone(),
            solution,
            guesses,
        }),
    };
    serde_json::to_string(&document).map_err(|e| ArchiveError::Format {
        path: path.into(),
        message: e.to_string(),
    })
}
