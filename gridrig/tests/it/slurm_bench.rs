//! An emulated cluster with the commands of Slurm, for tests.

use crate::command::{self, Service};
use crate::patience::Patience;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A cluster of `nodes` nodes, served by a process of its own.
pub struct Emulated {
    pub dir: tempfile::TempDir,
    service: Service,
}

/// What one call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Said {
            code: output.status.code().unwrap_or(-1),
            stdout: command::stdout(&output),
            stderr: command::stderr(&output),
        }
    }
}

impl Emulated {
    /// Starts one with `nodes` nodes of `cpus` processors and 1000 MiB, and
    /// these words more.
    pub fn start(nodes: u32, cpus: u32, words: &[&str]) -> Self {
        Self::start_with("", nodes, cpus, words)
    }

    /// The same, of which each node has these generic resources.
    pub fn start_with(generic: &str, nodes: u32, cpus: u32, words: &[&str]) -> Self {
        let generic = match generic {
            "" => String::new(),
            _ => format!("<GenericResources>{generic}</GenericResources>"),
        };
        let dir = tempfile::tempdir().unwrap();
        let xml = format!(
            "<EmulatedResources xmlns=\"http://cs.fiu.edu/emulator/resources\"><Resource>\
             <Count>{nodes}</Count><Architecture>x86_64</Architecture><CPUCount>{cpus}</CPUCount>\
             <OS>Linux</OS><PhysicalMemory>1000</PhysicalMemory>{generic}</Resource></EmulatedResources>"
        );
        let file = dir.path().join("cluster.xml");
        std::fs::write(&file, xml).unwrap();
        let (file, bin) = (file.display().to_string(), dir.path().join("bin"));
        let bin = bin.display().to_string();
        let mut all = vec!["emulator", "--name", "test", "--resources", &file];
        all.extend(["--discipline", "fcfs", "--slurm-bin", &bin]);
        all.extend(words);
        let service = command::start(&all);
        Emulated { dir, service }
    }

    pub fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// Where it serves over HTTP.
    pub fn url(&self) -> &str {
        &self.service.url
    }

    /// Asks its process to end, as Ctrl-C does.
    pub fn interrupt(&self) {
        let id = self.service.child.id().to_string();
        let kill = Command::new("kill").args(["-INT", &id]).status();
        assert!(kill.unwrap().success());
    }

    /// One of its commands.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin().join(name));
        command.stdin(Stdio::null()).current_dir(self.dir.path());
        command
    }

    /// Runs one of its commands.
    pub fn run(&self, name: &str, args: &[&str]) -> Said {
        self.command(name).args(args).output().unwrap().into()
    }

    /// Runs one that has to work; answers its output.
    pub fn ok(&self, name: &str, args: &[&str]) -> String {
        let said = self.run(name, args);
        assert_eq!(
            (said.code, said.stderr.as_str()),
            (0, ""),
            "{name} {args:?}"
        );
        said.stdout
    }

    /// Waits until `squeue -t all -h -o FORMAT` says this of a job.
    pub fn wait_for(&self, job: &str, format: &str, wanted: &str) {
        let patience = Patience::seconds(180);
        loop {
            let said = self.run("squeue", &["-h", "-t", "all", "-j", job, "-o", format]);
            if said.stdout.trim_end() == wanted {
                return;
            }
            patience.wait(format_args!("{said:?}, not {wanted}"));
        }
    }
}
