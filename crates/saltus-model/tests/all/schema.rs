//! The schema in the repository is the one the code checks with.

#[test]
fn the_written_schema_is_in_step() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/model.schema.json"
    );
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let current = format!("{:#}\n", saltus_model::schema());
    assert!(
        written == current,
        "schema/model.schema.json is not in step: run `cargo run -- schema > schema/model.schema.json`"
    );
}
