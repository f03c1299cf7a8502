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

/// The events of a run with `names` contacts of fixed identity.
fn events(names: usize, frames: &[&[Contact]]) -> Events {
    let frames: Vec<_> = frames.iter().map(|frame| (*frame, &[][..])).collect();
    reported(names, &frames)
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
        resolved_options: &[],
        velocity_lags,
    }
}

/// The events of a run whose scheme reports some of them.
fn reported(names: usize, frames: &[(&[Contact], &[saltus_integrators::Event])]) -> Events {
    let names = Names {
        contacts: (0..names).map(|i| format!("c{i}")).collect(),
        ..Names::default()
    };
    let info = info(&names, false);
    let reports = frames.iter().any(|(_, reported)| !reported.is_empty());
    let mut log = EventLog::default();
    for (k, (contacts, reported)) in frames.iter().enumerate() {
        let energy = Energy::default();
        with_reports(k as u64, 1.0, energy, contacts, reported, |frame| {
            if k == 0 {
                log.begin(&info, frame, None);
            } else {
                let impacts = log.events().impacts;
                let closed = log.update(frame);
                assert!(reports || closed == (log.events().impacts > impacts));
            }
        });
    }
    log.into_events()
}

fn kinds(events: &Events) -> Vec<(u64, u64, EventKind)> {
    events
        .list
        .iter()
        .map(|e| (e.step, e.contact.0, e.kind))
        .collect()
}

#[test]
fn contacts_come_and_go() {
    use EventKind::{Impact, Open};
    let events = events(
        0,
        &[
            &[(3, 1.0, -1.0, 0.0)],
            &[(1, 0.0, 0.0, 2.0), (3, 0.5, -1.0, 0.0)], // 1 appears closed
            &[(1, 0.0, 0.0, 2.0), (2, 1.0, 0.0, 0.0), (3, 0.0, 0.5, 1.0)], // 3 closes
            &[(2, 1.0, 0.0, 0.0), (3, 0.1, 0.5, 0.0), (7, 0.0, 0.0, 1.0)], // 1 leaves closed, 3 opens, 7 appears closed
            &[],                                                           // all leave
        ],
    );
    assert_eq!(
        kinds(&events),
        [
            (1, 1, Impact),
            (2, 3, Impact),
            (3, 1, Open),
            (3, 3, Open),
            (3, 7, Impact),
            (4, 7, Open)
        ]
    );
    assert_eq!((events.impacts, events.openings), (3, 3));
    let impact = events.list[1];
    assert_eq!(
        (
            impact.velocity_before,
            impact.velocity_after,
            impact.impulse,
            impact.t
        ),
        (-1.0, 0.5, 1.0, 1.0)
    );
    assert!(events.list[0].velocity_before.is_nan());
    assert_eq!(events.contact_name(ContactId(7)), "contact 7");
}

#[test]
fn a_contact_at_rest_at_the_start_is_closed_and_may_open_in_silence() {
    let touching = (0, 0.0, 0.0, 0.0);
    // Loaded from the start: no impact. Never loaded: no opening; its first impulse is an impact.
    assert!(kinds(&events(1, &[&[touching], &[(0, 0.0, 0.0, 1.0)]])).is_empty());
    let unloaded = events(1, &[&[touching], &[touching], &[(0, 0.0, 1.0, 1.0)]]);
    assert_eq!(kinds(&unloaded), [(2, 0, EventKind::Impact)]);
    // A contact that moves at the start was not closed.
    let moving = events(1, &[&[(0, 0.0, -1.0, 0.0)], &[(0, 0.0, 0.5, 1.0)]]);
    assert_eq!((moving.impacts, moving.contacts[0].impacts), (1, 1));
}

