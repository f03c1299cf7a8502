//! Events of contacts that come and go, fed frame by frame.

#![allow(clippy::unwrap_used)]

use crate::observe::rest::RestWatch;
use crate::observe::{Audit, EventKind, EventLog, Events, Rest};
use saltus_integrators::{
    Certificate, Energy, Frame, Guarantees, Memory, Observer, Plan, Reactions, RunInfo, StepReport,
    Stop,
};
use saltus_system::{ContactId, ContactLaw, ContactSet, Names, State};

const H: f64 = 0.5;

/// A contact in a frame: identity, gap, gap velocity, impulse.
type Contact = (u64, f64, f64, f64);

fn with_energy<T>(
    step: u64,
    v: f64,
    energy: Energy,
    contacts: &[Contact],
    look: impl FnOnce(&Frame<'_>) -> T,
) -> T {
    with_reports(step, v, energy, contacts, &[], look)
}

fn with_reports<T>(
    step: u64,
    v: f64,
    energy: Energy,
    contacts: &[Contact],
    reported: &[saltus_integrators::Event],
    look: impl FnOnce(&Frame<'_>) -> T,
) -> T {
    let mut set = ContactSet::default();
    for (id, gap, ..) in contacts {
        set.push(ContactId(*id), ContactLaw::frictionless(0.5), *gap);
        set.directions.push(&[0], &[1.0]);
        set.rate.push(0.0);
    }
    let gap_velocity: Vec<f64> = contacts.iter().map(|c| c.2).collect();
    let impulse: Vec<f64> = contacts.iter().map(|c| c.3).collect();
    let state = State::new(step as f64 * H, vec![1.0], vec![v]);
    let report = StepReport {
        h: H,
        iterations: 0,
        active: 0,
        redundant: 0,
        remedies: 0,
        rejected: 0,
        energy,
        energy_lag: 0.0,
        work_external: 0.0,
        work_contact: 0.0,
        certificate: Certificate::EMPTY,
    };
    let reactions = Reactions {
        bilateral_gap: &[],
        bilateral_velocity: &[],
        bilateral_rate: &[],
        bilateral_impulse: &[],
        bilateral_force: &[],
        contacts: &set,
        gap_velocity: &gap_velocity,
        impulse: &impulse,
        force: &[],
        ..Reactions::of(&set)
    };
    look(&Frame {
        step,
        state: &state,
        report: &report,
        reactions,
        events: reported,
        counts: saltus_integrators::Counts::default(),
        memory: Memory::NONE,
    })
}

/// What every run here is.
fn info(names: &Names, velocity_lags: bool) -> RunInfo<'_> {
    RunInfo {
        scheme: "test",
        names,
        plan: Plan::new(0.0, H, 100.0),
        guarantees: Guarantees::default(),
        has_forces: false,
        tangents: &[],
        joint_tangents: &[],
        chooses_step: false,
        stable_step: None,
        forced_step: None,
        resolved_options: &[],
        velocity_lags,
    }
}

/// The events of a run with `names` contacts of fixed identity.
fn reported(names: usize, frames: &[(&[Contact], &[saltus_integrators::Event])]) -> Events {
    let names = Names {
        contacts: (0..names).map(|i| format!("c{i}")).collect(),
        ..Names::default()
    };
    let info = info(&names, false);
    let mut log = EventLog::default();
    for (k, (contacts, reported)) in frames.iter().enumerate() {
        let energy = Energy::default();
        with_reports(k as u64, 1.0, energy, contacts, reported, |frame| {
            if k == 0 {
                log.begin(&info, frame, None);
            } else {
                log.update(frame);
            }
        });
    }
    log.into_events()
}

fn report(
    kind: EventKind,
    t: f64,
    [before, after]: [f64; 2],
    impulse: f64,
) -> saltus_integrators::Event {
    saltus_integrators::Event {
        kind,
        t,
        contact: ContactId(0),
        velocity_before: [before, 0.0, 0.0],
        velocity_after: [after, 0.0, 0.0],
        impulse: [impulse, 0.0, 0.0],
        energy_lost: 0.0,
        energy: None,
    }
}

/// A run with impacts at the ends of these steps, each with the velocities before and after, which stays closed for `quiet` steps
/// and then opens.
fn impacts(hits: &[(u64, [f64; 2])], quiet: u64) -> Events {
    impacts_and(hits, quiet, true)
}

fn impacts_and(hits: &[(u64, [f64; 2])], quiet: u64, closes: bool) -> Events {
    let (closed, open) = ([(0, 0.0, 0.0, 1.0)], [(0, 1.0, -1.0, 0.0)]);
    let last = hits.last().unwrap().0;
    let step = |k: u64| -> Vec<saltus_integrators::Event> {
        let t = k as f64 * H;
        let hit = hits.iter().filter(|(step, _)| *step == k);
        let mut events: Vec<_> = hit
            .map(|(_, velocities)| report(EventKind::Impact, t, *velocities, 1.0))
            .collect();
        if k == last && closes {
            events.push(report(EventKind::Close, t, [0.0; 2], 0.0));
        }
        if k == last + quiet {
            events.push(report(EventKind::Open, t, [0.0, 1.0], 0.0));
        }
        events
    };
    let lists: Vec<_> = (0..=last + quiet).map(step).collect();
    let frames: Vec<(&[Contact], &[_])> = lists
        .iter()
        .enumerate()
        .map(|(k, list)| {
            let contact = if k as u64 > last || !list.is_empty() {
                &closed
            } else {
                &open
            };
            (&contact[..], list.as_slice())
        })
        .collect();
    reported(1, &frames)
}

#[test]
fn impacts_accumulate_where_a_rebounding_contact_comes_to_rest() {
    let of = |steps: &[u64], speeds: &[f64], quiet: u64| {
        let hits = steps.iter().zip(speeds);
        let hits: Vec<_> = hits.map(|(&k, &v)| (k, [-v, 0.5 * v])).collect();
        impacts(&hits, quiet)
    };
    let slower = [8.0, 4.0, 2.0, 1.0];
    // Intervals 8, 4, 2.
    let found = of(&[10, 18, 22, 24], &slower, 21);
    assert_eq!((found.impacts, found.accumulations), (4, 1));
    assert_eq!(found.contacts[0].accumulation, Some(12.0));
    assert_eq!(found.accumulation_list[0].step, 24);
    // It opens too soon, too few impacts, intervals that do not shrink.
    assert_eq!(of(&[10, 18, 22, 24], &slower, 20).accumulations, 0);
    assert_eq!(of(&[10, 18, 19, 20], &slower, 10).accumulations, 0);
    assert_eq!(of(&[10, 18], &slower, 20).accumulations, 0);
    assert_eq!(of(&[10, 18, 26, 34], &slower, 20).accumulations, 0);
    assert_eq!(of(&[10, 12, 18], &slower, 20).accumulations, 0);
    // It flies on.
    let flies: Vec<_> = [10, 18, 22, 24]
        .iter()
        .zip(slower)
        .map(|(&k, v)| (k, [-v, 0.5 * v]))
        .collect();
    assert_eq!(impacts_and(&flies, 30, false).accumulations, 0);
    // One that is faster, and impacts without a rebound, as waves of a body make them.
    assert_eq!(
        of(&[10, 90, 130, 150], &[8.0, 4.0, 6.0, 1.0], 250).accumulations,
        0
    );
    let plastic = [10, 18, 22, 24].map(|k| (k, [-1.0 / k as f64, 0.0]));
    assert_eq!(impacts(&plastic, 20).accumulations, 0);
}

#[test]
fn events_are_those_that_the_scheme_reports() {
    use EventKind::{Close, Impact, Open};
    let (closed, open) = ([(0, 0.0, 0.0, 1.0)], [(0, 1.0, -1.0, 0.0)]);
    let impact = [report(Impact, 0.625, [-3.0, 2.0], 5.0)];
    let two = [
        report(Impact, 1.125, [-2.0, 0.0], 4.0),
        report(Close, 1.125, [0.0; 2], 0.0),
    ];
    let end = [report(Open, 2.0, [0.0, 1.0], 0.0)];
    let frames: [(&[Contact], &[_]); 6] = [
        (&open, &[]),
        (&open, &[]),
        (&closed, &impact),
        (&closed, &two),
        (&open, &end),
        (&closed, &[]),
    ];
    let found = reported(1, &frames);
    assert_eq!((found.impacts, found.contacts[0].impacts), (2, 2));
    assert_eq!((found.closings, found.openings), (1, 1));
    assert_eq!(
        (found.first_impact, found.last_impact),
        (Some(0.625), Some(1.125))
    );
    let list: Vec<_> = found.list.iter().map(|e| (e.step, e.kind)).collect();
    assert_eq!(list, [(2, Impact), (3, Impact), (3, Close), (4, Open)]);
    let first = found.list[0];
    assert_eq!(
        (
            first.t,
            first.velocity_before,
            first.velocity_after,
            first.impulse
        ),
        (0.625, -3.0, 2.0, 5.0)
    );
    // What the steps carry is added up.
    assert_eq!(found.contacts[0].total_impulse, 3.0);
    assert_eq!(found.contact_name(ContactId(7)), "contact 7");
}

#[test]
fn a_reported_accumulation_is_counted_once() {
    let closed = [(0, 0.0, 0.0, 1.0)];
    // Intervals 4, 2, 1 and lasting contact.
    let impacts = [(0.5, 8.0), (4.5, 4.0), (6.5, 2.0), (7.5, 1.0)];
    let impacts = impacts.map(|(t, v)| [report(EventKind::Impact, t, [-v, 0.5 * v], 1.0)]);
    let end = [report(EventKind::Accumulation, 8.0, [0.0; 2], 0.0)];
    let close = [report(EventKind::Close, 8.0, [0.0; 2], 0.0)];
    for (last, at) in [(&end[..], 8.0), (&close[..], 7.5)] {
        let mut frames: Vec<(&[Contact], &[_])> = vec![(&closed, &[])];
        frames.extend(impacts.iter().map(|i| (&closed[..], &i[..])));
        frames.push((&closed, last));
        frames.extend([(&closed[..], &[][..]); 60]);
        let found = reported(1, &frames);
        assert_eq!((found.impacts, found.accumulations), (4, 1));
        assert_eq!(found.contacts[0].accumulation, Some(at));
    }
}

#[test]
fn only_the_first_thousand_events_are_kept() {
    let closed = [(0, 0.0, 0.0, 1.0)];
    let hit = [
        report(EventKind::Impact, 0.0, [-1.0, 1.0], 1.0),
        report(EventKind::Open, 0.0, [1.0; 2], 0.0),
    ];
    let mut frames: Vec<(&[Contact], &[_])> = vec![(&closed, &[])];
    frames.extend([(&closed[..], &hit[..]); 1500]);
    let events = reported(1, &frames);
    assert_eq!(
        (events.impacts, events.openings, events.list.len()),
        (1500, 1500, 1000)
    );
    assert_eq!(events.contacts[0].total_impulse, 1500.0);
    assert_eq!(events.contacts[0].closed_time, 750.0);
}

/// What is known of rest after each step of a body of unit mass with these velocities, held by `impulse`.
fn rest(velocities: &[f64], potential: f64, impulse: f64) -> Vec<(Option<f64>, f64)> {
    let mut watch = RestWatch::default();
    let mut rest = Vec::new();
    for (k, &v) in velocities.iter().enumerate() {
        let energy = Energy {
            kinetic: 0.5 * v * v,
            potential,
        };
        let contact = (0, 0.0, v, impulse);
        with_energy(k as u64, v, energy, &[contact], |frame| {
            if k == 0 {
                watch.begin(frame)
            } else {
                watch.update(frame)
            }
        });
        let Rest { total, since } = watch.rest();
        let end = k as f64 * H;
        assert!(since.is_none_or(|since| since < end && total >= end - since));
        rest.push((since, total));
    }
    rest
}

#[test]
fn rest_is_relative_to_the_motion() {
    let rest = rest(&[0.0, 0.0, 2.0, 1e-3, 1e-6, -1e-9, 0.0], 0.0, 0.0);
    assert_eq!(rest[1], (Some(0.0), H));
    assert_eq!(rest[3], (None, H));
    // Still at an end of a step only: no step has been at rest since.
    assert_eq!(rest[4], (None, H));
    assert_eq!(rest[6], (Some(2.0), 3.0 * H));
}

#[test]
fn round_off_of_a_resting_body_is_rest() {
    let noise = [0.0, 1.7e-18, -3e-19, 0.0, 8e-19, 1.2e-18];
    let whole = (Some(0.0), 5.0 * H);
    // Held by an impulse g h, and by forces in balance, with the energy of a height of 1 m.
    assert_eq!(rest(&noise, 0.0, 9.81 * H)[5], whole);
    assert_eq!(rest(&noise, 9.81, 0.0)[5], whole);
    // A body that nothing acts on rests at velocity zero, and at no other.
    assert_eq!(rest(&[0.0; 6], 0.0, 0.0)[5], whole);
    assert_eq!(rest(&[1e-9; 6], 0.0, 0.0)[5], (None, 0.0));
    assert_eq!(rest(&noise, 0.0, 0.0)[5], (None, 0.0));
    // Slow is not still, whatever holds the body.
    assert_eq!(rest(&[1e-7; 6], 9.81, 9.81 * H)[5], (None, 0.0));
}

#[test]
fn what_has_no_mass_may_move() {
    let mut watch = RestWatch::default();
    for k in 0..3 {
        let look = |frame: &Frame<'_>| {
            if k == 0 {
                watch.begin(frame)
            } else {
                watch.update(frame)
            }
        };
        with_energy(k, 1.0, Energy::default(), &[(0, 0.0, 0.0, 1.0)], look);
    }
    assert_eq!(watch.rest(), Rest::default());
}

