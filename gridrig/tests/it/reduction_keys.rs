//! Keys of a workload that choose: the window, and as many jobs as load a
//! machine.

use crate::command::{Bench, expect_code, expect_part, json, ok, rows, run, stdout};
use crate::scenario::{ALONE, PAIR, parse, parse_with};
use gridrig::scenario::Scenario;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::spec::{Keep, WindowChoice};

fn with_keys(keys: &str) -> String {
    PAIR.replacen("domain = \"a\"", &format!("domain = \"a\"\n{keys}"), 1)
}

fn refused(keys: &str) -> String {
    parse_with(&with_keys(keys), &[]).unwrap_err().to_string()
}

fn days(days: u64) -> SimDuration {
    SimDuration::from_secs(days * 86_400)
}

#[test]
fn a_window_is_chosen_by_its_length() {
    let spec = &parse(&with_keys(
        "window = { length = \"7d\", choose = \"representative\" }",
    ))
    .workloads[0];
    assert_eq!(spec.window, None);
    assert_eq!(spec.choose, Some(WindowChoice::of_length(days(7))));
    let spec = &parse(&with_keys(
        "window = { length = \"7d\", choose = \"representative\", step = \"12h\", skip_start = \
         \"10d\", skip_end = \"0s\" }",
    ))
    .workloads[0];
    let choice = spec.choose.unwrap();
    assert_eq!(choice.step, SimDuration::from_secs(43_200));
    assert_eq!(choice.skip_start, Some(days(10)));
    assert_eq!(choice.skip_end, Some(SimDuration::ZERO));
}

#[test]
fn a_load_is_that_of_the_clusters_in_reach_or_of_so_many_processors() {
    let load = |text: &str| match parse(text).workloads[0].keep {
        Keep::Load {
            offered,
            processors,
            seed,
        } => (offered.to_string(), processors, seed),
        other => panic!("{other:?}"),
    };
    let asked = with_keys("load = { offered = 0.75 }");
    assert_eq!(load(&asked), ("0.75".to_owned(), 450, 1));
    let own = with_keys("load = { offered = 1, processors = 1000 }");
    assert_eq!(load(&own), ("1".to_owned(), 1000, 1));
    let seeded = asked.replace("[run]", "[run]\nseed = 9");
    assert_eq!(load(&seeded).2, 9);
    let alone = ALONE.replace("[cluster]", "load = { offered = 0.5 }\n[cluster]");
    assert_eq!(load(&alone).1, 4);
}

#[test]
fn keys_that_choose_survive_the_resolved_text() {
    for keys in [
        "window = { length = \"7d\", choose = \"representative\", skip_end = \"3d\" }",
        "load = { offered = 0.75 }",
        "sanitize = \"failed,flurry=7@10-20\"",
    ] {
        let first = parse(&with_keys(keys));
        let text = first.to_resolved_toml();
        let second = parse(&text);
        assert_eq!(first.workloads, second.workloads, "{text}");
        assert_eq!(second.to_resolved_toml(), text);
    }
}

#[test]
fn what_contradicts_itself_is_refused_at_its_place() {
    for (keys, message) in rows(
        r#"
            window = { start = "1d", length = "7d", choose = "representative" } => field workload.window.start = "1d": expected either start or choose, not both
            window = { length = "7d", step = "1h" } => field workload.window.step = "1h": expected choose = "representative" in the same table
            window = { length = "7d", skip_end = "1h" } => workload.window.skip_end
            window = { length = "7d", choose = "best" } => expected a way to choose a window, `representative`
            window = { choose = "representative" } => missing key `workload.window.length`
            load = { processors = 5 } => missing key `workload.load.offered`
            sanitize = "failed,odd" => field workload.sanitize = "failed,odd": expected sanitizing rules such as
            load = { offered = 0 } => above 0
            load = { offered = 0.5, processors = 0 } => from 1 to
            share = 0.5; load = { offered = 0.5 } => only one of keep, share and load
            "#,
    ) {
        let keys = keys.replace("; ", "\n");
        let told = refused(&keys);
        let line = 4 + keys.lines().count();
        assert!(told.starts_with(&format!("x.toml:{line}:")), "{told}");
        assert!(told.contains(message), "{told}");
    }
    let replicated = with_keys("window = { length = \"7d\", choose = \"representative\" }")
        .replace(
            "[run]",
            "[run]\nreplicate = { over = \"window\", step = \"7d\", count = 2 }",
        );
    let told = parse_with(&replicated, &[]).unwrap_err().to_string();
    assert!(told.contains("a window with a start"), "{told}");
}

