//! Runs through the public door: record, go on, fail.

use crate::support::exact_ball::ExactBall;
use crate::support::stop_after::StopAfter;
use crate::support::{Failing, LECTURE, lecture, scheme};
use saltus::observe::EventKind;
use saltus::{Checkpoint, Reach, Recorder, RunError, Scheme, Simulation, State, Stop};
use saltus_integrators::{HalfExplicitMethod, HalfExplicitOptions};
use saltus_zoo::{SliderCrank, newtons_cradle};

#[test]
fn the_lecture_ball_impacts_where_the_closed_form_says() {
    let h = 1e-4;
    let trajectory = lecture(&LECTURE).step(h).record().unwrap();
    let outcome = trajectory.outcome().unwrap();
    assert_eq!(outcome.stop, Stop::EndReached);
    assert_eq!((outcome.steps, trajectory.len()), (40_000, 40_001));
    // Impacts at 1, 2, 5/2, 11/4, …: a scheme of order one knows each to a few steps.
    let impacts: Vec<_> = outcome
        .events
        .list
        .iter()
        .filter(|e| e.kind == EventKind::Impact)
        .collect();
    for (event, exact) in impacts.iter().zip([1.0, 2.0, 2.5, 2.75]) {
        assert!(
            (event.t - exact).abs() < 5.0 * h,
            "impact at {} instead of {exact}",
            event.t
        );
    }
    // The first arrives with velocity −2 and leaves with 1: impulse 3.
    assert!((impacts[0].velocity_before + 2.0).abs() < 5.0 * h);
    assert!((impacts[0].velocity_after - 1.0).abs() < 5.0 * h);
    assert!((impacts[0].impulse - 3.0).abs() < 10.0 * h);
    // They accumulate at 3, once, and the ball rests from then on.
    assert_eq!(outcome.events.accumulations, 1);
    let accumulation = outcome.events.contacts[0].accumulation.unwrap();
    assert!(
        (accumulation - 3.0).abs() < 100.0 * h,
        "accumulation at {accumulation}"
    );
    let since = outcome.rest.since.unwrap();
    assert!(since > 2.9 && since < 3.1, "at rest since {since}");
    assert!((outcome.rest.total - (4.0 - since)).abs() < 2.0 * h);
    // Energy: 2 J to 0 J. A contact that already opens and is closed again within the step gains, at most
    // m (g h)² (1 − e) / (8 (1 + e)): the largest value of P (u⁺ + u⁻) / 2 with u⁺ = −e u⁻, u⁻ > 0.
    assert_eq!(outcome.energy.initial.total(), 2.0);
    assert!(outcome.energy.last.total().abs() < 1e-3);
    let bound = (2.0 * h).powi(2) * 0.5 / (8.0 * 1.5);
    assert!(
        outcome.energy.max_gain < bound + 1e-15,
        "{} > {bound}",
        outcome.energy.max_gain
    );
    // Statistics agree with the columns.
    let impulse: f64 = trajectory.column("impulse.contact0").unwrap().iter().sum();
    assert!((outcome.events.contacts[0].total_impulse - impulse).abs() < 1e-12);
}

#[test]
fn a_ball_that_starts_at_rest_on_the_floor_does_not_impact() {
    let trajectory = Simulation::new(&LECTURE, scheme())
        .start(State::new(0.0, vec![0.0], vec![0.0]))
        .step(0.01)
        .until(1.0);
    let outcome = trajectory.record().unwrap().outcome().unwrap().clone();
    assert_eq!((outcome.events.impacts, outcome.events.openings), (0, 0));
    assert_eq!(outcome.rest.since, Some(0.0));
    assert!((outcome.events.contacts[0].closed_time - 1.0).abs() < 1e-12);
}

