//! Which routes a service has, against those that its OpenAPI document describes. The tests of
//! both services have this file.

use gridrig_service::Service;
use reqwest::{Client, Method};
use serde_json::Value;
use std::collections::BTreeSet;

/// The paths of a service. A router of axum names them nowhere but in the text for people who
/// look for errors.
fn paths<S: Service>() -> BTreeSet<String> {
    let text = format!("{:?}", S::routes());
    let (routes, _) = text.split_once("fallback_router").unwrap();
    let quoted = routes.split('"').skip(1).step_by(2);
    let paths = quoted.filter(|text| text.starts_with('/'));
    paths.map(str::to_owned).collect()
}

/// A service of this kind that listens there has the paths and methods that its document
/// describes, and no others.
pub async fn are_described<S: Service>(url: &str) {
    let document: Value = serde_json::from_str(S::OPENAPI).unwrap();
    let routes = document["paths"].as_object().unwrap();
    let described: BTreeSet<String> = routes.keys().cloned().collect();
    assert_eq!(paths::<S>(), described);
    let client = Client::new();
    for (path, operations) in routes {
        // No route has this method: the answer says which ones this route has.
        let url = format!("{url}{}", path.replace(['{', '}'], ""));
        let answer = client.request(Method::TRACE, url).send().await.unwrap();
        assert_eq!(answer.status(), 405, "{path}");
        let allowed = answer.headers()["allow"].to_str().unwrap().to_lowercase();
        // What has GET has HEAD.
        let methods = allowed.split(',').filter(|method| *method != "head");
        let methods: BTreeSet<&str> = methods.collect();
        let operations = operations.as_object().unwrap().keys();
        let described: BTreeSet<&str> = operations.map(String::as_str).collect();
        assert_eq!(methods, described, "{path}");
    }
}
