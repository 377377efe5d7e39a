//! `gridrig reproduce`: studies that come out alike on any machine, against
//! real programs that the study starts itself.

pub mod private_slurm;
pub mod slurm_fidelity;
