//! Whose activities are whose, by the certificates of clients.

use super::*;
use crate::tls::Authority;

async fn ask_as(client: &reqwest::Client, lrms: &Handle, body: &str) -> Answer {
    let text = envelope(SOAP_1_1, "", body).into_bytes();
    post_as(client, lrms, "/services/bes", "text/xml", text).await
}

#[tokio::test]
async fn an_activity_belongs_to_the_person_behind_the_certificate() {
    let authority = Authority::new();
    let lrms = authority.serve().await;
    let alice = authority.client(Some(&authority.user("alice", false)));
    let created = ask_as(&alice, &lrms, &job(1, "1h")).await;
    assert!(
        created.text.contains("<wsa:Address>https://127.0.0.1:"),
        "{}",
        created.text
    );
    let id = id_of(&created);
    let status = about("GetActivityStatuses", &[&id]);
    let by_proxy = authority.client(Some(&authority.user("alice", true)));
    assert_eq!(
        states(&ask_as(&by_proxy, &lrms, &status).await),
        ["Running"]
    );
    let bob = authority.client(Some(&authority.user("bob", false)));
    let nobody = authority.client(None);
    for unknown in [&bob, &nobody] {
        for operation in [
            "GetActivityStatuses",
            "GetActivityDocuments",
            "TerminateActivities",
        ] {
            let answer = ask_as(unknown, &lrms, &about(operation, &[&id])).await;
            assert_eq!(states(&answer), ["NotAuthorizedFault"], "{}", answer.text);
        }
    }
    let stop = "<m:StopAcceptingNewActivities/>";
    let answer = ask_as(&nobody, &lrms, stop).await;
    assert_eq!(answer.fault().code, "not-authorized");
    assert_eq!(answer.fault().detail[0].name, "NotAuthorizedFault");
    assert_eq!(ask_as(&bob, &lrms, stop).await.status, 200);
    assert_eq!(states(&ask_as(&alice, &lrms, &status).await), ["Running"]);
    lrms.stop().await.unwrap();
}
