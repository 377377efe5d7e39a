//! The resolved scenario as TOML.

use super::external::{ExternalBroker, Submit, THE_ONLY_POLICY};
use super::raw::Choose;
use super::value::{Named, name_of};
use super::{BrokerKind, Clock, ClusterSource, DayHours, Over, RealLrms, Scenario, Until};
use gridrig_core::discipline::DisciplineKind;
use gridrig_core::grid::{BrokerSettings, Grid, GridCluster, Link};
use gridrig_core::ids::{ClusterId, DomainId};
use gridrig_core::job::Entry;
use gridrig_core::time::{Decimal, SimDuration};
use gridrig_results::threshold::Figure;
use gridrig_tracelab::draw::Draw;
use gridrig_tracelab::spec::{Keep, WorkloadSpec, ZeroRunTime};
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

/// How files are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paths {
    /// As they were found.
    Whole,
    /// Without their directories.
    Names,
}

pub(super) fn to_toml(scenario: &Scenario, paths: Paths) -> String {
    let mut out = Lines(String::new());
    for workload in &scenario.workloads {
        out.header("[[workload]]");
        write_workload(&mut out, workload, &scenario.grid, paths);
    }
    let cluster = |id| cluster_and_more(scenario, id, paths);
    if scenario.grid.domains.is_empty() && !scenario.grid.clusters.is_empty() {
        out.header("[cluster]");
        for (key, value) in cluster(ClusterId(0)) {
            out.key(key, value);
        }
    }
    for (id, domain) in (0..).map(DomainId).zip(&scenario.grid.domains) {
        out.header("[[domain]]");
        out.key("name", string(&domain.name));
        if let Some(hours) = scenario.provides.domains.get(&id) {
            out.key("provides", hours_list(hours));
        }
        let clusters: Vec<String> = domain
            .clusters
            .iter()
            .map(|id| inline(&cluster(*id)))
            .collect();
        if clusters.is_empty() {
            out.key("clusters", "[]");
        } else {
            out.key(
                "clusters",
                format!("[\n    {},\n]", clusters.join(",\n    ")),
            );
        }
        out.header("[domain.broker]");
        match scenario.external.brokers.get(&id) {
            Some(theirs) => write_external(&mut out, theirs),
            None => write_broker(&mut out, &domain.broker),
        }
    }
    write_links(&mut out, scenario);
    write_run(&mut out, scenario);
    out.header("[measure]");
    out.key("from", duration(scenario.measure.from));
    out.key(
        "until",
        match scenario.measure.until {
            Until::End => string("end"),
            Until::At(at) => duration(at),
        },
    );
    out.key("stop", named(scenario.measure.stop));
    out.key("tau", duration(scenario.measure.tau));
    if !scenario.measure.regret {
        out.key("regret", "false");
    }
    out.0
}

/// What the grid says of a cluster, and what it does not.
fn cluster_and_more(
    scenario: &Scenario,
    id: ClusterId,
    paths: Paths,
) -> Vec<(&'static str, String)> {
    let cluster = &scenario.grid.clusters[id.index()];
    let mut keys = cluster_keys(cluster, &scenario.cluster_sources[id.index()], paths);
    let faces = scenario.faces[id.index()].iter();
    let faces: Vec<String> = faces.map(|face| string(face.name())).collect();
    if !faces.is_empty() {
        keys.push(("faces", format!("[{}]", faces.join(", "))));
    }
    if let Some(step) = scenario.arc_steps.get(&id) {
        keys.push(("arc_step", wall(*step)));
    }
    if let Some(dir) = scenario.slurm_bins.get(&id) {
        keys.push(("slurm_bin", path(dir, paths)));
    }
    if let Some(real) = scenario.lrms.get(&id) {
        keys.push(("lrms", string("slurm")));
        keys.push(("lrms_settings", inline(&lrms_settings(real, paths))));
    }
    keys
}

/// A length on the wall.
fn wall(length: std::time::Duration) -> String {
    let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    duration(SimDuration::from_nanos(nanos))
}

