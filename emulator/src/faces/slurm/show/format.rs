//! Format strings: `%.18i %R` of squeue and sinfo, `Name:width` lists.

use crate::faces::slurm::options::Parsed;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece<F> {
    /// Text as it stands.
    Text(String),
    /// A field, cut and padded to a width if it has one.
    Field { field: F, width: usize, right: bool },
}

/// Reads a format of letters. What is no known field stays as text and is
/// named in the second value, as Slurm complains about it.
pub(super) fn letters<F>(
    format: &str,
    known: impl Fn(char) -> Option<F>,
) -> (Vec<Piece<F>>, Vec<String>) {
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
        match letter.and_then(&known) {
            Some(field) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                let width = after[..digits].parse().unwrap_or(0);
                let right = digits_from > 0;
                pieces.push(Piece::Field {
                    field,
                    width,
                    right,
                });
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
pub(super) fn names<F>(
    format: &str,
    known: impl Fn(&str) -> Option<F>,
) -> (Vec<Piece<F>>, Vec<String>) {
    let (mut pieces, mut unknown) = (Vec::new(), Vec::new());
    for part in format.split(',') {
        let (name, width) = part.split_once(':').unwrap_or((part, ""));
        let Some(field) = known(&name.trim().to_ascii_lowercase()) else {
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
        pieces.push(Piece::Field {
            field,
            width,
            right,
        });
    }
    (pieces, unknown)
}

/// The pieces of the format that was asked for last, by letters (`-o`) or by
/// names (`-O`), else of the `usual` one; each unknown field in a complaint.
pub(super) fn asked<F>(
    parsed: &Parsed,
    usual: &str,
    letter: impl Fn(char) -> Option<F>,
    name: impl Fn(&str) -> Option<F>,
    complain: impl Fn(&str, bool) -> String,
) -> (Vec<Piece<F>>, String) {
    let mut given = parsed.options.iter().rev();
    let given = given.find(|(option, _)| ["format", "Format"].contains(option));
    let by_name = given.is_some_and(|(option, _)| *option == "Format");
    let format = given.map_or(usual, |(_, format)| format.as_deref().unwrap_or_default());
    let (pieces, unknown) = match by_name {
        true => names(format, name),
        false => letters(format, letter),
    };
    let complaints = unknown.iter().map(|what| complain(what, by_name));
    (pieces, complaints.collect())
}

/// The width of a field of squeue's `-O` that names none.
const DEFAULT_WIDTH: usize = 20;

/// Appends one line.
pub(super) fn line<F>(out: &mut String, pieces: &[Piece<F>], value: impl Fn(&F) -> String) {
    line_with(out, pieces, |field| (value(field), true));
}

/// The same; a value that is not to be cut makes its line longer.
pub(super) fn line_with<F>(
    out: &mut String,
    pieces: &[Piece<F>],
    value: impl Fn(&F) -> (String, bool),
) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Field {
                field,
                width: 0,
                right: _,
            } => out.push_str(&value(field).0),
            Piece::Field {
                field,
                width,
                right,
            } => {
                let (text, cut) = value(field);
                let width = if cut {
                    *width
                } else {
                    (*width).max(text.len())
                };
                pad(out, &text, width, *right);
            }
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

    fn shown(format: &str) -> (String, Vec<String>) {
        let (pieces, unknown) = letters(format, |c| c.is_alphabetic().then_some(c));
        let mut out = String::new();
        line(&mut out, &pieces, |c| c.to_string().repeat(3));
        (out, unknown)
    }

    #[test]
    fn letters_are_cut_and_padded() {
        assert_eq!(shown("%i %.5j|%2P|%5u|").0, "iii   jjj|PP|uuu  |\n");
        assert_eq!(shown("JobId=%i").0, "JobId=iii\n");
        assert_eq!(shown("%i%%|%i"), ("iii|iii\n".to_owned(), Vec::new()));
    }

    #[test]
    fn what_is_unknown_stays() {
        assert_eq!(
            shown("%-5T|%i"),
            ("%-5T|iii\n".to_owned(), vec!["-".to_owned()])
        );
        assert_eq!(shown("%5"), ("%5\n".to_owned(), vec![String::new()]));
    }

    #[test]
    fn names_have_widths() {
        let known = |name: &str| (name == "jobid" || name == "name").then(|| name.to_owned());
        let (pieces, unknown) = names("JobID:8,Name:.6,foo", known);
        let mut out = String::new();
        line(&mut out, &pieces, |_| "ab".to_owned());
        assert_eq!((out.as_str(), unknown.len()), ("ab          ab\n", 1));
    }
}
