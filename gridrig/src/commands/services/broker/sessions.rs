//! The sessions of `gridrig broker` with its peers.

use super::super::duration;
use crate::cli::{BrokerArgs, SessionArgs};
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_core::agent::BrokerSetup;
use gridrig_core::ids::DomainId;
use gridrig_core::inventory::Form;
use gridrig_core::session::{Auth, Threshold};
use gridrig_core::time::SimDuration;
use gridrig_metabroker_stub::lagrid::{LinkProtocol, LinkSetup, Links, roles_towards};
use gridrig_metabroker_stub::{Peer, PeerDoor};
use gridrig_protocol::lagrid::Token;
use gridrig_protocol::tls::{OutgoingTls, peer_client};
use gridrig_service::incarnation;
use gridrig_service::tls::{ServerTls, TlsFiles};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a request to a peer may take.
const REQUEST: Duration = Duration::from_secs(10);

/// The sessions with those peers that speak the protocol of LA Grid.
pub(super) fn links(
    args: &BrokerArgs,
    setup: &BrokerSetup,
    peers: &BTreeMap<DomainId, Peer>,
    protocols: &BTreeMap<(DomainId, DomainId), LinkProtocol>,
) -> Result<Links, Failure> {
    let flag = args.protocol.as_deref().map(protocol_named).transpose()?;
    let here = setup.config.domain;
    let said = Said::of(&args.session, peers)?;
    let mut setups = BTreeMap::new();
    for (domain, peer) in peers {
        let ends = (here.min(*domain), here.max(*domain));
        let protocol = flag.or_else(|| protocols.get(&ends).copied());
        let passive = args.clients.contains(&peer.name);
        let protocol = match passive {
            true => LinkProtocol::Soap,
            false => protocol.unwrap_or_default(),
        };
        let Some(codec) = protocol.codec() else {
            said.refuse_native(&peer.name)?;
            continue;
        };
        let mut link = LinkSetup::new(&peer.name, &peer.url, codec, roles_towards(setup, *domain));
        link.passive = passive;
        said.apply(&mut link)?;
        setups.insert(*domain, link);
    }
    if setups.is_empty() {
        return Ok(Links::default());
    }
    let tls = args.session.tls_ca.as_ref().map(|ca| OutgoingTls {
        ca: ca.clone(),
        identity: args
            .session
            .tls_cert
            .clone()
            .zip(args.session.tls_key.clone()),
    });
    let client = peer_client(tls.as_ref(), REQUEST).map_err(Failure::input)?;
    Ok(Links::new(
        (&setup.name, &setup.names),
        incarnation(),
        &client,
        setups,
    ))
}

/// The door of its own for peers.
pub(super) fn door(args: &BrokerArgs) -> Result<Option<PeerDoor>, Failure> {
    let session = &args.session;
    let Some(listen) = session.peer_listen else {
        return Ok(None);
    };
    let tls = match (&session.tls_cert, &session.tls_key) {
        (Some(cert), Some(key)) => {
            let files = TlsFiles {
                cert: cert.clone(),
                key: key.clone(),
                client_ca: session.tls_ca.clone(),
            };
            Some(ServerTls::read(&files).map_err(Failure::input)?)
        }
        _ => None,
    };
    Ok(Some(PeerDoor { listen, tls }))
}

/// What the flags say about all sessions, and about each.
struct Said {
    auth: Vec<Auth>,
    heartbeat: SimDuration,
    give_up: SimDuration,
    push: Option<Threshold>,
    forms: Vec<Form>,
    tokens: BTreeMap<String, Token>,
    identities: BTreeMap<String, String>,
    mapped: BTreeMap<String, String>,
}

