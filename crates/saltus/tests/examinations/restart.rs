//! A run that was saved goes on bit for bit.

use crate::subjects::{Examination, everyone};
use saltus::{Checkpoint, Simulation};
use saltus_integrators::{Frame, Observer, ObserverError, RunInfo, Stop};
use std::ops::ControlFlow;

/// Ends a run after so many steps, whatever their length.
struct StopAfter(u64);

impl Observer for StopAfter {
    fn begin(&mut self, _: &RunInfo<'_>, _: &Frame<'_>) -> Result<(), ObserverError> {
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<ControlFlow<()>, ObserverError> {
        Ok(if frame.step == self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    fn end(&mut self, _: &Stop) -> Result<(), ObserverError> {
        Ok(())
    }
}

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
