//! How the sessions of a broker are set up.

use gridrig_core::agent::BrokerSetup;
use gridrig_core::ids::DomainId;
use gridrig_core::inventory::Form;
use gridrig_core::session::{Auth, Roles, Stance, Threshold};
use gridrig_core::time::SimDuration;
use gridrig_protocol::lagrid::{Codec, JobLanguage, ResourceLanguage, Token};
use std::sync::Arc;

/// How a broker holds the session with one peer.
#[derive(Clone, Debug)]
pub struct LinkSetup {
    /// Name of the peer's domain.
    pub name: String,
    /// The peer's address, such as `https://broker.example.org:8443`.
    pub url: String,
    /// How its messages are written. It understands every way.
    pub codec: Codec,
    /// What it is willing to agree to.
    pub stance: Stance,
    /// A peer that has been lost for so long is given up, and touch with the
    /// jobs there is lost.
    pub give_up: SimDuration,
    /// How far a load must move before the peer is told of it; `None` tells it
    /// at each exchange.
    pub push: Option<Threshold>,
    /// The secret that both ends know.
    pub token: Option<Token>,
    /// The distinguished name in the peer's certificate.
    pub identity: Option<Arc<str>>,
    /// It submits and asks, and takes no messages itself: a program that is no
    /// broker. No session is opened with it from here, and nothing is sent.
    pub passive: bool,
    /// Under whose name the peer's jobs run here.
    pub local_identity: Option<Arc<str>>,
}

impl LinkSetup {
    /// A session without authentication, with the default intervals, for peers
    /// on one machine.
    pub fn new(name: &str, url: &str, codec: Codec, roles: Roles) -> Self {
        LinkSetup {
            name: name.to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            codec,
            stance: stance(roles),
            give_up: GIVE_UP,
            push: None,
            token: None,
            identity: None,
            local_identity: None,
            passive: false,
        }
    }

    /// Resources shall be told as records in one of these forms, the best
    /// first, besides the load of clusters.
    pub fn tell_in(&mut self, forms: Vec<Form>) {
        self.stance.resource_languages = vec![ResourceLanguage::Inventory.name().into()];
        self.stance.forms = forms;
    }
}

/// Time between signs of life, unless negotiated otherwise: as long as any request
/// to a peer may take, so that a heartbeat is no sterner judge of a slow peer than
/// the requests that matter. Where information is exchanged every 15 s, one
/// heartbeat of the two sides goes with each exchange.
const HEARTBEAT: SimDuration = SimDuration::from_secs(10);

/// A peer is given up when it has been lost for so long.
const GIVE_UP: SimDuration = SimDuration::from_secs(300);

fn stance(roles: Roles) -> Stance {
    Stance {
        auth: vec![Auth::None],
        roles,
        heartbeat: HEARTBEAT,
        shortest: SimDuration::from_millis(100),
        longest: SimDuration::from_secs(300),
        job_languages: vec![JobLanguage::Jsdl.name().into()],
        // The load of clusters unless the other side wants records too.
        resource_languages: vec![
            ResourceLanguage::Clusters.name().into(),
            ResourceLanguage::Inventory.name().into(),
        ],
        forms: Form::ALL.to_vec(),
        rounds: 5,
    }
}

/// What a broker is to a peer by the links of its grid.
pub fn roles_towards(setup: &BrokerSetup, peer: DomainId) -> Roles {
    let mut providers = setup.config.peers.iter();
    let mut neighbours = setup.config.neighbours.iter();
    Roles::new(
        neighbours.any(|neighbour| neighbour.domain == peer && neighbour.consumer),
        providers.any(|provider| provider.domain == peer),
    )
}
