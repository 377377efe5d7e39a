//! Style sheets, modules and pictures, embedded in the program.

use super::layout::{parts_of, problem};
use crate::words::hex;
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "dashboard/assets"]
struct Assets;

pub(super) fn routes() -> Router<super::Shared> {
    Router::new().route("/assets/{*path}", get(asset))
}

/// An asset with its hash as tag: a page is loaded with one round trip per
/// asset and without its bytes once a browser has them.
async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = Assets::get(&path) else {
        return problem(404, "no-such-asset", "there is no such asset");
    };
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()[..12]));
    let known = parts_of(&headers, header::IF_NONE_MATCH, ',')
        .any(|value| value.trim_start_matches("W/") == tag);
    let headers = [
        (header::CONTENT_TYPE, media(&path)),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ETAG, &tag),
    ];
    match known {
        true => (StatusCode::NOT_MODIFIED, headers).into_response(),
        false => (headers, file.data.into_owned()).into_response(),
    }
}

fn media(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_asset_has_a_media_type_of_its_own() {
        for path in Assets::iter() {
            let licence = path.ends_with("LICENSE");
            assert!(licence || !media(&path).starts_with("text/plain"), "{path}");
        }
    }
}
