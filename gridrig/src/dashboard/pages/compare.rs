//! The Compare page: the report of some runs, as it is when they are looked at.

use super::query::{Pairs, repeated};
use super::{Chosen, NoPage, bad_request, count, no_page, unusable, work};
use crate::dashboard::layout::{Layout, Tab, page};
use crate::dashboard::{Dashboard, Shared};
use crate::versioned::Versioned;
use crate::words::list;
use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use gridrig_protocol::rest::Problem;
use gridrig_results::catalogue::RunEntry;
use gridrig_results::compare::{self, CompareError, Options, Role};
use gridrig_results::plot;
use gridrig_results::report::{self, Fragment, ReportError};
use gridrig_results::rundir::is_bound;
use gridrig_results::threshold::{Figure, Threshold};
use gridrig_service::http::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Pages that are kept, the last ones asked for.
const KEPT: usize = 8;
/// Below so many jobs a page comes whole; above, its frame comes at once and
/// the rest when it is made.
const QUICK: u64 = 100_000;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/compare", get(compare_page))
        .route("/compare/body", get(body))
        .route("/compare/report.html", get(download))
        .route("/compare/plot.css", get(rules))
        .route("/api/compare", get(api))
}

/// The inside of a page.
pub(super) struct Made {
    fragment: Fragment,
    /// What may be the baseline, and whether it is.
    policies: Vec<(String, bool)>,
}

/// What an address says under a name, each time that it does.
fn parsed<T>(
    pairs: &Pairs,
    name: &str,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Problem> {
    let texts = pairs.all(name).into_iter().filter(|text| !text.is_empty());
    let parsed = texts.map(|text| {
        parse(&text).map_err(|why| bad_request(format!("field {name} = \"{text}\": {why}")))
    });
    parsed.collect()
}

/// How an address wants its runs compared.
fn options(pairs: &Pairs) -> Result<Options, Problem> {
    let plain = Options::default();
    Ok(Options {
        baseline: pairs.one("baseline").map(str::to_owned),
        primary: parsed(pairs, "primary", Figure::parse)?,
        require: parsed(pairs, "require", Threshold::parse)?,
        users: pairs
            .number("users", "a number of users")?
            .unwrap_or(plain.users),
        relevant: parsed(pairs, "relevant", crate::cli::relevant)?,
        skip_damaged: pairs.flag("skip_damaged"),
        anyway: pairs.flag("anyway"),
    })
}

/// What an address names and how.
struct Asked {
    chosen: Chosen,
    options: Options,
    /// The address, for the pages beside this one.
    query: String,
}

impl Asked {
    fn read(dashboard: &Dashboard, pairs: &Pairs) -> Result<Self, Problem> {
        let options = options(pairs)?;
        let chosen = dashboard.chosen(pairs.all("run"))?;
        let mut query = repeated("run", &chosen.named);
        for name in [
            "baseline",
            "primary",
            "require",
            "users",
            "relevant",
            "skip_damaged",
        ] {
            let mut values = pairs.all(name);
            values.retain(|value| !value.is_empty());
            if !values.is_empty() {
                query.push('&');
                query.push_str(&repeated(name, &values));
            }
        }
        Ok(Asked {
            chosen,
            options,
            query,
        })
    }

    /// The same of an address that has to name a run.
    fn some(dashboard: &Dashboard, pairs: &Pairs) -> Result<Self, Problem> {
        let asked = Asked::read(dashboard, pairs)?;
        match asked.chosen.named.is_empty() {
            true => Err(bad_request("no run is named (expected run=PATH)")),
            false => Ok(asked),
        }
    }

    /// The options of the page: without a baseline in the address, the pinned
    /// run is the baseline if it is among these.
    fn pinned(&self) -> Options {
        let mut options = self.options.clone();
        if options.baseline.is_none() {
            let mut pinned = self.chosen.runs.iter().filter(|run| run.labels.baseline);
            options.baseline = pinned.next().and_then(|run| run.policy.clone());
        }
        options
    }

    fn jobs(&self) -> u64 {
        self.chosen.runs.iter().map(|run| run.jobs.submitted).sum()
    }

    /// Makes the inside of the page, unless it has been made.
    fn make(&self, dashboard: &Dashboard) -> Result<Arc<Made>, Problem> {
        let key = format!("{} {}", self.chosen.generation, self.query);
        let mut places = KEPT;
        let stays = |_: &Made| {
            let stays = places > 0;
            places = places.saturating_sub(1);
            stays
        };
        let kept = &dashboard.pages.fragments;
        kept.get(key, || self.fresh(), stays)
    }

    fn fresh(&self) -> Result<Made, Problem> {
        let of = |compare: Options| report::Options {
            compare,
            replication: None,
        };
        let pinned = self.pinned();
        let by_pin = pinned.baseline != self.options.baseline;
        let fragment = match report::fragment(&self.chosen.dirs, &of(pinned)) {
            // The pin may be on a run that cannot be a baseline here.
            Err(_) if by_pin => report::fragment(&self.chosen.dirs, &of(self.options.clone())),
            other => other,
        };
        let fragment = fragment.map_err(|error| refused(&error))?;
        let policies = fragment.comparison.iter().flat_map(|c| &c.policies);
        let policies = policies
            .filter(|policy| policy.role != Role::Bound)
            .map(|policy| (policy.name.clone(), policy.role == Role::Baseline))
            .collect();
        Ok(Made { fragment, policies })
    }
}

/// Why there is no page or document.
fn refused(error: &ReportError) -> Problem {
    match error {
        ReportError::Compare(error) => not_compared(error),
        other => unusable("unreadable-run", other),
    }
}

fn not_compared(error: &CompareError) -> Problem {
    let code = match error {
        CompareError::NotComparable(_) => "not-comparable",
        CompareError::OnePolicy { .. } => "one-policy",
        CompareError::NoPair { .. } => "no-pair",
        CompareError::Baseline { .. } => "no-such-baseline",
        CompareError::HalfWritten { .. } => "half-written",
        CompareError::Damaged(_) => "damaged-run",
        _ => "cannot-compare",
    };
    unusable(code, error)
}

/// `/api/compare`: what `gridrig compare --json` prints, to the byte.
async fn api(State(own): State<Shared>, pairs: Pairs) -> Result<Response> {
    let made = work(&own, move |own| {
        let asked = Asked::some(own, &pairs)?;
        let comparison = compare::compare(&asked.chosen.dirs, &asked.options);
        let comparison = comparison.map_err(|error| not_compared(&error))?;
        let mut text = serde_json::to_string_pretty(&Versioned::from(&comparison))
            .map_err(|error| unusable("no-document", &error))?;
        text.push('\n');
        Ok(text)
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], made.await?).into_response())
}

