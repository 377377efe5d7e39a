//! The description of the interface.

use super::*;
use std::path::Path;

/// Set to write the file instead of comparing it.
const BLESS: &str = "GRIDRIG_BLESS";

#[test]
fn the_shipped_description_is_the_current_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources/openapi/broker.json");
    let current = gridrig_metabroker_stub::openapi().to_pretty_json().unwrap() + "\n";
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

#[tokio::test]
async fn a_service_describes_itself() {
    let broker = start_idle().await;
    let (status, document) = ask(&broker, "GET", "/openapi.json", None).await;
    assert_eq!(status, 200);
    let served: Value = serde_json::to_value(gridrig_metabroker_stub::openapi()).unwrap();
    assert_eq!(document, served);
    for path in [
        "/v1/jobs",
        "/v1/jobs/{id}",
        "/v1/glue2",
        "/v1/info",
        "/v1/notifications",
        "/v1/peers",
        "/v1/resources",
        "/v1/resources/schema",
        "/v1/resources/sizes",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
}
