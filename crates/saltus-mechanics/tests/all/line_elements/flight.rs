//! Smooth motion of beams: momentum, energy, and positions over time, by the classical Runge–Kutta method.

use crate::support::*;
use saltus_linear::{MatrixSink, SquareMatrix};
use saltus_mechanics::flexible::{Element, MassMatrix, SpaceBeam, SpaceSection};
use saltus_mechanics::rotation;

/// A mesh in motion under a force and a spatial moment on one node.
struct Flight<'a> {
    mesh: Mesh<SpaceBeam>,
    v: Vec<f64>,
    mass: SquareMatrix,
    loaded: usize,
    /// Force and spatial moment at a time.
    load: &'a dyn Fn(f64) -> [[f64; 3]; 2],
}

impl<'a> Flight<'a> {
    fn new(mesh: Mesh<SpaceBeam>, loaded: usize, load: &'a dyn Fn(f64) -> [[f64; 3]; 2]) -> Self {
        let mut mass = SquareMatrix::new(mesh.free.len());
        let whole = mesh.mass();
        for (i, &row) in mesh.free.iter().enumerate() {
            for (j, &col) in mesh.free.iter().enumerate() {
                let x = whole.row(row)[col];
                if x != 0.0 {
                    mass.entry(i, j, x);
                }
            }
        }
        mass.factorise().unwrap();
        let v = vec![0.0; mesh.size()];
        Self {
            mesh,
            v,
            mass,
            loaded,
            load,
        }
    }

    /// Rates of positions and velocities.
    fn rates(&self, t: f64, q: &[f64], v: &[f64]) -> [Vec<f64>; 2] {
        let mut f = vec![0.0; v.len()];
        let mut local = [0.0; 12];
        for (e, beam) in self.mesh.elements.iter().enumerate() {
            beam.force(&q[7 * e..7 * e + 14], &v[6 * e..6 * e + 12], &mut local);
            f[6 * e..6 * e + 12]
                .iter_mut()
                .zip(local)
                .for_each(|(f, x)| *f -= x);
        }
        let [force, moment] = (self.load)(t);
        let n = self.loaded;
        let moment = rotation::rotate_back(&quaternion(q, n), &moment);
        for k in 0..3 {
            f[6 * n + k] += force[k];
            f[6 * n + 3 + k] += moment[k];
        }
        let mut x: Vec<f64> = self.mesh.free.iter().map(|&i| f[i]).collect();
        self.mass.solve(&mut x);
        let mut a = vec![0.0; v.len()];
        for (&i, x) in self.mesh.free.iter().zip(x) {
            a[i] = x;
        }
        let mut rate = vec![0.0; q.len()];
        for (n, rate) in rate.chunks_mut(7).enumerate() {
            rate[..3].copy_from_slice(&v[6 * n..6 * n + 3]);
            let spin = [0.0, v[6 * n + 3], v[6 * n + 4], v[6 * n + 5]].map(|x| 0.5 * x);
            rate[3..].copy_from_slice(&rotation::compose(&quaternion(q, n), &spin));
        }
        [rate, a]
    }

    fn step(&mut self, t: f64, h: f64) {
        let moved = |x: &[f64], rate: &[f64], h: f64| -> Vec<f64> {
            x.iter().zip(rate).map(|(x, r)| x + h * r).collect()
        };
        let (q, v) = (self.mesh.q.clone(), self.v.clone());
        // The stages have unit quaternions too.
        let turned = |rate: &[f64], h: f64| {
            let mut q = moved(&q, rate, h);
            normalise(&mut q);
            q
        };
        let [q1, v1] = self.rates(t, &q, &v);
        let half = t + 0.5 * h;
        let [q2, v2] = self.rates(half, &turned(&q1, 0.5 * h), &moved(&v, &v1, 0.5 * h));
        let [q3, v3] = self.rates(half, &turned(&q2, 0.5 * h), &moved(&v, &v2, 0.5 * h));
        let [q4, v4] = self.rates(t + h, &turned(&q3, h), &moved(&v, &v3, h));
        for i in 0..q.len() {
            self.mesh.q[i] += h / 6.0 * (q1[i] + 2.0 * (q2[i] + q3[i]) + q4[i]);
        }
        for i in 0..v.len() {
            self.v[i] += h / 6.0 * (v1[i] + 2.0 * (v2[i] + v3[i]) + v4[i]);
        }
        normalise(&mut self.mesh.q);
    }

    /// Steps from `start` to `end` in `steps` steps.
    fn run(&mut self, start: f64, end: f64, steps: u32) {
        let h = (end - start) / f64::from(steps);
        for k in 0..steps {
            self.step(start + f64::from(k) * h, h);
        }
    }

    fn place(&self, n: usize) -> [f64; 3] {
        [0, 1, 2].map(|k| self.mesh.q[7 * n + k])
    }

