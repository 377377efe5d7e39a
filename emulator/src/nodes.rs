//! The nodes of an emulated cluster, taken down and up by hand.

use crate::Config;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, put};
use axum::{Json, Router};
use gridrig_core::agent::LrmsAgent;
use gridrig_core::cluster::NodeChange;
use gridrig_core::resource::Resources;
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::rest::{NodeList, NodeState, Problem};
#[cfg(test)]
use gridrig_service::http::openapi::{BadBody, Unavailable};
use gridrig_service::http::{Body, Path, Result};

type App = gridrig_service::App<Config>;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/nodes", get(list))
        .route("/v1/nodes/{name}", put(change))
}

/// A change of the node of this name.
pub(crate) fn named(resources: &Resources, name: &str, up: bool) -> Option<NodeChange> {
    let (resource, node) = resources.node_named(name)?;
    Some(NodeChange {
        resource,
        node,
        nodes: 1,
        up,
    })
}

/// Which nodes are down, by plan or by hand.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/nodes",
    responses(
        (status = 200, description = "The nodes", body = NodeList),
        Unavailable,
    )
))]
async fn list(State(app): State<App>) -> Result<Json<NodeList>> {
    let down = app.call(|lrms, _| lrms.cluster().nodes_down().collect::<Vec<_>>());
    let resources = &app.config.cluster.resources;
    let down = down.await?.into_iter();
    Ok(Json(NodeList {
        nodes: resources.nodes(),
        down: down
            .map(|(group, node)| resources.node_name(group, node))
            .collect(),
    }))
}

/// Take a node down, or up again. Jobs that run on it fail, are requeued or resume,
/// as the cluster is set up. A node that is down by plan is up again only when it is
/// repaired by plan, too.
#[cfg_attr(test, utoipa::path(
    put, path = "/v1/nodes/{name}", request_body = NodeState,
    params(("name" = String, Path, description = "Its name, such as `n1`")),
    responses(
        (status = 204, description = "So it is"),
        BadBody,
        (status = 404, description = "No node has this name", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "A real LRMS has the nodes", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A field is invalid", body = Problem, content_type = "application/problem+json"),
        Unavailable,
    )
))]
async fn change(
    State(app): State<App>,
    Path(name): Path<String>,
    Body(state): Body<NodeState>,
) -> Result<StatusCode> {
    let cluster = &app.config.cluster;
    let unknown = || {
        let last = cluster.resources.nodes();
        let message = format!("{name}: no such node (expected n1 to n{last})");
        Problem::new(404, "unknown-node", message)
    };
    let change = named(&cluster.resources, &name, state.up).ok_or_else(unknown)?;
    let tell = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| lrms.handle(now, change);
    match app.call(tell).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => {
            let message = "a real LRMS has the nodes (expected its own commands)";
            Err(Problem::new(409, "real-lrms", message).into())
        }
    }
}
