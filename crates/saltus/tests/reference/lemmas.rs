//! Energy identities of the Moreau–Jean scheme on random linear systems with two contacts (Acary, eqs. 84–90).

use crate::entries::{Entry, Outcome, check, read};
use crate::run::{Row, record};
use saltus_integrators::{MoreauJeanOptions, Variant};
use saltus_system::State;
use saltus_zoo::Linear;

/// Which identity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lemma {
    /// Eq. (84).
    Standard,
    /// Eq. (88), of the dissipative variant.
    Dissipative,
}

/// What many random systems have in common.
#[derive(Debug, Clone, Copy)]
pub struct Residuals {
    /// Largest residual of the identity relative to the energy.
    pub identity: f64,
    /// Largest `(ΔE − W_ext)` relative to the energy over steps without a loaded contact that was opening.
    pub gain: f64,
}

/// Uniform on [−1, 1), the same numbers every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// `A Aᵀ + shift I`.
    fn positive(&mut self, n: usize, scale: f64, shift: f64) -> Vec<(usize, usize, f64)> {
        let a: Vec<f64> = (0..n * n).map(|_| self.next()).collect();
        let mut entries = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let product: f64 = (0..n).map(|k| a[n * i + k] * a[n * j + k]).sum();
                entries.push((i, j, scale * product + if i == j { shift } else { 0.0 }));
            }
        }
        entries
    }
}

fn form(matrix: &[(usize, usize, f64)], x: &[f64], y: &[f64]) -> f64 {
    matrix.iter().map(|&(i, j, a)| a * x[i] * y[j]).sum()
}

/// Residual and gain of one step, and the scale of the energy.
fn step(system: &Linear, lemma: Lemma, theta: f64, h: f64, a: &Row, b: &Row) -> (f64, f64, f64) {
    let n = system.n;
    let energy =
        |r: &Row| 0.5 * (form(&system.mass, &r.v, &r.v) + form(&system.stiffness, &r.q, &r.q));
    let minus = |x: &[f64], y: &[f64]| -> Vec<f64> { (0..n).map(|i| x[i] - y[i]).collect() };
    let mixed = |w: f64| -> Vec<f64> { (0..n).map(|i| w * b.v[i] + (1.0 - w) * a.v[i]).collect() };
    let mean = mixed(if lemma == Lemma::Standard { theta } else { 0.5 });
    let force: f64 = (0..n).map(|i| h * mean[i] * system.load[i]).sum();
    let work = force - h * form(&system.damping, &mean, &mixed(theta));
    let (dq, dv) = (minus(&b.q, &a.q), minus(&b.v, &a.v));
    let mut expected = (0.5 - theta) * form(&system.stiffness, &dq, &dq);
    if lemma == Lemma::Standard {
        expected += (0.5 - theta) * form(&system.mass, &dv, &dv);
    }
    for (p, (_, row, _)) in b.impulse.iter().zip(&system.contacts) {
        expected += p * row.iter().map(|&(j, w)| w * mean[j]).sum::<f64>();
    }
    let gain = energy(b) - energy(a) - work;
    (
        gain - expected,
        gain,
        energy(a).max(energy(b)).max(force.abs()),
    )
}

/// Runs ten random systems of four coordinates and two contacts.
pub fn residuals(lemma: Lemma, theta: f64, with_damping: bool, h: f64) -> Residuals {
    let mut worst = Residuals {
        identity: 0.0,
        gain: f64::NEG_INFINITY,
    };
    let mut impacts = 0;
    for seed in 1..=10 {
        let mut random = Random(seed);
        let n = 4;
        let system = Linear {
            n,
            mass: random.positive(n, 1.0, 0.5),
            stiffness: random.positive(n, 10.0, 1.0),
            damping: if with_damping {
                random.positive(n, 0.2, 0.0)
            } else {
                Vec::new()
            },
            load: (0..n).map(|_| random.next()).collect(),
            contacts: (0..2)
                .map(|_| {
                    let row = (0..n).map(|j| (j, random.next())).collect();
                    (
                        0.2 * random.next().abs(),
                        row,
                        0.5 + 0.5 * random.next().abs(),
                    )
                })
                .collect(),
        };
        let options = MoreauJeanOptions {
            theta: Some(theta),
            variant: if lemma == Lemma::Standard {
                Variant::Standard
            } else {
                Variant::Dissipative
            },
            ..MoreauJeanOptions::default()
        };
        let v = (0..n).map(|_| random.next()).collect();
        let rows = record(&system, &options, &State::new(0.0, vec![0.0; n], v), h, 400);
        for pair in rows.windows(2) {
            let (residual, gain, scale) = step(&system, lemma, theta, h, &pair[0], &pair[1]);
            worst.identity = worst.identity.max(residual.abs() / scale);
            let loaded = |i: usize| pair[1].impulse[i] > 0.0;
            impacts += usize::from(loaded(0) || loaded(1));
            if !(0..2).any(|i| loaded(i) && pair[0].gap_velocity[i] > 0.0) {
                worst.gain = worst.gain.max(gain / scale);
            }
        }
    }
    assert!(impacts > 100, "random systems hardly touch: {impacts}");
    worst
}

/// The worst over several θ.
pub fn largest_residuals(lemma: Lemma, with_damping: bool) -> Residuals {
    let all = [0.5, 0.6, 0.8, 1.0].map(|theta| residuals(lemma, theta, with_damping, 0.02));
    Residuals {
        identity: all.iter().map(|r| r.identity).fold(0.0, f64::max),
        gain: all.iter().map(|r| r.gain).fold(f64::NEG_INFINITY, f64::max),
    }
}

#[test]
fn lemmas() {
    let Some(entries) = read("generalized-alpha.json") else {
        return;
    };
    check("energy lemmas", &entries, is_lemma, |entry| {
        let lemma = if entry.scheme == "Moreau-Jean" {
            Lemma::Standard
        } else {
            Lemma::Dissipative
        };
        let found = residuals(lemma, entry.number("theta"), false, 0.02);
        if entry.quantity.starts_with("max |lemma residual|") {
            Outcome::Ours(vec![found.identity])
        } else {
            // The claim is that nothing is gained; how much is lost depends on the systems drawn.
            Outcome::AtMost(vec![found.gain])
        }
    });
}

pub fn is_lemma(entry: &Entry) -> bool {
    entry.example == "random LTI" && entry.scheme.starts_with("Moreau-Jean")
}
