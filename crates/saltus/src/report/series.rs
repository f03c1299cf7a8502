//! Curves of bounded size: what can be seen of a series of any length.
//!
//! Samples are gathered in buckets that know their first, lowest, highest and last sample. When all buckets are
//! used, neighbours merge and buckets hold twice as many samples: no extremum is lost, at constant cost per
//! sample. A jump begins a new bucket, and a bucket does not merge across a jump, so that jumps
//! stay vertical; when there are too many, the smallest are given up first.

use serde::{Deserialize, Serialize};

/// Buckets of a curve at most; a bucket is drawn by up to four points.
const CAPACITY: usize = 512;

/// One sample: time and value.
type Sample = (f64, f64);

/// How a bucket continues the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Start {
    /// By a line.
    Line,
    /// By a jump of this size.
    Jump(f64),
    /// Not at all: there were no values in between.
    Break,
}

impl Start {
    fn weight(self) -> f64 {
        match self {
            Self::Line => 0.0,
            Self::Jump(size) => size,
            Self::Break => f64::INFINITY,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(into = "Packed", try_from = "Packed")]
struct Bucket {
    start: Start,
    first: Sample,
    low: Sample,
    high: Sample,
    last: Sample,
    /// Some of its samples are zero.
    idle: bool,
}

/// A bucket in numbers: how it starts (0, 1 or 2), the size of its jump, its samples, and 1 where some are zero.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Packed(#[serde(with = "crate::exact::list")] Vec<f64>);

impl From<Bucket> for Packed {
    fn from(bucket: Bucket) -> Self {
        let (kind, size) = match bucket.start {
            Start::Line => (0.0, 0.0),
            Start::Jump(size) => (1.0, size),
            Start::Break => (2.0, 0.0),
        };
        let mut numbers = vec![kind, size];
        for (t, y) in [bucket.first, bucket.low, bucket.high, bucket.last] {
            numbers.extend([t, y]);
        }
        numbers.push(f64::from(u8::from(bucket.idle)));
        Self(numbers)
    }
}

impl TryFrom<Packed> for Bucket {
    type Error = &'static str;

    fn try_from(packed: Packed) -> Result<Self, Self::Error> {
        let [kind, size, a, b, c, d, e, f, g, h, idle] = packed.0[..] else {
            return Err("a bucket has eleven numbers");
        };
        Ok(Self {
            start: match kind {
                1.0 => Start::Jump(size),
                2.0 => Start::Break,
                _ => Start::Line,
            },
            first: (a, b),
            low: (c, d),
            high: (e, f),
            last: (g, h),
            idle: idle == 1.0,
        })
    }
}

impl Bucket {
    fn new(sample: Sample, start: Start) -> Self {
        Self {
            start,
            first: sample,
            low: sample,
            high: sample,
            last: sample,
            idle: sample.1 == 0.0,
        }
    }

    #[inline]
    fn add(&mut self, sample: Sample) {
        if sample.1 < self.low.1 {
            self.low = sample;
        }
        if sample.1 > self.high.1 {
            self.high = sample;
        }
        self.last = sample;
        self.idle |= sample.1 == 0.0;
    }

    fn merge(&mut self, next: &Self) {
        if next.low.1 < self.low.1 {
            self.low = next.low;
        }
        if next.high.1 > self.high.1 {
            self.high = next.high;
        }
        self.last = next.last;
        self.idle |= next.idle;
    }

    /// The samples that are kept, in the order of time.
    fn kept(&self) -> Vec<Sample> {
        let mut samples = vec![self.first, self.low, self.high, self.last];
        samples.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        samples.dedup();
        samples
    }
}

/// Samples in a row that are not zero from which on they are drawn as one line.
const LASTING: usize = 3;

/// Moves the samples of `run` to `lines`: as one where they last, else one by one.
fn end_run(run: &mut Vec<Sample>, lines: &mut Vec<Vec<Sample>>) {
    if let (Some((begin, _)), Some((end, _))) = (run.first().copied(), run.last().copied())
        && run.len() >= LASTING
    {
        let mut line = vec![(begin, 0.0)];
        line.append(run);
        line.push((end, 0.0));
        lines.push(line);
    }
    lines.extend(run.drain(..).map(|sample| vec![sample]));
}

/// A curve in time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Curve {
    buckets: Vec<Bucket>,
    /// Samples of a full bucket.
    per_bucket: u64,
    /// Samples in the last bucket.
    in_last: u64,
    /// Samples of all buckets.
    samples: u64,
    /// The last sample had no value.
    broken: bool,
}

impl Curve {
    pub(crate) fn new() -> Self {
        Self {
            buckets: Vec::with_capacity(CAPACITY),
            per_bucket: 1,
            in_last: 0,
            samples: 0,
            broken: false,
        }
    }

