//! `decisions.parquet`: how brokers decided, and back.

use super::batch::{Batch, for_each_row, guarded};
use super::columns::Cell::{F64, I64, Text, Time, U32, U64};
use super::columns::{Column, Table};
use super::{Result, RunDirError, TableColumns, names};
use crate::jobs::{JobTable, Loads};
use crate::log::EventLog;
use crate::names::Names;
use gridrig_core::decision::{Considered, Decision, Outcome, Standing};
use gridrig_core::event::EventKind;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::job::Entry;
use gridrig_core::time::SimTime;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// What a broker decided about a job in one cycle.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DecisionDoc {
    /// Its number among the decisions that the run has recorded, from 0.
    pub decision: u32,
    /// Seconds since the run's start.
    pub time_s: f64,
    /// The broker, as `broker:DOMAIN`.
    pub broker: String,
    /// How often the job had been forwarded by then.
    pub forwards: u32,
    /// What became of the job.
    pub outcome: String,
    /// Why it was turned away.
    pub reason: Option<String>,
    /// How equally good candidates were told apart, where there were several.
    pub tie: Option<String>,
    /// What the policy compared, and what of it is best.
    pub score_of: Option<String>,
    /// What became of the job, and why, in a sentence.
    pub says: String,
    /// Who could have had the job, own clusters first.
    pub candidates: Vec<CandidateDoc>,
}

impl DecisionDoc {
    /// What became of the job, and why, in a sentence.
    fn told(&self) -> String {
        let that_are = |standing: Standing| {
            let all = self.candidates.iter();
            all.filter(move |it| it.standing == standing.name())
        };
        let chosen = that_are(Standing::Chosen).map(|it| it.candidate.as_str());
        let chosen: Vec<&str> = chosen.collect();
        let equals = that_are(Standing::Best).count();
        let others = that_are(Standing::Possible).count();
        let why = match (equals, others, self.score_of.is_some()) {
            _ if chosen.len() > 1 => "each of which gets a part of it".to_owned(),
            (0, 0, _) => "the only possible one".to_owned(),
            (0, _, true) => "the best".to_owned(),
            (0, _, false) => "which the policy prefers".to_owned(),
            _ => {
                let tie = self.tie.as_deref().unwrap_or("");
                format!("one of {} that are equally good (tie: {tie})", equals + 1)
            }
        };
        let reason = self.reason.as_deref().unwrap_or("");
        let asks_for_reservations = chosen.is_empty();
        let chosen = chosen.join(" and ");
        match self.outcome.as_str() {
            "sent" => format!("sent to {chosen}, {why}"),
            "arranged" if asks_for_reservations => {
                "reservations are asked for, at one candidate after the other".to_owned()
            }
            "arranged" => format!("processors are asked for at {chosen}, {why}"),
            "waits-for-room" => "it waits until one has room".to_owned(),
            "held" => "the policy holds it until the next cycle".to_owned(),
            "waits-for-opening" => "it waits until one takes jobs again".to_owned(),
            _ => format!("turned away: {reason}"),
        }
    }
}

/// A candidate of a decision, as the broker saw it, and as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CandidateDoc {
    /// `lrms:CLUSTER` or `broker:DOMAIN`.
    pub candidate: String,
    /// How it stood.
    pub standing: String,
    /// How old the oldest information about it was that was in use.
    pub information_age_s: f64,
    /// Free processors, by the broker's view.
    pub free: i64,
    /// Waiting jobs, by the broker's view.
    pub queued: f64,
    /// What the policy compared.
    pub score: Option<f64>,
    /// Free processors in truth.
    pub true_free: Option<i64>,
    /// Waiting jobs in truth.
    pub true_queued: Option<u64>,
}

/// The decisions of a run, candidate by candidate, with the truth beside.
pub(super) struct Decided<'a> {
    decisions: &'a [(SimTime, Decision)],
    /// Of which decision, and which of its candidates, each row is.
    rows: Vec<(u32, u32)>,
    loads: Loads,
    jobs: &'a JobTable,
}

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    number: u32,
    at: SimTime,
    decision: &'a Decision,
    candidate: &'a Considered,
    all: &'a Decided<'a>,
}

