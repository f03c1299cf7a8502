//! A buffer for a vector behind a shared reference.

use std::sync::Mutex;

/// A vector that a method with `&self` may work in; another thread that comes meanwhile, or the same one from inside
/// its work, brings its own.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<Vec<f64>>);

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Scratch {
    /// Hands `work` a vector (n) of anything.
    pub(crate) fn with<R>(&self, n: usize, work: impl FnOnce(&mut [f64]) -> R) -> R {
        if let Ok(mut held) = self.0.try_lock() {
            if held.len() < n {
                held.resize(n, 0.0);
            }
            work(&mut held[..n])
        } else {
            work(&mut vec![0.0; n])
        }
    }
}
