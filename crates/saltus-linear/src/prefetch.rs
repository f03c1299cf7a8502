//! Asking for memory before it is needed.

use std::ops::Range;

/// Entries in a line of the cache.
pub(crate) const LINE: usize = 8;

/// Rows of vectors that are wanted soon.
#[derive(Debug, Clone)]
pub(crate) struct Ahead<'a> {
    /// Whole vectors, and the rows in question.
    vectors: &'a [&'a [f64]],
    rows: Range<usize>,
    /// These rows of one more vector.
    own: &'a [f64],
}

impl<'a> Ahead<'a> {
    pub(crate) fn new(vectors: &'a [&'a [f64]], rows: Range<usize>, own: &'a [f64]) -> Self {
        Self { vectors, rows, own }
    }

    /// Asks for the line of every vector that begins `at` rows after the first of the rows.
    #[inline]
    pub(crate) fn ask(&self, at: usize) {
        if at < self.rows.len() {
            let here = self.rows.start + at;
            let line = self.vectors.iter().filter_map(|vector| vector.get(here));
            line.chain(self.own.get(at)).for_each(prefetch);
        }
    }
}

/// Brings a number nearer to the processor, without waiting for it. Changes nothing else.
#[inline]
#[allow(unsafe_code)] // the instruction has no safe name
fn prefetch(x: &f64) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint that writes nothing and faults nowhere, with the address of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(x).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = x;
}