impl<'a> Row<'a> {
    fn names(&self) -> &'a Names {
        self.all.jobs.names()
    }

    /// Free processors and waiting jobs of the candidate in truth: of a peer, the most
    /// that one of its clusters has, and those of all.
    fn truth(&self) -> Option<(i64, u64)> {
        let clusters = (0..).map(ClusterId).zip(self.all.jobs.clusters());
        let its = clusters.filter(|(id, cluster)| match self.candidate.target {
            Entry::Cluster(own) => *id == own,
            Entry::Domain(peer) => cluster.domain == Some(peer),
        });
        let loads = its.filter_map(|(id, cluster)| {
            let (queued, busy) = self.all.loads.at(id, self.at)?;
            let down = cluster.down.iter().take_while(|(at, _)| *at <= self.at);
            let down: i64 = down.map(|(_, processors)| processors).sum();
            let free = i64::from(cluster.processors) - busy.cast_signed() - down;
            Some((free, queued))
        });
        loads.reduce(|(most, all), (free, queued)| (most.max(free), all + queued))
    }
}

impl<'a> Decided<'a> {
    pub(super) fn of(log: &'a EventLog, jobs: &'a JobTable) -> Self {
        let decisions = log.decisions().all();
        let rows = (0..).zip(decisions).flat_map(|(number, (_, decision))| {
            let candidates = 0..decision.candidates.len() as u32;
            candidates.map(move |candidate| (number, candidate))
        });
        Decided {
            rows: rows.collect(),
            decisions,
            loads: jobs.loads(),
            jobs,
        }
    }

