//! Model files and formulas, assembled into a system.
//!
//! A model file is read into a tree that remembers where everything was written ([`tree`]), changed
//! by overrides, compared with the schema of its types ([`document`]), and assembled. Whatever is
//! wrong with it is found before anything runs and comes back at once, as [`ModelErrors`].
//!
//! ```
//! use saltus_model::{Format, Model};
//!
//! let text = r#"
//! saltus = 1
//! [system]
//! coordinates = ["y"]
//! mass = ["m"]
//! [simulation]
//! scheme = "moreau-jean"
//! step = 1e-3
//! until = 1
//! "#;
//! let errors = Model::parse("ball", "ball.toml", text.to_owned(), Format::Toml, &[]).unwrap_err();
//! assert!(errors.to_string().starts_with("ball.toml:5:10: "), "{errors}");
//! ```

mod axis;
mod build;
pub mod definition;
mod evaluate;
mod expression;
mod findings;
mod flexible;
mod formula_system;
mod friction;
mod initial;
mod model;
mod placeholders;
mod quantities;
mod template;

pub use axis::{Axis, Values};
pub use flexible::{Columns, Size};
pub use formula_system::FormulaSystem;
pub use model::Model;
pub use quantities::{Condition, Quantity};
pub use saltus_document::diagnostic::{
    Diagnostic, Fault, Location, ModelErrors, SourceText, shorten,
};
pub use saltus_document::document::{Document, schema};
pub use saltus_document::set::Override;
pub use saltus_document::suggest::did_you_mean;
pub use saltus_document::tree::Format;
pub use saltus_document::{document, number, tree};
pub use template::Template;
