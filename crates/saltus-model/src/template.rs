//! A model file, read once, from which many models are made.

use crate::findings::Findings;
use crate::flexible::Size;
use crate::model::{Model, Parts};
use saltus_document::diagnostic::{Diagnostic, ModelErrors, SourceText};
use saltus_document::document::{self, Document};
use saltus_document::read;
use saltus_document::set::{self, Override};
use saltus_document::tree::{Format, Node, Value};
use saltus_document::validate::{self, Validated};
use std::path::{Path as FilePath, PathBuf};

/// A model file that was read and can become many models, each with its own overrides.
#[derive(Debug, Clone)]
pub struct Template {
    name: String,
    /// Where the files are that it names.
    folder: PathBuf,
    source: SourceText,
    root: Node,
    /// What is wrong with its text, where that does not touch its structure.
    diagnostics: Vec<Diagnostic>,
}

impl Template {
    /// Reads a model file.
    ///
    /// # Errors
    /// Where it cannot be read or is no document.
    pub fn read(path: impl AsRef<FilePath>) -> Result<Self, ModelErrors> {
        let path = path.as_ref();
        let source = path.display().to_string();
        match read::read(path) {
            Ok((text, format)) => {
                let folder = path.parent().unwrap_or(FilePath::new(""));
                Self::parse(folder, &read::name_of(path), &source, text, format)
            }
            Err(diagnostic) => {
                let text = SourceText {
                    name: source,
                    text: String::new(),
                };
                Err(ModelErrors::new(vec![text], vec![diagnostic]))
            }
        }
    }

    pub(crate) fn parse(
        folder: &FilePath,
        name: &str,
        source: &str,
        text: String,
        format: Format,
    ) -> Result<Self, ModelErrors> {
        let (root, diagnostics) = format.parse(&text, 0);
        let source = SourceText {
            name: source.to_owned(),
            text,
        };
        let Some(root) = root else {
            return Err(ModelErrors::new(vec![source], diagnostics));
        };
        if is_empty(&root) {
            let diagnostic = Diagnostic::new("the file is empty, expected a model").help(
                "a model begins with saltus = 1 and has the tables [system] and [simulation]",
            );
            return Err(ModelErrors::new(vec![source], vec![diagnostic]));
        }
        Ok(Self {
            name: name.to_owned(),
            folder: folder.to_owned(),
            source,
            root,
            diagnostics,
        })
    }

    /// The name of its models.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The model, changed by `overrides`, checked and assembled.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn model(&self, overrides: &[Override]) -> Result<Model, ModelErrors> {
        self.assemble(overrides, None)
    }

    pub(crate) fn assemble(
        &self,
        overrides: &[Override],
        on_size: Option<&dyn Fn(Size)>,
    ) -> Result<Model, ModelErrors> {
        let (mut root, mut diagnostics) = (self.root.clone(), self.diagnostics.clone());
        let mut sources = vec![self.source.clone()];
        let applied = set::apply(&mut root, overrides, &mut sources);
        diagnostics.extend(applied.diagnostics);
        diagnostics.extend(version(&root));
        let Validated {
            tree,
            diagnostics: found,
            mended,
        } = validate::validate(&root);
        diagnostics.extend(found);
        let document = match Document::of(&tree) {
            Ok(document) => document,
            Err(error) => {
                // The schema says all that the types do, so this is the last resort.
                if diagnostics.is_empty() {
                    diagnostics.push(Diagnostic::new(format!(
                        "the document cannot be read: {error}"
                    )));
                }
                return Err(ModelErrors::new(sources, diagnostics));
            }
        };
        let mut findings = Findings::new(&tree, &sources, mended, diagnostics).on_size(on_size);
        let parts = Parts::of(&document, &self.folder, &mut findings).map(|mut parts| {
            parts.read_quantities(&document, &mut findings);
            parts
        });
        let Findings {
            mut diagnostics,
            refusals,
            ..
        } = findings;
        match parts {
            Some(parts) if diagnostics.is_empty() => Ok(Model::assembled(
                &self.name,
                parts,
                document,
                applied.notes,
                refusals,
                tree,
                sources,
            )),
            _ => {
                diagnostics.extend(refusals);
                Err(ModelErrors::new(sources, diagnostics))
            }
        }
    }
}

fn is_empty(root: &Node) -> bool {
    match &root.value {
        Value::Null => true,
        Value::Table(entries) => entries.is_empty(),
        _ => false,
    }
}

/// A version that is not the one this code reads.
fn version(root: &Node) -> Option<Diagnostic> {
    let node = &root.entry("saltus")?.node;
    match node.value {
        Value::Integer(found) if found != document::VERSION => {
            let diagnostic = Diagnostic::new(format!(
                "the file has format version {found}, this program reads version {}",
                document::VERSION
            ))
            .at(node.location)
            .label(format!("expected {}", document::VERSION));
            Some(if found > document::VERSION {
                diagnostic.help("a newer saltus reads it")
            } else {
                diagnostic
            })
        }
        _ => None,
    }
}
