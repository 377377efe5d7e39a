//! Watching the services that have jobs of this broker.

use crate::Liveness;
use crate::transport::HttpTransport;
use gridrig_core::agent::{Alive, BrokerAgent, Lost, Received, Unexpected};
use gridrig_core::broker::LocalInfo;
use gridrig_core::load::LoadSample;
use gridrig_core::message::Target;
use gridrig_core::session::Push;
use gridrig_core::time::SimDuration;
use gridrig_drivers::real_time::{Actor, CallError, RunClock, Transport as _};
use gridrig_protocol::client::ClientError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What is known of a service that may be dying.
#[derive(Default)]
struct Signs {
    refused: u32,
    silent: Duration,
}

impl Signs {
    /// A look that `took` so long was not answered; it may take `most`.
    ///
    /// Where this machine stood still, the clock has gone on without anybody
    /// having been asked: a look counts for no more than it may take.
    fn note_silence(&mut self, took: Duration, most: Duration, every: Duration) {
        self.refused = 0;
        self.silent += took.min(most) + every;
    }
}

/// Looks after every service that has jobs of this broker, and tells the
/// broker of those that are lost or were restarted. Ends with the machine.
pub(crate) async fn watch(
    actor: Actor<BrokerAgent>,
    transport: Arc<HttpTransport>,
    liveness: Liveness,
) {
    let mut signs: BTreeMap<Target, Signs> = BTreeMap::new();
    let mut lives = BTreeMap::new();
    // As long as they have no jobs, so that none need be asked for later.
    let begun = tokio::time::Instant::now();
    for cluster in transport.lrms.keys() {
        if begun.elapsed() > 10 * liveness.every {
            break;
        }
        let told = tell_life(&actor, &transport, &mut lives, Target::Cluster(*cluster));
        let _ = tokio::time::timeout(liveness.every, told).await;
    }
    let mut under_way = actor.under_way();
    loop {
        tokio::time::sleep(liveness.every).await;
        under_way.mark_unchanged();
        let relied_on = match actor.call(|broker, _| broker.relied_on()).await {
            Ok(relied_on) => relied_on,
            Err(CallError::Busy) => continue,
            Err(CallError::Stopped) => return,
        };
        signs.retain(|target, _| relied_on.contains(target));
        // Nobody is relied on before a job has been sent to somebody; a broker
        // that does nothing is not woken up for it.
        if relied_on.is_empty() && under_way.changed().await.is_err() {
            return;
        }
        for target in relied_on {
            let seen = signs.entry(target).or_default();
            let began = tokio::time::Instant::now();
            if look(seen, target, &transport, began, liveness.every).await {
                tell_life(&actor, &transport, &mut lives, target).await;
            } else if seen.refused >= liveness.refused || seen.silent >= liveness.silent {
                let lost = actor.call(move |broker, now| broker.handle(now, Lost(target)));
                if let Ok(jobs) = lost.await
                    && jobs > 0
                {
                    tracing::warn!(?target, jobs, "a service is lost, and jobs with it");
                }
            }
        }
    }
}

/// Asks every LRMS of this broker that has not said for two exchanges how it stands: one
/// that was started without the address of its broker never does. Ends with the machine.
pub(crate) async fn ask(actor: Actor<BrokerAgent>, transport: Arc<HttpTransport>, clock: RunClock) {
    let settings = &transport.setup.config.settings;
    let exchange = settings.exchange;
    if exchange == SimDuration::ZERO || settings.local_info == LocalInfo::Fresh {
        return;
    }
    let mut silent = BTreeSet::new();
    loop {
        tokio::time::sleep(clock.wall(exchange)).await;
        let old = actor.call(move |broker, now| {
            let ages = broker.broker().information_age(now);
            let clusters = ages.filter_map(|(target, age)| match target {
                Target::Cluster(cluster) => Some((cluster, age > exchange + exchange)),
                Target::Peer(_) => None,
            });
            clusters.collect::<Vec<_>>()
        });
        let clusters = match old.await {
            Ok(clusters) => clusters,
            Err(CallError::Busy) => continue,
            Err(CallError::Stopped) => return,
        };
        for (cluster, is_old) in clusters {
            if !is_old && !silent.contains(&cluster) {
                continue;
            }
            // Who does not answer may not be there yet.
            let Ok(sample) = transport.sample(cluster).await else {
                continue;
            };
            if silent.insert(cluster) {
                let name = transport.setup.names.cluster(cluster);
                tracing::warn!(
                    "the LRMS {name} does not report its load to this broker, which asks for it \
                     instead, once in each exchange (started with --broker URL it reports)"
                );
            }
            let told = actor.call(move |broker, now| {
                // Its clock may be another one.
                let sample = LoadSample { at: now, ..sample };
                let from = Target::Cluster(cluster);
                broker.handle(now, Received::new(from, Push::from(vec![sample])))
            });
            if let Ok(Err(Unexpected)) = told.await {
                tracing::warn!(?cluster, "a load was not taken in");
            }
        }
    }
}

/// Whether the service answers.
async fn look(
    seen: &mut Signs,
    target: Target,
    transport: &HttpTransport,
    began: tokio::time::Instant,
    every: Duration,
) -> bool {
    let Ok(base) = transport.base(target) else {
        return false;
    };
    match transport.client.healthy(base).await {
        Err(ClientError::NotReached { .. }) => seen.refused += 1,
        Err(ClientError::NoAnswer { .. }) => {
            seen.note_silence(began.elapsed(), transport.client.timeout(), every);
        }
        // Any answer is a sign of life.
        _ => {
            *seen = Signs::default();
            return true;
        }
    }
    false
}

/// Tells the broker which life of a service answers, if it is another one than in `lives`.
async fn tell_life(
    actor: &Actor<BrokerAgent>,
    transport: &HttpTransport,
    lives: &mut BTreeMap<Target, u64>,
    service: Target,
) {
    let Ok(base) = transport.base(service) else {
        return;
    };
    // There are never so many ends: the answer tells the life alone.
    let page = transport.client.ends(base, u64::MAX, Duration::ZERO).await;
    // Who does not tell it, as a service of others, is watched without.
    let Ok(life) = page.map(|page| page.life) else {
        return;
    };
    if lives.get(&service) == Some(&life) {
        return;
    }
    let alive = Alive { service, life };
    let told = actor.call(move |broker, now| broker.handle(now, alive));
    // Whoever is too busy is told after the next look.
    if let Ok(jobs) = told.await
        && lives.insert(service, life).is_some()
        && jobs > 0
    {
        tracing::warn!(
            ?service,
            jobs,
            "a service was restarted; those of its jobs that it has forgotten are lost"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_stood_still_takes_nobody_for_lost_at_once() {
        let Liveness { every, silent, .. } = Liveness::default();
        let most = Duration::from_secs(10);
        let mut seen = Signs::default();
        seen.note_silence(Duration::from_secs(3600), most, every);
        assert!(seen.silent < silent);
        // Who stays silent is lost as before.
        seen.note_silence(most, most, every);
        seen.note_silence(most, most, every);
        assert!(seen.silent >= silent);
    }
}
