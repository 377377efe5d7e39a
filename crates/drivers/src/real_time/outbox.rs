//! Messages on their way: latency, order, retries.

use super::clock::RunClock;
use super::recall::Recall;
use crate::faults::Faults;
use gridrig_core::agent::{AfterTry, Envelope, Message, Tries, Undelivered};
use gridrig_core::event::{MessageKind, Party};
use gridrig_core::ids::ClusterId;
use gridrig_core::load::LoadSample;
use gridrig_core::time::SimTime;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

pub use gridrig_core::transport::TransportError;

/// Carries messages to other services.
pub trait Transport: Send + Sync + 'static {
    /// What it carries.
    type Message: Message;

    /// Delivers a message once. Repeating a delivery has no further effect at
    /// the receiver, which knows messages by their names and jobs by their keys.
    ///
    /// # Errors
    /// Says whether the receiver can have taken the message in.
    fn deliver(
        &self,
        envelope: &Envelope<Self::Message>,
    ) -> impl Future<Output = Result<(), TransportError>> + Send;

    /// What is planned to go wrong with what it carries.
    fn faults(&self) -> Faults {
        Faults::default()
    }

    /// Reads the present load of an own cluster; whoever is no broker has none.
    ///
    /// # Errors
    /// When the LRMS cannot be read.
    fn sample(
        &self,
        cluster: ClusterId,
    ) -> impl Future<Output = Result<LoadSample, TransportError>> + Send {
        let none = TransportError::not_reached(cluster.to_string(), "only brokers read loads");
        std::future::ready(Err(none))
    }
}

/// How the delivery of a message ended.
#[derive(Clone, Debug)]
pub struct Delivery<M> {
    /// The message.
    pub envelope: Envelope<M>,
    /// Whether it arrived.
    pub result: Result<(), TransportError>,
}

/// Sends messages off when they are due, one after the other to each receiver,
/// so that what was sent first arrives first.
pub struct Outbox<T: Transport> {
    clock: RunClock,
    transport: Arc<T>,
    senders: BTreeMap<Receiver, mpsc::UnboundedSender<Posted<T::Message>>>,
    reports: mpsc::UnboundedSender<Delivery<T::Message>>,
    under_way: Arc<watch::Sender<usize>>,
    tasks: JoinSet<()>,
}

/// A message, by which it can be called back where that may be wanted, and the
/// tries so far.
type Posted<M> = (Envelope<M>, Option<Recall>, Tries);

type Receiver = (Party, Option<Arc<str>>);

/// Most receivers that clients name at a time, and most messages under way beside
/// which one to such a receiver is still taken: they choose how many these are.
const MOST_NAMED: usize = 1000;
const MOST_UNDER_WAY: usize = 100_000;

/// A receiver for whom there is no message for this long has no task.
const SENDER_IDLE: Duration = Duration::from_secs(60);

impl<T: Transport> Outbox<T> {
    /// An outbox that reports every delivery to `reports`.
    pub fn new(
        clock: RunClock,
        transport: Arc<T>,
        reports: mpsc::UnboundedSender<Delivery<T::Message>>,
    ) -> Self {
        Outbox {
            clock,
            transport,
            senders: BTreeMap::new(),
            reports,
            under_way: Arc::new(watch::Sender::new(0)),
            tasks: JoinSet::new(),
        }
    }

    /// Messages whose delivery has not ended; to be watched until it is 0.
    pub fn under_way(&self) -> watch::Receiver<usize> {
        self.under_way.subscribe()
    }

    /// The transport, for reading loads.
    pub fn transport(&self) -> &Arc<T> {
        &self.transport
    }

    /// Sends a message off when it is due.
    pub fn post(&mut self, envelope: Envelope<T::Message>) {
        self.send(envelope, None, Tries::default());
    }

    /// The same with one that may have got through before its sender was restarted.
    pub fn post_again(&mut self, envelope: Envelope<T::Message>) {
        self.send(envelope, None, Tries::AGAIN);
    }

