//! The peer protocol of `gridrig broker`, spoken by a client of another
//! ecosystem.

use crate::command::{Bench, JOBS, PAIR, root, split, start, start_overheard};
use crate::need;
use crate::overheard::{Overheard, served_wsdl};
use gridrig_service::free_ports;
use std::process::Command;

#[test]
fn zeep_opens_a_connection_with_a_broker_and_submits_queries_and_cancels() {
    let test = "zeep_opens_a_connection_with_a_broker_and_submits_queries_and_cancels";
    let Some(python) = need::zeep(test) else {
        return;
    };
    let bench = Bench::new(PAIR, &JOBS);
    let scenario = bench.path("s.toml");
    let at = free_ports(1).unwrap()[0];
    let broker_url = format!("http://127.0.0.1:{at}");
    let common = ["--scenario", &scenario];
    let lrms = ["emulator", "--name", "a1", "--broker", &broker_url];
    let lrms = start(&[&lrms[..], &common].concat());
    let listen = format!("127.0.0.1:{at}");
    let cluster = format!("a1={}", lrms.url);
    // zeep is broker b, and takes no messages itself.
    let peer = "--peer b=http://127.0.0.1:9 --protocol soap";
    let broker = format!("broker --name a --listen {listen} --lrms {cluster} {peer}");
    let log = bench.path("a.wire");
    let broker = start_overheard(&[&split(&broker)[..], &common].concat(), &log);
    let script = root().join("metabroker-stub/tests/it/lagrid/zeep_client.py");
    for port in ["MetaSchedulerSoap11", "MetaSchedulerSoap12"] {
        let output = Command::new("timeout")
            .arg("180")
            .arg(&python)
            .arg(&script)
            .args([&format!("{}/lagrid", broker.url), port])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{port}: {said}");
    }
    // zeep has held what it saw against the schema; this is what the broker saw.
    let used = split("openConn submitJob queryJob cancelJob heartbeat");
    Overheard::in_files([log]).holds(test, &served_wsdl(&broker.url), &used);
}
