//! What only a real LRMS tells: that a job has started, and where.

use super::Cluster;
use crate::event::EventSink;
use crate::ids::JobId;
use crate::placement::Share;
use crate::time::SimTime;
use std::collections::BTreeMap;

/// Where a job that has started runs. Processors are numbered through all nodes
/// in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProcessorIds {
    /// On these processors.
    Exactly(Vec<u32>),
    /// On some of these, or, where nobody knows any better, of all.
    Among(Vec<u32>),
}

/// What became of the news that a job has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It runs.
    Yes,
    /// Its nodes are still another job's here: that one's end has to be told
    /// first.
    NoRoom,
    /// It does not wait here, or nobody else runs this cluster.
    Unknown,
}

impl Cluster {
    /// A real LRMS has started a job, at this instant or, where later changes
    /// are already told, at the latest of them.
    pub fn start_outside(
        &mut self,
        now: SimTime,
        job: JobId,
        on: &ProcessorIds,
        events: &mut impl EventSink,
    ) -> Started {
        let slot = self.jobs.by_id.get(&job).copied();
        let waits = slot.filter(|slot| self.jobs.get(*slot).running.is_none());
        let Some(slot) = waits.filter(|_| self.config.is_real) else {
            return Started::Unknown;
        };
        let job = self.jobs.get(slot);
        let (class, processors) = (job.demand.class, job.demand.processors);
        let Some(shares) = self.shares_on(processors, on) else {
            return Started::NoRoom;
        };
        let now = self.not_before_the_latest(now);
        let placement = self.nodes.take_planned(class, &shares);
        self.started(now, slot, placement, events);
        self.changed(now);
        Started::Yes
    }

