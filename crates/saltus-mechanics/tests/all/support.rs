//! Reference records, comparisons, dense assembly, Newton's method and eigenvalues for small meshes.

use saltus_linear::{Dense, MatrixSink, SquareMatrix};
use saltus_mechanics::flexible::{Element, NodeKind};
use saltus_mechanics::rotation;
use serde_json::Value;
use std::path::PathBuf;

/// The records of the reference file.
pub struct Records(Value);

/// The reference records; `None`, said aloud, where they are absent; a failure where `SALTUS_REQUIRE_SHARED=1`.
pub fn records() -> Option<Records> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for base in [root.join("shared"), root.join("../shared")] {
        if let Ok(text) = std::fs::read_to_string(base.join("reference/flexible.json")) {
            return Some(Records(serde_json::from_str(&text).unwrap()));
        }
    }
    let required = std::env::var("SALTUS_REQUIRE_SHARED").is_ok_and(|v| v == "1");
    assert!(
        !required,
        "../shared/reference/flexible.json is required and absent"
    );
    eprintln!(
        "SKIPPED: ../shared/reference/flexible.json is absent; set SALTUS_REQUIRE_SHARED=1 to make that a failure"
    );
    None
}

impl Records {
    /// Names of all records.
    #[allow(dead_code)] // each group of tests takes what it needs
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let items = self.0["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap())
    }

    pub fn get(&self, id: &str) -> &Value {
        let items = self.0["items"].as_array().unwrap();
        items
            .iter()
            .find(|item| item["id"] == id)
            .unwrap_or_else(|| panic!("no record {id}"))
    }

    pub fn parameter(&self, id: &str, name: &str) -> f64 {
        self.get(id)["parameters"][name].as_f64().unwrap()
    }

    pub fn parameters(&self, id: &str, name: &str) -> Vec<f64> {
        flat(&self.get(id)["parameters"][name])
    }

    pub fn value(&self, id: &str) -> Vec<f64> {
        flat(&self.get(id)["value"])
    }

    /// Compares with the whole value of a record.
    pub fn check(&self, id: &str, found: &[f64]) {
        self.compare(id, &self.get(id)["value"], found);
    }

    /// Compares with a part of the value of a record, within the record's tolerance.
    pub fn compare(&self, id: &str, value: &Value, found: &[f64]) {
        let (record, expected) = (self.get(id), flat(value));
        assert_eq!(found.len(), expected.len(), "{id}: number of values");
        let tolerance = record["tolerance"].as_f64().unwrap();
        let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        for (i, (x, e)) in found.iter().zip(&expected).enumerate() {
            let bound = match record["tolerance_kind"].as_str().unwrap() {
                "abs" => tolerance,
                "rel" => tolerance * e.abs(),
                _ => tolerance * largest,
            };
            assert!(
                (x - e).abs() <= bound,
                "{id}[{i}]: {x:e}, expected {e:e} within {bound:e}"
            );
        }
    }

    /// Holds error levels below the tolerance of a record.
    pub fn bound(&self, id: &str, found: &[f64]) {
        let tolerance = self.get(id)["tolerance"].as_f64().unwrap();
        for x in found {
            assert!(x.abs() <= tolerance, "{id}: {x:e} exceeds {tolerance:e}");
        }
    }
}

/// All numbers of a nested list.
pub fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(flat).collect(),
        Value::Object(items) => items.values().flat_map(flat).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

/// A small pseudo-random generator (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d);
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub fn vector<const N: usize>(&mut self, size: f64) -> [f64; N] {
        std::array::from_fn(|_| size * self.signed())
    }
}

/// Largest absolute entry.
pub fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// Largest difference, relative to the largest entry.
pub fn difference(x: &[f64], y: &[f64]) -> f64 {
    let gap: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
    largest(&gap) / largest(y).max(largest(x)).max(f64::MIN_POSITIVE)
}

pub fn force<E: Element>(element: &E, q: &[f64], v: &[f64]) -> Vec<f64> {
    let mut force = vec![f64::NAN; E::NV];
    element.force(q, v, &mut force);
    force
}

