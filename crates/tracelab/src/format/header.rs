//! Header comments: `; Key: value`.

use std::collections::BTreeMap;

/// Header text past this many bytes is not kept: a file of nothing but
/// comments must not fill the memory.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Tables of names that stand behind ids have a bound of their own.
const MAX_TABLE_BYTES: usize = 64 << 20;

/// What the keys of such tables begin with; a GWF column follows.
pub(crate) const TABLE_KEY_PREFIX: &str = "GWF-";

/// The keys of comments about single jobs (`docs/swf.md`), of which there may be as many.
pub(crate) const JOB_COMPONENTS: &str = "JobComponents";
pub(crate) const JOB_DIVISION: &str = "JobDivision";
pub(crate) const JOB_INPUTS: &str = "JobInputs";
const OF_JOBS: [&str; 3] = [JOB_COMPONENTS, JOB_DIVISION, JOB_INPUTS];

/// What an entry costs beside its text, about.
const ENTRY_BYTES: usize = 32;

/// Longest word that counts as a key; longer ones are prose.
const MAX_KEY_BYTES: usize = 40;

/// The header comments of a trace by key, in file order where a key repeats.
///
/// Values are kept as written, with the lines of a value that runs over
/// several joined by line feeds. Comments without a key that continue no value
/// (a banner, a drawn legend) are kept in [`Header::lines`] only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    entries: BTreeMap<String, Vec<String>>,
    /// All comments in file order; those without a key have an empty one.
    lines: Vec<(String, String)>,
    /// Whether the last of them may go on.
    open: bool,
    bytes: usize,
    table_bytes: usize,
    dropped: u64,
    /// The lines of the comments about single jobs, by key in file order.
    job_lines: BTreeMap<&'static str, Vec<u64>>,
}

impl Header {
    /// All values by key.
    pub fn entries(&self) -> &BTreeMap<String, Vec<String>> {
        &self.entries
    }

    /// All comments in file order, as a [`Writer`](super::Writer) takes them:
    /// key, empty for a comment without one, and value. Indentation and empty
    /// comments are not kept.
    pub fn lines(&self) -> &[(String, String)] {
        &self.lines
    }

    /// The values of a key, none if it does not occur.
    pub fn values(&self, key: &str) -> &[String] {
        self.entries.get(key).map_or(&[], Vec::as_slice)
    }

    /// The values of a key of comments about single jobs, each with its line.
    pub(crate) fn of_jobs(&self, key: &str) -> impl Iterator<Item = (u64, &str)> {
        let lines = self.job_lines.get(key).into_iter().flatten().copied();
        lines.zip(self.values(key).iter().map(String::as_str))
    }

