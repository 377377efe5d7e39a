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
/// fail the test, and so does one that is the same in every try, calm or not. Else a
/// machine that is never calm proves nothing: the test is then skipped, which
/// `GRIDRIG_REQUIRE=all` does not allow.
pub fn same_when_calm(what: &str, mut compare: impl FnMut() -> Option<String>) {
    // Two of them beside each other would keep each other from being calm.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut tries = Vec::new();
    for _ in 0..ALL_TRIES {
        let watch = Watch::start();
        let Some(difference) = compare() else {
            watch.longest();
            return;
        };
        let stood_still = watch.longest();
        println!("compared again: {what}, {stood_still:?} late: {difference}");
        tries.push((difference, stood_still));
        assert!(!is_a_fault(&tries), "{what}: {tries:?}");
    }
    let why = format!("{what}: the machine stood still in each of {ALL_TRIES} tries");
    let required = std::env::var("GRIDRIG_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!required, "{why}");
    println!("SKIPPED: {why}");
}

/// Whether these differences, each with how long the machine stood still meanwhile, are those
/// of a program that is wrong. What a machine disturbs is not disturbed alike six times.
fn is_a_fault(tries: &[(String, Duration)]) -> bool {
    let calm = tries.iter().filter(|(_, stood_still)| *stood_still < CALM);
    let alike = tries
        .iter()
        .all(|(difference, _)| *difference == tries[0].0);
    calm.count() >= TRIES || tries.len() == ALL_TRIES && alike
}

#[test]
fn three_calm_differences_are_a_fault_and_so_are_six_that_are_alike() {
    let tries = |of: &[(&str, u64)]| -> Vec<(String, Duration)> {
        let of = of.iter();
        of.map(|(difference, late)| ((*difference).to_owned(), Duration::from_millis(*late)))
            .collect()
    };
    let calm = tries(&[("a", 1), ("b", 500), ("c", 99), ("d", 0)]);
    assert!(is_a_fault(&calm) && !is_a_fault(&calm[..3]));
    // A machine that stands still for 100 ms is not calm.
    assert!(!is_a_fault(&tries(&[("a", 1), ("b", 99), ("c", 100)])));
    let busy = tries(&[("a", 500); 6]);
    assert!(is_a_fault(&busy) && !is_a_fault(&busy[..5]));
    let mut one_other = busy;
    one_other[5].0 = "b".to_owned();
    assert!(!is_a_fault(&one_other));
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
