//! Numbers for people.

/// `value` with six significant digits, without trailing zeros; very large and very small ones with a
/// power of ten.
#[must_use]
pub fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 {
            "0".to_owned()
        } else {
            value.to_string()
        };
    }
    let text = format!("{value:.5e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        trim(&format!("{value:.decimals$}"))
    } else {
        format!("{}e{exponent}", trim(digits))
    }
}

/// `value` with the fewest digits that read back to the same number; very large and very small ones with a power of ten.
#[must_use]
pub fn shortest(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e15).contains(&size) || !value.is_finite() {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::{general, shortest};

    #[test]
    fn the_shortest_digits_read_back() {
        for (value, text) in [
            (2.0, "2"),
            (0.1, "0.1"),
            (1e-5, "1e-5"),
            (-2.5e20, "-2.5e20"),
        ] {
            assert_eq!(shortest(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
    }

    #[test]
    fn six_digits_are_enough_for_people() {
        let cases: [(f64, &str); 9] = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-0.800_999_999_999_999_9, "-0.801"),
            (2e-3, "0.002"),
            (1.234_567_8e-7, "1.23457e-7"),
            (123_456.7, "123457"),
            (1e9, "1e9"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(general(value), text);
        }
    }
}
