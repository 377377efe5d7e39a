//! Runs, Compare and Gantt over HTTP.

use super::Dashboard;
use super::http::Page;
use crate::command::{Bench, JOBS, PAIR, expect_code, run, stdout};
use crate::report_command::{BORROWERS, LENDING};
use std::fs;

/// A dashboard over the runs of two policies on two small sites.
fn rig() -> Dashboard {
    let bench = Bench::new(PAIR, &JOBS);
    expect_code(&bench.run(&[]), 0);
    Dashboard::start_over(bench.dir, &[], &[])
}

fn form(rig: &Dashboard, target: &str, headers: &[(&str, &str)], body: &str) -> Page {
    let mut all = vec![("content-type", "application/x-www-form-urlencoded")];
    all.extend(headers);
    rig.send("POST", target, &all, body)
}

fn paths(rig: &Dashboard) -> Vec<String> {
    let table = rig.get("/api/runs").expect(200).json();
    let rows = table["rows"].as_array().unwrap().iter();
    rows.map(|row| row["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_document_of_a_comparison_is_that_of_the_command() {
    let rig = rig();
    let page = rig.get("/api/compare?run=s-1&anyway=1").expect(200);
    let study = rig.runs().join("s-1");
    let output = run(&["compare", study.to_str().unwrap(), "--json", "--anyway"]);
    assert_eq!(page.body, stdout(&output));
    let html = rig.get("/compare?run=s-1").expect(200).body;
    let text = page.json()["verdict"]["text"].as_str().unwrap().to_owned();
    assert!(html.contains(&text), "{text}");
    // What the page of many runs has from elsewhere.
    let inside = rig.get("/compare/body?run=s-1").expect(200).body;
    assert!(inside.contains(&text) && html.contains(&inside), "{inside}");
    assert!(html.contains("href=\"/compare/plot.css\""), "{html}");
    let rules = rig.get("/compare/plot.css").expect(200);
    assert!(rules.headers["content-type"].starts_with("text/css"));
    assert_eq!(rules.body, gridrig_results::plot::RULES);
    let offline = rig.get("/compare/report.html?run=s-1").expect(200);
    assert!(offline.headers["content-disposition"].starts_with("attachment"));
    assert!(offline.body.contains(&text));
}

#[test]
fn a_page_of_a_run_has_the_tree_and_who_lent_to_whom() {
    let bench = Bench::new(LENDING, &BORROWERS);
    expect_code(&bench.run(&[]), 0);
    let rig = Dashboard::start_over(bench.dir, &[], &[]);
    let page = |path: &str| rig.get(path).expect(200);
    for (policy, leases) in [
        ("delegate", serde_json::json!([[1, 0, 0, 2]])),
        ("independent", serde_json::json!([])),
    ] {
        let run = format!("s-1/free-node-matchmaking-{policy}-/r000");
        let document = page(&format!("/api/live/run/{run}")).json();
        assert_eq!(document["grid"]["parents"], serde_json::json!([2, 2, null]));
        assert_eq!(document["now"]["leases"], leases, "{policy}");
        let part = page(&format!("/api/gantt?run={run}")).json();
        let words = ["forwarded", "on borrowed processors"];
        assert_eq!(part["elsewhere"], words[usize::from(policy == "delegate")]);
    }
}

#[test]
fn runs_that_cannot_be_compared_are_a_problem_with_a_code() {
    let rig = rig();
    for (target, status, code) in [
        ("/api/compare", 400, "bad-request"),
        (
            "/api/compare?run=s-1&relevant=delay_s.mean%3D0",
            400,
            "bad-request",
        ),
        ("/api/compare?run=s-1&primary=speed", 400, "bad-request"),
        ("/api/compare?run=nowhere", 404, "no-such-run"),
        ("/api/compare?run=../runs/s-1", 404, "no-such-run"),
        ("/api/compare?run=%2Fetc", 404, "no-such-run"),
        ("/api/compare?run=s-1/free-node", 422, "one-policy"),
        (
            "/api/compare?run=s-1&baseline=best",
            422,
            "no-such-baseline",
        ),
        ("/api/gantt", 400, "bad-request"),
        (
            "/api/gantt?run=s-1/free-node&from=5&to=2",
            400,
            "bad-request",
        ),
        ("/api/gantt?run=..", 404, "no-such-run"),
        ("/api/runs?filter=colour:red", 400, "bad-filter"),
        ("/api/runs?sort=colour", 400, "bad-request"),
    ] {
        assert_eq!(rig.get(target).expect(status).code(), code, "{target}");
        let page = target.replace("/api", "");
        let html = rig.get(&page);
        assert!(
            html.status < 500 && html.body.contains("<main"),
            "{page}: {}",
            html.status
        );
    }
}

#[test]
fn runs_of_different_traces_are_shown_with_a_warning() {
    let rig = rig();
    let other = Bench::new(PAIR, &JOBS[1..]);
    expect_code(&other.run(&["--set", "run.name=other"]), 0);
    let there = rig.runs().join("other-1");
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(other.dir.path().join("runs/other-1"))
        .arg(&there)
        .status();
    assert!(copied.unwrap().success());
    let both = "run=s-1/round-robin&run=other-1/free-node";
    let code = rig.get(&format!("/api/compare?{both}")).expect(422).code();
    assert!(
        ["not-comparable", "no-pair"].contains(&code.as_str()),
        "{code}"
    );
    let html = rig.get(&format!("/compare?{both}")).expect(200).body;
    assert!(html.contains("Not comparable"), "{html}");
    assert!(html.contains("traces"), "the objection is told");
}

#[test]
fn nothing_is_changed_for_another_origin_or_without_being_asked() {
    let rig = rig();
    let before = paths(&rig);
    let body = "run=s-1&sure=1&tags=x&note=&pinned=1";
    for target in ["/runs/delete", "/runs/label", "/runs/pin"] {
        for headers in [
            [("origin", "http://evil.example")],
            [("origin", "null")],
            [("sec-fetch-site", "cross-site")],
        ] {
            form(&rig, target, &headers, body).expect(403);
        }
    }
    form(&rig, "/runs/delete", &[], "run=s-1").expect(400);
    form(&rig, "/runs/delete", &[], "sure=1").expect(400);
    form(&rig, "/runs/delete", &[], "sure=1&run=..").expect(404);
    form(
        &rig,
        "/runs/pin",
        &[],
        "pinned=1&run=s-1/free-node&run=s-1/round-robin",
    )
    .expect(400);
    rig.get("/runs/pin").expect(405);
    assert_eq!(paths(&rig), before);
    let row = &rig.get("/api/runs").json()["rows"][0];
    assert_eq!(row["tags"].as_array().map(Vec::len), Some(0));
    form(
        &rig,
        "/runs/delete",
        &[("origin", &rig.url)],
        "run=s-1/free-node&sure=1",
    )
    .expect(303);
    assert_eq!(paths(&rig), ["s-1/round-robin/r000"]);
}

#[test]
fn a_run_that_is_made_again_beside_its_manifest_is_not_deleted() {
    let rig = rig();
    let before = paths(&rig);
    let held = fs::File::open(rig.runs().join("s-1/round-robin/r000")).unwrap();
    held.lock().unwrap();
    let page = form(&rig, "/runs/delete", &[], "run=s-1&sure=1").expect(409);
    let told = "it is being run (expected runs that are over).";
    for text in ["Nothing was deleted", told] {
        assert!(page.body.contains(text), "{}", page.body);
    }
    assert_eq!(paths(&rig), before);
    drop(held);
    form(&rig, "/runs/delete", &[], "run=s-1&sure=1").expect(303);
    assert!(paths(&rig).is_empty());
}

#[test]
fn what_is_hostile_is_text_on_every_page() {
    let rig = rig();
    let hostile = "<img src=x onerror=alert(1)>";
    let body = "run=s-1&tags=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&note=%22%3E%3Cscript%3E";
    form(&rig, "/runs/label", &[], body).expect(303);
    let dir = rig.runs().join("<b>dir</b>/p/r000");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("manifest.json"), "{}").unwrap();
    for target in [
        "/runs",
        "/runs?filter=%22%3E%3Cscript%3E",
        "/runs/label?run=s-1",
        "/runs/delete?run=%3Cb%3Edir%3C/b%3E",
        "/compare",
        "/gantt",
        "/gantt?run=s-1&from=%22%3E%3Cscript%3E",
        "/gantt?run=%22%3E%3Cscript%3E",
    ] {
        let html = rig.get(target).body;
        for raw in [hostile, "\"><script>", "<b>dir"] {
            assert!(!html.contains(raw), "{target}: {raw}");
        }
    }
    let html = rig.get("/runs").expect(200).body;
    assert!(html.contains("damaged") && html.contains("expected the manifest of a run"));
}

#[test]
fn few_jobs_are_boxes_and_many_are_cells_as_full_as_the_clusters() {
    // A job a second on four processors: one for 2 s, every third for 4 s.
    let jobs: Vec<(u64, i64, u32)> = (0..6000)
        .map(|n| (n, if n % 3 == 0 { 4 } else { 2 }, 1))
        .collect();
    let bench = Bench::new(PAIR, &jobs);
    expect_code(&bench.run(&[]), 0);
    let rig = Dashboard::start_over(bench.dir, &[], &[]);
    let run = "/api/gantt?run=s-1/round-robin/r000";
    let page = rig.get(run).expect(200);
    assert!(page.body.len() < 150_000, "{} bytes", page.body.len());
    let part = page.json();
    assert_eq!(part["picture"]["mode"], "bins");
    assert_eq!(
        (&part["jobs"], &part["jobs_shown"]),
        (&6000.into(), &6000.into())
    );
    let lines: Vec<&str> = part["picture"]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert_eq!(lines.len(), 8, "a line for each processor");
    let cover = |line: &str| {
        let levels = line.bytes().map(|cell| f64::from(cell - 35));
        let levels = levels.map(|code| (code / 9.0).floor() + code % 9.0);
        levels.sum::<f64>() / (8.0 * line.len() as f64)
    };
    for (at, cluster) in part["clusters"].as_array().unwrap().iter().enumerate() {
        let busy = cluster["busy"].as_f64().unwrap();
        let drawn = lines[4 * at..4 * at + 4]
            .iter()
            .map(|line| cover(line))
            .sum::<f64>()
            / 4.0;
        assert!((busy - drawn).abs() < 0.05, "{cluster}: drawn {drawn}");
    }
    // All of b1's jobs came from a.
    let forwarded = part["clusters"][1]["forwarded"].as_u64().unwrap();
    assert_eq!(&part["clusters"][1]["jobs"], forwarded);
    assert!(forwarded > 0 && part["clusters"][0]["forwarded"] == 0);

    let part = rig
        .get(&format!("{run}&from=100&to=160"))
        .expect(200)
        .json();
    assert_eq!(part["picture"]["mode"], "boxes");
    let boxes = part["picture"]["boxes"].as_array().unwrap();
    assert_eq!(boxes.len() as u64, part["jobs_shown"].as_u64().unwrap());
    // No two boxes of a processor overlap.
    let mut by_place: Vec<(u64, f64, f64)> = boxes
        .iter()
        .map(|b| {
            (
                b[3].as_u64().unwrap(),
                b[1].as_f64().unwrap(),
                b[2].as_f64().unwrap(),
            )
        })
        .collect();
    by_place.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for pair in by_place.windows(2) {
        assert!(pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1, "{pair:?}");
        assert!(pair[0].1 >= 100.0 && pair[0].2 <= 160.0, "{pair:?}");
    }
}

#[test]
fn boxes_tell_of_jobs_whose_start_was_reserved_and_of_those_on_several_clusters() {
    let seen = |policy: &str, draw: &str| {
        let scenario = format!(
            "[workload]\ntrace = \"t.swf\"\ndomain = \"a\"\n{draw}\n[[domain]]\nname = \"a\"\n\
             clusters = [\n{{ name = \"a1\", processors = 4, reservations = {{}} }},\n\
             {{ name = \"a2\", processors = 4, reservations = {{}} }},\n]\n\
             [run]\npolicies = [\"{policy}\"]\n"
        );
        let bench = Bench::new(
            &scenario,
            &[(0, 30, 6), (1, 20, 2), (50, 20, 3), (51, 9, 1)],
        );
        expect_code(&bench.run(&[]), 0);
        let rig = Dashboard::start_over(bench.dir, &[], &[]);
        let run = format!("/api/gantt?run=s-1/{policy}/r000");
        let picture = rig.get(&run).expect(200).json()["picture"].clone();
        for told in picture["jobs"].as_array().unwrap() {
            let life = format!("/api/live/jobs/{}?run=s-1/{policy}/r000", told["job"]);
            let life = rig.get(&life).expect(200).json();
            let parts = life["parts"].as_array().unwrap();
            let ends = parts.iter().all(|part| part["end_s"].is_f64());
            let of = parts
                .iter()
                .map(|part| part["processors"].as_u64().unwrap());
            let all = of.sum::<u64>() == told["processors"].as_u64().unwrap();
            assert!(
                ends && all == (policy != "round-robin"),
                "{policy}: {told} {parts:?}"
            );
        }
        let mut seen = [0; 3];
        for one in picture["boxes"].as_array().unwrap() {
            let mut jobs = picture["jobs"].as_array().unwrap().iter();
            let told = jobs.find(|told| told["job"] == one[0]).unwrap();
            let expected = [
                told["forwarded"].as_bool().unwrap(),
                told["start_reserved"].as_bool().unwrap(),
                told["clusters"].as_u64().unwrap() > 1,
            ];
            for (bit, expected) in expected.into_iter().enumerate() {
                let marked = one[5].as_u64().unwrap() >> bit & 1 == 1;
                assert_eq!(marked, expected, "{one} {told}");
                seen[bit] += u64::from(expected);
            }
        }
        seen
    };
    // Two parts of one job.
    assert_eq!(seen("flexible-cluster-minimization", ""), [0, 0, 2]);
    let draw = "[workload.draw]\nstart_window = { share = 1, notice = \"1min\", length = \"1h\" }";
    let [_, reserved, together] = seen("round-robin", draw);
    assert!(reserved >= 2 && together == 0, "{reserved}");
    // The broker asks for reservations, the jobs do not; no cluster has room for the first.
    let [_, reserved, together] = seen("co-reservation", "");
    assert!(reserved >= 3 && together == 0, "{reserved}");
}

#[test]
fn runs_are_grouped_by_scenario_with_what_differs_and_how_long_they_took() {
    let bench = Bench::new(PAIR, &JOBS);
    for words in [
        "run.bounds=true",
        "domain.*.broker.exchange=\"60s\"",
        "run.name=other",
    ] {
        expect_code(&bench.run(&["--set", words]), 0);
    }
    let rig = Dashboard::start_over(bench.dir, &[], &[]);
    let change = |path: &str, change: &dyn Fn(&mut serde_json::Value)| {
        let file = rig.runs().join(path).join("manifest.json");
        let text = fs::read(&file).unwrap();
        let mut manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        change(&mut manifest);
        fs::write(&file, manifest.to_string()).unwrap();
    };
    change("other-1/free-node/r000", &|manifest| {
        manifest["host"]["written_unix_s"] = 4_000_000_000_u64.into();
    });
    change("s-1-2/free-node/r000", &|manifest| {
        manifest["host"]["wall_s"] = 75.into();
        manifest["partial"] = true.into();
    });
    let broken_off = rig.runs().join("s-9/p/r000");
    fs::create_dir_all(&broken_off).unwrap();
    fs::write(broken_off.join("jobs.parquet.partial"), "PAR1").unwrap();
    let order = |target: &str| {
        let html = rig.get(target).expect(200).body;
        let heads = html.split("scope=\"rowgroup\">").skip(1);
        let names = heads.map(|rest| rest.split(" <").next().unwrap().to_owned());
        (names.collect::<Vec<_>>(), html)
    };
    let (names, html) = order("/runs");
    assert_eq!(names, ["other", "s", "Unknown scenario"]);
    let by_name = order("/runs?sort=-scenario").0;
    assert_eq!(by_name, ["s", "other", "Unknown scenario"]);
    for (text, times) in [
        ("differs\">exchange 15s</td>", 4),
        ("differs\">exchange 60s</td>", 2),
        (">reference</span>", 3),
        ("<td data-label=\"Took\" class=\"num\">1 min 15 s</td>", 1),
        (">partial</span>", 1),
        (">half-written</span>", 1),
    ] {
        assert_eq!(html.matches(text).count(), times, "{text}: {html}");
    }
    // Where no row differs, there is no such column.
    let one = order("/runs?filter=scenario:other").1;
    assert!(
        html.contains("Differs") && !one.contains("Differs"),
        "{one}"
    );
}

#[test]
fn a_folder_without_runs_has_pages_too() {
    let rig = Dashboard::start(&[], &[]);
    // Whoever sees a page may have no shell.
    for target in ["/", "/runs", "/compare", "/gantt"] {
        let html = rig.get(target).expect(200).body;
        assert!(!html.contains("gridrig run"), "{target}");
        assert!(html.contains("scenario"), "{target}");
    }
    assert_eq!(rig.get("/api/runs").expect(200).json()["runs"], 0);
}
