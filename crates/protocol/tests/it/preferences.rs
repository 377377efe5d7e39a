//! What users say for brokers that predict, over REST.

use crate::jsdl::generate::drawn;
use crate::jsdl::table;
use gridrig_core::agent::Arrival;
use gridrig_core::job::{JobSpec, Measured, Objective, Preferences};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_protocol::rest::{JobSubmission, benchmarks};
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

/// As a client says them.
fn read(preferences: &str) -> Result<JobSpec, String> {
    let text = format!(r#"{{"processors": 2, "run_time": "10s", "preferences": {preferences}}}"#);
    let read = serde_json::from_str::<JobSubmission>(&text).map_err(|it| it.to_string())?;
    read.spec().map_err(|problem| problem.detail)
}

#[test]
fn what_a_user_prefers_and_knows_is_read() {
    for (preferences, expected) in [
        ("{}", Preferences::default()),
        (
            r#"{"objective": "early-start", "stage_out": "0s"}"#,
            Preferences {
                objective: Some(Objective::EarlyStart),
                stage_out: Some(SimDuration::ZERO),
                ..Preferences::default()
            },
        ),
        (
            r#"{"objective": "early-completion", "stage_in": "90s",
                "benchmarks": {"linpack": {"result": "1250.5", "time": "1h"}, "own code": {"result": "2"}}}"#,
            Preferences {
                objective: Some(Objective::EarlyCompletion),
                benchmarks: [
                    ("linpack", "1250.5", Some(SimDuration::from_secs(3600))),
                    ("own code", "2", None),
                ]
                .map(|(name, result, time)| {
                    let result = Decimal::parse(result).unwrap();
                    (name.into(), Measured { result, time })
                })
                .into(),
                stage_in: Some(SimDuration::from_secs(90)),
                stage_out: None,
            },
        ),
    ] {
        assert_eq!(
            read(preferences).unwrap().preferences.as_deref(),
            Some(&expected)
        );
    }
}

/// Preferences, and what is said of them.
const WRONG: &str = r#"
{"objective": "cheap"} => `early-start` or `early-completion`
{"benchmarks": []} => expected a map
{"benchmarks": {"a": {"time": "1h"}}} => missing field `result`
{"benchmarks": {"a": {"result": "0"}}} => field preferences.benchmarks.a.result = "0": expected a decimal number above 0
{"benchmarks": {"a": {"result": "+1"}}} => a decimal number above 0
{"benchmarks": {"": {"result": "1"}}} => 1 to 200 characters
{"benchmarks": {"a": {"result": "1", "time": "-1s"}}} => field preferences.benchmarks.a.time = "-1s"
{"stage_in": "soon"} => field preferences.stage_in = "soon"
"#;

#[test]
fn what_means_nothing_is_refused_by_field_and_value() {
    let refused = |preferences: &str, expected: &str| {
        let said = read(preferences).unwrap_err();
        assert!(said.contains(expected), "{said}");
    };
    for (preferences, expected) in table(WRONG) {
        refused(preferences, expected);
    }
    let many = (0..65).map(|at| format!(r#""{at}": {{"result": "1"}}"#));
    let many = many.collect::<Vec<_>>().join(",");
    let many = format!(r#"{{"benchmarks": {{{many}}}}}"#);
    refused(&many, "\"65 benchmarks\": expected at most 64");
    let told = |result: &str| benchmarks(&[("linpack".to_owned(), result.to_owned())].into());
    assert_eq!(
        told("12.5").unwrap()["linpack"],
        Decimal::parse("12.5").unwrap()
    );
    let said = told("fast").unwrap_err().detail;
    assert!(
        said.contains("field benchmarks.linpack = \"fast\""),
        "{said}"
    );
}

fn preferences() -> impl Strategy<Value = Preferences> {
    let time = || option::of(any::<u64>().prop_map(SimDuration::from_nanos));
    let objective = prop_oneof![
        Just(Objective::EarlyStart),
        Just(Objective::EarlyCompletion)
    ];
    let result = (1..=u64::MAX, 0..=18_usize).prop_map(|(digits, places)| {
        let text = format!("{digits:019}");
        let (whole, fraction) = text.split_at(text.len() - places);
        Decimal::parse(&format!("{whole}.{fraction}")).unwrap()
    });
    let measured = (result, time()).prop_map(|(result, time)| Measured { result, time });
    let name = "[^\\p{C}]{1,200}".prop_map(Arc::from);
    drawn!(Preferences {
        objective: option::of(objective),
        benchmarks: btree_map(name, measured, 0..4),
        stage_in: time(),
        stage_out: time(),
    })
}

proptest! {
    #[test]
    fn preferences_go_along_from_broker_to_broker(said in option::of(preferences())) {
        let mut spec = read("{}").unwrap();
        spec.preferences = said.map(Arc::new);
        let sent = JobSubmission::forwarded(&Arrival::of(spec.clone()));
        let text = serde_json::to_string(&sent).unwrap();
        let read: JobSubmission = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read.spec().unwrap(), spec);
    }
}
