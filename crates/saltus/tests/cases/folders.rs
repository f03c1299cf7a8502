//! Every case has what a case needs.

use crate::run::folder;

#[test]
fn every_case_has_a_readme_and_a_test() {
    let tests = [
        include_str!("balls.rs"),
        include_str!("flexible.rs"),
        include_str!("friction.rs"),
        include_str!("impacts.rs"),
        include_str!("joints.rs"),
        include_str!("mechanisms.rs"),
        include_str!("oscillators.rs"),
        include_str!("pendulums.rs"),
        include_str!("solids.rs"),
    ]
    .concat();
    let mut cases = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(path.join("model.toml").is_file(), "{name} has no model");
        let readme = std::fs::read_to_string(path.join("README.md")).unwrap_or_default();
        for part in ["# ", "**Closed form", "**What to see.**"] {
            assert!(readme.contains(part), "the README of {name} lacks {part:?}");
        }
        let test = format!("#[test]\nfn {}", name.replace('-', "_"));
        assert!(tests.contains(&test), "{name} has no test");
        cases += 1;
    }
    println!("{cases} cases");
    assert!(cases > 0);
}

#[test]
fn the_page_on_systems_quotes_its_example() {
    let page = include_str!("../../../../docs/write-a-system.md");
    let example = include_str!("../../examples/pendulum_at_a_wall.rs");
    let code = page.split("```rust,ignore").skip(1);
    let mut quoted = 0;
    for block in code.filter_map(|rest| rest.split("```").next()) {
        let mut rest = example.lines().map(str::trim);
        let lines = block.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && *line != "…") {
            assert!(rest.any(|ours| ours == line), "not in the example: {line}");
            quoted += 1;
        }
    }
    assert!(quoted > 50, "{quoted}");
}
