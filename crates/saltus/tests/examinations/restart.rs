//! A run that was saved goes on bit for bit.

use crate::stop_after::StopAfter;
use crate::subjects::{Examination, everyone};
use saltus::{Checkpoint, Simulation};

#[test]
fn a_saved_run_goes_on_bit_for_bit() {
    everyone(Examination::Restart, |candidate, case, model, h, steps| {
        let until = |k: u64| model.initial.t + k as f64 * h;
        let whole = Simulation::new(&*model.system, candidate.scheme.clone())
            .start(model.initial.clone())
            .step(h)
            .until(until(steps))
            .run(&mut [])
            .unwrap();
        for part in [steps / 3, steps / 2] {
            let first = Simulation::new(&*model.system, candidate.scheme.clone())
                .start(model.initial.clone())
                .step(h)
                .until(until(steps))
                .run(&mut [&mut StopAfter(part)])
                .unwrap();
            let saved = serde_json::to_string(&first.checkpoint).unwrap();
            let read: Checkpoint = serde_json::from_str(&saved).unwrap();
            let second = Simulation::new(&*model.system, candidate.scheme.clone())
                .resume(read)
                .until(until(steps))
                .run(&mut [])
                .unwrap();
            let bits = |c: &Checkpoint| {
                c.q.iter()
                    .chain(&c.v)
                    .chain(&c.memory)
                    .chain([&c.start, &c.t])
                    .map(|x| x.to_bits())
                    .collect::<Vec<_>>()
            };
            let (a, b) = (bits(&whole.checkpoint), bits(&second.checkpoint));
            let differ = |i: &usize| a[*i] != b[*i];
            let other: Vec<usize> = (0..a.len().min(b.len())).filter(differ).collect();
            assert!(
                a.len() == b.len() && other.is_empty(),
                "{} on {case} from {part}: of {} numbers differ those at {other:?}",
                candidate.name,
                a.len()
            );
        }
    });
}
