//! What the operations do.

use super::*;

#[tokio::test]
async fn a_job_goes_from_pending_over_running_to_finished() {
    let lrms = start(1).await;
    let wide = id_of(&ask(&lrms, &job(4, "1h")).await);
    let next = id_of(&ask(&lrms, &job(1, "1s")).await);
    let both = ask(&lrms, &about("GetActivityStatuses", &[&next, &wide])).await;
    assert_eq!(states(&both), ["Pending", "Running"], "{}", both.text);
    ask(&lrms, &about("TerminateActivities", &[&wide])).await;
    wait_for(&lrms, &next, "Finished").await;
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn the_cluster_runs_what_the_document_asks_for() {
    let lrms = start(1).await;
    let created = ask(&lrms, &job(3, "90s")).await;
    assert_eq!(created.status, 200, "{}", created.text);
    let (_, _, native) = crate::ask(&lrms, "GET", "/v1/jobs/0", None).await;
    assert_eq!(native["processors"], 3);
    assert_eq!(native["run_time"], "90s");
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_job_that_says_no_length_runs_for_the_default() {
    let lrms = start(1).await;
    ask(&lrms, &create("")).await;
    let (_, _, native) = crate::ask(&lrms, "GET", "/v1/jobs/0", None).await;
    assert_eq!(native["run_time"], "60s");
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn terminating_tells_apart_what_ran_what_has_ended_and_what_never_was() {
    let lrms = start(1).await;
    let ended = id_of(&ask(&lrms, &job(1, "0s")).await);
    wait_for(&lrms, &ended, "Finished").await;
    let running = id_of(&ask(&lrms, &job(1, "1h")).await);
    let ids = [running.as_str(), ended.as_str(), "urn:gridsam:0-0-77"];
    let answer = ask(&lrms, &about("TerminateActivities", &ids)).await;
    let said: Vec<String> = answer
        .body()
        .elements()
        .map(|response| response.child(FACTORY, "Terminated").unwrap().text())
        .collect();
    assert_eq!(said, ["true", "false", "false"]);
    let name = "CantApplyOperationToCurrentStateFault";
    assert!(answer.text.contains(name) && answer.text.contains("UnknownActivityIdentifierFault"));
    let again = ask(&lrms, &about("TerminateActivities", &[&running])).await;
    assert!(again.text.contains(">true<"), "{}", again.text);
    let state = ask(&lrms, &about("GetActivityStatuses", &[&running])).await;
    assert_eq!(states(&state), ["Cancelled"]);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_document_comes_back_as_it_was_given() {
    let lrms = start(1).await;
    let program = "<Application><posix:POSIXApplication><posix:Executable>/bin/echo\
                   </posix:Executable><posix:Argument>a &lt; b</posix:Argument>\
                   </posix:POSIXApplication></Application>";
    let id = id_of(&ask(&lrms, &create(program)).await);
    let answer = ask(&lrms, &about("GetActivityDocuments", &[&id])).await;
    let argument = "<jsdl-posix:Argument>a &lt; b</jsdl-posix:Argument>";
    assert!(answer.text.contains(argument), "{}", answer.text);
    assert!(answer.text.contains("<bes-factory:JobDefinition>"));
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_document_that_is_no_longer_kept_is_made_anew_from_the_job() {
    let mut config = crate::config(1);
    config.faces.bes = Some(Setup {
        max_documents: 1,
        ..Setup::default()
    });
    let lrms = spawn(config, crate::door()).await.unwrap();
    let first = id_of(&ask(&lrms, &job(2, "7s")).await);
    ask(&lrms, &job(1, "1s")).await;
    let answer = ask(&lrms, &about("GetActivityDocuments", &[&first])).await;
    let length = "<gridrig:RunTime>7s</gridrig:RunTime>";
    assert!(answer.text.contains(length), "{}", answer.text);
    assert!(!answer.text.contains("JobName"));
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_factory_that_is_stopped_takes_nothing_in_and_says_so() {
    let lrms = start(1).await;
    ask(&lrms, "<m:StopAcceptingNewActivities/>").await;
    let refused = ask(&lrms, &job(1, "1s")).await;
    assert_eq!(refused.fault().code, "not-accepting");
    assert!(refused.text.contains("NotAcceptingNewActivitiesFault"));
    let attributes = ask(&lrms, "<bes:GetFactoryAttributesDocument/>").await;
    assert!(attributes.text.contains("IsAcceptingNewActivities>false<"));
    ask(&lrms, "<m:StartAcceptingNewActivities/>").await;
    assert_eq!(ask(&lrms, &job(1, "1s")).await.status, 200);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn the_attributes_tell_what_waits_and_runs() {
    let lrms = start(1).await;
    for _ in 0..3 {
        ask(&lrms, &job(3, "1h")).await;
    }
    let answer = ask(&lrms, "<bes:GetFactoryAttributesDocument/>").await;
    let document = answer
        .body()
        .child(FACTORY, "FactoryResourceAttributesDocument");
    let document = document.unwrap();
    let text = |namespace, name| document.child(namespace, name).unwrap().text();
    assert_eq!(text(FACTORY, "TotalNumberOfActivities"), "3");
    assert_eq!(text("urn:gridrig:bes:1", "QueuedJobs"), "2");
    assert_eq!(text("urn:gridrig:bes:1", "BusyProcessors"), "3");
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn a_message_that_is_sent_again_creates_no_second_activity() {
    let lrms = start(1).await;
    let header = "<wsa:MessageID>urn:uuid:1</wsa:MessageID>";
    let text = envelope(SOAP_1_1, header, &job(1, "1h"));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let answer = send(&lrms, text.clone()).await;
        let relates = "<wsa:RelatesTo>urn:uuid:1</wsa:RelatesTo>";
        assert!(answer.text.contains(relates), "{}", answer.text);
        let action = format!("{FACTORY}/BESFactoryPortType/CreateActivityResponse");
        assert!(answer.text.contains(&action), "{}", answer.text);
        ids.push(id_of(&answer));
    }
    assert_eq!(ids[0], ids[1]);
    let other = envelope(SOAP_1_1, header, &job(2, "1h"));
    let answer = send(&lrms, other).await;
    let fault = "InvalidRequestMessageFault";
    assert!(answer.text.contains(fault), "{}", answer.text);
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn an_answer_is_in_the_version_of_the_request() {
    let lrms = start(1).await;
    for (namespace, media) in [(SOAP_1_1, "text/xml"), (SOAP_1_2, "application/soap+xml")] {
        let text = envelope(namespace, "", "<bes:GetFactoryAttributesDocument/>");
        let answer = post(&lrms, "/services/bes", media, text.into_bytes()).await;
        assert_eq!(answer.envelope.version.namespace(), namespace);
        assert!(answer.media.starts_with(media), "{}", answer.media);
    }
    lrms.stop().await.unwrap();
}

#[tokio::test]
async fn an_activity_of_a_life_before_is_not_mistaken_for_one_of_this() {
    let lrms = start(1).await;
    let id = id_of(&ask(&lrms, &job(1, "1h")).await);
    lrms.stop().await.unwrap();
    let lrms = start(1).await;
    ask(&lrms, &job(1, "1h")).await;
    let answer = ask(&lrms, &about("GetActivityStatuses", &[&id])).await;
    assert_eq!(states(&answer), ["UnknownActivityIdentifierFault"]);
    lrms.stop().await.unwrap();
}
