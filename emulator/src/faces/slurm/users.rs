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

/// Whether this is neither a number nor the name of a user of the host.
pub(super) fn is_unknown(user: &str) -> bool {
    let table = || std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is = |line: &str| line.split(':').next() == Some(user);
    !user.bytes().all(|byte| byte.is_ascii_digit()) && !table().lines().any(is)
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
