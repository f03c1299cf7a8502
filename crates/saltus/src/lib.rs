//! Simulation of nonsmooth mechanical systems: run, record, examine, report.
//!
//! * [`Simulation`] runs a [`System`] with a [`Scheme`] and records a [`Trajectory`], or shows every
//!   step to [`Observer`]s.
//! * [`analysis`] measures errors and orders of convergence across impacts.
//! * [`observe`] has the observers: recorder, event log, audit of certificate and energy.
//! * [`check`] compares the derivatives of a system of one's own with finite differences.
//! * [`output`] writes a result to disk: CSV, NumPy, HDF5, a summary, and a report, one self-contained HTML page.

mod acceleration;
pub mod analysis;
mod checkpoint;
mod columns;
mod derived;
mod exact;
pub mod observe;
pub mod output;
mod report;
mod simulation;
mod supports;
mod trajectory;

pub use checkpoint::{Checkpoint, Identity, fingerprint};
pub use columns::{Column, Fields, Quantity, Selection};
pub use derived::Derived;
pub use observe::{Outcome, Recorder};
pub use report::Diagram;
pub use saltus_integrators::{
    DriveError, Entry, Event, EventKind, Frame, Integrator, Observer, ObserverError, PROOF, Plan,
    RunInfo, Scheme, StepError, Stop,
};
pub use saltus_system::{
    Constraints, ContactId, ContactLaw, ContactSet, Contacts, Dims, Dynamics, DynamicsParts,
    ForceKind, Kinematics, MassKind, MatrixSink, Names, Point, Reach, State, Structure, System,
    Tangents, check,
};
pub use simulation::{Method, Run, RunError, Simulation};
pub use supports::{SupportNodes, Supports};
pub use trajectory::{Series, Trajectory, UnknownColumn};
