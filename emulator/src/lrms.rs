//! What runs the jobs of a cluster: the model, or a real LRMS in its place.

pub mod slurm;

/// What runs the jobs of a cluster.
#[derive(Clone, Debug, Default)]
pub enum Lrms {
    /// The model of the core.
    #[default]
    Emulated,
    /// A real Slurm, driven through its commands.
    Slurm(Box<slurm::Site>),
}
