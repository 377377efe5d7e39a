//! The requests: what each operation asks for, within which bounds, and what it is
//! answered with.

use super::check::{
    Check, MAX_NAME, MAX_REASON, connection, ensure, optional, parameters, positive, text,
};
use super::connection::{HeartbeatAnswer, OpenConnAnswer, Proposal, Taken};
use super::handler::{Answers, Caller};
use super::job::{JobReport, Origin, SubmitJobAnswer};
use super::message::{Message, Request, checked, messages, read_json, write_json};
use super::reference::{Parameter, Reference};
use super::resource::{ResourceUpdate, SendResourceDataAnswer};
use super::words::{ConnEvent, Form, JobNews};
use super::xml::{self, LaGrid, parts};
use crate::jsdl::JobDefinition;
use crate::rest::{LetterName, Problem, Result};
use crate::words::words;
use crate::xml::{Element, LAGRID, Name};

parts! {
    /// A round of a negotiation (section 2.1): what the initiator proposes. One
    /// that names an established connection negotiates its terms again; the old
    /// ones hold until there are others.
    pub struct OpenConn {
        /// The initiator's domain, by name.
        pub initiator: String = "initiator",
        /// Where the initiator takes messages.
        pub endpoint: Reference = "endpoint",
        /// Which life of the initiator this is: one that was restarted has
        /// another, greater number.
        pub incarnation: u64 = "incarnation",
        /// The negotiation or connection, as the responder named it; absent in the
        /// first round of a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub connection: Option<String> = "connection",
        /// Which round it is, from 1.
        pub round: u32 = "round",
        /// Rounds after which the initiator gives up.
        pub max_rounds: u32 = "maxRounds",
        /// What it proposes.
        pub proposal: Proposal = "proposal",
    }

    /// Tells of an error on a connection, or ends it.
    pub struct NotifyConn {
        /// The connection.
        pub connection: String = "connection",
        /// What has happened.
        pub event: ConnEvent = "event",
        /// A fixed name of what has happened.
        pub code: String = "code",
        /// What has happened in a sentence.
        pub reason: String = "reason",
    }

    /// A sign of life.
    pub struct Heartbeat {
        /// The connection.
        pub connection: String = "connection",
        /// Rises from sign to sign of one party on one connection, from 1.
        pub sequence: u64 = "sequence",
        /// Which life of the sender this is.
        pub incarnation: u64 = "incarnation",
    }

    /// A consumer asks a provider for its resources (pull).
    pub struct RequestResourceData {
        /// The connection.
        pub connection: String = "connection",
        /// How far the information shall be aggregated; absent, as agreed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub form: Option<Form> = "form",
        /// The last update that the consumer has, for an incremental answer;
        /// absent, the answer is full.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub since: Option<u64> = "since",
    }

    /// A provider tells a consumer of its resources (push).
    pub struct SendResourceData {
        /// The connection.
        pub connection: String = "connection",
        /// The name of this letter; without one it is never a repetition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub letter: Option<LetterName> = "letter",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// The resources.
        pub update: ResourceUpdate = "update",
    }

    /// A job that is submitted or forwarded. `J` is the job's description: read,
    /// or in JSON the text of the JSDL document.
    pub struct SubmitJob<J = JobDefinition> {
        /// The connection.
        pub connection: String = "connection",
        /// Idempotency key: a submission repeated under its key is answered with
        /// the first answer and never run twice. Brokers use `RUN/ORIGIN/JOB/HOP`.
        pub key: String = "key",
        /// Where the job entered; absent where it does so here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Origin> = "origin",
        /// Forwards so far, this one included.
        #[serde(default)]
        pub hop: u32 = "hop" [or 0],
        /// Forwards that are still allowed; absent, as many as the receiver's own
        /// rules allow.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ttl: Option<u32> = "ttl",
        /// Whom to tell of the job: the forwarder's endpoint, with the forwarder's
        /// own name of the job among its parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub forwarder: Option<Reference> = "forwarder",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// The job, with the sizes of its data.
        #[serde(rename = "jsdl")]
        pub job: J = "job",
    }

    /// Asks where a job stands.
    pub struct QueryJob {
        /// The connection.
        pub connection: String = "connection",
        /// The receiver's name of the job.
        pub job: u32 = "job",
    }

    /// News of a job, on its way back along the brokers it came by.
    pub struct NotifyJob {
        /// The connection.
        pub connection: String = "connection",
        /// The name of this letter; without one it is never a repetition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub letter: Option<LetterName> = "letter",
        /// When it was meant to arrive, in nanoseconds of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub meant_ns: Option<u64> = "meantNs",
        /// What is told.
        pub news: JobNews = "news",
        /// The job, by the name that the notifier gave it.
        pub report: JobReport = "report",
        /// The parameters of the reference that the job was tagged with, where the
        /// receiver has its own name of the job. SOAP carries them in the header.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub reference: Vec<Parameter> = "",
    }

    /// Asks for a job to be removed. One that is elsewhere is removed there, and
    /// its end is told like any other.
    pub struct CancelJob {
        /// The connection.
        pub connection: String = "connection",
        /// The receiver's name of the job.
        pub job: u32 = "job",
    }
}

