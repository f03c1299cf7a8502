//! `generalized-alpha.json`: the rocking block.

use crate::alpha_masses::{FILE, is, opening_while_loaded};
use crate::entries::{Outcome, check, read};
use crate::event_driven::Motion;
use crate::run::{at, count, largest_gain, mean_iterations, named, record, smallest_gap};
use saltus::analysis::RelativeL1;
use saltus_system::State;
use saltus_zoo::RockingBlock;

#[test]
fn rocking_block() {
    let Some(entries) = read(FILE) else { return };
    let system = RockingBlock::default();
    let start = State::new(0.0, vec![0.0, 1.0, 0.2], vec![0.0; 3]);
    let exact = Motion::new(&system, &start, 3.0, 1e-3);
    check(
        "rocking block",
        &entries,
        |e| is(e, "block"),
        |entry| {
            let h = entry.number("h");
            let options = named(&entry.scheme, entry.number("rho"));
            let rows = record(&system, &options, &start, h, count(entry.number("T"), h));
            let end = &rows[rows.len() - 1];
            Outcome::Ours(match entry.quantity.as_str() {
                "min_gap" => vec![smallest_gap(&rows)],
                "max_energy_increment_per_step" => vec![largest_gain(&rows)],
                "E(T)" => vec![end.energy],
                "mean_iterations(tol 1e-10)" => vec![mean_iterations(&rows)],
                // A step that is not solved fails the run.
                "nonconverged_steps" => vec![0.0],
                "[y,theta] at t=.5" => at(&rows, 0.5).q[1..].to_vec(),
                "final contact impulses/h" => end.impulse.iter().map(|p| p / h).collect(),
                "L1_rel_err[y,theta] vs reference" => {
                    let (mut y, mut theta) = (RelativeL1::new(), RelativeL1::new());
                    for row in &rows {
                        let state = exact.at(row.t);
                        y.add(row.q[1], state.q[1]);
                        theta.add(row.q[2], state.q[2]);
                    }
                    vec![y.value(), theta.value()]
                }
                "E(0.1)-E(0)" => vec![at(&rows, 0.1).energy - rows[0].energy],
                "rest_time: first t after which |theta_dot|<0.05" => {
                    let last = rows.iter().rposition(|r| r.v[2].abs() >= 0.05).unwrap();
                    vec![rows[last + 1].t]
                }
                "count of steps with impulse>0 while g_q v_n>1e-6" => {
                    vec![opening_while_loaded(&rows)]
                }
                other => panic!("{}: {other}", entry.id),
            })
        },
    );
}