/// How a real Slurm is reached and used.
fn lrms_settings(real: &RealLrms, paths: Paths) -> Vec<(&'static str, String)> {
    let settings = &real.settings;
    let file = |key, file: &Option<std::path::PathBuf>| {
        let file = file.as_ref()?;
        Some((key, path(file, paths)))
    };
    let partition = settings.partition.as_ref();
    let keys = [
        file("bin", &settings.bin),
        file("conf", &settings.conf),
        partition.map(|name| ("partition", string(name))),
        file("template", &real.template),
        Some(("poll", wall(settings.poll))),
        Some(("patience", wall(settings.patience))),
    ];
    keys.into_iter().flatten().collect()
}

fn write_broker(out: &mut Lines, broker: &BrokerSettings) {
    out.key("interval", duration(broker.interval));
    out.key("exchange", duration(broker.exchange));
    out.key("phase", duration(broker.phase));
    out.key("max_hops", broker.max_hops);
    out.key("ttl", broker.ttl);
    out.key("origin_promotion", decimal(broker.origin_promotion));
    out.key("own_dispatch", named(broker.own_dispatch));
    out.key("local_info", named(broker.local_info));
    out.key("lrms_latency", duration(broker.lrms_latency));
    out.key("queue_window", named(broker.queue_window));
    out.key("utilization_window", named(broker.utilization_window));
}

fn write_external(out: &mut Lines, broker: &ExternalBroker) {
    let words = |words: &Vec<String>| {
        let words: Vec<String> = words.iter().map(|word| string(word)).collect();
        format!("[{}]", words.join(", "))
    };
    let commands = |commands: &[Vec<String>]| {
        let commands: Vec<String> = commands.iter().map(words).collect();
        format!("[{}]", commands.join(", "))
    };
    out.key("kind", named(BrokerKind::External));
    if !broker.files.is_empty() {
        let files = broker.files.iter();
        let files: Vec<String> = files
            .map(|(name, text)| format!("{} = {}", string(name), string(text)))
            .collect();
        out.key("files", format!("{{ {} }}", files.join(", ")));
    }
    if !broker.start.is_empty() {
        out.key("start", commands(&broker.start));
    }
    if let Some(serve) = &broker.serve {
        out.key("serve", words(serve));
    }
    if let Some(ready) = &broker.ready {
        out.key("ready", words(ready));
    }
    match &broker.submit {
        Submit::Command(submit) => out.key("submit", words(submit)),
        Submit::Outlet(outlet) => out.key("outlet", string(outlet)),
    }
    if let Some(expect) = &broker.expect {
        out.key("expect", string(expect));
    }
    if !broker.stop.is_empty() {
        out.key("stop", commands(&broker.stop));
    }
    out.key("timeout", duration(broker.timeout));
    out.key("at_once", broker.at_once);
    out.key("start_timeout", duration(broker.start_timeout));
    out.key("lost_after", duration(broker.lost_after));
}

fn write_workload(out: &mut Lines, workload: &WorkloadSpec, grid: &Grid, paths: Paths) {
    let source = if workload.is_model { "model" } else { "trace" };
    out.key(source, path(&workload.trace, paths));
    match workload.entry {
        _ if workload.spread.is_some() => {
            let spread = workload.spread.map(|spread| named(spread.by));
            out.key("spread", spread.unwrap_or_default());
        }
        Entry::Domain(id) => out.key("domain", string(&grid.domains[id.index()].name)),
        Entry::Cluster(id) => out.key("cluster", string(&grid.clusters[id.index()].name)),
    }
    out.key("offset", duration(workload.offset));
    out.key("size", named(workload.size));
    if !workload.sanitize.rules().is_empty() {
        out.key("sanitize", string(workload.sanitize.text()));
    }
    if let Some(most) = workload.max_processors {
        out.key("max_processors", most);
    }
    if let Some(window) = workload.window {
        let (start, length) = (duration(window.start), duration(window.length));
        out.key("window", inline(&[("start", start), ("length", length)]));
    }
    if let Some(choice) = workload.choose {
        let mut keys = vec![
            ("length", duration(choice.length)),
            ("choose", named(Choose::Representative)),
            ("step", duration(choice.step)),
        ];
        // What is left out is left to the rule.
        keys.extend(choice.skip_start.map(|skip| ("skip_start", duration(skip))));
        keys.extend(choice.skip_end.map(|skip| ("skip_end", duration(skip))));
        out.key("window", inline(&keys));
    }
    write_keep(out, workload.keep);
    out.key(
        "zero_run_time",
        match workload.zero_run_time {
            ZeroRunTime::As(length) => duration(length),
            ZeroRunTime::Drop => string("drop"),
            ZeroRunTime::Keep => string("keep"),
        },
    );
    let (arrival, run_time) = (
        decimal(workload.scale_arrival),
        decimal(workload.scale_run_time),
    );
    out.key(
        "scale",
        inline(&[("arrival", arrival), ("run_time", run_time)]),
    );
    out.key("min_run_time", duration(workload.min_run_time));
    let requirements = if workload.require_memory {
        "[\"memory\"]"
    } else {
        "[]"
    };
    out.key("requirements", requirements);
    if let Some(draw) = &workload.draw {
        write_draw(out, draw);
    }
}

