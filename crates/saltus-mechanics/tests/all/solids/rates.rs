//! Orders of convergence against a smooth solution.

use super::body::{Body, Spec, cell};
use crate::support::{Random, records, shown};
use saltus_mechanics::flexible::mesh::generate::{PlaneCells, SpaceCells, block, rectangle};
use saltus_mechanics::flexible::solid::{
    Hexahedral, Law, Quadrangular, Shape, Tetrahedral, Triangular,
};
use saltus_mechanics::flexible::{Cell, Mesh};
use std::f64::consts::PI;

const AMPLITUDE: [f64; 3] = [1.0, 0.5, 0.25];

/// `Π sin πx`, its gradient and its second derivatives.
fn bubble(x: &[f64]) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let d = x.len();
    let product = |orders: &[usize]| -> f64 {
        (0..d)
            .map(|k| match orders.iter().filter(|&&o| o == k).count() {
                0 => (PI * x[k]).sin(),
                1 => PI * (PI * x[k]).cos(),
                _ => -PI * PI * (PI * x[k]).sin(),
            })
            .product()
    };
    let gradient = (0..d).map(|i| product(&[i])).collect();
    let second = (0..d)
        .map(|i| (0..d).map(|j| product(&[i, j])).collect())
        .collect();
    (product(&[]), gradient, second)
}

/// Points and weights of a rule that is better than the elements are.
fn rule(kind: Cell) -> Vec<(Vec<f64>, f64)> {
    let gauss = [
        (-0.6_f64.sqrt(), 5.0 / 9.0),
        (0.0, 8.0 / 9.0),
        (0.6_f64.sqrt(), 5.0 / 9.0),
    ];
    match kind {
        Cell::Triangle => (0..3)
            .map(|i| {
                let mut x = vec![1.0 / 6.0; 2];
                if i < 2 {
                    x[i] = 2.0 / 3.0;
                }
                (x, 1.0 / 6.0)
            })
            .collect(),
        Cell::Tetrahedron => {
            let (a, b) = (0.585_410_196_624_968_5, 0.138_196_601_125_010_5);
            (0..4)
                .map(|i| {
                    let mut x = vec![b; 3];
                    if i < 3 {
                        x[i] = a;
                    }
                    (x, 1.0 / 24.0)
                })
                .collect()
        }
        _ => {
            let d = kind.dimension();
            (0..3_usize.pow(d as u32))
                .map(|i| {
                    let picks: Vec<(f64, f64)> = (0..d)
                        .map(|k| gauss[i / 3_usize.pow(k as u32) % 3])
                        .collect();
                    (
                        picks.iter().map(|p| p.0).collect(),
                        picks.iter().map(|p| p.1).product(),
                    )
                })
                .collect()
        }
    }
}

/// Values and reference gradients of the shape functions.
fn shape(kind: Cell, at: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    fn of<S: Shape<D, N, Q>, const D: usize, const N: usize, const Q: usize>(
        at: &[f64],
    ) -> (Vec<f64>, Vec<Vec<f64>>) {
        let at = std::array::from_fn(|i| at[i]);
        let gradients = S::gradients(&at).iter().map(|g| g.to_vec()).collect();
        (S::values(&at).to_vec(), gradients)
    }
    match kind {
        Cell::Triangle => of::<Triangular, 2, 3, 1>(at),
        Cell::Quadrilateral => of::<Quadrangular, 2, 4, 4>(at),
        Cell::Tetrahedron => of::<Tetrahedral, 3, 4, 1>(at),
        _ => of::<Hexahedral, 3, 8, 8>(at),
    }
}

/// Calls `visit(nodes, values, gradients in space, place, weight)` at every point of every cell.
fn integrate(
    body: &Body,
    kind: Cell,
    mut visit: impl FnMut(&[usize], &[f64], &[Vec<f64>], &[f64], f64),
) {
    let d = body.dim;
    let rule: Vec<_> = rule(kind)
        .into_iter()
        .map(|(at, w)| (shape(kind, &at), w))
        .collect();
    for nodes in &body.nodes {
        for ((values, local), w) in &rule {
            let mut place = vec![0.0; d];
            let mut map = [[0.0; 3]; 3];
            if d == 2 {
                map[2][2] = 1.0;
            }
            for (a, &n) in nodes.iter().enumerate() {
                for i in 0..d {
                    let x = body.reference[n * d + i];
                    place[i] += values[a] * x;
                    for j in 0..d {
                        map[i][j] += x * local[a][j];
                    }
                }
            }
            let cof = |i: usize, j: usize| {
                let (p, q, r, s) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
                map[p][r] * map[q][s] - map[p][s] * map[q][r]
            };
            let det: f64 = (0..3).map(|j| map[0][j] * cof(0, j)).sum();
            let gradients: Vec<Vec<f64>> = local
                .iter()
                .map(|n| {
                    (0..d)
                        .map(|i| (0..d).map(|j| cof(i, j) * n[j]).sum::<f64>() / det)
                        .collect()
                })
                .collect();
            visit(nodes, values, &gradients, &place, w * det);
        }
    }
}

