//! How old the information behind a decision was.
//!
//! The log has no single information message, but on the virtual clock it
//! needs none: every LRMS is sampled at the multiples of its domain's
//! `exchange`, and a sample is there after the latency of the LRMS or of the
//! link (design 5). With the instant of a decision that gives its age exactly.

use super::common::Opened;
use super::document::InformationAge;
use crate::rundir::{self, GridDoc, Result, TableColumns, names};
use gridrig_core::broker::LocalInfo;
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::SimTime;

/// The age over all decisions about measured jobs, as far as each broker visit's last one
/// is known; `None` on the real clock and for policies that look at nothing.
pub(super) fn of(opened: &Opened<'_>) -> Result<Option<InformationAge>> {
    let run = opened.run;
    let manifest = &run.manifest;
    let is_received = |policy: PolicySpec| policy.entry().need.is_received();
    let looks = |name: &String| name.parse().map_or(true, is_received);
    if manifest.clock != "virtual" || !manifest.policy.as_ref().is_some_and(looks) {
        return Ok(None);
    }
    rundir::is_unchanged(&run.dir, manifest, names::HOPS)?;
    let hops = TableColumns::open(&run.dir, names::HOPS)?;
    let domains = hops.codes("domain")?;
    let peers = hops.codes("forwarded_to")?;
    let forwarded = hops.i64s("forwarded_ns")?;
    let dispatched = hops.i64s("dispatched_ns")?;
    let grid = &manifest.grid;
    let own: Vec<Option<Path>> = domains.names.iter().map(|d| Path::own(grid, d)).collect();
    let linked = domains.names.iter().map(|from| {
        let peers = peers.names.iter();
        peers.map(|to| Path::peer(grid, from, to)).collect()
    });
    let linked: Vec<Vec<Option<Path>>> = linked.collect();
    let measured = measured(opened)?;
    let jobs = match measured {
        Some(_) => hops.u32s("job_id")?,
        None => Vec::new(),
    };
    let counts = |row: &usize| {
        let measured = measured.as_ref();
        measured.is_none_or(|measured| measured.binary_search(&jobs[*row]).is_ok())
    };
    let mut sum = Sum::default();
    for row in (0..hops.rows()).filter(counts) {
        let domain = usize::from(domains.rows[row]);
        if dispatched[row] >= 0 {
            sum.add(own.get(domain).copied().flatten(), dispatched[row]);
        }
        if forwarded[row] >= 0 {
            let paths = linked.get(domain);
            let path = paths.and_then(|paths| paths.get(usize::from(peers.rows[row])));
            sum.add(path.copied().flatten(), forwarded[row]);
        }
    }
    Ok(sum.finish())
}

/// The numbers of the jobs submitted in the measured interval, rising; `None` if that is
/// the whole run.
fn measured(opened: &Opened<'_>) -> Result<Option<Vec<u32>>> {
    let measure = opened.measure;
    if measure.from == SimTime::ZERO && measure.until.is_none() {
        return Ok(None);
    }
    let submits = opened.columns.i64s("submit_ns")?.into_iter();
    let covers = |at: u64| measure.covers(SimTime::from_nanos(at));
    let all = opened.jobs.iter().copied().zip(submits);
    let measured = all.filter(|(_, submit)| u64::try_from(*submit).is_ok_and(covers));
    let mut jobs: Vec<u32> = measured.map(|(job, _)| job).collect();
    jobs.sort_unstable();
    Ok(Some(jobs))
}

/// How information of a candidate reaches a broker.
#[derive(Clone, Copy)]
struct Path {
    /// Between samples; 0 if it is read live.
    exchange_ns: i64,
    latency_ns: i64,
}

impl Path {
    fn own(grid: &GridDoc, domain: &str) -> Option<Self> {
        let rule = grid.broker(domain)?;
        let is_reported = rule.local_info != LocalInfo::Fresh;
        Some(Path {
            exchange_ns: i64::from(is_reported) * signed(rule.exchange.as_nanos()),
            latency_ns: signed(rule.lrms_latency.as_nanos()),
        })
    }

    fn peer(grid: &GridDoc, from: &str, to: &str) -> Option<Self> {
        Some(Path {
            exchange_ns: signed(grid.broker(to)?.exchange.as_nanos()),
            latency_ns: signed(grid.link_latency(from, to)?.as_nanos()),
        })
    }

    /// The age of the newest sample that is there at an instant; `None` before
    /// the first.
    fn age(self, at: i64) -> Option<i64> {
        if self.exchange_ns == 0 {
            return Some(0);
        }
        let sent = at.checked_sub(self.latency_ns).filter(|sent| *sent >= 0)?;
        Some(at - sent / self.exchange_ns * self.exchange_ns)
    }
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

#[derive(Default)]
struct Sum {
    decisions: u64,
    before_first: u64,
    total_ns: i128,
    max_ns: i64,
}

impl Sum {
    fn add(&mut self, path: Option<Path>, at: i64) {
        let Some(path) = path else {
            return;
        };
        self.decisions += 1;
        match path.age(at) {
            None => self.before_first += 1,
            Some(age) => {
                self.total_ns += i128::from(age);
                self.max_ns = self.max_ns.max(age);
            }
        }
    }

    fn finish(self) -> Option<InformationAge> {
        let known = self.decisions - self.before_first;
        (known > 0).then(|| InformationAge {
            decisions: self.decisions,
            before_first: self.before_first,
            mean_s: self.total_ns as f64 / known as f64 / 1e9,
            max_s: self.max_ns as f64 / 1e9,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_sample_grows_old_until_the_next_one_has_arrived() {
        let path = Path {
            exchange_ns: 15,
            latency_ns: 2,
        };
        let ages = [0, 1, 2, 16, 17, 31, 32].map(|at| path.age(at));
        let expected = [None, None, Some(2), Some(16), Some(2), Some(16), Some(2)];
        assert_eq!(ages, expected);
    }
}
