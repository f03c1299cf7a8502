//! Neighbours in space, and what hangs together.

use std::collections::HashMap;

/// Points in cubes of one size.
pub struct Grid {
    cell: f64,
    points: HashMap<[i64; 3], Vec<usize>>,
}

impl Grid {
    pub fn new(places: &[[f64; 3]], cell: f64) -> Self {
        let mut grid = Self {
            cell,
            points: HashMap::new(),
        };
        for (n, place) in places.iter().enumerate() {
            grid.points.entry(grid.key(place)).or_default().push(n);
        }
        grid
    }

    #[allow(clippy::cast_possible_truncation)]
    fn key(&self, place: &[f64; 3]) -> [i64; 3] {
        place.map(|x| (x / self.cell).floor() as i64)
    }

    /// Points in the cube of `place` and in its neighbours.
    pub fn around(&self, place: &[f64; 3]) -> Vec<usize> {
        let key = self.key(place);
        self.inside(key.map(|k| k - 1), key.map(|k| k + 1))
    }

    /// Points in the cubes of a box.
    pub fn between(&self, a: &[f64; 3], b: &[f64; 3]) -> Vec<usize> {
        let (a, b) = (self.key(a), self.key(b));
        let low = [0, 1, 2].map(|c| a[c].min(b[c]) - 1);
        let high = [0, 1, 2].map(|c| a[c].max(b[c]) + 1);
        self.inside(low, high)
    }

    fn inside(&self, low: [i64; 3], high: [i64; 3]) -> Vec<usize> {
        let cubes: f64 = (0..3).map(|c| (high[c] - low[c] + 1) as f64).product();
        if cubes > self.points.len() as f64 {
            let within = |key: &[i64; 3]| (0..3).all(|c| low[c] <= key[c] && key[c] <= high[c]);
            let found = self.points.iter().filter(|(key, _)| within(key));
            return found.flat_map(|(_, list)| list).copied().collect();
        }
        let mut found = Vec::new();
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    found.extend(self.points.get(&[x, y, z]).into_iter().flatten());
                }
            }
        }
        found
    }
}

/// Sets of nodes that hang together.
pub struct Union(Vec<usize>);

impl Union {
    pub fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    pub fn root(&mut self, mut node: usize) -> usize {
        while self.0[node] != node {
            self.0[node] = self.0[self.0[node]];
            node = self.0[node];
        }
        node
    }

    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
