//! Every `sh` block of the documentation runs as it stands.

use crate::command::{expect_code, root, run, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages: README and everything under docs.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).expect("docs");
    let mut pages: Vec<PathBuf> = docs
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.push(root().join("traces/README.md"));
    pages.sort();
    pages
}

/// The blocks of a page that are marked `sh`.
fn blocks(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "```sh" {
            let block: Vec<&str> = lines.by_ref().take_while(|l| l.trim() != "```").collect();
            blocks.push(block.join("\n"));
        }
    }
    blocks
}

/// Runs the blocks of one page in order, in a directory that looks like the
/// root of the project, with the built command in place of cargo's.
fn run_blocks(page: &Path) {
    let dir = tempfile::tempdir().expect("a directory");
    for shared in ["resources", "traces"] {
        let target = root().canonicalize().expect("the root").join(shared);
        std::os::unix::fs::symlink(target, dir.path().join(shared)).expect("a link");
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_gridrig"))
        .parent()
        .expect("a folder");
    let path = format!(
        "{}:{}",
        bin.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    for block in blocks(page) {
        let script = block.replace("cargo run --release --", "gridrig");
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(dir.path())
            .env("PATH", &path)
            .env("XDG_STATE_HOME", dir.path())
            .output()
            .expect("bash runs");
        assert!(
            output.status.success(),
            "{}:\n{script}\n{}{}",
            page.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A test for each page that has `sh` blocks, so that they run beside each other.
macro_rules! pages_that_run {
    ($($test:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        mod every_sh_block_runs {
            $(#[test]
            fn $test() {
                super::run_blocks(&super::root().join($page));
            })*
        }
    };
}

pages_that_run! {
    readme: "README.md",
    all_pages: "docs/README.md",
    arc: "docs/arc.md",
    coallocation: "docs/coallocation.md",
    reservations: "docs/reservations.md",
    compare: "docs/compare.md",
    dashboard: "docs/dashboard.md",
    descriptions: "docs/descriptions.md",
    disciplines: "docs/disciplines.md",
    dmm_study: "docs/dmm-study.md",
    duckdb: "docs/duckdb.md",
    explain: "docs/explain.md",
    export: "docs/export.md",
    external_brokers: "docs/external-brokers.md",
    faults: "docs/faults.md",
    gridway: "docs/gridway.md",
    gwf: "docs/gwf.md",
    import: "docs/import.md",
    la_grid_study: "docs/la-grid-study.md",
    load: "docs/load.md",
    matchmaking: "docs/matchmaking.md",
    monitoring: "docs/monitoring.md",
    own_policy: "docs/own-policy.md",
    reduction: "docs/reduction.md",
    report: "docs/report.md",
    resource_models: "docs/resource-models.md",
    sanitize: "docs/sanitize.md",
    scenario: "docs/scenario.md",
    slurm: "docs/slurm.md",
    sweeps: "docs/sweeps.md",
    synthesize: "docs/synthesize.md",
    trace_info: "docs/trace-info.md",
    twin: "docs/twin.md",
    validate: "docs/validate.md",
    your_broker: "docs/your-broker.md",
    traces: "traces/README.md",
}

#[test]
fn every_page_with_sh_blocks_is_run() {
    let with_blocks: BTreeSet<PathBuf> = pages()
        .into_iter()
        .filter(|page| !blocks(page).is_empty())
        .collect();
    let run = PAGES.iter().map(|page| root().join(page));
    assert_eq!(with_blocks, run.collect());
}

/// The commands of gridrig that a page shows, in blocks and in its text.
fn shown(page: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(page).expect("a page");
    let text = text.replace("\\\n", " ");
    let mut shown = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        let in_block = number % 2 == 1;
        let pieces: Vec<&str> = match in_block {
            // A comment is in words.
            true => {
                let lines = part.lines().skip(1);
                lines
                    .filter(|line| !line.trim_start().starts_with('#'))
                    .collect()
            }
            false => part.split('`').skip(1).step_by(2).collect(),
        };
        for piece in pieces {
            let words = piece.split_whitespace().skip_while(|w| *w != "gridrig");
            let ends = |w: &&str| !["|", "&", "&&", ">", "2>", "#", "<", ";"].contains(w);
            let command: Vec<String> = words.take_while(ends).map(str::to_owned).collect();
            if command.len() > 1 && (in_block || piece.starts_with("gridrig")) {
                shown.push(command[1..].to_vec());
            }
        }
    }
    shown
}

/// What `--help` says of the command that these words begin with, and how many
/// of them are its name.
fn help(words: &[String]) -> (usize, String) {
    let mut depth = 0;
    loop {
        let name = words[..depth].iter().map(String::as_str);
        let output = run(&name.chain(["--help"]).collect::<Vec<_>>());
        expect_code(&output, 0);
        let help = stdout(&output);
        let is_listed = |word: &String| {
            let mut names = help.lines().filter_map(|line| line.strip_prefix("  "));
            names.any(|line| line.split(' ').next() == Some(word))
        };
        match words.get(depth).is_some_and(is_listed) {
            true => depth += 1,
            false => return (depth, help),
        }
    }
}

#[test]
fn every_command_and_flag_that_a_page_shows_is_there() {
    let (mut helps, mut flags, mut wrong) = (BTreeMap::new(), 0, Vec::new());
    for page in pages() {
        for words in shown(&page) {
            let place = format!("{}: gridrig {}", page.display(), words.join(" "));
            let until = words.iter().take_while(|word| !word.contains('-'));
            let until: Vec<String> = until.cloned().collect();
            let (depth, help) = helps.entry(until).or_insert_with_key(|until| help(until));
            assert!(
                *depth > 0 || words[0].starts_with('-'),
                "{place}: no command"
            );
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
            for word in words.iter().map(|word| word.trim_start_matches('[')) {
                let flag = word.split(|c| !is_part(c)).next().unwrap_or_default();
                if !flag.starts_with("--") {
                    continue;
                }
                let is_known = help.split(|c| !is_part(c)).any(|own| own == flag);
                flags += 1;
                if !is_known {
                    wrong.push(format!("{place}: no {flag}"));
                }
            }
        }
    }
    assert!(flags > 100, "{flags}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_that_is_linked_is_there() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{} links to {target}", page.display());
        }
    }
}