/// Steps with an impact that gain energy, in a run of these kinetic and potential energies at the ends of its steps \[J\]; in every
/// other step the contact hits.
fn gains(energies: &[(f64, f64)], velocity_lags: bool) -> u64 {
    let names = Names::default();
    let info = info(&names, velocity_lags);
    let mut audit = Audit::new();
    for (k, (kinetic, potential)) in energies.iter().enumerate() {
        let energy = Energy {
            kinetic: *kinetic,
            potential: *potential,
        };
        let contact = [(0, 0.0, -1.0, (k % 2) as f64)];
        let impact = [report(EventKind::Impact, k as f64 * H, [-1.0, 1.0], 1.0)];
        let events = &impact[..k % 2];
        let look = |frame: &Frame<'_>| match k {
            0 => audit.begin(&info, frame).unwrap(),
            _ => drop(audit.frame(frame).unwrap()),
        };
        with_reports(k as u64, 1.0, energy, &contact, events, look);
    }
    audit.end(&Stop::EndReached).unwrap();
    audit.outcome().unwrap().energy.impacts_that_gain
}

#[test]
fn rounding_of_an_energy_that_is_not_kinetic_is_no_gain() {
    // A body that sinks by a joule and comes to rest between any two looks at it.
    let still = [(0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (8e-19, 0.0)];
    assert_eq!(gains(&still, false), 0);
    let gained = [(0.0, 1.0), (0.0, 0.0), (0.0, 0.0), (1e-3, 0.0)];
    assert_eq!(gains(&gained, false), 1);
}

#[test]
fn what_a_lagging_velocity_hides_is_no_gain_when_it_comes_back() {
    let hidden = [(9.0, 0.0), (1.0, 0.0), (4.0, 0.0), (4.0, 0.0)];
    assert_eq!((gains(&hidden, false), gains(&hidden, true)), (1, 0));
    let gained = [(9.0, 0.0), (1.0, 0.0), (4.0, 0.0), (10.0, 0.0)];
    assert_eq!(gains(&gained, true), 1);
}
