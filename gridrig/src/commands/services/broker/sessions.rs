//! The sessions of `gridrig broker` with its peers.

use crate::cli::{BrokerArgs, SessionArgs};
use crate::commands::services::server_tls;
use crate::exit::Failure;
use anyhow::{Context as _, Result, anyhow, bail};
use gridrig_core::agent::BrokerSetup;
use gridrig_core::ids::DomainId;
use gridrig_core::session::Auth;
use gridrig_metabroker_stub::lagrid::{LinkProtocol, LinkSetup, Links};
use gridrig_metabroker_stub::{Peer, PeerDoor};
use gridrig_protocol::lagrid::Token;
use gridrig_protocol::tls::OutgoingTls;
use gridrig_service::http::is_on_loopback;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The sessions with those peers that speak the protocol of LA Grid.
pub(super) fn links(
    args: &BrokerArgs,
    setup: &BrokerSetup,
    peers: &BTreeMap<DomainId, Peer>,
    protocols: &BTreeMap<(DomainId, DomainId), LinkProtocol>,
) -> Result<Links> {
    let (session, said) = (&args.session, Said::of(args, peers)?);
    let tls = session.tls_ca.clone().map(|ca| OutgoingTls {
        ca,
        identity: session.tls_cert.clone().zip(session.tls_key.clone()),
    });
    let instead = |peer: &Peer| match args.clients.contains(&peer.name) {
        true => Some(LinkProtocol::Soap),
        false => args.protocol,
    };
    let apply = |link: &mut LinkSetup| {
        link.passive = args.clients.contains(&link.name);
        said.apply(link)
    };
    let links = Links::of(setup, peers, protocols, instead, tls.as_ref(), apply)?;
    // A secret that nothing uses is a mistake better said than found out.
    let mut shown = said.tokens.keys().chain(said.identities.keys());
    if let Some(name) = shown.find(|name| links.named(name).is_none()) {
        bail!(
            "peer {name} has the native protocol, without authentication (expected --protocol \
             json, soap or soap12, or protocol in its [[link]])"
        );
    }
    Ok(links)
}

/// The door of its own for peers.
pub(super) fn door(args: &BrokerArgs) -> Result<Option<PeerDoor>, Failure> {
    let session = &args.session;
    let Some(listen) = session.peer_listen else {
        return Ok(None);
    };
    let (cert, key) = (session.tls_cert.as_ref(), session.tls_key.as_ref());
    let tls = server_tls(cert, key, session.tls_ca.as_ref())?;
    Ok(Some(PeerDoor { listen, tls }))
}

/// What the flags say about all sessions, and about each.
struct Said<'a> {
    args: &'a SessionArgs,
    insecure: bool,
    tokens: BTreeMap<String, Token>,
    identities: BTreeMap<String, String>,
    mapped: BTreeMap<String, String>,
}

impl<'a> Said<'a> {
    fn of(args: &'a BrokerArgs, peers: &BTreeMap<DomainId, Peer>) -> Result<Self> {
        let (args, insecure) = (&args.session, args.service.insecure);
        let known = |flag: &str, texts: &[String]| {
            let pairs = texts.iter().map(|text| named(flag, text, peers));
            pairs.collect::<Result<BTreeMap<_, _>>>()
        };
        let tokens = known("--peer-token", &args.tokens)?.into_iter();
        let tokens = tokens.map(|(name, path)| anyhow::Ok((name, token(Path::new(&path))?)));
        Ok(Said {
            args,
            insecure,
            tokens: tokens.collect::<Result<_, _>>()?,
            identities: known("--peer-identity", &args.identities)?,
            mapped: known("--map-identity", &args.mapped)?,
        })
    }

    fn apply(&self, link: &mut LinkSetup) -> Result<()> {
        let (name, args) = (&link.name, self.args);
        link.token = self.tokens.get(name).cloned();
        link.identity = self.identities.get(name).map(|dn| dn.as_str().into());
        link.local_identity = self.mapped.get(name).map(|to| to.as_str().into());
        if args.auth.contains(&Auth::Bearer) && link.token.is_none() {
            bail!("peer {name} has no token for --auth bearer (expected --peer-token {name}=...)");
        }
        if link.token.is_some() && !(self.insecure || is_safe(&link.url)) {
            bail!(
                "--peer {name}={}: its token would go over the network as it is (expected an \
                 https:// URL, one on the loopback, or --insecure)",
                link.url
            );
        }
        if args.auth.contains(&Auth::MutualTls) && link.identity.is_none() {
            bail!(
                "peer {name} has no identity for --auth mutual-tls (expected --peer-identity \
                 {name}=...)"
            );
        }
        link.stance.auth.clone_from(&args.auth);
        link.stance.heartbeat = args.heartbeat;
        link.stance.shortest = link.stance.shortest.min(args.heartbeat);
        link.stance.longest = link.stance.longest.max(args.heartbeat);
        link.give_up = args.give_up;
        link.push = args.push_past;
        if !args.resource_forms.is_empty() {
            link.tell_in(args.resource_forms.clone());
        }
        Ok(())
    }
}

/// `NAME=VALUE`, of a peer that there is. The value may be a secret: it is not
/// said.
fn named(flag: &str, text: &str, peers: &BTreeMap<DomainId, Peer>) -> Result<(String, String)> {
    let pair = text.split_once('=').filter(|(_, value)| !value.is_empty());
    let pair = pair.filter(|(name, _)| peers.values().any(|peer| peer.name == *name));
    let (name, value) =
        pair.with_context(|| format!("{flag}: expected NAME=VALUE with the name of a peer"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Whether nobody on the way can read what is sent to this URL.
fn is_safe(url: &str) -> bool {
    url.starts_with("https://") || is_on_loopback(url)
}

/// The first line of a file. Neither the text nor a part of it is ever said.
fn token(path: &Path) -> Result<Token> {
    let refuse = |why: &str| {
        let path = path.display();
        anyhow!(
            "--peer-token {path}: {why} (expected a token of 16 to 512 visible characters in a file of mode 600)"
        )
    };
    let found = std::fs::metadata(path).map_err(|error| refuse(&error.to_string()))?;
    if found.mode() & 0o077 != 0 {
        return Err(refuse("others than its owner may read or write the file"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| refuse(&error.to_string()))?;
    let line = text.lines().next().unwrap_or_default().trim();
    let visible = line.chars().all(|c| c.is_ascii_graphic());
    if !visible || !(16..=512).contains(&line.len()) {
        return Err(refuse("the first line is not one"));
    }
    Ok(Token::new(line))
}
