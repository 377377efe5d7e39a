//! What happens, written as it happens and not to go on from: lines of the kind that
//! journals have.

use crate::lines::{self, named, write, wrong};
use gridrig_core::event::{Event, EventSink as _};
use gridrig_core::time::SimTime;
use gridrig_drivers::real_time::{EventWriter, Recorder};
use gridrig_protocol::rest::EventReport;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Adds a line to a file for each of what it is told.
pub type LineWriter<T> = Box<dyn FnMut(&T) -> io::Result<()> + Send>;

/// Adds lines of the kind that journals have to this file. Whoever writes it has it for
/// itself.
///
/// # Errors
/// When it cannot be opened; of the writer, when a line cannot be written.
pub fn line_writer<T: Serialize>(path: &Path) -> io::Result<LineWriter<T>> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let file = opened.map_err(|error| named(path, error))?;
    let (path, mut whole) = (path.to_owned(), file.metadata()?.len());
    Ok(Box::new(move |told: &T| {
        write(&file, &mut whole, told).map_err(|error| named(&path, error))
    }))
}

/// Hands over what such a file has, line by line; nothing without a file. A last line that
/// death has cut short does not count.
///
/// # Errors
/// When it cannot be read to its end: what is before has been handed over.
pub fn read_lines<T: DeserializeOwned>(
    path: &Path,
    mut each: impl FnMut(T) -> Result<(), String>,
) -> io::Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(|error| named(path, error))?,
    };
    let expected = "a line of this file";
    let read = lines::read(file, expected, |number, line| {
        each(line).map_err(|why| wrong(number, why, expected))
    });
    read.map(drop).map_err(|error| named(path, error))
}

/// Writes events to this file.
pub(crate) fn event_writer(path: &Path) -> io::Result<EventWriter> {
    let mut write: LineWriter<EventReport> = line_writer(path)?;
    Ok(Box::new(move |at: SimTime, event: &Event<'_>| {
        write(&EventReport::of(at, event))
    }))
}

/// The events in such a file, and why it tells no more.
pub(crate) fn recall_events(path: &Path, mut recorder: Recorder) -> (Recorder, Option<io::Error>) {
    let read = read_lines(path, |report: EventReport| {
        let (at, placement) = report.at_and_placement();
        let event = report.event(&placement).map_err(|wrong| wrong.detail)?;
        recorder.emit(at, event);
        Ok(())
    });
    (recorder, read.err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::event::EventKind;
    use gridrig_core::ids::{ClusterId, JobId};

    #[test]
    fn events_are_read_as_they_were_written_up_to_a_line_that_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lrms.events");
        let mut written = Recorder::default();
        written.write_to(event_writer(&path).unwrap());
        for job in 0..3 {
            let event = Event::new(EventKind::Queued, JobId(job), ClusterId(0));
            written.emit(SimTime::from_secs(1), event);
        }
        let (read, error) = recall_events(&path, Recorder::default());
        assert!(error.is_none());
        let written = written.take();
        assert_eq!(read.take(), written);
        // A line that death has cut short, and then one that is damaged.
        let text = std::fs::read_to_string(&path).unwrap();
        let cut = &text[..text.len() - 2];
        std::fs::write(&path, cut).unwrap();
        let (read, error) = recall_events(&path, Recorder::default());
        assert_eq!(
            (read.take(), error.is_none()),
            (written[..2].to_vec(), true)
        );
        std::fs::write(&path, cut.replacen("\"job\":1", "\"job\":7", 1)).unwrap();
        let (read, error) = recall_events(&path, Recorder::default());
        assert_eq!(read.take(), written[..1]);
        let error = error.unwrap().to_string();
        assert!(
            error.contains("lrms.events: line 2: it is damaged"),
            "{error}"
        );
    }
}
