//! Reads files of reference values and keeps account of which were checked.

use crate::shared::shared;
use serde_json::Value;
use std::collections::BTreeMap;

/// One reference value.
pub struct Entry {
    pub id: String,
    pub example: String,
    pub scheme: String,
    pub parameters: Value,
    pub quantity: String,
    /// All numbers of the value in order; NaN for `null`.
    pub value: Vec<f64>,
    tolerance: Option<f64>,
    kind: String,
}

impl Entry {
    /// A numeric parameter.
    pub fn number(&self, name: &str) -> f64 {
        self.parameters[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{}: no parameter {name}", self.id))
    }

    /// Whether the file gives the value for information only, without a tolerance.
    pub fn is_informative(&self) -> bool {
        self.kind == "info"
    }

    /// The parameter `h`, one number or many.
    pub fn steps(&self) -> Vec<f64> {
        self.list("h")
    }

    /// A parameter that is one number or many.
    pub fn list(&self, name: &str) -> Vec<f64> {
        let mut list = Vec::new();
        flatten(&self.parameters[name], &mut list);
        list
    }
}

/// What became of an entry.
pub enum Outcome {
    /// Our value, to be compared by the entry's own tolerance.
    Ours(Vec<f64>),
    /// Our value where the entry states a bound that holds for every system of the kind: at most the tolerance.
    AtMost(Vec<f64>),
    /// Some of our numbers differ for a known reason: these are held to what they are, `(index, value, tolerance)`,
    /// the others to the entry.
    Differs {
        ours: Vec<f64>,
        known: Vec<(usize, f64, f64)>,
        reason: &'static str,
    },
}

/// The entries of a reference file.
pub fn read(file: &str) -> Option<Vec<Entry>> {
    let text = std::fs::read_to_string(shared(&format!("reference/{file}"))?).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let text_of = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let first = |v: &Value, a: &str, b: &str| {
        if v[a].is_null() {
            v[b].clone()
        } else {
            v[a].clone()
        }
    };
    let items = document["items"].as_array().or(document.as_array());
    let entries = items.unwrap().iter().map(|item| {
        let mut value = Vec::new();
        flatten(&item["value"], &mut value);
        let kind = ["tol_kind", "tolerance_kind", "tol_type"]
            .iter()
            .find_map(|name| item[name].as_str())
            .unwrap_or_default()
            .to_owned();
        Entry {
            id: text_of(&item["id"]),
            example: text_of(&item["example"]).trim().to_owned(),
            scheme: text_of(&item["scheme"]).trim().to_owned(),
            parameters: first(item, "params", "parameters"),
            quantity: text_of(&item["quantity"]),
            value,
            tolerance: first(item, "tol", "tolerance").as_f64(),
            kind,
        }
    });
    Some(entries.collect())
}

fn flatten(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Number(n) => into.push(n.as_f64().unwrap()),
        Value::Array(list) => list.iter().for_each(|v| flatten(v, into)),
        Value::Null => into.push(f64::NAN),
        Value::Bool(flag) => into.push(f64::from(u8::from(*flag))),
        Value::String(text) => into.push(text.parse().unwrap_or(f64::NAN)),
        Value::Object(map) => map.values().for_each(|v| flatten(v, into)),
    }
}

/// Counts and complaints of one test.
#[derive(Default)]
pub struct Ledger {
    checked: BTreeMap<String, usize>,
    differing: Vec<String>,
    informative: usize,
    failures: Vec<String>,
}

impl Ledger {
    /// Compares `outcome` with `entry`.
    pub fn settle(&mut self, entry: &Entry, outcome: Outcome) {
        if entry.tolerance.is_none() {
            self.informative += 1;
            return;
        }
        let count = self.checked.entry(entry.scheme.clone()).or_default();
        match outcome {
            Outcome::Ours(ours) => {
                *count += 1;
                if let Err(complaint) = compare(entry, &ours) {
                    self.fail(entry, &complaint);
                }
            }
            Outcome::AtMost(ours) => {
                *count += 1;
                let bound = entry.tolerance.unwrap();
                if !ours.iter().all(|x| *x <= bound) {
                    self.fail(entry, &format!("{ours:?} exceeds {bound:e}"));
                }
            }
            Outcome::Differs {
                ours,
                known,
                reason,
            } => {
                *count += 1;
                let mut others = ours.clone();
                for &(i, value, tolerance) in &known {
                    self.differing.push(format!(
                        "{} [{i}] {}: {} here, {} there: {reason}",
                        entry.id, entry.quantity, ours[i], entry.value[i]
                    ));
                    if (ours[i] - value).abs() > tolerance || ours[i].is_nan() {
                        self.fail(entry, &format!("[{i}] is {} here, not {value}", ours[i]));
                    }
                    others[i] = entry.value[i];
                }
                if let Err(complaint) = compare(entry, &others) {
                    self.fail(entry, &complaint);
                }
            }
        }
    }

