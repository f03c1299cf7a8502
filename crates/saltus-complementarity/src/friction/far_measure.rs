//! Residuals of problems in units of their own, with powers beside the numbers where those may leave the range.

use super::measure::{Residual, length_of_miss, norm_of};
use super::units::{Part, top};
use crate::equilibrium::{exponent, times_power};

/// A point of a part: `r' 2^unit`, `u' 2^unit`, and `q'` with a power for each contact.
pub(crate) struct At {
    pub q: Vec<f64>,
    pub powers: Vec<i32>,
    pub r: Vec<f64>,
    pub u: Vec<f64>,
    pub unit: i32,
}

/// `value · 2^power`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Power {
    pub value: f64,
    pub power: i32,
}

impl Power {
    fn size(&self) -> Option<i32> {
        (self.value != 0.0).then(|| exponent(self.value) + self.power)
    }

    /// The number, at most the largest one.
    fn number(self) -> f64 {
        let v = times_power(self.value, self.power);
        if v.is_infinite() { f64::MAX } else { v }
    }

    /// Relative to `other`, to itself if that is zero.
    pub fn over(self, other: Self) -> f64 {
        if other.value > 0.0 {
            let value = self.value / other.value;
            let power = self.power - other.power;
            Self { value, power }.number()
        } else {
            self.number()
        }
    }

    /// The square root of the sum of the squares.
    pub fn norm(numbers: &[Self]) -> Self {
        let power = numbers.iter().filter_map(Self::size).max().unwrap_or(0);
        let each = numbers
            .iter()
            .map(|n| times_power(n.value, n.power - power))
            .map(|v| v * v);
        Self {
            value: each.sum::<f64>().sqrt(),
            power,
        }
    }
}

/// The residual of all parts together, in the units of the data.
pub(super) fn residual<const D: usize>(parts: &[(&Part, At)]) -> Residual {
    let finite = |x: &[f64]| x.iter().all(|v| v.is_finite());
    if !parts.iter().all(|(_, at)| finite(&at.r) && finite(&at.u)) {
        return Residual {
            eta: f64::NAN,
            impulse: f64::NAN,
            velocity: f64::NAN,
            unscaled: f64::NAN,
            worst: 0,
        };
    }
    let (mut energies, mut references) = (Vec::new(), Vec::new());
    let (mut places, mut points) = (Vec::new(), Vec::new());
    let (mut impulse, mut velocity) = (0.0_f64, 0.0_f64);
    for (part, at) in parts {
        let blocks = at.r.as_chunks::<D>().0.iter().zip(at.u.as_chunks::<D>().0);
        for (k, (r, u)) in blocks.enumerate() {
            let ((d, change), s) = (part.natural[k], part.contact[k]);
            let law = (part.problem.friction()[k], part.problem.rolling_of(k));
            let largest = top(r).map(|k| k - change);
            let largest = largest.max(top(u).map(|k| k + change)).unwrap_or(0);
            let own = r.map(|r| times_power(r, -change - largest));
            let speed = u.map(|u| times_power(u, change - largest) / d);
            let value = length_of_miss(&own, &speed, law.0, law.1);
            let unit = at.unit + largest;
            let times = |value: f64, power: i32| Power { value, power }.number();
            impulse = impulse.max(times(value, unit + s + change));
            velocity = velocity.max(times(value * d, unit - s - change));
            energies.push(Power {
                value: value * d.sqrt(),
                power: unit,
            });
            let mut q = [0.0; D];
            q.copy_from_slice(&at.q[D * k..][..D]);
            let power = top(&q).unwrap_or(0);
            let near = q.map(|q| times_power(q, -power));
            references.push(Power {
                value: norm_of(&near) / d.sqrt(),
                power: power + at.powers[k] + change,
            });
            places.push(part.members[k]);
            points.push(Point {
                q: (q, at.powers[k] - s),
                r: (*r, at.unit + s),
                u: (*u, at.unit - s),
                law,
            });
        }
    }
    let eta = Power::norm(&energies);
    let share = |e: &Power| times_power(e.value, e.power - eta.power);
    let worst = (0..energies.len()).max_by(|&a, &b| {
        let order = share(&energies[a]).total_cmp(&share(&energies[b]));
        // The first of equal ones.
        order.then(places[b].cmp(&places[a]))
    });
    Residual {
        eta: eta.over(Power::norm(&references)),
        impulse,
        velocity,
        unscaled: unscaled(&points),
        worst: worst.map_or(0, |k| places[k]),
    }
}

/// A contact with its coefficients; the numbers each with a power.
struct Point<const D: usize> {
    q: ([f64; D], i32),
    r: ([f64; D], i32),
    u: ([f64; D], i32),
    law: (f64, f64),
}

/// `|r − P_K(r − û)| / max(|q|, |r|, |u|)` of the data.
fn unscaled<const D: usize>(points: &[Point<D>]) -> f64 {
    let each = points.iter().flat_map(|p| [p.q, p.r, p.u]);
    let Some(most) = each.filter_map(|(x, k)| Some(top(&x)? + k)).max() else {
        return 0.0;
    };
    let near = |(x, k): ([f64; D], i32)| x.map(|x| times_power(x, k - most));
    let norm = |each: &dyn Fn(&Point<D>) -> f64| {
        let list: Vec<f64> = points.iter().map(each).collect();
        norm_of(&list)
    };
    let scale = [
        norm(&|p| norm_of(&near(p.q))),
        norm(&|p| norm_of(&near(p.r))),
        norm(&|p| norm_of(&near(p.u))),
    ];
    let missed = norm(&|p| length_of_miss(&near(p.r), &near(p.u), p.law.0, p.law.1));
    missed / scale.into_iter().fold(0.0, f64::max)
}
