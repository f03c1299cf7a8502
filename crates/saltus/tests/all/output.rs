//! Results on disk: every format reads back, and is complete however a run ends.

use crate::support::exact_ball::ExactBall;
use crate::support::{Failing, LECTURE, directory, folder, lecture, run, summary};
use saltus::observe::{EventKind, StopFlag};
use saltus::output::{Format, OutputError, ResultDirectory, RunCard, read_csv};
use saltus::{
    Frame, Observer, ObserverError, RunInfo, Scheme, Simulation, State, Stop, Trajectory,
};
use saltus_integrators::Event;
use saltus_zoo::Linear;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

fn bits(row: &[f64]) -> Vec<Option<u64>> {
    row.iter()
        .map(|x| (!x.is_nan()).then_some(x.to_bits()))
        .collect()
}

fn assert_same(a: &Trajectory, b: &Trajectory) {
    assert_eq!(a.columns(), b.columns());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.rows().zip(b.rows()) {
        assert_eq!(bits(a), bits(b));
    }
}

/// The arrays of a NumPy archive, read by hand.
fn read_npz(path: &Path) -> Vec<(String, Vec<f64>)> {
    let mut archive = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    (0..archive.len())
        .map(|i| {
            let mut member = archive.by_index(i).unwrap();
            let name = member
                .name()
                .unwrap()
                .strip_suffix(".npy")
                .unwrap()
                .to_owned();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut member, &mut bytes).unwrap();
            assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
            let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            let values: Vec<f64> = bytes[start..]
                .chunks_exact(8)
                .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
                .collect();
            let header = String::from_utf8_lossy(&bytes[10..start]).into_owned();
            assert!(
                header.contains(&format!("'shape': ({},)", values.len())),
                "{header}"
            );
            (name, values)
        })
        .collect()
}

#[test]
fn every_format_reads_back_to_the_same_bits() {
    let path = folder("formats");
    let expected = lecture(&LECTURE).record().unwrap();
    let mut files = directory(&path)
        .formats(&[Format::Hdf5, Format::Csv, Format::Npz])
        .report(true)
        .open()
        .unwrap();
    lecture(&LECTURE).run(&mut [&mut files]).unwrap();

    assert_same(&read_csv(path.join("trajectory.csv")).unwrap(), &expected);

    let arrays = read_npz(&path.join("trajectory.npz"));
    assert_eq!(arrays.len(), expected.columns().len());
    for (name, values) in &arrays {
        assert_eq!(
            bits(values),
            bits(&expected.column(name).unwrap().to_vec()),
            "{name}"
        );
    }

    let hdf5 = hdf5_pure::File::open(path.join("trajectory.h5")).unwrap();
    for column in expected.columns() {
        let values = hdf5.dataset(column.name()).unwrap().read_f64().unwrap();
        assert_eq!(
            bits(&values),
            bits(&expected.column(column.name()).unwrap().to_vec())
        );
    }

    drop(files);
    let mut found: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "events.csv",
            "report.html",
            "summary.json",
            "trajectory.csv",
            "trajectory.h5",
            "trajectory.npz"
        ]
    );
}

#[test]
fn long_columns_cross_blocks() {
    // 11 columns: a block has 65536 rows; two full ones and a part.
    let path = folder("blocks");
    let mut files = directory(&path)
        .formats(&[Format::Npz, Format::Hdf5])
        .open()
        .unwrap();
    lecture(&LECTURE).step(2e-5).run(&mut [&mut files]).unwrap();
    let expected = lecture(&LECTURE).step(2e-5).record().unwrap();
    assert_eq!(expected.len(), 200_001);
    let hdf5 = hdf5_pure::File::open(path.join("trajectory.h5")).unwrap();
    for (name, values) in read_npz(&path.join("trajectory.npz")) {
        let expected = bits(&expected.column(&name).unwrap().to_vec());
        assert!(bits(&values) == expected, "npz {name}");
        assert!(
            bits(&hdf5.dataset(&name).unwrap().read_f64().unwrap()) == expected,
            "hdf5 {name}"
        );
    }
    assert!(!path.join("trajectory.npz.spool").exists());
}

