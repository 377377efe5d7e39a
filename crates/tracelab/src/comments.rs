//! What comments of a trace say of single jobs, which no field does: their components, how
//! they may be divided, and what they read (`docs/swf.md`).

use crate::error::{Result, TraceError};
use crate::format::{Header, JOB_COMPONENTS, JOB_DIVISION, JOB_INPUTS};
use gridrig_core::ids::ClusterId;
use gridrig_core::job::{
    Component, Components, Division, Input, JobSpec, MOST_COMPONENTS, MOST_INPUTS,
};
use std::collections::BTreeMap;

/// Processors, and the number of the only cluster that will do.
type Size = (u32, Option<ClusterId>);

/// By the numbers of the jobs, each with its line.
#[derive(Debug, Default)]
pub(crate) struct Comments {
    components: BTreeMap<u64, (u64, Vec<Size>)>,
    divisions: BTreeMap<u64, (u64, Division)>,
    inputs: BTreeMap<u64, (u64, Box<[Input]>)>,
}

impl Comments {
    /// Those of a header.
    ///
    /// # Errors
    /// [`TraceError::Line`] for one that cannot be read, or a second one about a job.
    pub fn read(header: &Header, file: &str) -> Result<Self> {
        let expected = "a job number and 1 to 64 components SIZE or SIZE@CLUSTER";
        let components = by_job(header, JOB_COMPONENTS, file, expected, sizes)?;
        let expected = "a job number, and least=N, most=N or both, or sizes such as 24 12+12";
        let divisions = by_job(header, JOB_DIVISION, file, expected, division)?;
        let expected = "a job number, and what components read as COMPONENT:MIB or \
                        COMPONENT:MIB@CLUSTER+CLUSTER";
        let inputs = by_job(header, JOB_INPUTS, file, expected, inputs)?;
        Ok(Comments {
            components,
            divisions,
            inputs,
        })
    }

    /// Makes a job what is said of it.
    ///
    /// # Errors
    /// [`TraceError::Line`] where that is another size than its own.
    pub fn apply(&self, number: u64, spec: &mut JobSpec, file: &str) -> Result<()> {
        let whole = spec.processors();
        let refuse = |line: u64, key: &str, expected: &str| {
            let problem = format!("{key} of job {number}: expected {expected}");
            Err(TraceError::line(file, line, problem))
        };
        if let Some((line, sizes)) = self.components.get(&number) {
            let sum: u64 = sizes.iter().map(|(size, _)| u64::from(*size)).sum();
            if sum != u64::from(whole) {
                let expected = format!("the {whole} processors that it has, not {sum}");
                return refuse(*line, JOB_COMPONENTS, &expected);
            }
            let first = &spec.components.first;
            let part = |(processors, cluster): &Size| Component {
                processors: *processors,
                cluster: *cluster,
                ..first.clone()
            };
            let parts = Components::new(sizes.iter().map(part));
            spec.components = parts.unwrap_or_else(|| spec.components.clone());
        }
        if let Some((line, division)) = self.divisions.get(&number) {
            let one = spec.components.only();
            if one.is_none_or(|only| only.cluster.is_some()) {
                return refuse(
                    *line,
                    JOB_DIVISION,
                    "a job of one component, which names no cluster",
                );
            }
            if let Division::Splits(splits) = division {
                let sum = |sizes: &[u32]| sizes.iter().copied().map(u64::from).sum::<u64>();
                if splits.iter().any(|sizes| sum(sizes) != u64::from(whole)) {
                    let expected = format!("sizes that sum up to its {whole} processors");
                    return refuse(*line, JOB_DIVISION, &expected);
                }
            }
            spec.division = Some(Box::new(division.clone()));
        }
        if let Some((line, inputs)) = self.inputs.get(&number) {
            let all = spec.components.iter().count();
            if inputs.iter().any(|it| usize::from(it.component) >= all) {
                let expected = format!("components from 1 to the {all} that it has");
                return refuse(*line, JOB_INPUTS, &expected);
            }
            spec.inputs = inputs.clone();
        }
        Ok(())
    }
}

