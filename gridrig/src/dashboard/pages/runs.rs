//! The Runs page: what there is, found, labelled, chosen and deleted.

mod forms;

use super::query::{Pairs, encoded, repeated};
use super::{NoPage, bad_request, count, work};
use crate::dashboard::Shared;
use crate::dashboard::layout::{self, Layout, Tab};
use crate::words::{counts, list, many};
use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use gridrig_protocol::rest::Problem;
use gridrig_results::catalogue::{Filter, Order, Row, rows};
use gridrig_results::plot;
use gridrig_results::rundir::is_bound;
use gridrig_service::http::Result;
use serde::Serialize;
use std::cmp::Reverse;

/// Rows on the page; the filter finds the others.
const MOST_ROWS: usize = 400;
/// Differing settings that a row names.
const MOST_DIFFERING: usize = 3;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/runs", get(table))
        .route("/api/runs", get(api))
        .merge(forms::routes())
}

/// What a request wants to see.
#[derive(Clone)]
struct Wanted {
    filter: String,
    each: bool,
    order: &'static str,
    down: bool,
}

impl Wanted {
    fn read(pairs: &Pairs) -> Result<Self, Problem> {
        let name = pairs.one("sort").unwrap_or("path");
        let (bare, down) = name
            .strip_prefix('-')
            .map_or((name, false), |bare| (bare, true));
        let known = Order::NAMES.iter().find(|order| **order == bare);
        let order = known.ok_or_else(|| {
            bad_request(format!(
                "field sort = \"{}\": expected one of {}, with - in front for the largest first",
                bare.chars().take(40).collect::<String>(),
                Order::NAMES.join(", ")
            ))
        })?;
        Ok(Wanted {
            filter: pairs.one("filter").unwrap_or_default().to_owned(),
            each: pairs.flag("each"),
            order,
            down,
        })
    }

    /// The address of the same table in another order.
    fn sorted_by(&self, sort: &str) -> String {
        let mut address = format!("/runs?sort={sort}");
        if !self.filter.is_empty() {
            address.push_str(&format!("&filter={}", encoded(&self.filter)));
        }
        if self.each {
            address.push_str("&each=1");
        }
        address
    }
}

/// What the page and the document have in common.
#[derive(Serialize)]
struct Table {
    /// The folder of runs.
    folder: String,
    /// Runs in it.
    runs: u64,
    /// Why the catalogue is not kept on the disk, if it is not.
    notice: Option<String>,
    /// Those that the filter wants.
    rows: Vec<Row>,
}

async fn read(dashboard: &Shared, wanted: &Wanted) -> Result<Table, Problem> {
    let filter = Filter::parse(&wanted.filter)
        .map_err(|error| Problem::new(400, "bad-filter", error.to_string()))?;
    let order = Order::from_name(wanted.order).unwrap_or_default();
    let (each, down) = (wanted.each, wanted.down);
    work(dashboard, move |own| {
        own.with_catalogue(|opened| {
            let all = opened.catalogue.runs()?;
            Ok(Table {
                folder: own.runs.display().to_string(),
                runs: all.len() as u64,
                notice: opened.catalogue.notice().map(str::to_owned),
                rows: rows(&all, |run| filter.wants(run), each, (order, down)),
            })
        })
    })
    .await
}

/// `/api/runs`: the table as a document.
async fn api(State(own): State<Shared>, pairs: Pairs) -> Result<Json<Table>> {
    Ok(Json(read(&own, &Wanted::read(&pairs)?).await?))
}

/// A column that can be sorted by.
struct Head {
    title: &'static str,
    href: String,
    /// `ascending` or `descending`; empty if it is not sorted by this one.
    sorted: &'static str,
    numeric: bool,
}

/// A row as it is shown.
struct Shown {
    row: Row,
    policy: String,
    differs: String,
    took: String,
    jobs_note: String,
    replication: String,
    written: String,
    remarks: Vec<(&'static str, String)>,
}

/// The rows of a scenario.
struct Group {
    scenario: String,
    runs: String,
    rows: Vec<Shown>,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    layout: Layout,
    table: Table,
    filter: String,
    each: bool,
    sort: String,
    error: String,
    done: String,
    heads: Vec<Head>,
    groups: Vec<Group>,
    /// Whether any row differs from the others of its scenario.
    differ: bool,
    more: usize,
    /// Address and name of each.
    sweeps: Vec<(String, String)>,
}

async fn table(State(own): State<Shared>, pairs: Pairs) -> Result<Response, NoPage> {
    let wanted = Wanted::read(&pairs)?;
    let mut read_as = wanted.clone();
    let (mut status, mut error) = (StatusCode::OK, String::new());
    // A filter that is not understood is shown as it is, with all runs.
    if let Err(why) = Filter::parse(&wanted.filter) {
        read_as.filter = String::new();
        (status, error) = (StatusCode::BAD_REQUEST, why.to_string());
    }
    let mut table = read(&own, &read_as).await?;
    let sweeps = work(&own, |own| Ok(super::sweep::links(own))).await?;
    let all = std::mem::take(&mut table.rows);
    let differ = all.iter().any(|row| !row.differs.is_empty());
    let answer = RunsPage {
        layout: Layout::new(Tab::Runs),
        heads: heads(&wanted),
        sort: format!("{}{}", if wanted.down { "-" } else { "" }, wanted.order),
        done: done(&pairs),
        filter: wanted.filter,
        each: wanted.each,
        error,
        more: all.len().saturating_sub(MOST_ROWS),
        differ,
        groups: grouped(all, wanted.order == "scenario"),
        table,
        sweeps,
    };
    Ok(layout::page_with(status, &answer))
}

/// The rows by scenario, in their order within each. The scenario with the newest run
/// comes first, unless the rows are in the order of its name.
fn grouped(rows: Vec<Row>, by_name: bool) -> Vec<Group> {
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| group.0 == row.scenario) {
            Some((_, own)) => own.push(row),
            None => groups.push((row.scenario.clone(), vec![row])),
        }
    }
    let written = |row: &Row| match row.state.name() {
        "running" => u64::MAX,
        _ => row.written_unix_s.unwrap_or_default(),
    };
    if !by_name {
        groups.sort_by_key(|(_, rows)| Reverse(rows.iter().map(written).max()));
    }
    let mut left = MOST_ROWS;
    let group = |(scenario, mut rows): (String, Vec<Row>)| {
        let runs = rows.iter().map(|row| row.runs).sum();
        rows.truncate(left);
        left -= rows.len();
        Group {
            scenario,
            runs: many(runs, "run"),
            rows: rows.into_iter().map(shown).collect(),
        }
    };
    let groups = groups.into_iter().map(group);
    groups.filter(|group| !group.rows.is_empty()).collect()
}

