//! The interfaces of other systems, over the same cluster: what real brokers
//! and clients already speak. Each is switched on by its setup.

pub mod arc;
pub mod bes;
pub mod slurm;

use crate::config::Config;
use axum::Router;
use gridrig_service::App;

/// Which faces an emulated cluster shows; none by default.
#[derive(Clone, Debug, Default)]
pub struct Faces {
    /// ARC REST 1.0 with GLUE2.
    pub arc: Option<arc::Setup>,
    /// OGSA-BES 1.0 with JSDL.
    pub bes: Option<bes::Setup>,
    /// The commands of Slurm.
    pub slurm: Option<slurm::Setup>,
}

/// The routes of the faces that are on.
pub(crate) fn routes(app: &App<Config>) -> Router {
    let faces = &app.config.faces;
    let mut routes = Router::new();
    if let Some(setup) = &faces.arc {
        routes = routes.merge(arc::routes(app, setup));
    }
    if let Some(setup) = &faces.bes {
        routes = routes.merge(bes::routes(app, setup));
    }
    if let Some(setup) = &faces.slurm {
        routes = routes.merge(slurm::routes(app, setup));
    }
    routes
}