parts! {
    /// A provider tells that it takes no new jobs for a while, and at the end of it
    /// that it takes jobs again.
    pub struct NotifyDrain {
        /// The connection.
        pub connection: String = "connection",
        /// Before this instant it takes none, in nanoseconds of the run.
        pub until_ns: u64 = "untilNs",
    }
}

impl Check for NotifyDrain {
    fn check(&self) -> Result<()> {
        connection(&self.connection)
    }
}

impl<J> SubmitJob<J> {
    /// The same submission with its description in another form.
    ///
    /// # Errors
    /// What `map` fails with.
    pub fn try_map<K, E>(self, map: impl FnOnce(J) -> Result<K, E>) -> Result<SubmitJob<K>, E> {
        Ok(SubmitJob {
            connection: self.connection,
            key: self.key,
            origin: self.origin,
            hop: self.hop,
            ttl: self.ttl,
            forwarder: self.forwarder,
            meant_ns: self.meant_ns,
            job: map(self.job)?,
        })
    }
}

impl Check for OpenConn {
    fn check(&self) -> Result<()> {
        text("initiator", &self.initiator, MAX_NAME)?;
        self.endpoint.check()?;
        optional("connection", &self.connection, MAX_NAME)?;
        positive("round", self.round.into())?;
        positive("max_rounds", self.max_rounds.into())?;
        let expected = format!("at most max_rounds, which is {}", self.max_rounds);
        let (round, in_time) = (self.round, self.round <= self.max_rounds);
        ensure(in_time, "round", round, &expected)?;
        self.proposal.check()
    }
}

impl Check for NotifyConn {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        text("code", &self.code, MAX_NAME)?;
        text("reason", &self.reason, MAX_REASON)
    }
}

impl Check for Heartbeat {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        positive("sequence", self.sequence)
    }
}

impl Check for RequestResourceData {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        self.since.map_or(Ok(()), |since| positive("since", since))
    }
}

impl Check for SendResourceData {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        self.update.check()
    }
}

impl<J> Check for SubmitJob<J> {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        text("key", &self.key, MAX_NAME)?;
        if let Some(origin) = &self.origin {
            text("origin.domain", &origin.domain, MAX_NAME)?;
            optional("origin.user", &origin.user, MAX_NAME)?;
        }
        if let Some(forwarder) = &self.forwarder {
            forwarder.check()?;
        }
        let (entered, by) = (self.origin.is_some(), self.forwarder.is_some());
        let expected = "the endpoint of whoever forwards the job (hop > 0)";
        ensure(self.hop == 0 || by, "forwarder", "", expected)?;
        let expected = "where a forwarded job (hop > 0) entered";
        ensure(self.hop == 0 || entered, "origin", "", expected)
    }
}

impl Check for QueryJob {
    fn check(&self) -> Result<()> {
        connection(&self.connection)
    }
}

