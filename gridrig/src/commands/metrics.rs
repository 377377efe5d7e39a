//! `gridrig metrics`

use super::{print, print_json};
use crate::cli::MetricsArgs;
use crate::exit::Failure;
use crate::monitor::files;
use anyhow::anyhow;
use std::path::Path;

/// Shows every metric there is, or writes what sets up Prometheus and Grafana.
pub(super) fn metrics(args: &MetricsArgs) -> Result<(), Failure> {
    if let Some(folder) = &args.out {
        return write(folder, args.force);
    }
    match args.json {
        true => print_json(&files::document()),
        false => print(&files::markdown()),
    }
}

fn write(folder: &Path, force: bool) -> Result<(), Failure> {
    let files = files::all();
    let exists = files.iter().find(|(path, _)| folder.join(path).exists());
    if let (Some((path, _)), false) = (exists, force) {
        return Err(Failure::input(anyhow!(
            "{}: is there already (expected a new folder; give another --out, or --force)",
            folder.join(path).display()
        )));
    }
    let targets = folder.join("targets");
    make(&targets)?;
    for (path, text) in files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            make(parent)?;
        }
        std::fs::write(&file, text).map_err(|error| refused(&file, &error))?;
    }
    let folder = folder.display();
    eprintln!(
        "written: {folder}\nnext: prometheus --config.file={folder}/prometheus.yml \
         --storage.tsdb.path={folder}/data --web.listen-address=127.0.0.1:9090\n      \
         gridrig run SCENARIO --clock real --targets {}",
        targets.display()
    );
    Ok(())
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| refused(folder, &error))
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::input(anyhow!(
        "--out: {path}: {error} (expected a folder that can be written to)"
    ))
}