    /// Adds a sample; NaN interrupts the curve.
    #[inline]
    pub(crate) fn push(&mut self, t: f64, y: f64) {
        if y.is_nan() {
            self.broken = true;
        } else if self.broken {
            self.begin((t, y), Start::Break);
        } else if self.in_last >= self.per_bucket || self.buckets.is_empty() {
            self.begin((t, y), Start::Line);
        } else if let Some(bucket) = self.buckets.last_mut() {
            bucket.add((t, y));
            self.in_last += 1;
            self.samples += 1;
        }
    }

    /// Adds a sample to which the curve jumps at its time.
    pub(crate) fn jump(&mut self, t: f64, y: f64) {
        match self.buckets.last_mut() {
            Some(bucket) if !self.broken && bucket.last.1 != y && y.is_finite() => {
                let before = bucket.last.1;
                bucket.add((t, before));
                self.begin((t, y), Start::Jump((y - before).abs()));
            }
            _ => self.push(t, y),
        }
    }

    /// Adds a sample that stands out, such as an impulse: it is not merged with its neighbours before smaller ones are.
    pub(crate) fn pulse(&mut self, t: f64, y: f64) {
        if y.is_finite() {
            self.begin((t, y), Start::Jump(y.abs()));
        } else {
            self.push(t, y);
        }
    }

    /// Lowest and highest value; `None` where there is no finite one.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let low = self
            .buckets
            .iter()
            .fold(f64::INFINITY, |a, b| a.min(b.low.1));
        let high = self
            .buckets
            .iter()
            .fold(f64::NEG_INFINITY, |a, b| a.max(b.high.1));
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }

    /// The curve as connected lines.
    pub(crate) fn lines(&self) -> Vec<Vec<Sample>> {
        let mut lines: Vec<Vec<Sample>> = Vec::new();
        for bucket in &self.buckets {
            if lines.is_empty() || bucket.start == Start::Break {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                let (a, b) = if bucket.low.0 <= bucket.high.0 {
                    (bucket.low, bucket.high)
                } else {
                    (bucket.high, bucket.low)
                };
                for sample in [bucket.first, a, b, bucket.last] {
                    if line.last() != Some(&sample) {
                        line.push(sample);
                    }
                }
            }
        }
        lines
    }

    /// The samples that are not zero, of those that are kept, each as a line of its own.
    pub(crate) fn stems(&self) -> Vec<Vec<Sample>> {
        let kept = self.buckets.iter().flat_map(Bucket::kept);
        kept.filter(|(_, y)| *y != 0.0).map(|s| vec![s]).collect()
    }

    /// The same, with [`LASTING`] samples or more in a row as one line, from zero and to zero: what lasts is no series of pulses.
    pub(crate) fn pulses(&self) -> Vec<Vec<Sample>> {
        let (mut lines, mut run) = (Vec::new(), Vec::new());
        for bucket in &self.buckets {
            if bucket.idle || bucket.start == Start::Break {
                end_run(&mut run, &mut lines);
            }
            if bucket.idle {
                let carried = bucket.kept().into_iter().filter(|(_, y)| *y != 0.0);
                lines.extend(carried.map(|sample| vec![sample]));
            } else {
                run.extend(bucket.kept());
            }
        }
        end_run(&mut run, &mut lines);
        lines
    }

    #[cold]
    fn compact(&mut self) {
        self.merge_neighbours();
        while self.buckets.len() > CAPACITY * 3 / 4 {
            self.give_up_small_jumps();
            self.merge_neighbours();
        }
        self.per_bucket = (self.samples / (CAPACITY as u64 / 2)).max(1);
    }

    fn merge_neighbours(&mut self) {
        let mut kept = 0;
        let mut next = 0;
        while next < self.buckets.len() {
            let mut bucket = self.buckets[next];
            next += 1;
            if let Some(neighbour) = self.buckets.get(next)
                && neighbour.start == Start::Line
            {
                bucket.merge(neighbour);
                next += 1;
            }
            self.buckets[kept] = bucket;
            kept += 1;
        }
        self.buckets.truncate(kept);
    }

    /// Turns the smaller half of all jumps into lines.
    fn give_up_small_jumps(&mut self) {
        let mut weights: Vec<f64> = self
            .buckets
            .iter()
            .map(|b| b.start.weight())
            .filter(|weight| *weight > 0.0)
            .collect();
        weights.sort_by(f64::total_cmp);
        let Some(median) = weights.get(weights.len() / 2).copied() else {
            return;
        };
        let mut surplus = weights.len() / 2 + 1;
        for bucket in &mut self.buckets {
            let weight = bucket.start.weight();
            if weight > 0.0 && weight <= median && surplus > 0 {
                bucket.start = Start::Line;
                surplus -= 1;
            }
        }
    }

