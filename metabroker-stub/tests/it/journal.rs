//! A broker that dies and is restarted with its journal.

use super::*;
use gridrig_core::agent::Memory;
use gridrig_core::faults::{FaultPlan, Restart};
use gridrig_core::time::SimTime;
use gridrig_drivers::faults::{FaultCounts, Faults};
use gridrig_service::JournalSetup;
use std::io::Write as _;
use std::path::Path;

const OLD: &str = "{\"life\":\"begins\"}\n{\"at_ns\":1,\"event\":\"queued\"}\n";

/// A broker on this clock that decides nothing while a test lasts.
fn keeping(path: &Path, memory: Memory, clock: RunClock) -> Config {
    let idle = SimDuration::from_secs(36_000);
    Config {
        clock,
        journal: Some(JournalSetup {
            path: path.to_owned(),
            memory,
            of: "broker a".to_owned(),
            ..JournalSetup::default()
        }),
        ..config(idle, NOWHERE, NOWHERE)
    }
}

async fn begin(config: Config) -> std::io::Result<Handle> {
    spawn(config, TcpListener::bind("127.0.0.1:0").unwrap()).await
}

/// A line of a journal with this document.
fn summed(document: &str) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(document.as_bytes());
    format!("{:08x} {document}\n", crc.sum())
}

/// How many jobs the events tell to have come, in how many lives.
async fn told(broker: &Handle) -> (usize, Value) {
    let (_, page) = ask(broker, "GET", "/v1/events?after=0", None).await;
    let events = page["events"].as_array().unwrap().iter();
    let arrivals = events.filter(|event| event["event"] == "broker-arrival");
    (arrivals.count(), page["lives"].clone())
}

#[tokio::test]
async fn a_broker_goes_on_with_its_journal_or_forgets_and_still_tells_its_events() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.journal");
    let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
    let job = json!({"key": "run/0/7/0", "id": 7, "processors": 2, "run_time": "60s"});
    let first = begin(keeping(&path, Memory::Journal, clock)).await.unwrap();
    let (status, receipt) = ask(&first, "POST", "/v1/jobs", Some(job.clone())).await;
    assert_eq!(status, 201, "{receipt}");
    first.kill();
    let _ = first.stop().await;
    // Death cuts a line short.
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"{\"agent\":{\"Inp").unwrap();
    drop(file);
    let second = begin(keeping(&path, Memory::Journal, clock)).await.unwrap();
    assert_eq!(wait_for(&second, 7, "queued").await["id"], 7);
    // It gives the first answer again.
    let (_, again) = ask(&second, "POST", "/v1/jobs", Some(job)).await;
    assert_eq!(again, receipt);
    assert_eq!(told(&second).await, (1, json!(2)));
    let taken = begin(keeping(&path, Memory::Journal, clock)).await;
    let said = taken.err().unwrap().to_string();
    assert!(said.contains("another service writes it"), "{said}");
    second.stop().await.unwrap();
    for lives in 3..5 {
        let next = begin(keeping(&path, Memory::None, clock)).await.unwrap();
        assert_eq!(ask(&next, "GET", "/v1/jobs/7", None).await.0, 404);
        assert_eq!(told(&next).await, (1, json!(lives)));
        next.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_broker_crashes_by_plan_and_is_there_again_with_its_journal_or_without_memory() {
    let dir = tempfile::tempdir().unwrap();
    for (memory, expected) in [(Memory::Journal, 200), (Memory::None, 404)] {
        let restart = Restart {
            broker: DomainId(0),
            at: SimTime::from_nanos(10_000_000),
            back: SimTime::from_nanos(30_000_000),
            anew: Some(memory),
        };
        let plan = FaultPlan {
            restarts: vec![restart],
            ..FaultPlan::default()
        };
        let faults = Faults::new(plan, 1, "faults");
        let noted = dir.path().join(memory.name());
        faults.note_in(&noted).unwrap();
        let clock = RunClock::waiting(Decimal::ONE);
        let path = dir.path().join(format!("{}.journal", memory.name()));
        let mut config = keeping(&path, Memory::Journal, clock);
        config.faults = faults.clone();
        // It is not known yet when the clock begins.
        config.journal.as_mut().unwrap().clock_stands = true;
        let broker = begin(config).await.unwrap();
        let job = json!({"key": "run/0/7/0", "id": 7, "processors": 2, "run_time": "60s"});
        assert_eq!(ask(&broker, "POST", "/v1/jobs", Some(job)).await.0, 201);
        clock.begin_in(Duration::ZERO);
        let is_there = || faults.counts().unwrap().restarted == 1;
        for _ in 0..12_000 {
            match is_there() {
                true => break,
                false => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
        assert!(is_there());
        // Whoever comes before it listens waits.
        let known = ask(&broker, "GET", "/v1/jobs/7", None).await.0;
        assert_eq!(known, expected, "{memory:?}");
        assert_eq!(told(&broker).await, (1, json!(2)));
        broker.stop().await.unwrap();
        let mut counts = FaultCounts::default();
        counts.add_noted(&noted).unwrap();
        assert_eq!(counts, faults.counts().unwrap());
    }
}

#[tokio::test]
async fn what_is_no_journal_of_this_broker_is_named_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.journal");
    let clock = RunClock::with_epoch(1_000_000_000, Decimal::ONE);
    begin(keeping(&path, Memory::Journal, clock))
        .await
        .unwrap()
        .stop()
        .await
        .unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let fate = summed(
        "{\"agent\":{\"Input\":{\"at\":2,\"wall\":1,\"input\":{\"Fate\":[3,{\"Ok\":null}]}}}}",
    );
    let not_sent = format!("{whole}{fate}{fate}");
    let document = whole[9..].trim_end();
    let other = summed(&document.replace("broker a", "broker b"));
    let later = summed(&document.replace("1000000000", "2000000000"));
    let damaged = whole.replace("broker a", "broker i");
    let inside = format!("{whole}{}{fate}", fate.replace("wall", "wail"));
    for (text, said) in [
        ("dear diary\n", "line 1: it has no checksum"),
        (OLD, "line 1: it has no checksum, as in journals of earlier"),
        (&damaged, "line 1: it is damaged: its checksum is wrong"),
        (&inside, "line 2: it is damaged"),
        (&other, "line 1: of = broker b (expected broker a"),
        (&later, "(expected --epoch 2000000000 --speed 1)"),
        (&not_sent, "message 3 was not sent"),
    ] {
        std::fs::write(&path, text).unwrap();
        let refused = begin(keeping(&path, Memory::Journal, clock)).await;
        let error = refused.err().unwrap().to_string();
        assert!(
            error.contains("a.journal: ") && error.contains(said),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
