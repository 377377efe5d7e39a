//! Whether the reduced trace is like its source.

use super::ReduceArgs;
use super::pipeline::Pipeline;
use crate::commands::trace::values::name;
use crate::exit::Failure;
use anyhow::Context as _;
use gridrig_tracelab::load::{Loaded, TraceJob, load};
use gridrig_tracelab::reduce::Reduced;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::validate::{Options, Requirement, Selection, Site, Validation, validate};
use std::path::{Path, PathBuf};

/// What is needed to judge once the reduced trace has been written.
pub(super) struct Judge {
    source: Vec<TraceJob>,
    selection: Selection,
    requirements: Vec<Requirement>,
    sheet: Option<PathBuf>,
    processors: Option<u64>,
}

impl Judge {
    /// `None` when nobody asks, or nothing is written that could be judged.
    pub(super) fn of(args: &ReduceArgs, pipeline: &Pipeline, loaded: &Loaded) -> Option<Self> {
        if args.no_validate || pipeline.out.is_none() {
            return None;
        }
        let rules = pipeline.spec.sanitize.rules();
        let clean = |job: &&TraceJob| rules.verdict(*job).is_none();
        let kept = loaded.jobs.iter().filter(clean);
        Some(Judge {
            // What is sanitized away is not what the trace should be like.
            source: kept.copied().collect(),
            selection: Selection::from(&pipeline.spec),
            requirements: args.require.clone(),
            sheet: args.sheet.clone(),
            processors: pipeline.processors,
        })
    }

    /// Compares what stands in the file with the source.
    pub(super) fn judge(self, reduced: &Reduced, out: &Path) -> Result<Validation, Failure> {
        // A pipe cannot be read again.
        let again = match out.is_file() {
            true => Some(load(out, SizeFrom::Allocated).map_err(Failure::run)?),
            false => None,
        };
        let written = again
            .as_ref()
            .map_or(&reduced.trace.jobs, |again| &again.jobs);
        let processors = self.processors.and_then(|it| u32::try_from(it).ok());
        let options = Options {
            selection: Selection {
                window: reduced.window,
                origin: Some(reduced.origin),
                ..self.selection
            },
            requirements: self.requirements,
            site: processors.map(Site::one_cluster),
            ..Options::default()
        };
        let text = || format!("{} is written and cannot be validated", out.display());
        let validation = validate(&self.source, written, &options).with_context(text);
        let validation = validation.map_err(Failure::Run)?;
        if let Some(sheet) = &self.sheet {
            let names = (name(Path::new(&reduced.trace.file)), name(out));
            let page = gridrig_tracelab::validate::sheet(&validation, &names.0, &names.1);
            let text = || format!("{}: the sheet cannot be written", sheet.display());
            std::fs::write(sheet, page).with_context(text)?;
        }
        Ok(validation)
    }
}
