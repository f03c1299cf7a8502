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

/// Reverse Cuthill–McKee order of a symmetric pattern, and the half-bandwidth it leaves: `order[k]` is the row that
/// comes in place `k`. The neighbours of row `i` are `index[start[i]..start[i + 1]]`.
///
/// Each component starts from an end of a long shortest path (George and Liu, *Computer Solution of Large Sparse
/// Positive Definite Systems*, 1981, §4.3).
pub(crate) fn reverse_cuthill_mckee(start: &[u32], index: &[u32]) -> (Vec<u32>, usize) {
    let n = start.len().saturating_sub(1);
    let neighbours = |i: u32| &index[start[i as usize] as usize..start[i as usize + 1] as usize];
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut place = vec![u32::MAX; n];
    let mut seed = 0;
    while order.len() < n {
        while place[seed] != u32::MAX {
            seed += 1;
        }
        let first = order.len();
        #[allow(clippy::cast_possible_truncation)]
        let mut root = seed as u32;
        // Twice from the far end of the levels: nearly the longest path.
        for _ in 0..3 {
            for i in order.drain(first..) {
                place[i as usize] = u32::MAX;
            }
            order.push(root);
            place[root as usize] = 0;
            let mut head = first;
            while head < order.len() {
                let i = order[head];
                let before = order.len();
                for &j in neighbours(i) {
                    if place[j as usize] == u32::MAX {
                        place[j as usize] = 0;
                        order.push(j);
                    }
                }
                order[before..].sort_unstable_by_key(|&j| neighbours(j).len());
                head += 1;
            }
            root = order[order.len() - 1];
        }
    }
    order.reverse();
    for (k, &i) in order.iter().enumerate() {
        #[allow(clippy::cast_possible_truncation)]
        {
            place[i as usize] = k as u32;
        }
    }
    let width = (0..n)
        .flat_map(|i| {
            let at = place[i];
            #[allow(clippy::cast_possible_truncation)]
            neighbours(i as u32).iter().map(move |&j| (j, at))
        })
        .fold(0, |w, (j, at)| w.max(place[j as usize].abs_diff(at)));
    (order, width as usize)
}
