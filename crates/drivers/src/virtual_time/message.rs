//! Messages between brokers and LRMSs where every message arrives once.

use super::agenda::{Place, Timed};
use gridrig_core::agent::{BrokerSends, LrmsSends, Order, Sampled};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Entry;
use std::sync::Arc;

/// A message on its way to a broker or an LRMS.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A job enters the grid.
    Submit { to: Entry, job: JobId },
    /// A client wants a job removed.
    Cancel { to: Entry, job: JobId },
    /// From this broker.
    FromBroker(DomainId, BrokerSends),
    /// From this LRMS.
    FromLrms(ClusterId, LrmsSends),
    /// Resource information for the broker whose clusters were sampled.
    Info(Sampled),
    /// The same for other brokers, which it reaches at one instant.
    InfoToPeers(Arc<[DomainId]>, Sampled),
}

impl Timed for Message {
    type Which = ();

    #[inline]
    fn place(&self) -> Place {
        match self {
            Message::Submit { to, job } => to.place(Order::Arrival, *job),
            Message::Cancel { to, job } => to.place(Order::Cancellation, *job),
            Message::FromBroker(from, message) => message.place(*from, |passed| passed.job),
            Message::FromLrms(from, message) => message.place(*from),
            Message::Info(Sampled { domain, .. }) => {
                (Order::Information, domain.0, 0, u32::from(domain.0))
            }
            // What reaches a broker of itself comes first.
            Message::InfoToPeers(_, Sampled { domain, .. }) => {
                (Order::Information, u16::MAX, 1, u32::from(domain.0))
            }
        }
    }

    #[inline]
    fn which(&self) {}
}
