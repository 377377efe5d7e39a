//! `gridrig reproduce`: the tables of pages, made again from the scenarios that they
//! name, and studies against real programs that the study starts itself.

pub mod page;
pub mod pictures;
pub mod private_slurm;
pub mod slurm_fidelity;
pub mod study;