fn write_keep(out: &mut Lines, keep: Keep) {
    match keep {
        Keep::All => out.key("keep", string("all")),
        Keep::Systematic { m, n, phase } => {
            out.key("keep", string(&format!("{m}/{n}")));
            out.key("phase", phase);
        }
        // Its seed is that of the run.
        Keep::Share { share, .. } => out.key("share", decimal(share)),
        Keep::Load {
            offered,
            processors,
            ..
        } => {
            let (offered, processors) = (decimal(offered), processors.to_string());
            let keys = [("offered", offered), ("processors", processors)];
            out.key("load", inline(&keys));
        }
    }
}

fn write_draw(out: &mut Lines, draw: &Draw) {
    let table = |weights: Vec<(String, u64)>| {
        let weights = weights.iter();
        let keys = weights.map(|(name, weight)| format!("{} = {weight}", string(name)));
        format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
    };
    let names = |weights: &[(Arc<str>, u64)]| {
        let weights = weights.iter();
        table(
            weights
                .map(|(name, weight)| (name.to_string(), *weight))
                .collect(),
        )
    };
    let memory = draw.memory_mib.iter();
    let memory = memory.map(|(mib, weight)| (mib.to_string(), *weight));
    let mut keys = vec![
        ("architecture", names(&draw.architecture)),
        ("os", names(&draw.os)),
        ("burst", format!("[{}, {}]", draw.burst.0, draw.burst.1)),
        ("memory_mib", table(memory.collect())),
    ];
    if let Some(disk) = draw.disk {
        keys.push(("disk_rate_mib", disk.rate_mib.to_string()));
        keys.push(("disk_most_mib", disk.most_mib.to_string()));
        keys.push(("disk_is_data", disk.is_data.to_string()));
    }
    out.key("draw", inline(&keys));
}

fn cluster_keys(
    cluster: &GridCluster,
    source: &ClusterSource,
    paths: Paths,
) -> Vec<(&'static str, String)> {
    let resources = match source {
        ClusterSource::Processors(processors) => ("processors", processors.to_string()),
        ClusterSource::File(file) => ("resources", path(file, paths)),
    };
    let mut keys = vec![
        ("name", string(&cluster.name)),
        resources,
        ("discipline", named(cluster.config.discipline)),
        ("interval", duration(cluster.config.interval)),
    ];
    if cluster.config.discipline == DisciplineKind::SlurmBackfill {
        let slurm = cluster.config.slurm;
        let settings = [
            ("bf_interval", duration(slurm.bf_interval)),
            ("bf_resolution", duration(slurm.bf_resolution)),
            ("bf_window", duration(slurm.bf_window)),
            ("bf_max_job_test", slurm.bf_max_job_test.to_string()),
        ];
        keys.push(("slurm", inline(&settings)));
    }
    keys
}

