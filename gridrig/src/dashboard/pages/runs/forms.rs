//! What is done to chosen runs: labelled, pinned, deleted.

use crate::dashboard::Shared;
use crate::dashboard::layout::{self, Layout, Tab, page};
use crate::dashboard::pages::query::Pairs;
use crate::dashboard::pages::{Chosen, NoPage, Opened, bad_request, count, work};
use crate::words::list;
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gridrig_protocol::rest::Result;
use gridrig_results::catalogue::{CatalogueError, Removed, RunEntry, is_held};
use std::collections::BTreeSet;

/// Runs that are named one by one before they are deleted.
const MOST_LISTED: usize = 40;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/runs/label", get(label_form).post(label))
        .route("/runs/delete", get(delete_form).post(delete))
        .route("/runs/pin", post(pin))
}

/// A page, or one that says why not.
type Answer = Result<Response, NoPage>;

#[derive(Template)]
#[template(path = "runs_label.html")]
struct LabelPage {
    layout: Layout,
    named: Vec<String>,
    runs: usize,
    tags: String,
    note: String,
}

async fn label_form(State(own): State<Shared>, pairs: Pairs) -> Answer {
    let chosen = chosen(&own, &pairs).await?;
    let labels = || chosen.runs.iter().map(|run| &run.labels);
    let tags: BTreeSet<&str> = labels().flat_map(|l| &l.tags).map(String::as_str).collect();
    let notes: BTreeSet<&str> = labels().map(|l| l.note.as_str()).collect();
    let notes = notes.into_iter().filter(|note| !note.is_empty());
    Ok(page(&LabelPage {
        layout: Layout::new(Tab::Runs),
        runs: chosen.runs.len(),
        tags: list(tags),
        note: notes.collect::<Vec<_>>().join("\n"),
        named: chosen.named,
    }))
}

/// The runs that a form or an address names, of which there must be one.
async fn chosen(own: &Shared, pairs: &Pairs) -> Result<Chosen> {
    let named = pairs.all("run");
    if named.is_empty() {
        return Err(bad_request(
            "no run is named (expected run=PATH; choose runs in the table first)",
        ));
    }
    work(own, move |own| own.chosen(named)).await
}

/// Changes something about every run that a form names; answers how many.
async fn change(
    own: &Shared,
    pairs: &Pairs,
    each: impl Fn(&mut Opened, &str) -> Result<u64, CatalogueError> + Send + 'static,
) -> Result<u64> {
    let chosen = chosen(own, pairs).await?;
    work(own, move |own| {
        own.with_catalogue(|opened| {
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

async fn label(State(own): State<Shared>, body: String) -> Answer {
    let pairs = Pairs::read(&body);
    let tags: Vec<String> = pairs
        .all("tags")
        .iter()
        .flat_map(|tags| tags.split(','))
        .map(str::to_owned)
        .collect();
    let note = pairs.one("note").unwrap_or_default().to_owned();
    let labelled = change(&own, &pairs, move |opened, name| {
        opened.catalogue.label(name, &tags, &note)
    });
    Ok(back("labelled", labelled.await?))
}

async fn pin(State(own): State<Shared>, body: String) -> Answer {
    let pairs = Pairs::read(&body);
    let pinned = pairs.flag("pinned");
    let named = pairs.all("run").len();
    if pinned && named > 1 {
        let text = format!("{named} rows are chosen (expected one: there is one baseline)");
        return Err(bad_request(text).into());
    }
    let done = change(&own, &pairs, move |opened, name| {
        opened.catalogue.pin(name, pinned)
    });
    let what = if pinned { "pinned" } else { "unpinned" };
    Ok(back(what, done.await?))
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
async fn delete_form(State(own): State<Shared>, pairs: Pairs) -> Answer {
    let chosen = chosen(&own, &pairs).await?;
    let noted = |run: &&RunEntry| !run.labels.tags.is_empty() || !run.labels.note.is_empty();
    let paths = chosen.runs.iter().map(|run| run.path.clone());
    Ok(page(&DeletePage {
        layout: Layout::new(Tab::Runs),
        listed: paths.take(MOST_LISTED).collect(),
        noted: chosen.runs.iter().filter(noted).count(),
        runs: chosen.runs.len(),
        named: chosen.named,
        folder: own.runs.display().to_string(),
    }))
}

async fn delete(State(own): State<Shared>, body: String) -> Answer {
    let pairs = Pairs::read(&body);
    if !pairs.flag("sure") {
        let text = "field sure: expected 1, from the page that asks";
        return Err(bad_request(text).into());
    }
    let chosen = chosen(&own, &pairs).await?;
    let (removed, refused) = work(&own, move |own| {
        own.with_catalogue(|opened| {
            let mut all = Removed::default();
            let mut runs = chosen.runs.iter();
            if let Some(run) = runs.find(|run| is_held(&own.runs.join(&run.path))) {
                let refused = CatalogueError::Running(run.path.clone());
                return Ok((all, Some(refused.to_string())));
            }
            for run in &chosen.runs {
                match opened.catalogue.delete(&run.path) {
                    // It has begun since.
                    Err(refused @ CatalogueError::Running(_)) => {
                        return Ok((all, Some(refused.to_string())));
                    }
                    removed => {
                        let removed = removed?;
                        all.runs += removed.runs;
                        all.kept.extend(removed.kept);
                    }
                }
            }
            Ok((all, None))
        })
    })
    .await?;
    if let Some(refused) = refused {
        let title = match removed.runs {
            0 => "Nothing was deleted",
            _ => "Not all runs were deleted",
        };
        let (status, text) = (StatusCode::CONFLICT, format!("{refused}."));
        return Ok(layout::message(status, Tab::Runs, title, &text));
    }
    if removed.kept.is_empty() {
        return Ok(back("deleted", removed.runs));
    }
    let text = format!(
        "Deleted {} runs. Files that no run writes were left where they are: {}.",
        count(removed.runs),
        removed.kept.join(", ")
    );
    Ok(layout::message(StatusCode::OK, Tab::Runs, "Deleted", &text))
}
