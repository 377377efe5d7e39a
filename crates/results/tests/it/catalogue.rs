//! The index of a folder of runs.

use crate::study::{Draft, Study, two_sites, usual};
use gridrig_core::time::SimDuration;
use gridrig_results::EventLog;
use gridrig_results::catalogue::{
    CATALOGUE, Catalogue, CatalogueError, Order, Refresh, RunEntry, State, rows,
};
use gridrig_results::rundir::EventsWriter;
use rusqlite::Connection;
use std::fs;
use std::path::Path;

const POLICIES: [&str; 2] = ["free-node", "round-robin"];

fn open(study: &Study) -> Catalogue {
    let mut catalogue = Catalogue::open(study.path()).unwrap();
    catalogue.refresh().unwrap();
    catalogue
}

fn paths(catalogue: &mut Catalogue) -> Vec<String> {
    let runs = catalogue.runs().unwrap();
    runs.into_iter().map(|run| run.path).collect()
}

fn one(catalogue: &mut Catalogue, path: &str) -> RunEntry {
    catalogue.at(path).unwrap().remove(0)
}

fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

#[test]
fn every_run_is_listed_with_its_figures() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = open(&study);
    assert_eq!(catalogue.notice(), None);
    let runs = catalogue.runs().unwrap();
    assert_eq!(
        paths(&mut catalogue),
        [
            "free-node/r000",
            "free-node/r001",
            "round-robin/r000",
            "round-robin/r001"
        ]
    );
    let run = &runs[2];
    assert_eq!(run.state, State::Complete);
    assert_eq!(run.policy.as_deref(), Some("round-robin"));
    assert_eq!((run.jobs.submitted, run.jobs.completed), (3, 3));
    // Waits of 4, 8 and 12 s.
    assert_eq!(run.figures.wait_s_mean, Some(8.0));
    assert_eq!(run.figures.delay_s_mean, Some(8.0));
    assert_eq!(run.valid, Some(true));
    assert_eq!(run.traces, "t.swf abc");
    assert_eq!(run.varies.as_deref(), Some("window"));
}

#[test]
fn a_row_says_what_differs_within_its_scenario_and_how_long_it_took() {
    let study = Study::new();
    let write = |path: &str, change: &dyn Fn(&mut Draft)| {
        let mut draft = Draft::new("free-node", 0, &[1, 2, 3]);
        draft.info.study.scenario = "s".to_owned();
        change(&mut draft);
        Study::write_to(&study.path().join(path), draft);
    };
    write("s-1/free-node/r000", &|draft| {
        draft.info.host.insert("wall_s".to_owned(), 75.0.into());
    });
    write("s-1-2/free-node/r000", &|draft| {
        for domain in &mut draft.grid.domains {
            domain.broker.exchange = SimDuration::from_secs(60);
        }
    });
    write("s-1-3/free-node/r000", &|draft| {
        draft.grid.domains[1].broker.exchange = SimDuration::from_secs(60);
    });
    write("other-1/free-node/r000", &|draft| {
        draft.info.study.scenario = "other".to_owned();
        draft.info.study.key = "elsewhere".to_owned();
    });
    // One that cannot be read does not make everything differ.
    fs::create_dir_all(study.path().join("torn")).unwrap();
    fs::write(study.path().join("torn/manifest.json"), "{").unwrap();
    let mut catalogue = open(&study);
    let all = catalogue.runs().unwrap();
    let rows = rows(&all, |_| true, false, (Order::Path, false));
    let told = |path: &str| {
        let row = rows.iter().find(|row| row.path.starts_with(path)).unwrap();
        (row.differs.join(", "), row.wall_s)
    };
    let usual = "exchange 15s".to_owned();
    assert_eq!(told("s-1/"), (usual, Some(75.0)));
    assert_eq!(told("s-1-2/"), ("exchange 60s".to_owned(), None));
    let each = "a exchange 15s, b exchange 60s".to_owned();
    assert_eq!(told("s-1-3/"), (each, None));
    assert_eq!(told("other-1/"), (String::new(), None));
}

#[test]
fn a_refresh_reads_only_what_has_changed() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = Catalogue::open(study.path()).unwrap();
    let counts = |found: Refresh| (found.read, found.unchanged, found.gone);
    assert_eq!(counts(catalogue.refresh().unwrap()), (4, 0, 0));
    assert_eq!(counts(catalogue.refresh().unwrap()), (0, 4, 0));
    // Another program finds the same table.
    let mut other = Catalogue::open(study.path()).unwrap();
    assert_eq!(counts(other.refresh().unwrap()), (0, 4, 0));
    fs::remove_dir_all(study.run_dir("free-node", 1)).unwrap();
    fs::write(study.run_dir("free-node", 0).join("jobs.parquet"), "short").unwrap();
    assert_eq!(counts(other.refresh().unwrap()), (1, 2, 1));
    assert_eq!(one(&mut catalogue, "free-node/r000").state, State::Damaged);
}

