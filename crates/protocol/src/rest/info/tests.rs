use super::*;

#[test]
fn a_sample_survives_the_wire_exactly() {
    let mean = |sum, weight| Mean { sum, weight };
    let sample = LoadSample {
        cluster: ClusterId(3),
        at: SimTime::from_secs(15),
        processors: 225,
        busy: 17,
        queued: 1_000_000,
        queued_processors: 9,
        work_left: u128::from(u64::MAX) + 5,
        queued_means: [mean(1 << 58, 30_000_000_000), mean(2, 299_999_999_999)],
        busy_means: [mean(0, 1), mean(7, 7)],
        space: FreeSpace {
            memory_kib: Some(u64::MAX),
            node_memory_kib: Some(4096),
            disk_mib: None,
            generic: [("gpu".into(), 0), ("nic".into(), 3)].into(),
        }
        .into(),
    };
    let text = serde_json::to_string(&LoadReport::from(&sample)).unwrap();
    let read: LoadReport = serde_json::from_str(&text).unwrap();
    assert_eq!(LoadSample::try_from(&read), Ok(sample));
    // None is not said, as in XML.
    let mut said: serde_json::Value = serde_json::from_str(&text).unwrap();
    said["free_generic_resources"] = serde_json::json!({});
    let read: LoadReport = serde_json::from_value(said).unwrap();
    assert_eq!(read.free_generic_resources, None);
}

#[test]
fn a_mean_without_weight_is_refused() {
    let mut report = LoadReport::from(&LoadSample::idle(ClusterId(0), 4));
    report.busy_mean_30s.weight_ns = 0;
    let problem = LoadSample::try_from(&report).unwrap_err();
    assert!(
        problem.detail.contains("busy_mean_30s.weight_ns"),
        "{}",
        problem.detail
    );
}
