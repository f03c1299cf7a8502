//! Where the reference numbers are, and how they are compared.
#![allow(dead_code)]

use serde_json::Value;
use std::path::PathBuf;

/// The file `name` of the shared reference data. `None`, said aloud, where the data is absent.
pub fn reference(name: &str) -> Option<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/reference")
        .join(name);
    let path = if path.exists() {
        path
    } else {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../../shared/reference")
            .join(name)
    };
    if let Ok(text) = std::fs::read_to_string(&path) {
        return Some(serde_json::from_str(&text).unwrap());
    }
    assert!(
        std::env::var_os("SALTUS_REQUIRE_SHARED").is_none_or(|v| v != "1"),
        "SALTUS_REQUIRE_SHARED=1 but {} cannot be read",
        path.display()
    );
    println!("SKIPPED: no reference data at {}", path.display());
    None
}

/// The numbers of a list.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(
        || vec![value.as_f64().unwrap()],
        |list| list.iter().map(|v| v.as_f64().unwrap()).collect(),
    )
}

/// The booleans of a list.
pub fn flags(value: &Value) -> Vec<bool> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_bool().unwrap())
        .collect()
}
