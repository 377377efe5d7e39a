//! How evenly arrivals are spread over the clusters that a trace names (DMM
//! 2.2, Figure 2).

mod walk;

use super::bins::Bins;
use super::calendar::Clock;
use super::demand::Demand;
use super::{Columns, Distinct};
use crate::format::{PARTITION, SITE};
use crate::load::{Loaded, TraceJob};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use serde::Serialize;
use std::collections::BTreeMap;
use walk::{Count, Interval, Walk, widest};

/// Clusters that get a curve of their own, the busiest.
const CURVES: usize = 8;

/// The field that names the cluster of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ClusterField {
    /// The site that the job was submitted to (GWF).
    Site,
    /// Field 16 of SWF.
    Partition,
}

impl ClusterField {
    /// What a trace names clusters by: the site where there are two of them,
    /// else the partition; `None` where there are not two of these either.
    pub fn of(distinct: &Distinct) -> Option<Self> {
        match (distinct.sites, distinct.partitions) {
            (2.., _) => Some(Self::Site),
            (_, 2..) => Some(Self::Partition),
            _ => None,
        }
    }

    /// `site` or `partition`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The cluster of a job.
    pub fn value(self, job: &TraceJob) -> Option<u32> {
        job.ids[match self {
            Self::Site => SITE,
            Self::Partition => PARTITION,
        }]
    }
}

/// Where the processors of a cluster come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterSizeFrom {
    /// The user.
    Option,
    /// The most that ever ran there at once, by the wait times of the trace:
    /// it has at least so many.
    Observed,
}

/// Arrivals at one cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterLoad {
    /// Its number in the trace.
    pub cluster: u32,
    /// Its name, where the trace gives one.
    pub name: Option<String>,
    /// Its processors, where they are known.
    pub processors: Option<u64>,
    /// Where these come from.
    pub processors_from: Option<ClusterSizeFrom>,
    /// Jobs submitted to it.
    pub jobs: u64,
    /// Share of all jobs.
    pub jobs_share: f64,
    /// Normalized daily load: arrivals of a day over processors, mean over the
    /// days of the trace; null where processors are not known.
    pub daily_load_mean: Option<f64>,
    /// The same on its busiest day.
    pub daily_load_max: Option<f64>,
    /// Normalized daily load cumulated over the trace: arrivals over
    /// processors.
    pub cumulative_load: Option<f64>,
    /// Hourly load: arrivals of an hour, mean over the hours of the trace.
    pub hourly_load_mean: f64,
    /// Arrivals of its busiest hour.
    pub hourly_load_max: u64,
}

impl ClusterLoad {
    /// Its number and its name.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.cluster),
            None => self.cluster.to_string(),
        }
    }
}

/// Two clusters and how much more the one had than the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Imbalance {
    /// The larger load over the smaller.
    pub ratio: f64,
    /// The cluster with the larger load.
    pub most: u32,
    /// The one with the smaller.
    pub least: u32,
}

/// The hour with the largest ratio between two clusters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemporaryImbalance {
    /// Which clusters.
    #[serde(flatten)]
    pub between: Imbalance,
    /// When the hour begins (s of the log; 0 where it begins before).
    pub at_s: f64,
}

/// Arrivals at the clusters of a trace, and how uneven they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clusters {
    /// What names them.
    pub field: ClusterField,
    /// How many there are.
    pub count: u64,
    /// Jobs without a cluster; they are in none of the figures.
    pub jobs_without: u64,
    /// Overall imbalance: the largest ratio of cumulative normalized daily
    /// loads, among clusters of known processors; null with fewer than two.
    pub overall_imbalance: Option<Imbalance>,
    /// The same of plain arrivals, which needs no processors and says nothing
    /// about the size of the clusters.
    pub arrivals_imbalance: Option<Imbalance>,
    /// Temporary imbalance: the largest ratio of hourly loads in any hour. A
    /// cluster without arrivals in an hour has no ratio there.
    pub temporary_imbalance: Option<TemporaryImbalance>,
    /// Share of hours with an arrival anywhere in which some cluster has none.
    pub hours_with_idle_cluster_share: f64,
    /// Cluster by cluster, most jobs first.
    pub loads: Vec<ClusterLoad>,
    /// Curves of the busiest.
    pub series: ClusterSeries,
}

