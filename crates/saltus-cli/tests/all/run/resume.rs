//! Stop and go on: what was stopped ends as if it had not been.

use super::{Folder, appears, good};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Everything that must be the same, byte for byte.
const FILES: [&str; 4] = [
    "trajectory.csv",
    "trajectory.npz",
    "trajectory.h5",
    "events.csv",
];

/// A summary without what differs between two runs of the same: the clock, and the command.
fn timeless(folder: &Folder, directory: &str) -> Value {
    let mut summary = folder.summary(directory);
    let entries = summary.as_object_mut().unwrap();
    for key in ["wall_s", "step_us", "command"] {
        entries.remove(key).unwrap();
    }
    summary
}

fn assert_same(folder: &Folder, expected: &str, found: &str, what: &str) {
    for file in FILES {
        let read = |directory: &str| std::fs::read(folder.0.join(directory).join(file)).ok();
        let (a, b) = (read(expected), read(found));
        assert!(a == b, "{what}: {file} is not the same");
    }
    assert_eq!(
        timeless(folder, expected),
        timeless(folder, found),
        "{what}"
    );
    let mut names: Vec<String> = std::fs::read_dir(folder.0.join(found))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".partial") || name.ends_with(".spool"))
        .collect();
    names.sort();
    assert_eq!(names, Vec::<String>::new(), "{what}");
}

/// Numbers that look random and are the same in every test (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Schemes with one and with chosen lengths of steps, with and without events, and rows thinned or not.
fn subjects() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("ball.toml", vec!["--step", "2e-5"]),
        ("ball.toml", vec!["--step", "2e-5", "--every", "7"]),
        (
            "wall.toml",
            vec!["--step", "1e-4", "--scheme", "nonsmooth-generalized-alpha"],
        ),
        (
            "wall.toml",
            vec!["--step", "1e-4", "--scheme", "event-driven", "--every", "3"],
        ),
        (
            "ball.toml",
            vec![
                "--step",
                "1e-4",
                "--scheme",
                "adaptive-moreau-jean",
                "--set",
                "simulation.scheme.rtol=1e-7",
                "--set",
                "simulation.scheme.atol=1e-9",
            ],
        ),
    ]
}

const FORMATS: [&str; 7] = ["--quiet", "-f", "csv", "-f", "npz", "-f", "hdf5"];

#[cfg(unix)]
#[test]
fn interrupts_at_any_time_leave_no_trace() {
    let folder = Folder::new("interrupts");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (index, (model, flags)) in subjects().into_iter().enumerate() {
        let model = good(model);
        let (straight, stopped) = (format!("straight{index}"), format!("stopped{index}"));
        let run = [&["run", &model], &flags[..], &FORMATS].concat();
        let (code, _, err) = folder.saltus(&[&run[..], &["--out", &straight]].concat());
        assert_eq!(code, Some(0), "{err}");
        let first = [&run[..], &["--out", &stopped]].concat();
        let again = ["run", "--resume", &stopped, "--quiet"];
        let mut stops = 0;
        for attempt in 0.. {
            let arguments = if attempt == 0 { &first[..] } else { &again };
            let mut child = folder.command(arguments).spawn().unwrap();
            // The last attempt is left alone.
            if attempt < 6 {
                std::thread::sleep(Duration::from_millis(20 + random.below(150)));
                let signal = ["-INT", "-TERM"][attempt % 2];
                let id = child.id().to_string();
                let _ = Command::new("kill").args([signal, &id]).status();
            }
            match child.wait().unwrap().code() {
                Some(0) => break,
                // Before the program listens, a signal ends it as it always does, and before the run begins it leaves nothing.
                None | Some(130) if attempt == 0 && !folder.has(&stopped) => {
                    let (code, _, err) = folder.saltus(&first);
                    assert_eq!(code, Some(0), "{err}");
                    break;
                }
                Some(130) => {
                    stops += 1;
                    assert_eq!(folder.summary(&stopped)["stop"], "interrupted");
                }
                None => {}
                code => panic!("{arguments:?} ended with {code:?}"),
            }
        }
        assert_same(
            &folder,
            &straight,
            &stopped,
            &format!("{flags:?} after {stops} stops"),
        );
    }
}

