//! The journal of a service, or of a client: a file with one JSON document per line,
//! behind its CRC-32 in hexadecimal. Each life begins with a line that says which it
//! is, and then has the inputs of its agent, each written before the agent handles it.
//!
//! A line is in the hands of the system before anything follows from it, so the
//! death of the process loses none. Nothing forces it on to the disk: a machine
//! that loses power may lose the last lines.
//!
//! Of a run in which programs of others take part, whose answers nobody can repeat, the
//! events are written instead ([`JournalSetup::events`]).

use crate::Service;
use crate::events::{event_writer, recall_events};
use crate::lines::{self, named, parse, write, wrong};
use gridrig_core::agent::{Journaled, Memory, NotSent, Record, Replay, Resumed};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Journal, Recorder, RunClock};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a service keeps a journal.
#[derive(Clone, Debug, Default)]
pub struct JournalSetup {
    /// The file.
    pub path: PathBuf,
    /// What the service knows when it is restarted. Either way it still tells
    /// the events of its earlier lives.
    pub memory: Memory,
    /// What the service and its settings are called: a journal of another one is
    /// refused.
    pub of: String,
    /// Whether the clock of the run stood while nobody ran it: then it has another
    /// epoch in each life.
    pub clock_stands: bool,
    /// Once it is set nothing more is written. Journals that share it end at one
    /// instant: none has the answer to a message that another does not have.
    pub closed: Arc<AtomicBool>,
    /// Whether the events are written and no inputs: nobody can go on from such a file,
    /// and it is written to the very end.
    pub events: bool,
}

/// The line that begins each life.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Life {
    /// Which life of the agent this is, or goes on.
    life: u64,
    /// When that life of the agent began.
    born: SimTime,
    memory: Memory,
    of: String,
    epoch_unix_ns: u64,
    speed: String,
}

/// A number for this life of a service: when it begins, in Unix nanoseconds.
#[allow(
    clippy::disallowed_methods,
    reason = "the lives of a service are told apart by when they began"
)]
pub fn incarnation() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line<R> {
    Service(Life),
    Agent(R),
}

/// What a participant begins with.
pub struct Begun<A: Journaled> {
    /// As it stands.
    pub agent: Resumed<A>,
    /// Where it tells its events; those of its earlier lives are there.
    pub recorder: Recorder,
    /// What it is told from here on is written there.
    pub journal: Option<Journal<A::Input>>,
    /// Which life of the agent this is.
    pub(crate) life: u64,
    /// Whether it goes on with what its journal says.
    pub(crate) is_resumed: bool,
}

impl<A: Journaled> Begun<A> {
    /// With an agent that knows nothing, which `machine` makes in its life and at the
    /// instant at which that began.
    pub fn anew(recorder: Recorder, born: SimTime, machine: impl Fn(u64, SimTime) -> A) -> Self {
        let life = incarnation();
        Begun {
            agent: machine(life, born).into(),
            recorder,
            journal: None,
            life,
            is_resumed: false,
        }
    }

    /// With what the journal says, which is written from here on. `recorder` is told
    /// the events again.
    ///
    /// # Errors
    /// When the file cannot be read or written, or is not of this participant.
    pub fn resume(
        setup: &JournalSetup,
        clock: RunClock,
        recorder: Recorder,
        machine: impl Fn(u64, SimTime) -> A,
    ) -> io::Result<Self>
    where
        A::Input: Serialize + DeserializeOwned,
    {
        let path = &setup.path;
        let born = clock.now();
        let mut begun = Begun::anew(recorder, born, &machine);
        if setup.events {
            begun.recorder.write_to(event_writer(path)?);
            return Ok(begun);
        }
        let begun = open(path).and_then(|file| {
            let mut this = Life::of(setup, clock, (begun.life, born));
            let known = read(&file, setup, &machine, &this, &begun.recorder)?;
            if let (Some((life, agent)), Memory::Journal) = (known, setup.memory) {
                (begun.life, this.life, this.born) = (life.life, life.life, life.born);
                begun.agent = agent;
                begun.is_resumed = true;
            }
            begun.journal = Some(writer(file, setup, &this)?);
            Ok(begun)
        });
        begun.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, named(path, error)))
    }
}

