use super::*;

const VECTORS: [[f64; 3]; 6] = [
    [0.0, 0.0, 0.0],
    [1e-9, -2e-9, 3e-9],
    [0.02, -0.03, 0.01],
    [0.3, -0.4, 0.5],
    [-1.2, 2.0, 0.7],
    [1.9, -1.5, 1.95],
];

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance, "{a:?} is not {b:?}");
    }
}

#[test]
fn log_undoes_exp_whatever_the_sign() {
    for theta in VECTORS {
        let p = exp(&theta);
        close(&log(&p), &theta, 2e-15);
        close(&log(&p.map(|x| -x)), &theta, 2e-15);
    }
}

#[test]
fn quaternions_and_matrices_say_the_same() {
    let (p, x) = (exp(&VECTORS[4]), [0.3, -2.0, 1.1]);
    let q = exp(&VECTORS[3]);
    close(&rotate(&p, &x), &apply(&matrix(&p), &x), 1e-14);
    close(
        &rotate_back(&p, &x),
        &apply_transposed(&matrix(&p), &x),
        1e-14,
    );
    let both = product(&matrix(&p), &matrix(&q));
    close(
        matrix(&compose(&p, &q)).as_flattened(),
        both.as_flattened(),
        1e-14,
    );
    for theta in VECTORS {
        let p = principal(&exp(&theta));
        let found = principal(&from_axes(&transpose(&matrix(&p))));
        close(&found, &p, 1e-15);
    }
}

#[test]
fn the_right_jacobian_is_the_derivative_of_exp() {
    let step = [2e-6, -1e-6, 3e-6];
    for theta in VECTORS {
        let ahead = exp(&std::array::from_fn(|i| theta[i] + step[i]));
        let behind = exp(&std::array::from_fn(|i| theta[i] - step[i]));
        let turned = log(&compose(&conjugate(&behind), &ahead)).map(|x| 0.5 * x);
        close(&apply(&right_jacobian(&theta), &step), &turned, 1e-15);
        let both = product(&right_jacobian(&theta), &inverse_right_jacobian(&theta));
        close(both.as_flattened(), IDENTITY.as_flattened(), 2e-14);
    }
}
