//! Random messages of every kind.

use crate::jsdl::generate::definition;
use gridrig_core::inventory::{Form, Schema};
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::lagrid::{
    Auth, CancelJob, ClusterReport, ConnEvent, Heartbeat, HeartbeatAnswer, JobLanguage, JobNews,
    JobReport, JobState, LAGRID, NotifyConn, NotifyJob, OpenConn, OpenConnAnswer, Origin,
    Parameter, Proposal, QueryJob, Reference, Refusal, RequestResourceData, ResourceLanguage,
    ResourceUpdate, Role, SendResourceData, SendResourceDataAnswer, SubmitJob, SubmitJobAnswer,
    Taken, Terms, UpdateKind, UpdateVerdict, Verdict,
};
use gridrig_protocol::rest::{GenericCounts, LetterName, LoadReport, MeanReport, NodeGroup};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use std::path::Path;

fn name() -> impl Strategy<Value = String> {
    "[!-~ä€\u{1f600}]([ -~ä€]{0,12}[!-~])?"
}

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    select(all)
}

fn words<T: Clone + std::fmt::Debug + 'static>(
    all: &'static [T],
    least: usize,
) -> impl Strategy<Value = Vec<T>> {
    let some = subsequence(all.to_vec(), least..=all.len());
    some.prop_shuffle()
}

fn reference() -> impl Strategy<Value = Reference> {
    let address = "https?://[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3})?(:[1-9][0-9]{0,3})?/[a-z?=&.]{0,9}";
    let namespace = select(vec![LAGRID, "urn:x", "http://x/?a=1&b=\"2\""]);
    let parameter = (namespace, "[A-Za-z_][A-Za-z0-9_.-]{0,8}", name());
    let parameter = parameter.prop_map(|(namespace, name, value)| Parameter {
        namespace: namespace.to_owned(),
        name,
        value,
    });
    (address, vec(parameter, 0..3)).prop_map(|(address, parameters)| Reference {
        address,
        parameters,
    })
}

fn proposal() -> impl Strategy<Value = Proposal> {
    (
        words(&Auth::ALL, 1),
        (words(Role::ALL, 0), words(Role::ALL, 0)),
        1..=86_400_000_u64,
        words(JobLanguage::ALL, 1),
        words(ResourceLanguage::ALL, 1),
        words(&Form::ALL, 1),
    )
        .prop_map(
            |(authentication, roles, heartbeat_ms, jobs, resources, forms)| Proposal {
                authentication,
                initiator_roles: roles.0,
                responder_roles: roles.1,
                heartbeat_ms,
                job_languages: jobs,
                resource_languages: resources,
                resource_forms: forms,
            },
        )
}

fn terms() -> impl Strategy<Value = Terms> {
    (
        word(&Auth::ALL),
        (words(Role::ALL, 0), words(Role::ALL, 0)),
        1..=86_400_000_u64,
        word(ResourceLanguage::ALL),
        word(&Form::ALL),
    )
        .prop_map(
            |(authentication, roles, heartbeat_ms, language, form)| Terms {
                authentication,
                initiator_roles: roles.0,
                responder_roles: roles.1,
                heartbeat_ms,
                job_language: JobLanguage::Jsdl,
                resource_language: language,
                resource_form: form,
            },
        )
}

pub fn open_conn() -> impl Strategy<Value = OpenConn> {
    let rounds = (1..=u32::MAX).prop_flat_map(|most| (1..=most, Just(most)));
    (
        name(),
        reference(),
        any::<u64>(),
        of(name()),
        rounds,
        proposal(),
    )
        .prop_map(
            |(initiator, endpoint, incarnation, connection, (round, max_rounds), proposal)| {
                OpenConn {
                    initiator,
                    endpoint,
                    incarnation,
                    connection,
                    round,
                    max_rounds,
                    proposal,
                }
            },
        )
}

pub fn open_conn_answer() -> impl Strategy<Value = OpenConnAnswer> {
    let refusal = (name(), name()).prop_map(|(code, reason)| Refusal { code, reason });
    let verdict = prop_oneof![
        terms().prop_map(Verdict::Accepted),
        proposal().prop_map(Verdict::Counter),
        refusal.prop_map(Verdict::Refused),
    ];
    (
        name(),
        reference(),
        any::<u64>(),
        name(),
        1..=u32::MAX,
        verdict,
    )
        .prop_map(
            |(responder, endpoint, incarnation, connection, round, verdict)| OpenConnAnswer {
                responder,
                endpoint,
                incarnation,
                connection,
                round,
                verdict,
            },
        )
}