#[test]
fn a_load_without_clusters_in_reach_has_to_name_its_processors() {
    let text = "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\nload = { offered = 0.5 }\n\
                [[domain]]\nname = \"a\"\n\
                [[domain]]\nname = \"b\"\nclusters = [ { name = \"b1\", processors = 4 } ]\n";
    let told = parse_with(text, &[]).unwrap_err().to_string();
    expect_part(
        &told,
        "missing key `workload.load.processors`: expected processors, since no",
    );
}

#[test]
fn replications_over_the_seed_draw_another_sample_for_a_load() {
    let text = with_keys("load = { offered = 0.5 }")
        .replace("[run]", "[run]\nreplicate = { over = \"seed\", count = 2 }");
    let seeds: Vec<u64> = parse(&text)
        .replications()
        .iter()
        .map(|replication| match replication.scenario.workloads[0].keep {
            Keep::Load { seed, .. } => seed,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seeds, [1, 2]);
}

/// Twenty days of 24 jobs each; day 4 has the odd ones.
fn bench(keys: &str) -> Bench {
    let mut jobs = Vec::new();
    for day in 0..20u64 {
        for hour in 0..24u64 {
            let run = 600 + 60 * (hour % 5) as i64;
            let odd = if day == 4 { 40 } else { 1 };
            jobs.push((day * 86_400 + hour * 3600, run * odd, 1 + (hour % 3) as u32));
        }
    }
    let scenario = ALONE.replace("[cluster]", &format!("{keys}\n[cluster]"));
    Bench::new(&scenario, &jobs)
}

#[test]
fn check_shows_the_winner_of_the_ranking_and_the_share() {
    let bench = bench(
        "window = { length = \"2d\", choose = \"representative\" }\nload = { offered = 0.05 }",
    );
    let document = json(&ok(run(&["check", &bench.path("s.toml"), "--json"])));
    let workload = &document["workloads"][0];
    let window = &workload["window"];
    assert_eq!(window["length_s"], 172_800.0);
    assert!(window["chosen"]["considered"].as_u64().unwrap() > 10);
    for component in gridrig_tracelab::reduce::COMPONENTS {
        let distance = window["chosen"]["distances"][component].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&distance), "{component}");
    }
    let share = workload["share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0);
    let load = document["offered_load"].as_f64().unwrap();
    assert!((load - 0.05).abs() < 0.005, "{load}");
    let text = stdout(&run(&["check", &bench.path("s.toml")]));
    assert!(text.contains("window: 2 d from "), "{text}");
    assert!(text.contains("the best of "), "{text}");
    assert!(text.contains("chosen by its load"), "{text}");
}

#[test]
fn a_load_beyond_the_whole_trace_is_warned_of() {
    let bench = bench("load = { offered = 0.9 }");
    let text = stdout(&run(&["check", &bench.path("s.toml")]));
    expect_part(&text, "less than the 0.9 that was asked for: all are kept");
    let scenario = Scenario::load(std::path::Path::new(&bench.path("s.toml")), &[]).unwrap();
    assert!(matches!(
        scenario.workloads[0].keep,
        Keep::Load { offered, .. } if offered == Decimal::parse("0.9").unwrap()
    ));
}

#[test]
fn the_manifest_says_which_window_and_which_share_were_chosen() {
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("runs");
    let output = run(&[
        "run",
        "resources/scenarios/lrms-only.toml",
        "--out",
        dir.to_str().unwrap(),
        "--set",
        "workload.window={ length = \"2d\", choose = \"representative\", step = \"1d\" }",
        "--set",
        "workload.load={ offered = 0.2, processors = 450 }",
    ]);
    expect_code(&output, 0);
    let manifest = dir.join("lrms-only-1/no-broker/r000/manifest.json");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let choice = &manifest["choices"]["ctc-like.swf.gz"];
    assert_eq!(choice["window"]["length"], "172800s", "{choice}");
    assert!(choice["window"]["considered"].as_u64() > Some(1));
    assert!(choice["window"]["start"].as_str().unwrap().ends_with("s"));
    assert_eq!(choice["share"]["offered"], "0.2");
    let share: f64 = choice["share"]["share"].as_str().unwrap().parse().unwrap();
    assert!(0.0 < share && share < 1.0, "{share}");
}
