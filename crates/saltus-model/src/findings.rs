//! Collects diagnostics about places of a document.

use crate::definition::FormulaError;
use crate::flexible::Size;
use saltus_document::diagnostic::{Diagnostic, Location, SourceText};
use saltus_document::tree::{Node, Path, Value, raw_offset};
use std::collections::HashSet;

/// Diagnostics, and what is needed to point at the places they are about.
pub(crate) struct Findings<'a> {
    /// The mended document.
    tree: &'a Node,
    /// The texts it came from.
    sources: &'a [SourceText],
    /// Places whose values were mended: what follows from them is not worth saying.
    mended: Vec<Path>,
    /// Whether names are missing that were meant to be there.
    incomplete: bool,
    /// So many of the diagnostics are in `locations` and `places`.
    seen: usize,
    /// Where something was found already.
    locations: HashSet<Location>,
    /// The same with the places these findings are about.
    places: HashSet<(Location, Box<str>)>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
    /// What is right by itself, but not solved by the scheme.
    pub refusals: Vec<Diagnostic>,
    /// Who wants to know the size of the parts before they are built.
    on_size: Option<&'a dyn Fn(Size)>,
}

impl<'a> Findings<'a> {
    pub fn new(
        tree: &'a Node,
        sources: &'a [SourceText],
        mended: Vec<Path>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        // Without these, formulas would complain about every name.
        let names = |path: &Path| {
            let text = path.to_string();
            ["parameters", "tables", "system", "system.coordinates"].contains(&text.as_str())
                || text.starts_with("system.coordinates[")
        };
        let incomplete = mended.iter().any(names);
        Self {
            tree,
            sources,
            mended,
            incomplete,
            seen: 0,
            locations: HashSet::new(),
            places: HashSet::new(),
            diagnostics,
            refusals: Vec::new(),
            on_size: None,
        }
    }

    /// Tells the callback the size of the parts before they are built.
    pub fn on_size(self, on_size: Option<&'a dyn Fn(Size)>) -> Self {
        Self { on_size, ..self }
    }

    /// Tells the size of the parts to who wants to know it.
    pub fn tell(&self, size: Size) {
        if let Some(on_size) = self.on_size {
            on_size(size);
        }
    }

    /// Whether nothing was found below any of the top-level `keys`.
    pub fn is_clean_below(&self, keys: &[&str]) -> bool {
        let below = |place: &str| {
            keys.iter()
                .any(|key| place.split(['.', '[']).next() == Some(key))
        };
        !self
            .diagnostics
            .iter()
            .any(|d| d.place.as_deref().is_none_or(below))
    }

    /// Whether something was found at `place` itself.
    pub fn reported(&self, place: &Path) -> bool {
        let place = place.to_string();
        self.diagnostics
            .iter()
            .any(|d| d.place.as_deref() == Some(place.as_str()))
    }

    /// Whether `place` is mended, or inside of something mended.
    pub fn touched(&self, place: &Path) -> bool {
        self.mended
            .iter()
            .any(|mended| place.0.starts_with(&mended.0))
    }

    /// Whether `place` or anything inside of it is mended.
    pub fn mended_inside(&self, place: &Path) -> bool {
        let inside = |mended: &Path| mended.0.starts_with(&place.0);
        self.touched(place) || self.mended.iter().any(inside)
    }

    /// Says that what was reported at `place` was mended: what follows from it is not worth saying.
    pub fn mend(&mut self, place: &Path) {
        self.mended.push(place.clone());
    }

    /// Whether the names that formulas use are as the file has them.
    pub fn names_complete(&self) -> bool {
        !self.incomplete
    }

    /// Reports at `place`, unless it is mended.
    pub fn at(&mut self, place: &Path, diagnostic: Diagnostic) {
        if !self.touched(place) {
            let location = self.tree.locate(place);
            self.diagnostics
                .push(diagnostic.at(location).about(place.to_string()));
        }
    }

    /// Reports at `place` what the scheme does not solve.
    pub fn refuse(&mut self, place: &Path, diagnostic: Diagnostic) {
        let location = self.tree.locate(place);
        self.refusals
            .push(diagnostic.at(location).about(place.to_string()));
    }

    /// Reports at the key of the value at `place`, unless it is mended.
    pub fn at_key(&mut self, place: &Path, diagnostic: Diagnostic) {
        if !self.touched(place) {
            let location = self.tree.locate_key(place);
            self.diagnostics
                .push(diagnostic.at(location).about(place.to_string()));
        }
    }

    /// Reports an error inside of a formula, at its very byte, unless its place is reported already.
    pub fn formula(&mut self, error: &FormulaError) {
        // Places come from this crate; one that cannot be read leaves the message without a place.
        let place = Path::parse(&error.place).unwrap_or_default();
        let location = self.inside(&place, error.span.clone());
        let whole = self.tree.locate(&place);
        for d in &self.diagnostics[self.seen..] {
            let place = d.place.clone().unwrap_or_default();
            self.places.extend(d.location.map(|at| (at, place)));
            self.locations.extend(d.location);
        }
        self.seen = self.diagnostics.len();
        let known = self.locations.contains(&location)
            || self.places.contains(&(whole, error.place.as_str().into()));
        if known || self.touched(&place) {
            return;
        }
        // Names stand in double quotes in all messages about a model; a suggestion belongs to its message.
        let quoted = |text: &str| text.replace('`', "\"");
        let (message, help) = match &error.help {
            Some(help) if help.starts_with("did you mean") => {
                (quoted(&format!("{}, {help}", error.message)), None)
            }
            help => (quoted(&error.message), help.as_deref().map(quoted)),
        };
        let label = Some(format!("in {}", error.place));
        let place = Some(error.place.as_str().into());
        self.diagnostics.push(Diagnostic {
            message,
            label,
            help,
            location: Some(location),
            place,
        });
    }

    /// The bytes `span` of the text at `place`, or all of the value where it is not a text.
    fn inside(&self, place: &Path, span: std::ops::Range<usize>) -> Location {
        if span.is_empty() {
            return self.tree.locate_key(place);
        }
        let whole = self.tree.locate(place);
        let Some(Node {
            value: Value::Text(text),
            location,
        }) = self.tree.find(place)
        else {
            return whole;
        };
        let Some(raw) = self
            .sources
            .get(location.source)
            .and_then(|s| s.text.get(location.range()))
        else {
            return whole;
        };
        let start = raw_offset(raw, text, span.start);
        let end = raw_offset(raw, text, span.end);
        match (start, end) {
            (Some(start), Some(end)) if end >= start => Location::new(
                location.source,
                location.start + start..location.start + end,
            ),
            _ => whole,
        }
    }
}
