//! The steps that were asked for, by options or by a scenario.

use super::ReduceArgs;
use crate::scenario::Scenario;
use anyhow::{Context as _, Result, bail, ensure};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::load::Loaded;
use gridrig_tracelab::spec::{Keep, WindowChoice, WorkloadSpec};
use std::path::{Path, PathBuf};

/// A trace, its steps and where the outcome goes.
pub(super) struct Pipeline {
    /// Trace and steps; the offset is none of them.
    pub(super) spec: WorkloadSpec,
    /// The file to write; `None` only looks.
    pub(super) out: Option<PathBuf>,
    /// Processors that loads refer to; `None` where nobody has said.
    pub(super) processors: Option<u64>,
    /// Processors of the machine that the outcome is meant for; `None` is
    /// that of the trace.
    pub(super) machine: Option<u64>,
    /// What the user should know.
    pub(super) warnings: Vec<String>,
}

impl Pipeline {
    pub(super) fn of(args: &ReduceArgs) -> Result<Self> {
        let mut pipeline = match &args.from_scenario {
            Some(file) => Pipeline::of_scenario(args, file)?,
            None => Pipeline::of_options(args)?,
        };
        if let Some(processors) = args.processors {
            pipeline.machine = Some(processors.into());
        }
        if args.rank.is_some() && pipeline.spec.choose.is_none() {
            bail!(
                "--rank: there are no windows to rank (expected --window-length, or a scenario \
                 that chooses its window)"
            );
        }
        Ok(pipeline)
    }

    fn of_options(args: &ReduceArgs) -> Result<Self> {
        let (trace, out) = match args.files.as_slice() {
            [trace] => (trace, None),
            [trace, out] => (trace, Some(out.clone())),
            _ => bail!("no trace to reduce (expected IN and OUT, or --from-scenario)"),
        };
        // Where the jobs enter means nothing to a trace.
        let mut spec = WorkloadSpec::whole(trace.clone(), Entry::Domain(DomainId(0)));
        spec.size = args.size;
        spec.sanitize = args.sanitize.clone().unwrap_or_default();
        spec.max_processors = args.max_processors;
        spec.window = args.window;
        spec.choose = args.window_length.map(|length| WindowChoice {
            step: args.step,
            skip_start: args.skip_start,
            skip_end: args.skip_end,
            ..WindowChoice::of_length(length)
        });
        spec.keep = keep(args)?;
        spec.zero_run_time = args.zero_run_time;
        let factor = |own: Option<Decimal>| own.or(args.scale).unwrap_or(Decimal::ONE);
        spec.scale_arrival = factor(args.scale_arrival);
        spec.scale_run_time = factor(args.scale_run_time);
        spec.min_run_time = args.min_run_time;
        Ok(Pipeline {
            spec,
            out,
            processors: None,
            machine: None,
            warnings: Vec::new(),
        })
    }

    fn of_scenario(args: &ReduceArgs, file: &Path) -> Result<Self> {
        let (trace, out) = match args.files.as_slice() {
            [] => (None, None),
            [out] => (None, Some(out.clone())),
            [trace, out, ..] => (Some(trace.clone()), Some(out.clone())),
        };
        let mut sets = args.set.clone();
        if let (Some(trace), None) = (&trace, &args.workload) {
            // A scenario may name a trace that the user does not have.
            sets.push(format!("workload.trace={}", trace.display()));
        }
        let scenario = Scenario::load(file, &sets)?;
        let mut spec = choose_workload(&scenario, args.workload.as_deref(), file)?;
        if let Some(trace) = trace {
            spec.trace = trace;
        }
        let mut warnings = Vec::new();
        if !spec.offset.is_zero() {
            warnings.push(format!(
                "{}: the offset of {} is no step of the reduction: it stays with the scenario",
                file.display(),
                spec.offset
            ));
            spec.offset = SimDuration::ZERO;
        }
        let processors = match spec.keep {
            Keep::Load { processors, .. } => processors,
            _ => scenario.capacity_in_reach(spec.entry),
        };
        Ok(Pipeline {
            spec,
            out,
            processors: None,
            machine: (processors > 0).then_some(processors),
            warnings,
        })
    }

    /// What the trace says of its machine counts where nobody has said.
    pub(super) fn settle_processors(&mut self, loaded: &Loaded) -> Result<()> {
        let known = loaded.known_processors().map(u64::from);
        self.processors = self.machine.or(known);
        let Keep::Load { processors, .. } = &mut self.spec.keep else {
            return Ok(());
        };
        *processors = self.processors.with_context(|| {
            format!(
                "{}: the header does not say how many processors there are (expected \
                 --processors N beside --load)",
                loaded.file
            )
        })?;
        Ok(())
    }
}

fn keep(args: &ReduceArgs) -> Result<Keep> {
    let seed = args.seed;
    if let Some((m, n)) = args.keep {
        let phase = args.phase.unwrap_or(0);
        ensure!(
            phase < n,
            "--phase {phase}: expected a phase below the n of --keep m/n, which is {n}"
        );
        return Ok(Keep::Systematic { m, n, phase });
    }
    if let Some(share) = args.share {
        return Ok(Keep::Share { share, seed });
    }
    Ok(args.load.map_or(Keep::All, |offered| Keep::Load {
        offered,
        // Settled when the trace has been read.
        processors: 1,
        seed,
    }))
}

/// The workload of this name, or the only one.
fn choose_workload(scenario: &Scenario, name: Option<&str>, file: &Path) -> Result<WorkloadSpec> {
    let named = scenario.workloads.iter().enumerate();
    let fits = |(index, spec): &(usize, &WorkloadSpec)| {
        name.is_none_or(|name| names(scenario, *index, spec).iter().any(|n| n == name))
    };
    let found: Vec<_> = named.filter(fits).collect();
    if let [(_, only)] = found.as_slice() {
        return Ok((*only).clone());
    }
    let known = scenario.workloads.iter().enumerate();
    let known: Vec<String> = known
        .map(|(index, spec)| names(scenario, index, spec).join(" = "))
        .collect();
    let which = name.map_or("no --workload".to_owned(), |n| format!("--workload {n}"));
    bail!(
        "{}: {which} fits {} of its workloads (expected one of: {})",
        file.display(),
        found.len(),
        known.join("; ")
    )
}

/// What a workload may be called: index, trace, place of entry.
fn names(scenario: &Scenario, index: usize, spec: &WorkloadSpec) -> [String; 3] {
    let trace = spec.trace.file_name().unwrap_or(spec.trace.as_os_str());
    let entry = match spec.entry {
        Entry::Domain(DomainId(id)) => &scenario.grid.domains[usize::from(id)].name,
        Entry::Cluster(ClusterId(id)) => &scenario.grid.clusters[usize::from(id)].name,
    };
    [
        index.to_string(),
        trace.to_string_lossy().into_owned(),
        entry.clone(),
    ]
}
