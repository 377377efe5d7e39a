//! What all pages have in common.

use askama::Template;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use gridrig_protocol::rest::Problem;
use gridrig_service::http::ProblemResponse;

/// Which entry of the navigation a page belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    /// What is going on now.
    Live,
    /// The table of runs.
    Runs,
    /// Runs side by side.
    Compare,
    /// Jobs over time.
    Gantt,
    /// A page that is not in the navigation.
    #[default]
    None,
}

/// What `base.html` needs; every template has it as `layout`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    tab: Tab,
}

impl Layout {
    /// The layout of a page under this tab.
    pub(super) fn new(tab: Tab) -> Self {
        Layout { tab }
    }

    /// Address and name of each entry, and whether it is the current one.
    pub(super) fn entries(&self) -> [(&'static str, &'static str, bool); 4] {
        [
            ("/", "Live", Tab::Live),
            ("/runs", "Runs", Tab::Runs),
            ("/compare", "Compare", Tab::Compare),
            ("/gantt", "Gantt", Tab::Gantt),
        ]
        .map(|(href, name, tab)| (href, name, tab == self.tab))
    }

    /// The program's version.
    pub(super) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A template as an answer.
pub(super) fn page(template: &impl Template) -> Response {
    page_with(StatusCode::OK, template)
}

/// A template as an answer with this status.
pub(super) fn page_with(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            problem(500, "no-page", "the page could not be made")
        }
    }
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message<'a> {
    layout: Layout,
    title: &'a str,
    text: &'a str,
}

/// A page that only says something, such as that there is no such page.
pub(super) fn message(status: StatusCode, tab: Tab, title: &str, text: &str) -> Response {
    let message = Message {
        layout: Layout::new(tab),
        title,
        text,
    };
    page_with(status, &message)
}

/// A problem document.
pub(super) fn problem(status: u16, code: &str, detail: &str) -> Response {
    ProblemResponse(Problem::new(status, code, detail)).into_response()
}

/// The parts of all headers of this name between such separators.
pub(super) fn parts_of(
    headers: &HeaderMap,
    name: HeaderName,
    separator: char,
) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let values = values.filter_map(|value| value.to_str().ok());
    values
        .flat_map(move |value| value.split(separator))
        .map(str::trim)
}
