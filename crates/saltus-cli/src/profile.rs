//! The files of a performance profile: drawing, tables, and a page with all of it.

use crate::targets;
use saltus_problems::batch::Run;
use saltus_problems::profile::Profile;
use saltus_problems::table::{Table, escape_html};
use std::io;
use std::path::Path;

/// Makes sure that the files of `STEM` can be written.
///
/// # Errors
/// What stands in the way.
pub fn ready(stem: &Path) -> Result<(), String> {
    if stem
        .display()
        .to_string()
        .ends_with(['/', std::path::MAIN_SEPARATOR])
    {
        return Err(format!(
            "--profile {}: this is a folder, expected the beginning of the names of files in it, as in out/profile",
            stem.display()
        ));
    }
    let endings = [
        ".html",
        ".svg",
        ".csv",
        "-failures.csv",
        "-runs.csv",
        "-runs.md",
    ];
    endings
        .iter()
        .try_for_each(|ending| targets::ready("--profile", &targets::with_ending(stem, ending)))
}

/// `STEM.html` and every run in `STEM-runs.csv` and `STEM-runs.md`; of each family of problems a profile of its own, `STEM.svg`,
/// `STEM.csv` and `STEM-failures.csv`, with the name of the family after the stem where there are two. `settings` says what
/// was asked for, `unposed` names the files that could not be read or posed.
///
/// # Errors
/// The first file that could not be written, after the others were tried.
pub fn write(
    stem: &Path,
    runs: &[Run],
    settings: &str,
    unposed: &[(String, String)],
) -> io::Result<Vec<String>> {
    let profiles = Profile::by_family(runs);
    let table = Table::new(runs);
    let mut files = Vec::new();
    let mut drawings = String::new();
    for profile in &profiles {
        let name = match profiles.len() {
            1 => String::new(),
            _ => format!("-{}", profile.family.name()),
        };
        let svg = profile.svg();
        drawings += &format!(
            "<h2>{}</h2>\n{svg}\n{}",
            profile.family.name(),
            profile.html()
        );
        files.push((format!("{name}.svg"), svg));
        files.push((format!("{name}.csv"), profile.csv()));
        files.push((format!("{name}-failures.csv"), profile.failures_csv()));
    }
    let mut missing = String::new();
    if !unposed.is_empty() {
        missing += "<h2>Not read or not posed</h2>\n<ul>\n";
        for (name, error) in unposed {
            missing += &format!("<li>{}: {}</li>\n", escape_html(name), escape_html(error));
        }
        missing += "</ul>\n";
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Performance profile</title>\n\
         <style>body{{font-family:sans-serif;max-width:75em;margin:1em auto}} svg{{max-width:60em;width:100%}} table{{border-collapse:collapse}}\n\
         td,th{{padding:.1em .6em;text-align:left}} tr:nth-child(even){{background:#f5f5f5}} .failed{{color:#b00}}</style></head>\n\
         <body>\n<h1>Performance profile</h1>\n<p>Share of the problems that a solver solves within a factor of the time of the \
         fastest one (Dolan and Moré 2002). A curve ends at the share that the solver solves at all. Times are wall-clock times \
         of the solve alone; below 1 µs they are not told apart.</p>\n<p>{}.</p>\n{drawings}\n{missing}\
         <h2>All runs</h2>\n{}</body></html>\n",
        escape_html(settings),
        table.html()
    );
    files.push((".html".to_owned(), page));
    files.push(("-runs.csv".to_owned(), table.csv()));
    files.push((
        "-runs.md".to_owned(),
        format!("{settings}.\n\n{}", table.markdown()),
    ));
    let mut written = Vec::new();
    let mut failed = Ok(());
    for (end, text) in files {
        let path = targets::with_ending(stem, &end);
        match std::fs::write(&path, text) {
            Ok(()) => written.push(path.display().to_string()),
            Err(e) if failed.is_ok() => {
                failed = Err(io::Error::new(e.kind(), format!("{}: {e}", path.display())));
            }
            Err(_) => {}
        }
    }
    failed.map(|()| written)
}
