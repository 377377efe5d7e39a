//! The Live page.

use super::Shared;
use super::layout::{Layout, Tab, page};
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;

#[derive(Template)]
#[template(path = "live.html")]
struct LivePage {
    layout: Layout,
    runs: String,
}

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/", get(live))
}

async fn live(State(dashboard): State<Shared>) -> Response {
    page(&LivePage {
        layout: Layout::new(Tab::Live),
        runs: dashboard.runs.display().to_string(),
    })
}
