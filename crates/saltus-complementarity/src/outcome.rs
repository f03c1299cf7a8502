//! What a solver says of its answer.

/// When a solver may stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Bound on what each row may miss, relative to its own data ([`Mlcp::relative_residual`](crate::Mlcp::relative_residual)).
    pub residual: f64,
    /// What each row may miss besides, in the unit of `w`: for a `q` that is itself known only up to round-off. 0 by default,
    /// and then no unit changes the verdict.
    pub floor: f64,
    /// Largest number of iterations: pivots, sweeps, steps and active sets alike, of all methods that are tried together. Closed
    /// forms of one and two unknowns need none.
    pub max_iterations: u32,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            residual: 1e-12,
            floor: 0.0,
            max_iterations: 20_000,
        }
    }
}

impl Tolerance {
    /// What an iteration aims at, so that the verdict holds in spite of the last rounding.
    pub(crate) fn goal(self) -> Self {
        Self {
            residual: 0.1 * self.residual,
            floor: 0.0,
            ..self
        }
    }
}

/// The word for how a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// The recomputed residual is below tolerance.
    Solved,
    /// The method ended on a ray: infeasible where the matrix is copositive-plus, otherwise unknown.
    Ray,
    /// The method came back to an active set it had already tried.
    Cycle,
    /// The limit of the caller is spent: with a larger one the method would go on.
    IterationLimit,
    /// An active set is consistent, but its point misses the tolerance: rounding its entries costs more. Or an enumeration found
    /// nothing, but could not refute every set.
    Inaccurate,
    /// The equations are contradictory (no point satisfies them).
    Inconsistent,
    /// The method makes no progress.
    Stalled,
    /// The iterates grow without bound.
    Diverging,
    /// Nothing solves the problem: proven by multipliers, or by refuting every case.
    Infeasible,
    /// The caller asked to stop.
    Cancelled,
    /// The data or an iterate is not finite.
    NotFinite,
    /// The method is not for a problem of this size, and nothing was tried.
    NotApplicable,
}

impl Status {
    /// The word in results and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Ray => "ray",
            Self::Cycle => "cycle",
            Self::IterationLimit => "iteration-limit",
            Self::Inaccurate => "inaccurate",
            Self::Inconsistent => "inconsistent",
            Self::Stalled => "stalled",
            Self::Diverging => "diverging",
            Self::Infeasible => "infeasible",
            Self::Cancelled => "cancelled",
            Self::NotFinite => "not-finite",
            Self::NotApplicable => "not-applicable",
        }
    }
}

/// How a solve ended, with the numbers that prove it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The word.
    pub status: Status,
    /// Iterations spent.
    pub iterations: u32,
    /// Residual of the natural map of the returned point, absolute.
    pub residual: f64,
    /// Rows of the final active system minus its numerical rank: how many multipliers are not unique.
    pub redundant: u32,
}

impl Outcome {
    /// Whether the point is a solution.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.status == Status::Solved
    }
}
