use super::*;

#[test]
fn a_scrape_is_text_by_the_table() {
    let labels = Labels::of("broker").with("domain", "a \"b\"\n");
    let metrics = Metrics::new(labels, 1_500_000_000);
    metrics.count_message(MessageKind::Info);
    metrics.count_message(MessageKind::Info);
    metrics.count_request("GET", "/v1/jobs/{id}", 204, Duration::from_millis(3));
    assert_eq!(metrics.messages(MessageKind::Info), 2);
    assert_eq!(metrics.messages(MessageKind::Notify), 0);
    let mut samples = Samples::default();
    metrics.observe_received(&mut samples);
    samples.level(&table::JOBS, &["queued"], 3.0);
    samples.level(&table::VIRTUAL_TIME, &[], 1.25);
    let text = metrics.text(samples);
    let own = r#"domain="a \"b\"\n",service="broker""#;
    for line in [
        format!("gridrig_messages_received_total{{{own},kind=\"info\"}} 2"),
        format!("gridrig_jobs{{{own},state=\"queued\"}} 3.0"),
        format!("gridrig_virtual_time_seconds{{{own}}} 1.25"),
        "# UNIT gridrig_virtual_time_seconds seconds".to_owned(),
        "# TYPE gridrig_messages_received counter".to_owned(),
        format!("gridrig_start_time_seconds{{{own}}} 1.5"),
        "# TYPE gridrig_http_request_duration_seconds histogram".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let bucket = |le: &str| {
        format!(
            "gridrig_http_request_duration_seconds_bucket{{{own},le=\"{le}\",method=\"GET\",\
             route=\"/v1/jobs/{{id}}\",status=\"2xx\"}}"
        )
    };
    for (le, count) in [("0.002", 0), ("0.005", 1), ("+Inf", 1)] {
        let line = format!("{} {count}", bucket(le));
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(text.contains("gridrig_build_info{"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn what_is_not_there_has_no_head_either() {
    let text = Metrics::default().text(Samples::default());
    assert!(!text.contains("gridrig_jobs"), "{text}");
    assert!(!text.contains("http_request"), "{text}");
}
