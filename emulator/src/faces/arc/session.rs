//! A job's session directory and what there is to diagnose.
//!
//! Uploads are read to their end and counted, not kept: nothing runs that
//! could read them. A job that has run leaves the output files it declared,
//! with a line about itself on standard output and nothing in the others.

use super::answer::{Fault, Reply, text};
use super::look::{Look, look_at_one, problem};
use super::state::RestState;
use super::store::{Job, Stage};
use super::{Call, Face, create};
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{Method, StatusCode, header};
use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use gridrig_protocol::glue2;
use gridrig_protocol::xml::Element;
use gridrig_service::http::header_text;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most files that one job may have uploaded.
const MOST_UPLOADS: usize = 10_000;

pub(super) async fn top(
    State(face): State<Arc<Face>>,
    Path(id): Path<String>,
    call: Call,
) -> Reply {
    serve(&face, &call, &id, "", Body::empty()).await
}

pub(super) async fn below(
    State(face): State<Arc<Face>>,
    Path((id, path)): Path<(String, String)>,
    call: Call,
    body: Body,
) -> Reply {
    serve(&face, &call, &id, &path, body).await
}

async fn serve(face: &Arc<Face>, call: &Call, id: &str, path: &str, body: Body) -> Reply {
    let (number, look) = &look_at_one(face, call, id).await?;
    let number = *number;
    let path = path.trim_matches('/');
    if path.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(Fault::new(404, "Wrong path"));
    }
    match call.method.as_str() {
        "GET" | "HEAD" => get(face, call, number, look, path),
        "PUT" => put(face, call, number, path, body).await,
        "DELETE" => delete(face, number, path),
        "PROPFIND" => propfind(face, call, number, look, path),
        _ => Err(Fault::not_implemented()),
    }
}

/// The files that are there now, with what is in them as far as it is known.
fn files(face: &Face, number: u64, look: &Look) -> Result<Files, Fault> {
    let store = face.store();
    let job = store.job(number)?;
    let mut files = Files::new();
    match look.state {
        RestState::Finished => {
            let streams = [&job.activity.output, &job.activity.error];
            let declared = job.activity.outputs.iter();
            // "" asks for the whole directory.
            let everything = declared.clone().any(|file| file.name.is_empty());
            let streams = streams.into_iter().flatten().filter(|_| everything);
            // What has a target has been put there.
            let kept = declared.filter(|file| file.targets.is_empty() && !file.name.is_empty());
            for name in kept.map(|file| &file.name).chain(streams) {
                let text = output(face, job, number, look, name);
                files.insert(name.clone(), File::of(&text));
            }
        }
        RestState::Failed | RestState::Killed | RestState::Wiped => {}
        _ => {
            for (name, upload) in &job.uploads {
                let size = upload.received;
                files.insert(name.clone(), File { size, text: None });
            }
            if look.state == RestState::Running {
                let streams = [&job.activity.output, &job.activity.error];
                for name in streams.into_iter().flatten() {
                    files.insert(name.clone(), File::of(""));
                }
            }
        }
    }
    Ok(files)
}

type Files = BTreeMap<String, File>;

struct File {
    size: u64,
    /// `None` for an upload, of which only the size is kept.
    text: Option<String>,
}

impl File {
    fn of(text: &str) -> Self {
        File {
            size: text.len() as u64,
            text: Some(text.to_owned()),
        }
    }
}

fn output(face: &Face, job: &Job, number: u64, look: &Look, name: &str) -> String {
    if job.activity.output.as_deref() != Some(name) {
        return String::new();
    }
    let ran = look.end().and_then(|end| end.start.zip(end.finish));
    let ran = ran.map_or(0.0, |(start, finish)| finish.since(start).as_secs_f64());
    format!(
        "gridrig: job {} ran {ran:.3} s on {} processors of emulated cluster {} (length from {})\n",
        face.id(number),
        job.activity.slots,
        face.app.config.name,
        job.length.1,
    )
}

