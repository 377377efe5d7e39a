//! `sinfo`

use super::format::{
    self, Field, Piece,
    Shows::{Always, Value},
    field,
};
use super::scontrol::{reserved_nodes, times_of};
use super::{Said, list, options, refuse};
use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::site::{Down, NOBODY, Node, Site, VERSION, gres};
use crate::faces::slurm::store::JobStore;
use crate::faces::slurm::wire::{Answer, Request};
use crate::slurm::hostlist;
use crate::slurm::times;
use gridrig_core::resource::Resource;
use gridrig_core::time::SimTime;

const DEFAULT: &str = "%9P %.5a %.10l %.6D %.6t %N";
const LONG: &str = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
const BY_NODE: &str = "%9N %.6D %.9P %6t";
const BY_NODE_LONG: &str = "%9N %.6D %.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
const REASONS: &str = "%20E %9u %19H %N";
const REASONS_LONG: &str = "%20E %12U %19H %6t %N";
const SUMMARY: &str = "%9P %.5a %.10l %.16F %N";

type Show = fn(&Line<'_>) -> String;

#[rustfmt::skip]
static FIELDS: [Field<Show>; 48] = [
    field('1', "allocmem", "ALLOCMEM", Always("0")),
    field('S', "allocnodes", "ALLOCNODES", Always("all")),
    field('a', "available", "AVAIL", Always("up")),
    field('V', "cluster", "CLUSTER", Always("N/A")),
    field('2', "comment", "COMMENT", Always("(null)")),
    field('Y', "cores", "CORES", Always("1")),
    field('c', "cpus", "CPUS", Value(|line| line.node_cpus().to_string())),
    field('O', "cpusload", "CPU_LOAD", Value(|line| format!("{}.00", line.taken()))),
    field('C', "cpusstate", "CPUS(A/I/O/T)", Value(cpus)),
    field('L', "defaulttime", "DEFAULTTIME", Always("n/a")),
    field('d', "disk", "TMP_DISK", Value(|line| line.amount(|g| g.disk_mib, 0))),
    field('3', "extra", "EXTRA", Always("(null)")),
    field('f', "features", "AVAIL_FEATURES", Always("(null)")),
    field('b', "features_act", "ACTIVE_FEATURES", Always("(null)")),
    field('e', "freemem", "FREE_MEM", Value(|line| line.amount(|g| g.memory_mib, 1))),
    field('G', "gres", "GRES", Value(|line| line.group().map_or_else(String::new, gres))),
    field('4', "gresused", "GRES_USED", Always("(null)")),
    field('g', "groups", "GROUPS", Always("all")),
    field('B', "maxcpuspernode", "MAX_CPUS_PER_NODE", Always("UNLIMITED")),
    field('m', "memory", "MEMORY", Value(|line| line.amount(|g| g.memory_mib, 1))),
    field('o', "nodeaddr", "NODE_ADDR", Value(first_name)),
    field('A', "nodeai", "NODES(A/I)", Value(|line| format!("{}/{}", line.busy(), line.idle()))),
    field('F', "nodeaiot", "NODES(A/I/O/T)", Value(nodes)),
    field('n', "nodehost", "HOSTNAMES", Value(first_name)),
    field('N', "nodelist", "NODELIST", Value(names)),
    field('D', "nodes", "NODES", Value(|line| line.nodes.len().to_string())),
    field('h', "oversubscribe", "OVERSUBSCRIBE", Always("NO")),
    field('P', "partition", "PARTITION", Value(|line| format!("{}*", line.site.partition))),
    field('R', "partitionname", "PARTITION", Value(|line| line.site.partition.clone())),
    field('5', "port", "PORT", Always("0")),
    field('M', "preemptmode", "PREEMPT_MODE", Always("OFF")),
    field('I', "priorityjobfactor", "PRIO_JOB_FACTOR", Always("1")),
    field('p', "prioritytier", "PRIO_TIER", Always("1")),
    field('E', "reason", "REASON", Value(|line| line.down().map_or("none".to_owned(), |it| it.reason.clone()))),
    field('r', "root", "ROOT", Always("no")),
    field('s', "size", "JOB_SIZE", Always("1-infinite")),
    field('z', "socketcorethread", "S:C:T", Value(|line| format!("{}:1:1", line.node_cpus()))),
    field('X', "sockets", "SOCKETS", Value(|line| line.node_cpus().to_string())),
    field('t', "statecompact", "STATE", Value(|line| line.state().1.to_owned())),
    field('6', "statecomplete", "STATECOMPLETE", Value(|line| line.state().0.to_owned())),
    field('T', "statelong", "STATE", Value(|line| line.state().0.to_owned())),
    field('Z', "threads", "THREADS", Always("1")),
    field('l', "time", "TIMELIMIT", Always("infinite")),
    field('H', "timestamp", "TIMESTAMP", Value(|line| line.known(|it| line.site.stamp(it.at)))),
    field('u', "user", "USER", Value(|line| line.known(|it| it.by.clone()))),
    field('U', "userlong", "USER", Value(|line| line.known(|it| format!("{}({})", it.by, it.uid)))),
    field('v', "version", "VERSION", Always(VERSION)),
    field('w', "weight", "WEIGHT", Always("1")),
];

/// Nodes that stand on one line.
struct Line<'a> {
    nodes: Vec<&'a Node>,
    site: &'a Site,
}