/// A study that can be compared as a whole.
struct Study {
    path: String,
    scenario: String,
    policies: String,
    runs: String,
}

#[derive(Default, Template)]
#[template(path = "compare.html")]
struct ComparePage {
    layout: Layout,
    title: String,
    named: Vec<String>,
    query: String,
    /// With the runs alone: for pages that know nothing of baselines.
    runs_query: String,
    studies: Vec<Study>,
    /// Empty while it is being made.
    html: String,
    jobs: String,
    runs: usize,
    policies: Vec<(String, bool)>,
    figures: Vec<(String, bool)>,
    skip_damaged: bool,
}

async fn compare_page(State(own): State<Shared>, pairs: Pairs) -> Result<Response, NoPage> {
    let made = work(&own, move |own| {
        let asked = Asked::read(own, &pairs)?;
        if asked.chosen.named.is_empty() {
            return start_page(own);
        }
        let mut answer = ComparePage {
            layout: Layout::new(Tab::Compare),
            title: "Compare".to_owned(),
            runs_query: repeated("run", &asked.chosen.named),
            jobs: count(asked.jobs()),
            runs: asked.chosen.runs.len(),
            policies: policies_of(&asked.chosen.runs, asked.pinned().baseline.as_deref()),
            figures: figures(&asked.options.primary),
            skip_damaged: asked.options.skip_damaged,
            named: asked.chosen.named.clone(),
            query: asked.query.clone(),
            ..ComparePage::default()
        };
        if asked.jobs() <= QUICK || pairs.flag("whole") {
            let made = asked.make(own)?;
            answer.title.clone_from(&made.fragment.title);
            answer.html.clone_from(&made.fragment.html);
            if !made.policies.is_empty() {
                answer.policies.clone_from(&made.policies);
            }
        }
        Ok(answer)
    });
    Ok(page(&made.await.map_err(no_page(Tab::Compare))?))
}

