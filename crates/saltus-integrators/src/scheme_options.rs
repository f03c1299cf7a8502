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
