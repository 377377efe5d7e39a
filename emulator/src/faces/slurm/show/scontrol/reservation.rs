//! `scontrol create`, `update`, `delete` and `show reservation`

use super::{is_short_for as is, layout};
use crate::faces::slurm::show::sbatch::UNAVAILABLE;
use crate::faces::slurm::show::{Caller, Outcome, Reserving, refuse};
use crate::faces::slurm::site::Site;
use crate::faces::slurm::store::JobStore;
use crate::faces::slurm::users;
use crate::faces::slurm::wire::Answer;
use crate::slurm::times::{self, Limit};
use gridrig_core::job::{Requirements, StartWindow};
use gridrig_core::reservation::{
    AdvanceReservation, Forbidden, ReservationOrder, ReservationRefusal, ReservationStep,
    ReservationView,
};
use gridrig_core::time::{SimDuration, SimTime};
use std::sync::Arc;

/// One that is to start at once may come so much later.
const AT_ONCE: SimDuration = SimDuration::from_secs(10);

/// What is wanted of a reservation, word by word.
#[derive(Default)]
struct Asked {
    name: Option<String>,
    start: Option<u64>,
    end: Option<u64>,
    duration: Option<SimDuration>,
    processors: Option<u32>,
    users: Option<Vec<Arc<str>>>,
}

/// Whether the words of `update` are about a reservation.
pub(super) fn is_meant(words: &[&str]) -> bool {
    let mut keys = words.iter().filter_map(|word| word.split_once('='));
    keys.any(|(key, _)| is(key, "reservationname", 3))
}

fn fail<T>(what: &str, done: Reserving) -> Result<T, Answer> {
    refuse(no_reservation(what, done))
}

/// Something that Slurm's controller refuses.
fn not<T>(done: Reserving, why: &str) -> Result<T, Answer> {
    refuse(said(done, "", why))
}

fn no_reservation(what: &str, done: Reserving) -> String {
    let done = match done {
        Reserving::Update => "updated",
        _ => "created",
    };
    format!("scontrol: error: {what}  No reservation {done}.\n")
}

/// Slurm's keys that mean nothing here, or not with every value.
const UNUSED: [&str; 6] = ["nodes", "tres", "accounts", "groups", "flags", "features"];

fn read(
    words: &[&str],
    site: &Site,
    now: SimTime,
    done: Reserving,
    before: &[Arc<str>],
) -> Result<Asked, Answer> {
    let mut asked = Asked::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            let why = "most options have a parameter after '='.";
            return fail(&format!("Misformatted parameter '{word}', {why}"), done);
        };
        let moment = |what: &str| match times::moment(value, site.unix(now)) {
            Some(moment) => Ok(Some(moment)),
            None => {
                let read = value.bytes().take_while(u8::is_ascii_digit).count();
                let bad = format!("Invalid time specification (pos={read}): {value}\n");
                refuse(bad + &no_reservation(&format!("Invalid {what} time {word}."), done))
            }
        };
        let number = |text: &str| match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => fail(&format!("Invalid count {word}."), done),
        };
        match () {
            () if is(key, "reservationname", 1) => asked.name = Some(value.to_owned()),
            () if is(key, "starttime", 1) => asked.start = moment("start")?,
            () if is(key, "endtime", 1) => asked.end = moment("end")?,
            () if is(key, "duration", 1) => match Limit::parse(value).and_then(Limit::length) {
                None => return fail(&format!("Invalid duration {word}."), done),
                length => asked.duration = length,
            },
            () if is(key, "nodecnt", 5) => asked.processors = Some(of_nodes(site, number(value)?)),
            () if is(key, "corecnt", 2) => asked.processors = Some(number(value)?),
            () if is(key, "nodes", 5) && value.eq_ignore_ascii_case("all") => {
                asked.processors = Some(site.resources.processors());
            }
            () if is(key, "tres", 4) && value.starts_with("cpu=") => {
                asked.processors = Some(number(&value[4..])?);
            }
            () if is(key, "users", 1) => asked.users = Some(user_list(value, before, done)?),
            () if is(key, "partitionname", 1) && value == site.partition => {}
            () if is(key, "partitionname", 1) => {
                return not(done, "Invalid partition name specified");
            }
            () if UNUSED.iter().any(|known| is(key, known, 2)) => {
                let known = "NodeCnt=, CoreCnt=, Nodes=ALL, TRES=cpu=, Users=";
                let what = format!("{word} is not emulated (expected {known}).");
                return fail(&what, done);
            }
            () => return fail(&format!("Unknown parameter {word}."), done),
        }
    }
    Ok(asked)
}

/// The processors of the first nodes; of more than there are as many as all have.
fn of_nodes(site: &Site, nodes: u32) -> u32 {
    let mut left = nodes;
    let groups = site.resources.groups().iter().map(|group| {
        let own = group.count.min(left);
        left -= own;
        own * group.cpu_count
    });
    groups.sum()
}

