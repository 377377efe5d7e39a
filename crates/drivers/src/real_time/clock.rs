//! The clock of a run: wall time to run time and back.

use gridrig_core::time::{Decimal, SimDuration, SimTime};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// Maps the wall clock to the time of the run, which starts at an epoch and
/// passes `speed` times as fast. Copies agree with each other; clocks of
/// several processes agree as well as the system clocks of their hosts did
/// when they were made from the same epoch.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    start: Start,
    /// What it shows at its start.
    from: SimTime,
    speed: Decimal,
    /// `speed` as `mantissa / scale`.
    mantissa: u64,
    scale: u64,
}

/// When it begins to go.
#[derive(Clone, Copy, Debug)]
enum Start {
    Known(Epoch),
    /// Not known until somebody begins.
    Waits(&'static Signal),
}

/// When the clock begins to go, on both clocks of the machine.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    at: Instant,
    unix_ns: u64,
}

#[derive(Debug, Default)]
struct Signal {
    epoch: OnceLock<Epoch>,
    begun: Notify,
}

impl RunClock {
    /// A clock whose time 0 lies `lead` after this instant. `speed` is above
    /// 0; a speed of 0 is taken as 1.
    pub fn starting_in(lead: Duration, speed: Decimal) -> Self {
        Self::new(Start::Known(Epoch::after(lead)), speed)
    }

    /// A clock that stands at time 0, no timer due, until
    /// [`begin_in`](Self::begin_in): nobody can say beforehand how long a
    /// machine takes to set everything up that is to run on it.
    ///
    /// Its signal is never freed, since copies may outlive the run: some
    /// hundred bytes for each run of a process.
    pub fn waiting(speed: Decimal) -> Self {
        Self::waiting_at(SimTime::ZERO, speed)
    }

    /// The same that stands at this time, for a run that was broken off and goes on.
    pub fn waiting_at(from: SimTime, speed: Decimal) -> Self {
        let clock = Self::new(Start::Waits(Box::leak(Box::default())), speed);
        RunClock { from, ..clock }
    }

    /// A clock whose time 0 is this instant of the system clock, in
    /// nanoseconds since 1970; it may lie in the past or in the future.
    pub fn with_epoch(unix_ns: u64, speed: Decimal) -> Self {
        let (now, unix) = (monotonic_now(), unix_now_ns());
        let at = match unix_ns.checked_sub(unix) {
            Some(ahead) => now + Duration::from_nanos(ahead),
            None => {
                let past = Duration::from_nanos(unix - unix_ns);
                now.checked_sub(past).unwrap_or(now)
            }
        };
        Self::new(Start::Known(Epoch { at, unix_ns }), speed)
    }

    /// A clock that stands at `from` until this instant of the system clock, in
    /// nanoseconds since 1970, and goes on from there: that of another process
    /// ([`start`](Self::start)).
    pub fn started((unix_ns, from): (u64, SimTime), speed: Decimal) -> Self {
        let clock = Self::with_epoch(unix_ns, speed);
        RunClock { from, ..clock }
    }

    /// An instant of the system clock, in nanoseconds since 1970, and what this clock
    /// shows then: when it begins to go, or the present. In a machine that was suspended
    /// the two have moved apart since it began.
    pub fn start(&self) -> (u64, SimTime) {
        match self.epoch() {
            Some(epoch) if epoch.at > monotonic_now() => (epoch.unix_ns, self.from),
            _ => (unix_now_ns(), self.now()),
        }
    }

    fn new(start: Start, speed: Decimal) -> Self {
        let speed = if speed.is_zero() { Decimal::ONE } else { speed };
        let (mantissa, scale) = speed.ratio();
        RunClock {
            start,
            from: SimTime::ZERO,
            speed,
            mantissa,
            scale,
        }
    }

    /// Lets a clock that waits, and all its copies, begin to go `lead` after
    /// this instant. One that has begun goes on.
    pub fn begin_in(&self, lead: Duration) {
        if let Start::Waits(signal) = self.start {
            // The first one to say so has said it.
            let _ = signal.epoch.set(Epoch::after(lead));
            signal.begun.notify_waiters();
        }
    }

