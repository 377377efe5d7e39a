//! From what is written to what is meant: defaults, files, cross references.

mod external;
mod faults;
mod grid;
mod lrms;
mod own;
mod provides;
mod replicate;
mod topology;
mod windows;
mod workload;

use super::document::{Cluster, Document, PolicyText, Run};
use super::external::{External, THE_ONLY_POLICY};
use super::source::Tables;
use super::value::{At, Identifier, Str, UntilText, Written, fill};
use super::{
    Clock, ClockName, Measure, Result, Scenario, ScenarioError, ScenarioText, Stop, Warning,
    each_once,
};
use crate::reduced;
use crate::threshold::{Figure, Threshold};
use crate::workload::WorkloadSpec;
use grid::Built;
use gridrig_core::decision::About;
use gridrig_core::grid::Grid;
use gridrig_core::ids::DomainId;
use gridrig_core::job::Entry;
use gridrig_core::policy::{InformationNeed, PolicySpec};
use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use topology::Links;
pub(super) use workload::capacity_in_reach;

/// Lag that is tolerated by default, in trace time: at the 60 times of the
/// LSAP runs half a second, a tenth of a broker interval.
const LAG_TOLERANCE: SimDuration = SimDuration::from_secs(30);

/// tau of bounded slowdown, in trace time.
const TAU: SimDuration = SimDuration::from_secs(10);

/// What every step of the resolution needs.
pub(super) struct Context<'a> {
    tables: &'a Tables<'a>,
    text: &'a ScenarioText<'a>,
}

pub(super) fn resolve(
    tables: &Tables<'_>,
    text: &ScenarioText<'_>,
    mut document: Document,
) -> Result<Scenario> {
    let context = Context { tables, text };
    let mut run = document.run.take().map(At::into_inner).unwrap_or_default();
    let clock = fill(&mut run.clock, ClockName::Virtual);
    let is_external = context.is_external(&document)?;
    let mut policies = match is_external {
        true => vec![None],
        false => context.policies(&document, &run)?,
    };
    let Built {
        mut grid,
        protocols,
        ..
    } = context.grid(&mut document, &run, policies[0].as_ref())?;
    context.refuse_late(&document, &grid, &policies)?;
    let external = match is_external {
        true => context.external(&mut document, &run, &mut grid)?,
        false => External::default(),
    };
    let faults = context.faults(&document, &grid, is_external)?;
    let links = Links::of(faults.as_ref(), clock, &protocols);
    context.check_matchmaking(&document, &run, &policies, &grid, links)?;
    if faults.is_some() {
        context.refuse_oracles(&run, &policies)?;
    }
    let virtual_time = clock == ClockName::Virtual && !is_external;
    let bounds = context.bounds(&document, &run, is_external)?;
    let bounds = bounds.unwrap_or_else(|| virtual_time && are_bounded(&policies, &document));
    if bounds {
        // Services know no truth, whatever their clock.
        add_bounds(&mut policies, !virtual_time || faults.is_some());
    }
    let seed = fill(&mut run.seed, 1);
    let workloads = context.workloads(&mut document, &grid, seed)?;
    let are_reserved = context.check_drawn(&mut document, &grid, (&policies, &external), links)?;
    let mut warnings = unreachable_domains(&grid, &workloads);
    let (measure, regret) = context.measure(&mut document, &workloads, &mut warnings)?;
    context.check_background(&document, &grid, (links, bounds), &measure)?;
    let replicate = context.replicate(&run, &workloads, !grid.domains.is_empty())?;
    context.failures_scale(&document, &workloads)?;
    context.provides(&document, &mut run, &mut grid, &workloads, replicate)?;
    let speed = fill(&mut run.speed, Decimal::ONE);
    let scenario = Scenario {
        name: context.name(&run),
        workloads,
        protocols,
        policies,
        own_policies: context.own_policies(&run, &grid, faults.as_ref())?,
        external,
        faults,
        bounds,
        clock: match clock {
            ClockName::Real => Clock::Real { speed },
            ClockName::Virtual => Clock::Virtual,
        },
        speed,
        seed,
        replicate,
        require: required(&mut run),
        primary: primary(&run),
        relevant: context.relevant(&run)?,
        decisions: decisions(&run, clock, is_external),
        lag_tolerance: fill(&mut run.lag_tolerance, LAG_TOLERANCE),
        measure,
        regret: regret && !are_reserved && by_known_rules(&grid),
        warnings,
        document,
        grid,
    };
    context
        .refuse_repeats(scenario, &run)
        .map(|scenario| scenario.completed(run))
}