/// With an agent that knows nothing, or with what the journal of the service says.
pub(crate) fn begin<S: Service>(config: &S, recorder: Recorder) -> io::Result<Begun<S::Machine>> {
    let clock = config.clock();
    let machine = |life, born| config.machine(life, born);
    let Some(setup) = config.journal() else {
        return Ok(Begun::anew(recorder, clock.now(), machine));
    };
    let begun = Begun::resume(setup, clock, recorder, machine)?;
    if begun.is_resumed {
        config.resumed();
    }
    Ok(begun)
}

/// The events that the journal of a service tells ([`recall`]).
pub fn recall_service<S: Service>(config: &S) -> (Recorder, Option<io::Error>) {
    let machine = |life, born| config.machine(life, born);
    let recorder = Recorder::default().deciding(config.decisions());
    config.journal().map_or_else(Default::default, |setup| {
        recall(setup, config.clock(), recorder, machine)
    })
}

/// The events that a journal tells to a recorder, and why it tells no more where it cannot be read to
/// its end. It is not changed, apart from a last line that was cut short.
pub fn recall<A: Journaled<Input: DeserializeOwned>>(
    setup: &JournalSetup,
    clock: RunClock,
    recorder: Recorder,
    machine: impl Fn(u64, SimTime) -> A,
) -> (Recorder, Option<io::Error>) {
    if setup.events {
        return recall_events(&setup.path, recorder);
    }
    let read = open(&setup.path).and_then(|file| {
        let this = Life::of(setup, clock, (0, clock.now()));
        read(&file, setup, machine, &this, &recorder)
    });
    if read.is_ok() {
        // No further one begins.
        recorder.set_lives(recorder.lives() - 1);
    }
    let error = read.err().map(|error| named(&setup.path, error));
    (recorder, error)
}

/// The instant of the run of the last input in a journal; 0 without a file or an
/// input. A last line that was cut short does not count. Whoever writes it has some
/// seconds to end.
///
/// # Errors
/// When it cannot be read, or somebody still writes it.
pub fn last_instant(path: &Path) -> io::Result<SimTime> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(SimTime::ZERO),
        file => file.and_then(last_in).map_err(|error| named(path, error)),
    }
}

fn last_in(mut file: File) -> io::Result<SimTime> {
    let mut tries = 0..LOCK_TRIES;
    while let Err(taken) = lock(&file) {
        tries.next().ok_or(taken)?;
        std::thread::sleep(LOCK_AGAIN);
    }
    let length = file.metadata()?.len();
    let mut tail = TAIL.min(length);
    loop {
        file.seek(SeekFrom::Start(length - tail))?;
        let mut text = Vec::new();
        (&mut file).take(tail).read_to_end(&mut text)?;
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').rev();
        let at = lines.find_map(|line| match parse(line) {
            Ok(Line::Agent(Record::<IgnoredAny>::Input { at, .. })) => Some(at),
            _ => None,
        });
        match at {
            Some(at) => return Ok(at),
            None if tail == length => return Ok(SimTime::ZERO),
            None => tail = (2 * tail).min(length),
        }
    }
}

const LOCK_TRIES: u32 = 50;
const LOCK_AGAIN: Duration = Duration::from_millis(100);

/// So many bytes at the end of a journal mostly have its last input.
const TAIL: u64 = 1 << 16;

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).read(true).append(true).open(path)?;
    lock(&file)?;
    Ok(file)
}

fn lock(file: &File) -> io::Result<()> {
    let taken = "another service writes it (expected a file for each)";
    file.try_lock().map_err(|_| io::Error::other(taken))
}

