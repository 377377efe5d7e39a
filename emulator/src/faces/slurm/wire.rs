//! What the commands and the cluster say to each other over a Unix socket:
//! one request, one answer, then the connection closes.
//!
//! A request is [`MAGIC`], the lengths of its two parts as big-endian `u32`,
//! a JSON header and the batch script's bytes ([`NO_SCRIPT`] where there is
//! none). An answer is the exit code and the lengths of what goes to stdout
//! and stderr, then the two texts.

use serde::{Deserialize, Serialize};

/// The variable of a job with its nodes.
pub(super) const JOB_NODES: &str = "SLURM_JOB_NODELIST";

/// The first bytes of a request; the digit is the version.
const MAGIC: u32 = u32::from_be_bytes(*b"GRS1");

/// The length that stands for "no script".
pub(super) const NO_SCRIPT: u32 = u32::MAX;

/// The most bytes of a header: arguments and environment.
pub(super) const MOST_HEADER: u32 = 4 << 20;

/// The most bytes of a script, as Slurm's `max_script_size`.
pub(super) const MOST_SCRIPT: u32 = 4 << 20;

/// The fixed part of a request or an answer: three numbers.
pub(super) type Head = [u8; 12];

fn numbers(head: Head) -> [u32; 3] {
    let (words, _) = head.as_chunks();
    std::array::from_fn(|at| u32::from_be_bytes(words[at]))
}

/// A command as it is called: what [`Request`] is read from. It borrows, since
/// each new size of block that the allocator is asked for costs a call more
/// than what is then written into it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Call<'a> {
    /// Which command.
    pub command: &'a str,
    /// As what it was called.
    pub called: &'a str,
    /// Its arguments.
    pub args: &'a [String],
    /// Where it is called.
    pub cwd: &'a str,
    /// The environment, as far as the command looks at it.
    pub env: &'a [(&'a str, &'a str)],
}

/// A command as it was called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Request {
    /// Which command.
    pub command: String,
    /// As what it was called, which getopt's complaints begin with.
    pub called: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it was called.
    pub cwd: String,
    /// The caller's environment, as far as the command looks at it.
    pub env: Vec<(String, String)>,
    /// The batch script; only of `sbatch`.
    #[serde(skip)]
    pub script: Option<Vec<u8>>,
}

/// What the command is to show, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// It worked, and says so.
    pub fn said(stdout: String) -> Self {
        Answer {
            stdout,
            ..Answer::default()
        }
    }

    /// What was asked for is not there, which is no matter of stderr.
    pub fn missing(stdout: String) -> Self {
        Answer {
            code: 1,
            ..Answer::said(stdout)
        }
    }

    /// It did not.
    pub fn failed(code: u8, stderr: impl Into<String>) -> Self {
        Answer {
            code,
            stderr: stderr.into(),
            ..Answer::default()
        }
    }

    /// The answer on the wire.
    pub fn encode(&self) -> Vec<u8> {
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let head = [self.code.into(), length(&self.stdout), length(&self.stderr)];
        let head = head.map(u32::to_be_bytes);
        let (stdout, stderr) = (self.stdout.as_bytes(), self.stderr.as_bytes());
        [head.as_flattened(), stdout, stderr].concat()
    }
}

impl Call<'_> {
    /// The request on the wire, with the batch script if there is one.
    pub fn encode(&self, script: Option<&[u8]>) -> std::io::Result<Vec<u8>> {
        let too_long = |what: &str| std::io::Error::other(format!("{what} too long"));
        let length = |length: usize, most: u32| {
            let length = u32::try_from(length).ok();
            length.filter(|length| *length <= most)
        };
        let script_length = match script {
            None => NO_SCRIPT,
            Some(script) => {
                length(script.len(), MOST_SCRIPT).ok_or_else(|| too_long("the script is"))?
            }
        };
        let env = self.env.iter();
        let texts = env.map(|(name, value)| name.len() + value.len());
        let texts = texts.chain(self.args.iter().map(String::len));
        // Each text has its quotation marks, comma and bracket besides.
        let room: usize = texts.map(|length| length + 8).sum();
        let script = script.unwrap_or_default();
        let mut bytes = Vec::with_capacity((room + script.len() + 512).next_power_of_two());
        bytes.extend(Head::default());
        serde_json::to_writer(&mut bytes, self)?;
        let header = length(bytes.len() - Head::default().len(), MOST_HEADER)
            .ok_or_else(|| too_long("the arguments and environment are"))?;
        let head = [MAGIC, header, script_length].map(u32::to_be_bytes);
        bytes[..head.as_flattened().len()].copy_from_slice(head.as_flattened());
        bytes.extend(script);
        Ok(bytes)
    }
}

/// The lengths that the head of a request announces: of the header, and of
/// the script if there is one. `None` if it is no request or too long.
pub(super) fn request_lengths(head: Head) -> Option<(usize, Option<usize>)> {
    let [magic, header, script] = numbers(head);
    let too_long = header > MOST_HEADER || (script > MOST_SCRIPT && script != NO_SCRIPT);
    if magic != MAGIC || too_long {
        return None;
    }
    let script = (script != NO_SCRIPT).then_some(script as usize);
    Some((header as usize, script))
}

/// Exit code and lengths that the head of an answer announces.
pub(super) fn answer_lengths(head: Head) -> (u8, usize, usize) {
    let [code, stdout, stderr] = numbers(head);
    let code = u8::try_from(code).unwrap_or(u8::MAX);
    (code, stdout as usize, stderr as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_announces_what_follows() {
        let call = Call {
            command: "sbatch",
            called: "bin/sbatch",
            args: &["-n".to_owned(), "3".to_owned()],
            cwd: "/tmp",
            env: &[("HOME", "/root"), ("QUOTED", "\"a\"\n")],
        };
        let bytes = call.encode(Some(b"#!/bin/sh\n")).unwrap();
        let head = bytes[..12].try_into().unwrap();
        let (header, script) = request_lengths(head).unwrap();
        assert_eq!(script, Some(10));
        assert_eq!(bytes.len(), 12 + header + 10);
        let read: Request = serde_json::from_slice(&bytes[12..][..header]).unwrap();
        let wanted = Request {
            command: "sbatch".to_owned(),
            called: "bin/sbatch".to_owned(),
            args: call.args.to_vec(),
            cwd: "/tmp".to_owned(),
            env: vec![
                ("HOME".to_owned(), "/root".to_owned()),
                ("QUOTED".to_owned(), "\"a\"\n".to_owned()),
            ],
            script: None,
        };
        assert_eq!(read, wanted);
    }

    #[test]
    fn what_is_no_request_or_too_long_is_refused() {
        assert_eq!(request_lengths(*b"GET / HTTP/1"), None);
        let head = [MAGIC, MOST_HEADER + 1, NO_SCRIPT].map(u32::to_be_bytes);
        assert_eq!(
            request_lengths(head.as_flattened().try_into().unwrap()),
            None
        );
    }
}