#[test]
fn damaged_and_foreign_directories_are_listed_with_the_reason() {
    let study = Study::of(&POLICIES, 1, usual);
    let write = |path: &str, name: &str, text: &str| {
        let dir = study.path().join(path);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(name), text).unwrap();
    };
    write("broken-off/p/r000", "jobs.parquet.partial", "PAR1");
    write("foreign", "manifest.json", "{\"manifest_version\": 3}");
    write("torn", "manifest.json", "{\"format\": 1, \"poli");
    fs::remove_file(study.run_dir("free-node", 0).join("hops.parquet")).unwrap();
    // No run: whoever keeps notes here keeps them.
    write("notes", "readme.txt", "x");
    let mut catalogue = open(&study);
    for (path, state, reason) in [
        ("broken-off/p/r000", State::HalfWritten, "no manifest.json"),
        (
            "foreign",
            State::Damaged,
            "foreign/manifest.json:1: expected the manifest of a run",
        ),
        (
            "torn",
            State::Damaged,
            "torn/manifest.json:1: expected the manifest of a run",
        ),
        ("free-node/r000", State::Damaged, "hops.parquet: missing"),
    ] {
        let run = one(&mut catalogue, path);
        let told = run.reason.unwrap_or_default();
        assert_eq!(run.state, state, "{path}");
        assert!(told.starts_with(reason), "{path}: {told}");
    }
    assert_eq!(paths(&mut catalogue).len(), 5);
}

#[test]
fn an_interrupted_run_says_whether_it_can_be_continued() {
    let study = Study::new();
    for (policy, more) in [
        ("ours", ""),
        ("theirs", ", \"cannot_continue\": \"external broker\""),
    ] {
        let dir = study.path().join(format!("s-1/{policy}/r000"));
        fs::create_dir_all(&dir).unwrap();
        let text = format!("{{\"name\": \"s\", \"lives\": [{{}}]{more}}}");
        fs::write(dir.join("running.json"), text).unwrap();
    }
    let mut catalogue = open(&study);
    for (policy, reason) in [
        ("ours", "it was interrupted, and can be continued"),
        (
            "theirs",
            "it was interrupted, and cannot be continued (external broker)",
        ),
    ] {
        let run = one(&mut catalogue, &format!("s-1/{policy}/r000"));
        assert_eq!(run.reason.as_deref(), Some(reason));
        assert_eq!(
            (run.state, &*run.clock),
            (State::HalfWritten, "real"),
            "{policy}"
        );
    }
}

#[test]
fn a_run_in_virtual_time_is_running_until_its_process_lets_go() {
    let study = Study::new();
    let path = "two-sites-1/free-node/r000";
    let dir = study.path().join(path);
    let (_log, chunks) = EventLog::followed();
    let mut writer = EventsWriter::follow(&dir, &two_sites(4), chunks).unwrap();
    let mut catalogue = open(&study);
    let run = one(&mut catalogue, path);
    assert_eq!(run.state, State::Running);
    let named = (&*run.scenario, run.seed, &*run.clock);
    assert_eq!(named, ("two-sites", 1, "virtual"));
    assert_eq!(run.policy.as_deref(), Some("free-node"));
    assert_eq!(catalogue.refresh().unwrap().unchanged, 1);
    // A row that says running, with the stamp of a run that nobody runs.
    let table = Connection::open(study.path().join(CATALOGUE)).unwrap();
    table.execute("UPDATE runs SET stamp = ''", []).unwrap();
    drop(table);
    // As when the process was killed.
    drop(writer.take_hold());
    assert_eq!(catalogue.refresh().unwrap().read, 1);
    assert_eq!(one(&mut catalogue, path).state, State::HalfWritten);
    drop(writer);
    assert_eq!(catalogue.refresh().unwrap().gone, 1);
}

