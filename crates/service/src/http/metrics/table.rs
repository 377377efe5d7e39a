//! Every metric there is: the one table that the services fill in, and that
//! the documentation, the dashboards and the tests are made from.

/// What a metric counts or shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// Only rises while a service lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by size.
    Histogram,
    /// Says something by its labels; its value is 1.
    Info,
}

impl Kind {
    /// Its name in OpenMetrics.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name without `gridrig_` before it and the unit behind it.
    pub stem: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its base unit, the end of its name; none for what is only counted.
    pub unit: Option<&'static str>,
    /// What it says, in a sentence without its full stop.
    pub help: &'static str,
    /// The labels of its own; those of the service come on top.
    pub labels: &'static [&'static str],
    /// The kinds of service that have it.
    pub services: &'static [&'static str],
}

impl Metric {
    const fn of(kind: Kind, stem: &'static str, services: &'static [&'static str]) -> Self {
        Metric {
            stem,
            kind,
            unit: None,
            help: "",
            labels: &[],
            services,
        }
    }

    const fn in_unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    const fn by(mut self, labels: &'static [&'static str]) -> Self {
        self.labels = labels;
        self
    }

    const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// Its name, such as `gridrig_virtual_time_seconds`.
    pub fn name(&self) -> String {
        match self.unit {
            Some(unit) => format!("{PREFIX}_{}_{unit}", self.stem),
            None => format!("{PREFIX}_{}", self.stem),
        }
    }

    /// The names of its series, as queries use them.
    pub fn series(&self) -> Vec<String> {
        let name = self.name();
        match self.kind {
            Kind::Counter => vec![format!("{name}_total")],
            Kind::Gauge => vec![name],
            Kind::Histogram => ["bucket", "sum", "count"]
                .map(|end| format!("{name}_{end}"))
                .into(),
            Kind::Info => vec![format!("{name}_info")],
        }
    }
}

/// What every name begins with.
pub const PREFIX: &str = "gridrig";

const ALL_SERVICES: &[&str] = &["emulator", "broker", "replay", "dashboard"];
const CLOCKED: &[&str] = &["emulator", "broker", "replay"];
const MACHINES: &[&str] = &["emulator", "broker"];

