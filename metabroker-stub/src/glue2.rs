//! A broker's domain as a GLUE 2.0 document: what the broker was last told of
//! its own clusters, and what waits in it.

use crate::App;
use gridrig_core::agent::BrokerAgent;
use gridrig_core::load::LoadSample;
use gridrig_core::message::Target;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::glue2::instant;
use gridrig_protocol::glue2::ogf::{Cluster, Domain};
use gridrig_protocol::rest::Result;
use gridrig_protocol::xml::Element;

/// The document, for a reader who knows the broker by this address.
pub(crate) async fn document(app: &App, base: &str) -> Result<Element> {
    let look = |broker: &mut Driven<BrokerAgent>, now| {
        let samples = own_samples(broker);
        (broker.broker().queued() as u64, samples, now)
    };
    let (waiting, samples, now) = app.call(look).await?;
    let setup = &app.config.setup;
    let wall = |at| instant(app.config.clock.unix_ns(at) / 1_000_000_000);
    let clusters = setup.config.clusters.iter().filter_map(|(id, resources)| {
        let sample = samples.iter().find(|sample| sample.cluster == *id)?;
        Some(Cluster {
            name: setup.names.cluster(*id).into_owned(),
            created: wall(sample.at),
            resources,
            sample,
        })
    });
    let peers = setup.config.peers.iter();
    let domain = Domain {
        name: &setup.name,
        created: wall(now),
        base,
        waiting,
        clusters: clusters.collect(),
        providers: peers
            .map(|peer| setup.names.domain(peer.domain).into_owned())
            .collect(),
    };
    Ok(domain.element())
}

/// What the clusters of the broker last reported.
pub(crate) fn own_samples(broker: &BrokerAgent) -> Vec<LoadSample> {
    let all = broker.broker().samples();
    let own = all.filter(|(target, _)| matches!(target, Target::Cluster(_)));
    own.flat_map(|(_, samples)| samples.to_vec()).collect()
}
