//! The laws of a contact problem in JSON.

use saltus_complementarity::Block;
use serde::{Deserialize, Serialize};

/// A block of a problem as it is written.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Law(#[serde(with = "Document")] pub(super) Block);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Block", rename_all = "kebab-case", deny_unknown_fields)]
enum Document {
    Equality,
    Unilateral,
    Coulomb {
        mu: f64,
        tangents: u8,
    },
    Rolling {
        mu: f64,
        length: f64,
    },
    Box {
        #[serde(with = "lower")]
        lo: f64,
        #[serde(with = "upper")]
        hi: f64,
    },
    JointCoulomb {
        mu: f64,
        tangents: u8,
        first_normal: usize,
        normals: usize,
    },
}

/// An infinite lower bound is written as nothing.
mod lower {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
    }
}

/// An infinite upper bound is written as nothing.
mod upper {
    use serde::{Deserialize, Deserializer};

    pub use super::lower::serialize;

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
