//! The numbers that prove a step.
//!
//! Every step carries one [`Certificate`]; a scheme declares which entries it guarantees to solver
//! tolerance and which it only keeps small ([`Guarantees`]), and a run keeps the worst of each
//! ([`WorstCertificate`]). An entry that does not apply is NaN and is left out of every output.

/// One number of the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entry {
    /// Residual of the discrete equation of motion.
    Dynamics,
    /// `max |g|` of the bilateral constraints.
    BilateralPosition,
    /// `max |G v + ∂g/∂t|`.
    BilateralVelocity,
    /// `max |G v̇ + ζ|`.
    BilateralAcceleration,
    /// `max(−gap)`, 0 when nothing penetrates.
    Penetration,
    /// `max |gap|` over the contacts that carry an impulse.
    ComplementarityPosition,
    /// Natural map of `0 ≤ u⁺ + e u⁻ ⟂ P ≥ 0` in velocity units, over the contacts the step activated.
    ComplementarityVelocity,
    /// `max |u⁺ + e u⁻|` over the contacts that carry an impulse, with `u⁻` as the law of the scheme takes it: along the
    /// directions at the end of the step or, in the generalized-α family, along its own.
    ImpactLaw,
    /// The same with `u⁻` along its own directions, as the columns have it, of schemes whose law takes it otherwise.
    ImpactLawColumns,
    /// Distance of the reactions from their friction cones; without friction, by how much one pulls.
    Cone,
    /// Largest slip of a contact whose reaction is inside its friction cone: it should stick.
    StickVelocity,
    /// Work of friction where it is positive: friction only dissipates.
    FrictionWork,
    /// `ΔE − W_ext − W_damping − W_impact`, the algorithmic dissipation of the scheme accounted for where it is known.
    EnergyBalance,
    /// `max |‖quaternion‖ − 1|`.
    QuaternionNorm,
}

impl Entry {
    /// All entries, in the order of the report.
    pub const ALL: [Self; 14] = [
        Self::Dynamics,
        Self::BilateralPosition,
        Self::BilateralVelocity,
        Self::BilateralAcceleration,
        Self::Penetration,
        Self::ComplementarityPosition,
        Self::ComplementarityVelocity,
        Self::ImpactLaw,
        Self::ImpactLawColumns,
        Self::Cone,
        Self::StickVelocity,
        Self::FrictionWork,
        Self::EnergyBalance,
        Self::QuaternionNorm,
    ];

    /// The name in `summary.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dynamics => "dynamics",
            Self::BilateralPosition => "bilateral_position",
            Self::BilateralVelocity => "bilateral_velocity",
            Self::BilateralAcceleration => "bilateral_acceleration",
            Self::Penetration => "penetration",
            Self::ComplementarityPosition => "complementarity_position",
            Self::ComplementarityVelocity => "complementarity_velocity",
            Self::ImpactLaw => "impact_law",
            Self::ImpactLawColumns => "impact_law_columns",
            Self::Cone => "cone",
            Self::StickVelocity => "stick_velocity",
            Self::FrictionWork => "friction_work",
            Self::EnergyBalance => "energy_balance",
            Self::QuaternionNorm => "quaternion_norm",
        }
    }

    /// The unit, as printed.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Dynamics | Self::Cone => "N·s",
            Self::BilateralPosition | Self::Penetration | Self::ComplementarityPosition => "m",
            Self::BilateralVelocity
            | Self::ComplementarityVelocity
            | Self::ImpactLaw
            | Self::ImpactLawColumns
            | Self::StickVelocity => "m/s",
            Self::BilateralAcceleration => "m/s²",
            Self::EnergyBalance | Self::FrictionWork => "J",
            Self::QuaternionNorm => "1",
        }
    }

    /// What the number is, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Dynamics => "residual of the discrete equation of motion",
            Self::BilateralPosition => "largest violation of a bilateral constraint",
            Self::BilateralVelocity => "largest rate of a bilateral constraint",
            Self::BilateralAcceleration => "largest acceleration of a bilateral constraint",
            Self::Penetration => "deepest penetration",
            Self::ComplementarityPosition => "largest gap of a contact that carries an impulse",
            Self::ComplementarityVelocity => "residual of the impact law the step solved",
            Self::ImpactLaw => "deviation from Newton's impact law",
            Self::ImpactLawColumns => {
                "deviation from Newton's impact law of the gap velocities at both ends"
            }
            Self::Cone => "distance of a reaction from its friction cone",
            Self::StickVelocity => "largest slip of a contact that sticks",
            Self::FrictionWork => "work that friction should not have done",
            Self::EnergyBalance => "energy that no force, damper or impact accounts for",
            Self::QuaternionNorm => "deviation of a quaternion from norm one",
        }
    }
}

