//! `sshare`, and the tables of commands that show accounts.

use super::format::pad;
use super::{Said, options, refuse};
use crate::faces::slurm::options::Parsed;
use crate::faces::slurm::site::Site;
use crate::faces::slurm::wire::{Answer, Request};

/// A column of a table of accounts.
pub(super) struct Column {
    pub name: &'static str,
    pub width: usize,
    pub right: bool,
}

/// The lines, below their headers, as `--parsable` and its like want them.
pub(super) fn table(
    parsed: &Parsed,
    columns: &[Column],
    lines: impl Iterator<Item = Vec<String>>,
) -> String {
    let parsable = parsed.has("parsable") || parsed.has("parsable2");
    let delimiter = parsed.last("delimiter").unwrap_or("|");
    let end = match parsed.has("parsable") {
        true => delimiter,
        false => "",
    };
    let mut out = String::new();
    let mut line = |cells: Vec<String>, marked: bool| {
        match parsable {
            true => out.push_str(&(cells.join(delimiter) + end)),
            false => {
                for (mut cell, column) in cells.into_iter().zip(columns) {
                    if marked && cell.chars().count() > column.width {
                        // Slurm marks what it cuts, but for headers.
                        cell = cell.chars().take(column.width.saturating_sub(1)).collect();
                        cell.push('+');
                    }
                    pad(&mut out, &cell, column.width, column.right);
                    out.push(' ');
                }
            }
        }
        out.push('\n');
    };
    if !parsed.has("noheader") {
        line(columns.iter().map(|it| it.name.to_owned()).collect(), false);
        if !parsable {
            let rule = columns.iter().map(|it| "-".repeat(it.width));
            line(rule.collect(), false);
        }
    }
    lines.for_each(|cells| line(cells, true));
    out
}

/// The fields of sshare with their widths, in the order of `--helpformat`.
const FIELDS: [(&str, usize); 15] = [
    ("Account", 20),
    ("Cluster", 10),
    ("EffectvUsage", 13),
    ("FairShare", 10),
    ("GrpTRESMins", 30),
    ("GrpTRESRaw", 30),
    ("ID", 6),
    ("LevelFS", 10),
    ("NormShares", 11),
    ("NormUsage", 11),
    ("Partition", 12),
    ("RawShares", 10),
    ("RawUsage", 11),
    ("TRESRunMins", 30),
    ("User", 10),
];

/// What a Slurm without fair shares answers, as an emulated cluster is one: nobody has any.
pub(super) fn sshare(request: &Request, site: &Site) -> Said {
    let parsed = options("sshare", request, site)?;
    if parsed.has("helpformat") {
        let lines = FIELDS.chunks(4).map(|four| {
            let names: Vec<String> = four.iter().map(|(name, _)| format!("{name:<17}")).collect();
            names.join(" ") + "\n"
        });
        return Ok(Answer::said(lines.collect()));
    }
    let (partition, long) = (parsed.has("partition"), parsed.has("long"));
    let when = |is_wanted: bool, fields: &'static str| if is_wanted { fields } else { "" };
    let usual = [
        "Account,User",
        when(partition, "Partition"),
        "RawShares,NormShares,RawUsage",
        when(long, "NormUsage"),
        "EffectvUsage,FairShare",
        when(long, "LevelFS,GrpTRESMins,TRESRunMins"),
    ];
    let usual = usual.join(",");
    let words = parsed.last("format").unwrap_or(&usual).split(',');
    let columns: Result<Vec<Column>, Answer> =
        words.filter(|word| !word.is_empty()).map(column).collect();
    Ok(Answer::said(table(&parsed, &columns?, std::iter::empty())))
}

/// `Name%width`, where the name may be cut short.
fn column(word: &str) -> Result<Column, Answer> {
    let (asked, given) = word.split_once('%').unwrap_or((word, ""));
    let starts = |name: &str| {
        let begin = name.get(..asked.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(asked))
    };
    let Some((name, width)) = FIELDS.iter().find(|(name, _)| starts(name)) else {
        return refuse(format!(
            "sshare: error: Invalid field requested: \"{asked}\"\n"
        ));
    };
    let left = match given {
        "" => *name == "Account",
        given => given.starts_with('-'),
    };
    let given = given.trim_start_matches('-').parse();
    Ok(Column {
        name,
        width: given.unwrap_or(*width),
        right: !left,
    })
}
