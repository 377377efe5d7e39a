//! How a command ends: one exit code for each kind of bad news (design 7).

use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The user must change something: usage or input. Exit code 2.
    Input(anyhow::Error),
    /// The run failed, its audit did, or it is not valid. Exit code 1.
    Run(anyhow::Error),
    /// A threshold set by the user was missed; said already. Exit code 99.
    Threshold,
    /// Ctrl-C; what was written is valid and marked partial. Exit code 130.
    Interrupted,
}

/// What a command cannot read or make sense of, its user has to change.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Input(error)
    }
}

impl Failure {
    /// A mistake of the user's.
    pub fn input(error: impl Into<anyhow::Error>) -> Self {
        Failure::Input(error.into())
    }

    /// A failure of the run.
    pub fn run(error: impl Into<anyhow::Error>) -> Self {
        Failure::Run(error.into())
    }

    /// What went wrong, for who has no stderr.
    pub fn why(&self) -> String {
        match self {
            Failure::Input(error) | Failure::Run(error) => format!("{error:#}"),
            Failure::Threshold | Failure::Interrupted => String::new(),
        }
    }

    /// Says on stderr what has not been said, and answers the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Input(error) => {
                eprintln!("error: {error:#}");
                ExitCode::from(2)
            }
            Failure::Run(error) => {
                eprintln!("error: {error:#}");
                ExitCode::from(1)
            }
            Failure::Threshold => ExitCode::from(99),
            Failure::Interrupted => {
                eprintln!("interrupted: what was written, if anything, is marked partial");
                ExitCode::from(130)
            }
        }
    }
}
