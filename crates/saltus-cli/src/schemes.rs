//! `saltus schemes`: every scheme in a table, or one with its options, read from the schema of model files.

use crate::arguments::SchemesArguments;
use saltus_integrators::{Scheme, SchemeInfo};
use serde_json::Value;
use std::fmt::Write as _;
use std::process::ExitCode;

pub fn run(arguments: &SchemesArguments) -> ExitCode {
    let named = |info: &&SchemeInfo| arguments.name.as_deref() == Some(info.name);
    let text = Scheme::ALL
        .iter()
        .find(named)
        .map_or_else(table, description);
    crate::print_output(&text)
}

/// What a scheme with its default options can do.
fn abilities(info: &SchemeInfo) -> (&'static str, &'static str) {
    let word = |able: bool| if able { "yes" } else { "no" };
    Scheme::by_name(info.name).map_or(("", ""), |scheme| {
        (word(scheme.solves_friction()), word(scheme.chooses_step()))
    })
}

/// One line per scheme.
fn table() -> String {
    let width = |column: fn(&SchemeInfo) -> &str| {
        let cells = Scheme::ALL.iter().map(|info| column(info).chars().count());
        cells.max().unwrap_or(0)
    };
    let (name, order) = (width(|i| i.name), width(|i| i.order));
    let mut text = format!(
        "{:name$}  {:order$}  friction  chooses step  what it is\n",
        "scheme", "order"
    );
    for info in Scheme::ALL {
        let (friction, chooses) = abilities(info);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{:name$}  {:order$}  {friction:8}  {chooses:12}  {}",
            info.name, info.order, info.summary
        );
    }
    text.push_str(
        "\nThe order is that on smooth motion with default options, and with bilateral constraints where it says so; across impacts, that in the L1 norm.\n\
         Options and their defaults: saltus schemes NAME.\n",
    );
    text
}

/// A scheme with its options.
fn description(info: &SchemeInfo) -> String {
    let (friction, chooses) = abilities(info);
    let mut text = format!(
        "{}\n    {}\n    order {}; solves friction: {friction}; chooses its step: {chooses}\n\nOptions:\n",
        info.name, info.summary, info.order
    );
    let schema = saltus_model::schema();
    let variants = schema
        .pointer("/$defs/Scheme/allOf")
        .and_then(Value::as_array);
    let variants = variants.into_iter().flatten();
    let variants = variants.filter_map(|rule| rule.get("then"));
    let variant = variants.into_iter().find(|variant| {
        let name = variant.pointer("/properties/name/const");
        name.and_then(Value::as_str) == Some(info.name)
    });
    let options = variant
        .and_then(|v| v.get("properties"))
        .and_then(Value::as_object);
    for (name, option) in options.into_iter().flatten() {
        if name != "name" {
            describe(&mut text, name, option, &schema);
        }
    }
    let _ = write!(
        text,
        "\nIn a model file: scheme = \"{0}\", or scheme = {{ name = \"{0}\", OPTION = VALUE }}.\n\
         On the command line: --scheme {0}, --set simulation.scheme.OPTION=VALUE.\n",
        info.name
    );
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
    for choice in choices(option, schema) {
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

/// The named values that an option may have.
fn choices<'s>(option: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let alternatives = option.get("anyOf").and_then(Value::as_array);
    let alternatives = alternatives.into_iter().flatten();
    std::iter::once(option)
        .chain(alternatives)
        .filter_map(|option| option.get("$ref")?.as_str())
        .filter_map(|target| schema.pointer(target.strip_prefix('#')?))
        .filter_map(|target| target.get("oneOf")?.as_array())
        .flatten()
        .collect()
}
