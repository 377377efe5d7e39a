//! Whether the machine went on while a test compared times.

#![allow(
    clippy::print_stdout,
    reason = "a test says what it compares again, and what it skips"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tries that a calm machine gets to show what is expected.
const TRIES: usize = 3;
/// All tries, those on a machine that was not calm included.
const ALL_TRIES: usize = 6;
/// A thread that sleeps this much longer than it wanted was on a machine that
/// stood still, or had others to serve.
const CALM: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_millis(10);

/// Compares until nothing differs. `compare` answers what differs, if anything
/// does. A difference counts if the machine was calm meanwhile; three of those
/// fail the test, and a machine that is never calm proves nothing: the test is
/// then skipped, which `GRIDRIG_REQUIRE=all` does not allow.
pub fn same_when_calm(what: &str, mut compare: impl FnMut() -> Option<String>) {
    // Two of them beside each other would keep each other from being calm.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counted = Vec::new();
    for _ in 0..ALL_TRIES {
        let watch = Watch::start();
        let Some(difference) = compare() else {
            watch.longest();
            return;
        };
        let stood_still = watch.longest();
        println!("compared again: {what}, {stood_still:?} late: {difference}");
        if stood_still < CALM {
            counted.push(difference);
        }
        assert!(counted.len() < TRIES, "{what}: {counted:?}");
    }
    let why = format!("{what}: the machine stood still in each of {ALL_TRIES} tries");
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{why}");
    println!("SKIPPED: {why}");
}

/// A thread that naps, and notes how late it wakes up.
struct Watch {
    over: Arc<AtomicBool>,
    longest_us: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Watch {
    #[allow(
        clippy::disallowed_methods,
        reason = "what is looked at is the clock of the machine"
    )]
    fn start() -> Self {
        let (over, longest_us) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (end, longest) = (Arc::clone(&over), Arc::clone(&longest_us));
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                let late = began.elapsed().saturating_sub(NAP).as_micros();
                longest.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Watch {
            over,
            longest_us,
            thread,
        }
    }

    /// The longest time that it overslept.
    fn longest(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        Duration::from_micros(self.longest_us.load(Ordering::Relaxed))
    }
}
