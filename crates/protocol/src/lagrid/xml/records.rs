//! What stands in a sequence of elements: every record of the messages with
//! the names of its elements, in the order of the schema.

use super::{Field, Fields, Record};
use crate::lagrid::PeerFault;
use crate::lagrid::connection::{
    Heartbeat, HeartbeatAnswer, NotifyConn, OpenConn, OpenConnAnswer, Proposal, Refusal, Taken,
    Terms,
};
use crate::lagrid::job::{
    CancelJob, JobReport, NotifyJob, Origin, QueryJob, SubmitJob, SubmitJobAnswer,
};
use crate::lagrid::resource::{
    ClusterReport, RequestResourceData, ResourceUpdate, SendResourceData, SendResourceDataAnswer,
};
use crate::rest::{LetterName, LoadReport, MeanReport, NodeGroup};
use crate::xml::Element;

/// `or` names what a missing element stands for.
macro_rules! take {
    ($fields:ident, $name:literal) => {
        Field::take($fields, $name)?
    };
    ($fields:ident, $name:literal, $default:expr) => {
        <Option<_> as Field>::take($fields, $name)?.unwrap_or($default)
    };
}

macro_rules! records {
    ($($kind:ident { $($field:ident = $name:literal $(or $default:expr)?,)+ })+) => {$(
        impl Record for $kind {
            fn put_all(&self, element: &mut Element) {
                $(self.$field.put($name, element);)+
            }

            fn take_all(fields: &mut Fields<'_>) -> Result<Self, PeerFault> {
                Ok($kind { $($field: take!(fields, $name $(, $default)?),)+ })
            }
        }
    )+};
}

records! {
    OpenConn {
        initiator = "initiator",
        endpoint = "endpoint",
        incarnation = "incarnation",
        connection = "connection",
        round = "round",
        max_rounds = "maxRounds",
        proposal = "proposal",
    }
    Proposal {
        authentication = "authentication",
        initiator_roles = "initiatorRole",
        responder_roles = "responderRole",
        heartbeat_ms = "heartbeatMs",
        job_languages = "jobLanguage",
        resource_languages = "resourceLanguage",
        resource_forms = "resourceForm",
    }
    Terms {
        authentication = "authentication",
        initiator_roles = "initiatorRole",
        responder_roles = "responderRole",
        heartbeat_ms = "heartbeatMs",
        job_language = "jobLanguage",
        resource_language = "resourceLanguage",
        resource_form = "resourceForm",
    }
    OpenConnAnswer {
        responder = "responder",
        endpoint = "endpoint",
        incarnation = "incarnation",
        connection = "connection",
        round = "round",
        verdict = "verdict",
    }
    Refusal {
        code = "code",
        reason = "reason",
    }
    NotifyConn {
        connection = "connection",
        event = "event",
        code = "code",
        reason = "reason",
    }
    Taken {
        repeated = "repeated" or false,
    }
    Heartbeat {
        connection = "connection",
        sequence = "sequence",
        incarnation = "incarnation",
    }
    HeartbeatAnswer {
        sequence = "sequence",
        incarnation = "incarnation",
    }
    RequestResourceData {
        connection = "connection",
        form = "form",
        since = "since",
    }
    ResourceUpdate {
        kind = "kind",
        sequence = "sequence",
        from_sequence = "fromSequence",
        form = "form",
        at_ns = "atNs",
        clusters = "cluster",
        inventory = "inventory",
        removed = "removed",
    }
    ClusterReport {
        name = "name",
        groups = "nodes",
        load = "load",
    }
    NodeGroup {
        name = "name",
        nodes = "count",
        processors_per_node = "processorsPerNode",
        architecture = "architecture",
        os = "os",
        memory_mib = "memoryMib",
        disk_mib = "diskMib",
        speed = "speed",
    }
    LoadReport {
        cluster = "cluster",
        at_ns = "atNs",
        processors = "processors",
        busy = "busy",
        queued = "queued",
        queued_processors = "queuedProcessors",
        work_left = "workLeft",
        queued_mean_30s = "queuedMean30s",
        queued_mean_300s = "queuedMean300s",
        busy_mean_30s = "busyMean30s",
        busy_mean_300s = "busyMean300s",
        free_memory_kib = "freeMemoryKib",
        free_node_memory_kib = "freeNodeMemoryKib",
        free_disk_mib = "freeDiskMib",
    }
    MeanReport {
        sum = "sum",
        weight_ns = "weightNs",
    }
    LetterName {
        incarnation = "incarnation",
        number = "number",
    }
    SendResourceData {
        connection = "connection",
        letter = "letter",
        meant_ns = "meantNs",
        update = "update",
    }
    SendResourceDataAnswer {
        verdict = "verdict",
        have = "have",
    }
    SubmitJob {
        connection = "connection",
        key = "key",
        origin = "origin",
        hop = "hop" or 0,
        ttl = "ttl",
        forwarder = "forwarder",
        meant_ns = "meantNs",
        job = "job",
    }
    Origin {
        domain = "domain",
        job = "job",
        user = "user",
    }
    SubmitJobAnswer {
        job = "job",
        state = "state",
        reason = "reason",
        at_ns = "atNs",
        repeated = "repeated" or false,
        endpoint = "endpoint",
    }
    QueryJob {
        connection = "connection",
        job = "job",
    }
    CancelJob {
        connection = "connection",
        job = "job",
    }
    JobReport {
        job = "job",
        state = "state",
        reason = "reason",
        cluster = "cluster",
        start_ns = "startNs",
        finish_ns = "finishNs",
    }
}

/// The reference parameters stand in the header of the envelope.
impl Record for NotifyJob {
    fn put_all(&self, element: &mut Element) {
        self.connection.put("connection", element);
        self.letter.put("letter", element);
        self.meant_ns.put("meantNs", element);
        self.news.put("news", element);
        self.report.put("report", element);
    }

    fn take_all(fields: &mut Fields<'_>) -> Result<Self, PeerFault> {
        Ok(NotifyJob {
            connection: Field::take(fields, "connection")?,
            letter: Field::take(fields, "letter")?,
            meant_ns: Field::take(fields, "meantNs")?,
            news: Field::take(fields, "news")?,
            report: Field::take(fields, "report")?,
            reference: Vec::new(),
        })
    }
}