#[test]
fn a_second_folder_of_a_scenario_is_not_taken_for_another_seed() {
    let study = Study::new();
    // Either may be the seed, whatever lies beside it.
    fs::create_dir_all(study.path().join("phase-3")).unwrap();
    for path in ["phase-3-7/p/r000", "two-sites-1-2/p/r000"] {
        let (_log, chunks) = EventLog::followed();
        let dir = study.path().join(path);
        let _writer = EventsWriter::follow(&dir, &two_sites(4), chunks).unwrap();
        let run = one(&mut open(&study), path);
        assert_eq!((&*run.scenario, run.seed), ("", 0), "{path}");
        assert_eq!(run.policy.as_deref(), Some("p"), "{path}");
    }
}

#[test]
fn a_run_that_is_made_again_is_running_and_not_deleted() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = open(&study);
    let again = study.run_dir("free-node", 1);
    let (_log, chunks) = EventLog::followed();
    let writer = EventsWriter::follow(&again, &two_sites(4), chunks).unwrap();
    assert_eq!(catalogue.refresh().unwrap().read, 1);
    let run = one(&mut catalogue, "free-node/r001");
    assert_eq!((run.state, run.jobs.submitted), (State::Running, 3));
    // One that is about to end, whose log has its name.
    let ends = fs::File::open(study.run_dir("round-robin", 0)).unwrap();
    ends.lock().unwrap();
    for (path, running) in [
        ("free-node", "free-node/r001"),
        ("round-robin/r000", "round-robin/r000"),
    ] {
        let refused = catalogue.delete(path).unwrap_err().to_string();
        let expected = format!("{running}: it is being run (expected runs that are over)");
        assert_eq!(refused, expected);
    }
    drop((writer, ends));
    catalogue.refresh().unwrap();
    let runs = catalogue.runs().unwrap();
    assert_eq!(runs.len(), 4, "nothing was deleted");
    assert!(runs.iter().all(|run| run.state == State::Complete));
    assert_eq!(catalogue.delete("").unwrap().runs, 4);
}

#[test]
fn tags_and_notes_outlive_the_catalogue() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = open(&study);
    let labelled = catalogue.label("free-node", &tags(&["paper", "a"]), "looks good");
    assert_eq!(labelled.unwrap(), 2);
    assert_eq!(catalogue.pin("round-robin", true).unwrap(), 2);
    let before = catalogue.runs().unwrap();
    assert_eq!(before[0].labels.tags, ["a", "paper"]);
    assert!(before[2].labels.baseline);
    drop(catalogue);
    for damage in ["lost", "torn", "of another version"] {
        let file = study.path().join(CATALOGUE);
        match damage {
            "lost" => fs::remove_file(&file).unwrap(),
            "torn" => {
                let mut bytes = fs::read(&file).unwrap();
                bytes[100..].fill(7);
                fs::write(&file, bytes).unwrap();
            }
            _ => {
                let connection = Connection::open(&file).unwrap();
                connection
                    .execute_batch("DROP TABLE runs; CREATE TABLE runs (x)")
                    .unwrap();
                connection.pragma_update(None, "user_version", 99).unwrap();
            }
        }
        let mut catalogue = open(&study);
        assert_eq!(catalogue.notice(), None, "{damage}");
        assert_eq!(catalogue.runs().unwrap(), before, "{damage}");
    }
}

#[test]
fn a_catalogue_that_is_damaged_while_it_is_open_is_made_anew() {
    let study = Study::of(&POLICIES, 1, usual);
    let mut catalogue = open(&study);
    let before = catalogue.runs().unwrap();
    // A page in the middle of the file, and a value of another kind.
    let other = Connection::open(study.path().join(CATALOGUE)).unwrap();
    other
        .execute("UPDATE runs SET state = 'odd', warnings = '{'", [])
        .unwrap();
    drop(other);
    assert_eq!(catalogue.runs().unwrap(), before);
}

#[test]
fn somebody_elses_database_is_left_alone() {
    let study = Study::of(&POLICIES, 1, usual);
    let file = study.path().join(CATALOGUE);
    let foreign = Connection::open(&file).unwrap();
    foreign
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(foreign);
    let mut catalogue = open(&study);
    assert!(catalogue.notice().unwrap().contains("another file"));
    assert_eq!(paths(&mut catalogue).len(), 2);
    catalogue.label("free-node", &tags(&["x"]), "").unwrap();
    assert_eq!(one(&mut catalogue, "free-node").labels.tags, ["x"]);
    let mine = Connection::open(&file).unwrap();
    let x: i64 = mine
        .query_row("SELECT x FROM mine", [], |row| row.get(0))
        .unwrap();
    assert_eq!(x, 1);
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let study = Study::of(&POLICIES, 1, usual);
    let file = study.path().join(CATALOGUE);
    let mut foreign = b"SQLite format 3\0".to_vec();
    foreign.resize(5000, 7);
    for mine in [&b"my notes"[..], &[7; 5000], &foreign] {
        fs::write(&file, mine).unwrap();
        let mut catalogue = open(&study);
        assert!(catalogue.notice().unwrap().contains("another file"));
        assert_eq!(paths(&mut catalogue).len(), 2);
        assert_eq!(fs::read(&file).unwrap(), mine);
    }
}

