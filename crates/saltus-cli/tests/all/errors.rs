//! Every bad model of `tests/bad` is refused with exit code 2, and says what these snapshots say.

use std::path::Path;
use std::process::Command;

/// Exit code and standard error of `saltus check FILE`, in the folder of the bad models.
fn check(arguments: &[&str]) -> (Option<i32>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let output = Command::new(env!("CARGO_BIN_EXE_saltus"))
        .arg("check")
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program starts");
    assert!(
        output.stdout.is_empty(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    (
        output.status.code(),
        String::from_utf8(output.stderr).expect("messages are text"),
    )
}

#[test]
fn bad_models_are_refused_with_their_reasons() {
    let mut names: Vec<String> =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bad"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
    names.sort();
    assert!(names.len() >= 25, "only {} bad models", names.len());
    for name in names {
        refused(&name, &[&name]);
    }
}

#[test]
fn wrong_overrides_are_refused_with_their_reasons() {
    let file = "../good/ball.toml";
    let cases: &[(&str, &[&str])] = &[
        ("set_without_value", &["--set", "simulation.step"]),
        ("set_unknown_parameter", &["--set", "parameters.mass=2"]),
        ("set_unknown_key", &["--set", "simulation.stp=1e-3"]),
        (
            "set_unknown_constraint",
            &["--set", "system.unilateral.flor.restitution=0.5"],
        ),
        ("set_index_out_of_range", &["--set", "system.force[3]=1"]),
        ("set_below_a_number", &["--set", "parameters.m.value=1"]),
        ("set_bad_path", &["--set", "system..force=1"]),
        (
            "set_bad_values",
            &[
                "--set",
                "parameters.m=-1",
                "--set",
                "system.force[0]=-m*gg",
                "--set",
                "parameters.g=nan",
            ],
        ),
        (
            "set_scheme_option",
            &[
                "--set",
                "simulation.scheme.thta=0.7",
                "--set",
                "simulation.scheme.gamma=-1",
            ],
        ),
        (
            "set_misplaced_scheme_options",
            &[
                "--set",
                "simulation.scheme={ name = \"nonsmooth-generalized-alpha\", strategy = 3 }",
                "--set",
                "simulation.scheme.formulation=pvv",
            ],
        ),
        (
            "set_coarse_tolerance",
            &["--set", "simulation.scheme.tolerance=0.1"],
        ),
        (
            "set_tolerance_zero",
            &["--set", "simulation.scheme.tolerance=0"],
        ),
        (
            "flags",
            &["--scheme", "moreau", "--step", "-1e-3", "--until", "soon"],
        ),
    ];
    for (name, arguments) in cases {
        refused(name, &[&[file], *arguments].concat());
    }
}

#[test]
fn what_overrides_put_into_parts_is_blamed_on_them() {
    let file = "../good/flexible.toml";
    let cases = [
        ("set_gravity", "gravity=[0, 0, -9.81]"),
        ("set_symbol_of_gravity", "gravity=[0, \"-gg\"]"),
        ("set_velocity", "initial.parts.beam.velocity=[0, 0, 1]"),
        ("set_normal", "contact.floor.plane.normal=[0, 0, 1]"),
        (
            "set_plane",
            "contact.floor.plane={ point = [0, 0, -1], normal = [0, 0, 0] }",
        ),
        ("set_end", "beam.beam.to=[1, 0, 0]"),
        ("set_no_length", "beam.beam.to=[0, 0]"),
        (
            "set_material",
            "materials.steel={ young = 1e9, poisson = 0.3 }",
        ),
    ];
    for (name, change) in cases {
        let message = refused(name, &[file, "--set", change]);
        assert!(message.contains("--set:1:"), "{message}");
    }
}

/// The reasons for which `saltus check` refuses `arguments`, compared with the snapshot `name`.
fn refused(name: &str, arguments: &[&str]) -> String {
    let (code, message) = check(arguments);
    assert_eq!(code, Some(2), "{name}: {message}");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, message);
    });
    message
}

#[test]
fn unreadable_paths_are_refused_with_their_reasons() {
    let message = |path: &str| {
        let (code, message) = check(&[path]);
        assert_eq!(code, Some(2), "{message}");
        message
    };
    assert!(message("unknown_kye.toml").contains("did you mean unknown_key.toml?"));
    assert!(message("nowhere/model.toml").contains("there is no such file"));
    assert!(message("..").contains("this is a directory, expected a model file"));
}

#[test]
fn a_usage_error_is_wrong_input() {
    for arguments in [
        &["chek", "x.toml"][..],
        &["check"],
        &["check", "x.toml", "--stp", "1"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_saltus"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

/// The same fault at many places is said once, and many faults are cut.
#[test]
fn messages_are_a_page() {
    let folder = std::env::temp_dir().join(format!("saltus-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let model = |force: &str| {
        format!(
            "saltus = 1\n[system]\ncoordinates = [\"y\"]\nmass = [1]\nforce = [\"{force}\"]\n\
             [simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 1\n"
        )
    };
    let one = vec!["K*y"; 10_000].join("+");
    let many: Vec<String> = (0..10_000).map(|k| format!("unknown_{k}*y")).collect();
    let wide = format!("{}*K", "y+".repeat(60_000));
    let json = "{\"saltus\": 1, ".to_owned() + &"\"title\": 1, ".repeat(20_000) + "}";
    for (name, text, words) in [
        (
            "one.toml",
            model(&one),
            "unknown symbol \"K\" (and in 9999 more places)",
        ),
        (
            "many.toml",
            model(&many.join("+")),
            "9980 more faults are not shown",
        ),
        ("wide.toml", model(&wide), "stands where"),
        ("line.json", json, "title"),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        let (code, message) = check(&[path.to_str().unwrap()]);
        assert_eq!(
            code,
            Some(2),
            "{name}: {}",
            &message[..message.len().min(2000)]
        );
        assert!(message.len() < 50_000, "{name}: {} bytes", message.len());
        assert!(message.contains(words), "{name}: {message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
