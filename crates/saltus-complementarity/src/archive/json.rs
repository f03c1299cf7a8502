//! Our own format: one JSON object that says its kind, matrices as triplets `[row, column, value]`.

use super::{ArchiveError, Problem};
use crate::block::BlockMatrix;
use crate::friction::{FrictionContact, GlobalFriction};
use crate::sparse::SparseMatrix;
use saltus_linear::Dense;
use serde::{Deserialize, Serialize};
use std::path::Path;

type Triplets = Vec<(usize, usize, f64)>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Document {
    /// `0 ≤ z ⟂ M z + q ≥ 0`.
    Lcp { matrix: Vec<Vec<f64>>, q: Vec<f64> },
    /// The same with leading equalities.
    Mlcp {
        equalities: usize,
        matrix: Vec<Vec<f64>>,
        q: Vec<f64>,
    },
    /// `u = W r + q`.
    Friction {
        dimension: usize,
        delassus: Triplets,
        q: Vec<f64>,
        mu: Vec<f64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rolling: Vec<f64>,
    },
    /// `M v = H r + f`, `u = Hᵀ v + w`.
    GlobalFriction {
        dimension: usize,
        mass: Triplets,
        directions: Triplets,
        f: Vec<f64>,
        w: Vec<f64>,
        mu: Vec<f64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rolling: Vec<f64>,
    },
}

pub(super) fn read(path: &Path, text: &str) -> Result<Problem, ArchiveError> {
    let wrong = |message: String| ArchiveError::Format {
        path: path.into(),
        message,
    };
    let document: Document = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
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
    match document {
        Document::Lcp { matrix, q } => mixed(path, 0, &matrix, q),
        Document::Mlcp {
            equalities,
            matrix,
            q,
        } => mixed(path, equalities, &matrix, q),
        Document::Friction {
            dimension,
            delassus,
            q,
            mu,
            rolling,
        } => {
            let size = dimension * mu.len();
            place(&delassus, size, size, "delassus")?;
            let w = BlockMatrix::from_triplets(dimension, mu.len(), delassus);
            FrictionContact::new(w, q, mu, rolling)
                .map(Problem::Friction)
                .map_err(problem)
        }
        Document::GlobalFriction {
            dimension,
            mass,
            directions,
            f,
            w,
            mu,
            rolling,
        } => {
            let (n, m) = (f.len(), dimension * mu.len());
            place(&mass, n, n, "mass")?;
            place(&directions, n, m, "directions")?;
            let mass = SparseMatrix::from_triplets(n, n, &mass);
            let h = SparseMatrix::from_triplets(n, m, &directions);
            GlobalFriction::new(dimension, mass, h, f, w, mu, rolling)
                .map(Problem::Global)
                .map_err(problem)
        }
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
    Ok(Problem::Mixed {
        equalities,
        matrix,
        q,
    })
}

pub(super) fn write(path: &Path, problem: &Problem) -> Result<String, ArchiveError> {
    let document = match problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let rows = (0..q.len()).map(|i| matrix.row(i).to_vec()).collect();
            match *equalities {
                0 => Document::Lcp {
                    matrix: rows,
                    q: q.clone(),
                },
                equalities => Document::Mlcp {
                    equalities,
                    matrix: rows,
                    q: q.clone(),
                },
            }
        }
        Problem::Friction(p) => Document::Friction {
            dimension: p.dimension(),
            delassus: p.delassus().triplets().filter(|e| e.2 != 0.0).collect(),
            q: p.free_velocity().to_vec(),
            mu: p.friction().to_vec(),
            rolling: p.rolling().to_vec(),
        },
        Problem::Global(p) => Document::GlobalFriction {
            dimension: p.dimension(),
            mass: p.mass().triplets().collect(),
            directions: p.directions().triplets().collect(),
            f: p.force().to_vec(),
            w: p.bias().to_vec(),
            mu: p.friction().to_vec(),
            rolling: p.rolling().to_vec(),
        },
    };
    serde_json::to_string(&document).map_err(|e| ArchiveError::Format {
        path: path.into(),
        message: e.to_string(),
    })
}
