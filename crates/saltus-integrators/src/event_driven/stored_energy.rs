//! Contacts that store and release energy in an impact: the motion of the energetic law.
//!
//! A contact that alone carries something moves in closed form: velocities are linear in its impulse, its energy is a quadratic
//! polynomial of it. Several at once are integrated by the explicit method of order 8 of Dormand and Prince; where a contact turns
//! from loading to unloading, is spent, or is reached by its neighbours, a step ends.

use super::dop853::{A, E3, E5, STAGES};
use saltus_linear::{Dense, axpy, dot};

/// Error of a step, relative to what the energy of the impact can do.
const PRECISION: f64 = 1e-13;
/// Velocities and compressions below this share are none.
const ROUND_OFF: f64 = 1e-15;
/// Returned shares of energy below this are none.
const NONE: f64 = 1e-16;
/// Most attempts to locate where a phase ends.
const ATTEMPTS: u32 = 200;
/// Most steps.
pub(super) const LONGEST: u32 = 200_000;

/// What a contact does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It carries nothing and does not approach.
    Apart,
    Loading,
    Unloading,
}

/// The contacts of an impact.
pub(super) struct Springs {
    /// `D`, velocities for impulses (n × n) [1/kg].
    pub(super) compliance: Dense,
    pub(super) stiffness: Vec<f64>,
    pub(super) restitution: Vec<f64>,
    /// `η` of `F = K δ^η`.
    pub(super) exponent: f64,
}

impl Springs {
    /// Impulses of the contacts with the velocities `u`, which become those after the impact; `None` where it does not end.
    /// A velocity below `slowest` is none.
    pub(super) fn collide(&self, u: &mut [f64], slowest: f64) -> Option<Vec<f64>> {
        let mut impulses = vec![0.0; u.len()];
        for group in self.groups() {
            let n = group.len();
            let mut compliance = Dense::zeros(n, n);
            for (a, &i) in group.iter().enumerate() {
                for (b, &j) in group.iter().enumerate() {
                    compliance[(a, b)] = self.compliance[(i, j)];
                }
            }
            let springs = Self {
                compliance,
                stiffness: group.iter().map(|&i| self.stiffness[i]).collect(),
                restitution: group.iter().map(|&i| self.restitution[i]).collect(),
                exponent: self.exponent,
            };
            let before: Vec<f64> = group.iter().map(|&i| u[i]).collect();
            let mut motion = Motion::new(&springs, &before, slowest);
            motion.run()?;
            for (a, &i) in group.iter().enumerate() {
                u[i] = motion.x[a];
                impulses[i] = motion.x[2 * n + a];
            }
        }
        Some(impulses)
    }

