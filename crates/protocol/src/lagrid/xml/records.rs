//! The records of the native interface that messages have parts of, with the names of
//! their elements, in the order of the schema.

use super::LaGrid;
use crate::lagrid::LAGRID;
use crate::rest::{JobEndReport, LetterName, LoadReport, MeanReport, NodeGroup};
use crate::xml::record::records;

records! { LaGrid:
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
    JobEndReport in LAGRID {
        job = "job",
        state = "state",
        reason = "reason",
        cluster = "cluster",
        start_ns = "startNs",
        finish_ns = "finishNs",
    }
}