impl Clusters {
    /// Number and name of a cluster.
    pub fn label(&self, cluster: u32) -> String {
        let load = self.loads.iter().find(|load| load.cluster == cluster);
        load.map_or_else(|| cluster.to_string(), ClusterLoad::label)
    }
}

/// Arrivals over time at the busiest clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClusterSeries {
    /// Width of a bin (s).
    pub bin_s: f64,
    /// Where a bin begins (s of the log).
    pub at_s: Vec<f64>,
    /// The curves, most jobs first.
    pub curves: Vec<ClusterCurve>,
}

/// Arrivals over time at one cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterCurve {
    /// Which.
    pub cluster: u32,
    /// Arrivals until the end of the bin; over processors where these are
    /// known of every cluster.
    pub cumulative: Vec<f64>,
    /// Arrivals of the busiest hour that begins in the bin.
    pub hourly_max: Vec<u64>,
}

/// The clusters that a field of the trace names; `None` without jobs.
/// `processors` says how large clusters are, by number.
pub fn clusters(
    loaded: &Loaded,
    field: ClusterField,
    processors: &BTreeMap<u32, u64>,
    clock: &Clock,
    bins: usize,
) -> Option<Clusters> {
    let first = loaded.jobs.first()?.submit;
    let last = loaded.jobs.last()?.submit;
    let gathered = gather(loaded, field);
    let mut walk = Walk::new(clock, &gathered.ids);
    for (submit, cluster) in &gathered.arrivals {
        walk.add(*submit, *cluster as usize);
    }
    walk.close_hour();
    let sizes = sizes(&gathered, processors);
    let mut loads: Vec<ClusterLoad> = walk
        .counts
        .iter()
        .zip(sizes)
        .map(|(count, size)| load(count, loaded.jobs.len(), last - first, size))
        .collect();
    loads.sort_by_key(|load| (std::cmp::Reverse(load.jobs), load.cluster));
    for load in &mut loads {
        load.name = name_of(loaded, field, load.cluster);
    }
    let grid = Bins::spanning(first, last, bins);
    let between = |of: fn(&ClusterLoad) -> Option<f64>| {
        widest(loads.iter().map(|load| (load.cluster, of(load))))
    };
    Some(Clusters {
        field,
        count: loads.len() as u64,
        jobs_without: (loaded.jobs.len() - gathered.arrivals.len()) as u64,
        overall_imbalance: between(|load| load.cumulative_load),
        arrivals_imbalance: between(|load| Some(load.jobs as f64)),
        hours_with_idle_cluster_share: walk.idle_share(),
        temporary_imbalance: walk.worst,
        series: series(&grid, &loads, walk.shift, &gathered),
        loads,
    })
}

/// What one walk over the jobs gives.
#[derive(Default)]
struct Gathered {
    /// The numbers of the clusters in order of appearance.
    ids: Vec<u32>,
    /// When, and at which cluster by its place in `ids`.
    arrivals: Vec<(SimDuration, u32)>,
    /// Per cluster the jobs as they really started; `None` once one of them
    /// has no wait time.
    started: Vec<Option<Vec<TraceJob>>>,
}

fn gather(loaded: &Loaded, field: ClusterField) -> Gathered {
    let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
    let mut gathered = Gathered::default();
    for job in &loaded.jobs {
        let Some(id) = field.value(job) else { continue };
        let at = *numbers.entry(id).or_insert(gathered.ids.len());
        if at == gathered.ids.len() {
            gathered.ids.push(id);
            gathered.started.push(Some(Vec::new()));
        }
        gathered.arrivals.push((job.submit, at as u32));
        match (gathered.started[at].as_mut(), job.wait_time) {
            (Some(jobs), Some(wait)) => {
                let submit = job.submit + wait;
                jobs.push(TraceJob { submit, ..*job });
            }
            (Some(_), None) => gathered.started[at] = None,
            (None, _) => {}
        }
    }
    gathered
}

