//! The sessions of a broker: their state, and who may speak in them.

use super::LinkProtocol;
use super::job_names::JobNames;
use super::setup::{LinkSetup, roles_towards};
use crate::Peer;
use gridrig_core::agent::{BrokerSetup, GridNames, PeerLink, SessionChange};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::load::LoadSample;
use gridrig_core::session::{Auth, Beat, Roles, Stance, Terms};
use gridrig_core::time::{SimDuration, WallTime};
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::lagrid::{Caller, PeerClient, SOAP_PATH, codes};
use gridrig_protocol::rest::{Problem, Result, SessionInfo};
use gridrig_protocol::tls::{OutgoingTls, TlsError, peer_client};
use gridrig_service::incarnation;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a request to a peer may take.
const REQUEST: Duration = Duration::from_secs(10);

/// All sessions of a broker. Clones share them; the default has none.
#[derive(Clone, Debug, Default)]
pub struct Links(Arc<All>);

#[derive(Debug, Default)]
struct All {
    links: BTreeMap<DomainId, Arc<Link>>,
    address: Arc<OnceLock<String>>,
}

/// The session with one peer.
#[derive(Debug)]
pub struct Link {
    pub(crate) domain: DomainId,
    pub(super) here: String,
    /// The names of all domains.
    pub(super) names: GridNames,
    pub(super) life: u64,
    pub(crate) setup: LinkSetup,
    pub(super) client: PeerClient,
    address: Arc<OnceLock<String>>,
    state: Mutex<State>,
    /// Rung when the state has changed so that the task must look.
    pub(super) bell: Notify,
    began: Instant,
}

/// What changes of a session.
#[derive(Debug)]
pub(crate) struct State {
    pub end: PeerLink,
    /// What the peer may call the connection: both names, where both sides
    /// have opened one at the same time.
    pub names: VecDeque<Arc<str>>,
    /// The negotiation that the peer has begun.
    pub talks: Option<Talks>,
    /// The roles that this side wants at the most.
    pub wanted: Roles,
    /// The terms are to be negotiated anew.
    pub renew: bool,
    /// This side is opening a session: the peer may use it before the answer
    /// has come.
    pub opening: bool,
    pub beats: u64,
    /// Connections named so far.
    pub named: u64,
    /// Why there was no session the last time, so that it is said once.
    pub complaint: Option<String>,
    /// What the peer was last told of each cluster here.
    pub told: BTreeMap<ClusterId, LoadSample>,
    /// What the peer has last told of its resources as records.
    pub records: Option<Arc<InventoryDocument>>,
    /// What the sides call the jobs that travel between them.
    pub job_names: JobNames,
}

/// A negotiation that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Talks {
    pub connection: Arc<str>,
    pub round: u32,
}

impl Links {
    /// The sessions of a broker with those of its peers whose links speak the
    /// peer protocol: `protocols` has that of each two domains, the lower one
    /// first, unless `instead` says another. `tls` is for all of them; the rest
    /// of a link is what `adjust` makes of it.
    ///
    /// # Errors
    /// Those of `adjust`, or files of TLS that cannot be used.
    pub fn of<E: From<TlsError>>(
        setup: &BrokerSetup,
        peers: &BTreeMap<DomainId, Peer>,
        protocols: &BTreeMap<(DomainId, DomainId), LinkProtocol>,
        instead: impl Fn(&Peer) -> Option<LinkProtocol>,
        tls: Option<&OutgoingTls>,
        adjust: impl Fn(&mut LinkSetup) -> Result<(), E>,
    ) -> Result<Self, E> {
        let here = setup.config.domain;
        let mut setups = BTreeMap::new();
        for (domain, peer) in peers {
            let written = protocols.get(&(here.min(*domain), here.max(*domain)));
            let protocol = instead(peer).or(written.copied()).unwrap_or_default();
            if let Some(codec) = protocol.codec() {
                let roles = roles_towards(setup, *domain);
                let mut link = LinkSetup::new(&peer.name, &peer.url, codec, roles);
                adjust(&mut link)?;
                setups.insert(*domain, link);
            }
        }
        if setups.is_empty() {
            return Ok(Links::default());
        }
        let client = peer_client(tls, REQUEST)?;
        let names = (&*setup.name, &setup.names);
        Ok(Links::new(names, incarnation(), &client, setups))
    }

    /// The sessions of the broker of domain `here`, in the life `life`, none
    /// of them open yet. `names` are those of all domains; `client` carries
    /// their messages.
    pub fn new(
        (here, names): (&str, &GridNames),
        life: u64,
        client: &PeerClient,
        setups: BTreeMap<DomainId, LinkSetup>,
    ) -> Self {
        let address: Arc<OnceLock<String>> = Arc::default();
        let began = Instant::now();
        let link = |(domain, setup): (DomainId, LinkSetup)| {
            let client = client.clone().speaking(setup.codec);
            let link = Link {
                domain,
                here: here.to_owned(),
                names: names.clone(),
                life,
                client: client.with_token(setup.token.clone()),
                address: Arc::clone(&address),
                state: Mutex::new(State::new(here, &setup)),
                bell: Notify::new(),
                began,
                setup,
            };
            (domain, Arc::new(link))
        };
        Links(Arc::new(All {
            links: setups.into_iter().map(link).collect(),
            address,
        }))
    }