    /// The contacts by those that impulses of one of them reach.
    fn groups(&self) -> Vec<Vec<usize>> {
        let n = self.stiffness.len();
        let d = &self.compliance;
        let reaches =
            |i: usize, j: usize| d[(i, j)].abs() > ROUND_OFF * (d[(i, i)] * d[(j, j)]).abs().sqrt();
        let mut groups = Vec::new();
        let mut is_placed = vec![false; n];
        for first in 0..n {
            if is_placed[first] {
                continue;
            }
            is_placed[first] = true;
            let mut group = vec![first];
            let mut next = 0;
            while let Some(&i) = group.get(next) {
                next += 1;
                for j in 0..n {
                    if !is_placed[j] && reaches(i, j) {
                        is_placed[j] = true;
                        group.push(j);
                    }
                }
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }

    /// Compression with the energy `energy`.
    fn compression(&self, j: usize, energy: f64) -> f64 {
        let power = self.exponent + 1.0;
        (power * energy / self.stiffness[j]).powf(1.0 / power)
    }

    /// Energy of the compression `delta`.
    fn energy(&self, j: usize, delta: f64) -> f64 {
        let power = self.exponent + 1.0;
        self.stiffness[j] * delta.max(0.0).powf(power) / power
    }

    /// Share of the energy that comes back.
    fn returned(&self, j: usize) -> f64 {
        self.restitution[j] * self.restitution[j]
    }
}

/// The motion of springs in a time without meaning, `x = (u, δ, P)`.
struct Motion<'a> {
    springs: &'a Springs,
    n: usize,
    x: Vec<f64>,
    phase: Vec<Phase>,
    /// A velocity below this is none, and one below round-off.
    slowest: f64,
    still: f64,
    /// What velocities and compressions are compared with (2 n).
    size: Vec<f64>,
    h: f64,
    rates: Dense,    // of every stage (STAGES + 1, 3 n)
    trial: Vec<f64>, // x after the step (3 n)
}

impl<'a> Motion<'a> {
    fn new(springs: &'a Springs, u: &[f64], slowest: f64) -> Self {
        let n = u.len();
        let mut x = vec![0.0; 3 * n];
        x[..n].copy_from_slice(u);
        let d = |j: usize| springs.compliance[(j, j)];
        let speed = u.iter().fold(0.0_f64, |m, u| m.max(-u));
        let hits = (0..n).filter(|&j| u[j] < 0.0 && d(j) > 0.0);
        let energy: f64 = hits.map(|j| 0.5 * u[j] * u[j] / d(j)).sum();
        let mut size = vec![speed; 2 * n];
        let mut fastest = 0.0_f64;
        for j in 0..n {
            let (k, eta) = (springs.stiffness[j], springs.exponent);
            let deepest = springs.compression(j, energy);
            size[n + j] = deepest;
            fastest = fastest.max((d(j) * k * eta * deepest.powf(eta - 1.0)).sqrt());
        }
        let phase = |u: &f64| {
            if *u < 0.0 {
                Phase::Loading
            } else {
                Phase::Apart
            }
        };
        Self {
            springs,
            n,
            x,
            phase: u.iter().map(phase).collect(),
            slowest,
            still: ROUND_OFF * speed,
            size,
            h: 1e-2 / fastest,
            rates: Dense::zeros(STAGES + 1, 3 * n),
            trial: vec![0.0; 3 * n],
        }
    }

    /// Moves until nothing that counts is stored or approaches.
    fn run(&mut self) -> Option<()> {
        for _ in 0..LONGEST {
            if self.is_over() {
                return Some(());
            }
            match self.alone() {
                Some(j) => self.move_alone(j),
                None => self.step()?,
            }
        }
        None
    }

    /// Whether all that is stored or approaches changes no velocity that counts.
    fn is_over(&self) -> bool {
        let n = self.n;
        (0..n).all(|j| {
            let energy = self.springs.energy(j, self.x[n + j]);
            let d = self.springs.compliance[(j, j)];
            self.x[j] >= -self.slowest && 2.0 * d * energy <= self.slowest * self.slowest
        })
    }

    /// The only contact that is loaded, if its impulse presses on no other one that touches.
    fn alone(&self) -> Option<usize> {
        let mut loaded = (0..self.n).filter(|&j| self.phase[j] != Phase::Apart);
        let j = loaded.next()?;
        let d = &self.springs.compliance;
        let presses = |k: usize| k != j && self.x[k] <= self.still && d[(k, j)] < 0.0;
        (loaded.next().is_none() && d[(j, j)] > 0.0 && !(0..self.n).any(presses)).then_some(j)
    }

    /// Moves contact `j`, alone, to the end of its phase, or to where it presses on another one.
    fn move_alone(&mut self, j: usize) {
        let n = self.n;
        let springs = self.springs;
        let d = springs.compliance[(j, j)];
        let returned = springs.returned(j);
        let u = self.x[j];
        let stored = springs.energy(j, self.x[n + j]);
        let is_loading = self.phase[j] == Phase::Loading;
        let after = if is_loading {
            0.0
        } else {
            u.mul_add(u, 2.0 * d * returned * stored).sqrt()
        };
        let mut impulse = (after - u) / d;
        let mut reached = None;
        for k in 0..n {
            let slope = springs.compliance[(k, j)];
            if k != j && slope < 0.0 && self.x[k] < -slope * impulse {
                impulse = -self.x[k] / slope;
                reached = Some(k);
            }
        }
        for k in 0..n {
            if k != j {
                self.x[k] += springs.compliance[(k, j)] * impulse;
            }
        }
        self.x[2 * n + j] += impulse;
        let released = impulse * (u + 0.5 * d * impulse);
        if let Some(k) = reached {
            let energy = if is_loading {
                stored - released
            } else {
                stored - released / returned
            };
            self.x[j] += d * impulse;
            self.x[n + j] = springs.compression(j, energy.max(0.0));
            self.x[k] = 0.0;
            self.phase[k] = Phase::Loading;
            return;
        }
        self.x[j] = after;
        if is_loading {
            self.x[n + j] = springs.compression(j, stored - released);
            self.turn(j);
        } else {
            self.x[n + j] = 0.0;
            self.phase[j] = Phase::Apart;
        }
    }

