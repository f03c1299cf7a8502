//! The page of a report: everything in one file, nothing loaded.

use crate::observe::Outcome;
use crate::output::RunCard;
use crate::report::{Section, tables, words};
use std::fmt::Write;

/// The whole page.
pub(crate) fn page(
    card: &RunCard,
    outcome: &Outcome,
    files: &[String],
    sections: &[Section],
) -> String {
    let title = card.title.as_deref().unwrap_or(&card.model);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n",
        escape(title),
        include_str!("style.css")
    );
    let verdict = words::verdict(outcome);
    let _ = writeln!(
        html,
        "<header><h1>{}</h1>\n<p class=\"verdict {}\"><b>{}</b> {}</p>",
        escape(title),
        verdict.class,
        verdict.word,
        escape(&verdict.line)
    );
    if let Some(error) = &verdict.error {
        let _ = writeln!(html, "<p class=\"error\">{}</p>", rich(error));
    }
    for note in &card.notes {
        let _ = writeln!(html, "<p class=\"note\">Note: {}</p>", rich(note.trim()));
    }
    html.push_str("</header>\n");
    for section in sections {
        push_section(&mut html, section);
    }
    html.push_str("<section><h2>In words</h2>\n");
    if let Some(description) = &card.description {
        let _ = writeln!(html, "<p>{}</p>", rich(description.trim()));
    }
    let _ = writeln!(html, "<p>{}</p></section>", rich(&words::account(outcome)));
    let _ = write!(
        html,
        "<section><h2>Key numbers</h2>\n{}</section>\n",
        tables::key_numbers(outcome)
    );
    let events = tables::events(outcome);
    if !events.is_empty() {
        let _ = write!(
            html,
            "<section><h2>Contacts and impacts</h2>\n{events}</section>\n"
        );
    }
    let _ = write!(
        html,
        "<section><h2>Certificate</h2>\n<p>The worst of every number that proves a step, and the end of the step in which it \
         occurred. <em>Guaranteed</em> entries are held in every step to the tolerance of the scheme, relative to the scale of the \
         motion, or the step fails; <em>measured</em> ones the scheme only keeps small.</p>\n{}</section>\n",
        tables::certificate(outcome)
    );
    let _ = write!(
        html,
        "<section><h2>Parameters</h2>\n{}</section>\n",
        tables::parameters(card, outcome)
    );
    push_reproduction(&mut html, card, files);
    let _ = write!(
        html,
        "</main>\n<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("script.js")
    );
    html
}

fn push_section(html: &mut String, section: &Section) {
    let _ = writeln!(html, "<section><h2>{}</h2>", section.heading);
    for figure in &section.figures {
        html.push_str("<figure><figcaption>");
        if !figure.heading.is_empty() {
            let _ = write!(html, "<b>{}</b>", escape(&figure.heading));
        }
        for (class, name) in &figure.legend {
            let _ = write!(
                html,
                "<span><i class=\"{class}\"></i>{}<output></output></span>",
                escape(name)
            );
        }
        let _ = writeln!(html, "</figcaption>{}</figure>", figure.drawing);
    }
    if let Some(note) = &section.note {
        let _ = writeln!(html, "<p class=\"note\">{note}</p>");
    }
    html.push_str("</section>\n");
}

fn push_reproduction(html: &mut String, card: &RunCard, files: &[String]) {
    html.push_str("<section><h2>How to reproduce</h2>\n");
    if let Some(command) = &card.command {
        let _ = writeln!(html, "<pre>{}</pre>", escape(command));
    }
    let files: Vec<_> = files
        .iter()
        .map(|f| format!("<code>{}</code>", escape(f)))
        .collect();
    let _ = writeln!(
        html,
        "<p>Model <code>{}</code>, saltus {}. Written with this page: {}. Curves are drawn from at most 2048 points each, \
         which keep every extremum and the largest jumps; the trajectory file has all digits.</p></section>",
        escape(&card.model),
        env!("CARGO_PKG_VERSION"),
        files.join(", ")
    );
}

/// Text as HTML text, names between backticks as code.
fn rich(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escape).collect();
    if parts.len().is_multiple_of(2) {
        return parts.join("`");
    }
    let mut html = String::new();
    for (k, part) in parts.iter().enumerate() {
        if k % 2 == 1 {
            let _ = write!(html, "<code>{part}</code>");
        } else {
            html.push_str(part);
        }
    }
    html
}

/// Text as HTML text or attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::rich;

    #[test]
    fn names_are_code() {
        assert_eq!(
            rich("`th1` < `x`: no"),
            "<code>th1</code> &lt; <code>x</code>: no"
        );
        assert_eq!(rich("a ` alone"), "a ` alone");
    }
}
