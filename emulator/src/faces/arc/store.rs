//! The jobs and delegations that the face answers for.

use super::answer::Fault;
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_protocol::adl::{Activity, LengthFrom};
use gridrig_protocol::certificate::Chain;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Jobs and delegations by number.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) jobs: BTreeMap<u64, Job>,
    next_job: u64,
    /// What their descriptions and uploads take, in bytes.
    bytes: usize,
    pub(super) delegations: BTreeMap<u64, Delegation>,
    next_delegation: u64,
    /// Input files that jobs here have fetched: a later job finds them.
    cached: BTreeSet<String>,
}

/// Most files that count as fetched; A-REX's cache is bounded as well.
const MOST_CACHED: usize = 100_000;

/// Most bytes of descriptions, and of the names of uploads.
pub(super) const MOST_BYTES: usize = 256 << 20;
/// Most bytes of all delegated chains.
const MOST_PEM: usize = 64 << 20;
/// Longest name of a file that counts as fetched, in bytes.
const LONGEST_CACHED: usize = 2000;

/// Ends a task with the last job that it is about.
#[derive(Debug)]
pub(super) struct Waiting(pub(super) tokio::task::AbortHandle);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One job.
#[derive(Debug)]
pub(super) struct Job {
    /// Its description.
    pub(super) activity: Arc<Activity>,
    /// What it takes of the bytes that are kept.
    pub(super) bytes: usize,
    /// Waits for its steps before the LRMS.
    pub(super) waiting: Option<Arc<Waiting>>,
    /// How long it runs, and why so long.
    pub(super) length: (SimDuration, LengthFrom),
    /// Whose it is, for people.
    pub(super) owner: Arc<str>,
    /// Who alone may see it: whoever came with a certificate.
    pub(super) visible_to: Option<Arc<str>>,
    /// How long the LRMS holds it before it queues.
    pub(super) held: SimDuration,
    /// When it came.
    pub(super) arrived: SimTime,
    /// What has become of it.
    pub(super) stage: Stage,
    /// Files that have been uploaded, by name.
    pub(super) uploads: BTreeMap<String, Upload>,
    /// Whether it is to be forgotten once it has ended.
    pub(super) wipe: bool,
    /// When its removal from the LRMS was asked for.
    pub(super) killed: Option<SimTime>,
    /// The delegation it uses.
    pub(super) delegation: Option<u64>,
}

impl Job {
    /// Whether whoever asks may know of it.
    pub(super) fn is_visible(&self, viewer: Option<&str>) -> bool {
        self.visible_to.is_none() || self.visible_to.as_deref() == viewer
    }

    /// Files that its client still has to upload.
    pub(super) fn missing(&self) -> impl Iterator<Item = &str> {
        let wanted = self.activity.inputs.iter();
        let wanted = wanted.filter(|input| input.is_uploaded() && !input.name.is_empty());
        wanted
            .map(|input| input.name.as_str())
            .filter(|name| !self.uploads.get(*name).is_some_and(Upload::is_whole))
    }
}

/// What has become of a job on this side of the LRMS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its client still has to upload files, by then.
    Uploading {
        /// When it is given up.
        until: SimTime,
    },
    /// It goes through the steps before the LRMS, which may then hold it.
    Entering {
        /// When it may queue there.
        until: SimTime,
        /// How long of that it is held.
        held: SimDuration,
    },
    /// It is being handed to the LRMS.
    Submitting,
    /// The LRMS has had it under this number.
    InLrms(JobId),
    /// It never reached the LRMS.
    Failed {
        /// When that was clear.
        at: SimTime,
        /// Why.
        reason: String,
    },
    /// It was removed before it reached the LRMS.
    Killed {
        /// When.
        at: SimTime,
    },
}

/// A file as far as it has come; what is in it is not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upload {
    /// Bytes so far.
    pub(super) received: u64,
    /// Bytes in all, once the client has said so.
    pub(super) size: Option<u64>,
}

impl Upload {
    /// Whether all of it is there.
    pub(super) fn is_whole(&self) -> bool {
        self.size.is_some_and(|size| self.received >= size)
    }
}

/// Credentials that a client lets jobs act with. Nothing is done with them but
/// to check them, so that the private key is not even kept.
#[derive(Clone, Debug)]
pub(super) struct Delegation {
    /// Who alone may use it: whoever came with a certificate.
    pub(super) visible_to: Option<Arc<str>>,
    /// The public key of the latest request, as the bits of a certificate.
    pub(super) key: Vec<u8>,
    /// What the client made of the request, once it has.
    pub(super) credentials: Option<Credentials>,
}

/// A chain of certificates that has been checked.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    /// Whose.
    pub(super) chain: Chain,
    /// As it came.
    pub(super) pem: String,
}

impl Delegation {
    pub(super) fn is_visible(&self, viewer: Option<&str>) -> bool {
        self.visible_to.is_none() || self.visible_to.as_deref() == viewer
    }

    /// Whether a job may use it at `now` (Unix seconds).
    pub(super) fn is_valid(&self, now: i64) -> bool {
        let credentials = self.credentials.as_ref();
        credentials.is_some_and(|credentials| credentials.chain.not_after >= now)
    }
}

impl Store {
    /// A job of this number.
    pub(super) fn job(&self, number: u64) -> Result<&Job, Fault> {
        self.jobs.get(&number).ok_or_else(Fault::no_job)
    }

    /// The same, to change it.
    pub(super) fn job_mut(&mut self, number: u64) -> Result<&mut Job, Fault> {
        self.jobs.get_mut(&number).ok_or_else(Fault::no_job)
    }