impl Check for NotifyJob {
    fn check(&self) -> Result<()> {
        connection(&self.connection)?;
        parameters(&self.reference)?;
        self.report.check()
    }
}

impl Check for CancelJob {
    fn check(&self) -> Result<()> {
        connection(&self.connection)
    }
}

messages! {
    OpenConn, NotifyConn, Heartbeat, RequestResourceData, SendResourceData, QueryJob, CancelJob,
    NotifyDrain,
    NotifyJob {
        fn reference(&self) -> &[Parameter] {
            &self.reference
        }

        fn with_header(self, header: &[Element]) -> Result<Self> {
            let reference = xml::parameters(header)?;
            checked(NotifyJob { reference, ..self })
        }
    },
}

/// In JSON the job's description is the text of its document.
impl Message for SubmitJob {
    fn to_element(&self, name: impl Into<Name>) -> Element {
        xml::to_element(self, name)
    }

    fn from_element(element: &Element) -> Result<Self> {
        checked(xml::from_element(element)?)
    }

    fn to_json(&self) -> Vec<u8> {
        let text = self.clone().try_map(|job| Ok::<_, Problem>(job.write()));
        text.map(|text| write_json(&text)).unwrap_or_default()
    }

    fn from_json(document: &[u8]) -> Result<Self> {
        let text: SubmitJob<String> = checked(read_json(document)?)?;
        text.try_map(|text| Ok(JobDefinition::read("jsdl", text.as_bytes())?))
    }
}

/// One message of a codec, and how its answer is written.
pub trait Exchange: Send + Sync {
    /// An answer as it is written.
    type Written;

    /// The request.
    ///
    /// # Errors
    /// A fault that names what is wrong with it.
    fn read<R: Request>(&self) -> Result<R>;

    /// Its answer.
    fn write<R: Request>(&self, answer: &R::Answer) -> Self::Written;
}

macro_rules! operations {
    ($($(#[$what:meta])* $kind:ident = $name:literal => $answer:ty,)+) => {
        words! {
            /// An operation of the protocol, in the order of the paper's Table 1, by the name
            /// of the request's element and of the JSON route.
            Operation { $($(#[$what])* $kind = $name,)+ }
        }

        $(impl Request for $kind {
            type Answer = $answer;
            const OPERATION: Operation = Operation::$kind;
        })+

        /// Whoever answers them all.
        pub trait Handler: $(Answers<$kind> +)+ {}

        impl Operation {
            /// Has a request of this operation answered.
            ///
            /// # Errors
            /// What is wrong with the request, or why it is turned away.
            pub async fn serve<E: Exchange>(
                self,
                handler: &impl Handler,
                caller: &Caller,
                exchange: &E,
            ) -> Result<E::Written> {
                match self {
                    $(Operation::$kind => {
                        let answer = handler.answer(caller, exchange.read::<$kind>()?).await?;
                        Ok(exchange.write::<$kind>(&answer))
                    })+
                }
            }
        }
    };
}

operations! {
    /// Negotiates a connection, or its terms again.
    OpenConn = "openConn" => OpenConnAnswer,
    /// Tells of an error or ends a connection.
    NotifyConn = "notifyConn" => Taken,
    /// Shows that the sender is alive.
    Heartbeat = "heartbeat" => HeartbeatAnswer,
    /// Asks for resource information (pull).
    RequestResourceData = "requestResourceData" => ResourceUpdate,
    /// Sends resource information (push).
    SendResourceData = "sendResourceData" => SendResourceDataAnswer,
    /// Submits or forwards a job.
    SubmitJob = "submitJob" => SubmitJobAnswer,
    /// Asks where a job stands.
    QueryJob = "queryJob" => JobReport,
    /// Tells of a job's end or of its refusal.
    NotifyJob = "notifyJob" => Taken,
    /// Asks for a job to be removed.
    CancelJob = "cancelJob" => JobReport,
    /// Tells that the sender takes no new jobs for a while. Not in the paper.
    NotifyDrain = "notifyDrain" => Taken,
}
