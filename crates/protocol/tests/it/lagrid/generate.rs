//! Random messages of every kind.

use crate::jsdl::generate::{definition, drawn};
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
    let namespace = select(vec![LAGRID, "urn:x", "http://x/?a=1&b=\"2\""]);
    let parameter = drawn!(Parameter {
        namespace: namespace.prop_map(str::to_owned),
        name: "[A-Za-z_][A-Za-z0-9_.-]{0,8}",
        value: name(),
    });
    drawn!(Reference {
        address: "https?://[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,3})?(:[1-9][0-9]{0,3})?/[a-z?=&.]{0,9}",
        parameters: vec(parameter, 0..3),
    })
}

fn heartbeat_ms() -> impl Strategy<Value = u64> {
    1..=86_400_000_u64
}

fn proposal() -> impl Strategy<Value = Proposal> {
    drawn!(Proposal {
        authentication: words(&Auth::ALL, 1),
        initiator_roles: words(Role::ALL, 0),
        responder_roles: words(Role::ALL, 0),
        heartbeat_ms: heartbeat_ms(),
        job_languages: words(JobLanguage::ALL, 1),
        resource_languages: words(ResourceLanguage::ALL, 1),
        resource_forms: words(&Form::ALL, 1),
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    drawn!(Terms {
        authentication: word(&Auth::ALL),
        initiator_roles: words(Role::ALL, 0),
        responder_roles: words(Role::ALL, 0),
        heartbeat_ms: heartbeat_ms(),
        job_language: Just(JobLanguage::Jsdl),
        resource_language: word(ResourceLanguage::ALL),
        resource_form: word(&Form::ALL),
    })
}

pub fn open_conn() -> impl Strategy<Value = OpenConn> {
    let drawn = drawn!(OpenConn {
        initiator: name(),
        endpoint: reference(),
        incarnation: any::<u64>(),
        connection: of(name()),
        round: any::<u32>(),
        max_rounds: 1..=u32::MAX,
        proposal: proposal(),
    });
    drawn.prop_map(|open| OpenConn {
        round: 1 + open.round % open.max_rounds,
        ..open
    })
}

pub fn open_conn_answer() -> impl Strategy<Value = OpenConnAnswer> {
    let refusal = (name(), name()).prop_map(|(code, reason)| Refusal { code, reason });
    drawn!(OpenConnAnswer {
        responder: name(),
        endpoint: reference(),
        incarnation: any::<u64>(),
        connection: name(),
        round: 1..=u32::MAX,
        verdict: prop_oneof![
            terms().prop_map(Verdict::Accepted),
            proposal().prop_map(Verdict::Counter),
            refusal.prop_map(Verdict::Refused),
        ],
    })
}

pub fn notify_conn() -> impl Strategy<Value = NotifyConn> {
    drawn!(NotifyConn {
        connection: name(),
        event: word(ConnEvent::ALL),
        code: name(),
        reason: name(),
    })
}

pub fn taken() -> impl Strategy<Value = Taken> {
    any::<bool>().prop_map(|repeated| Taken { repeated })
}

pub fn heartbeat() -> impl Strategy<Value = Heartbeat> {
    drawn!(Heartbeat {
        connection: name(),
        sequence: 1..=u64::MAX,
        incarnation: any::<u64>(),
    })
}

pub fn heartbeat_answer() -> impl Strategy<Value = HeartbeatAnswer> {
    drawn!(HeartbeatAnswer {
        sequence: 1..=u64::MAX,
        incarnation: any::<u64>(),
    })
}

pub fn request_resource_data() -> impl Strategy<Value = RequestResourceData> {
    drawn!(RequestResourceData {
        connection: name(),
        form: of(word(&Form::ALL)),
        since: of(1..=u64::MAX),
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
    drawn!(NodeGroup {
        name: of(name()),
        nodes: any::<u32>(),
        processors_per_node: any::<u32>(),
        architecture: of(name()),
        os: of(name()),
        memory_mib: of(any::<u64>()),
        disk_mib: of(any::<u64>()),
        speed: select(vec!["1", "0.5", "3.84", "12.125"]).prop_map(str::to_owned),
        generic_resources: of(generic(1, 1_000_000)),
    })
}

fn cluster(number: u16) -> impl Strategy<Value = ClusterReport> {
    drawn!(ClusterReport {
        name: of(name()),
        groups: vec(nodes(), 0..3),
        load: load(number),
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
    drawn!(LetterName {
        incarnation: any::<u64>(),
        number: any::<u64>(),
    })
}

pub fn send_resource_data() -> impl Strategy<Value = SendResourceData> {
    drawn!(SendResourceData {
        connection: name(),
        letter: of(letter()),
        meant_ns: of(any::<u64>()),
        update: update(),
    })
}

pub fn send_resource_data_answer() -> impl Strategy<Value = SendResourceDataAnswer> {
    (word(UpdateVerdict::ALL), any::<u64>())
        .prop_map(|(verdict, have)| SendResourceDataAnswer { verdict, have })
}

pub fn submit_job() -> impl Strategy<Value = SubmitJob> {
    let origin = drawn!(Origin {
        domain: name(),
        job: any::<u32>(),
        user: of(name()),
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
    drawn!(SubmitJobAnswer {
        job: any::<u32>(),
        state: word(JobState::ALL),
        reason: of(name()),
        at_ns: any::<u64>(),
        repeated: any::<bool>(),
        endpoint: reference(),
    })
}

pub fn query_job() -> impl Strategy<Value = QueryJob> {
    (name(), any::<u32>()).prop_map(|(connection, job)| QueryJob { connection, job })
}

pub fn cancel_job() -> impl Strategy<Value = CancelJob> {
    (name(), any::<u32>()).prop_map(|(connection, job)| CancelJob { connection, job })
}

pub fn job_report() -> impl Strategy<Value = JobReport> {
    drawn!(JobReport {
        job: any::<u32>(),
        state: word(JobState::ALL),
        reason: of(name()),
        cluster: of(any::<u16>()),
        start_ns: of(any::<u64>()),
        finish_ns: of(any::<u64>()),
    })
}

pub fn notify_job() -> impl Strategy<Value = NotifyJob> {
    drawn!(NotifyJob {
        connection: name(),
        letter: of(letter()),
        meant_ns: of(any::<u64>()),
        news: word(JobNews::ALL),
        report: job_report(),
        reference: reference().prop_map(|reference| reference.parameters),
    })
}