    /// The same with a message that can be called back, or has been tried before.
    pub(super) fn send(
        &mut self,
        mut envelope: Envelope<T::Message>,
        recall: Option<Recall>,
        tries: Tries,
    ) {
        self.under_way.send_modify(|n| *n += 1);
        let (now, way) = (self.clock.now(), (envelope.from, envelope.message.to()));
        let delay = self.transport.faults().delay(now, way.0, way.1);
        envelope.due = match delay.is_zero() {
            true => envelope.due,
            false => envelope.due.max(now) + delay,
        };
        // Data, or what is delayed, is under way for long: whatever is sent meanwhile
        // overtakes it.
        if envelope.message.data_of().is_some() || !delay.is_zero() {
            let (sender, envelopes) = mpsc::unbounded_channel();
            let _ = sender.send((envelope, recall, tries));
            self.tasks.spawn(self.sender().run(envelopes));
            return;
        }
        let receiver = (envelope.message.to(), envelope.address.clone());
        if envelope.address.is_some() && self.is_crowded(&receiver) {
            let to = format!("{:?}", envelope.message.to());
            let why = "too many receivers of news, or too much to send";
            let result = Err(TransportError::not_reached(to, why));
            let _ = self.reports.send(Delivery { envelope, result });
            self.under_way.send_modify(|n| *n -= 1);
            return;
        }
        let posted = match self.senders.get(&receiver) {
            Some(open) => match open.send((envelope, recall, tries)) {
                Ok(()) => return,
                Err(mpsc::error::SendError(posted)) => posted,
            },
            None => (envelope, recall, tries),
        };
        self.senders.retain(|_, sender| !sender.is_closed());
        let (sender, envelopes) = mpsc::unbounded_channel();
        // The channel has just been made, so its other end is there.
        let _ = sender.send(posted);
        self.senders.insert(receiver, sender);
        self.tasks.spawn(self.sender().run(envelopes));
    }

    /// Waits until a task that sends has panicked, and goes on with its panic: what
    /// it had to deliver would never be reported.
    pub async fn panicked(&mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
                std::panic::resume_unwind(panic);
            }
        }
        std::future::pending().await
    }

    fn is_crowded(&self, receiver: &Receiver) -> bool {
        let named = self.senders.iter();
        let named = named.filter(|((_, to), sender)| to.is_some() && !sender.is_closed());
        *self.under_way.borrow() > MOST_UNDER_WAY
            || !self.senders.contains_key(receiver) && named.count() >= MOST_NAMED
    }

    fn sender(&self) -> Sender<T> {
        Sender {
            clock: self.clock,
            transport: Arc::clone(&self.transport),
            reports: self.reports.clone(),
            under_way: Arc::clone(&self.under_way),
            down: false,
        }
    }
}

/// Sends to one receiver.
struct Sender<T: Transport> {
    clock: RunClock,
    transport: Arc<T>,
    reports: mpsc::UnboundedSender<Delivery<T::Message>>,
    under_way: Arc<watch::Sender<usize>>,
    /// The last message did not get through: the next gets fewer [`Tries`].
    down: bool,
}

impl<T: Transport> Sender<T> {
    async fn run(mut self, mut envelopes: mpsc::UnboundedReceiver<Posted<T::Message>>) {
        loop {
            let (envelope, recall, tries) =
                match tokio::time::timeout(SENDER_IDLE, envelopes.recv()).await {
                    Ok(Some(posted)) => posted,
                    Ok(None) => return,
                    Err(_idle) => {
                        envelopes.close();
                        // What slipped in before the close is still delivered.
                        match envelopes.try_recv() {
                            Ok(posted) => posted,
                            Err(_) => return,
                        }
                    }
                };
            let result = match self.wait_for(envelope.due, recall.as_ref()).await {
                true => self.deliver(&envelope, tries).await,
                false => Err(TransportError::CalledBack),
            };
            self.down = matches!(&result, Err(error) if error.fate().is_silence());
            if self.down {
                self.transport.faults().note_given_up();
            }
            // The report comes before the count, so that whoever waits for 0
            // finds every report in the machine's mailbox.
            let _ = self.reports.send(Delivery { envelope, result });
            self.under_way.send_modify(|n| *n -= 1);
        }
    }

