//! The Sweep page: what a sweep among the runs has found.

use super::query::{Pairs, encoded};
use super::{NoPage, no_page, work};
use crate::dashboard::layout::{Layout, Tab, page};
use crate::dashboard::{Dashboard, Shared};
use crate::sweep::{Found, Plan};
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use gridrig_protocol::rest::Problem;
use std::path::Path;

/// Sweeps are looked for in the folder of runs and in folders down to here.
const DEPTH: usize = 3;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/sweep", get(sweep_page))
}

#[derive(Template)]
#[template(path = "sweep.html")]
struct SweepPage {
    layout: Layout,
    title: String,
    html: String,
}

/// The sweeps among the runs, with their addresses.
pub(super) fn links(dashboard: &Dashboard) -> Vec<(String, String)> {
    let mut found = Vec::new();
    look(&dashboard.runs, "", 0, &mut found);
    let with_address = |name: String| (format!("/sweep?dir={}", encoded(&name)), name);
    found.into_iter().map(with_address).collect()
}

fn look(dir: &Path, name: &str, depth: usize, found: &mut Vec<String>) {
    if Plan::is_in(dir) {
        found.push(if name.is_empty() { "." } else { name }.to_owned());
        return;
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
    let names = dirs.filter_map(|it| it.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    for own in names.into_iter().filter(|_| depth < DEPTH) {
        let below = format!("{name}/{own}");
        let below = below.trim_start_matches('/');
        look(&dir.join(&own), below, depth + 1, found);
    }
}

async fn sweep_page(State(own): State<Shared>, pairs: Pairs) -> Result<Response, NoPage> {
    let made = work(&own, move |own| {
        let asked = pairs.one("dir").unwrap_or_default();
        // Only what is there leads to a folder.
        let mut all = links(own).into_iter();
        let known = all.find(|(_, name)| name == asked).ok_or_else(|| {
            let detail = format!("there is no sweep {asked} (expected the folder of a plan)");
            Problem::new(404, "no-such-sweep", detail)
        })?;
        let unusable = |why: anyhow::Error| Problem::new(422, "no-sweep", format!("{why:#}"));
        let plan = Plan::open(&own.runs.join(&known.1)).map_err(unusable)?;
        let figures = pairs.all("figure");
        let title = format!("Sweep {}", plan.title());
        let found = Found::read(&plan, &figures).map_err(unusable)?;
        Ok(SweepPage {
            layout: Layout::new(Tab::Runs),
            html: found.page(&title).to_fragment(),
            title,
        })
    });
    Ok(page(&made.await.map_err(no_page(Tab::Runs))?))
}