pub fn notify_conn() -> impl Strategy<Value = NotifyConn> {
    (name(), word(ConnEvent::ALL), name(), name()).prop_map(|(connection, event, code, reason)| {
        NotifyConn {
            connection,
            event,
            code,
            reason,
        }
    })
}

pub fn taken() -> impl Strategy<Value = Taken> {
    any::<bool>().prop_map(|repeated| Taken { repeated })
}

pub fn heartbeat() -> impl Strategy<Value = Heartbeat> {
    (name(), 1..=u64::MAX, any::<u64>()).prop_map(|(connection, sequence, incarnation)| Heartbeat {
        connection,
        sequence,
        incarnation,
    })
}

pub fn heartbeat_answer() -> impl Strategy<Value = HeartbeatAnswer> {
    (1..=u64::MAX, any::<u64>()).prop_map(|(sequence, incarnation)| HeartbeatAnswer {
        sequence,
        incarnation,
    })
}

pub fn request_resource_data() -> impl Strategy<Value = RequestResourceData> {
    (name(), of(word(&Form::ALL)), of(1..=u64::MAX)).prop_map(|(connection, form, since)| {
        RequestResourceData {
            connection,
            form,
            since,
        }
    })
}

fn mean() -> impl Strategy<Value = MeanReport> {
    (1..=300_000_000_000_u64, any::<Index>()).prop_map(|(weight_ns, sum)| MeanReport {
        sum: (u128::from(weight_ns) * sum.index(1 << 24) as u128).to_string(),
        weight_ns,
    })
}

fn load(cluster: u16) -> impl Strategy<Value = LoadReport> {
    let numbers = (any::<u64>(), any::<u32>(), any::<u32>(), any::<u32>());
    let queue = (0..=1_u64 << 62, 0..=1_u128 << 90);
    let means = [mean(), mean(), mean(), mean()];
    let space = (
        of(any::<u64>()),
        of(any::<u64>()),
        of(any::<u64>()),
        of(generic(0, u64::MAX)),
    );
    (numbers, queue, means, space).prop_map(
        move |((at_ns, processors, busy, queued), (queued_processors, work_left), means, space)| {
            let [a, b, c, d] = means;
            let (free_memory_kib, free_node_memory_kib, free_disk_mib, free_generic_resources) =
                space;
            LoadReport {
                cluster,
                at_ns,
                processors,
                busy,
                queued: queued.into(),
                queued_processors,
                work_left: work_left.to_string(),
                queued_mean_30s: a,
                queued_mean_300s: b,
                busy_mean_30s: c,
                busy_mean_300s: d,
                free_memory_kib,
                free_node_memory_kib,
                free_disk_mib,
                free_generic_resources,
            }
        },
    )
}

/// Generic resources, of each at least and at most so many.
fn generic(least: u64, most: u64) -> impl Strategy<Value = GenericCounts> {
    let names = select(vec!["gpu:a100", "nic", "a_b-1"]).prop_map(str::to_owned);
    proptest::collection::btree_map(names, least..=most, 1..3).prop_map(GenericCounts)
}

fn nodes() -> impl Strategy<Value = NodeGroup> {
    let texts = (of(name()), of(name()), of(name()));
    let sizes = (
        any::<u32>(),
        any::<u32>(),
        of(any::<u64>()),
        of(any::<u64>()),
    );
    let speed = select(vec!["1", "0.5", "3.84", "12.125"]);
    (texts, sizes, speed, of(generic(1, 1_000_000))).prop_map(
        |(texts, (nodes, processors_per_node, memory_mib, disk_mib), speed, generic_resources)| {
            let (name, architecture, os) = texts;
            NodeGroup {
                name,
                nodes,
                processors_per_node,
                architecture,
                os,
                memory_mib,
                disk_mib,
                speed: speed.to_owned(),
                generic_resources,
            }
        },
    )
}

fn cluster(number: u16) -> impl Strategy<Value = ClusterReport> {
    (of(name()), vec(nodes(), 0..3), load(number)).prop_map(|(name, groups, load)| ClusterReport {
        name,
        groups,
        load,
    })
}

/// LA Grid's Table 2, which ships, in this form.
fn inventory(form: Form) -> InventoryDocument {
    let shipped = "../../resources/inventory/table-2.xml";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(shipped);
    let flat = InventoryDocument::parse(&std::fs::read(file).unwrap()).unwrap();
    let form = Form::from_name(form.name()).unwrap();
    let flat = flat.inventory().unwrap();
    InventoryDocument::from(&flat.in_form(form, &Schema::la_grid()).unwrap())
}

