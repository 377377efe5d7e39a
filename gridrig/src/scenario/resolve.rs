//! From what is written to what is meant: defaults, files, cross references.

mod external;
mod grid;
mod lrms;
mod provides;
mod workload;

use super::document::Document;
use super::external::External;
use super::raw::{RawMeasure, RawReplicate, RawRun, RawScenario};
use super::value::{At, UntilText};
use super::{
    Clock, ClockName, ClusterSource, Measure, Over, OverName, Replicate, Scenario, ScenarioError,
    ScenarioText, Until, Warning,
};
use grid::Built;
use gridrig_core::policy::PolicyKind;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_results::threshold::Figure;
use gridrig_tracelab::spec::{Keep, WorkloadSpec};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
pub(super) use workload::capacity_in_reach;

/// Lag that is tolerated by default, in trace time: at the 60 times of the
/// LSAP runs half a second, a tenth of a broker interval.
const LAG_TOLERANCE: SimDuration = SimDuration::from_secs(30);

/// tau of bounded slowdown, in trace time.
const TAU: SimDuration = SimDuration::from_secs(10);

/// What every step of the resolution needs.
pub(super) struct Context<'a> {
    document: &'a Document<'a>,
    text: &'a ScenarioText<'a>,
}

pub(super) fn resolve(
    document: &Document<'_>,
    text: &ScenarioText<'_>,
    raw: &RawScenario,
) -> Result<Scenario, ScenarioError> {
    let context = Context { document, text };
    let no_run = RawRun::default();
    let run = raw.run.as_ref().map_or(&no_run, At::get);
    let clock = run.clock.map(|clock| clock.0.0);
    let is_external = context.is_external(raw)?;
    let mut policies = match is_external {
        true => vec![None],
        false => context.policies(raw, run)?,
    };
    let Built {
        mut grid,
        cluster_sources,
        mut faces,
        arc_steps,
        slurm_bins,
        lrms,
        protocols,
    } = context.grid(raw, run, policies[0])?;
    let external = match is_external {
        true => context.external(raw, run, &mut grid, &mut faces)?,
        false => External::default(),
    };
    let bounds = match context.bounds(raw, run, is_external)? {
        Some(bounds) => bounds,
        None => {
            let virtual_time = clock != Some(ClockName::Real) && !is_external;
            virtual_time && are_bounded(&policies, &cluster_sources)
        }
    };
    if bounds {
        add_bounds(&mut policies, clock == Some(ClockName::Real));
    }
    let workloads = context.workloads(raw, &grid)?;
    let mut warnings = unreachable_domains(&grid, &workloads);
    let measure = context.measure(raw, &workloads, &mut warnings)?;
    let replicate = context.replicate(run, &workloads, !grid.domains.is_empty())?;
    let provides = context.provides(raw, run, &mut grid, &workloads, replicate)?;
    let speed = run.speed.map_or(Decimal::ONE, |speed| speed.0);
    Ok(Scenario {
        name: context.name(run),
        workloads,
        grid,
        cluster_sources,
        faces,
        provides,
        arc_steps,
        slurm_bins,
        lrms,
        protocols,
        policies,
        external,
        bounds,
        clock: match clock {
            Some(ClockName::Real) => Clock::Real { speed },
            Some(ClockName::Virtual) | None => Clock::Virtual,
        },
        speed,
        seed: seed(run),
        replicate,
        require: run
            .require
            .iter()
            .flatten()
            .map(|bound| bound.0.clone())
            .collect(),
        primary: primary(run),
        lag_tolerance: run.lag_tolerance.map_or(LAG_TOLERANCE, |lag| lag.0),
        measure,
        warnings,
    })
}

/// Each figure once, in the order given.
fn primary(run: &RawRun) -> Vec<Figure> {
    let mut primary: Vec<Figure> = Vec::new();
    for figure in run.primary.iter().flatten() {
        if !primary.contains(&figure.0) {
            primary.push(figure.0);
        }
    }
    match primary.is_empty() {
        true => vec![Figure::DEFAULT],
        false => primary,
    }
}

