//! Elimination orders that keep sparse factors sparse.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

/// Approximate minimum degree order of the symmetric pattern of `A + Aᵀ`: `order[k]` is the row to eliminate in
/// step `k`. The neighbours of row `i` are `index[start[i]..start[i + 1]]`, ascending and without repetition.
///
/// The natural order where the pattern is not valid.
#[must_use]
pub fn minimum_degree(start: &[usize], index: &[usize]) -> Vec<usize> {
    let n = start.len().saturating_sub(1);
    let natural = || (0..n).collect();
    let ascending = |i: usize| {
        index
            .get(start[i]..start[i + 1])
            .is_some_and(|r| r.windows(2).all(|w| w[0] < w[1]))
    };
    if n == 0 || start[n] != index.len() || index.iter().any(|&j| j >= n) || !(0..n).all(ascending)
    {
        return natural();
    }
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, start, None, index);
    let (mut order, mut inverse) = (vec![0; n], vec![0; n]);
    let mut memory = MemBuffer::new(amd::order_scratch::<usize>(n, index.len()));
    match amd::order(
        &mut order,
        &mut inverse,
        pattern,
        amd::Control::default(),
        MemStack::new(&mut memory),
    ) {
        Ok(_) => order,
        Err(_) => natural(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_of_a_star_is_eliminated_last() {
        // Row 0 touches all others.
        let n = 8;
        let mut start = vec![0];
        let mut index: Vec<usize> = (0..n).collect();
        start.push(n);
        for i in 1..n {
            index.extend([0, i]);
            start.push(index.len());
        }
        let order = minimum_degree(&start, &index);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..n).collect::<Vec<_>>());
        assert!(order[n - 2..].contains(&0), "{order:?}");
    }
}
