//! Runs that must not be compared, and runs that are none.

use crate::foreign_files::in_manifest;
use crate::study::{Draft, Study, says, two_sites, usual};
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::time::SimDuration;
use gridrig_results::compare::{self, Options, Outcome};
use gridrig_results::rundir::{ScaleDoc, names};
use std::fs;

/// What a change is refused with, and the change.
type Refusal = (&'static str, fn(&mut Draft));

const TWO: [&str; 2] = ["round-robin", "free-node"];

/// Two policies on five replications, the runs of the second changed.
fn changed(change: impl Fn(&mut Draft)) -> Study {
    Study::changed(&TWO, 5, |draft| {
        if draft.info.policy.as_deref() == Some("free-node") {
            change(draft);
        }
    })
}

#[test]
fn runs_of_different_traces_are_refused_by_name() {
    let study = changed(|draft| {
        draft.info.trace_sha256 = [("u.swf".to_owned(), "def".to_owned())].into();
    });
    let why = study.refusal();
    says(&why, "not comparable: traces");
    assert!(
        why.contains("t.swf (abc)") && why.contains("u.swf (def)"),
        "{why}"
    );
    assert!(
        why.contains("round-robin/r000") && why.contains("4 more runs"),
        "{why}"
    );
}

#[test]
fn compression_version_machines_and_measure_have_to_agree() {
    let refusals: [Refusal; 4] = [
        ("versions: ", |draft| {
            draft.info.versions = [("gridrig".to_owned(), "9.9.9".to_owned())].into();
        }),
        ("cluster models: ", |draft| draft.grid = two_sites(5)),
        ("what is measured: ", |draft| {
            draft.info.measure.tau.0 = SimDuration::from_secs(1);
        }),
        ("is not valid", |draft| {
            let warnings = ["submission-lag: too late"];
            draft.info.summary = serde_json::json!({ "valid": false, "warnings": warnings });
        }),
    ];
    for (expected, change) in refusals {
        let why = changed(change).refusal();
        assert!(why.contains(expected), "{expected}: {why}");
    }
    let scaled = |scale: f64| {
        move |draft: &mut Draft| {
            draft.info.study.scale = Some(ScaleDoc {
                arrival: scale,
                run_time: scale,
            });
        }
    };
    let study = changed(scaled(60.0));
    // A run that does not say its scale is no reason to refuse.
    assert_eq!(study.compare().verdict.outcome, Outcome::Open);
    let mut draft = Draft::new("queue-length", 0, &usual("", 0));
    scaled(30.0)(&mut draft);
    let study = changed(scaled(60.0));
    study.write(draft);
    let why = study.compare_with("free-node").unwrap_err().to_string();
    says(&why, "compression: ");
}

#[test]
fn loads_more_than_a_tenth_apart_are_refused() {
    let why = changed(|draft| draft.grid = two_sites(5)).refusal();
    says(&why, "offered loads more than 10 % apart");
}

#[test]
fn what_is_not_comparable_can_be_shown_and_claims_nothing() {
    let study = changed(|draft| {
        draft.info.versions = [("gridrig".to_owned(), "9.9.9".to_owned())].into();
    });
    let options = Options {
        anyway: true,
        ..Options::default()
    };
    let document = study.try_compare(&options).unwrap();
    assert_eq!(document.verdict.outcome, Outcome::NotComparable);
    assert_eq!(document.verdict.low, None);
    assert_eq!(document.guard.objections[0].code, "version");
}

/// Runs of one policy on clusters that back-fill as Slurm does, in two folders
/// with other settings in each; the waits are those of different policies.
fn backfilled(settings: [SlurmBackfillSettings; 2]) -> Study {
    let study = Study::new();
    for replication in 0..5 {
        for (folder, (like, slurm)) in ["one", "two"].iter().zip(TWO.iter().zip(settings)) {
            let mut draft = Draft::new("round-robin", replication, &usual(like, replication));
            for cluster in &mut draft.grid.clusters {
                cluster.config.discipline = DisciplineKind::SlurmBackfill;
                cluster.config.slurm = slurm;
            }
            let run = format!("{folder}/round-robin/r{replication:03}");
            Study::write_to(&study.path().join(run), draft);
        }
    }
    study
}

#[test]
fn every_setting_of_slurm_backfill_makes_another_variant() {
    type Change = fn(&mut SlurmBackfillSettings);
    const SECOND: SimDuration = SimDuration::from_secs(1);
    let default = SlurmBackfillSettings::default();
    let changes: [(&str, Change); 4] = [
        ("bf_interval", |other| other.bf_interval = SECOND),
        ("bf_resolution", |other| other.bf_resolution = SECOND),
        ("bf_window", |other| other.bf_window = SECOND),
        ("bf_max_job_test", |other| other.bf_max_job_test = 1),
    ];
    for (key, change) in changes {
        let mut other = default;
        change(&mut other);
        let document = backfilled([default, other]).compare();
        let names = document.policies.iter().map(|p| p.name.as_str());
        let names: std::collections::BTreeSet<&str> = names.collect();
        let expected = ["one/round-robin", "two/round-robin"].into();
        assert_eq!(names, expected, "{key}");
        let told = document.guard.differences.join("\n");
        let path = format!("cluster.a1.slurm.{key}: ");
        says(&told, &path);
    }
}

#[test]
fn runs_from_before_settings_of_slurm_backfill_were_written_are_still_read() {
    let default = SlurmBackfillSettings::default();
    let study = backfilled([default, default]);
    for replication in 0..5 {
        let run = format!("one/round-robin/r{replication:03}");
        let dir = study.path().join(run);
        in_manifest(&dir, |manifest| {
            for cluster in manifest["grid"]["clusters"].as_array_mut().unwrap() {
                cluster.as_object_mut().unwrap().remove("slurm").unwrap();
            }
        });
        let run = gridrig_results::rundir::read(&dir).unwrap();
        assert_eq!(run.grid.clusters[0].config.slurm, default);
    }
    // Nobody knows what those runs went by.
    assert_eq!(study.compare().policies.len(), 2);
}

#[test]
fn settings_that_differ_make_two_policies_of_one_name_and_are_told() {
    let study = Study::new();
    for replication in 0..5 {
        for (folder, policy, phase) in [("one", "round-robin", 0), ("two", "free-node", 3)] {
            let mut draft = Draft::new(policy, replication, &usual(policy, replication));
            draft.info.policy = Some("round-robin".to_owned());
            for domain in &mut draft.grid.domains {
                domain.broker.phase = SimDuration::from_secs(phase);
            }
            let run = format!("{folder}/round-robin/r{replication:03}");
            Study::write_to(&study.path().join(run), draft);
        }
    }
    let document = study.compare();
    let names: Vec<&str> = document.policies.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["one/round-robin", "two/round-robin"]);
    let told = document.guard.differences.join("\n");
    says(
        &told,
        "domain.a.phase: 0s with one/round-robin, 3s with two/round-robin",
    );
}