impl Said {
    fn of(args: &SessionArgs, peers: &BTreeMap<DomainId, Peer>) -> Result<Self, Failure> {
        let auth = args.auth.iter().map(|name| {
            Auth::from_name(name).ok_or_else(|| {
                Failure::input(anyhow!(
                    "--auth {name}: expected one of none, bearer, mutual-tls"
                ))
            })
        });
        let auth: Vec<Auth> = auth.collect::<Result<_, _>>()?;
        let heartbeat = duration("--heartbeat", &args.heartbeat)?;
        if heartbeat.is_zero() {
            return Err(Failure::input(anyhow!(
                "--heartbeat {}: expected a duration above 0",
                args.heartbeat
            )));
        }
        let give_up = duration("--give-up", &args.give_up)?;
        let forms = args.resource_forms.iter().map(|name| {
            Form::from_name(name).ok_or_else(|| {
                let names = Form::ALL.map(Form::name).join(", ");
                Failure::input(anyhow!("--resource-form {name}: expected one of {names}"))
            })
        });
        let known = |flag: &str, text: &str| named(flag, text, peers);
        let tokens = args.tokens.iter().map(|text| {
            let (name, path) = known("--peer-token", text)?;
            Ok((name, token(&PathBuf::from(path))?))
        });
        let identities = args.identities.iter();
        let mapped = args.mapped.iter();
        Ok(Said {
            auth: if auth.is_empty() {
                vec![Auth::None]
            } else {
                auth
            },
            heartbeat,
            give_up,
            forms: forms.collect::<Result<_, _>>()?,
            push: args.push_past.as_deref().map(threshold).transpose()?,
            tokens: tokens.collect::<Result<_, Failure>>()?,
            identities: identities
                .map(|text| known("--peer-identity", text))
                .collect::<Result<_, _>>()?,
            mapped: mapped
                .map(|text| known("--map-identity", text))
                .collect::<Result<_, _>>()?,
        })
    }

    fn apply(&self, link: &mut LinkSetup) -> Result<(), Failure> {
        let name = &link.name;
        link.token = self.tokens.get(name).cloned();
        link.identity = self.identities.get(name).map(|dn| dn.as_str().into());
        link.local_identity = self.mapped.get(name).map(|to| to.as_str().into());
        let missing = |what: &str, flag: &str| {
            Failure::input(anyhow!(
                "peer {name} has no {what} (expected {flag} {name}=...)"
            ))
        };
        if self.auth.contains(&Auth::Bearer) && link.token.is_none() {
            return Err(missing("token for --auth bearer", "--peer-token"));
        }
        if self.auth.contains(&Auth::MutualTls) && link.identity.is_none() {
            return Err(missing("identity for --auth mutual-tls", "--peer-identity"));
        }
        link.stance.auth.clone_from(&self.auth);
        link.stance.heartbeat = self.heartbeat;
        link.stance.shortest = link.stance.shortest.min(self.heartbeat);
        link.stance.longest = link.stance.longest.max(self.heartbeat);
        link.give_up = self.give_up;
        link.push = self.push;
        if !self.forms.is_empty() {
            link.tell_in(self.forms.clone());
        }
        Ok(())
    }

    /// A secret that nothing uses is a mistake better said than found out.
    fn refuse_native(&self, name: &str) -> Result<(), Failure> {
        if self.tokens.contains_key(name) || self.identities.contains_key(name) {
            return Err(Failure::input(anyhow!(
                "peer {name} speaks natively and shows no credentials (expected --protocol \
                 json, soap or soap12, or protocol in its [[link]])"
            )));
        }
        Ok(())
    }
}

fn protocol_named(name: &str) -> Result<LinkProtocol, Failure> {
    LinkProtocol::from_name(name).ok_or_else(|| {
        let names: Vec<_> = LinkProtocol::ALL.iter().map(|p| p.name()).collect();
        let names = names.join(", ");
        Failure::input(anyhow!("--protocol {name}: expected one of {names}"))
    })
}

/// `NAME=VALUE`, of a peer that there is.
fn named(
    flag: &str,
    text: &str,
    peers: &BTreeMap<DomainId, Peer>,
) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').filter(|(_, value)| !value.is_empty());
    match pair {
        Some((name, value)) if peers.values().any(|peer| peer.name == name) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(Failure::input(anyhow!(
            "{flag}: expected NAME=VALUE with the name of a peer"
        ))),
    }
}

/// The first line of a file. Neither the text nor a part of it is ever said.
fn token(path: &Path) -> Result<Token, Failure> {
    let refuse = |why: &str| {
        let path = path.display();
        Failure::input(anyhow!(
            "--peer-token {path}: {why} (expected a token of 16 to 512 visible characters)"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refuse(&error.to_string()))?;
    let line = text.lines().next().unwrap_or_default().trim();
    let visible = line.chars().all(|c| c.is_ascii_graphic());
    if !visible || !(16..=512).contains(&line.len()) {
        return Err(refuse("its first line is none"));
    }
    Ok(Token::new(line))
}

/// A share such as 0.1, exactly to a millionth.
fn threshold(text: &str) -> Result<Threshold, Failure> {
    let share: Option<f64> = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    let share = share.ok_or_else(|| {
        Failure::input(anyhow!(
            "--push-past {text}: expected a share from 0 to 1, such as 0.1"
        ))
    })?;
    Ok(Threshold::of_millionths((share * 1e6).round() as u32))
}