/// What lies directly in a folder: files with their size, folders with none.
fn entries(files: &Files, folder: &str) -> Result<BTreeMap<String, Option<u64>>, Fault> {
    let prefix = match folder {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let mut entries = BTreeMap::new();
    for (name, file) in files {
        if let Some(rest) = name.strip_prefix(&prefix) {
            match rest.split_once('/') {
                Some((below, _)) => entries.insert(below.to_owned(), None),
                None => entries.insert(rest.to_owned(), Some(file.size)),
            };
        }
    }
    match entries.is_empty() && !folder.is_empty() {
        true => Err(Fault::new(404, "Not found")),
        false => Ok(entries),
    }
}

fn get(face: &Face, call: &Call, number: u64, look: &Look, path: &str) -> Reply {
    let files = files(face, number, look)?;
    if let Some(file) = files.get(path) {
        let gone = "the contents of uploaded files are not kept";
        let content = file.text.clone().ok_or_else(|| Fault::new(404, gone))?;
        return Ok(ranged(call, content));
    }
    let entries = entries(&files, path)?;
    let item = |(name, size): (String, Option<u64>)| match size {
        Some(size) => Element::with_text("", "file", name).with_attribute("size", size.to_string()),
        None => Element::with_text("", "dir", name),
    };
    let list = Element::new("", "list").with_all(entries.into_iter().map(item));
    Ok(call.format.answer(StatusCode::OK, &list, &["file", "dir"]))
}

/// A file, or the part of it that is asked for: ARC's client reads in parts.
fn ranged(call: &Call, content: String) -> axum::response::Response {
    const MEDIA: &str = "application/octet-stream";
    let size = content.len();
    let range = header_text(&call.headers, header::RANGE);
    let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let part = range.and_then(|(first, last)| {
        let first: usize = first.parse().ok()?;
        let last = last.parse().unwrap_or(usize::MAX).min(size.checked_sub(1)?);
        (first <= last).then_some((first, last))
    });
    let Some((first, last)) = part else {
        return text(StatusCode::OK, MEDIA, content);
    };
    let bytes = Bytes::from(content).slice(first..=last);
    let range = format!("bytes {first}-{last}/{size}");
    let headers = [
        (header::CONTENT_TYPE, MEDIA.to_owned()),
        (header::CONTENT_RANGE, range),
    ];
    (StatusCode::PARTIAL_CONTENT, headers, bytes).into_response()
}

async fn put(face: &Arc<Face>, call: &Call, number: u64, path: &str, body: Body) -> Reply {
    {
        let store = face.store();
        let job = store.job(number)?;
        if !matches!(job.stage, Stage::Uploading { .. }) {
            let why = "Error creating file: the job takes no files any more";
            return Err(Fault::new(500, why));
        }
        if path.is_empty() || job.uploads.len() >= MOST_UPLOADS && !job.uploads.contains_key(path) {
            return Err(Fault::new(500, "Error creating file"));
        }
    }
    let total = content_range_total(call);
    let mut received = 0u64;
    let mut body = body.into_data_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|_| Fault::new(500, "Error writing to file"))?;
        received += chunk.len() as u64;
    }
    let is_complete = {
        let mut store = face.store();
        let job = store.upload(number, path)?;
        let upload = job.uploads.entry(path.to_owned()).or_default();
        // A part of the file: it is whole when all parts are there.
        let before = total.map_or(0, |_| upload.received);
        upload.received = before.saturating_add(received);
        upload.size = total.or(Some(received));
        let waits = matches!(job.stage, Stage::Uploading { .. });
        let is_complete = waits && job.missing().next().is_none();
        if is_complete {
            let now = face.app.config.clock.now();
            job.stage = create::entering(face, now, create::PREPARED, job.held);
        }
        is_complete
    };
    if is_complete {
        // Once begun it is done, whether or not the client is still there.
        let face = Arc::clone(face);
        let submitted = tokio::spawn(async move {
            let submitted = create::submit(&face, &[number]).await;
            if let (Err(error), Some(job)) = (&submitted, face.store().jobs.get_mut(&number)) {
                let at = face.app.config.clock.now();
                let reason = format!("LRMS error: {error}");
                job.stage = Stage::Failed { at, reason };
            }
        });
        submitted.await.map_err(Fault::broke_off)?;
    }
    Ok(StatusCode::OK.into_response())
}