    /// The same in the next life of this broker: none of them is open.
    pub fn next_life(&self) -> Self {
        let Some(first) = self.iter().next() else {
            return Links::default();
        };
        let setups = self.iter().map(|link| (link.domain, link.setup.clone()));
        let names = (&*first.here, &first.names);
        Links::new(names, incarnation(), &first.client, setups.collect())
    }

    /// Says under which base URL peers reach this broker; the first word
    /// counts.
    pub fn set_address(&self, url: &str) {
        // Whoever comes second is told at another door.
        let _ = self.0.address.set(url.to_owned());
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.links.is_empty()
    }

    /// The session with this peer.
    pub fn get(&self, domain: DomainId) -> Option<&Arc<Link>> {
        self.0.links.get(&domain)
    }

    /// The session with the peer of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Link>> {
        self.iter().find(|link| link.setup.name == name)
    }

    /// All sessions, by domain.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.0.links.values()
    }

    /// No session is open any more: this broker was restarted, and knows what is
    /// with its peers.
    pub fn lose(&self) {
        for link in self.iter() {
            let now = link.now();
            link.state().end.lose(now);
        }
    }

    /// The session that a message belongs to, if whoever sends it may.
    ///
    /// # Errors
    /// When there is none of this name, or the caller is not who it should be.
    pub(super) fn admit(&self, caller: &Caller, connection: &str) -> Result<&Arc<Link>> {
        for link in self.iter() {
            let mut state = link.state();
            if !state.names.iter().any(|name| **name == *connection) {
                continue;
            }
            let agreed = state.terms().map(|terms| terms.auth);
            let agreed = agreed.ok_or_else(|| {
                Problem::of_code(codes::NOT_ESTABLISHED, "the connection is not open yet")
            })?;
            if !link.has_shown(caller, agreed) {
                return Err(not_authenticated(agreed));
            }
            let now = link.now();
            state.end.heard(now);
            drop(state);
            return Ok(link);
        }
        // The peer names the connection that it is asked for: it may use it
        // before its answer is here. Names from here are given once.
        let may_be = |link: &Arc<Link>| link.state().opening && !link.has_named(connection);
        if self.iter().any(may_be) {
            let reason = "a session is being opened: ask again in a moment";
            return Err(Problem::of_code("busy", reason));
        }
        Err(Problem::unknown_connection(connection))
    }
}

pub(super) fn not_authenticated(wanted: Auth) -> Problem {
    let reason = match wanted {
        Auth::None => "without authentication, peers on this machine only are served",
        Auth::Bearer => "the bearer token of this peer is missing or wrong",
        Auth::MutualTls => "the certificate of this peer is missing or another's",
    };
    Problem::of_code(codes::NOT_AUTHENTICATED, reason)
}

impl Link {
    /// Name of the peer's domain.
    pub fn name(&self) -> &str {
        &self.setup.name
    }

    /// The session as it is told to whoever asks for the peers.
    pub fn info(&self) -> SessionInfo {
        let state = self.state();
        let session = state.end.session();
        let terms = session.terms();
        SessionInfo {
            state: session.phase().name().to_owned(),
            protocol: self.client.codec().name().to_owned(),
            connection: session.connection().map(|name| name.to_string()),
            authentication: terms.map(|terms| terms.auth.name().to_owned()),
            role: terms.map(|terms| terms.roles.name().to_owned()),
            heartbeat: terms.map(|terms| terms.heartbeat.to_string()),
            resource_language: terms.map(|terms| terms.resource_language.to_string()),
            resource_form: terms.map(|terms| terms.form.name().to_owned()),
            negotiating: state.renew,
        }
    }

    /// What the peer has last told of its resources as records, if that is
    /// how they are told.
    pub fn records(&self) -> Option<Arc<InventoryDocument>> {
        self.state().records.clone()
    }

