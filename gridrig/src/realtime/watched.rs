//! A run that Prometheus looks at: the metrics of whoever submits, and a file
//! that says where everybody listens.

use super::{RealOptions, Services};
use axum::Router;
use axum::routing::get;
use gridrig_drivers::real_time::{Recorder, RunClock};
use gridrig_replayer::player::Progress;
use gridrig_service::http::metrics::{Target, TargetsFile, metrics_route, table};
use gridrig_service::http::{self, Door, Faults, Labels, Metrics, Samples, ServiceThread};
use gridrig_service::{clock_samples, count_samples, incarnation, lag_samples};
use parking_lot::Mutex;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

/// `/metrics` of whoever submits a workload, as long as this lives.
pub struct SubmitterMetrics {
    thread: ServiceThread,
    progress: Arc<Mutex<Progress>>,
    labels: Labels,
}

impl SubmitterMetrics {
    /// Serves at this address, and under these names of it, what is known of the handing
    /// over of `jobs` jobs: what `recorder` hears, and what [`update`](Self::update) says.
    ///
    /// # Errors
    /// When the address cannot be bound or no thread can be had.
    pub fn serve(
        (bind, names): (SocketAddr, &[String]),
        labels: &Labels,
        jobs: usize,
        clock: RunClock,
        recorder: &Recorder,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(bind)?;
        let labels = Labels::of("replay").and(labels);
        let metrics = Arc::new(Metrics::new(labels.clone(), incarnation()));
        let progress = Arc::new(Mutex::new(Progress {
            jobs,
            ..Progress::default()
        }));
        let (seen, recorder) = (Arc::clone(&progress), recorder.clone());
        let look = move |samples: &mut Samples| {
            let now = *seen.lock();
            observe(now, clock, &recorder, samples);
        };
        let router = Router::new()
            .merge(metrics_route(Arc::clone(&metrics), look))
            .route("/healthz", get(async || "ok"));
        let router = http::bounded(router, Arc::clone(&metrics), Faults::default());
        let router = http::guarded(router, listener.local_addr()?, names, metrics);
        let thread = ServiceThread::spawn("submitter", listener, async move |listener, life| {
            http::serve(Door::open(listener, None)?, router, life).await
        })?;
        Ok(SubmitterMetrics {
            thread,
            progress,
            labels,
        })
    }

    /// How far the handing over has come.
    pub fn update(&self, progress: Progress) {
        *self.progress.lock() = progress;
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.thread.address()
    }

    /// The labels of its metrics.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}

fn observe(progress: Progress, clock: RunClock, recorder: &Recorder, samples: &mut Samples) {
    clock_samples(clock, clock.now(), samples);
    let planned = progress.jobs.saturating_sub(progress.submitted);
    let open = progress.submitted.saturating_sub(progress.ended);
    samples.level(&table::JOBS, &["planned"], planned as f64);
    samples.level(&table::JOBS, &["open"], open as f64);
    samples.level(&table::WORKLOAD_JOBS, &[], progress.jobs as f64);
    let counts = recorder.counts();
    count_samples(&counts, samples);
    lag_samples(&counts, samples);
}

/// What lasts as long as a run that is looked at.
pub(super) struct Watched {
    pub submitter: SubmitterMetrics,
    _file: TargetsFile,
}

/// Offers the metrics of a run, where its options have a folder for targets.
pub(super) fn watch(
    services: &Services,
    options: &RealOptions,
    jobs: usize,
    clock: RunClock,
    recorder: &Recorder,
) -> io::Result<Option<Watched>> {
    let Some(folder) = &options.monitoring.targets else {
        return Ok(None);
    };
    let at: (SocketAddr, &[String]) = ((Ipv4Addr::LOCALHOST, 0).into(), &[]);
    let labels = &options.monitoring.labels;
    let submitter = SubmitterMetrics::serve(at, labels, jobs, clock, recorder)?;
    let mut targets = services.targets();
    targets.push(Target::new(submitter.address(), submitter.labels()));
    let file = TargetsFile::write(folder, "run", &targets)?;
    Ok(Some(Watched {
        submitter,
        _file: file,
    }))
}
