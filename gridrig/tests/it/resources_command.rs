//! `gridrig resources`: forms of an inventory and their sizes.

use crate::command::{Bench, PAIR, expect_code, json, root, run, start, stderr, stdout};
use gridrig_protocol::inventory::InventoryDocument;
use std::process::Command;

fn shipped(file: &str) -> String {
    root().join("resources").join(file).display().to_string()
}

#[test]
fn the_sizes_of_every_form_are_told() {
    let output = run(&["resources", &shipped("inventory/table-2.xml"), "--json"]);
    expect_code(&output, 0);
    let sizes = json(&output);
    let records = |form: usize| sizes[form]["records"].as_u64().unwrap();
    assert_eq!([0, 1, 2, 3].map(records), [11, 9, 7, 5]);
    let output = run(&["resources", &shipped("inventory/table-2.xml")]);
    let table = stdout(&output);
    let flat = table.lines().nth(1).unwrap();
    let xml = sizes[0]["xml_bytes"].to_string();
    assert!(flat.starts_with("flat") && flat.contains(&xml), "{table}");
}

#[test]
fn clusters_are_told_in_one_form_by_a_schema() {
    let files = ["clusters/heterogeneous.xml", "clusters/site-225.xml"].map(shipped);
    let [a, b] = &files;
    let output = run(&["resources", a, b, "--form", "flat"]);
    expect_code(&output, 0);
    let flat = InventoryDocument::parse(&output.stdout).unwrap();
    let clusters: Vec<&str> = flat
        .records
        .iter()
        .filter(|record| record.kind == "Cluster")
        .map(|record| record.id.as_str())
        .collect();
    assert_eq!(clusters, ["heterogeneous", "site-225"]);
    let directory = tempfile::tempdir().unwrap();
    let schema = directory.path().join("s.xml");
    let text = "<ResourceSchema xmlns=\"urn:gridrig:inventory:1\">\
                <Type name=\"ComputerSystem\"/></ResourceSchema>";
    std::fs::write(&schema, text).unwrap();
    let schema = schema.display().to_string();
    let words = [
        "resources",
        a,
        b,
        "--form",
        "n-to-n",
        "--schema",
        &schema,
        "--json",
    ];
    let output = run(&words);
    expect_code(&output, 0);
    let small = json(&output);
    assert_eq!(small["records"].as_array().unwrap().len(), 1, "{small}");
    assert_eq!(small["records"][0]["type"], "AggregateComputerSystem");
}

#[test]
fn a_broker_aggregates_by_the_schema_that_it_is_given() {
    let bench = Bench::new(PAIR, &[(0, 1, 1)]);
    let [scenario, schema] = ["s.toml", "schema.xml"].map(|name| bench.path(name));
    let text = "<ResourceSchema xmlns=\"urn:gridrig:inventory:1\"><Type name=\"Cluster\">\
                <Keep attribute=\"ProcNum\" values=\"range\" statistics=\"total\"/>\
                </Type></ResourceSchema>";
    std::fs::write(&schema, text).unwrap();
    let [lrms, peer] = ["a1=http://127.0.0.1:9", "b=http://127.0.0.1:9"];
    let words = ["broker", "--scenario", &scenario, "--name", "a"];
    let more = ["--lrms", lrms, "--peer", peer, "--resource-schema", &schema];
    let broker = start(&[&words[..], &more].concat());
    let url = format!("{}/v1/resources", broker.url);
    let told = json(&Command::new("curl").args(["-sS", &url]).output().unwrap());
    // By the schema that is built in there were also computer systems.
    let cluster = serde_json::json!({
        "id": "Cluster1",
        "type": "AggregateCluster",
        "count": 1,
        "attributes": { "ProcNum": { "value": "4" } },
    });
    assert_eq!(told["records"], serde_json::json!([cluster]));
}

#[test]
fn what_cannot_be_read_or_aggregated_is_refused() {
    let table = shipped("inventory/table-2.xml");
    let schema = shipped("inventory/la-grid.xml");
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small.xml");
    let output = run(&["resources", &table, "--form", "unique"]);
    std::fs::write(&small, &output.stdout).unwrap();
    let small = small.display().to_string();
    for (words, expected) in [
        (vec!["resources", "none.xml"], "none.xml: No such file"),
        (
            vec!["resources", &table, "--form", "cosy"],
            "'cosy' for '--form <FORM>': expected one of flat, unique",
        ),
        (
            vec!["resources", &table, &table],
            "table-2.xml:3: element Inventory",
        ),
        (
            vec!["resources", &schema],
            "element ResourceSchema: expected Inventory",
        ),
        (
            vec!["resources", &table, "--schema", &table],
            "element Inventory: expected ResourceSchema",
        ),
        (
            vec!["resources", &small],
            "in the form unique: expected the flat form",
        ),
    ] {
        let output = run(&words);
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(stdout(&output), "");
    }
}

#[test]
fn what_slurm_tells_of_its_nodes_becomes_a_cluster_file() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = folder.path().join("nodes.txt");
    let text = "NODELIST|CPUS|MEMORY|TMP_DISK|GRES|STATE\nn1|64|257000|0|gpu:4(S:0)|idle\n\
                n2|64|257000|0|gpu:4(S:0)|down*\n";
    std::fs::write(&nodes, text).unwrap();
    let nodes = nodes.display().to_string();
    let output = run(&["resources", "import", &nodes, "--architecture", "aarch64"]);
    expect_code(&output, 0);
    let site = gridrig_protocol::resources::parse("site.xml", &stdout(&output)).unwrap();
    let group = &site.groups()[0];
    assert_eq!((site.nodes(), site.processors()), (2, 128));
    assert_eq!(group.architecture.as_deref(), Some("aarch64"));
    let told = stderr(&output);
    assert!(told.contains("1 nodes that are down or drained"), "{told}");
    assert!(
        told.contains("2 nodes without data on architecture and system"),
        "{told}"
    );
    let output = run(&["resources", "import", &shipped("clusters/site-225.xml")]);
    expect_code(&output, 2);
    assert!(stderr(&output).contains("site-225.xml:1: neither scontrol show node nor a table"));
}
