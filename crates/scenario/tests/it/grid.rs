//! The grid of a manifest: nothing that can be set is lost in it.

use gridrig_core::broker::{Blocking, Commit, LocalInfo, MatchmakingKind, OwnDispatch};
use gridrig_core::cluster::ClusterConfig;
use gridrig_core::discipline::{DisciplineKind, SlurmBackfillSettings};
use gridrig_core::grid::{BrokerSettings, Domain, Grid, GridCluster, Link, LinkHours, Topology};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::Window;
use gridrig_core::policy::{CoAllocation, Tie};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_core::timetable::{Hours, Timetable};
use gridrig_scenario::grid::GridDoc;
use std::num::NonZeroU32;

const A: DomainId = DomainId(0);
const B: DomainId = DomainId(1);

fn seconds(seconds: u64) -> SimDuration {
    SimDuration::from_secs(seconds)
}

fn unusual_broker() -> BrokerSettings {
    BrokerSettings {
        interval: seconds(7),
        exchange: seconds(11),
        phase: seconds(3),
        max_hops: 4,
        ttl: 6,
        origin_promotion: Decimal::parse("1.25").unwrap(),
        own_dispatch: OwnDispatch::Debited,
        commit: Commit::Late,
        blocking: Blocking::Skip,
        matchmaking: MatchmakingKind::Delegate,
        matchmaking_interval: seconds(301),
        delegation_interval: seconds(61),
        delegation_threshold: Decimal::parse("0.75").unwrap(),
        delegation_memory: seconds(0),
        lease_timeout: Some(seconds(7200)),
        usage_half_life: seconds(3600),
        co_allocation: CoAllocation {
            startup: vec![seconds(10), seconds(15)],
            startup_contention: Decimal::parse("0.1").unwrap(),
            wide_area: vec![Decimal::ONE, Decimal::parse("1.25").unwrap()],
            run_times: [(
                NonZeroU32::MIN,
                [(NonZeroU32::MIN, vec![seconds(9)])].into(),
            )]
            .into(),
            claim_timeout: seconds(61),
            bandwidth: Some(Decimal::parse("12.5").unwrap()),
        },
        local_info: LocalInfo::Fresh,
        propagate_info: true,
        tie: Tie::ALL[1],
        policy: "free-node".parse().unwrap(),
        door: None,
        queue_window: Window::Seconds300,
        utilization_window: Window::Instant,
        lrms_latency: seconds(2),
        drain: vec![[SimDuration::from_secs(60), SimDuration::from_secs(120)]],
        external: true,
    }
}

/// Everything in it is unlike its default.
fn unusual() -> Grid {
    let nodes = Resource {
        name: Some("n".to_owned()),
        count: 3,
        cpu_count: 2,
        architecture: Some("x86".to_owned()),
        os: Some("LINUX".to_owned()),
        memory_mib: Some(512),
        disk_mib: Some(1024),
        speed: Decimal::parse("0.5").unwrap(),
        generic: "gpu:2".parse().unwrap(),
    };
    let config = ClusterConfig {
        slurm: SlurmBackfillSettings {
            bf_interval: seconds(5),
            bf_resolution: seconds(1),
            bf_window: seconds(600),
            bf_max_job_test: 9,
        },
        interval: seconds(4),
        queue_limit: Some(12),
        is_real: true,
        ..ClusterConfig::new(
            ClusterId(0),
            Resources::new(vec![nodes]).unwrap(),
            DisciplineKind::SlurmBackfill,
        )
    };
    let domain = |name: &str, clusters| Domain {
        name: name.to_owned(),
        broker: unusual_broker(),
        clusters,
        topology: Topology {
            parent: (name == "a").then_some(B),
            siblings: vec![A],
            site: Some("s".into()),
            grid: Some("g".into()),
            administrative: true,
            central: true,
        },
    };
    let night = Hours {
        from: seconds(18),
        until: seconds(8),
    };
    Grid {
        domains: vec![domain("a", vec![ClusterId(0)]), domain("b", vec![])],
        clusters: vec![GridCluster {
            name: "a1".to_owned(),
            domain: Some(A),
            config,
        }],
        links: vec![Link {
            consumer: B,
            provider: A,
            latency: seconds(1),
            bandwidth: Decimal::parse("2.5"),
        }],
        hours: vec![LinkHours {
            consumer: B,
            provider: A,
            timetable: Timetable::new(seconds(24), seconds(3), &[night]).unwrap(),
        }],
    }
}

fn document(grid: &Grid) -> serde_json::Value {
    let domain = |id: DomainId| grid.domains[id.index()].name.clone();
    let cluster = |id: ClusterId| grid.clusters[id.index()].name.clone();
    serde_json::to_value(GridDoc::of(grid, domain, cluster, None)).unwrap()
}

fn read(document: serde_json::Value) -> Result<Grid, String> {
    let document: GridDoc = serde_json::from_value(document).map_err(|e| e.to_string())?;
    document.read().map_err(|unfit| format!("{unfit:?}"))
}

#[test]
fn every_setting_of_a_grid_is_in_its_document_and_comes_back() {
    let grid = unusual();
    let document = document(&grid);
    for (at, expected) in [
        ("/domains/0/name", "a"),
        ("/domains/0/interval", "7s"),
        ("/domains/0/exchange", "11s"),
        ("/domains/0/phase", "3s"),
        ("/domains/0/lrms_latency", "2s"),
        ("/domains/0/own_dispatch", "debited"),
        ("/domains/0/policy", "free-node"),
        ("/clusters/0/domain", "a"),
        ("/clusters/0/discipline", "slurm-backfill"),
        ("/clusters/0/interval", "4s"),
        ("/clusters/0/resources/0/speed", "0.5"),
        ("/links/0/consumer", "b"),
        ("/links/0/provider", "a"),
        ("/links/0/latency", "1s"),
    ] {
        assert_eq!(document.pointer(at), Some(&expected.into()), "{at}");
    }
    assert_eq!(document["domains"][0]["max_hops"], 4);
    assert_eq!(document["clusters"][0]["queue_limit"], 12);
    let again = read(document).unwrap();
    assert_eq!(format!("{again:#?}"), format!("{grid:#?}"));
}

#[test]
fn a_document_from_before_some_keys_were_written_is_read() {
    let grid = unusual();
    let mut old = document(&grid);
    for domain in old["domains"].as_array_mut().unwrap() {
        let domain = domain.as_object_mut().unwrap();
        domain.remove("ttl").unwrap();
        domain.remove("external").unwrap();
        // It was a text.
        domain["origin_promotion"] = "1.10".into();
    }
    let again = read(old).unwrap();
    let broker = again.domains[0].broker.clone();
    assert_eq!((broker.ttl, broker.external), (4, false));
    assert_eq!(Some(broker.origin_promotion), Decimal::parse("1.1"));
}

#[test]
fn what_is_wrong_in_a_document_is_said_by_field_value_and_expectation() {
    let refused = |list: &str, key: &str, value: serde_json::Value| {
        let mut wrong = document(&unusual());
        wrong[list][0][key] = value;
        read(wrong).unwrap_err()
    };
    let said = refused("clusters", "discipline", "fsfc".into());
    assert!(
        said.starts_with("field grid.clusters[0].discipline = \"fsfc\": expected a discipline"),
        "{said}"
    );
    let said = refused("links", "latency", 5.into());
    assert!(
        said.starts_with("field grid.links[0].latency = 5: expected a duration"),
        "{said}"
    );
    let said = refused("links", "consumer", "x".into());
    assert!(said.contains("the name of a domain"), "{said}");
}