#[test]
fn a_run_that_ended_goes_on_to_a_later_end() {
    let folder = Folder::new("later");
    for (index, (model, flags)) in subjects().into_iter().enumerate() {
        let model = good(model);
        let (straight, parts) = (format!("straight{index}"), format!("parts{index}"));
        let run = [&["run", &model], &flags[..], &FORMATS, &["--report"]].concat();
        let until = |directory: &str, t: &str| {
            let more = ["--until", t, "--out", directory];
            folder.saltus(&[&run[..], &more].concat())
        };
        assert_eq!(until(&straight, "1.5").0, Some(0));
        // Ends within a step, and at one.
        assert_eq!(until(&parts, "0.70003").0, Some(0));
        for t in ["0.9", "1.10001", "1.5"] {
            let again = ["run", "--resume", &parts, "--until", t, "--quiet"];
            let (code, _, err) = folder.saltus(&again);
            assert_eq!(code, Some(0), "{err}");
        }
        assert_same(&folder, &straight, &parts, &format!("{flags:?}"));
        let html = std::fs::read_to_string(folder.0.join(&parts).join("report.html")).unwrap();
        assert!(html.contains("--until 1.5"), "the command of {parts}");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint() {
    let folder = Folder::new("killed");
    let model = good("ball.toml");
    let run = ["run", &model, "--step", "5e-6", "--every", "3"];
    let run = [&run[..], &FORMATS].concat();
    let (code, _, err) = folder.saltus(&[&run[..], &["--out", "straight"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let often = ["--out", "killed", "--checkpoint-every", "0.02"];
    let mut child = folder
        .command(&[&run[..], &often].concat())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(appears(&folder.0.join("killed/checkpoint.json")));
    std::thread::sleep(Duration::from_millis(60));
    child.kill().unwrap();
    let ended = child.wait().unwrap().success();
    if !ended {
        assert_eq!(folder.summary("killed")["stop"], "running");
    }
    let (code, _, err) = folder.saltus(&["run", "--resume", "killed", "--quiet"]);
    assert_eq!(code, Some(0), "{err}");
    assert_same(&folder, "straight", "killed", "after SIGKILL");
    // Without a checkpoint there is nothing to go on from.
    std::fs::remove_file(folder.0.join("killed/checkpoint.json")).unwrap();
    let (code, _, err) = folder.saltus(&["run", "--resume", "killed"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("--checkpoint-every"), "{err}");
}

/// A failed step can be taken again with other options of the scheme, in the same result.
#[test]
fn a_failed_run_goes_on_where_it_failed() {
    let folder = Folder::new("failed-on");
    let model = good("leaves_domain.toml");
    let higher = ["--set", "initial.q.y=0.105"];
    let first = [&["run", &model, "--out", "kept"], &higher[..]].concat();
    assert_eq!(folder.saltus(&first).0, Some(3));
    let again = ["run", "--resume", "kept", "--step", "1e-3"];
    assert_eq!(folder.saltus(&again).0, Some(3));
    let summary = folder.summary("kept");
    assert_eq!(
        (&summary["start"], &summary["step"]),
        (&0.0.into(), &1e-3.into())
    );
    let rows = std::fs::read_to_string(folder.0.join("kept/trajectory.csv")).unwrap();
    let times: Vec<f64> = rows
        .lines()
        .skip(1)
        .map(|row| row.split(',').next().unwrap().parse().unwrap())
        .collect();
    assert!(times.windows(2).all(|t| t[0] < t[1]), "{times:?}");
    assert_eq!(summary["steps"], times.len() - 1);
    assert_eq!(times.last(), summary["failed_at"].as_f64().as_ref());
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = Folder::new("damaged");
    let model = good("wall.toml");
    let run = ["run", &model, "--out", "out", "--until", "0.1", "--quiet"];
    assert_eq!(folder.saltus(&run).0, Some(0));
    let file = folder.0.join("out/checkpoint.json");
    let whole = std::fs::read(&file).unwrap();
    let refused = |content: &[u8], what: &str| {
        std::fs::write(&file, content).unwrap();
        for from in ["out", "out/checkpoint.json"] {
            let more = ["--out", "other"];
            let more = if from == "out" { &[][..] } else { &more };
            let (code, out, err) =
                folder.saltus(&[&["run", &model, "--resume", from], more].concat());
            assert_eq!((code, out.as_str()), (Some(2), ""), "{what}: {err}");
            for part in ["checkpoint.json", "again", "nothing was run"] {
                assert!(err.contains(part), "{what}: no {part:?} in {err}");
            }
        }
    };
    for length in [0, 1, whole.len() / 2, whole.len() - 2] {
        refused(&whole[..length], &format!("cut to {length} bytes"));
    }
    let mut random = Random(42);
    for _ in 0..40 {
        let at = random.below(whole.len() as u64 - 1) as usize;
        let mut content = whole.clone();
        content[at] ^= 1 << random.below(7);
        // 1e-9 and 1E-9 are the same.
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
        if read(&content) == read(&whole) {
            continue;
        }
        refused(&content, &format!("byte {at} changed"));
    }
    // A count in what the scheme remembers, as a hand would change it.
    let text = String::from_utf8(whole.clone()).unwrap();
    let mut content: Value = serde_json::from_str(&text).unwrap();
    content["memory"][0] = 1e308.into();
    refused(content.to_string().as_bytes(), "memory changed");
    std::fs::write(&file, &whole).unwrap();
    // Files that have lost rows since.
    let table = folder.0.join("out/trajectory.csv");
    std::fs::write(&table, "t\n0\n").unwrap();
    let (code, _, err) = folder.saltus(&["run", "--resume", "out"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("`trajectory.csv` has 4 bytes"), "{err}");
}

#[test]
fn a_result_goes_on_in_its_own_forms_only() {
    let folder = Folder::new("forms");
    let model = good("ball.toml");
    let run = ["run", &model, "-o", "kept", "--every", "5", "--quiet"];
    assert_eq!(folder.saltus(&run).0, Some(0));
    let before = std::fs::read(folder.0.join("kept/trajectory.csv")).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["-f", "npz"], "has the formats csv"),
        (&["--every", "2"], "every 5 rows"),
        (&["--report"], "has no report"),
        (&["--out", "other"], "leave --out away"),
        (&["--set", "parameters.e=0.5"], "parameter `e` is 0.8 in it"),
        (&["--until", "1"], "until"),
    ];
    for (more, reason) in cases {
        let (code, _, err) = folder.saltus(&[&["run", "--resume", "kept"], more].concat());
        assert_eq!(code, Some(2), "{more:?}: {err}");
        assert!(err.contains(reason), "{more:?}: {err}");
        let after = std::fs::read(folder.0.join("kept/trajectory.csv")).unwrap();
        assert!(before == after, "{more:?} changed the table");
    }
    let (code, _, err) = folder.saltus(&["run", "--resume", "nothing", "-o", "x"]);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("nothing") && err.contains("cannot be read"),
        "{err}"
    );
    assert!(!Path::new("x").exists());
}
