//! A run that stopped, in a form that goes on bit for bit, and what it was a run of.

use crate::simulation::RunError;
use saltus_integrators::Scheme;
use saltus_system::{Names, State, System};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything needed to go on: the time grid, the state, and what the scheme remembers.
///
/// Written to JSON and read back it is the same, to the last bit, with a JSON library that writes and
/// reads shortest round-trip numbers (`serde_json` with its feature `float_roundtrip`). In a file, with a checksum, it is a
/// [`SavedRun`](crate::output::SavedRun).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Version of this format.
    pub format: u32,
    /// Name of the scheme whose memory this is.
    pub scheme: String,
    /// What was run, and how.
    #[serde(default)]
    pub identity: Identity,
    /// Time of step 0 of the grid \[s\]; the time of the state where the scheme chooses its step.
    pub start: f64,
    /// Length of a step \[s\]; the largest one where the scheme chooses it.
    pub step: f64,
    /// Number of steps of the grid that were taken.
    pub steps: u64,
    /// Time of the state \[s\].
    pub t: f64,
    /// Positions (nq).
    #[serde(with = "crate::exact::list")]
    pub q: Vec<f64>,
    /// Velocities (nv).
    #[serde(with = "crate::exact::list")]
    pub v: Vec<f64>,
    /// What the scheme remembers.
    #[serde(with = "crate::exact::list")]
    pub memory: Vec<f64>,
    /// Contacts that carried an impulse in the last step: they do not impact when the run goes on.
    pub closed: Vec<u64>,
}

impl Checkpoint {
    /// The format written by this version.
    pub const FORMAT: u32 = 7;

    /// Time after `steps` steps of `step` from `start` \[s\].
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn grid_time(start: f64, step: f64, steps: u64) -> f64 {
        start + steps as f64 * step
    }

    /// A grid begins at the time of the state.
    pub(crate) fn begin_grid(&mut self) {
        (self.start, self.steps) = (self.t, 0);
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        State::new(self.t, self.q.clone(), self.v.clone())
    }

    /// Whether a run of `system`, which is `identity`, can go on from here; with `changed` also where model or scheme
    /// are not the same, as long as the state fits.
    ///
    /// # Errors
    /// [`RunError::Checkpoint`], [`RunError::Misfit`], [`RunError::Changed`].
    pub fn check(
        &self,
        system: &dyn System,
        identity: &Identity,
        changed: bool,
    ) -> Result<(), RunError> {
        if self.format != Self::FORMAT {
            let say = |version: u32| format!("format version {version}");
            return Err(RunError::Checkpoint {
                found: say(self.format),
                expected: say(Self::FORMAT),
            });
        }
        let dims = system.dims();
        for (what, found, expected) in [
            ("positions", self.q.len(), dims.nq),
            ("velocities", self.v.len(), dims.nv),
        ] {
            if found != expected {
                return Err(RunError::Misfit {
                    what,
                    found,
                    expected,
                });
            }
        }
        let differences = self
            .identity
            .differences(&identity.clone().of(&system.names()));
        if changed || differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(NAMED);
        let mut text = differences[..differences.len() - more].join(", ");
        if more > 0 {
            text += &format!(", and {more} more");
        }
        Err(RunError::Changed { differences: text })
    }
}

/// Differences that are named.
const NAMED: usize = 3;

/// What is run, as far as another run must have the same to go on from where this one stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Identity {
    /// Its name.
    pub model: String,
    /// Parameters of the model, evaluated.
    pub parameters: BTreeMap<String, f64>,
    /// Fingerprints of what else the model consists of, such as the tables of its file.
    pub parts: BTreeMap<String, String>,
    /// Fingerprint of the names of coordinates and bilateral constraints.
    pub coordinates: String,
    /// The options of the scheme.
    pub scheme: Value,
}

/// Options that say how well or by which way a step is solved, not what a step is, and what has been used up at the start.
const WAYS: [&str; 7] = [
    "tolerance",
    "max_iterations",
    "linear_solve",
    "prediction",
    "r",
    "activation_tolerance",
    "initial_acceleration",
];
/// Options that others follow from, and those: what differs is named as it is given.
const GIVEN: [&str; 3] = ["rho_inf", "preset", "alpha"];
const FOLLOWING: [&str; 5] = ["alpha_m", "alpha_f", "beta", "gamma", "theta"];

impl Identity {
    /// A run with `scheme`; the rest is unknown.
    #[must_use]
    pub fn with(scheme: &Scheme) -> Self {
        Self {
            scheme: options(scheme),
            ..Self::default()
        }
    }

    /// The same, of a system with these names.
    pub(crate) fn of(mut self, names: &Names) -> Self {
        let lists = [&names.positions, &names.velocities, &names.bilateral];
        let text: Vec<String> = lists.iter().map(|list| list.join(",")).collect();
        self.coordinates = fingerprint(&text.join(";"));
        self
    }