    /// Kinetic and strain energy.
    fn energy(&self) -> [f64; 2] {
        let strain = (0..self.mesh.elements.len())
            .map(|e| self.mesh.elements[e].energy(&self.mesh.local(e)))
            .sum();
        let momentum = self.momenta();
        let kinetic = self.v.iter().zip(momentum).map(|(v, p)| 0.5 * v * p).sum();
        [kinetic, strain]
    }

    fn momenta(&self) -> Vec<f64> {
        let mut momentum = vec![0.0; self.v.len()];
        for (e, beam) in self.mesh.elements.iter().enumerate() {
            let m = mass(beam);
            for i in 0..12 {
                for j in 0..12 {
                    momentum[6 * e + i] += m[12 * i + j] * self.v[6 * e + j];
                }
            }
        }
        momentum
    }

    /// Linear momentum, and angular momentum about the origin.
    fn momentum(&self) -> [[f64; 3]; 2] {
        let momenta = self.momenta();
        let mut total = [[0.0; 3]; 2];
        for (n, p) in momenta.chunks(6).enumerate() {
            let arm = rotation::cross(&self.place(n), &[p[0], p[1], p[2]]);
            let spin = rotation::rotate(&quaternion(&self.mesh.q, n), &[p[3], p[4], p[5]]);
            for k in 0..3 {
                total[0][k] += p[k];
                total[1][k] += arm[k] + spin[k];
            }
        }
        total
    }
}

