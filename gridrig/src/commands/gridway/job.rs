//! What gwd has written about a job: its RSL, and the environment beside it.

use super::clusters::read_bounded;
use anyhow::{Context, bail};
use gridrig_core::time::SimDuration;
use gridrig_protocol::jsdl::{annotated, sleep_length};
use gridrig_protocol::rest::JobSubmission;
use gridrig_protocol::tag::TAG_VARIABLE;
use gridrig_protocol::xml::Element;
use std::path::Path;

/// The largest file of a job that is read, in bytes; gwd's own buffer for an
/// RSL is smaller.
const MAX_BYTES: u64 = 1024 * 1024;
/// The environment variable that says how long a job runs.
const VARIABLE: &str = "GRIDRIG_RUN_TIME";
/// What gwd writes about the user's program, beside the RSL of its wrapper.
const ENVIRONMENT: &str = "job.env";

/// The job that an RSL in GRAM4's form (`rsl2`) asks for.
///
/// # Errors
/// When the file cannot be read, is no such RSL, or says a length that is
/// none.
pub(super) fn read(rsl: &Path, default: SimDuration) -> anyhow::Result<JobSubmission> {
    let shown = rsl.display();
    let text = read_bounded(rsl, MAX_BYTES)?;
    let root = Element::parse(text.as_bytes())
        .with_context(|| format!("{shown}: expected an RSL in the form rsl2"))?;
    if root.name != "job" {
        bail!("{shown}: the root element is {}: expected job", root.name);
    }
    let of_user = match rsl.with_file_name(ENVIRONMENT) {
        file if file.is_file() => read_bounded(&file, MAX_BYTES)?,
        _ => String::new(),
    };
    let count = texts(&root, "count")
        .next()
        .unwrap_or_else(|| "1".to_owned());
    let processors = count.trim().parse().ok().filter(|count| *count > 0);
    let processors = processors
        .with_context(|| format!("{shown}: count = {count:?}: expected a number from 1 on"))?;
    let limit = wall_time(&root).with_context(|| format!("{shown}: maxWallTime"))?;
    let variables = variables(&root, &of_user);
    let said = said(&root, &variables).with_context(|| format!("{shown}: run time"))?;
    let length = said.or(limit).unwrap_or(default);
    Ok(JobSubmission {
        processors,
        run_time: length.to_string(),
        requested_time: limit.map(|limit| limit.to_string()),
        tag: value_of(&variables, TAG_VARIABLE).map(|tag| tag.trim().to_owned()),
        ..JobSubmission::default()
    })
}

fn texts(root: &Element, name: &'static str) -> impl Iterator<Item = String> {
    root.elements()
        .filter(move |element| element.name == name)
        .map(Element::text)
}

/// Minutes, as GRAM counts them.
fn wall_time(root: &Element) -> anyhow::Result<Option<SimDuration>> {
    let Some(text) = texts(root, "maxWallTime").next() else {
        return Ok(None);
    };
    let minutes = SimDuration::parse(&format!("{}min", text.trim()));
    let minutes = minutes.with_context(|| format!("{text:?}: expected a number of minutes"))?;
    Ok((!minutes.is_zero()).then_some(minutes))
}

/// The environment of the job, that of the RSL first.
fn variables(root: &Element, of_user: &str) -> Vec<(String, String)> {
    let environment = root.elements().filter(|e| e.name == "environment");
    let variables = environment.map(|element| {
        let part = |name| texts(element, name).next().unwrap_or_default();
        (part("name").trim().to_owned(), part("value"))
    });
    let exported = of_user.lines().filter_map(exported);
    variables.chain(exported).collect()
}

/// What a variable of the environment says, for example what the job is called: neither form
/// has its name.
fn value_of<'v>(variables: &'v [(String, String)], wanted: &str) -> Option<&'v str> {
    let found = variables.iter().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_str())
}

