//! Draws the figures of the method pages into `docs/images`, and prints the tables beside them.
//!
//! `cargo run --release -p saltus --example figures [NAME...]`, a NAME being that of a module: all of them where none is given.
#![allow(clippy::expect_used, clippy::panic)]

mod adaptive;
mod common;
mod event_driven;
mod generalized_alpha;
mod half_explicit;
mod higher_order;
mod located;
mod projected;
mod splitting;

/// A group of figures by its name.
type Group = (&'static str, fn());

const ALL: [Group; 8] = [
    ("generalized_alpha", generalized_alpha::draw_all),
    ("half_explicit", half_explicit::draw_all),
    ("event_driven", event_driven::draw_all),
    ("projected", projected::draw_all),
    ("adaptive", adaptive::draw_all),
    ("higher_order", higher_order::draw_all),
    ("splitting", splitting::draw_all),
    ("located", located::draw_all),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for name in &wanted {
        assert!(
            ALL.iter().any(|(known, _)| known == name),
            "`{name}` is none of {:?}",
            ALL.map(|(known, _)| known)
        );
    }
    for (name, draw_all) in ALL {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            draw_all();
        }
    }
}