const COUNT: usize = Entry::ALL.len();

/// The certificate of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate([f64; COUNT]);

impl Certificate {
    /// Nothing applies yet.
    pub const EMPTY: Self = Self([f64::NAN; COUNT]);

    /// The value of an entry; NaN where it does not apply.
    #[inline]
    #[must_use]
    pub fn get(&self, entry: Entry) -> f64 {
        self.0[entry as usize]
    }

    /// Sets an entry to a value ≥ 0 (the energy balance is signed).
    #[inline]
    pub fn set(&mut self, entry: Entry, value: f64) {
        self.0[entry as usize] = value;
    }

    /// Entry and value of everything that applies.
    pub fn iter(&self) -> impl Iterator<Item = (Entry, f64)> + '_ {
        Entry::ALL
            .into_iter()
            .map(|e| (e, self.get(e)))
            .filter(|(_, v)| !v.is_nan())
    }
}

/// The largest bound that proves a step, relative to the scale of the motion. A step may be wrong by its tolerance, and so
/// may every other: a run of a million steps with this one by as much as it moves.
pub const PROOF: f64 = 1e-6;

/// Which entries a scheme guarantees on a system, and to what bound, relative to the scale of the motion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Guarantees {
    bounds: [Option<f64>; COUNT],
    declined: Option<f64>,
}

impl Guarantees {
    /// Declares that `entry` stays below `bound` in every step; no guarantee where that is more than [`PROOF`].
    #[must_use]
    pub fn with(mut self, entry: Entry, bound: f64) -> Self {
        if bound <= PROOF {
            self.bounds[entry as usize] = Some(bound);
        } else {
            self.declined = Some(self.declined.map_or(bound, |d| d.max(bound)));
        }
        self
    }

    /// Takes back what was declared of `entry`.
    #[must_use]
    pub(crate) fn without(mut self, entry: Entry) -> Self {
        self.bounds[entry as usize] = None;
        self
    }

    /// The largest bound that was too large to guarantee anything, if there was one.
    #[must_use]
    pub fn declined(&self) -> Option<f64> {
        self.declined
    }

    /// The bound of an entry, `None` where it is only kept small.
    #[must_use]
    pub fn bound(&self, entry: Entry) -> Option<f64> {
        self.bounds[entry as usize]
    }
}

/// The largest absolute value of each entry over a run, and when it occurred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstCertificate {
    worst: [f64; COUNT],
    at: [f64; COUNT],
}

impl Default for WorstCertificate {
    fn default() -> Self {
        Self {
            worst: [f64::NAN; COUNT],
            at: [f64::NAN; COUNT],
        }
    }
}

impl WorstCertificate {
    /// Takes the certificate of the step that ended at `t` \[s\] into account.
    #[inline]
    pub fn update(&mut self, t: f64, certificate: &Certificate) {
        let worst = self.worst.iter_mut().zip(&mut self.at);
        for (value, (worst, at)) in certificate.0.iter().zip(worst) {
            let value = value.abs();
            // What did not apply so far compares with nothing.
            let is_known = value <= *worst;
            if !is_known && !value.is_nan() {
                (*worst, *at) = (value, t);
            }
        }
    }

    /// Sets what [`iter`](Self::iter) told of an entry.
    pub fn set(&mut self, entry: Entry, worst: f64, at: f64) {
        (self.worst[entry as usize], self.at[entry as usize]) = (worst, at);
    }

    /// Entry, worst value and time \[s\] of everything that applied in some step.
    pub fn iter(&self) -> impl Iterator<Item = (Entry, f64, f64)> + '_ {
        Entry::ALL
            .into_iter()
            .map(|e| (e, self.worst[e as usize], self.at[e as usize]))
            .filter(|(_, worst, _)| !worst.is_nan())
    }
}
