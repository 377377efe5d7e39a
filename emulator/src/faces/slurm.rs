//! The commands of Slurm: what they ask the cluster.

use crate::config::Config;
use axum::Router;
use gridrig_service::App;

/// How this face is set up.
#[derive(Clone, Debug, Default)]
pub struct Setup {}

pub(super) fn routes(_app: &App<Config>, _setup: &Setup) -> Router {
    Router::new()
}
