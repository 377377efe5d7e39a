//! `scontrol show config`, `node` and `partition`

use super::layout;
use crate::faces::slurm::batch::MAX_ARRAY_SIZE;
use crate::faces::slurm::show::{Caller, Said, refuse};
use crate::faces::slurm::site::{Down, MIN_JOB_AGE, Node, Site, VERSION, gres};
use crate::faces::slurm::store::{Action, JobStore};
use crate::faces::slurm::wire::Answer;
use crate::nodes;
use crate::slurm::hostlist;
use crate::slurm::times;
use gridrig_core::time::SimTime;

/// The keys of the configuration that mean something here, in Slurm's layout.
pub(super) fn config(store: &JobStore, now: SimTime) -> String {
    let site = &store.site;
    let age = times::seconds(MIN_JOB_AGE);
    let mut groups = site.resources.groups().iter();
    let select = match groups.all(|group| group.memory_mib.is_none()) {
        true => "CR_CPU",
        false => "CR_CPU_MEMORY",
    };
    let (booted, age) = (site.stamp(SimTime::ZERO), format!("{age} sec"));
    let (largest, most) = (MAX_ARRAY_SIZE.to_string(), site.max_jobs.to_string());
    let next = store.next_id().to_string();
    let scheduler = format!("gridrig_discipline={}", site.discipline);
    let keys: [(&str, &str); 24] = [
        ("AccountingStorageType", "accounting_storage/none"),
        ("AuthType", "auth/none"),
        ("BOOT_TIME", &booted),
        ("ClusterName", &site.cluster),
        ("DefMemPerNode", "UNLIMITED"),
        ("EnforcePartLimits", "ALL"),
        ("FirstJobId", "1"),
        ("KillWait", "5 sec"),
        ("MaxArraySize", &largest),
        ("MaxJobCount", &most),
        ("MaxJobId", "67043328"),
        ("MaxMemPerNode", "UNLIMITED"),
        ("MinJobAge", &age),
        ("MpiDefault", "none"),
        ("NEXT_JOB_ID", &next),
        ("OverTimeLimit", "0 min"),
        ("PreemptMode", "OFF"),
        ("PriorityType", "priority/basic"),
        ("SchedulerParameters", &scheduler),
        ("SchedulerType", "sched/builtin"),
        ("SelectType", "select/cons_tres"),
        ("SelectTypeParameters", select),
        ("SlurmctldHost[0]", &site.host),
        ("SLURM_VERSION", VERSION),
    ];
    let mut out = format!("Configuration data as of {}\n", site.stamp(now));
    for (key, value) in keys {
        out.push_str(&format!("{key:<23} = {value}\n"));
    }
    out.push_str(&format!("\nSlurmctld(primary) at {} is UP\n", site.host));
    out
}

pub(super) fn nodes(
    store: &JobStore,
    wanted: Option<&str>,
    one_line: bool,
    now: SimTime,
) -> Answer {
    let all = store.site.nodes(store.placements());
    let text = |node: &Node| layout(&node_lines(&store.site, node, now), one_line);
    let Some(wanted) = wanted else {
        return Answer::said(all.iter().map(text).collect());
    };
    let names = hostlist::expand(wanted).unwrap_or_default();
    let mut answer = Answer::default();
    for name in names {
        match all.iter().find(|node| node.name == name) {
            Some(node) => answer.stdout.push_str(&text(node)),
            None => {
                answer.code = 1;
                answer.stdout.push_str(&format!("Node {name} not found\n"));
            }
        }
    }
    answer
}

fn node_lines(site: &Site, node: &Node, now: SimTime) -> Vec<String> {
    let group = &site.resources.groups()[node.group];
    let (name, cpus, taken) = (&node.name, node.cpus, node.taken);
    let disk = group.disk_mib.unwrap_or(0);
    let state = match node.state().0 {
        "drained" => "IDLE+DRAIN".to_owned(),
        state => state.to_ascii_uppercase(),
    };
    let booted = site.stamp(SimTime::ZERO);
    let memory = group.memory_mib.unwrap_or(1);
    let architecture = group.architecture.as_deref().unwrap_or("x86_64");
    let system = group.os.as_deref().unwrap_or("Linux");
    let allocated = match taken {
        0 => String::new(),
        taken => format!("cpu={taken}"),
    };
    let mut lines = vec![
        format!("NodeName={name} Arch={architecture} CoresPerSocket=1 "),
        format!("CPUAlloc={taken} CPUEfctv={cpus} CPUTot={cpus} CPULoad={taken}.00"),
        "AvailableFeatures=(null)".to_owned(),
        "ActiveFeatures=(null)".to_owned(),
        format!("Gres={}", gres(group)),
        format!("NodeAddr={name} NodeHostName={name} Port=0 Version={VERSION}"),
        format!("OS={system} "),
        format!("RealMemory={memory} AllocMem=0 FreeMem={memory} Sockets={cpus} Boards=1"),
        format!("State={state} ThreadsPerCore=1 TmpDisk={disk} Weight=1 Owner=N/A MCS_label=N/A"),
        format!("Partitions={} ", site.partition),
        format!("BootTime={booted} SlurmdStartTime={booted}"),
        format!("LastBusyTime={}", site.stamp(now)),
        format!("CfgTRES=cpu={cpus},mem={memory}M,billing={cpus}"),
        format!("AllocTRES={allocated}"),
        "CapWatts=n/a".to_owned(),
        "CurrentWatts=0 AveWatts=0".to_owned(),
        "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s".to_owned(),
    ];
    if let Some(down) = &node.down {
        let (reason, by, at) = (&down.reason, &down.by, site.stamp(down.at));
        lines.push(format!("Reason={reason} [{by}@{at}]"));
    }
    lines
}

