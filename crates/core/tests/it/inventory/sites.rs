//! Inventories of gridrig's own clusters.

use super::matching::{Matching as _, Query};
use super::*;
use gridrig_core::ids::{ClusterId, JobId};
use gridrig_core::inventory::{InventoryError, SiteCluster, of_clusters};
use gridrig_core::job::{JobSpec, Requirements};
use gridrig_core::load::{FreeSpace, LoadSample};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration};

fn nodes(count: u32, cpus: u32, kind: &str, memory: Option<u64>, speed: &str) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count: cpus,
        architecture: (!kind.is_empty()).then(|| kind.to_owned()),
        os: Some("LINUX".to_owned()),
        memory_mib: memory,
        disk_mib: None,
        speed: Decimal::parse(speed).unwrap(),
        generic: Default::default(),
    }
}

fn job(processors: u32, requirements: Requirements) -> Query {
    let mut job = JobSpec::rigid(JobId(0), processors, SimDuration::from_secs(1));
    job.components.first.requirements = requirements;
    Query::of_job(&job)
}

#[test]
fn a_cluster_is_told_with_its_nodes_and_its_load() {
    let groups = vec![
        nodes(4, 2, "x86", Some(1024), "1"),
        nodes(2, 8, "ppc", None, "2.2"),
    ];
    let resources = Resources::new(groups).unwrap();
    let load = LoadSample {
        busy: 5,
        queued: 3,
        queued_processors: 40,
        space: FreeSpace {
            memory_kib: Some(3000 * 1024 + 1023),
            ..FreeSpace::default()
        }
        .into(),
        ..LoadSample::idle(ClusterId(0), 24)
    };
    let site = SiteCluster {
        name: "a1",
        resources: &resources,
        load: Some(&load),
    };
    let flat = of_clusters(&[site]).unwrap();
    let of = |record: &Record, name| record.attribute(name).unwrap().values.to_string();
    let cluster = record(&flat, names::CLUSTER, &[(names::PROC_NUM, "24")]);
    assert_eq!(of(cluster, names::PROC_BUSY), "5");
    assert_eq!(of(cluster, names::PROC_FREE), "19");
    assert_eq!(of(cluster, names::PROC_QUEUED), "40");
    assert_eq!(of(cluster, names::JOBS_QUEUED), "3");
    assert_eq!(of(cluster, names::FREE_MEM), "3000");
    assert!(cluster.attribute(names::FREE_MB).is_none());
    let ppc = record(&flat, names::COMPUTER_SYSTEM, &[(names::PROC_TYPE, "ppc")]);
    assert_eq!(
        (ppc.count, of(ppc, names::PROC_SPEED)),
        (2, "2.2".to_owned())
    );
    // Identical nodes weigh as many as they are.
    let small = in_form(&flat, Form::NToN);
    let all = small.of_kind(names::OPERATING_SYSTEM).next().unwrap().1;
    assert_eq!(all.count, 6);
    let memory = all.attribute(names::TOTAL_MEM).unwrap();
    assert_eq!(
        (memory.count, memory.total()),
        (4, Some(Decimal::from(4096)))
    );
}

#[test]
fn a_place_counts_processors_as_the_cluster_itself_does() {
    let groups = vec![
        nodes(4, 2, "x86", Some(1024), "1"),
        nodes(2, 8, "ppc", None, "2.2"),
        nodes(3, 4, "", Some(512), "1"),
    ];
    let resources = Resources::new(groups).unwrap();
    let site = SiteCluster {
        name: "a1",
        resources: &resources,
        load: None,
    };
    let flat = of_clusters(&[site]).unwrap();
    for (architecture, memory_mib) in [
        (None, 0),
        (None, 1024),
        (None, 2048),
        (None, 300),
        (Some("X86"), 0),
        (Some("x86"), 600),
        (Some("ppc"), 1 << 30),
        (Some("x86"), 1025),
        (Some("sparc"), 0),
    ] {
        let requirements = Requirements {
            architecture: architecture.map(Into::into),
            memory_kib: memory_mib * 1024,
            ..Requirements::default()
        };
        let capacity = resources.capacity(&requirements);
        let query = job(1, requirements);
        let fits = flat.fits(&query);
        let told: u64 = fits.iter().map(|fit| fit.processors).sum();
        assert_eq!(told, capacity.into(), "{architecture:?} {memory_mib}");
        for form in Form::ALL {
            let looser = in_form(&flat, form);
            let most: u64 = looser.fits(&query).iter().map(|fit| fit.processors).sum();
            assert!(most >= told, "{form} {query:?}: {most} < {told}");
        }
    }
}

#[test]
fn clusters_of_one_name_are_refused() {
    let resources = Resources::homogeneous(4);
    let site = SiteCluster {
        name: "a1",
        resources: &resources,
        load: None,
    };
    let error = InventoryError::SameId("a1".into());
    assert_eq!(of_clusters(&[site, site]), Err(error));
}

#[test]
fn no_job_spans_two_clusters_in_any_form() {
    let resources = Resources::homogeneous(8);
    let site = |name| SiteCluster {
        name,
        resources: &resources,
        load: None,
    };
    let flat = of_clusters(&[site("a1"), site("a2")]).unwrap();
    for form in Form::ALL {
        let inventory = in_form(&flat, form);
        assert!(inventory.could_run(&job(8, Requirements::default())));
        assert!(!inventory.could_run(&job(9, Requirements::default())));
    }
}
