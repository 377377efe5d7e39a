//! What a script finds in its environment (sbatch(1), "Output environment
//! variables").

use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::Job;
use crate::faces::slurm::users::group_name;
use std::collections::BTreeMap;
use std::path::Path;

/// Where programs are looked for when the submitter's environment is not
/// taken along.
const PLAIN_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What is the same for every script: it is task 0 on node 0.
const FIXED: [(&str, &str); 9] = [
    ("ENVIRONMENT", "BATCH"),
    ("SLURM_GTIDS", "0"),
    ("SLURM_LOCALID", "0"),
    ("SLURM_NODEID", "0"),
    ("SLURM_NODE_ALIASES", "(null)"),
    ("SLURM_PRIO_PROCESS", "0"),
    ("SLURM_PROCID", "0"),
    ("SLURM_TOPOLOGY_ADDR_PATTERN", "node"),
    ("TMPDIR", "/tmp"),
];

/// The environment of a job that has its nodes.
pub(super) fn environment(job: &Job, site: &Site, dir: &Path) -> Vec<(String, String)> {
    let mut env = exported(job);
    let path = env.get("PATH").map_or(PLAIN_PATH, String::as_str);
    let own = dir.display().to_string();
    if !path.split(':').any(|part| part == own) {
        // The script's own srun and scontrol are to be this cluster's.
        let path = format!("{own}:{path}");
        env.insert("PATH".to_owned(), path);
    }
    for (name, value) in of_job(job, site).into_iter().chain(of_task(job)) {
        env.insert(name.to_owned(), value);
    }
    env.into_iter().collect()
}

/// What `--export` says: all (the default), nothing, or names and settings.
fn exported(job: &Job) -> BTreeMap<String, String> {
    let given = || job.batch.env.iter().cloned();
    let wanted = job.batch.export.as_deref().unwrap_or("ALL");
    let parts: Vec<&str> = wanted.split(',').collect();
    let mut env = BTreeMap::new();
    if parts.iter().any(|part| part.eq_ignore_ascii_case("all")) {
        env.extend(given());
    } else {
        env.insert("PATH".to_owned(), PLAIN_PATH.to_owned());
        env.insert("USER".to_owned(), job.batch.user.to_string());
        env.insert("LOGNAME".to_owned(), job.batch.user.to_string());
        let home = given().find(|(name, _)| name == "HOME");
        env.extend(home);
        env.extend(given().filter(|(name, _)| name.starts_with("SLURM_")));
    }
    for part in parts {
        match part.split_once('=') {
            Some((name, value)) => drop(env.insert(name.to_owned(), value.to_owned())),
            None => env.extend(given().filter(|(name, _)| name == part)),
        }
    }
    // Options of sbatch are not options of the job's own steps.
    env.retain(|name, _| !name.starts_with("SBATCH_"));
    env
}

fn of_job(job: &Job, site: &Site) -> Vec<(&'static str, String)> {
    let batch = &job.batch;
    let nodes = site.nodes_of(&job.placement);
    let list = site.node_list(&job.placement);
    let first = site.first_node(&job.placement);
    let cpus: Vec<u32> = nodes.iter().map(|(_, cpus)| *cpus).collect();
    let per_task = batch.cpus_per_task.max(1);
    let tasks: Vec<u32> = cpus.iter().map(|cpus| (cpus / per_task).max(1)).collect();
    let (id, on_first) = (job.id.to_string(), cpus.first().copied().unwrap_or(0));
    let mut vars = vec![
        ("HOSTNAME", first.clone()),
        ("SLURMD_NODENAME", first.clone()),
        ("SLURM_CLUSTER_NAME", site.cluster.clone()),
        ("SLURM_CPUS_ON_NODE", on_first.to_string()),
        ("SLURM_JOBID", id.clone()),
        ("SLURM_JOB_CPUS_PER_NODE", repeated(&cpus)),
        ("SLURM_JOB_GID", batch.gid.to_string()),
        ("SLURM_JOB_GROUP", group_name(batch.gid).to_string()),
        ("SLURM_JOB_ID", id),
        ("SLURM_JOB_NAME", batch.name.clone()),
        ("SLURM_JOB_NODELIST", list.clone()),
        ("SLURM_JOB_NUM_NODES", nodes.len().to_string()),
        ("SLURM_JOB_PARTITION", site.partition.clone()),
        ("SLURM_JOB_UID", batch.uid.to_string()),
        ("SLURM_JOB_USER", batch.user.to_string()),
        ("SLURM_NNODES", nodes.len().to_string()),
        ("SLURM_NODELIST", list),
        ("SLURM_SUBMIT_DIR", batch.work_dir.clone()),
        ("SLURM_SUBMIT_HOST", site.host.clone()),
        ("SLURM_TASKS_PER_NODE", repeated(&tasks)),
        ("SLURM_TOPOLOGY_ADDR", first),
    ];
    let fixed = FIXED
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    vars.extend(fixed);
    let text = |number: u64| number.to_string();
    let count = |given: bool, number: u32| given.then(|| number.to_string());
    let tasks = count(batch.tasks_given, batch.tasks);
    let cpus = count(batch.cpus_per_task_given, batch.cpus_per_task);
    let per_node = batch.tasks_per_node.map(u64::from);
    let optional = [
        ("SLURM_NPROCS", tasks.clone()),
        ("SLURM_NTASKS", tasks),
        ("SLURM_CPUS_PER_TASK", cpus),
        ("SLURM_JOB_ACCOUNT", batch.account.clone()),
        ("SLURM_MEM_PER_CPU", batch.mem_per_cpu.map(text)),
        ("SLURM_MEM_PER_NODE", batch.mem.map(text)),
        ("SLURM_NTASKS_PER_NODE", per_node.map(text)),
    ];
    let given = optional.into_iter();
    vars.extend(given.filter_map(|(name, value)| Some((name, value?))));
    vars
}

fn of_task(job: &Job) -> Vec<(&'static str, String)> {
    let Some(task) = &job.task else {
        return Vec::new();
    };
    let (count, least, greatest, step) = task.shape;
    vec![
        ("SLURM_ARRAY_JOB_ID", task.array.to_string()),
        ("SLURM_ARRAY_TASK_COUNT", count.to_string()),
        ("SLURM_ARRAY_TASK_ID", task.index.to_string()),
        ("SLURM_ARRAY_TASK_MAX", greatest.to_string()),
        ("SLURM_ARRAY_TASK_MIN", least.to_string()),
        ("SLURM_ARRAY_TASK_STEP", step.to_string()),
    ]
}

/// `2(x3),1`: equal neighbours are counted.
fn repeated(counts: &[u32]) -> String {
    let runs = counts.chunk_by(|one, other| one == other);
    let run = |run: &[u32]| match run.len() {
        1 => run[0].to_string(),
        times => format!("{}(x{times})", run[0]),
    };
    let runs: Vec<String> = runs.map(run).collect();
    runs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_counted() {
        assert_eq!(repeated(&[2, 2, 1]), "2(x2),1");
        assert_eq!(repeated(&[4]), "4");
        assert_eq!(repeated(&[1, 2, 1]), "1,2,1");
    }
}
