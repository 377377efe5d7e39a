//! ARC REST 1.0: a job described in ADL.

use super::{Answer, Outlet, Result, SubmitRequest, shown};
use crate::describe::Form;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::client::Client;
use gridrig_protocol::xml::Element;

/// Submits to a computing element that speaks ARC REST, over plain HTTP and
/// without a delegation.
#[derive(Clone, Debug)]
pub struct ArcRest {
    client: Client,
    url: String,
}

impl ArcRest {
    /// The computing element at this URL, such as
    /// `http://127.0.0.1:8101/arex`.
    pub fn new(client: Client, url: &str) -> Self {
        let url = url.trim_end_matches('/').to_owned();
        ArcRest { client, url }
    }

    async fn create(&self, request: &SubmitRequest) -> Result<()> {
        let url = format!("{}/rest/1.0/jobs?action=new", self.url);
        let text = Form::Adl.describe(&request.job, &request.tag);
        let text = text.map_err(|why| TransportError::unsaid(&self.url, why))?;
        let request = self.client.post_text(&url, "application/xml", text);
        let (status, text) = request.await.map_err(TransportError::from)?;
        let refused = |status, why: &str| TransportError::declined(&self.url, status, shown(why));
        let root = Element::parse(text.as_bytes()).ok();
        let root = root.filter(|root| status < 300 && root.name == "jobs");
        let job = root
            .as_ref()
            .and_then(|root| root.elements().find(|element| element.name == "job"))
            .ok_or_else(|| refused(status, &text))?;
        let part = |name: &str| {
            let found = job.elements().find(|element| element.name == name);
            found.map(Element::text).unwrap_or_default()
        };
        match part("status-code").trim().parse() {
            Ok(201) => Ok(()),
            Ok(code) => Err(refused(code, &part("reason"))),
            Err(_) => Err(refused(status, &text)),
        }
    }
}

impl Outlet for ArcRest {
    fn submit<'a>(&'a self, request: &'a SubmitRequest) -> Answer<'a> {
        Box::pin(self.create(request))
    }
}
