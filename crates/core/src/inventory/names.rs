//! The types, attributes and relations that gridrig itself knows. Those of
//! LA Grid's Table 2 have its names; a schema may bring any others.

/// An LRMS and the nodes it rules: what one job can span at most.
pub const CLUSTER: &str = "Cluster";
/// Nodes of one kind.
pub const COMPUTER_SYSTEM: &str = "ComputerSystem";
/// What they run.
pub const OPERATING_SYSTEM: &str = "OperatingSystem";
/// Their disk.
pub const FILE_SYSTEM: &str = "FileSystem";

/// The parent has the child and nobody else does.
pub const CONTAINS: &str = "contains";
/// The parent may share the child with others.
pub const USES: &str = "uses";

/// Architecture of a computer system, compared without regard to ASCII case.
pub const PROC_TYPE: &str = "ProcType";
/// Speed of one processor; of gridrig's own clusters relative to 1.0.
pub const PROC_SPEED: &str = "ProcSpeed";
/// Processors of a computer system or of a cluster.
pub const PROC_NUM: &str = "ProcNum";
/// Processors in use, in percent of one (Table 2).
pub const CPU_UTIL: &str = "CPUUtil";
/// Busy processors of a cluster at the instant.
pub const PROC_BUSY: &str = "ProcBusy";
/// Processors of a cluster that no job runs on.
pub const PROC_FREE: &str = "ProcFree";
/// Processors that the jobs in a cluster's queue want.
pub const PROC_QUEUED: &str = "ProcQueued";
/// Jobs in a cluster's queue.
pub const JOBS_QUEUED: &str = "JobsQueued";
/// Before the name of a generic resource of a computer system: how many it has.
/// Aggregated forms keep these, whatever the schema names.
pub const GENERIC: &str = "Generic.";
/// Before the same of a cluster: how many are free on all its nodes.
pub const FREE_GENERIC: &str = "FreeGeneric.";
/// Operating system, compared without regard to ASCII case.
pub const OS_TYPE: &str = "OSType";
/// Memory that is free, in MB (Table 2); of a cluster, on all its nodes.
pub const FREE_MEM: &str = "FreeMem";
/// Virtual memory that is free, in MB (Table 2).
pub const FREE_VIR_MEM: &str = "FreeVirMem";
/// Memory of one computer system in MiB; none given is no limit.
pub const TOTAL_MEM: &str = "TotalMem";
/// Kind of file system.
pub const FS_TYPE: &str = "FSType";
/// Size of a file system in MiB; none given is no limit.
pub const SIZE_MB: &str = "SizeMB";
/// What is free of it in MB (Table 2); of a cluster, on its nodes that have a
/// free processor.
pub const FREE_MB: &str = "FreeMB";
