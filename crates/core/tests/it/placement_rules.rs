//! Which nodes are free and which are taken, by the nodes themselves.

use gridrig_core::job::Requirements;
use gridrig_core::placement::{ClassId, Nodes, PlacementRun};
use gridrig_core::resource::{Resource, Resources};
use gridrig_core::time::Decimal;

fn group(count: u32, cpu_count: u32, memory_mib: Option<u64>) -> Resource {
    Resource {
        name: None,
        count,
        cpu_count,
        architecture: None,
        os: None,
        memory_mib,
        disk_mib: None,
        speed: Decimal::ONE,
        generic: Default::default(),
    }
}

fn nodes(groups: &[Resource]) -> (Nodes, Resources) {
    let resources = Resources::new(groups.to_vec()).expect("the test has processors");
    (Nodes::new(&resources), resources)
}

/// The class of the jobs that want so much memory per processor, watched.
fn class((nodes, resources): &mut (Nodes, Resources), memory_kib: u64) -> ClassId {
    let wanted = Requirements {
        memory_kib,
        ..Requirements::default()
    };
    let class = nodes.add_class(resources, &wanted);
    nodes.watch(class);
    class
}

fn run(resource: u16, node: u32, nodes: u32, processors: u32) -> PlacementRun {
    PlacementRun {
        resource,
        node,
        nodes,
        processors,
    }
}

#[test]
fn nodes_of_many_processors_are_searched_from_the_lowest_that_is_open() {
    let mut cluster = nodes(&[group(200, 2, None)]);
    let any = class(&mut cluster, 0);
    let (mut nodes, _) = cluster;
    assert_eq!(nodes.take(any, 261), [run(0, 0, 130, 2), run(0, 130, 1, 1)]);
    nodes.give_back(any, vec![run(0, 63, 1, 2)]);
    assert_eq!(nodes.take(any, 1), [run(0, 63, 1, 1)]);
    nodes.give_back(any, vec![run(0, 63, 1, 1)]);
    assert_eq!(nodes.take(any, 2), [run(0, 63, 1, 2)]);
    nodes.give_back(any, vec![run(0, 129, 1, 2)]);
    assert_eq!(nodes.take(any, 3), [run(0, 129, 1, 2), run(0, 130, 1, 1)]);
    nodes.give_back(any, vec![run(0, 65, 1, 1)]);
    assert_eq!(nodes.take(any, 2), [run(0, 65, 1, 1), run(0, 131, 1, 1)]);
    assert_eq!(nodes.available(any), 137);
    assert_eq!(
        nodes.take(any, 137),
        [run(0, 131, 1, 1), run(0, 132, 68, 2)]
    );
    assert_eq!((nodes.available(any), nodes.busy()), (0, 400));
}

#[test]
fn single_processor_nodes_are_searched_from_the_lowest_that_is_open() {
    let mut cluster = nodes(&[group(200, 1, None)]);
    let any = class(&mut cluster, 0);
    let (mut nodes, _) = cluster;
    assert_eq!(nodes.take(any, 150), [run(0, 0, 150, 1)]);
    nodes.give_back(any, vec![run(0, 63, 1, 1)]);
    assert_eq!(nodes.take(any, 2), [run(0, 63, 1, 1), run(0, 150, 1, 1)]);
    // Back over the border of two words, with a gap to what is free beyond.
    nodes.give_back(any, vec![run(0, 126, 4, 1), run(0, 10, 2, 1)]);
    assert_eq!(
        nodes.take(any, 7),
        [run(0, 10, 2, 1), run(0, 126, 4, 1), run(0, 151, 1, 1)]
    );
    assert_eq!((nodes.available(any), nodes.busy()), (48, 152));
}