#[test]
fn a_setting_that_several_policies_have_is_told_once() {
    let study = Study::new();
    for (folder, policy, phase) in [
        ("one", "round-robin", 0),
        ("two", "round-robin", 3),
        ("two", "free-node", 3),
    ] {
        let mut draft = Draft::new(policy, 0, &usual(policy, 0));
        for domain in &mut draft.grid.domains {
            domain.broker.phase = SimDuration::from_secs(phase);
        }
        let dir = study.path().join(folder).join(policy).join("r000");
        Study::write_to(&dir, draft);
    }
    let told = study.compare_with("one/round-robin").unwrap();
    let told = told.guard.differences;
    assert_eq!(
        told,
        [
            "domain.a.phase: 0s with one/round-robin, 3s with free-node, two/round-robin",
            "domain.b.phase: 0s with one/round-robin, 3s with free-node, two/round-robin",
        ]
    );
}

#[test]
fn a_replication_that_a_policy_lacks_is_left_out_and_told() {
    let study = Study::of(&TWO, 6, usual);
    fs::remove_dir_all(study.run_dir("free-node", 2)).unwrap();
    let document = study.compare();
    assert_eq!(document.pairs.n, 5);
    assert_eq!(document.pairs.unpaired, ["window+2w (no run of free-node)"]);
}

#[test]
fn runs_that_share_no_replication_are_refused() {
    let study = Study::new();
    study.write(Draft::new("round-robin", 0, &[1, 2, 3]));
    study.write(Draft::new("free-node", 1, &[1, 2, 3]));
    let why = study.refusal();
    says(&why, "no pair of runs");
    says(&why, "window+0w (no run of free-node)");
}

#[test]
fn one_policy_is_nothing_to_compare() {
    let why = Study::of(&["round-robin"], 3, usual).refusal();
    says(&why, "all runs (3) are of round-robin");
}

