//! Whether a matrix is positive semidefinite, as far as rounding tells: what theorems about solutions ask for.

use saltus_linear::Dense;

/// A pivot below this share of its diagonal entry is rounding.
const ROUND_OFF: f64 = 1e-11;

/// Whether `x·M x ≥ 0` for all `x`: the elimination of the symmetric part, scaled to a diagonal of ones, with the largest diagonal
/// entry as pivot meets no negative one. Neither units of rows and columns (`D M D`) nor the order of rows matter.
pub(crate) fn is_semidefinite(matrix: &Dense) -> bool {
    let n = matrix.rows();
    let root: Vec<f64> = (0..n).map(|i| matrix[(i, i)].abs().sqrt()).collect();
    let mut a = Dense::zeros(n, n);
    for i in 0..n {
        if matrix[(i, i)] < 0.0 {
            return false;
        }
        for j in 0..n {
            let (here, there) = (matrix[(i, j)], matrix[(j, i)]);
            let sum = here + there;
            if sum.is_nan() {
                return false;
            }
            // A zero on the diagonal leaves no room beside it.
            let scale = root[i] * root[j];
            if scale > 0.0 {
                a[(i, j)] = 0.5 * sum / root[i] / root[j];
            } else if sum.abs() > ROUND_OFF * (here.abs() + there.abs()) {
                return false;
            }
        }
    }
    let small = ROUND_OFF * (n as f64).max(1.0);
    let mut left: Vec<usize> = (0..n).filter(|&i| root[i] > 0.0).collect();
    while let Some(place) =
        (0..left.len()).max_by(|&k, &l| a[(left[k], left[k])].total_cmp(&a[(left[l], left[l])]))
    {
        let p = left[place];
        let pivot = a[(p, p)];
        if pivot <= small {
            // Of a semidefinite remainder |a_ij|² ≤ a_ii a_jj.
            return left
                .iter()
                .all(|&i| a[(i, i)] >= -small && left.iter().all(|&j| a[(i, j)].abs() <= small));
        }
        left.swap_remove(place);
        for &i in &left {
            let factor = a[(i, p)] / pivot;
            if factor == 0.0 {
                continue;
            }
            for &j in &left {
                let change = factor * a[(p, j)];
                a[(i, j)] -= change;
            }
        }
    }
    true
}

/// Whether `M = Mᵀ` up to rounding.
pub(crate) fn is_symmetric(matrix: &Dense) -> bool {
    let n = matrix.rows();
    (0..n).all(|i| {
        (0..i).all(|j| {
            let (a, b) = (matrix[(i, j)], matrix[(j, i)]);
            let size = (matrix[(i, i)].abs().sqrt() * matrix[(j, j)].abs().sqrt()).max(a.abs());
            (a - b).abs() <= 1e-10 * size
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> Dense {
        let mut m = Dense::zeros(rows.len(), rows.len());
        for (i, row) in rows.iter().enumerate() {
            m.row_mut(i).copy_from_slice(row);
        }
        m
    }

    #[test]
    fn two_by_two() {
        for (rows, expected) in [
            ([[1.0, 0.0], [0.0, 1.0]], true),
            ([[1.0, 1.0], [1.0, 1.0]], true),
            ([[1.0, 1.001], [1.001, 1.0]], false),
            ([[-1.0, 0.0], [0.0, 1.0]], false),
            ([[0.0, 1.0], [-1.0, 0.0]], true),
            ([[0.0, 1.0], [1.0, 5.0]], false),
            ([[1e20, 1.0], [1.0, 1e-20]], true),
            ([[1e20, 1.1], [1.1, 1e-20]], false),
            ([[0.0, 0.0], [0.0, 0.0]], true),
        ] {
            let m = matrix(&[&rows[0], &rows[1]]);
            assert_eq!(is_semidefinite(&m), expected, "{rows:?}");
        }
        assert!(is_symmetric(&matrix(&[&[1.0, 2.0], &[2.0, 9.0]])));
        assert!(!is_symmetric(&matrix(&[&[1.0, 2.0], &[2.1, 9.0]])));
    }

    /// `HᵀH` of rank `r` in any units, and the same with one direction taken away.
    #[test]
    fn gram_matrices() {
        let mut state = 5_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        for n in [3, 8, 30] {
            for rank in [1, n / 2, n] {
                let h: Vec<f64> = (0..n * rank).map(|_| random()).collect();
                let d: Vec<f64> = (0..n).map(|_| 10.0_f64.powf(12.0 * random())).collect();
                let mut m = Dense::zeros(n, n);
                for i in 0..n {
                    for j in 0..n {
                        let sum: f64 = (0..rank).map(|k| h[k * n + i] * h[k * n + j]).sum();
                        m[(i, j)] = d[i] * d[j] * sum;
                    }
                }
                assert!(is_semidefinite(&m), "{n} {rank}");
                let own = m[(1, 1)];
                m[(1, 1)] = if rank == n { -1e-6 * own } else { 0.999 * own };
                assert!(!is_semidefinite(&m), "{n} {rank}");
            }
        }
    }
}
