//! The dashboard: pages over a folder of runs, and over a run while it goes.
//!
//! Pages are documents made here and filled by plain modules of their own
//! (`gridrig/dashboard/assets`); nothing is built, nothing is fetched from
//! elsewhere. `docs/dashboard.md` is the page on it.

mod assets;
pub mod control;
mod layout;
pub mod live;
mod pages;
mod security;
mod serve;
mod token;

pub use live::life_of;
pub use pages::Pages;
pub use security::Access;
pub use serve::start;
pub use token::token;

use control::Control;
use live::Hub;
use std::path::PathBuf;
use std::sync::Arc;

/// What every page works with.
pub struct Dashboard {
    /// The folder of runs: `RUNS/SCENARIO-SEED/POLICY/rNNN`.
    pub runs: PathBuf,
    /// Who may ask.
    pub access: Access,
    /// What is going on.
    pub hub: Arc<Hub>,
    /// What its pages over finished runs have read and made.
    pub pages: Pages,
    /// What runs, and what is to run.
    pub control: Arc<Control>,
}

/// The dashboard as its routes hold it.
pub type Shared = Arc<Dashboard>;
