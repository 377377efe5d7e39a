//! ARC REST 1.0: a job described in ADL.

use super::{Answer, Fate, Names, Outlet, Result, SubmitRequest, shown};
use crate::describe::Form;
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::xml::Element;

/// Submits to a computing element that speaks ARC REST, over plain HTTP and
/// without a delegation.
#[derive(Clone, Debug)]
pub struct ArcRest {
    client: Client,
    url: String,
    names: Option<Names<String>>,
}

impl ArcRest {
    /// The computing element at this URL, such as
    /// `http://127.0.0.1:8101/arex`.
    pub fn new(client: Client, url: &str) -> Self {
        ArcRest {
            client,
            url: url.trim_end_matches('/').to_owned(),
            names: None,
        }
    }

    /// The same that can be asked how its jobs stand.
    #[must_use]
    pub fn following(self) -> Self {
        ArcRest {
            names: Some(Names::default()),
            ..self
        }
    }

    fn refused(&self, status: u16, why: &str) -> TransportError {
        TransportError::declined(&self.url, status, shown(why))
    }

    async fn create(&self, request: &SubmitRequest) -> Result<()> {
        let text = Form::Adl.describe(&request.job, &request.tag);
        let text = text.map_err(|why| TransportError::unsaid(&self.url, why))?;
        let job = self.about_one("new", text, 201).await?;
        if let Some(names) = &self.names {
            names.lock().insert(request.job.id, part(&job, "id"));
        }
        Ok(())
    }

    /// What an action answers about one job, where that has the code of success.
    async fn about_one(&self, action: &str, text: String, success: u16) -> Result<Element> {
        let url = format!("{}/rest/1.0/jobs?action={action}", self.url);
        let request = self.client.post_text(&url, "application/xml", text);
        let (status, text) = request.await.map_err(TransportError::from)?;
        let root = Element::parse(text.as_bytes()).ok();
        let root = root.filter(|root| status < 300 && root.name == "jobs");
        let mut parts = root.iter().flat_map(Element::elements);
        let job = parts.find(|element| element.name == "job").cloned();
        let job = job.ok_or_else(|| self.refused(status, &text))?;
        match part(&job, "status-code").parse() {
            Ok(code) if code == success => Ok(job),
            Ok(code) => Err(self.refused(code, &part(&job, "reason"))),
            Err(_) => Err(self.refused(status, &text)),
        }
    }

    async fn look(&self, job: JobId) -> Result<Option<JobEnd>> {
        let names = self.names.as_ref();
        let Some(name) = names.and_then(|names| names.lock().get(&job).cloned()) else {
            return Ok(None);
        };
        let asked = Element::new("", "jobs").with(Element::new("", "job").field("id", name));
        let found = self.about_one("status", asked.to_document(), 200).await?;
        let state = match part(&found, "state").as_str() {
            "FINISHED" => EndState::Completed,
            "KILLED" => EndState::Cancelled,
            "FAILED" => EndState::Failed(Reason::LrmsFailed),
            "WIPED" => EndState::LOST,
            _ => return Ok(None),
        };
        Ok(Some(JobEnd::without_run(job, state)))
    }
}

/// The text of a part of what is said of a job.
fn part(job: &Element, name: &str) -> String {
    let found = job.elements().find(|element| element.name == name);
    let text = found.map(Element::text).unwrap_or_default();
    text.trim().to_owned()
}

impl Outlet for ArcRest {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        Box::pin(self.create(request))
    }

    fn follows(&self) -> bool {
        self.names.is_some()
    }

    fn stands(&self, job: JobId) -> Fate<'_> {
        Box::pin(self.look(job))
    }
}
