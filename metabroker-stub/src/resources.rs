//! What the domain has to offer, in the forms that brokers tell each other
//! (LA Grid 2.2): from the cluster files and what the broker was last told.

use crate::App;
use crate::glue2::own_samples;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use gridrig_core::agent::{BrokerAgent, BrokerSetup};
use gridrig_core::inventory::{Form, Inventory, InventoryError, SiteCluster, of_clusters};
use gridrig_core::load::LoadSample;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::inventory::{InventoryDocument, InventorySize, schema_element};
use gridrig_protocol::rest::Problem;
#[cfg(test)]
use gridrig_service::http::openapi::{BadQuery, Unavailable};
use gridrig_service::http::{Query, ResourcesQuery, Result, header_text};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/resources", get(resources))
        .route("/v1/resources/sizes", get(sizes))
        .route("/v1/resources/schema", get(schema))
}

/// The resources of the domain, with their load as last reported: in JSON, or
/// in XML for who accepts `application/xml`.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/resources", params(ResourcesQuery),
    responses(
        (status = 200, description = "The inventory", content((InventoryDocument = "application/json"), (String = "application/xml"))),
        BadQuery,
        Unavailable,
    )
))]
async fn resources(
    State(app): State<App>,
    headers: HeaderMap,
    Query(query): Query<ResourcesQuery>,
) -> Result<Response> {
    let form = query.form.as_deref().map(|name| {
        let expected = "flat, unique, one-to-n or n-to-n";
        Form::from_name(name).ok_or_else(|| Problem::field("form", name, expected))
    });
    let form = form.transpose()?;
    let flat = inventory(&app).await?;
    let schema = &app.config.setup.resource_schema;
    let wanted = form.map_or_else(|| flat.aggregate(schema), |form| flat.in_form(form, schema));
    let document = InventoryDocument::from(&wanted.map_err(contradiction)?);
    Ok(respond(&document, &headers))
}

/// A document as its reader wants it.
pub(crate) fn respond(document: &InventoryDocument, headers: &HeaderMap) -> Response {
    let accepted = header_text(headers, header::ACCEPT);
    match accepted.is_some_and(|accepted| accepted.contains("/xml")) {
        true => xml(document.to_xml()),
        false => Json(document).into_response(),
    }
}

/// How large the inventory of the domain is in each form, as XML and as JSON.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/resources/sizes",
    responses(
        (status = 200, description = "The sizes, the most accurate form first", body = Vec<InventorySize>),
        Unavailable,
    )
))]
async fn sizes(State(app): State<App>) -> Result<Json<Vec<InventorySize>>> {
    let flat = inventory(&app).await?;
    let schema = &app.config.setup.resource_schema;
    let size = |form| {
        let inventory = flat.in_form(form, schema).map_err(contradiction)?;
        Ok(InventorySize::of(&inventory))
    };
    let sizes: Result<Vec<InventorySize>, Problem> = Form::ALL.into_iter().map(size).collect();
    Ok(Json(sizes?))
}

/// The schema by which this broker aggregates.
#[cfg_attr(test, utoipa::path(
    get, path = "/v1/resources/schema",
    responses((status = 200, description = "The schema document", body = String, content_type = "application/xml"))
))]
async fn schema(State(app): State<App>) -> Response {
    xml(schema_element(&app.config.setup.resource_schema).to_document())
}

fn xml(document: String) -> Response {
    ([(header::CONTENT_TYPE, "application/xml")], document).into_response()
}

/// What the domain has, with the load that was last reported.
pub(crate) async fn inventory(app: &App) -> Result<Inventory, Problem> {
    let look = |broker: &mut Driven<BrokerAgent>, _| own_samples(broker);
    let loads = app.call(look).await?;
    flat(&app.config.setup, &loads).map_err(contradiction)
}

/// The same in a form, under these loads.
pub(crate) fn in_form(
    setup: &BrokerSetup,
    form: Form,
    loads: &[LoadSample],
) -> Result<InventoryDocument, InventoryError> {
    let wanted = flat(setup, loads)?.in_form(form, &setup.resource_schema)?;
    Ok(InventoryDocument::from(&wanted))
}

/// The clusters of a domain under these loads.
fn flat(setup: &BrokerSetup, loads: &[LoadSample]) -> Result<Inventory, InventoryError> {
    let own = &setup.config.clusters;
    let names: Vec<_> = own.iter().map(|(id, _)| setup.names.cluster(*id)).collect();
    let clusters = own.iter().zip(&names);
    let clusters = clusters.map(|((id, resources), name)| SiteCluster {
        name,
        resources,
        load: loads.iter().find(|sample| sample.cluster == *id),
    });
    of_clusters(&clusters.collect::<Vec<_>>())
}

/// Clusters of one name, which a grid refuses.
pub(crate) fn contradiction(error: InventoryError) -> Problem {
    Problem::new(500, "bad-inventory", error.to_string())
}