#[test]
fn balls_that_rest_on_each_other_rest() {
    // Three balls of different weight, the first on the floor, each other on the one before.
    let masses = [1.0, 0.3, 0.7];
    let mut tower = newtons_cradle(&masses, 0.5);
    tower.load = masses.iter().map(|m| -9.81 * m).collect();
    tower.contacts.push((0.0, vec![(0, 1.0)], 0.5));
    let trajectory = Simulation::new(&tower, scheme())
        .start(State::new(0.0, vec![0.0; 3], vec![0.0; 3]))
        .step(1e-3)
        .until(2.0)
        .record()
        .unwrap();
    // Round-off of g h is all there is.
    for i in 0..3 {
        let v = trajectory.column(&format!("v.{i}")).unwrap();
        println!("v.{i}: {:e} to {:e} m/s", v.min(), v.max());
        assert!(v.max() < 1e-15 && v.min() > -1e-15);
    }
    let outcome = trajectory.outcome().unwrap();
    assert_eq!(outcome.rest.since, Some(0.0));
    assert_eq!(outcome.rest.total, outcome.t_end);
}

#[test]
fn a_system_of_ones_own_needs_no_other_crate() {
    use saltus::{
        Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, DynamicsParts,
        ForceKind, Kinematics, MassKind, MatrixSink, Point, Structure, System, Tangents, check,
    };
    struct Stone;
    impl Kinematics for Stone {
        fn dims(&self) -> Dims {
            Dims {
                nq: 1,
                nv: 1,
                ng: 0,
            }
        }
    }
    impl Dynamics for Stone {
        fn structure(&self) -> Structure {
            Structure::LINEAR
        }
        fn mass(&self, _: &[f64], mass: &mut dyn MatrixSink) {
            mass.entry(0, 0, 2.0);
        }
        fn force(&self, _: Point<'_>, force: &mut [f64]) {
            force[0] = -20.0;
        }
    }
    impl Constraints for Stone {}
    impl Contacts for Stone {
        fn contact_count(&self) -> usize {
            1
        }
        fn detect(&self, _: f64, q: &[f64], _: Reach<'_>, set: &mut ContactSet) {
            set.clear();
            set.push(ContactId(0), ContactLaw::frictionless(0.0), q[0]);
            set.directions.push(&[0], &[1.0]);
            set.rate.push(0.0);
        }
        fn evaluate_contacts(&self, _: f64, q: &[f64], set: &mut ContactSet) {
            set.gap[0] = q[0];
        }
    }
    impl System for Stone {}
    // The names of what an implementation may be asked for are there.
    fn named<T>() {}
    named::<(MassKind, ForceKind)>();
    named::<(DynamicsParts<'_>, Tangents<'_>)>();
    let start = State::new(0.0, vec![1.0], vec![0.0]);
    assert!(check::check(&Stone, &start).is_clean());
    let trajectory = Simulation::new(&Stone, scheme())
        .start(start)
        .step(1e-3)
        .until(1.0)
        .record()
        .unwrap();
    assert!(trajectory.outcome().unwrap().rest.since.is_some());
}