fn write_links(out: &mut Lines, scenario: &Scenario) {
    let (grid, provides) = (&scenario.grid, &scenario.provides);
    let name = |link: &Link, provider: bool| {
        let id = if provider {
            link.provider
        } else {
            link.consumer
        };
        string(&grid.domains[id.index()].name)
    };
    let mut links = grid.links.iter().peekable();
    while let Some(link) = links.next() {
        // A link that is used both ways is two entries, one after the other,
        // and two domains never have more than one link.
        let back = |next: &&Link| (next.consumer, next.provider) == (link.provider, link.consumer);
        let both_ways = links.next_if(back).is_some();
        out.header("[[link]]");
        let (consumer, provider) = (name(link, false), name(link, true));
        out.key("between", format!("[{consumer}, {provider}]"));
        if !both_ways {
            out.key(
                "roles",
                inline(&[("consumer", consumer), ("provider", provider)]),
            );
        }
        let ends = (link.consumer, link.provider);
        let hours = provides.links.get(&ends);
        if let Some(hours) = hours.or_else(|| provides.links.get(&(ends.1, ends.0))) {
            out.key("provides", hours_list(hours));
        }
        out.key("latency", duration(link.latency));
        if let Some(bandwidth) = link.bandwidth {
            out.key("bandwidth_mib_s", decimal(bandwidth));
        }
        let (a, b) = (link.consumer, link.provider);
        if let Some(protocol) = scenario.protocols.get(&(a.min(b), a.max(b))) {
            out.key("protocol", named(*protocol));
        }
    }
}

fn write_run(out: &mut Lines, scenario: &Scenario) {
    out.header("[run]");
    out.key("name", string(&scenario.name));
    let clock = match scenario.clock {
        Clock::Virtual => "virtual",
        Clock::Real { .. } => "real",
    };
    out.key("clock", string(clock));
    out.key("speed", decimal(scenario.speed));
    let contenders = scenario.contenders().into_iter();
    let policies: Vec<String> = contenders
        .filter_map(|contender| contender.name())
        .map(|name| string(&name))
        .collect();
    if let Some(domain) = scenario.grid.domains.first() {
        let only = scenario.external.policies == [THE_ONLY_POLICY];
        if !only {
            out.key("policies", format!("[{}]", policies.join(", ")));
        }
        if scenario.external.brokers.is_empty() {
            out.key("bounds", scenario.bounds);
        }
        out.key("tie", named(domain.broker.tie));
    }
    out.key("seed", scenario.seed);
    if !scenario.provides.is_always() {
        out.key("day", duration(scenario.provides.day));
        out.key(
            "starts_at",
            string(&scenario.provides.starts_at.to_string()),
        );
    }
    if let Some(replicate) = scenario.replicate {
        let mut keys = vec![("over", named(replicate.over.name()))];
        if let Over::Window { step } | Over::Shake { step } = replicate.over {
            keys.push(("step", duration(step)));
        }
        keys.push(("count", replicate.count.to_string()));
        out.key("replicate", inline(&keys));
    }
    let bounds: Vec<String> = scenario
        .require
        .iter()
        .map(|b| string(&b.to_string()))
        .collect();
    out.key("require", format!("[{}]", bounds.join(", ")));
    if scenario.primary != [Figure::DEFAULT] {
        let primary = scenario
            .primary
            .iter()
            .map(|figure| string(&figure.to_string()));
        let primary: Vec<String> = primary.collect();
        out.key("primary", format!("[{}]", primary.join(", ")));
    }
    out.key("lag_tolerance", duration(scenario.lag_tolerance));
}

fn hours_list(hours: &[DayHours]) -> String {
    let hours: Vec<String> = hours.iter().map(|one| string(&one.to_string())).collect();
    format!("[{}]", hours.join(", "))
}

/// Lines of TOML.
struct Lines(String);

impl Lines {
    fn header(&mut self, header: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(header);
        self.0.push('\n');
    }

    fn key(&mut self, key: &str, value: impl Display) {
        self.0.push_str(&format!("{key} = {value}\n"));
    }
}

fn inline(keys: &[(&str, String)]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn duration(duration: SimDuration) -> String {
    string(&duration.to_string())
}

fn decimal(decimal: Decimal) -> String {
    decimal.to_string()
}

fn named<T: Named + PartialEq>(value: T) -> String {
    string(name_of(value))
}

fn path(path: &Path, paths: Paths) -> String {
    let shown = match paths {
        Paths::Whole => path,
        Paths::Names => path.file_name().map_or(path, Path::new),
    };
    string(&shown.to_string_lossy())
}
