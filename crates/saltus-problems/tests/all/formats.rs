//! Formats of problems: mixed complementarity as text, points beside a problem, and files that are broken.

use proptest::prelude::*;
use saltus_complementarity::friction::FrictionContact;
use saltus_complementarity::{BlockMatrix, SparseMatrix};
use saltus_problems::archive::{Point, Problem, Record, read, read_record, write, write_record};
use saltus_problems::batch::{FolderRequest, Request, judge, solve, solve_folder};
use saltus_problems::table::Table;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("saltus-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn mixed(path: &Path) -> (usize, Vec<Vec<f64>>, Vec<f64>) {
    match read(path).unwrap() {
        Problem::Mixed {
            equalities,
            matrix,
            q,
        } => {
            let rows = (0..q.len()).map(|i| matrix.row(i).to_vec()).collect();
            (equalities, rows, q)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn mixed_problems_are_read_in_each_of_their_forms() {
    let root = folder("mixed");
    let path = root.join("p.dat");
    // u + v = 2 with u free, 0 ≤ v ⟂ −u + 3 v − 1 ≥ 0: u = 5/4, v = 3/4.
    let whole = "1\n0\n1\n1\n0 1 2\n0 1\n0\n2\n2\n2 2\n1 1\n-1 3\n-2 -1\n";
    let parts = "0 1 1 1  1  3  1  -1  -2  -1";
    // The pair first, then the equality.
    let turned = "1 0 1 1 0 1 2 1 0 0 2 2 2 2 3 -1 1 1 -1 -2";
    // Both forms, and a remark.
    let both = format!("1\n1{}1 3 1 -1 -2 -1 1.25 0.75 0 0", &whole[3..]);
    for text in [whole, parts, turned, &both] {
        std::fs::write(&path, text).unwrap();
        let expected = (1, vec![vec![1.0, 1.0], vec![-1.0, 3.0]], vec![-2.0, -1.0]);
        assert_eq!(mixed(&path), expected, "{text}");
        let copy = root.join("copy.dat");
        write(&copy, &read(&path).unwrap()).unwrap();
        assert_eq!(mixed(&copy), expected);
        let solution = solve(&read(&path).unwrap(), "auto", &Request::default()).unwrap();
        assert!(
            (solution.unknowns[0] - 1.25).abs() < 1e-14
                && (solution.unknowns[1] - 0.75).abs() < 1e-14
        );
    }
    // An equality too many: u − v = 0 twice, −u + v − 1 … has no partner unknown.
    std::fs::write(&path, "1 0 1 1 0 1 2 0 1 0 3 2 3 2 1 -1 1 -1 -1 2 0 0 -1").unwrap();
    let (equalities, rows, q) = mixed(&path);
    assert_eq!((equalities, q.len()), (2, 3));
    assert_eq!(rows[0], rows[1]);
    let solution = solve(&read(&path).unwrap(), "auto", &Request::default()).unwrap();
    assert!(solution.solved, "{solution:?}");
    std::fs::remove_dir_all(root).unwrap();
}

fn sliding() -> Record {
    let w = BlockMatrix::from_triplets(3, 1, (0..3).map(|k| (k, k, 1.0)));
    let p = FrictionContact::new(w, vec![-0.1, 1.0, 0.0], vec![0.3], Vec::new()).unwrap();
    Record {
        problem: Problem::Friction(p),
        solution: Some(Point {
            unknowns: vec![0.1, -0.03, 0.0],
            dual: vec![0.0, 0.97, 0.0],
            velocity: Vec::new(),
        }),
        guesses: vec![Point {
            unknowns: vec![0.0; 3],
            ..Point::default()
        }],
        title: Some("a mass that slides".to_owned()),
        rows: Vec::new(),
    }
}

#[test]
fn points_beside_a_problem_are_kept_and_judged() {
    let root = folder("points");
    let record = sliding();
    for name in ["p.hdf5", "p.json"] {
        let path = root.join(name);
        write_record(&path, &record).unwrap();
        let again = read_record(&path).unwrap();
        assert_eq!(again.solution, record.solution, "{name}");
        assert_eq!(again.guesses, record.guesses, "{name}");
        let (good, unscaled) = judge(&again.problem, again.solution.as_ref().unwrap()).unwrap();
        assert!(good < 1e-15 && unscaled.unwrap() < 1e-15);
        let (bad, _) = judge(&again.problem, &again.guesses[0]).unwrap();
        assert!(bad > 0.05, "{bad}");
    }
    let mut wrong = record;
    wrong.guesses[0].unknowns[1] = f64::NAN;
    let path = root.join("nan.hdf5");
    write_record(&path, &wrong).unwrap();
    let text = read_record(&path).unwrap_err().to_string();
    let expected = "entry 1 of the unknowns of the stored guess is NaN";
    assert!(text.contains(expected), "{text}");
    wrong.guesses[0].unknowns[1] = 0.0;
    wrong.guesses[0].unknowns.pop();
    let path = root.join("wrong.json");
    write_record(&path, &wrong).unwrap();
    let text = read_record(&path).unwrap_err().to_string();
    assert!(
        text.contains("guess has 2 unknowns") && text.contains("expected 3"),
        "{text}"
    );
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn stored_points_of_the_collection_are_read() {
    let Some(root) = crate::support::shared("data/fclib") else {
        return;
    };
    let record = read_record(&root.join("local3d/Capsules-i125-1213.hdf5")).unwrap();
    // What the file calls its solution is r = 0 with the free velocity, which solves nothing.
    let point = record.solution.expect("the file has a solution group");
    assert_eq!(point.unknowns.len(), record.problem.unknowns());
    assert!(judge(&record.problem, &point).unwrap().0 > 1e-3);
}

#[test]
fn text_written_for_friction_is_read_again() {
    let Some(root) = crate::support::shared("data/fclib") else {
        return;
    };
    let out = folder("text");
    for name in [
        "local3d/Rover3865.dat",
        "dim2/FrictionContactProblem00031.dat",
        "rolling/RFC3D_cube_1.dat",
    ] {
        let problem = read(&root.join(name)).unwrap();
        let copy = out.join("copy.dat");
        write(&copy, &problem).unwrap();
        let (Problem::Friction(a), Problem::Friction(b)) = (&problem, &read(&copy).unwrap()) else {
            panic!("{name}")
        };
        assert_eq!(a.delassus(), b.delassus(), "{name}");
        assert_eq!(
            (a.free_velocity(), a.friction(), a.rolling()),
            (b.free_velocity(), b.friction(), b.rolling())
        );
    }
    let problem = read(&root.join("global3d/GFC3D_TwoRods1.dat")).unwrap();
    write(&out.join("global.dat"), &problem).unwrap();
    let (Problem::Global(a), Problem::Global(b)) =
        (&problem, &read(&out.join("global.dat")).unwrap())
    else {
        panic!()
    };
    let same = |a: &SparseMatrix, b: &SparseMatrix| assert_eq!(a, b);
    same(a.mass(), b.mass());
    same(a.directions(), b.directions());
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn a_table_has_both_residuals_and_any_number_of_threads_the_same_bits() {
    let root = folder("table");
    write_record(&root.join("a.hdf5"), &sliding()).unwrap();
    std::fs::write(
        root.join("b.json"),
        r#"{"kind":"lcp","matrix":[[1,-1],[-1,1]],"q":[-1,-1]}"#,
    )
    .unwrap();
    let bits = || {
        let runs = solve_folder(&root, &FolderRequest::default(), |_, _| {}).unwrap();
        let table = Table::new(&runs);
        let csv = table.csv();
        assert!(csv.starts_with("problem,kind,size,solver,status"), "{csv}");
        assert!(
            csv.contains("b.json,lcp,2,auto,infeasible,false,true"),
            "{csv}"
        );
        assert!(table.markdown().contains("infeasible, proven"));
        assert!(table.html().contains("class=\"failed\""));
        // Everything but the time, the last column.
        let lines = csv
            .lines()
            .map(|l| l.rsplit_once(',').unwrap().0.to_owned());
        lines.collect::<Vec<_>>()
    };
    let alone = bits();
    let together = std::thread::scope(|s| {
        let all: Vec<_> = (0..3).map(|_| s.spawn(bits)).collect();
        all.into_iter()
            .map(|t| t.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert!(together.iter().all(|lines| *lines == alone));
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn numbers_that_are_not_finite_are_named() {
    let root = folder("finite");
    let path = root.join("p.dat");
    std::fs::write(&path, "2 0 2 2 2 2 1 0 nan 1 -1 -1").unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(
        text.contains("line 1, column 17: found \"nan\", expected M (a finite number)"),
        "{text}"
    );
    std::fs::write(&path, "3 1 0 3 3 3 3\n1 0 0 0 1 0 0 0 1\r\n  0 inf 0 0.3").unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(
        text.contains("line 3, column 5: found \"inf\", expected q (a finite number)"),
        "{text}"
    );
    // What overflows only as it is read is not finite either; entries of a dump stand in lines of their own.
    std::fs::write(&path, "1\n0 1 1\n1 1\n1e400\n-1").unwrap();
    let text = read(&path).unwrap_err().to_string();
    assert!(text.contains("line 4, column 1: found \"1e400\""), "{text}");
    for (value, expected) in [
        (
            "nan",
            "line 7, column 11: found \"nan\", expected M (a finite number)",
        ),
        (
            "5,0",
            "line 7, column 11: found \"5,0\", expected M (a number)",
        ),
    ] {
        let dump = format!("1\n2\n1\n1\n1\nCSparse dump\n    0 0 : {value}\n");
        let dump = dump.replace("dump\n", "dump\ntriplet: 1-by-1, nzmax: 1 nnz: 1\n");
        let expected = expected.replace("line 7", "line 8");
        std::fs::write(&path, dump + "-1").unwrap();
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains(&expected), "{text}");
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// One file of every format.
fn samples() -> Vec<Vec<u8>> {
    let root =
        folder(&format!("samples-{:?}", std::thread::current().id()).replace(['(', ')'], ""));
    let record = sliding();
    let mut list = Vec::new();
    for name in ["p.hdf5", "p.json", "p.dat"] {
        write_record(&root.join(name), &record).unwrap();
        list.push(std::fs::read(root.join(name)).unwrap());
    }
    list.push(b"1 0 1 1 0 1 2 0 1 0 2 2 2 2 1 1 -1 3 -2 -1".to_vec());
    list.push(b"2 0 2 2 2 2 2 1 1 2 -1 -1".to_vec());
    std::fs::remove_dir_all(root).unwrap();
    list
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_files_are_read_or_refused(
        which in 0_usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = samples().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            // Text stays text, so that the readers come far.
            bytes[at] = if which == 0 { value } else { b"0123456789 -.e"[usize::from(value) % 14] };
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let root = folder(&format!("fuzz-{which}"));
        let path = root.join("case");
        std::fs::write(&path, &bytes).unwrap();
        if let Err(error) = read_record(&path) {
            prop_assert!(error.to_string().contains("case"));
        }
    }
}

/// What a problem is and what its rows are stays with it; rows have names all or none.
#[test]
fn a_problem_keeps_its_title_and_the_names_of_its_rows() {
    let root = folder("named");
    let path = root.join("p.json");
    let text = r#"{"kind":"mlcp","title":"step 3","rows":["rate of pin","impact law of floor"],"equalities":1,
        "matrix":[[2,0],[0,1]],"q":[1,-1]}"#;
    std::fs::write(&path, text).unwrap();
    let record = read_record(&path).unwrap();
    assert_eq!(record.title.as_deref(), Some("step 3"));
    assert_eq!(record.rows, ["rate of pin", "impact law of floor"]);
    write_record(&path, &record).unwrap();
    let again = read_record(&path).unwrap();
    assert_eq!((again.title, again.rows), (record.title, record.rows));
    std::fs::write(&path, text.replace(r#""rate of pin","#, "")).unwrap();
    let error = read_record(&path).unwrap_err().to_string();
    assert!(error.contains("rows has 1 names, expected 2"), "{error}");
    std::fs::remove_dir_all(root).unwrap();
}

/// Every example of the page on files is what it says: it is read, and `auto` settles it.
#[test]
fn examples_of_the_documentation_are_solved() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/complementarity.md");
    let page = std::fs::read_to_string(page).unwrap();
    let root = folder("documented");
    let mut kinds = Vec::new();
    for (k, block) in page.split("```json\n").skip(1).enumerate() {
        let text = block.split("```").next().unwrap();
        let path = root.join(format!("{k}.json"));
        std::fs::write(&path, text).unwrap();
        let record = read_record(&path).unwrap();
        let end = solve(&record.problem, "auto", &Request::default()).unwrap();
        assert!(end.solved, "{text}");
        if let Some(point) = &record.solution {
            assert!(judge(&record.problem, point).unwrap().0 <= 1e-12, "{text}");
        }
        kinds.push(end.kind);
    }
    assert_eq!(
        kinds,
        [
            "friction",
            "lcp",
            "mlcp",
            "friction",
            "global-friction",
            "contact"
        ]
    );
    std::fs::remove_dir_all(root).unwrap();
}

/// What is wrong with a JSON problem is named with its line.
#[test]
fn a_refused_document_names_the_line() {
    let root = folder("lines");
    let path = root.join("p.json");
    for (text, line, word) in [
        (
            "{\"kind\": \"lcp\",\n\"matrix\": [[1]],\n\"q\": [\"one\"]}",
            "line 3",
            "invalid type",
        ),
        (
            "{\"kind\": \"lcp\",\n\"matrix\": [[1]],\n\"q\": [1], \"p\": 2}",
            "line 3",
            "`p`",
        ),
        (
            "{\"kind\": \"friction\",\n\"dimension\": 3,\n\"mu\": [0.3,]}",
            "line 3",
            "expected a value",
        ),
        ("{\"kind\": \"lpc\"}", "lpc", "mlcp"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = read_record(&path).unwrap_err().to_string();
        assert!(error.contains(line) && error.contains(word), "{error}");
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// What is wrong with a JSON document is said in its own terms, with line and column.
#[test]
fn complaints_about_json_name_field_and_place() {
    let root = folder("complaints");
    let path = root.join("p.json");
    let friction = |d: u32, q: &str, mu: &str, more: &str| {
        format!(
            "{{\"kind\": \"friction\", \"dimension\": {d},\n \"delassus\": [[0, 0, 1]],\n \"q\": {q},\n \"mu\": {mu}{more}}}"
        )
    };
    let global = |mass: &str| {
        format!(
            "{{\"kind\": \"global-friction\", \"dimension\": 2, \"mu\": [0.5],\n \"mass\": {mass},\n \
             \"directions\": [[0, 0, 1], [1, 1, 1]], \"f\": [0, 0], \"w\": [0, 0]}}"
        )
    };
    let lcp = |matrix: &str, q: &str, more: &str| {
        format!("{{\"kind\": \"lcp\",\n \"matrix\": {matrix},\n \"q\": {q}{more}}}")
    };
    let contact = |blocks: &str, delassus: &str, q: &str| {
        format!(
            "{{\"kind\": \"contact\",\n \"blocks\": {blocks},\n \"delassus\": {delassus},\n \"q\": {q}}}"
        )
    };
    let mlcp = "{\"kind\": \"mlcp\", \"equalities\": -1, \"matrix\": [[1]], \"q\": [1]}".to_owned();
    let coulomb = r#"["unilateral", {"coulomb": {"mu": -0.5, "tangents": 1}}]"#;
    let cases = [
        (
            contact(coulomb, "[]", "[0, 0, 0]"),
            "line 2, column 27",
            "law of block 1",
        ),
        (
            contact(r#"["equality"]"#, "[[0, 0, 1], [0, 1, 1]]", "[0]"),
            "line 3, column 26",
            "entry (0, 1)",
        ),
        (
            contact(r#"["equality"]"#, "[]", "[0, 1]"),
            "line 4, column 7",
            "q has 2 entries, the blocks ask for 1",
        ),
        (
            friction(5, "[0,0,0,0,0]", "[1]", ""),
            "line 1, column 35",
            "`rolling`",
        ),
        (
            friction(5, "[0,0,0,0,0]", "[1]", ",\n\"rolling\": [1, 2]"),
            "line 5, column 12",
            "rolling has 2 entries",
        ),
        (
            friction(5, "[0,0,0,0,0]", "[1]", ",\n\"rolling\": [-1]"),
            "line 5, column 13",
            "of rolling is -1",
        ),
        (
            friction(3, "[0,0,0]", "[1]", ",\n\"rolling\": [1]"),
            "line 5, column 12",
            "do not roll",
        ),
        (
            friction(3, "[0,0,0]", "[1, 1]", ""),
            "line 4, column 8",
            "mu has 2 entries, expected 1",
        ),
        (
            friction(3, "[0,0]", "[1]", ""),
            "line 3, column 7",
            "a multiple of 3",
        ),
        (
            friction(3, "[0,0,0]", "[-1]", ""),
            "line 4, column 9",
            "of mu is -1",
        ),
        (
            friction(3, "[0, NaN, 0]", "[1]", ""),
            "line 3, column 11",
            "q[1] is NaN",
        ),
        (
            friction(3, "[0, -Infinity, 0]", "[1]", ""),
            "line 3, column 11",
            "q[1] is -Infinity",
        ),
        (
            friction(3, "[0, 1e999, 0]", "[1]", ""),
            "line 3, column 11",
            "q[1] is 1e999",
        ),
        (
            friction(3, "[0, \"x\", 0]", "[1]", ""),
            "line 3, column 11",
            "q[1]: invalid type",
        ),
        (
            friction(3, "[0, null, 0]", "[1]", ""),
            "line 3, column 11",
            "expected a number",
        ),
        (friction(3, "[0, 0, 0", "[1]", ""), "line 4", "expected"),
        (
            friction(3, "[0, 0, 0]", "[1]", ", \"mo\": 1"),
            "line 4",
            "mo",
        ),
        (
            global("[[0,0,1],[1,1,-2]]"),
            "line 2, column 19",
            "entry (1, 1) of M is -2",
        ),
        (
            global("[[0,0,1],[0,1,0.5],[1,1,1]]"),
            "line 2, column 19",
            "symmetric",
        ),
        (
            global("[[0,0,1],[1,0,2],[0,1,2],[1,1,1]]"),
            "line 2, column 19",
            "positive definite",
        ),
        (
            global("[[0,0,1]]"),
            "line 2, column 10",
            "entry (1, 1) of M is 0",
        ),
        (
            global("[[0,0,1],[1,1,1],[2,0,1]]"),
            "line 2, column 27",
            "(2, 0) of a 2 × 2",
        ),
        (
            global("[[0,0,1],[1,1]]"),
            "line 2",
            "mass[1]: invalid length 2, expected [row, column, value]",
        ),
        (
            lcp("[[1]]", "[1, 2]", ""),
            "line 2, column 12",
            "matrix has 1 rows",
        ),
        (
            lcp("[[1, 0], [1]]", "[1, 2]", ""),
            "line 2, column 21",
            "row 1 of matrix",
        ),
        (
            lcp("[[1]]", "[1]", ", \"guesses\": [{\"unknowns\": [1, 2]}]"),
            "line 3, column 24",
            "2 unknowns",
        ),
        (
            lcp("[[1]]", "[1]", ", \"rows\": [\"a\", \"b\"]"),
            "line 3, column 20",
            "rows has 2 names",
        ),
        (mlcp, "line 1, column 32", "equalities: invalid value"),
        (
            "{\"kind\": \"lcp\",\n \"q\": [1".to_owned(),
            "line 2, column 8",
            "the file ends inside a list",
        ),
        (String::new(), "line 1, column 1", "the file is empty"),
        ("[]".to_owned(), "line 1, column 1", "this is a list"),
        ("\n 3".to_owned(), "line 2, column 2", "expected one object"),
        (
            "{\"q\": [1]}".to_owned(),
            "line 1, column 1",
            "`kind` is missing",
        ),
    ];
    for (text, place, words) in cases {
        std::fs::write(&path, &text).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.contains(place) && error.contains(words),
            "{text}\n{error}"
        );
        assert!(
            !error.contains("mu_r") && !error.contains("usize"),
            "{error}"
        );
    }
    // A byte order mark is no part of the text.
    std::fs::write(&path, format!("\u{FEFF}{}", lcp("[[1]]", "[1]", ""))).unwrap();
    assert_eq!(mixed(&path).2, [1.0]);
    std::fs::remove_dir_all(root).unwrap();
}

/// Each file once, whatever leads to it, and what cannot be read stops nothing.
#[cfg(unix)]
#[test]
fn links_in_a_folder_are_followed_once() {
    use std::os::unix::fs::symlink;
    let root = folder("links");
    let set = root.join("set");
    std::fs::create_dir_all(set.join("b/c")).unwrap();
    std::fs::create_dir_all(root.join("outside")).unwrap();
    let text = r#"{"kind":"lcp","matrix":[[2]],"q":[-1]}"#;
    for name in ["set/a.json", "set/b/c/d.json", "outside/e.json", "up.json"] {
        std::fs::write(root.join(name), text).unwrap();
    }
    symlink("..", set.join("b/loop")).unwrap();
    symlink("../..", set.join("b/above")).unwrap();
    symlink("b", set.join("also-b")).unwrap();
    symlink("a.json", set.join("again.json")).unwrap();
    symlink("../outside", set.join("out")).unwrap();
    symlink("../outside/e.json", set.join("zz.json")).unwrap();
    symlink("nowhere.json", set.join("lost.json")).unwrap();
    symlink("self", set.join("self")).unwrap();
    std::fs::create_dir(set.join("folder.json")).unwrap();
    let asked = FolderRequest {
        solvers: Some(vec!["auto".into()]),
        ..FolderRequest::default()
    };
    let mut seen = Vec::new();
    let runs = solve_folder(&set, &asked, |path, result| {
        seen.push((path.to_str().unwrap().to_owned(), result.is_ok()));
    })
    .unwrap();
    let expected = [
        ("a.json", true),
        ("b/c/d.json", true),
        ("lost.json", false),
        ("out/e.json", true),
    ];
    let expected = expected.map(|(name, read)| (name.to_owned(), read));
    assert_eq!(seen, expected);
    assert_eq!(runs.len(), 3);
    std::fs::remove_dir_all(root).unwrap();
}
