//! Jobs that are to start within a window.

use super::Context;
use super::topology::Links;
use crate::Result;
use crate::document::{self, Document};
use crate::external::{External, ExternalBroker};
use crate::value::{At, fill};
use crate::workload::StartWindows;
use gridrig_core::broker::MatchmakingKind;
use gridrig_core::grid::Grid;
use gridrig_core::policy::{Placement, PolicySpec};
use gridrig_core::time::SimDuration;
use std::ops::Range;

impl Context<'_> {
    pub(super) fn start_windows(
        &self,
        at: &mut At<document::StartWindows>,
    ) -> Result<StartWindows> {
        let span = at.span();
        let written = at.get_mut();
        let Some(share) = written.share else {
            return Err(self
                .tables
                .missing(&span, "share", "a share from 0 to 1, such as 0.2"));
        };
        Ok(StartWindows {
            share: share.0,
            notice: fill(&mut written.notice, SimDuration::ZERO),
            length: fill(&mut written.length, SimDuration::ZERO),
            flexible: fill(&mut written.flexible, false),
        })
    }

    /// Everybody has to be told what is drawn for jobs, and somebody has to reserve processors
    /// where any ask for it; answers whether any do.
    pub(super) fn check_drawn(
        &self,
        document: &mut Document,
        grid: &Grid,
        (policies, external): (&[Option<PolicySpec>], &External),
        links: Links,
    ) -> Result<bool> {
        self.check_components(document, grid, external)?;
        let workloads = document.workload.iter_mut().into_iter();
        let mut brokers = external.brokers.values();
        let told = brokers.all(ExternalBroker::takes_components) && links != Links::Sessions;
        let mut said = workloads.filter_map(|(_, it)| it.preferences.as_ref());
        if let Some(said) = said.next() {
            let expected = "brokers that are told of preferences: gridrig's own, or with an outlet \
                            json:URL, and protocol = \"native\" on all links";
            self.check(told, &said.span(), expected)?;
        }
        let workloads = document.workload.iter_mut().into_iter();
        let draws = workloads.filter_map(|(_, it)| it.draw.as_ref()?.get().start_window.as_ref());
        let spans: Vec<Range<usize>> = draws.map(At::span).collect();
        let Some(span) = spans.first() else {
            return Ok(false);
        };
        let mut clusters = grid.clusters.iter();
        let reserves = clusters.any(|cluster| cluster.config.reserving.is_some());
        let expected = "a cluster with reservations = {}: none reserves processors";
        self.check(reserves, span, expected)?;
        let mut brokers = external.brokers.values();
        let ours = brokers.all(ExternalBroker::takes_components);
        let expected = "brokers that are told of windows: gridrig's own or with outlet json:URL";
        self.check(ours, span, expected)?;
        let asks_not = |policy: &&PolicySpec| !policy.placement().is_some_and(Placement::reserves);
        let mut kinds = policies
            .iter()
            .flatten()
            .filter(asks_not)
            .flat_map(|policy| {
                let domains = grid.domains.iter();
                domains.map(|domain| domain.broker.matchmaking_under(policy))
            });
        let other = kinds.find(|kind| *kind != MatchmakingKind::Route);
        let expected = match other {
            Some(MatchmakingKind::CoAllocate) | None => {
                "no windows under a policy that claims processors: one that places no components \
                 asks for them, and so does co-reservation"
                    .to_owned()
            }
            Some(other) => format!(
                "matchmaking \"route\" or a policy that reserves: under {} nobody asks for windows",
                other.name()
            ),
        };
        self.check(other.is_none(), span, expected)?;
        let expected = "protocol = \"native\" on all links: sessions say nothing of windows";
        self.check(links != Links::Sessions, span, expected)?;
        Ok(true)
    }
}
