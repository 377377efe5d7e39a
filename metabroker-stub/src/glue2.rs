//! A broker's domain as a GLUE 2.0 document: what the broker was last told of
//! its own clusters, and what waits in it.

use crate::config::Config;
use gridrig_core::agent::BrokerAgent;
use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_core::message::Target;
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::RunClock;
use gridrig_protocol::glue2::ogf::{ClusterState, DomainDocument, id_part};
use gridrig_protocol::glue2::{
    Benchmark, ComputingEndpoint, ComputingManager, ComputingShare, ExecutionEnvironment,
    JobCounts, instant,
};

/// What the endpoint can do, in the words of GLUE 2.0's `Capability_t`.
const CAPABILITIES: [&str; 3] = [
    "executionmanagement.jobexecution",
    "executionmanagement.jobmanager",
    "information.monitoring",
];

/// What the document is made from.
pub(crate) struct Known {
    queued: u64,
    samples: Vec<LoadSample>,
    now: SimTime,
}

impl Known {
    /// What the broker knows at this instant.
    pub(crate) fn of(machine: &BrokerAgent, now: SimTime) -> Self {
        let broker = machine.broker();
        let own = broker
            .samples()
            .filter(|(target, _)| matches!(target, Target::Cluster(_)));
        Known {
            queued: broker.queued() as u64,
            samples: own.flat_map(|(_, samples)| samples.to_vec()).collect(),
            now,
        }
    }
}

/// The document; jobs are submitted at `base`, such as
/// `http://127.0.0.1:8201`.
pub(crate) fn document(config: &Config, known: &Known, base: &str) -> DomainDocument {
    let domain = &config.setup.name;
    let own = config.setup.config.clusters.iter();
    let clusters = own.filter_map(|(id, resources)| {
        let sample = known.samples.iter().find(|sample| sample.cluster == *id)?;
        Some(cluster(config, *id, resources, sample))
    });
    DomainDocument {
        domain: domain.clone(),
        created: wall(&config.clock, known.now),
        kind: "gridrig.broker".to_owned(),
        endpoint: ComputingEndpoint {
            id: format!("urn:ogf:ComputingEndpoint:{}:rest", id_part(domain)),
            name: "gridrig REST".to_owned(),
            url: format!("{base}/v1"),
            capabilities: CAPABILITIES.to_vec(),
            technology: "rest".to_owned(),
            interface: "gridrig.rest".to_owned(),
            interface_version: "1".to_owned(),
            job_descriptions: Vec::new(),
            issuer: None,
        },
        waiting_in_broker: known.queued,
        clusters: clusters.collect(),
        providers: providers(config),
    }
}

/// The domains whose brokers take jobs of this one, in link order.
fn providers(config: &Config) -> Vec<String> {
    let setup = &config.setup;
    let peers = setup.config.peers.iter();
    peers
        .map(|peer| setup.names.domain(peer.domain).into_owned())
        .collect()
}

fn cluster(
    config: &Config,
    id: ClusterId,
    resources: &Resources,
    sample: &LoadSample,
) -> ClusterState {
    let name = config.setup.names.cluster(id);
    let place = format!("{}:{}", id_part(&config.setup.name), id_part(&name));
    let groups = resources.groups().iter();
    let memory: Option<Vec<u64>> = groups.map(|group| group.memory_mib).collect();
    let processors = u64::from(sample.processors);
    let share = ComputingShare {
        id: format!("urn:ogf:ComputingShare:{place}"),
        name: name.clone().into_owned(),
        description: format!("cluster {name}, as last reported to the broker"),
        jobs: JobCounts {
            waiting: sample.queued,
            ..JobCounts::default()
        },
        free_slots: u64::from(sample.free()),
        used_slots: u64::from(sample.busy),
        requested_slots: sample.queued_processors,
        max_slots_per_job: processors,
        max_jobs: 0,
        max_memory_mib: memory.and_then(|each| each.into_iter().max()),
    };
    let groups = resources.groups().iter().enumerate();
    let manager = ComputingManager {
        id: format!("urn:ogf:ComputingManager:{place}"),
        product: "gridrig".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        total_slots: processors,
        used_slots: u64::from(sample.busy),
        benchmarks: Vec::new(),
        environments: groups
            .map(|(index, group)| environment(&place, index, group))
            .collect(),
    };
    ClusterState {
        created: wall(&config.clock, sample.at),
        share,
        manager,
    }
}

fn environment(place: &str, index: usize, group: &Resource) -> ExecutionEnvironment {
    let name = group.name.clone();
    ExecutionEnvironment {
        id: format!("urn:ogf:ExecutionEnvironment:{place}:{index}"),
        name: name.unwrap_or_else(|| format!("nodes{index}")),
        platform: group.architecture.clone(),
        instances: u64::from(group.count),
        used_instances: None,
        cpus: u64::from(group.cpu_count),
        memory_mib: group.memory_mib,
        os: group.os.as_ref().map(|os| os.to_lowercase()),
        benchmarks: vec![Benchmark {
            kind: "gridrig.speed".to_owned(),
            value: group.speed.to_string(),
        }],
    }
}

/// An instant of the run on the wall.
fn wall(clock: &RunClock, at: SimTime) -> String {
    let since = clock.wall(at.since(SimTime::ZERO));
    let epoch = clock.epoch_unix_ns() / 1_000_000_000;
    instant(epoch.saturating_add(since.as_secs()))
}
