//! Any bytes are read or refused, what is read can be written, and what is
//! written is read back the same.

#![no_main]

use gridrig_tracelab::format::{Format, Record, TraceReader, Writer};
use gridrig_tracelab::load::load_from;
use gridrig_tracelab::spec::SizeFrom;
use libfuzzer_sys::fuzz_target;
use std::io::{BufRead, BufReader};

/// All jobs, as far as the file is good.
fn read(input: impl BufRead) -> Vec<Record> {
    let mut reader = TraceReader::new(Format::Gwf, input, "fuzz.gwf");
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        let mut record = record.clone();
        record.line = 0;
        for text in &mut record.text {
            if text.is_empty() {
                *text = b"-1".to_vec();
            }
        }
        records.push(record);
    }
    assert!(matches!(reader.next_record(), Ok(None)));
    records
}

fn write(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Format::Gwf, &[]).expect("memory");
    for record in records {
        writer.write(record).expect("memory");
    }
    writer.finish().expect("memory")
}

fuzz_target!(|bytes: &[u8]| {
    let written = write(&read(bytes));
    // A small buffer, so that lines straddle it. Whatever is negative is not known, and
    // written as -1.
    let again = read(BufReader::with_capacity(7, &written[..]));
    assert_eq!(write(&again), written);

    if let Ok(mut reader) = TraceReader::detect(bytes, "fuzz") {
        let _ = load_from(&mut reader, SizeFrom::Allocated);
    }
});