/// The comments of this key by the number of the job, with which each begins.
fn by_job<T>(
    header: &Header,
    key: &str,
    file: &str,
    expected: &str,
    read: impl Fn(&mut dyn Iterator<Item = &str>) -> Option<T>,
) -> Result<BTreeMap<u64, (u64, T)>> {
    let mut all = BTreeMap::new();
    for (line, value) in header.of_jobs(key) {
        let mut words = value.split_ascii_whitespace();
        let number = words.next().and_then(|word| word.parse::<u64>().ok());
        let found = number.zip(read(&mut words));
        let new = found.is_some_and(|(number, found)| all.insert(number, (line, found)).is_none());
        if !new {
            let problem = format!("{key}: {value}: expected {expected}, once for a job");
            return Err(TraceError::line(file, line, problem));
        }
    }
    Ok(all)
}

fn above_zero(word: &str) -> Option<u32> {
    word.parse().ok().filter(|number| *number > 0)
}

/// Clusters count from 1, as partitions do.
fn cluster(word: &str) -> Option<ClusterId> {
    Some(ClusterId(word.parse::<u16>().ok()?.checked_sub(1)?))
}

fn inputs(words: &mut dyn Iterator<Item = &str>) -> Option<Box<[Input]>> {
    let input = |word: &str| {
        let (component, rest) = word.split_once(':')?;
        let (data_mib, clusters) = match rest.split_once('@') {
            Some((size, named)) => (size, named.split('+').map(cluster).collect::<Option<_>>()?),
            None => (rest, Box::default()),
        };
        Some(Input {
            component: component.parse::<u8>().ok()?.checked_sub(1)?,
            data_mib: data_mib.parse().ok()?,
            clusters,
        })
    };
    let all: Box<[Input]> = words.map(input).collect::<Option<_>>()?;
    (1..=MOST_INPUTS).contains(&all.len()).then_some(all)
}

fn sizes(words: &mut dyn Iterator<Item = &str>) -> Option<Vec<Size>> {
    let size = |word: &str| {
        let Some((size, named)) = word.split_once('@') else {
            return Some((above_zero(word)?, None));
        };
        Some((above_zero(size)?, Some(cluster(named)?)))
    };
    let all: Vec<Size> = words.map(size).collect::<Option<_>>()?;
    (1..=MOST_COMPONENTS).contains(&all.len()).then_some(all)
}

fn division(words: &mut dyn Iterator<Item = &str>) -> Option<Division> {
    let (mut least, mut most, mut splits) = (None, None, Vec::new());
    for word in words {
        match word.split_once('=') {
            Some(("least", number)) if least.is_none() => least = Some(above_zero(number)?),
            Some(("most", number)) if most.is_none() => most = Some(above_zero(number)?),
            Some(_) => return None,
            None => {
                let sizes = word.split('+').map(above_zero);
                splits.push(sizes.collect::<Option<Box<[u32]>>>()?);
            }
        }
    }
    let small = |sizes: &[u32]| sizes.len() < MOST_COMPONENTS;
    let good = splits.len() <= MOST_COMPONENTS && splits.iter().all(|sizes| small(sizes));
    match (least.or(most), splits.is_empty()) {
        (Some(_), true) => Some(Division::Bounds {
            least_component: least.unwrap_or(0),
            most_components: most.unwrap_or(0),
        }),
        (None, false) if good => Some(Division::Splits(splits.into())),
        _ => None,
    }
}

