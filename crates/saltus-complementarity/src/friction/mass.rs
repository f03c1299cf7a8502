//! Checks that a mass matrix is symmetric and positive definite, and names the entry where it is not.

use super::problem::ProblemError;
use crate::sparse::SparseMatrix;
use crate::union_find::UnionFind;
use saltus_linear::Cholesky;

/// Largest difference of mirrored entries, relative to `√(Mᵢᵢ Mⱼⱼ)`. Public problems reach 2e-3, by inertia tensors that were rotated
/// inaccurately; beyond the limit an entry is wrong or missing.
const ASYMMETRY: f64 = 1e-2;

/// Size of negative eigenvalues of the symmetric part, with its diagonal scaled to 1, that is accepted as rounding to single
/// precision.
const ROUNDING: f64 = 1e-6;

/// Largest number of coupled coordinates that are checked by a factorisation; of more, only pairs are checked.
const LARGEST_FACTORISED: usize = 600;

/// Largest number of coordinates that are named.
const MAX_NAMED: usize = 12;

/// # Errors
/// [`ProblemError::MassEntry`] and [`ProblemError::MassIndefinite`]. A matrix that is singular up to rounding passes: whether it
/// can be inverted is found when that is needed.
pub(super) fn check(mass: &SparseMatrix) -> Result<(), ProblemError> {
    let n = mass.rows();
    let mut scale = vec![0.0; n];
    for (i, _, v) in mass.triplets().filter(|e| e.0 == e.1) {
        scale[i] = v;
    }
    let entry = |row: usize, column: usize, value: f64, why: String| ProblemError::MassEntry {
        row,
        column,
        value,
        why,
    };
    if let Some(i) = scale.iter().position(|v| *v <= 0.0) {
        let why = "the diagonal of a mass matrix is positive".to_owned();
        return Err(entry(i, i, scale[i], why));
    }
    scale.iter_mut().for_each(|v| *v = v.sqrt());
    let transpose = transposed(mass);
    let mut parts = UnionFind::new(n);
    for j in 0..n {
        let mut mirrored = transpose.column(j).peekable();
        for (i, v) in mass.column(j) {
            parts.unite(i, j);
            while mirrored.next_if(|m| m.0 < i).is_some() {}
            let other = mirrored.next_if(|m| m.0 == i).map_or(0.0, |m| m.1);
            if (v - other).abs() > ASYMMETRY * scale[i] * scale[j] {
                let why = format!(
                    "entry ({j}, {i}) is {other}, and a mass matrix is symmetric: give both halves of it"
                );
                return Err(entry(i, j, v, why));
            }
            if i != j && 0.5 * (v + other).abs() > (1.0 + ROUNDING) * scale[i] * scale[j] {
                let (a, b) = (scale[i] * scale[i], scale[j] * scale[j]);
                let why = format!(
                    "beside {a} and {b} on the diagonal a positive definite matrix has less than {} there",
                    (a * b).sqrt()
                );
                return Err(entry(i, j, v, why));
            }
        }
    }
    for coordinates in parts.sets() {
        if (3..=LARGEST_FACTORISED).contains(&coordinates.len()) {
            check_definite(mass, &scale, coordinates)?;
        }
    }
    Ok(())
}

fn transposed(mass: &SparseMatrix) -> SparseMatrix {
    let transpose: Vec<_> = mass.triplets().map(|(i, j, v)| (j, i, v)).collect();
    SparseMatrix::from_triplets(mass.cols(), mass.rows(), &transpose)
}

/// The largest difference of mirrored entries relative to `√(Mᵢᵢ Mⱼⱼ)`, of a matrix that passed.
pub(super) fn asymmetry(mass: &SparseMatrix) -> f64 {
    let mut diagonal = vec![0.0; mass.cols()];
    for (i, _, v) in mass.triplets().filter(|e| e.0 == e.1) {
        diagonal[i] = v;
    }
    let mut difference: Vec<_> = mass.triplets().collect();
    difference.extend(transposed(mass).triplets().map(|(i, j, v)| (i, j, -v)));
    let difference = SparseMatrix::from_triplets(mass.rows(), mass.cols(), &difference);
    difference.triplets().fold(0.0, |worst, (i, j, v)| {
        f64::max(worst, v.abs() / (diagonal[i] * diagonal[j]).sqrt())
    })
}

/// Checks the symmetric part of the coupled `coordinates` by a Cholesky factorisation, with the diagonal scaled to 1.
fn check_definite(
    mass: &SparseMatrix,
    scale: &[f64],
    mut coordinates: Vec<usize>,
) -> Result<(), ProblemError> {
    let k = coordinates.len();
    let mut dense = vec![0.0; k * k];
    for (b, &j) in coordinates.iter().enumerate() {
        for (i, v) in mass.column(j) {
            if let Ok(a) = coordinates.binary_search(&i) {
                let half = 0.5 * v / (scale[i] * scale[j]);
                dense[a * k + b] += half;
                dense[b * k + a] += half;
            }
        }
        dense[b * k + b] += ROUNDING;
    }
    let factorised = Cholesky::default().factorise(k, 0.0, |a, b| dense[a * k + b]);
    factorised.map_err(|_| {
        coordinates.truncate(MAX_NAMED);
        ProblemError::MassIndefinite { coordinates }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: [[f64; 3]; 3]) -> Result<(), ProblemError> {
        let entries = (0..9).map(|k| (k / 3, k % 3, rows[k / 3][k % 3]));
        check(&SparseMatrix::from_triplets(
            3,
            3,
            &entries.collect::<Vec<_>>(),
        ))
    }

    #[test]
    fn asymmetry_is_relative_to_the_diagonal() {
        let entries = [(0, 0, 4.0), (1, 1, 9.0), (0, 1, 0.3), (1, 0, 0.33)];
        let mass = SparseMatrix::from_triplets(2, 2, &entries);
        assert!((asymmetry(&mass) - 0.005).abs() < 1e-15);
    }

    #[test]
    fn a_mass_matrix_is_symmetric_and_positive_definite() {
        let unit = |d: f64, a: f64, b: f64| [[d, a, a], [b, 1.0, a], [b, b, 1.0]];
        assert_eq!(of(unit(1.0, 0.4, 0.4)), Ok(()));
        assert_eq!(of(unit(1.0, 0.4, 0.4 + 2e-3)), Ok(()));
        // Singular: (1, −1, 0) and the like have no kinetic energy.
        assert_eq!(of(unit(1.0, 1.0, 1.0)), Ok(()));
        let place = |rows| match of(rows) {
            Err(ProblemError::MassEntry { row, column, .. }) => (row, column),
            other => (9, usize::from(other.is_err())),
        };
        assert_eq!(place(unit(-1.0, 0.0, 0.0)), (0, 0));
        assert_eq!(place(unit(1.0, 0.0, 0.1)), (1, 0));
        assert_eq!(place(unit(1.0, 1.1, 1.1)), (1, 0));
        // Each pair is fine, all three are not: 1 − 2·0.6 < 0.
        let three = ProblemError::MassIndefinite {
            coordinates: vec![0, 1, 2],
        };
        assert_eq!(of(unit(1.0, -0.6, -0.6)), Err(three));
    }
}