    fn epoch(&self) -> Option<Epoch> {
        match self.start {
            Start::Known(epoch) => Some(epoch),
            Start::Waits(signal) => signal.epoch.get().copied(),
        }
    }

    /// Waits until it is known when it begins to go.
    async fn begun(&self) {
        if let Start::Waits(signal) = self.start {
            // Whoever begins after this line wakes it up.
            let begun = signal.begun.notified();
            if signal.epoch.get().is_none() {
                begun.await;
            }
        }
    }

    /// The time of the run; before it begins to go, where it stands.
    pub fn now(&self) -> SimTime {
        let Some(epoch) = self.epoch() else {
            return self.from;
        };
        self.from + self.run(monotonic_now().saturating_duration_since(epoch.at))
    }

    /// The first wall instant at which [`RunClock::now`] is not before `at`,
    /// as far as is known: a clock that waits might begin now.
    pub fn deadline(&self, at: SimTime) -> tokio::time::Instant {
        let wall = u128::from(at.since(self.from).as_nanos()) * u128::from(self.scale);
        let wall = wall.div_ceil(u128::from(self.mantissa));
        // Ten years ahead stands for "never": tokio's timers reach no further.
        let wall = u64::try_from(wall).unwrap_or(u64::MAX).min(FAR_NS);
        let epoch = self.epoch().map_or_else(monotonic_now, |epoch| epoch.at);
        (epoch + Duration::from_nanos(wall)).into()
    }

    /// How long this length of run time takes on the wall.
    pub fn wall(&self, length: SimDuration) -> Duration {
        Duration::from_nanos(self.speed.divide(length.as_nanos()))
    }

    /// How much run time passes in this length of wall time.
    pub fn run(&self, wall: Duration) -> SimDuration {
        let run = u128::from(nanos(wall)) * u128::from(self.mantissa) / u128::from(self.scale);
        SimDuration::from_nanos(u64::try_from(run).unwrap_or(u64::MAX))
    }

    /// Time 0 on the system clock, in nanoseconds since 1970; the present, as
    /// long as nobody knows.
    pub fn epoch_unix_ns(&self) -> u64 {
        let start = self.epoch().map_or_else(unix_now_ns, |epoch| epoch.unix_ns);
        start.saturating_sub(nanos(self.wall(self.from.since(SimTime::ZERO))))
    }

    /// An instant of the run on the system clock, in nanoseconds since 1970.
    pub fn unix_ns(&self, at: SimTime) -> u64 {
        let since = self.wall(at.since(SimTime::ZERO));
        self.epoch_unix_ns().saturating_add(nanos(since))
    }

    /// How long a broker that decides in cycles of this interval waits past the
    /// instant of a cycle for what was meant to arrive by then.
    ///
    /// A submission is on the wire for a moment: a loopback hop takes half a
    /// millisecond, a timer is late by one, and a machine with other work adds
    /// some. Without grace, a job meant for just before a cycle would wait for
    /// the next one, which virtual time does not know.
    pub fn grace(&self, interval: SimDuration) -> SimDuration {
        let part = SimDuration::from_nanos(interval.as_nanos() / GRACE_SHARE);
        self.run(GRACE).min(part)
    }

    /// How many seconds of the run pass in one on the wall.
    pub fn speed(&self) -> Decimal {
        self.speed
    }

    /// Waits until the time of the run is not before `at`.
    pub async fn sleep_until(&self, at: SimTime) {
        self.begun().await;
        tokio::time::sleep_until(self.deadline(at)).await;
    }
}

impl Epoch {
    fn after(lead: Duration) -> Self {
        Epoch {
            at: monotonic_now() + lead,
            unix_ns: unix_now_ns().saturating_add(nanos(lead)),
        }
    }
}

/// The grace of a cycle on the wall: about twice what a submission was seen to
/// take on loopback. Everything a cycle sends is late by it, so that more of it
/// would move starts away from where virtual time has them.
const GRACE: Duration = Duration::from_millis(4);
/// However fast the clock, no cycle is late by more than this part of the
/// interval.
const GRACE_SHARE: u64 = 20;