/// Whether these policies are bounded where nobody says: a comparison of
/// brokers is, since that costs no more than three policies more, unless its
/// clusters make no pooled one.
fn are_bounded(policies: &[Option<PolicyKind>], clusters: &[ClusterSource]) -> bool {
    let bounds = [PolicyKind::LocalOnly, PolicyKind::FullInformation];
    let compared = policies.iter().flatten().filter(|p| !bounds.contains(p));
    let from_file = |source: &ClusterSource| matches!(source, ClusterSource::File(_));
    let alike = clusters.iter().all(from_file) || !clusters.iter().any(from_file);
    compared.count() > 1 && alike
}

/// The policies that bound all others, where they are not compared anyway. No
/// real broker has full information.
fn add_bounds(policies: &mut Vec<Option<PolicyKind>>, real: bool) {
    for bound in [PolicyKind::LocalOnly, PolicyKind::FullInformation] {
        let possible = !(real && bound == PolicyKind::FullInformation);
        if possible && !policies.contains(&Some(bound)) {
            policies.push(Some(bound));
        }
    }
}

fn seed(run: &RawRun) -> u64 {
    run.seed.map_or(1, |seed| seed.0)
}

impl Context<'_> {
    /// The name of the run: its own, or that of the file as far as it can be
    /// part of a path.
    fn name(&self, run: &RawRun) -> String {
        if let Some(name) = &run.name {
            return name.0.0.clone();
        }
        let stem = self
            .text
            .file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
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

    fn policies(
        &self,
        raw: &RawScenario,
        run: &RawRun,
    ) -> Result<Vec<Option<PolicyKind>>, ScenarioError> {
        let Some(list) = &run.policies else {
            let default = raw.domain.as_ref().map(|_| PolicyKind::RoundRobin);
            return Ok(vec![default]);
        };
        if raw.domain.is_none() {
            let expected = "no policies in a run without brokers ([[domain]])";
            return Err(self.document.refuse(&list.span(), expected));
        }
        let mut policies: Vec<Option<PolicyKind>> = Vec::new();
        for policy in &list.get().0 {
            let kind = Some(self.our_policy(policy)?);
            if policies.contains(&kind) {
                return Err(self.document.refuse(&policy.span(), "each policy once"));
            }
            policies.push(kind);
        }
        if policies.is_empty() {
            return Err(self.document.refuse(&list.span(), "at least one policy"));
        }
        Ok(policies)
    }

    /// What the scenario says.
    fn bounds(
        &self,
        raw: &RawScenario,
        run: &RawRun,
        is_external: bool,
    ) -> Result<Option<bool>, ScenarioError> {
        match &run.bounds {
            Some(bounds) if *bounds.get() && is_external => {
                let expected = "false with brokers that are external, which have no bounds";
                Err(self.document.refuse(&bounds.span(), expected))
            }
            Some(bounds) if *bounds.get() && raw.domain.is_none() => {
                let expected = "false in a run without brokers ([[domain]]), which has no bounds";
                Err(self.document.refuse(&bounds.span(), expected))
            }
            bounds => Ok(bounds.as_ref().map(|bounds| *bounds.get())),
        }
    }

    fn measure(
        &self,
        raw: &RawScenario,
        workloads: &[WorkloadSpec],
        warnings: &mut Vec<Warning>,
    ) -> Result<Measure, ScenarioError> {
        let none = RawMeasure::default();
        let measure = raw.measure.as_ref().map_or(&none, At::get);
        let from = measure.from.unwrap_or_default().0;
        let until = match &measure.until {
            None => Until::End,
            Some(until) => match until.get().0 {
                UntilText(None) => Until::End,
                UntilText(Some(at)) if at > from => Until::At(at),
                UntilText(Some(_)) => {
                    let expected = format!("an instant after measure.from = \"{from}\"");
                    return Err(self.document.refuse(&until.span(), expected));
                }
            },
        };
        let largest = largest_run_time_scale(workloads);
        let default = SimDuration::from_nanos(largest.divide(TAU.as_nanos()).max(1));
        let tau = measure.tau.map_or(default, |tau| tau.0.0);
        if workloads
            .iter()
            .any(|workload| workload.scale_run_time != largest)
        {
            warnings.push(Warning {
                code: "mixed-run-time-scales",
                message: format!(
                    "the workloads have different run-time scales: one measure.tau, {tau}, is \
                     applied to all of them"
                ),
            });
        }
        Ok(Measure {
            from,
            until,
            stop: measure.stop.map_or_else(Default::default, |stop| stop.0.0),
            tau,
            regret: measure.regret.unwrap_or(true),
        })
    }

    fn replicate(
        &self,
        run: &RawRun,
        workloads: &[WorkloadSpec],
        has_brokers: bool,
    ) -> Result<Option<Replicate>, ScenarioError> {
        let Some(at) = &run.replicate else {
            return Ok(None);
        };
        let span = at.span();
        let RawReplicate { over, step, count } = at.get();
        let missing = |key, expected| self.document.missing(&span, key, expected);
        let over = over.ok_or_else(|| {
            let names = "\"window\", \"sample-phase\", \"seed\", \"broker-phase\" or \"shake\"";
            missing("over", names)
        })?;
        let count = count
            .as_ref()
            .ok_or_else(|| missing("count", "the number of replications"))?;
        let step_of = || {
            let step = step
                .as_ref()
                .ok_or_else(|| missing("step", "a duration such as \"7d\""))?;
            Ok::<_, ScenarioError>(step.get().0.0)
        };
        let over = match over.0.0 {
            OverName::Window => Over::Window { step: step_of()? },
            OverName::Shake => Over::Shake { step: step_of()? },
            OverName::SamplePhase => Over::SamplePhase,
            OverName::Seed => Over::Seed,
            OverName::BrokerPhase => Over::BrokerPhase,
        };
        if let (None, Some(step)) = (over.step(), step) {
            let expected = "no step: only \"window\" and \"shake\" have one";
            return Err(self.document.refuse(&step.span(), expected));
        }
        self.check_replicate(over, count, &span, workloads, has_brokers)?;
        let count = u32::try_from(count.get().0).unwrap_or(u32::MAX);
        Ok(Some(Replicate { over, count }))
    }

    /// Whether there is something that can vary like this, so often.
    fn check_replicate(
        &self,
        over: Over,
        count: &At<super::value::Whole<1, 100_000>>,
        span: &Range<usize>,
        workloads: &[WorkloadSpec],
        has_brokers: bool,
    ) -> Result<(), ScenarioError> {
        let refuse = |expected: &str| Err(self.document.refuse(span, expected));
        match over {
            Over::Window { .. } if workloads.iter().any(|w| w.window.is_none()) => {
                refuse("every workload to have a window with a start, which is what varies")
            }
            Over::BrokerPhase if !has_brokers => refuse("brokers ([[domain]]), whose phase varies"),
            Over::SamplePhase => {
                let phases = workloads.iter().filter_map(|workload| match workload.keep {
                    Keep::Systematic { n, .. } => Some(n),
                    Keep::All | Keep::Share { .. } | Keep::Load { .. } => None,
                });
                match phases.min() {
                    None => refuse("a workload with keep = \"m/n\", whose phase varies"),
                    Some(n) if count.get().0 > n => {
                        let expected = format!("at most {n}, the number of phases that differ");
                        Err(self.document.refuse(&count.span(), expected))
                    }
                    Some(_) => Ok(()),
                }
            }
            _ => Ok(()),
        }
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
        Err(format!(
            "a file, looked for in {} and {}",
            name(places[0]),
            name(places[1])
        ))
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

fn largest_run_time_scale(workloads: &[WorkloadSpec]) -> Decimal {
    let scales = workloads.iter().map(|workload| workload.scale_run_time);
    scales.max_by(|a, b| a.compare(*b)).unwrap_or(Decimal::ONE)
}

/// Domains that take submissions and can reach no cluster: every job of
/// theirs is rejected.
fn unreachable_domains(
    grid: &gridrig_core::grid::Grid,
    workloads: &[WorkloadSpec],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, domain) in grid.domains.iter().enumerate() {
        let enters = workloads.iter().any(|workload| {
            matches!(workload.entry, gridrig_core::job::Entry::Domain(id) if id.index() == index)
        });
        let id = gridrig_core::ids::DomainId(u16::try_from(index).unwrap_or(u16::MAX));
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
