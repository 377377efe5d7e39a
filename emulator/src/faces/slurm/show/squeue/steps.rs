//! `squeue --steps`: a running job has one step, its batch script.

use crate::faces::slurm::show::format::pad;
use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::{Record, State};
use crate::faces::slurm::wire::Answer;
use crate::slurm::times::short;
use gridrig_core::time::SimTime;

/// Width of each column, and whether it stands to the right.
const COLUMNS: [(usize, bool); 6] = [
    (15, true),
    (8, true),
    (9, true),
    (8, true),
    (9, true),
    (0, false),
];

pub(super) fn list(records: &[Record<'_>], site: &Site, header: bool, now: SimTime) -> Answer {
    let mut out = String::new();
    if header {
        let names = ["STEPID", "NAME", "PARTITION", "USER", "TIME", "NODELIST"];
        line(&mut out, names.map(str::to_owned));
    }
    let running = |record: &&Record<'_>| record.job.state == State::Running;
    for record in records.iter().filter(running) {
        let nodes = site.nodes_of(&record.job.placement);
        let first = nodes.first().map(|(node, _)| format!("n{node}"));
        line(
            &mut out,
            [
                format!("{}.batch", record.id()),
                "batch".to_owned(),
                site.partition.clone(),
                record.job.batch.user.to_string(),
                short(record.run_seconds(now)),
                first.unwrap_or_default(),
            ],
        );
    }
    Answer::said(out)
}

fn line(out: &mut String, cells: [String; 6]) {
    for ((width, right), cell) in COLUMNS.into_iter().zip(&cells) {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push(' ');
        }
        match width {
            0 => out.push_str(cell),
            _ => pad(out, cell, width, right),
        }
    }
    out.push('\n');
}