/// The latest life of the agent, as it stands after all that is in the file. A last
/// line that death has cut short is taken away.
fn read<A: Journaled<Input: DeserializeOwned>>(
    file: &File,
    setup: &JournalSetup,
    machine: impl Fn(u64, SimTime) -> A,
    this: &Life,
    recorder: &Recorder,
) -> io::Result<Option<(Life, Resumed<A>)>> {
    let mut known: Option<(Life, Replay<A, Recorder>)> = None;
    let (mut lives, mut last) = (1, 0);
    let each = |number, line: Line<_>| -> io::Result<()> {
        last = number;
        match (line, &mut known) {
            (Line::Service(life), _) => {
                life.check(this, setup.clock_stands)
                    .map_err(|(why, expected)| wrong(number, why, expected))?;
                lives += 1;
                known = match (known.take(), life.memory) {
                    (Some(known), Memory::Journal) => Some(known),
                    (before, _) => {
                        if let Some((_, replay)) = before {
                            replay.finish().map_err(|error| unlike(number, error))?;
                        }
                        let agent = machine(life.life, life.born);
                        Some((life, Replay::new(agent, recorder.clone())))
                    }
                };
            }
            (Line::Agent(record), Some((_, replay))) => {
                let taken = replay.take(record);
                taken.map_err(|error| unlike(number, error))?;
            }
            (Line::Agent(_), None) => return Err(wrong(number, "no service began", "a service")),
        }
        Ok(())
    };
    let (whole, is_cut) = lines::read(file, "a line of a journal", each)?;
    if is_cut {
        tracing::warn!(whole, "the last line of the journal was cut short");
        file.set_len(whole)?;
    }
    recorder.set_lives(lives);
    let Some((life, replay)) = known else {
        return Ok(None);
    };
    let agent = replay.finish().map_err(|error| unlike(last, error))?;
    Ok(Some((life, agent)))
}

impl Life {
    fn of(setup: &JournalSetup, clock: RunClock, (life, born): (u64, SimTime)) -> Self {
        Life {
            life,
            born,
            memory: setup.memory,
            of: setup.of.clone(),
            epoch_unix_ns: clock.epoch_unix_ns(),
            speed: clock.speed().to_string(),
        }
    }

    /// Whether `this` life may follow; else what is wrong, and what was expected.
    fn check(&self, this: &Life, clock_stands: bool) -> Result<(), (String, String)> {
        if self.of != this.of {
            let same = "the same cluster or domain, scenario, policy and seed";
            let expected = format!("{}, {same}", this.of);
            return Err((format!("of = {}", self.of), expected));
        }
        let is_moved = self.epoch_unix_ns != this.epoch_unix_ns && !clock_stands;
        if is_moved || self.speed != this.speed {
            let expected = format!("--epoch {} --speed {}", self.epoch_unix_ns, self.speed);
            return Err(("it was written with another clock".to_owned(), expected));
        }
        Ok(())
    }
}

fn unlike(line: u64, error: NotSent) -> io::Error {
    let expected = "a journal that this version of the program has written";
    wrong(line, error, expected)
}

/// Writes what follows.
fn writer<I: Serialize>(file: File, setup: &JournalSetup, this: &Life) -> io::Result<Journal<I>> {
    let mut whole = file.metadata()?.len();
    write(&file, &mut whole, &Line::<()>::Service(this.clone()))?;
    let (path, closed) = (setup.path.clone(), Arc::clone(&setup.closed));
    Ok(Box::new(move |record| {
        if closed.load(Ordering::SeqCst) {
            return Ok(());
        }
        write(&file, &mut whole, &Line::Agent(record)).map_err(|error| named(&path, error))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::agent::{BrokerInput, Received, Record};
    use gridrig_core::ids::ClusterId;
    use gridrig_core::load::LoadSample;
    use gridrig_core::message::Target;
    use gridrig_core::session::Push;
    use gridrig_core::time::WallTime;

    #[test]
    fn the_largest_numbers_are_read_as_they_were_written() {
        let mut sample = LoadSample::idle(ClusterId(1), u32::MAX);
        (sample.work_left, sample.busy_means[1].sum) = (u128::MAX, u128::MAX - 1);
        let load = Received {
            from: Target::Cluster(ClusterId(1)),
            id: None,
            meant: Some(SimTime::MAX),
            said: Push::from(vec![sample]),
        };
        let record = Record::Input {
            at: SimTime::MAX,
            wall: WallTime::from_nanos(u64::MAX),
            input: BrokerInput::from(load),
        };
        let text = serde_json::to_string(&Line::Agent(&record)).unwrap();
        let Line::Agent(read) = serde_json::from_str(&text).unwrap() else {
            panic!("{text}");
        };
        let read: Record<BrokerInput> = read;
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
    }
}
