//! The OpenAPI document of the interface, which is made from the handlers.

use gridrig_service::http::openapi;
use gridrig_service::routes as common;
use std::path::Path;
use utoipa::OpenApi;

/// Set to write the file instead of comparing it.
const BLESS: &str = "GRIDRIG_BLESS";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "gridrig broker",
        description = "The reference meta-broker: clients submit to it, peers forward to it, LRMSs report to it."
    ),
    paths(
        super::submit,
        common::list,
        common::show,
        super::cancel,
        common::ends,
        super::info,
        super::inform,
        super::notify,
        super::deal,
        super::claim,
        super::peers,
        super::set_role,
        super::peer_resources,
        super::glue2,
        crate::drain::drain,
        crate::drain::peer_drain,
        crate::resources::resources,
        crate::resources::sizes,
        crate::resources::schema,
        common::events,
        common::healthz,
        common::metrics,
    )
)]
struct Document;

#[test]
fn the_shipped_description_is_the_current_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources/openapi/broker.json");
    let current = openapi::text(Document::openapi()).unwrap();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let shipped = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        shipped == current,
        "{} is out of date: set {BLESS}=1",
        file.display()
    );
}