#[test]
fn impacts_accumulate_when_their_intervals_shrink_and_contact_persists() {
    let closed: Contact = (0, 0.0, 0.0, 1.0);
    let open: Contact = (0, 1.0, -1.0, 0.0);
    let run = |impacts: &[u64], persistent: u64| {
        let last = *impacts.last().unwrap();
        let frames: Vec<[Contact; 1]> = (0..=last + persistent)
            .map(|k| {
                if impacts.contains(&k) || k > last {
                    [closed]
                } else {
                    [open]
                }
            })
            .collect();
        let frames: Vec<&[Contact]> = frames.iter().map(<[_; 1]>::as_slice).collect();
        events(1, &frames)
    };
    // Intervals 8, 4, 2.
    let shrinking = run(&[10, 18, 22, 24], 10);
    assert_eq!((shrinking.impacts, shrinking.accumulations), (4, 1));
    assert_eq!(shrinking.contacts[0].accumulation, Some(12.0));
    assert_eq!(shrinking.accumulation_list[0].step, 24);
    // Not persistent, too few impacts, not shrinking.
    assert_eq!(run(&[10, 18, 22, 24], 9).accumulations, 0);
    assert_eq!(run(&[10, 18], 20).accumulations, 0);
    assert_eq!(run(&[10, 18, 26, 34], 20).accumulations, 0);
    assert_eq!(run(&[10, 12, 18], 20).accumulations, 0);
}

#[test]
fn events_that_the_scheme_reports_are_not_inferred() {
    let report = |kind, t| saltus_integrators::Event {
        kind,
        t,
        contact: ContactId(0),
        velocity_before: [-3.0, 0.0, 0.0],
        velocity_after: [2.0, 0.0, 0.0],
        impulse: [5.0, 0.0, 0.0],
        energy_lost: 2.5,
        energy: None,
    };
    let (closed, open) = ([(0, 0.0, 0.0, 1.0)], [(0, 1.0, -1.0, 0.0)]);
    let impact = [report(EventKind::Impact, 0.625)];
    let two = [
        report(EventKind::Impact, 1.125),
        report(EventKind::Impact, 1.25),
    ];
    let frames: [(&[Contact], &[_]); 6] = [
        (&open, &[]),
        (&closed, &[]), // inferred, and forgotten when the scheme begins to report
        (&closed, &impact),
        (&closed, &two),
        (&open, &[]),
        (&closed, &[]), // not inferred any more
    ];
    let found = reported(1, &frames);
    assert!(found.reported);
    assert_eq!((found.impacts, found.contacts[0].impacts), (3, 3));
    assert_eq!(
        (found.first_impact, found.last_impact),
        (Some(0.625), Some(1.25))
    );
    // Openings are not reported: they are inferred all along.
    assert_eq!((found.openings, found.contacts[0].openings), (1, 1));
    use EventKind::{Impact, Open};
    assert_eq!(
        kinds(&found),
        [(2, 0, Impact), (3, 0, Impact), (3, 0, Impact), (4, 0, Open)]
    );
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
    // What the steps carry is added up as ever.
    assert_eq!(found.contacts[0].total_impulse, 4.0);
}

#[test]
fn a_reported_accumulation_is_counted_once() {
    let report = |kind, t| saltus_integrators::Event {
        kind,
        t,
        contact: ContactId(0),
        velocity_before: [0.0; 3],
        velocity_after: [0.0; 3],
        impulse: [0.0; 3],
        energy_lost: 0.0,
        energy: None,
    };
    let closed = [(0, 0.0, 0.0, 1.0)];
    // Intervals 4, 2, 1 and lasting contact.
    let impacts = [0.5, 4.5, 6.5, 7.5].map(|t| [report(EventKind::Impact, t)]);
    let end = [report(EventKind::Accumulation, 8.0)];
    for (last, at) in [(&end[..], 8.0), (&[][..], 7.5)] {
        let mut frames: Vec<(&[Contact], &[_])> = vec![(&closed, &[])];
        frames.extend(impacts.iter().map(|i| (&closed[..], &i[..])));
        frames.push((&closed, last));
        frames.extend([(&closed[..], &[][..]); 20]);
        let found = reported(1, &frames);
        assert_eq!((found.impacts, found.accumulations), (4, 1));
        assert_eq!(found.contacts[0].accumulation, Some(at));
    }
}

#[test]
fn only_the_first_thousand_events_are_kept() {
    let (closed, open) = ([(0, 0.0, 0.0, 1.0)], [(0, 1.0, -1.0, 0.0)]);
    let frames: Vec<&[Contact]> = (0..3000)
        .map(|k| if k % 2 == 1 { &closed[..] } else { &open[..] })
        .collect();
    let events = events(1, &frames);
    assert_eq!(
        (events.impacts, events.openings, events.list.len()),
        (1500, 1499, 1000)
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
/// other step the contact closes.
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
        with_energy(k as u64, 1.0, energy, &contact, |frame| match k {
            0 => audit.begin(&info, frame).unwrap(),
            _ => drop(audit.frame(frame).unwrap()),
        });
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