    /// Waits until a message is due; `false` if it was called back meanwhile.
    async fn wait_for(&self, due: SimTime, recall: Option<&Recall>) -> bool {
        let due = self.clock.sleep_until(due);
        let Some(recall) = recall else {
            due.await;
            return true;
        };
        tokio::select! {
            () = recall.called_back() => {}
            () = due => {}
        }
        recall.leave()
    }

    async fn deliver(
        &self,
        envelope: &Envelope<T::Message>,
        mut tries: Tries,
    ) -> Result<(), TransportError> {
        let mut unanswered = (tries == Tries::AGAIN).then(|| {
            Err(TransportError::NoAnswer {
                to: format!("{:?}", envelope.message.to()),
                why: "its sender was restarted meanwhile".to_owned(),
            })
        });
        loop {
            let way = (envelope.from, envelope.message.to());
            let is_information = envelope.message.kind() == Some(MessageKind::Info);
            let result = self.transport.deliver(envelope);
            let (faults, now) = (self.transport.faults(), self.clock.now());
            let result = faults.carry(now, way, is_information, result).await;
            let fate = result.as_ref().map_err(TransportError::fate);
            match tries.note(fate.copied(), self.down) {
                AfterTry::Again(_)
                    if fate == Err(Undelivered::Busy) && envelope.message.is_question() =>
                {
                    return result;
                }
                AfterTry::Again(wait) => {
                    if fate == Err(Undelivered::NoAnswer) {
                        unanswered = Some(result);
                    }
                    tokio::time::sleep(Duration::from_nanos(wait.as_nanos())).await;
                }
                AfterTry::Over(Err(Undelivered::NoAnswer))
                    if fate != Err(Undelivered::NoAnswer) =>
                {
                    return unanswered.unwrap_or(result);
                }
                AfterTry::Over(_) => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::agent::{Arrival, EnvelopeId, FromBroker, ToPeer};
    use gridrig_core::ids::{DomainId, JobId};
    use gridrig_core::job::JobSpec;
    use gridrig_core::time::{Decimal, SimDuration};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Never answers, and counts how often it is asked.
    #[derive(Default)]
    struct Silent(AtomicU32);

    impl Transport for Silent {
        type Message = FromBroker;

        async fn deliver(&self, _envelope: &Envelope<FromBroker>) -> Result<(), TransportError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(TransportError::NoAnswer {
                to: "somebody".to_owned(),
                why: "a test".to_owned(),
            })
        }
    }

    /// Has too much to do.
    #[derive(Default)]
    struct Crowded(AtomicU32);

    impl Transport for Crowded {
        type Message = FromBroker;

        async fn deliver(&self, _envelope: &Envelope<FromBroker>) -> Result<(), TransportError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(TransportError::Busy {
                to: "somebody".to_owned(),
            })
        }
    }

    #[tokio::test]
    async fn a_question_that_is_to_come_again_keeps_nobody_waiting() {
        let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
        let (reports_in, mut reports) = mpsc::unbounded_channel();
        let transport = Arc::new(Crowded::default());
        let mut outbox = Outbox::new(clock, Arc::clone(&transport), reports_in);
        let spec = JobSpec::rigid(JobId(0), 1, SimDuration::from_secs(1));
        let job = Box::new(Arrival {
            sought: true,
            ..Arrival::of(spec)
        });
        for tries in [1, 2] {
            outbox.post(Envelope {
                message: FromBroker::Peer(DomainId(1), ToPeer::Forward(job.clone())),
                ..envelope(clock.now())
            });
            let report = reports.recv().await.unwrap();
            assert!(matches!(report.result, Err(TransportError::Busy { .. })));
            assert_eq!(transport.0.load(Ordering::Relaxed), tries);
        }
    }

    #[test]
    fn nobody_is_given_up_after_one_silence() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
            let (reports_in, mut reports) = mpsc::unbounded_channel();
            let transport = Arc::new(Silent::default());
            let mut outbox = Outbox::new(clock, Arc::clone(&transport), reports_in);
            // Three tries, and two where the message before was not answered.
            for tries in [3, 5] {
                outbox.post(envelope(clock.now()));
                let report = reports.recv().await.unwrap();
                let silent = matches!(report.result, Err(TransportError::NoAnswer { .. }));
                assert!(silent, "{:?}", report.result);
                assert_eq!(transport.0.load(Ordering::Relaxed), tries);
            }
        });
    }

    #[tokio::test]
    async fn receivers_that_clients_name_are_bounded_and_others_are_not() {
        let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
        let (reports_in, mut reports) = mpsc::unbounded_channel();
        let mut outbox = Outbox::new(clock, Arc::new(Counting::default()), reports_in);
        let later = clock.now() + SimDuration::from_secs(3600);
        let mut post = |address: Option<String>| {
            let address = address.map(Arc::from);
            outbox.post(Envelope {
                address,
                ..envelope(later)
            });
        };
        (0..MOST_NAMED).for_each(|n| post(Some(format!("http://127.0.0.1:{n}/"))));
        // To one that is known already, and to one that no client names.
        post(Some("http://127.0.0.1:0/".to_owned()));
        post(None);
        assert!(reports.try_recv().is_err());
        post(Some("http://127.0.0.1/".to_owned()));
        let refused = reports.try_recv().unwrap().result.unwrap_err();
        assert!(
            refused.to_string().contains("too many receivers"),
            "{refused}"
        );
    }

    /// Takes everything, and counts it.
    #[derive(Default)]
    struct Counting(AtomicU32);

    impl Transport for Counting {
        type Message = FromBroker;

        async fn deliver(&self, _envelope: &Envelope<FromBroker>) -> Result<(), TransportError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn envelope(due: SimTime) -> Envelope<FromBroker> {
        let id = EnvelopeId {
            incarnation: 0,
            number: 0,
        };
        Envelope {
            id,
            from: Party::Broker(DomainId(0)),
            address: None,
            due,
            message: FromBroker::Peer(DomainId(1), ToPeer::Cancel(JobId(0))),
        }
    }

    #[test]
    fn a_message_is_handed_over_or_called_back_and_never_both() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let clock = RunClock::starting_in(Duration::ZERO, Decimal::ONE);
            let (reports_in, mut reports) = mpsc::unbounded_channel();
            let transport = Arc::new(Counting::default());
            let mut outbox = Outbox::new(clock, Arc::clone(&transport), reports_in);
            // One that has an hour left is back at once.
            let recall = Recall::default();
            let late = clock.now() + SimDuration::from_secs(3600);
            outbox.send(envelope(late), Some(recall.clone()), Tries::default());
            tokio::task::yield_now().await;
            assert!(recall.call_back());
            let report = reports.recv().await.unwrap();
            assert_eq!(report.result, Err(TransportError::CalledBack));
            assert_eq!(transport.0.load(Ordering::Relaxed), 0);
            // One that has left is not to be had any more.
            let recall = Recall::default();
            outbox.send(
                envelope(clock.now()),
                Some(recall.clone()),
                Tries::default(),
            );
            assert_eq!(reports.recv().await.unwrap().result, Ok(()));
            assert!(!recall.call_back());
            assert_eq!(transport.0.load(Ordering::Relaxed), 1);
            assert_eq!(*outbox.under_way().borrow(), 0);
        });
    }
}
