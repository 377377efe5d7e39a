//! Requirements that traces do not have, drawn as in the scalability study of
//! LA Grid (4.3.1): architecture and operating system by bursts of jobs,
//! memory from a distribution, disk from run time, processors and memory.

use crate::synth::unit::holder;
use gridrig_core::job::{Component, Components, JobSpec, StartWindow, Submission};
use gridrig_core::rng;
use gridrig_core::time::SimDuration;
pub use gridrig_scenario::workload::{Disk, Draw, StartWindows};
use rand::RngExt as _;
use rand::rngs::ChaCha8Rng;
use std::num::NonZeroU32;

/// Draws for the jobs of a workload, in their order.
pub fn apply<'a>(
    draw: &Draw,
    jobs: impl Iterator<Item = &'a mut JobSpec>,
    seed: u64,
    workload: u16,
) {
    let stream = |what: &str| rng::stream(seed, &format!("draw-{workload}/{what}"));
    let mut kinds = stream("kinds");
    let mut memory = stream("memory");
    let mut disk = stream("disk");
    let mut data = stream("data");
    let mut generic = stream("generic");
    let mut numbers = stream("components");
    let mut accounts = stream("accounts");
    let (mut left, mut architecture, mut os) = (0, None, None);
    for job in jobs {
        if left == 0 {
            let (least, most) = draw.burst;
            left = kinds.random_range(least.max(1)..=most.max(least).max(1));
            architecture = one(&mut kinds, &draw.architecture);
            os = one(&mut kinds, &draw.os);
        }
        left -= 1;
        if let Some(count) = draw.accounts {
            job.account = NonZeroU32::new(accounts.random_range(1..=count.get()));
        }
        if let Some(mib) = one(&mut data, &draw.data_mib) {
            job.data_kib = mib.saturating_mul(1024);
        }
        let number = one(&mut numbers, &draw.components);
        if let Some(parts) = number.and_then(|number| divided(&job.components.first, number)) {
            job.components = parts;
        }
        for component in job.components.iter_mut() {
            let wanted = &mut component.requirements;
            wanted.architecture.clone_from(&architecture);
            wanted.os.clone_from(&os);
            if let Some(mib) = one(&mut memory, &draw.memory_mib) {
                wanted.memory_kib = mib * 1024;
            }
            if let Some(each) = one(&mut generic, &draw.generic) {
                wanted.generic = each;
            }
            if let Some(rule) = draw.disk {
                let thousandths = u128::from(disk.random_range(500..1500u32));
                let hours = u128::from(job.run_time.as_nanos());
                let size = u128::from(component.processors) * u128::from(wanted.memory_kib);
                let mib = u128::from(rule.rate_mib) * size * thousandths / (KIB_PER_GIB * 1000);
                let mib = mib.saturating_mul(hours) / NANOS_PER_HOUR;
                let mib = u64::try_from(mib).unwrap_or(u64::MAX).min(rule.most_mib);
                wanted.disk_mib = mib;
                if rule.is_data {
                    job.data_kib = job.data_kib.saturating_add(mib.saturating_mul(1024));
                }
            }
        }
    }
}

/// Gives some jobs a window to start in.
pub fn start_windows(windows: &StartWindows, jobs: &mut [Submission], seed: u64, workload: u16) {
    let mut random = rng::stream(seed, &format!("draw-{workload}/start-window"));
    let share = windows.share.multiply(u64::from(u32::MAX));
    for job in jobs {
        let notice = random.random_range(0..=windows.notice.as_nanos());
        let earliest = job.at + SimDuration::from_nanos(notice);
        if u64::from(random.random_range(0..u32::MAX)) < share {
            job.spec.start_window = Some(Box::new(StartWindow {
                earliest,
                latest: earliest + windows.length,
                flexible: windows.flexible,
            }));
        }
    }
}

/// Its processors over so many components, or as many as there are processors;
/// the first ones have one more where it does not divide.
pub(crate) fn divided(whole: &Component, number: u32) -> Option<Components> {
    let number = number.min(whole.processors);
    let part = |index| Component {
        processors: whole.processors / number + u32::from(index < whole.processors % number),
        requirements: whole.requirements.clone(),
        cluster: whole.cluster,
    };
    Components::new((0..number).map(part))
}

const KIB_PER_GIB: u128 = 1024 * 1024;
const NANOS_PER_HOUR: u128 = 3_600_000_000_000;

