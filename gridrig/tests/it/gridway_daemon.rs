//! What GridWay's daemon makes of a line of a driver, after the sources of
//! GridWay 5.14: `src/em/gw_em_listener.c` for jobs, the lexer
//! `src/host/gw_host_attr_parser.l` and the grammar
//! `src/host/gw_host_update_syntax.y` for hosts.

use std::collections::BTreeMap;

/// What becomes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It waits in the LRMS.
    Pending,
    /// It runs.
    Active,
    /// It has ended; its exit code is looked for in its wrapper's output.
    Done,
    /// It is tried again, or has failed.
    Failed,
    /// Nothing.
    Nothing,
}

/// What a line of the execution driver does to a job. `sscanf` leaves the text
/// of an earlier line in place where a line has none: `before` is that text.
pub fn heard(line: &str, before: &str) -> Heard {
    let mut rest = line;
    let mut word = || {
        let from = rest.trim_start();
        let (word, after) = from.split_once(' ').unwrap_or((from, ""));
        rest = after;
        word
    };
    let (action, number, result) = (word(), word(), word());
    if number.starts_with('-') {
        return Heard::Nothing;
    }
    let text = match rest.trim_start() {
        "" => before,
        text => text,
    };
    let by_name = || match text {
        "PENDING" => Heard::Pending,
        "ACTIVE" => Heard::Active,
        done if done.contains("DONE") => Heard::Done,
        _ => Heard::Nothing,
    };
    match (action, result, text) {
        ("SUBMIT", "FAILURE", _) | ("CALLBACK", "FAILURE", _) => Heard::Failed,
        ("SUBMIT", _, _) => Heard::Pending,
        // To gwd these words mean that the user has cancelled the job.
        ("CALLBACK", "SUCCESS", "FAILED") => Heard::Done,
        ("POLL" | "RECOVER", "SUCCESS", "FAILED") => Heard::Failed,
        ("CALLBACK" | "POLL" | "RECOVER", "SUCCESS", _) => by_name(),
        ("RECOVER", _, _) => Heard::Done,
        _ => Heard::Nothing,
    }
}

/// The attributes of a host, `NAME` or `NAME[N]`, as gwd's lexer and grammar
/// take them apart.
///
/// # Errors
/// Where gwd would call it a syntax error, and the host unknown.
pub fn attributes(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut values = BTreeMap::new();
    let mut rest = text.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        let (name, after) = name(rest).ok_or_else(|| format!("a name at {rest:?}"))?;
        let (name, after) = match after.strip_prefix('[') {
            None => (name.to_owned(), after),
            Some(index) => {
                let (number, after) = integer(index).ok_or_else(|| format!("{index:?}"))?;
                let after = after
                    .strip_prefix(']')
                    .ok_or_else(|| format!("{after:?}"))?;
                (format!("{name}[{number}]"), after)
            }
        };
        let after = after
            .strip_prefix('=')
            .ok_or_else(|| format!("{after:?}"))?;
        let (value, after) = match after.strip_prefix('"') {
            Some(string) => string.split_once('"').ok_or("a string without an end")?,
            None => integer(after).unwrap_or(("", after)),
        };
        values.insert(name, value.to_owned());
        if !after.is_empty() && !after.starts_with([' ', '\t']) {
            return Err(format!("a blank at {after:?}"));
        }
        rest = after.trim_start_matches([' ', '\t']);
    }
    Ok(values)
}

fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        .then_some((name, rest))
}

/// A number that fits gwd's `int`.
fn integer(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let length = digits.find(|c: char| !c.is_ascii_digit());
    let end = text.len() - digits.len() + length.unwrap_or(digits.len());
    let (number, rest) = text.split_at(end);
    number.parse::<i32>().ok().map(|_| (number, rest))
}
