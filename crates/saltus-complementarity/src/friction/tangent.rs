//! The linear system of one Newton step, `(A + s B) dr + B W dr = right side` on the active contacts.

use super::block_lu::BlockLu;
use super::functions::Block;
use super::solver_state::SolverState;

/// The system by blocks of contacts, and its factors.
#[derive(Debug, Default)]
pub(crate) struct Tangent<const D: usize> {
    lu: BlockLu<D>,
    /// Contacts that were active when `lu` was analysed.
    analysed: Vec<usize>,
    /// Index of a contact among the active ones.
    number: Vec<usize>,
    start: Vec<usize>,
    index: Vec<usize>,
    scratch: Vec<[f64; D]>,
}

impl<const D: usize> Tangent<D> {
    /// Counted operations of one factorisation with all contacts active, its analysis included.
    pub fn predict(&mut self, solver: &mut SolverState<'_, D>) -> f64 {
        let all: Vec<usize> = (0..solver.p.contacts()).collect();
        self.analyse(solver, &all);
        self.lu.flops() + self.lu.analysis_work()
    }

    /// Pattern of the active contacts.
    fn analyse(&mut self, solver: &mut SolverState<'_, D>, active: &[usize]) {
        if active == self.analysed && !self.start.is_empty() {
            return;
        }
        self.number.clear();
        self.number.resize(solver.p.contacts(), usize::MAX);
        for (k, &i) in active.iter().enumerate() {
            self.number[i] = k;
        }
        self.start.clear();
        self.index.clear();
        self.start.push(0);
        for &i in active {
            for &j in solver.p.w.cols(i) {
                if self.number[j] != usize::MAX {
                    self.index.push(self.number[j]);
                }
            }
            self.start.push(self.index.len());
        }
        self.lu.analyse(&self.start, &self.index);
        solver.work += self.lu.analysis_work();
        self.analysed.clear();
        self.analysed.extend_from_slice(active);
    }

    /// Factorises the system of the contacts `active` (ascending); `a` and `b` hold the blocks of all contacts.
    /// False where it is singular.
    pub fn factorise(
        &mut self,
        solver: &mut SolverState<'_, D>,
        active: &[usize],
        (a, b): (&[Block<D>], &[Block<D>]),
        s: f64,
    ) -> bool {
        self.analyse(solver, active);
        let (p, number) = (solver.p, &self.number);
        let factorised = self.lu.factorise(|k, put| {
            let i = active[k];
            let (lines, _) = p.w.row(i).as_chunks::<D>();
            for (w, &j) in lines.chunks_exact(D).zip(p.w.cols(i)) {
                if number[j] == usize::MAX {
                    continue;
                }
                let mut block = [[0.0; D]; D];
                for x in 0..D {
                    for y in 0..D {
                        for z in 0..D {
                            block[x][z] += b[i][x][y] * w[y][z];
                        }
                    }
                }
                if i == j {
                    for x in 0..D {
                        for y in 0..D {
                            block[x][y] += a[i][x][y] + s * b[i][x][y];
                        }
                    }
                }
                put(number[j], &block);
            }
        });
        solver.work += self.lu.flops();
        factorised
    }

    /// Replaces the right side `x` (one entry per active contact) by the solution.
    pub fn solve(&mut self, x: &mut [[f64; D]]) {
        self.scratch.resize(x.len(), [0.0; D]);
        self.lu.solve(x, &mut self.scratch);
    }
}