    /// Enters a job; answers its number.
    pub(super) fn enter(&mut self, job: Job) -> u64 {
        self.next_job += 1;
        self.bytes += job.bytes;
        self.jobs.insert(self.next_job, job);
        self.next_job
    }

    /// Forgets a job.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(job) = self.jobs.remove(&number) {
            self.bytes -= job.bytes;
        }
    }

    /// Whether so many bytes more may be kept.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes + bytes <= MOST_BYTES
    }

    /// The file of a job under this name, if there is room for one more.
    pub(super) fn upload(&mut self, number: u64, name: &str) -> Result<&mut Job, Fault> {
        let is_new = !self.job(number)?.uploads.contains_key(name);
        let bytes = if is_new { name.len() } else { 0 };
        if !self.has_room(bytes) {
            return Err(Fault::new(500, "Error creating file"));
        }
        self.bytes += bytes;
        let job = self.job_mut(number)?;
        job.bytes += bytes;
        Ok(job)
    }

    /// Whether the chain of a delegation may be so long beside the others.
    pub(super) fn may_delegate(&self, number: u64, pem: &str) -> bool {
        let others = self
            .delegations
            .iter()
            .filter(|(other, _)| **other != number);
        let kept = others.filter_map(|(_, one)| Some(one.credentials.as_ref()?.pem.len()));
        kept.sum::<usize>() + pem.len() <= MOST_PEM
    }

    /// Enters a delegation; answers its number. `None` when there are `most`
    /// and all of them are in use.
    pub(super) fn delegate(
        &mut self,
        delegation: Delegation,
        most: usize,
        now: i64,
    ) -> Option<u64> {
        if self.delegations.len() >= most {
            let useless = |(_, old): &(&u64, &Delegation)| !old.is_valid(now);
            let oldest = self.delegations.iter().find(useless).map(|(id, _)| *id)?;
            self.delegations.remove(&oldest);
        }
        self.next_delegation += 1;
        self.delegations.insert(self.next_delegation, delegation);
        Some(self.next_delegation)
    }

    /// Gives up the jobs whose files have not come in time.
    pub(super) fn give_up(&mut self, now: SimTime) {
        for job in self.jobs.values_mut() {
            if let Stage::Uploading { until } = job.stage
                && until <= now
            {
                let reason = "User has not uploaded all input files in time".to_owned();
                job.stage = Stage::Failed { at: until, reason };
            }
        }
    }

    /// Notes that jobs here have fetched these files.
    pub(super) fn fetched<'a>(&mut self, files: impl Iterator<Item = &'a String>) {
        for file in files {
            let fits = self.cached.len() < MOST_CACHED && file.len() <= LONGEST_CACHED;
            if fits && !self.cached.contains(file) {
                self.cached.insert(file.clone());
            }
        }
    }

    /// Whether a job here has fetched this file.
    pub(super) fn is_cached(&self, file: &str) -> bool {
        self.cached.contains(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delegation(not_after: Option<i64>) -> Delegation {
        let credentials = not_after.map(|not_after| Credentials {
            chain: Chain {
                subject: String::new(),
                identity: String::new(),
                not_after,
                is_proxy: true,
            },
            pem: String::new(),
        });
        Delegation {
            visible_to: None,
            key: Vec::new(),
            credentials,
        }
    }

    #[test]
    fn the_chains_of_delegations_have_one_bound() {
        let mut store = Store::default();
        for number in 1..=2 {
            let mut long = delegation(Some(100));
            let pem = "x".repeat(MOST_PEM / 2);
            assert!(store.may_delegate(number, &pem));
            long.credentials.as_mut().unwrap().pem = pem;
            store.delegate(long, 10, 0);
        }
        assert!(!store.may_delegate(3, "x"));
        assert!(store.may_delegate(2, "x"));
    }

    #[tokio::test]
    async fn a_task_that_waits_for_jobs_ends_with_the_last_of_them() {
        let (alive, ended) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        let of_both = Arc::new(Waiting(task.abort_handle()));
        let mut store = Store::default();
        for waiting in [Arc::clone(&of_both), of_both] {
            store.enter(Job {
                activity: Arc::default(),
                bytes: 0,
                waiting: Some(waiting),
                length: (SimDuration::ZERO, LengthFrom::Variable),
                owner: "me".into(),
                visible_to: None,
                held: SimDuration::from_secs(3600),
                arrived: SimTime::ZERO,
                stage: Stage::Submitting,
                uploads: BTreeMap::new(),
                wipe: false,
                killed: None,
                delegation: None,
            });
        }
        store.forget(2);
        tokio::task::yield_now().await;
        assert!(!task.is_finished());
        store.forget(1);
        assert!(task.await.unwrap_err().is_cancelled());
        assert!(ended.await.is_err());
    }

    #[test]
    fn delegations_are_bounded_and_useless_ones_make_room() {
        let mut store = Store::default();
        assert_eq!(store.delegate(delegation(None), 2, 0), Some(1));
        assert_eq!(store.delegate(delegation(Some(100)), 2, 0), Some(2));
        // The first was never finished.
        assert_eq!(store.delegate(delegation(Some(100)), 2, 0), Some(3));
        assert_eq!(store.delegate(delegation(Some(100)), 2, 0), None);
        // By now both have run out.
        assert_eq!(store.delegate(delegation(Some(300)), 2, 200), Some(4));
        assert!(!store.delegations.contains_key(&2));
    }
}
