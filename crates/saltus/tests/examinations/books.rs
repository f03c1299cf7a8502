//! The books of energy where damping is stiff: what is dissipated was there before.

use crate::subjects::{Examination, everyone, run};
use saltus_linear::{Dense, max_abs};

/// Stiff damping and the elastic forces that it cancels do far more work, one by one, than both together. With weights
/// other than those the forces have in the step neither is dissipated nor stored.
#[test]
fn damping_takes_no_more_than_there_is() {
    everyone(Examination::Books, |candidate, case, model, h, steps| {
        let n = model.system.dims().nv;
        let mut damping = Dense::zeros(n, n);
        model.system.damping(model.initial.point(), &mut damping);
        if max_abs(damping.as_slice()) == 0.0 {
            return;
        }
        let rows = run(&*model.system, &candidate.scheme, &model.initial, h, steps);
        let kinetic = rows.iter().map(|r| r.report.energy.kinetic);
        let most = kinetic.fold(0.0, f64::max);
        let taken: f64 = rows[1..].iter().map(|r| r.report.work_external).sum();
        let reactions: f64 = rows[1..].iter().map(|r| r.report.work_contact).sum();
        let energy = |k: usize| rows[k].report.energy.total();
        let open = energy(rows.len() - 1) - energy(0) - taken - reactions;
        println!(
            "{} on {case}: of {most:.3e} J, damping and loads {taken:.3e} J, reactions {reactions:.3e} J, numerical {open:.3e} J",
            candidate.name
        );
        for (what, work) in [
            ("damping", taken),
            ("reactions", reactions),
            ("numerical", open),
        ] {
            assert!(
                work.abs() <= 1.25 * most,
                "{} on {case}: {what} {work:e} J of {most:e} J",
                candidate.name
            );
        }
    });
}
