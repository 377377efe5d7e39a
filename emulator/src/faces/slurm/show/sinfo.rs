//! `sinfo`

use super::format::{self, Piece};
use super::{list, options};
use crate::faces::slurm::book::Book;
use crate::faces::slurm::hostlist;
use crate::faces::slurm::options::{Opt, Parsed, flag, value};
use crate::faces::slurm::site::{Node, Site, VERSION};
use crate::faces::slurm::times;
use crate::faces::slurm::wire::{Answer, Request};
use gridrig_core::time::SimTime;

const OPTIONS: [Opt; 28] = [
    flag("all", Some('a')),
    value("cluster", None),
    value("clusters", Some('M')),
    flag("dead", Some('d')),
    flag("exact", Some('e')),
    flag("federation", None),
    value("format", Some('o')),
    value("Format", Some('O')),
    flag("future", Some('F')),
    flag("help", None),
    flag("hide", None),
    value("iterate", Some('i')),
    flag("list-reasons", Some('R')),
    flag("local", None),
    flag("long", Some('l')),
    value("nodes", Some('n')),
    flag("Node", Some('N')),
    flag("noconvert", None),
    flag("noheader", Some('h')),
    value("partition", Some('p')),
    flag("reservation", Some('T')),
    flag("responding", Some('r')),
    value("sort", Some('S')),
    value("states", Some('t')),
    flag("summarize", Some('s')),
    flag("usage", None),
    flag("verbose", Some('v')),
    flag("version", Some('V')),
];

const DEFAULT: &str = "%9P %.5a %.10l %.6D %.6t %N";
const LONG: &str = "%9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
const BY_NODE: &str = "%9N %.6D %.9P %6t";
const BY_NODE_LONG: &str = "%9N %.6D %.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E";
const REASONS: &str = "%20E %9u %19H %N";
const SUMMARY: &str = "%9P %.5a %.10l %.16F %N";

/// Letter and header.
const LETTERS: [(char, &str); 42] = [
    ('A', "NODES(A/I)"),
    ('B', "MAX_CPUS_PER_NODE"),
    ('C', "CPUS(A/I/O/T)"),
    ('D', "NODES"),
    ('E', "REASON"),
    ('F', "NODES(A/I/O/T)"),
    ('G', "GRES"),
    ('I', "PRIO_JOB_FACTOR"),
    ('L', "DEFAULTTIME"),
    ('M', "PREEMPT_MODE"),
    ('N', "NODELIST"),
    ('O', "CPU_LOAD"),
    ('P', "PARTITION"),
    ('R', "PARTITION"),
    ('S', "ALLOCNODES"),
    ('T', "STATE"),
    ('U', "USER"),
    ('V', "CLUSTER"),
    ('X', "SOCKETS"),
    ('Y', "CORES"),
    ('Z', "THREADS"),
    ('a', "AVAIL"),
    ('b', "ACTIVE_FEATURES"),
    ('c', "CPUS"),
    ('d', "TMP_DISK"),
    ('e', "FREE_MEM"),
    ('f', "AVAIL_FEATURES"),
    ('g', "GROUPS"),
    ('h', "OVERSUBSCRIBE"),
    ('H', "TIMESTAMP"),
    ('l', "TIMELIMIT"),
    ('m', "MEMORY"),
    ('n', "HOSTNAMES"),
    ('o', "NODE_ADDR"),
    ('p', "PRIO_TIER"),
    ('r', "ROOT"),
    ('s', "JOB_SIZE"),
    ('t', "STATE"),
    ('u', "USER"),
    ('v', "VERSION"),
    ('w', "WEIGHT"),
    ('z', "S:C:T"),
];

