//! `gridrig describe`: the description of a job in another language.

use super::print;
use super::resources::bytes;
use crate::cli::DescribeArgs;
use crate::exit::Failure;
use gridrig_protocol::description::{Lost, read, write};
use gridrig_results::text::{aligned, cells};

/// Prints the description, and on stderr what is lost.
pub(super) fn describe(args: &DescribeArgs) -> Result<(), Failure> {
    let (file, text) = (args.file.display().to_string(), bytes(&args.file)?);
    let all = read(&file, &String::from_utf8_lossy(&text), args.from).map_err(Failure::input)?;
    let (text, mut lost) = write(args.to, &all).map_err(Failure::input)?;
    lost.splice(
        0..0,
        all.jobs.iter().flat_map(|job| job.lost.iter().cloned()),
    );
    if !lost.is_empty() {
        let line = |lost: &Lost| {
            let line = Some(lost.line).filter(|line| *line > 0);
            let line = line.map_or_else(|| "-".to_owned(), |line| line.to_string());
            cells([&line, &lost.attribute, &lost.value, &lost.why])
        };
        let head = cells(["line", "lost", "value", "why"]);
        let lines: Vec<_> = std::iter::once(head).chain(lost.iter().map(line)).collect();
        eprint!("{}", aligned(&lines, "  ", &[1, 2, 3]));
    }
    print(&text)
}
