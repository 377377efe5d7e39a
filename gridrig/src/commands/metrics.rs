//! `gridrig metrics`

use super::answer;
use crate::cli::MetricsArgs;
use crate::exit::Failure;
use crate::monitor::files;
use crate::versioned::Versioned;
use anyhow::{Context as _, bail};
use std::path::Path;

/// Shows every metric there is, or writes what sets up Prometheus and Grafana.
pub(super) fn metrics(args: &MetricsArgs) -> Result<(), Failure> {
    if let Some(folder) = &args.out {
        return Ok(write(folder, args.force)?);
    }
    let document = Versioned::of("gridrig.metrics.1", files::document());
    answer(args.json, &document, |_| files::markdown())
}

fn write(folder: &Path, force: bool) -> anyhow::Result<()> {
    let files = files::all();
    let exists = files
        .iter()
        .map(|(path, _)| folder.join(path))
        .find(|path| path.exists());
    if let (Some(path), false) = (exists, force) {
        let path = path.display();
        bail!("{path}: is there already (expected a new folder; give another --out, or --force)");
    }
    let targets = folder.join("targets");
    make(&targets)?;
    for (path, embedded) in files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            make(parent)?;
        }
        std::fs::write(&file, &embedded.data).with_context(|| refused(&file))?;
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

fn make(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| refused(folder))
}

fn refused(path: &Path) -> String {
    let path = path.display();
    format!("--out: {path}: expected a folder that can be written to")
}
