//! What happens in a run. Everything a run reports is computed from these: flat records,
//! alike for every kind. What a kind is called and what its fields mean stands in one table,
//! [`EventKind::row`], which all use: a kind is added by a row and by whoever emits it.

mod sink;

pub use sink::{EventSink, NoEvents};

use crate::ids::{ClusterId, DomainId, JobId};
use crate::job::{Entry, Reason};
use crate::placement::PlacementRun;
use crate::time::SimTime;

/// Somebody who sends and receives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Whoever submits: the replayer.
    Client,
    /// A domain's broker.
    Broker(DomainId),
    /// A cluster's LRMS.
    Lrms(ClusterId),
}

impl Party {
    /// The domain, if this is a broker.
    pub const fn domain(self) -> Option<DomainId> {
        match self {
            Party::Broker(domain) => Some(domain),
            _ => None,
        }
    }

    /// The cluster, if this is an LRMS.
    pub const fn cluster(self) -> Option<ClusterId> {
        match self {
            Party::Lrms(cluster) => Some(cluster),
            _ => None,
        }
    }
}

impl From<DomainId> for Party {
    fn from(domain: DomainId) -> Self {
        Party::Broker(domain)
    }
}

impl From<ClusterId> for Party {
    fn from(cluster: ClusterId) -> Self {
        Party::Lrms(cluster)
    }
}

impl From<Entry> for Party {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Domain(domain) => Party::Broker(domain),
            Entry::Cluster(cluster) => Party::Lrms(cluster),
        }
    }
}

/// One thing that happened to a job, or one message that was sent.
///
/// Which fields a kind has, and what they mean there, is in its
/// [`row`](EventKind::row); [`check`](Event::check) holds an event to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// What happened.
    pub kind: EventKind,
    /// The job it is about.
    pub job: Option<JobId>,
    /// Who did it or sent it; for what merely happens to a job, where it was.
    pub by: Party,
    /// The receiver of a message.
    pub to: Option<Party>,
    /// Why.
    pub reason: Option<Reason>,
    /// The value of this kind; 0 where it has none.
    pub value: i64,
    /// On which processors, node by node; empty but for a start.
    pub placement: &'a [PlacementRun],
}

impl<'a> Event<'a> {
    /// An event of which no more is said.
    pub fn new(kind: EventKind, job: impl Into<Option<JobId>>, by: impl Into<Party>) -> Self {
        Event {
            kind,
            job: job.into(),
            by: by.into(),
            to: None,
            reason: None,
            value: 0,
            placement: &[],
        }
    }

    /// The same with a receiver.
    #[must_use]
    pub fn to(self, to: impl Into<Party>) -> Self {
        let to = Some(to.into());
        Event { to, ..self }
    }

    /// The same with a reason.
    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        let reason = Some(reason);
        Event { reason, ..self }
    }

    /// The same with a value.
    #[must_use]
    pub fn with(self, value: impl Into<i64>) -> Self {
        let value = value.into();
        Event { value, ..self }
    }

    /// The same with an instant as its value.
    #[must_use]
    pub fn at(self, instant: SimTime) -> Self {
        self.with(i64::try_from(instant.as_nanos()).unwrap_or(i64::MAX))
    }

    /// The same on these processors.
    pub fn on<'b>(self, placement: &'b [PlacementRun]) -> Event<'b> {
        Event {
            kind: self.kind,
            job: self.job,
            by: self.by,
            to: self.to,
            reason: self.reason,
            value: self.value,
            placement,
        }
    }

    /// The value, if its kind has one.
    pub fn own_value(&self) -> Option<i64> {
        (self.kind.row().value != Value::None).then_some(self.value)
    }

    /// The value as an instant.
    pub const fn instant(&self) -> SimTime {
        SimTime::from_nanos(self.value.cast_unsigned())
    }

    /// The value as a number of forwards.
    pub fn hop(&self) -> u32 {
        u32::try_from(self.value).unwrap_or(u32::MAX)
    }

    /// Whether it has what its kind has, and nothing else.
    ///
    /// # Errors
    /// The field that is wrong, and what is expected there.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let row = self.kind.row();
        let value = match row.value {
            Value::None => 0..=0,
            Value::Forwards => 0..=i64::from(u32::MAX),
            Value::Instant | Value::Length | Value::Components => 0..=i64::MAX,
        };
        match () {
            () if self.job.is_some() != row.has_job => Err(("job", "the number of a job")),
            () if !row.by.allow(Some(self.by)) => Err(("by", row.by.words())),
            () if !row.to.allow(self.to) => Err(("to", row.to.words())),
            () if self.reason.is_some() != row.has_reason => Err(("reason", "a known reason")),
            () if !value.contains(&self.value) => Err(("value", row.value.words())),
            () => Ok(()),
        }
    }
}