/// The policies that the catalogue knows of, before anything is compared, and
/// which of them will be the baseline: a form that is sent again keeps it.
fn policies_of(runs: &[RunEntry], baseline: Option<&str>) -> Vec<(String, bool)> {
    let names = runs.iter().filter_map(|run| run.policy.as_deref());
    let names: BTreeSet<&str> = names.collect();
    let baseline = baseline
        .or_else(|| names.get("round-robin").copied())
        .or_else(|| names.iter().find(|name| !is_bound(name)).copied());
    let choice = |name: &str| (name.to_owned(), Some(name) == baseline);
    names.into_iter().map(choice).collect()
}

/// What policies may be judged by.
fn figures(primary: &[Figure]) -> Vec<(String, bool)> {
    let all = Figure::all();
    all.map(|figure| (figure.to_string(), primary.first() == Some(&figure)))
        .collect()
}

/// The page without runs: which studies there are.
fn start_page(dashboard: &Dashboard) -> Result<ComparePage, Problem> {
    let runs = dashboard.with_catalogue(|opened| opened.catalogue.runs())?;
    let mut found: BTreeMap<&str, Vec<&RunEntry>> = BTreeMap::new();
    for run in &runs {
        // RUNS/STUDY/POLICY/rNNN, and whatever lies as deep.
        let study = run.path.rsplitn(3, '/').nth(2).unwrap_or_default();
        found.entry(study).or_default().push(run);
    }
    let study = |(path, runs): (&str, Vec<&RunEntry>)| {
        let of = |run: &&RunEntry| run.policy.clone();
        let policies: BTreeSet<String> = runs.iter().filter_map(of).collect();
        let scenario = runs.first().map_or("", |run| run.scenario.as_str());
        (policies.len() > 1 && !path.is_empty()).then(|| Study {
            path: path.to_owned(),
            scenario: scenario.to_owned(),
            policies: list(policies),
            runs: count(runs.len() as u64),
        })
    };
    Ok(ComparePage {
        layout: Layout::new(Tab::Compare),
        title: "Compare".to_owned(),
        studies: found.into_iter().filter_map(study).collect(),
        runs: runs.len(),
        ..ComparePage::default()
    })
}

impl ComparePage {
    fn about(&self, path: &str) -> String {
        format!("/compare?{}", repeated("run", &[path.to_owned()]))
    }
}

/// `/compare/body`: the inside of a page that takes its time.
async fn body(State(own): State<Shared>, pairs: Pairs) -> Result<Response> {
    let made = work(&own, move |own| {
        let made = Asked::read(own, &pairs)?.make(own)?;
        Ok(made.fragment.html.clone())
    });
    Ok(Html(made.await?).into_response())
}

/// `/compare/report.html`: one file to pass on, as `gridrig report` writes it.
async fn download(State(own): State<Shared>, pairs: Pairs) -> Result<Response, NoPage> {
    let made = work(&own, move |own| {
        let asked = Asked::some(own, &pairs)?;
        let options = report::Options {
            compare: Options {
                users: 10,
                ..asked.options.clone()
            },
            replication: None,
        };
        let report = report::report(&asked.chosen.dirs, &options);
        Ok(report.map_err(|error| refused(&error))?.html)
    });
    let html = made.await.map_err(no_page(Tab::Compare))?;
    let name = "attachment; filename=\"report.html\"";
    Ok(([(header::CONTENT_DISPOSITION, name)], Html(html)).into_response())
}

/// The classes of the pictures: those of the report, from where it has them.
async fn rules() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=3600"),
    ];
    (headers, plot::RULES).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(policies: &[&str]) -> Vec<RunEntry> {
        let run = |policy: &&str| RunEntry {
            policy: Some((*policy).to_owned()),
            ..RunEntry::default()
        };
        policies.iter().map(run).collect()
    }

    fn chosen(policies: &[&str], baseline: Option<&str>) -> Vec<String> {
        let all = policies_of(&runs(policies), baseline);
        let current = all.into_iter().filter(|(_, current)| *current);
        current.map(|(name, _)| name).collect()
    }

    #[test]
    fn the_form_has_the_baseline_that_the_comparison_takes() {
        let all = ["pooled", "free-node", "round-robin", "full-information"];
        assert_eq!(chosen(&all, None), ["round-robin"]);
        assert_eq!(chosen(&all, Some("pooled")), ["pooled"]);
        assert_eq!(
            chosen(&["full-information", "utilization"], None),
            ["utilization"]
        );
        assert!(chosen(&["pooled"], None).is_empty());
    }
}
