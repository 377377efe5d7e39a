//! The Runs page: what there is, found, labelled, chosen and deleted.

use super::query::{Pairs, encoded, repeated};
use super::{Ours, Refused, count, figure, share, work};
use crate::dashboard::Shared;
use crate::dashboard::layout::{self, Layout, Tab, page};
use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use gridrig_results::catalogue::{Filter, Order, Removed, Row, rows};
use serde::Serialize;

/// Rows on the page; the filter finds the others.
const MOST_ROWS: usize = 400;
/// Runs that are named one by one before they are deleted.
const MOST_LISTED: usize = 40;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/runs", get(table))
        .route("/runs/label", get(label_form).post(label))
        .route("/runs/delete", get(delete_form).post(delete))
        .route("/runs/pin", post(pin))
        .route("/api/runs", get(api))
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
    fn read(pairs: &Pairs) -> Result<Self, Refused> {
        let name = pairs.one("sort").unwrap_or("path");
        let (bare, down) = match name.strip_prefix('-') {
            Some(bare) => (bare, true),
            None => (name, false),
        };
        let known = Order::ALL.iter().find(|(order, _)| *order == bare);
        let (order, _) = known.ok_or_else(|| {
            let names: Vec<&str> = Order::ALL.iter().map(|(name, _)| *name).collect();
            Refused::request(format!(
                "field sort = \"{}\": expected one of {}, with - in front for the largest first",
                bare.chars().take(40).collect::<String>(),
                names.join(", ")
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

async fn read(dashboard: &Shared, pages: &Ours, wanted: &Wanted) -> Result<Table, Refused> {
    let filter = Filter::parse(&wanted.filter)
        .map_err(|error| Refused::new(StatusCode::BAD_REQUEST, "bad-filter", error.to_string()))?;
    let folder = dashboard.runs.clone();
    let order = Order::from_name(wanted.order).unwrap_or_default();
    let (each, down) = (wanted.each, wanted.down);
    work(pages, move |pages| {
        pages.with_catalogue(&folder, |opened| {
            let all = opened.catalogue.runs()?;
            Ok(Table {
                folder: folder.display().to_string(),
                runs: all.len() as u64,
                notice: opened.catalogue.notice().map(str::to_owned),
                rows: rows(&all, |run| filter.wants(run), each, (order, down)),
            })
        })
    })
    .await
}

/// `/api/runs`: the table as a document.
async fn api(State(dashboard): State<Shared>, pages: Ours, RawQuery(query): RawQuery) -> Response {
    let wanted = Wanted::read(&Pairs::read(&query.unwrap_or_default()));
    let read = match wanted {
        Ok(wanted) => read(&dashboard, &pages, &wanted).await,
        Err(refused) => Err(refused),
    };
    match read {
        Ok(table) => Json(table).into_response(),
        Err(refused) => refused.problem(),
    }
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
    jobs: String,
    jobs_note: String,
    delay: String,
    p95: String,
    wait: String,
    utilization: String,
    forwarded: String,
    replication: String,
    written: String,
    trouble: Vec<(&'static str, String)>,
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
    rows: Vec<Shown>,
    more: usize,
}

async fn table(
    State(dashboard): State<Shared>,
    pages: Ours,
    RawQuery(query): RawQuery,
) -> Response {
    let pairs = Pairs::read(&query.unwrap_or_default());
    let wanted = match Wanted::read(&pairs) {
        Ok(wanted) => wanted,
        Err(refused) => return refused.page(Tab::Runs),
    };
    // A filter that is not understood is shown as it is, with all runs.
    let read_as = match Filter::parse(&wanted.filter) {
        Ok(_) => (wanted.clone(), String::new()),
        Err(error) => {
            let filter = String::new();
            let all = Wanted {
                filter,
                ..wanted.clone()
            };
            (all, error.to_string())
        }
    };
    let (read_as, error) = read_as;
    let mut table = match read(&dashboard, &pages, &read_as).await {
        Ok(table) => table,
        Err(refused) => return refused.page(Tab::Runs),
    };
    let status = match error.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::BAD_REQUEST,
    };
    let all = std::mem::take(&mut table.rows);
    let more = all.len().saturating_sub(MOST_ROWS);
    let rows = all.into_iter().take(MOST_ROWS).map(shown).collect();
    layout::page_with(
        status,
        &RunsPage {
            layout: Layout::new(Tab::Runs),
            heads: heads(&wanted),
            sort: match wanted.down {
                true => format!("-{}", wanted.order),
                false => wanted.order.to_owned(),
            },
            done: done(&pairs),
            filter: wanted.filter,
            each: wanted.each,
            error,
            table,
            rows,
            more,
        },
    )
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
    let mut trouble = Vec::new();
    if row.state.name() != "complete" {
        trouble.push(("bad", row.state.name().to_owned()));
    }
    match (row.invalid, row.runs) {
        (0, _) => {}
        (1, 1) => trouble.push(("bad", "not valid".to_owned())),
        (invalid, runs) => trouble.push(("bad", format!("{invalid} of {runs} not valid"))),
    }
    if row.partial > 0 {
        trouble.push(("warn", "partial".to_owned()));
    }
    let jobs = &row.jobs;
    let left = [
        ("rejected", jobs.rejected),
        ("cancelled", jobs.cancelled),
        ("failed", jobs.failed),
        ("unfinished", jobs.unfinished),
    ];
    let left = left.iter().filter(|(_, number)| *number > 0);
    let left: Vec<String> = left
        .map(|(what, n)| format!("{} {what}", count(*n)))
        .collect();
    Shown {
        policy: row
            .policy
            .clone()
            .unwrap_or_else(|| match row.state.name() {
                "complete" => "no broker".to_owned(),
                _ => row.path.clone(),
            }),
        jobs: count(jobs.completed),
        jobs_note: left.join(", "),
        delay: figure(row.figures.delay_s_mean),
        p95: figure(row.figures.delay_s_p95),
        wait: figure(row.figures.wait_s_mean),
        utilization: share(row.figures.utilization),
        forwarded: share(row.figures.forwarding_ratio),
        replication: gridrig_results::report::key_words(&row.replication),
        written: row.written_unix_s.map_or_else(String::new, date),
        trouble,
        row,
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

#[derive(Template)]
#[template(path = "runs_label.html")]
struct LabelPage {
    layout: Layout,
    named: Vec<String>,
    runs: usize,
    tags: String,
    note: String,
}

async fn label_form(
    State(dashboard): State<Shared>,
    pages: Ours,
    RawQuery(query): RawQuery,
) -> Response {
    let pairs = Pairs::read(&query.unwrap_or_default());
    match chosen(&dashboard, &pages, &pairs).await {
        Err(refused) => refused.page(Tab::Runs),
        Ok(chosen) => {
            let tags: std::collections::BTreeSet<&str> = chosen
                .runs
                .iter()
                .flat_map(|run| run.labels.tags.iter().map(String::as_str))
                .collect();
            let notes: std::collections::BTreeSet<&str> = chosen
                .runs
                .iter()
                .map(|run| run.labels.note.as_str())
                .filter(|note| !note.is_empty())
                .collect();
            page(&LabelPage {
                layout: Layout::new(Tab::Runs),
                runs: chosen.runs.len(),
                tags: tags.into_iter().collect::<Vec<_>>().join(", "),
                note: notes.into_iter().collect::<Vec<_>>().join("\n"),
                named: chosen.named,
            })
        }
    }
}

/// The runs that a form or an address names, of which there must be one.
async fn chosen(dashboard: &Shared, pages: &Ours, pairs: &Pairs) -> Result<super::Chosen, Refused> {
    let named = pairs.all("run");
    if named.is_empty() {
        return Err(Refused::request(
            "no run is named (expected run=PATH; choose runs in the table first)",
        ));
    }
    let folder = dashboard.runs.clone();
    work(pages, move |pages| pages.chosen(&folder, named)).await
}

/// Changes something about every run that a form names; answers how many.
async fn change(
    dashboard: &Shared,
    pages: &Ours,
    pairs: &Pairs,
    each: impl Fn(&mut super::Opened, &str) -> Result<u64, gridrig_results::catalogue::CatalogueError>
    + Send
    + 'static,
) -> Result<u64, Refused> {
    let chosen = chosen(dashboard, pages, pairs).await?;
    let folder = dashboard.runs.clone();
    work(pages, move |pages| {
        pages.with_catalogue(&folder, |opened| {
            let mut runs = 0;
            for name in &chosen.named {
                runs += each(opened, name)?;
            }
            Ok(runs)
        })
    })
    .await
}

/// Back to the table, which says what was done.
fn back(what: &str, runs: u64) -> Response {
    let location = format!("/runs?{what}={runs}");
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

async fn label(State(dashboard): State<Shared>, pages: Ours, body: String) -> Response {
    let pairs = Pairs::read(&body);
    let tags: Vec<String> = pairs
        .all("tags")
        .iter()
        .flat_map(|tags| tags.split(','))
        .map(str::to_owned)
        .collect();
    let note = pairs.one("note").unwrap_or_default().to_owned();
    let labelled = change(&dashboard, &pages, &pairs, move |opened, name| {
        opened.catalogue.label(name, &tags, &note)
    });
    match labelled.await {
        Ok(runs) => back("labelled", runs),
        Err(refused) => refused.page(Tab::Runs),
    }
}

async fn pin(State(dashboard): State<Shared>, pages: Ours, body: String) -> Response {
    let pairs = Pairs::read(&body);
    let pinned = pairs.flag("pinned");
    let named = pairs.all("run").len();
    if pinned && named > 1 {
        let text = format!("{named} rows are chosen (expected one: there is one baseline)");
        return Refused::request(text).page(Tab::Runs);
    }
    let done = change(&dashboard, &pages, &pairs, move |opened, name| {
        opened.catalogue.pin(name, pinned)
    });
    match done.await {
        Ok(runs) => back(if pinned { "pinned" } else { "unpinned" }, runs),
        Err(refused) => refused.page(Tab::Runs),
    }
}

#[derive(Template)]
#[template(path = "runs_delete.html")]
struct DeletePage {
    layout: Layout,
    named: Vec<String>,
    runs: usize,
    listed: Vec<String>,
    noted: usize,
    folder: String,
}

/// Says what would be deleted, and asks.
async fn delete_form(
    State(dashboard): State<Shared>,
    pages: Ours,
    RawQuery(query): RawQuery,
) -> Response {
    let pairs = Pairs::read(&query.unwrap_or_default());
    match chosen(&dashboard, &pages, &pairs).await {
        Err(refused) => refused.page(Tab::Runs),
        Ok(chosen) => {
            let noted = |run: &&gridrig_results::catalogue::RunEntry| {
                !run.labels.tags.is_empty() || !run.labels.note.is_empty()
            };
            let paths = chosen.runs.iter().map(|run| run.path.clone());
            page(&DeletePage {
                layout: Layout::new(Tab::Runs),
                listed: paths.take(MOST_LISTED).collect(),
                noted: chosen.runs.iter().filter(noted).count(),
                runs: chosen.runs.len(),
                named: chosen.named,
                folder: dashboard.runs.display().to_string(),
            })
        }
    }
}

async fn delete(State(dashboard): State<Shared>, pages: Ours, body: String) -> Response {
    let pairs = Pairs::read(&body);
    if !pairs.flag("sure") {
        let text = "field sure: expected 1, from the page that asks";
        return Refused::request(text).page(Tab::Runs);
    }
    let removed = match chosen(&dashboard, &pages, &pairs).await {
        Err(refused) => Err(refused),
        Ok(chosen) => {
            let folder = dashboard.runs.clone();
            work(&pages, move |pages| {
                pages.with_catalogue(&folder, |opened| {
                    let mut all = Removed::default();
                    for run in &chosen.runs {
                        let removed = opened.catalogue.delete(&run.path)?;
                        all.runs += removed.runs;
                        all.kept.extend(removed.kept);
                    }
                    Ok(all)
                })
            })
            .await
        }
    };
    match removed {
        Err(refused) => refused.page(Tab::Runs),
        Ok(removed) if removed.kept.is_empty() => back("deleted", removed.runs),
        Ok(removed) => {
            let text = format!(
                "Deleted {} runs. Files that no run writes were left where they are: {}.",
                count(removed.runs),
                removed.kept.join(", ")
            );
            layout::message(StatusCode::OK, Tab::Runs, "Deleted", &text)
        }
    }
}

impl RunsPage {
    /// Address of a page about one row.
    fn about(&self, page: &str, path: &str) -> String {
        format!("/{page}?{}", repeated("run", &[path.to_owned()]))
    }

    /// Address of the Live page of a finished run.
    fn course(&self, path: &str) -> String {
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
