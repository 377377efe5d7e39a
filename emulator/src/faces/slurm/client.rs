//! The caller's side of the commands: blocking, without a runtime, a logger
//! or an argument parser, so that a call costs a millisecond.
//!
//! A command finds its cluster by where it was called from: the socket lies
//! beside the link in the directory of the commands, so that an empty
//! environment is enough.

mod environment;
mod srun;

use super::COMMANDS;
use super::batch::{self, Refusal};
use super::options::Parsed;
use super::wire::{Call, Head, JOB_NODES, answer_lengths};
use super::{site::VERSION_LINE, socket_path};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Does what a command of Slurm does, if that is what this program was called
/// as; `None` if it was not.
pub fn dispatch(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter();
    let called = PathBuf::from(args.next()?);
    let name = called.file_name()?.to_str()?;
    let name = *COMMANDS.iter().find(|command| **command == name)?;
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let code = match name {
        "srun" => srun::srun(&called.to_string_lossy(), &args),
        _ => call(name, &args, &called),
    };
    let code = code.unwrap_or_else(|Refusal(code, said)| {
        eprint(&said);
        code
    });
    Some(ExitCode::from(code))
}

fn call(name: &str, args: &[String], called: &Path) -> Result<u8, Refusal> {
    let cwd = std::env::current_dir().unwrap_or_default();
    let shown = called.to_string_lossy();
    let mut request = Call {
        command: name,
        called: &shown,
        args,
        cwd: &cwd.to_string_lossy(),
        env: &[],
    };
    // `show hostnames` inside a script means the job's own.
    let nodes = match name {
        "scontrol" => std::env::var(JOB_NODES).ok(),
        _ => None,
    };
    let nodes = nodes.as_deref().map(|nodes| [(JOB_NODES, nodes)]);
    let mut environment = Vec::new();
    let variables: Vec<(&str, &str)>;
    let mut script = None;
    match &nodes {
        Some(nodes) => request.env = nodes,
        None if name == "sbatch" => {
            let line = batch::command_line(&shown, args)?;
            let mut told = ["version", "help", "usage"].iter();
            if !told.any(|told| line.has(told)) {
                environment = environment::block();
                script = read_script(&line)?;
            }
            variables = environment::variables(&environment);
            request.env = &variables;
        }
        None => {}
    }
    let Some(socket) = find_socket(called) else {
        let why = "this command belongs to no emulated cluster";
        return Ok(no_cluster(name, why));
    };
    Ok(match exchange(&socket, &request, script.as_deref()) {
        Ok(code) => code,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 1,
        Err(error) => no_cluster(name, &error.to_string()),
    })
}

/// Slurm's words where its controller does not answer, and why.
fn no_cluster(name: &str, why: &str) -> u8 {
    let text = match name {
        "sbatch" => {
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
        }
        "squeue" | "scontrol" => {
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
        }
        "sinfo" => "slurm_load_partitions: Unable to contact slurm controller (connect failure)",
        _ => "error: Unable to contact slurm controller (connect failure)",
    };
    eprint(&format!("{text}\n{name}: gridrig: {why}\n"));
    1
}

/// The batch script that `sbatch` sends along; none with `--wrap`.
fn read_script(line: &Parsed) -> Result<Option<Vec<u8>>, Refusal> {
    let path = line.rest.first();
    if line.has("wrap") {
        let what = "Script arguments not permitted with --wrap option";
        return match path {
            Some(_) => Err(Refusal::error(1, what)),
            None => Ok(None),
        };
    }
    let script = match path {
        None => read_at_most(&mut io::stdin().lock()),
        Some(path) => std::fs::File::open(path).and_then(|mut file| read_at_most(&mut file)),
    };
    let path = path.map_or("stdin", String::as_str);
    let refuse = |_| Refusal::error(1, &format!("Unable to open file {path}"));
    let script = script.map_err(refuse)?;
    if script.len() > super::wire::MOST_SCRIPT as usize {
        let what = "Pathname of a file, directory or other parameter too long";
        return Err(Refusal::submission(what));
    }
    Ok(Some(script))
}

/// The room that most scripts and environments need: one size, since the
/// allocator sets up another page for each.
const ROOM: usize = 4 << 10;

fn read_at_most(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(ROOM);
    let most = u64::from(super::wire::MOST_SCRIPT);
    from.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The socket beside the command, or beside what a link to the command
/// points at.
fn find_socket(called: &Path) -> Option<PathBuf> {
    let mut path = match called.components().count() {
        1 if !called.is_absolute() && !called.as_os_str().as_encoded_bytes().contains(&b'/') => {
            in_search_path(called)?
        }
        _ => called.to_owned(),
    };
    // As many links as the kernel follows would be 40.
    for _ in 0..40 {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.unwrap_or(Path::new(".")).to_owned();
        let socket = socket_path(&dir);
        if socket.exists() {
            return Some(shorter(socket));
        }
        path = dir.join(std::fs::read_link(&path).ok()?);
    }
    None
}

/// A path through links may be longer than a socket's address allows.
fn shorter(socket: PathBuf) -> PathBuf {
    match socket.as_os_str().len() < 100 {
        true => socket,
        false => socket.canonicalize().unwrap_or(socket),
    }
}

fn in_search_path(name: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|dir| dir.join(name));
    let mut found = found.filter(|file| file.is_file());
    found.next()
}

fn exchange(socket: &Path, request: &Call<'_>, script: Option<&[u8]>) -> io::Result<u8> {
    let request = request.encode(script)?;
    let mut stream = UnixStream::connect(socket)?;
    // Scripts and environments are for the user's own emulator.
    let (server, own) = (socket_peercred(&stream)?.uid, geteuid());
    if server != own {
        let (server, own) = (server.as_raw(), own.as_raw());
        let why = format!("{}: it is of user {server}, not of {own}", socket.display());
        return Err(io::Error::other(why));
    }
    stream.write_all(&request)?;
    let mut head = Head::default();
    stream.read_exact(&mut head)?;
    let (code, stdout, stderr) = answer_lengths(head);
    let mut text = vec![0; stdout];
    stream.read_exact(&mut text)?;
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    let mut text = vec![0; stderr];
    stream.read_exact(&mut text)?;
    io::stderr().write_all(&text)?;
    Ok(code)
}

/// Says something on stderr; nobody may be there to hear it.
fn eprint(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Says the version, as every command does.
fn version() -> u8 {
    match io::stdout().write_all(VERSION_LINE.as_bytes()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}
