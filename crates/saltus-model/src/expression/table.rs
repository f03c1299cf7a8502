//! Piecewise linear functions given by points.

/// Points `(x, y)` with strictly increasing `x`, joined by straight lines; constant outside.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Table {
    /// Value at `x`; not a number where `x` is not.
    pub(crate) fn value(&self, x: f64) -> f64 {
        match self.segment(x) {
            Ok((i, slope)) => self.y[i] + slope * (x - self.x[i]),
            Err(value) => value,
        }
    }

    /// Derivative at `x`, from the right at the points.
    pub(crate) fn slope(&self, x: f64) -> f64 {
        match self.segment(x) {
            Ok((_, slope)) => slope,
            Err(_) if x.is_nan() => x,
            Err(_) => 0.0,
        }
    }

    /// Index of the last point not after `x` and the slope behind it, or the value outside.
    fn segment(&self, x: f64) -> Result<(usize, f64), f64> {
        if x.is_nan() {
            return Err(x);
        }
        let after = self.x.partition_point(|&p| p <= x);
        match (after.checked_sub(1), self.x.get(after)) {
            (Some(i), Some(next)) => Ok((i, (self.y[after] - self.y[i]) / (next - self.x[i]))),
            (None, _) => Err(self.y.first().copied().unwrap_or(f64::NAN)),
            (_, None) => Err(self.y.last().copied().unwrap_or(f64::NAN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn lines_join_the_points_and_go_on_level() {
        let ramp = Table {
            x: vec![0.0, 1.0, 3.0],
            y: vec![0.0, 5.0, 4.0],
        };
        for (x, value, slope) in [
            (-1.0, 0.0, 0.0),
            (0.0, 0.0, 5.0),
            (0.5, 2.5, 5.0),
            (1.0, 5.0, -0.5),
            (2.0, 4.5, -0.5),
            (3.0, 4.0, 0.0),
            (9.0, 4.0, 0.0),
        ] {
            assert_eq!(ramp.value(x), value, "value at {x}");
            assert_eq!(ramp.slope(x), slope, "slope at {x}");
        }
        assert!(ramp.value(f64::NAN).is_nan() && ramp.slope(f64::NAN).is_nan());
    }
}
