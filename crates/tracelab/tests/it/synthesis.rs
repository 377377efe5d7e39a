//! Models as files, and what is refused.

use gridrig_tracelab::format::field;
use gridrig_tracelab::synth::burst::Week;
use gridrig_tracelab::synth::lublin::Preset;
use gridrig_tracelab::synth::poisson::Koala;
use gridrig_tracelab::synth::{Extent, Model, SynthError, output};
use std::path::Path;

fn models() -> Vec<Model> {
    vec![
        Model::Lublin(Preset::Both.model(128, Extent::jobs(500), 1)),
        Model::Lublin(Preset::Dmm.model(64, Extent::days(2.0), 9)),
        Model::Poisson(Koala::W2.model(3)),
        Model::Burst(Box::new(Week::Ctc.model())),
        Model::Burst(Box::new(Week::Grid5000.model())),
    ]
}

fn text(model: &Model) -> String {
    let (bytes, _) = output::write(model, "a test", Vec::new()).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_model_read_back_makes_the_same_bytes() {
    for model in models() {
        let read = Model::parse(&model.to_json(), "model.json").unwrap();
        assert_eq!(read, model);
        assert_eq!(text(&read), text(&model));
    }
}

#[test]
fn the_header_says_model_parameters_seed_and_command() {
    for model in models() {
        let text = text(&model);
        for part in [
            &format!("model {}, seed {}", model.kind(), model.seed()),
            "; Computer: none: a generated workload",
            "; Note: made by a test",
            "; Note: model {\"schema\":\"gridrig-workload-model/1\"",
            "; Note: offered load ",
        ] {
            assert!(text.contains(part), "{}: {part}", model.kind());
        }
        let jobs = text.lines().filter(|line| !line.starts_with(';')).count();
        assert!(text.contains(&format!("; MaxJobs: {jobs}\n")));
    }
}

#[test]
fn submissions_never_step_back() {
    for model in models() {
        let times: Vec<_> = model
            .jobs()
            .unwrap()
            .map(|job| job.time(field::SUBMIT))
            .collect();
        assert!(times.is_sorted(), "{}", model.kind());
    }
}

#[test]
fn what_was_made_is_measured_as_the_jobs_are() {
    let model = Model::Poisson(Koala::W1.model(1));
    let made = output::measure(&model).unwrap();
    let jobs: Vec<_> = model.jobs().unwrap().collect();
    let area: f64 = jobs
        .iter()
        .map(|j| {
            j.time(field::RUN_TIME).unwrap().as_secs_f64()
                * j.count(field::ALLOCATED).unwrap() as f64
        })
        .sum();
    assert_eq!(made.jobs, 200);
    let load = area / (320.0 * made.span_s);
    assert!((made.offered_load.unwrap() - load).abs() < 1e-9);
    assert_eq!(made.hourly.iter().sum::<u64>(), 200);
}

fn refused(text: &str) -> String {
    match Model::parse(text, "m.json") {
        Err(error) => error.to_string(),
        Ok(model) => panic!("{model:?}"),
    }
}

#[test]
fn a_file_that_is_no_model_is_refused_with_its_line() {
    assert!(refused("{\n  \"schema\": 3\n}").starts_with("m.json:2: invalid type"));
    assert!(refused("[1,\n2").starts_with("m.json:"));
    let other = r#"{"schema": "gridrig-workload-model/2", "kind": "lublin"}"#;
    assert_eq!(
        refused(other),
        "m.json:1: field schema = \"gridrig-workload-model/2\": expected gridrig-workload-model/1"
    );
    let kind = r#"{"schema": "gridrig-workload-model/1", "kind": "downey"}"#;
    assert!(refused(kind).contains("field kind = \"downey\": expected lublin, poisson"));
}

#[test]
fn unknown_and_missing_keys_of_a_model_are_refused() {
    let good = Model::Poisson(Koala::W1.model(1)).to_json();
    let misspelt = good.replace("interarrival_s", "interarival_s");
    assert!(refused(&misspelt).contains("unknown field `interarival_s`"));
    let line = good
        .lines()
        .position(|l| l.contains("interarrival_s"))
        .unwrap()
        + 1;
    assert!(refused(&misspelt).starts_with(&format!("m.json:{line}: ")));
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let check = |change: &dyn Fn(&mut serde_json::Value), message: &str| {
        let model = Model::Lublin(Preset::All.model(128, Extent::jobs(5), 1));
        let mut value: serde_json::Value = serde_json::from_str(&model.to_json()).unwrap();
        change(&mut value);
        assert_eq!(refused(&value.to_string()), format!("m.json: {message}"));
    };
    check(
        &|v| v["classes"]["all"]["size"]["serial"] = 1.5.into(),
        "field classes.all.size.serial = \"1.5\": expected 0 to 1",
    );
    check(
        &|v| v["classes"]["all"]["run_time"]["a2"] = 1e5.into(),
        "field classes.all.run_time.a2 = \"100000\": expected shape and scale that give values \
         below 12",
    );
    check(
        &|v| v["extent"] = serde_json::json!({}),
        "field extent = \"{}\": expected jobs or days",
    );
    check(
        &|v| v["start_hour"] = 24.into(),
        "field start_hour = \"24\": expected 0 to 23",
    );
}

#[test]
fn a_model_file_that_is_not_there_is_named() {
    let error = Model::read(Path::new("no/such/model.json")).unwrap_err();
    assert!(matches!(&error, SynthError::Read(file, _) if file.ends_with("model.json")));
    assert_eq!(error.to_string(), "no/such/model.json: cannot be read");
}
