//! Files of node failures.

use gridrig_core::resource::Resources;
use gridrig_core::time::SimDuration;

/// A file of failures.
#[derive(Clone, Debug)]
pub(crate) struct FailureTable {
    /// What is written in it.
    pub text: String,
    pub rows: Vec<Failure>,
}

/// A node is down from one instant to a later one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    /// Position of the resource, and of the node in it.
    pub node: (u16, u32),
    pub down: SimDuration,
    pub up: SimDuration,
}

/// The first line of a file of failures.
const HEAD: &str = "node,down_s,up_s";

impl FailureTable {
    /// Reads the failures of these nodes.
    ///
    /// # Errors
    /// What was expected instead, with line, field and value.
    pub fn read(text: String, resources: &Resources) -> Result<Self, String> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, head) = lines.next().unwrap_or((1, ""));
        if head != HEAD {
            return Err(format!("line {number}: {head:?}: expected \"{HEAD}\""));
        }
        let mut rows = Vec::new();
        for (number, line) in lines {
            let bad = |field: &str, value: &str, expected: &str| {
                format!("line {number}: {field} = {value:?}: expected {expected}")
            };
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let [node, down_s, up_s] = fields[..] else {
                return Err(bad("line", line, HEAD));
            };
            let seconds = |field, value: &str| {
                let digits = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                let read = SimDuration::parse(&format!("{value}s"));
                let read = read.ok().filter(|_| digits);
                read.ok_or_else(|| bad(field, value, "seconds of the trace, such as 86400.5"))
            };
            let last = format!("a node from n1 to n{}", resources.nodes());
            let found = resources.node_named(node);
            let row = Failure {
                node: found.ok_or_else(|| bad("node", node, &last))?,
                down: seconds("down_s", down_s)?,
                up: seconds("up_s", up_s)?,
            };
            if row.up <= row.down {
                return Err(bad("up_s", up_s, "an instant after down_s"));
            }
            rows.push(row);
        }
        Ok(FailureTable { text, rows })
    }
}
