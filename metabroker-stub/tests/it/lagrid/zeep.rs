//! A client of another ecosystem, made by zeep from the WSDL alone. It holds
//! every message that it sends or receives against the schema in the WSDL.

use super::*;
use gridrig_protocol::lagrid::JobState;
use std::path::Path;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_zeep_makes_of_the_wsdl_uses_every_operation() {
    let test = "a_client_that_zeep_makes_of_the_wsdl_uses_every_operation";
    let Some(python) = need::zeep(test) else {
        return;
    };
    let served = serve();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/lagrid/zeep_client.py");
    let url = format!("{}/lagrid", served.url);
    for port in ["MetaSchedulerSoap11", "MetaSchedulerSoap12"] {
        let (python, script, url) = (python.clone(), script.clone(), url.clone());
        let run = move || {
            Command::new("timeout")
                .args(["120"])
                .arg(python)
                .arg(script)
                .args([&url, port, "all"])
                .output()
                .unwrap()
        };
        let output = tokio::task::spawn_blocking(run).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{port}: {said}");
    }
    // What it asked for has happened.
    let last = served.recorder.submitted(1).unwrap();
    assert_eq!(
        last.job.identification.name.as_deref(),
        Some("zeep <1> & co")
    );
    assert_eq!(last.forwarder.unwrap().job(), Some(42));
    let news = served.recorder.news().unwrap();
    assert_eq!(news.report.state, JobState::Completed);
    assert!(served.recorder.connections().is_empty());
}
