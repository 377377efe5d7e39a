//! The real logs, where they are at hand.

use crate::paper_tables::example::{Reduced, ctc_week};
use gridrig_tracelab::load::{Loaded, load};
use gridrig_tracelab::prepare::prepare;
use gridrig_tracelab::spec::SizeFrom;
use std::env;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// The folder of archive traces; `None`, and a line that says where, without it.
#[track_caller]
pub(crate) fn need() -> Option<PathBuf> {
    let folder = env::var_os("GRIDRIG_ARCHIVE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    // A relative folder is meant from the root of the workspace.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
    if folder.is_dir() {
        return Some(folder);
    }
    let test = Location::caller();
    let required = env::var_os("GRIDRIG_REQUIRE").is_some_and(|value| value == "all");
    assert!(
        !required,
        "{test}: no trace archive at {}",
        folder.display()
    );
    println!("SKIPPED: {test}: no trace archive");
    None
}

/// A log of the archive by its name.
pub(crate) fn log(folder: &Path, name: &str) -> Loaded {
    load(&folder.join(format!("{name}.swf.gz")), SizeFrom::Allocated).unwrap()
}

/// Jobs as `PROVENANCE.md` lists them, then lines that never ran (run time
/// below 0, or 0 without allocated processors) and lines without any processor
/// count that did, counted with awk.
const LOGS: [(&str, u64, u64, u64); 17] = [
    ("CEA-Curie-2011-2.1-cln", 312_826, 10_912, 0),
    ("CTC-SP2-1996-3.1-cln", 77_222, 0, 0),
    ("DAS2-fs1-2003-1", 40_315, 959, 0),
    ("HPC2N-2002-2.2-cln", 202_871, 0, 0),
    ("KTH-SP2-1996-2.1-cln", 28_476, 0, 1),
    ("LANL-CM5-1994-4.1-cln", 122_060, 0, 3),
    ("LCG-2005-1", 188_041, 0, 0),
    ("LLNL-Atlas-2006-2.1-cln", 43_778, 4_588, 0),
    ("LPC-EGEE-2004-1.2-cln", 234_889, 14_194, 0),
    ("METACENTRUM-2009-2", 103_656, 0, 0),
    ("NASA-iPSC-1993-3", 42_264, 0, 0),
    ("NASA-iPSC-1993-3.1-cln", 18_239, 0, 0),
    ("OSC-Clust-2000-3.1-cln", 36_097, 0, 0),
    ("RICC-2010-2", 447_794, 0, 0),
    ("SDSC-BLUE-2000-4.2-cln", 243_306, 10_744, 0),
    ("SDSC-Par-1996-3.1-cln", 32_135, 0, 0),
    ("SDSC-SP2-1998-4.2-cln", 59_715, 5_671, 0),
];

#[test]
fn every_log_of_the_archive_is_read_to_the_last_job() {
    let Some(folder) = need() else { return };
    for (name, lines, never_ran, no_processors) in LOGS {
        let loaded = log(&folder, name);
        let count = |reason| loaded.skipped.get(reason).copied().unwrap_or(0);
        let skipped: u64 = loaded.skipped.values().sum();
        assert_eq!(loaded.jobs.len() as u64 + skipped, lines, "{name}");
        assert_eq!(count("never-ran"), never_ran, "{name}");
        assert_eq!(count("no-processors"), no_processors, "{name}");
        assert_eq!(skipped, never_ran + no_processors, "{name}");
        let silent = name.starts_with("METACENTRUM");
        assert_eq!(loaded.header.max_processors().is_none(), silent, "{name}");
    }
}

#[test]
fn the_ctc_week_of_design_10_comes_out_as_written_there() {
    let Some(folder) = need() else { return };
    let trace = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
    let prepared = prepare(&ctc_week(&trace, 2).unwrap(), 0).unwrap();
    assert_eq!(prepared.jobs.len(), 481);

    let week = Reduced::of(&prepared);
    let runs = week.run_time;
    assert_eq!(runs.mean.unwrap().round(), 234.0);
    assert_eq!(runs.sd.unwrap().round(), 344.0);
    assert_eq!(runs.max.unwrap().round(), 1081.0);
    let sizes = week.processors;
    assert_eq!((sizes.mean.unwrap() * 100.0).round(), 1396.0);
    assert_eq!((sizes.sd.unwrap() * 100.0).round(), 2937.0);
    assert_eq!(sizes.max, Some(162.0));

    assert_eq!(week.demand.peak_processors, Some(1655));
    let at = week.demand.peak_processors_at_s.unwrap();
    assert!((8_500.0..9_500.0).contains(&at), "{at}");
    let wide = prepared
        .jobs
        .iter()
        .filter(|j| j.spec.processors() == 129)
        .count();
    println!("{wide} jobs of 129 processors");
}
