//! The HDF5 layout of the FCLIB collection (Acary et al., Inria RT-0444): `fclib_local` and `fclib_global`,
//! with rolling friction as `fclib_local_rolling` and `fclib_global_rolling`.

use super::{ArchiveError, Point, Problem, Record};
use hdf5_pure::{File, FileBuilder, GroupBuilder};
use saltus_complementarity::friction::{FrictionContact, GlobalFriction};
use saltus_complementarity::{BlockMatrix, SparseMatrix};
use std::path::Path;

/// Rows, columns and entries of a matrix.
type Matrix = (usize, usize, Vec<(usize, usize, f64)>);

/// More guesses than this are not read.
const LARGEST_COUNT: i64 = 1000;

/// A file and its name, for messages.
struct Source<'a> {
    path: &'a Path,
    file: File,
}

pub(super) fn read(path: &Path, bytes: Vec<u8>) -> Result<Record, ArchiveError> {
    let wrong = |e: hdf5_pure::Error| ArchiveError::Format {
        path: path.into(),
        message: e.to_string(),
    };
    let source = Source {
        path,
        file: File::from_bytes(bytes).map_err(wrong)?,
    };
    let groups = source.file.root().groups().map_err(wrong)?;
    let has = |name: &str| groups.iter().any(|g| g == name);
    for group in ["fclib_local", "fclib_local_rolling", "fclib_rolling_local"] {
        if has(group) {
            return source.with_points(source.local(group)?, &groups);
        }
    }
    for group in [
        "fclib_global",
        "fclib_global_rolling",
        "fclib_rolling_global",
    ] {
        if has(group) {
            return source.with_points(source.global(group)?, &groups);
        }
    }
    let message = format!("groups {groups:?}; expected `fclib_local` or `fclib_global`");
    Err(ArchiveError::Format {
        path: path.into(),
        message,
    })
}

