//! `/info`: the cluster as a GLUE 2.0 document.

use super::answer::{Fault, Reply};
use super::store::Stage;
use super::{BASE, Call, Face};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use gridrig_core::load::LoadSample;
use gridrig_core::resource::{Resource, Resources};
use gridrig_protocol::glue2::{
    self, Benchmark, ComputingEndpoint, ComputingManager, ComputingService, ComputingShare,
    ExecutionEnvironment, InfoDocument, JobCounts,
};
use std::sync::Arc;

/// What the endpoint can do, in A-REX's words.
const CAPABILITIES: [&str; 9] = [
    "executionmanagement.jobcreation",
    "executionmanagement.jobdescription",
    "executionmanagement.jobmanagement",
    "information.discovery.resource",
    "information.discovery.job",
    "information.lookup.job",
    "data.access.sessiondir.file",
    "data.access.stageindir.file",
    "security.delegation",
];

/// Seconds for which a reader may keep the document. A-REX says three hours;
/// this one is made anew for each request.
const VALIDITY_S: u64 = 60;

/// specint2000 of a processor of speed 1.0, in thousandths: a nominal figure
/// that makes speeds comparable for brokers that go by benchmarks.
const SPECINT_OF_SPEED_1: f64 = 1000.0;

pub(super) async fn info(State(face): State<Arc<Face>>, call: Call) -> Reply {
    call.only(&[Method::GET, Method::HEAD])?;
    let schema = call.query.get("schema").and_then(|all| all.first());
    if schema.is_some_and(|schema| !schema.is_empty() && schema != "glue2") {
        return Err(Fault::new(501, "Schema not implemented"));
    }
    let look = |lrms: &mut gridrig_drivers::real_time::Driven<gridrig_core::agent::LrmsAgent>,
                now| { (lrms.sample_at(now), lrms.cluster().present()) };
    let (sample, present) = face.app.actor.call(look).await?;
    let document = document(&face, &call.origin, &sample, present as u64);
    Ok(call.format.answer(StatusCode::OK, &document.element(), &[]))
}

fn document(face: &Face, origin: &str, sample: &LoadSample, present: u64) -> InfoDocument {
    let staging = face.store();
    let staging = staging
        .jobs
        .values()
        .filter(|job| matches!(job.stage, Stage::Uploading { .. } | Stage::Entering { .. }))
        .count() as u64;
    let jobs = JobCounts {
        running: present.saturating_sub(sample.queued),
        waiting: sample.queued,
        staging,
    };
    let config = &face.app.config;
    // Two clusters may share a name, not an address.
    let host = origin.rsplit('/').next().unwrap_or_default();
    let place = format!("{}:{host}", config.name);
    let url = format!("{origin}{BASE}");
    let service = ComputingService {
        id: format!("urn:ogf:ComputingService:{place}:arex"),
        name: config.name.clone(),
        kind: "org.nordugrid.arex".to_owned(),
        jobs,
        endpoints: vec![ComputingEndpoint {
            id: format!("urn:ogf:ComputingEndpoint:{place}:rest:{url}"),
            name: "ARC REST".to_owned(),
            url,
            capabilities: CAPABILITIES.to_vec(),
            technology: "rest".to_owned(),
            interface: "org.nordugrid.arcrest".to_owned(),
            interface_version: "1.0".to_owned(),
            job_descriptions: vec!["emies:adl"],
            issuer: config.tls.as_ref().map(|tls| tls.issuer().to_owned()),
        }],
        shares: vec![share(face, sample, jobs)],
        manager: manager(face, &place, sample),
    };
    InfoDocument {
        domain: config.name.clone(),
        created: glue2::instant(face.unix_s(sample.at)),
        validity_s: VALIDITY_S,
        services: vec![service],
    }
}

fn share(face: &Face, sample: &LoadSample, jobs: JobCounts) -> ComputingShare {
    let resources = &face.app.config.cluster.resources;
    let groups = resources.groups().iter();
    let memory: Option<Vec<u64>> = groups.map(|group| group.memory_mib).collect();
    let processors = u64::from(sample.processors);
    ComputingShare {
        id: face.share_id(),
        name: face.setup.queue.clone(),
        description: format!("emulated cluster {}", face.app.config.name),
        jobs,
        free_slots: processors.saturating_sub(u64::from(sample.busy)),
        used_slots: u64::from(sample.busy),
        requested_slots: sample.queued_processors,
        max_slots_per_job: processors,
        max_jobs: face.setup.max_jobs as u64,
        max_memory_mib: memory.and_then(|each| each.into_iter().max()),
    }
}

fn manager(face: &Face, place: &str, sample: &LoadSample) -> ComputingManager {
    let config = &face.app.config;
    let resources = &config.cluster.resources;
    let id = |index: usize| format!("urn:ogf:ExecutionEnvironment:{place}:execenv{index}");
    let groups = resources.groups().iter().enumerate();
    ComputingManager {
        id: format!("urn:ogf:ComputingManager:{place}:gridrig"),
        product: "gridrig".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        total_slots: u64::from(sample.processors),
        used_slots: u64::from(sample.busy),
        benchmarks: benchmarks(mean_speed(resources)),
        environments: groups
            .map(|(index, group)| environment(id(index), index, group))
            .collect(),
    }
}

fn environment(id: String, index: usize, group: &Resource) -> ExecutionEnvironment {
    ExecutionEnvironment {
        id,
        name: group
            .name
            .clone()
            .unwrap_or_else(|| format!("execenv{index}")),
        platform: group.architecture.clone(),
        instances: u64::from(group.count),
        used_instances: None,
        cpus: u64::from(group.cpu_count),
        memory_mib: group.memory_mib,
        os: group.os.as_ref().map(|os| os.to_lowercase()),
        benchmarks: benchmarks(group.speed.as_f64()),
    }
}

fn benchmarks(speed: f64) -> Vec<Benchmark> {
    let of = |kind: &str, value: String| Benchmark {
        kind: kind.to_owned(),
        value,
    };
    vec![
        of("specint2000", format!("{:.1}", speed * SPECINT_OF_SPEED_1)),
        of("speed", format!("{speed:.6}")),
    ]
}

/// The speed of a processor on the average. For show: no job runs at it.
fn mean_speed(resources: &Resources) -> f64 {
    let groups = resources.groups().iter();
    let sum: f64 = groups
        .map(|group| f64::from(group.count) * f64::from(group.cpu_count) * group.speed.as_f64())
        .sum();
    sum / f64::from(resources.processors())
}