/// L2 error and error of the gradient.
fn errors(kind: Cell, n: usize, distortion: f64) -> [f64; 2] {
    let d = kind.dimension();
    let mut mesh: Mesh = match kind {
        Cell::Triangle => rectangle([0.0; 2], [1.0; 2], [n, n], PlaneCells::Triangles),
        Cell::Quadrilateral => rectangle([0.0; 2], [1.0; 2], [n, n], PlaneCells::Quadrilaterals),
        Cell::Tetrahedron => block([0.0; 3], [1.0; 3], [n, n, n], SpaceCells::Tetrahedra),
        _ => block([0.0; 3], [1.0; 3], [n, n, n], SpaceCells::Hexahedra),
    }
    .unwrap();
    let inside = |x: &[f64; 3]| x[..d].iter().all(|&x| x > 1e-9 && x < 1.0 - 1e-9);
    let mut random = Random::new(7);
    let free: Vec<bool> = mesh.nodes.iter().map(inside).collect();
    for (x, _) in mesh.nodes.iter_mut().zip(&free).filter(|(_, free)| **free) {
        for x in &mut x[..d] {
            *x += distortion / n as f64 * random.signed();
        }
    }
    let spec = Spec::new(Law::Linear, 1.0, 0.3);
    let (lambda, mu) = (0.3 / (1.3 * 0.4), 0.5 / 1.3);
    let mut body = Body::new(&mesh, kind, &spec);
    for (n, _) in free.iter().enumerate().filter(|(_, free)| !**free) {
        body.given[n * d..(n + 1) * d].fill(true);
    }
    let mut load = vec![0.0; body.q.len()];
    integrate(&body, kind, |nodes, values, _, x, w| {
        let (_, _, second) = bubble(x);
        for i in 0..d {
            let divergence: f64 = (0..d).map(|j| AMPLITUDE[j] * second[i][j]).sum();
            let laplace: f64 = (0..d).map(|j| AMPLITUDE[i] * second[j][j]).sum();
            let b = -(lambda + mu) * divergence - mu * laplace;
            for (a, &n) in nodes.iter().enumerate() {
                load[n * d + i] += w * b * values[a];
            }
        }
    });
    body.equilibrium(&load, true);
    let mut sums = [0.0; 2];
    integrate(&body, kind, |nodes, values, gradients, x, w| {
        let (value, slope, _) = bubble(x);
        for i in 0..d {
            let u = |n: usize| body.displacement(n, i);
            let found: f64 = nodes.iter().zip(values).map(|(&n, v)| u(n) * v).sum();
            sums[0] += w * (found - AMPLITUDE[i] * value).powi(2);
            for j in 0..d {
                let found: f64 = nodes.iter().zip(gradients).map(|(&n, g)| u(n) * g[j]).sum();
                sums[1] += w * (found - AMPLITUDE[i] * slope[j]).powi(2);
            }
        }
    });
    sums.map(f64::sqrt)
}

#[test]
fn elements_converge_at_their_orders() {
    let Some(records) = records() else { return };
    let mut count = 0;
    for (kind, sizes, distortion) in [
        ("T3", vec![8, 16, 32, 64], 0.1),
        ("Q4", vec![8, 16, 32, 64], 0.2),
        ("T4", vec![4, 8, 16], 0.1),
        ("H8", vec![4, 8, 16], 0.2),
    ] {
        for distortion in [0.0, distortion] {
            let found: Vec<[f64; 2]> = sizes
                .iter()
                .map(|&n| errors(cell(kind), n, distortion))
                .collect();
            let all: Vec<f64> = (0..2)
                .flat_map(|k| found.iter().map(move |e| e[k]))
                .collect();
            let id = format!(
                "solid.rates.{kind}.distort{}",
                if distortion == 0.0 {
                    "0".to_owned()
                } else {
                    distortion.to_string()
                }
            );
            let rates: Vec<[f64; 2]> = found
                .windows(2)
                .map(|w| [0, 1].map(|k| (w[0][k] / w[1][k]).log2()))
                .collect();
            println!("{id}: errors {}, orders {rates:.3?}", shown(&all));
            let [l2, h1] = rates[rates.len() - 1];
            assert!(
                (1.9..2.1).contains(&l2) && (0.95..1.05).contains(&h1),
                "{id}: {l2} {h1}"
            );
            if records.ids().any(|known| known == id) {
                count += 1;
                if distortion == 0.0 {
                    records.check(&id, &all);
                }
            }
        }
    }
    println!("solid.rates: {count} records (distorted meshes are ours: their orders are compared)");
    assert_eq!(count, 6);
}
