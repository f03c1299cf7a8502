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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use crate::archive::{Problem, Record, json};
    use saltus_complementarity::{Block, ContactData};
    use std::path::Path;

    /// The laws of a contact problem, infinite bounds included.
    #[test]
    fn a_contact_problem_comes_back_from_json() {
        let blocks = [
            Block::Equality,
            Block::Unilateral,
            Block::Coulomb {
                mu: 0.5,
                tangents: 1,
            },
            Block::Rolling {
                mu: 0.3,
                length: 0.1,
            },
            Block::Box {
                lo: f64::NEG_INFINITY,
                hi: 0.5,
            },
            Block::JointCoulomb {
                mu: 0.2,
                tangents: 1,
                first_normal: 0,
                normals: 1,
            },
        ];
        let rows = blocks.iter().map(|block| block.rows()).sum();
        let data = ContactData {
            ids: (10..10 + blocks.len() as u64).collect(),
            blocks: blocks.to_vec(),
            matrix: (0..rows).map(|k| (k, k, 1.0 + k as f64)).collect(),
            sparse: true,
            q: vec![-1.0; rows],
            z: vec![0.0; rows],
        };
        let path = Path::new("p.json");
        let record = Record::from(Problem::Contact(data.clone()));
        let text = json::write(path, &record).unwrap();
        match json::read(path, &text).unwrap().problem {
            Problem::Contact(again) => assert_eq!(again, data),
            other => panic!("{other:?}"),
        }
    }
}
