//! The events of a service in a file, one JSON document per line, written as
//! they happen: a service that dies and is started anew with the same file
//! still tells what it did before.
//!
//! This is the memory of the test bench, not of the service: a broker that was
//! started anew knows nothing of its jobs, whatever its journal says.

use gridrig_drivers::real_time::{Recorded, Recorder};
use gridrig_protocol::rest::EventReport;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// A recorder that knows the events in the file and adds new ones to it. They
/// are in the hands of the system before anything follows from them, so the
/// death of the process loses none.
///
/// # Errors
/// When the file cannot be read or written, or holds something else.
pub fn journal(path: &Path, keep: usize) -> io::Result<Recorder> {
    let (lives, before, whole) = match File::open(path) {
        Ok(file) => read(&file).map_err(|error| named(path, &error))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => (0, Vec::new(), 0),
        Err(error) => return Err(named(path, &error)),
    };
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let mut file = opened.map_err(|error| named(path, &error))?;
    // A line that death cut short says nothing.
    file.set_len(whole).map_err(|error| named(path, &error))?;
    let begins = format!("{LIFE}\n");
    let begun = file.write_all(begins.as_bytes());
    begun.map_err(|error| named(path, &error))?;
    let recorder = Recorder::keeping(keep).after(lives, before);
    let path = path.to_owned();
    let mut failed = false;
    recorder.set_witness(Box::new(move |recorded| {
        if let (Err(error), false) = (write(&mut file, recorded), failed) {
            failed = true;
            tracing::error!(path = %path.display(), %error, "events are no longer written");
        }
    }));
    Ok(recorder)
}

/// The line that begins each life.
const LIFE: &str = r#"{"life":"begins"}"#;

fn write(file: &mut File, recorded: &Recorded) -> io::Result<()> {
    let report = EventReport::of(recorded.at, &recorded.event());
    let mut line = serde_json::to_vec(&report).map_err(io::Error::other)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// The lives and events in a file, and how many bytes of it are whole lines.
fn read(file: &File) -> io::Result<(u32, Vec<Recorded>, u64)> {
    let mut reader = BufReader::new(file);
    let (mut lives, mut events, mut whole) = (0, Vec::new(), 0);
    let mut line = String::new();
    loop {
        line.clear();
        let length = reader.read_line(&mut line)?;
        if length == 0 || !line.ends_with('\n') {
            return Ok((lives, events, whole));
        }
        whole += length as u64;
        if line.trim_end() == LIFE {
            lives += 1;
            continue;
        }
        let wrong = |why: &str| {
            let line = events.len() + 1 + lives as usize;
            let said = format!("line {line}: {why} (expected an event of a service)");
            io::Error::new(io::ErrorKind::InvalidData, said)
        };
        let report: EventReport =
            serde_json::from_str(&line).map_err(|error| wrong(&error.to_string()))?;
        let (at, placement) = report.at_and_placement();
        let event = report.event(&placement);
        let event = event.map_err(|problem| wrong(&problem.detail))?;
        events.push(Recorded::new(at, event));
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::{Event, EventKind, EventSink};
    use gridrig_core::ids::{ClusterId, JobId};
    use gridrig_core::time::SimTime;

    fn finished(job: u32) -> Event<'static> {
        Event::new(EventKind::Finished, JobId(job), ClusterId(0))
    }

    #[test]
    fn a_new_life_tells_the_events_of_the_old_one_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let mut first = journal(&path, 100).unwrap();
        first.emit(SimTime::from_secs(1), finished(1));
        first.emit(SimTime::from_secs(2), finished(2));
        drop(first);
        // Death cuts a line short.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"at_ns\":3").unwrap();
        let mut second = journal(&path, 100).unwrap();
        second.emit(SimTime::from_secs(4), finished(4));
        let jobs = |recorder: &Recorder| -> Vec<u32> {
            let page = recorder.page(0, 9);
            let jobs = page.events.iter().filter_map(|e| e.event().job);
            jobs.map(|job| job.0).collect()
        };
        assert_eq!((jobs(&second), second.lives()), (vec![1, 2, 4], 2));
        let third = journal(&path, 100).unwrap();
        assert_eq!((jobs(&third), third.lives()), (vec![1, 2, 4], 3));
    }

    #[test]
    fn a_file_that_is_no_journal_is_left_alone_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.txt");
        std::fs::write(&path, "dear diary\n").unwrap();
        let error = journal(&path, 100).unwrap_err().to_string();
        assert!(error.contains("notes.txt: line 1"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "dear diary\n");
    }
}
