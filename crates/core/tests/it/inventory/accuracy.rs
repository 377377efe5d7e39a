//! The price of aggregation on seeded domains: a looser form never misses a
//! match and takes in more that is none.

use super::matching::{Matching as _, Query};
use super::*;
use gridrig_core::ids::JobId;
use gridrig_core::inventory::{SiteCluster, of_clusters};
use gridrig_core::job::{JobSpec, Requirements};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::rng;
use gridrig_core::time::{Decimal, SimDuration};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

const DOMAINS: u64 = 60;
const JOBS: u64 = 150;

#[test]
#[allow(clippy::print_stdout, reason = "shows the figures of the page")]
fn looser_forms_miss_nothing_and_match_more_falsely() {
    // Matches that are none, by form, of all jobs that could not run.
    let mut false_matches = [0_u32; 4];
    let (mut true_matches, mut no_matches) = (0_u32, 0_u32);
    for seed in 0..DOMAINS {
        let mut rng = rng::stream(seed, "inventory");
        let sites = sites(&mut rng);
        let sites: Vec<SiteCluster<'_>> = sites
            .iter()
            .map(|(name, resources)| SiteCluster {
                name,
                resources,
                load: None,
            })
            .collect();
        let flat = of_clusters(&sites).unwrap();
        let forms = Form::ALL.map(|form| in_form(&flat, form));
        for _ in 0..JOBS {
            let job = job(&mut rng);
            let query = Query::of_job(&job);
            let could = sites
                .iter()
                .any(|site| site.resources.could_run(&job.components));
            let matched = [0, 1, 2, 3].map(|form: usize| forms[form].could_run(&query));
            assert_eq!(matched[0], could, "flat is exact: {job:?} {flat:#?}");
            assert!(matched.is_sorted(), "{seed} {job:?}: {matched:?}");
            true_matches += u32::from(could);
            no_matches += u32::from(!could);
            for form in 0..4 {
                false_matches[form] += u32::from(matched[form] && !could);
            }
        }
    }
    // Both kinds of job are there, so that the comparison means something.
    assert!(true_matches > 1000 && no_matches > 1000);
    let [flat, unique, one_to_n, n_to_n] = false_matches;
    assert_eq!(flat, 0);
    let share = |count: u32| f64::from(count) / f64::from(no_matches);
    let shares = [unique, one_to_n, n_to_n].map(share);
    println!("false matches of {no_matches}: {false_matches:?} {shares:?}");
    assert!(unique < one_to_n && one_to_n < n_to_n, "{false_matches:?}");
}

fn sites(rng: &mut ChaCha8Rng) -> Vec<(String, Resources)> {
    let clusters = pick(rng, 2, 6);
    let of_cluster = |index: u64, rng: &mut ChaCha8Rng| {
        let groups = (0..pick(rng, 1, 4)).map(|_| group(rng)).collect();
        (format!("c{index}"), Resources::new(groups).unwrap())
    };
    (0..clusters).map(|index| of_cluster(index, rng)).collect()
}

fn group(rng: &mut ChaCha8Rng) -> Resource {
    let some = |rng: &mut ChaCha8Rng, values: &[u64]| match pick(rng, 0, 5) {
        0 => None,
        _ => Some(values[pick(rng, 0, values.len() as u64 - 1) as usize]),
    };
    let count = pick(rng, 1, 16) as u32;
    let generic = ["", "gpu:2", "gpu:4,nic:1"][count as usize % 3];
    Resource {
        name: None,
        count,
        cpu_count: 1 << pick(rng, 0, 3),
        architecture: name(rng, &["x86", "ppc", "ia64"]),
        os: name(rng, &["LINUX", "AIX", "WINDOWS"]),
        memory_mib: some(rng, &[512, 1024, 2048, 8192]),
        disk_mib: some(rng, &[1000, 10_000, 100_000]),
        speed: Decimal::ONE,
        generic: generic.parse().unwrap(),
    }
}

fn job(rng: &mut ChaCha8Rng) -> JobSpec {
    let processors = pick(rng, 1, 48) as u32;
    let generic = ["", "", "gpu:3", "gpu:1,nic:1"][processors as usize % 4];
    let mut job = JobSpec::rigid(JobId(0), processors, SimDuration::from_secs(1));
    job.components.first.requirements = Requirements {
        architecture: name(rng, &["x86", "PPC", "ia64"]).map(Into::into),
        os: name(rng, &["linux", "AIX", "WINDOWS"]).map(Into::into),
        memory_kib: [0, 256, 1000, 2048, 4096][pick(rng, 0, 4) as usize] * 1024,
        disk_mib: [0, 1000, 20_000][pick(rng, 0, 2) as usize],
        generic: generic.parse().unwrap(),
        ..Requirements::default()
    };
    job
}

fn name(rng: &mut ChaCha8Rng, names: &[&str]) -> Option<String> {
    let index = pick(rng, 0, names.len() as u64) as usize;
    names.get(index).map(|name| (*name).to_owned())
}

/// A number from `low` to `high`, both included.
fn pick(rng: &mut ChaCha8Rng, low: u64, high: u64) -> u64 {
    rng.random_range(low..=high)
}