#[test]
fn single_processor_nodes_are_followed_one_by_one_for_a_job_with_a_memory_need() {
    let mut cluster = nodes(&[group(200, 1, None)]);
    let hungry = class(&mut cluster, 1);
    let (mut nodes, _) = cluster;
    assert_eq!(nodes.available(hungry), 200);
    assert_eq!(nodes.take(hungry, 150), [run(0, 0, 150, 1)]);
    assert_eq!(nodes.available(hungry), 50);
    nodes.give_back(hungry, vec![run(0, 62, 70, 1)]);
    assert_eq!(nodes.available(hungry), 120);
    assert_eq!(
        nodes.take(hungry, 71),
        [run(0, 62, 70, 1), run(0, 150, 1, 1)]
    );
    assert_eq!((nodes.available(hungry), nodes.busy()), (49, 151));
}

#[test]
fn availability_is_right_again_when_a_class_is_watched_anew() {
    let mut cluster = nodes(&[group(2, 4, Some(1))]);
    let (small, large) = (class(&mut cluster, 200), class(&mut cluster, 500));
    let (mut nodes, _) = cluster;
    let available = |nodes: &mut Nodes| [small, large].map(|class| nodes.available(class));
    // 1024 KiB hold five of 200 KiB, of which four have a processor, and two
    // of 500 KiB.
    assert_eq!(available(&mut nodes), [8, 4]);
    nodes.unwatch(small);
    assert_eq!(nodes.take(large, 1), [run(0, 0, 1, 1)]);
    assert_eq!(nodes.available(large), 3);
    nodes.watch(small);
    // 524 KiB and three processors are left on the first node.
    assert_eq!(available(&mut nodes), [6, 3]);
    assert_eq!(nodes.take(small, 1), [run(0, 0, 1, 1)]);
    assert_eq!(available(&mut nodes), [5, 2]);
    nodes.unwatch(large);
    nodes.unwatch(small);
    nodes.watch(large);
    assert_eq!(nodes.take(large, 2), [run(0, 1, 1, 2)]);
    assert_eq!(nodes.available(large), 0);
    nodes.give_back(large, vec![run(0, 0, 1, 1), run(0, 1, 1, 2)]);
    nodes.give_back(small, vec![run(0, 0, 1, 1)]);
    assert_eq!((nodes.available(large), nodes.busy()), (4, 0));
}

#[test]
fn a_node_whose_memory_is_used_up_gives_nothing_to_a_job_that_needs_some() {
    let mut cluster = nodes(&[group(2, 4, Some(1))]);
    let hungry = class(&mut cluster, 1_024);
    let (mut nodes, _) = cluster;
    assert_eq!(nodes.take(hungry, 1), [run(0, 0, 1, 1)]);
    assert_eq!(nodes.take(hungry, 1), [run(0, 1, 1, 1)]);
    assert_eq!(nodes.available(hungry), 0);
}

#[test]
fn memory_counts_on_single_processor_nodes_too() {
    let mut cluster = nodes(&[group(2, 1, Some(1)), group(2, 1, None)]);
    let hungry = class(&mut cluster, 1_025);
    let (mut nodes, _) = cluster;
    assert_eq!(nodes.available(hungry), 2);
    assert_eq!(nodes.take(hungry, 2), [run(1, 0, 2, 1)]);
}

