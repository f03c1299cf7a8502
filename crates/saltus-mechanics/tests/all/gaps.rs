//! Gaps against the records of `../shared/reference/flexible.json`, differences, brute force and balances.

use crate::support::{Random, Records, flat, largest, records};
#[allow(dead_code)]
use saltus_mechanics::flexible::mesh::generate::{SpaceCells, block};
use saltus_mechanics::gap::facet::{Closest, Region, bias, closest, gradient, hessian, row};
use saltus_mechanics::gap::plane::{BodyPlane, MovingPlane, Plane};
use saltus_mechanics::gap::surface::Surface;
use saltus_mechanics::gap::{facet, frame};
use saltus_mechanics::rotation;

fn split<const D: usize, const N: usize>(q: &[f64]) -> ([f64; D], [[f64; D]; N]) {
    let at = |block: usize| std::array::from_fn(|i| q[block * D + i]);
    (at(0), std::array::from_fn(|a| at(1 + a)))
}

fn at<const D: usize, const N: usize>(q: &[f64]) -> Closest<D> {
    let (x, corners) = split::<D, N>(q);
    closest(&x, &corners).unwrap()
}

fn slope<const D: usize, const N: usize>(q: &[f64]) -> Vec<f64> {
    let mut g = vec![f64::NAN; (1 + N) * D];
    gradient::<D, N>(&at::<D, N>(q), &mut g);
    g
}

fn second<const D: usize, const N: usize>(q: &[f64], factor: f64) -> Vec<f64> {
    let (x, corners) = split::<D, N>(q);
    let size = (1 + N) * D;
    let mut h = vec![f64::NAN; size * size];
    hessian(&x, &corners, &at::<D, N>(q), factor, &mut h);
    h
}

fn check_records<const D: usize, const N: usize>(records: &Records, kind: &str) -> usize {
    let prefix = format!("gap.{kind}.");
    let ids: Vec<&str> = records.ids().filter(|id| id.starts_with(&prefix)).collect();
    for id in &ids {
        let p = &records.get(id)["parameters"];
        let mut q = flat(&p["slave"]);
        q.extend(flat(&p["master"]));
        match id.rsplit('.').next().unwrap() {
            "value" => {
                let found = at::<D, N>(&q);
                let mut values = vec![found.gap];
                values.extend(found.normal);
                values.extend(&found.xi[..D - 1]);
                records.check(id, &values);
                assert_eq!(found.region, Region::Interior);
            }
            "gradient" => records.check(id, &slope::<D, N>(&q)),
            "hessian" => records.check(id, &second::<D, N>(&q, 1.0)),
            other => panic!("no test for {other}"),
        }
    }
    ids.len()
}

#[test]
fn facets_have_the_numbers_of_the_records() {
    let Some(records) = records() else { return };
    let count = check_records::<2, 2>(&records, "seg")
        + check_records::<3, 3>(&records, "tri")
        + check_records::<3, 4>(&records, "quad");
    println!("gap: {count} records");
    assert_eq!(
        count,
        records.ids().filter(|id| id.starts_with("gap.")).count()
    );
}

const SEGMENT: [f64; 4] = [0.0, 0.0, 1.0, 0.2];
const TRIANGLE: [f64; 9] = [0.0, 0.0, 0.0, 1.0, 0.1, 0.1, 0.1, 1.0, -0.1];
const WARPED: [f64; 12] = [
    -1.0, -1.0, 0.0, 1.0, -1.0, 0.4, 1.1, 1.0, -0.1, -0.9, 1.0, 0.5,
];

