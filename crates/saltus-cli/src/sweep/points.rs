//! The points of a sweep: a grid, or random draws.

use crate::arguments::SweepArguments;
use saltus_model::{Axis, Override, Values};

/// What each run changes in the model.
#[derive(Debug, Clone)]
pub struct Points {
    /// The same in all runs, named flags.
    fixed: Vec<Override>,
    axes: Vec<Axis>,
    /// Number of values of each axis in a grid; draws where there is none.
    grid: Option<Vec<usize>>,
    seed: u64,
    total: usize,
}

impl Points {
    /// The points that `arguments` ask for.
    pub fn of(arguments: &SweepArguments) -> Result<Self, String> {
        let axes = arguments.set.iter().map(|text| Axis::parse(text));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        for (k, axis) in axes.iter().enumerate() {
            if axes[..k].iter().any(|other| other.path == axis.path) {
                return Err(format!(
                    "--set {} is given twice; write one list",
                    axis.path
                ));
            }
        }
        let fixed = arguments.changes().overrides();
        if let Some(total) = arguments.random {
            return Ok(Self {
                fixed,
                axes,
                grid: None,
                seed: arguments.seed,
                total: total.get(),
            });
        }
        let counts = axes
            .iter()
            .map(Axis::count)
            .collect::<Result<Vec<_>, _>>()?;
        let total = counts.iter().try_fold(1_usize, |n, c| n.checked_mul(*c));
        let total = total.ok_or("the grid has more points than can be counted")?;
        Ok(Self {
            fixed,
            axes,
            grid: Some(counts),
            seed: 0,
            total,
        })
    }

    pub fn total(&self) -> usize {
        self.total
    }

    /// The paths that take more than one value.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let varied = self.axes.iter().filter(|axis| varies(axis));
        varied.map(|axis| axis.path.as_str())
    }

    /// Points that between them have every value of what makes the scheme, each axis by itself; those drawn first where there is no grid.
    pub fn schemes(&self) -> Vec<usize> {
        const MOST: usize = 100;
        let Some(counts) = &self.grid else {
            return (0..self.total.min(MOST)).collect();
        };
        let mut points = vec![0];
        let mut block = self.total;
        for (axis, count) in self.axes.iter().zip(counts) {
            block /= count;
            if axis.path.starts_with("simulation.scheme") {
                points.extend((1..*count).map(|value| value * block));
            }
        }
        points.truncate(MOST);
        points
    }

    /// What varies at point `k`, in the order of [`paths`](Self::paths), and all changes of the model.
    pub fn point(&self, k: usize) -> (Vec<String>, Vec<Override>) {
        let mut changes = self.fixed.clone();
        let mut varied = Vec::new();
        // The last axis runs fastest.
        let mut block = self.total;
        let mut rest = k;
        for (number, axis) in self.axes.iter().enumerate() {
            let value = match &self.grid {
                Some(counts) => {
                    block /= counts[number];
                    let value = axis.value(rest / block);
                    rest %= block;
                    value
                }
                None => axis.drawn(uniform(self.seed, k as u64, number as u64)),
            };
            changes.push(axis.set(&value));
            if varies(axis) {
                varied.push(plain(value));
            }
        }
        (varied, changes)
    }
}

fn varies(axis: &Axis) -> bool {
    !matches!(axis.values, Values::One(_))
}

/// A text without its quotes.
fn plain(value: String) -> String {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner
        .filter(|v| !v.contains(['"', '\\']))
        .map_or(value.clone(), str::to_owned)
}

/// A number in [0, 1) of its own for each seed, run and axis (SplitMix64: Steele, Lea & Flood 2014), whoever draws it.
#[allow(clippy::cast_precision_loss)]
fn uniform(seed: u64, run: u64, axis: u64) -> f64 {
    let mix = |state: u64| {
        let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let bits = mix(mix(mix(seed) ^ run) ^ axis);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::uniform;

    #[test]
    fn draws_are_uniform() {
        // Of 10⁵ numbers uniform in [0, 1) the mean is 1/2 ± 0.00091 and the mean square 1/3 ± 0.00094 (one deviation).
        let n = 100_000;
        let numbers: Vec<f64> = (0..n).map(|k| uniform(7, k, 1)).collect();
        let mean = numbers.iter().sum::<f64>() / n as f64;
        let square = numbers.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 4.0 * 0.000_91, "{mean}");
        assert!((square - 1.0 / 3.0).abs() < 4.0 * 0.000_94, "{square}");
        assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
        // Axes and seeds are independent: the mean product is 1/4 ± 0.0007.
        for (seed, axis) in [(7, 2), (8, 1)] {
            let product: f64 = (0..n)
                .map(|k| uniform(7, k, 1) * uniform(seed, k, axis))
                .sum();
            assert!((product / n as f64 - 0.25).abs() < 4.0 * 0.000_7);
        }
    }
}