#[test]
fn numpy_and_h5py_read_the_files() {
    let python = "/usr/bin/python3";
    let modules = Command::new(python)
        .args(["-c", "import numpy, h5py"])
        .output();
    if !modules.is_ok_and(|m| m.status.success()) {
        eprintln!(
            "SKIPPED: {python} with numpy and h5py is not installed; the files are read by this crate only"
        );
        return;
    }
    let path = folder("python");
    let mut files = directory(&path)
        .formats(&[Format::Csv, Format::Npz, Format::Hdf5])
        .open()
        .unwrap();
    lecture(&LECTURE).step(5e-5).run(&mut [&mut files]).unwrap();
    let script = r#"
import sys, numpy as np, h5py
n = np.load(sys.argv[1] + "/trajectory.npz"); h = h5py.File(sys.argv[1] + "/trajectory.h5")
c = np.genfromtxt(sys.argv[1] + "/trajectory.csv", delimiter=",", names=True, deletechars="")
assert list(n.keys()) == list(c.dtype.names), (list(n.keys()), c.dtype.names)
assert set(h.keys()) == set(n.keys())
assert h.attrs["model"] == "lecture ball" and h.attrs["scheme"] == "moreau-jean" and h.attrs["step"] == 5e-5
assert h["impulse.contact0"].attrs["unit"] == "N·s"
for k in n.keys():
    assert n[k].dtype == np.float64 and n[k].shape == (80001,)
    assert np.array_equal(n[k], h[k][:], equal_nan=True), k
    assert np.array_equal(n[k], c[k], equal_nan=True), k
"#;
    let run = Command::new(python)
        .arg("-c")
        .arg(script)
        .arg(&path)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn the_summary_says_what_the_design_promises() {
    let path = folder("summary");
    let mut files = directory(&path).open().unwrap();
    lecture(&LECTURE).run(&mut [&mut files]).unwrap();
    let summary = summary(&path);
    for key in [
        "format",
        "saltus",
        "model",
        "scheme",
        "step",
        "steps",
        "t_end",
        "wall_s",
        "step_us",
        "iterations_mean",
        "iterations_max",
        "constraints",
        "certificate",
        "events",
        "energy",
        "stop",
        "files",
    ] {
        assert!(!summary[key].is_null(), "{key} is missing");
    }
    assert_eq!(summary["scheme"]["name"], "moreau-jean");
    assert_eq!(summary["scheme"]["tolerance"], 1e-10);
    assert_eq!(
        (&summary["steps"], &summary["t_end"]),
        (&4000.into(), &4.0.into())
    );
    assert_eq!(summary["stop"], "end-reached");
    for (name, entry) in summary["certificate"].as_object().unwrap() {
        assert!(
            entry["guaranteed"].is_boolean() && entry["worst"].is_number(),
            "{name}"
        );
        assert!(
            entry["at"].is_number() && entry["unit"].is_string(),
            "{name}"
        );
    }
    assert!(summary["certificate"].get("cone").is_none());
    let events = &summary["events"];
    assert_eq!(events["accumulation"], 1);
    assert!(events["impacts"].as_u64().unwrap() > 5);
    assert_eq!((&events["stick"], &events["slip"]), (&0.into(), &0.into()));
    assert_eq!(summary["energy"]["initial"], 2.0);
    assert_eq!(
        summary["files"],
        serde_json::json!(["trajectory.csv", "events.csv", "summary.json"])
    );
    assert_eq!(summary["constraints"], serde_json::json!({"redundant": 0}));
    assert!(summary.get("notes").is_none());
}

#[test]
fn the_scheme_is_recorded_with_what_follows_from_its_options() {
    let settled = [
        ("moreau-jean", "theta", 0.5),
        ("nonsmooth-newmark", "beta", 0.25),
    ];
    for info in Scheme::ALL {
        let scheme = Scheme::by_name(info.name).unwrap();
        let path = folder(&format!("scheme-{}", info.name));
        let mut files = ResultDirectory::new(&path, RunCard::new("spring", &scheme))
            .report(true)
            .open()
            .unwrap();
        let spring = Linear {
            n: 1,
            mass: vec![(0, 0, 1.0)],
            stiffness: vec![(0, 0, 4.0)],
            load: vec![0.0],
            ..Linear::default()
        };
        Simulation::new(&spring, scheme)
            .start(State::new(0.0, vec![1.0], vec![0.0]))
            .step(1e-2)
            .until(0.1)
            .run(&mut [&mut files])
            .unwrap();
        let summary = summary(&path);
        let options = summary["scheme"].as_object().unwrap();
        let html = fs::read_to_string(path.join("report.html")).unwrap();
        let set = options.iter().filter(|(_, value)| !value.is_null());
        for (name, _) in set.filter(|(name, _)| *name != "name") {
            let cell = format!("<td><code>{name}</code></td>");
            assert!(html.contains(&cell), "{}: {name} is missing", info.name);
        }
        let shown = html.split("<script>").next().unwrap();
        assert!(!shown.contains("null"), "{}", info.name);
        for (_, option, value) in settled.iter().filter(|s| s.0 == info.name) {
            assert_eq!(options[*option], *value);
        }
    }
}

#[test]
fn redundant_constraints_are_counted() {
    // The same floor twice: one of the two multipliers is not unique.
    let ball = Linear {
        n: 1,
        mass: vec![(0, 0, 1.0)],
        load: vec![-9.81],
        contacts: vec![(0.0, vec![(0, 1.0)], 0.5), (0.0, vec![(0, 1.0)], 0.5)],
        ..Linear::default()
    };
    let path = folder("redundant");
    let mut files = directory(&path).report(true).open().unwrap();
    Simulation::new(&ball, crate::support::scheme())
        .start(State::new(0.0, vec![0.0], vec![0.0]))
        .step(1e-2)
        .until(0.1)
        .run(&mut [&mut files])
        .unwrap();
    assert_eq!(
        summary(&path)["constraints"],
        serde_json::json!({"redundant": 1})
    );
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(html.contains("<dt>Redundant constraints</dt><dd>1</dd>"));
}

#[test]
fn notes_are_part_of_the_result() {
    let note = "positions changed by up to 1 < 2 mm";
    let card = RunCard {
        notes: vec![note.to_owned()],
        ..RunCard::new("lecture ball", &crate::support::scheme())
    };
    let path = folder("notes");
    let mut files = ResultDirectory::new(&path, card)
        .report(true)
        .open()
        .unwrap();
    lecture(&LECTURE).until(0.1).run(&mut [&mut files]).unwrap();
    assert_eq!(summary(&path)["notes"], serde_json::json!([note]));
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    let (verdict, shown) = (
        html.find("class=\"verdict ").unwrap(),
        html.find("positions changed by up to 1 &lt; 2 mm").unwrap(),
    );
    assert!(verdict < shown && shown < html.find("</header>").unwrap());
}

#[test]
fn a_report_is_bounded_and_draws_nothing_that_is_not_there() {
    // A ball at rest on the floor beside one that bounces without end: 100000 steps.
    let model = crate::support::model(
        "bounded",
        r#"
saltus = 1
system.coordinates = ["rest", "bounce"]
system.mass = [1, 1]
system.force = [-10, -10]
system.unilateral = [
    { name = "floor", gap = "rest", restitution = 0 },
    { name = "drum", gap = "bounce", restitution = 1 },
]
initial.q = { rest = 0, bounce = 0.05 }
simulation = { scheme = "moreau-jean", step = 1e-3, until = 100 }
"#,
    );
    let path = folder("bounded");
    let mut files = ResultDirectory::new(&path, RunCard::new("bounded", &model.scheme))
        .report(true)
        .open()
        .unwrap();
    run(&model, &mut files);
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(html.len() < 500_000, "{} bytes", html.len());
    assert!(!html.contains("NaN") && !html.contains("points=\"\"") && !html.contains("inf"));
    let positions = html.split("<h2>Positions</h2>").nth(1).unwrap();
    let positions = positions.split("</section>").next().unwrap();
    assert_eq!(positions.matches("<figure>").count(), 1);
    assert!(
        positions.contains("Zero throughout: q.rest."),
        "{positions}"
    );
    let corrections = html
        .split("<h2>Newton corrections per step</h2>")
        .nth(1)
        .unwrap();
    let corrections = corrections.split("</section>").next().unwrap();
    assert!(!corrections.contains(">0.5</span>") && !corrections.contains(">1.5</span>"));
}

#[test]
fn a_failed_step_leaves_valid_files() {
    let path = folder("failed");
    let mut files = directory(&path)
        .formats(&[Format::Csv, Format::Npz, Format::Hdf5])
        .every(100)
        .report(true)
        .open()
        .unwrap();
    let result = Simulation::new(&LECTURE, Failing::after(123))
        .start(State::new(0.0, vec![1.0], vec![0.0]))
        .step(1e-3)
        .until(4.0)
        .run(&mut [&mut files]);
    assert!(result.is_err());
    // Rows 0 and 100, and the last.
    let csv = read_csv(path.join("trajectory.csv")).unwrap();
    assert_eq!(csv.t().to_vec(), [0.0, 0.1, 0.123]);
    assert_eq!(
        read_npz(&path.join("trajectory.npz"))[0].1,
        [0.0, 0.1, 0.123]
    );
    assert_eq!(
        hdf5_pure::File::open(path.join("trajectory.h5"))
            .unwrap()
            .dataset("t")
            .unwrap()
            .read_f64()
            .unwrap()
            .len(),
        3
    );
    let summary = summary(&path);
    assert_eq!(
        (&summary["stop"], &summary["steps"]),
        (&"step-failed".into(), &123.into())
    );
    assert_eq!(summary["failed_step"], 124);
    assert!(summary["error"].as_str().unwrap().contains("not finite"));
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(html.contains(
        "<p class=\"verdict failed\"><b>Failed</b> in step 124, which starts at t = 0.123\u{a0}s;"
    ));
    let error = html.split("<p class=\"error\">").nth(1).unwrap();
    assert!(error.split("</p>").next().unwrap().contains("not finite"));
}

#[test]
fn an_interrupted_run_leaves_valid_files() {
    struct RaiseAt(u64, StopFlag);
    impl Observer for RaiseAt {
        fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
            Ok(())
        }
        fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
            if frame.step == self.0 {
                self.1.raise();
            }
            Ok(ControlFlow::Continue(()))
        }
        fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
            Ok(())
        }
    }
    let path = folder("interrupted");
    let mut files = directory(&path).report(true).open().unwrap();
    let mut flag = StopFlag::new();
    let mut raise = RaiseAt(50, flag.clone());
    let run = lecture(&LECTURE)
        .run(&mut [&mut files, &mut raise, &mut flag])
        .unwrap();
    assert_eq!(run.outcome.stop, Stop::Interrupted);
    assert_eq!(summary(&path)["stop"], "interrupted");
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    assert!(html.contains("<p class=\"verdict look\"><b>Look</b> interrupted · 50\u{a0}steps"));
    assert_eq!(read_csv(path.join("trajectory.csv")).unwrap().len(), 51);
}