/// Whether it is known by which rules jobs start.
fn by_known_rules(grid: &Grid) -> bool {
    let mut clusters = grid.clusters.iter();
    clusters.all(|cluster| cluster.config.own_discipline.is_none())
}

/// Of which jobs it is recorded how brokers decided: those of others do not tell.
fn decisions(run: &Run, clock: ClockName, is_external: bool) -> About {
    let default = if clock == ClockName::Real { 1.0 } else { 0.0 };
    let share = run.decisions.map_or(default, |share| share.0.as_f64());
    About::share(if is_external { 0.0 } else { share })
}

impl Scenario {
    /// The same with what was found of its run written down.
    fn completed(mut self, mut run: Run) -> Self {
        run.name = Some(Str(Identifier(self.name.clone())));
        let contenders = self.contenders().into_iter();
        let names = contenders.filter_map(|contender| contender.name);
        let written = |name: String| match self.own_policies.get(&name) {
            Some(own) => PolicyText::Own(own.clone()),
            None => PolicyText::Named(name),
        };
        let names = names.map(|name| At::new(written(name))).collect();
        let broker = self.grid.domains.first().map(|domain| &domain.broker);
        let told = self.external.policies != [THE_ONLY_POLICY];
        run.policies = (broker.is_some() && told).then(|| At::new(names));
        let ours = broker.is_some() && self.external.brokers.is_empty();
        run.bounds = ours.then(|| At::new(self.bounds));
        run.tie = broker.map(|broker| Written::of(broker.tie));
        let primary = self.primary.iter().copied().map(Str).collect();
        run.primary = (self.primary != [Figure::DEFAULT]).then_some(primary);
        self.document.run = Some(At::new(run));
        self
    }
}

/// Bounds that every run has to keep.
fn required(run: &mut Run) -> Vec<Threshold> {
    let all = run.require.get_or_insert_default().iter();
    all.map(|bound| bound.0.clone()).collect()
}

/// Each figure once, in the order given.
fn primary(run: &Run) -> Vec<Figure> {
    let primary = each_once(run.primary.iter().flatten().map(|figure| figure.0));
    match primary.is_empty() {
        true => vec![Figure::DEFAULT],
        false => primary,
    }
}

/// Whether these policies are bounded where nobody says: a comparison of
/// brokers is, since that costs no more than three policies more, unless its
/// clusters make no pooled one.
fn are_bounded(policies: &[Option<PolicySpec>], document: &Document) -> bool {
    let compared = policies.iter().flatten().filter(|p| !p.entry().is_bound);
    let from_file = |cluster: &Cluster| cluster.resources.is_some();
    let alike = document.clusters().all(from_file) || !document.clusters().any(from_file);
    compared.count() > 1 && alike
}

/// The policies that bound all others, where they are not compared anyway. No
/// broker that is a service has full information.
fn add_bounds(policies: &mut Vec<Option<PolicySpec>>, services: bool) {
    for bound in PolicySpec::all().filter(|policy| policy.entry().is_bound) {
        let possible = !(services && bound.entry().need == InformationNeed::Truth);
        let bound = Some(bound);
        if possible && !policies.contains(&bound) {
            policies.push(bound);
        }
    }
}

