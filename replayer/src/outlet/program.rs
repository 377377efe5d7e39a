//! A program of somebody else, run once: bounded in time and in what it says.

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It did not end in time and was killed, with all that it had started.
    TimedOut,
}

/// What came of a program.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// The last it said on standard output.
    pub stdout: String,
    /// The last it said on standard error.
    pub stderr: String,
}

/// What of each stream is kept, in bytes: its end.
const KEPT: usize = 16 * 1024;

/// How long a stream may stay open when the program has ended: one that it
/// has left behind may hold it.
const LEFT_BEHIND: Duration = Duration::from_millis(500);

/// What programs are told of the environment of this process, besides what
/// begins with `LC_`. It may hold secrets that are not theirs.
const TOLD: [&str; 10] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SLURM_CONF",
    "GRIDRIG_LOG",
];

/// A program that is told no more of the environment than it needs.
pub fn plain(program: impl AsRef<OsStr>) -> std::process::Command {
    let told = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_str().unwrap_or_default();
        TOLD.contains(&name) || name.starts_with("LC_")
    });
    let mut command = std::process::Command::new(program);
    command.env_clear().envs(told);
    command
}

/// A [`plain`] program with its arguments, without standard input, in a directory and a
/// process group of its own.
///
/// # Errors
/// Without a program.
pub fn prepare(words: &[String], dir: &Path) -> io::Result<Command> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::other("a command without a program"))?;
    let mut command = Command::from(plain(program));
    command
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

/// Runs a program in a directory, in a process group of its own, without
/// standard input. Dropped on the way, it takes the group with it.
///
/// # Errors
/// When it cannot be started.
pub async fn run(words: &[String], dir: &Path, timeout: Duration) -> io::Result<Ran> {
    let mut child = prepare(words, dir)?
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut group = Group(Group::of(child.id()));
    let (said, complained) = (Tail::of(child.stdout.take()), Tail::of(child.stderr.take()));
    let exit = match tokio::time::timeout(timeout, child.wait()).await {
        Ok(status) => {
            use std::os::unix::process::ExitStatusExt as _;
            let status = status?;
            match (status.code(), status.signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, signal) => Exit::Signal(signal.unwrap_or(0)),
            }
        }
        Err(_late) => {
            group.kill();
            drop(child.wait().await);
            Exit::TimedOut
        }
    };
    // What it has left running on purpose, as a daemon, lives on.
    group.0 = None;
    Ok(Ran {
        exit,
        stdout: said.text().await,
        stderr: complained.text().await,
    })
}

/// Asks the program with this process id and all that it has started to end, or ends
/// them at once.
pub fn end_group(id: Option<u32>, gently: bool) {
    let signal = if gently { Signal::TERM } else { Signal::KILL };
    if let Some(pid) = Group::of(id) {
        // It may have ended by itself.
        let _ = kill_process_group(pid, signal);
    }
}

/// The process group of a child that runs.
struct Group(Option<Pid>);

impl Group {
    fn of(id: Option<u32>) -> Option<Pid> {
        id.and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
    }

    fn kill(&mut self) {
        if let Some(pid) = self.0.take() {
            // It may have ended by itself.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads a stream to its end and keeps the last of it.
struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: tokio::task::JoinHandle<()>,
}

impl Tail {
    fn of(stream: Option<impl AsyncRead + Unpin + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&kept);
        let reading = tokio::spawn(async move {
            let Some(mut stream) = stream else { return };
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let mut kept = into.lock();
                kept.extend_from_slice(&buffer[..count]);
                let spare = kept.len().saturating_sub(KEPT);
                kept.drain(..spare);
            }
        });
        Tail { kept, reading }
    }

    async fn text(mut self) -> String {
        let _ = tokio::time::timeout(LEFT_BEHIND, &mut self.reading).await;
        self.reading.abort();
        let kept = self.kept.lock();
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_program_is_told_no_more_of_the_environment_than_it_needs() {
        // Cargo has told these tests more.
        let said = plain("env").output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(
            said.contains("PATH=") && !said.contains("CARGO_MANIFEST_DIR="),
            "{said}"
        );
    }
}
