//! What a policy goes by on aggregated information is what the inventories of
//! the same clusters tell, on seeded domains.

use super::super::{Kinds, Site, UNSAID};
use super::*;
use crate::ids::{ClusterId, DomainId};
use crate::inventory::{
    Attribute, Form, Inventory, Record, Schema, SiteCluster, names, of_clusters,
};
use crate::job::{Components, Requirements};
use crate::load::LoadSample;
use crate::resource::{Resource, Resources};
use crate::rng;
use crate::time::Decimal;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

const DOMAINS: u64 = 200;

fn pick<T: Copy>(rng: &mut ChaCha8Rng, from: &[T]) -> T {
    from[rng.random_range(0..from.len())]
}

fn name(rng: &mut ChaCha8Rng, names: &[&str]) -> Option<String> {
    (rng.random_range(0..8) > 0).then(|| pick(rng, names).to_owned())
}

fn bound(rng: &mut ChaCha8Rng, from: &[u64]) -> Option<u64> {
    (rng.random_range(0..6) > 0).then(|| pick(rng, from))
}

fn group(rng: &mut ChaCha8Rng) -> Resource {
    let count: u32 = rng.random_range(1..16);
    let generic = ["", "gpu:a100:2", "gpu:v100:4,nic:1"][count as usize % 3];
    Resource {
        name: None,
        count,
        cpu_count: pick(rng, &[1, 2, 4, 8]),
        architecture: name(rng, &["x86", "ppc", "ia64"]),
        os: name(rng, &["LINUX", "AIX", "WINDOWS"]),
        memory_mib: bound(rng, &[512, 1024, 8192]),
        disk_mib: bound(rng, &[1000, 10_000]),
        speed: Decimal::parse(pick(rng, &["1", "2.20", "3.84"])).unwrap(),
        generic: generic.parse().unwrap(),
    }
}

/// A cluster with its load.
type Loaded = (Resources, LoadSample);

fn clusters(rng: &mut ChaCha8Rng) -> Vec<Loaded> {
    let number = rng.random_range(1..6);
    let cluster = |index: u16| {
        let groups = (0..rng.random_range(1..4)).map(|_| group(rng)).collect();
        let resources = Resources::new(groups).unwrap();
        let load = LoadSample {
            busy: rng.random_range(0..=resources.processors()),
            queued_processors: rng.random_range(0..500),
            ..LoadSample::idle(ClusterId(index), resources.processors())
        };
        (resources, load)
    };
    (0..number).map(cluster).collect()
}

/// The site as a policy sees it, summed up idle and then loaded.
fn site(clusters: &[Loaded], kinds: &mut Kinds) -> Site {
    let machines = clusters.iter();
    let machines = machines.map(|(all, load)| Machine::idle(load.cluster, all, kinds));
    let mut site = Site::new(DomainId(0), machines.collect());
    site.sum_up();
    for (machine, (_, load)) in site.machines.iter_mut().zip(clusters) {
        machine.busy = load.busy.into();
        machine.queued = load.queued_processors;
    }
    site.sum_up();
    site
}

/// The N-to-N form of what the domain tells of the same clusters.
fn told(clusters: &[Loaded]) -> Inventory {
    let names = ["c0", "c1", "c2", "c3", "c4"];
    let sites = names.into_iter().zip(clusters);
    let sites = sites.map(|(name, (resources, load))| SiteCluster {
        name,
        resources,
        load: Some(load),
    });
    let flat = of_clusters(&sites.collect::<Vec<_>>()).unwrap();
    flat.in_form(Form::NToN, &Schema::la_grid()).unwrap()
}

fn kind(kinds: &Kinds, record: &Record, attribute: &str) -> Kind {
    let named = record.attribute(attribute);
    named.map_or(UNSAID, |name| kinds.find(&name.values.to_string()))
}

fn floor(number: Decimal) -> u64 {
    narrow(number.billionths() / 1_000_000_000)
}

fn total(record: &Record, attribute: &str) -> u64 {
    let total = record.attribute(attribute).and_then(Attribute::total);
    total.map_or(0, floor)
}

/// The upper end of a range; `None` where a resource has no bound.
fn most(record: &Record, attribute: &str) -> Option<u64> {
    let having = record.attribute(attribute)?;
    let most = having.max().filter(|_| having.count == record.count)?;
    Some(floor(most))
}

fn the_one<'a>(told: &'a Inventory, kind: &'a str) -> &'a Record {
    let mut all = told.of_kind(kind);
    let (Some((_, one)), None) = (all.next(), all.next()) else {
        panic!("{kind}: {told:?}");
    };
    one
}

#[test]
fn loads_that_are_followed_are_the_totals_of_the_inventory() {
    for seed in 0..DOMAINS {
        let clusters = clusters(&mut rng::stream(seed, "summary"));
        let site = site(&clusters, &mut Kinds::default());
        let followed = site.summary.unwrap();
        let anew = Summary::of(&site.machines);
        assert_eq!(followed.aggregates, anew.aggregates, "seed {seed}");
    }
}

