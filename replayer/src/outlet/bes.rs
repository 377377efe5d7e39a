//! OGSA-BES 1.0: `CreateActivity` with a JSDL document.

use super::{Answer, Outlet, Result, SubmitRequest, shown};
use crate::describe::Form;
use gridrig_drivers::real_time::TransportError;
use gridrig_protocol::bes::FACTORY;
use gridrig_protocol::client::Client;
use gridrig_protocol::description::DescriptionError;
use gridrig_protocol::soap::{Envelope, Version};
use gridrig_protocol::xml::{ADDRESSING, Element, SOAP_1_1};

/// Submits to a service with the factory port of BES.
#[derive(Clone, Debug)]
pub struct Bes {
    client: Client,
    url: String,
}

impl Bes {
    /// The service at this endpoint, such as
    /// `http://127.0.0.1:8101/services/bes`.
    pub fn new(client: Client, url: &str) -> Self {
        Bes {
            client,
            url: url.to_owned(),
        }
    }

    async fn create(&self, request: &SubmitRequest) -> Result<()> {
        let media_type = Version::Soap11.media_type();
        let unsaid = |why| TransportError::unsaid(&self.url, why);
        let message = message(request).map_err(unsaid)?;
        let request = self.client.post_text(&self.url, media_type, message);
        let (status, text) = request.await.map_err(TransportError::from)?;
        let refused = |why: String| TransportError::declined(&self.url, status, why);
        let Ok(envelope) = Envelope::read(text.as_bytes(), Version::Soap11) else {
            return Err(refused(format!("no SOAP message: {}", shown(&text))));
        };
        let body = &envelope.body;
        let taken = body.is(FACTORY, "CreateActivityResponse")
            && body.child(FACTORY, "ActivityIdentifier").is_some();
        match taken {
            true => Ok(()),
            false => Err(refused(shown(&texts(body)))),
        }
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
}
