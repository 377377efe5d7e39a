//! What two brokers agree on before they talk: rounds of `openConn`.

use crate::inventory::Form;
use crate::time::SimDuration;
use std::sync::Arc;

/// How a peer proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Auth {
    /// It does not: for peers on the same machine only.
    None,
    /// A secret that both know, sent with each request.
    Bearer,
    /// Certificates on both sides of a TLS connection.
    MutualTls,
}

impl Auth {
    /// All of them, the strongest first.
    pub const ALL: [Auth; 3] = [Auth::MutualTls, Auth::Bearer, Auth::None];

    /// The name used in files and interfaces.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Auth::ALL.into_iter().find(|auth| auth.name() == name)
    }
}

/// What one end of a connection is to the other: a provider takes its jobs, a
/// consumer sends it some. If one end is the provider, the other consumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Roles {
    /// Takes the other's jobs and tells it of its resources.
    pub provider: bool,
    /// Sends jobs to the other and is told of its resources.
    pub consumer: bool,
}

impl Roles {
    /// Neither: a connection on which no job travels.
    pub const NONE: Roles = Roles::new(false, false);
    /// Takes jobs only.
    pub const PROVIDER: Roles = Roles::new(true, false);
    /// Sends jobs only.
    pub const CONSUMER: Roles = Roles::new(false, true);
    /// Both.
    pub const BOTH: Roles = Roles::new(true, true);

    /// These roles.
    pub const fn new(provider: bool, consumer: bool) -> Self {
        Roles { provider, consumer }
    }

    /// The same connection from its other end.
    #[must_use]
    pub const fn mirrored(self) -> Self {
        Roles::new(self.consumer, self.provider)
    }

    /// What both allow.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Roles::new(
            self.provider && other.provider,
            self.consumer && other.consumer,
        )
    }

    /// The name used in files and interfaces.
    pub const fn name(self) -> &'static str {
        match (self.provider, self.consumer) {
            (false, false) => "none",
            (true, false) => "provider",
            (false, true) => "consumer",
            (true, true) => "both",
        }
    }

    /// The roles of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Roles::NONE, Roles::PROVIDER, Roles::CONSUMER, Roles::BOTH];
        all.into_iter().find(|roles| roles.name() == name)
    }
}

/// What one side is willing to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stance {
    /// Methods it accepts, the one it likes best first.
    pub auth: Vec<Auth>,
    /// The most it wants to be to the other.
    pub roles: Roles,
    /// The time between heartbeats that it would choose.
    pub heartbeat: SimDuration,
    /// The shortest it accepts.
    pub shortest: SimDuration,
    /// The longest it accepts.
    pub longest: SimDuration,
    /// Languages of jobs it understands.
    pub job_languages: Vec<Arc<str>>,
    /// Languages of resources it understands.
    pub resource_languages: Vec<Arc<str>>,
    /// How far information about resources may be aggregated, the best first.
    pub forms: Vec<Form>,
    /// Rounds after which it gives up.
    pub rounds: u32,
}

/// What one side proposes in a round. Of each list, the other may choose one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Methods, the preferred one first.
    pub auth: Vec<Auth>,
    /// What the sender would be.
    pub roles: Roles,
    /// Time between heartbeats.
    pub heartbeat: SimDuration,
    /// Languages of jobs, the preferred one first.
    pub job_languages: Vec<Arc<str>>,
    /// Languages of resources, the preferred one first.
    pub resource_languages: Vec<Arc<str>>,
    /// How far information about resources may be aggregated, the best first.
    pub forms: Vec<Form>,
}

/// What two sides have agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How they prove who they are.
    pub auth: Auth,
    /// What this side is to the other.
    pub roles: Roles,
    /// Time between heartbeats.
    pub heartbeat: SimDuration,
    /// Language of jobs.
    pub job_language: Arc<str>,
    /// Language of resources.
    pub resource_language: Arc<str>,
    /// How far information about resources is aggregated.
    pub form: Form,
}

impl Terms {
    /// The same agreement from the other side.
    pub fn mirrored(&self) -> Self {
        Terms {
            roles: self.roles.mirrored(),
            ..self.clone()
        }
    }

    /// The offer that says just this.
    pub fn offer(&self) -> Offer {
        Offer {
            auth: vec![self.auth],
            roles: self.roles,
            heartbeat: self.heartbeat,
            job_languages: vec![Arc::clone(&self.job_language)],
            resource_languages: vec![Arc::clone(&self.resource_language)],
            forms: vec![self.form],
        }
    }
}

