//! A computing element with the ARC face, and what its tests share.

use crate::tls::named;
use crate::{config, door};
use gridrig_emulator::faces::Faces;
use gridrig_emulator::faces::arc::Setup;
use gridrig_emulator::{Handle, spawn};
use rcgen::{
    BasicConstraints, CertificateSigningRequestParams, CustomExtension, IsCa, Issuer, KeyPair,
    PublicKeyData as _,
};
use std::time::Duration;

pub struct Ce {
    pub lrms: Handle,
    pub client: reqwest::Client,
}

impl Ce {
    /// One of four processors, its clock running so many times faster.
    pub async fn start(speed: u64) -> Self {
        Self::with(speed, Setup::default()).await
    }

    pub async fn with(speed: u64, setup: Setup) -> Self {
        let mut config = config(speed);
        config.faces = Faces {
            arc: Some(setup),
            ..Faces::default()
        };
        let lrms = spawn(config, door()).await.unwrap();
        let client = reqwest::Client::new();
        Ce { lrms, client }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}/arex/rest/1.0/{path}", self.lrms.url())
    }

    pub async fn get(&self, path: &str) -> (u16, String) {
        answer(self.client.get(self.url(path))).await
    }

    pub async fn post(&self, path: &str, body: &str) -> (u16, String) {
        answer(self.client.post(self.url(path)).body(body.to_owned())).await
    }

    pub async fn put(&self, path: &str, body: &str) -> (u16, String) {
        answer(self.client.put(self.url(path)).body(body.to_owned())).await
    }

    /// Creates a job; answers its id.
    pub async fn create(&self, adl: &str) -> String {
        let (status, answer) = self.post("jobs?action=new", adl).await;
        assert_eq!(status, 201, "{answer}");
        assert_eq!(element(&answer, "status-code"), "201", "{answer}");
        assert_eq!(element(&answer, "state"), "ACCEPTING");
        element(&answer, "id")
    }

    pub fn list(ids: &[&str]) -> String {
        let ids = ids.iter().map(|id| format!("<job><id>{id}</id></job>"));
        let ids: String = ids.collect();
        format!("<jobs>{ids}</jobs>")
    }

    pub async fn state(&self, id: &str) -> String {
        let (status, answer) = self.post("jobs?action=status", &Self::list(&[id])).await;
        assert_eq!(status, 201, "{answer}");
        element(&answer, "state")
    }

    pub async fn wait_for(&self, id: &str, state: &str) {
        for _ in 0..3_600 {
            if self.state(id).await == state {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("job {id} did not become {state} within minutes");
    }

    /// Begins a delegation; answers its id and the certificate request.
    pub async fn delegate(&self) -> (String, String) {
        let request = self.client.post(self.url("delegations?action=new"));
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 201);
        let location = answer.headers()["location"].to_str().unwrap().to_owned();
        let id = location.rsplit('/').next().unwrap().to_owned();
        (id, answer.text().await.unwrap())
    }
}

async fn answer(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// The texts of all elements of this name.
pub fn elements(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = xml.split(&open).skip(1);
    parts
        .map(|part| part.split(&close).next().unwrap().to_owned())
        .collect()
}

/// The text of the first element of this name.
pub fn element(xml: &str, name: &str) -> String {
    let first = elements(xml, name).into_iter().next();
    first.unwrap_or_else(|| panic!("no {name} in {xml}"))
}

/// What ARC's client sends for a job.
pub fn adl(name: &str, slots: u32, seconds: u64) -> String {
    format!(
        r#"<adl:ActivityDescription xmlns:nordugrid-adl="http://www.nordugrid.org/es/2011/12/nordugrid-adl" xmlns:adl="http://www.eu-emi.eu/es/2010/12/adl">
<adl:ActivityIdentification><adl:Name>{name}</adl:Name></adl:ActivityIdentification>
<adl:Application><adl:Executable><adl:Path>/bin/sleep</adl:Path><adl:Argument>{seconds}</adl:Argument></adl:Executable>
<adl:Output>out.txt</adl:Output><adl:Error>err.txt</adl:Error></adl:Application>
<adl:Resources><adl:SlotRequirement><adl:NumberOfSlots>{slots}</adl:NumberOfSlots></adl:SlotRequirement>
<adl:QueueName>batch</adl:QueueName><adl:WallTime>600</adl:WallTime></adl:Resources>
<adl:DataStaging><adl:OutputFile><adl:Name>out.txt</adl:Name></adl:OutputFile><adl:OutputFile><adl:Name>err.txt</adl:Name></adl:OutputFile></adl:DataStaging>
</adl:ActivityDescription>"#
    )
}

/// The same with more in its DataStaging.
pub fn staging(adl: &str, more: &str) -> String {
    adl.replace("</adl:DataStaging>", &format!("{more}</adl:DataStaging>"))
}

/// The same with a delegation.
pub fn delegated(adl: &str, delegation: &str) -> String {
    let id = format!("<nordugrid-adl:DelegationID>{delegation}</nordugrid-adl:DelegationID>");
    staging(adl, &id)
}

/// What a client makes of a certificate request: a proxy signed with the
/// user's key, and the user's certificate. It ends in so many years.
pub fn delegation_of(request: &str, years: i32) -> String {
    let mut authority = named("CA");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = Issuer::new(authority, KeyPair::generate().unwrap());
    let (user, key) = (named("alice"), KeyPair::generate().unwrap());
    let certificate = user.signed_by(&key, &authority).unwrap();
    let user = Issuer::new(user, key);
    let mut request = CertificateSigningRequestParams::from_pem(request).unwrap();
    let mut proxy = named("12345");
    let info = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 14], vec![0x30, 0]);
    proxy.custom_extensions.push(info);
    // Before the present of this machine or long after it.
    proxy.not_before = rcgen::date_time_ymd(2000, 1, 1);
    proxy.not_after = match years {
        ..0 => rcgen::date_time_ymd(2001, 1, 1),
        _ => rcgen::date_time_ymd(4000, 1, 1),
    };
    assert!(!request.public_key.der_bytes().is_empty());
    request.params = proxy;
    request.signed_by(&user).unwrap().pem() + &certificate.pem()
}