#[test]
fn a_policy_goes_by_the_totals_and_means_that_a_domain_tells_of_its_systems() {
    let mut means = 0;
    for seed in 0..DOMAINS {
        let clusters = clusters(&mut rng::stream(seed, "summary"));
        let mut kinds = Kinds::default();
        let summary = site(&clusters, &mut kinds).summary.unwrap();
        let told = told(&clusters);
        let mut contains = Vec::new();
        let mut told_systems = 0;
        for (index, system) in told.of_kind(names::COMPUTER_SYSTEM) {
            let architecture = kind(&kinds, system, names::PROC_TYPE);
            let mut own = summary.aggregates.iter();
            let own = own.find(|one| one.architecture == architecture).unwrap();
            told_systems += 1;
            assert_eq!(
                own.processors,
                total(system, names::PROC_NUM),
                "seed {seed}"
            );
            let speed = system.attribute(names::PROC_SPEED).unwrap();
            let mean = own.speed.into();
            let bounds = [speed.min(), speed.max()].map(|end| end.unwrap().billionths());
            assert!((bounds[0]..=bounds[1]).contains(&mean));
            // There a node counts once, here each of its processors does.
            let per_node = system.attribute(names::PROC_NUM).unwrap();
            if per_node.min() == per_node.max() {
                let told = speed.mean().map(Decimal::billionths);
                assert_eq!(told, Some(mean), "seed {seed}");
                means += 1;
            }
            for relation in told.relations_of(index) {
                let child = &told.records()[relation.to];
                if &*child.kind == names::OPERATING_SYSTEM {
                    contains.push((architecture, kind(&kinds, child, names::OS_TYPE)));
                }
            }
        }
        assert_eq!(told_systems, summary.aggregates.len(), "seed {seed}");
        let mut own = summary.contains.clone();
        own.sort_unstable();
        contains.sort_unstable();
        assert_eq!(own, contains, "seed {seed}");
    }
    assert!(means > 100, "{means} means");
}

#[test]
fn a_policy_goes_by_the_ranges_and_loads_that_a_domain_tells() {
    for seed in 0..DOMAINS {
        let clusters = clusters(&mut rng::stream(seed, "summary"));
        let mut kinds = Kinds::default();
        let summary = site(&clusters, &mut kinds).summary.unwrap();
        let told = told(&clusters);
        let mut systems = 0;
        for (_, system) in told.of_kind(names::OPERATING_SYSTEM) {
            let os = kind(&kinds, system, names::OS_TYPE);
            let own = summary.systems.iter().find(|one| one.os == os).unwrap();
            let kib = most(system, names::TOTAL_MEM).map_or(u64::MAX, |mib| mib * 1024);
            assert_eq!(own.memory_kib, kib, "seed {seed}");
            systems += 1;
        }
        assert_eq!(systems, summary.systems.len(), "seed {seed}");
        let disk = most(the_one(&told, names::FILE_SYSTEM), names::SIZE_MB);
        assert_eq!(summary.disk_mib, disk.unwrap_or(u64::MAX), "seed {seed}");
        let all = the_one(&told, names::CLUSTER);
        assert_eq!(Some(summary.widest), most(all, names::PROC_NUM));
        // Shares of mixed clusters are rounded down, one for each architecture.
        let rounding = clusters
            .iter()
            .map(|(all, _)| all.groups().len() as u64 - 1);
        let rounding: u64 = rounding.sum();
        let sum = |of: fn(&Aggregate) -> u64| summary.aggregates.iter().map(of).sum::<u64>();
        for (attribute, own) in [
            (names::PROC_BUSY, sum(|one| one.busy)),
            (names::PROC_QUEUED, sum(|one| one.queued)),
        ] {
            let all = total(all, attribute);
            assert!(own <= all && all <= own + rounding, "seed {seed}");
        }
    }
}

#[test]
fn aggregated_information_misses_no_job_that_a_cluster_could_run() {
    let (mut could, mut falsely) = (0, 0);
    for seed in 0..DOMAINS {
        let mut rng = rng::stream(seed, "summary");
        let clusters = clusters(&mut rng);
        let mut kinds = Kinds::default();
        let site = site(&clusters, &mut kinds);
        for _ in 0..50 {
            let mut requirements = Requirements {
                architecture: name(&mut rng, &["X86", "ppc"]).map(Into::into),
                os: name(&mut rng, &["linux", "AIX"]).map(Into::into),
                memory_kib: pick(&mut rng, &[0, 200, 1024, 4096]) * 1024,
                disk_mib: pick(&mut rng, &[0, 500, 5000]),
                speed_millionths: pick(&mut rng, &[0, 0, 900_000, 1_500_000, 3_000_000]),
                ..Requirements::default()
            };
            let processors = rng.random_range(1..64);
            let wishes = ["", "", "", "", "", "gpu:3", "gpu:1,nic:1", "gpu:a100:1"];
            let generic = wishes[processors as usize % wishes.len()];
            requirements.generic = generic.parse().unwrap();
            let job = Components::one(processors, requirements);
            let wanted = kinds.wanted(&job.first.requirements);
            let runs = clusters.iter().any(|(all, _)| all.could_run(&job));
            let mut offers = site.machines.iter().map(|m| m.offer(&wanted).capacity);
            let offered = offers.any(|capacity| capacity >= u64::from(processors));
            assert_eq!(runs, offered, "{seed} {job:?}");
            let matches = site.matching(&wanted, processors).next().is_some();
            assert!(matches || !runs, "seed {seed}: {job:?}");
            could += u32::from(runs);
            falsely += u32::from(matches && !runs);
        }
    }
    assert!(could > 1000 && falsely > 0, "{could} {falsely}");
}
