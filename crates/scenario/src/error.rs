//! What can be wrong with a scenario.

use gridrig_protocol::resources::ResourceError;

/// Where a mistake stands.
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
pub enum Place {
    /// In the scenario file.
    #[strum(to_string = "{file}:{line}:{column}")]
    File {
        /// The file as it was given.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// In an override, `KEY=VALUE` as it was given.
    #[strum(to_string = "--set {0}")]
    Set(String),
}

/// What reads a scenario gives, or why it cannot.
pub(crate) type Result<T, E = ScenarioError> = std::result::Result<T, E>;

/// Why there is no scenario. Each is a mistake of input: the command ends
/// with exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{file}: cannot read the scenario")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The text is no TOML.
    #[error("{at}: {problem}")]
    Syntax {
        /// Where.
        at: Place,
        /// What the TOML reader says.
        problem: String,
    },
    /// A key that means nothing.
    #[error("{at}: unknown key `{key}`{hint}")]
    UnknownKey {
        /// Where.
        at: Place,
        /// The key as written.
        key: String,
        /// The key that was probably meant, or those that may be.
        hint: String,
    },
    /// A key that has to be there.
    #[error("{at}: missing key `{key}`: expected {expected}")]
    MissingKey {
        /// Where it is missing.
        at: Place,
        /// The whole path of the key.
        key: String,
        /// What was expected.
        expected: String,
    },
    /// A value that is not what its key takes.
    #[error("{at}: field {field} = {value}: expected {expected}")]
    Value {
        /// Where.
        at: Place,
        /// The whole path of its key, as `--set` takes it.
        field: String,
        /// The value as written.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// A cluster file that cannot be used.
    #[error("{at}: field {field} = {value}: expected a cluster file")]
    Resources {
        /// Where.
        at: Place,
        /// The whole path of its key.
        field: String,
        /// The value as written.
        value: String,
        /// What is wrong with the file.
        #[source]
        source: Box<ResourceError>,
    },
    /// An override that is no `KEY=VALUE`, or whose path leads nowhere.
    #[error("--set {set}: {problem}")]
    Set {
        /// The override as given.
        set: String,
        /// What is wrong and what was expected.
        problem: String,
    },
}
