//! Generic resources: what nodes have a number of beside processors, memory
//! and disk, such as GPUs, each by its name.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How many of each: of a node, what it has; of a job, what it takes of each
/// of its nodes. Written as Slurm's `--gres` writes it: `gpu:a100:2,nic:1`, where
/// `gpu:a100` is a name with a type. A node has one type of a name at most.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "ByName", into = "ByName"))]
pub struct Generics(
    /// In the order of the names. Nearly every job has none: they cost nothing then.
    Box<[(Arc<str>, u32)]>,
);

type ByName = BTreeMap<Arc<str>, u32>;

impl From<ByName> for Generics {
    fn from(named: ByName) -> Self {
        Generics(named.into_iter().collect())
    }
}

impl From<Generics> for ByName {
    fn from(generics: Generics) -> Self {
        generics.0.into_iter().collect()
    }
}

/// What a text or a list of them has to be.
pub const EXPECTED: &str = "generic resources such as \"gpu:2,nic:1\" or \"gpu:a100:2\": each name \
                            once, with or without a type, both of 1 to 32 characters (a-z and \
                            A-Z, after the first one 0-9, _ and - too), with a number from 1 to \
                            1000000";

/// No node has more of one; sums over the nodes of a cluster stay far from any
/// bound.
const MOST: u32 = 1_000_000;

impl Generics {
    /// These; `None` unless they are what [`EXPECTED`] says.
    pub fn new<N: AsRef<str>, C: Borrow<u32>>(
        all: impl IntoIterator<Item = (N, C)>,
    ) -> Option<Self> {
        let (mut named, mut known) = (ByName::new(), BTreeSet::new());
        for (name, count) in all {
            let (name, count) = (name.as_ref(), *count.borrow());
            named.insert(Arc::from(name), count);
            let is_twice = !known.insert(untyped(name).to_owned());
            if is_twice || !is_name(name) || count == 0 || count > MOST {
                return None;
            }
        }
        Some(named.into())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and numbers, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, u32)> {
        self.0.iter().map(|(name, count)| (name, *count))
    }

    /// How many of this name, of whatever type where it says none; 0 where there
    /// are none.
    pub fn count(&self, name: &str) -> u32 {
        let is_it = |known: &str| known == name || untyped(known) == name;
        let counts = self.iter().filter(|(known, _)| is_it(known));
        counts.map(|(_, count)| count).max().unwrap_or(0)
    }

    /// Whether there are as many of each as wanted.
    pub fn cover(&self, wanted: &Generics) -> bool {
        wanted.iter().all(|(name, count)| self.count(name) >= count)
    }

    /// Of each as many as one of the two has at most.
    #[must_use]
    pub fn or_more(self, other: &Generics) -> Self {
        let mut named = ByName::from(self);
        for (name, count) in other.iter() {
            let most = named.entry(Arc::clone(name)).or_default();
            *most = count.max(*most);
        }
        named.into()
    }
}

/// Whether this may be the name of one, with or without a type.
pub fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.splitn(2, ':').all(|word| {
        word.len() <= 32
            && word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.bytes().all(plain)
    })
}

/// The name without its type: `gpu` of `gpu:a100`.
pub fn untyped(name: &str) -> &str {
    name.split_once(':').map_or(name, |(name, _)| name)
}

impl fmt::Display for Generics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(self.iter()))
    }
}

/// Names with their numbers, as texts have them.
pub fn listed<C: fmt::Display>(all: impl Iterator<Item = (impl fmt::Display, C)>) -> String {
    let all: Vec<String> = all.map(|(name, count)| format!("{name}:{count}")).collect();
    all.join(",")
}

impl FromStr for Generics {
    type Err = &'static str;

    /// What `Display` writes; a name without a number is one of it, as in Slurm.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split(',').filter(|_| !text.is_empty());
        let part = |part: &str| match part.rsplit_once(':') {
            Some((name, count)) if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some((name.to_owned(), count.parse().ok()?))
            }
            _ => Some((part.to_owned(), 1)),
        };
        let all: Option<Vec<(String, u32)>> = parts.map(part).collect();
        all.and_then(Generics::new).ok_or(EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_it_is_written() {
        for text in ["", "gpu:2", "gpu:a100:2,nic-1:1", "a_b:1000000"] {
            let read: Generics = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("nic:1,gpu".parse(), "gpu:1,nic:1".parse::<Generics>());
        assert_eq!("gpu:a100".parse(), "gpu:a100:1".parse::<Generics>());
    }

    #[test]
    fn what_is_no_name_or_number_is_refused() {
        for text in [
            "gpu:0",
            "gpu:+1",
            "gpu:",
            ":1",
            "1gpu:1",
            "gpu:2,gpu:1",
            "gpu:a100:1,gpu:v100:1",
            "gpu:a100:1,gpu:1",
            "gpu:80gb:1",
            "gpu:a100:sxm:1",
            "gpu::1",
            "g pu:1",
            "gpu:1,",
            "gpu:1000001",
            "gpu:4294967296",
        ] {
            assert_eq!(text.parse::<Generics>(), Err(EXPECTED), "{text}");
        }
    }

    #[test]
    fn who_has_as_many_of_each_covers_a_wish() {
        let have: Generics = "gpu:2,nic:1".parse().unwrap();
        let covers = |wanted: &str| have.cover(&wanted.parse().unwrap());
        assert!(covers("") && covers("gpu:2") && covers("gpu:1,nic:1"));
        assert!(!covers("gpu:3") && !covers("fpga:1") && !covers("gpu:a100:1"));
        let more = have.or_more(&"gpu:1,nic:3".parse().unwrap());
        assert_eq!(more.to_string(), "gpu:2,nic:3");
    }

    #[test]
    fn a_type_covers_a_wish_for_it_and_for_any() {
        let have: Generics = "gpu:a100:2".parse().unwrap();
        let covers = |have: &Generics, wanted: &str| have.cover(&wanted.parse().unwrap());
        assert!(covers(&have, "gpu:2") && covers(&have, "gpu:a100:2"));
        assert!(!covers(&have, "gpu:3") && !covers(&have, "gpu:v100:1"));
        let more = have.or_more(&"gpu:v100:4".parse().unwrap());
        assert!(covers(&more, "gpu:4") && covers(&more, "gpu:v100:4"));
        assert!(!covers(&more, "gpu:a100:4") && !covers(&more, "gpu:5"));
    }
}