#[test]
fn the_report_loads_nothing() {
    let path = folder("report");
    let mut files = directory(&path).report(true).open().unwrap();
    lecture(&LECTURE).run(&mut [&mut files]).unwrap();
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    for foreign in [
        "http:", "https:", "//", "src=", "href=", "url(", "@import", "<link", "<img", "fetch",
        "import(",
    ] {
        assert!(!html.contains(foreign), "the report contains `{foreign}`");
    }
    for heading in [
        "Positions",
        "Velocities",
        "Gaps",
        "Impulses",
        "Energy",
        "Certificate",
        "Parameters",
        "How to reproduce",
    ] {
        assert!(html.contains(heading), "no section {heading}");
    }
    assert!(html.contains("<p class=\"verdict done\"><b>Done</b> "));
    // One script, in the page itself.
    assert_eq!(html.matches("<script>").count(), 1);
    assert_eq!(html.matches("<script").count(), 1);
    for axis in ["impulse [N·s]", "gap [m]", "energy [J]", "energy lost [J]"] {
        assert!(html.contains(axis), "no axis {axis}");
    }
    assert!(html.contains("<path class=\"stem c1\""));
    // What the largest gain is, and what it contains.
    assert!(html.contains("beyond external work and the work of prescribed motions"));
    assert!(!html.contains("NaN"));
}

