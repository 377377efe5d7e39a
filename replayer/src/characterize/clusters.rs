//! How evenly arrivals are spread over the clusters that a trace names (DMM
//! 2.2, Figure 2).

use super::bins::{Bins, nice_width};
use super::calendar::Clock;
use super::demand;
use super::row::{JobRow, Numbering};
use crate::load::{Loaded, TraceJob};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use serde::Serialize;
use std::collections::BTreeMap;

/// Clusters that get a curve of their own, the busiest.
const CURVES: usize = 8;

/// The field that names the cluster of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterField {
    /// The site that the job was submitted to (GWF).
    Site,
    /// Field 16 of SWF.
    Partition,
}

impl ClusterField {
    /// What a trace names clusters by: the site where any job has one, else
    /// the partition; `None` where there are not two of them.
    #[must_use]
    pub fn of(jobs: &[TraceJob]) -> Option<Self> {
        let several = |field: Self| {
            let mut values = jobs.iter().filter_map(|job| field.value(job));
            let first = values.next()?;
            values.any(|value| value != first).then_some(field)
        };
        several(Self::Site).or_else(|| several(Self::Partition))
    }

    /// The cluster of a job.
    #[must_use]
    pub fn value(self, job: &TraceJob) -> Option<u32> {
        match self {
            Self::Site => job.site,
            Self::Partition => job.partition,
        }
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

/// Counts of one cluster while the trace is walked.
#[derive(Clone, Copy, Default)]
struct Count {
    id: u32,
    jobs: u64,
    hour: Interval,
    day: Interval,
}

/// Arrivals of the current hour or day, and of the busiest so far.
#[derive(Clone, Copy, Default)]
struct Interval {
    index: u64,
    jobs: u64,
    max: u64,
}

impl Interval {
    fn add(&mut self, index: u64) {
        if self.index != index {
            self.index = index;
            self.jobs = 0;
        }
        self.jobs += 1;
        self.max = self.max.max(self.jobs);
    }
}

/// The clusters of a trace; `None` where it names none, or only one.
/// `processors` says how large clusters are, by number.
#[must_use]
pub fn clusters(
    loaded: &Loaded,
    processors: &BTreeMap<u32, u64>,
    clock: &Clock,
    bins: usize,
) -> Option<Clusters> {
    let field = ClusterField::of(&loaded.jobs)?;
    let first = loaded.jobs.first()?.submit;
    let last = loaded.jobs.last()?.submit;
    let mut walk = Walk::new(clock);
    let named = || {
        let jobs = loaded.jobs.iter();
        jobs.filter_map(|job| Some((job.submit, field.value(job)?)))
    };
    for (submit, cluster) in named() {
        walk.add(submit, cluster);
    }
    walk.close_hour();
    let sizes = sizes(loaded, field, processors);
    let mut loads: Vec<ClusterLoad> = walk
        .counts
        .iter()
        .map(|count| load(count, loaded.jobs.len(), last - first, &sizes))
        .collect();
    loads.sort_by_key(|load| (std::cmp::Reverse(load.jobs), load.cluster));
    for load in &mut loads {
        load.name = name_of(loaded, field, load.cluster);
    }
    let counted: u64 = loads.iter().map(|load| load.jobs).sum();
    let grid = Bins::new(
        first.as_nanos(),
        last.as_nanos(),
        nice_width((last - first).as_nanos(), bins),
    );
    let series = series(&grid, &loads, walk.shift, named());
    Some(Clusters {
        field,
        count: loads.len() as u64,
        jobs_without: loaded.jobs.len() as u64 - counted,
        overall_imbalance: widest(
            loads
                .iter()
                .map(|load| (load.cluster, load.cumulative_load)),
        ),
        arrivals_imbalance: widest(
            loads
                .iter()
                .map(|load| (load.cluster, Some(load.jobs as f64))),
        ),
        hours_with_idle_cluster_share: walk.idle_share(),
        temporary_imbalance: walk.worst,
        loads,
        series,
    })
}

/// How large clusters are: as given, else the most that ran there at once
/// where every job of the cluster has a wait time.
fn sizes(
    loaded: &Loaded,
    field: ClusterField,
    given: &BTreeMap<u32, u64>,
) -> BTreeMap<u32, (u64, ClusterSizeFrom)> {
    let mut started: BTreeMap<u32, Option<Vec<JobRow>>> = BTreeMap::new();
    for job in &loaded.jobs {
        let Some(cluster) = field.value(job) else {
            continue;
        };
        let jobs = started.entry(cluster).or_insert_with(|| Some(Vec::new()));
        match (jobs.as_mut(), job.wait_time) {
            (Some(jobs), Some(wait)) => jobs.push(JobRow {
                submit: job.submit + wait,
                ..JobRow::from(job)
            }),
            _ => *jobs = None,
        }
    }
    let observed = started.into_iter().filter_map(|(cluster, jobs)| {
        let size = demand::peak(&jobs?)?.value;
        Some((cluster, (size, ClusterSizeFrom::Observed)))
    });
    let mut sizes: BTreeMap<_, _> = observed.collect();
    let given = given.iter().filter(|(_, size)| **size > 0);
    sizes.extend(given.map(|(cluster, size)| (*cluster, (*size, ClusterSizeFrom::Option))));
    sizes
}

/// The largest ratio of these loads; those that are null or 0 have none.
fn widest(loads: impl Iterator<Item = (u32, Option<f64>)>) -> Option<Imbalance> {
    let mut known: Vec<(f64, u32)> = loads
        .filter_map(|(cluster, load)| Some((load.filter(|load| *load > 0.0)?, cluster)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (least, most) = (known.first()?, known.last()?);
    (known.len() > 1).then(|| Imbalance {
        ratio: most.0 / least.0,
        most: most.1,
        least: least.1,
    })
}

fn load(
    count: &Count,
    jobs: usize,
    span: SimDuration,
    sizes: &BTreeMap<u32, (u64, ClusterSizeFrom)>,
) -> ClusterLoad {
    let known = sizes.get(&count.id);
    let size = known.map(|known| known.0);
    let days = span.as_secs_f64() / 86_400.0;
    let hours = span.as_secs_f64() / 3_600.0;
    let per = |value: f64| size.map(|size| value / size as f64);
    ClusterLoad {
        cluster: count.id,
        name: None,
        processors: size,
        processors_from: known.map(|known| known.1),
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
    let table = match field {
        ClusterField::Site => "site",
        ClusterField::Partition => "partition",
    };
    if let Some(names) = loaded.names.get(table) {
        return names.get(cluster as usize).cloned();
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

/// Counts hour by hour; only the clusters of the current hour are looked at,
/// so that a trace of many sparse clusters costs no more than its jobs.
struct Walk {
    /// Seconds from the hour and the day before the log's time 0 to it.
    shift: u64,
    numbering: Numbering,
    counts: Vec<Count>,
    hour: Option<u64>,
    here: Vec<usize>,
    hours: u64,
    /// Hours by how many clusters had arrivals.
    busy: BTreeMap<usize, u64>,
    worst: Option<TemporaryImbalance>,
}

impl Walk {
    fn new(clock: &Clock) -> Self {
        Walk {
            shift: clock.second_of_week(SimDuration::ZERO),
            numbering: Numbering::default(),
            counts: Vec::new(),
            hour: None,
            here: Vec::new(),
            hours: 0,
            busy: BTreeMap::new(),
            worst: None,
        }
    }

    fn add(&mut self, submit: SimDuration, cluster: u32) {
        let second = submit.as_nanos() / NANOS_PER_SEC + self.shift;
        let hour = second / 3_600;
        if self.hour != Some(hour) {
            self.close_hour();
            self.hour = Some(hour);
        }
        let at = self.numbering.of(cluster);
        if at == self.counts.len() {
            self.counts.push(Count {
                id: cluster,
                ..Count::default()
            });
        }
        let count = &mut self.counts[at];
        count.jobs += 1;
        count.day.add(second / 86_400);
        count.hour.add(hour);
        if count.hour.jobs == 1 {
            self.here.push(at);
        }
    }

    fn close_hour(&mut self) {
        let Some(hour) = self.hour.take() else { return };
        self.hours += 1;
        *self.busy.entry(self.here.len()).or_default() += 1;
        let counts = &self.counts;
        let here = self.here.drain(..).map(|at| &counts[at]);
        let loads = here.map(|count| (count.id, Some(count.hour.jobs as f64)));
        let Some(between) = widest(loads) else { return };
        let beaten = |worst: &TemporaryImbalance| between.ratio > worst.between.ratio;
        if self.worst.as_ref().is_none_or(beaten) {
            let at_s = (hour * 3_600).saturating_sub(self.shift) as f64;
            self.worst = Some(TemporaryImbalance { between, at_s });
        }
    }

    fn idle_share(&self) -> f64 {
        let all = self.busy.get(&self.counts.len()).copied().unwrap_or(0);
        (self.hours - all) as f64 / self.hours.max(1) as f64
    }
}

/// The curves of the busiest clusters.
fn series(
    grid: &Bins,
    loads: &[ClusterLoad],
    shift: u64,
    jobs: impl Iterator<Item = (SimDuration, u32)>,
) -> ClusterSeries {
    let shown = &loads[..loads.len().min(CURVES)];
    let normalized = loads.iter().all(|load| load.processors.is_some());
    let places: BTreeMap<u32, usize> = shown
        .iter()
        .enumerate()
        .map(|(at, load)| (load.cluster, at))
        .collect();
    let mut arrivals = vec![vec![0u64; grid.count()]; shown.len()];
    let mut hourly_max = arrivals.clone();
    let mut hours = vec![Interval::default(); shown.len()];
    for (submit, cluster) in jobs {
        let Some(&at) = places.get(&cluster) else {
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
    use crate::load::load_from;
    use crate::spec::SizeFrom;
    use crate::swf::SwfReader;

    /// Jobs as (submit, partition).
    fn trace(jobs: &[(u64, i64)]) -> Loaded {
        let mut text = String::from("; Partition: 1  north\n; Partition: 2 south\n");
        for (number, (submit, partition)) in jobs.iter().enumerate() {
            text +=
                &format!("{number} {submit} -1 9 1 -1 -1 1 -1 -1 1 1 1 1 1 {partition} -1 -1\n");
        }
        load_from(
            &mut SwfReader::new(text.as_bytes(), "t.swf"),
            SizeFrom::Allocated,
        )
        .unwrap()
    }

    fn of(loaded: &Loaded, processors: &[(u32, u64)]) -> Option<Clusters> {
        let processors = processors.iter().copied().collect();
        clusters(loaded, &processors, &Clock::of(&loaded.header), 10)
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
        let mut reader = SwfReader::new(text.as_bytes(), "t.swf");
        let loaded = load_from(&mut reader, SizeFrom::Allocated).unwrap();
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
