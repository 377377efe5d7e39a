//! A broker under test that is somebody else's program: what a scenario says
//! of it, and the places that its commands have to be filled in.

mod outlet;
mod template;

pub use outlet::{LaGridText, OutletText, words};
pub use template::{Template, TemplateError};

use gridrig_core::grid::Grid;
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::policy::PolicySpec;
use gridrig_core::time::SimDuration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The policy of brokers that were given none to choose from.
pub const THE_ONLY_POLICY: &str = "external";

/// What of a scenario belongs to brokers that are not ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// The brokers by their domains; empty where all are ours.
    pub brokers: BTreeMap<DomainId, ExternalBroker>,
    /// What is compared: policies by the brokers' own names, at least one.
    pub policies: Vec<String>,
    /// The one of them that is run now.
    pub policy: String,
    /// The directory of the scenario.
    pub directory: PathBuf,
}

/// How jobs get to a broker that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submit {
    /// By a command for each.
    Command(Vec<String>),
    /// By an interface of its own, such as `arc:URL`.
    Outlet(String),
}

/// A broker that is not ours. Words and texts have places such as `{dir}`;
/// commands are lists of words, and no shell has a part in them. Lengths are
/// of wall time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalBroker {
    /// Files that are written before anything else, by name.
    pub files: BTreeMap<String, String>,
    /// Commands that set it up, one after the other.
    pub start: Vec<Vec<String>>,
    /// A program that runs as long as the run does.
    pub serve: Option<Vec<String>>,
    /// A command that ends well once it is ready for jobs.
    pub ready: Option<Vec<String>>,
    /// How jobs are submitted.
    pub submit: Submit,
    /// What a submission that worked has said.
    pub expect: Option<String>,
    /// Commands that clean up, one after the other.
    pub stop: Vec<Vec<String>>,
    /// How long a submission may take.
    pub timeout: SimDuration,
    /// Submissions that run at a time.
    pub at_once: usize,
    /// How long all of `start` and `ready` may take, and all of `stop`.
    pub start_timeout: SimDuration,
    /// Silence after which jobs that were taken and are in no LRMS count as
    /// lost.
    pub lost_after: SimDuration,
}

/// An interface of a cluster that a place stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Access {
    /// Its base URL.
    #[strum(serialize = "url")]
    Native,
    /// Its ARC REST interface.
    Arc,
    /// Its OGSA-BES interface.
    Bes,
    /// The directory of its Slurm commands.
    Slurm,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 4] = [Access::Native, Access::Arc, Access::Bes, Access::Slurm];

    /// What it is called behind the name of a cluster.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The place that stands for an interface of a cluster.
pub fn place(cluster: &str, access: Access) -> String {
    format!("{cluster}.{}", access.name())
}

/// Places that stand for something of a job.
pub const OF_A_JOB: [&str; 5] = ["tag", "job", "processors", "run_time_s", "requested_time_s"];

/// Places that stand for a file with a description of a job.
pub const DESCRIPTIONS: [&str; 7] = ["jsdl", "xrsl", "adl", "rsl", "jdl", "script", "template"];

/// All places that stand for something of a job.
pub fn places_of_a_job() -> BTreeSet<String> {
    let all = OF_A_JOB.into_iter().chain(DESCRIPTIONS);
    all.map(str::to_owned).collect()
}

/// Places that stand for something of the run.
pub const OF_THE_RUN: [&str; 4] = ["clusters", "dir", "policy", "scenario"];

/// All places of a domain's broker, those of a job apart.
pub fn places(grid: &Grid, domain: DomainId) -> BTreeSet<String> {
    let of_run = OF_THE_RUN.into_iter().map(str::to_owned);
    let clusters = grid.domains[domain.index()].clusters.iter();
    let of_clusters = clusters.flat_map(|id| {
        let name = &grid.clusters[id.index()].name;
        Access::ALL.map(|access| place(name, access))
    });
    of_run.chain(of_clusters).collect()
}

