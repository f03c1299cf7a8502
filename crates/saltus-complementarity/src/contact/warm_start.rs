//! Warm start: the impulses of the last solved problem by the ids of their blocks.

use super::block::Block;

/// Blocks and impulses of the problem that was solved last.
#[derive(Debug, Default)]
pub(super) struct WarmStart {
    /// Whether `ids`, `blocks` and `first` are those of the current problem.
    current: bool,
    ids: Vec<u64>,
    blocks: Vec<Block>,
    first: Vec<usize>,
    z: Vec<f64>,
    /// Positions sorted by id, where they are needed.
    order: Vec<usize>,
    sorted: bool,
}

impl WarmStart {
    /// Begins a new problem; what is stored belongs to the last one.
    #[inline]
    pub fn begin(&mut self) {
        self.current = false;
    }

    /// Stores a solved problem.
    #[inline]
    pub fn store(&mut self, ids: &[u64], blocks: &[Block], first: &[usize], z: &[f64]) {
        if !self.current || self.ids.len() != ids.len() {
            self.ids.clear();
            self.ids.extend_from_slice(ids);
            self.blocks.clear();
            self.blocks.extend_from_slice(blocks);
            self.first.clear();
            self.first.extend_from_slice(first);
            self.current = true;
            self.sorted = false;
        }
        self.z.clear();
        self.z.extend_from_slice(z);
    }

    /// Id, law and impulses of every block.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Block, &[f64])> {
        let laws = self.ids.iter().zip(&self.blocks).zip(&self.first);
        laws.map(|((id, block), first)| (*id, *block, &self.z[*first..first + block.rows()]))
    }

    /// Removes everything, keeping the capacity.
    pub fn clear(&mut self) {
        self.current = false;
        self.sorted = false;
        self.ids.clear();
        self.blocks.clear();
        self.first.clear();
        self.z.clear();
    }

    /// Adds a block.
    pub fn push(&mut self, id: u64, block: Block, z: &[f64]) {
        self.current = false;
        self.sorted = false;
        self.ids.push(id);
        self.blocks.push(block);
        self.first.push(self.z.len());
        self.z.extend_from_slice(z);
    }

    /// The impulses of the block with this id, if it had the same shape. `position` is the block that is tried first.
    pub fn impulses_of(&mut self, id: u64, block: Block, position: usize) -> Option<&[f64]> {
        let k = if self.ids.get(position) == Some(&id) {
            position
        } else {
            self.find(id)?
        };
        let first = self.first[k];
        self.blocks[k]
            .same_shape(block)
            .then(|| &self.z[first..first + block.rows()])
    }

    fn find(&mut self, id: u64) -> Option<usize> {
        if !self.sorted {
            self.order.clear();
            self.order.extend(0..self.ids.len());
            let ids = &self.ids;
            self.order.sort_unstable_by_key(|&k| (ids[k], k));
            self.sorted = true;
        }
        let found = self.order.binary_search_by_key(&id, |&k| self.ids[k]);
        found.ok().map(|position| self.order[position])
    }
}
