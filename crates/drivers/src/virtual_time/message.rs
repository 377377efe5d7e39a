//! Messages between brokers and LRMSs where every message arrives once.

use super::agenda::{Place, Timed};
use gridrig_core::agent::{BrokerSends, LrmsSends, Order, Sampled};
use gridrig_core::ids::{ClusterId, DomainId, JobId};
use gridrig_core::job::Entry;

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
    /// Resource information for this broker.
    Info(DomainId, Sampled),
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
            Message::Info(to, Sampled { domain, .. }) => {
                let is_peer = u16::from(domain != to);
                (Order::Information, to.0, is_peer, u32::from(domain.0))
            }
        }
    }

    #[inline]
    fn which(&self) {}
}
