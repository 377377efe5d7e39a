//! What goes wrong by plan, in words, and faults that are probably not meant.

use super::{Facts, FaultReport, human};
use crate::scenario::Clock;
use crate::scenario::document::{Cluster, Distribution};
use crate::scenario::value::{AboveZero, Str, Written as _, name_of};
use crate::words::{list, many};
use gridrig_core::event::Party;
use gridrig_core::faults::Scope;
use gridrig_core::grid::{Grid, Link};
use gridrig_scenario::interface::LinkProtocol;
use std::fmt;

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("link setting", self.links),
            ("outage", self.outages),
            ("restart", self.restarts),
        ];
        f.write_str(&list(all.map(|(what, number)| many(number, what))))
    }
}

/// How the nodes of a cluster fail; `None` if they do not.
pub(crate) fn how_nodes_fail(cluster: &Cluster) -> Option<String> {
    let mut ways = Vec::new();
    if let Some(failures) = &cluster.node_failures {
        let mean = |mean: &Option<Str<AboveZero>>| {
            human(mean.map_or(0.0, |mean| mean.value().as_secs_f64()))
        };
        let (mtbf, mttr) = (mean(&failures.mtbf), mean(&failures.mttr));
        let distribution = failures.distribution.map(|it| it.value());
        let distribution = name_of(distribution.unwrap_or(Distribution::Exponential));
        let shape = failures.shape.as_ref();
        let shape = shape.map_or(String::new(), |it| format!(" with shape {}", it.value()));
        ways.push(format!(
            "each node fails {mtbf} of the trace after its last repair ({distribution}{shape}) and \
             is repaired after {mttr}, on average"
        ));
    }
    if let Some(file) = &cluster.node_failures_file {
        ways.push(format!("nodes fail as {} says", file.0.0));
    }
    let outages = cluster.outages.as_ref().map_or(0, Vec::len);
    if outages > 0 {
        ways.push(format!("{} of all nodes", many(outages as u64, "outage")));
    }
    let policy = cluster.on_node_failure.map(|it| it.value());
    let policy = policy.unwrap_or_default().name();
    (!ways.is_empty()).then(|| format!("{}; on_node_failure {policy}", ways.join("; ")))
}

/// Tells `add` the code and the text of each warning.
pub(super) fn warn(facts: &Facts<'_>, add: &mut dyn FnMut(&'static str, String)) {
    let Some(plan) = facts.scenario.fault_plan() else {
        return;
    };
    let outages = plan.outages.iter();
    let scopes = plan.links.iter().map(|link| link.on);
    let scopes = scopes.chain(outages.clone().map(|it| Scope::Of(it.of, it.towards)));
    let grid = &facts.scenario.grid;
    let idle = scopes.filter(|scope| is_idle(grid, *scope)).count();
    if idle > 0 {
        let message = format!(
            "link settings and outages of services that never send anything to each other, which \
             change nothing: {idle}"
        );
        add("idle-faults", message);
    }
    let is_native = |link: &Link| {
        let ends = (
            link.consumer.min(link.provider),
            link.consumer.max(link.provider),
        );
        let protocol = facts.scenario.protocols.get(&ends).copied();
        protocol.unwrap_or_default() == LinkProtocol::default()
    };
    let is_real = facts.scenario.clock != Clock::Virtual;
    if is_real && grid.links.iter().any(is_native) {
        let message = "links with protocol = \"native\" have no sessions in real time: jobs whose \
                       forwarding is not answered are lost, and in virtual time they are found";
        add("no-sessions", message.to_owned());
    }
    let last = facts.jobs().map(|job| job.at).max().unwrap_or_default();
    let starts = outages.map(|outage| outage.from);
    let starts = starts.chain(plan.restarts.iter().map(|restart| restart.at));
    let late = starts.filter(|start| *start > last).count();
    if late > 0 {
        let message = format!(
            "outages and restarts that begin after the last submission, and meet only what is left \
             by then: {late}"
        );
        add("late-faults", message);
    }
}

/// Whether no message goes this way. A client may submit anywhere.
fn is_idle(grid: &Grid, scope: Scope) -> bool {
    match scope {
        Scope::All | Scope::Domain | Scope::Of(_, None) => false,
        Scope::Brokers => grid.links.is_empty(),
        Scope::Of(Party::Broker(one), Some(Party::Broker(other))) => {
            grid.latency(one, other).is_none()
        }
        Scope::Of(Party::Broker(broker), Some(Party::Lrms(lrms)))
        | Scope::Of(Party::Lrms(lrms), Some(Party::Broker(broker))) => {
            grid.clusters[lrms.index()].domain != Some(broker)
        }
        Scope::Of(Party::Lrms(_), Some(Party::Lrms(_))) => true,
        Scope::Of(Party::Client, Some(_)) | Scope::Of(_, Some(Party::Client)) => false,
    }
}
