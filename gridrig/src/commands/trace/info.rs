//! `gridrig trace info`

mod text;

use crate::commands::{answer, say_each};
use crate::exit::Failure;
use crate::versioned::Versioned;
use anyhow::anyhow;
use clap::Args;
use gridrig_tracelab::characterize::{Options, characterize, sheet};
use gridrig_tracelab::load::load;
use gridrig_tracelab::spec::SizeFrom;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// `gridrig trace info`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gridrig trace info traces/ctc-like.swf.gz --sheet ctc-like.html\n\n\
        Times are seconds of the trace, counted from the log's time 0; docs/trace-info.md has \
        every figure."
)]
pub struct InfoArgs {
    /// The trace, SWF or GWF, plain or compressed
    pub file: PathBuf,
    /// Processors of the machine, if the header lacks them or is wrong
    #[arg(long, value_name = "N")]
    pub processors: Option<NonZeroU32>,
    /// Processors of one of the clusters that the trace names, for example 3=128;
    /// may be repeated
    #[arg(long = "cluster", value_name = "ID=N", value_parser = cluster_size)]
    pub clusters: Vec<(u32, u64)>,
    /// Also write tables and figures as one HTML file that needs no network
    #[arg(long, value_name = "FILE.html")]
    pub sheet: Option<PathBuf>,
    /// Print one JSON document on stdout and nothing else
    #[arg(long)]
    pub json: bool,
}

fn cluster_size(text: &str) -> Result<(u32, u64), String> {
    let expected = || "expected ID=N, the number of a cluster and its processors".to_owned();
    let (id, size) = text.split_once('=').ok_or_else(expected)?;
    let id = id.trim().parse().map_err(|_| expected())?;
    let size: NonZeroU32 = size.trim().parse().map_err(|_| expected())?;
    Ok((id, u64::from(size.get())))
}

/// Says what a trace is like.
pub(super) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let loaded = load(&args.file, SizeFrom::Allocated).map_err(Failure::input)?;
    let options = Options {
        processors: args.processors.map(|count| u64::from(count.get())),
        cluster_processors: args.clusters.iter().copied().collect(),
    };
    let trace = characterize(&loaded, &options);
    if let Some(path) = &args.sheet {
        let html = sheet::sheet(&loaded, &trace).to_html();
        let shown = path.display();
        std::fs::write(path, html)
            .map_err(|source| anyhow!("{shown}: {source} (expected a file that can be written)"))?;
        eprintln!("wrote {shown}");
    }
    // The text has them too.
    say_each("warning", trace.warnings.iter().filter(|_| args.json));
    let document = Versioned::of("gridrig.trace-info.1", &trace);
    answer(args.json, &document, |_| text::report(&trace))
}
