//! The terms of a session between the core and the wire.

use super::connection as wire;
use super::words::{JobLanguage, ResourceLanguage, Role};
use gridrig_core::session::{Offer, Roles, Terms};
use gridrig_core::time::SimDuration;
use std::sync::Arc;

/// Whether resources are told as records in this language, besides the load of
/// clusters.
pub fn tells_records(terms: &Terms) -> bool {
    *terms.resource_language == *ResourceLanguage::Inventory.name()
}

fn words(roles: Roles) -> Vec<Role> {
    let provider = roles.provider.then_some(Role::Provider);
    let consumer = roles.consumer.then_some(Role::Consumer);
    provider.into_iter().chain(consumer).collect()
}

fn roles(words: &[Role]) -> Roles {
    let has = |role| words.contains(&role);
    Roles::new(has(Role::Provider), has(Role::Consumer))
}

/// Who of the two speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Who opens the connection.
    Initiator,
    /// Who answers.
    Responder,
}

/// An offer as it is sent by this side.
pub fn proposal(offer: &Offer, side: Side) -> wire::Proposal {
    let (initiator, responder) = match side {
        Side::Initiator => (offer.roles, offer.roles.mirrored()),
        Side::Responder => (offer.roles.mirrored(), offer.roles),
    };
    let job_languages = offer.job_languages.iter();
    let job_languages = job_languages.filter_map(|name| JobLanguage::from_name(name));
    let resource_languages = offer.resource_languages.iter();
    let resource_languages = resource_languages.filter_map(|it| ResourceLanguage::from_name(it));
    wire::Proposal {
        authentication: offer.auth.clone(),
        initiator_roles: words(initiator),
        responder_roles: words(responder),
        heartbeat_ms: millis(offer.heartbeat),
        job_languages: job_languages.collect(),
        resource_languages: resource_languages.collect(),
        resource_forms: offer.forms.clone(),
    }
}

/// An offer as it came from that side. Roles that contradict each other are
/// those that both lists allow.
pub fn offer(proposal: &wire::Proposal, side: Side) -> Offer {
    let initiator = roles(&proposal.initiator_roles);
    let initiator = initiator.and(roles(&proposal.responder_roles).mirrored());
    Offer {
        auth: proposal.authentication.clone(),
        roles: match side {
            Side::Initiator => initiator,
            Side::Responder => initiator.mirrored(),
        },
        heartbeat: SimDuration::from_millis(proposal.heartbeat_ms),
        job_languages: names(proposal.job_languages.iter().map(|one| one.name())),
        resource_languages: names(proposal.resource_languages.iter().map(|one| one.name())),
        forms: proposal.resource_forms.clone(),
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> Vec<Arc<str>> {
    names.map(Arc::from).collect()
}

/// Terms as the responder, whose they are, writes them.
pub fn written(terms: &Terms) -> Option<wire::Terms> {
    Some(wire::Terms {
        authentication: terms.auth,
        initiator_roles: words(terms.roles.mirrored()),
        responder_roles: words(terms.roles),
        heartbeat_ms: millis(terms.heartbeat),
        job_language: JobLanguage::from_name(&terms.job_language)?,
        resource_language: ResourceLanguage::from_name(&terms.resource_language)?,
        resource_form: terms.form,
    })
}

/// Terms as the initiator reads them.
pub fn read(terms: &wire::Terms) -> Terms {
    Terms {
        auth: terms.authentication,
        roles: roles(&terms.initiator_roles).and(roles(&terms.responder_roles).mirrored()),
        heartbeat: SimDuration::from_millis(terms.heartbeat_ms),
        job_language: terms.job_language.name().into(),
        resource_language: terms.resource_language.name().into(),
        form: terms.resource_form,
    }
}

fn millis(duration: SimDuration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000)
}
