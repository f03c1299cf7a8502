//! Notices that a method is back where it was, bit by bit: it would come back for ever (Brent, *BIT* 20 (1980) 176–184: the state
//! compared with is renewed after twice as many steps each time).

/// The state compared with, and when it is renewed.
#[derive(Debug, Clone)]
pub(crate) struct CycleDetector<T> {
    before: Vec<T>,
    steps: u64,
    renewal: u64,
}

impl<T> Default for CycleDetector<T> {
    fn default() -> Self {
        Self {
            before: Vec::new(),
            steps: 0,
            renewal: 1,
        }
    }
}

impl<T: Clone + PartialEq> CycleDetector<T> {
    /// Begins with `state`, which is renewed for the first time after `renewal` steps.
    pub fn begin(&mut self, state: &[T], renewal: u64) {
        self.before.clear();
        self.before.extend_from_slice(state);
        (self.steps, self.renewal) = (0, renewal);
    }

    /// Whether `state`, after another step, is the one compared with.
    pub fn seen(&mut self, state: &[T]) -> bool {
        if self.before == state {
            return true;
        }
        self.steps += 1;
        if self.steps == self.renewal {
            self.before.clear();
            self.before.extend_from_slice(state);
            self.renewal *= 2;
        }
        false
    }
}
