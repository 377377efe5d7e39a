//! Generic resources on the wire.

use crate::xml::digits;
use gridrig_core::generic::{Generics, is_name, listed};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Generic resources by name, with or without a type, each with its number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
#[cfg_attr(feature = "openapi", schema(example = json!({"gpu": 2})))]
pub struct GenericCounts(pub BTreeMap<String, u64>);

impl GenericCounts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of a node or of a job; `None` unless they are what
    /// [`EXPECTED`](gridrig_core::generic::EXPECTED) says.
    pub fn generics(&self) -> Option<Generics> {
        let all = self.0.iter();
        let counts = all.map(|(name, count)| Some((name, u32::try_from(*count).ok()?)));
        Generics::new(counts.collect::<Option<Vec<_>>>()?)
    }

    /// What is free, also where that is 0; `None` if a name is none.
    pub fn free(&self) -> Option<BTreeMap<Arc<str>, u64>> {
        let all = self.0.iter();
        let named = all.map(|(name, count)| is_name(name).then(|| (name.as_str().into(), *count)));
        named.collect()
    }
}

/// What says that there are none says nothing, as in XML, which has no word for it.
pub(super) fn some<'de, D: Deserializer<'de>>(json: D) -> Result<Option<GenericCounts>, D::Error> {
    let all = Option::deserialize(json)?;
    Ok(all.filter(|all: &GenericCounts| !all.is_empty()))
}

impl From<&Generics> for GenericCounts {
    fn from(generic: &Generics) -> Self {
        let all = generic.iter();
        let counts = all.map(|(name, count)| (name.to_string(), u64::from(count)));
        GenericCounts(counts.collect())
    }
}

/// As XML has them: `gpu:2,nic:1`.
impl fmt::Display for GenericCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(self.0.iter()))
    }
}

impl FromStr for GenericCounts {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut named = BTreeMap::new();
        for part in text.split(',') {
            let (name, count) = part.rsplit_once(':').ok_or(())?;
            let count = digits(count).and_then(|count| count.parse().ok());
            if named.insert(name.to_owned(), count.ok_or(())?).is_some() {
                return Err(());
            }
        }
        Ok(GenericCounts(named))
    }
}
