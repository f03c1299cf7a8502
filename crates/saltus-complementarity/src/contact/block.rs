//! The laws of a contact problem, block by block.

/// The law of a block of consecutive rows; `z` are impulses, `w = A z + q` velocities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block {
    /// One row: `w = 0`, `z` free.
    Equality,
    /// One row: `0 ≤ z ⟂ w ≥ 0`.
    Unilateral,
    /// Normal row, then 1 (planar) or 2 (spatial) tangential rows: exact Coulomb's law, `0 ≤ z_N ⟂ w_N ≥ 0`,
    /// `|z_T| ≤ mu z_N`, `z_T = −mu z_N w_T/|w_T|` where it slips.
    Coulomb {
        /// Coefficient of friction, `≥ 0` and finite.
        mu: f64,
        /// Number of tangential rows, 1 or 2; more count as 2.
        tangents: u8,
    },
    /// Coulomb friction with rolling friction: normal row, 2 tangential and 2 rolling rows, `|z_R| ≤ length z_N`, which
    /// opposes `w_R` as friction opposes slip.
    Rolling {
        /// Coefficient of friction, `≥ 0` and finite.
        mu: f64,
        /// Coefficient of rolling friction \[m\], `≥ 0` and finite.
        length: f64,
    },
    /// One row: `lo ≤ z ≤ hi`, `w = 0` inside, `w ≥ 0` at `lo`, `w ≤ 0` at `hi` (dry friction with a fixed bound).
    Box {
        /// Lower bound, at most `hi`, may be −∞.
        lo: f64,
        /// Upper bound, may be ∞.
        hi: f64,
    },
    /// 1 or 2 slip rows of friction in a joint: `|z| ≤ mu ‖z[first_normal .. first_normal + normals]‖`, slip opposes as in
    /// Coulomb's law. The normal rows are [`Equality`](Self::Equality) rows of the same problem.
    JointCoulomb {
        /// Coefficient of friction, `≥ 0` and finite.
        mu: f64,
        /// Number of slip rows, 1 or 2; more count as 2.
        tangents: u8,
        /// First of the rows whose impulses carry the joint.
        first_normal: usize,
        /// Number of those rows.
        normals: usize,
    },
}

impl Block {
    /// Number of rows.
    #[inline]
    #[must_use]
    pub fn rows(self) -> usize {
        match self {
            Self::Equality | Self::Unilateral | Self::Box { .. } => 1,
            Self::Coulomb { tangents, .. } => 1 + usize::from(tangents.min(2)),
            Self::Rolling { .. } => 5,
            Self::JointCoulomb { tangents, .. } => usize::from(tangents.min(2)),
        }
    }

    /// Whether both are of the same kind and size, so that only the numbers of the law differ.
    #[inline]
    #[must_use]
    pub fn same_shape(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
            && self.rows() == other.rows()
    }

    /// Whether the coefficients and bounds of the law are admissible.
    #[inline]
    pub(super) fn is_valid(self) -> bool {
        let coefficient = |c: f64| (0.0..f64::INFINITY).contains(&c);
        match self {
            Self::Equality | Self::Unilateral => true,
            Self::Coulomb { mu, .. } | Self::JointCoulomb { mu, .. } => coefficient(mu),
            Self::Rolling { mu, length } => coefficient(mu) && coefficient(length),
            Self::Box { lo, hi } => lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY,
        }
    }

    /// The same law with its coefficients of friction times `share`.
    pub(super) fn with_friction(self, share: f64) -> Self {
        let mut block = self;
        match &mut block {
            Self::Coulomb { mu, .. } | Self::JointCoulomb { mu, .. } => *mu *= share,
            Self::Rolling { mu, length } => {
                *mu *= share;
                *length *= share;
            }
            _ => {}
        }
        block
    }

    /// The discs of friction: offset of the first row in the block, number of rows, coefficient.
    #[inline]
    pub(super) fn discs(self) -> [(usize, usize, f64); 2] {
        let size = self.rows();
        match self {
            Self::Coulomb { mu, .. } => [(1, size - 1, mu), (size, 0, 0.0)],
            Self::Rolling { mu, length } => [(1, 2, mu), (3, 2, length)],
            Self::JointCoulomb { mu, .. } => [(0, size, mu), (size, 0, 0.0)],
            _ => [(size, 0, 0.0); 2],
        }
    }

    /// Whether the first row is the normal row of a contact.
    #[inline]
    pub(super) fn is_contact(self) -> bool {
        matches!(
            self,
            Self::Unilateral | Self::Coulomb { .. } | Self::Rolling { .. }
        )
    }
}

/// State of a block at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// A contact without impulse.
    Open,
    /// An equality, or a unilateral row with an impulse.
    Closed,
    /// A contact with friction, a joint or a box that does not move tangentially.
    Stick,
    /// One that moves tangentially, with friction at its bound. A rolling contact slips where its tangential velocity does not vanish.
    Slip,
}