/// How large clusters are, in order of appearance: as given, else the most
/// that ran there at once where every job of the cluster has a wait time.
fn sizes(gathered: &Gathered, given: &BTreeMap<u32, u64>) -> Vec<Option<(u64, ClusterSizeFrom)>> {
    let size = |(id, started): (&u32, &Option<Vec<TraceJob>>)| {
        if let Some(size) = given.get(id).filter(|size| **size > 0) {
            return Some((*size, ClusterSizeFrom::Option));
        }
        let demand = Demand::of(&Columns::of(started.as_ref()?), 1, None);
        Some((demand.peak_processors?, ClusterSizeFrom::Observed))
    };
    gathered
        .ids
        .iter()
        .zip(&gathered.started)
        .map(size)
        .collect()
}

fn load(
    count: &Count,
    jobs: usize,
    span: SimDuration,
    known: Option<(u64, ClusterSizeFrom)>,
) -> ClusterLoad {
    let (size, size_from) = known.unzip();
    let days = span.as_secs_f64() / 86_400.0;
    let hours = span.as_secs_f64() / 3_600.0;
    let per = |value: f64| size.map(|size| value / size as f64);
    ClusterLoad {
        cluster: count.id,
        name: None,
        processors: size,
        processors_from: size_from,
        jobs: count.jobs,
        jobs_share: count.jobs as f64 / jobs.max(1) as f64,
        daily_load_mean: per(count.jobs as f64 / days.max(1.0)),
        daily_load_max: per(count.day.max as f64),
        cumulative_load: per(count.jobs as f64),
        hourly_load_mean: count.jobs as f64 / hours.max(1.0),
        hourly_load_max: count.hour.max,
    }
}

/// The name of a cluster: from the table of names, else from the header, as in
/// `; Partition: 3  batch`.
fn name_of(loaded: &Loaded, field: ClusterField, cluster: u32) -> Option<String> {
    if let Some(names) = loaded.names.get(field.name()) {
        let name = names.get(cluster as usize);
        return name.filter(|name| !name.is_empty()).cloned();
    }
    if field != ClusterField::Partition {
        return None;
    }
    let mut lines = loaded.header.values("Partition").iter();
    lines.find_map(|line| {
        let mut words = line.split_whitespace();
        let number: u32 = words.next()?.parse().ok()?;
        let name = words.next()?;
        (number == cluster).then(|| name.to_owned())
    })
}