/// Why no agreement is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, thiserror::Error)]
pub enum Refusal {
    /// No method of authentication in common.
    #[strum(serialize = "no-common-authentication")]
    #[error("no method of authentication is acceptable to both sides")]
    Auth,
    /// No role that both want.
    #[strum(serialize = "no-common-role")]
    #[error("no role is wanted by both sides")]
    Roles,
    /// No language of jobs in common.
    #[strum(serialize = "no-common-job-language")]
    #[error("no language of jobs is understood by both sides")]
    JobLanguage,
    /// No language of resources in common.
    #[strum(serialize = "no-common-resource-language")]
    #[error("no language of resources is understood by both sides")]
    ResourceLanguage,
    /// No form of resources that both accept.
    #[strum(serialize = "no-common-resource-form")]
    #[error("no form of resources is acceptable to both sides")]
    ResourceForm,
    /// The rounds are used up.
    #[strum(serialize = "too-many-rounds")]
    #[error("the sides came to no agreement within the rounds allowed")]
    Rounds,
}

impl Refusal {
    /// The code used in interfaces.
    pub fn code(self) -> &'static str {
        self.into()
    }
}

/// The answer to an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Agreed, as the side that answers sees it.
    Accepted(Terms),
    /// Not like this; but like that.
    Counter(Offer),
    /// It is no use.
    Refused(Refusal),
}

impl Stance {
    /// The offer of the first round.
    pub fn opening(&self) -> Offer {
        Offer {
            auth: self.auth.clone(),
            roles: self.roles,
            heartbeat: self.heartbeat,
            job_languages: self.job_languages.clone(),
            resource_languages: self.resource_languages.clone(),
            forms: self.forms.clone(),
        }
    }

    /// Answers the offer of round `round` (from 1), of which the initiator
    /// allows `most`.
    ///
    /// A choice from the lists is part of an agreement; another role or
    /// heartbeat than the offered one is a counter-offer.
    pub fn answer(&self, offer: &Offer, round: u32, most: u32) -> Verdict {
        let terms = match self.choose(offer) {
            Ok(terms) => terms,
            Err(refusal) => return Verdict::Refused(refusal),
        };
        let as_offered =
            terms.roles.mirrored() == offer.roles && terms.heartbeat == offer.heartbeat;
        if as_offered && round <= most.min(self.rounds) {
            return Verdict::Accepted(terms);
        }
        if round >= most.min(self.rounds) {
            return Verdict::Refused(Refusal::Rounds);
        }
        Verdict::Counter(terms.offer())
    }

    /// The offer that follows a counter-offer.
    ///
    /// # Errors
    /// Why there can be none.
    pub fn reply(&self, counter: &Offer, round: u32) -> Result<Offer, Refusal> {
        if round >= self.rounds {
            return Err(Refusal::Rounds);
        }
        self.choose(counter).map(|terms| terms.offer())
    }

    /// Whether these terms are within what it is willing to agree to.
    pub fn allows(&self, terms: &Terms) -> bool {
        self.choose(&terms.mirrored().offer()).as_ref() == Ok(terms)
    }

    /// The nearest terms to an offer that this side could agree to.
    fn choose(&self, offer: &Offer) -> Result<Terms, Refusal> {
        let auth = offer.auth.iter().find(|auth| self.auth.contains(auth));
        let auth = *auth.ok_or(Refusal::Auth)?;
        let offered = offer.roles.mirrored();
        let roles = offered.and(self.roles);
        if roles == Roles::NONE && offered != Roles::NONE {
            return Err(Refusal::Roles);
        }
        let job_language = common(&offer.job_languages, &self.job_languages);
        let resource_language = common(&offer.resource_languages, &self.resource_languages);
        let form = offer.forms.iter().find(|form| self.forms.contains(form));
        Ok(Terms {
            auth,
            roles,
            heartbeat: offer.heartbeat.max(self.shortest).min(self.longest),
            job_language: job_language.ok_or(Refusal::JobLanguage)?,
            resource_language: resource_language.ok_or(Refusal::ResourceLanguage)?,
            form: *form.ok_or(Refusal::ResourceForm)?,
        })
    }
}