/// Names of users, or `+` and `-` with those that come and go.
fn user_list(text: &str, before: &[Arc<str>], done: Reserving) -> Result<Vec<Arc<str>>, Answer> {
    let changes = text.contains(['+', '-']);
    let mut all = if changes { before.to_vec() } else { Vec::new() };
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (leaves, name) = match word.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, word.trim_start_matches('+')),
        };
        if users::is_unknown(name) {
            return not(done, "Invalid user id");
        }
        all.retain(|user| **user != *name);
        if !leaves {
            all.push(name.into());
        }
    }
    match all.is_empty() {
        true => not(done, "Reservation request lacks users, groups or accounts"),
        false => Ok(all),
    }
}

pub(super) fn create(store: &JobStore, words: &[&str], caller: &Caller) -> Result<Outcome, Answer> {
    let (done, now) = (Reserving::Create, caller.now);
    // `create reservation name=...` and `create reservationname=...` alike.
    let words = match words.first() {
        Some(first) if is(first, "reservation", 3) => &words[1..],
        _ => words,
    };
    let site = &store.site;
    let asked = read(words, site, now, done, &[])?;
    let Some(start) = asked.start else {
        return fail("A start time must be given.", done);
    };
    if asked.end.is_some_and(|end| end <= start) {
        return fail("Start time cannot be after end time.", done);
    }
    let ends = asked.end.map(|end| end.saturating_sub(start));
    let Some(duration) = asked.duration.or(ends.map(SimDuration::from_secs)) else {
        return fail("An end time or duration must be given.", done);
    };
    let Some(processors) = asked.processors else {
        let what = "CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.";
        return fail(what, done);
    };
    let Some(users) = asked.users else {
        let what = "Either Users/Groups and/or Accounts must be specified.";
        return fail(what, done);
    };
    let is_free = |name: &str| store.reservation(name).is_none();
    let name = match asked.name {
        Some(name) if is_free(&name) => name,
        Some(_) => return not(done, "Duplicate reservation name"),
        None => {
            let first = users.first().map_or("", |user| &**user);
            let mut names = (1..).map(|number| format!("{first}_{number}"));
            names.find(|name| is_free(name)).unwrap_or_default()
        }
    };
    let wanted = AdvanceReservation {
        name: name.into(),
        processors,
        requirements: Requirements::default(),
        duration,
        window: window(site, start, now, done)?,
        users,
        confirm_within: None,
    };
    let users = wanted.users.clone();
    let step = ReservationStep::Make(Box::new(wanted));
    Ok(order(done, &users, caller, step))
}

fn window(site: &Site, start: u64, now: SimTime, done: Reserving) -> Result<StartWindow, Answer> {
    if start < site.unix(now) {
        return not(done, "Invalid time specified");
    }
    let earliest = site.instant(start);
    let latest = match earliest <= now {
        true => now + AT_ONCE,
        false => earliest,
    };
    Ok(StartWindow {
        earliest,
        latest,
        flexible: false,
    })
}

/// Who runs the cluster is its operator: it says what the users of a reservation may say.
fn order(done: Reserving, users: &[Arc<str>], caller: &Caller, step: ReservationStep) -> Outcome {
    let by = Some(Arc::clone(users.first().unwrap_or(&caller.user)));
    Outcome::Reserve(done, Box::new(ReservationOrder { by, step }))
}

pub(super) fn update(store: &JobStore, words: &[&str], caller: &Caller) -> Result<Outcome, Answer> {
    let (done, now) = (Reserving::Update, caller.now);
    let site = &store.site;
    let keys = words.iter().filter_map(|word| word.split_once('='));
    let mut names = keys.filter(|(key, _)| is(key, "reservationname", 1));
    let name = names.next().map_or("", |(_, name)| name);
    let Some(view) = store.reservation(name) else {
        return not(done, INVALID);
    };
    let asked = read(words, site, now, done, &view.wanted.users)?;
    let (start, end) = (site.unix(view.start), site.unix(view.end));
    let mut wanted = view.wanted.clone();
    let from = asked.start.unwrap_or(start);
    if from != start {
        if view.begun {
            return not(done, "Reservation already started");
        }
        wanted.window = window(site, from, now, done)?;
    }
    if asked.end.is_some_and(|end| end <= from) {
        return not(done, "Invalid time specified");
    }
    wanted.duration = match (asked.duration, asked.end) {
        (Some(duration), _) => duration,
        (None, Some(end)) => SimDuration::from_secs(end.saturating_sub(from)),
        (None, None) if asked.start.is_some() => SimDuration::from_secs(end.saturating_sub(start)),
        (None, None) => wanted.duration,
    };
    wanted.processors = asked.processors.unwrap_or(wanted.processors);
    wanted.users = asked.users.unwrap_or(wanted.users);
    let step = ReservationStep::Make(Box::new(wanted));
    Ok(order(done, &view.wanted.users, caller, step))
}

