//! What a cluster keeps of jobs that it does not take.

use super::*;
use crate::event::NoEvents;
use crate::job::{Components, Requirements};

#[test]
fn what_is_refused_leaves_no_class_behind() {
    let mut config = ClusterConfig::new(
        ClusterId(0),
        Resources::homogeneous(1),
        DisciplineKind::Fcfs,
    );
    config.queue_limit = Some(1);
    let mut cluster = Cluster::new(config);
    let known = cluster.classes.capacity.len();
    let mut submit = |processors, memory_kib| {
        let wanted = Requirements {
            memory_kib,
            ..Requirements::default()
        };
        let components = Components::one(processors, wanted);
        let job = JobSpec::of(components, SimDuration::from_secs(1));
        let taken = cluster.submit(SimTime::ZERO, &job, &mut NoEvents);
        (taken, cluster.classes.capacity.len() - known)
    };
    assert_eq!(submit(2, 1), (Err(Reason::NeverFits), 0));
    assert_eq!(submit(1, 1), (Ok(()), 1));
    assert_eq!(submit(1, 2), (Err(Reason::QueueFull), 1));
}

#[test]
fn what_is_known_of_requirements_is_bounded() {
    let nodes = Resources::homogeneous(1);
    let config = ClusterConfig::new(ClusterId(0), nodes, DisciplineKind::Fcfs);
    let mut cluster = Cluster::new(config);
    let mut submit = |memory_kib| {
        let wanted = Requirements {
            memory_kib,
            ..Requirements::default()
        };
        let job = JobSpec::of(Components::one(1, wanted), SimDuration::from_secs(1));
        let taken = cluster.submit(SimTime::ZERO, &job, &mut NoEvents);
        cluster.cancel(SimTime::ZERO, job.id, &mut NoEvents);
        taken
    };
    let mut refused = (1..)
        .find(|memory_kib| submit(*memory_kib).is_err())
        .unwrap();
    assert!(refused <= MOST_CLASSES as u64 + 1, "{refused}");
    // Jobs like those before are taken as before.
    refused -= 1;
    assert_eq!(submit(refused), Ok(()));
}