    fn begin(&mut self, sample: Sample, start: Start) {
        if self.buckets.len() == CAPACITY {
            self.compact();
        }
        self.buckets.push(Bucket::new(sample, start));
        self.in_last = 1;
        self.samples += 1;
        self.broken = false;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn points(curve: &Curve) -> usize {
        curve.lines().iter().map(Vec::len).sum()
    }

    #[test]
    fn a_short_series_is_kept_as_it_is() {
        let mut curve = Curve::new();
        for k in 0..100 {
            curve.push(f64::from(k), f64::from(k * k));
        }
        let expected: Vec<_> = (0..100).map(|k| (f64::from(k), f64::from(k * k))).collect();
        assert_eq!(curve.lines(), [expected]);
    }

    #[test]
    fn a_long_series_is_bounded_and_keeps_its_extrema() {
        let mut curve = Curve::new();
        let n = 300_000;
        for k in 0..n {
            let y = match k {
                123_457 => 7.0,
                200_001 => -9.0,
                _ => (f64::from(k) * 1e-3).sin(),
            };
            curve.push(f64::from(k), y);
        }
        assert_eq!(curve.range(), Some((-9.0, 7.0)));
        assert!(points(&curve) <= 4 * CAPACITY);
        let lines = curve.lines();
        assert!(lines[0].contains(&(123_457.0, 7.0)) && lines[0].contains(&(200_001.0, -9.0)));
        assert_eq!(lines[0].last().unwrap().0, f64::from(n - 1));
        assert!(lines[0].windows(2).all(|w| w[0].0 <= w[1].0));
    }

    #[test]
    fn jumps_stay_vertical_in_a_long_series() {
        let mut curve = Curve::new();
        for k in 0..100_000 {
            let (t, y) = (f64::from(k), f64::from(k % 10_000));
            if k > 0 && k % 10_000 == 0 {
                curve.jump(t, y)
            } else {
                curve.push(t, y)
            }
        }
        let line = &curve.lines()[0];
        for jump in 1..10 {
            let t = f64::from(jump) * 10_000.0;
            assert!(
                line.windows(2).any(|w| w == [(t, 9999.0), (t, 0.0)]),
                "jump at {t}"
            );
        }
    }

    #[test]
    fn too_many_jumps_are_given_up_smallest_first() {
        let mut curve = Curve::new();
        for k in 0..50_000 {
            let y = if k % 2 == 0 { 0.0 } else { 1.0 };
            curve.jump(f64::from(k), if k == 30_001 { 5.0 } else { y });
        }
        assert!(curve.buckets.len() <= CAPACITY);
        assert!(
            curve.lines()[0]
                .windows(2)
                .any(|w| w == [(30_001.0, 0.0), (30_001.0, 5.0)])
        );
    }

    #[test]
    fn impulses_of_a_long_series_are_all_kept() {
        let mut curve = Curve::new();
        for k in 0..200_000 {
            let t = f64::from(k);
            if k % 2000 == 1000 {
                curve.pulse(t, 1.0 + 1e-6 * t);
            } else {
                curve.push(t, 0.0);
            }
        }
        let expected: Vec<_> = (0..100)
            .map(|k| 2000.0 * f64::from(k) + 1000.0)
            .map(|t| vec![(t, 1.0 + 1e-6 * t)])
            .collect();
        assert_eq!(curve.stems(), expected);
        assert_eq!(curve.pulses(), expected);
        assert!(curve.buckets.len() <= CAPACITY);
    }

    #[test]
    fn a_contact_that_lasts_is_one_line() {
        // Open, an impact, closed until 40 000, an impact alone, open.
        let mut curve = Curve::new();
        for k in 0..50_000 {
            let t = f64::from(k);
            match k {
                10_000 | 45_000 => curve.pulse(t, 7.0),
                10_001..40_000 => curve.push(t, 0.5),
                _ => curve.push(t, 0.0),
            }
        }
        let lines = curve.pulses();
        let lasting: Vec<_> = lines.iter().filter(|line| line.len() > 1).collect();
        let [line] = lasting[..] else {
            panic!("{lines:?}");
        };
        assert!(line[0].1 == 0.0 && line.last().unwrap().1 == 0.0);
        assert!(line[1].0 - 10_000.0 < 500.0 && 40_000.0 - line.last().unwrap().0 < 500.0);
        assert!(lines.contains(&vec![(45_000.0, 7.0)]));
        // What is left beside it are the ends of the contact.
        assert!(lines.len() < 10, "{lines:?}");
    }

    #[test]
    fn missing_values_interrupt_the_curve() {
        let mut curve = Curve::new();
        for y in [1.0, 2.0, f64::NAN, f64::NAN, 3.0] {
            curve.push(curve.buckets.len() as f64, y);
        }
        assert_eq!(curve.lines().len(), 2);
        assert_eq!(Curve::new().range(), None);
    }
}
