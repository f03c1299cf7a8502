//! A model file from the disk: its text, or why there is none.

use crate::diagnostic::Diagnostic;
use crate::suggest;
use crate::tree::Format;
use std::path::Path;

/// No model text is longer \[bytes\].
const LONGEST: u64 = 256 * 1024 * 1024;

/// Text and format of the model file at `path`.
///
/// # Errors
/// Where there is no such file, where it cannot be read, or where it is not text.
pub fn read(path: &Path) -> Result<(String, Format), Diagnostic> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return Err(directory(path));
    }
    let Some(format) = Format::of(path) else {
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned());
        let what = match extension {
            Some(extension) => format!("has the unknown extension \".{extension}\""),
            None => "has no extension".to_owned(),
        };
        return Err(Diagnostic::new(format!(
            "the model file {what}, expected .toml, .yaml, .yml or .json"
        ))
        .help("the extension says how the file is written"));
    };
    if metadata.len() > LONGEST {
        return Err(Diagnostic::new(format!(
            "the file has {} bytes, more than any model",
            metadata.len()
        )));
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    Ok((decode(bytes)?, format))
}

fn decode(bytes: Vec<u8>) -> Result<String, Diagnostic> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = 1 + bytes[..at].iter().filter(|&&b| b == b'\n').count();
        let byte = bytes.get(at).copied().unwrap_or_default();
        Diagnostic::new(format!(
            "the file is not UTF-8 text: byte {at} on line {line} is 0x{byte:02X}"
        ))
        .help("save the model as UTF-8 text, without a compression or a word processor's format")
    })?;
    let control = |b: u8| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0C);
    if let Some(at) = text.bytes().position(control) {
        let line = 1 + text[..at].matches('\n').count();
        let byte = text.as_bytes()[at];
        return Err(Diagnostic::new(format!(
            "the file is not text: byte {at} on line {line} is the control character 0x{byte:02X}"
        ))
        .help("save the model as UTF-8 text"));
    }
    // A byte order mark is no part of the text.
    Ok(match text.strip_prefix('\u{FEFF}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

fn directory(path: &Path) -> Diagnostic {
    let diagnostic = Diagnostic::new("this is a directory, expected a model file");
    let inside = ["model.toml", "model.yaml", "model.yml", "model.json"];
    match inside
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file())
    {
        Some(file) => diagnostic.help(format!("did you mean {}?", file.display())),
        None => diagnostic.help("give the path of a .toml, .yaml or .json file"),
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "the file may not be read (permission denied)".to_owned()
        }
        _ => format!("the file cannot be read: {error}"),
    };
    let diagnostic = Diagnostic::new(what);
    match sibling(path) {
        Some(name) => diagnostic.help(format!(
            "did you mean {}?",
            path.with_file_name(name).display()
        )),
        None => diagnostic,
    }
}

/// The model file beside `path` whose name is nearest.
fn sibling(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let parent = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(parent)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| Format::of(Path::new(name)).is_some())
        .collect();
    names.sort();
    suggest::nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

/// The name of a model file: its stem, or its folder where the stem is just `model`.
pub fn name_of(path: &Path) -> String {
    let stem = path
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default();
    if stem != "model" {
        return stem;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .parent()
        .and_then(Path::file_name)
        .map_or(stem, |folder| folder.to_string_lossy().into_owned())
}
