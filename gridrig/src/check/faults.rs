//! Faults that are probably not meant.

use super::Facts;
use crate::scenario::Clock;
use gridrig_core::event::Party;
use gridrig_core::faults::Scope;
use gridrig_core::grid::{Grid, Link};
use gridrig_scenario::interface::LinkProtocol;

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
            "{idle} link settings or outages concern services that never send anything to each \
             other: they change nothing"
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
            "{late} outages or restarts begin after the last submission: they meet only what is \
             left by then"
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
