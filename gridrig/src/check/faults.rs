//! Faults that are probably not meant.

use super::Facts;
use super::warnings::Add;
use gridrig_core::event::Party;
use gridrig_core::faults::Scope;
use gridrig_core::grid::Grid;

pub(super) fn warn(facts: &Facts<'_>, add: Add<'_>) {
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