    /// So many of these processors, node by node; `None` if that many are not
    /// free. What memory the job takes there is the real LRMS's business.
    fn shares_on(&self, wanted: u32, on: &ProcessorIds) -> Option<Vec<Share>> {
        let groups = self.config.resources.groups().iter().zip(0..);
        let all: Vec<(u16, u32)> = groups
            .flat_map(|(group, resource)| {
                let processors = 0..group.count * group.cpu_count;
                processors.map(move |processor| (resource, processor / group.cpu_count))
            })
            .collect();
        let (ProcessorIds::Exactly(these) | ProcessorIds::Among(these)) = on;
        let mut these = these.clone();
        these.sort_unstable();
        these.dedup();
        let others = match on {
            ProcessorIds::Exactly(_) => {
                these.truncate(wanted as usize);
                &[]
            }
            ProcessorIds::Among(_) => all.as_slice(),
        };
        let listed = these.iter().filter_map(|id| all.get(*id as usize));
        let mut chosen: BTreeMap<(u16, u32), u32> = BTreeMap::new();
        let mut missing = wanted;
        for &(resource, node) in listed.chain(others) {
            let taken = chosen.get(&(resource, node)).copied().unwrap_or(0);
            if missing > 0 && taken < self.nodes.free_on(resource, node) {
                chosen.insert((resource, node), taken + 1);
                missing -= 1;
            }
        }
        let shares = chosen.into_iter();
        let shares = shares.map(|((resource, node), processors)| Share {
            resource,
            node: Some(node),
            processors,
            component: 0,
        });
        (missing == 0).then(|| shares.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterConfig, JobStatus};
    use crate::discipline::DisciplineKind;
    use crate::event::NoEvents;
    use crate::ids::ClusterId;
    use crate::job::{JobSpec, Reason};
    use crate::placement::PlacementRun;
    use crate::resource::{Resource, Resources};
    use crate::time::{Decimal, SimDuration};

    fn two_nodes_of_two() -> Cluster {
        let group = Resource {
            name: None,
            count: 2,
            cpu_count: 2,
            architecture: None,
            os: None,
            memory_mib: None,
            disk_mib: None,
            speed: Decimal::ONE,
            generic: Default::default(),
        };
        let nodes = Resources::new(vec![group]).unwrap();
        Cluster::new(ClusterConfig {
            queue_limit: Some(2),
            is_real: true,
            ..ClusterConfig::new(ClusterId(0), nodes, DisciplineKind::Fcfs)
        })
    }

    fn job(id: u32, processors: u32) -> JobSpec {
        JobSpec::rigid(JobId(id), processors, SimDuration::from_secs(10))
    }

    fn at(secs: u64) -> SimTime {
        SimTime::from_secs(secs)
    }

    #[test]
    fn a_start_waits_until_the_end_before_it_is_told() {
        let mut cluster = two_nodes_of_two();
        cluster.submit(at(0), &job(0, 3), &mut NoEvents).unwrap();
        cluster.submit(at(0), &job(1, 2), &mut NoEvents).unwrap();
        let full = cluster.submit(at(0), &job(2, 1), &mut NoEvents);
        assert_eq!(full, Err(Reason::QueueFull));
        let first = ProcessorIds::Exactly(vec![0, 1, 2]);
        assert_eq!(
            cluster.start_outside(at(1), JobId(0), &first, &mut NoEvents),
            Started::Yes
        );
        let second = ProcessorIds::Exactly(vec![2, 3]);
        let early = cluster.start_outside(at(5), JobId(1), &second, &mut NoEvents);
        assert_eq!(early, Started::NoRoom);
        let ended = cluster.finish(at(4), JobId(0), &mut NoEvents).unwrap();
        assert_eq!((ended.start, ended.finish), (at(1), at(4)));
        assert_eq!(
            cluster.start_outside(at(5), JobId(1), &second, &mut NoEvents),
            Started::Yes
        );
        let Some(JobStatus::Running { placement, .. }) = cluster.query(JobId(1)) else {
            panic!("it runs");
        };
        let run = |node, nodes, processors| PlacementRun {
            resource: 0,
            node,
            nodes,
            processors,
        };
        assert_eq!(placement, [run(1, 1, 2)]);
        assert_eq!(
            (cluster.busy(), cluster.queued(), cluster.present()),
            (2, 0, 1)
        );
    }

    #[test]
    fn where_nobody_knows_the_processors_free_ones_are_taken() {
        let mut cluster = two_nodes_of_two();
        cluster.submit(at(0), &job(0, 1), &mut NoEvents).unwrap();
        cluster.submit(at(0), &job(1, 3), &mut NoEvents).unwrap();
        let one = ProcessorIds::Among(vec![1]);
        assert_eq!(
            cluster.start_outside(at(0), JobId(0), &one, &mut NoEvents),
            Started::Yes
        );
        let any = ProcessorIds::Among(vec![1, 2]);
        assert_eq!(
            cluster.start_outside(at(0), JobId(1), &any, &mut NoEvents),
            Started::Yes
        );
        assert_eq!(cluster.busy(), 4);
        assert!(cluster.cancel(at(1), JobId(0), &mut NoEvents));
        assert!(!cluster.cancel(at(1), JobId(0), &mut NoEvents));
        assert!(cluster.fail(at(2), JobId(1), Reason::LrmsFailed, &mut NoEvents));
        assert_eq!((cluster.busy(), cluster.present()), (0, 0));
        assert_eq!(cluster.sample(at(2)).work_left, 0);
    }

    #[test]
    fn what_is_told_late_happens_at_the_latest_change() {
        let mut cluster = two_nodes_of_two();
        cluster.submit(at(0), &job(0, 1), &mut NoEvents).unwrap();
        cluster.submit(at(7), &job(1, 4), &mut NoEvents).unwrap();
        let any = ProcessorIds::Among(Vec::new());
        assert_eq!(
            cluster.start_outside(at(3), JobId(0), &any, &mut NoEvents),
            Started::Yes
        );
        let ended = cluster.finish(at(5), JobId(0), &mut NoEvents).unwrap();
        assert_eq!((ended.start, ended.finish), (at(7), at(7)));
        let never = cluster.submit(at(8), &job(2, 5), &mut NoEvents);
        assert_eq!(never, Err(Reason::NeverFits));
    }
}