    /// Contact `j` at rest begins to unload; it is spent at once where nothing comes back.
    fn turn(&mut self, j: usize) {
        self.x[j] = 0.0;
        self.phase[j] = Phase::Unloading;
        if self.springs.returned(j) < NONE {
            self.x[self.n + j] = 0.0;
            self.phase[j] = Phase::Apart;
        }
    }

    /// Rates of `y` as stage `l`.
    fn evaluate(&mut self, l: usize) {
        let n = self.n;
        let (y, out) = (&self.trial, self.rates.row_mut(l));
        for j in 0..n {
            let (u, delta) = (y[j], y[n + j]);
            let is_loaded = self.phase[j] != Phase::Apart && delta > 0.0;
            out[2 * n + j] = if is_loaded {
                self.springs.stiffness[j] * delta.powf(self.springs.exponent)
            } else {
                0.0
            };
            out[n + j] = match self.phase[j] {
                Phase::Apart => 0.0,
                Phase::Loading => -u,
                Phase::Unloading => -u / self.springs.returned(j),
            };
        }
        let (velocities, forces) = out.split_at_mut(2 * n);
        for (i, rate) in velocities[..n].iter_mut().enumerate() {
            *rate = dot(self.springs.compliance.row(i), forces);
        }
    }

    /// A step of the length `h` from `x` to `trial`; its error over the tolerance.
    fn attempt(&mut self, h: f64) -> f64 {
        for (l, weights) in A.iter().enumerate().take(STAGES + 1) {
            self.trial.copy_from_slice(&self.x);
            for (k, w) in weights.iter().enumerate() {
                if *w != 0.0 {
                    axpy(h * w, self.rates.row(k), &mut self.trial);
                }
            }
            self.evaluate(l);
        }
        let (mut fifth, mut third) = (0.0, 0.0);
        for j in 0..2 * self.n {
            let estimate = |weights: &[f64]| {
                let stages = weights.iter().enumerate();
                let sum: f64 = stages.map(|(l, w)| w * self.rates[(l, j)]).sum();
                (sum / (PRECISION * self.size[j])).powi(2)
            };
            fifth += estimate(&E5);
            third += estimate(&E3);
        }
        if fifth == 0.0 {
            return 0.0;
        }
        h * fifth / ((fifth + 0.01 * third) * 2.0 * self.n as f64).sqrt()
    }

    /// One step, up to the end of the first phase that ends.
    fn step(&mut self) -> Option<()> {
        let mut h = self.h;
        loop {
            let error = self.attempt(h);
            let factor = 0.9 * error.max(1e-16).powf(-1.0 / 8.0);
            if error <= 1.0 {
                self.h = h * factor.clamp(0.2, 6.0);
                break;
            }
            if h.is_nan() || h <= f64::MIN_POSITIVE {
                return None;
            }
            h *= if error.is_finite() {
                factor.clamp(0.2, 1.0)
            } else {
                0.2
            };
        }
        let mut ended = None;
        while let Some(j) = self.first_ended() {
            ended = Some(j);
            let earlier = self.locate(j, h);
            if earlier >= h {
                break;
            }
            h = earlier;
        }
        self.x.copy_from_slice(&self.trial);
        for j in 0..self.n {
            // What began to load and does not approach.
            if self.phase[j] == Phase::Loading && self.x[self.n + j] <= 0.0 && self.x[j] > 0.0 {
                self.x[self.n + j] = 0.0;
                self.phase[j] = Phase::Apart;
            }
        }
        if let Some(j) = ended {
            self.end_phase(j);
        }
        Some(())
    }

    /// What velocity and compression of contact `j` at `y` are in its phase, in units of their round-off.
    fn in_round_off(&self, j: usize, y: &[f64]) -> (f64, f64) {
        let share = match self.phase[j] {
            Phase::Unloading => self.springs.restitution[j],
            Phase::Apart | Phase::Loading => 1.0,
        };
        let compression = y[self.n + j] / (ROUND_OFF * self.size[self.n + j]);
        (y[j] / (share * self.still), compression)
    }

