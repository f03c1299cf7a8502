//! The same formats, written: matrices of complementarity dense, of friction in sparse blocks, of the global form as
//! triplets. A rolling problem gets a dense matrix, because the peer's solvers for it take no other.

use super::{ArchiveError, Problem};
use saltus_complementarity::{BlockMatrix, SparseMatrix};
use saltus_linear::Dense;
use std::fmt::Write as _;
use std::path::Path;

/// The text of a file that holds `problem`.
pub(in crate::archive) fn write(path: &Path, problem: &Problem) -> Result<String, ArchiveError> {
    let mut text = String::new();
    match problem {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let n = q.len();
            if *equalities == 0 {
                line(&mut text, &[n]);
            } else {
                line(&mut text, &[1]);
                line(&mut text, &[0]);
                line(&mut text, &[*equalities]);
                line(&mut text, &[n - equalities]);
                if *equalities < n {
                    line(&mut text, &[0, *equalities, n]);
                    line(&mut text, &[0, 1]);
                } else {
                    line(&mut text, &[0, n]);
                    line(&mut text, &[0]);
                }
            }
            dense(&mut text, matrix);
            numbers(&mut text, q);
        }
        Problem::Contact(_) => return Err(super::super::not_one_law(path)),
        Problem::Friction(p) => {
            if p.is_matrix_free() {
                return Err(super::super::not_a_matrix(path));
            }
            line(&mut text, &[p.dimension()]);
            line(&mut text, &[p.contacts()]);
            if p.dimension() == 5 {
                let size = 5 * p.contacts();
                let mut matrix = Dense::zeros(size, size);
                for (i, j, v) in p.delassus().triplets() {
                    matrix[(i, j)] = v;
                }
                dense(&mut text, &matrix);
            } else {
                blocks(&mut text, p.delassus());
            }
            numbers(&mut text, p.free_velocity());
            numbers(&mut text, p.friction());
            if p.dimension() == 5 {
                numbers(&mut text, p.rolling());
            }
        }
        Problem::Global(p) => {
            line(&mut text, &[p.dimension()]);
            line(&mut text, &[p.contacts()]);
            triplets(&mut text, p.mass());
            triplets(&mut text, p.directions());
            for list in [p.force(), p.bias(), p.friction()] {
                numbers(&mut text, list);
            }
            if p.dimension() == 5 {
                numbers(&mut text, p.rolling());
            }
        }
    }
    Ok(text)
}

fn line(text: &mut String, list: &[usize]) {
    for v in list {
        let _ = write!(text, "{v} ");
    }
    text.push('\n');
}

fn numbers(text: &mut String, list: &[f64]) {
    for v in list {
        let _ = write!(text, "{v:e} ");
    }
    text.push('\n');
}

fn dense(text: &mut String, matrix: &Dense) {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    line(text, &[0]);
    line(text, &[rows]);
    line(text, &[cols]);
    line(text, &[rows, cols]);
    for i in 0..rows {
        numbers(text, matrix.row(i));
    }
}

/// Blocks column by column, each after its number.
fn blocks(text: &mut String, w: &BlockMatrix) {
    let (d, n) = (w.dimension(), w.blocks());
    line(text, &[1]);
    line(text, &[d * n]);
    line(text, &[d * n]);
    line(text, &[w.stored()]);
    line(text, &[n]);
    line(text, &[n]);
    let ends: Vec<usize> = (1..=n).map(|i| d * i).collect();
    line(text, &ends);
    line(text, &ends);
    line(text, &[n + 1]);
    line(text, &[w.stored()]);
    let mut pointers = vec![0];
    for i in 0..n {
        pointers.push(pointers[i] + w.cols(i).len());
    }
    line(text, &pointers);
    let indices: Vec<usize> = (0..n).flat_map(|i| w.cols(i).iter().copied()).collect();
    line(text, &indices);
    let all = (0..n).flat_map(|i| w.row(i).chunks_exact(d * d));
    for (number, block) in all.enumerate() {
        line(text, &[number]);
        let turned: Vec<f64> = (0..d * d).map(|k| block[(k % d) * d + k / d]).collect();
        numbers(text, &turned);
    }
}

fn triplets(text: &mut String, matrix: &SparseMatrix) {
    let (rows, cols, count) = (matrix.rows(), matrix.cols(), matrix.entries());
    line(text, &[2]);
    line(text, &[rows]);
    line(text, &[cols]);
    // Where the matrix comes from: triplets.
    line(text, &[1]);
    let _ = writeln!(text, "CSparse dump");
    let _ = writeln!(
        text,
        "triplet: {rows}-by-{cols}, nzmax: {} nnz: {count}",
        count.max(1)
    );
    for (i, j, v) in matrix.triplets() {
        let _ = writeln!(text, "    {i} {j} : {v:e}");
    }
}