pub fn update() -> impl Strategy<Value = ResourceUpdate> {
    let incremental = (2..=u64::MAX)
        .prop_flat_map(|sequence| (Just(sequence), 1..sequence))
        .prop_map(|(sequence, from)| (UpdateKind::Incremental, sequence, Some(from)));
    let full = (1..=u64::MAX).prop_map(|sequence| (UpdateKind::Full, sequence, None));
    let clusters = (0..4_u16).prop_flat_map(|n| (0..n).map(cluster).collect::<Vec<_>>());
    let removed = proptest::collection::btree_set(10..20_u16, 0..3);
    let form = word(&Form::ALL);
    let form = form.prop_flat_map(|form| (Just(form), of(Just(inventory(form)))));
    let parts = (any::<u64>(), form, clusters, removed);
    (prop_oneof![full, incremental], parts).prop_map(
        |((kind, sequence, from_sequence), (at_ns, (form, inventory), clusters, removed))| {
            ResourceUpdate {
                kind,
                sequence,
                from_sequence,
                form,
                at_ns,
                clusters,
                inventory,
                removed: removed.into_iter().collect(),
            }
        },
    )
}

fn letter() -> impl Strategy<Value = LetterName> {
    (any::<u64>(), any::<u64>()).prop_map(|(incarnation, number)| LetterName {
        incarnation,
        number,
    })
}

pub fn send_resource_data() -> impl Strategy<Value = SendResourceData> {
    (name(), of(letter()), of(any::<u64>()), update()).prop_map(
        |(connection, letter, meant_ns, update)| SendResourceData {
            connection,
            letter,
            meant_ns,
            update,
        },
    )
}

pub fn send_resource_data_answer() -> impl Strategy<Value = SendResourceDataAnswer> {
    (word(UpdateVerdict::ALL), any::<u64>())
        .prop_map(|(verdict, have)| SendResourceDataAnswer { verdict, have })
}

pub fn submit_job() -> impl Strategy<Value = SubmitJob> {
    let origin = (name(), any::<u32>(), of(name())).prop_map(|(domain, job, user)| Origin {
        domain,
        job,
        user,
    });
    let forwarded = (origin, reference(), any::<u32>())
        .prop_map(|(origin, forwarder, hop)| (Some(origin), Some(forwarder), hop));
    let fresh = Just((None, None, 0));
    let rest = (of(any::<u32>()), of(any::<u64>()), definition());
    (name(), name(), prop_oneof![fresh, forwarded], rest).prop_map(
        |(connection, key, (origin, forwarder, hop), (ttl, meant_ns, job))| SubmitJob {
            connection,
            key,
            origin,
            hop,
            ttl,
            forwarder,
            meant_ns,
            job,
        },
    )
}

pub fn submit_job_answer() -> impl Strategy<Value = SubmitJobAnswer> {
    let parts = (any::<u32>(), word(JobState::ALL), of(name()));
    (parts, any::<u64>(), any::<bool>(), reference()).prop_map(
        |((job, state, reason), at_ns, repeated, endpoint)| SubmitJobAnswer {
            job,
            state,
            reason,
            at_ns,
            repeated,
            endpoint,
        },
    )
}

pub fn query_job() -> impl Strategy<Value = QueryJob> {
    (name(), any::<u32>()).prop_map(|(connection, job)| QueryJob { connection, job })
}

pub fn cancel_job() -> impl Strategy<Value = CancelJob> {
    (name(), any::<u32>()).prop_map(|(connection, job)| CancelJob { connection, job })
}

pub fn job_report() -> impl Strategy<Value = JobReport> {
    let instants = (of(any::<u64>()), of(any::<u64>()));
    let parts = (
        any::<u32>(),
        word(JobState::ALL),
        of(name()),
        of(any::<u16>()),
    );
    (parts, instants).prop_map(
        |((job, state, reason, cluster), (start_ns, finish_ns))| JobReport {
            job,
            state,
            reason,
            cluster,
            start_ns,
            finish_ns,
        },
    )
}

pub fn notify_job() -> impl Strategy<Value = NotifyJob> {
    let marks = (of(letter()), of(any::<u64>()), reference());
    (name(), marks, word(JobNews::ALL), job_report()).prop_map(
        |(connection, (letter, meant_ns, reference), news, report)| NotifyJob {
            connection,
            letter,
            meant_ns,
            news,
            report,
            reference: reference.parameters,
        },
    )
}
