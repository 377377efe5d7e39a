//! The streaming writer.

use super::record::{COLUMNS, NUMBERS, Record};
use crate::swf::{Line, LineWriter, push_count, push_numbers};

/// Writes a GWF trace. Columns 12 to 16 are a job's text where there is one,
/// else its number.
pub type Writer<W> = LineWriter<W, Record>;

impl Line for Record {
    const MARK: u8 = b'#';

    fn push(&self, buffer: &mut Vec<u8>) {
        let common = &self.common;
        push_numbers(buffer, common, self.early, b'\t');
        let numbers = [
            common.user,
            common.group,
            common.executable,
            common.queue,
            common.partition,
        ];
        for column in NUMBERS..COLUMNS {
            if column > NUMBERS {
                buffer.push(b'\t');
            }
            let at = column - NUMBERS;
            match self.text[at].as_slice() {
                [] => push_count(buffer, numbers.get(at).copied().flatten()),
                text => {
                    let plain = |b: &u8| {
                        if matches!(b, b'\t' | b'\n') { b' ' } else { *b }
                    };
                    buffer.extend(text.iter().map(plain));
                }
            }
        }
        buffer.push(b'\n');
    }
}
