//! The options of a scheme as they are in force: for the record, and what they say about stability.

use crate::generalized_alpha::Coefficients;
use crate::scheme::Scheme;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The names of the options of every scheme, from the structures that hold them.
static NAMES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Scheme).to_value();
    let variants = schema.get("oneOf").and_then(Value::as_array);
    let named = |variant: &Value| {
        let name = variant.pointer("/properties/name/const")?.as_str()?;
        Some((name.to_owned(), variant.get("properties")?.clone()))
    };
    variants.into_iter().flatten().filter_map(named).collect()
});

impl Scheme {
    /// The `name` and every option by its name, defaults included; null stands for what is left out and follows from the model, or
    /// is not in use.
    #[must_use]
    pub fn options(&self) -> Map<String, Value> {
        let mut options = match serde_json::to_value(self.effective()) {
            Ok(Value::Object(options)) => options,
            _ => Map::new(),
        };
        let known = NAMES.get(self.name()).and_then(Value::as_object);
        for (name, option) in known.into_iter().flatten() {
            // A list that is left out is an empty one.
            let is_list = option.get("type").and_then(Value::as_str) == Some("array");
            let nothing = if is_list {
                Value::Array(Vec::new())
            } else {
                Value::Null
            };
            options.entry(name.as_str()).or_insert(nothing);
        }
        options
    }

    /// The coefficients of a scheme of the generalized-α family, where they are in range.
    #[must_use]
    pub fn coefficients(&self) -> Option<Coefficients> {
        match self {
            Self::GeneralizedAlpha(options) => options.coefficients().ok(),
            Self::NonsmoothGeneralizedAlpha(options) => options.coefficients().ok(),
            Self::NonsmoothNewmark(options) => options.coefficients().ok(),
            Self::NonsmoothHht(options) => options.coefficients().ok(),
            _ => None,
        }
    }

