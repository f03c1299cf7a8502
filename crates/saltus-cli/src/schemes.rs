//! `saltus schemes`: every scheme and its options, read from the schema of model files.

use saltus_integrators::Scheme;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

pub fn run() -> ExitCode {
    match std::io::stdout().write_all(listing().as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn listing() -> String {
    let schema = saltus_model::schema();
    let variants = schema
        .pointer("/$defs/Scheme/oneOf")
        .and_then(Value::as_array);
    let mut text = String::new();
    for info in Scheme::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}\n    {}", info.name, info.summary);
        let variant = variants.into_iter().flatten().find(|variant| {
            variant
                .pointer("/properties/name/const")
                .and_then(Value::as_str)
                == Some(info.name)
        });
        let options = variant
            .and_then(|v| v.get("properties"))
            .and_then(Value::as_object);
        for (name, option) in options
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "name")
        {
            describe(&mut text, name, option, &schema);
        }
        text.push('\n');
    }
    text.push_str(
        "In a model file: scheme = \"NAME\", or scheme = { name = \"NAME\", OPTION = VALUE }.\n",
    );
    text.push_str("On the command line: --scheme NAME, --set simulation.scheme.OPTION=VALUE.\n");
    text
}

/// One option: its name, its default, what it is and what it may be.
fn describe(text: &mut String, name: &str, option: &Value, schema: &Value) {
    let default = match option.get("default") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(default)) => format!(" = \"{default}\""),
        Some(default) => format!(" = {default}"),
    };
    let _ = writeln!(text, "    {name}{default}");
    if let Some(description) = option.get("description").and_then(Value::as_str) {
        let _ = writeln!(text, "        {}", description.replace('\n', " "));
    }
    let target = option
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|r| schema.pointer(r.strip_prefix('#')?));
    for choice in target
        .and_then(|t| t.get("oneOf"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let Some(value) = choice.get("const").and_then(Value::as_str) else {
            continue;
        };
        let meaning = choice
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace('\n', " ");
        let _ = writeln!(text, "        \"{value}\": {meaning}");
    }
}
