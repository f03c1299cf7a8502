//! Elimination orders that keep sparse factors sparse.

use saltus_linear::minimum_degree;

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
