use super::*;
use gridrig_core::ids::DomainId;
use gridrig_core::job::Requirements;
use gridrig_core::message::Route;
use gridrig_core::time::SimDuration;

#[test]
fn a_job_survives_the_wire() {
    let mut spec = JobSpec::rigid(JobId(7), 3, SimDuration::from_nanos(1_234_567_891));
    spec.requested_time = Some(SimDuration::from_secs(90));
    (spec.account, spec.executable) = (NonZeroU32::new(31), NonZeroU32::new(4));
    spec.components.first.requirements.os = Some("LINUX".into());
    spec.components.first.requirements.memory_kib = 5;
    spec.components.first.requirements.generic = "gpu:2,nic:1".parse().unwrap();
    let mut other = spec.components.first.clone();
    (other.processors, other.requirements.memory_kib) = (4, 9);
    let plain = Components::one(1, Requirements::default()).first;
    spec.components.more = [other, plain].into();
    let sent = JobSubmission::forwarded(&Arrival {
        key: Some("r/0/7/1".to_owned()),
        id: Some(JobId(7)),
        route: Some(Route {
            hop: 1,
            ..Route::entering(DomainId(2))
        }),
        meant: Some(SimTime::from_secs(3)),
        ..Arrival::of(spec.clone())
    });
    let told = serde_json::json!({
        "processors": 3,
        "run_time": "1.234567891s",
        "requested_time": "90s",
        "requirements": {
            "os": "LINUX", "memory_kib": 5, "disk_mib": 0,
            "generic_resources": {"gpu": 2, "nic": 1},
        },
        "more_components": [
            {"processors": 4, "requirements": {
                "os": "LINUX", "memory_kib": 9, "disk_mib": 0,
                "generic_resources": {"gpu": 2, "nic": 1},
            }},
            {"processors": 1},
        ],
        "id": 7,
        "key": "r/0/7/1",
        "hop": 1,
        "origin": 2,
        "account": 31,
        "executable": 4,
        "meant_ns": 3_000_000_000u64,
    });
    assert_eq!(serde_json::to_value(&sent).unwrap(), told);
    let read: JobSubmission = serde_json::from_value(told).unwrap();
    assert_eq!(read, sent);
    assert_eq!(read.spec().unwrap(), spec);
}

#[test]
fn what_components_read_survives_the_wire() {
    let mut told = serde_json::json!({
        "processors": 2,
        "run_time": "60s",
        "more_components": [{"processors": 1}],
        "inputs": [
            {"data_mib": 4096, "clusters": [1, 0]},
            {"component": 1, "data_mib": 7},
        ],
    });
    let read: JobSubmission = serde_json::from_value(told.clone()).unwrap();
    let spec = read.spec().unwrap();
    let all = spec.inputs.iter();
    let all = all.map(|it| (it.component, it.data_mib, it.clusters.len()));
    assert_eq!(all.collect::<Vec<_>>(), [(0, 4096, 2), (1, 7, 0)]);
    let sent = JobSubmission::forwarded(&Arrival::of(spec));
    assert_eq!(
        serde_json::to_value(&sent).unwrap()["inputs"],
        told["inputs"]
    );
    told["inputs"][1]["component"] = 2.into();
    let read: JobSubmission = serde_json::from_value(told.clone()).unwrap();
    let problem = read.spec().unwrap_err().detail;
    assert!(problem.contains("inputs[1].component = \"2\""), "{problem}");
    told["inputs"] = vec![serde_json::json!({"data_mib": 1}); 257].into();
    let read: JobSubmission = serde_json::from_value(told).unwrap();
    let problem = read.spec().unwrap_err().detail;
    assert!(problem.contains("inputs = \"257\""), "{problem}");
}

#[test]
fn generic_resources_that_are_none_are_refused() {
    for wanted in [r#"{"gpu":0}"#, r#"{"1gpu":1}"#, r#"{"gpu":1000001}"#] {
        let text = format!(
            r#"{{"processors":2,"run_time":"60s","requirements":{{"generic_resources":{wanted}}}}}"#
        );
        let read: JobSubmission = serde_json::from_str(&text).unwrap();
        let problem = format!("{:?}", read.spec().unwrap_err());
        assert!(
            problem.contains("requirements.generic_resources"),
            "{problem}"
        );
    }
}