    /// Changes what this side wants to be to the peer: the terms are then
    /// negotiated anew. Jobs already taken are finished.
    pub fn set_roles(&self, roles: Roles) {
        let mut state = self.state();
        state.wanted = roles;
        state.renew = true;
        drop(state);
        self.bell.notify_one();
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// What the names begin with that this side gives to connections with the
    /// peer in this life.
    pub(super) fn own_names(&self) -> String {
        format!("{}-{}-{:x}-", self.here, self.name(), self.life)
    }

    /// Whether this side has given a connection this name, now or once.
    fn has_named(&self, connection: &str) -> bool {
        connection.starts_with(&self.own_names())
    }

    /// The endpoint at which this broker takes the peer's messages.
    pub(super) fn endpoint(&self) -> String {
        let base = self.address.get().map_or("http://localhost", |url| url);
        format!("{base}{SOAP_PATH}")
    }

    /// Says why there is no session, unless that was the last thing said.
    pub(super) fn complain(&self, why: String) {
        let mut state = self.state();
        if state.complaint.as_ref() != Some(&why) {
            tracing::warn!(peer = self.name(), why, "no session with a peer");
            state.complaint = Some(why);
        }
    }

    /// What this side is willing to agree to now.
    pub(super) fn stance(&self) -> Stance {
        Stance {
            roles: self.state().wanted,
            ..self.setup.stance.clone()
        }
    }

    /// The wall clock, as the session counts it.
    pub(super) fn now(&self) -> WallTime {
        let nanos = self.began.elapsed().as_nanos();
        WallTime::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// When to see to something that is due at `time` of the session's clock:
    /// then, or up to an eighth of a heartbeat's interval later, at an instant
    /// counted from `origin` that all sessions have in common. Whoever wakes up
    /// once for all of them takes a fraction of the processor time.
    pub(super) fn tick(&self, origin: Instant, time: WallTime) -> Instant {
        let due = self.began + Duration::from_nanos(time.as_nanos());
        let heartbeat = self.state().heartbeat();
        let step = heartbeat.map_or(1, |interval| u128::from(interval.as_nanos() / 8).max(1));
        let since = due.saturating_duration_since(origin).as_nanos();
        let wait = since.div_ceil(step) * step - since;
        due + Duration::from_nanos(u64::try_from(wait).unwrap_or(0))
    }

    /// A session is open under this name, by whichever side.
    pub(super) fn opened(&self, name: Arc<str>, terms: Terms, life: u64) -> SessionChange {
        let (now, mut state) = (self.now(), self.state());
        // Another life of the peer knows no older names.
        if state.end.peer_life() != Some(life) {
            state.names.clear();
        }
        state.names.push_back(Arc::clone(&name));
        while state.names.len() > 2 {
            state.names.pop_front();
        }
        state.told.clear();
        state.renew = false;
        state.complaint = None;
        state.end.opened(now, name, terms, life)
    }

    /// The peer knows nothing of the session.
    pub(super) fn forgotten(&self) {
        let (now, mut state) = (self.now(), self.state());
        if state.end.may_talk() {
            // Its task tells the broker when it looks.
            let _ = state.end.beat(now, Beat::Forgotten);
            state.closed();
        }
        drop(state);
        self.bell.notify_one();
    }

    /// The peer ends the session; whether there was one.
    pub(super) fn ended(&self) -> bool {
        let (now, mut state) = (self.now(), self.state());
        let ended = state.end.end(now);
        state.closed();
        ended
    }

    /// The peer has answered: a sign of life as good as a heartbeat's.
    pub(super) fn note_answer(&self) {
        let now = self.now();
        // A task that finds it alive says again what it has missed.
        self.state().end.answered(now);
    }

    /// Whether a caller has shown by this method that it is the peer.
    pub(super) fn has_shown(&self, caller: &Caller, auth: Auth) -> bool {
        match auth {
            Auth::None => caller.is_local(),
            Auth::Bearer => match (&self.setup.token, &caller.token) {
                (Some(known), Some(shown)) => known.matches(shown),
                _ => false,
            },
            Auth::MutualTls => {
                self.setup.identity.is_some() && caller.identity == self.setup.identity
            }
        }
    }

    /// The connection that messages to the peer go out on.
    pub(super) fn open_connection(&self) -> Option<String> {
        let state = self.state();
        let open = state.end.may_talk();
        let connection = state.end.session().connection().filter(|_| open);
        connection.map(|name| name.to_string())
    }
}

impl State {
    fn new(here: &str, setup: &LinkSetup) -> Self {
        State {
            end: PeerLink::new(here < setup.name.as_str(), setup.give_up),
            names: VecDeque::new(),
            talks: None,
            wanted: setup.stance.roles,
            renew: false,
            opening: false,
            beats: 0,
            named: 0,
            complaint: None,
            told: BTreeMap::new(),
            records: None,
            job_names: JobNames::default(),
        }
    }

    /// The interval that was agreed on, while there is a session.
    pub fn heartbeat(&self) -> Option<SimDuration> {
        self.terms().map(|terms| terms.heartbeat)
    }

    /// The terms of the session, while there is one.
    pub fn terms(&self) -> Option<&Terms> {
        self.end.session().terms()
    }

    /// The session is over or worth nothing.
    pub fn closed(&mut self) {
        self.names.clear();
        self.talks = None;
    }
}
