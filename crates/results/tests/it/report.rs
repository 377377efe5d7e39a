//! The HTML page about finished runs.

use crate::markup::elements;
use crate::study::{Draft, Study, pooled, usual};
use gridrig_results::compare::Outcome;
use gridrig_results::report::{Options, Report, ReportError, report};
use std::path::PathBuf;

const TWO: [&str; 2] = ["round-robin", "free-node"];

fn try_page(study: &Study, options: &Options) -> Result<Report, ReportError> {
    report(&[study.path().to_owned()], options)
}

fn page(study: &Study) -> Report {
    try_page(study, &Options::default()).unwrap()
}

/// Text as it stands in a page.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The words of all sections, in order.
fn sections(html: &str) -> Vec<&str> {
    html.split("<h2 id=\"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
        .collect()
}

#[test]
fn the_page_opens_with_the_sentence_of_the_comparison() {
    let study = Study::of(&[TWO[0], TWO[1], "queue-length"], 12, usual);
    let comparison = study.compare();
    let found = page(&study);
    assert_eq!(found.verdict.as_ref(), Some(&comparison.verdict));
    assert_eq!(comparison.verdict.outcome, Outcome::Winner);
    assert_eq!(found.runs, 36);
    let opening = found.html.split("<h2").next().unwrap();
    let sentence = escaped(&comparison.verdict.text);
    assert!(
        opening.contains(&format!("<b>\u{2713} Better</b>{sentence}</p>")),
        "{opening}"
    );
    assert_eq!(
        sections(&found.html),
        [
            "policies",
            "differences",
            "delays",
            "load-over-time",
            "forwarding",
            "gantt-charts",
            "demand-and-delay-over-time",
            "groups-of-jobs",
            "starvation",
            "balance-of-load",
            "scenarios",
            "runs-and-how-to-repeat-them",
        ]
    );
}

#[test]
fn a_page_is_well_formed_and_loads_nothing() {
    let html = page(&Study::of(&TWO, 6, usual)).html;
    for (name, attributes) in elements(&html) {
        assert!(!["script", "img", "link", "iframe", "object"].contains(&name.as_str()));
        for (attribute, value) in attributes {
            let inside = !["href", "src"].contains(&attribute.as_str()) || value.starts_with('#');
            assert!(inside, "{name} {attribute}={value}");
        }
    }
    assert!(!html.contains("url("));
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let study = Study::of(&TWO, 20, usual);
    assert_eq!(page(&study).html, page(&study).html);
}

#[test]
fn the_replication_that_disagrees_most_is_shown_up_close() {
    let waits = |policy: &str, replication: u32| match (policy, replication) {
        ("free-node", 3) => [9_000, 9_000, 9_000],
        ("free-node", 5) => [4_900, 4_900, 4_900],
        ("free-node", _) => [1_000, 1_000, 1_000],
        _ => [4_000, 4_000, 4_000 + u64::from(replication)],
    };
    let study = Study::of(&TWO, 7, waits);
    let found = page(&study);
    assert_eq!(found.replication, "window+3w");
    assert!(
        found
            .html
            .contains("Shown in detail: window+3w, the one of 7 that disagrees most")
    );
    // All seven are in the forest, the two that disagree in its title.
    assert!(
        found
            .html
            .contains("free-node against round-robin: 2 of 7 windows disagree")
    );
    let agreed = Study::of(&TWO, 6, usual);
    assert_eq!(page(&agreed).replication, "window+0w");
    let asked = Options {
        replication: Some("window+5w".to_owned()),
        ..Options::default()
    };
    assert_eq!(try_page(&study, &asked).unwrap().replication, "window+5w");
    let unknown = Options {
        replication: Some("window+8w".to_owned()),
        ..Options::default()
    };
    let error = try_page(&study, &unknown).unwrap_err().to_string();
    assert!(
        error.contains("\"window+8w\": expected one of window+0w, "),
        "{error}"
    );
}

#[test]
fn captions_say_what_is_shown() {
    let html = page(&Study::of(&TWO, 6, usual)).html;
    for said in [
        "Liu et al., An Experimental System for Grid Meta-Broker Evaluation (2009).",
        "if every job started when it is submitted.",
        "The delay of each job by when it was submitted.",
        "disagree: windows in which the policy of the two that is better on average is the worse \
         one",
        "Orange ones disagree: the policy that is better on average is the worse one in them.",
        ">jobs by colour, from the least to the greatest</text>",
    ] {
        assert!(html.contains(said), "{said}");
    }
    assert!(!html.contains("LSAP"));
    assert!(!html.contains("In charts of bars"), "there are none");
}

#[test]
fn more_than_four_policies_have_a_panel_each_in_the_charts_of_load_and_delays() {
    let six = [TWO[0], TWO[1], "queue-length", "utilization", "e", "f"];
    for (policies, panels) in [(&six[..4], 4), (&six[..], 24)] {
        let html = page(&Study::of(policies, 1, usual)).html;
        let part = |id: &str| {
            let (_, rest) = html.split_once(&format!("<h2 id=\"{id}\"")).unwrap();
            rest.split("<h2 ").next().unwrap().to_owned()
        };
        // All jobs, and the last of them.
        assert_eq!(part("delays").matches("<svg x=").count(), panels / 2);
        let load = part("load-over-time");
        // Of two clusters, jobs that wait and utilization.
        assert_eq!(load.matches("<figure>").count(), 4);
        assert_eq!(load.matches("<svg x=").count(), panels);
        assert_eq!(load.contains("class=\"l d1\""), panels == 4);
    }
}

#[test]
fn what_disagrees_with_a_winner_is_held_against_the_closest_to_it() {
    let waits = |policy: &str, replication: u32| match (policy, replication) {
        ("free-node", 3) => [5_000, 5_000, 5_000],
        ("free-node", _) => [1_000, 1_000, 1_000 + u64::from(replication)],
        ("round-robin", _) => [9_000, 9_000, 9_000 + u64::from(replication)],
        _ => [4_000, 4_000, 4_000 + u64::from(replication)],
    };
    let study = Study::of(&["round-robin", "free-node", "queue-length"], 20, waits);
    let html = page(&study).html;
    let said = "the mean delay of free-node differs from that of queue-length by +0.999 s here, \
                and by -2.80 s on average.";
    assert!(html.contains(said), "{html}");
}

#[test]
fn one_run_has_a_page_without_a_verdict() {
    let study = Study::of(&TWO[..1], 1, usual);
    let found = page(&study);
    assert_eq!(found.verdict, None);
    assert!(
        found
            .sentence
            .starts_with("One run of round-robin: there is nothing to compare with")
    );
    assert!(found.html.contains(&escaped(&found.sentence)));
    for section in [
        "runs",
        "delays",
        "load-over-time",
        "gantt-charts",
        "groups-of-jobs",
        "starvation",
        "scenarios",
    ] {
        assert!(sections(&found.html).contains(&section), "{section}");
    }
    assert!(found.html.contains("Mean delay, s by executing domain"));
    // Delays of 4, 8 and 12 s.
    assert!(
        found
            .html
            .contains("<td class=\"num\" data-label=\"median\">8.00</td>"),
        "mean and median"
    );
}

#[test]
fn who_names_a_baseline_wants_a_comparison() {
    let study = Study::of(&TWO[..1], 1, usual);
    let mut options = Options::default();
    options.compare.baseline = Some("free-node".to_owned());
    let error = try_page(&study, &options).unwrap_err().to_string();
    assert!(error.contains("nothing to compare"), "{error}");
}

#[test]
fn runs_of_different_traces_stand_side_by_side_without_a_winner() {
    let study = Study::of(&TWO[..1], 2, usual);
    for replication in 0..2 {
        let mut other = Draft::new("free-node", replication, &[1_000, 1_000, 1_000]);
        other.info.trace_sha256 = [("other.swf".to_owned(), "def".to_owned())].into();
        other.info.workload_hashes = [
            ("jobs".to_owned(), "others".to_owned()),
            ("all".to_owned(), "others".to_owned()),
        ]
        .into();
        study.write(other);
    }
    let found = page(&study);
    assert_eq!(found.verdict, None);
    for part in [
        "Not comparable",
        "different traces",
        "t.swf (abc)",
        "other.swf (def)",
    ] {
        assert!(found.sentence.contains(part), "{part}: {}", found.sentence);
    }
    let opening = found.html.split("<h2").next().unwrap();
    assert!(
        opening.contains("<b>Warning</b>Not comparable"),
        "{opening}"
    );
    assert!(!found.html.contains("Better</b>"));
    for name in TWO {
        assert!(
            found
                .html
                .contains(&format!("<th scope=\"row\">{name}</th>")),
            "{name}"
        );
    }
}

#[test]
fn runs_that_differ_in_their_clusters_are_shown_and_said_not_to_compare() {
    let study = Study::of(&TWO[..1], 6, usual);
    for replication in 0..6 {
        let mut other = Draft::new("free-node", replication, &usual("free-node", replication));
        other.grid = crate::study::two_sites(8);
        study.write(other);
    }
    let found = page(&study);
    let verdict = found.verdict.unwrap();
    assert_eq!(
        (verdict.outcome, verdict.winner),
        (Outcome::NotComparable, None)
    );
    let opening = found.html.split("<h2").next().unwrap();
    assert!(opening.contains("\u{2717} Not comparable</b>"), "{opening}");
    assert!(opening.contains("cluster models"), "the guard speaks first");
}

#[test]
fn bounds_and_a_pooled_cluster_have_their_place() {
    let study = Study::of(&TWO, 6, usual);
    for replication in 0..6 {
        let mut draft = Draft::new("", replication, &[10, 20, 30 + u64::from(replication)]);
        draft.info.policy = None;
        let entered = ("all".to_owned(), "entered elsewhere".to_owned());
        draft.info.workload_hashes.extend([entered]);
        draft.grid = pooled(8);
        study.write(draft);
    }
    let html = page(&study).html;
    assert!(html.contains("The same for the references, "));
    assert!(html.contains("(pooled)"));
    elements(&html);
}

#[test]
fn hostile_names_stay_text() {
    const EVIL: &str = "\"><script>alert('1')</script>&<b>\u{2713} Pass</b>\u{202e}\u{0}";
    let study = Study::new();
    for policy in TWO {
        for replication in 0..2 {
            let mut draft = Draft::new(policy, replication, &usual(policy, replication));
            draft.info.policy = Some(format!("{EVIL}{policy}"));
            draft.info.study.scenario = EVIL.to_owned();
            draft.info.study.key = format!("{EVIL}{replication}");
            draft.info.trace_sha256 = [(EVIL.to_owned(), EVIL.to_owned())].into();
            draft.info.warnings = vec![EVIL.to_owned()];
            for cluster in &mut draft.grid.clusters {
                cluster.name = format!("{EVIL}{}", cluster.name);
            }
            for domain in &mut draft.grid.domains {
                domain.name = format!("{EVIL}{}", domain.name);
            }
            let dir = study.path().join(policy).join(replication.to_string());
            Study::write_to(&dir, draft);
        }
    }
    let html = page(&study).html;
    // Well formed, which text that is markup would not leave it.
    let found = elements(&html);
    assert!(found.iter().all(|(name, _)| name != "script"));
    assert!(!html.contains("<script") && !html.contains('\u{202e}'));
    assert!(html.contains("&lt;script&gt;"));
}

#[test]
fn a_damaged_run_is_refused_or_left_out_and_named() {
    let study = Study::of(&[TWO[0], TWO[1], "queue-length"], 1, usual);
    let broken = study.run_dir("queue-length", 0);
    std::fs::write(broken.join("jobs.parquet"), b"PAR1").unwrap();
    let error = try_page(&study, &Options::default()).unwrap_err();
    let error = gridrig_results::compare::said(&error);
    assert!(error.contains("jobs.parquet"), "{error}");
    let mut options = Options::default();
    options.compare.skip_damaged = true;
    let found = try_page(&study, &options).unwrap();
    assert_eq!((found.runs, found.skipped.len()), (2, 1));
    assert!(found.html.contains("left out: "));
}

#[test]
fn a_series_or_a_scenario_that_was_changed_is_refused() {
    for name in ["series.parquet", "scenario.toml"] {
        let study = Study::of(&TWO, 1, usual);
        let file = study.run_dir("free-node", 0).join(name);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.push(b'#');
        std::fs::write(&file, bytes).unwrap();
        let error = try_page(&study, &Options::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(name) && error.contains("SHA-256"), "{error}");
    }
}

#[test]
fn a_folder_without_runs_is_refused() {
    let study = Study::new();
    let error = try_page(&study, &Options::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no run there or below"), "{error}");
    let missing = report(&[PathBuf::from("nowhere")], &Options::default());
    assert!(missing.unwrap_err().to_string().contains("nowhere"));
}

#[test]
fn thresholds_have_check_marks() {
    let study = Study::new();
    for (policy, waits) in [("round-robin", [4_000; 3]), ("free-node", [1_000; 3])] {
        let mut draft = Draft::new(policy, 0, &waits);
        draft.info.study.require = vec!["delay_s.p95 < 2".to_owned()];
        study.write(draft);
    }
    let found = page(&study);
    assert_eq!(found.thresholds.len(), 2);
    assert!(
        found
            .html
            .contains("<td class=\"pass\" data-label=\"kept\">\u{2713} 1 of 1 runs</td>")
    );
    assert!(
        found
            .html
            .contains("<td class=\"fail\" data-label=\"kept\">\u{2717} 0 of 1 runs</td>")
    );
}

#[test]
fn many_replications_leave_the_page_small() {
    let study = Study::of(&[TWO[0], TWO[1], "queue-length", "utilization"], 47, usual);
    let found = page(&study);
    assert_eq!(found.runs, 188);
    assert!(found.html.len() < 400_000, "{} bytes", found.html.len());
    // Every window is one row of a forest.
    for replication in 0..47 {
        let row = format!(">window+{replication}w</th>");
        assert!(found.html.contains(&row), "{row}");
    }
}
