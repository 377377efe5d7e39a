//! How Slurm writes lists of hosts and times, whichever side we are on.

pub(crate) mod hostlist;
pub(crate) mod times;