#[test]
fn generic_resources_are_taken_once_on_each_node_of_a_job() {
    let with = |generic: &str, group: Resource| Resource {
        generic: generic.parse().unwrap(),
        ..group
    };
    let groups = [
        with("gpu:4", group(2, 4, None)),
        with("gpu:2", group(2, 1, None)),
        group(1, 9, None),
    ];
    let (mut nodes, resources) = nodes(&groups);
    let mut class = |generic: &str| {
        let wanted = Requirements {
            generic: generic.parse().unwrap(),
            ..Requirements::default()
        };
        assert_eq!(
            resources.capacity(&wanted),
            if generic == "gpu:3" { 8 } else { 10 }
        );
        let class = nodes.add_class(&resources, &wanted);
        nodes.watch(class);
        class
    };
    let (one, two, three) = (class("gpu:1"), class("gpu:2"), class("gpu:3"));
    let free = |nodes: &mut Nodes| [one, two, three].map(|class| nodes.available(class));
    assert_eq!(free(&mut nodes), [10, 10, 8]);
    // Two of four on the first node, whatever the number of processors.
    let first = nodes.take(two, 3);
    assert_eq!(first, [run(0, 0, 1, 3)]);
    assert_eq!(free(&mut nodes), [7, 7, 4]);
    assert_eq!(nodes.space().generic["gpu"], 10);
    let second = nodes.take(two, 6);
    assert_eq!(second, [run(0, 0, 1, 1), run(0, 1, 1, 4), run(1, 0, 1, 1)]);
    assert_eq!(free(&mut nodes), [1, 1, 0]);
    nodes.give_back(two, first);
    // Processors are back on the first node, and two of four.
    assert_eq!(free(&mut nodes), [4, 4, 0]);
    nodes.give_back(two, second);
    assert_eq!(free(&mut nodes), [10, 10, 8]);
    assert_eq!(nodes.space().generic["gpu"], 12);
}

#[test]
fn a_job_takes_gpus_of_its_type_or_of_any() {
    let of = |generic: &str| Resource {
        generic: generic.parse().unwrap(),
        ..group(1, 4, None)
    };
    let (mut nodes, resources) = nodes(&[of("gpu:v100:2"), of("gpu:a100:2")]);
    let mut class = |generic: &str| {
        let wanted = Requirements {
            generic: generic.parse().unwrap(),
            ..Requirements::default()
        };
        let class = nodes.add_class(&resources, &wanted);
        nodes.watch(class);
        class
    };
    let (any, typed) = (class("gpu:1"), class("gpu:a100:2"));
    assert_eq!((nodes.available(any), nodes.available(typed)), (8, 4));
    // A job that took any of them took one of those of its type.
    let both = nodes.take(any, 5);
    assert_eq!(both, [run(0, 0, 1, 4), run(1, 0, 1, 1)]);
    assert_eq!((nodes.available(any), nodes.available(typed)), (3, 0));
    assert_eq!(nodes.space().generic["gpu"], 2);
    nodes.give_back(any, both);
    assert_eq!(nodes.take(typed, 1), [run(1, 0, 1, 1)]);
    assert_eq!(nodes.available(any), 4);
}

#[test]
fn a_job_takes_no_more_of_a_node_than_it_wants() {
    let (mut nodes, resources) = nodes(&[group(3, 4, None), group(2, 1, None)]);
    let wanted = Requirements {
        most_per_node: 2,
        ..Requirements::default()
    };
    assert_eq!(resources.capacity(&wanted), 8);
    let spread = nodes.add_class(&resources, &wanted);
    let any = nodes.add_class(&resources, &Requirements::default());
    nodes.watch(spread);
    assert_eq!(nodes.available(spread), 8);
    let pair = nodes.take(spread, 3);
    assert_eq!(pair, [run(0, 0, 1, 2), run(0, 1, 1, 1)]);
    // What another job has left of a node bounds it, too.
    assert_eq!(nodes.take(any, 4), [run(0, 0, 2, 2)]);
    assert_eq!(nodes.available(spread), 5);
    nodes.give_back(spread, pair);
    assert_eq!(nodes.available(spread), 8);
}

#[test]
fn alike_runs_of_two_resources_stay_apart() {
    let mut cluster = nodes(&[group(2, 2, None), group(4, 2, None)]);
    let any = class(&mut cluster, 0);
    let (mut nodes, _) = cluster;
    let all = nodes.take(any, 12);
    assert_eq!(all, [run(0, 0, 2, 2), run(1, 0, 4, 2)]);
    nodes.give_back(any, vec![run(0, 0, 2, 2), run(1, 2, 1, 2)]);
    assert_eq!(nodes.take(any, 6), [run(0, 0, 2, 2), run(1, 2, 1, 2)]);
}
