//! Workloads: reduction steps, files, and where jobs enter.

use super::Context;
use crate::scenario::ScenarioError;
use crate::scenario::nearest::hint;
use crate::scenario::raw::{RawScenario, RawWorkload};
use crate::scenario::value::{At, Identifier, KeepText, Str};
use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_replayer::spec::{Keep, TraceWindow, WorkloadSpec};
use std::ops::Range;
use std::path::PathBuf;

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
        Ok(WorkloadSpec {
            trace: self.trace(span, raw)?,
            size: raw.size.map_or_else(Default::default, |size| size.0.0),
            max_processors: raw.max_processors.map(|most| most.as_u32()),
            window: self.window(raw)?,
            keep: self.keep(raw, seed)?,
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
            entry: self.entry(span, raw, grid)?,
        })
    }

    fn trace(&self, span: &Range<usize>, raw: &RawWorkload) -> Result<PathBuf, ScenarioError> {
        let Some(written) = &raw.trace else {
            return Err(self.document.missing(span, "trace", "the path of a trace"));
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

    fn window(&self, raw: &RawWorkload) -> Result<Option<TraceWindow>, ScenarioError> {
        let Some(at) = &raw.window else {
            return Ok(None);
        };
        let length = at.get().length.ok_or_else(|| {
            let expected = "a duration above 0 such as \"7d\"";
            self.document.missing(&at.span(), "length", expected)
        })?;
        Ok(Some(TraceWindow {
            start: at.get().start.map_or(SimDuration::ZERO, |start| start.0),
            length: length.0.0,
        }))
    }

    fn keep(&self, raw: &RawWorkload, seed: u64) -> Result<Keep, ScenarioError> {
        let refuse =
            |span: Range<usize>, expected: &str| Err(self.document.refuse(&span, expected));
        if let (Some(_), Some(share)) = (&raw.keep, &raw.share) {
            return refuse(share.span(), "either keep or share, not both");
        }
        let keep = raw.keep.as_ref().map(|keep| keep.get().0);
        match (keep, &raw.phase) {
            (Some(KeepText::Of { n, .. }), Some(phase)) if phase.get().0 >= n => {
                let expected = format!("a phase below the n of keep = \"m/n\", which is {n}");
                Err(self.document.refuse(&phase.span(), expected))
            }
            (Some(KeepText::Of { m, n }), phase) => {
                let phase = phase.as_ref().map_or(0, |phase| phase.get().0);
                Ok(Keep::Systematic { m, n, phase })
            }
            (_, Some(phase)) => refuse(phase.span(), "keep = \"m/n\", which the phase shifts"),
            (_, None) => match &raw.share {
                None => Ok(Keep::All),
                Some(share) if share.get().0.compare(Decimal::ONE).is_gt() => {
                    refuse(share.span(), "a probability above 0 and at most 1")
                }
                Some(share) => Ok(Keep::Share {
                    share: share.get().0,
                    seed,
                }),
            },
        }
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