impl Source<'_> {
    fn wrong(&self, name: &str, message: impl std::fmt::Display) -> ArchiveError {
        ArchiveError::Format {
            path: self.path.into(),
            message: format!("{name}: {message}"),
        }
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, ArchiveError> {
        self.file
            .dataset(name)
            .and_then(|d| d.read_f64())
            .map_err(|e| self.wrong(name, e))
    }

    fn integers(&self, name: &str) -> Result<Vec<i64>, ArchiveError> {
        let data = self.file.dataset(name).map_err(|e| self.wrong(name, e))?;
        let small = data
            .read_i32()
            .map(|v| v.into_iter().map(i64::from).collect());
        small
            .or_else(|_| data.read_i64())
            .map_err(|e| self.wrong(name, e))
    }

    fn integer(&self, name: &str) -> Result<i64, ArchiveError> {
        self.integers(name)?
            .first()
            .copied()
            .ok_or_else(|| self.wrong(name, "is empty; expected one number"))
    }

    /// Rolling lengths, wherever the writer put them.
    fn rolling(&self, group: &str, dimension: usize) -> Result<Vec<f64>, ArchiveError> {
        if dimension != 5 {
            return Ok(Vec::new());
        }
        let first = self.numbers(&format!("{group}/vectors/mu_r"));
        first.or_else(|e| {
            self.numbers(&format!("{group}/vectors/mu_rolling"))
                .map_err(|_| e)
        })
    }

    /// Components per contact: the file says 3 for a rolling problem too.
    fn dimension(&self, group: &str, size: usize, contacts: usize) -> Result<usize, ArchiveError> {
        let named = self.integer(&format!("{group}/spacedim"))?.max(0) as usize;
        if contacts > 0 && size == 5 * contacts {
            return Ok(5);
        }
        Ok(named)
    }

    fn local(&self, group: &str) -> Result<Problem, ArchiveError> {
        let q = self.numbers(&format!("{group}/vectors/q"))?;
        let mu = self.numbers(&format!("{group}/vectors/mu"))?;
        let dimension = self.dimension(group, q.len(), mu.len())?;
        if !matches!(dimension, 2 | 3 | 5) {
            return Err(self.wrong("spacedim", format!("{dimension}; expected 2, 3 or 5")));
        }
        let (rows, cols, entries) = self.matrix(&format!("{group}/W"))?;
        if rows != dimension * mu.len() || cols != rows {
            return Err(self.wrong("W", format!("{rows} × {cols} for {} contacts", mu.len())));
        }
        let rolling = self.rolling(group, dimension)?;
        let w = BlockMatrix::from_triplets(dimension, mu.len(), entries);
        FrictionContact::new(w, q, mu, rolling)
            .map(Problem::Friction)
            .map_err(|source| ArchiveError::Problem {
                path: self.path.into(),
                source,
            })
    }

    fn global(&self, group: &str) -> Result<Problem, ArchiveError> {
        let f = self.numbers(&format!("{group}/vectors/f"))?;
        let w = self.numbers(&format!("{group}/vectors/w"))?;
        let mu = self.numbers(&format!("{group}/vectors/mu"))?;
        let dimension = self.dimension(group, w.len(), mu.len())?;
        let (m_rows, m_cols, m) = self.matrix(&format!("{group}/M"))?;
        let (h_rows, h_cols, h) = self.matrix(&format!("{group}/H"))?;
        let n = f.len();
        for (name, found, expected) in [
            ("M", (m_rows, m_cols), (n, n)),
            ("H", (h_rows, h_cols), (n, w.len())),
        ] {
            if found != expected {
                let message = format!(
                    "{} × {}, expected {} × {}",
                    found.0, found.1, expected.0, expected.1
                );
                return Err(self.wrong(name, message));
            }
        }
        let rolling = self.rolling(group, dimension)?;
        let mass = SparseMatrix::from_triplets(m_rows, m_cols, &m).completed();
        let h = SparseMatrix::from_triplets(h_rows, h_cols, &h);
        GlobalFriction::new(dimension, mass, h, f, w, mu, rolling)
            .map(Problem::Global)
            .map_err(|source| ArchiveError::Problem {
                path: self.path.into(),
                source,
            })
    }

    /// Adds what the file calls its solution and its guesses.
    fn with_points(&self, problem: Problem, groups: &[String]) -> Result<Record, ArchiveError> {
        let mut record = Record::from(problem);
        if groups.iter().any(|g| g == "solution") {
            record.solution = self.point("solution")?;
        }
        if groups.iter().any(|g| g == "guesses") {
            let count = self.integer("guesses/number_of_guesses").unwrap_or(0);
            for k in 1..=count.min(LARGEST_COUNT) {
                record.guesses.extend(self.point(&format!("guesses/{k}"))?);
            }
        }
        Ok(record)
    }

    /// `r` and `u`, and `v` where it is there; none where there is no `r`, which is how an empty group is kept.
    fn point(&self, group: &str) -> Result<Option<Point>, ArchiveError> {
        let optional = |name: &str| -> Result<Vec<f64>, ArchiveError> {
            let full = format!("{group}/{name}");
            match self.file.dataset(&full) {
                Ok(_) => self.numbers(&full),
                Err(_) => Ok(Vec::new()),
            }
        };
        let unknowns = optional("r")?;
        if unknowns.is_empty() {
            return Ok(None);
        }
        Ok(Some(Point {
            unknowns,
            dual: optional("u")?,
            velocity: optional("v")?,
        }))
    }

    /// `nz ≥ 0`: triplets; −1: compressed columns; −2: compressed rows.
    fn matrix(&self, name: &str) -> Result<Matrix, ArchiveError> {
        let rows = self.integer(&format!("{name}/m"))?.max(0) as usize;
        let cols = self.integer(&format!("{name}/n"))?.max(0) as usize;
        let nz = self.integer(&format!("{name}/nz"))?;
        let (p, i) = (
            self.integers(&format!("{name}/p"))?,
            self.integers(&format!("{name}/i"))?,
        );
        let x = self.numbers(&format!("{name}/x"))?;
        let mut entries = Vec::new();
        if nz >= 0 {
            for ((&i, &p), &x) in i.iter().zip(&p).zip(&x).take(nz as usize) {
                entries.push((i, p, x));
            }
        } else {
            for (k, pair) in p.windows(2).enumerate() {
                for at in pair[0].max(0)..pair[1] {
                    let (Some(&other), Some(&x)) = (i.get(at as usize), x.get(at as usize)) else {
                        return Err(self.wrong(
                            name,
                            format!("pointer {at} is beyond the {} indices", i.len()),
                        ));
                    };
                    entries.push(if nz == -1 {
                        (other, k as i64, x)
                    } else {
                        (k as i64, other, x)
                    });
                }
            }
        }
        if let Some(e) = entries
            .iter()
            .find(|e| e.0 < 0 || e.1 < 0 || e.0 >= rows as i64 || e.1 >= cols as i64)
        {
            return Err(self.wrong(
                name,
                format!("an entry at ({}, {}) of a {rows} × {cols} matrix", e.0, e.1),
            ));
        }
        Ok((
            rows,
            cols,
            entries
                .into_iter()
                .map(|(i, j, x)| (i as usize, j as usize, x))
                .collect(),
        ))
    }
}

