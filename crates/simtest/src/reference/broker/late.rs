//! The reference of brokers that keep jobs until there is room for them.

use super::RefBroker;
use super::domains::Chosen;
use gridrig_core::broker::{Commit, OwnDispatch};
use gridrig_core::policy::Tie;

impl RefBroker<'_> {
    /// One of these, if the job need not wait for room.
    pub(super) fn choose_among(&mut self, index: usize, rule: Tie, mut tied: Vec<usize>) -> Chosen {
        if self.is_late() {
            let job = &self.visits[index].spec;
            tied.retain(|position| {
                let view = &self.views[*position];
                let mut nobody_there_could_run_it = true;
                for (id, _) in &view.loads {
                    let resources = &self.grid.clusters[id.index()].config.resources;
                    nobody_there_could_run_it &= !resources.could_run(&job.components);
                }
                nobody_there_could_run_it || view.free(true) >= i128::from(job.processors())
            });
            if tied.is_empty() {
                return Chosen::NoRoom;
            }
        }
        Chosen::View(self.break_tie_by(rule, tied))
    }

    /// Whether jobs wait for room.
    fn is_late(&self) -> bool {
        let looks = ["free-node", "utilization", "best-broker-rank"]
            .contains(&self.policy.as_str())
            || self.policy.starts_with("best-broker-rank-1");
        looks && self.settings.commit == Commit::Late
    }

    /// Whether what was sent counts.
    pub(super) fn is_debited(&self) -> bool {
        self.is_late() || self.settings.own_dispatch == OwnDispatch::Debited
    }
}