    /// Why oscillations of some frequency grow without bound under the options as they are, whatever the step; `None` where none does.
    #[must_use]
    pub fn instability(&self) -> Option<String> {
        if let Some(coefficients) = self.coefficients() {
            return coefficients.instability();
        }
        let theta = match self {
            Self::MoreauJean(options) if options.explicit.is_none() => options.theta(),
            Self::AdaptiveMoreauJean(options) => options.theta,
            Self::MoreauJeanProjected(options) => options.theta,
            _ => return None,
        };
        (theta < 0.5).then(|| format!("theta = {theta} is below 1/2: all oscillations grow"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn scheme(options: Value) -> Scheme {
        serde_json::from_value(options).unwrap()
    }

    #[test]
    fn every_option_is_told() {
        for info in Scheme::ALL {
            let options = Scheme::by_name(info.name).unwrap().options();
            let known = NAMES[info.name].as_object().unwrap();
            assert!(known.len() > 2, "{}", info.name);
            for name in known.keys() {
                assert!(options.contains_key(name), "{}: {name}", info.name);
            }
            // What is told is a scheme again, and the same.
            let again = scheme(Value::Object(options.clone()));
            again.validate().unwrap();
            assert_eq!(again.options(), options);
        }
        let told = |options| scheme(options).options();
        let alpha = told(json!({ "name": "nonsmooth-generalized-alpha" }));
        assert_eq!(
            (&alpha["strategy"], &alpha["rho_inf"]),
            (&json!(3), &json!(0.8))
        );
        assert_eq!(alpha["max_impacts"], Value::Null);
        let hht = told(json!({ "name": "generalized-alpha", "preset": "hht" }));
        assert_eq!(
            (&hht["alpha"], &hht["rho_inf"]),
            (&json!(0.1), &Value::Null)
        );
    }

    /// Bounds that an editor knows from the schema are those that are refused.
    #[test]
    fn bounds_in_the_schema_are_those_of_the_code() {
        for info in Scheme::ALL {
            for (name, option) in NAMES[info.name].as_object().unwrap() {
                for (bound, outwards, closed) in [
                    ("minimum", -1.0, true),
                    ("exclusiveMinimum", -1.0, false),
                    ("maximum", 1.0, true),
                    ("exclusiveMaximum", 1.0, false),
                ] {
                    let Some(limit) = option.get(bound).and_then(Value::as_f64) else {
                        continue;
                    };
                    let whole = option["type"].to_string().contains("integer");
                    let refused = |value: f64| {
                        #[allow(clippy::cast_possible_truncation)]
                        let value = if whole {
                            json!(value as i64)
                        } else {
                            json!(value)
                        };
                        let options = json!({ "name": info.name, name: value });
                        match serde_json::from_value::<Scheme>(options).map(|s| s.validate()) {
                            Ok(Err(error)) => error.option == name,
                            Ok(Ok(())) => false,
                            Err(_) => true,
                        }
                    };
                    let place = format!("{}: {name} at its {bound}", info.name);
                    let step = if whole { 1.0 } else { 1e-6 };
                    if refused(limit - outwards * step) {
                        // It belongs to another option that is not set.
                        continue;
                    }
                    assert_eq!(refused(limit), !closed, "{place}");
                    assert!(refused(limit + outwards * step), "beyond {place}");
                }
            }
        }
    }

    /// By how much free oscillations of many frequencies grow at most from the middle of many steps to their end.
    fn growth(c: Coefficients) -> f64 {
        let mut worst = 0.0_f64;
        for k in 0..400 {
            let square = 10.0_f64.powf(-3.0 + 0.03 * f64::from(k));
            let Coefficients {
                alpha_m,
                alpha_f,
                beta,
                gamma,
            } = c;
            // Free oscillation from four starts, long enough for the largest root to win.
            let (mut q, mut v, mut a) = (1.0, 0.3, -0.7 * square);
            let mut size = 0.0_f64;
            let steps = 4000;
            for n in 0..steps {
                let left = 1.0 - alpha_m + square * (1.0 - alpha_f) * beta;
                let smooth = q + v + (0.5 - beta) * a;
                let next =
                    -(alpha_m * a + square * ((1.0 - alpha_f) * smooth + alpha_f * q)) / left;
                q = smooth + beta * next;
                v += (1.0 - gamma) * a + gamma * next;
                a = next;
                let now = q.hypot(v / square.sqrt()).hypot(a / square);
                if n == steps / 2 {
                    size = now;
                }
                if now > 1e100 {
                    return f64::INFINITY;
                }
                if now < 1e-100 {
                    break;
                }
                if n + 1 == steps {
                    worst = worst.max(now / size);
                }
            }
        }
        worst
    }

    #[test]
    fn limits_of_stability_are_those_of_free_oscillations() {
        let mut unstable = 0;
        for alpha_m in [-0.4, 0.0, 0.2, 0.4] {
            for alpha_f in [0.0, 0.1, 0.3, 0.45] {
                for gamma in [0.35, 0.45, 0.6, 0.85, 1.1] {
                    for beta in [0.15, 0.2, 0.35, 0.6] {
                        let c = Coefficients {
                            alpha_m,
                            alpha_f,
                            beta,
                            gamma,
                        };
                        let told = c.instability().is_some();
                        unstable += u32::from(told);
                        let grows = growth(c) > 1.5;
                        assert_eq!(told, grows, "{c:?}: {:?}", c.instability());
                    }
                }
            }
        }
        assert!(unstable > 50);
        for rho in [0.0, 0.5, 0.8, 1.0] {
            assert_eq!(Coefficients::from_rho(rho).instability(), None);
        }
        let options = json!({ "name": "generalized-alpha", "alpha_m": 0.4, "alpha_f": 0.1 });
        let why = scheme(options).instability().unwrap();
        assert!(why.starts_with("gamma = 0.2 is below 1/2"), "{why}");
        for info in Scheme::ALL {
            assert_eq!(Scheme::by_name(info.name).unwrap().instability(), None);
        }
    }
}
