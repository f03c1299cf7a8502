//! Where the coordinates of the nodes stand in the state.

use super::element::NodeKind;

/// Stands for a velocity that is held at zero.
pub(crate) const HELD: u32 = u32::MAX;

/// The places of all coordinates, node by node.
///
/// Free coordinates have places in `q` and `v`; a held position has the place `nq + k` and the
/// constant value `held[k]`, a held velocity has none ([`HELD`]).
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// Number of free positions.
    pub nq: usize,
    /// Number of free velocities.
    pub nv: usize,
    /// Kind of each node.
    pub kinds: Vec<NodeKind>,
    /// Values of the held positions.
    pub held: Vec<f64>,
    position_start: Vec<u32>,
    position: Vec<u32>,
    velocity_start: Vec<u32>,
    velocity: Vec<u32>,
}

impl Places {
    /// Numbers the free coordinates in the order of the nodes.
    ///
    /// `positions(n)` are the reference positions of node `n`, bit `c` of `held[n]` holds its velocity component `c`.
    pub(crate) fn number<'a>(
        kinds: &[NodeKind],
        positions: impl Fn(usize) -> &'a [f64],
        held: &[u8],
    ) -> Self {
        let mut places = Self {
            kinds: kinds.to_vec(),
            ..Self::default()
        };
        let mut frozen = Vec::new();
        for (n, kind) in kinds.iter().enumerate() {
            places.position_start.push(places.position.len() as u32);
            places.velocity_start.push(places.velocity.len() as u32);
            let is_held = |c: usize| held[n] >> c & 1 == 1;
            for c in 0..kind.velocities() {
                places.velocity.push(if is_held(c) {
                    HELD
                } else {
                    places.nv += 1;
                    places.nv as u32 - 1
                });
            }
            for (c, &value) in positions(n).iter().enumerate() {
                // A triad is held as a whole.
                if is_held(c.min(3)) {
                    frozen.push(places.position.len());
                    places.held.push(value);
                    places.position.push(HELD);
                } else {
                    places.position.push(places.nq as u32);
                    places.nq += 1;
                }
            }
        }
        for (k, at) in frozen.into_iter().enumerate() {
            places.position[at] = (places.nq + k) as u32;
        }
        places
    }

    /// Places of the positions of node `n`.
    #[inline]
    pub(crate) fn positions(&self, n: usize) -> &[u32] {
        let start = self.position_start[n] as usize;
        &self.position[start..start + self.kinds[n].positions()]
    }

    /// Places of the velocities of node `n`.
    #[inline]
    pub(crate) fn velocities(&self, n: usize) -> &[u32] {
        let start = self.velocity_start[n] as usize;
        &self.velocity[start..start + self.kinds[n].velocities()]
    }

    /// Place in `v` of component `c` of node `n`, where it is free.
    pub(crate) fn free(&self, n: usize, c: usize) -> Option<usize> {
        let place = self.velocities(n)[c];
        (place != HELD).then_some(place as usize)
    }
}