/// Central differences of fourth order.
fn differences(q: &[f64], of: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Vec<f64>> {
    let h = 2e-4;
    (0..q.len())
        .map(|j| {
            let moved = |s: f64| {
                let mut q = q.to_vec();
                q[j] += s * h;
                of(&q)
            };
            let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(moved);
            (0..a.len())
                .map(|i| (8.0 * (c[i] - b[i]) + a[i] - d[i]) / (12.0 * h))
                .collect()
        })
        .collect()
}

/// Derivatives, balances and distances at random points around a facet; returns how often each region was met.
fn examine<const D: usize, const N: usize>(corners: &[f64], points: usize) -> [usize; 3] {
    let mut random = Random::new(11);
    let mut met = [0; 3];
    for _ in 0..points {
        let mut q: Vec<f64> = (0..D).map(|_| 1.8 * random.signed()).collect();
        q.extend(corners);
        let found = at::<D, N>(&q);
        let region = match found.region {
            Region::Interior => 0,
            Region::Edge(_) => 1,
            Region::Vertex(_) => 2,
        };
        // Near a border between regions, and near a point of touch, differences see both sides.
        let moved = (0..2 * D).any(|k| {
            let mut q = q.clone();
            q[k / 2] += if k % 2 == 0 { 2e-3 } else { -2e-3 };
            at::<D, N>(&q).region != found.region
        });
        if moved || found.gap.abs() < 0.05 {
            continue;
        }
        met[region] += 1;
        let g = slope::<D, N>(&q);
        for (j, d) in differences(&q, |q| vec![at::<D, N>(q).gap])
            .iter()
            .enumerate()
        {
            assert!((d[0] - g[j]).abs() < 1e-10, "{found:?}: {} {}", d[0], g[j]);
        }
        let h = second::<D, N>(&q, 1.0);
        let size = g.len();
        for (j, column) in differences(&q, slope::<D, N>).iter().enumerate() {
            for i in 0..size {
                let error = (column[i] - h[i * size + j]).abs();
                assert!(
                    error < 1e-7,
                    "{found:?} [{i},{j}]: {} {}",
                    column[i],
                    h[i * size + j]
                );
                assert!((h[i * size + j] - h[j * size + i]).abs() < 1e-12 * largest(&h));
            }
        }
        for (scaled, h) in second::<D, N>(&q, -2.5).iter().zip(&h) {
            assert!((scaled + 2.5 * h).abs() < 1e-14 * (1.0 + h.abs()));
        }
        // Forces on point and corners balance.
        for i in 0..D {
            let sum: f64 = g.iter().skip(i).step_by(D).sum();
            assert!(sum.abs() < 1e-14);
        }
        let length: f64 = g[..D].iter().map(|g| g * g).sum();
        assert!((length - 1.0).abs() < 1e-14);
        // The bias is the second derivative along a straight motion.
        let v: Vec<f64> = (0..size).map(|_| random.signed()).collect();
        let (x, places) = split::<D, N>(&q);
        let along = |t: f64| {
            let q: Vec<f64> = q.iter().zip(&v).map(|(q, v)| q + t * v).collect();
            at::<D, N>(&q).gap
        };
        let step = 1e-4;
        let numeric = (along(step) - 2.0 * found.gap + along(-step)) / (step * step);
        let exact = bias(&x, &places, &found, &v);
        assert!(
            (numeric - exact).abs() < 1e-5 * (1.0 + exact.abs()),
            "{numeric} {exact}"
        );
        // No sampled point of the facet is closer.
        for k in 0..400 {
            let (s, t) = ((k % 20) as f64 / 19.0, (k / 20) as f64 / 19.0);
            let w = match N {
                2 => vec![1.0 - s, s],
                3 if s + t > 1.0 => continue,
                3 => vec![1.0 - s - t, s, t],
                _ => vec![(1.0 - s) * (1.0 - t), s * (1.0 - t), s * t, (1.0 - s) * t],
            };
            let distance: f64 = (0..D)
                .map(|i| {
                    let foot: f64 = w.iter().zip(&places).map(|(w, c)| w * c[i]).sum();
                    (x[i] - foot).powi(2)
                })
                .sum::<f64>()
                .sqrt();
            assert!(distance >= found.gap.abs() - 1e-12, "{found:?}: {distance}");
        }
    }
    met
}

#[test]
fn gradient_and_hessian_are_exact_in_every_region() {
    for (name, met) in [
        ("segment", examine::<2, 2>(&SEGMENT, 300)),
        ("triangle", examine::<3, 3>(&TRIANGLE, 900)),
        ("warped quadrilateral", examine::<3, 4>(&WARPED, 300)),
    ] {
        println!("{name}: {met:?} points in the interior, on edges, on corners");
        let least = if name == "segment" {
            [30, 0, 30]
        } else {
            [20; 3]
        };
        assert!((0..3).all(|k| met[k] >= least[k]), "{name}: {met:?}");
    }
}

#[test]
fn forces_on_a_facet_in_touch_have_no_moment() {
    let (corners, mut random) = (WARPED, Random::new(5));
    for _ in 0..20 {
        let mut q = vec![0.8 * random.signed(), 0.8 * random.signed(), 0.0];
        q.extend(corners);
        let found = at::<3, 4>(&q);
        for i in 0..3 {
            q[i] -= found.gap * found.normal[i];
        }
        let found = at::<3, 4>(&q);
        assert!(found.gap.abs() < 1e-14);
        let mut moment = [0.0; 3];
        let g = slope::<3, 4>(&q);
        for (x, f) in q.chunks(3).zip(g.chunks(3)) {
            let m = rotation::cross(&[x[0], x[1], x[2]], &[f[0], f[1], f[2]]);
            (0..3).for_each(|i| moment[i] += m[i]);
        }
        assert!(largest(&moment) < 1e-14, "{moment:?}");
        // Slip sees no rigid motion of both.
        let (x, places) = split::<3, 4>(&q);
        let [t1, t2] = frame(&found.normal, &facet::material_direction(&found, &places));
        let spin = random.vector::<3>(1.0);
        let v: Vec<f64> = std::iter::once(&x)
            .chain(&places)
            .flat_map(|x| rotation::cross(&spin, x).map(|v| v + 0.5))
            .collect();
        for t in [t1, t2] {
            let mut slip = [0.0; 15];
            row(&t, &found, &mut slip);
            let rate: f64 = slip.iter().zip(&v).map(|(a, b)| a * b).sum();
            assert!(rate.abs() < 1e-14);
            assert!(rotation::dot(&t, &found.normal).abs() < 1e-14);
        }
        assert!((rotation::dot(&rotation::cross(&t1, &t2), &found.normal) - 1.0).abs() < 1e-14);
    }
    // In the plane the tangent runs along the segment.
    let found = closest(&[0.5, 0.7], &[[0.0, 0.0], [1.0, 0.0]]).unwrap();
    assert_eq!(frame(&found.normal, &[1.0, 0.0])[0], [1.0, 0.0]);
    assert!(closest(&[0.5, 0.7], &[[1.0, 1.0], [1.0, 1.0]]).is_none());
    assert!(closest(&[f64::NAN, 0.7], &[[1.0, 1.0], [2.0, 1.0]]).is_none());
    // A direction along the normal is replaced.
    let [t, _] = frame(&[0.0, 0.0, 1.0], &[0.0, 0.0, 3.0]);
    assert!((t[0].abs() - 1.0).abs() < 1e-15);
}

#[test]
fn planes_move_and_turn() {
    let floor = Plane::through(&[0.0, 0.0, 1.0], &[0.0, 0.0, 5.0]).unwrap();
    assert_eq!(floor.gap(&[3.0, 4.0, 2.5], 0.5), 1.0);
    assert!(Plane::through(&[0.0; 2], &[0.0; 2]).is_err());
    assert!(Plane::through(&[0.0; 2], &[f64::INFINITY, 0.0]).is_err());
    // n = (cos, sin) of an angle that speeds up, through a point that moves.
    let plane = |t: f64| {
        let (angle, rate, second) = (0.3 + 0.7 * t + t * t, 0.7 + 2.0 * t, 2.0);
        let (s, c) = f64::sin_cos(angle);
        let normal = [
            [c, s],
            [-s * rate, c * rate],
            [-s * second - c * rate * rate, c * second - s * rate * rate],
        ];
        let point = [[t, t * t], [1.0, 2.0 * t], [0.0, 2.0]];
        MovingPlane::through(&point, &normal).unwrap()
    };
    let (x, v, t, h) = ([1.2, 0.4], [0.3, -0.8], 0.4, 1e-4);
    let moved = |s: f64| {
        let x = [x[0] + s * v[0], x[1] + s * v[1]];
        plane(t + s).gap(&x, 0.1)
    };
    let now = plane(t);
    let rate = now.rate(&x) + now.normal[0][0] * v[0] + now.normal[0][1] * v[1];
    assert!(((moved(h) - moved(-h)) / (2.0 * h) - rate).abs() < 1e-7);
    let second = (moved(h) - 2.0 * moved(0.0) + moved(-h)) / (h * h);
    assert!((second - now.bias(&x, &v)).abs() < 1e-6, "{second}");
}

#[test]
fn planes_on_bodies_have_exact_derivatives() {
    let mut random = Random::new(9);
    for _ in 0..20 {
        let direction = random.vector::<3>(1.0);
        let length = rotation::dot(&direction, &direction).sqrt();
        let plane = BodyPlane {
            normal: direction.map(|n| n / length),
            offset: random.signed(),
        };
        let (x, c) = (random.vector::<3>(2.0), random.vector::<3>(1.0));
        let pose = rotation::exp(&random.vector::<3>(2.0));
        // Along the retraction: x, c and the body increment of the pose.
        let moved = |step: &[f64]| {
            let pose = rotation::compose(&pose, &rotation::exp(&[step[6], step[7], step[8]]));
            let x = std::array::from_fn(|i| x[i] + step[i]);
            let c = std::array::from_fn(|i| c[i] + step[3 + i]);
            plane.at(&x, &c, &pose)
        };
        let zero = vec![0.0; 9];
        let now = moved(&zero);
        let g = now.gradient();
        for (j, d) in differences(&zero, |s| vec![moved(s).gap(0.2)])
            .iter()
            .enumerate()
        {
            assert!((d[0] - g[j]).abs() < 1e-10);
        }
        let mut k = [f64::NAN; 81];
        now.curvature(1.0, &mut k);
        for (j, column) in differences(&zero, |s| moved(s).gradient().to_vec())
            .iter()
            .enumerate()
        {
            for i in 0..9 {
                assert!((column[i] - k[9 * i + j]).abs() < 1e-10, "[{i},{j}]");
            }
        }
        // The block of rotations is skew by half the moment.
        for i in 0..3 {
            let (p, q) = ((i + 1) % 3, (i + 2) % 3);
            let skew = 0.5 * (k[9 * (6 + q) + 6 + p] - k[9 * (6 + p) + 6 + q]);
            assert!((skew - 0.5 * g[6 + i]).abs() < 1e-13);
        }
        let v = random.vector::<9>(1.0);
        let part = |at: usize| [v[at], v[at + 1], v[at + 2]];
        let form: f64 = (0..81).map(|i| v[i / 9] * k[i] * v[i % 9]).sum();
        let bias = now.bias(&part(0), &part(3), &part(6));
        assert!((form - bias).abs() < 1e-12, "{form} {bias}");
    }
}

/// Boundary of a cube, bent where `bend` says so, as a surface.
fn skin(n: usize, cells: SpaceCells, bend: f64) -> (Surface<3>, Vec<[f64; 3]>) {
    let mesh = block([0.0; 3], [1.0; 3], [n, n, n], cells).unwrap();
    let positions: Vec<[f64; 3]> = mesh
        .nodes
        .iter()
        .map(|x| {
            let lift = bend * (5.0 * x[0]).sin() * (4.0 * x[1]).cos();
            [x[0], x[1], x[2] + lift]
        })
        .collect();
    let faces = mesh.boundary();
    let mut surface = Surface::new(faces.iter().map(|f| f.nodes()), &mesh.nodes).unwrap();
    surface.fit(&positions);
    (surface, positions)
}

#[test]
fn the_tree_finds_what_brute_force_finds() {
    let mut random = Random::new(21);
    for cells in [SpaceCells::Hexahedra, SpaceCells::Tetrahedra] {
        let (surface, positions) = skin(6, cells, 0.1);
        for k in 0..300 {
            let x: [f64; 3] = random.vector::<3>(1.0).map(|x| 0.5 + x);
            let best = (0..surface.len())
                .filter_map(|f| surface.on_facet(f, &x, &positions))
                .map(|c| c.gap.abs())
                .fold(f64::INFINITY, f64::min);
            let found = surface
                .nearest(&x, &positions, f64::INFINITY, None)
                .unwrap();
            assert!((found.closest.gap.abs() - best).abs() < 1e-12);
            assert!(surface.nearest(&x, &positions, 0.99 * best, None).is_none());
            assert!(surface.nearest(&x, &positions, 1.01 * best, None).is_some());
            // A node of the surface, without the facets it belongs to.
            let node = surface.facet(k % surface.len())[0] as usize;
            let other = surface
                .nearest(&positions[node], &positions, f64::INFINITY, Some(node))
                .unwrap();
            assert!(!surface.facet(other.facet).contains(&(node as u32)));
        }
    }
}

#[test]
fn the_side_of_a_closed_surface_is_right_at_edges_and_corners() {
    let mut random = Random::new(22);
    for cells in [SpaceCells::Hexahedra, SpaceCells::Tetrahedra] {
        let (surface, positions) = skin(4, cells, 0.0);
        for _ in 0..2000 {
            let x: [f64; 3] = random.vector::<3>(1.0).map(|x| 0.5 + x);
            let outside = x.map(|x| (x - 0.5).abs() - 0.5);
            let inside = outside.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
            let exact = if inside <= 0.0 {
                inside
            } else {
                outside
                    .iter()
                    .map(|x| x.max(0.0).powi(2))
                    .sum::<f64>()
                    .sqrt()
            };
            let found = surface.nearest(&x, &positions, 10.0, None).unwrap();
            assert!(
                (found.closest.gap - exact).abs() < 1e-12,
                "{x:?}: {found:?}, {exact}"
            );
        }
    }
}

#[test]
fn a_profile_in_the_plane_is_found_too() {
    // A closed polygon, counter-clockwise inside out: normals to the left of clockwise segments point out.
    let n = 200;
    let positions: Vec<[f64; 2]> = (0..n)
        .map(|i| {
            let (s, c) = (-2.0 * std::f64::consts::PI * i as f64 / n as f64).sin_cos();
            [c, s]
        })
        .collect();
    let segments: Vec<[usize; 2]> = (0..n).map(|i| [i, (i + 1) % n]).collect();
    let surface = Surface::new(segments.iter().map(|s| s.as_slice()), &positions).unwrap();
    let mut random = Random::new(3);
    for _ in 0..500 {
        let x: [f64; 2] = random.vector(2.0);
        let radius = x[0].hypot(x[1]);
        let found = surface.nearest(&x, &positions, 10.0, None).unwrap();
        assert!((found.closest.gap - (radius - 1.0)).abs() < 2e-4);
    }
}

#[test]
fn surfaces_that_make_no_sense_are_refused() {
    let nodes = vec![[0.0; 3]; 3];
    let none: [&[usize]; 0] = [];
    for (facets, part) in [
        (Surface::new(none, &nodes), "no facets"),
        (Surface::new([&[0_usize, 1][..]], &nodes), "2 corners"),
        (Surface::new([&[0_usize, 1, 7][..]], &nodes), "node 7"),
    ] {
        let message = facets.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    // A facet without area is passed over.
    let flat = Surface::new([&[0_usize, 1, 2][..]], &nodes).unwrap();
    assert!(flat.nearest(&[0.0, 0.0, 1.0], &nodes, 10.0, None).is_none());
}

#[test]
fn queries_grow_slower_than_the_surface() {
    let time = |n: usize| {
        let (surface, positions) = skin(n, SpaceCells::Hexahedra, 0.0);
        let mut random = Random::new(1);
        let points: Vec<[f64; 3]> = (0..2000)
            .map(|_| {
                [
                    0.5 + 0.5 * random.signed(),
                    0.5 + 0.5 * random.signed(),
                    1.0 + 0.3 / n as f64,
                ]
            })
            .collect();
        let start = std::time::Instant::now();
        let mut sum = 0.0;
        for x in &points {
            sum += surface
                .nearest(x, &positions, 0.2, None)
                .unwrap()
                .closest
                .gap;
        }
        assert!(sum > 0.0);
        (
            surface.len(),
            start.elapsed().as_secs_f64() / points.len() as f64,
        )
    };
    let (few, short) = time(5);
    let (many, long) = time(50);
    println!(
        "{few} facets: {:.2} us, {many} facets: {:.2} us",
        1e6 * short,
        1e6 * long
    );
    // A hundred times the facets; a linear search would take a hundred times as long.
    assert!(long < 20.0 * short, "{short:e} {long:e}");
}