/// `scontrol update NodeName=...`: nodes are taken down, or set back to work.
pub(super) fn update(store: &mut JobStore, words: &[&str], caller: &Caller) -> Said {
    let (mut names, mut state, mut reason) = (None, None, None);
    for word in words {
        let (key, value) = match word.split_once('=') {
            Some((key, value)) => (key.to_ascii_lowercase(), value),
            None => return refuse(format!("Invalid input: {word}\nRequest aborted\n")),
        };
        let is = |name: &str| !key.is_empty() && name.starts_with(&key);
        match () {
            () if is("nodename") => names = Some(value),
            () if is("reason") => reason = Some(value.trim_matches(['\'', '"'])),
            () if is("state") => state = Some(value),
            () => return refuse(format!("slurm_update error: {UNSUPPORTED}")),
        }
    }
    let names = hostlist::expand(names.unwrap_or_default()).unwrap_or_default();
    let (state, reason) = (state.unwrap_or_default(), reason.unwrap_or_default());
    let up = match &*state.to_ascii_lowercase() {
        "resume" | "undrain" => true,
        "down" | "drain" if !reason.is_empty() => false,
        "down" | "drain" => return refuse(NO_REASON),
        _ => return refuse(format!("Invalid input: State={state}\n{STATES}")),
    };
    let is_drained = state.eq_ignore_ascii_case("drain");
    let all = store.site.nodes(store.placements());
    let named = |name: &String| all.iter().find(|node| node.name == *name);
    let found: Option<Vec<&Node>> = names.iter().map(named).collect();
    let Some(found) = found.filter(|found| !found.is_empty()) else {
        return refuse("slurm_update error: Invalid node name specified\n");
    };
    // The model has no node that runs its last jobs.
    if is_drained && found.iter().any(|node| node.taken > 0) {
        return refuse(format!("slurm_update error: {UNSUPPORTED}"));
    }
    if up && found.iter().any(|node| node.down.is_none()) {
        return refuse("slurm_update error: Invalid node state specified\n");
    }
    for node in found {
        let change = nodes::named(&store.site.resources, &node.name, up);
        change
            .into_iter()
            .for_each(|it| store.give(Action::Node(it)));
        let down = Down {
            reason: reason.to_owned(),
            by: caller.user.to_string(),
            uid: caller.uid,
            at: caller.now,
            is_drained,
        };
        if !up {
            store.site.down.insert(node.name.clone(), down);
        }
    }
    Ok(Answer::default())
}

/// What Slurm says of a node that is taken down for no reason.
const NO_REASON: &str =
    "You must specify a reason when DOWNING or DRAINING a node. Request denied\n";

/// What Slurm says of a state that it does not know.
const STATES: &str = "Request aborted\nValid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN \
                      POWER_UP UNDRAIN\nNot all states are valid given a node's prior state\n";

/// What Slurm says of what it does not do.
const UNSUPPORTED: &str = "Requested operation not supported on this system\n";

pub(super) fn partition(store: &JobStore, wanted: Option<&str>, one_line: bool) -> Answer {
    let site = &store.site;
    if let Some(other) = wanted.filter(|name| *name != site.partition) {
        return Answer::missing(format!("Partition {other} not found\n"));
    }
    let nodes = site.nodes(std::iter::empty());
    let names = hostlist::compress(nodes.iter().map(|node| node.name.as_str()));
    let (cpus, count) = (site.resources.processors(), nodes.len());
    let memory = site.resources.groups().iter();
    let memory = memory
        .map(|group| u64::from(group.count).saturating_mul(group.memory_mib.unwrap_or(1)))
        .fold(0, u64::saturating_add);
    let lines = [
        format!("PartitionName={}", site.partition),
        "AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL".to_owned(),
        "AllocNodes=ALL Default=YES QoS=N/A".to_owned(),
        "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO".to_owned(),
        "MaxNodes=UNLIMITED MaxTime=UNLIMITED MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED"
            .to_owned(),
        format!("Nodes={names}"),
        "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO".to_owned(),
        "OverTimeLimit=NONE PreemptMode=OFF".to_owned(),
        format!("State=UP TotalCPUs={cpus} TotalNodes={count} SelectTypeParameters=NONE"),
        "JobDefaults=(null)".to_owned(),
        "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED".to_owned(),
        format!("TRES=cpu={cpus},mem={memory}M,node={count},billing={cpus}"),
    ];
    Answer::said(layout(&lines, one_line))
}
