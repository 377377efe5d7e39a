//! The interfaces of other systems, over the same cluster: what real brokers
//! and clients already speak. Each is switched on by its setup.

mod agreement;
pub mod arc;
pub mod bes;
pub mod slurm;

use crate::Config;
use axum::Router;
use futures_util::FutureExt as _;
use gridrig_core::agent::LrmsAgent;
use gridrig_drivers::real_time::Actor;
use gridrig_scenario::document::Cluster;
pub use gridrig_scenario::interface::FaceKind;
use gridrig_service::{App, persist};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

/// Which faces an emulated cluster shows; none by default.
#[derive(Clone, Debug, Default)]
pub struct Faces {
    /// ARC REST 1.0 with GLUE2.
    pub arc: Option<arc::Setup>,
    /// OGSA-BES 1.0 with JSDL.
    pub bes: Option<bes::Setup>,
    /// WS-Agreement 1.0.
    pub agreement: bool,
    /// The commands of Slurm.
    pub slurm: Option<slurm::Setup>,
}

impl Faces {
    /// These faces with their usual settings.
    pub fn of(kinds: &[FaceKind]) -> Self {
        let mut faces = Faces::default();
        for kind in kinds {
            match kind {
                FaceKind::Arc => faces.arc = Some(arc::Setup::default()),
                FaceKind::Bes => faces.bes = Some(bes::Setup::default()),
                FaceKind::WsAgreement => faces.agreement = true,
            }
        }
        faces
    }

    /// Those that a scenario gives a cluster, with the time that each step of a
    /// computing element around the LRMS takes on the wall clock.
    pub fn written(cluster: &Cluster) -> Self {
        let mut faces = Faces::of(&cluster.faces());
        if let Some(arc) = &mut faces.arc {
            arc.step = cluster.arc_step();
        }
        faces
    }

    /// Which of them are on.
    pub fn kinds(&self) -> Vec<FaceKind> {
        let arc = self.arc.as_ref().map(|_| FaceKind::Arc);
        let bes = self.bes.as_ref().map(|_| FaceKind::Bes);
        let agreement = self.agreement.then_some(FaceKind::WsAgreement);
        arc.into_iter().chain(bes).chain(agreement).collect()
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
    if faces.agreement {
        routes = routes.merge(agreement::routes(app));
    }
    if let Some(setup) = &faces.slurm {
        routes = routes.merge(slurm::routes(app, setup));
    }
    routes
}

/// A task of an interface. Its panic becomes one of the agent, with which the service
/// ends and says of what.
async fn watched(actor: Actor<LrmsAgent>, task: impl Future<Output = ()>) {
    let Err(panic) = AssertUnwindSafe(task).catch_unwind().await else {
        return;
    };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref().copied());
    let text = text.unwrap_or("a panic").to_owned();
    let again = move |_: &mut _, _| resume_unwind(Box::new(text.clone()));
    let _: Result<(), _> = persist(&actor, Duration::from_millis(1), again).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::discipline::DisciplineKind;
    use gridrig_core::resource::Resources;
    use gridrig_core::time::{Decimal, SimTime};
    use gridrig_drivers::real_time::{Recorder, RunClock, start};
    use gridrig_protocol::client::Client;
    use gridrig_service::Service as _;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_panic_of_an_interface_is_one_of_its_agent() {
        let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
        let cluster = Resources::homogeneous(4);
        let config = Config::new("site", cluster, DisciplineKind::Fcfs, clock);
        let client = Client::new(Duration::from_secs(1)).unwrap();
        let (agent, log) = (config.machine(1, SimTime::ZERO).into(), Recorder::default());
        let transport = Arc::new(config.transport(client));
        let (actor, agent) = start(agent, None, log, clock, transport);
        watched(actor.clone(), async {}).await;
        assert!(actor.call(|_, _| ()).await.is_ok());
        let number = 7;
        watched(actor, async move { panic!("job {number}") }).await;
        let ended = agent.await.unwrap_err().to_string();
        assert!(ended.contains("job 7"), "{ended}");
    }
}