#[test]
fn a_result_of_another_model_is_not_overwritten_unasked() {
    let path = folder("other");
    let mut files = directory(&path)
        .formats(&[Format::Npz])
        .report(true)
        .open()
        .unwrap();
    lecture(&LECTURE).until(0.1).run(&mut [&mut files]).unwrap();
    drop(files);
    let other = || {
        saltus::output::ResultDirectory::new(
            &path,
            saltus::output::RunCard::new("pendulum", &crate::support::scheme()),
        )
    };
    let error = other().open().err().unwrap();
    assert!(
        matches!(&error, OutputError::OtherModel { found, .. } if found == "lecture ball"),
        "{error}"
    );
    assert!(error.to_string().contains("--force"));
    assert!(directory(&path).open().is_ok());
    // A forced run leaves nothing of the old result behind.
    let mut files = other().force(true).open().unwrap();
    assert!(path.join("report.html").exists());
    lecture(&LECTURE).until(0.1).run(&mut [&mut files]).unwrap();
    assert!(!path.join("report.html").exists() && !path.join("trajectory.npz").exists());
    assert_eq!(summary(&path)["model"], "pendulum");
}

#[test]
fn foreign_files_are_not_overwritten_unasked() {
    for (name, content) in [
        ("trajectory.csv", "precious"),
        ("trajectory.h5", "precious"),
        ("report.html", "precious"),
        ("summary.json", "{\"a\":1}"),
        ("summary.json", "{\"model\":\"lecture ball\"}"),
        ("summary.json", "not JSON"),
    ] {
        let path = folder("foreign");
        fs::create_dir_all(&path).unwrap();
        let file = path.join(name);
        fs::write(&file, content).unwrap();
        let error = directory(&path).open().err().unwrap();
        assert!(
            matches!(&error, OutputError::Foreign { path } if *path == file),
            "{error}"
        );
        assert!(error.to_string().contains("--force"));
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
        let mut files = directory(&path).force(true).open().unwrap();
        lecture(&LECTURE).until(0.1).run(&mut [&mut files]).unwrap();
        assert_eq!(summary(&path)["stop"], "end-reached");
    }
    // Files of other names are nobody's business.
    let path = folder("foreign");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    assert!(directory(&path).open().is_ok());
}

