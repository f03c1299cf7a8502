//! The three formats give the same tree, and every node knows its text.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

fn tree(format: Format, text: &str) -> Node {
    let (root, diagnostics) = format.parse(text, 0);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    root.unwrap()
}

const TOML: &str = "\
saltus = 1
[parameters]
m = 1.5
g = '''9.81'''
[system]
coordinates = [\"x\", \"y\"]
[[system.unilateral]]
name = \"floor\"
gap = \"y - \\u0061\"
flag = true
";

const YAML: &str = "\
saltus: 1
parameters:
  m: 1.5
  g: '9.81'
system:
  coordinates: [x, y]
  unilateral:
    - name: floor
      gap: y - a
      flag: true
";

const JSON: &str = r#"{ "saltus": 1, "parameters": { "m": 1.5, "g": "9.81" },
  "system": { "coordinates": ["x", "y"], "unilateral": [{ "name": "floor", "gap": "y - \u0061", "flag": true }] } }"#;

#[test]
fn formats_agree() {
    let data = tree(Format::Toml, TOML).to_json();
    assert_eq!(data, tree(Format::Yaml, YAML).to_json());
    assert_eq!(data, tree(Format::Json, JSON).to_json());
    assert_eq!(data.pointer("/system/coordinates/1").unwrap(), "y");
}

#[test]
fn nodes_know_their_text() {
    for (format, text) in [
        (Format::Toml, TOML),
        (Format::Yaml, YAML),
        (Format::Json, JSON),
    ] {
        let root = tree(format, text);
        let written = |path: &str| &text[root.locate(&Path::parse(path).unwrap()).range()];
        assert_eq!(written("saltus"), "1");
        assert_eq!(written("parameters.m"), "1.5");
        assert!(written("system.coordinates[1]").contains('y'));
        assert!(
            written("system.unilateral[0].gap").contains("y - "),
            "{format:?}"
        );
        assert!(
            written("system.unilateral[0].missing").contains(['u', 'n', '{']),
            "{format:?}"
        );
        assert!(
            written("system.unilateral")
                .trim_matches('"')
                .ends_with("unilateral"),
            "{format:?}"
        );
    }
}

#[test]
fn offsets_step_over_quotes_escapes_and_folds() {
    fn point<'a>(raw: &'a str, value: &str, at: usize) -> &'a str {
        &raw[raw_offset(raw, value, at).unwrap()..]
    }
    assert_eq!(point("\"a + b\"", "a + b", 4), "b\"");
    assert_eq!(point(r#""\u0061 + b""#, "a + b", 4), "b\"");
    assert_eq!(point(r#""a \t+ b""#, "a \t+ b", 3), "+ b\"");
    assert_eq!(point("'''\na + b'''", "a + b", 4), "b'''");
    assert_eq!(point("\"\"\"a \\\n   + b\"\"\"", "a + b", 4), "b\"\"\"");
    assert_eq!(point("a\n    + b", "a + b", 4), "b");
    assert_eq!(point("'it''s x'", "it's x", 5), "x'");
    assert_eq!(point("|\n  a\n  + b\n", "a\n+ b\n", 2), "+ b\n");
    assert_eq!(point("a + b", "a + b", 5), "");
    assert_eq!(raw_offset("abc", "xyz", 1), None);
}

#[test]
fn yaml_scalars_follow_the_core_schema() {
    let root = tree(
        Format::Yaml,
        "a: y\nb: no\nc: 1e-3\nd: .inf\ne: inf\nf: 0x1F\ng: ~\nh: '1'\ni: -2\n",
    );
    let value = |key: &str| root.entry(key).unwrap().node.value.clone();
    assert_eq!(value("a"), Value::Text("y".to_owned()));
    assert_eq!(value("b"), Value::Text("no".to_owned()));
    assert_eq!(value("c"), Value::Float(1e-3));
    assert_eq!(value("d"), Value::Float(f64::INFINITY));
    assert_eq!(value("e"), Value::Text("inf".to_owned()));
    assert_eq!(value("f"), Value::Integer(31));
    assert_eq!(value("g"), Value::Null);
    assert_eq!(value("h"), Value::Text("1".to_owned()));
    assert_eq!(value("i"), Value::Integer(-2));
}

#[test]
fn yaml_anchors_repeat_and_bombs_are_refused() {
    let root = tree(Format::Yaml, "a: &one {x: 1}\nb: *one\n");
    assert_eq!(root.entry("a").unwrap().node, root.entry("b").unwrap().node);
    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for k in 1..9 {
        let again = vec![format!("*a{}", k - 1); 10].join(", ");
        bomb.push_str(&format!("a{k}: &a{k} [{again}]\n"));
    }
    let (root, diagnostics) = Format::Yaml.parse(&bomb, 0);
    assert!(root.is_none());
    assert!(
        diagnostics[0]
            .message
            .contains("unfolds to too many values"),
        "{diagnostics:?}"
    );
}

#[test]
fn deep_nesting_is_refused() {
    for (format, text) in [
        (Format::Yaml, "[".repeat(10_000)),
        (Format::Json, "[".repeat(10_000) + &"]".repeat(10_000)),
        (
            Format::Toml,
            "a = ".to_owned() + &"[".repeat(10_000) + &"]".repeat(10_000),
        ),
    ] {
        let (root, diagnostics) = format.parse(&text, 0);
        assert!(root.is_none() && !diagnostics.is_empty(), "{format:?}");
    }
}

#[test]
fn json_is_not_yaml() {
    let (root, diagnostics) = Format::Json.parse("{ \"a\": 1,\n  b: 2 }", 0);
    assert!(root.is_none());
    assert_eq!(diagnostics[0].message, "syntax error: key must be a string");
    assert_eq!(diagnostics[0].location.unwrap().start, 12);
}

#[test]
fn paths_are_written_as_they_are_read() {
    for text in [
        "system.unilateral[0].gap",
        "parameters.\"a.b\"",
        "a[1][2]",
        "x",
    ] {
        assert_eq!(Path::parse(text).unwrap().to_string(), text);
    }
    for text in ["", ".", "a..b", "a[", "a[x]", "a]b[0]c", "a[0]b", "\"a"] {
        if let Ok(path) = Path::parse(text) {
            assert_eq!(path.to_string(), text);
        }
    }
}
