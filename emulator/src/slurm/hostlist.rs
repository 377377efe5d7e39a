//! Node lists in Slurm's bracket syntax: `n[1-3,7],x[08-11]`.

use std::fmt;

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
pub(crate) fn split(list: &str) -> Option<Vec<&str>> {
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
    let mut groups: Vec<Group> = Vec::new();
    for name in names {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        // Longer numbers are names to Slurm as well.
        let (prefix, digits) = name.split_at(name.len() - digits.min(18));
        let number = digits.parse().ok().map(|number| (number, digits.len()));
        match (groups.last_mut(), number) {
            (Some(group), Some((number, width))) if group.takes(prefix, number, width) => {
                group.numbers.push(number);
            }
            _ => groups.push(Group {
                prefix,
                width: digits.len(),
                numbers: number.into_iter().map(|(number, _)| number).collect(),
            }),
        }
    }
    let groups: Vec<String> = groups.iter().map(Group::to_string).collect();
    groups.join(",")
}

/// Numbers of at least so many digits in their order, `01-03,07`: a range where
/// neighbours follow each other.
pub(crate) fn ranges(numbers: &[u64], width: usize) -> String {
    let run = |run: &[u64]| match run {
        [first, .., last] => format!("{first:0width$}-{last:0width$}"),
        one => one.iter().map(|only| format!("{only:0width$}")).collect(),
    };
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let runs: Vec<String> = runs.map(run).collect();
    runs.join(",")
}

/// Names of one prefix with numbers of one width.
struct Group<'a> {
    prefix: &'a str,
    /// The digits of the first number.
    width: usize,
    /// None for a name without a number.
    numbers: Vec<u64>,
}

impl Group<'_> {
    /// Whether a name belongs to it: numbers without leading zeros may differ in
    /// width.
    fn takes(&self, prefix: &str, number: u64, width: usize) -> bool {
        let plain = |number: u64, width: usize| number.to_string().len() == width;
        let alike = |first: &u64| {
            width == self.width || (plain(number, width) && plain(*first, self.width))
        };
        self.prefix == prefix && self.numbers.first().is_some_and(alike)
    }
}

impl fmt::Display for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = ranges(&self.numbers, self.width);
        match self.numbers.len() {
            0 | 1 => write!(f, "{}{numbers}", self.prefix),
            _ => write!(f, "{}[{numbers}]", self.prefix),
        }
    }
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
