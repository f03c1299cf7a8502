//! Numbers as a reader expects them in print.

/// `x` with at most `digits` significant digits, for prose: zeros at the end of a fraction are left out.
#[must_use]
pub(crate) fn significant(x: f64, digits: usize) -> String {
    format(x, digits, trim)
}

/// `x` with `digits` significant digits, for a column of numbers.
#[must_use]
pub(crate) fn digits(x: f64, digits: usize) -> String {
    format(x, digits, |text| text)
}

/// Plain near one, with a power of ten elsewhere; `finish` has the last word on the decimal digits.
fn format(x: f64, digits: usize, finish: fn(&str) -> &str) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if x.is_nan() {
        return "–".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    // `{:e}` rounds, so that 9.9996 has the exponent of 10.
    let scientific = format!("{:.*e}", digits.saturating_sub(1), x);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-3..=5).contains(&exponent) {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        minus(finish(&format!("{x:.decimals$}")))
    } else {
        format!(
            "{}\u{a0}×\u{a0}10{}",
            minus(finish(mantissa)),
            superscript(exponent)
        )
    }
}

/// A count with thin spaces between groups of three digits.
#[must_use]
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A noun with its count: `1 impact`, `12 impacts`.
#[must_use]
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{}\u{a0}{noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A duration with a fitting unit.
#[must_use]
pub(crate) fn duration(seconds: f64) -> String {
    let (scale, unit) = match seconds {
        s if s >= 1.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    };
    format!("{}\u{a0}{unit}", significant(seconds * scale, 3))
}

/// `n` in superscript digits.
#[must_use]
pub(crate) fn superscript(n: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => c
            .to_digit(10)
            .and_then(|d| char::from_u32(0x2070 + d))
            .unwrap_or(c),
    };
    n.to_string().chars().map(digit).collect()
}

/// A true minus sign.
#[must_use]
pub(crate) fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// Removes zeros at the end of a fraction.
fn trim(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_like_print() {
        assert_eq!(significant(0.0, 4), "0");
        assert_eq!(significant(4.0, 4), "4");
        assert_eq!(significant(-0.0125, 4), "−0.0125");
        assert_eq!(significant(9.99996, 4), "10");
        assert_eq!(significant(123_456.0, 4), "123456");
        assert_eq!(significant(1.234_56e-9, 3), "1.23\u{a0}×\u{a0}10⁻⁹");
        assert_eq!(significant(2e12, 3), "2\u{a0}×\u{a0}10¹²");
        assert_eq!(significant(f64::NAN, 3), "–");
        assert_eq!(digits(2.56, 4), "2.560");
        assert_eq!(digits(-4e-7, 3), "−4.00\u{a0}×\u{a0}10⁻⁷");
        assert_eq!(count(1234), "1234");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(counted(1, "step"), "1\u{a0}step");
        assert_eq!(duration(3.4e-7), "340\u{a0}ns");
    }
}