    fn row(&'a self, index: usize) -> Row<'a> {
        let (number, candidate) = self.rows[index];
        let (at, decision) = &self.decisions[number as usize];
        Row {
            number,
            at: *at,
            decision,
            candidate: &decision.candidates[candidate as usize],
            all: self,
        }
    }

    pub(super) fn table(&'a self) -> Table<'a, Row<'a>, impl Fn(usize) -> Row<'a>> {
        #[rustfmt::skip]
        let columns: Vec<Column<'a, Row<'a>>> = vec![
            ("decision", U32(|row| Some(row.number))),
            ("time_ns", Time(|row| Some(row.at))),
            ("job_id", U32(|row| Some(row.decision.job.0))),
            ("broker", Text(|row| Some(row.names().party(row.decision.by.into())))),
            ("forwards", U32(|row| Some(row.decision.hop))),
            ("outcome", Text(|row| Some(row.decision.outcome.name().into()))),
            ("reason", Text(|row| Some(row.decision.outcome.reason()?.name().into()))),
            ("tie", Text(|row| Some(row.decision.tie?.into()))),
            ("score_of", Text(|row| Some(row.decision.score_of?.into()))),
            ("candidate", Text(|row| Some(row.names().entry(row.candidate.target)))),
            ("standing", Text(|row| Some(row.candidate.standing.name().into()))),
            ("information_ns", Time(|row| Some(row.candidate.information_from))),
            ("free", I64(|row| Some(row.candidate.free))),
            ("queued", F64(|row| Some(row.candidate.queued))),
            ("score", F64(|row| row.candidate.score)),
            ("true_free", I64(|row| Some(row.truth()?.0))),
            ("true_queued", U64(|row| Some(row.truth()?.1))),
        ];
        Table {
            name: names::DECISIONS,
            columns,
            rows: self.rows.len(),
            at: |index| self.row(index),
        }
    }
}

/// The decisions that a log has kept of a run with these jobs.
///
/// # Errors
/// None that a log of this program could give.
pub fn decisions_of(log: &EventLog, jobs: &JobTable) -> Result<Vec<DecisionDoc>> {
    let decided = Decided::of(log, jobs);
    let batch = Batch {
        path: Path::new(names::DECISIONS),
        records: &decided.table().in_memory(),
    };
    let mut found = Vec::new();
    for index in 0..batch.rows() {
        add(&batch, index, &mut found)?;
    }
    found.iter_mut().for_each(|it| it.says = it.told());
    Ok(found)
}

/// What a run has recorded of decisions about a job, in order; nothing where it has
/// recorded none.
///
/// # Errors
/// A file that is damaged, or holds what it may not.
pub fn read_decisions(dir: &Path, job: JobId) -> Result<Vec<DecisionDoc>> {
    if !dir.join(names::DECISIONS).exists() {
        return Ok(Vec::new());
    }
    guarded(dir, names::DECISIONS, |_| {
        let table = TableColumns::open(dir, names::DECISIONS)?;
        let rows = table.rows_of(job, None)?;
        let mut found = Vec::new();
        table.read(&rows, |batch, index, _| add(batch, index, &mut found))?;
        found.iter_mut().for_each(|it| it.says = it.told());
        Ok(found)
    })
}

/// Decisions to send a job that no event of the run has sent so, in words.
pub(super) fn contradicted(
    dir: &Path,
    log: &EventLog,
    of: &Names,
) -> Result<Vec<(Option<JobId>, String)>> {
    if !dir.join(names::DECISIONS).exists() {
        return Ok(Vec::new());
    }
    let sent = log.records().filter_map(|(at, event)| {
        let sends = matches!(event.kind, EventKind::Dispatched | EventKind::Forwarded);
        sends.then_some((at, event.job?, event.by, event.to?))
    });
    let sent: BTreeSet<_> = sent.collect();
    let mut found = Vec::new();
    guarded(dir, names::DECISIONS, |path| {
        for_each_row(path, |batch, index, row| {
            let text = |name| Ok::<_, RunDirError>(batch.text(name, index)?.unwrap_or_default());
            let is_sent = text("outcome")? == Outcome::Sent.name();
            if !is_sent || text("standing")? != Standing::Chosen.name() {
                return Ok(());
            }
            let (by, to) = (text("broker")?, text("candidate")?);
            let job = batch.u32("job_id", index)?.map(JobId);
            let parties = of.find_party(by).zip(of.find_party(to));
            let decided = batch.time("time_ns", index)?.zip(job).zip(parties);
            if !decided.is_some_and(|((at, job), (by, to))| sent.contains(&(at, job, by, to))) {
                let file = names::DECISIONS;
                let what =
                    format!("{file}:{row}: no event says that {by} has sent it to {to} then");
                found.push((job, what));
            }
            Ok(())
        })
    })?;
    Ok(found)
}

/// Adds a row to its decision, whose rows follow each other.
fn add(batch: &Batch<'_>, index: usize, decisions: &mut Vec<DecisionDoc>) -> Result<()> {
    let text = |name| Ok::<_, RunDirError>(batch.text(name, index)?.map(str::to_owned));
    let number = batch.u32("decision", index)?.unwrap_or(u32::MAX);
    let at = batch.time("time_ns", index)?.unwrap_or(SimTime::ZERO);
    if decisions.last().is_none_or(|last| last.decision != number) {
        decisions.push(DecisionDoc {
            decision: number,
            time_s: at.as_secs_f64(),
            broker: text("broker")?.unwrap_or_default(),
            forwards: batch.u32("forwards", index)?.unwrap_or(0),
            outcome: text("outcome")?.unwrap_or_default(),
            reason: text("reason")?,
            tie: text("tie")?,
            score_of: text("score_of")?,
            ..DecisionDoc::default()
        });
    }
    let from = batch.time("information_ns", index)?.unwrap_or(at);
    let candidate = CandidateDoc {
        candidate: text("candidate")?.unwrap_or_default(),
        standing: text("standing")?.unwrap_or_default(),
        information_age_s: at.since(from).as_secs_f64(),
        free: batch.i64("free", index)?.unwrap_or(0),
        queued: batch.f64("queued", index)?.unwrap_or(0.0),
        score: batch.f64("score", index)?,
        true_free: batch.i64("true_free", index)?,
        true_queued: batch.u64("true_queued", index)?,
    };
    let last = decisions.last_mut().expect("one was added");
    last.candidates.push(candidate);
    Ok(())
}
