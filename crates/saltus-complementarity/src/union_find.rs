//! Connected components of a graph by disjoint sets (Tarjan, *J. ACM* 22 (1975)).

/// Disjoint sets of `0..n`, each known by its least member.
#[derive(Debug, Default)]
pub(crate) struct UnionFind {
    parent: Vec<usize>,
}

impl UnionFind {
    /// Every number below `n` by itself.
    pub fn new(n: usize) -> Self {
        let mut sets = Self::default();
        sets.reset(n);
        sets
    }

    /// The same, keeping the storage.
    pub fn reset(&mut self, n: usize) {
        self.parent.clear();
        self.parent.extend(0..n);
    }

    /// The least member of the set of `i`.
    pub fn root(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }

    /// Unites the sets of `a` and `b`; returns whether they were two.
    pub fn unite(&mut self, a: usize, b: usize) -> bool {
        if self.parent[a] == self.parent[b] {
            return false;
        }
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
        a != b
    }

    /// All sets, each ascending, in the order of their least members.
    pub fn sets(mut self) -> Vec<Vec<usize>> {
        let n = self.parent.len();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        let mut number = vec![usize::MAX; n];
        for i in 0..n {
            let root = self.root(i);
            if root == i {
                number[i] = sets.len();
                sets.push(Vec::new());
            }
            sets[number[root]].push(i);
        }
        sets
    }
}
