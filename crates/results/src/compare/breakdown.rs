//! The first primary metric by groups of jobs.

use super::document::{Breakdown, Cell, Group, WorseOff};
use super::estimate::{Tables, estimate, mean_of};
use super::figures::{By, GroupSum, Replication, RunFigures};
use crate::stats;
use std::collections::{BTreeMap, BTreeSet};

/// A group's name with its place in the order.
type GroupId = (u64, String);

impl Tables<'_> {
    pub(super) fn breakdown(&self, users: usize, level: Option<f64>) -> Vec<Breakdown> {
        let mut breakdowns = Vec::new();
        for by in By::all() {
            let same_jobs = by != By::ExecDomain;
            let mut ids = self.groups_of(by);
            if let By::Owner(_) = by {
                ids = self.busiest(by, &ids, users);
            }
            let groups = ids.iter().map(|id| Group {
                group: id.1.clone(),
                cells: self.cells(by, id, same_jobs, level),
            });
            let groups: Vec<Group> = groups.collect();
            if !groups.is_empty() {
                breakdowns.push(Breakdown {
                    by: by.name(),
                    metric: self.primary[0].metric(),
                    same_jobs,
                    groups,
                });
            }
        }
        breakdowns
    }

    /// Who would be better off if every domain kept its jobs.
    pub(super) fn worse_off(&self, index: usize) -> Option<WorseOff> {
        let local = self.study.local_only(index);
        let local = local.filter(|local| *local != index)?;
        let runs = self.replications.iter();
        let pairs: Option<Vec<_>> = runs
            .map(|one| Some((one.runs.get(index)?, one.runs.get(local)?)))
            .collect();
        let pairs = pairs?;
        let complete = |(own, local): &(&RunFigures, &RunFigures)| own.missing + local.missing == 0;
        let share = |by: By| {
            let worse = pairs.iter().flat_map(|(own, local)| {
                let groups = own.groups.iter().filter(move |((of, ..), _)| *of == by);
                groups.filter_map(|(key, own)| {
                    let local = local.groups.get(key)?.mean()?;
                    Some(stats::difference(local, own.mean()?) > 0.0)
                })
            });
            mean_of(worse.map(|worse| f64::from(u8::from(worse))))
        };
        pairs.iter().all(complete).then(|| WorseOff {
            domains: share(By::OriginDomain),
            users: share(By::Owner("user")),
        })
    }

    fn groups_of(&self, by: By) -> Vec<GroupId> {
        let runs = self.replications.iter().flat_map(|r| &r.runs);
        let keys = runs.flat_map(|run| run.groups.keys());
        let own = keys.filter(|(other, ..)| *other == by);
        let ids: BTreeSet<GroupId> = own.map(|(_, order, name)| (*order, name.clone())).collect();
        ids.into_iter().collect()
    }

    /// The owners with the most processor time under the baseline; the jobs
    /// are the same under every policy.
    fn busiest(&self, by: By, ids: &[GroupId], most: usize) -> Vec<GroupId> {
        let mut work: BTreeMap<&GroupId, f64> = BTreeMap::new();
        for id in ids {
            let sums = self.sums(by, id, |r| r.runs.first());
            work.insert(id, sums.map(|sum| sum.map_or(0.0, |s| s.processor_s)).sum());
        }
        let mut sorted: Vec<(&GroupId, f64)> = work.into_iter().collect();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        sorted
            .into_iter()
            .take(most)
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// A group in one run of each replication.
    fn sums<'a>(
        &'a self,
        by: By,
        id: &GroupId,
        of: impl Fn(&'a Replication) -> Option<&'a RunFigures> + 'a,
    ) -> impl Iterator<Item = Option<GroupSum>> + 'a {
        let key = (by, id.0, id.1.clone());
        let runs = self.replications.iter().map(of);
        runs.map(move |run| run.and_then(|run| run.groups.get(&key)).copied())
    }

    fn cells(&self, by: By, id: &GroupId, same_jobs: bool, level: Option<f64>) -> Vec<Cell> {
        let mean = |sum: Option<GroupSum>| sum.and_then(|sum| sum.mean());
        let mut cells = Vec::new();
        for (index, variant) in self.study.variants.iter().enumerate() {
            let sums: Vec<Option<GroupSum>> =
                self.sums(by, id, move |r| r.runs.get(index)).collect();
            let own = sums.iter().copied().map(mean).collect();
            let baseline = (index > 0 && same_jobs).then(|| {
                let beside = self.sums(by, id, move |r| r.beside(index));
                beside.map(mean).collect()
            });
            let sums: Vec<GroupSum> = sums.into_iter().flatten().collect();
            cells.push(Cell {
                policy: variant.name.clone(),
                jobs: sums.iter().map(|sum| sum.jobs).sum(),
                processor_s: sums.iter().map(|sum| sum.processor_s).sum(),
                estimate: estimate(own, baseline, &self.study.distinct(index), level),
            });
        }
        cells
    }
}