pub fn stiffness<E: Element>(element: &E, q: &[f64], v: &[f64]) -> Vec<f64> {
    tangents(element, q, v).0
}

pub fn tangents<E: Element>(element: &E, q: &[f64], v: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = E::NV * E::NV;
    let (mut k, mut c) = (vec![f64::NAN; size], vec![f64::NAN; size]);
    element.tangent(q, v, &mut k, &mut c);
    (k, c)
}

pub fn mass<E: Element>(element: &E) -> Vec<f64> {
    let mut mass = vec![f64::NAN; E::NV * E::NV];
    element.mass(&mut mass);
    mass
}

pub fn fields<E: Element>(element: &E, q: &[f64]) -> Vec<f64> {
    let mut values = vec![f64::NAN; E::FIELDS.len()];
    element.fields(q, &mut values);
    values
}

/// Moves the nodes in `q` by `step`.
pub fn retract(kind: NodeKind, q: &mut [f64], step: &[f64]) {
    let (np, nv) = (kind.positions(), kind.velocities());
    for (q, step) in q.chunks_mut(np).zip(step.chunks(nv)) {
        if kind == NodeKind::SpaceFrame {
            for i in 0..3 {
                q[i] += step[i];
            }
            let turn = rotation::exp(&[step[3], step[4], step[5]]);
            let turned = rotation::compose(&[q[3], q[4], q[5], q[6]], &turn);
            q[3..7].copy_from_slice(&turned);
        } else {
            for (q, step) in q.iter_mut().zip(step) {
                *q += step;
            }
        }
    }
}

/// Checks force and tangents of an element against differences of its energy and force, relative to the
/// largest entry; returns the worst deviations of K and C.
pub fn finite_differences<E: Element>(element: &E, q: &[f64], v: &[f64]) -> (f64, f64) {
    let n = E::NV;
    let (k, c) = tangents(element, q, v);
    let (mut k_found, mut c_found) = (vec![0.0; n * n], vec![0.0; n * n]);
    let h = 1e-6;
    for j in 0..n {
        let mut step = vec![0.0; n];
        step[j] = h;
        let moved = |sign: f64| {
            let mut q = q.to_vec();
            retract(
                E::NODE,
                &mut q,
                &step.iter().map(|x| sign * x).collect::<Vec<_>>(),
            );
            force(element, &q, v)
        };
        let (ahead, behind) = (moved(1.0), moved(-1.0));
        let faster = |sign: f64| {
            let mut v = v.to_vec();
            v[j] += 0.5 * sign;
            force(element, q, &v)
        };
        let (fast, slow) = (faster(1.0), faster(-1.0));
        for i in 0..n {
            k_found[i * n + j] = (ahead[i] - behind[i]) / (2.0 * h);
            // The force is at most quadratic in the velocities: any step is exact.
            c_found[i * n + j] = fast[i] - slow[i];
        }
    }
    let scale = largest(&c).max(1e-12);
    let gap: Vec<f64> = c.iter().zip(&c_found).map(|(a, b)| a - b).collect();
    (difference(&k_found, &k), largest(&gap) / scale)
}

/// A mesh of elements of one type, dense.
pub struct Mesh<E> {
    pub elements: Vec<E>,
    /// Nodes of each element.
    pub nodes: Vec<[usize; 2]>,
    pub q: Vec<f64>,
    pub free: Vec<usize>,
}

impl<E: Element> Mesh<E> {
    /// A chain of elements whose first nodes' velocities in `held` do not move.
    pub fn chain(elements: Vec<E>, q: Vec<f64>, held: &[usize]) -> Self {
        let nodes = (0..elements.len()).map(|e| [e, e + 1]).collect();
        let size = q.len() / E::NODE.positions() * E::NODE.velocities();
        let free = (0..size).filter(|i| !held.contains(i)).collect();
        Self {
            elements,
            nodes,
            q,
            free,
        }
    }

    pub fn size(&self) -> usize {
        self.q.len() / E::NODE.positions() * E::NODE.velocities()
    }

    pub fn local(&self, e: usize) -> Vec<f64> {
        let np = E::NODE.positions();
        self.nodes[e]
            .iter()
            .flat_map(|&n| self.q[n * np..(n + 1) * np].to_vec())
            .collect()
    }

