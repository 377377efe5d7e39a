//! Node lists in Slurm's bracket syntax: `n[1-3,7],x[08-11]`.

use std::fmt::Write as _;

/// The most names one list may stand for; a longer one is a mistake or an
/// attack.
const MOST: usize = 1 << 20;

/// The names that a list stands for, in its order. `None` if it is malformed
/// or stands for too many.
pub(crate) fn expand(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for part in split(list)? {
        expand_one(part, &mut names)?;
    }
    Some(names)
}

/// Splits at commas outside brackets.
fn split(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' if inside => return None,
            '[' => inside = true,
            ']' if !inside => return None,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts.retain(|part| !part.is_empty());
    (!inside).then_some(parts)
}

fn expand_one(part: &str, names: &mut Vec<String>) -> Option<()> {
    let mut heads = vec![String::new()];
    let mut rest = part;
    while let Some(open) = rest.find('[') {
        let close = open + rest[open..].find(']')?;
        let numbers = expand_ranges(&rest[open + 1..close])?;
        if heads.len().saturating_mul(numbers.len()) > MOST {
            return None;
        }
        let before = &rest[..open];
        heads = heads
            .iter()
            .flat_map(|head| numbers.iter().map(move |n| format!("{head}{before}{n}")))
            .collect();
        rest = &rest[close + 1..];
    }
    heads.iter_mut().for_each(|head| head.push_str(rest));
    names.append(&mut heads);
    (names.len() <= MOST).then_some(())
}

fn expand_ranges(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let count = to.checked_sub(from)?.checked_add(1)?;
        if numbers.len() as u64 + count > MOST as u64 {
            return None;
        }
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}

/// The shortest list for these names, in their order.
pub(crate) fn compress<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut list = String::new();
    let mut group: Option<Group> = None;
    for name in names {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        // Longer numbers are names to Slurm as well.
        let (prefix, number) = name.split_at(name.len() - digits.min(18));
        let number = number.parse().ok().map(|n| (n, number.len()));
        let fits = group
            .as_ref()
            .is_some_and(|g| g.prefix == prefix && g.takes(number));
        match (&mut group, number) {
            (Some(group), Some((n, width))) if fits => group.push(n, width),
            _ => {
                flush(&mut list, group.take());
                group = Some(Group::new(prefix, number));
            }
        }
    }
    flush(&mut list, group);
    list
}

struct Group<'a> {
    prefix: &'a str,
    width: usize,
    /// Runs of numbers; none for a name without one.
    runs: Vec<(u64, u64)>,
}

impl<'a> Group<'a> {
    fn new(prefix: &'a str, number: Option<(u64, usize)>) -> Self {
        let (n, width) = number.unwrap_or((0, 0));
        let runs = number.map(|_| (n, n)).into_iter().collect();
        Group {
            prefix,
            width,
            runs,
        }
    }

    /// Numbers of another width belong to another group only where zeros pad
    /// them.
    fn takes(&self, number: Option<(u64, usize)>) -> bool {
        let plain = |n: u64, width: usize| n.to_string().len() == width;
        match (number, self.runs.first()) {
            (Some((n, width)), Some(&(first, _))) => {
                width == self.width || (plain(n, width) && plain(first, self.width))
            }
            _ => false,
        }
    }

    fn push(&mut self, n: u64, _width: usize) {
        match self.runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => self.runs.push((n, n)),
        }
    }
}

fn flush(list: &mut String, group: Option<Group<'_>>) {
    let Some(group) = group else { return };
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(group.prefix);
    let width = group.width;
    // Writing to a string cannot fail.
    let _ = match group.runs.as_slice() {
        [] => Ok(()),
        [(only, last)] if only == last => write!(list, "{only:0width$}"),
        runs => {
            let one = |&(a, b): &(u64, u64)| match a == b {
                true => format!("{a:0width$}"),
                false => format!("{a:0width$}-{b:0width$}"),
            };
            let runs: Vec<String> = runs.iter().map(one).collect();
            write!(list, "[{}]", runs.join(","))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_expand_with_padding_and_several_brackets() {
        let names = expand("n[1-3,7],x[08-11],y[1-2][3-4],z").unwrap();
        let expected = "n1 n2 n3 n7 x08 x09 x10 x11 y13 y14 y23 y24 z";
        assert_eq!(names.join(" "), expected);
        for bad in ["n[1-", "n[a-b]", "n]1", "n[3-1]", "n[[1]]", "n[0-99999999]"] {
            assert_eq!(expand(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_compress_and_expand_back() {
        for list in [
            "n[1-3,7]",
            "n1",
            "n[9-11]",
            "n[1-3],x[08-09]",
            "a,b",
            "n[08-10],z",
        ] {
            let names = expand(list).unwrap();
            assert_eq!(compress(names.iter().map(String::as_str)), list);
        }
        assert_eq!(compress([]), "");
    }
}