impl Context<'_> {
    /// The times of failures are those of the trace: they have one scale.
    fn failures_scale(&self, raw: &Document, workloads: &[WorkloadSpec]) -> Result<()> {
        let mut scales = workloads.iter().map(|workload| workload.scale_arrival);
        let first = scales.next();
        let alike = scales.all(|other| Some(other) == first);
        let fails = raw.clusters().any(Cluster::fails);
        let expected = "the same scale.arrival in all workloads, since times of node failures \
                        are divided by it as well";
        self.check(alike || !fails, &raw.workload.span(), expected)
    }

    /// A value that may not stand here.
    fn refuse(&self, span: &Range<usize>, expected: impl Into<String>) -> ScenarioError {
        self.tables.refuse(span, expected)
    }

    /// Refuses a value unless it is as expected.
    fn check(&self, holds: bool, span: &Range<usize>, expected: impl Into<String>) -> Result<()> {
        match holds {
            true => Ok(()),
            false => Err(self.refuse(span, expected)),
        }
    }

    /// A value that has to be in its table.
    fn required<'v, T>(
        &self,
        value: &'v Option<T>,
        span: &Range<usize>,
        key: &str,
        expected: &str,
    ) -> Result<&'v T> {
        let value = value.as_ref();
        value.ok_or_else(|| self.tables.missing(span, key, expected))
    }

    /// The name of the run: its own, or that of the file as far as it can be
    /// part of a path.
    fn name(&self, run: &Run) -> String {
        if let Some(name) = &run.name {
            return name.0.0.clone();
        }
        let stem = self.text.file.file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy();
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = stem
            .chars()
            .map(|c| if good(c) { c } else { '-' })
            .take(64)
            .collect();
        if name.is_empty() {
            "scenario".to_owned()
        } else {
            name
        }
    }

    fn policies(&self, raw: &Document, run: &Run) -> Result<Vec<Option<PolicySpec>>> {
        let Some(list) = &run.policies else {
            let default = raw.domain.as_ref().map(|_| PolicySpec::default());
            return Ok(vec![default]);
        };
        let expected = "no policies in a run without brokers ([[domain]])";
        self.check(raw.domain.is_some(), &list.span(), expected)?;
        let policies = self.each_once(list, |policy| self.our_policy(policy))?;
        Ok(policies.into_iter().map(Some).collect())
    }

    /// What the scenario says.
    fn bounds(&self, raw: &Document, run: &Run, is_external: bool) -> Result<Option<bool>> {
        if let Some(bounds) = run.bounds.as_ref().filter(|bounds| *bounds.get()) {
            let expected = "false with brokers that are external, which have no bounds";
            self.check(!is_external, &bounds.span(), expected)?;
            let expected = "false in a run without brokers ([[domain]]), which has no bounds";
            self.check(raw.domain.is_some(), &bounds.span(), expected)?;
        }
        Ok(run.bounds.as_ref().map(Written::value))
    }

    fn relevant(&self, run: &Run) -> Result<BTreeMap<Figure, f64>> {
        let mut relevant = BTreeMap::new();
        if let Some(written) = &run.relevant {
            for (metric, statistics) in written.get() {
                for (statistic, least) in statistics {
                    let name = format!("{metric}.{statistic}");
                    let figure = Figure::parse(&name);
                    let refused = |why| self.refuse(&written.span(), format!("{name}: {why}"));
                    relevant.insert(figure.map_err(refused)?, least.0.as_f64());
                }
            }
        }
        Ok(relevant)
    }

    fn measure(
        &self,
        raw: &mut Document,
        workloads: &[WorkloadSpec],
        warnings: &mut Vec<Warning>,
    ) -> Result<(Measure, bool)> {
        let measure = raw
            .measure
            .get_or_insert_with(|| At::new(Default::default()));
        let measure = measure.get_mut();
        let from = fill(&mut measure.from, SimDuration::ZERO);
        let end = || At::new(Str(UntilText(None)));
        let until = measure.until.get_or_insert_with(end);
        let UntilText(end) = until.get().0;
        let expected = format!("an instant after measure.from = \"{from}\"");
        self.check(end.is_none_or(|end| end > from), &until.span(), expected)?;
        // A file that was reduced before has its scale already.
        let tau_of = |workload: &WorkloadSpec| {
            let before = reduced::run_time_scale(&workload.trace).unwrap_or(Decimal::ONE);
            workload
                .scale_run_time
                .divide(before.divide(TAU.as_nanos()))
                .max(1)
        };
        let taus = match &measure.tau {
            // It holds as it is written.
            Some(_) => workloads
                .iter()
                .map(|it| it.scale_run_time.divide(TAU.as_nanos()))
                .collect(),
            None => workloads.iter().map(tau_of).collect::<Vec<u64>>(),
        };
        let least = taus.iter().min().copied();
        let least = least.map_or(TAU, SimDuration::from_nanos);
        let tau = fill(&mut measure.tau, least);
        if taus.iter().any(|of_one| *of_one != taus[0]) {
            warnings.push(Warning {
                code: "mixed-run-time-scales",
                message: format!(
                    "the workloads have different values of scale.run_time, but one measure.tau, \
                     {tau}, is used for all of them"
                ),
            });
        }
        // True is not worth a word.
        measure.regret = measure.regret.filter(|regret| !regret);
        measure.direct = measure.direct.filter(|direct| !direct);
        let stop = fill(&mut measure.stop, Stop::default());
        let measured = Measure {
            from: SimTime::ZERO + from,
            until: end.map(|end| SimTime::ZERO + end),
            stop,
            tau,
            direct: measure.direct.unwrap_or(true),
        };
        Ok((measured, measure.regret.is_none()))
    }

    /// The path of an existing file, looked for from the working directory
    /// and then from the directory of the scenario.
    fn find(&self, written: &str) -> Result<PathBuf, String> {
        let beside = self.text.file.parent().unwrap_or(Path::new(""));
        let places = [self.text.directory, beside];
        for place in places {
            let path = place.join(written);
            if path.is_file() {
                let path = tidy(path);
                return Ok(match Path::new(written).is_absolute() {
                    true => path,
                    false => from_here(path),
                });
            }
        }
        let name = |place: &Path| match place.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => place.display().to_string(),
        };
        let mut places: Vec<String> = places.into_iter().map(name).collect();
        places.dedup();
        Err(format!("a file, looked for in {}", places.join(" and ")))
    }
}

