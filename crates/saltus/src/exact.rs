//! Numbers in JSON, every one of them: what JSON has no number for is the text of its 64 bits in hexadecimal digits.
//!
//! For fields of types that are written and read by serde: `#[serde(with = "crate::exact")]` for `f64`, [`list`] for many, [`id`]
//! and [`ids`] for contacts by their numbers.

use serde::de::{Deserializer, Error};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
struct Exact(f64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() {
            serializer.serialize_f64(self.0)
        } else {
            serializer.serialize_str(&format!("{:016x}", self.0.to_bits()))
        }
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Bits(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(value) => Ok(Self(value)),
            Written::Bits(text) => u64::from_str_radix(&text, 16)
                .map(|bits| Self(f64::from_bits(bits)))
                .map_err(|_| Error::custom(format!("`{text}` is not the 64 bits of a number"))),
        }
    }
}

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Exact(*value).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Exact::deserialize(deserializer).map(|exact| exact.0)
}

/// `Vec<f64>`.
pub(crate) mod list {
    use super::{Deserialize, Deserializer, Exact, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| Exact(*value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Exact>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|exact| exact.0).collect())
    }
}

/// A contact by its number.
pub(crate) mod id {
    use super::{Deserialize, Deserializer, Serializer};
    use saltus_system::ContactId;

    pub(crate) fn serialize<S: Serializer>(
        id: &ContactId,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(id.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ContactId, D::Error> {
        u64::deserialize(deserializer).map(ContactId)
    }
}

/// `Vec<ContactId>`.
pub(crate) mod ids {
    use super::{Deserialize, Deserializer, Serializer};
    use saltus_system::ContactId;

    pub(crate) fn serialize<S: Serializer>(
        ids: &[ContactId],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(ids.iter().map(|id| id.0))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ContactId>, D::Error> {
        let ids = Vec::<u64>::deserialize(deserializer)?;
        Ok(ids.into_iter().map(ContactId).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Both {
        #[serde(with = "crate::exact")]
        one: f64,
        #[serde(with = "crate::exact::list")]
        many: Vec<f64>,
    }

    #[test]
    fn every_number_reads_back_to_its_bits() {
        let odd = f64::from_bits(0xfff8_0000_0000_0123);
        for value in [0.1, -0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NAN, odd] {
            let both = Both {
                one: value,
                many: vec![1.0, value],
            };
            let text = serde_json::to_string(&both).unwrap();
            let read: Both = serde_json::from_str(&text).unwrap();
            assert_eq!(read.one.to_bits(), value.to_bits(), "{text}");
            assert_eq!(read.many[1].to_bits(), value.to_bits(), "{text}");
        }
        assert!(serde_json::from_str::<Both>(r#"{"one": "x", "many": []}"#).is_err());
    }
}