/// The bytes of a file that holds `problem`.
pub(super) fn write(path: &Path, record: &Record) -> Result<Vec<u8>, ArchiveError> {
    let problem = &record.problem;
    let mut builder = FileBuilder::new();
    let (name, dimension) = match problem {
        Problem::Mixed { .. } => {
            let message = "this layout holds frictional contact only; write JSON instead".into();
            return Err(ArchiveError::Format {
                path: path.into(),
                message,
            });
        }
        Problem::Contact(_) => return Err(super::not_one_law(path)),
        Problem::Friction(p) if p.is_matrix_free() => return Err(super::not_a_matrix(path)),
        Problem::Friction(p) => ("fclib_local", p.dimension()),
        Problem::Global(p) => ("fclib_global", p.dimension()),
    };
    let mut group = builder.create_group(name);
    group
        .create_dataset("spacedim")
        .with_i32_data(&[dimension as i32])
        .with_shape(&[1]);
    let mut vectors = group.create_group("vectors");
    let mut vector = |name: &str, data: &[f64]| {
        vectors
            .create_dataset(name)
            .with_f64_data(data)
            .with_shape(&[data.len() as u64]);
    };
    let mut matrices: Vec<(&str, Matrix)> = Vec::new();
    match problem {
        Problem::Mixed { .. } | Problem::Contact(_) => {}
        Problem::Friction(p) => {
            vector("q", p.free_velocity());
            vector("mu", p.friction());
            if dimension == 5 {
                vector("mu_r", p.rolling());
            }
            let size = dimension * p.contacts();
            matrices.push((
                "W",
                (
                    size,
                    size,
                    p.delassus().triplets().filter(|e| e.2 != 0.0).collect(),
                ),
            ));
        }
        Problem::Global(p) => {
            vector("f", p.force());
            vector("w", p.bias());
            vector("mu", p.friction());
            if dimension == 5 {
                vector("mu_r", p.rolling());
            }
            for (name, m) in [("M", p.mass()), ("H", p.directions())] {
                matrices.push((name, (m.rows(), m.cols(), m.triplets().collect())));
            }
        }
    }
    group.add_group(vectors.finish());
    for (name, (rows, cols, entries)) in matrices {
        let mut matrix = group.create_group(name);
        let mut integers = |name: &str, data: &[i32]| {
            matrix
                .create_dataset(name)
                .with_i32_data(data)
                .with_shape(&[data.len() as u64]);
        };
        let count = entries.len() as i32;
        integers("m", &[rows as i32]);
        integers("n", &[cols as i32]);
        integers("nz", &[count]);
        integers("nzmax", &[count]);
        integers("i", &entries.iter().map(|e| e.0 as i32).collect::<Vec<_>>());
        integers("p", &entries.iter().map(|e| e.1 as i32).collect::<Vec<_>>());
        let values: Vec<f64> = entries.iter().map(|e| e.2).collect();
        matrix
            .create_dataset("x")
            .with_f64_data(&values)
            .with_shape(&[values.len() as u64]);
        group.add_group(matrix.finish());
    }
    builder.add_group(group.finish());
    points(&mut builder, record);
    builder.finish().map_err(|e| ArchiveError::Format {
        path: path.into(),
        message: e.to_string(),
    })
}

/// The groups `solution` and `guesses`.
fn points(builder: &mut FileBuilder, record: &Record) {
    let fill = |group: &mut GroupBuilder, point: &Point| {
        for (name, data) in [
            ("v", &point.velocity),
            ("u", &point.dual),
            ("r", &point.unknowns),
        ] {
            if !data.is_empty() {
                group
                    .create_dataset(name)
                    .with_f64_data(data)
                    .with_shape(&[data.len() as u64]);
            }
        }
    };
    if let Some(point) = &record.solution {
        let mut group = builder.create_group("solution");
        fill(&mut group, point);
        builder.add_group(group.finish());
    }
    if !record.guesses.is_empty() {
        let mut group = builder.create_group("guesses");
        group
            .create_dataset("number_of_guesses")
            .with_i32_data(&[record.guesses.len() as i32])
            .with_shape(&[1]);
        for (k, point) in record.guesses.iter().enumerate() {
            let mut one = group.create_group(&(k + 1).to_string());
            fill(&mut one, point);
            group.add_group(one.finish());
        }
        builder.add_group(group.finish());
    }
}
