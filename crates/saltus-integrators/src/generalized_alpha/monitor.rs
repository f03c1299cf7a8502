//! Watches the active sets of a step: cycles, and the remedies that were needed.

use super::engine::Sets;

/// What was done about a step that did not converge, in the order in which it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing yet.
    None,
    /// Sets and multipliers found together, level by level.
    Levels,
    /// All unknowns at once instead of one block after the other.
    Together,
}

/// So many changes of the sets and no end of it is no way to a solution.
const PATIENCE: u32 = 24;
/// The same where the next remedy costs no more than a few corrections.
const HASTE: u32 = 3;

/// The sets met in a step.
#[derive(Debug)]
pub(super) struct Watch {
    /// Whether a step that is not solved is tried again in another way, so that nobody reads what failed.
    pub(super) is_quiet: bool,
    /// Mark of each set, and how often the iteration came to it.
    visited: Vec<(u64, u32)>,
    last: Option<u64>,
    /// How often the sets have changed.
    changes: u32,
    /// Whether the remedy at hand costs no more than a few corrections.
    pub(super) is_hasty: bool,
    /// The defect of the iterate before.
    defect: f64,
    pub(super) iterations: u32,
    pub(super) remedies: u32,
    pub(super) remedy: Remedy,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            is_quiet: false,
            visited: Vec::with_capacity(64),
            last: None,
            changes: 0,
            is_hasty: false,
            defect: f64::INFINITY,
            iterations: 0,
            remedies: 0,
            remedy: Remedy::None,
        }
    }
}

impl Watch {
    /// A new step.
    pub(super) fn begin(&mut self) {
        self.iterations = 0;
        self.remedies = 0;
        self.restart();
        self.remedy = Remedy::None;
    }

    /// Forgets the sets.
    pub(super) fn restart(&mut self) {
        self.visited.clear();
        self.last = None;
        self.changes = 0;
        self.defect = f64::INFINITY;
    }

    /// One more remedy.
    pub(super) fn remedy(&mut self) {
        self.remedies += 1;
    }

    /// Goes on with `remedy`.
    pub(super) fn take(&mut self, remedy: Remedy) {
        self.remedy = remedy;
        self.remedy();
        self.restart();
    }

    /// Notes the sets of an iterate and its defect; `true` where the iteration leads nowhere: it has left these sets and
    /// come back twice (once is not unusual on the way to a solution), it has tried many and settled on none, or
    /// it stays while rows of which some depend on others, `redundant`, cannot all be satisfied.
    pub(super) fn is_lost(&mut self, sets: &Sets, defect: f64, redundant: bool) -> bool {
        let mark = fingerprint(sets);
        let before = std::mem::replace(&mut self.defect, defect);
        if self.last == Some(mark) {
            return redundant && defect > 0.5 * before;
        }
        self.last = Some(mark);
        self.changes += 1;
        let hasty = self.is_hasty && self.remedy == Remedy::None;
        if self.changes > if hasty { HASTE } else { PATIENCE } {
            return true;
        }
        if let Some((_, visits)) = self.visited.iter_mut().find(|(m, _)| *m == mark) {
            *visits += 1;
            return *visits > 2;
        }
        self.visited.push((mark, 1));
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
    bits.fold(0xcbf2_9ce4_8422_2325, |mark, b| {
        (mark ^ (u64::from(*b) + 1)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_stays_is_no_cycle_and_one_that_keeps_returning_is() {
        let mut watch = Watch::default();
        let mut a = Sets::default();
        a.resize(2);
        let mut b = a.clone();
        b.position[1] = true;
        watch.begin();
        let mut lost = |sets: &Sets| watch.is_lost(sets, 1.0, false);
        assert!(!lost(&a) && !lost(&a));
        assert!(!lost(&b) && !lost(&a) && !lost(&b));
        assert!(lost(&a));
    }

    #[test]
    fn sets_that_never_settle_are_noticed_although_none_returns() {
        let mut watch = Watch::default();
        for (hasty, remedy, changes) in [
            (false, Remedy::None, 24),
            (true, Remedy::None, 3),
            (true, Remedy::Levels, 24),
        ] {
            watch.begin();
            (watch.is_hasty, watch.remedy) = (hasty, remedy);
            let mut sets = Sets::default();
            sets.resize(64);
            for j in 0..changes {
                sets.position[j] = true;
                assert!(!watch.is_lost(&sets, 1.0, false));
            }
            sets.position[63] = true;
            assert!(watch.is_lost(&sets, 1.0, false));
        }
    }

    #[test]
    fn a_defect_that_stays_is_noticed_where_rows_depend_on_each_other() {
        let mut sets = Sets::default();
        sets.resize(2);
        let mut watch = Watch::default();
        for redundant in [false, true] {
            watch.begin();
            assert!(!watch.is_lost(&sets, 100.0, redundant));
            assert!(!watch.is_lost(&sets, 3.0, redundant));
            assert_eq!(watch.is_lost(&sets, 2.9, redundant), redundant);
        }
    }
}
