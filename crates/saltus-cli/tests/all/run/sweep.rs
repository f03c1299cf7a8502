//! `saltus sweep`: one table of many runs.

use super::{Folder, appears, good};
use std::process::Stdio;

impl Folder {
    /// The table of a sweep, cell by cell.
    fn runs(&self, directory: &str) -> Vec<Vec<String>> {
        let text = self.text(&format!("{directory}/runs.csv"));
        let lines = text.lines().map(|line| line.split(',').map(str::to_owned));
        lines.map(Iterator::collect).collect()
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap()
    }
}

/// The cells of a column, from its header.
fn column(rows: &[Vec<String>], name: &str) -> Vec<String> {
    let at = rows[0].iter().position(|n| n == name);
    let at = at.unwrap_or_else(|| panic!("no {name} in {:?}", rows[0]));
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

fn numbers(cells: &[String]) -> Vec<f64> {
    cells.iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn a_grid_is_the_same_for_any_number_of_jobs() {
    let folder = Folder::new("grid");
    let ball = good("ball.toml");
    let grid = [
        "--set",
        "parameters.e=0:1:3",
        "--set",
        "simulation.step=[2e-3,1e-3]",
    ];
    let sweep = [&["sweep", &ball], &grid[..]].concat();
    for jobs in ["1", "2", "5"] {
        let (code, out, err) = folder.saltus(&[&sweep[..], &["-j", jobs, "-o", jobs]].concat());
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.contains("6 runs: 6 to the end"), "{out}");
        assert_eq!(
            folder.text("1/runs.csv"),
            folder.text(&format!("{jobs}/runs.csv"))
        );
    }
    let rows = folder.runs("1");
    assert_eq!(column(&rows, "run"), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(
        column(&rows, "parameters.e"),
        ["0", "0", "0.5", "0.5", "1", "1"]
    );
    assert_eq!(column(&rows, "simulation.step")[..2], ["2e-3", "1e-3"]);
    assert_eq!(column(&rows, "steps")[..2], ["2000", "4000"]);
    // Without restitution there is one impact, after sqrt(2 · 0.801 / 10) s.
    assert_eq!(column(&rows, "events.impacts")[..2], ["1", "1"]);
    let last = numbers(&column(&rows, "events.last_impact"));
    assert!((last[1] - 0.160_2_f64.sqrt()).abs() < 2e-3, "{last:?}");
    // What a single run says of the same.
    let run = ["run", &ball, "--set", "parameters.e=0.5", "--quiet"];
    assert_eq!(folder.saltus(&run).0, Some(0));
    let summary = folder.summary("out/ball");
    let of = |name: &str| numbers(&column(&rows, name))[2];
    assert_eq!(of("energy.final"), summary["energy"]["final"]);
    let penetration = &summary["certificate"]["penetration"]["worst"];
    assert_eq!(of("certificate.penetration"), *penetration);
    let table = folder.text("out/ball/trajectory.csv");
    let (header, row) = (table.lines().next().unwrap(), table.lines().last().unwrap());
    let at = header.split(',').position(|name| name == "q.y").unwrap();
    assert_eq!(column(&rows, "q.y")[2], row.split(',').nth(at).unwrap());
}

#[test]
fn runs_that_fail_are_rows_with_their_reason() {
    let folder = Folder::new("failed-runs");
    let sweep = |model: &str, set: &str, out: &str| {
        folder.saltus(&[
            "sweep",
            &good(model),
            "--set",
            set,
            "-o",
            out,
            "--collect",
            "steps",
        ])
    };
    let (code, out, err) = sweep("ball.toml", "parameters.e=[0.5,1.5]", "a");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("1 to the end, 1 refused"), "{out}");
    let text = folder.text("a/runs.csv");
    let refused = text.lines().last().unwrap();
    assert!(refused.starts_with("1,1.5,refused,,"), "{text}");
    assert!(
        refused.contains("1.5") && refused.contains("restitution"),
        "{text}"
    );
    // Said once.
    assert_eq!(refused.matches("expected").count(), 1, "{text}");
    let schemes =
        r#"simulation.scheme={name="moreau-jean",theta=0.5},{name="moreau-jean",theta=1.0}"#;
    let (code, out, err) = sweep("ball.toml", schemes, "schemes");
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("2 runs: 2 to the end"), "{out}");
    let (code, out, _) = sweep("leaves_domain.toml", "simulation.until=[0.05,1]", "b");
    assert_eq!(code, Some(0));
    assert!(out.contains("1 with a step that failed"), "{out}");
    let text = folder.text("b/runs.csv");
    let failed = text.lines().last().unwrap();
    assert!(failed.starts_with("1,1,step-failed,10,"), "{text}");
    assert!(failed.contains("step 11"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_killed_sweep_goes_on() {
    let folder = Folder::new("killed-sweep");
    let ball = good("ball.toml");
    let grid = ["--set", "parameters.e=0:1:300", "--quiet", "-j", "2"];
    let sweep = [&["sweep", &ball], &grid[..]].concat();
    let whole = [&sweep[..], &["-o", "whole", "-f", "npz", "-f", "hdf5"]].concat();
    let (code, _, err) = folder.saltus(&whole);
    assert_eq!(code, Some(0), "{err}");
    for name in ["runs.npz", "runs.h5"] {
        assert!(folder.0.join("whole").join(name).is_file(), "no {name}");
    }
    let cut = [&sweep[..], &["-o", "cut"]].concat();
    let growing = folder.0.join("cut/runs.csv.partial");
    let mut rows = 0;
    for signal in ["-KILL", "-INT", "-KILL"] {
        let mut child = folder.command(&cut).stderr(Stdio::null()).spawn().unwrap();
        if !appears(&growing) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(80));
        let id = child.id().to_string();
        let _ = std::process::Command::new("kill")
            .args([signal, &id])
            .status();
        let code = child.wait().unwrap().code();
        assert!(matches!(code, None | Some(0 | 130)), "{code:?}");
        let Ok(text) = std::fs::read_to_string(&growing) else {
            break; // it was faster
        };
        let now = text.lines().count();
        assert!(now >= rows, "{now} rows after {rows}");
        rows = now;
    }
    // A line that was cut off is written again.
    if let Ok(text) = std::fs::read(&growing) {
        std::fs::write(&growing, &text[..text.len() - 3]).unwrap();
    }
    let (code, _, err) = folder.saltus(&cut);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(folder.text("cut/runs.csv"), folder.text("whole/runs.csv"));
    // What is done is not done again.
    let before = std::fs::metadata(folder.0.join("cut/runs.csv")).unwrap();
    let (code, _, _) = folder.saltus(&cut);
    let after = std::fs::metadata(folder.0.join("cut/runs.csv")).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
}

#[test]
fn random_values_are_those_of_their_seed() {
    let folder = Folder::new("random");
    let ball = good("ball.toml");
    let draw = |seed: &str, jobs: &str, out: &str| {
        let what = [
            "--set",
            "parameters.e=0.2:0.4",
            "--set",
            "parameters.h0=[1,2]",
        ];
        let how = [
            "--random", "40", "--seed", seed, "--jobs", jobs, "-o", out, "--quiet",
        ];
        let (code, _, err) = folder.saltus(&[&["sweep", &ball], &what[..], &how].concat());
        assert_eq!(code, Some(0), "{err}");
        folder.runs(out)
    };
    let (a, b, other) = (
        draw("7", "1", "a"),
        draw("7", "2", "b"),
        draw("8", "1", "c"),
    );
    assert_eq!(a, b);
    assert_ne!(column(&a, "parameters.e"), column(&other, "parameters.e"));
    let e = numbers(&column(&a, "parameters.e"));
    assert_eq!(e.len(), 40);
    assert!(e.iter().all(|e| (0.2..0.4).contains(e)), "{e:?}");
    assert!(
        e.iter().any(|e| *e < 0.25) && e.iter().any(|e| *e > 0.35),
        "{e:?}"
    );
    let h = column(&a, "parameters.h0");
    assert!(
        h.iter().any(|h| h == "1") && h.iter().any(|h| h == "2"),
        "{h:?}"
    );
}

#[test]
fn a_sweep_that_makes_no_sense_runs_nothing() {
    let folder = Folder::new("no-sweep");
    let ball = good("ball.toml");
    let cases: [(&[&str], &str); 10] = [
        (&["--set", "parameters.e=0:1"], "--random N"),
        (&["--set", "parameters.E=0:1:3"], "did you mean"),
        (&["--set", "parameters.e=0:1:x"], "no number of values"),
        (&["--set", "parameters.e"], "sets nothing"),
        (
            &["--set", "parameters.e=[1", "--collect", "steps"],
            "expected a list",
        ),
        (
            &["--collect", "energy.finale"],
            "did you mean \"energy.final\"?",
        ),
        (&["--collect", "energies.*"], "a * stands for any text"),
        (
            &["--collect", "counts.*"],
            "this scheme counts nothing of its own",
        ),
        (&["--format", "vtk"], "csv, npz and hdf5"),
        (
            &["--set", "parameters.e=0:1:2", "--set", "parameters.e=1"],
            "given twice",
        ),
    ];
    for (more, reason) in cases {
        let (code, out, err) = folder.saltus(&[&["sweep", &ball], more].concat());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{more:?}: {err}");
        assert!(err.contains(reason), "{more:?}: {err}");
        assert!(err.contains("nothing was run"), "{more:?}: {err}");
    }
    assert!(!folder.0.join("out").exists());
    let sweep = |n: &str, more: &[&str]| {
        let set = format!("parameters.e=0:1:{n}");
        folder.saltus(&[&["sweep", &ball, "-o", "same", "--set", &set], more].concat())
    };
    assert_eq!(sweep("3", &[]).0, Some(0));
    let (code, _, err) = sweep("4", &[]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("another sweep (another set)") && err.contains("--force"),
        "{err}"
    );
    assert_eq!(sweep("4", &["--force"]).0, Some(0));
    assert_eq!(folder.runs("same").len(), 5);
}

#[test]
fn a_star_collects_whatever_fits_and_texts_need_no_quotes() {
    let folder = Folder::new("patterns");
    let ball = good("ball.toml");
    let sweep = |more: &[&str], out: &str| {
        let fixed = ["sweep", &ball, "--until", "0.5", "-q", "-o", out];
        let (code, _, err) = folder.saltus(&[&fixed[..], more].concat());
        assert_eq!((code, err.as_str()), (Some(0), ""));
        folder.runs(out)
    };
    let scheme = "simulation.scheme=[moreau-jean, nonsmooth-hht]";
    let rows = sweep(&["--set", scheme, "--collect", "energy.work_*"], "schemes");
    assert_eq!(column(&rows, "simulation.scheme")[1], "nonsmooth-hht");
    assert_eq!(
        rows[0][3..6],
        [
            "energy.work_external",
            "energy.work_contact",
            "energy.work_moving"
        ]
    );
    // What only a scheme counts is known before its first step.
    let adaptive = [
        "--scheme",
        "adaptive-moreau-jean",
        "--collect",
        "counts.*,max.q.*",
    ];
    let rows = sweep(&adaptive, "counts");
    assert_eq!(column(&rows, "counts.accepted_at_shortest_step").len(), 1);
    assert_eq!(numbers(&column(&rows, "max.q.y")).len(), 1);
    // Of several schemes each has its own counts, and none of the others.
    let schemes = "simulation.scheme=[moreau-jean, event-driven, splitting]";
    let rows = sweep(&["--set", schemes, "--collect", "counts.*"], "several");
    let impacts = column(&rows, "counts.located_impacts");
    assert!(impacts[0].is_empty() && !impacts[1].is_empty() && impacts[2].is_empty());
    assert!(!column(&rows, "counts.flows")[2].is_empty());
}
