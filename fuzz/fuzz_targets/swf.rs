//! Any bytes are read or refused, what is read can be written, and what is
//! written is read back the same.

#![no_main]

use gridrig_tracelab::load::load_from;
use gridrig_tracelab::spec::SizeFrom;
use gridrig_tracelab::swf::{Record, SwfReader, Writer};
use libfuzzer_sys::fuzz_target;
use std::io::BufReader;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = SwfReader::new(bytes, "fuzz.swf");
    let mut writer = Writer::new(Vec::new(), &[]).expect("memory");
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        writer.write(&record).expect("memory");
        records.push(record);
    }
    assert!(matches!(reader.next_record(), Ok(None)));

    let written = writer.finish().expect("memory");
    // A small buffer, so that lines straddle it.
    let small = BufReader::with_capacity(7, &written[..]);
    let again = SwfReader::new(small, "again.swf").map_while(Result::ok);
    let bare = |record: &Record| Record {
        line: 0,
        below_zero: 0,
        ..*record
    };
    let again: Vec<Record> = again.map(|record| bare(&record)).collect();
    let records: Vec<Record> = records.iter().map(bare).collect();
    assert_eq!(again, records);

    let mut reader = SwfReader::new(bytes, "fuzz.swf");
    let _ = load_from(&mut reader, SizeFrom::Allocated);
});