    /// What is left of the phase of contact `j` at `y`, in units of round-off; below −1 it has ended.
    fn margin(&self, j: usize, y: &[f64]) -> f64 {
        let (u, delta) = self.in_round_off(j, y);
        match self.phase[j] {
            Phase::Apart => u,
            Phase::Loading if delta <= 0.0 => 0.0,
            Phase::Loading => -u,
            Phase::Unloading => u.min(delta),
        }
    }

    /// The contact whose phase ended first before `trial`, by the straight line from `x`.
    fn first_ended(&self) -> Option<usize> {
        let mut first = None;
        for j in 0..self.n {
            let after = self.margin(j, &self.trial);
            if after >= -1.0 {
                continue;
            }
            let before = self.margin(j, &self.x).max(0.0);
            let share = before / (before - after);
            if first.is_none_or(|(_, least)| share < least) {
                first = Some((j, share));
            }
        }
        first.map(|(j, _)| j)
    }

    /// The length of the step after which the phase of contact `j` ends, which has ended after the length `h`; `trial` is the end.
    fn locate(&mut self, j: usize, h: f64) -> f64 {
        let (mut a, mut b) = (0.0, h);
        let mut before = self.margin(j, &self.x);
        let mut after = self.margin(j, &self.trial);
        for k in 0..ATTEMPTS {
            // Every third time the middle, so that both ends move.
            let share = if before > 0.0 && k % 3 < 2 {
                (before / (before - after)).clamp(1e-3, 1.0 - 1e-3)
            } else {
                0.5
            };
            let m = a + share * (b - a);
            if m <= a || m >= b {
                break;
            }
            self.attempt(m);
            let left = self.margin(j, &self.trial);
            if left.abs() <= 1.0 {
                return m;
            }
            if left < 0.0 {
                (b, after) = (m, left);
            } else {
                (a, before) = (m, left);
            }
        }
        self.attempt(b);
        b
    }

    fn end_phase(&mut self, j: usize) {
        let n = self.n;
        match self.phase[j] {
            Phase::Apart => {
                self.x[j] = 0.0;
                self.phase[j] = Phase::Loading;
            }
            Phase::Loading => self.turn(j),
            Phase::Unloading => {
                let (u, delta) = self.in_round_off(j, &self.x);
                if delta <= 1.0 {
                    self.x[n + j] = 0.0;
                    self.phase[j] = Phase::Apart;
                } else if u <= 1.0 {
                    self.x[j] = 0.0;
                    self.phase[j] = Phase::Loading;
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn square(entries: &[f64]) -> Dense {
        let n = entries.len().isqrt();
        let mut d = Dense::zeros(n, n);
        d.as_mut_slice().copy_from_slice(entries);
        d
    }

    fn collide(springs: &Springs, u: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut after = u.to_vec();
        let impulses = springs.collide(&mut after, 1e-9).unwrap();
        (after, impulses)
    }

    #[test]
    fn one_contact_obeys_newtons_law() {
        for e in [0.0, 1e-9, 1e-4, 0.01, 0.05, 0.5, 0.9, 1.0] {
            for exponent in [1.0, 1.5, 3.0] {
                let springs = Springs {
                    compliance: square(&[0.4]),
                    stiffness: vec![3e7],
                    restitution: vec![e],
                    exponent,
                };
                let (u, p) = collide(&springs, &[-2.5]);
                let expected = if e > 1e-8 { 2.5 * e } else { 0.0 };
                assert!((u[0] - expected).abs() < 1e-14, "{e}: {}", u[0]);
                assert!((p[0] - (2.5 + expected) / 0.4).abs() < 1e-13);
            }
        }
    }

    /// Two balls that hit a floor at once know nothing of each other.
    #[test]
    fn contacts_that_do_not_reach_each_other_are_alone() {
        let springs = Springs {
            compliance: square(&[1.0, 0.0, 0.0, 0.2]),
            stiffness: vec![1.0, 7.0],
            restitution: vec![0.3, 0.0],
            exponent: 1.5,
        };
        let (u, _) = collide(&springs, &[-1.0, -4.0]);
        assert!((u[0] - 0.3).abs() < 1e-15 && u[1] == 0.0, "{u:?}");
    }
}
