//! Small integer names of the things in a run.
//!
//! The order of these integers is the order of ties at one instant: domains
//! and clusters count in file order, jobs in trace order.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// A job of the run, counted from 0 in trace order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobId(pub u32);

/// A domain (one broker plus its clusters), counted from 0 in file order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DomainId(pub u16);

/// A cluster, counted from 0 over all domains in file order, so that
/// comparing two of them compares (domain, cluster).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClusterId(pub u16);

/// A table by job. Job ids are small integers, which a multiplication spreads
/// well enough. Clients of a service may choose theirs; what a table of chosen
/// collisions could cost is bounded by the services' limits on jobs.
pub type IdMap<V> = SmallMap<JobId, V>;

/// A table by what a few small integers tell apart.
pub type SmallMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Hashes small integers.
#[derive(Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u32(u32::from(value));
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u32(value as u32);
    }

    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl JobId {
    /// The position in a table of all jobs.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl DomainId {
    /// The position in a table of all domains.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl ClusterId {
    /// The position in a table of all clusters.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}", self.0)
    }
}

impl fmt::Display for DomainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "domain {}", self.0)
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster {}", self.0)
    }
}