fn normalise(q: &mut [f64]) {
    for q in q.chunks_mut(7) {
        let norm = q[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
        q[3..].iter_mut().for_each(|x| *x /= norm);
    }
}

fn quaternion(q: &[f64], n: usize) -> [f64; 4] {
    [3, 4, 5, 6].map(|k| q[7 * n + k])
}

/// A straight beam from (6, 0, 0) to (0, 8, 0), free.
fn free_beam(n: usize, mass: MassMatrix) -> Mesh<SpaceBeam> {
    let section = SpaceSection {
        ea: 1e4,
        ga: [1e4; 2],
        gj: 500.0,
        ei: [500.0; 2],
        rho_a: 1.0,
        rho_i: [10.0; 3],
    };
    let along = [-0.6, 0.8, 0.0];
    let p = rotation::from_axes(&[along, [-0.8, -0.6, 0.0], [0.0, 0.0, 1.0]]);
    let q = (0..=n)
        .flat_map(|i| {
            let s = 10.0 * i as f64 / n as f64;
            [
                6.0 + s * along[0],
                s * along[1],
                0.0,
                p[0],
                p[1],
                p[2],
                p[3],
            ]
        })
        .collect();
    let beam = SpaceBeam::straight(section, 10.0 / n as f64)
        .unwrap()
        .with_mass(mass);
    Mesh::chain(vec![beam; n], q, &[])
}

#[test]
fn a_beam_flies() {
    let Some(records) = records() else { return };
    let load = |t: f64| {
        let size = (1.0 - (t / 2.5 - 1.0).abs()).max(0.0);
        [[20.0 * size, 0.0, 0.0], [0.0, -200.0 * size, -100.0 * size]]
    };
    let mut count = 0;
    for (name, n, distribution, steps) in [
        ("n10.consistent", 10, MassMatrix::Consistent, 2500),
        ("n10.lumped", 10, MassMatrix::Lumped, 2500),
        ("n20.consistent", 20, MassMatrix::Consistent, 5000),
        ("n40.consistent", 40, MassMatrix::Consistent, 5000),
    ] {
        let id = |quantity: &str| format!("b3.fly.{name}.{quantity}");
        let mut flight = Flight::new(free_beam(n, distribution), 0, &load);
        let (mut places, mut energies) = (Vec::new(), Vec::new());
        let mut settled: Vec<([[f64; 3]; 2], f64)> = Vec::new();
        for quarter in 0..4 {
            let start = 2.5 * f64::from(quarter);
            flight.run(start, start + 2.5, steps);
            places.extend([flight.place(0), flight.place(n)].concat());
            energies.extend(flight.energy());
            if quarter > 0 {
                settled.push((flight.momentum(), flight.energy().iter().sum()));
            }
        }
        records.check(&id("momentum"), &settled[0].0[0]);
        records.check(&id("state"), &places);
        records.check(&id("energy"), &energies);
        count += 3;
        let drift = |of: &dyn Fn(usize) -> f64| {
            [1, 2]
                .into_iter()
                .fold(0.0_f64, |m, i| m.max((of(i) - of(0)).abs()))
        };
        let turned = (0..3).fold(0.0_f64, |m, k| m.max(drift(&|i| settled[i].0[1][k])));
        let gained = drift(&|i| settled[i].1);
        println!("{name}: angular momentum drifts by {turned:.1e}, energy by {gained:.1e}");
        assert!(turned < 1e-6 && gained < 1e-6);
        if distribution == MassMatrix::Consistent {
            records.bound(&id("ang_drift"), &[turned, gained]);
            count += 1;
            if n != 20 {
                records.check(&id("H"), &settled[0].0[1]);
                count += 1;
            }
        }
    }
    println!("b3.fly.*: {count} records");
}

#[test]
fn a_beam_flies_in_the_plane() {
    let Some(records) = records() else { return };
    let pulse = |_: f64| [[8.0, 0.0, 0.0], [0.0, 0.0, -80.0]];
    let rest = |_: f64| [[0.0; 3]; 2];
    for n in [10, 20] {
        let id = |quantity: &str| format!("b2.fly.n{n}.{quantity}");
        // The pulse ends between two steps.
        let mut flight = Flight::new(free_beam(n, MassMatrix::Consistent), 0, &pulse);
        let mut places = Vec::new();
        for quarter in 0..4 {
            let start = 2.5 * f64::from(quarter);
            if quarter == 1 {
                flight.load = &rest;
            }
            flight.run(start, start + 2.5, 500 * n as u32);
            for node in [0, n] {
                places.extend(&flight.place(node)[..2]);
            }
        }
        records.check(&id("state"), &places);
        let [p, h] = flight.momentum();
        let energy: f64 = flight.energy().iter().sum();
        records.check(&id("invariants"), &[p[0], p[1], h[2], energy]);
    }
    println!("b2.fly.*: 4 records");
}

#[test]
fn a_spinning_beam_stays_where_it_is() {
    let Some(records) = records() else { return };
    let still = |_: f64| [[0.0; 3]; 2];
    let mut flight = Flight::new(free_beam(10, MassMatrix::Consistent), 0, &still);
    let start = flight.mesh.q.clone();
    for v in flight.v.chunks_mut(6) {
        v[3] = 3.0;
    }
    flight.run(0.0, 2.0, 2000);
    let mut deviation = [0.0_f64; 2];
    for n in 0..11 {
        for k in 0..3 {
            deviation[0] = deviation[0].max((flight.mesh.q[7 * n + k] - start[7 * n + k]).abs());
            let spin = if k == 0 { 3.0 } else { 0.0 };
            deviation[1] = deviation[1].max((flight.v[6 * n + 3 + k] - spin).abs());
        }
    }
    records.bound("b3.spin_axis", &deviation);
    println!("b3.spin_axis: 1 record");
}

/// Two legs of length 10, along x and along y, clamped at the origin; triads along the axes of space.
fn right_angle(n: usize) -> Mesh<SpaceBeam> {
    let section = SpaceSection {
        ea: 1e6,
        ga: [1e6; 2],
        gj: 1e3,
        ei: [1e3; 2],
        rho_a: 1.0,
        rho_i: [20.0, 10.0, 10.0],
    };
    let place = |i: usize| {
        let s = 10.0 * i as f64 / n as f64;
        let (x, y) = if i <= n { (s, 0.0) } else { (10.0, s - 10.0) };
        [x, y, 0.0, 1.0, 0.0, 0.0, 0.0]
    };
    let beams = (0..2 * n)
        .map(|i| {
            let reference = [place(i), place(i + 1)].concat().try_into().unwrap();
            SpaceBeam::between(section, &reference, [0.0, 0.0, 1.0]).unwrap()
        })
        .collect();
    let q = (0..=2 * n).flat_map(place).collect();
    Mesh::chain(beams, q, &[0, 1, 2, 3, 4, 5])
}

#[test]
fn a_right_angle_whips() {
    let Some(records) = records() else { return };
    let load = |t: f64| {
        [
            [0.0, 0.0, 50.0 * (1.0 - (t - 1.0).abs()).max(0.0)],
            [0.0; 3],
        ]
    };
    let mut count = 0;
    for (n, steps) in [(4, 500), (8, 500)] {
        let id = |quantity: &str| format!("b3.rightangle.n{n}.{quantity}");
        let mut flight = Flight::new(right_angle(n), n, &load);
        let (mut tips, mut elbows) = (Vec::new(), Vec::new());
        let (mut highest, mut lowest, mut at, mut energy) = (f64::MIN, f64::MAX, 0.0, 0.0);
        for quarter in 0..120 {
            let start = 0.25 * f64::from(quarter);
            flight.run(start, start + 0.25, steps);
            let ([x, y, z], elbow) = (flight.place(2 * n), flight.place(n));
            if z > highest {
                (highest, at) = (z, start + 0.25);
            }
            lowest = lowest.min(z);
            if quarter % 8 == 7 {
                tips.extend([x - 10.0, y - 10.0, z]);
                elbows.push(elbow[2]);
            }
            if quarter == 7 {
                energy = flight.energy().iter().sum();
            }
        }
        records.check(&id("tip"), &tips);
        records.check(&id("elbow"), &elbows);
        records.check(&id("range"), &[highest, lowest, at, energy]);
        count += 3;
    }
    println!("b3.rightangle.*: {count} records");
}