/// Names of `-O`, in small letters, with the letter of the same field; digits
/// for those without one.
const NAMES: [(&str, char); 48] = [
    ("allocmem", '1'),
    ("allocnodes", 'S'),
    ("available", 'a'),
    ("cluster", 'V'),
    ("comment", '2'),
    ("cores", 'Y'),
    ("cpus", 'c'),
    ("cpusload", 'O'),
    ("cpusstate", 'C'),
    ("defaulttime", 'L'),
    ("disk", 'd'),
    ("extra", '3'),
    ("features", 'f'),
    ("features_act", 'b'),
    ("freemem", 'e'),
    ("gres", 'G'),
    ("gresused", '4'),
    ("groups", 'g'),
    ("maxcpuspernode", 'B'),
    ("memory", 'm'),
    ("nodeaddr", 'o'),
    ("nodeai", 'A'),
    ("nodeaiot", 'F'),
    ("nodehost", 'n'),
    ("nodelist", 'N'),
    ("nodes", 'D'),
    ("oversubscribe", 'h'),
    ("partition", 'P'),
    ("partitionname", 'R'),
    ("port", '5'),
    ("preemptmode", 'M'),
    ("priorityjobfactor", 'I'),
    ("prioritytier", 'p'),
    ("reason", 'E'),
    ("root", 'r'),
    ("size", 's'),
    ("socketcorethread", 'z'),
    ("sockets", 'X'),
    ("statecompact", 't'),
    ("statecomplete", '6'),
    ("statelong", 'T'),
    ("threads", 'Z'),
    ("time", 'l'),
    ("timestamp", 'H'),
    ("user", 'u'),
    ("userlong", 'U'),
    ("version", 'v'),
    ("weight", 'w'),
];

/// The headers of fields that have no letter.
const UNLETTERED: [(char, &str); 6] = [
    ('1', "ALLOCMEM"),
    ('2', "COMMENT"),
    ('3', "EXTRA"),
    ('4', "GRES_USED"),
    ('5', "PORT"),
    ('6', "STATECOMPLETE"),
];

/// Nodes that stand on one line.
struct Line<'a> {
    nodes: Vec<&'a Node>,
}

pub(super) fn sinfo(book: &Book, request: &Request, now: SimTime) -> Answer {
    let parsed = match options("sinfo", &OPTIONS, request) {
        Ok(parsed) => parsed,
        Err(answer) => return answer,
    };
    if parsed.has("reservation") {
        return Answer::said("No reservations in the system\n".to_owned());
    }
    let (pieces, stderr) = pieces(&parsed);
    let site = &book.site;
    let all = site.nodes(book.placements());
    let chosen = match chosen(&parsed, site, &all) {
        Ok(chosen) => chosen,
        Err(answer) => return answer,
    };
    let lines = lines(&parsed, &pieces, chosen, site);
    let mut out = String::new();
    if parsed.has("long") && !parsed.has("noheader") {
        out.push_str(&times::date(site.unix(now)));
        out.push('\n');
    }
    if !parsed.has("noheader") {
        format::line(&mut out, &pieces, |letter| {
            let all = LETTERS.iter().chain(&UNLETTERED);
            let known = all.into_iter().find(|(known, _)| known == letter);
            known.map_or("", |(_, header)| header).to_owned()
        });
    }
    for line in &lines {
        format::line(&mut out, &pieces, |letter| value_of(*letter, line, site));
    }
    Answer {
        code: 0,
        stdout: out,
        stderr,
    }
}