    fn fail(&mut self, entry: &Entry, complaint: &str) {
        self.failures.push(format!(
            "{} [{}; {}] {}: {complaint}",
            entry.id, entry.example, entry.scheme, entry.quantity
        ));
    }

    /// Prints the account; fails where a value was missed or none was checked.
    pub fn close(self, topic: &str) {
        let total: usize = self.checked.values().sum();
        println!(
            "{topic}: {total} values checked, {} informative",
            self.informative
        );
        for (scheme, n) in &self.checked {
            println!("  {n:4}  {scheme}");
        }
        for line in &self.differing {
            println!("  differs: {line}");
        }
        assert!(
            self.failures.is_empty(),
            "{topic}: {} of {total} values missed:\n{}",
            self.failures.len(),
            self.failures.join("\n")
        );
        assert!(total > 0, "{topic}: nothing was checked");
    }
}

/// Checks every entry of `entries` that `applies` to the topic.
pub fn check(
    topic: &str,
    entries: &[Entry],
    applies: impl Fn(&Entry) -> bool,
    mut ours: impl FnMut(&Entry) -> Outcome,
) {
    let mut ledger = Ledger::default();
    for entry in entries.iter().filter(|e| applies(e)) {
        let outcome = ours(entry);
        ledger.settle(entry, outcome);
    }
    ledger.close(topic);
}

fn compare(entry: &Entry, ours: &[f64]) -> Result<(), String> {
    let Some(tolerance) = entry.tolerance else {
        return Err("has no tolerance".to_owned());
    };
    if entry.value.iter().any(|x| !x.is_finite()) {
        return Err("is not a number".to_owned());
    }
    if ours.len() != entry.value.len() {
        return Err(format!("{} numbers for {}", ours.len(), entry.value.len()));
    }
    for (i, (x, value)) in ours.iter().zip(&entry.value).enumerate() {
        let bound = match entry.kind.as_str() {
            "abs" | "order" => tolerance,
            "rel" => tolerance * value.abs(),
            "mixed" => tolerance * (1.0 + value.abs()),
            "rel_max" => tolerance * entry.value.iter().fold(0.0_f64, |m, v| m.max(v.abs())),
            "exact" => 0.0,
            "upper" if *x <= *value => continue,
            "factor" if within_factor(*x, *value, tolerance) => continue,
            "upper" | "factor" => f64::NAN,
            kind => return Err(format!("unknown kind of tolerance {kind}")),
        };
        // Round-off is not reproduced, only bounded.
        let roundoff = entry.kind == "abs" && value.abs() < 1e-8 && x.abs() <= tolerance;
        let close = (x - value).abs() <= bound;
        if !close && !roundoff {
            return Err(format!(
                "[{i}] {x} is not {value} ({} {tolerance:e}); all: {ours:?} for {:?}",
                entry.kind, entry.value
            ));
        }
    }
    Ok(())
}

fn within_factor(x: f64, value: f64, factor: f64) -> bool {
    x == value
        || (x * value > 0.0 && x.abs() <= factor * value.abs() && x.abs() >= value.abs() / factor)
}

/// The group of an entry, as its file names it: `proj.ball…` is of `proj`, `sc_bil_…` of `sc_bil`, `ball:000` of `ball`.
fn group(id: &str) -> &str {
    if let Some((group, _)) = id.split_once(':') {
        return group;
    }
    match id.split_once('.') {
        Some((group, _)) if !group.contains('_') => group,
        _ => {
            let second = id.match_indices('_').nth(1);
            second.map_or(id, |(end, _)| &id[..end])
        }
    }
}

/// Lists how many values of each group are looked at, what no test of this file looks at, and why.
pub fn leave_out(
    file: &str,
    entries: &[Entry],
    ours: impl Fn(&Entry) -> bool,
    why: impl Fn(&Entry) -> &'static str,
) {
    let mut left: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for entry in entries.iter().filter(|e| !ours(e)) {
        *left.entry((why(entry), &entry.scheme)).or_default() += 1;
    }
    let total: usize = left.values().sum();
    println!(
        "{file}: {} values are looked at, {total} are left out",
        entries.len() - total
    );
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for entry in entries {
        let (seen, all) = groups.entry(group(&entry.id)).or_default();
        *seen += usize::from(ours(entry));
        *all += 1;
    }
    for (group, (seen, all)) in groups {
        println!("  {seen:4} of {all:4}  {group}");
    }
    for ((why, scheme), n) in left {
        println!("  left out: {n:4}  {scheme} ({why})");
    }
}