fn common(offered: &[Arc<str>], known: &[Arc<str>]) -> Option<Arc<str>> {
    offered.iter().find(|one| known.contains(one)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stance() -> Stance {
        Stance {
            auth: vec![Auth::Bearer, Auth::None],
            roles: Roles::BOTH,
            heartbeat: SimDuration::from_secs(5),
            shortest: SimDuration::from_secs(1),
            longest: SimDuration::from_secs(60),
            job_languages: vec!["jsdl".into()],
            resource_languages: vec!["samples".into(), "glue2".into()],
            forms: vec![Form::Flat, Form::Unique],
            rounds: 5,
        }
    }

    /// Both sides to the end: the terms as the initiator sees them, and the
    /// rounds it took.
    fn negotiate(initiator: &Stance, responder: &Stance) -> (Result<Terms, Refusal>, u32) {
        let mut offer = initiator.opening();
        for round in 1.. {
            match responder.answer(&offer, round, initiator.rounds) {
                Verdict::Accepted(terms) => return (Ok(terms.mirrored()), round),
                Verdict::Refused(refusal) => return (Err(refusal), round),
                Verdict::Counter(counter) => match initiator.reply(&counter, round) {
                    Ok(next) => offer = next,
                    Err(refusal) => return (Err(refusal), round),
                },
            }
        }
        unreachable!("rounds are bounded")
    }

    #[test]
    fn those_who_want_the_same_agree_in_one_round() {
        let (terms, rounds) = negotiate(&stance(), &stance());
        let terms = terms.unwrap();
        assert_eq!((terms.auth, terms.roles), (Auth::Bearer, Roles::BOTH));
        assert_eq!((&*terms.resource_language, rounds), ("samples", 1));
        assert!(stance().allows(&terms));
    }

    #[test]
    fn a_counter_offer_is_taken_in_the_second_round() {
        let responder = Stance {
            roles: Roles::PROVIDER,
            shortest: SimDuration::from_secs(10),
            auth: vec![Auth::None],
            ..stance()
        };
        let (terms, rounds) = negotiate(&stance(), &responder);
        let terms = terms.unwrap();
        assert_eq!((terms.roles, rounds), (Roles::CONSUMER, 2));
        assert_eq!(terms.heartbeat, SimDuration::from_secs(10));
        assert_eq!(terms.auth, Auth::None);
    }

    #[test]
    fn those_who_never_agree_stop_at_the_threshold_of_rounds() {
        let slow = Stance {
            heartbeat: SimDuration::from_secs(61),
            shortest: SimDuration::from_secs(61),
            longest: SimDuration::from_secs(90),
            ..stance()
        };
        assert_eq!(negotiate(&stance(), &slow), (Err(Refusal::Rounds), 5));
        let hasty = Stance {
            rounds: 2,
            ..stance()
        };
        assert_eq!(negotiate(&hasty, &slow), (Err(Refusal::Rounds), 2));
        assert_eq!(negotiate(&slow, &hasty), (Err(Refusal::Rounds), 2));
    }

    #[test]
    fn what_can_never_be_agreed_on_is_refused_at_once_by_name() {
        let check = |responder: Stance, wanted: Refusal| {
            assert_eq!(negotiate(&stance(), &responder), (Err(wanted), 1));
        };
        let other = |text: &str| vec![Arc::from(text)];
        check(
            Stance {
                auth: vec![Auth::MutualTls],
                ..stance()
            },
            Refusal::Auth,
        );
        check(
            Stance {
                roles: Roles::NONE,
                ..stance()
            },
            Refusal::Roles,
        );
        check(
            Stance {
                job_languages: other("rsl"),
                ..stance()
            },
            Refusal::JobLanguage,
        );
        check(
            Stance {
                resource_languages: other("mds"),
                ..stance()
            },
            Refusal::ResourceLanguage,
        );
        check(
            Stance {
                forms: vec![Form::NToN],
                ..stance()
            },
            Refusal::ResourceForm,
        );
    }

    #[test]
    fn the_form_that_is_told_is_the_first_of_the_initiators_that_the_other_accepts() {
        let check = |initiator: &[Form], responder: &[Form], wanted| {
            let with = |forms: &[Form]| Stance {
                forms: forms.to_vec(),
                ..stance()
            };
            let (terms, _) = negotiate(&with(initiator), &with(responder));
            assert_eq!(terms.map(|terms| terms.form), Ok(wanted));
        };
        check(&Form::ALL, &Form::ALL, Form::ALL[0]);
        check(&Form::ALL, &[Form::NToN], Form::NToN);
        check(&[Form::OneToN, Form::Unique], &Form::ALL, Form::OneToN);
    }

    #[test]
    fn two_consumers_have_nothing_to_say_to_each_other() {
        let consumer = Stance {
            roles: Roles::CONSUMER,
            ..stance()
        };
        let (terms, _) = negotiate(&consumer, &consumer);
        assert_eq!(terms, Err(Refusal::Roles));
    }

    #[test]
    fn names_lead_back_to_what_they_name() {
        for auth in Auth::ALL {
            assert_eq!(Auth::from_name(auth.name()), Some(auth));
        }
        for name in ["none", "provider", "consumer", "both"] {
            assert_eq!(Roles::from_name(name).map(Roles::name), Some(name));
        }
        assert_eq!(Roles::PROVIDER.mirrored(), Roles::CONSUMER);
    }
}
