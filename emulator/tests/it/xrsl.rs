//! xRSL at the ARC face, and as ARC's own library reads it.

use crate::arc::{Ce, element, elements};
use crate::need;
use gridrig_protocol::adl;
use gridrig_protocol::description::{self, Language};
use std::io::Write as _;
use std::process::{Command, Stdio};

#[tokio::test]
async fn xrsl_is_taken_as_well_and_what_is_lost_is_named() {
    let ce = Ce::start(100).await;
    let xrsl = "&(executable=/bin/sleep)(arguments=3)(jobname=x)(count=2)(queue=batch)\n\
                (walltime=10)(notify=\"e me@host\")(stdout=out)(outputfiles=(\"out\" \"\"))";
    let id = ce.create(xrsl).await;
    ce.wait_for(&id, "FINISHED").await;
    let (_, info) = ce.post("jobs?action=info", &Ce::list(&[&id])).await;
    assert_eq!(element(&info, "Name"), "x");
    assert_eq!(element(&info, "RequestedSlots"), "2");
    assert_eq!(element(&info, "UsedTotalWallTime"), "3");
    let (_, errors) = ce.get(&format!("jobs/{id}/diagnose/errors")).await;
    assert!(errors.contains("notify"), "{errors}");
    let several = format!("+({xrsl})({})", xrsl.replace("queue=batch", "queue=night"));
    let (_, answer) = ce.post("jobs?action=new", &several).await;
    assert_eq!(elements(&answer, "status-code"), ["201", "500"]);
    let wrong = xrsl.replace("walltime=10", "walltime=soon");
    let (_, answer) = ce.post("jobs?action=new", &wrong).await;
    assert_eq!(elements(&answer, "status-code"), ["500"]);
    assert!(
        answer.contains("xRSL:2: attribute walltime = \"soon\": expected minutes"),
        "{answer}"
    );
    // What has to be uploaded first is waited for.
    let input = ce
        .create("&(executable=/bin/sleep)(arguments=1)(inputfiles=(\"in\" \"\"))")
        .await;
    assert_eq!(ce.state(&input).await, "PREPARING");
}

/// ARC's own library makes ADL of xRSL; so do we.
const TRANSLATE: &str = "import arc, sys
jobs = arc.JobDescriptionList()
assert arc.JobDescription.Parse(sys.stdin.read(), jobs)
print(jobs[0].UnParse('emies:adl')[1])";

#[test]
fn arcs_library_understands_xrsl_as_we_do() {
    let python = |input: &str| {
        let mut python = Command::new("/usr/bin/python3");
        let python = python.args(["-c", TRANSLATE]).stdin(Stdio::piped());
        let mut child = python
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(input.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8(output.stdout).unwrap())
    };
    let text = "&(rsl_substitution=(\"D\" \"a b\"))(executable=/bin/sleep)\
        (arguments=\"30\" 'it''s' \"x\"\"y\" ^%z% $(D)/e \"p\"#\"q\")(count=4)(countpernode=2)\
        (wall_time=\"1 hour 30 minutes\")(cpuTime=10)(memory=500)(disk=70)(queue=q)(stdin=i)\
        (stdout=o)(join=yes)(environment=(\"A\" \"b c\"))(jobname=n)(architecture=x86_64)\
        (inputfiles=(\"a\" \"\") (\"b\" \"http://x:80/y\"))(outputfiles=(\"o\" \"\") (\"r\" \"http://x:80/r\"))";
    let Some(theirs) = python(text) else {
        return need::skip(
            "arcs_library_understands_xrsl_as_we_do",
            "ARC library for Python",
        );
    };
    let all = description::read("t", text, None).unwrap();
    let ours = description::text(Language::Adl, &all).unwrap();
    let [mut theirs, ours] =
        [theirs, ours].map(|text| adl::read(&text).unwrap().remove(0).unwrap());
    // It checks what it uploads and adds what it knows; the rest is the same.
    theirs.ignored.clone_from(&ours.ignored);
    assert_eq!(theirs, ours);
    // What we write is xRSL to it.
    let written = description::text(Language::Xrsl, &all).unwrap();
    let again = adl::read(&python(&written).unwrap())
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(again.executable, ours.executable);
    assert_eq!(
        (again.wall_time_s, again.slots),
        (ours.wall_time_s, ours.slots)
    );
}
