//! What watches a run: the recorder, the event log, the audit of certificate and energy, the stop flag.

mod audit;
mod closures;
mod contact_rows;
mod contact_work;
mod energy_audit;
mod events;
mod extremes;
mod impact_columns;
mod moving;
mod recorder;
mod rest;
mod stop_flag;
mod stop_when;
#[cfg(test)]
mod tests;
mod thinning;

pub use audit::{Audit, Iterations, Outcome, StepRange};
pub use energy_audit::EnergyAudit;
pub use events::{ContactStatistics, Event, EventLog, Events};
pub use extremes::{Extremes, ExtremesRecorder};
pub use recorder::Recorder;
pub use rest::Rest;
pub use saltus_integrators::EventKind;
pub use stop_flag::StopFlag;
pub use stop_when::StopWhen;

pub(crate) use closures::Closures;
pub(crate) use thinning::Thinning;