/// Which parties a field may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties(u8);

impl Parties {
    const NONE: Parties = Parties(0);
    const CLIENT: Parties = Parties(1);
    const BROKER: Parties = Parties(2);
    const LRMS: Parties = Parties(4);
    const SENDER: Parties = Parties(1 | 2);
    const ENTRY: Parties = Parties(2 | 4);
    const ANY: Parties = Parties(1 | 2 | 4);

    /// Whether it may be this one, or nobody.
    pub const fn allow(self, party: Option<Party>) -> bool {
        match party {
            None => self.0 == 0,
            Some(Party::Client) => self.0 & Self::CLIENT.0 > 0,
            Some(Party::Broker(_)) => self.0 & Self::BROKER.0 > 0,
            Some(Party::Lrms(_)) => self.0 & Self::LRMS.0 > 0,
        }
    }

    /// Who that is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NONE => "nobody",
            Self::CLIENT => "the client",
            Self::BROKER => "a broker of the grid",
            Self::LRMS => "an LRMS of the grid",
            Self::SENDER => "the client or a broker of the grid",
            Self::ENTRY => "a broker or an LRMS of the grid",
            _ => "a party of the grid",
        }
    }
}

/// What the value of a kind of event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// It has none.
    None,
    /// How often the job was forwarded so far.
    Forwards,
    /// An instant, in nanoseconds from the start of the run.
    Instant,
    /// A length of time, in nanoseconds.
    Length,
    /// Components of a job, as a sum of powers of two from 1 for the first.
    Components,
}

impl Value {
    /// What that is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Value::None => "nothing",
            Value::Forwards => "a number of forwards",
            Value::Instant => "an instant from 0",
            Value::Length => "a length of time from 0",
            Value::Components => "a sum of powers of two, or 0",
        }
    }

    /// What was read, for [`Event::check`] to find where it is missing.
    pub fn or_missing(self, read: Option<i64>) -> i64 {
        read.unwrap_or(if self == Value::None { 0 } else { -1 })
    }
}

/// What there is to say of a kind of event.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// Its name, wherever it is named.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub means: &'static str,
    /// An event of this kind told in words, with its fields in braces.
    pub says: &'static str,
    /// Who does it.
    pub by: Parties,
    /// Who receives it.
    pub to: Parties,
    /// What its value is.
    pub value: Value,
    /// Whether it is about a job.
    pub has_job: bool,
    /// Whether it has a reason.
    pub has_reason: bool,
    /// Whether it has a placement; it has no value then.
    pub has_placement: bool,
    /// Whether the job ends with it.
    pub is_terminal: bool,
    /// Whether it is the news of an end.
    pub is_news: bool,
    /// The kind of message that it stands for, exactly one each.
    pub message: Option<MessageKind>,
}

/// What most kinds have in common: they are about a job.
const fn row(name: &'static str, means: &'static str, says: &'static str) -> KindRow {
    KindRow {
        name,
        means,
        says,
        by: Parties::ANY,
        to: Parties::NONE,
        value: Value::None,
        has_job: true,
        has_reason: false,
        has_placement: false,
        is_terminal: false,
        is_news: false,
        message: None,
    }
}

macro_rules! event_kinds {
    ($($kind:ident $name:literal $means:literal $says:literal {$($field:ident: $value:expr),*})+) => {
        /// The kinds of event. Their order is that of cause and effect in the
        /// life of a job; where services told of a job at one instant, it
        /// decides what came first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum EventKind {
            $(#[doc = $means] $kind,)+
        }

        impl EventKind {
            /// Every kind, in their order.
            pub const ALL: [EventKind; [$($name),+].len()] = [$(EventKind::$kind),+];
        }

        /// By kind.
        const TABLE: &[KindRow; EventKind::ALL.len()] =
            &[$(KindRow { $($field: $value,)* ..row($name, $means, $says) }),+];
    };
}

