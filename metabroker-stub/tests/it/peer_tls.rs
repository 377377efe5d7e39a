//! Sessions over mutual TLS.

use super::*;
use gridrig_core::session::{Auth, Roles};
use gridrig_metabroker_stub::PeerDoor;
use gridrig_metabroker_stub::lagrid::LinkSetup;
use gridrig_protocol::lagrid::{Codec, Proposal, wsdl};
use gridrig_protocol::tls::{OutgoingTls, peer_client};
use gridrig_service::tls::{ServerTls, TlsFiles};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// An authority and the certificates of brokers a and b, in a folder.
struct Papers(tempfile::TempDir);

impl Papers {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "Authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        for name in ["a", "b"] {
            let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
            params.distinguished_name = DistinguishedName::new();
            let common = format!("broker-{name}");
            params.distinguished_name.push(DnType::CommonName, common);
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            let write = |end: &str, text: String| {
                std::fs::write(folder.path().join(format!("{name}.{end}")), text).unwrap();
            };
            write("pem", certificate.pem());
            write("key", key.serialize_pem());
        }
        Papers(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn of_server(&self, name: &str) -> ServerTls {
        let files = TlsFiles {
            cert: self.path(&format!("{name}.pem")),
            key: self.path(&format!("{name}.key")),
            client_ca: Some(self.path("ca.pem")),
        };
        ServerTls::read(&files).unwrap()
    }

    fn of_client(&self, name: Option<&str>) -> OutgoingTls {
        let pair = |name: &str| {
            let (cert, key) = (format!("{name}.pem"), format!("{name}.key"));
            (self.path(&cert), self.path(&key))
        };
        OutgoingTls {
            ca: self.path("ca.pem"),
            identity: name.map(pair),
        }
    }
}

/// What is said until a session is open.
const OPENED: [&str; 2] = ["openConn", "openConnResponse"];

/// One of two brokers, with a door for its peer; `shows` is the certificate it
/// shows.
async fn broker(
    papers: &Papers,
    here: (u16, &str, SocketAddr),
    peer: (u16, &str, SocketAddr),
    shows: Option<&str>,
) -> Handle {
    wire::listen();
    let url = format!("https://{}", peer.2);
    let mut link = LinkSetup::new(peer.1, &url, Codec::Soap12, Roles::BOTH);
    link.stance.auth = vec![Auth::MutualTls];
    link.stance.heartbeat = SimDuration::from_millis(300);
    link.identity = Some(format!("/CN=broker-{}", peer.1).into());
    let client = peer_client(Some(&papers.of_client(shows)), Duration::from_secs(120)).unwrap();
    let links = BTreeMap::from([(DomainId(peer.0), link)]);
    let grid = grid(SimDuration::from_secs(36_000));
    let setup = BrokerSetup::of(&grid, DomainId(here.0), 1).unwrap();
    let names = (here.1, &setup.names);
    let config = Config {
        links: Links::new(names, u64::from(here.0) + 1, &client, links),
        peer_door: Some(PeerDoor {
            listen: here.2,
            tls: Some(papers.of_server(here.1)),
        }),
        setup,
        ..config(SimDuration::from_secs(36_000), NOWHERE, NOWHERE)
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    spawn(config, listener).await.unwrap()
}

fn address() -> SocketAddr {
    let port = gridrig_service::free_ports(1).unwrap()[0];
    (Ipv4Addr::LOCALHOST, port).into()
}

async fn session(broker: &Handle) -> Value {
    let (_, peers) = ask(broker, "GET", "/v1/peers", None).await;
    peers["peers"][0]["session"].clone()
}

#[tokio::test]
async fn brokers_with_certificates_agree_on_mutual_tls() {
    let (papers, one, other) = (Papers::new(), address(), address());
    let a = broker(&papers, (0, "a", one), (1, "b", other), Some("a")).await;
    let b = broker(&papers, (1, "b", other), (0, "a", one), Some("b")).await;
    for _ in 0..3_600 {
        let (here, there) = (session(&a).await, session(&b).await);
        if here["state"] == "open" && there["state"] == "open" {
            assert_eq!(here["authentication"], "mutual-tls");
            assert_eq!(there["role"], "both");
            wire::holds_against(&wsdl::document("https://h/lagrid"), &OPENED);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no session: {} {}", session(&a).await, session(&b).await);
}

#[tokio::test]
async fn a_broker_with_anothers_certificate_or_none_gets_no_session() {
    let (papers, one, other) = (Papers::new(), address(), address());
    let a = broker(&papers, (0, "a", one), (1, "b", other), Some("a")).await;
    // Each says to be b, and only the last can show it.
    for shows in [None, Some("a"), Some("b")] {
        let client = peer_client(Some(&papers.of_client(shows)), Duration::from_secs(120)).unwrap();
        let proposal = Proposal {
            authentication: vec![Auth::MutualTls],
            ..sessions::proposal()
        };
        let hello = sessions::round(1, None, proposal);
        let client = client.speaking(Codec::Soap12);
        let answer = client.call(&format!("https://{one}"), &hello).await;
        if shows == Some("b") {
            assert!(answer.is_ok(), "{answer:?}");
            continue;
        }
        assert_eq!(sessions::code(answer), "not-authenticated", "{shows:?}");
        assert_eq!(session(&a).await["state"], "closed", "{shows:?}");
    }
    wire::holds_against(&wsdl::document("https://h/lagrid"), &["openConn"]);
}
