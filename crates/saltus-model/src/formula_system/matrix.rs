//! Matrices whose entries a tape computes: which entries there are, and how they reach a sink.

use crate::expression::{Graph, Id, Inputs, Tape};
use saltus_linear::MatrixSink;
use std::ops::Range;

/// Matrices up to this many entries are sent as one block if at least half of it is not zero: one
/// virtual call is cheaper than one for each entry.
const BLOCK_LIMIT: usize = 64;

/// Entries of a matrix that are not identically zero, sorted by rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Symbolic {
    rows: usize,
    cols: usize,
    entries: Vec<(usize, usize, Id)>,
}

impl Symbolic {
    pub(super) fn new(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            entries: Vec::new(),
        }
    }

    /// Adds an entry, unless it is zero; rows and columns in increasing order.
    pub(super) fn push(&mut self, graph: &Graph, row: usize, col: usize, value: Id) {
        if !graph.is_zero(value) {
            self.entries.push((row, col, value));
        }
    }

    pub(super) fn entries(&self) -> &[(usize, usize, Id)] {
        &self.entries
    }

    /// Entries of one row.
    pub(super) fn row(&self, row: usize) -> &[(usize, usize, Id)] {
        let start = self.entries.partition_point(|e| e.0 < row);
        let end = self.entries.partition_point(|e| e.0 <= row);
        &self.entries[start..end]
    }

    /// The entry, if it is not zero.
    pub(super) fn get(&self, row: usize, col: usize) -> Option<Id> {
        self.row(row).iter().find(|e| e.1 == col).map(|e| e.2)
    }

    pub(super) fn is_constant(&self, graph: &Graph) -> bool {
        self.entries.iter().all(|e| graph.value(e.2).is_some())
    }

    fn is_block(&self) -> bool {
        let size = self.rows * self.cols;
        size <= BLOCK_LIMIT && 2 * self.entries.len() >= size && size > 0
    }

    /// Appends what a tape must compute to `outputs` and says what goes where.
    pub(super) fn lay_out(&self, graph: &mut Graph, outputs: &mut Vec<Id>) -> Layout {
        let start = outputs.len();
        if self.is_block() {
            let zero = graph.zero();
            outputs.resize(start + self.rows * self.cols, zero);
            for &(row, col, id) in &self.entries {
                outputs[start + row * self.cols + col] = id;
            }
            return Layout {
                range: start..outputs.len(),
                kind: Kind::Block {
                    rows: self.rows,
                    cols: self.cols,
                },
            };
        }
        outputs.extend(self.entries.iter().map(|e| e.2));
        let places = self.entries.iter().map(|e| (e.0, e.1)).collect();
        let row_start = (0..=self.rows)
            .map(|row| self.entries.partition_point(|e| e.0 < row))
            .collect();
        Layout {
            range: start..outputs.len(),
            kind: Kind::Entries { places, row_start },
        }
    }
}

/// Where the outputs of a tape belong in a matrix.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Which outputs.
    range: Range<usize>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// All entries, row by row.
    Block { rows: usize, cols: usize },
    /// Entry by entry; `row_start[i]..row_start[i + 1]` are those of row `i`.
    Entries {
        places: Vec<(usize, usize)>,
        row_start: Vec<usize>,
    },
}

impl Layout {
    /// Sends the matrix, given all outputs of its tape.
    #[inline]
    pub(super) fn send(&self, outputs: &[f64], sink: &mut dyn MatrixSink) {
        let values = &outputs[self.range.clone()];
        match &self.kind {
            Kind::Block { rows, cols } => sink.add(0, 0, *rows, *cols, values),
            Kind::Entries { places, .. } => {
                for (&(row, col), &value) in places.iter().zip(values) {
                    sink.entry(row, col, value);
                }
            }
        }
    }

    /// Sends row `from` of the matrix to row `to` of the sink.
    pub(super) fn send_row(
        &self,
        from: usize,
        to: usize,
        outputs: &[f64],
        sink: &mut dyn MatrixSink,
    ) {
        let values = &outputs[self.range.clone()];
        match &self.kind {
            Kind::Block { cols, .. } => {
                sink.add(to, 0, 1, *cols, &values[from * cols..(from + 1) * cols])
            }
            Kind::Entries { places, row_start } => {
                let range = row_start[from]..row_start[from + 1];
                for (place, &value) in places[range.clone()].iter().zip(&values[range]) {
                    sink.entry(to, place.1, value);
                }
            }
        }
    }
}

/// A matrix with its own tape.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    tape: Tape,
    layout: Layout,
}

impl Matrix {
    pub(super) fn compile(graph: &mut Graph, symbolic: &Symbolic) -> Self {
        let mut outputs = Vec::new();
        let layout = symbolic.lay_out(graph, &mut outputs);
        Self {
            tape: Tape::compile(graph, &outputs),
            layout,
        }
    }

    #[inline]
    pub(super) fn send(&self, inputs: Inputs<'_>, sink: &mut dyn MatrixSink) {
        if self.tape.len() > 0 {
            self.tape
                .run(inputs, |values| self.layout.send(values, sink));
        }
    }

    /// Evaluates once and sends row `from` to row `to` for each pair.
    pub(super) fn send_rows(
        &self,
        inputs: Inputs<'_>,
        pairs: impl Iterator<Item = (usize, usize)>,
        sink: &mut dyn MatrixSink,
    ) {
        if self.tape.len() > 0 {
            self.tape.run(inputs, |values| {
                for (from, to) in pairs {
                    self.layout.send_row(from, to, values, sink);
                }
            });
        }
    }
}

/// A vector with its own tape.
#[derive(Debug, Clone)]
pub(super) struct Vector {
    tape: Tape,
}

impl Vector {
    pub(super) fn compile(graph: &Graph, entries: &[Id]) -> Self {
        Self {
            tape: Tape::compile(graph, entries),
        }
    }

    /// Overwrites the first entries of `target`.
    #[inline]
    pub(super) fn write(&self, inputs: Inputs<'_>, target: &mut [f64]) {
        self.read(inputs, |values| copy(values, target));
    }

    #[inline]
    pub(super) fn read<R>(&self, inputs: Inputs<'_>, read: impl FnOnce(&[f64]) -> R) -> R {
        self.tape.run(inputs, read)
    }

    pub(super) fn is_constant(&self) -> bool {
        self.tape.is_constant()
    }
}

/// Copies as much as both hold.
#[inline]
pub(super) fn copy(values: &[f64], target: &mut [f64]) {
    if values.len() == target.len() {
        target.copy_from_slice(values);
    } else {
        for (target, value) in target.iter_mut().zip(values) {
            *target = *value;
        }
    }
}
