//! Entries of the certificate that every scheme fills in the same way: coordinates, constraints and contacts at the end of a step.

use crate::certificate::{Certificate, Entry};
use saltus_linear::max_abs;
use saltus_system::{ContactSet, System};

/// Norms of quaternions among the positions `q`.
pub(crate) fn certify_coordinates(system: &dyn System, q: &[f64], certificate: &mut Certificate) {
    if let Some(error) = system.quaternion_defect(q) {
        certificate.set(Entry::QuaternionNorm, error);
    }
}

/// `g` and `G v + ∂g/∂t` of the bilateral constraints, where there are any.
pub(crate) fn certify_bilateral(gap: &[f64], velocity: &[f64], certificate: &mut Certificate) {
    if !gap.is_empty() {
        certificate.set(Entry::BilateralPosition, max_abs(gap));
        certificate.set(Entry::BilateralVelocity, max_abs(velocity));
    }
}

/// Penetration, the gaps of contacts that carry an impulse, and how much any pulls, where there are contacts.
pub(crate) fn certify_gaps(gap: &[f64], impulse: &[f64], certificate: &mut Certificate) {
    if gap.is_empty() {
        return;
    }
    let (mut penetration, mut carrying, mut pulls) = (0.0_f64, 0.0_f64, 0.0_f64);
    for (gap, p) in gap.iter().zip(impulse) {
        penetration = penetration.max(-gap);
        pulls = pulls.max(-p);
        if *p > 0.0 {
            carrying = carrying.max(gap.abs());
        }
    }
    certificate.set(Entry::Penetration, penetration);
    certificate.set(Entry::ComplementarityPosition, carrying);
    if pulls > 0.0 {
        certificate.set(Entry::Cone, pulls);
    }
}

/// Newton's law of the contacts that carry an impulse, at normal velocities `velocity` \[m/s\] of the end. `before` gives the
/// normal velocity of a contact before the impact, as the law of the scheme takes it.
pub(crate) fn certify_impact_law(
    set: &ContactSet,
    impulse: &[f64],
    velocity: &[f64],
    before: impl Fn(usize) -> f64,
    certificate: &mut Certificate,
) {
    if set.is_empty() {
        return;
    }
    let carrying = (0..set.len()).filter(|&i| impulse[i] > 0.0);
    let residual = |i: usize| (velocity[i] + set.law[i].e_n * before(i)).abs();
    certificate.set(Entry::ImpactLaw, carrying.map(residual).fold(0.0, f64::max));
}