pub(super) fn delete(store: &JobStore, words: &[&str], caller: &Caller) -> Result<Outcome, Answer> {
    let (key, name) = match words {
        [] => return refuse("too few arguments for delete keyword\n"),
        [word] => word.split_once('=').unwrap_or((word, "")),
        [key, name, ..] => (*key, *name),
    };
    if !is(key, "reservationname", 3) || name.is_empty() {
        return refuse(
            "scontrol: error: Proper format is 'delete <ENTITY>=<ID>' or 'delete <ENTITY> <ID>'\n",
        );
    }
    let Some(view) = store.reservation(name) else {
        return refuse(said(Reserving::Delete, words[0], INVALID));
    };
    let step = ReservationStep::Cancel(name.into());
    Ok(order(Reserving::Delete, &view.wanted.users, caller, step))
}

/// Slurm's words for a reservation that is not there.
const INVALID: &str = "Requested reservation is invalid";

/// What Slurm says of something that its controller refuses.
fn said(done: Reserving, word: &str, why: &str) -> String {
    match done {
        Reserving::Create => format!("Error creating the reservation: {why}\n"),
        Reserving::Update => {
            format!("Error updating the reservation: {why}\nslurm_update error: {why}\n")
        }
        Reserving::Delete => format!("delete_reservation {word}: {why}\n"),
    }
}

/// What has become of an order.
pub(in crate::faces::slurm) fn answer(
    done: Reserving,
    order: &ReservationOrder,
    became: &Result<ReservationView, ReservationRefusal>,
) -> Answer {
    let name = match &order.step {
        ReservationStep::Make(wanted) => &wanted.name,
        ReservationStep::Confirm(name) | ReservationStep::Cancel(name) => name,
    };
    let why = match became {
        Ok(_) => {
            return Answer::said(match done {
                Reserving::Create => format!("Reservation created: {name}\n"),
                Reserving::Update => "Reservation updated.\n".to_owned(),
                Reserving::Delete => String::new(),
            });
        }
        Err(ReservationRefusal::NotHere) => INVALID,
        Err(ReservationRefusal::NotYours) => "Access denied to requested reservation",
        Err(ReservationRefusal::InUse) => "Requested reservation is in use",
        Err(ReservationRefusal::Forbidden(Forbidden::TooWide { .. })) => UNAVAILABLE,
        Err(
            ReservationRefusal::NotBefore(_)
            | ReservationRefusal::Forbidden(_)
            | ReservationRefusal::Never(_),
        ) => "Requested nodes are busy",
    };
    Answer::failed(1, said(done, &format!("reservationname={name}"), why))
}

pub(super) fn show(store: &JobStore, wanted: Option<&str>, one_line: bool) -> Answer {
    let is_wanted = |view: &&ReservationView| wanted.is_none_or(|name| *name == *view.wanted.name);
    let chosen = store.reservations.iter().filter(is_wanted);
    let text = |view: &ReservationView| layout(&lines(&store.site, view), one_line);
    let shown: String = chosen.map(text).collect();
    match (shown.is_empty(), wanted) {
        (false, _) => Answer::said(shown),
        (true, None) => Answer::said("No reservations in the system\n".to_owned()),
        (true, Some(name)) => Answer::missing(format!("Reservation {name} not found\n")),
    }
}

/// Its state, `ACTIVE` or `INACTIVE`, start, end, and length in seconds.
pub(in crate::faces::slurm) fn times_of(
    site: &Site,
    view: &ReservationView,
) -> (&'static str, [String; 2], u64) {
    let (start, end) = (site.unix(view.start), site.unix(view.end));
    let state = if view.begun { "ACTIVE" } else { "INACTIVE" };
    (state, [times::stamp(start), times::stamp(end)], end - start)
}

/// Its nodes, as far as it is said which they are: a cluster of alike nodes chooses them when
/// jobs start.
pub(in crate::faces::slurm) fn nodes(site: &Site, view: &ReservationView) -> String {
    let all = site.resources.processors() == view.wanted.processors;
    match site.resources.nodes() {
        _ if !all => "(null)".to_owned(),
        1 => "n1".to_owned(),
        last => format!("n[1-{last}]"),
    }
}

fn lines(site: &Site, view: &ReservationView) -> Vec<String> {
    let wanted = &view.wanted;
    let (state, [start, end], length) = times_of(site, view);
    let (length, cpus) = (times::long(length), wanted.processors);
    let count = cpus.div_ceil(site.widest());
    let (nodes, partition) = (nodes(site, view), &site.partition);
    let users = match wanted.users.as_slice() {
        [] => "(null)".to_owned(),
        users => users.join(","),
    };
    vec![
        format!(
            "ReservationName={} StartTime={start} EndTime={end} Duration={length}",
            wanted.name
        ),
        format!(
            "Nodes={nodes} NodeCnt={count} CoreCnt={cpus} Features=(null) \
             PartitionName={partition} Flags="
        ),
        format!("TRES=cpu={cpus}"),
        format!(
            "Users={users} Groups=(null) Accounts=(null) Licenses=(null) State={state} \
             BurstBuffer=(null) Watts=n/a"
        ),
        "MaxStartDelay=(null)".to_owned(),
    ]
}
