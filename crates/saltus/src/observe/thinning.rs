//! Which rows of a run are kept when not all are.

/// Keeps every `n`-th row, the last one, and every impact with the row before it, so that a jump stays a jump.
#[derive(Debug, Clone)]
pub(crate) struct Thinning {
    every: u64,
    /// The last row, if it was not kept.
    pending: Vec<f64>,
    is_pending: bool,
}

impl Thinning {
    /// Keeps rows whose step is a multiple of `every`; 0 counts as 1.
    pub(crate) fn new(every: u64) -> Self {
        Self {
            every: every.max(1),
            pending: Vec::new(),
            is_pending: false,
        }
    }

    /// Whether every row is kept.
    #[inline]
    pub(crate) fn keeps_all(&self) -> bool {
        self.every == 1
    }

    /// Takes the row of step number `step`; `keep` gets the rows to keep, in time.
    ///
    /// # Errors
    /// The first error of `keep`.
    pub(crate) fn take<E>(
        &mut self,
        step: u64,
        impact: bool,
        row: &[f64],
        mut keep: impl FnMut(&[f64]) -> Result<(), E>,
    ) -> Result<(), E> {
        if impact && self.is_pending {
            keep(&self.pending)?;
        }
        self.is_pending = !(impact || step.is_multiple_of(self.every));
        if self.is_pending {
            self.pending.clear();
            self.pending.extend_from_slice(row);
            Ok(())
        } else {
            keep(row)
        }
    }

    /// The last row, if it was not kept.
    pub(crate) fn pending(&self) -> Option<&[f64]> {
        self.is_pending.then_some(self.pending.as_slice())
    }

    /// Goes on after a row that was not kept, if there was one.
    pub(crate) fn go_on(&mut self, pending: Option<Vec<f64>>) {
        self.is_pending = pending.is_some();
        self.pending = pending.unwrap_or_default();
    }

    /// The last row of the run, if it was not kept yet.
    pub(crate) fn finish(&mut self) -> Option<&[f64]> {
        std::mem::take(&mut self.is_pending).then_some(self.pending.as_slice())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kept(every: u64, steps: u64, impacts: &[u64]) -> Vec<f64> {
        let mut thinning = Thinning::new(every);
        let mut rows = Vec::new();
        for k in 0..=steps {
            thinning
                .take(k, impacts.contains(&k), &[k as f64], |row| {
                    rows.extend_from_slice(row);
                    Ok::<(), ()>(())
                })
                .unwrap();
        }
        rows.extend(thinning.finish().into_iter().flatten());
        rows
    }

    #[test]
    fn keeps_multiples_the_last_row_and_impacts_with_the_row_before() {
        assert_eq!(kept(5, 12, &[]), [0.0, 5.0, 10.0, 12.0]);
        assert_eq!(kept(5, 12, &[3]), [0.0, 2.0, 3.0, 5.0, 10.0, 12.0]);
        assert_eq!(
            kept(5, 12, &[3, 4, 11]),
            [0.0, 2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0]
        );
        assert_eq!(kept(5, 10, &[6]), [0.0, 5.0, 6.0, 10.0]);
        assert_eq!(kept(1, 3, &[2]), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(kept(0, 2, &[]), [0.0, 1.0, 2.0]);
    }
}
