//! OGSA-BES 1.0: `CreateActivity` with a JSDL document.

use super::{Answer, Fate, Names, Outlet, Result, SubmitRequest, shown};
use crate::describe::Form;
use gridrig_core::ids::JobId;
use gridrig_core::job::Reason;
use gridrig_core::message::{EndState, JobEnd};
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::bes::{FACTORY, Operation};
use gridrig_protocol::client::Client;
use gridrig_protocol::description::DescriptionError;
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::{ADDRESSING, Element, SOAP_1_1};

/// Submits to a service with the factory port of BES.
#[derive(Clone, Debug)]
pub struct Bes {
    client: Client,
    url: String,
    names: Option<Names<Element>>,
}

impl Bes {
    /// The service at this endpoint, such as
    /// `http://127.0.0.1:8101/services/bes`.
    pub fn new(client: Client, url: &str) -> Self {
        Bes {
            client,
            url: url.to_owned(),
            names: None,
        }
    }

    /// The same that can be asked how its jobs stand.
    #[must_use]
    pub fn following(self) -> Self {
        Bes {
            names: Some(Names::default()),
            ..self
        }
    }

    async fn create(&self, request: &SubmitRequest) -> Result<()> {
        let message = message(request).map_err(|why| TransportError::unsaid(&self.url, why))?;
        let answer = self.ask(message, Operation::CreateActivity).await?;
        let identifier = answer.child(FACTORY, "ActivityIdentifier");
        let identifier = identifier.ok_or_else(|| self.refused(200, &texts(&answer)))?;
        if let Some(names) = &self.names {
            names.lock().insert(request.job.id, identifier.clone());
        }
        Ok(())
    }

    fn refused(&self, status: u16, why: &str) -> TransportError {
        TransportError::declined(&self.url, status, shown(why))
    }

    /// What the operation answers, unless that is a fault.
    async fn ask(&self, message: String, operation: Operation) -> Result<Element> {
        let media_type = Version::Soap11.media_type();
        let request = self.client.post_text(&self.url, media_type, message);
        let (status, text) = request.await.map_err(TransportError::from)?;
        let Ok(envelope) = Envelope::read(text.as_bytes(), Version::Soap11) else {
            return Err(self.refused(status, &format!("no SOAP message: {}", shown(&text))));
        };
        let body = envelope.body;
        match body.is(FACTORY, &operation.response()) {
            true => Ok(body),
            false => Err(self.refused(status, &texts(&body))),
        }
    }

    async fn look(&self, job: JobId) -> Result<Option<JobEnd>> {
        let names = self.names.as_ref();
        let Some(identifier) = names.and_then(|names| names.lock().get(&job).cloned()) else {
            return Ok(None);
        };
        let operation = Operation::GetActivityStatuses;
        let body = Element::new(FACTORY, operation.name()).with(identifier);
        let (version, header) = (Version::Soap11, Vec::new());
        let message = Envelope {
            version,
            header,
            body,
        };
        let answer = self.ask(message.write(), operation).await?;
        let of_one = answer.child(FACTORY, "Response");
        let status = of_one.and_then(|it| it.child(FACTORY, "ActivityStatus"));
        let status = status.ok_or_else(|| self.refused(200, &texts(&answer)))?;
        let state = match status.attribute("", "state") {
            Some("Finished") => EndState::Completed,
            // As the text of GFD.108 has it, and as its schema.
            Some("Terminated" | "Cancelled") => EndState::Cancelled,
            Some("Failed") => EndState::Failed(Reason::LrmsFailed),
            _ => return Ok(None),
        };
        Ok(Some(JobEnd::without_run(job, state)))
    }
}

/// A message that is sent again under its name creates no second activity
/// where the service knows WS-Addressing.
fn message(request: &SubmitRequest) -> Result<String, DescriptionError> {
    let document = Form::Jsdl.describe(&request.job, &request.tag)?;
    let definition = document
        .split_once("?>")
        .map_or(document.as_str(), |(_, rest)| rest);
    let tag = &request.tag;
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<e:Envelope xmlns:e=\"{SOAP_1_1}\">\
         <e:Header><a:MessageID xmlns:a=\"{ADDRESSING}\">urn:gridrig:job:{tag}</a:MessageID>\
         <a:Action xmlns:a=\"{ADDRESSING}\">{FACTORY}/BESFactoryPortType/CreateActivity</a:Action>\
         </e:Header><e:Body><CreateActivity xmlns=\"{FACTORY}\"><ActivityDocument>{definition}\
         </ActivityDocument></CreateActivity></e:Body></e:Envelope>\n"
    ))
}

/// All texts of an element, in order.
fn texts(element: &Element) -> String {
    let below: String = element.elements().map(texts).collect();
    format!("{} {below}", element.text())
}

impl Outlet for Bes {
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