/// The metrics, each a static, and all of them in `ALL`.
macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident = $metric:expr;)+) => {
        $($(#[$doc])* pub static $name: Metric = $metric;)+

        /// All metrics, in the order in which they are shown.
        pub static ALL: [&Metric; [$(stringify!($name)),+].len()] = [$(&$name),+];
    };
}

metrics! {
    /// The version of the program.
    BUILD = Metric::of(Kind::Info, "build", ALL_SERVICES)
        .by(&["version"])
        .help("The version of gridrig that serves this");
    /// When this life of the service began.
    START_TIME = Metric::of(Kind::Gauge, "start_time", ALL_SERVICES)
        .in_unit("seconds")
        .help("When this incarnation of the service started, in Unix time");
    /// The run's clock.
    VIRTUAL_TIME = Metric::of(Kind::Gauge, "virtual_time", CLOCKED)
        .in_unit("seconds")
        .help("The time of the run, by the clock of the service");
    /// How fast that clock goes.
    CLOCK_SPEED = Metric::of(Kind::Gauge, "clock_speed", CLOCKED)
        .in_unit("ratio")
        .help("Seconds of the run that pass in a second of wall-clock time");
    /// Jobs that are there, by what they do.
    JOBS = Metric::of(Kind::Gauge, "jobs", CLOCKED)
        .by(&["state"])
        .help(
            "Jobs at the service, by state: queued and running in an LRMS; queued and sent at a \
             broker; planned (not yet submitted) and open (without a known end) at the replayer",
        );
    /// What the waiting jobs want.
    QUEUED_PROCESSORS = Metric::of(Kind::Gauge, "queued", &["emulator"])
        .in_unit("processors")
        .help("Processors that the jobs queued in the LRMS want");
    /// Processors in use.
    BUSY_PROCESSORS = Metric::of(Kind::Gauge, "busy", &["emulator"])
        .in_unit("processors")
        .help("Processors of the cluster that run a job");
    /// Processors that could be in use.
    AVAILABLE_PROCESSORS = Metric::of(Kind::Gauge, "available", &["emulator"])
        .in_unit("processors")
        .help("Processors of the cluster that are up, busy or not");
    /// What has happened to jobs.
    JOB_EVENTS = Metric::of(Kind::Counter, "job_events", CLOCKED)
        .by(&["event"])
        .help("Events of jobs at the service, by their names in /v1/events");
    /// Jobs run for other domains.
    FORWARDED_JOBS = Metric::of(Kind::Counter, "forwarded_jobs", &["broker"])
        .by(&["origin", "executing"])
        .help(
            "Jobs of other domains that the broker has handed to a cluster of its own, by the \
             domain at which they entered and the one that executes them",
        );
    /// The jobs of the workload.
    WORKLOAD_JOBS = Metric::of(Kind::Gauge, "workload_jobs", &["replay"])
        .help("Number of jobs in the workload that is replayed");
    /// How late jobs are handed over.
    SUBMISSION_LAG = Metric::of(Kind::Histogram, "submission_lag", &["replay"])
        .in_unit("seconds")
        .help("How much later than intended a job was submitted, in seconds of the run");
    /// How old a broker's knowledge is.
    INFORMATION_AGE = Metric::of(Kind::Gauge, "information_age", &["broker"])
        .in_unit("seconds")
        .by(&["source", "source_kind"])
        .help(
            "Age of the oldest information that the broker uses about a source (lrms: a cluster \
             of its own, broker: a peer), in seconds of the run",
        );
    /// Messages sent.
    MESSAGES_SENT = Metric::of(Kind::Counter, "messages_sent", CLOCKED)
        .by(&["kind"])
        .help("Messages of the model that were sent, by kind");
    /// Messages received.
    MESSAGES_RECEIVED = Metric::of(Kind::Counter, "messages_received", MACHINES)
        .by(&["kind"])
        .help("Messages of the model that were received, each counted once, by kind");
    /// Messages that came again.
    MESSAGES_REPEATED = Metric::of(Kind::Counter, "messages_repeated", MACHINES)
        .help("Messages that were delivered again and changed nothing");
    /// Messages that never arrived.
    MESSAGES_UNDELIVERED = Metric::of(Kind::Counter, "messages_undelivered", MACHINES)
            .by(&["kind"])
            .help("Messages that were given up after several tries, by kind");
    /// How long requests take.
    REQUEST_DURATION = Metric::of(Kind::Histogram, "http_request_duration", ALL_SERVICES)
            .in_unit("seconds")
            .by(&["method", "route", "status"])
            .help(
                "Wall time from a request to its answer, by route and class of status; a request \
             that waits for news (/v1/ends) counts its wait",
            );
}

/// The labels that say which service a series is from.
pub const SERVICE_LABELS: [(&str, &str); 6] = [
    ("service", "emulator, broker, replay or dashboard"),
    ("run", "the run: SCENARIO-SEED"),
    ("replication", "which repeat of the run: r000, r001, ..."),
    ("policy", "the forwarding policy"),
    ("domain", "the domain of the broker or of the cluster"),
    ("cluster", "the cluster of an emulator"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_name(text: &str) -> bool {
        let mut envelopes = text.chars();
        envelopes.next().is_some_and(|c| c.is_ascii_lowercase())
            && envelopes.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    }

    #[test]
    fn names_follow_the_rules_of_openmetrics() {
        let mut names = std::collections::BTreeSet::new();
        for metric in ALL {
            let name = metric.name();
            assert!(is_name(&name), "{name}");
            // The suffixes belong to the format, a unit stands once.
            for suffix in ["_total", "_info", "_bucket", "_count", "_sum", "_created"] {
                assert!(!name.ends_with(suffix), "{name}");
            }
            if let Some(unit) = metric.unit {
                assert!(!metric.stem.contains(unit), "{name}: its unit is doubled");
            }
            if metric.kind == Kind::Histogram {
                assert_eq!(metric.unit, Some("seconds"), "{name}");
            }
            for series in metric.series() {
                assert!(names.insert(series.clone()), "{series} twice");
            }
            assert!(!metric.help.ends_with('.'), "{name}: the format adds it");
        }
    }

    #[test]
    fn no_label_names_a_job_or_clashes_with_those_of_the_service() {
        for metric in ALL {
            for label in metric.labels {
                assert!(is_name(label), "{label}");
                let taken = SERVICE_LABELS.iter().any(|(name, _)| name == label);
                assert!(!taken, "{label}");
                let reserved = ["job", "job_id", "user", "instance", "le", "quantile"];
                assert!(!reserved.contains(label), "{label}");
            }
        }
    }
}