const FAR_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// A length of wall time as agents count it.
pub fn wall_length(length: Duration) -> SimDuration {
    SimDuration::from_nanos(nanos(length))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[allow(
    clippy::disallowed_methods,
    reason = "this is the real-time driver's only look at the monotonic clock"
)]
pub(super) fn monotonic_now() -> Instant {
    Instant::now()
}

#[allow(
    clippy::disallowed_methods,
    reason = "clocks of several processes are tied together by the system clock"
)]
fn unix_now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_of_an_instant_is_never_early() {
        for speed in ["1", "10", "0.25", "3", "2.5"] {
            let speed = Decimal::parse(speed).unwrap();
            let clock = RunClock::starting_in(Duration::ZERO, speed);
            for at in [0, 1, 999, 1_000_003, 86_400_000_000_001] {
                let deadline = clock.deadline(SimTime::from_nanos(at)).into_std();
                let wall = nanos(deadline - clock.epoch().unwrap().at);
                let run = u128::from(wall) * u128::from(clock.mantissa) / u128::from(clock.scale);
                assert!(run >= u128::from(at), "{speed} {at}: {run}");
            }
        }
    }

    #[test]
    fn a_clock_made_from_an_epoch_agrees_with_the_first_one() {
        let first = RunClock::starting_in(Duration::from_secs(3600), Decimal::ONE);
        let second = RunClock::with_epoch(first.epoch_unix_ns(), Decimal::ONE);
        let [first_at, second_at] = [first, second].map(|clock| clock.epoch().unwrap().at);
        let ahead = second_at.max(first_at) - second_at.min(first_at);
        assert!(ahead < Duration::from_secs(1), "{ahead:?}");
        assert_eq!(first.now(), SimTime::ZERO);
    }

    #[tokio::test]
    async fn a_clock_that_waits_stands_at_time_0_until_it_begins() {
        let clock = RunClock::waiting(Decimal::from_whole(1000));
        let copy = clock;
        let sleeper = tokio::spawn(async move {
            copy.sleep_until(SimTime::from_nanos(1)).await;
            copy.now()
        });
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        assert_eq!(clock.now(), SimTime::ZERO);
        clock.begin_in(Duration::ZERO);
        assert!(sleeper.await.unwrap() > SimTime::ZERO);
        // Who comes second changes nothing.
        let epoch = clock.epoch_unix_ns();
        clock.begin_in(Duration::from_secs(3600));
        assert_eq!(copy.epoch_unix_ns(), epoch);
    }

    #[tokio::test]
    async fn a_clock_that_goes_on_says_when_its_time_0_would_have_been() {
        let from = SimTime::from_secs(36_000);
        let clock = RunClock::waiting_at(from, Decimal::from_whole(10));
        assert_eq!(clock.now(), from);
        clock.begin_in(Duration::from_secs(3600));
        assert_eq!(clock.now(), from);
        let begun = clock.epoch().unwrap();
        assert_eq!(clock.unix_ns(from), begun.unix_ns);
        assert_eq!(clock.deadline(from).into_std(), begun.at);
        let later = clock.deadline(from + SimDuration::from_secs(20));
        assert_eq!(later.into_std(), begun.at + Duration::from_secs(2));
        assert_eq!(clock.deadline(SimTime::ZERO).into_std(), begun.at);
        let other = RunClock::started(clock.start(), clock.speed());
        assert_eq!((other.now(), other.start()), (from, clock.start()));
        assert_eq!(other.epoch_unix_ns(), clock.epoch_unix_ns());
    }

    #[test]
    fn the_far_future_is_no_overflow() {
        let clock = RunClock::starting_in(Duration::ZERO, Decimal::parse("0.001").unwrap());
        let deadline = clock.deadline(SimTime::MAX).into_std();
        let ahead = deadline - clock.epoch().unwrap().at;
        assert_eq!(ahead, Duration::from_nanos(FAR_NS));
    }
}
