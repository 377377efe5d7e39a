//! What a job waits for: `afterok:12:13_4,singleton`.

use std::fmt;

/// The kinds of dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
pub(super) enum Kind {
    /// The other has started or was cancelled.
    After,
    /// It has ended.
    AfterAny,
    /// It has ended well.
    AfterOk,
    /// It has ended badly.
    AfterNotOk,
    /// The task of the same number has ended well.
    AfterCorr,
    /// No earlier job of this user has the same name.
    Singleton,
}

/// A job, or one task of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub id: u32,
    pub task: Option<u32>,
}

impl Target {
    /// A job, or all tasks of an array.
    pub fn whole(id: u32) -> Self {
        Target { id, task: None }
    }

    /// Reads `12` or `12_3`.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, task) = match text.split_once('_') {
            Some((id, task)) => (id, Some(task.parse().ok()?)),
            None => (text, None),
        };
        let id = id.parse().ok().filter(|id| *id > 0)?;
        Some(Target { id, task })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            None => write!(f, "{}", self.id),
            Some(task) => write!(f, "{}_{task}", self.id),
        }
    }
}

/// One thing that a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub kind: Kind,
    /// The other job; none for a singleton.
    pub target: Option<Target>,
    /// Whether any of the job's wishes is enough (`?` between them).
    pub any: bool,
    /// Whether it can never come true.
    pub failed: bool,
}

impl Wish {
    /// Whether a job with these can never start: all have failed where any is
    /// enough, else one has.
    pub fn can_never(wishes: &[Wish]) -> bool {
        match wishes.first().is_some_and(|wish| wish.any) {
            true => wishes.iter().all(|wish| wish.failed),
            false => wishes.iter().any(|wish| wish.failed),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(target) = self.target {
            write!(f, ":{target}")?;
        }
        let failed = self.failed;
        f.write_str(if failed { "(failed)" } else { "(unfulfilled)" })
    }
}

/// Reads a list of dependencies; `None` if Slurm would refuse it.
pub(super) fn parse(text: &str) -> Option<Vec<Wish>> {
    let any = text.contains('?');
    if any && text.contains(',') {
        return None;
    }
    let mut wishes = Vec::new();
    for part in text.split([',', '?']) {
        let mut words = part.split(':');
        let kind: Kind = words.next()?.parse().ok()?;
        let wish = |target| Wish {
            kind,
            target,
            any,
            failed: false,
        };
        let before = wishes.len();
        for word in words {
            // "+minutes" delays what comes after a start; a delay is not kept.
            let word = word.split_once('+').map_or(word, |(job, _)| job);
            wishes.push(wish(Some(Target::parse(word)?)));
        }
        match (kind, wishes.len() - before) {
            (Kind::Singleton, 0) => wishes.push(wish(None)),
            (Kind::Singleton, _) | (_, 0) => return None,
            _ => {}
        }
    }
    Some(wishes)
}

/// The list as Slurm shows it; empty without any.
pub(super) fn show(wishes: &[Wish]) -> String {
    let any = wishes.first().is_some_and(|wish| wish.any);
    let wishes: Vec<String> = wishes.iter().map(Wish::to_string).collect();
    wishes.join(if any { "?" } else { "," })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_shown() {
        let wishes = parse("afterok:1:2_3,singleton").unwrap();
        assert_eq!(wishes.len(), 3);
        let shown = "afterok:1(unfulfilled),afterok:2_3(unfulfilled),singleton(unfulfilled)";
        assert_eq!(show(&wishes), shown);
        assert!(parse("afterany:1?afterok:2").unwrap()[0].any);
        for bad in [
            "foo:1",
            "afterok",
            "afterok:x",
            "singleton:1",
            "after:1?after:2,after:3",
            "",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
