//! Names of users and groups, as the host has them.

use std::sync::Arc;

/// Whose process this is.
pub(super) fn own_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// The name of a user, by the host's table; the number where it has none.
pub(super) fn user_name(uid: u32) -> Arc<str> {
    entry("/etc/passwd", uid).unwrap_or_else(|| uid.to_string().into())
}

/// Whether the host's table knows a user of this name.
pub(super) fn is_user(name: &str) -> bool {
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    table
        .lines()
        .any(|line| line.split(':').next() == Some(name))
}

/// The name of a group.
pub(super) fn group_name(gid: u32) -> Arc<str> {
    entry("/etc/group", gid).unwrap_or_else(|| gid.to_string().into())
}

fn entry(table: &str, number: u32) -> Option<Arc<str>> {
    let table = std::fs::read_to_string(table).ok()?;
    let number = number.to_string();
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.into())
    })
}
