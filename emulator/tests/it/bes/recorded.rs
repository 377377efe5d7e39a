//! The requests of GridWay 5.14's own driver, as they were recorded.

use super::*;
use crate::need;
use serde_json::Value;

/// The recorded requests; `None`, said out loud, where they are not at hand.
fn wire_log(test: &str) -> Option<Vec<Value>> {
    let text = need::surface(test, "bes-gridway-wire.jsonl")?;
    let requests = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Some(requests.collect())
}

async fn replay(lrms: &Handle, request: &Value, body: &str) -> Answer {
    let target = request["target"].as_str().unwrap();
    let media = request["headers"]["Content-Type"].as_str().unwrap();
    post(lrms, target, media, body.as_bytes().to_vec()).await
}

#[tokio::test]
async fn gridway_s_own_driver_creates_a_job_and_follows_it() {
    let test = "gridway_s_own_driver_creates_a_job_and_follows_it";
    let Some(log) = wire_log(test) else {
        return;
    };
    let lrms = start(1000).await;
    let created = replay(&lrms, &log[0], log[0]["body"].as_str().unwrap()).await;
    assert_eq!(created.status, 200, "{}", created.text);
    // The driver takes the text of the first element whose name, prefix and
    // all, is ID, and asks again only for those that begin like GridSAM's.
    let (_, rest) = created.text.split_once("<ID>").expect("an un-prefixed ID");
    let (id, _) = rest.split_once("</ID>").unwrap();
    assert!(id.starts_with("urn:gridsam:"), "{id}");
    // What the driver sent that no standard has is named in the answer.
    for ignored in [
        "JobDefinition/MyProxy",
        "JobDefinition/JobDescription/text()",
    ] {
        assert!(
            created.text.contains(ignored),
            "{ignored}: {}",
            created.text
        );
    }
    assert!(!created.text.contains("ProxyServerPassPhrase"));
    let polled = log[1]["body"].as_str().unwrap().replace("e4363f3a67e7", id);
    let mut seen = Vec::new();
    for _ in 0..3_600 {
        let answer = replay(&lrms, &log[1], &polled).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let state = states(&answer).pop().unwrap();
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        if seen.last().is_some_and(|state| state == "Finished") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(seen.last().map(String::as_str), Some("Finished"));
    assert!(
        seen.iter()
            .all(|state| ["Pending", "Running", "Finished"].contains(&state.as_str()))
    );
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn the_activity_in_the_recorded_poll_is_none_of_ours() {
    let Some(log) = wire_log("the_activity_in_the_recorded_poll_is_none_of_ours") else {
        return;
    };
    let lrms = start(1).await;
    let answer = replay(&lrms, &log[1], log[1]["body"].as_str().unwrap()).await;
    assert_eq!(states(&answer), ["UnknownActivityIdentifierFault"]);
    lrms.stop().await.unwrap();
}
