//! The description of the interface.

use super::*;
use gridrig_service::Service;

#[tokio::test]
async fn a_service_describes_itself() {
    let broker = start_idle().await;
    let answer = reqwest::get(format!("{}/openapi.json", broker.url())).await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/json");
    let text = answer.text().await.unwrap();
    assert!(text == Config::OPENAPI, "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
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

#[tokio::test]
async fn routes_and_description_name_the_same() {
    let broker = start_idle().await;
    routes::are_described::<Config>(&broker.url()).await;
}
