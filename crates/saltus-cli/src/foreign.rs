//! A file that was given to the wrong command: what it is, and which command takes it.

use saltus_problems::archive;
use serde_json::Value;
use std::path::Path;

/// What else a file of ours can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Problem,
    Checkpoint,
    Model,
    Summary,
    Solutions,
}

fn kind(path: &Path) -> Option<Kind> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match ending.to_ascii_lowercase().as_str() {
        "toml" | "yaml" | "yml" => return path.is_file().then_some(Kind::Model),
        "h5" | "hdf5" | "dat" => return archive::read(path).is_ok().then_some(Kind::Problem),
        _ => {}
    }
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let document: Value = serde_json::from_str(text).ok()?;
    let has = |keys: &[&str]| keys.iter().all(|key| document.get(key).is_some());
    if let Some(first) = document.as_array().and_then(|list| list.first()) {
        let solution = first.get("solution").unwrap_or(first);
        return (solution.get("solver").is_some() && solution.get("status").is_some())
            .then_some(Kind::Solutions);
    }
    let kinds = ["lcp", "mlcp", "friction", "global-friction", "contact"];
    if document["kind"]
        .as_str()
        .is_some_and(|k| kinds.contains(&k))
    {
        Some(Kind::Problem)
    } else if has(&["scheme", "memory", "steps", "q", "v"]) {
        Some(Kind::Checkpoint)
    } else if has(&["files", "model", "scheme"]) {
        Some(Kind::Summary)
    } else if has(&["simulation"]) || has(&["saltus"]) {
        Some(Kind::Model)
    } else {
        None
    }
}

/// What a file that `saltus solve` cannot read is, where it is something else of ours.
pub fn instead_of_a_problem(path: &Path) -> Option<String> {
    let place = path.display();
    let text = match kind(path)? {
        Kind::Problem => return None,
        Kind::Model => format!("a model, expected a problem; `saltus run {place}` takes it"),
        Kind::Summary => "the summary of a run, expected a problem; `saltus run --archive-failures` writes those of steps that fail".to_owned(),
        Kind::Solutions => "a list of solutions as --out writes it, expected a problem; solve the file they are of".to_owned(),
        Kind::Checkpoint => {
            let name = path.file_name()?.to_string_lossy();
            let beside = name.strip_suffix(".checkpoint.json");
            let problem = beside
                .map(|stem| path.with_file_name(format!("{stem}.json")))
                .filter(|problem| problem.is_file());
            let problem = problem.map_or(String::new(), |problem| {
                format!("; the problem of the step is in {}", problem.display())
            });
            format!(
                "a checkpoint, the state of a run between two steps, expected a problem; `saltus run MODEL --resume {place}` goes on from it{problem}"
            )
        }
    };
    Some(format!("{place}: this is {text}"))
}

/// Whether a file is a problem by its looks: that it is read without complaint is not asked of JSON.
pub fn is_problem(path: &Path) -> bool {
    path.is_file() && kind(path) == Some(Kind::Problem)
}

/// What a file that is no model is, where it is something else of ours.
pub fn instead_of_a_model(path: &Path) -> Option<String> {
    let place = path.display();
    let text = match kind(path)? {
        Kind::Model => return None,
        Kind::Problem => format!(
            "a problem of complementarity or friction, expected a model; `saltus solve {place}` takes it"
        ),
        Kind::Checkpoint => format!(
            "a checkpoint, expected a model; `saltus run MODEL --resume {place}` goes on from it"
        ),
        Kind::Summary => {
            "the summary of a run, expected a model; `command` in it says what was run".to_owned()
        }
        Kind::Solutions => {
            "a list of solutions as `saltus solve --out` writes it, expected a model".to_owned()
        }
    };
    Some(format!("{place}: this is {text}"))
}

/// What a file that is no checkpoint is, where it is something else of ours.
pub fn instead_of_a_checkpoint(path: &Path) -> Option<String> {
    let place = path.display();
    match kind(path)? {
        Kind::Problem => Some(format!(
            "it is a problem of complementarity or friction, which `saltus solve {place}` takes"
        )),
        _ => None,
    }
}