#[test]
fn the_columns_are_those_of_the_files() {
    let trajectory = lecture(&LECTURE).until(0.01).record().unwrap();
    let names: Vec<_> = trajectory.names().collect();
    assert_eq!(
        names,
        [
            "t",
            "q.0",
            "v.0",
            "gap.contact0",
            "gap_velocity.contact0",
            "impulse.contact0",
            "force.contact0",
            "energy.kinetic",
            "energy.potential",
            "energy.total",
            "newton_iterations"
        ]
    );
    assert_eq!(
        trajectory.row(0).unwrap()[..6],
        [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    );
    assert!(
        trajectory
            .column("force.contact0")
            .unwrap()
            .iter()
            .all(f64::is_nan)
    );
}

#[test]
fn a_run_goes_on_bit_for_bit() {
    let whole = lecture(&LECTURE).record().unwrap();
    let mut first = Recorder::new();
    let stop = lecture(&LECTURE).until(1.7).run(&mut [&mut first]).unwrap();
    let saved = serde_json::to_string(&stop.checkpoint).unwrap();
    let checkpoint: Checkpoint = serde_json::from_str(&saved).unwrap();
    assert_eq!(checkpoint, stop.checkpoint);
    let mut second = Recorder::new();
    let end = Simulation::new(&LECTURE, scheme())
        .resume(checkpoint)
        .until(4.0)
        .run(&mut [&mut second])
        .unwrap();
    let (first, second) = (first.into_trajectory(), second.into_trajectory());
    assert_eq!(first.len() + second.len() - 1, whole.len());
    let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    // The row of the checkpoint stands in both parts; the second does not know how it came about.
    for (k, row) in first.rows().chain(second.rows().skip(1)).enumerate() {
        assert_eq!(bits(row), bits(whole.row(k).unwrap()), "row {k}");
    }
    let impacts = stop.outcome.events.impacts + end.outcome.events.impacts;
    assert_eq!(impacts, whole.outcome().unwrap().events.impacts);
}

#[test]
fn a_persistent_contact_does_not_impact_again_when_a_run_goes_on() {
    let stop = lecture(&LECTURE).until(3.5).run(&mut []).unwrap();
    assert_eq!(stop.checkpoint.closed, [0]);
    let end = Simulation::new(&LECTURE, scheme())
        .resume(stop.checkpoint)
        .until(4.0)
        .run(&mut [])
        .unwrap();
    assert_eq!(end.outcome.events.impacts, 0);
}

#[test]
fn a_run_of_chosen_steps_goes_on_bit_for_bit() {
    let new = || Simulation::new(&LECTURE, ExactBall::new(LECTURE)).step(0.1);
    let start = || State::new(0.0, vec![1.0], vec![0.0]);
    let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let whole = new().start(start()).until(4.0).record().unwrap();
    let impacts = whole.outcome().unwrap().events.impacts;
    // The motion is the exact one: impacts at 3 − 2^(2 − k).
    let first = whole.outcome().unwrap().events.first_impact.unwrap();
    assert!((first - 1.0).abs() < 1e-12);
    for steps in [0, 1, 7, 30, 60, 70] {
        let mut first = Recorder::new();
        let stop = new()
            .start(start())
            .until(if steps == 0 { 0.0 } else { 4.0 })
            .run(&mut [&mut first, &mut StopAfter(steps)])
            .unwrap();
        assert_eq!(stop.outcome.steps, steps);
        let saved = serde_json::to_string(&stop.checkpoint).unwrap();
        let checkpoint: Checkpoint = serde_json::from_str(&saved).unwrap();
        let t = whole.t().get(steps as usize).unwrap();
        assert_eq!((checkpoint.start, checkpoint.t), (t, t));
        let mut second = Recorder::new();
        let end = Simulation::new(&LECTURE, ExactBall::new(LECTURE))
            .resume(checkpoint)
            .until(4.0)
            .run(&mut [&mut second])
            .unwrap();
        let (first, second) = (first.into_trajectory(), second.into_trajectory());
        assert_eq!(first.len() + second.len() - 1, whole.len());
        // The second part does not know how its first row came about.
        for (k, row) in first.rows().chain(second.rows().skip(1)).enumerate() {
            assert_eq!(bits(row), bits(whole.row(k).unwrap()), "row {k}");
        }
        assert_eq!(
            stop.outcome.events.impacts + end.outcome.events.impacts,
            impacts
        );
    }
}

/// A contact that persists drifts by round-off and by the order of the scheme: that it is a little open where the prediction
/// looks, and closed at the end of the step, is no impact.
#[test]
fn a_persistent_contact_does_not_shorten_the_steps() {
    let steps = |retest: bool| {
        let options = HalfExplicitOptions {
            method: HalfExplicitMethod::Reduced,
            retest,
            ..HalfExplicitOptions::default()
        };
        let (q, v) = SliderCrank::start();
        let run = Simulation::new(&SliderCrank::default(), Scheme::HalfExplicit(options))
            .start(State::new(0.0, q, v))
            .step(2e-5)
            .until(0.1)
            .record()
            .unwrap();
        run.len()
    };
    let (plain, tested) = (steps(false), steps(true));
    // What closes unpredicted costs some steps: 0.6 % in the published motion with friction.
    assert!(
        tested >= plain && tested < plain + plain / 50,
        "{tested} steps with the test, {plain} without"
    );
}

#[test]
fn a_shortened_last_step_starts_a_new_grid() {
    let stop = lecture(&LECTURE)
        .step(0.03)
        .until(0.1)
        .run(&mut [])
        .unwrap();
    assert_eq!(
        (
            stop.checkpoint.start,
            stop.checkpoint.steps,
            stop.checkpoint.t
        ),
        (0.1, 0, 0.1)
    );
    let mut recorder = Recorder::new();
    Simulation::new(&LECTURE, scheme())
        .resume(stop.checkpoint)
        .until(0.16)
        .run(&mut [&mut recorder])
        .unwrap();
    let times = recorder.trajectory().t().to_vec();
    assert_eq!(times.len(), 3);
    assert!((times[1] - 0.13).abs() < 1e-15);
}

#[test]
fn a_recorder_keeps_what_was_computed_before_a_failure() {
    let mut recorder = Recorder::new().every(7);
    let result = Simulation::new(&LECTURE, Failing::after(10))
        .start(State::new(0.0, vec![1.0], vec![0.0]))
        .step(0.1)
        .until(4.0)
        .run(&mut [&mut recorder]);
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("step 11") && message.contains("`y`"),
        "{message}"
    );
    // Steps 0 and 7, the impact (step 10 or so) with the row before, and the last.
    let times = recorder.trajectory().t().to_vec();
    assert_eq!(times.last().copied(), Some(1.0));
}

