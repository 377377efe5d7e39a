//! The real logs, where they are at hand.

use crate::compare::{Demand, Moments};
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::load::load;
use gridrig_tracelab::prepare::prepare;
use gridrig_tracelab::spec::{Keep, SizeFrom, TraceWindow, WorkloadSpec};
use std::env;
use std::path::{Path, PathBuf};

/// The folder of archive traces; `None`, and a line that says so, without it.
pub(crate) fn need(test: &str) -> Option<PathBuf> {
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
    let required = env::var_os("GRIDRIG_REQUIRE").is_some_and(|value| value == "all");
    assert!(
        !required,
        "{test}: no trace archive at {}",
        folder.display()
    );
    println!("SKIPPED: {test}: no trace archive");
    None
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
    let Some(folder) = need("every_log_of_the_archive_is_read_to_the_last_job") else {
        return;
    };
    for (name, lines, never_ran, no_processors) in LOGS {
        let loaded = load(&folder.join(format!("{name}.swf.gz")), SizeFrom::Allocated).unwrap();
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
fn the_hash_is_that_of_the_file_on_disk() {
    let Some(folder) = need("the_hash_is_that_of_the_file_on_disk") else {
        return;
    };
    let ctc = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
    assert_eq!(
        load(&ctc, SizeFrom::Allocated).unwrap().sha256,
        "9fa28ac16c4386fb81b72a91d8bd8888281df2948a9d912769d387c5ee285bb4"
    );
}

#[test]
fn the_reservation_table_of_grid5000_is_refused_by_name() {
    let Some(folder) = need("the_reservation_table_of_grid5000_is_refused_by_name") else {
        return;
    };
    let table = folder.join("GWA-T-2-grid5000-reservation-jobs.log.gz");
    let error = load(&table, SizeFrom::Allocated).unwrap_err();
    assert!(error.to_string().contains("reservation table"), "{error}");
}

#[test]
fn the_ctc_week_of_design_10_comes_out_as_written_there() {
    let Some(folder) = need("the_ctc_week_of_design_10_comes_out_as_written_there") else {
        return;
    };
    let trace = folder.join("CTC-SP2-1996-3.1-cln.swf.gz");
    let mut spec = WorkloadSpec::whole(trace, Entry::Domain(DomainId(0)));
    spec.max_processors = Some(225);
    spec.window = Some(TraceWindow {
        start: SimDuration::parse("87.08d").unwrap(),
        length: SimDuration::parse("7d").unwrap(),
    });
    spec.keep = Keep::Systematic {
        m: 2,
        n: 5,
        phase: 2,
    };
    spec.scale_arrival = Decimal::from_whole(60);
    spec.scale_run_time = Decimal::from_whole(60);
    spec.min_run_time = SimDuration::from_secs(1);
    let prepared = prepare(&spec, 0).unwrap();
    assert_eq!(prepared.jobs.len(), 481);

    let runs = Moments::of_run_times(&prepared.jobs).unwrap();
    assert_eq!(runs.mean.round(), 234.0);
    assert_eq!(runs.sd.unwrap().round(), 344.0);
    assert_eq!(runs.max.round(), 1081.0);
    let sizes = Moments::of_processors(&prepared.jobs).unwrap();
    assert_eq!((sizes.mean * 100.0).round(), 1396.0);
    assert_eq!((sizes.sd.unwrap() * 100.0).round(), 2937.0);
    assert_eq!(sizes.max, 162.0);

    let (at, peak) = Demand::of(&prepared.jobs).peak().unwrap();
    assert_eq!(peak, 1655);
    assert!((8_500.0..9_500.0).contains(&at.as_secs_f64()), "{at}");
    let wide = prepared
        .jobs
        .iter()
        .filter(|j| j.spec.processors() == 129)
        .count();
    println!("{wide} jobs of 129 processors");
}
