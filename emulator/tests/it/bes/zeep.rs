//! A client of another ecosystem, generated from the WSDL.

use super::*;
use crate::need;
use std::path::Path;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_zeep_makes_of_the_wsdl_runs_its_jobs() {
    let test = "a_client_that_zeep_makes_of_the_wsdl_runs_its_jobs";
    let Some(python) = need::zeep(test) else {
        return;
    };
    let lrms = start(100).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bes/zeep_client.py");
    let url = format!("{}/services/bes", lrms.url());
    let output = tokio::task::spawn_blocking(move || {
        Command::new("timeout")
            .args(["40"])
            .arg(python)
            .arg(script)
            .arg(url)
            .output()
            .unwrap()
    })
    .await
    .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    lrms.stop().await.unwrap();
}
