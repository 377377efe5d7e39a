//! The journal of a service: a file with one JSON document per line. Each life of
//! the service begins with a line that says which it is, and then has the inputs of
//! its agent, each written before the agent handles it.
//!
//! A line is in the hands of the system before anything follows from it, so the
//! death of the process loses none. Nothing forces it on to the disk: a machine
//! that loses power may lose the last lines.

use crate::Service;
use gridrig_core::agent::{JobHolder, Memory, NotSent, Replay, Resumed};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{Journal, Recorder};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How a service keeps a journal.
#[derive(Clone, Debug)]
pub struct JournalSetup {
    /// The file.
    pub path: PathBuf,
    /// What the service knows when it is restarted. Either way it still tells
    /// the events of its earlier lives.
    pub memory: Memory,
    /// What the service and its settings are called: a journal of another one is
    /// refused.
    pub of: String,
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
#[must_use]
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

/// No line is longer, in bytes: requests are not.
const LONGEST: u64 = 1 << 26;

/// What a service begins with.
pub(crate) struct Begun<M: JobHolder> {
    pub agent: Resumed<M>,
    pub recorder: Recorder,
    pub journal: Option<Journal<M::Input>>,
    /// Which life of the agent this is.
    pub life: u64,
}

impl<M: JobHolder> Begun<M> {
    /// With an agent that knows nothing, at this instant.
    pub fn anew<S: Service<Machine = M>>(config: &S, born: SimTime) -> Self {
        let life = incarnation();
        Begun {
            agent: config.machine(life, born).into(),
            recorder: Recorder::keeping(config.keep_events()),
            journal: None,
            life,
        }
    }
}

/// Begins with what the journal says, and writes it from here on.
///
/// # Errors
/// When the file cannot be read or written, or is not of this service.
pub(crate) fn resume<S: Service>(
    config: &S,
    setup: &JournalSetup,
) -> io::Result<Begun<S::Machine>> {
    let path = &setup.path;
    let begun = open(path).and_then(|file| {
        let clock = config.clock();
        let born = clock.now();
        let mut begun = Begun::anew(config, born);
        let mut this = Life {
            life: begun.life,
            born,
            memory: setup.memory,
            of: setup.of.clone(),
            epoch_unix_ns: clock.epoch_unix_ns(),
            speed: clock.speed().to_string(),
        };
        let known = read(&file, config, &this, &begun.recorder)?;
        if let (Some((life, agent)), Memory::Journal) = (known, setup.memory) {
            (begun.life, this.life, this.born) = (life.life, life.life, life.born);
            begun.agent = agent;
            config.resumed();
        }
        begun.journal = Some(writer(file, path, &this)?);
        Ok(begun)
    });
    begun.map_err(|error| {
        let said = format!("--journal {}: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidInput, said)
    })
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).read(true).append(true).open(path)?;
    let taken = "another service writes it (expected a file for each)";
    file.try_lock().map_err(|_| io::Error::other(taken))?;
    Ok(file)
}

/// The latest life of the agent, as it stands after all that is in the file. A last
/// line that death has cut short is taken away.
fn read<S: Service>(
    file: &File,
    config: &S,
    this: &Life,
    recorder: &Recorder,
) -> io::Result<Option<(Life, Resumed<S::Machine>)>> {
    let mut reader = BufReader::new(file);
    let mut known: Option<(Life, Replay<S::Machine, Recorder>)> = None;
    let (mut lives, mut number, mut whole) = (1, 0, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        number += 1;
        let length = (&mut reader).take(LONGEST).read_until(b'\n', &mut line)? as u64;
        if line.last() != Some(&b'\n') {
            if length == LONGEST {
                return Err(wrong(number, "it is too long", "a line of a journal"));
            }
            if length > 0 {
                tracing::warn!(line = number, "the last line of the journal was cut short");
                file.set_len(whole)?;
            }
            break;
        }
        whole += length;
        if line == b"{\"life\":\"begins\"}\n" {
            let why = "it has the events of a service, as earlier versions of gridrig wrote them";
            return Err(wrong(number, why, "its inputs: give another file"));
        }
        let read = serde_json::from_slice(&line);
        match (read, &mut known) {
            (Ok(Line::Service(life)), _) => {
                life.check(this)
                    .map_err(|(why, expected)| wrong(number, why, expected))?;
                lives += 1;
                known = match (known, life.memory) {
                    (Some(known), Memory::Journal) => Some(known),
                    (before, _) => {
                        if let Some((_, replay)) = before {
                            replay.finish().map_err(|error| unlike(number, error))?;
                        }
                        let agent = config.machine(life.life, life.born);
                        Some((life, Replay::new(agent, recorder.clone())))
                    }
                };
            }
            (Ok(Line::Agent(record)), Some((_, replay))) => {
                let taken = replay.take(record);
                taken.map_err(|error| unlike(number, error))?;
            }
            (Ok(_), None) => return Err(wrong(number, "no service began", "a service")),
            (Err(error), _) => return Err(wrong(number, error, "a line of a journal")),
        }
    }
    recorder.set_lives(lives);
    let Some((life, replay)) = known else {
        return Ok(None);
    };
    let agent = replay.finish().map_err(|error| unlike(number, error))?;
    Ok(Some((life, agent)))
}

impl Life {
    /// Whether `this` life may follow; else what is wrong, and what was expected.
    fn check(&self, this: &Life) -> Result<(), (String, String)> {
        if self.of != this.of {
            let expected = format!("{}, the same domain, scenario, policy and seed", this.of);
            return Err((format!("of = {}", self.of), expected));
        }
        if (self.epoch_unix_ns, &self.speed) != (this.epoch_unix_ns, &this.speed) {
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

fn wrong(line: u64, why: impl Display, expected: impl Display) -> io::Error {
    io::Error::other(format!("line {line}: {why} (expected {expected})"))
}

/// Writes what follows.
fn writer<I: Serialize>(file: File, path: &Path, this: &Life) -> io::Result<Journal<I>> {
    let mut whole = file.metadata()?.len();
    write(&file, &mut whole, &Line::<()>::Service(this.clone()))?;
    let path = path.to_owned();
    Ok(Box::new(move |record| {
        let written = write(&file, &mut whole, &Line::Agent(record));
        written.map_err(|error| io::Error::other(format!("--journal {}: {error}", path.display())))
    }))
}

/// Adds a line to a file of this length; of one that does not get in whole, nothing
/// stays.
fn write(mut file: &File, whole: &mut u64, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let written = file.write_all(&text);
    match written {
        Ok(()) => *whole += text.len() as u64,
        Err(_) => file.set_len(*whole)?,
    }
    written
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
