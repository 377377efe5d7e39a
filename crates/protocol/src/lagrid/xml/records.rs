//! What stands in a sequence of elements: every record of the messages with
//! the names of its elements, in the order of the schema.

use super::LaGrid;
use crate::lagrid::LAGRID;
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
use crate::xml::record::{put, records, tag, take};

records! { LaGrid:
    OpenConn in LAGRID {
        initiator = "initiator",
        endpoint = "endpoint",
        incarnation = "incarnation",
        connection = "connection",
        round = "round",
        max_rounds = "maxRounds",
        proposal = "proposal",
    }
    Proposal in LAGRID {
        authentication = "authentication",
        initiator_roles = "initiatorRole",
        responder_roles = "responderRole",
        heartbeat_ms = "heartbeatMs",
        job_languages = "jobLanguage",
        resource_languages = "resourceLanguage",
        resource_forms = "resourceForm",
    }
    Terms in LAGRID {
        authentication = "authentication",
        initiator_roles = "initiatorRole",
        responder_roles = "responderRole",
        heartbeat_ms = "heartbeatMs",
        job_language = "jobLanguage",
        resource_language = "resourceLanguage",
        resource_form = "resourceForm",
    }
    OpenConnAnswer in LAGRID {
        responder = "responder",
        endpoint = "endpoint",
        incarnation = "incarnation",
        connection = "connection",
        round = "round",
        verdict = "verdict",
    }
    Refusal in LAGRID {
        code = "code",
        reason = "reason",
    }
    NotifyConn in LAGRID {
        connection = "connection",
        event = "event",
        code = "code",
        reason = "reason",
    }
    Taken in LAGRID {
        repeated = "repeated" [or false],
    }
    Heartbeat in LAGRID {
        connection = "connection",
        sequence = "sequence",
        incarnation = "incarnation",
    }
    HeartbeatAnswer in LAGRID {
        sequence = "sequence",
        incarnation = "incarnation",
    }
    RequestResourceData in LAGRID {
        connection = "connection",
        form = "form",
        since = "since",
    }
    ResourceUpdate in LAGRID {
        kind = "kind",
        sequence = "sequence",
        from_sequence = "fromSequence",
        form = "form",
        at_ns = "atNs",
        clusters = "cluster",
        inventory = "inventory",
        removed = "removed",
    }
    ClusterReport in LAGRID {
        name = "name",
        groups = "nodes",
        load = "load",
    }
    NodeGroup in LAGRID {
        name = "name",
        nodes = "count",
        processors_per_node = "processorsPerNode",
        architecture = "architecture",
        os = "os",
        memory_mib = "memoryMib",
        disk_mib = "diskMib",
        speed = "speed",
        generic_resources = "genericResources",
    }
    LoadReport in LAGRID {
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
        free_generic_resources = "freeGenericResources",
    }
    MeanReport in LAGRID {
        sum = "sum",
        weight_ns = "weightNs",
    }
    LetterName in LAGRID {
        incarnation = "incarnation",
        number = "number",
    }
    SendResourceData in LAGRID {
        connection = "connection",
        letter = "letter",
        meant_ns = "meantNs",
        update = "update",
    }
    SendResourceDataAnswer in LAGRID {
        verdict = "verdict",
        have = "have",
    }
    SubmitJob in LAGRID {
        connection = "connection",
        key = "key",
        origin = "origin",
        hop = "hop" [or 0],
        ttl = "ttl",
        forwarder = "forwarder",
        meant_ns = "meantNs",
        job = "job",
    }
    Origin in LAGRID {
        domain = "domain",
        job = "job",
        user = "user",
    }
    SubmitJobAnswer in LAGRID {
        job = "job",
        state = "state",
        reason = "reason",
        at_ns = "atNs",
        repeated = "repeated" [or false],
        endpoint = "endpoint",
    }
    QueryJob in LAGRID {
        connection = "connection",
        job = "job",
    }
    CancelJob in LAGRID {
        connection = "connection",
        job = "job",
    }
    JobReport in LAGRID {
        job = "job",
        state = "state",
        reason = "reason",
        cluster = "cluster",
        start_ns = "startNs",
        finish_ns = "finishNs",
    }
    NotifyJob in LAGRID {
        connection = "connection",
        letter = "letter",
        meant_ns = "meantNs",
        news = "news",
        report = "report",
        reference = "",
    }
}
