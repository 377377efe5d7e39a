//! Workloads: reduction steps, files, and where jobs enter.

use super::Context;
use crate::document::{Document, Load, Requirement, Scale, Weight, Workload};
use crate::nearest::hint;
use crate::value::{At, Identifier, KeepText, PathText, Str, Whole, Written, fill};
use crate::workload::{
    ComponentsFrom, Keep, SizeFrom, Spread, TraceWindow, WindowChoice, WorkloadSpec, ZeroRunTime,
};
use crate::workload::{Disk, Draw};
use crate::{Result, ScenarioError};
use gridrig_core::generic::Generics;
use gridrig_core::grid::{Domain, Grid};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::{Entry, MOST_COMPONENTS};
use gridrig_core::time::{Decimal, SimDuration};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// A TiB: no bound in practice.
const DISK_MOST_MIB: u64 = 1 << 20;
/// Longest name of an architecture or a system, in characters, as for jobs that come
/// over the wire.
const LONGEST_NAME: usize = 200;

impl Context<'_> {
    pub(super) fn workloads(
        &self,
        raw: &mut Document,
        grid: &Grid,
        seed: u64,
    ) -> Result<Vec<WorkloadSpec>> {
        let whole = raw.workload.span();
        let written = raw.workload.iter_mut();
        let some = (1..=usize::from(u16::MAX)).contains(&written.len());
        self.check(some, &whole, "between 1 and 65535 workloads")?;
        written
            .into_iter()
            .map(|(span, workload)| self.workload(&span, workload, grid, seed))
            .collect()
    }

    fn workload(
        &self,
        span: &Range<usize>,
        raw: &mut Workload,
        grid: &Grid,
        seed: u64,
    ) -> Result<WorkloadSpec> {
        let (entry, spread) = self.entry_or_spread(span, raw, grid)?;
        let (window, choose) = self.window(raw)?;
        let trace = self.trace(span, raw)?;
        let keep = self.keep(raw, seed, entry, grid)?;
        let draw = self.draw(raw)?;
        raw.sanitize = raw.sanitize.take().filter(|it| !it.0.rules().is_empty());
        // Memory is the only requirement there is, and is named once.
        let requirements = raw.requirements.get_or_insert_default();
        requirements.truncate(1);
        let require_memory = requirements.first().map(Written::value) == Some(Requirement::Memory);
        let components_from = self.components_from(raw)?;
        let scale = raw.scale.get_or_insert_with(Scale::default);
        if let Some(load) = &raw.model_load {
            let expected = "a model beside it, which is made for that load";
            self.check(raw.model.is_some(), &load.span(), expected)?;
        }
        Ok(WorkloadSpec {
            trace,
            size: fill(&mut raw.size, SizeFrom::default()),
            components_from,
            sanitize: raw.sanitize.clone().unwrap_or_default().0,
            max_processors: raw.max_processors.map(Whole::as_u32),
            window,
            choose,
            keep,
            zero_run_time: fill(&mut raw.zero_run_time, ZeroRunTime::default()),
            scale_arrival: fill(&mut scale.arrival, Decimal::ONE),
            scale_run_time: fill(&mut scale.run_time, Decimal::ONE),
            min_run_time: fill(&mut raw.min_run_time, SimDuration::ZERO),
            offset: fill(&mut raw.offset, SimDuration::ZERO),
            require_memory,
            draw,
            preferences: raw.preferences.as_ref().map(|it| it.get().settings()),
            entry,
            spread,
            is_model: raw.model.is_some(),
            model_load: raw.model_load.as_ref().map(|load| load.get().0),
            seed,
        })
    }

    fn trace(&self, span: &Range<usize>, raw: &mut Workload) -> Result<PathBuf> {
        let (written, is_trace) = match (&mut raw.trace, &mut raw.model) {
            (Some(_), Some(model)) => {
                let expected = "either trace or model, not both";
                return Err(self.refuse(&model.span(), expected));
            }
            (None, Some(model)) => (model, false),
            (Some(trace), None) => (trace, true),
            (None, None) => {
                return Err(self.tables.missing(span, "trace", "the path of a trace"));
            }
        };
        let at = written.span();
        let written = written.get_mut();
        match self.find(&written.0.0) {
            Ok(found) => {
                *written = Str(PathText::of(&found));
                Ok(found)
            }
            Err(places) if !is_trace => Err(self.refuse(&at, places)),
            Err(_) if self.text.traces_may_be_missing => Ok(PathBuf::from(&written.0.0)),
            Err(places) => {
                let expected = format!(
                    "{places}; name the trace you have with --set workload.trace=PATH \
                     (traces/README.md says where to get those of the archives)"
                );
                Err(self.refuse(&at, expected))
            }
        }
    }

    /// What says how jobs are divided: a trace, or a draw.
    fn components_from(&self, raw: &Workload) -> Result<ComponentsFrom> {
        let draw = raw.draw.as_ref().map(At::get);
        let draw = draw.and_then(|draw| draw.components.as_ref());
        let Some(written) = &raw.components_from else {
            let drawn = draw.map(|_| ComponentsFrom::One);
            return Ok(drawn.unwrap_or_default());
        };
        let from = written.value();
        let one = from == ComponentsFrom::One || draw.is_none();
        let expected = "either components_from or draw.components, not both";
        self.check(one, &written.span(), expected)?;
        Ok(from)
    }

    /// A window that is given, or how it is chosen.
    fn window(&self, raw: &mut Workload) -> Result<(Option<TraceWindow>, Option<WindowChoice>)> {
        let Some(at) = &mut raw.window else {
            return Ok((None, None));
        };
        let span = at.span();
        let window = at.get_mut();
        let expected = "a duration above 0 such as \"7d\"";
        let length = self
            .required(&window.length, &span, "length", expected)?
            .value();
        let refuse = |span: Range<usize>, expected: &str| Err(self.refuse(&span, expected));
        if window.choose.is_some() {
            if let Some(start) = &window.start {
                return refuse(start.span(), "either start or choose, not both");
            }
            let usual = WindowChoice::of_length(length);
            let choice = WindowChoice {
                step: fill(&mut window.step, usual.step),
                skip_start: window.skip_start.as_ref().map(Written::value),
                skip_end: window.skip_end.as_ref().map(Written::value),
                ..usual
            };
            return Ok((None, Some(choice)));
        }
        let step = window.step.as_ref().map(At::span);
        let skips = [&window.skip_start, &window.skip_end];
        let skips = skips.into_iter().flatten().map(At::span);
        if let Some(span) = step.into_iter().chain(skips).next() {
            return refuse(span, "choose = \"representative\" in the same table");
        }
        let start = fill(&mut window.start, SimDuration::ZERO);
        Ok((Some(TraceWindow { start, length }), None))
    }

    fn keep(&self, raw: &mut Workload, seed: u64, entry: Entry, grid: &Grid) -> Result<Keep> {
        let refuse = |span: Range<usize>, expected: &str| Err(self.refuse(&span, expected));
        let ways = [
            raw.keep.as_ref().map(At::span),
            raw.share.as_ref().map(At::span),
            raw.load.as_ref().map(At::span),
        ];
        if let Some(second) = ways.into_iter().flatten().nth(1) {
            return refuse(second, "only one of keep, share and load");
        }
        let keep = raw.keep.as_ref().map(|keep| keep.get().0);
        match (keep, &mut raw.phase) {
            (Some(KeepText::Of { n, .. }), Some(phase)) if phase.get().0 >= n => {
                let expected = format!("a phase below the n of keep = \"m/n\", which is {n}");
                return Err(self.refuse(&phase.span(), expected));
            }
            (Some(KeepText::Of { m, n }), phase) => {
                let phase = fill(phase, 0);
                return Ok(Keep::Systematic { m, n, phase });
            }
            (_, Some(phase)) => {
                return refuse(phase.span(), "keep = \"m/n\", which the phase shifts");
            }
            (_, None) => {}
        }
        if raw.share.is_none() && raw.load.is_none() {
            raw.keep = Some(At::new(Str(KeepText::All)));
        }
        match (&raw.share, &mut raw.load) {
            (Some(share), _) if share.get().0 > Decimal::ONE => {
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

    fn load(&self, at: &mut At<Load>, seed: u64, entry: Entry, grid: &Grid) -> Result<Keep> {
        let span = at.span();
        let load = at.get_mut();
        let expected = "an offered load above 0 such as 0.8";
        let offered = *self.required(&load.offered, &span, "offered", expected)?;
        let processors = fill(&mut load.processors, capacity_in_reach(entry, grid));
        if processors == 0 {
            let expected = "processors, since no cluster is in reach";
            return Err(self.tables.missing(&span, "processors", expected));
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
        raw: &mut Workload,
        grid: &Grid,
    ) -> Result<(Entry, Option<Spread>)> {
        let Some(spread) = &raw.spread else {
            let entry = self.entry(span, raw, grid)?;
            raw.enter(entry, grid);
            return Ok((entry, None));
        };
        let expected = "either spread, or a domain or cluster, not both";
        let anywhere = raw.domain.is_none() && raw.cluster.is_none();
        self.check(anywhere, &spread.span(), expected)?;
        let expected = "no spread in a run without brokers ([[domain]])";
        self.check(!grid.domains.is_empty(), &spread.span(), expected)?;
        let has_jobs = |domain: &&Domain| !domain.topology.administrative;
        let first = grid.domains.iter().take_while(has_jobs).count();
        let all = grid.domains.iter().filter(has_jobs).count();
        let expected = "administrative domains after all others in the file, for a spread";
        self.check(first > 0 && first == all, &spread.span(), expected)?;
        let spread = Spread {
            by: spread.value(),
            domains: u16::try_from(first).unwrap_or(u16::MAX),
        };
        Ok((Entry::Domain(DomainId(0)), Some(spread)))
    }

    fn draw(&self, raw: &mut Workload) -> Result<Option<Draw>> {
        let Some(at) = &mut raw.draw else {
            return Ok(None);
        };
        let draw = at.get_mut();
        let none = || At::new(BTreeMap::new());
        let names = |weights: &mut Option<At<BTreeMap<String, Weight>>>| {
            let written = weights.get_or_insert_with(none);
            let is_name = |name: &String| (1..=LONGEST_NAME).contains(&name.chars().count());
            let expected = "names of 1 to 200 characters with their weights, such as { x86 = 3 }";
            self.check(written.get().keys().all(is_name), &written.span(), expected)?;
            let weights = written.get().iter();
            let weights = weights.map(|(name, weight)| (name.as_str().into(), weight.0));
            Ok::<Vec<(Arc<str>, u64)>, ScenarioError>(weights.collect())
        };
        let usual = || At::new(vec![Whole(3), Whole(6)]);
        let burst = draw.burst.get_or_insert_with(usual);
        let burst = match burst.get().as_slice() {
            [least, most] if least.0 <= most.0 => (least.as_u32(), most.as_u32()),
            _ => {
                let expected = "the least and the most jobs of a burst, such as [3, 6]";
                return Err(self.refuse(&burst.span(), expected));
            }
        };
        let written = draw.memory_mib.get_or_insert_with(none);
        let expected = "numbers of MiB with their weights, such as { 512 = 3 }";
        let memory_mib = self.numbers(written, 0..=u64::MAX, expected)?;
        let data_mib = self.numbers_of(draw.data_mib.as_ref(), 0..=u64::MAX, expected)?;
        if let (Some(data), Some(true)) = (&draw.data_mib, draw.disk_is_data) {
            let expected = "either data_mib or disk_is_data, not both";
            return Err(self.refuse(&data.span(), expected));
        }
        let disk = draw.disk_rate_mib.map(|rate| Disk {
            rate_mib: rate.0,
            most_mib: fill(&mut draw.disk_most_mib, DISK_MOST_MIB),
            is_data: fill(&mut draw.disk_is_data, false),
        });
        if disk.is_none() {
            (draw.disk_most_mib, draw.disk_is_data) = (None, None);
        }
        let mut generic = Vec::new();
        if let Some(written) = &draw.generic_resources {
            for (text, weight) in written.get() {
                let wanted = if text == "none" { "" } else { text };
                let wanted = wanted.parse::<Generics>();
                let wanted = wanted.map_err(|what| self.tables.refuse(&written.span(), what))?;
                generic.push((wanted, weight.0));
            }
        }
        let expected = "numbers from 1 to 64 with their weights, such as { 1 = 3, 2 = 1 }";
        let start_window = draw.start_window.as_mut();
        let start_window = start_window.map(|at| self.start_windows(at)).transpose()?;
        let range = 1..=MOST_COMPONENTS as u32;
        let components = self.numbers_of(draw.components.as_ref(), range, expected)?;
        Ok(Some(Draw {
            architecture: names(&mut draw.architecture)?,
            os: names(&mut draw.os)?,
            burst,
            memory_mib,
            disk,
            data_mib,
            generic,
            components,
            accounts: draw
                .accounts
                .and_then(|count| NonZeroU32::new(count.as_u32())),
            start_window,
        }))
    }

    /// The same of a key that may be missing.
    fn numbers_of<N: FromStr + Ord>(
        &self,
        written: Option<&At<BTreeMap<String, Weight>>>,
        range: RangeInclusive<N>,
        expected: &str,
    ) -> Result<Vec<(N, u64)>> {
        written.map_or(Ok(Vec::new()), |it| self.numbers(it, range, expected))
    }

    /// Numbers in this range with their weights, in order.
    fn numbers<N: FromStr + Ord>(
        &self,
        written: &At<BTreeMap<String, Weight>>,
        range: RangeInclusive<N>,
        expected: &str,
    ) -> Result<Vec<(N, u64)>> {
        let number = |(text, weight): (&String, &Weight)| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            Some((number?, weight.0))
        };
        let numbers: Option<Vec<_>> = written.get().iter().map(number).collect();
        let mut numbers = numbers.ok_or_else(|| self.refuse(&written.span(), expected))?;
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn entry(&self, span: &Range<usize>, raw: &Workload, grid: &Grid) -> Result<Entry> {
        let domains: Vec<&str> = grid.domains.iter().map(|d| d.name.as_str()).collect();
        match (&raw.domain, &raw.cluster) {
            (Some(_), Some(cluster)) => {
                let expected = "either domain or cluster, not both";
                Err(self.refuse(&cluster.span(), expected))
            }
            (Some(domain), None) => {
                let expected = "no domain in a run without brokers ([[domain]])";
                self.check(!domains.is_empty(), &domain.span(), expected)?;
                let id = self.domain(grid, domain)?;
                let administrative = grid.domains[id.index()].topology.administrative;
                let expected = "a domain where jobs enter, none that is administrative";
                self.check(!administrative, &domain.span(), expected)?;
                Ok(Entry::Domain(id))
            }
            (None, Some(cluster)) => {
                let clusters: Vec<&str> = grid.clusters.iter().map(|c| c.name.as_str()).collect();
                let named = (&*cluster.get().0.0, &cluster.span());
                let index = self.position(named, &clusters, "a cluster")?;
                Ok(Entry::Cluster(ClusterId(index)))
            }
            (None, None) => match domains.as_slice() {
                [] => Ok(Entry::Cluster(ClusterId(0))),
                [_] => Ok(Entry::Domain(DomainId(0))),
                _ => {
                    let expected = format!("one of \"{}\"", domains.join("\", \""));
                    Err(self.tables.missing(span, "domain", &expected))
                }
            },
        }
    }

    /// The position of a name among those there are.
    pub(super) fn position(
        &self,
        (written, span): (&str, &Range<usize>),
        names: &[&str],
        what: &str,
    ) -> Result<u16> {
        let position = names.iter().position(|candidate| *candidate == written);
        position
            .and_then(|index| u16::try_from(index).ok())
            .ok_or_else(|| {
                let hint = hint(written, names).replace(": expected ", ", ");
                self.refuse(span, format!("{what}{hint}"))
            })
    }
}

impl Workload {
    /// Its jobs enter there.
    pub(crate) fn enter(&mut self, entry: Entry, grid: &Grid) {
        let name = |name: &str| Some(At::new(Str(Identifier(name.to_owned()))));
        (self.domain, self.cluster) = match entry {
            Entry::Domain(id) => (name(&grid.domains[id.index()].name), None),
            Entry::Cluster(id) => (None, name(&grid.clusters[id.index()].name)),
        };
    }
}

/// Processors at speed 1.0 that the clusters in reach are worth: what the
/// loads of `gridrig check` refer to.
pub(crate) fn capacity_in_reach(entry: Entry, grid: &Grid) -> u64 {
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