#[test]
fn a_run_that_is_killed_leaves_a_directory_of_its_own() {
    /// Looks at the summary in the middle of a run.
    struct Look(std::path::PathBuf, Option<serde_json::Value>);
    impl Observer for Look {
        fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
            Ok(())
        }
        fn frame(&mut self, _: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
            self.1.get_or_insert_with(|| summary(&self.0));
            Ok(ControlFlow::Continue(()))
        }
        fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
            Ok(())
        }
    }
    let path = folder("killed");
    let mut files = directory(&path).open().unwrap();
    let mut look = Look(path.clone(), None);
    lecture(&LECTURE)
        .until(0.1)
        .run(&mut [&mut files, &mut look])
        .unwrap();
    let (running, ended) = (look.1.unwrap(), summary(&path));
    assert_eq!(running["stop"], "running");
    for (key, value) in running.as_object().unwrap() {
        assert!(key == "stop" || ended[key] == *value, "{key}");
    }
    assert_eq!(running["step"], 1e-3);
    drop(files);
    // Killed there, the next run of the model goes ahead, that of another one does not.
    fs::write(path.join("summary.json"), running.to_string()).unwrap();
    assert!(directory(&path).open().is_ok());
    let other = RunCard::new("pendulum", &crate::support::scheme());
    assert!(matches!(
        ResultDirectory::new(&path, other).open(),
        Err(OutputError::OtherModel { .. })
    ));
}

#[test]
fn bad_paths_and_formats_are_errors_before_the_run() {
    let path = folder("bad");
    fs::create_dir_all(&path).unwrap();
    let file = path.join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(
        directory(&file).open(),
        Err(OutputError::NotADirectory { .. })
    ));
    assert!(matches!(
        directory(&file.join("below")).open(),
        Err(OutputError::Io { .. })
    ));
    assert!(matches!(
        directory(&path).formats(&[Format::Vtk]).open(),
        Err(OutputError::VtkUnavailable)
    ));
    assert!(
        "vtu"
            .parse::<Format>()
            .unwrap_err()
            .to_string()
            .contains("hdf5")
    );
    assert!(matches!(
        read_csv(path.join("absent.csv")),
        Err(OutputError::Io { .. })
    ));
    fs::write(&file, "t,q.y\n0,1\n1,one\n").unwrap();
    let error = read_csv(&file).unwrap_err().to_string();
    assert!(
        error.contains("line 3") && error.contains("`one`") && error.contains("q.y"),
        "{error}"
    );
}

/// The lines of a CSV file, cell by cell.
fn cells(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let lines = reader.records().map(|line| line.unwrap());
    lines
        .map(|line| line.iter().map(str::to_owned).collect())
        .collect()
}

