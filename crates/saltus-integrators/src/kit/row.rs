//! The rows of a step in one numbering: bilateral constraints, friction in joints, contacts.

/// What a row of the contact problem belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// Bilateral constraint.
    Bilateral(usize),
    /// Row of the friction in joints.
    JointFriction(usize),
    /// Contact, and its row of the contact set: the normal.
    Normal(usize, usize),
    /// Contact, and its row of the contact set: a tangent.
    Tangent(usize, usize),
}