/// The path from the working directory, if it lies below: a scenario that was
/// named by an absolute path says nothing of where this machine keeps it.
fn from_here(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here
        .as_deref()
        .and_then(|here| path.strip_prefix(here).ok());
    below.map_or_else(|| path.clone(), Path::to_owned)
}

/// The path without `x/..`, where that leads to the same file (it does not
/// when `x` is a link to elsewhere).
fn tidy(path: PathBuf) -> PathBuf {
    let mut tidied = PathBuf::new();
    for component in path.components() {
        let ends_in_name = matches!(tidied.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::ParentDir if ends_in_name => {
                tidied.pop();
            }
            Component::CurDir => {}
            other => tidied.push(other),
        }
    }
    match (tidied.canonicalize(), path.canonicalize()) {
        (Ok(a), Ok(b)) if a == b => tidied,
        _ => path,
    }
}

/// The largest of these scales; 1 if there is none.
pub(super) fn largest(scales: impl Iterator<Item = Decimal>) -> Decimal {
    scales.max().unwrap_or(Decimal::ONE)
}

/// Domains that take submissions and can reach no cluster: every job of
/// theirs is rejected.
fn unreachable_domains(grid: &Grid, workloads: &[WorkloadSpec]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (id, domain) in (0..).map(DomainId).zip(&grid.domains) {
        let enters = workloads
            .iter()
            .any(|workload| workload.entry == Entry::Domain(id));
        if enters && grid.reachable(id, domain.broker.max_hops).is_empty() {
            warnings.push(Warning {
                code: "unreachable-clusters",
                message: format!(
                    "domain {} takes submissions but can reach no cluster within {} hops: \
                     all of them will be rejected",
                    domain.name, domain.broker.max_hops
                ),
            });
        }
    }
    warnings
}
