//! The batch script: its `#SBATCH` lines and its interpreter.

use super::{Refusal, command_line};

/// The first line of a script, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::faces::slurm) struct Interpreter {
    pub path: String,
    /// The kernel hands over at most one argument.
    pub argument: Option<String>,
}

impl Interpreter {
    /// Of a script that passed the check.
    pub fn of(script: &[u8]) -> Self {
        let first = script.split(|b| *b == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(first);
        let line = line.strip_prefix("#!").unwrap_or(&line).trim();
        let (path, argument) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let argument = Some(argument.trim().to_owned()).filter(|a| !a.is_empty());
        let path = if path.is_empty() { "/bin/sh" } else { path };
        Interpreter {
            path: path.to_owned(),
            argument,
        }
    }
}

const NO_INTERPRETER: &str = "sbatch: error: This does not look like a batch script.  The first\n\
    sbatch: error: line must start with #! followed by the path to an interpreter.\n\
    sbatch: error: For instance: #!/bin/sh\n";

/// What sbatch refuses about a script before anything else.
pub(super) fn check(script: &[u8]) -> Result<(), Refusal> {
    if script.is_empty() {
        return Err(Refusal::error(1, "Batch script is empty!"));
    }
    if script.iter().all(u8::is_ascii_whitespace) {
        return Err(Refusal::error(1, "Batch script contains only whitespace!"));
    }
    if !script.starts_with(b"#!") {
        return Err(Refusal(1, NO_INTERPRETER.to_owned()));
    }
    if script.windows(2).any(|pair| pair == b"\r\n") {
        let what = "Batch script contains DOS line breaks (\\r\\n)\n\
            sbatch: error: instead of expected UNIX line breaks (\\n).";
        return Err(Refusal::error(1, what));
    }
    if script.contains(&0) {
        let what = "The Slurm controller does not allow scripts that\n\
            sbatch: error: contain a NULL character '\\0'.";
        return Err(Refusal::error(1, what));
    }
    Ok(())
}

/// The script that `--wrap` stands for.
pub(super) fn wrap(command: &str) -> Vec<u8> {
    format!("#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{command}\n").into_bytes()
}

/// The options of the `#SBATCH` lines, which end at the first command.
pub(super) fn directives(
    called: &str,
    name: &str,
    script: &[u8],
) -> Result<Vec<(&'static str, Option<String>)>, Refusal> {
    let text = String::from_utf8_lossy(script);
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        if let Some(options) = line.strip_prefix("#SBATCH") {
            if let Some((quote, word)) = unmatched(options) {
                let what = format!("Unmatched `{quote}` in [{word}]");
                let what = format!("sbatch: fatal: {name}: line {number}: {what}\n");
                return Err(Refusal(1, what));
            }
            let args = words(options);
            let parsed = command_line(called, &args)?;
            if matches!(
                parsed.rest.first().map(String::as_str),
                Some("hetjob" | "packjob")
            ) {
                return Err(Refusal::heterogeneous());
            }
            all.extend(parsed.options);
        } else if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            break;
        }
    }
    Ok(all)
}

/// A quotation mark that is never closed, and the word with it.
fn unmatched(line: &str) -> Option<(char, &str)> {
    let (mut quote, mut from, mut letters) = (None, 0, line.char_indices());
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\\', q) if q != Some('\'') => drop(letters.next()),
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            ('#', None) if at == from => break,
            (c, None) if c.is_whitespace() => from = at + c.len_utf8(),
            _ => {}
        }
    }
    quote.map(|quote| (quote, line[from..].trim_end()))
}

/// Splits a line into words: quotes hold together, a backslash takes the next
/// letter as it is, an unquoted `#` ends the line.
pub(in crate::faces::slurm) fn words(line: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', q) if q != Some('\'') => {
                let next = letters.next();
                word.get_or_insert_default().extend(next);
            }
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() => all.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}