fn pieces(parsed: &Parsed) -> (Vec<Piece<char>>, String) {
    let letter = |letter: char| {
        LETTERS
            .iter()
            .any(|(known, _)| *known == letter)
            .then_some(letter)
    };
    let name = |name: &str| {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, l)| *l)
    };
    let given = parsed
        .options
        .iter()
        .rev()
        .find(|(name, _)| *name == "format" || *name == "Format");
    let (long, by_node) = (parsed.has("long"), parsed.has("Node"));
    let (pieces, unknown) = match given {
        Some(("Format", format)) => format::names(format.as_deref().unwrap_or_default(), name),
        Some((_, format)) => format::letters(format.as_deref().unwrap_or_default(), letter),
        None if parsed.has("list-reasons") => format::letters(REASONS, letter),
        None if parsed.has("summarize") => format::letters(SUMMARY, letter),
        None if by_node && long => format::letters(BY_NODE_LONG, letter),
        None if by_node => format::letters(BY_NODE, letter),
        None if long => format::letters(LONG, letter),
        None => format::letters(DEFAULT, letter),
    };
    let by_name = given.is_some_and(|(name, _)| *name == "Format");
    let complain = |what: &String| match by_name {
        true => format!("sinfo: error: Invalid job format specification: {what}\n"),
        false => format!("Invalid node format specification: {what}\n"),
    };
    (pieces, unknown.iter().map(complain).collect())
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
            let what = format!(
                "sinfo: error: Bad state string: \"{other}\"\nsinfo: error: valid states: {STATES}\n"
            );
            return Err(Answer::failed(1, what));
        }
        chosen.retain(|node| {
            let (long, short) = node.state();
            let is = |state: &String| {
                state.eq_ignore_ascii_case(long) || state.eq_ignore_ascii_case(short)
            };
            states.iter().any(is)
        });
    }
    if let Some(nodes) = parsed.last("nodes") {
        let Some(names) = hostlist::expand(nodes) else {
            let what = format!("sinfo: error: Invalid node list: {nodes}\n");
            return Err(Answer::failed(1, what));
        };
        chosen.retain(|node| names.contains(&node.name));
    }
    // No node of an emulated cluster is down.
    if parsed.has("dead") || parsed.has("list-reasons") {
        chosen.clear();
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
    pieces: &[Piece<char>],
    chosen: Vec<&'a Node>,
    site: &Site,
) -> Vec<Line<'a>> {
    let shows = |letters: &str| {
        let field = |piece: &Piece<char>| matches!(piece, Piece::Field { field, .. } if letters.contains(*field));
        pieces.iter().any(field)
    };
    let apart = parsed.has("Node") || shows("no");
    let by_state = shows("tT6") && !parsed.has("summarize");
    let by_kind = shows("cmdXYZzwe");
    let mut lines: Vec<Line<'a>> = Vec::new();
    for node in chosen {
        let same = |line: &&mut Line<'_>| {
            let first = line.nodes[0];
            !apart
                && (!by_state || first.state() == node.state())
                && (!by_kind || first.group == node.group)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.nodes.push(node),
            None => lines.push(Line { nodes: vec![node] }),
        }
    }
    let partition = list(parsed, "partition");
    let named = partition.is_none_or(|names| names.contains(&site.partition));
    let reasons = parsed.has("list-reasons");
    if lines.is_empty() && !parsed.has("Node") && !reasons && named && shows("PR") {
        // A partition is shown with no nodes of the kind that is asked for.
        lines.push(Line { nodes: Vec::new() });
    }
    if by_state && !apart {
        let rank = |line: &Line<'_>| match line.nodes.first().map(|node| node.state().1) {
            Some("mix") => 0,
            Some("alloc") => 1,
            _ => 2,
        };
        lines.sort_by_key(rank);
    }
    lines
}

fn value_of(letter: char, line: &Line<'_>, site: &Site) -> String {
    let nodes = &line.nodes;
    let first = nodes.first();
    let group = first.map(|node| &site.resources.groups()[node.group]);
    let taken: u64 = nodes.iter().map(|node| u64::from(node.taken)).sum();
    let cpus: u64 = nodes.iter().map(|node| u64::from(node.cpus)).sum();
    let busy = nodes.iter().filter(|node| node.taken > 0).count();
    let idle = nodes.len() - busy;
    let name = || first.map(|node| node.name.clone()).unwrap_or_default();
    let same = match letter {
        'P' => return format!("{}*", site.partition),
        'R' => return site.partition.clone(),
        'C' => return format!("{taken}/{}/0/{cpus}", cpus - taken),
        'D' => return nodes.len().to_string(),
        'A' => return format!("{busy}/{idle}"),
        'F' => return format!("{busy}/{idle}/0/{}", nodes.len()),
        'N' => return hostlist::compress(nodes.iter().map(|node| node.name.as_str())),
        't' => first.map_or("n/a", |node| node.state().1),
        'T' | '6' => first.map_or("n/a", |node| node.state().0),
        'n' | 'o' => return name(),
        'c' | 'X' => return first.map_or(0, |node| node.cpus).to_string(),
        'z' => return format!("{}:1:1", first.map_or(0, |node| node.cpus)),
        'm' | 'e' => return group.and_then(|g| g.memory_mib).unwrap_or(1).to_string(),
        'd' => return group.and_then(|g| g.disk_mib).unwrap_or(0).to_string(),
        'O' => return format!("{taken}.00"),
        'Y' | 'Z' | 'w' | 'p' | 'I' => "1",
        '1' | '5' => "0",
        'l' => "infinite",
        'L' => "n/a",
        'a' => "up",
        's' => "1-infinite",
        'r' => "no",
        'h' => "NO",
        'g' | 'S' => "all",
        'B' => "UNLIMITED",
        'E' => "none",
        'M' => "OFF",
        'v' => VERSION,
        'V' => "N/A",
        'u' | 'U' => "Unknown",
        'H' => "Unknown",
        _ => "(null)",
    };
    same.to_owned()
}