/// The length that the job says, from the first place that does: the variable
/// GRIDRIG_RUN_TIME, an argument `runtime=60s`, the argument of `sleep`; of
/// the RSL, then of the user's program.
fn said(root: &Element, variables: &[(String, String)]) -> anyhow::Result<Option<SimDuration>> {
    if let Some(value) = value_of(variables, VARIABLE) {
        return length(value, SimDuration::parse(value.trim()).ok());
    }
    let value = |wanted: &str| value_of(variables, wanted).unwrap_or_default();
    let words = value("GW_ARGUMENTS").split_whitespace().map(str::to_owned);
    let programs: [(String, Vec<String>); 2] = [
        (
            texts(root, "executable").next().unwrap_or_default(),
            texts(root, "argument").collect(),
        ),
        (value("GW_EXECUTABLE").to_owned(), words.collect()),
    ];
    for (executable, arguments) in &programs {
        for argument in arguments {
            if let Some(found) = annotated(argument) {
                return length(argument, found);
            }
        }
        if let Some(argument) = arguments.first()
            && let Some(found) = sleep_length(executable.trim(), argument)
        {
            return length(argument, found);
        }
    }
    Ok(None)
}

fn length(text: &str, length: Option<SimDuration>) -> anyhow::Result<Option<SimDuration>> {
    match length {
        Some(length) => Ok(Some(length)),
        None => bail!("{text:?}: expected a length of time such as \"60s\""),
    }
}

/// A line of the user's environment: `export NAME="VALUE"`.
fn exported(line: &str) -> Option<(String, String)> {
    let (name, value) = line.trim().strip_prefix("export ")?.split_once('=')?;
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    Some((name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(rsl: &str, of_user: &str) -> anyhow::Result<(u32, String, Option<String>)> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("job.rsl.0");
        std::fs::write(&file, rsl).unwrap();
        if !of_user.is_empty() {
            std::fs::write(dir.path().join("job.env"), of_user).unwrap();
        }
        let job = read(&file, SimDuration::from_secs(60))?;
        Ok((job.processors, job.run_time, job.requested_time))
    }

    fn run_time(rsl: &str, of_user: &str) -> String {
        job(rsl, of_user).unwrap().1
    }

    /// The form in which gwd writes the RSL of its wrapper.
    const WRAPPER: &str = "<job> <executable>.gw_u_0/.wrapper</executable> <environment>\
        <name>GW_JOB_ID</name><value>0</value></environment> <stdout>.gw_u_0/stdout.wrapper\
        </stdout> <stderr>.gw_u_0/stderr.wrapper</stderr> <count>4</count> \
        <jobType>single</jobType></job>";

    #[test]
    fn the_rsl_of_a_wrapper_has_processors_and_the_environment_beside_it_the_length() {
        assert_eq!(job(WRAPPER, "").unwrap(), (4, "60s".to_owned(), None));
        let sleeps = "export GW_EXECUTABLE=\"/bin/sleep\"\nexport GW_ARGUMENTS=\"90\"\n";
        assert_eq!(run_time(WRAPPER, sleeps), "90s");
        let says = format!("{sleeps}export GRIDRIG_RUN_TIME=\"2min\"\n");
        assert_eq!(run_time(WRAPPER, &says), "120s");
    }

    #[test]
    fn the_rsl_without_wrapper_says_the_length_itself() {
        let rsl = |inner: &str| format!("<job><executable>/bin/x</executable>{inner}</job>");
        assert_eq!(
            run_time(&rsl("<argument>--runtime=5s</argument>"), ""),
            "5s"
        );
        let variable = "<environment><name>GRIDRIG_RUN_TIME</name><value>7s</value></environment>";
        assert_eq!(run_time(&rsl(variable), ""), "7s");
        let (_, length, limit) = job(&rsl("<maxWallTime>2</maxWallTime>"), "").unwrap();
        assert_eq!((length.as_str(), limit.as_deref()), ("120s", Some("120s")));
    }

    #[test]
    fn what_is_no_rsl_or_says_nonsense_is_refused() {
        for (rsl, of_user, expected) in [
            ("&(executable=x)", "", "rsl2"),
            ("<jobs/>", "", "expected job"),
            ("<job><count>0</count></job>", "", "count"),
            ("<job><maxWallTime>x</maxWallTime></job>", "", "minutes"),
            ("<job/>", "export GRIDRIG_RUN_TIME=soon", "soon"),
        ] {
            let error = format!("{:#}", job(rsl, of_user).unwrap_err());
            assert!(error.contains(expected), "{rsl}: {error}");
        }
    }
}
