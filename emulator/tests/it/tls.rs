//! A service that speaks TLS.

use crate::arc::{Ce, adl, element, elements};
use crate::{config, door};
use gridrig_emulator::faces::{FaceKind, Faces};
use gridrig_emulator::{Handle, spawn};
use gridrig_protocol::tls::TlsError;
use gridrig_service::tls::{ServerTls, TlsFiles};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use std::path::PathBuf;

/// An authority with a folder for files.
pub struct Authority {
    folder: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

pub fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::OrganizationName, "Test");
    distinguished.push(DnType::CommonName, name);
    params.distinguished_name = distinguished;
    params
}

impl Authority {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = named("Authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let authority = Authority {
            folder,
            issuer: Issuer::new(params, key),
        };
        let mut host = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        host.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = host.signed_by(&key, &authority.issuer).unwrap();
        std::fs::write(authority.path("host.pem"), certificate.pem()).unwrap();
        std::fs::write(authority.path("host.key"), key.serialize_pem()).unwrap();
        authority
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            cert: self.path("host.pem"),
            key: self.path("host.key"),
            client_ca: Some(self.path("ca.pem")),
        }
    }

    /// A user's key and certificate in PEM, and, with a proxy, those of a
    /// proxy in front of it.
    pub fn user(&self, name: &str, with_proxy: bool) -> String {
        let (user, key) = (named(name), KeyPair::generate().unwrap());
        let certificate = user.signed_by(&key, &self.issuer).unwrap();
        if !with_proxy {
            return key.serialize_pem() + &certificate.pem();
        }
        let issuer = Issuer::new(user, key);
        let mut proxy = named(name);
        proxy.distinguished_name.push(DnType::CommonName, "4711");
        let mut info = CustomExtension::from_oid_content(
            &[1, 3, 6, 1, 5, 5, 7, 1, 14],
            vec![0x30, 0x0c, 0x30, 0x0a, 6, 8, 0x2b, 6, 1, 5, 5, 7, 0x15, 1],
        );
        // Critical it would be with a real one, which reqwest cannot present.
        info.set_criticality(false);
        proxy.custom_extensions.push(info);
        let key = KeyPair::generate().unwrap();
        let leaf = proxy.signed_by(&key, &issuer).unwrap();
        key.serialize_pem() + &leaf.pem() + &certificate.pem()
    }

    pub async fn serve(&self) -> Handle {
        let mut config = config(1);
        config.faces = Faces::of(&FaceKind::ALL);
        config.cluster.reserving = Some(crate::reservations::grants());
        config.tls = Some(ServerTls::read(&self.files()).unwrap());
        spawn(config, door()).await.unwrap()
    }

    pub fn client(&self, identity: Option<&str>) -> reqwest::Client {
        gridrig_protocol::tls::init();
        let authority = std::fs::read(self.path("ca.pem")).unwrap();
        let authority = reqwest::Certificate::from_pem(&authority).unwrap();
        let mut builder = reqwest::Client::builder().tls_certs_only([authority]);
        if let Some(pem) = identity {
            builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).unwrap());
        }
        builder.build().unwrap()
    }
}

/// The same service as another client.
fn of(client: reqwest::Client, lrms: Handle) -> Ce {
    Ce { lrms, client }
}

#[tokio::test]
async fn jobs_belong_to_the_person_behind_a_certificate_or_a_proxy() {
    let authority = Authority::new();
    let lrms = authority.serve().await;
    assert!(lrms.url().starts_with("https://127.0.0.1:"));
    let mut ce = of(
        authority.client(Some(&authority.user("alice", false))),
        lrms,
    );
    let first = ce.create(&adl("a", 1, 600)).await;
    // By proxy it is the same person.
    ce.client = authority.client(Some(&authority.user("alice", true)));
    let (_, info) = ce.post("jobs?action=info", &Ce::list(&[&first])).await;
    assert_eq!(element(&info, "Owner"), "/O=Test/CN=alice");
    let second = ce.create(&adl("b", 1, 600)).await;
    assert_eq!(
        elements(&ce.get("jobs").await.1, "id"),
        [first.as_str(), second.as_str()]
    );
    for unknown in [Some(authority.user("bob", true)), None] {
        ce.client = authority.client(unknown.as_deref());
        assert!(elements(&ce.get("jobs").await.1, "id").is_empty());
        let (_, answer) = ce.post("jobs?action=kill", &Ce::list(&[&first])).await;
        assert_eq!(element(&answer, "status-code"), "404");
        assert_eq!(ce.get(&format!("jobs/{first}/session")).await.0, 404);
    }
    let (_, info) = ce.get("info").await;
    assert_eq!(element(&info, "IssuerCA"), "/O=Test/CN=Authority");
    assert!(element(&info, "URL").starts_with("https://"), "{info}");
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let lrms = authority.serve().await;
    let url = format!("{}/healthz", lrms.url());
    for with_proxy in [false, true] {
        let client = authority.client(Some(&other.user("mallory", with_proxy)));
        assert!(
            client.get(&url).send().await.is_err(),
            "proxy: {with_proxy}"
        );
    }
    // Nor does a client trust a service of another authority.
    assert!(other.client(None).get(&url).send().await.is_err());
    let fair = authority.client(None).get(&url).send().await.unwrap();
    assert_eq!(fair.status(), 200);
}

#[tokio::test]
async fn a_client_that_says_nothing_holds_up_nobody_and_a_stop_is_a_stop() {
    let authority = Authority::new();
    let lrms = authority.serve().await;
    let _mute = std::net::TcpStream::connect(lrms.address()).unwrap();
    let plain = reqwest::get(format!("http://{}/healthz", lrms.address())).await;
    assert!(plain.is_err(), "plain HTTP is not answered");
    let answer = authority
        .client(None)
        .get(format!("{}/healthz", lrms.url()));
    assert_eq!(answer.send().await.unwrap().status(), 200);
    lrms.stop().await.unwrap();
    assert!(
        std::net::TcpListener::bind(lrms.address()).is_ok(),
        "the door is closed"
    );
}

#[test]
fn files_that_will_not_do_are_named() {
    let authority = Authority::new();
    let good = authority.files();
    let swapped = TlsFiles {
        key: good.cert.clone(),
        ..good.clone()
    };
    let foreign = TlsFiles {
        key: Authority::new().path("gone.key"),
        ..good.clone()
    };
    for (files, expected) in [(swapped, "private key"), (foreign, "gone.key")] {
        let error = ServerTls::read(&files).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let other = Authority::new();
    let mixed = TlsFiles {
        key: other.path("host.key"),
        ..good
    };
    let error = ServerTls::read(&mixed).unwrap_err();
    assert!(matches!(error, TlsError::Pair { .. }), "{error}");
}
