//! Workloads: reduction steps, files, and where jobs enter.

use super::Context;
use crate::scenario::ScenarioError;
use crate::scenario::nearest::hint;
use crate::scenario::raw::{RawLoad, RawScenario, RawWorkload, Weight};
use crate::scenario::value::{At, Duration, Identifier, KeepText, Str};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_tracelab::draw::{Disk, Draw};
use gridrig_tracelab::spec::{Keep, Spread, TraceWindow, WindowChoice, WorkloadSpec};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A TiB: no bound in practice.
const DISK_MOST_MIB: u64 = 1 << 20;

impl Context<'_> {
    pub(super) fn workloads(
        &self,
        raw: &RawScenario,
        grid: &Grid,
    ) -> Result<Vec<WorkloadSpec>, ScenarioError> {
        let written = raw.workload.iter();
        if written.is_empty() || written.len() > usize::from(u16::MAX) {
            let expected = "between 1 and 65535 workloads";
            return Err(self.document.refuse(&raw.workload.span(), expected));
        }
        let seed = raw.run.as_ref().map_or(1, |run| super::seed(run.get()));
        written
            .iter()
            .map(|(span, workload)| self.workload(span, workload, grid, seed))
            .collect()
    }

    fn workload(
        &self,
        span: &Range<usize>,
        raw: &RawWorkload,
        grid: &Grid,
        seed: u64,
    ) -> Result<WorkloadSpec, ScenarioError> {
        let scale = raw.scale.as_ref();
        let factor =
            |scale: Option<crate::scenario::value::Positive>| scale.map_or(Decimal::ONE, |s| s.0);
        let (entry, spread) = self.entry_or_spread(span, raw, grid)?;
        let (window, choose) = self.window(raw)?;
        Ok(WorkloadSpec {
            trace: self.trace(span, raw)?,
            size: raw.size.map_or_else(Default::default, |size| size.0.0),
            sanitize: raw
                .sanitize
                .as_ref()
                .map_or_else(Default::default, |rules| rules.0.clone()),
            max_processors: raw.max_processors.map(|most| most.as_u32()),
            window,
            choose,
            keep: self.keep(raw, seed, entry, grid)?,
            zero_run_time: raw
                .zero_run_time
                .map_or_else(Default::default, |zero| zero.0),
            scale_arrival: factor(scale.and_then(|scale| scale.arrival)),
            scale_run_time: factor(scale.and_then(|scale| scale.run_time)),
            min_run_time: raw.min_run_time.unwrap_or_default().0,
            offset: raw.offset.unwrap_or_default().0,
            // Memory is the only requirement there is.
            require_memory: raw
                .requirements
                .as_ref()
                .is_some_and(|list| !list.is_empty()),
            draw: self.draw(raw)?,
            entry,
            spread,
            is_model: raw.model.is_some(),
            seed,
        })
    }

    fn trace(&self, span: &Range<usize>, raw: &RawWorkload) -> Result<PathBuf, ScenarioError> {
        let written = match (&raw.trace, &raw.model) {
            (Some(_), Some(model)) => {
                let expected = "either trace or model, not both";
                return Err(self.document.refuse(&model.span(), expected));
            }
            (None, Some(model)) => {
                return self
                    .find(&model.get().0.0)
                    .map_err(|places| self.document.refuse(&model.span(), places));
            }
            (Some(trace), None) => trace,
            (None, None) => {
                return Err(self.document.missing(span, "trace", "the path of a trace"));
            }
        };
        let path = &written.get().0.0;
        match self.find(path) {
            Ok(found) => Ok(found),
            Err(_) if self.text.traces_may_be_missing => Ok(PathBuf::from(path)),
            Err(places) => {
                let expected = format!(
                    "{places}; name the trace you have with --set workload.trace=PATH \
                     (traces/README.md says where to get those of the archives)"
                );
                Err(self.document.refuse(&written.span(), expected))
            }
        }
    }

    /// A window that is given, or how it is chosen.
    fn window(
        &self,
        raw: &RawWorkload,
    ) -> Result<(Option<TraceWindow>, Option<WindowChoice>), ScenarioError> {
        let Some(at) = &raw.window else {
            return Ok((None, None));
        };
        let window = at.get();
        let length = window.length.ok_or_else(|| {
            let expected = "a duration above 0 such as \"7d\"";
            self.document.missing(&at.span(), "length", expected)
        })?;
        let length = length.0.0;
        let refuse =
            |span: Range<usize>, expected: &str| Err(self.document.refuse(&span, expected));
        if window.choose.is_some() {
            if let Some(start) = &window.start {
                return refuse(start.span(), "either start or choose, not both");
            }
            let skip = |at: &Option<At<Duration>>| at.as_ref().map(|at| at.get().0);
            let mut choice = WindowChoice::of_length(length);
            if let Some(step) = &window.step {
                choice.step = step.get().0.0;
            }
            choice.skip_start = skip(&window.skip_start);
            choice.skip_end = skip(&window.skip_end);
            return Ok((None, Some(choice)));
        }
        let step = window.step.as_ref().map(At::span);
        let skips = [&window.skip_start, &window.skip_end];
        let skips = skips.into_iter().flatten().map(At::span);
        if let Some(span) = step.into_iter().chain(skips).next() {
            return refuse(span, "choose = \"representative\" beside it");
        }
        let start = window.start.as_ref();
        let start = start.map_or(SimDuration::ZERO, |start| start.get().0);
        Ok((Some(TraceWindow { start, length }), None))
    }

    fn keep(
        &self,
        raw: &RawWorkload,
        seed: u64,
        entry: Entry,
        grid: &Grid,
    ) -> Result<Keep, ScenarioError> {
        let refuse =
            |span: Range<usize>, expected: &str| Err(self.document.refuse(&span, expected));
        let ways = [
            raw.keep.as_ref().map(At::span),
            raw.share.as_ref().map(At::span),
            raw.load.as_ref().map(At::span),
        ];
        if let Some(second) = ways.into_iter().flatten().nth(1) {
            return refuse(second, "only one of keep, share and load");
        }
        let keep = raw.keep.as_ref().map(|keep| keep.get().0);
        match (keep, &raw.phase) {
            (Some(KeepText::Of { n, .. }), Some(phase)) if phase.get().0 >= n => {
                let expected = format!("a phase below the n of keep = \"m/n\", which is {n}");
                return Err(self.document.refuse(&phase.span(), expected));
            }
            (Some(KeepText::Of { m, n }), phase) => {
                let phase = phase.as_ref().map_or(0, |phase| phase.get().0);
                return Ok(Keep::Systematic { m, n, phase });
            }
            (_, Some(phase)) => {
                return refuse(phase.span(), "keep = \"m/n\", which the phase shifts");
            }
            (_, None) => {}
        }
        match (&raw.share, &raw.load) {
            (Some(share), _) if share.get().0.compare(Decimal::ONE).is_gt() => {
                refuse(share.span(), "a probability above 0 and at most 1")
            }
            (Some(share), _) => Ok(Keep::Share {
                share: share.get().0,
                seed,
            }),
            (None, Some(load)) => self.load(load, seed, entry, grid),
            (None, None) => Ok(Keep::All),
        }
    }

    fn load(
        &self,
        at: &At<RawLoad>,
        seed: u64,
        entry: Entry,
        grid: &Grid,
    ) -> Result<Keep, ScenarioError> {
        let load = at.get();
        let offered = load.offered.ok_or_else(|| {
            let expected = "an offered load above 0 such as 0.8";
            self.document.missing(&at.span(), "offered", expected)
        })?;
        let processors = match load.processors {
            Some(processors) => processors.0,
            None => capacity_in_reach(entry, grid),
        };
        if processors == 0 {
            let expected = "processors, since no cluster is in reach";
            return Err(self.document.missing(&at.span(), "processors", expected));
        }
        Ok(Keep::Load {
            offered: offered.0,
            processors,
            seed,
        })
    }

    /// Where the jobs enter: one place, or all domains.
    fn entry_or_spread(
        &self,
        span: &Range<usize>,
        raw: &RawWorkload,
        grid: &Grid,
    ) -> Result<(Entry, Option<Spread>), ScenarioError> {
        let Some(spread) = &raw.spread else {
            return Ok((self.entry(span, raw, grid)?, None));
        };
        if raw.domain.is_some() || raw.cluster.is_some() {
            let expected = "either spread, or a domain or cluster, not both";
            return Err(self.document.refuse(&spread.span(), expected));
        }
        if grid.domains.is_empty() {
            let expected = "no spread in a run without brokers ([[domain]])";
            return Err(self.document.refuse(&spread.span(), expected));
        }
        let spread = Spread {
            by: spread.get().0.0,
            domains: u16::try_from(grid.domains.len()).unwrap_or(u16::MAX),
        };
        Ok((Entry::Domain(DomainId(0)), Some(spread)))
    }

    fn draw(&self, raw: &RawWorkload) -> Result<Option<Draw>, ScenarioError> {
        let Some(at) = &raw.draw else {
            return Ok(None);
        };
        let draw = at.get();
        let names = |weights: &Option<BTreeMap<String, Weight>>| -> Vec<(Arc<str>, u64)> {
            let weights = weights.iter().flatten();
            weights
                .map(|(name, weight)| (name.as_str().into(), weight.0))
                .collect()
        };
        let burst = match &draw.burst {
            None => (3, 6),
            Some(written) => match written.get().as_slice() {
                [least, most] if least.0 <= most.0 => (least.as_u32(), most.as_u32()),
                _ => {
                    let expected = "the least and the most jobs of a burst, such as [3, 6]";
                    return Err(self.document.refuse(&written.span(), expected));
                }
            },
        };
        let mut memory_mib = Vec::new();
        if let Some(written) = &draw.memory_mib {
            for (mib, weight) in written.get() {
                let Ok(number) = mib.parse::<u64>() else {
                    let expected = "numbers of MiB with their weights, such as { 512 = 3 }";
                    return Err(self.document.refuse(&written.span(), expected));
                };
                memory_mib.push((number, weight.0));
            }
            memory_mib.sort_unstable();
        }
        let is_data = draw.disk_is_data.unwrap_or(false);
        Ok(Some(Draw {
            architecture: names(&draw.architecture),
            os: names(&draw.os),
            burst,
            memory_mib,
            disk: draw.disk_rate_mib.map(|rate| Disk {
                rate_mib: rate.0,
                most_mib: draw.disk_most_mib.map_or(DISK_MOST_MIB, |most| most.0),
                is_data,
            }),
        }))
    }

    fn entry(
        &self,
        span: &Range<usize>,
        raw: &RawWorkload,
        grid: &Grid,
    ) -> Result<Entry, ScenarioError> {
        let domains: Vec<&str> = grid
            .domains
            .iter()
            .map(|domain| domain.name.as_str())
            .collect();
        let clusters: Vec<&str> = grid.clusters.iter().map(|c| c.name.as_str()).collect();
        match (&raw.domain, &raw.cluster) {
            (Some(_), Some(cluster)) => {
                let expected = "either domain or cluster, not both";
                Err(self.document.refuse(&cluster.span(), expected))
            }
            (Some(domain), None) if domains.is_empty() => {
                let expected = "no domain in a run without brokers ([[domain]])";
                Err(self.document.refuse(&domain.span(), expected))
            }
            (Some(domain), None) => {
                let index = self.position(domain, &domains, "a domain")?;
                Ok(Entry::Domain(DomainId(index)))
            }
            (None, Some(cluster)) => {
                let index = self.position(cluster, &clusters, "a cluster")?;
                Ok(Entry::Cluster(ClusterId(index)))
            }
            (None, None) => match domains.as_slice() {
                [] => Ok(Entry::Cluster(ClusterId(0))),
                [_] => Ok(Entry::Domain(DomainId(0))),
                _ => {
                    let expected = format!("one of \"{}\"", domains.join("\", \""));
                    Err(self.document.missing(span, "domain", &expected))
                }
            },
        }
    }

    /// The position of a name among those there are.
    pub(super) fn position(
        &self,
        name: &At<Str<Identifier>>,
        names: &[&str],
        what: &str,
    ) -> Result<u16, ScenarioError> {
        let written = &name.get().0.0;
        let position = names.iter().position(|candidate| candidate == written);
        position
            .and_then(|index| u16::try_from(index).ok())
            .ok_or_else(|| {
                let hint = hint(written, names).replace(": expected ", ", ");
                self.document.refuse(&name.span(), format!("{what}{hint}"))
            })
    }
}

/// Processors at speed 1.0 that the clusters in reach are worth: what the
/// loads of `gridrig check` refer to.
pub(in crate::scenario) fn capacity_in_reach(entry: Entry, grid: &Grid) -> u64 {
    let reach = match entry {
        Entry::Cluster(id) => vec![id],
        Entry::Domain(id) => grid.reachable(id, grid.domains[id.index()].broker.max_hops),
    };
    let groups = reach
        .iter()
        .flat_map(|id| grid.clusters[id.index()].config.resources.groups());
    let worth = groups
        .map(|group| f64::from(group.count) * f64::from(group.cpu_count) * group.speed.as_f64());
    worth.sum::<f64>() as u64
}
