//! What differs in the resolved scenarios, line by line.

use super::choose::Chosen;
use super::error::{ReportError, Result};
use super::material::Material;
use super::number::key_words;
use crate::compare::find::FoundRun;
use crate::plot::Page;
use crate::rundir::{self, names};
use std::fmt::Write as _;
use std::io;

/// Longer scenarios are compared by their first lines only.
const MOST_LINES: usize = 4_000;

/// Differing lines of one pair that are shown.
const MOST_SHOWN: usize = 200;

pub(super) fn draw(page: &mut Page, material: &Material, chosen: &Chosen) -> Result<()> {
    page.heading("Scenarios");
    let mut shown = Vec::new();
    for column in &material.columns {
        if let Some(run) = column.at(chosen.index) {
            shown.push((column.name.as_str(), run, text(run)?));
        }
    }
    let Some(((first, _, reference), others)) = shown.split_first() else {
        return Ok(());
    };
    let mut same = vec![*first];
    let bounded = shown.iter().any(|(_, run, _)| run.manifest.study.bounds);
    for (name, run, own) in others {
        if bounded && run.manifest.policy.is_none() {
            page.paragraph(&format!(
                "{name}: the same jobs on one cluster that has all nodes of the grid, without brokers."
            ));
            continue;
        }
        match diff(reference, own) {
            None => same.push(name),
            Some(found) => {
                page.subheading(&format!("{name} against {first}"));
                page.code(&found);
            }
        }
    }
    if same.len() > 1 {
        page.paragraph(&format!(
            "The resolved scenarios of {} are the same: they differ in the policy of their brokers \
             only.",
            same.join(", ")
        ));
    }
    replications(page, material)
}

/// What differs between two replications: the first two of the first column.
fn replications(page: &mut Page, material: &Material) -> Result<()> {
    let runs = material
        .columns
        .first()
        .map_or(&[] as &[FoundRun], |c| &c.runs);
    if let [one, other, ..] = runs {
        page.subheading(&format!(
            "{} against {}",
            key_words(&other.key),
            key_words(&one.key)
        ));
        match diff(&text(one)?, &text(other)?) {
            Some(found) => page.code(&found),
            None => page.paragraph(
                "The resolved scenarios are the same: what varies is not written in them.",
            ),
        };
    }
    Ok(())
}

/// The resolved scenario of a run.
pub(super) fn text(run: &FoundRun) -> Result<String> {
    rundir::is_unchanged(&run.dir, &run.manifest, names::SCENARIO)?;
    let path = run.dir.join(names::SCENARIO);
    let text = rundir::read_file(&path);
    let text = text.and_then(|text| String::from_utf8(text).map_err(io::Error::other));
    text.map_err(|source| ReportError::Scenario(path, source))
}

/// Lines of two texts that differ, below the heads of their TOML tables;
/// `None` if they are the same.
fn diff(one: &str, other: &str) -> Option<String> {
    if one == other {
        return None;
    }
    let a: Vec<&str> = one.lines().take(MOST_LINES).collect();
    let b: Vec<&str> = other.lines().take(MOST_LINES).collect();
    let mut out = String::new();
    let (mut section, mut told, mut count) = ("", "", 0);
    for (sign, line) in changes(&a, &b) {
        if line.starts_with('[') {
            section = line;
        }
        if sign == ' ' {
            continue;
        }
        count += 1;
        if count > MOST_SHOWN {
            continue;
        }
        if section != told && section != line {
            let _ = writeln!(out, "  {section}");
        }
        told = section;
        let _ = writeln!(out, "{sign} {line}");
    }
    if count > MOST_SHOWN {
        let _ = writeln!(out, "and {} more lines", count - MOST_SHOWN);
    }
    if count == 0 {
        out.push_str("only after the lines that are compared, or in line ends\n");
    }
    Some(out)
}

/// All lines of both with what became of them: `-` only in the first, `+` only
/// in the second, ` ` in both (a longest common subsequence).
fn changes<'a>(a: &[&'a str], b: &[&'a str]) -> Vec<(char, &'a str)> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev());
    let tail = tail.take_while(|(x, y)| x == y).count();
    let (inner_a, inner_b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let width = inner_b.len() + 1;
    let mut longest = vec![0_u16; (inner_a.len() + 1) * width];
    for i in (0..inner_a.len()).rev() {
        for j in (0..inner_b.len()).rev() {
            longest[i * width + j] = match inner_a[i] == inner_b[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let mut all: Vec<(char, &str)> = a[..head].iter().map(|line| (' ', *line)).collect();
    let (mut i, mut j) = (0, 0);
    while i < inner_a.len() || j < inner_b.len() {
        let both = i < inner_a.len() && j < inner_b.len();
        if both && inner_a[i] == inner_b[j] {
            all.push((' ', inner_a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == inner_b.len()
            || (both && longest[(i + 1) * width + j] >= longest[i * width + j + 1])
        {
            all.push(('-', inner_a[i]));
            i += 1;
        } else {
            all.push(('+', inner_b[j]));
            j += 1;
        }
    }
    all.extend(a[a.len() - tail..].iter().map(|line| (' ', *line)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_stand_below_the_head_of_their_table() {
        let one = "[run]\nseed = 1\ntie = \"rotate\"\n[measure]\nfrom = \"0s\"\n";
        let other = "[run]\nseed = 2\ntie = \"rotate\"\n[measure]\nfrom = \"0s\"\nuntil = \"9s\"\n";
        assert_eq!(diff(one, one), None);
        let found = diff(one, other).unwrap();
        assert_eq!(
            found,
            "  [run]\n- seed = 1\n+ seed = 2\n  [measure]\n+ until = \"9s\"\n"
        );
    }

    #[test]
    fn a_subsequence_in_common_is_not_a_change() {
        let kept = |a: &[&str], b: &[&str]| {
            let all = changes(a, b);
            let rebuilt = |sign| {
                let own = all.iter().filter(move |(s, _)| *s == ' ' || *s == sign);
                own.map(|(_, line)| *line).collect::<Vec<_>>()
            };
            assert_eq!((rebuilt('-'), rebuilt('+')), (a.to_vec(), b.to_vec()));
            all.iter().filter(|(sign, _)| *sign == ' ').count()
        };
        assert_eq!(kept(&["a", "b", "c", "d"], &["b", "x", "d"]), 2);
        assert_eq!(kept(&[], &["b"]), 0);
        assert_eq!(kept(&["a", "a"], &["a"]), 1);
    }
}
