//! The OpenAPI document of the interface, which is made from the handlers.

use gridrig_service::http::openapi;
use gridrig_service::routes as common;
use std::path::Path;
use utoipa::OpenApi;

/// Set to write the file anew instead of comparing it.
const BLESS: &str = "GRIDRIG_BLESS";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "gridrig emulator",
        description = "An emulated LRMS: submit jobs, watch them, cancel them."
    ),
    paths(
        super::submit,
        common::list,
        common::show,
        super::cancel,
        common::ends,
        super::info,
        super::claim,
        crate::nodes::list,
        crate::nodes::change,
        crate::reservations::list,
        crate::reservations::show,
        crate::reservations::make,
        crate::reservations::cancel,
        crate::reservations::confirm,
        common::events,
        common::healthz,
        common::metrics,
    )
)]
struct Document;

#[test]
fn the_shipped_description_is_the_current_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources/openapi/emulator.json");
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
