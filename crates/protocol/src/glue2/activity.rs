//! One job as GLUE 2.0 describes it.

use super::NAMESPACE;
use crate::xml::Element;

/// A job (GFD.147 section 6.9), as A-REX tells of it. Instants are in the form
/// of [`instant`](super::instant), lengths in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Unique.
    pub id: String,
    /// Its id at the endpoint.
    pub local_id: String,
    /// Its number in the LRMS, once it has one.
    pub manager_id: Option<String>,
    /// The name its owner gave it.
    pub name: Option<String>,
    /// States in the words of several models, as `arcrest:RUNNING`.
    pub states: Vec<String>,
    /// Exit code, once it has ended by itself.
    pub exit_code: Option<i32>,
    /// Whose it is.
    pub owner: String,
    /// What went wrong.
    pub errors: Vec<String>,
    /// Processors.
    pub slots: u32,
    /// The owner's estimate.
    pub requested_wall_s: Option<u64>,
    /// How long it has run, in time of the rig.
    pub used_wall_s: Option<u64>,
    /// Names of its standard streams in its session directory.
    pub stdin: Option<String>,
    /// Standard output.
    pub stdout: Option<String>,
    /// Standard error.
    pub stderr: Option<String>,
    /// Its queue.
    pub queue: String,
    /// Nodes that it runs or ran on.
    pub nodes: Vec<String>,
    /// When it came.
    pub submitted: Option<String>,
    /// When it began.
    pub started: Option<String>,
    /// When it was over.
    pub ended: Option<String>,
    /// When its credentials run out.
    pub proxy_expires: Option<String>,
    /// The share it belongs to.
    pub share_id: String,
    /// When this was written.
    pub created: String,
}

impl Activity {
    /// The `ComputingActivity`.
    #[must_use]
    pub fn element(&self) -> Element {
        Element::new(NAMESPACE, "ComputingActivity")
            .with_attribute("BaseType", "Activity")
            .with_attribute("CreationTime", self.created.clone())
            .with_attribute("Validity", "60")
            .field("ID", &self.id)
            .optional("Name", self.name.as_ref())
            .field("OtherInfo", "SubmittedVia=org.nordugrid.arcrest")
            .field("Type", "single")
            .field("IDFromEndpoint", format!("urn:idfe:{}", self.local_id))
            .optional("LocalIDFromManager", self.manager_id.as_ref())
            .field("JobDescription", "emies:adl")
            .fields("State", &self.states)
            .optional("ExitCode", self.exit_code)
            .fields("Error", &self.errors)
            .field("Owner", &self.owner)
            .optional("RequestedTotalWallTime", self.requested_wall_s)
            .field("RequestedSlots", self.slots)
            .optional("StdIn", self.stdin.as_ref())
            .optional("StdOut", self.stdout.as_ref())
            .optional("StdErr", self.stderr.as_ref())
            .fields("ExecutionNode", &self.nodes)
            .field("Queue", &self.queue)
            .optional("UsedTotalWallTime", self.used_wall_s)
            .optional("SubmissionTime", self.submitted.as_ref())
            .optional("ComputingManagerSubmissionTime", self.submitted.as_ref())
            .optional("StartTime", self.started.as_ref())
            .optional("ComputingManagerEndTime", self.ended.as_ref())
            .optional("EndTime", self.ended.as_ref())
            .optional("ProxyExpirationTime", self.proxy_expires.as_ref())
            .with(Element::new(NAMESPACE, "Associations").field("ComputingShareID", &self.share_id))
    }
}