    /// What differs between a checkpoint of this and a run of `other`, in words. What one of them does not know is
    /// not compared.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        if both(&self.coordinates, &other.coordinates, String::is_empty)
            && self.coordinates != other.coordinates
        {
            found.push("coordinates or constraints have other names".to_owned());
        }
        if both(&self.parts, &other.parts, BTreeMap::is_empty) {
            each(&self.parameters, &other.parameters, |name, a, b| {
                let say = |v: Option<&f64>| v.map_or("not there".to_owned(), f64::to_string);
                found.push(format!(
                    "parameter `{name}` is {} in it, {} here",
                    say(a),
                    say(b)
                ));
            });
            each(&self.parts, &other.parts, |name, a, b| {
                found.push(match (a, b) {
                    (Some(_), Some(_)) => format!("`{name}` is not the same"),
                    (Some(_), None) => format!("`{name}` is in it, not here"),
                    _ => format!("`{name}` is here, not in it"),
                });
            });
        }
        if let (Value::Object(a), Value::Object(b)) = (&self.scheme, &other.scheme) {
            let of = |map: &serde_json::Map<String, Value>| -> BTreeMap<String, Value> {
                let kept = map.iter().filter(|(key, _)| !WAYS.contains(&key.as_str()));
                kept.map(|(k, v)| (k.clone(), v.clone())).collect()
            };
            let mut options = Vec::new();
            each(&of(a), &of(b), |name, a, b| {
                let say = |v: Option<&Value>| v.map_or("not given".to_owned(), Value::to_string);
                let text = format!(
                    "`{name}` of the scheme is {} in it, {} here",
                    say(a),
                    say(b)
                );
                options.push((name.to_owned(), text));
            });
            let given = |name: &String| GIVEN.contains(&name.as_str());
            let follows = |name: &String| FOLLOWING.contains(&name.as_str());
            let expanded = FOLLOWING.iter().any(|name| a.contains_key(*name));
            let moved = options.iter().any(|(name, _)| follows(name));
            let told = options.iter().any(|(name, _)| given(name));
            // Where numbers that follow have moved, what they follow from says it; where none has, that is another way to
            // say the same.
            options.retain(|(name, _)| match moved {
                true => !(told && follows(name)),
                false => !(expanded && given(name)),
            });
            found.extend(options.into_iter().map(|(_, text)| text));
        }
        found
    }
}

/// The options of a scheme with those that follow from others, without those that are not set; `name` is its name.
fn options(scheme: &Scheme) -> Value {
    let mut options = scheme.options();
    options.retain(|_, value| !value.is_null());
    Value::Object(options)
}

/// A number made of a text, the same for the same text (FNV-1a), in hexadecimal digits.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    let mark = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |mark, byte| {
        (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{mark:016x}")
}

fn both<T>(a: &T, b: &T, is_empty: impl Fn(&T) -> bool) -> bool {
    !is_empty(a) && !is_empty(b)
}

/// Visits the keys whose values differ or are missing in one of the maps.
fn each<V: PartialEq>(
    a: &BTreeMap<String, V>,
    b: &BTreeMap<String, V>,
    mut visit: impl FnMut(&str, Option<&V>, Option<&V>),
) {
    let missing = b.keys().filter(|key| !a.contains_key(*key));
    for key in a.keys().chain(missing) {
        let (a, b) = (a.get(key), b.get(key));
        if a != b {
            visit(key, a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn scheme(options: Value) -> Identity {
        Identity::with(&serde_json::from_value(options).unwrap())
    }

    #[test]
    fn ways_to_solve_a_step_are_no_difference() {
        let name = "nonsmooth-generalized-alpha";
        let a = scheme(json!({ "name": name }));
        let b = scheme(json!({
            "name": name, "tolerance": 1e-9, "max_iterations": 7, "linear_solve": "sequential", "r": 2.0, "rho_inf": 0.8
        }));
        assert_eq!(a.differences(&b), Vec::<String>::new());
    }

    #[test]
    fn options_are_named_as_they_are_given() {
        let name = "nonsmooth-generalized-alpha";
        let rho = |rho: f64| scheme(json!({ "name": name, "rho_inf": rho }));
        assert_eq!(
            rho(0.5).differences(&rho(0.25)),
            ["`rho_inf` of the scheme is 0.5 in it, 0.25 here"]
        );
        let hht = |alpha: f64| scheme(json!({ "name": "nonsmooth-hht", "alpha": alpha }));
        assert_eq!(
            hht(0.125).differences(&hht(0.25)),
            ["`alpha` of the scheme is 0.125 in it, 0.25 here"]
        );
        let by_hand = scheme(json!({ "name": name, "beta": 0.375, "gamma": 0.5 }));
        let other = scheme(json!({ "name": name, "beta": 0.25, "gamma": 0.5 }));
        assert_eq!(
            by_hand.differences(&other),
            ["`beta` of the scheme is 0.375 in it, 0.25 here"]
        );
    }

    #[test]
    fn what_one_does_not_know_is_not_compared() {
        let unknown = Identity::default();
        let known = Identity {
            parameters: [("m".to_owned(), 1.0)].into(),
            parts: [("system".to_owned(), "1".to_owned())].into(),
            ..Identity::with(&Scheme::by_name("moreau-jean").unwrap())
        };
        assert!(unknown.differences(&known).is_empty());
        let mut other = known.clone();
        other.parameters.insert("m".into(), 2.0);
        other.parts.insert("load".into(), "2".into());
        assert_eq!(
            known.differences(&other),
            [
                "parameter `m` is 1 in it, 2 here",
                "`load` is here, not in it"
            ]
        );
    }
}