#[test]
fn reported_events_are_written_with_their_numbers() {
    let path = folder("events");
    let mut files = directory(&path).report(true).open().unwrap();
    Simulation::new(&LECTURE, ExactBall::new(LECTURE))
        .start(State::new(0.0, vec![1.0], vec![0.0]))
        .step(0.1)
        .until(4.0)
        .run(&mut [&mut files])
        .unwrap();
    let lines = cells(&path.join("events.csv"));
    assert_eq!(
        lines[0].join(","),
        "t,step,kind,contact,gap_velocity_before,gap_velocity_after,impulse,energy_lost,energy.kinetic,energy.potential,energy.total"
    );
    // The k-th impact is at 3 − 2^(2 − k), with −2^(2 − k) before and half of that after.
    for (k, line) in lines[1..].iter().enumerate() {
        let v = 2.0_f64.powi(1 - k as i32);
        let last = k + 2 == lines.len();
        let after = if last { 0.0 } else { 0.5 * v };
        assert_eq!(line[2], if last { "accumulation" } else { "impact" });
        assert_eq!(line[3], "contact0");
        let number = |i: usize| line[i].parse::<f64>().unwrap();
        let exact = [
            (0, 3.0 - v),
            (4, -v),
            (5, after),
            (6, v + after),
            (7, 0.5 * (v * v - after * after)),
            (8, 0.5 * after * after),
            (9, 0.0),
            (10, 0.5 * after * after),
        ];
        for (i, exact) in exact {
            assert!((number(i) - exact).abs() < 1e-12, "{line:?}, column {i}");
        }
    }
    let impacts = lines.len() - 2;
    assert_eq!(impacts, 10);
    let summary = summary(&path);
    let events = &summary["events"];
    assert_eq!(
        (&events["impacts"], &events["accumulation"]),
        (&10.into(), &1.into())
    );
    assert!((events["first_impact"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(summary["rejected"], 11);
    // The longest step is the plan's; the last one, cut at the end, does not count.
    let range = &summary["step_range"];
    let table = read_csv(path.join("trajectory.csv")).unwrap();
    let times = table.t().to_vec();
    let lengths: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    let shortest = lengths[..lengths.len() - 1]
        .iter()
        .copied()
        .fold(1.0, f64::min);
    assert_eq!(range["longest"], 0.1);
    assert!((range["shortest"].as_f64().unwrap() - shortest).abs() < 1e-14);
    assert_eq!(table.len() as u64, summary["steps"].as_u64().unwrap() + 1);
    assert_eq!(
        summary["files"],
        serde_json::json!([
            "trajectory.csv",
            "events.csv",
            "report.html",
            "summary.json"
        ])
    );
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    for part in [
        "<dt>Shortest step</dt>",
        "<dt>Rejected attempts</dt><dd>11</dd>",
        "Time [s]",
        "events.csv",
    ] {
        assert!(html.contains(part), "no {part}");
    }
    drop(files);
    // A run in which nothing happens leaves no such file, and removes that of an earlier run.
    let mut files = directory(&path).open().unwrap();
    lecture(&LECTURE).until(0.5).run(&mut [&mut files]).unwrap();
    assert!(!path.join("events.csv").exists());
    assert!(self::summary(&path).get("step_range").is_none());
}

#[test]
fn events_of_contacts_with_friction_have_tangential_columns() {
    let model = crate::support::model(
        "sliding",
        r#"
saltus = 1
system.coordinates = ["x", "y", "z"]
system.mass = [1, 1, 1]
system.force = [0, 0, -10]
system.unilateral = [
    { name = "floor", gap = "z", restitution = 0, tangential = ["x", "y"], friction = 0.5 },
    { name = "far_wall", gap = "9 - x", restitution = 0 },
]
initial.q = { z = 0 }
initial.v = { x = 1 }
simulation = { scheme = "moreau-jean", step = 1e-2, until = 0.3 }
"#,
    );
    let event = |contact: u64, kind| Event {
        kind,
        t: 0.0025,
        contact: saltus::ContactId(contact),
        velocity_before: [-1.0, 2.0, 3.0],
        velocity_after: [0.5, 0.25, 0.125],
        impulse: [4.0, -5.0, -6.0],
        energy_lost: 7.0,
        energy: None,
    };
    let path = folder("tangential");
    let card = RunCard::new("sliding", &model.scheme);
    let mut files = ResultDirectory::new(&path, card)
        .report(true)
        .open()
        .unwrap();
    let mut scheme = Failing::after(30);
    scheme.events = vec![event(0, EventKind::Slip), event(1, EventKind::Impact)];
    Simulation::new(&*model.system, scheme)
        .start(model.initial.clone())
        .step(1e-2)
        .until(0.3)
        .run(&mut [&mut files])
        .unwrap();
    let lines = cells(&path.join("events.csv"));
    assert_eq!(
        lines[0][4..14].join(","),
        "gap_velocity_before,gap_velocity_after,impulse,slip_before.1,slip_after.1,impulse_t.1,slip_before.2,slip_after.2,impulse_t.2,energy_lost"
    );
    assert_eq!(
        lines[1][..14].join("|"),
        "0.0025|1|slip|floor|-1.0|0.5|4.0|2.0|0.25|-5.0|3.0|0.125|-6.0|7.0"
    );
    assert_eq!(
        lines[2][..14].join("|"),
        "0.0025|1|impact|far_wall|-1.0|0.5|4.0|||||||7.0"
    );
    assert_eq!(lines.len(), 3);
    let events = &summary(&path)["events"];
    assert_eq!(
        (&events["slip"], &events["impacts"]),
        (&1.into(), &1.into())
    );
    // The block stops after v / (mu g): stick is not reported, and the family of slip is the scheme's own.
    assert_eq!(events["stick"], 0);
    let html = fs::read_to_string(path.join("report.html")).unwrap();
    let timeline = html.split("Contacts over time").nth(1).unwrap();
    assert!(
        timeline
            .contains("<b>floor</b> <small>stick\u{a0}0.11\u{a0}s, slip\u{a0}0.19\u{a0}s</small>")
    );
}

#[test]
fn contacts_are_drawn_over_time_where_there_are_any() {
    // A block slides for v / (mu g) = 0.2 s; the step in which it stops sticks, and so do all after it. It never arrives at a wall.
    let text = |contacts: &str| {
        format!(
            r#"
saltus = 1
system.coordinates = ["x", "z"]
system.mass = [1, 1]
system.force = [0, -10]
{contacts}
initial.q = {{ z = 0 }}
initial.v = {{ x = 1 }}
simulation = {{ scheme = "moreau-jean", step = 1e-3, until = 0.5 }}
"#
        )
    };
    let page = |name: &str, contacts: &str| {
        let model = crate::support::model(name, &text(contacts));
        let path = folder(name);
        let card = RunCard::new(name, &model.scheme);
        let mut files = ResultDirectory::new(&path, card)
            .report(true)
            .open()
            .unwrap();
        run(&model, &mut files);
        let html = fs::read_to_string(path.join("report.html")).unwrap();
        (html, summary(&path)["events"].clone())
    };
    let (html, events) = page(
        "timeline",
        r#"
system.unilateral = [
    { name = "floor", gap = "z", restitution = 0, tangential = "x", friction = 0.5 },
    { name = "wall", gap = "9 - x", restitution = 0 },
]"#,
    );
    assert_eq!((&events["stick"], &events["slip"]), (&1.into(), &0.into()));
    let timeline = html.split("Contacts over time").nth(1).unwrap();
    for part in [
        "<b>floor</b> <small>stick\u{a0}0.301\u{a0}s, slip\u{a0}0.199\u{a0}s</small>",
        "<path class=\"slip\" d=\"M0.0 4H397.5V16H0.0z",
        "<i class=\"state slip\"></i>slip",
        "One contact stayed open.",
    ] {
        assert!(timeline.contains(part), "no {part}");
    }
    assert!(!timeline.contains("class=\"closed\""));
    let (html, _) = page("no-contact", "");
    assert!(!html.contains("over time</h2>"));
    // A guide of 2.49 N stops it at 0.4016 s, within the step that ends at 0.402 s.
    let guide = r#"system.friction = [{ name = "guide", tangential = "x", dry_friction = 2.49 }]"#;
    let (html, _) = page("joint", guide);
    let timeline = html.split("Joints over time").nth(1).unwrap();
    let words = "<b>guide</b> <small>stick\u{a0}0.099\u{a0}s, slip\u{a0}0.401\u{a0}s</small>";
    assert!(timeline.contains(words), "{timeline}");
}
