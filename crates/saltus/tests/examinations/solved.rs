//! No step goes unsolved, whatever its length.

use crate::subjects::{everyone, run};
use std::collections::BTreeMap;

#[test]
fn every_step_is_solved_at_three_step_lengths() {
    let mut remedies: BTreeMap<String, u32> = BTreeMap::new();
    everyone(|candidate, case, model, h, steps| {
        for (factor, steps) in [(2.0, steps / 2), (1.0, steps), (0.5, 2 * steps)] {
            let rows = run(
                &*model.system,
                &candidate.scheme,
                &model.initial,
                factor * h,
                steps,
            );
            let count: u32 = rows.iter().map(|r| r.report.remedies).sum();
            *remedies.entry(candidate.name.clone()).or_default() += count;
            if count > 0 {
                println!(
                    "{} on {case}, h = {:e}: {count} remedies",
                    candidate.name,
                    factor * h
                );
            }
        }
    });
    for (name, count) in remedies {
        println!("{name}: {count} remedies in all");
    }
}