    /// The whole number that begins the first value of a key that begins with
    /// one: 1664 of `MaxProcs: 1664 (72, 1368, 224)`.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.values(key).iter().find_map(|v| leading_number(v))
    }

    /// Processors of the machine, from `MaxProcs`, else `MaxNodes`, else the
    /// `Processors` of GWF; `None`
    /// where the header is silent and the user has to say.
    pub fn max_processors(&self) -> Option<u64> {
        ["MaxProcs", "MaxNodes", "Processors"]
            .into_iter()
            .find_map(|key| self.number(key))
    }

    /// Unix seconds of the log's time 0.
    pub fn unix_start_time(&self) -> Option<u64> {
        // Our own mark for a log that does not say, where GWF needs a number.
        self.number("UnixStartTime").filter(|at| *at > 0)
    }

    /// Adds Unix seconds of time 0 where the header says nothing, unless they
    /// are 0.
    pub(crate) fn set_unix_start_time(&mut self, at: u64) {
        const KEY: &str = "UnixStartTime";
        if at > 0 && self.values(KEY).is_empty() {
            let value = at.to_string();
            self.entries.insert(KEY.to_owned(), vec![value.clone()]);
            self.lines.push((KEY.to_owned(), value));
        }
    }

    /// Header lines beyond what is kept.
    pub fn dropped_lines(&self) -> u64 {
        self.dropped
    }

    /// Keys of numbers that occur with different values; the first one counts.
    pub fn conflicts(&self) -> Vec<&str> {
        let differs = |values: &[String]| {
            let mut numbers = values.iter().filter_map(|v| leading_number(v));
            let first = numbers.next();
            numbers.any(|n| Some(n) != first)
        };
        ["MaxProcs", "MaxNodes", "UnixStartTime"]
            .into_iter()
            .filter(|key| differs(self.values(key)))
            .collect()
    }

    /// Takes in a comment line with this number, with its semicolon.
    pub(crate) fn add(&mut self, number: u64, line: &[u8]) {
        let start = line
            .iter()
            .position(|b| !matches!(b, b';' | b'#') && !b.is_ascii_whitespace());
        let text = String::from_utf8_lossy(&line[start.unwrap_or(line.len())..]);
        let text = text.trim();
        if text.is_empty() {
            self.open = false;
            return;
        }
        let bytes = text.len() + ENTRY_BYTES;
        let mut of_tables = OF_JOBS.into_iter().chain([TABLE_KEY_PREFIX]);
        let (kept, limit) = match of_tables.any(|key| text.starts_with(key)) {
            true => (&mut self.table_bytes, MAX_TABLE_BYTES),
            false => (&mut self.bytes, MAX_HEADER_BYTES),
        };
        if *kept + bytes > limit {
            self.dropped += 1;
            return;
        }
        *kept += bytes;
        if let Some((key, value)) = split_key(text) {
            let values = self.entries.entry(key.to_owned()).or_default();
            values.push(value.to_owned());
            for key in OF_JOBS.into_iter().filter(|of_jobs| *of_jobs == key) {
                self.job_lines.entry(key).or_default().push(number);
            }
            self.lines.push((key.to_owned(), value.to_owned()));
        } else if let Some((key, value)) = self.lines.last_mut().filter(|_| self.open) {
            let values = self.entries.get_mut(key.as_str());
            for value in values.and_then(|v| v.last_mut()).into_iter().chain([value]) {
                value.push('\n');
                value.push_str(text);
            }
        } else {
            self.lines.push((String::new(), text.to_owned()));
        }
        self.open = true;
    }

    /// Ends the value that is being continued: a job line came between.
    pub(crate) fn end_value(&mut self) {
        self.open = false;
    }
}

/// `Key: value`, where the key is one word and the colon no part of a URL.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.len() <= MAX_KEY_BYTES
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    (is_word && !value.starts_with("//")).then(|| (key, value.trim()))
}

fn leading_number(value: &str) -> Option<u64> {
    let end = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    value[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        let mut header = Header::default();
        for (number, line) in (1..).zip(text.lines()) {
            header.add(number, line.as_bytes());
        }
        header
    }

    #[test]
    fn keys_are_found_however_they_are_indented() {
        let header =
            header(";Version: 2.2\n; MaxProcs: 1664 (72, 1368, 224)\n;      Note:x\n;;Y: z");
        assert_eq!(header.values("Version"), ["2.2"]);
        assert_eq!(header.max_processors(), Some(1664));
        assert_eq!(header.values("Note"), ["x"]);
        assert_eq!(header.values("Y"), ["z"]);
    }

    #[test]
    fn a_value_goes_on_until_a_key_or_an_empty_comment() {
        let header = header(
            "; Information: http://a/\n;    http://b/\n;  two  words\n;\n; alone\n; MaxNodes: 338 # all",
        );
        assert_eq!(
            header.values("Information"),
            ["http://a/\nhttp://b/\ntwo  words"]
        );
        assert_eq!(header.max_processors(), Some(338));
        assert_eq!(header.entries().len(), 2);
    }

    #[test]
    fn the_first_of_two_conflicting_values_counts() {
        let header = header("; MaxProcs: see below\n; MaxProcs: 64\n; MaxProcs: 128");
        assert_eq!(header.max_processors(), Some(64));
        assert_eq!(header.conflicts(), ["MaxProcs"]);
    }

    #[test]
    fn a_header_without_end_is_cut_and_counted() {
        let mut header = Header::default();
        let line = format!("; Note: {}", "x".repeat(60_000));
        for _ in 0..20 {
            header.add(1, line.as_bytes());
        }
        assert_eq!(header.dropped_lines(), 3);
    }
}