    pub fn node(&self, n: usize) -> &[f64] {
        let np = E::NODE.positions();
        &self.q[n * np..(n + 1) * np]
    }

    fn place(&self, e: usize, i: usize) -> usize {
        let nv = E::NODE.velocities();
        self.nodes[e][i / nv] * nv + i % nv
    }

    pub fn internal(&self) -> Vec<f64> {
        let mut f = vec![0.0; self.size()];
        let v = vec![0.0; E::NV];
        for (e, element) in self.elements.iter().enumerate() {
            let local = force(element, &self.local(e), &v);
            for (i, x) in local.iter().enumerate() {
                f[self.place(e, i)] += x;
            }
        }
        f
    }

    fn assemble(&self, of: impl Fn(usize, &E) -> Vec<f64>) -> Dense {
        let n = self.size();
        let mut a = Dense::zeros(n, n);
        for (e, element) in self.elements.iter().enumerate() {
            let local = of(e, element);
            for i in 0..E::NV {
                for j in 0..E::NV {
                    a.row_mut(self.place(e, i))[self.place(e, j)] += local[i * E::NV + j];
                }
            }
        }
        a
    }

    pub fn tangent(&self) -> Dense {
        self.assemble(|e, element| stiffness(element, &self.local(e), &vec![0.0; E::NV]))
    }

    pub fn mass(&self) -> Dense {
        self.assemble(|_, element| mass(element))
    }

    /// Rows and columns that are free.
    pub fn reduced(&self, a: &Dense) -> Dense {
        let mut small = Dense::zeros(self.free.len(), self.free.len());
        for (i, &row) in self.free.iter().enumerate() {
            for (j, &col) in self.free.iter().enumerate() {
                small.row_mut(i)[j] = a.row(row)[col];
            }
        }
        small
    }

    /// Equilibrium under `load(q)`, with the entries of `−D(load)` by `load_stiffness`; rotation increments
    /// are capped at 1 rad. Returns the number of solves.
    pub fn equilibrium(
        &mut self,
        load: impl Fn(&[f64]) -> Vec<f64>,
        load_stiffness: impl Fn(&[f64]) -> Vec<(usize, usize, f64)>,
    ) -> usize {
        let (nv, dim) = (E::NODE.velocities(), E::NODE.dimension());
        let mut place = vec![usize::MAX; self.size()];
        for (k, &i) in self.free.iter().enumerate() {
            place[i] = k;
        }
        let mut matrix = SquareMatrix::new(self.free.len());
        let add = |matrix: &mut SquareMatrix, i: usize, j: usize, x: f64| {
            if place[i] != usize::MAX && place[j] != usize::MAX {
                matrix.entry(place[i], place[j], x);
            }
        };
        let size = largest(&self.q).max(1.0);
        let rest = vec![0.0; E::NV];
        for iteration in 1..200 {
            let (f, external) = (self.internal(), load(&self.q));
            matrix.clear();
            for (e, element) in self.elements.iter().enumerate() {
                let k = stiffness(element, &self.local(e), &rest);
                for i in 0..E::NV {
                    for j in 0..E::NV {
                        add(
                            &mut matrix,
                            self.place(e, i),
                            self.place(e, j),
                            k[i * E::NV + j],
                        );
                    }
                }
            }
            for (i, j, x) in load_stiffness(&self.q) {
                add(&mut matrix, i, j, x);
            }
            matrix.factorise().unwrap();
            let mut x: Vec<f64> = self.free.iter().map(|&i| external[i] - f[i]).collect();
            matrix.solve(&mut x);
            let turn = self
                .free
                .iter()
                .zip(&x)
                .filter(|(i, _)| *i % nv >= dim)
                .fold(0.0_f64, |m, (_, x)| m.max(x.abs()));
            let factor = if turn > 1.0 { 1.0 / turn } else { 1.0 };
            let mut step = vec![0.0; self.size()];
            for (&i, x) in self.free.iter().zip(&x) {
                step[i] = factor * x;
            }
            retract(E::NODE, &mut self.q, &step);
            if largest(&step) < 1e-11 * size {
                return iteration;
            }
        }
        panic!("no equilibrium");
    }