#[test]
fn deleting_takes_what_the_run_wrote_and_nothing_else() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = open(&study);
    let kept = study.run_dir("free-node", 1).join("thoughts.txt");
    fs::write(&kept, "mine").unwrap();
    let removed = catalogue.delete("free-node").unwrap();
    assert_eq!(removed.runs, 2);
    assert_eq!(removed.kept, ["free-node/r001/thoughts.txt"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "mine");
    assert!(!study.run_dir("free-node", 0).exists());
    assert_eq!(
        paths(&mut catalogue),
        ["round-robin/r000", "round-robin/r001"]
    );
    catalogue.delete("round-robin/r000").unwrap();
    catalogue.delete("round-robin/r001").unwrap();
    assert!(
        !study.path().join("round-robin").exists(),
        "empty folders go"
    );
    assert!(study.path().exists(), "the folder itself stays");
}

#[test]
fn a_path_cannot_lead_out_of_the_folder() {
    let study = Study::of(&POLICIES, 1, usual);
    let outside = Study::of(&POLICIES, 1, usual);
    std::os::unix::fs::symlink(outside.path(), study.path().join("link")).unwrap();
    let mut catalogue = Catalogue::open(study.path()).unwrap();
    assert_eq!(catalogue.refresh().unwrap().links, 1);
    let away = format!(
        "../{}/free-node",
        outside.path().file_name().unwrap().display()
    );
    let whole = outside.path().display().to_string();
    for path in [
        "..",
        "link",
        "link/free-node/r000",
        &away,
        &whole,
        "free-node/../..",
    ] {
        let refused = catalogue.delete(path);
        assert!(
            matches!(refused, Err(CatalogueError::Unknown { .. })),
            "{path}"
        );
    }
    assert!(
        outside
            .run_dir("free-node", 0)
            .join("manifest.json")
            .exists()
    );
}

#[test]
fn damaged_labels_are_told_and_not_overwritten() {
    let study = Study::of(&POLICIES, 1, usual);
    let file = study.run_dir("free-node", 0).join("labels.json");
    fs::write(&file, "{\"format\": 1, \"tags\": [\"half").unwrap();
    let mut catalogue = open(&study);
    let run = one(&mut catalogue, "free-node");
    assert_eq!(run.state, State::Complete);
    assert!(run.reason.unwrap().contains("labels.json:1"));
    assert!(catalogue.label("free-node", &tags(&["x"]), "").is_err());
    assert!(fs::read_to_string(&file).unwrap().contains("half"));
}

#[test]
fn one_baseline_takes_the_place_of_another() {
    let study = Study::of(&POLICIES, 2, usual);
    let mut catalogue = open(&study);
    catalogue.pin("free-node", true).unwrap();
    catalogue.pin("round-robin/r000", true).unwrap();
    let pinned = |catalogue: &mut Catalogue| {
        let runs = catalogue.runs().unwrap().into_iter();
        let pinned = runs.filter(|run| run.labels.baseline);
        pinned.map(|run| run.path).collect::<Vec<_>>()
    };
    assert_eq!(pinned(&mut catalogue), ["round-robin/r000"]);
    catalogue.pin("round-robin", false).unwrap();
    assert!(pinned(&mut catalogue).is_empty());
    assert!(
        !has_labels(&study.run_dir("round-robin", 0)),
        "no file without labels"
    );
}

fn has_labels(dir: &Path) -> bool {
    dir.join("labels.json").exists()
}

#[test]
fn several_programs_may_open_it_at_once() {
    let study = Study::of(&POLICIES, 3, usual);
    let work = |number: usize| {
        let mut catalogue = open(&study);
        for round in 0..5 {
            let path = format!("{}/r{:03}", POLICIES[number % 2], round % 3);
            let tag = format!("{number}-{round}");
            catalogue.label(&path, &[tag], "").unwrap();
            assert_eq!(catalogue.runs().unwrap().len(), 6);
        }
    };
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || work(number));
        }
    });
    let mut catalogue = open(&study);
    let runs = catalogue.runs().unwrap();
    assert!(
        runs.iter().all(|run| run.labels.tags.len() == 1),
        "{runs:?}"
    );
}
