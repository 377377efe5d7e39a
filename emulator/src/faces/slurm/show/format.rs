//! Format strings: `%.18i %R` of squeue and sinfo, `Name:width` lists.

use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::wire::Answer;
use crate::slurm::times;

/// A field that a line can show, `V` being the function that reads it.
pub(super) struct Field<V> {
    /// [`NONE`] or a digit for one that only `-O` knows.
    pub letter: char,
    /// In small letters; empty for one that only `-o` knows.
    name: &'static str,
    header: &'static str,
    shows: Shows<V>,
}

/// What a field shows.
pub(super) enum Shows<V> {
    /// The same on every line, since an emulated cluster has no such thing.
    Always(&'static str),
    Value(V),
    /// A length of time, which squeue does not cut to the field's width.
    Length(V),
}

/// No letter.
pub(super) const NONE: char = ' ';

/// A row of a table of fields.
pub(super) const fn field<V>(
    letter: char,
    name: &'static str,
    header: &'static str,
    shows: Shows<V>,
) -> Field<V> {
    Field {
        letter,
        name,
        header,
        shows,
    }
}

impl<V> Field<V> {
    /// The value, and whether it may be cut to the field's width.
    fn value(&self, read: impl Fn(&V) -> String) -> (String, bool) {
        match &self.shows {
            Shows::Always(text) => ((*text).to_owned(), true),
            Shows::Value(value) => (read(value), true),
            Shows::Length(value) => {
                let text = read(value);
                let whole = text.starts_with(|c: char| c.is_ascii_digit());
                (text, !whole)
            }
        }
    }
}

/// A piece of a line.
pub(super) enum Piece<V: 'static> {
    /// Text as it stands.
    Text(String),
    /// A field, cut and padded to a width if it has one.
    Field(&'static Field<V>, Width),
}

/// A width, and whether the text stands at its right end.
type Width = (usize, bool);

/// Reads a format of letters. What is no known field stays as text and is
/// named in the second value, as Slurm complains about it.
pub(super) fn letters<V>(
    format: &str,
    fields: &'static [Field<V>],
) -> (Vec<Piece<V>>, Vec<String>) {
    let known = |letter| {
        fields
            .iter()
            .find(|one| one.letter == letter && letter != NONE)
    };
    let (mut pieces, mut unknown, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let spec = &rest[at + 1..];
        let digits_from = spec.len() - spec.trim_start_matches('.').len();
        let after = &spec[digits_from.min(1)..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let letter = after[digits..].chars().next();
        if letter == Some('%') && digits == 0 {
            // Shown as nothing at all.
            rest = &after[1..];
            continue;
        }
        match letter.and_then(known) {
            Some(field) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                let width = after[..digits].parse().unwrap_or(0);
                pieces.push(Piece::Field(field, (width, digits_from > 0)));
                rest = &after[digits + 1..];
            }
            None => {
                unknown.push(letter.map(String::from).unwrap_or_default());
                text.push('%');
                rest = spec;
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    (pieces, unknown)
}

/// Reads a list of names, each `Name` or `Name:width` or `Name:.width`.
fn names<V>(format: &str, fields: &'static [Field<V>]) -> (Vec<Piece<V>>, Vec<String>) {
    let (mut pieces, mut unknown) = (Vec::new(), Vec::new());
    for part in format.split(',') {
        let (name, width) = part.split_once(':').unwrap_or((part, ""));
        let known = name.trim().to_ascii_lowercase();
        let known = fields
            .iter()
            .find(|one| one.name == known && !known.is_empty());
        let Some(field) = known else {
            unknown.push(name.to_owned());
            continue;
        };
        let right = width.starts_with('.');
        let width = width.trim_start_matches('.');
        let width = match width {
            "" => DEFAULT_WIDTH,
            // What is no number is no width.
            width => width.parse().unwrap_or(0),
        };
        pieces.push(Piece::Field(field, (width, right)));
    }
    (pieces, unknown)
}

/// The pieces of the format that was asked for last, by letters (`-o`) or by
/// names (`-O`), else of the `usual` one; each unknown field in a complaint.
pub(super) fn asked<V>(
    parsed: &Parsed,
    usual: &str,
    fields: &'static [Field<V>],
    complain: impl Fn(&str, bool) -> String,
) -> (Vec<Piece<V>>, String) {
    let mut given = parsed.options.iter().rev();
    let given = given.find(|(option, _)| ["format", "Format"].contains(option));
    let by_name = given.is_some_and(|(option, _)| *option == "Format");
    let format = given.map_or(usual, |(_, format)| format.as_deref().unwrap_or_default());
    let (pieces, unknown) = match by_name {
        true => names(format, fields),
        false => letters(format, fields),
    };
    let complaints = unknown.iter().map(|what| complain(what, by_name));
    (pieces, complaints.collect())
}

/// The width of a field of squeue's `-O` that names none.
const DEFAULT_WIDTH: usize = 20;

/// A line for each of these, below a line of headers and, in a long listing, the date
/// (in Unix seconds) if that is wanted.
pub(super) fn listing<V, L>(
    parsed: &Parsed,
    date: Option<u64>,
    (pieces, stderr): (Vec<Piece<V>>, String),
    lines: &[L],
    read: impl Fn(&V, &L) -> String,
) -> Answer {
    let mut out = String::with_capacity(lines.len() * 96);
    if !parsed.has("noheader") {
        if let Some(date) = date.filter(|_| parsed.has("long")) {
            out.push_str(&(times::date(date) + "\n"));
        }
        row(&mut out, &pieces, |field| (field.header.to_owned(), true));
    }
    for line in lines {
        let value = |field: &Field<V>| field.value(|value| read(value, line));
        row(&mut out, &pieces, value);
    }
    Answer {
        stderr,
        ..Answer::said(out)
    }
}

/// Appends one line; a value that is not to be cut makes it longer.
fn row<V>(out: &mut String, pieces: &[Piece<V>], value: impl Fn(&Field<V>) -> (String, bool)) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Field(field, (0, _)) => out.push_str(&value(field).0),
            Piece::Field(field, (width, right)) => match value(field) {
                (text, true) => pad(out, &text, *width, *right),
                (text, false) => pad(out, &text, (*width).max(text.len()), *right),
            },
        }
    }
    out.push('\n');
}

/// Appends a text cut and padded to a width.
pub(super) fn pad(out: &mut String, text: &str, width: usize, right: bool) {
    let length = text.chars().count();
    let blanks = width.saturating_sub(length);
    if right {
        out.extend(std::iter::repeat_n(' ', blanks));
    }
    match length > width {
        true => out.extend(text.chars().take(width)),
        false => out.push_str(text),
    }
    if !right {
        out.extend(std::iter::repeat_n(' ', blanks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FIELDS: [Field<&str>; 4] = [
        field('i', "jobid", "", Shows::Value("iii")),
        field('j', "name", "", Shows::Value("jjj")),
        field('P', "", "", Shows::Value("PPP")),
        field('u', "", "", Shows::Value("uuu")),
    ];

    fn shown((pieces, unknown): (Vec<Piece<&str>>, Vec<String>)) -> (String, Vec<String>) {
        let options = vec![("noheader", None)];
        let rest = Vec::new();
        let (parsed, pieces) = (Parsed { options, rest }, (pieces, String::new()));
        let said = listing(&parsed, None, pieces, &[()], |text, ()| (*text).to_owned());
        (said.stdout, unknown)
    }

    #[test]
    fn letters_are_cut_and_padded() {
        assert_eq!(
            shown(letters("%i %.5j|%2P|%5u|", &FIELDS)).0,
            "iii   jjj|PP|uuu  |\n"
        );
        assert_eq!(shown(letters("JobId=%i", &FIELDS)).0, "JobId=iii\n");
        assert_eq!(
            shown(letters("%i%%|%i", &FIELDS)),
            ("iii|iii\n".to_owned(), Vec::new())
        );
    }

    #[test]
    fn what_is_unknown_stays() {
        assert_eq!(
            shown(letters("%-5T|%i", &FIELDS)),
            ("%-5T|iii\n".to_owned(), vec!["-".to_owned()])
        );
        assert_eq!(
            shown(letters("%5", &FIELDS)),
            ("%5\n".to_owned(), vec![String::new()])
        );
    }

    #[test]
    fn names_have_widths() {
        let (out, unknown) = shown(names("JobID:8,Name:.6,foo", &FIELDS));
        assert_eq!((out.as_str(), unknown.len()), ("iii        jjj\n", 1));
    }
}
