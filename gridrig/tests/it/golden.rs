//! Golden results: what runs in virtual time write, row by row, beside what
//! they wrote when that was stored (`scripts/golden`, CONTRIBUTING.md).

mod cases;
mod changes;
mod diff;
mod rows;
mod rules;

use crate::command::{gridrig, root};
use cases::Case;
use changes::Changes;
use diff::Difference;
use rows::{Run, Runs, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many differences of a table are told of each run; all are in the file.
const TOLD: usize = 10;

/// Of zstd: higher ones take seconds a file and make it a tenth smaller.
const LEVEL: i32 = 15;

fn folder() -> PathBuf {
    root().join("gridrig/tests/golden")
}

fn stored(case: &Case) -> PathBuf {
    folder().join("rows").join(format!("{}.tsv.zst", case.name))
}

/// Nothing where nothing is stored.
fn stored_text(case: &Case) -> String {
    let bytes = fs::read(stored(case)).map(|bytes| zstd::decode_all(&bytes[..]).unwrap());
    String::from_utf8(bytes.unwrap_or_default()).unwrap()
}

fn changes() -> Changes {
    Changes::parse(&fs::read_to_string(folder().join("changes.toml")).unwrap())
}

#[test]
fn runs_have_the_rows_that_are_stored() {
    match std::env::var("GRIDRIG_GOLDEN").as_deref() {
        Ok("store") => store(),
        Ok("full") => full(),
        _ => check(),
    }
}

/// Today's runs beside what is stored.
fn check() {
    let changes = changes();
    let compare = |case: &Case| {
        let before = rows::read(&stored_text(case));
        let after = runs(gridrig(), case, &case.short);
        let before = changes.apply_to_all(before, false);
        let after = changes.apply_to_all(after, true);
        diff::of_all(&before, &after, &changes.keys)
    };
    verdict(&in_parallel(&cases::short(), compare));
}

/// Today's runs become what is stored.
fn store() {
    let keys = changes().keys;
    let folder = folder().join("rows");
    fs::create_dir_all(&folder).unwrap();
    let cases = cases::short();
    let files: BTreeSet<PathBuf> = cases.iter().map(stored).collect();
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if !files.contains(&path) && !cases::are_few() {
            fs::remove_file(path).unwrap();
        }
    }
    in_parallel(&cases, |case| {
        let mut runs = runs(gridrig(), case, &case.short);
        diff::sort(&mut runs, &keys);
        let text = rows::write(&runs);
        if text != stored_text(case) {
            let bytes = zstd::encode_all(text.as_bytes(), LEVEL).unwrap();
            fs::write(stored(case), bytes).unwrap();
        }
        Vec::new()
    });
}

/// The commands of two commits on the cases at full size.
fn full() {
    let changes = changes();
    let path = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let base = path("GRIDRIG_GOLDEN_BASE");
    let base_command = path("GRIDRIG_GOLDEN_BASE_COMMAND");
    let command = path("GRIDRIG_GOLDEN_COMMAND");
    let compare = |case: &Case| {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut before = Command::new(&base_command);
        // A scenario that is younger than the base is the same in both.
        let at = if base.join(&case.file).is_file() {
            base.clone()
        } else {
            root()
        };
        before.current_dir(at);
        let mut after = Command::new(&command);
        after.current_dir(root());
        let before = execute(before, case, &case.full, one.path());
        let after = execute(after, case, &case.full, other.path());
        between(&before, &after, &changes)
    };
    verdict(&in_parallel(&cases::full(), compare));
}

/// What differs between the runs of a case by two commands: one run at a time is
/// in memory, and files with the same bytes are not read.
fn between(before: &Ended, after: &Ended, changes: &Changes) -> Vec<Difference> {
    let mut names: BTreeMap<String, (Option<&PathBuf>, Option<&PathBuf>)> = BTreeMap::new();
    for (name, dir) in &before.runs {
        if let Some(name) = changes.run(name, false) {
            names.entry(name).or_default().0 = Some(dir);
        }
    }
    for (name, dir) in &after.runs {
        if changes.run(name, true).is_some() {
            names.entry(name.clone()).or_default().1 = Some(dir);
        }
    }
    let of_command = |ended: &Ended| Run::from([("command".to_owned(), ended.said.clone())]);
    let mut found = diff::of_runs("", &of_command(before), &of_command(after), &changes.keys);
    for (name, dirs) in &names {
        let same = |file: &str| match dirs {
            (Some(one), Some(other)) => {
                fs::read(one.join(file)).ok() == fs::read(other.join(file)).ok()
            }
            _ => false,
        };
        let read = |dir: Option<&PathBuf>, new| {
            let run = dir.map(|dir| rows::read_run(dir, &same).unwrap());
            changes.apply(run.unwrap_or_default(), new)
        };
        let (before, after) = (read(dirs.0, false), read(dirs.1, true));
        found.extend(diff::of_runs(name, &before, &after, &changes.keys));
    }
    found
}

