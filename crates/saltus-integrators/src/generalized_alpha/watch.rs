//! Watches the active sets of a step: cycles, and the remedies that were needed.

use super::engine::Sets;

/// What was done about a step that did not converge, in the order in which it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Remedy {
    /// Nothing yet.
    None,
    /// The activation parameter times 100.
    Activation,
    /// No contact at acceleration level in this step.
    Relaxed,
    /// All unknowns at once instead of one block after the other.
    Together,
}

/// The sets met in a step.
#[derive(Debug)]
pub(super) struct Watch {
    /// Mark of each set, and how often the iteration came to it.
    visited: Vec<(u64, u32)>,
    last: Option<u64>,
    pub(super) iterations: u32,
    pub(super) remedies: u32,
    pub(super) remedy: Remedy,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            visited: Vec::with_capacity(64),
            last: None,
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
    }

    /// One more remedy.
    pub(super) fn remedy(&mut self) {
        self.remedies += 1;
    }

    /// Notes the sets of an iterate; `true` where the iteration has left them and come back twice: once is
    /// not unusual on the way to a solution.
    pub(super) fn returns(&mut self, sets: &Sets) -> bool {
        let mark = fingerprint(sets);
        if self.last == Some(mark) {
            return false;
        }
        self.last = Some(mark);
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
        assert!(!watch.returns(&a) && !watch.returns(&a));
        assert!(!watch.returns(&b) && !watch.returns(&a) && !watch.returns(&b));
        assert!(watch.returns(&a));
    }
}