    /// Natural angular frequencies, ascending.
    pub fn frequencies(&self) -> Vec<f64> {
        let values = eigenvalues(&self.reduced(&self.tangent()), &self.reduced(&self.mass()));
        values.into_iter().map(|x| x.max(0.0).sqrt()).collect()
    }
}

/// Eigenvalues of `K x = λ M x`, symmetric with `M` positive definite, ascending.
pub fn eigenvalues(k: &Dense, m: &Dense) -> Vec<f64> {
    let n = k.rows();
    let at = |a: &Dense, i: usize, j: usize| a.row(i)[j];
    let mut l = Dense::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| at(&l, i, k) * at(&l, j, k)).sum();
            let rest = at(m, i, j) - sum;
            l.row_mut(i)[j] = if i == j {
                rest.sqrt()
            } else {
                rest / at(&l, j, j)
            };
        }
    }
    // A = L⁻¹ K L⁻ᵀ, by forward substitution in the columns of K and of the transposed result.
    let forward = |b: &Dense| {
        let mut x = Dense::zeros(n, n);
        for col in 0..n {
            for i in 0..n {
                let sum: f64 = (0..i).map(|k| at(&l, i, k) * at(&x, col, k)).sum();
                x.row_mut(col)[i] = (at(b, i, col) - sum) / at(&l, i, i);
            }
        }
        x
    };
    let mut a = forward(&forward(k));
    let (mut diagonal, mut beside) = tridiagonal(&mut a);
    implicit_ql(&mut diagonal, &mut beside);
    diagonal.sort_by(f64::total_cmp);
    diagonal
}

/// Householder's reduction of a symmetric matrix: diagonal and off-diagonal (`beside[i]` couples `i` and `i + 1`).
fn tridiagonal(a: &mut Dense) -> (Vec<f64>, Vec<f64>) {
    let n = a.rows();
    let mut beside = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        let mut u: Vec<f64> = (k + 1..n).map(|i| a.row(i)[k]).collect();
        let norm = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        let alpha = -norm.copysign(u[0]);
        beside[k] = alpha;
        u[0] -= alpha;
        let square: f64 = u.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        let scale = 2.0 / square;
        let mut p: Vec<f64> = (k + 1..n)
            .map(|i| {
                scale
                    * a.row(i)[k + 1..]
                        .iter()
                        .zip(&u)
                        .map(|(a, u)| a * u)
                        .sum::<f64>()
            })
            .collect();
        let half = 0.5 * scale * p.iter().zip(&u).map(|(p, u)| p * u).sum::<f64>();
        p.iter_mut().zip(&u).for_each(|(p, u)| *p -= half * u);
        for i in 0..u.len() {
            let row = &mut a.row_mut(k + 1 + i)[k + 1..];
            for j in 0..u.len() {
                row[j] -= u[i] * p[j] + p[i] * u[j];
            }
        }
    }
    if n > 1 {
        beside[n - 2] = a.row(n - 1)[n - 2];
    }
    ((0..n).map(|i| a.row(i)[i]).collect(), beside)
}

/// Eigenvalues of a tridiagonal matrix in place of its diagonal (Bowdler, Martin, Reinsch and Wilkinson 1968).
fn implicit_ql(d: &mut [f64], e: &mut [f64]) {
    let n = d.len();
    for l in 0..n {
        loop {
            let m = (l..n - 1)
                .find(|&m| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs()))
                .unwrap_or(n - 1);
            if m == l {
                break;
            }
            let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let r = g.hypot(1.0);
            let mut g = d[m] - d[l] + e[l] / (g + r.copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                s = f / r;
                c = g / r;
                g = d[i + 1] - p;
                let r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
            }
            d[l] -= p;
            e[l] = g;
            e[m] = 0.0;
        }
    }
}

/// Numbers for a line of output.
pub fn shown(values: &[f64]) -> String {
    values
        .iter()
        .map(|x| format!("{x:.4e}"))
        .collect::<Vec<_>>()
        .join(" ")
}