#[test]
fn thinning_keeps_every_impact_and_the_row_before() {
    let all = lecture(&LECTURE).record().unwrap();
    let thin = lecture(&LECTURE).every(500).record().unwrap();
    let impacts: Vec<_> = all
        .outcome()
        .unwrap()
        .events
        .list
        .iter()
        .filter(|e| e.kind == EventKind::Impact)
        .collect();
    assert!(impacts.len() > 5);
    let kept: Vec<u64> = thin.t().iter().map(f64::to_bits).collect();
    for event in &impacts {
        for k in [event.step - 1, event.step] {
            let t = all.row(usize::try_from(k).unwrap()).unwrap()[0];
            assert!(kept.contains(&t.to_bits()), "the row at {t} is missing");
        }
    }
    assert!(thin.len() <= 9 + 2 * impacts.len());
    assert_eq!(thin.t().last(), all.t().last());
}

#[test]
fn what_is_missing_or_out_of_range_is_said() {
    let start = || State::new(0.0, vec![1.0], vec![0.0]);
    let run = |s: Simulation<'_>| s.run(&mut []).unwrap_err().to_string();
    let new = || Simulation::new(&LECTURE, scheme());
    assert!(run(new().step(1.0).until(1.0)).contains("`start`"));
    assert!(run(new().start(start()).until(1.0)).contains("`step`"));
    assert!(run(new().start(start()).step(1.0)).contains("`until`"));
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(run(new().start(start()).step(step).until(1.0)).contains("positive"));
    }
    assert!(run(new().start(start()).step(0.1).until(-1.0)).contains("not before the start"));
    assert!(run(new().start(start()).step(1e-17).until(1.0)).contains("9e15"));
    let wrong = State::new(0.0, vec![1.0, 2.0], vec![0.0]);
    assert!(run(new().start(wrong).step(0.1).until(1.0)).contains("2 positions, the system has 1"));
    let mut other = lecture(&LECTURE)
        .until(0.1)
        .run(&mut [])
        .unwrap()
        .checkpoint;
    other.scheme = "half-explicit".into();
    let error = new().resume(other).until(1.0).run(&mut []).unwrap_err();
    assert!(matches!(error, RunError::Checkpoint { .. }));
}

