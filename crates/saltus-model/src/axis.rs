//! One direction of a sweep: a path of the model and the values that it takes.

use saltus_document::number::shortest;
use saltus_document::set::Override;
use saltus_document::tree::{self, Value};

/// A path of the model and its values, as `PATH=SPECIFICATION` says them.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The path, as `--set` knows it.
    pub path: String,
    /// What stands there.
    pub values: Values,
}

/// The values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// `a:b:n`, `n` numbers at equal distances from `a` to `b`; `a:b` has no number of them, and is for random draws.
    Range {
        /// The first.
        from: f64,
        /// The last.
        to: f64,
        /// How many.
        count: Option<usize>,
    },
    /// `[x, y, …]`, as they are written.
    List(Vec<String>),
    /// One value, as it is written.
    One(String),
}

impl Axis {
    /// Reads `PATH=a:b:n`, `PATH=[x, y, …]`, `PATH={..},{..}` or `PATH=VALUE`.
    ///
    /// # Errors
    /// In words, with the cure.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((path, written)) = text.split_once('=') else {
            return Err(format!(
                "\"{text}\" sets nothing, expected PATH=VALUE, PATH=a:b:n or PATH=[x, y]"
            ));
        };
        let written = written.trim();
        let tables = format!("[{written}]");
        let values = if written.starts_with('{') && written.ends_with('}') {
            match list(&tables) {
                Some(Values::List(items)) if items.len() > 1 => Values::List(items),
                _ => Values::One(written.to_owned()),
            }
        } else if written.starts_with('[') {
            list(written)
                .ok_or_else(|| format!("\"{text}\": expected a list such as [1e-3, 1e-4]"))?
        } else {
            range(written)
                .map_err(|what| format!("\"{text}\": {what}"))?
                .unwrap_or_else(|| Values::One(written.to_owned()))
        };
        Ok(Self {
            path: path.trim().to_owned(),
            values,
        })
    }

    /// Number of values of a grid.
    ///
    /// # Errors
    /// Where the number of a range is missing.
    pub fn count(&self) -> Result<usize, String> {
        match &self.values {
            Values::Range {
                count: Some(count), ..
            } => Ok(*count),
            Values::Range { from, to, .. } => {
                let (from, to) = (shortest(*from), shortest(*to));
                Err(format!(
                    "{}={from}:{to} does not say how many values, write {from}:{to}:N, or draw them with --random N",
                    self.path
                ))
            }
            Values::List(list) => Ok(list.len()),
            Values::One(_) => Ok(1),
        }
    }

    /// The value number `k` of a grid, from 0.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn value(&self, k: usize) -> String {
        match &self.values {
            Values::Range { from, to, count } => {
                let last = count.unwrap_or(1).saturating_sub(1);
                shortest(match k {
                    0 => *from,
                    k if k == last => *to,
                    k => round(from + (to - from) * (k as f64 / last as f64)),
                })
            }
            Values::List(list) => list.get(k).cloned().unwrap_or_default(),
            Values::One(value) => value.clone(),
        }
    }

    /// The value at `u` in [0, 1): a number of the range, or one of the list.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn drawn(&self, u: f64) -> String {
        match &self.values {
            Values::Range { from, to, .. } => shortest(from + (to - from) * u),
            Values::List(list) => self.value((u * list.len() as f64) as usize),
            Values::One(value) => value.clone(),
        }
    }

    /// The change of the model that puts `value` here.
    #[must_use]
    pub fn set(&self, value: &str) -> Override {
        Override::set(format!("{}={value}", self.path))
    }
}

/// A number without its round-off: with 15 significant digits.
fn round(value: f64) -> f64 {
    format!("{value:.14e}").parse().unwrap_or(value)
}

/// The items of a list, each as it is written; texts need no quotes, as behind `--set` of one run.
fn list(text: &str) -> Option<Values> {
    let items = match tree::parse_value(text, 0, 0).map(|node| node.value) {
        Some(Value::List(items)) => {
            let written = |item: &tree::Node| text.get(item.location.range()).map(str::to_owned);
            items.iter().map(written).collect()
        }
        Some(_) => None,
        None => bare_items(text),
    };
    items.filter(|items| !items.is_empty()).map(Values::List)
}

