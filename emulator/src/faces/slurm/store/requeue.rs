//! Jobs that wait again, and signals to those that run.

use super::{Action, Hold, JobStore, State};
use crate::faces::slurm::batch::Reach;
use gridrig_core::ids::JobId;
use gridrig_core::time::{SimDuration, SimTime};

/// From the end of a run until a job that is requeued may start again, as with Slurm.
const DELAY: SimDuration = SimDuration::from_secs(121);

impl JobStore {
    /// A node on which a job ran has failed: it waits again.
    pub fn requeued(&mut self, name: JobId) {
        let Some(&seq) = self.by_machine.get(&name) else {
            return;
        };
        let execute = self.site.execute;
        let Some(job) = self.job_mut(seq) else { return };
        if job.ending.is_some() {
            // It was to end anyway.
            return self.give(Action::Cancel(name));
        }
        job.state = State::Pending;
        job.restarts += 1;
        job.placement.clear();
        let until = job.start.take().zip(job.limit);
        let runs = execute && !job.batch.foreign;
        job.is_stale |= runs;
        if let Some((start, limit)) = until {
            self.limits.remove(&(start + limit, seq));
        }
        if runs {
            self.give(Action::Kill(seq));
        }
        self.running.remove(&seq);
        self.queued.insert(seq);
        self.count_task(seq, |inside| inside.running -= 1);
    }

    /// `scontrol requeue`, and `requeuehold` with a hold: it leaves the cluster and waits
    /// again, whether it runs or has ended.
    ///
    /// # Errors
    /// Slurm's words for why not.
    pub fn requeue(
        &mut self,
        now: SimTime,
        seq: u32,
        hold: Option<Hold>,
    ) -> Result<(), &'static str> {
        let execute = self.site.execute;
        let job = self.jobs.get_mut(&seq).filter(|job| !job.dropped);
        let job = job.ok_or("Invalid job id specified")?;
        match job.state {
            State::Pending => return Err("Job is pending execution"),
            State::Completing => return Err("Job/step already completing or completed"),
            _ if job.batch.foreign => {
                return Err("Requested operation not supported on this system");
            }
            _ if !job.batch.requeue => return Err("Requested operation is presently disabled"),
            _ => {}
        }
        let (ran, until) = (!job.state.is_ended(), job.start.zip(job.limit));
        job.is_stale = ran && execute;
        (job.state, job.hold, job.ending) = (State::Pending, hold, None);
        (job.start, job.end, job.eligible) = (None, None, None);
        (job.submit, job.begin) = (now, Some(now + DELAY));
        job.restarts += 1;
        job.placement.clear();
        let name = job.machine.take();
        name.and_then(|name| self.by_machine.remove(&name));
        match (ran, name) {
            (true, Some(name)) => {
                if let Some((start, limit)) = until {
                    self.limits.remove(&(start + limit, seq));
                }
                self.running.remove(&seq);
                self.count_task(seq, |tasks| {
                    (tasks.all, tasks.running) = (tasks.all - 1, tasks.running - 1);
                });
                if execute {
                    self.give(Action::Kill(seq));
                }
                self.give(Action::Cancel(name));
            }
            _ => {
                let aged = self.ended.iter().take(self.aged);
                self.aged -= aged.filter(|(_, other)| *other == seq).count();
                self.ended.retain(|(_, other)| *other != seq);
            }
        }
        self.admit(seq, now);
        self.stir(seq, now);
        Ok(())
    }

    /// The signal of `--signal`, unless the job has ended or started again meanwhile.
    pub(super) fn warn(&mut self, at: SimTime, seq: u32) {
        let Some(job) = self.job(seq) else { return };
        let (limit, batch) = (job.limit.unwrap_or_default(), &job.batch);
        if let (Some(warning), Some(start)) = (&batch.warning, job.start)
            && start + warning.into_run(limit) == at
        {
            let (number, reach) = (warning.number, warning.reach);
            self.signal(seq, number, reach);
        }
    }

    /// Signals a script that runs.
    pub fn signal(&mut self, seq: u32, number: i32, reach: Reach) {
        let running = self.job(seq).is_some_and(|job| job.state == State::Running);
        if running {
            self.give(Action::Signal(seq, number, reach));
        }
    }
}
