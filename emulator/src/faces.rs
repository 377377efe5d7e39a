//! The interfaces of other systems, over the same cluster: what real brokers
//! and clients already speak. Each is switched on by its setup.

pub mod arc;
pub mod bes;
pub mod slurm;

use crate::Config;
use axum::Router;
use gridrig_scenario::document::Cluster;
pub use gridrig_scenario::interface::FaceKind;
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

impl Faces {
    /// These faces with their usual settings.
    #[must_use]
    pub fn of(kinds: &[FaceKind]) -> Self {
        let mut faces = Faces::default();
        for kind in kinds {
            match kind {
                FaceKind::Arc => faces.arc = Some(arc::Setup::default()),
                FaceKind::Bes => faces.bes = Some(bes::Setup::default()),
            }
        }
        faces
    }

    /// Those that a scenario gives a cluster, with the time that each step of a
    /// computing element around the LRMS takes on the wall clock.
    #[must_use]
    pub fn written(cluster: &Cluster) -> Self {
        let mut faces = Faces::of(&cluster.faces());
        if let Some(arc) = &mut faces.arc {
            arc.step = cluster.arc_step();
        }
        faces
    }

    /// Which of them are on.
    #[must_use]
    pub fn kinds(&self) -> Vec<FaceKind> {
        let arc = self.arc.as_ref().map(|_| FaceKind::Arc);
        let bes = self.bes.as_ref().map(|_| FaceKind::Bes);
        arc.into_iter().chain(bes).collect()
    }
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
