//! Monitors the active sets of the iterates of a step: cycles of sets guessed from signs, and the remedies for them.

use super::engine::Sets;
use crate::kit::Location;

/// Remedies for guessed sets that do not converge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Remedy {
    /// No remedy: sets are guessed from the signs of the last iterate.
    #[default]
    None,
    /// Sets and multipliers found together, level by level (`nested_levels.rs`); most solves begin with it.
    NestedLevels,
    /// Activation parameter times 100, for the conditions that are no complementarity problem (`inactive = "literal"`, `modified_lcp`): sets
    /// of the slider–crank and of the elastic bar cycle without it.
    LargerActivation,
    /// The simultaneous solve with guessed sets instead of the sequential subproblems, one of which can be singular, and where the mass
    /// is.
    Simultaneous,
}

/// Changes of the sets after which the iteration counts as stalled.
const MAX_CHANGES: u32 = 24;
/// The same where the next remedy costs no more than a few corrections.
const MAX_CHANGES_IF_CHEAP: u32 = 3;

/// The active sets of the iterates of a step.
#[derive(Debug, Default)]
pub(super) struct SetMonitor {
    /// Whether a step that fails is tried again, so that its error message is not needed.
    pub(super) will_retry: bool,
    /// Where the residual of the last step that was not solved is largest.
    pub(super) unsolved_at: Option<Location>,
    /// Hash of each set, and how often it occurred.
    visited: Vec<(u64, u32)>,
    last: Option<u64>,
    /// How often the sets have changed.
    changes: u32,
    /// Whether the next remedy costs no more than a few corrections.
    pub(super) next_is_cheap: bool,
    /// Residual of the iterate before, over its tolerance.
    residual: f64,
    pub(super) iterations: u32,
    pub(super) remedies: u32,
    pub(super) remedy: Remedy,
}

impl SetMonitor {
    /// Begins a step.
    pub(super) fn begin(&mut self) {
        self.iterations = 0;
        self.remedies = 0;
        self.restart();
        self.remedy = Remedy::None;
    }

    /// Clears the recorded sets.
    pub(super) fn restart(&mut self) {
        self.visited.clear();
        self.visited.reserve(64);
        self.last = None;
        self.changes = 0;
        self.residual = f64::INFINITY;
    }

    /// Counts a remedy of the present step.
    pub(super) fn count_remedy(&mut self) {
        self.remedies += 1;
    }

    /// Continues with `remedy`.
    pub(super) fn switch_to(&mut self, remedy: Remedy) {
        self.remedy = remedy;
        self.count_remedy();
        self.restart();
    }

    /// Records the active sets and the relative residual of an iterate; `true` if the iteration has stalled: the sets occur for the
    /// third time, they changed too often, or they stay while some rows depend on others (`redundant`) and the residual does not halve.
    pub(super) fn has_stalled(&mut self, sets: &Sets, residual: f64, redundant: bool) -> bool {
        let hash = fingerprint(sets);
        let before = std::mem::replace(&mut self.residual, residual);
        if self.last == Some(hash) {
            return redundant && residual > 0.5 * before;
        }
        self.last = Some(hash);
        self.changes += 1;
        let cheap = self.next_is_cheap && self.remedy == Remedy::None;
        if self.changes
            > if cheap {
                MAX_CHANGES_IF_CHEAP
            } else {
                MAX_CHANGES
            }
        {
            return true;
        }
        if let Some((_, visits)) = self.visited.iter_mut().find(|(m, _)| *m == hash) {
            *visits += 1;
            return *visits > 2;
        }
        self.visited.push((hash, 1));
        false
    }
}

/// FNV-1a over the members of the sets.
fn fingerprint(sets: &Sets) -> u64 {
    let bits = sets
        .position
        .iter()
        .chain(&sets.velocity)
        .chain(&sets.smooth);
    bits.fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ (u64::from(*b) + 1)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_stays_is_no_cycle_and_one_that_keeps_returning_is() {
        let mut monitor = SetMonitor::default();
        let mut a = Sets::default();
        a.resize(2);
        let mut b = a.clone();
        b.position[1] = true;
        monitor.begin();
        let mut stalled = |sets: &Sets| monitor.has_stalled(sets, 1.0, false);
        assert!(!stalled(&a) && !stalled(&a));
        assert!(!stalled(&b) && !stalled(&a) && !stalled(&b));
        assert!(stalled(&a));
    }

    #[test]
    fn sets_that_never_settle_are_noticed_although_none_returns() {
        let mut monitor = SetMonitor::default();
        for (cheap, remedy, changes) in [
            (false, Remedy::None, 24),
            (true, Remedy::None, 3),
            (true, Remedy::LargerActivation, 24),
        ] {
            monitor.begin();
            (monitor.next_is_cheap, monitor.remedy) = (cheap, remedy);
            let mut sets = Sets::default();
            sets.resize(64);
            for j in 0..changes {
                sets.position[j] = true;
                assert!(!monitor.has_stalled(&sets, 1.0, false));
            }
            sets.position[63] = true;
            assert!(monitor.has_stalled(&sets, 1.0, false));
        }
    }

    #[test]
    fn a_residual_that_stays_is_noticed_where_rows_depend_on_each_other() {
        let mut sets = Sets::default();
        sets.resize(2);
        let mut monitor = SetMonitor::default();
        for redundant in [false, true] {
            monitor.begin();
            assert!(!monitor.has_stalled(&sets, 100.0, redundant));
            assert!(!monitor.has_stalled(&sets, 3.0, redundant));
            assert_eq!(monitor.has_stalled(&sets, 2.9, redundant), redundant);
        }
    }
}