/// How a command ended, and the directories of its runs.
struct Ended {
    /// Exit code and what it said of bounds and mistakes.
    said: Table,
    runs: BTreeMap<String, PathBuf>,
}

/// Runs a scenario into a directory.
fn execute(mut command: Command, case: &Case, sets: &[String], out: &Path) -> Ended {
    command
        .arg("run")
        .arg(&case.file)
        .arg("--out")
        .arg(out)
        .args(["--csv", "--json"]);
    for set in sets {
        command.args(["--set", set]);
    }
    let output = command.output().expect("the command runs");
    let code = output
        .status
        .code()
        .map_or("none".to_owned(), |code| code.to_string());
    let mut said = Table::new(["line", "text"]);
    said.rows.push(vec!["exit code".to_owned(), code]);
    let text = String::from_utf8_lossy(&output.stderr);
    let told = ["error:", "require ", "audit:", "failed:"];
    let lines = text
        .lines()
        .filter(|line| told.iter().any(|start| line.starts_with(start)));
    let lines = lines.collect::<Vec<_>>().join("\n");
    said.rows.extend(Table::of_lines(&lines).rows);
    // OUT/SCENARIO-SEED/POLICY/rNNN
    let mut runs = BTreeMap::new();
    for study in subfolders(out) {
        for policy in subfolders(&study) {
            for run in subfolders(&policy) {
                let name = run.strip_prefix(&study).unwrap().display().to_string();
                runs.insert(name, run);
            }
        }
    }
    Ended { said, runs }
}

fn subfolders(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.is_dir()).collect()
}

/// All that a scenario's runs wrote.
fn runs(command: Command, case: &Case, sets: &[String]) -> Runs {
    let out = tempfile::tempdir().unwrap();
    let ended = execute(command, case, sets, out.path());
    let read =
        |(name, dir): (&String, &PathBuf)| (name.clone(), rows::read_run(dir, &|_| false).unwrap());
    let mut runs: Runs = ended.runs.iter().map(read).collect();
    runs.insert(
        String::new(),
        Run::from([("command".to_owned(), ended.said)]),
    );
    runs
}

/// Does it for every case, as many at a time as there are processors.
fn in_parallel(
    cases: &[Case],
    of: impl Fn(&Case) -> Vec<Difference> + Sync,
) -> BTreeMap<String, Vec<Difference>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let differences = of(case);
                    found.lock().unwrap().insert(case.name.clone(), differences);
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Tells what differs and fails if anything does.
fn verdict(found: &BTreeMap<String, Vec<Difference>>) {
    let mut all = String::from("case\trun\ttable\trow\tcolumn\tbefore\tafter\n");
    let mut told = String::new();
    let (mut cases, mut rows) = (0, 0);
    for (case, differences) in found
        .iter()
        .filter(|(_, differences)| !differences.is_empty())
    {
        cases += 1;
        rows += differences.len();
        told.push_str(&format!("{case}: {} differences\n", differences.len()));
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for one in differences {
            all.push_str(&format!("{case}\t{one}\n"));
            let count = counts.entry((&one.run, &one.table)).or_default();
            *count += 1;
            if *count <= TOLD {
                told.push_str(&format!("  {}\n", one.told()));
            }
        }
        for ((run, table), count) in counts.iter().filter(|(_, count)| **count > TOLD) {
            told.push_str(&format!("  {run} {table}: {} more\n", count - TOLD));
        }
    }
    println!(
        "golden: {} cases, {cases} of them with {rows} differences",
        found.len()
    );
    if rows > 0 {
        let file = std::env::var_os("GRIDRIG_GOLDEN_DIFF").map(PathBuf::from);
        let file = file.unwrap_or_else(|| std::env::temp_dir().join("gridrig-golden.tsv"));
        fs::write(&file, all).unwrap();
        panic!(
            "results differ from the golden ones (all rows: {}):\n{told}",
            file.display()
        );
    }
}
