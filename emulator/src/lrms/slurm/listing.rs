//! What `scontrol -d -o show job` and `show node` say.

use crate::slurm::{hostlist, times};

/// Where a job of Slurm stands, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Running,
    Completed,
    Cancelled,
    /// It was killed, or its script failed.
    Failed,
}

impl State {
    /// Slurm's name for a state. One that is unknown is no end: the next
    /// look tells more.
    fn of(name: &str) -> State {
        match name {
            "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT"
            | "REQUEUE_FED" | "RESV_DEL_HOLD" => State::Pending,
            "COMPLETED" => State::Completed,
            "CANCELLED" | "REVOKED" => State::Cancelled,
            "FAILED" | "TIMEOUT" | "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "DEADLINE"
            | "OUT_OF_MEMORY" => State::Failed,
            _ => State::Running,
        }
    }

    /// Whether it waits or runs.
    pub fn is_alive(self) -> bool {
        matches!(self, State::Pending | State::Running)
    }
}

/// One job of the listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Slurm's number.
    pub id: u32,
    pub name: String,
    pub state: State,
    /// In seconds since 1970.
    pub start: Option<u64>,
    pub end: Option<u64>,
    /// The processors of each node, while it runs.
    pub processor_ids: Vec<(String, Vec<u32>)>,
    /// Its nodes, also when it is over.
    pub nodes: Vec<String>,
}

/// The jobs of a listing whose names begin so.
pub(super) fn jobs(text: &str, prefix: &str) -> Vec<Listed> {
    let field = format!(" JobName={prefix}");
    let lines = text.lines().filter(|line| line.contains(&field));
    lines.filter_map(job).collect()
}

fn job(line: &str) -> Option<Listed> {
    Some(Listed {
        id: value(line, "JobId")?.parse().ok()?,
        name: value(line, "JobName")?.to_owned(),
        state: State::of(value(line, "JobState")?),
        start: value(line, "StartTime").and_then(moment),
        end: value(line, "EndTime").and_then(moment),
        processor_ids: processor_ids(line),
        nodes: value(line, "NodeList")
            .filter(|list| *list != "(null)")
            .and_then(hostlist::expand)
            .unwrap_or_default(),
    })
}

/// The value of a key in a line of `Key=Value` words; empty values are none.
pub(super) fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let mut words = line.split_ascii_whitespace();
    let value = words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
    (!value.is_empty()).then_some(value)
}

fn moment(text: &str) -> Option<u64> {
    text.contains('T').then(|| times::moment(text, 0))?
}

/// `Nodes=n[1-2] CPU_IDs=0-3,7 Mem=...`, as often as it comes.
fn processor_ids(line: &str) -> Vec<(String, Vec<u32>)> {
    let mut processor_ids = Vec::new();
    let mut nodes: Vec<String> = Vec::new();
    for word in line.split_ascii_whitespace() {
        if let Some(list) = word.strip_prefix("Nodes=") {
            nodes = hostlist::expand(list).unwrap_or_default();
        } else if let Some(ids) = word.strip_prefix("CPU_IDs=") {
            let ids = numbers(ids);
            processor_ids.extend(nodes.drain(..).map(|node| (node, ids.clone())));
        }
    }
    processor_ids
}

/// `0-3,7`
fn numbers(text: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first).filter(|more| *more < 1 << 20)?;
        Some(first..=last)
    };
    text.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str = "JobId=7 JobName=gridrig-1-3 UserId=root(0) JobState=RUNNING \
        Reason=None StartTime=2026-11-21T08:58:01 EndTime=2027-11-21T08:58:01 Deadline=N/A \
        NodeList=n[1-2] BatchHost=n1 NumNodes=2 JOB_GRES=(null) Nodes=n[1-2] CPU_IDs=0-1,3 \
        Mem=0 GRES= Power=";

    #[test]
    fn a_running_job_is_read_with_its_processors() {
        let listed = jobs(RUNNING, "gridrig-1-");
        let [job] = listed.as_slice() else {
            panic!("{listed:?}");
        };
        assert_eq!((job.id, job.state), (7, State::Running));
        assert_eq!(job.start, Some(1_795_251_481));
        let processor_id = |node: &str| (node.to_owned(), vec![0, 1, 3]);
        assert_eq!(job.processor_ids, [processor_id("n1"), processor_id("n2")]);
        assert_eq!(job.nodes, ["n1", "n2"]);
        assert!(jobs(RUNNING, "gridrig-2-").is_empty());
        assert!(jobs("No jobs in the system", "gridrig-1-").is_empty());
    }

    #[test]
    fn a_job_that_waits_has_no_times_and_no_nodes() {
        let line = "JobId=8 JobName=gridrig-1-4 JobState=PENDING StartTime=Unknown \
            EndTime=Unknown NodeList=(null)";
        let job = &jobs(line, "gridrig-1-")[0];
        assert_eq!(
            (job.state, job.start, job.end),
            (State::Pending, None, None)
        );
        assert!(job.nodes.is_empty() && job.processor_ids.is_empty());
    }

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(State::of("COMPLETED"), State::Completed);
        assert_eq!(State::of("CANCELLED"), State::Cancelled);
        assert_eq!(State::of("NODE_FAIL"), State::Failed);
        assert!(State::of("COMPLETING").is_alive() && State::of("SUSPENDED").is_alive());
    }
}