impl ExternalBroker {
    /// Every text with places, and whether those of a job may be in it.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &String, bool)> {
        fn of<'a>(
            key: &'static str,
            words: impl IntoIterator<Item = &'a String> + 'a,
            job: bool,
        ) -> impl Iterator<Item = (&'static str, &'a String, bool)> {
            words.into_iter().map(move |word| (key, word, job))
        }
        let (submit, outlet) = match &self.submit {
            Submit::Command(words) => (Some(words), None),
            Submit::Outlet(text) => (None, Some(text)),
        };
        of("files", self.files.values(), false)
            .chain(of("start", self.start.iter().flatten(), false))
            .chain(of("serve", self.serve.iter().flatten(), false))
            .chain(of("ready", self.ready.iter().flatten(), false))
            .chain(of("submit", submit.into_iter().flatten(), true))
            .chain(of("outlet", outlet, false))
            .chain(of("stop", self.stop.iter().flatten(), false))
    }

    /// The templates in it by key, each read.
    ///
    /// # Errors
    /// The key of a text that is none, and why.
    pub fn templates(
        &self,
        fixed: &BTreeSet<String>,
    ) -> Result<Vec<Template>, (&'static str, TemplateError)> {
        let with_job = &places_of_a_job() | fixed;
        let read = |(key, text, job): (&'static str, &String, bool)| {
            let known = if job { &with_job } else { fixed };
            Template::read(text, known).map_err(|error| (key, error))
        };
        self.texts().map(read).collect()
    }

    /// The interfaces of clusters that it uses.
    pub fn accesses(&self, grid: &Grid, domain: DomainId) -> BTreeSet<(ClusterId, Access)> {
        let templates = self.templates(&places(grid, domain)).unwrap_or_default();
        let used: BTreeSet<&str> = templates.iter().flat_map(Template::places).collect();
        let clusters = &grid.domains[domain.index()].clusters;
        // A file with all clusters names every interface that they have.
        let all = clusters.iter().flat_map(|id| {
            let name = &grid.clusters[id.index()].name;
            Access::ALL.map(|access| (*id, access, place(name, access)))
        });
        all.filter(|(_, _, place)| used.contains(place.as_str()))
            .map(|(id, access, _)| (id, access))
            .collect()
    }

    /// Whether a policy is part of what it does.
    pub fn uses_policy(&self, grid: &Grid, domain: DomainId) -> bool {
        let templates = self.templates(&places(grid, domain)).unwrap_or_default();
        templates
            .iter()
            .flat_map(Template::places)
            .any(|place| place == "policy")
    }

    /// Whether jobs of several components can be told it: in our own interface
    /// alone.
    pub fn takes_components(&self) -> bool {
        matches!(&self.submit, Submit::Outlet(text) if text.starts_with("json:") || text.starts_with("http:"))
    }

    /// Whether its outlet is one, once its places are filled in.
    pub(super) fn check_outlet(&self) -> Result<(), String> {
        match &self.submit {
            Submit::Command(_) => Ok(()),
            Submit::Outlet(text) => {
                // A place at the beginning of a URL stands for one.
                let filled = match text.split_once(':') {
                    Some((kind, place)) if place.starts_with('{') => format!("{kind}:http://x"),
                    _ => text.clone(),
                };
                match OutletText::read(&filled) {
                    Ok(OutletText::Command(_)) | Err(_) => {
                        Err("json:URL, bes:URL, arc:URL, lagrid:URL#INITIATOR, lagrid-soap12:URL#INITIATOR, lagrid-json:URL#INITIATOR (each http://) or slurm:DIR".to_owned())
                    }
                    Ok(_) => Ok(()),
                }
            }
        }
    }
}

/// What is run on a replication: a policy of ours or of the brokers' own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The policy of ours; `None` of the brokers' own, or without a broker.
    pub ours: Option<PolicySpec>,
    /// The name of the policy; `None` without a broker.
    pub name: Option<String>,
}

/// A policy's name as part of a path: what it has besides letters, digits and
/// `.-_` becomes a `-`.
pub fn as_directory(policy: &str) -> String {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name: String = policy
        .chars()
        .map(|c| if good(c) { c } else { '-' })
        .take(100)
        .collect();
    match name.trim_matches('.') {
        "" => "policy".to_owned(),
        _ => name,
    }
}
