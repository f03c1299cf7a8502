//! Our own format: one JSON object that says its kind, matrices as triplets `[row, column, value]`.

use super::{ArchiveError, Point, Problem, Record};
use crate::block::BlockMatrix;
use crate::friction::{FrictionContact, GlobalFriction, ProblemError};
use crate::sparse::SparseMatrix;
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

pub(super) fn read(path: &Path, text: &str) -> Result<Record, ArchiveError> {
    let wrong = |message: String| ArchiveError::Format {
        path: path.into(),
        message,
    };
    let document = parsed(text).map_err(|e| wrong(e.to_string()))?;
    let place = |list: &Triplets, rows: usize, cols: usize, what: &str| {
        list.iter()
            .find(|e| e.0 >= rows || e.1 >= cols)
            .map_or(Ok(()), |e| {
                Err(wrong(format!(
                    "{what}: an entry at ({}, {}) of a {rows} × {cols} matrix",
                    e.0, e.1
                )))
            })
    };
    let problem = |source| ArchiveError::Problem {
        path: path.into(),
        source,
    };
    let mut names = Vec::new();
    let (problem, solution, guesses, title) = match document {
        Document::Lcp(Lcp {
            title,
            rows,
            matrix,
            q,
            solution,
            guesses,
            ..
        }) => {
            names = rows;
            (mixed(path, 0, &matrix, q)?, solution, guesses, title)
        }
        Document::Mlcp(Mixed {
            title,
            rows,
            equalities,
            matrix,
            q,
            solution,
            guesses,
            ..
        }) => {
            names = rows;
            let problem = mixed(path, equalities, &matrix, q)?;
            (problem, solution, guesses, title)
        }
        Document::Friction(Reduced {
            title,
            dimension,
            delassus,
            q,
            mu,
            rolling,
            solution,
            guesses,
            ..
        }) => {
            known(dimension).map_err(problem)?;
            let size = dimension * mu.len();
            place(&delassus, size, size, "delassus")?;
            let w = BlockMatrix::from_triplets(dimension, mu.len(), delassus);
            let p = FrictionContact::new(w, q, mu, rolling).map_err(problem)?;
            (Problem::Friction(p), solution, guesses, title)
        }
        Document::GlobalFriction(Global {
            title,
            dimension,
            mass,
            directions,
            f,
            w,
            mu,
            rolling,
            solution,
            guesses,
            ..
        }) => {
            known(dimension).map_err(problem)?;
            let (n, m) = (f.len(), dimension * mu.len());
            place(&mass, n, n, "mass")?;
            place(&directions, n, m, "directions")?;
            let mass = SparseMatrix::from_triplets(n, n, &mass);
            let h = SparseMatrix::from_triplets(n, m, &directions);
            let p = GlobalFriction::new(dimension, mass, h, f, w, mu, rolling).map_err(problem)?;
            (Problem::Global(p), solution, guesses, title)
        }
    };
    Ok(Record {
        problem,
        solution,
        guesses,
        title,
        rows: names,
    })
}

/// What is wrong is named with its line and column: a document that is chosen by its kind while it is read has lost them.
fn parsed(text: &str) -> Result<Document, serde_json::Error> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let Kind { kind } = serde_json::from_str(text)?;
    Ok(match kind.as_str() {
        "lcp" => Document::Lcp(serde_json::from_str(text)?),
        "mlcp" => Document::Mlcp(serde_json::from_str(text)?),
        "friction" => Document::Friction(serde_json::from_str(text)?),
        "global-friction" => Document::GlobalFriction(serde_json::from_str(text)?),
        _ => {
            let known = "lcp, mlcp, friction, global-friction";
            return Err(serde::de::Error::custom(format!(
                "kind is {kind:?}, expected one of {known}"
            )));
        }
    })
}

fn known(dimension: usize) -> Result<(), ProblemError> {
    if matches!(dimension, 2 | 3 | 5) {
        Ok(())
    } else {
        Err(ProblemError::Dimension(dimension))
    }
}

fn mixed(
    path: &Path,
    equalities: usize,
    rows: &[Vec<f64>],
    q: Vec<f64>,
) -> Result<Problem, ArchiveError> {
    let n = q.len();
    let wrong = |message: String| ArchiveError::Format {
        path: path.into(),
        message,
    };
    if rows.len() != n {
        return Err(wrong(format!(
            "matrix has {} rows, q has {n} entries",
            rows.len()
        )));
    }
    if equalities > n {
        return Err(wrong(format!(
            "equalities is {equalities}, more than the {n} rows"
        )));
    }
    let mut matrix = Dense::zeros(n, n);
    for (i, row) in rows.iter().enumerate() {
        if row.len() != n {
            return Err(wrong(format!(
                "row {i} of matrix has {} entries, expected {n}",
                row.len()
            )));
        }
        matrix.row_mut(i).copy_from_slice(row);
    }
    super::mixed(path, equalities, matrix, q)
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
    };
    serde_json::to_string(&document).map_err(|e| ArchiveError::Format {
        path: path.into(),
        message: e.to_string(),
    })
}
