//! Rank-revealing least squares: the minimum-norm solution of a possibly singular system.

use saltus_linear::{Dense, MinimumNorm, dot};

fn dense(rows: usize, cols: usize, data: &[f64]) -> Dense {
    let mut a = Dense::zeros(rows, cols);
    a.as_mut_slice().copy_from_slice(data);
    a
}

#[test]
fn duplicate_row_gives_half_each() {
    let mut f = MinimumNorm::default();
    let a = dense(2, 2, &[3.0, 3.0, 3.0, 3.0]);
    assert_eq!(f.factorise(&a), 1);
    let (mut b, mut x) = ([6.0, 6.0], [0.0; 2]);
    f.solve(&mut b, &mut x);
    assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 1.0).abs() < 1e-15);
}

#[test]
fn pseudo_inverse_of_a_rank_two_matrix() {
    // A = u vᵀ + w zᵀ: the solution of A x = A y has minimum norm iff it is orthogonal to the kernel.
    let (u, v, w, z) = (
        [1.0, 2.0, -1.0, 0.5],
        [1.0, 0.0, 2.0, -1.0],
        [0.0, 1.0, 1.0, 3.0],
        [2.0, 1.0, 0.0, 1.0],
    );
    let mut a = Dense::zeros(4, 4);
    for i in 0..4 {
        for j in 0..4 {
            a[(i, j)] = u[i] * v[j] + w[i] * z[j];
        }
    }
    let mut f = MinimumNorm::default();
    assert_eq!(f.factorise(&a), 2);
    let y = [0.3, -1.0, 0.7, 2.0];
    let mut b = [0.0; 4];
    a.apply(&y, &mut b);
    let rhs = b;
    let mut x = [0.0; 4];
    f.solve(&mut b, &mut x);
    let mut back = [0.0; 4];
    a.apply(&x, &mut back);
    for i in 0..4 {
        assert!((back[i] - rhs[i]).abs() < 1e-13);
    }
    // x lies in span{v, z}: its part orthogonal to both vanishes.
    let (vv, vz, zz) = (dot(&v, &v), dot(&v, &z), dot(&z, &z));
    let (vx, zx) = (dot(&v, &x), dot(&z, &x));
    let det = vv * zz - vz * vz;
    let (c, d) = ((vx * zz - zx * vz) / det, (zx * vv - vx * vz) / det);
    for i in 0..4 {
        assert!((x[i] - c * v[i] - d * z[i]).abs() < 1e-14);
    }
}