impl Line<'_> {
    fn state(&self) -> (&'static str, &'static str) {
        let first = self.nodes.first();
        first.map_or(("n/a", "n/a"), |node| node.state())
    }

    fn busy(&self) -> usize {
        self.nodes.iter().filter(|node| node.taken > 0).count()
    }

    fn idle(&self) -> usize {
        self.nodes.len() - self.busy() - self.away().count()
    }

    /// Nodes that are down.
    fn away(&self) -> impl Iterator<Item = &Node> {
        let nodes = self.nodes.iter().copied();
        nodes.filter(|node| node.down.is_some())
    }

    /// Why its nodes are down.
    fn down(&self) -> Option<&Down> {
        self.nodes.first()?.down.as_ref()
    }

    /// Something of that.
    fn known(&self, of: impl Fn(&Down) -> String) -> String {
        self.down().map_or("Unknown".to_owned(), of)
    }

    fn taken(&self) -> u64 {
        self.nodes.iter().map(|node| u64::from(node.taken)).sum()
    }

    /// Processors of one node.
    fn node_cpus(&self) -> u32 {
        self.nodes.first().map_or(0, |node| node.cpus)
    }

    /// What its nodes are.
    fn group(&self) -> Option<&Resource> {
        let first = self.nodes.first();
        first.map(|node| &self.site.resources.groups()[node.group])
    }

    /// How much one node has of something.
    fn amount(&self, of: fn(&Resource) -> Option<u64>, without: u64) -> String {
        self.group().and_then(of).unwrap_or(without).to_string()
    }
}

fn cpus(line: &Line<'_>) -> String {
    let cpus: u64 = line.nodes.iter().map(|node| u64::from(node.cpus)).sum();
    let (taken, away) = (line.taken(), line.away().map(|node| u64::from(node.cpus)));
    let away: u64 = away.sum();
    format!("{taken}/{}/{away}/{cpus}", cpus - taken - away)
}

fn nodes(line: &Line<'_>) -> String {
    let (busy, idle, away) = (line.busy(), line.idle(), line.away().count());
    format!("{busy}/{idle}/{away}/{}", line.nodes.len())
}

fn names(line: &Line<'_>) -> String {
    hostlist::compress(line.nodes.iter().map(|node| node.name.as_str()))
}

fn first_name(line: &Line<'_>) -> String {
    let first = line.nodes.first();
    first.map(|node| node.name.clone()).unwrap_or_default()
}

/// `sinfo -T`
fn reservations(store: &JobStore, bare: bool) -> Answer {
    if store.reservations.is_empty() {
        return Answer::said("No reservations in the system\n".to_owned());
    }
    let line = |name: &str, state: &str, [start, end]: [&str; 2], length: &str, nodes: &str| {
        format!("{name:<10} {state:>8}  {start:>19}  {end:>19}  {length:>11}  {nodes}\n")
    };
    let span = ["START_TIME", "END_TIME"];
    let head = line("RESV_NAME", "STATE", span, "DURATION", "NODELIST");
    let rows = store.reservations.iter().map(|view| {
        let (state, [start, end], length) = times_of(&store.site, view);
        let (length, nodes) = (times::long(length), reserved_nodes(&store.site, view));
        line(&view.wanted.name, state, [&start, &end], &length, &nodes)
    });
    let head = (!bare).then_some(head).into_iter();
    Answer::said(head.chain(rows).collect())
}

pub(super) fn sinfo(store: &JobStore, request: &Request, now: SimTime) -> Said {
    let parsed = options("sinfo", request, &store.site)?;
    if parsed.has("reservation") {
        return Ok(reservations(store, parsed.has("noheader")));
    }
    let (pieces, stderr) = pieces(&parsed);
    let site = &store.site;
    let all = site.nodes(store.placements());
    let chosen = chosen(&parsed, site, &all)?;
    let lines = lines(&parsed, &pieces, chosen, site);
    let (date, pieces) = (Some(site.unix(now)), (pieces, stderr));
    let show = |show: &Show, line: &Line<'_>| show(line);
    Ok(format::listing(&parsed, date, pieces, &lines, show))
}

