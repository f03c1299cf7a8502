//! Exact motions of one angle: a block that rocks on its corners without rebound, and a pendulum at a stop.

use saltus_zoo::{BouncingPendulum, RockingBlock};

/// A block released on its corner at the angle `θ > 0`.
pub struct Rocking {
    /// Instants at which the other corner hits [s].
    pub impacts: Vec<f64>,
    /// Angle and its rate at the end.
    pub end: [f64; 2],
}

/// Length of a step of Runge and Kutta [s].
const STEP: f64 = 1e-4;

fn runge_kutta(y: [f64; 2], h: f64, f: &impl Fn([f64; 2]) -> [f64; 2]) -> [f64; 2] {
    let add = |y: [f64; 2], s: f64, k: [f64; 2]| [y[0] + s * k[0], y[1] + s * k[1]];
    let k1 = f(y);
    let k2 = f(add(y, 0.5 * h, k1));
    let k3 = f(add(y, 0.5 * h, k2));
    let k4 = f(add(y, h, k3));
    let sum = |i: usize| y[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
    [sum(0), sum(1)]
}

impl Rocking {
    pub fn new(block: &RockingBlock, theta: f64, until: f64) -> Self {
        let (a, b) = (0.5 * block.height, 0.5 * block.width);
        let (m, inertia) = (block.mass, block.inertia);
        // On one corner: y = a cos θ ± b sin θ, of which `d` and `e` are the first two derivatives.
        let rate = |side: f64| {
            move |[theta, omega]: [f64; 2]| {
                let (s, c) = theta.sin_cos();
                let (d, e) = (-a * s + side * b * c, -a * c - side * b * s);
                let moment = -m * block.gravity * d - m * d * e * omega * omega;
                [omega, moment / (inertia + m * d * d)]
            }
        };
        let (mut t, mut side, mut y) = (0.0, 1.0, [theta, 0.0]);
        let mut impacts = Vec::new();
        while until - t > 1e-14 {
            let f = rate(side);
            let h = STEP.min(until - t);
            let next = runge_kutta(y, h, &f);
            if side * next[0] > 0.0 || side * y[1] > 0.0 {
                (t, y) = (t + h, next);
                continue;
            }
            let (mut low, mut high) = (0.0, h);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if side * runge_kutta(y, middle, &f)[0] > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let omega = runge_kutta(y, high, &f)[1];
            t += high;
            impacts.push(t);
            // The other corner takes the impulse, this one leaves.
            y = [0.0, omega * (inertia - m * b * b) / (inertia + m * b * b)];
            side = -side;
        }
        Self { impacts, end: y }
    }
}

/// An angle that a stop turns back.
pub struct Angle {
    /// Instants of the impacts [s].
    pub impacts: Vec<f64>,
    /// Angle and its rate at the end.
    pub end: [f64; 2],
}

impl Angle {
    /// The pendulum released at `theta`, with a stop at the angle below it or without.
    pub fn of_pendulum(
        pendulum: &BouncingPendulum,
        theta: f64,
        stop: Option<f64>,
        until: f64,
    ) -> Self {
        let l = pendulum.length;
        let inertia = pendulum.inertia + pendulum.mass * l * l;
        let moment = pendulum.mass * pendulum.gravity * l;
        let f = |[theta, omega]: [f64; 2]| [omega, -moment * theta.cos() / inertia];
        let below = |y: [f64; 2]| stop.is_some_and(|stop| y[0] < stop);
        let (mut t, mut y, mut impacts) = (0.0, [theta, 0.0], Vec::new());
        while until - t > 1e-14 {
            let h = STEP.min(until - t);
            let next = runge_kutta(y, h, &f);
            if !(below(next) && next[1] < 0.0) {
                (t, y) = (t + h, next);
                continue;
            }
            let (mut low, mut high) = (0.0, h);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if below(runge_kutta(y, middle, &f)) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            t += low;
            impacts.push(t);
            y = runge_kutta(y, low, &f);
            y[1] *= -pendulum.restitution;
        }
        Self { impacts, end: y }
    }
}
