//! File names with `%j`, `%A`, `%a`, `%x`, `%u`, `%N` and others in them.

use super::site::Site;
use super::store::Job;

/// What the letters of a pattern stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub job: String,
    pub array: String,
    pub task: String,
    pub name: String,
    pub user: String,
    pub node: String,
    /// Number of the node and of the task within the job.
    pub node_id: String,
    pub task_id: String,
    pub step: String,
}

impl Facts {
    /// Of a job that has nodes.
    pub fn of(job: &Job, site: &Site) -> Self {
        let task = job.task.as_ref();
        Facts {
            job: job.id.to_string(),
            array: task.map_or(job.id, |task| task.array).to_string(),
            // Slurm's number for "no task".
            task: task.map_or(u32::MAX - 1, |task| task.index).to_string(),
            name: job.batch.name.clone(),
            user: job.batch.user.to_string(),
            node: site.first_node(&job.placement),
            node_id: "0".to_owned(),
            task_id: "0".to_owned(),
            step: "batch".to_owned(),
        }
    }
}

/// The name that a pattern stands for. A number after `%` pads with zeros;
/// letters without a meaning stay as they are.
pub(super) fn fill(pattern: &str, facts: &Facts) -> String {
    let mut name = String::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            // A backslash before a letter means the letter.
            name.push(match letter {
                '\\' => letters.next().unwrap_or('\\'),
                other => other,
            });
            continue;
        }
        let mut width = String::new();
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            width.push(digit);
        }
        let fact = match letters.peek() {
            Some('%') if width.is_empty() => "%",
            Some('j') => &facts.job,
            Some('J') => {
                letters.next();
                name.push_str(&format!("{}.{}", facts.job, facts.step));
                continue;
            }
            Some('A') => &facts.array,
            Some('a') => &facts.task,
            Some('x') => &facts.name,
            Some('u') => &facts.user,
            Some('N') => &facts.node,
            Some('n') => &facts.node_id,
            Some('t') => &facts.task_id,
            Some('s') => &facts.step,
            _ => {
                name.push('%');
                name.push_str(&width);
                continue;
            }
        };
        letters.next();
        // Slurm pads to at most ten.
        let width = width.parse().unwrap_or(0).min(10_usize);
        match fact.bytes().all(|byte| byte.is_ascii_digit()) {
            true => name.push_str(&format!("{fact:0>width$}")),
            false => name.push_str(fact),
        }
    }
    name
}

/// The pattern of the output where none is given.
pub(super) fn default_output(job: &Job) -> &'static str {
    match job.task {
        Some(_) => "slurm-%A_%a.out",
        None => "slurm-%j.out",
    }
}

/// The file that a pattern names for a job; for pending tasks of an array that
/// stand together, with Slurm's number for "no task".
pub(super) fn fill_for(pattern: &str, job: &Job, together: bool, site: &Site) -> String {
    let mut facts = Facts::of(job, site);
    if together {
        facts.task = (u32::MAX - 1).to_string();
    }
    fill(pattern, &facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_in() {
        let facts = Facts {
            job: "17".into(),
            array: "12".into(),
            task: "3".into(),
            name: "sim".into(),
            user: "ann".into(),
            node: "n4".into(),
            node_id: "0".into(),
            task_id: "2".into(),
            step: "batch".into(),
        };
        let of = |pattern: &str| fill(pattern, &facts);
        assert_eq!(of("slurm-%A_%a.out"), "slurm-12_3.out");
        assert_eq!(of("%x-%5j-%u@%N-%t"), "sim-00017-ann@n4-2");
        assert_eq!(of("100%%-%z-%3"), "100%-%z-%3");
        assert_eq!(of("a\\%j"), "a%j");
    }
}
