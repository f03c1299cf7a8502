//! Arcs of constant acceleration: a piece is a parabola, and one of it serves many outputs.

use super::arc::{Arc, Piece};
use crate::integrator::StepError;
use crate::kit::EvaluationPoint;
use saltus_linear::axpy;
use saltus_system::System;

impl Arc {
    /// A piece of `h` \[s\] along which accelerations are the same: rates are linear in time.
    pub(super) fn pass_along_parabola(
        &mut self,
        system: &dyn System,
        h: f64,
    ) -> Result<(), StepError> {
        let nv = self.nv;
        let first = self.rates.row(0);
        for i in 0..nv {
            let (v, change) = (self.base.v[i], h * first[nv + i]);
            self.y[i] = h * (v + 0.5 * change);
            self.y[nv + i] = v + change;
        }
        self.set_rates(system, 1, self.base.t + h)?;
        let mut polynomial = self.begin_piece_of(h);
        let rates = self.rates.row(0).iter().zip(self.rates.row(1));
        for ((p, end), (first, last)) in polynomial.iter_mut().zip(&mut self.end).zip(rates) {
            let change = 0.5 * h * (first + last);
            (p[0], p[1]) = (change, h * first - change);
            *end = change;
        }
        axpy(1.0, &self.base.v, &mut self.end[nv..2 * nv]);
        let piece = &mut self.pieces[self.used];
        piece.polynomial = polynomial;
        piece.coefficients = 2;
        Ok(())
    }

    /// Whether the last piece goes on at `start` for `length` \[s\] at least; it is the first one then, and the base is its start.
    pub(super) fn continues(
        &mut self,
        system: &dyn System,
        start: &EvaluationPoint,
        length: f64,
    ) -> bool {
        let is_restored = std::mem::take(&mut self.is_restored);
        if !std::mem::take(&mut self.goes_on) || !self.has_constant_acceleration {
            return false;
        }
        // Of another model the piece may not exist.
        if is_restored && self.restore_piece(system).is_err() {
            return false;
        }
        self.pieces.swap(0, self.used - 1);
        let piece = &mut self.pieces[0];
        let is_here = self.base.q == start.q && self.base.v == start.v;
        if !is_here || piece.taken + length > piece.length {
            return false;
        }
        piece.start = piece.t - start.t;
        self.base.t = piece.t;
        self.base.q.copy_from_slice(&piece.q);
        self.base.v.copy_from_slice(&piece.v);
        self.used = 0;
        true
    }

    /// Integrates the restored piece anew and takes the part of it that was taken.
    fn restore_piece(&mut self, system: &dyn System) -> Result<(), StepError> {
        let piece = &self.pieces[0];
        let (length, taken) = (piece.length, piece.taken);
        self.base.t = piece.t;
        self.base.q.copy_from_slice(&piece.q);
        self.base.v.copy_from_slice(&piece.v);
        self.used = 0;
        self.begin_piece(system)?;
        self.pass_along_parabola(system, length)?;
        self.accept(system, taken);
        self.total.fill(0.0);
        Ok(())
    }

    /// The step ends inside of its last piece, or at the end of it.
    pub(super) fn leave_piece(&mut self) {
        let last = &self.pieces[self.used - 1];
        self.goes_on = self.has_constant_acceleration && last.taken < last.length;
    }

    /// Whether gaps, forces and slips are parabolas at most, of which every zero shows at the ends of the step.
    pub(super) fn is_parabolic(&self) -> bool {
        self.has_constant_acceleration && self.contacts_are_affine
    }

    /// Appends the piece that goes on, if one does.
    pub(super) fn save_piece(&self, memory: &mut Vec<f64>) {
        if self.goes_on {
            let piece = &self.pieces[if self.is_restored { 0 } else { self.used - 1 }];
            memory.extend([piece.t, piece.length, piece.taken]);
            memory.extend(&piece.q);
            memory.extend(&piece.v);
        }
    }

    /// Takes up what [`save_piece`](Self::save_piece) appended: the piece is integrated anew where the next step begins.
    pub(super) fn load_piece(&mut self, memory: &[f64]) {
        let nq = self.base.q.len();
        self.goes_on = memory.len() == 3 + nq + self.nv && self.is_ballistic;
        self.is_restored = self.goes_on;
        if let (true, [t, length, taken, state @ ..]) = (self.goes_on, memory) {
            if self.pieces.is_empty() {
                self.pieces.push(Piece::default());
            }
            let piece = &mut self.pieces[0];
            (piece.t, piece.length, piece.taken) = (*t, *length, *taken);
            let (q, v) = state.split_at(nq);
            piece.q.clear();
            piece.q.extend_from_slice(q);
            piece.v.clear();
            piece.v.extend_from_slice(v);
        }
    }
}
