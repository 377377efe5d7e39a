//! The domain's resources in the forms that brokers tell each other.

use super::*;
use gridrig_core::inventory::{Form, Schema, names};
use gridrig_protocol::inventory::{InventoryDocument, read_schema};

async fn xml(broker: &Handle, path: &str) -> String {
    let request = reqwest::Client::new().get(format!("{}{path}", broker.url()));
    let answer = request.header("accept", "application/xml").send().await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "application/xml");
    answer.text().await.unwrap()
}

#[tokio::test]
async fn every_form_tells_the_last_reported_load() {
    let broker = start_idle().await;
    let report = messages::info("lrms", 0, 0);
    assert_eq!(ask(&broker, "POST", "/v1/info", Some(report)).await.0, 204);
    for form in Form::ALL {
        let path = format!("/v1/resources?form={form}");
        let document = xml(&broker, &path).await;
        let document = InventoryDocument::parse(document.as_bytes()).unwrap();
        let inventory = document.inventory().unwrap();
        assert_eq!(inventory.form(), form);
        let (_, cluster) = inventory.of_kind(names::CLUSTER).next().unwrap();
        let told = |name| cluster.attribute(name).unwrap().values.to_string();
        assert_eq!(told(names::PROC_NUM), "4");
        assert_eq!(told(names::PROC_BUSY), "3");
        assert_eq!(told(names::PROC_FREE), "1");
        assert_eq!(told(names::PROC_QUEUED), "5");
        assert_eq!(told(names::JOBS_QUEUED), "2");
        // The same in JSON.
        let (status, json) = ask(&broker, "GET", &path, None).await;
        assert_eq!(status, 200);
        assert_eq!(json, serde_json::to_value(&document).unwrap());
    }
    let (_, by_schema) = ask(&broker, "GET", "/v1/resources", None).await;
    assert_eq!(by_schema["form"], "unique");
}

#[tokio::test]
async fn the_schema_and_the_sizes_are_told() {
    let broker = start_idle().await;
    let schema = xml(&broker, "/v1/resources/schema").await;
    assert_eq!(read_schema(schema.as_bytes()).unwrap(), Schema::la_grid());
    let (status, sizes) = ask(&broker, "GET", "/v1/resources/sizes", None).await;
    assert_eq!(status, 200);
    for (size, form) in sizes.as_array().unwrap().iter().zip(Form::ALL) {
        let document = xml(&broker, &format!("/v1/resources?form={form}")).await;
        assert_eq!(size["form"], form.name());
        assert_eq!(size["xml_bytes"], document.len());
    }
}

#[tokio::test]
async fn a_form_that_there_is_not_is_refused() {
    let broker = start_idle().await;
    let (status, problem) = ask(&broker, "GET", "/v1/resources?form=cosy", None).await;
    assert_eq!(status, 422);
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("form = \"cosy\": expected flat"),
        "{detail}"
    );
    let (status, _) = ask(&broker, "GET", "/v1/resources?shape=flat", None).await;
    assert_eq!(status, 422);
}