fn heads(wanted: &Wanted) -> Vec<Head> {
    let head = |name: &'static str, title, numeric| {
        let current = wanted.order == name;
        // Figures are looked at from the top, names from the beginning.
        let down = match current {
            true => !wanted.down,
            false => numeric || name == "written",
        };
        let sign = if down { "-" } else { "" };
        Head {
            title,
            href: wanted.sorted_by(&format!("{sign}{name}")),
            sorted: match (current, wanted.down) {
                (false, _) => "",
                (true, false) => "ascending",
                (true, true) => "descending",
            },
            numeric,
        }
    };
    vec![
        head("scenario", "Run", false),
        head("jobs", "Jobs", true),
        head("delay", "Delay, mean, s", true),
        head("delay-p95", "Delay, p95, s", true),
        head("wait", "Wait, mean, s", true),
        head("utilization", "Utilization", true),
        head("forwarded", "Forwarded", true),
        head("written", "Written", false),
    ]
}

fn shown(row: Row) -> Shown {
    let mut remarks = Vec::new();
    if row.policy.as_deref().is_some_and(is_bound) {
        remarks.push(("mut", "reference".to_owned()));
    }
    if row.state.name() != "complete" {
        remarks.push(("bad", row.state.name().to_owned()));
    }
    match (row.invalid, row.runs) {
        (0, _) => {}
        (1, 1) => remarks.push(("bad", "not valid".to_owned())),
        (invalid, runs) => remarks.push(("bad", format!("{invalid} of {runs} not valid"))),
    }
    match (row.partial, row.runs) {
        (0, _) => {}
        (partial, runs) if partial == runs => remarks.push(("warn", "partial".to_owned())),
        (partial, runs) => remarks.push(("warn", format!("{partial} of {runs} partial"))),
    }
    let jobs = &row.jobs;
    let left = [
        ("rejected", jobs.rejected),
        ("cancelled", jobs.cancelled),
        ("failed", jobs.failed),
        ("unfinished", jobs.unfinished),
    ];
    let left = left.into_iter().filter(|(_, number)| *number > 0);
    Shown {
        policy: match (&row.policy, row.state.name()) {
            (Some(policy), _) => policy.clone(),
            (None, "complete") => "no broker".to_owned(),
            (None, _) => row.path.clone(),
        },
        differs: differs(&row),
        took: took(&row),
        jobs_note: counts(left.map(|(what, n)| (what, count(n)))),
        replication: gridrig_results::report::key_words(&row.replication),
        written: row.written_unix_s.map_or_else(String::new, date),
        remarks,
        row,
    }
}

/// The first of the settings that tell a row from the others of its scenario.
fn differs(row: &Row) -> String {
    let first = list(row.differs.iter().take(MOST_DIFFERING));
    match row.differs.len().saturating_sub(MOST_DIFFERING) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// How long a run took, and of several each.
fn took(row: &Row) -> String {
    let took = row.wall_s.map_or_else(String::new, plot::seconds);
    match row.runs {
        0 | 1 => took,
        _ if took.is_empty() => took,
        _ => format!("{took} each"),
    }
}

/// Seconds since 1970 as a date of the calendar, in UTC.
fn date(seconds: u64) -> String {
    let at = gridrig_protocol::calendar::utc(seconds);
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

/// What the form before this page did.
fn done(pairs: &Pairs) -> String {
    let runs = |name: &str| {
        let number: u64 = pairs.one(name)?.parse().ok()?;
        Some(match number {
            1 => "1 run".to_owned(),
            many => format!("{} runs", count(many)),
        })
    };
    if let Some(runs) = runs("deleted") {
        return format!("Deleted {runs}.");
    }
    if let Some(runs) = runs("labelled") {
        return format!("Tags and note of {runs} are set.");
    }
    match (runs("pinned"), runs("unpinned")) {
        (Some(runs), _) => format!("{runs} pinned as the baseline of comparisons."),
        (None, Some(runs)) => format!("{runs} no longer pinned."),
        (None, None) => String::new(),
    }
}

impl RunsPage {
    /// Address of a page about one row.
    fn about(&self, page: &str, path: &str) -> String {
        format!("/{page}?{}", repeated("run", &[path.to_owned()]))
    }

    /// Address of the Live page of a finished run.
    fn live(&self, path: &str) -> String {
        format!("/live/{}", encoded(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (1_795_251_599, "2026-11-21 08:59"),
            (4_107_542_399, "2100-02-28 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}
