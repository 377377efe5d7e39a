//! Resources as pushes tell them: in the form that was agreed on, in full and
//! as what has changed.

use super::sessions::{b, broker, open_with, proposal, update};
use super::*;
use crate::fake::{Fake, Manner};
use gridrig_core::load::LoadSample;
use gridrig_core::session::Threshold;
use gridrig_core::time::SimTime;
use gridrig_protocol::inventory::InventoryDocument;
use gridrig_protocol::lagrid::{
    Codec, Form, Proposal, RequestResourceData, ResourceLanguage, UpdateKind,
};
use gridrig_protocol::rest::LoadReport;

const FORMS: [Form; 4] = [Form::Flat, Form::OneToN, Form::Unique, Form::NToN];

fn in_form(form: Form) -> Proposal {
    Proposal {
        resource_languages: vec![ResourceLanguage::Inventory],
        resource_forms: vec![form],
        ..proposal()
    }
}

/// Its cluster tells the broker of its load.
async fn report(broker: &Handle, second: u64, busy: u32) {
    let mut sample = LoadSample::idle(ClusterId(0), 4);
    (sample.at, sample.busy) = (SimTime::from_secs(second), busy);
    let samples = [LoadReport::from(&sample)];
    let body = json!({"from": {"kind": "lrms", "id": 0}, "samples": samples});
    assert_eq!(ask(broker, "POST", "/v1/info", Some(body)).await.0, 204);
}

/// The next update, which is the one at this position.
async fn pushed(fake: &Fake, position: usize) -> Value {
    for _ in 0..1200 {
        if let Some(update) = fake.updates().get(position) {
            return update.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no update {position} within a minute");
}

/// The busy processors of the cluster's record: whatever its form, it is told.
fn tells(update: &Value, busy: u32) -> bool {
    let inventory = update["inventory"].to_string();
    inventory.contains("ProcBusy") && inventory.contains(&busy.to_string())
}

#[tokio::test]
async fn every_form_is_pushed_in_full_and_as_what_has_changed() {
    for form in FORMS {
        let fake = Fake::start(7).await;
        let broker = broker(|link| {
            link.codec = Codec::Json;
            link.url = fake.url().to_owned();
            link.push = Some(Threshold::of_millionths(100_000));
        })
        .await;
        open_with(&b(None), &broker, in_form(form)).await;
        let (_, peers) = ask(&broker, "GET", "/v1/peers", None).await;
        let session = &peers["peers"][0]["session"];
        assert_eq!(session["resource_form"], form.name());
        assert_eq!(session["resource_language"], "gridrig-inventory-1");
        let check = |update: &Value, kind: &str, sequence: u64, busy: u32| {
            assert_eq!(update["kind"], kind, "{update}");
            assert_eq!(update["sequence"], sequence, "{update}");
            assert_eq!(update["form"], form.name(), "{update}");
            let whole: InventoryDocument =
                serde_json::from_value(update["inventory"].clone()).unwrap();
            assert_eq!(whole.form, form.name(), "{update}");
            assert!(tells(update, busy), "{form:?} {busy}: {update}");
            let from = (kind == "incremental").then(|| sequence - 1);
            assert_eq!(update["from_sequence"].as_u64(), from, "{update}");
        };
        report(&broker, 1, 0).await;
        check(&pushed(&fake, 0).await, "full", 1, 0);
        // What has not moved is not told.
        report(&broker, 2, 0).await;
        report(&broker, 3, 3).await;
        check(&pushed(&fake, 1).await, "incremental", 2, 3);
        // A consumer that has lost the thread is told everything.
        fake.answer(Manner::Forgetful);
        report(&broker, 4, 1).await;
        check(&pushed(&fake, 2).await, "incremental", 3, 1);
        fake.answer(Manner::Good);
        // Its answer may still be on the way: then the next is no full one yet.
        let mut position = 3;
        for second in 5..1200 {
            report(&broker, second, if second % 2 == 0 { 1 } else { 4 }).await;
            let update = pushed(&fake, position).await;
            position += 1;
            if update["kind"] == "full" {
                check(
                    &update,
                    "full",
                    position as u64,
                    if second % 2 == 0 { 1 } else { 4 },
                );
                break;
            }
            assert!(position < 200, "never a full update again");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn who_pulls_gets_everything_or_what_has_changed_since() {
    let broker = broker(|_| ()).await;
    let (peer, url) = (b(None), broker.url());
    let opened = open_with(&peer, &broker, in_form(Form::OneToN)).await;
    report(&broker, 1, 2).await;
    let pull = |since| RequestResourceData {
        connection: opened.connection.clone(),
        form: None,
        since,
    };
    let first = peer.call(&url, &pull(None)).await.unwrap();
    assert_eq!((first.kind, first.clusters.len()), (UpdateKind::Full, 1));
    // The form is the one that was agreed on.
    assert_eq!(first.form, Form::OneToN);
    assert!(first.inventory.is_some());
    let since = Some(first.sequence);
    let second = peer.call(&url, &pull(since)).await.unwrap();
    assert_eq!(second.kind, UpdateKind::Incremental);
    assert_eq!((second.from_sequence, second.clusters.len()), (since, 0));
    // Whoever does not have the last update needs all.
    let third = peer.call(&url, &pull(since)).await.unwrap();
    assert_eq!((third.kind, third.clusters.len()), (UpdateKind::Full, 1));
    wire::holds(
        &broker,
        &["requestResourceData", "requestResourceDataResponse"],
    )
    .await;
}

#[tokio::test]
async fn what_a_peer_pushes_can_be_looked_at() {
    let broker = broker(|_| ()).await;
    let (peer, url) = (b(None), broker.url());
    let path = "/v1/peers/b/resources";
    let opened = open_with(&peer, &broker, in_form(Form::Unique)).await;
    assert_eq!(ask(&broker, "GET", path, None).await.0, 404);
    let (_, own) = ask(&broker, "GET", "/v1/resources?form=unique", None).await;
    let records: InventoryDocument = serde_json::from_value(own.clone()).unwrap();
    let mut told = update(&opened.connection, 1, UpdateKind::Full);
    told.update.form = Form::Unique;
    told.update.inventory = Some(records);
    peer.call(&url, &told).await.unwrap();
    assert_eq!(ask(&broker, "GET", path, None).await, (200, own));
    wire::holds(&broker, &["sendResourceData", "sendResourceDataResponse"]).await;
}

#[tokio::test]
async fn a_broker_that_tells_in_one_form_refuses_others_by_name() {
    let broker = broker(|link| link.tell_in(vec![Form::NToN])).await;
    let opened = open_with(&b(None), &broker, in_form(Form::Unique)).await;
    let said = format!("{:?}", opened.verdict);
    assert!(said.contains("no-common-resource-form"), "{said}");
    let opened = open_with(&b(None), &broker, in_form(Form::NToN)).await;
    assert!(format!("{:?}", opened.verdict).contains("Accepted"));
    wire::holds(&broker, &["openConnResponse"]).await;
}