fn pieces(parsed: &Parsed) -> (Vec<Piece<Show>>, String) {
    let asked = ["list-reasons", "summarize", "Node", "long"].map(|name| parsed.has(name));
    let usual = match asked {
        [true, .., true] => REASONS_LONG,
        [true, ..] => REASONS,
        [false, true, ..] => SUMMARY,
        [.., true, true] => BY_NODE_LONG,
        [.., true, false] => BY_NODE,
        [.., false, true] => LONG,
        [.., false, false] => DEFAULT,
    };
    let complain = |what: &str, by_name| match by_name {
        true => format!("sinfo: error: Invalid job format specification: {what}\n"),
        false => format!("Invalid node format specification: {what}\n"),
    };
    format::asked(parsed, usual, &FIELDS, complain)
}

/// The nodes that are asked for.
fn chosen<'a>(parsed: &Parsed, site: &Site, all: &'a [Node]) -> Result<Vec<&'a Node>, Answer> {
    let mut chosen: Vec<&Node> = all.iter().collect();
    if let Some(names) = list(parsed, "partition")
        && !names.contains(&site.partition)
    {
        chosen.clear();
    }
    if let Some(states) = list(parsed, "states")
        && !states.iter().any(|state| state.eq_ignore_ascii_case("all"))
    {
        if let Some(other) = states.iter().find(|state| !is_state(state)) {
            return refuse(format!(
                "sinfo: error: Bad state string: \"{other}\"\nsinfo: error: valid states: {STATES}\n"
            ));
        }
        chosen.retain(|node| {
            let (long, short) = node.state();
            // Nobody uses a node that is drained.
            let idle = if long == "drained" { "idle" } else { long };
            let is = |state: &String| {
                let mut names = [long, short, idle].into_iter();
                names.any(|name| state.eq_ignore_ascii_case(name))
            };
            states.iter().any(is)
        });
    }
    if let Some(nodes) = parsed.last("nodes") {
        let Some(names) = hostlist::expand(nodes) else {
            return refuse(format!("sinfo: error: Invalid node list: {nodes}\n"));
        };
        chosen.retain(|node| names.contains(&node.name));
    }
    let is_dead = |down: &Down| down.by == NOBODY;
    if parsed.has("dead") {
        chosen.retain(|node| node.down.as_ref().is_some_and(is_dead));
    }
    if parsed.has("list-reasons") {
        chosen.retain(|node| node.down.is_some());
    }
    Ok(chosen)
}

/// The states as sinfo lists them when it knows none of that name.
const STATES: &str = "unknown,down,idle,allocated,?,mixed,future,drain,drained,draining,\
    no_respond,reserved,perfctrs,cloud,completing,powering_down,powered_down,power_down,\
    powering_up,fail,maint,reboot,reboot^,unknown";

/// Whether sinfo knows a state by its name or short name.
fn is_state(state: &str) -> bool {
    const SHORT: [&str; 16] = [
        "alloc", "comp", "unk", "drng", "failing", "futr", "mix", "npc", "plnd", "pow_dn",
        "pow_up", "power_up", "resv", "planned", "no_resp", "error",
    ];
    let lower = state.to_ascii_lowercase();
    STATES.split(',').chain(SHORT).any(|known| known == lower)
}

/// Nodes that are alike in what the format shows stand together.
fn lines<'a>(
    parsed: &Parsed,
    pieces: &[Piece<Show>],
    chosen: Vec<&'a Node>,
    site: &'a Site,
) -> Vec<Line<'a>> {
    let shows = |letters: &str| {
        let field = |piece: &Piece<Show>| matches!(piece, Piece::Field(field, _) if letters.contains(field.letter));
        pieces.iter().any(field)
    };
    let apart = parsed.has("Node") || shows("no");
    let by_state = shows("tT6") && !parsed.has("summarize");
    let by_kind = shows("cmdXYZzwe");
    let by_reason = shows("EHuU");
    let mut lines: Vec<Line<'a>> = Vec::new();
    for node in chosen {
        let same = |line: &&mut Line<'_>| {
            let first = line.nodes[0];
            !apart
                && (!by_state || first.state() == node.state())
                && (!by_kind || first.group == node.group)
                && (!by_reason || first.down == node.down)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.nodes.push(node),
            None => lines.push(Line {
                nodes: vec![node],
                site,
            }),
        }
    }
    let partition = list(parsed, "partition");
    let named = partition.is_none_or(|names| names.contains(&site.partition));
    let reasons = parsed.has("list-reasons");
    if lines.is_empty() && !parsed.has("Node") && !reasons && named && shows("PR") {
        // A partition is shown with no nodes of the kind that is asked for.
        lines.push(Line {
            nodes: Vec::new(),
            site,
        });
    }
    if by_state && !apart {
        let rank = |line: &Line<'_>| match line.nodes.first().map(|node| node.state().1) {
            Some("drain") => 0,
            Some("mix") => 1,
            Some("alloc") => 2,
            Some("down") => 4,
            _ => 3,
        };
        lines.sort_by_key(rank);
    }
    lines
}