/// The curves of the busiest clusters.
fn series(grid: &Bins, loads: &[ClusterLoad], shift: u64, gathered: &Gathered) -> ClusterSeries {
    let shown = &loads[..loads.len().min(CURVES)];
    let normalized = loads.iter().all(|load| load.processors.is_some());
    let place = |id: &u32| shown.iter().position(|load| load.cluster == *id);
    let places: Vec<Option<usize>> = gathered.ids.iter().map(place).collect();
    let mut arrivals = vec![vec![0u64; grid.count]; shown.len()];
    let mut hourly_max = arrivals.clone();
    let mut hours = vec![Interval::default(); shown.len()];
    for (submit, cluster) in &gathered.arrivals {
        let Some(at) = places[*cluster as usize] else {
            continue;
        };
        let bin = grid.index(submit.as_nanos());
        arrivals[at][bin] += 1;
        hours[at].add((submit.as_nanos() / NANOS_PER_SEC + shift) / 3_600);
        hourly_max[at][bin] = hourly_max[at][bin].max(hours[at].jobs);
    }
    let curve = |(load, (arrivals, hourly_max)): (&ClusterLoad, (Vec<u64>, Vec<u64>))| {
        let size = load.processors.filter(|_| normalized).unwrap_or(1);
        let mut sum = 0;
        let mut add = |count: u64| {
            sum += count;
            sum as f64 / size as f64
        };
        ClusterCurve {
            cluster: load.cluster,
            cumulative: arrivals.into_iter().map(&mut add).collect(),
            hourly_max,
        }
    };
    ClusterSeries {
        bin_s: grid.width_s(),
        at_s: grid.starts_s(),
        curves: shown
            .iter()
            .zip(arrivals.into_iter().zip(hourly_max))
            .map(curve)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characterize::{Options, characterize};
    use crate::format::{Format, TraceReader};
    use crate::load::load_from;
    use crate::spec::SizeFrom;

    fn read(text: &str) -> Loaded {
        let mut reader = TraceReader::new(Format::Swf, text.as_bytes(), "t.swf");
        load_from(&mut reader, SizeFrom::Allocated).unwrap()
    }

    /// Jobs as (submit, partition).
    fn trace(jobs: &[(u64, i64)]) -> Loaded {
        let mut text = String::from("; Partition: 1  north\n; Partition: 2 south\n");
        for (number, (submit, partition)) in jobs.iter().enumerate() {
            text +=
                &format!("{number} {submit} -1 9 1 -1 -1 1 -1 -1 1 1 1 1 1 {partition} -1 -1\n");
        }
        read(&text)
    }

    fn of(loaded: &Loaded, processors: &[(u32, u64)]) -> Option<Clusters> {
        let options = Options {
            cluster_processors: processors.iter().copied().collect(),
            ..Options::default()
        };
        characterize(loaded, &options).clusters
    }

    #[test]
    fn imbalance_is_that_of_dmm() {
        // Hour 0: 3 at cluster 1 and 1 at cluster 2; hour 1: 6 at cluster 2
        // alone; hour 25: 1 and 2.
        let mut jobs = vec![(0, 1), (10, 1), (3_599, 1), (3_599, 2)];
        jobs.extend([(3_600, 2); 6]);
        jobs.extend([(90_000, 1), (90_001, 2), (90_002, 2), (90_003, -1)]);
        let all = of(&trace(&jobs), &[(1, 2), (2, 18)]).unwrap();
        assert_eq!(
            (all.field, all.count, all.jobs_without),
            (ClusterField::Partition, 2, 1)
        );
        let overall = all.overall_imbalance.unwrap();
        assert_eq!((overall.ratio, overall.most, overall.least), (4.0, 1, 2));
        let arrivals = all.arrivals_imbalance.unwrap();
        assert_eq!((arrivals.ratio, arrivals.most), (9.0 / 4.0, 2));
        let temporary = all.temporary_imbalance.unwrap();
        assert_eq!((temporary.between.ratio, temporary.between.most), (3.0, 1));
        assert_eq!(temporary.at_s, 0.0);
        assert_eq!(all.hours_with_idle_cluster_share, 1.0 / 3.0);
        let busiest = &all.loads[0];
        assert_eq!(
            (busiest.cluster, busiest.name.as_deref()),
            (2, Some("south"))
        );
        assert_eq!((busiest.jobs, busiest.hourly_load_max), (9, 6));
        assert_eq!(busiest.daily_load_max, Some(7.0 / 18.0));
        let curve = &all.series.curves[0];
        assert_eq!(curve.cumulative.last(), Some(&0.5));
        assert_eq!(curve.hourly_max.iter().max(), Some(&6));
    }

    #[test]
    fn without_processors_the_overall_imbalance_is_unknown() {
        let all = of(&trace(&[(0, 1), (1, 2), (2, 2)]), &[(1, 4)]).unwrap();
        assert_eq!(all.overall_imbalance, None);
        assert_eq!(all.arrivals_imbalance.unwrap().ratio, 2.0);
        assert_eq!(all.loads[1].cumulative_load, Some(0.25));
        assert_eq!(all.loads[0].cumulative_load, None);
    }

    #[test]
    fn wait_times_tell_how_much_ran_at_once() {
        let text = "1 0 0 100 3 -1 -1 3 -1 -1 1 1 1 1 1 1 -1 -1\n\
                    2 0 50 100 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n\
                    3 0 150 10 5 -1 -1 5 -1 -1 1 1 1 1 1 1 -1 -1\n\
                    4 9 -1 10 5 -1 -1 5 -1 -1 1 1 1 1 1 2 -1 -1\n";
        let loaded = read(text);
        let all = of(&loaded, &[]).unwrap();
        let sizes: Vec<_> = all
            .loads
            .iter()
            .map(|l| (l.processors, l.processors_from))
            .collect();
        assert_eq!(
            sizes,
            [(Some(7), Some(ClusterSizeFrom::Observed)), (None, None)]
        );
        let given = of(&loaded, &[(1, 9), (2, 3)]).unwrap();
        assert_eq!(
            given.loads[0].processors_from,
            Some(ClusterSizeFrom::Option)
        );
        assert_eq!(given.overall_imbalance.unwrap().ratio, 1.0);
    }

    #[test]
    fn one_cluster_is_none() {
        assert_eq!(of(&trace(&[(0, 1), (1, 1), (2, -1)]), &[]), None);
        assert_eq!(of(&trace(&[(0, -1)]), &[]), None);
    }
}