#[test]
fn account_0_and_executable_0_are_refused() {
    for field in ["account", "executable"] {
        let text = format!(r#"{{"processors":2,"run_time":"60s","{field}":0}}"#);
        let read = serde_json::from_str::<JobSubmission>(&text);
        let problem = read.unwrap_err().to_string();
        assert!(problem.contains("`0`, expected a nonzero u32"), "{problem}");
    }
}

#[test]
fn a_status_tells_account_and_executable() {
    let mut spec = JobSpec::rigid(JobId(7), 3, SimDuration::from_secs(60));
    (spec.account, spec.executable) = (NonZeroU32::new(31), NonZeroU32::new(4));
    let status = JobStatus::from(&JobView {
        spec,
        arrived: SimTime::from_secs(2),
        state: agent::JobState::Running {
            start: SimTime::from_secs(3),
            placement: Vec::new(),
        },
        tag: Some("first".into()),
        identity: None,
    });
    let told = serde_json::json!({
        "id": 7, "tag": "first", "account": 31, "executable": 4, "processors": 3,
        "run_time": "60s", "state": "running", "arrived_ns": 2_000_000_000u64,
        "start_ns": 3_000_000_000u64,
    });
    assert_eq!(serde_json::to_value(&status).unwrap(), told);
}

#[test]
fn the_shortest_submission_will_do() {
    let read: JobSubmission = serde_json::from_str(r#"{"processors":2,"run_time":"60s"}"#).unwrap();
    let spec = read.spec().unwrap();
    assert_eq!(
        spec,
        JobSpec::rigid(JobId(0), 2, SimDuration::from_secs(60))
    );
}

/// What is said of a submission.
fn refused(text: &str, wanted: &str) {
    let read: JobSubmission = serde_json::from_str(text).unwrap();
    let problem = read.spec().unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (422, "invalid"));
    assert!(problem.detail.contains(wanted), "{}", problem.detail);
}

const WRONG: &str = r#"
{"processors":0,"run_time":"60s"} => field processors = "0"
{"processors":1,"run_time":"60"} => it has no unit
{"processors":1,"run_time":"1s","requested_time":"x"} => requested_time
{"processors":1,"run_time":"1s","notify":"file:///x"} => field notify
{"processors":1,"run_time":"1s","key":""} => field key
{"processors":1,"run_time":"+1s"} => a sign or a space
{"processors":1,"run_time":" 1 s"} => a sign or a space
{"processors":1,"run_time":"1s","notify":"http://"} => field notify
"#;

#[test]
fn a_bad_submission_names_the_field() {
    for row in WRONG.lines().skip(1) {
        let (text, wanted) = row.split_once(" => ").unwrap();
        refused(text, wanted);
    }
    let key = "ü".repeat(201);
    let text = format!(r#"{{"processors":1,"run_time":"1s","key":"{key}"}}"#);
    refused(&text, "1 to 200 characters");
}

#[test]
fn a_bad_component_names_its_field() {
    let job =
        |more: &str| format!(r#"{{"processors":1,"run_time":"1s","more_components":[{more}]}}"#);
    let one = r#"{"processors":1}"#;
    let none = r#"{"processors":1},{"processors":0}"#;
    let wanted = "field more_components[1].processors = \"0\": expected at least 1";
    refused(&job(none), wanted);
    let long = "ü".repeat(201);
    for (requirements, wanted) in [
        (
            r#""generic_resources":{"gpu":0}"#,
            "field more_components[0].requirements.generic_resources = \"gpu:0\"",
        ),
        (
            &format!(r#""os":"{long}""#),
            "field more_components[0].requirements.os = \"ü",
        ),
        (
            &format!(r#""architecture":"{long}""#),
            "ü\": expected at most 200 characters, not 201",
        ),
    ] {
        let more = format!(r#"{{"processors":1,"requirements":{{{requirements}}}}}"#);
        refused(&job(&more), wanted);
    }
    let wanted = "field more_components = \"64 components\": expected at most 63";
    refused(&job(&[one; 64].join(",")), wanted);
    let stray = job(r#"{"processors":1,"x":1}"#);
    assert!(serde_json::from_str::<JobSubmission>(&stray).is_err());
    let most = job(&[one; 63].join(","));
    let read: JobSubmission = serde_json::from_str(&most).unwrap();
    assert_eq!(read.spec().unwrap().processors(), 64);
}

#[test]
fn a_key_is_measured_in_characters_as_the_schema_says() {
    let key = "ü".repeat(200);
    let text = format!(r#"{{"processors":1,"run_time":"1s","key":"{key}"}}"#);
    let read: JobSubmission = serde_json::from_str(&text).unwrap();
    assert!(read.spec().is_ok());
}

#[test]
fn what_a_job_says_of_its_clusters_comes_through() {
    let read = |more: &str| {
        let text = format!(r#"{{"processors":24,"run_time":"1s",{more}}}"#);
        serde_json::from_str::<JobSubmission>(&text).unwrap()
    };
    for more in [
        r#""more_components":[{"processors":2,"cluster":1}],"cluster":3"#,
        r#""division":{"splits":[[24],[12,12]]}"#,
        r#""division":{"least_component":4,"most_components":2}"#,
        r#""division":{"most_components":2}"#,
    ] {
        let spec = read(more).spec().unwrap();
        let said = JobSubmission::of(&Arrival::of(spec.clone()));
        assert_eq!(said.spec().unwrap(), spec);
        let kept = serde_json::to_string(&said).unwrap();
        assert!(kept.contains(more), "{kept}");
    }
    for (more, wanted) in [
        (
            r#""division":{"splits":[[24],[12,11]]}"#,
            "field division.splits[1] = \"[12, 11]\": expected at most 63 sizes from 1, in all the \
             24 processors",
        ),
        (r#""division":{"splits":[[24,0]]}"#, "division.splits[0]"),
        (
            r#""division":{"splits":[[24]],"least_component":1}"#,
            "either splits or bounds",
        ),
        (r#""division":{},"cluster":1"#, "which names no cluster"),
        (
            r#""division":{},"more_components":[{"processors":1}]"#,
            "a job of one component",
        ),
    ] {
        let problem = read(more).spec().unwrap_err();
        assert!(problem.detail.contains(wanted), "{}", problem.detail);
    }
}