/// The comments about a job of this number, keys and values, if there is something to say that
/// no field does.
pub fn comments_of(number: u64, spec: &JobSpec) -> Vec<(String, String)> {
    let reads = |one: &Input| {
        let at = one.clusters.iter().map(|id| (id.index() + 1).to_string());
        let at: Vec<String> = at.collect();
        let mark = if at.is_empty() { "" } else { "@" };
        let component = one.component + 1;
        format!("{component}:{}{mark}{}", one.data_mib, at.join("+"))
    };
    let size = |one: &Component| match one.cluster {
        Some(cluster) => format!("{}@{}", one.processors, cluster.index() + 1),
        None => one.processors.to_string(),
    };
    let splits = |sizes: &[u32]| {
        let words: Vec<String> = sizes.iter().map(u32::to_string).collect();
        words.join("+")
    };
    let number = number.to_string();
    let (key, words) = match spec.division.as_deref() {
        Some(Division::Splits(all)) => (JOB_DIVISION, all.iter().map(|it| splits(it)).collect()),
        Some(Division::Bounds {
            least_component,
            most_components,
        }) => {
            let bounds = [("least", least_component), ("most", most_components)];
            let bounds = bounds.into_iter().filter(|(_, number)| **number > 0);
            let words = bounds.map(|(word, number)| format!("{word}={number}"));
            (JOB_DIVISION, words.collect::<Vec<_>>())
        }
        None if spec.components.only().is_some() && !spec.components.name_clusters() => {
            (JOB_COMPONENTS, Vec::new())
        }
        None => (JOB_COMPONENTS, spec.components.iter().map(size).collect()),
    };
    let read = spec.inputs.iter().map(reads).collect::<Vec<_>>();
    let all = [(key, words), (JOB_INPUTS, read)].into_iter();
    let said = all.filter(|(_, words)| !words.is_empty());
    let number = &[number][..];
    said.map(|(key, words)| (key.to_owned(), [number, &words].concat().join(" ")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::job::Requirements;
    use gridrig_core::time::SimDuration;

    fn header(lines: &[&str]) -> Header {
        let mut header = Header::default();
        for (number, line) in (3..).zip(lines) {
            header.add(number, format!("; {line}").as_bytes());
        }
        header
    }

    fn job() -> JobSpec {
        let whole = Components::one(24, Requirements::default());
        JobSpec::of(whole, SimDuration::ZERO)
    }

    #[test]
    fn what_is_said_of_a_job_is_read_and_written_again() {
        for said in [
            "JobComponents: 7 12 8@2 4",
            "JobComponents: 7 24@65535",
            "JobDivision: 7 least=4 most=3",
            "JobDivision: 7 most=3",
            "JobDivision: 7 24 12+12 8+8+8",
            "JobInputs: 7 1:2048 1:0@2+65535",
        ] {
            let read = Comments::read(&header(&[said]), "t").unwrap();
            let (mut own, mut other) = (job(), job());
            read.apply(7, &mut own, "t").unwrap();
            read.apply(8, &mut other, "t").unwrap();
            let all = comments_of(7, &own).into_iter();
            let all: Vec<_> = all.map(|(key, value)| format!("{key}: {value}")).collect();
            assert_eq!((all.join(" "), other), (said.to_owned(), job()));
            assert_eq!(own.processors(), 24);
        }
        assert_eq!(comments_of(7, &job()), []);
    }

    #[test]
    fn what_cannot_be_read_or_is_not_the_job_is_refused() {
        for said in [
            &["JobComponents: 7"][..],
            &["JobComponents: x 24"],
            &["JobComponents: 7 24@0"],
            &["JobComponents: 7 0 24"],
            &["JobComponents: 7 12 12", "JobComponents: 7 24"],
            &["JobDivision: 7"],
            &["JobDivision: 7 least=4 24"],
            &["JobDivision: 7 least=4 least=5"],
            &["JobDivision: 7 12+"],
            &["JobComponents: 7 12 11"],
            &["JobDivision: 7 24 12+11"],
            &["JobComponents: 7 12 12", "JobDivision: 7 24"],
            &["JobInputs: 7"],
            &["JobInputs: 7 1"],
            &["JobInputs: 7 0:5"],
            &["JobInputs: 7 1:5@0"],
            &["JobInputs: 7 1:5 2:5"],
        ] {
            let read = Comments::read(&header(said), "t");
            let applied = read.and_then(|read| read.apply(7, &mut job(), "t"));
            let error = applied.unwrap_err().to_string();
            // The last of them is the one that is wrong.
            let at = format!("t:{}: Job", said.len() + 2);
            assert!(error.contains(&at) && error.contains("expected"), "{error}");
        }
    }
}
