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
    pub(super) delegations: BTreeMap<u64, Delegation>,
    next_delegation: u64,
    /// Input files that jobs here have fetched: a later job finds them.
    cached: BTreeSet<String>,
}

/// Most files that count as fetched; A-REX's cache is bounded as well.
const MOST_CACHED: usize = 100_000;

/// One job.
#[derive(Debug)]
pub(super) struct Job {
    /// Its description.
    pub(super) activity: Arc<Activity>,
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
        self.jobs.insert(self.next_job, job);
        self.next_job
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
            if self.cached.len() < MOST_CACHED && !self.cached.contains(file) {
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
