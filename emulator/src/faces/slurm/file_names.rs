//! File names with `%j`, `%A`, `%a`, `%x`, `%u`, `%N` and others in them.

use super::site::Site;
use super::store::Job;
use std::collections::BTreeMap;

/// What the letters of a pattern stand for.
pub(super) type Facts = BTreeMap<char, String>;

/// Slurm's number for "no task".
pub(super) const NO_TASK: u32 = u32::MAX - 1;

/// Those of a job that has nodes.
pub(super) fn facts(job: &Job, site: &Site) -> Facts {
    let (id, task) = (job.id.to_string(), job.task.as_ref());
    Facts::from([
        ('J', format!("{id}.batch")),
        ('j', id),
        ('A', task.map_or(job.id, |task| task.array).to_string()),
        ('a', task.map_or(NO_TASK, |task| task.index).to_string()),
        ('x', job.batch.name.clone()),
        ('u', job.batch.user.to_string()),
        ('N', site.first_node(&job.placement)),
        // Number of the node and of the task within the job.
        ('n', "0".to_owned()),
        ('t', "0".to_owned()),
        ('s', "batch".to_owned()),
    ])
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
            Some('%') if width.is_empty() => Some("%"),
            Some(key) => facts.get(key).map(String::as_str),
            None => None,
        };
        let Some(fact) = fact else {
            name.push('%');
            name.push_str(&width);
            continue;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_filled_in() {
        let facts = [
            ('j', "17"),
            ('J', "17.batch"),
            ('A', "12"),
            ('a', "3"),
            ('x', "sim"),
            ('u', "ann"),
            ('N', "n4"),
            ('t', "2"),
        ];
        let facts = Facts::from(facts.map(|(key, fact)| (key, fact.to_owned())));
        let of = |pattern: &str| fill(pattern, &facts);
        assert_eq!(of("slurm-%A_%a.out"), "slurm-12_3.out");
        assert_eq!(of("%x-%5j-%u@%N-%t"), "sim-00017-ann@n4-2");
        assert_eq!(of("100%%-%z-%3"), "100%-%z-%3");
        assert_eq!(of("a\\%j"), "a%j");
        assert_eq!(of("%9J"), "17.batch");
    }
}