event_kinds! {
    Submitted "submitted" "The replayer submits the job; the value is the intended instant."
        "submitted to {to} (intended at {value})"
        { by: Parties::CLIENT, to: Parties::ENTRY, value: Value::Instant, message: Some(MessageKind::Submit) }
    BrokerArrival "broker-arrival" "A broker has the job; the value is the number of its forwards so far."
        "arrived at {by} after {value} forwards"
        { by: Parties::BROKER, value: Value::Forwards }
    Recovered "recovered" "A restarted broker has found a job that it may have had before; the value is the number of its forwards so far."
        "found at {to} by {by}, which was restarted"
        { by: Parties::BROKER, to: Parties::ENTRY, value: Value::Forwards }
    Predicted "predicted" "A broker predicts when the job will start at the place where it sends the job; the value is that instant."
        "predicted by {by} to start at {value}"
        { by: Parties::BROKER, value: Value::Instant }
    Forwarded "forwarded" "A broker sends the job to a peer."
        "forwarded from {by} to {to}"
        { by: Parties::BROKER, to: Parties::BROKER, message: Some(MessageKind::Forward) }
    Dispatched "dispatched" "A broker hands the job to an LRMS of its own."
        "dispatched by {by} to {to}"
        { by: Parties::BROKER, to: Parties::LRMS, message: Some(MessageKind::Dispatch) }
    Refused "refused" "A broker or an LRMS sends the job back, or a broker takes back a job that it could not deliver."
        "sent back by {by} to {to}: {reason}"
        { to: Parties::ANY, has_reason: true, message: Some(MessageKind::Refuse) }
    ClaimRequested "claim-requested" "A broker asks an LRMS of its own to hold processors for a part of a job that several clusters are to run together; the value names the components of the job, as a sum of powers of two with 1 for the first component, or is 0 for some processors of a job that may be divided."
        "{by} asks {to} to hold processors: {value}"
        { by: Parties::BROKER, to: Parties::LRMS, value: Value::Components }
    Claimed "claimed" "An LRMS holds the processors of its placement for a part of the job."
        "processors held at {by}: {placement}"
        { by: Parties::LRMS, has_placement: true }
    ClaimRefused "claim-refused" "An LRMS does not have enough free processors at that instant for its part of the job."
        "no processors free at {by}"
        { by: Parties::LRMS }
    Queued "queued" "An LRMS accepts the job into its queue."
        "queued at {by}"
        { by: Parties::LRMS }
    Reserved "reserved" "An LRMS reserves processors for the job; the value is the instant from which they are reserved. The event is repeated if that instant changes within the job's start window."
        "processors reserved at {by} from {value}"
        { by: Parties::LRMS, value: Value::Instant }
    Promised "promised" "A plan promises the waiting job a start, only once; the value is the promised instant."
        "promised a start at {value} by {by}"
        { by: Parties::LRMS, value: Value::Instant }
    PromiseWithdrawn "promise-withdrawn" "The promise cannot be kept, since a job has run longer than its estimate, or nodes have failed or been repaired."
        "its promised start is withdrawn by {by}"
        { by: Parties::LRMS }
    Started "started" "The job begins to run on the processors of its placement."
        "started at {by} on {placement}"
        { by: Parties::LRMS, has_placement: true }
    NodeFailed "node-failed" "Nodes go down, with all their processors, by themselves or by hand; the jobs that run there end or are requeued at that instant."
        "{placement} failed at {by}"
        { by: Parties::LRMS, has_job: false, has_placement: true }
    NodeRepaired "node-repaired" "Nodes come up again."
        "{placement} repaired at {by}"
        { by: Parties::LRMS, has_job: false, has_placement: true }
    Requeued "requeued" "The job waits again at the LRMS, since a node that it ran on has failed; the value is how much of that run counts as done, at speed 1.0."
        "requeued at {by} with {value} done"
        { by: Parties::LRMS, value: Value::Length }
    LostTouch "lost-touch" "The sender of the job has lost contact with it and does not know its state; if the job ends, the service that has it logs the end."
        "{by} has lost contact with it at {to}: {reason}"
        { by: Parties::SENDER, to: Parties::ENTRY, has_reason: true }
    CancelRequested "cancel-requested" "A broker or an LRMS that has the job, or a broker that has sent it on, is asked to cancel it."
        "{by} is asked to cancel it"
        { by: Parties::ENTRY }
    LeaseRequested "lease-requested" "A broker asks a neighbour for the processors that the job needs; the value is the number of requests along this chain of brokers so far, this one included."
        "{by} asks {to} for its processors (request {value} along this chain)"
        { by: Parties::BROKER, to: Parties::BROKER, value: Value::Forwards }
    LeaseRejected "lease-rejected" "A broker has no processors for a job for which a neighbour has requested some; the value of this event and of the next three is the instant when that request was meant to arrive, which distinguishes it from other requests for the job."
        "{by} has no processors for {to}"
        { by: Parties::BROKER, to: Parties::BROKER, value: Value::Instant }
    Delegated "delegated" "A broker delegates the requested processors to a neighbour: its own, or processors that were delegated to it."
        "{by} delegates processors to {to}"
        { by: Parties::BROKER, to: Parties::BROKER, value: Value::Instant }
    Released "released" "A broker no longer needs or wants the processors that it has requested from a neighbour."
        "{by} releases processors of {to}"
        { by: Parties::BROKER, to: Parties::BROKER, value: Value::Instant }
    LeaseExpired "lease-expired" "A broker takes back processors that it has delegated, since their lease has timed out."
        "{by} takes processors back from {to}"
        { by: Parties::BROKER, to: Parties::BROKER, value: Value::Instant }
    Finished "finished" "The job ended by itself."
        "finished at {by}"
        { by: Parties::LRMS, is_terminal: true }
    Rejected "rejected" "The job is turned away for good."
        "rejected by {by}: {reason}"
        { has_reason: true, is_terminal: true }
    Cancelled "cancelled" "The job was removed on request, at the service that had it."
        "cancelled at {by}"
        { is_terminal: true }
    Failed "failed" "The job was lost to a fault, at the service that had it."
        "lost at {by}: {reason}"
        { has_reason: true, is_terminal: true }
    ClaimEnded "claim-ended" "An LRMS no longer holds the processors for its part of the job: the job has ended, another cluster had no processors, or no further message came."
        "processors given back at {by}"
        { by: Parties::LRMS }
    Notified "notified" "A message that the job has ended, or that contact with it is lost, travels towards its submitter."
        "news of its end sent by {by} to {to}"
        { to: Parties::ANY, is_news: true, message: Some(MessageKind::Notify) }
    FinishSeen "finish-seen" "The news of the job's end has reached the entry broker, or the submitter if there is no broker."
        "its end was seen by {by}"
        { is_news: true }
    InfoSent "info-sent" "Resource information is sent."
        "information sent by {by} to {to}"
        { to: Parties::ANY, has_job: false, message: Some(MessageKind::Info) }
}

impl EventKind {
    /// What there is to say of it.
    #[inline]
    pub const fn row(self) -> &'static KindRow {
        &TABLE[self as usize]
    }

    /// Its name, wherever it is named.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether a job ends with an event of this kind.
    pub const fn is_terminal(self) -> bool {
        self.row().is_terminal
    }
}

/// The kinds of message, as counted in results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum MessageKind {
    /// Client to broker or LRMS: a job.
    Submit,
    /// Broker to broker: a job.
    Forward,
    /// Broker to LRMS: a job.
    Dispatch,
    /// A job sent back.
    Refuse,
    /// News of a job's end.
    Notify,
    /// Resource information.
    Info,
}

impl MessageKind {
    /// All kinds, in the order of reports.
    pub const ALL: [MessageKind; 6] = [
        MessageKind::Submit,
        MessageKind::Forward,
        MessageKind::Dispatch,
        MessageKind::Refuse,
        MessageKind::Notify,
        MessageKind::Info,
    ];

    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
