//! A run directory of which one file holds any bytes is read and audited, or
//! refused with the name of the file.
//!
//! The first byte says which file; the others are those of the directory that
//! `scripts/fuzz` had the program write.

#![no_main]

use gridrig_results::rundir;
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A copy of the run for this process, and the names of its files.
fn run() -> &'static (PathBuf, Vec<String>) {
    static RUN: OnceLock<(PathBuf, Vec<String>)> = OnceLock::new();
    RUN.get_or_init(|| {
        // The reader of Parquet panics at some files, and the program refuses these (a panic
        // in `rundir::guarded`). One that nobody catches still ends the run of the target,
        // whose own hook would end it at any.
        std::panic::set_hook(Box::new(|_| {}));
        let from = PathBuf::from(std::env::var("GRIDRIG_FUZZ_RUN").expect("GRIDRIG_FUZZ_RUN"));
        let copy = std::env::temp_dir().join(format!("gridrig-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&copy).expect("a directory");
        let files = std::fs::read_dir(&from).expect("a run directory");
        let mut names: Vec<String> = files
            .map(|file| {
                file.expect("a file")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect();
        names.sort();
        for name in &names {
            std::fs::copy(from.join(name), copy.join(name)).expect("a copy");
        }
        (copy, names)
    })
}

/// Manifests, behind the number of their file.
fn manifests(documents: &[Vec<u8>]) -> gridrig_fuzz::Texts {
    let number = run().1.iter().position(|name| name == "manifest.json");
    let number = number.and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
    let texts = gridrig_fuzz::json_forms::<rundir::Manifest>(documents);
    Box::new(texts.map(move |text| [&[number], &text[..]].concat()))
}

const TYPES: gridrig_fuzz::Types = gridrig_fuzz::Types {
    makes: &[],
    forms: &[manifests],
};

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let names = &run().1;
    let name = data[..size]
        .first()
        .map(|which| &names[usize::from(*which) % names.len()]);
    match name.is_some_and(|name| !name.ends_with(".parquet")) && max_size > 1 {
        true => gridrig_fuzz::mutate_behind(1, data, size, max_size, seed, TYPES),
        false => gridrig_fuzz::mutate_table(1.min(size), data, size, max_size, seed),
    }
});

fuzz_target!(|bytes: &[u8]| {
    let (Some((which, bytes)), (dir, names)) = (bytes.split_first(), run()) else {
        return;
    };
    let file = dir.join(&names[usize::from(*which) % names.len()]);
    let whole = std::fs::read(&file).expect("it was copied");
    std::fs::write(&file, bytes).expect("room");
    // It begins with `rundir::read`.
    let _ = rundir::audit_run_dir(dir);
    std::fs::write(&file, whole).expect("room");
});
