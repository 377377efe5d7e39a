//! What is not ours ends with the runner, also where that is killed and can end nothing.

use gridrig_replayer::outlet::{end_group, plain_program};
use rustix::process::{Pid, test_kill_process_group};
use std::io;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use tokio::process::{ChildStdin, Command};

/// How long a program has to end when it is asked to.
pub(super) const GENTLY: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Starts a process of ours that runs [`guard`] over this process group. It acts when what
/// is answered is dropped, however this process ends.
///
/// # Errors
/// When it cannot be started.
pub(super) fn guarded(group: Option<u32>) -> io::Result<ChildStdin> {
    let group = group.ok_or_else(|| io::Error::other("it has ended already"))?;
    let mut command = Command::from(plain_program(std::env::current_exe()?));
    command
        .args(["guard", &group.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends the runner and its group is not to end it.
        .process_group(0);
    let pipe = command.spawn()?.stdin.take();
    pipe.ok_or_else(|| io::Error::other("no pipe to the process that guards it"))
}

/// Waits for the end of the standard input, a pipe whose other end only the runner has.
/// Then asks what is left of the process group to end, and ends it if it does not.
///
/// # Errors
/// When the pipe could not be read to its end; the group is ended all the same.
pub fn guard(group: u32) -> io::Result<()> {
    let waited_for = io::copy(&mut io::stdin().lock(), &mut io::sink());
    let pid = i32::try_from(group).ok().and_then(Pid::from_raw);
    let is_there = || pid.is_some_and(|pid| test_kill_process_group(pid).is_ok());
    end_group(Some(group), true);
    let mut waited = Duration::ZERO;
    while is_there() {
        if waited >= GENTLY {
            end_group(Some(group), false);
            break;
        }
        thread::sleep(LOOK_AGAIN);
        waited += LOOK_AGAIN;
    }
    waited_for.map(drop)
}
