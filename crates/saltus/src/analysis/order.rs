//! Orders of convergence from errors at many step lengths.
//!
//! Where in a step an impact falls is as good as random, and the error depends on it: with a single
//! sequence of step lengths a fitted order is off by up to a half. [`counts`] therefore draws several
//! numbers of steps at random in every octave, reproducibly, and [`fit`] is applied to the means over
//! octaves ([`octave_mean`]).

/// Several random numbers of steps in each of `octaves` octaves: `[first · 2ᵏ, first · 2ᵏ⁺¹)` for the
/// octave `k`. The same seed gives the same numbers.
#[must_use]
pub fn counts(seed: u64, first: u64, octaves: u32, per_octave: usize) -> Vec<Vec<u64>> {
    let mut random = SplitMix(seed);
    (0..octaves)
        .map(|k| {
            let low = first << k;
            (0..per_octave)
                .map(|_| low + random.next() % low.max(1))
                .collect()
        })
        .collect()
}

/// Mean of steps and errors `(h, e)` in an octave.
///
/// Arithmetic: whether a step misses an impact is decided by chance, and a geometric mean of errors
/// that are `O(1)` or `O(h)` by chance would show an order that no single sequence has.
#[must_use]
pub fn octave_mean(samples: &[(f64, f64)]) -> (f64, f64) {
    #[allow(clippy::cast_precision_loss)]
    let n = samples.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| samples.iter().map(part).sum::<f64>() / n;
    (mean(|s| s.0), mean(|s| s.1))
}

/// The exponent `p` of `e ≈ C hᵖ`, by least squares on logarithms; NaN from fewer than two step lengths.
///
/// Samples that are not positive and finite are left out: they have no logarithm.
#[must_use]
pub fn fit(samples: &[(f64, f64)]) -> f64 {
    let usable = |x: f64| x > 0.0 && x.is_finite();
    let logs: Vec<(f64, f64)> = samples
        .iter()
        .filter(|(h, e)| usable(*h) && usable(*e))
        .map(|(h, e)| (h.ln(), e.ln()))
        .collect();
    #[allow(clippy::cast_precision_loss)]
    let n = logs.len() as f64;
    let x = logs.iter().map(|l| l.0).sum::<f64>() / n;
    let y = logs.iter().map(|l| l.1).sum::<f64>() / n;
    let (mut above, mut below) = (0.0, 0.0);
    for (a, b) in logs {
        above += (a - x) * (b - y);
        below += (a - x) * (a - x);
    }
    above / below
}

/// Steele, Lea, Flood (2014): small, seeded, the same everywhere.
#[derive(Debug, Clone)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_found() {
        let samples: Vec<_> = (1..6)
            .map(|k| (0.5_f64.powi(k), 7.0 * 0.5_f64.powi(k).powf(1.7)))
            .collect();
        assert!((fit(&samples) - 1.7).abs() < 1e-13);
        assert!(fit(&samples[..1]).is_nan());
        assert!(fit(&[]).is_nan());
        let mut with_zero = samples.clone();
        with_zero.push((1e-3, 0.0));
        assert_eq!(fit(&samples), fit(&with_zero));
    }

    #[test]
    fn counts_stay_in_their_octave_and_repeat() {
        let a = counts(7, 40, 5, 6);
        assert_eq!(a, counts(7, 40, 5, 6));
        assert_ne!(a, counts(8, 40, 5, 6));
        for (k, octave) in a.iter().enumerate() {
            assert_eq!(octave.len(), 6);
            for n in octave {
                assert!((40 << k..80 << k).contains(n));
            }
        }
    }

    #[test]
    fn means_are_arithmetic() {
        assert_eq!(octave_mean(&[(1.0, 2.0), (4.0, 8.0)]), (2.5, 5.0));
    }
}