/// One of these, by weight; nothing of nothing.
fn one<T: Clone>(random: &mut ChaCha8Rng, from: &[(T, u64)]) -> Option<T> {
    let total: u64 = from.iter().map(|(_, weight)| weight).sum();
    if total == 0 {
        return None;
    }
    let at = random.random_range(0..total);
    let found = holder(from.iter().map(|(_, weight)| *weight), at)?;
    Some(from[found].0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::ids::JobId;
    use gridrig_core::job::Requirements;
    use gridrig_core::time::SimDuration;

    fn jobs(count: usize) -> Vec<JobSpec> {
        vec![JobSpec::rigid(JobId(0), 4, SimDuration::from_secs(1800)); count]
    }

    fn wanted(job: &JobSpec) -> &Requirements {
        &job.components.first.requirements
    }

    fn draw() -> Draw {
        Draw {
            architecture: vec![("x86".into(), 3), ("ppc".into(), 1)],
            os: vec![("LINUX".into(), 1)],
            burst: (3, 6),
            memory_mib: vec![(512, 1)],
            disk: Some(Disk {
                rate_mib: 100,
                most_mib: 120,
                is_data: true,
            }),
            data_mib: Vec::new(),
            generic: vec![("gpu:2".parse().unwrap(), 1), (Default::default(), 3)],
            components: Vec::new(),
            accounts: NonZeroU32::new(3),
            start_window: None,
        }
    }

    #[test]
    fn jobs_are_divided_evenly_and_each_component_has_a_draw_of_its_own() {
        let mut jobs = vec![JobSpec::rigid(JobId(0), 5, SimDuration::from_secs(1800)); 1000];
        let plain = jobs.clone();
        let components = vec![(1, 1), (3, 2), (64, 1)];
        apply(
            &Draw {
                components,
                ..draw()
            },
            jobs.iter_mut(),
            1,
            0,
        );
        let sizes = |job: &JobSpec| -> Vec<u32> {
            job.components.iter().map(|one| one.processors).collect()
        };
        let count = |wanted: &[u32]| jobs.iter().filter(|job| sizes(job) == wanted).count();
        let counts = [count(&[5]), count(&[2, 2, 1]), count(&[1; 5])];
        assert_eq!(counts.iter().sum::<usize>(), 1000);
        for (count, share) in counts.into_iter().zip([250, 500, 250]) {
            assert!(count.abs_diff(share) < 60, "{counts:?}");
        }
        let gpus = |one: &Component| one.requirements.generic.count("gpu");
        let mixed = jobs.iter().filter(|job| {
            let mut all = job.components.iter().map(gpus);
            all.clone().any(|gpus| gpus == 2) && all.any(|gpus| gpus == 0)
        });
        assert!(mixed.count() > 100);
        for job in &jobs {
            let disks = job.components.iter().map(|one| one.requirements.disk_mib);
            assert_eq!(job.data_kib, disks.sum::<u64>() * 1024);
        }
        // Nothing else of the workload depends on it.
        assert!(
            jobs.iter()
                .zip(&plain)
                .all(|(job, plain)| job.processors() == plain.processors())
        );
    }

    #[test]
    fn shares_follow_the_weights_and_bursts_have_the_lengths_asked_for() {
        let mut jobs = jobs(40_000);
        apply(&draw(), jobs.iter_mut(), 1, 0);
        let kind = |job: &JobSpec| wanted(job).architecture.clone().unwrap();
        let x86 = jobs.iter().filter(|job| &*kind(job) == "x86").count() as f64;
        assert!((x86 / 40_000.0 - 0.75).abs() < 0.02, "{x86}");
        let gpus = jobs.iter().map(|job| wanted(job).generic.count("gpu"));
        let gpu = gpus.filter(|count| *count == 2).count() as f64;
        assert!((gpu / 40_000.0 - 0.25).abs() < 0.02, "{gpu}");
        for account in 1..=3 {
            let its = jobs
                .iter()
                .map(|job| job.account.map_or(0, NonZeroU32::get));
            let share = its.filter(|its| *its == account).count() as f64 / 40_000.0;
            assert!((share - 1.0 / 3.0).abs() < 0.02, "{account}: {share}");
        }
        // A run of the rare kind is a sum of bursts.
        let mut shortest = usize::MAX;
        for run in jobs[..39_990].chunk_by(|a, b| kind(a) == kind(b)) {
            shortest = shortest.min(run.len());
        }
        assert!(shortest >= 3, "{shortest}");
    }

    #[test]
    fn disk_follows_run_time_processors_and_memory_up_to_a_bound_and_is_the_data() {
        let mut jobs = jobs(1_000);
        apply(&draw(), jobs.iter_mut(), 1, 0);
        // 100 x 0.5 h x 4 x 0.5 GiB = 100 MiB, times 1/2 to 3/2, at most 120.
        let disks: Vec<u64> = jobs.iter().map(|job| wanted(job).disk_mib).collect();
        assert!(disks.iter().all(|mib| (50..=120).contains(mib)));
        assert!(disks.contains(&120) && disks.iter().any(|mib| *mib < 60));
        for job in &jobs {
            assert_eq!(job.data_kib, wanted(job).disk_mib * 1024);
            assert_eq!(wanted(job).memory_kib, 512 * 1024);
        }
    }

    #[test]
    fn data_is_drawn_by_weight_whatever_the_disk_is() {
        let mut jobs = jobs(4_000);
        let of = Draw {
            data_mib: vec![(0, 1), (250, 3)],
            disk: None,
            ..draw()
        };
        apply(&of, jobs.iter_mut(), 1, 0);
        let with = jobs.iter().filter(|job| job.data_kib == 250 * 1024).count();
        assert!(with.abs_diff(3_000) < 150, "{with}");
        assert!(
            jobs.iter()
                .all(|job| [0, 250 * 1024].contains(&job.data_kib))
        );
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_workload_something_else() {
        let of = |seed, workload| {
            let mut jobs = jobs(100);
            apply(&draw(), jobs.iter_mut(), seed, workload);
            jobs
        };
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert_ne!(of(1, 0), of(2, 0));
    }
}
