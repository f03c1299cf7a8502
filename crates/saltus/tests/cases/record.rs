//! Values that independent programs and closed forms gave, by the number they have in `../shared/reference`.

use crate::run::close;
use crate::shared::shared;
use serde_json::Value;

/// A reference value, all its numbers in order.
pub struct Record {
    pub values: Vec<f64>,
    /// What they are known or agreed to \[their units\].
    pub tolerance: f64,
}

/// The record `id` of `FILE.json`; `None`, said aloud, where the references are absent.
pub fn record(file: &str, id: &str) -> Option<Record> {
    let path = shared(&format!("reference/{file}.json"))?;
    let text = std::fs::read_to_string(path).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let items = all["items"].as_array().unwrap();
    let item = items
        .iter()
        .find(|item| item["id"] == id)
        .unwrap_or_else(|| panic!("{file}.json has no {id}"));
    let mut values = Vec::new();
    flatten(&item["value"], &mut values);
    let tolerance = item["tolerance"].as_f64().unwrap();
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let relative = item["tolerance_kind"] == "rel";
    Some(Record {
        values,
        tolerance: tolerance * if relative { largest } else { 1.0 },
    })
}

fn flatten(value: &Value, into: &mut Vec<f64>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| flatten(v, into)),
        other => into.extend(other.as_f64()),
    }
}

/// Compares with number `k` of a record, within its tolerance and `more`, which is ours.
#[track_caller]
pub fn agrees(ours: f64, (file, id, k): (&str, &str, usize), more: f64) {
    if let Some(record) = record(file, id) {
        close(id, ours, record.values[k], record.tolerance + more);
    }
}