/// What stands between the outermost commas of `[x, y, …]`, where nothing is empty and every bracket is closed.
fn bare_items(text: &str) -> Option<Vec<String>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let (mut depth, mut from) = (0_i32, 0);
    let mut items = Vec::new();
    for (at, c) in inner.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(inner.get(from..at)?);
                from = at + 1;
            }
            '"' | '\'' => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    items.push(inner.get(from..)?);
    let items: Vec<String> = items.iter().map(|item| item.trim().to_owned()).collect();
    (depth == 0 && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// `a:b` or `a:b:n`; `None` where that is something else.
fn range(text: &str) -> Result<Option<Values>, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let number = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite());
    let (from, to, count) = match parts[..] {
        [from, to] => (number(from), number(to), None),
        [from, to, count] => (number(from), number(to), Some(count)),
        _ => return Ok(None),
    };
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(None);
    };
    let count = match count.map(|text| (text, text.parse::<usize>())) {
        None => None,
        Some((_, Ok(count))) if count >= 2 || count == 1 && from == to => Some(count),
        Some((text, _)) => {
            return Err(format!(
                "{text} is no number of values from {from} to {to}, expected a whole one of at least 2"
            ));
        }
    };
    Ok(Some(Values::Range { from, to, count }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn values(text: &str) -> Vec<String> {
        let axis = Axis::parse(text).unwrap();
        (0..axis.count().unwrap()).map(|k| axis.value(k)).collect()
    }

    #[test]
    fn tables_stand_beside_each_other() {
        let two = [r#"{name="a",x=[1, 2]}"#, r#"{name="b"}"#];
        assert_eq!(values(&format!("s={}, {}", two[0], two[1])), two);
        assert_eq!(values(&format!("s=[{},{}]", two[0], two[1])), two);
        assert_eq!(values("s={name=\"a\",x=1}"), [r#"{name="a",x=1}"#]);
    }

    #[test]
    fn ranges_reach_both_ends() {
        assert_eq!(values("k=1:10:4"), ["1", "4", "7", "10"]);
        assert_eq!(values("k=0:0.3:4"), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(values("k=1e-6:-1:2"), ["1e-6", "-1"]);
        assert_eq!(values("k=2:2:1"), ["2"]);
    }

    #[test]
    fn lists_keep_what_is_written() {
        assert_eq!(values("simulation.step=[1e-3, 1e-4]"), ["1e-3", "1e-4"]);
        assert_eq!(values("s=[\"a\", \"b, c\"]"), ["\"a\"", "\"b, c\""]);
        assert_eq!(values("m=[[1, 2], [3, 4]]"), ["[1, 2]", "[3, 4]"]);
        assert_eq!(values("simulation.scheme=moreau-jean"), ["moreau-jean"]);
        assert_eq!(values("t=a:b"), ["a:b"]);
    }

    #[test]
    fn texts_in_a_list_need_no_quotes() {
        let schemes = "simulation.scheme=[moreau-jean, nonsmooth-hht]";
        assert_eq!(values(schemes), ["moreau-jean", "nonsmooth-hht"]);
        assert_eq!(values("k=[2*m,atan2(1, 2)]"), ["2*m", "atan2(1, 2)"]);
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, reason) in [
            ("k", "sets nothing"),
            ("k=1:2:x", "no number of values"),
            ("k=1:2:1", "at least 2"),
            ("k=[1", "expected a list"),
            ("k=[]", "expected a list"),
            ("k=[a,]", "expected a list"),
            ("k=[a, b)]", "expected a list"),
            ("k=[a, \"b]", "expected a list"),
        ] {
            let error = Axis::parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(
            Axis::parse("k=1:2")
                .unwrap()
                .count()
                .unwrap_err()
                .contains("--random")
        );
    }

    #[test]
    fn draws_stay_in_their_range() {
        let range = Axis::parse("k=2:4").unwrap();
        assert_eq!(
            (range.drawn(0.0), range.drawn(0.5)),
            ("2".into(), "3".into())
        );
        let list = Axis::parse("k=[5, 6]").unwrap();
        assert_eq!(
            (list.drawn(0.49), list.drawn(0.99)),
            ("5".into(), "6".into())
        );
    }
}
