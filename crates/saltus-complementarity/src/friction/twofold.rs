//! The miss of Coulomb's law with twice the digits, for reactions so large that the data would be lost beside them in rounding.

use super::measure::STIFF;
use super::problem::FrictionContact;
use twofloat::TwoFloat;

type Block<const D: usize> = [TwoFloat; D];

/// `W r + q` of contact `i`.
pub(super) fn velocity<const D: usize>(
    problem: &FrictionContact,
    r: &[[f64; D]],
    i: usize,
) -> Block<D> {
    let w = problem.delassus();
    let own = &problem.free_velocity()[D * i..][..D];
    let mut u: Block<D> = std::array::from_fn(|k| TwoFloat::from(own[k]));
    for (&j, block) in w.cols(i).iter().zip(w.row(i).chunks_exact(D * D)) {
        for (u, line) in u.iter_mut().zip(block.chunks_exact(D)) {
            for (w, r) in line.iter().zip(&r[j]) {
                *u += TwoFloat::new_mul(*w, *r);
            }
        }
    }
    u
}

/// [`miss`](super::measure::miss) at `r` with velocity `u`, projected with the step `1/d`.
pub(super) fn miss<const D: usize>(
    r: &[f64; D],
    u: &Block<D>,
    d: f64,
    mu: f64,
    rolling: f64,
) -> [f64; D] {
    let (slide, roll) = (&u[1..D.min(3)], &u[D.min(3)..]);
    let r = r.map(TwoFloat::from);
    let mut hat = *u;
    hat[0] += norm(slide) * mu + norm(roll) * rolling;
    let x: Block<D> = std::array::from_fn(|k| r[k] - hat[k] / d);
    let mut e = match projected(&x, mu, rolling) {
        Projection::Inside => hat.map(|h| h / d),
        Projection::Apex => r,
        Projection::Boundary(p) => std::array::from_fn(|k| r[k] - p[k]),
    };
    let below = if mu.max(rolling) > STIFF {
        u[0]
    } else {
        hat[0]
    };
    let penetration = below / d;
    if penetration < 0.0 && penetration.abs() > e[0].abs() {
        e[0] = penetration;
    }
    e.map(f64::from)
}

enum Projection<const D: usize> {
    Inside,
    Apex,
    Boundary(Block<D>),
}

/// The projection onto the cone as in [`project`](crate::cone::project); both cones of rolling friction, or one of them with
/// no length.
fn projected<const D: usize>(a: &Block<D>, mu: f64, rolling: f64) -> Projection<D> {
    let (t, s) = (norm(&a[1..D.min(3)]), norm(&a[D.min(3)..]));
    let (within, rolls_within) = (t <= a[0] * mu, D < 5 || s <= a[0] * rolling);
    if within && rolls_within && a[0] >= 0.0 {
        return Projection::Inside;
    }
    if t * mu + s * rolling <= -a[0] {
        return Projection::Apex;
    }
    // The largest root of four increasing lines, of which one cone alone has two.
    let mut x = if D < 5 { TwoFloat::from(0.0) } else { a[0] };
    for (m, r) in [(mu, 0.0), (0.0, rolling), (mu, rolling)] {
        if D == 5 || r == 0.0 {
            let slope = TwoFloat::new_mul(m, m) + TwoFloat::new_mul(r, r) + 1.0;
            let root = ratio(a[0] + t * m + s * r, slope);
            if root > x {
                x = root;
            }
        }
    }
    let mut p = *a;
    p[0] = x;
    let ends = [(1..D.min(3), x * mu, t), (D.min(3)..D, x * rolling, s)];
    for (range, radius, length) in ends {
        if length > radius {
            let factor = ratio(radius, length);
            p[range].iter_mut().for_each(|v| *v *= factor);
        }
    }
    Projection::Boundary(p)
}

/// `a / b`, corrected once: the quotient of the library is good to the digits of one number only.
fn ratio(a: TwoFloat, b: TwoFloat) -> TwoFloat {
    let quotient = a / b;
    quotient + (a - quotient * b) / b.hi()
}

fn norm(x: &[TwoFloat]) -> TwoFloat {
    let sum = x.iter().fold(TwoFloat::from(0.0), |sum, v| sum + *v * *v);
    if sum > 0.0 { sum.sqrt() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::super::measure::miss as plain;
    use super::*;

    /// Of reactions of the size of the data both ways are the same.
    #[test]
    fn agrees_with_single_precision() {
        let mut state = 5_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        fn both<const D: usize>(random: &mut impl FnMut() -> f64) {
            for k in 0..300 {
                let r: [f64; D] = std::array::from_fn(|_| random());
                let u: [f64; D] = std::array::from_fn(|_| random());
                let mu = if k % 7 == 0 {
                    20.0
                } else {
                    0.5 + 0.5 * random()
                };
                let rolling = if D == 5 { 0.5 + 0.5 * random() } else { 0.0 };
                let d = 1.5 + random();
                let double = u.map(TwoFloat::from);
                let expected = plain(&r, &u, 1.0 / d, mu, rolling);
                let found = miss(&r, &double, d, mu, rolling);
                for (a, b) in expected.iter().zip(&found) {
                    assert!((a - b).abs() < 1e-12, "{r:?} {u:?} {mu} {rolling} {d}");
                }
            }
        }
        both::<2>(&mut random);
        both::<3>(&mut random);
        both::<5>(&mut random);
    }
}
