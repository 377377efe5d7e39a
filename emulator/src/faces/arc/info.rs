//! `/info`: the cluster as a GLUE 2.0 document.

use super::answer::{Fault, Reply};
use super::store::Stage;
use super::{BASE, Call, Face};
use axum::extract::State;
use axum::http::{Method, StatusCode};
use gridrig_core::agent::LrmsAgent;
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::glue2::{self, arc::Cluster};
use std::sync::Arc;

pub(super) async fn info(State(face): State<Arc<Face>>, call: Call) -> Reply {
    call.only(&[Method::GET, Method::HEAD])?;
    let schema = call.query.get("schema").and_then(|all| all.first());
    if schema.is_some_and(|schema| !schema.is_empty() && schema != "glue2") {
        return Err(Fault::new(501, "Schema not implemented"));
    }
    let look =
        |lrms: &mut Driven<LrmsAgent>, now| (lrms.sample_at(now), lrms.cluster().present() as u64);
    let (sample, present) = face.app.actor.call(look).await?;
    let before_lrms =
        |stage: &Stage| matches!(stage, Stage::Uploading { .. } | Stage::Entering { .. });
    let staging = {
        let store = face.store();
        let staging = store.jobs.values().filter(|job| before_lrms(&job.stage));
        staging.count() as u64
    };
    let config = &face.app.config;
    let document = Cluster {
        name: &config.name,
        share: (&face.setup.queue, &face.share_id()),
        host: call.origin.rsplit('/').next().unwrap_or_default(),
        url: &format!("{}{BASE}", call.origin),
        issuer: config.tls.as_ref().map(|tls| tls.issuer()),
        created: &glue2::instant(face.unix_s(sample.at)),
        resources: &config.cluster.resources,
        sample: &sample,
        running: present.saturating_sub(sample.queued),
        staging,
        max_jobs: face.setup.max_jobs,
    };
    Ok(call
        .format
        .answer(StatusCode::OK, &document.document(), &[]))
}