/// The size of the whole file where only a part comes: `bytes 0-9/100`.
fn content_range_total(call: &Call) -> Option<u64> {
    let range = header_text(&call.headers, header::CONTENT_RANGE)?;
    range.rsplit('/').next()?.trim().parse().ok()
}

fn delete(face: &Face, number: u64, path: &str) -> Reply {
    let mut store = face.store();
    let job = store.job_mut(number)?;
    match job.uploads.remove(path) {
        Some(_) => Ok(StatusCode::ACCEPTED.into_response()),
        None => Err(Fault::new(500, "Failed to delete")),
    }
}

/// What ARC's data library lists a folder with.
fn propfind(face: &Face, call: &Call, number: u64, look: &Look, path: &str) -> Reply {
    let files = files(face, number, look)?;
    let (origin, id) = (&call.origin, face.id(number));
    let base = format!("{origin}{}/rest/1.0/jobs/{id}/session", super::BASE);
    let arrived = face.store().jobs.get(&number).map(|job| job.arrived);
    let when = arrived.map_or_else(String::new, |at| glue2::instant(face.unix_s(at)));
    let response = |path: &str, size: Option<u64>| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let kind = Element::new("", "d:resourcetype");
        let properties = Element::new("", "d:prop").field("d:displayname", name);
        let (href, properties) = match size {
            Some(size) => (
                format!("{base}/{path}"),
                properties.with(kind).field("d:getcontentlength", size),
            ),
            None => (
                format!("{base}/{path}{}", if path.is_empty() { "" } else { "/" }),
                properties.with(kind.with(Element::new("", "d:collection"))),
            ),
        };
        let properties = properties
            .field("d:getlastmodified", &when)
            .field("d:creationdate", &when);
        let found = Element::new("", "d:propstat")
            .with(properties)
            .field("d:status", "HTTP/1.1 200 OK");
        Element::new("", "d:response")
            .field("d:href", href)
            .with(found)
    };
    let mut all = Vec::new();
    match files.get(path) {
        Some(file) => all.push(response(path, Some(file.size))),
        None => {
            let entries = entries(&files, path)?;
            all.push(response(path, None));
            let depth = call.headers.get("depth").map(|depth| depth.as_bytes());
            if depth != Some(b"0") {
                all.extend(entries.into_iter().map(|(name, size)| {
                    let below = format!("{path}/{name}");
                    response(below.trim_start_matches('/'), size)
                }));
            }
        }
    }
    let list = Element::new("", "d:multistatus").with_attribute("xmlns:d", "DAV:");
    let list = list.with_all(all).to_document();
    Ok(text(StatusCode::MULTI_STATUS, "application/xml", list))
}

pub(super) async fn diagnose(
    State(face): State<Arc<Face>>,
    Path((id, name)): Path<(String, String)>,
    call: Call,
) -> Reply {
    call.only(&[Method::GET, Method::HEAD])?;
    let (number, look) = &look_at_one(&face, &call, &id).await?;
    let store = face.store();
    let job = store.job(*number)?;
    let content = match name.as_str() {
        "status" => format!("{}\n", look.state.name()),
        "failed" => problem(job, look).map_or_else(String::new, |problem| problem + "\n"),
        "errors" => log(&face, job, *number, look),
        _ => return Err(Fault::new(404, "Not found")),
    };
    Ok(text(StatusCode::OK, "text/plain; charset=utf-8", content))
}

/// What happened to a job, as far as there is something to say.
fn log(face: &Face, job: &Job, number: u64, look: &Look) -> String {
    let arrived = glue2::instant(face.unix_s(job.arrived));
    let mut lines = vec![format!(
        "{arrived} job {} of {}: {} processors for {} s (length from {})",
        face.id(number),
        job.owner,
        job.activity.slots,
        job.length.0.as_secs_f64(),
        job.length.1,
    )];
    if let Some(delegation) = job.delegation {
        lines.push(format!("delegation {}", face.delegation_id(delegation)));
    }
    if let Stage::InLrms(job) = job.stage {
        lines.push(format!("LRMS job {}", job.0));
    }
    for element in &job.activity.ignored {
        lines.push(format!("element {element} has no meaning here"));
    }
    lines.extend(problem(job, look));
    lines.push(format!("state {}", look.state.name()));
    lines.join("\n") + "\n"
}
