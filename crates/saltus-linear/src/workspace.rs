//! Memory that a routine of `faer` works in.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Memory that grows to the largest need seen, usable behind a shared reference; another thread that comes meanwhile
/// brings its own.
#[derive(Default)]
pub(crate) struct Workspace(Mutex<Option<MemBuffer>>);

fn fits(buffer: &MemBuffer, need: StackReq) -> bool {
    buffer.len() >= need.unaligned_bytes_required()
}

/// Large enough for `need` wherever it begins, so that the next one of the same size fits.
fn buffer_for(need: StackReq) -> MemBuffer {
    MemBuffer::new(StackReq::new::<u8>(need.unaligned_bytes_required()))
}

impl Workspace {
    /// Makes room for `need`.
    pub(crate) fn reserve(&mut self, need: StackReq) {
        let held = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_none_or(|buffer| !fits(buffer, need)) {
            *held = Some(buffer_for(need));
        }
    }

    pub(crate) fn with<R>(&self, need: StackReq, work: impl FnOnce(&mut MemStack) -> R) -> R {
        if let Ok(mut held) = self.0.try_lock() {
            let kept = held.take().filter(|buffer| fits(buffer, need));
            let buffer = held.insert(kept.unwrap_or_else(|| buffer_for(need)));
            return work(MemStack::new(buffer));
        }
        work(MemStack::new(&mut MemBuffer::new(need)))
    }
}

impl Clone for Workspace {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workspace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_need_finds_the_same_room() {
        let need = StackReq::new::<f64>(100).and(StackReq::new::<u32>(7));
        let mut workspace = Workspace::default();
        workspace.reserve(need);
        let place = |workspace: &Workspace| {
            workspace.with(need, |stack| stack.make_with::<u8>(1, |_| 0).0.as_ptr())
        };
        let first = place(&workspace);
        workspace.reserve(need);
        let other = vec![0_u8; need.unaligned_bytes_required()];
        assert_eq!(first, place(&workspace));
        drop(other);
    }
}