#[test]
fn impacts_that_add_energy_are_pointed_out() {
    use saltus_integrators::{Inactive, NonsmoothGeneralizedAlphaOptions, Scheme};
    let ball = saltus_zoo::ball_over_floor(1.0, -10.0, 0.8);
    let outcome = |inactive| {
        let options = NonsmoothGeneralizedAlphaOptions {
            inactive,
            ..NonsmoothGeneralizedAlphaOptions::default()
        };
        Simulation::new(&ball, Scheme::NonsmoothGeneralizedAlpha(options))
            .start(State::new(0.0, vec![0.801], vec![0.0]))
            .step(2e-3)
            .until(2.0)
            .record()
            .unwrap()
            .outcome()
            .unwrap()
            .clone()
    };
    // The memory of the filter on an open contact: 3.05e-2 J at every impact.
    let literal = outcome(Inactive::Literal);
    println!("{:?}, {} impacts", literal.energy, literal.events.impacts);
    assert!((literal.energy.impact_gain - 3.05e-2).abs() < 1e-4);
    let star = outcome(Inactive::Star);
    assert!(literal.energy.impacts_that_gain >= star.events.impacts);
    assert_eq!(star.energy.impacts_that_gain, 0);
}

/// The stiff spring between two masses keeps ringing in the filtered acceleration after an impact: what that
/// gives back two steps later belongs to the impact, too.
#[test]
fn energy_that_comes_back_after_an_impact_is_pointed_out() {
    use saltus_integrators::{NonsmoothGeneralizedAlphaOptions, Scheme};
    let masses = saltus_zoo::two_masses(1.0, 1e4, 1.0, 0.2, 10.0, 0.8);
    let outcome = Simulation::new(
        &masses,
        Scheme::NonsmoothGeneralizedAlpha(NonsmoothGeneralizedAlphaOptions::default()),
    )
    .start(State::new(0.0, vec![1.001, 2.001], vec![0.0; 2]))
    .step(3e-3)
    .until(1.0)
    .record()
    .unwrap()
    .outcome()
    .unwrap()
    .clone();
    let energy = outcome.energy;
    println!("{energy:?}");
    assert!(energy.max_gain > 1e-3);
    assert_eq!(energy.impact_gain, energy.max_gain);
}

/// A force that is no number ends the run, whatever the scheme, with a contact that never closes or without.
#[test]
fn a_force_that_is_no_number_is_no_step() {
    use saltus_integrators::Scheme;

    for contact in [
        "",
        "[[system.unilateral]]\nname = \"wall\"\ngap = \"x + 5\"\nrestitution = 0.5\n",
    ] {
        let text = format!(
            "saltus = 1\n[system]\ncoordinates = [\"x\"]\nmass = [1]\nforce = [\"sqrt(0.0105 - t)\"]\n{contact}[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-3\nuntil = 0.03\n"
        );
        let model = crate::support::model("leaves", &text);
        for info in Scheme::ALL {
            let scheme = Scheme::by_name(info.name).unwrap();
            let simulation = Simulation::new(&*model.system, scheme)
                .start(model.initial.clone())
                .step(1e-3)
                .until(0.03);
            let Err(error) = simulation.record() else {
                panic!("{} accepts what is no number", info.name);
            };
            let error = error.to_string();
            assert!(
                error.contains("the force of `x` is not finite")
                    || error.contains("does not solve contact"),
                "{}: {error}",
                info.name
            );
        }
    }
}

/// So does a gap: a contact that is nowhere would let bodies through.
#[test]
fn a_gap_that_is_no_number_is_no_step() {
    use saltus_integrators::Scheme;

    let text = "saltus = 1\n[system]\ncoordinates = [\"x\"]\nmass = [1]\nforce = [\"-10\"]\n[[system.unilateral]]\nname = \"wall\"\ngap = \"sqrt(x - 0.5) + 1\"\nrestitution = 0.5\n[initial]\nq = { x = 1 }\n[simulation]\nscheme = \"moreau-jean\"\nstep = 1e-2\nuntil = 1\n";
    let model = crate::support::model("leaves", text);
    for info in Scheme::ALL {
        let scheme = Scheme::by_name(info.name).unwrap();
        let simulation = Simulation::new(&*model.system, scheme)
            .start(model.initial.clone())
            .step(1e-2)
            .until(1.0);
        let Err(error) = simulation.record() else {
            panic!("{} accepts what is no number", info.name);
        };
        let error = error.to_string();
        println!("{}: {error}", info.name);
        assert!(
            error.contains("of `wall` is not finite") || error.contains("does not solve contact"),
            "{}: {error}",
            info.name
        );
    }
}
