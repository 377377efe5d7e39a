//! One call of a command of Slurm, bounded in time and in what it may say.

use super::Settings;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How long a call may take. Slurm's own patience with a controller that does
/// not answer is 10 s, and it tries more than once.
pub(super) const CALL: Duration = Duration::from_secs(30);

/// Time between two looks at whether a call has ended.
const LOOK: Duration = Duration::from_millis(2);

/// The most a command may say.
const MOST_SAID: u64 = 256 << 20;

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// `None` if it was ended by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    pub fn is_ok(&self) -> bool {
        self.code == Some(0)
    }

    /// Its complaint in one line.
    pub fn complaint(&self) -> &str {
        let mut lines = self.stderr.lines().filter(|line| !line.trim().is_empty());
        lines.next_back().unwrap_or("it says nothing").trim()
    }
}

/// Calls a command and waits for its end.
///
/// # Errors
/// When it cannot be started, says too much or takes too long; it is ended then.
pub(super) fn call(
    settings: &Settings,
    name: &str,
    args: &[String],
    stdin: Option<&str>,
    limit: Duration,
) -> io::Result<Said> {
    let program = settings
        .bin
        .as_ref()
        .map_or_else(|| name.into(), |bin| bin.join(name));
    let mut command = Command::new(program);
    command.args(args).env_clear();
    for kept in ["PATH", "HOME", "SLURM_CONF", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    if let Some(conf) = &settings.conf {
        command.env("SLURM_CONF", conf);
    }
    // Times are read as UTC, words as they stand in the manuals.
    command.env("TZ", "UTC").env("LC_ALL", "C").process_group(0);
    command.stdin(match stdin {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    });
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let written = stdin.map(|text| {
        let (pipe, text) = (child.stdin.take(), text.to_owned());
        thread::spawn(move || {
            // A command that has ended early has said why.
            let _ = pipe.map(|mut pipe| pipe.write_all(text.as_bytes()));
        })
    });
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let ended = wait(&mut child, limit);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let code = ended?;
    let text = |reader: thread::JoinHandle<io::Result<Vec<u8>>>| {
        let bytes = reader
            .join()
            .map_err(|_| io::Error::other("its output"))??;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let said = Said {
        code,
        stdout: text(stdout)?,
        stderr: text(stderr)?,
    };
    if let Some(written) = written {
        let _ = written.join();
    }
    Ok(said)
}

fn read(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            pipe.take(MOST_SAID + 1).read_to_end(&mut bytes)?;
        }
        match bytes.len() as u64 > MOST_SAID {
            true => Err(io::Error::other("a Slurm command writes too much")),
            false => Ok(bytes),
        }
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<i32>> {
    let mut waited = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if waited >= limit {
            let why = format!("it takes more than {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        thread::sleep(LOOK);
        waited += LOOK;
    }
}