#[test]
fn an_unknown_baseline_is_refused_with_those_there_are() {
    let error = Study::of(&TWO, 1, usual).compare_with("free").unwrap_err();
    let expected = "baseline \"free\": expected one of free-node, round-robin";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn two_different_runs_in_the_place_of_one_are_refused() {
    let study = Study::of(&TWO, 2, usual);
    let copy = study.path().join("copy/r001");
    Study::write_to(&copy, Draft::new("free-node", 1, &[7, 7, 7]));
    let why = study.refusal();
    assert!(
        why.contains("copy/r001") && why.contains("free-node, window+1w"),
        "{why}"
    );
    // The very same run in two places counts once.
    fs::remove_dir_all(study.path().join("copy")).unwrap();
    Study::write_to(&copy, Draft::new("free-node", 1, &usual("free-node", 1)));
    assert_eq!(study.compare().pairs.n, 2);
}

/// Breaks one run of six, and says how that is refused.
fn broken(break_it: impl Fn(&std::path::Path), expected: &str) {
    let study = Study::of(&TWO, 6, usual);
    break_it(&study.run_dir("free-node", 3));
    let error = study.try_compare(&Options::default()).unwrap_err();
    let why = compare::said(&error);
    says(&why, "free-node/r003");
    assert!(why.contains(expected), "{expected}: {why}");
    says(&why, "--skip-damaged");
    let options = Options {
        skip_damaged: true,
        ..Options::default()
    };
    let document = study.try_compare(&options).unwrap();
    assert_eq!(document.pairs.n, 5);
    assert_eq!(document.skipped.len(), 1);
    assert!(document.skipped[0].contains("free-node/r003"));
}

#[test]
fn a_half_written_run_is_refused_by_name() {
    broken(
        |dir| fs::remove_file(dir.join(names::MANIFEST)).unwrap(),
        "without manifest.json",
    );
    broken(
        |dir| {
            fs::remove_file(dir.join(names::MANIFEST)).unwrap();
            for name in [names::EVENTS, names::SERIES, names::HOPS] {
                fs::remove_file(dir.join(name)).unwrap();
            }
            let jobs = dir.join(names::JOBS);
            fs::rename(&jobs, dir.join("jobs.parquet.partial")).unwrap();
        },
        "without manifest.json",
    );
}

#[test]
fn a_damaged_run_is_refused_by_name() {
    broken(
        |dir| {
            let jobs = dir.join(names::JOBS);
            let mut bytes = fs::read(&jobs).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&jobs, bytes).unwrap();
        },
        "SHA-256",
    );
    broken(
        |dir| fs::remove_file(dir.join(names::JOBS)).unwrap(),
        "jobs.parquet",
    );
}

#[test]
fn a_foreign_manifest_is_refused_by_name() {
    let replace = |text: &'static str| {
        move |dir: &std::path::Path| fs::write(dir.join(names::MANIFEST), text).unwrap()
    };
    broken(
        replace("{\"name\": \"a web page\"}"),
        "expected the manifest of a run",
    );
    broken(replace("not json"), "expected the manifest of a run");
}

#[test]
fn a_folder_without_runs_is_refused() {
    let study = Study::new();
    fs::create_dir_all(study.path().join("some/thing")).unwrap();
    assert!(study.refusal().contains("no run there or below"));
}

#[test]
fn a_folder_of_unfinished_runs_alone_says_how_they_stand_and_go_on() {
    let study = Study::new();
    let dir = study.path().join("s-1/p/r000");
    fs::create_dir_all(&dir).unwrap();
    let running = dir.join(names::RUNNING);
    for (more, reason, does) in [
        ("\"lives\": []", "it has not begun", "begins it"),
        (
            "\"lives\": [{}]",
            "it was interrupted, and can be continued",
            "continues it",
        ),
        (
            "\"lives\": [{}], \"cannot_continue\": \"external broker\"",
            "it was interrupted, and cannot be continued (external broker)",
            "writes what happened until then",
        ),
    ] {
        fs::write(&running, format!("{{\"name\": \"s\", {more}}}")).unwrap();
        let resume = format!("gridrig run --resume {}", dir.display());
        let expected = format!("{reason} (expected a complete run; {resume} {does}");
        says(&study.refusal(), &expected);
    }
    let held = fs::File::open(&dir).unwrap();
    held.lock().unwrap();
    says(&study.refusal(), "it is being run");
    drop(held);
    // In virtual time there is the beginning of a log.
    fs::remove_file(&running).unwrap();
    fs::write(dir.join("events.parquet.7.partial"), "").unwrap();
    says(&study.refusal(), "it was interrupted while it was written");
    // Beside complete runs it is none of those that are compared.
    for policy in TWO {
        study.write(Draft::new(policy, 0, &usual(policy, 0)));
    }
    assert!(study.try_compare(&Options::default()).is_ok());
}
